//! The answer to a query: rows as JSON, or a list for IN.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use super::Index;
use super::columns::Column;
use super::evaluate::rows_of;
use super::query::{Aggregate, Item, Query};
use super::segment::{NULL, Places, Segment, Values};
use crate::function::{Fault, check_size};

/// Groups and what is counted of them take no more.
const GROUPS_BYTES_MAX: usize = 256 << 20;
/// What a group takes beside its values, at most.
const GROUP_BYTES: usize = 256;

/// How an answer is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `[[1,"a"],[2,null]]`.
    Json,
    /// `(1,2)` of one column's values; `(NULL)` where there are none.
    InList,
}

/// The answer in `out`, which has what the last one needed.
pub fn answer(index: &Index, query: &Query, form: Form, out: &mut Vec<u8>) -> Result<(), Fault> {
    if form == Form::InList && query.items.len() != 1 {
        return Err("fb_inlist takes one column".into());
    }
    let mut rows = Rows { form, skip: query.skip, limit: query.limit, count: 0, out };
    rows.begin();
    if query.items.iter().all(|it| matches!(it, Item::Column(_))) {
        plain(index, query, &mut rows)?;
    } else {
        grouped(index, query, &mut rows)?;
    }
    rows.end();
    Ok(())
}

/// The rows of an answer as they are written.
struct Rows<'a> {
    form: Form,
    skip: u64,
    limit: u64,
    count: u64,
    out: &'a mut Vec<u8>,
}

impl Rows<'_> {
    fn begin(&mut self) {
        self.out.clear();
        self.out.push(if self.form == Form::Json { b'[' } else { b'(' });
    }

    /// A row whose fields `write` writes, one by one; false where there are enough.
    fn add(
        &mut self,
        fields: usize,
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
            self.out.push(b',');
        }
        self.count += 1;
        for field in 0..fields {
            if self.form == Form::Json {
                self.out.push(if field == 0 { b'[' } else { b',' });
            }
            write(field, self.form, self.out);
        }
        if self.form == Form::Json {
            self.out.push(b']');
        }
        check_size(self.out.len() + 1)?;
        Ok(true)
    }

    fn end(&mut self) {
        match self.form {
            Form::Json => self.out.push(b']'),
            Form::InList if self.count == 0 => self.out.extend_from_slice(b"NULL)"),
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
    fn of(segment: &Segment, place: usize, column: &Column) -> Result<Self, Fault> {
        Ok(Self(segment.values(place, column.width())?, segment.places(place)?))
    }

    fn key(&self, row: u32) -> Option<&[u8]> {
        let place = self.1.of(row);
        (place != NULL).then(|| self.0.key(place as usize))
    }
}

fn plain(index: &Index, query: &Query, rows: &mut Rows) -> Result<(), Fault> {
    let columns = &index.manifest.columns;
    let wanted: Vec<usize> = query.items.iter().filter_map(column_of).collect();
    for segment in &index.segments {
        let found = rows_of(&query.condition, segment, columns)?;
        if found.is_empty() {
            continue;
        }
        let loaded = wanted.iter().map(|it| Loaded::of(segment, *it, &columns[*it]));
        let loaded = loaded.collect::<Result<Vec<_>, _>>()?;
        for row in found {
            let write = |field: usize, form, out: &mut Vec<u8>| {
                write_key(&columns[wanted[field]], loaded[field].key(row), form, out);
            };
            if !rows.add(wanted.len(), write)? {
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

fn grouped(index: &Index, query: &Query, rows: &mut Rows) -> Result<(), Fault> {
    let columns = &index.manifest.columns;
    let fresh = || query.items.iter().map(|_| Tally::default()).collect::<Vec<_>>();
    let mut groups: BTreeMap<Key, Vec<Tally>> = BTreeMap::new();
    let is_column = |it: &Item| matches!(it, Item::Column(_));
    if !query.items.iter().any(is_column) {
        groups.insert(Vec::new(), fresh());
    }
    let mut bytes = 0;
    for segment in &index.segments {
        let found = rows_of(&query.condition, segment, columns)?;
        let loaded = query
            .items
            .iter()
            .map(|it| column_of(it).map(|it| Loaded::of(segment, it, &columns[it])).transpose());
        let loaded = loaded.collect::<Result<Vec<_>, _>>()?;
        for row in found {
            let value = |at: usize| loaded[at].as_ref().and_then(|it| it.key(row));
            let key: Key = (0..query.items.len())
                .filter(|at| is_column(&query.items[*at]))
                .map(|at| value(at).map(<[u8]>::to_vec))
                .collect();
            let size = key.iter().flatten().map(Vec::len).sum::<usize>();
            let tallies = groups.entry(key).or_insert_with(|| {
                bytes += GROUP_BYTES * query.items.len() + size;
                fresh()
            });
            for (at, (tally, item)) in tallies.iter_mut().zip(&query.items).enumerate() {
                bytes += tally.add(*item, value(at), columns)?;
            }
            if bytes > GROUPS_BYTES_MAX {
                return Err("the groups take more than 256 MiB".into());
            }
        }
    }
    for (key, tallies) in &groups {
        let write = |field: usize, form, out: &mut Vec<u8>| match query.items[field] {
            Item::Column(column) => {
                let before = query.items[..field].iter().filter(|it| is_column(it)).count();
                write_key(&columns[column], key[before].as_deref(), form, out);
            }
            item => tallies[field].write(item, columns, form, out),
        };
        if !rows.add(query.items.len(), write)? {
            break;
        }
    }
    Ok(())
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
    /// Another row; how many bytes it took.
    fn add(&mut self, item: Item, key: Option<&[u8]>, columns: &[Column]) -> Result<usize, Fault> {
        let (aggregate, column, key) = match (item, key) {
            (Item::CountRows, _) => {
                self.count += 1;
                return Ok(0);
            }
            (Item::Aggregate(aggregate, column), Some(key)) => (aggregate, &columns[column], key),
            _ => return Ok(0),
        };
        self.count += 1;
        let is_end = |end: &Vec<u8>, wanted| key.cmp(end) == wanted;
        match aggregate {
            Aggregate::Count => (),
            Aggregate::CountDistinct => {
                if !self.distinct.contains(key) {
                    self.distinct.insert(key.to_vec());
                    return Ok(GROUP_BYTES + key.len());
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
            Aggregate::Minimum => {
                if self.end.as_ref().is_none_or(|it| is_end(it, std::cmp::Ordering::Less)) {
                    self.end = Some(key.to_vec());
                }
            }
            Aggregate::Maximum => {
                if self.end.as_ref().is_none_or(|it| is_end(it, std::cmp::Ordering::Greater)) {
                    self.end = Some(key.to_vec());
                }
            }
        }
        Ok(0)
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
