//! The answer to a query: rows as JSON, or a list for IN.

use std::cmp::Ordering;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use super::Index;
use super::columns::Column;
use super::evaluate::rows_of;
use super::query::{Aggregate, Item, Query, query_steps};
use super::segment::{NULL, Places, Segment, Values};
use crate::bounds::{Output, check_memory, copied};
use crate::function::Fault;

/// Groups and what is counted of them take no more.
const GROUPS_BYTES_MAX: usize = 256 << 20;
/// What a group takes for each column beside its values, at most; likewise a value that is counted.
const GROUP_BYTES: usize = 256;
/// As the groups grow, so much is asked of the system in advance.
const ADVANCE_BYTES: usize = 16 << 20;
/// A byte of a value is written as so many at most, `\\u0001`; a number is shorter than the rest.
const WRITTEN_BYTES: usize = 6;
const NUMBER_BYTES: usize = 64;

/// How an answer is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `[[1,"a"],[2,null]]`.
    Json,
    /// `(1,2)` of one column's values; `(NULL)` where there are none.
    InList,
}

/// The answer in `out`, which has what the last one needed.
pub fn answer(index: &Index, query: &Query, form: Form, out: &mut Output) -> Result<(), Fault> {
    if form == Form::InList && query.items.len() != 1 {
        return Err("fb_inlist takes one column".into());
    }
    let mut rows = Rows { form, skip: query.skip, limit: query.limit, count: 0, out };
    rows.begin()?;
    if query.items.iter().all(|it| matches!(it, Item::Column(_))) {
        plain(index, query, &mut rows)?;
    } else {
        grouped(index, query, &mut rows)?;
    }
    rows.end()
}

/// The rows of an answer as they are written.
struct Rows<'a> {
    form: Form,
    skip: u64,
    limit: u64,
    count: u64,
    out: &'a mut Output,
}

impl Rows<'_> {
    fn begin(&mut self) -> Result<(), Fault> {
        self.out.clear();
        self.out.push(if self.form == Form::Json { b'[' } else { b'(' })
    }

    /// A row whose fields `write` writes, one by one, each of a value of `size` bytes; false where
    /// there are enough.
    fn add(
        &mut self,
        fields: usize,
        size: impl Fn(usize) -> usize,
        write: impl Fn(usize, Form, &mut Vec<u8>),
    ) -> Result<bool, Fault> {
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(true);
        }
        if self.count == self.limit {
            return Ok(false);
        }
        if self.count > 0 {
            self.out.push(b',')?;
        }
        self.count += 1;
        for field in 0..fields {
            if self.form == Form::Json {
                self.out.push(if field == 0 { b'[' } else { b',' })?;
            }
            let more = WRITTEN_BYTES * size(field) + NUMBER_BYTES;
            write(field, self.form, self.out.room_for(more)?);
        }
        if self.form == Form::Json {
            self.out.push(b']')?;
        }
        Ok(true)
    }

    fn end(&mut self) -> Result<(), Fault> {
        match self.form {
            Form::Json => self.out.push(b']'),
            Form::InList if self.count == 0 => self.out.extend(b"NULL)"),
            Form::InList => self.out.push(b')'),
        }
    }
}

fn write_key(column: &Column, key: Option<&[u8]>, form: Form, out: &mut Vec<u8>) {
    match (key, form) {
        (None, Form::Json) => out.extend_from_slice(b"null"),
        (None, Form::InList) => out.extend_from_slice(b"NULL"),
        (Some(key), Form::Json) => column.write_json(key, out),
        (Some(key), Form::InList) => column.write_sql(key, out),
    }
}

/// A column of a segment, to look up the values of rows.
struct Loaded(Values, Places);

impl Loaded {
    /// The columns that a query's answer has, each once however often it is asked for.
    fn all(
        segment: &Segment,
        query: &Query,
        columns: &[Column],
    ) -> Result<Vec<Option<Self>>, Fault> {
        let is_wanted = |place| query.items.iter().any(|it| column_of(it) == Some(place));
        let load = |(place, column): (usize, &Column)| {
            let of = || Ok(Self(segment.values(place, column.width())?, segment.places(place)?));
            is_wanted(place).then(of).transpose()
        };
        columns.iter().enumerate().map(load).collect()
    }

    fn key(&self, row: u32) -> Option<&[u8]> {
        let place = self.1.of(row);
        (place != NULL).then(|| self.0.key(place as usize))
    }
}

fn plain(index: &Index, query: &Query, rows: &mut Rows) -> Result<(), Fault> {
    let columns = &index.manifest.columns;
    let wanted: Vec<usize> = query.items.iter().filter_map(column_of).collect();
    let mut steps = query_steps();
    for segment in &index.segments {
        let found = rows_of(&query.condition, segment, columns, &mut steps)?;
        if found.is_empty() {
            continue;
        }
        let loaded = Loaded::all(segment, query, columns)?;
        for row in found {
            steps.take(1)?;
            let key = |field: usize| loaded[wanted[field]].as_ref().and_then(|it| it.key(row));
            let size = |field: usize| key(field).map_or(0, <[u8]>::len);
            let write = |field: usize, form, out: &mut Vec<u8>| {
                write_key(&columns[wanted[field]], key(field), form, out);
            };
            if !rows.add(wanted.len(), size, write)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn column_of(item: &Item) -> Option<usize> {
    match item {
        Item::Column(column) | Item::Aggregate(_, column) => Some(*column),
        Item::CountRows => None,
    }
}

type Key = Vec<Option<Vec<u8>>>;

/// What the groups take, asked for before they grow.
#[derive(Default)]
struct Memory {
    taken: usize,
    granted: usize,
}

impl Memory {
    fn take(&mut self, bytes: usize) -> Result<(), Fault> {
        self.taken += bytes;
        if self.taken > GROUPS_BYTES_MAX {
            return Err("the groups take more than 256 MiB".into());
        }
        if self.taken > self.granted {
            check_memory(bytes + ADVANCE_BYTES)?;
            self.granted = self.taken + ADVANCE_BYTES;
        }
        Ok(())
    }
}

fn is_column(item: &Item) -> bool {
    matches!(item, Item::Column(_))
}

fn grouped(index: &Index, query: &Query, rows: &mut Rows) -> Result<(), Fault> {
    let groups = groups_of(index, query)?;
    let columns = &index.manifest.columns;
    for (key, tallies) in &groups {
        let value = |field: usize| {
            let before = query.items[..field].iter().filter(|it| is_column(it)).count();
            key[before].as_deref()
        };
        let size = |field: usize| match &query.items[field] {
            Item::Column(_) => value(field).map_or(0, <[u8]>::len),
            _ => tallies[field].end.as_ref().map_or(0, Vec::len),
        };
        let write = |field: usize, form, out: &mut Vec<u8>| match query.items[field] {
            Item::Column(column) => write_key(&columns[column], value(field), form, out),
            item => tallies[field].write(item, columns, form, out),
        };
        if !rows.add(query.items.len(), size, write)? {
            break;
        }
    }
    Ok(())
}

fn groups_of(index: &Index, query: &Query) -> Result<BTreeMap<Key, Vec<Tally>>, Fault> {
    let columns = &index.manifest.columns;
    let fresh = || query.items.iter().map(|_| Tally::default()).collect::<Vec<_>>();
    let mut groups: BTreeMap<Key, Vec<Tally>> = BTreeMap::new();
    if !query.items.iter().any(is_column) {
        groups.insert(Vec::new(), fresh());
    }
    let (mut memory, mut steps) = (Memory::default(), query_steps());
    for segment in &index.segments {
        let found = rows_of(&query.condition, segment, columns, &mut steps)?;
        let loaded = Loaded::all(segment, query, columns)?;
        for row in found {
            steps.take(query.items.len() as u64)?;
            let value = |item: &Item| {
                column_of(item).and_then(|it| loaded[it].as_ref()).and_then(|it| it.key(row))
            };
            let of_key = query.items.iter().filter(|it| is_column(it));
            let key: Key =
                of_key.map(|it| value(it).map(copied).transpose()).collect::<Result<_, _>>()?;
            let tallies = match groups.entry(key) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let size = place.key().iter().flatten().map(Vec::len).sum::<usize>();
                    memory.take(GROUP_BYTES * query.items.len() + size)?;
                    place.insert(fresh())
                }
            };
            for (tally, item) in tallies.iter_mut().zip(&query.items) {
                tally.add(*item, value(item), columns, &mut memory)?;
            }
        }
    }
    Ok(groups)
}

/// What is counted of a group for one column of the answer.
#[derive(Default)]
struct Tally {
    count: u64,
    whole: i128,
    real: f64,
    end: Option<Vec<u8>>,
    distinct: BTreeSet<Vec<u8>>,
}

impl Tally {
    /// Another row.
    fn add(
        &mut self,
        item: Item,
        key: Option<&[u8]>,
        columns: &[Column],
        memory: &mut Memory,
    ) -> Result<(), Fault> {
        let (aggregate, column, key) = match (item, key) {
            (Item::CountRows, _) => {
                self.count += 1;
                return Ok(());
            }
            (Item::Aggregate(aggregate, column), Some(key)) => (aggregate, &columns[column], key),
            _ => return Ok(()),
        };
        self.count += 1;
        match aggregate {
            Aggregate::Count => (),
            Aggregate::CountDistinct => {
                if !self.distinct.contains(key) {
                    // the first one brings the set's own
                    let own = GROUP_BYTES * (1 + usize::from(self.distinct.is_empty()));
                    memory.take(own + key.len())?;
                    self.distinct.insert(copied(key)?);
                }
            }
            Aggregate::Sum | Aggregate::Average if column.is_whole() => {
                // 2^28 rows of 64 bits do not fill it
                self.whole += column.whole(key);
            }
            Aggregate::Sum | Aggregate::Average => {
                self.real += column.real(key);
                if !self.real.is_finite() {
                    return Err(format!("the sum of '{}' is out of range", column.name).into());
                }
            }
            Aggregate::Minimum => self.keep_end(key, Ordering::Less, memory)?,
            Aggregate::Maximum => self.keep_end(key, Ordering::Greater, memory)?,
        }
        Ok(())
    }

    /// Keeps the key where it is `wanted` of the one that was kept.
    fn keep_end(&mut self, key: &[u8], wanted: Ordering, memory: &mut Memory) -> Result<(), Fault> {
        let known = self.end.as_ref();
        if known.is_none_or(|it| key.cmp(it) == wanted) {
            memory.take(key.len().saturating_sub(known.map_or(0, Vec::len)))?;
            self.end = Some(copied(key)?);
        }
        Ok(())
    }

    fn write(&self, item: Item, columns: &[Column], form: Form, out: &mut Vec<u8>) {
        let (aggregate, column) = match item {
            Item::Aggregate(aggregate, column) => (aggregate, &columns[column]),
            _ => return drop(write!(out, "{}", self.count)),
        };
        // writing into a vector does not fail
        let _ = match aggregate {
            Aggregate::Count => write!(out, "{}", self.count),
            Aggregate::CountDistinct => write!(out, "{}", self.distinct.len()),
            Aggregate::Minimum | Aggregate::Maximum => {
                return write_key(column, self.end.as_deref(), form, out);
            }
            _ if self.count == 0 => return write_key(column, None, form, out),
            Aggregate::Sum if column.is_whole() => write!(out, "{}", self.whole),
            Aggregate::Sum => write!(out, "{:?}", self.real),
            Aggregate::Average if column.is_whole() => {
                out.write_all(mean(self.whole, self.count).as_bytes())
            }
            Aggregate::Average => write!(out, "{:?}", self.real / self.count as f64),
        };
    }
}

/// A mean with four figures behind the point, as AVG has it; halves go away from zero.
fn mean(sum: i128, count: u64) -> String {
    let (size, count) = (sum.unsigned_abs() * 10_000, u128::from(count));
    let rounded = (size + count / 2) / count;
    let sign = if sum < 0 && rounded > 0 { "-" } else { "" };
    format!("{sign}{}.{:04}", rounded / 10_000, rounded % 10_000)
}

#[cfg(test)]
mod tests {
    use super::mean;

    #[test]
    fn means_are_rounded_as_the_servers_do() {
        let told = [(7, 2, "3.5000"), (-2, 3, "-0.6667"), (1, 20_000, "0.0001"), (0, 5, "0.0000")];
        for (sum, count, text) in told {
            assert_eq!(mean(sum, count), text);
        }
        assert_eq!(mean(-1, 1_000_000), "0.0000");
    }
}
