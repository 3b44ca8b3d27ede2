//! A statement at play: its table's columns found once, its rows read and written each time.

use std::sync::Arc;

use super::COUNTED;
use super::library::{Store, When};
use super::tables::{self, Table, to_key, to_text};
use crate::plan::error::Error;
use crate::sessions::key_value::{Change, Operand, Selection, Statement};
use crate::sessions::{Reply, Rows, Value};

/// A statement whose names were found.
pub enum Play {
    /// It names no column of a table.
    Plain(Statement),
    Insert {
        table: Arc<Table>,
        rows: Vec<NewRow>,
    },
    /// Columns by their places.
    Update {
        table: Arc<Table>,
        changes: Vec<(usize, Change)>,
        rows: Selection,
    },
    Delete {
        table: Arc<Table>,
        rows: Selection,
    },
    /// Columns by their places; none: the key.
    Select {
        table: Arc<Table>,
        columns: Vec<Option<usize>>,
        rows: Selection,
    },
    Count(Vec<(Arc<Table>, Selection)>),
}

/// A row to be written: its key, where it has one, and its texts in the table's order.
pub struct NewRow {
    key: Option<Operand>,
    texts: Vec<Operand>,
}

/// Finds a table by its name.
pub type Find<'a> = dyn FnMut(&str) -> Result<Arc<Table>, Error> + 'a;

impl Play {
    /// Finds a statement's table and columns.
    pub fn new(statement: Statement, find: &mut Find<'_>) -> Result<Self, Error> {
        Ok(match statement {
            Statement::Insert { table, columns, values } => {
                let table = find(&table)?;
                let rows = arrange(&table, &columns, values)?;
                Self::Insert { table, rows }
            }
            Statement::Update { table, changes, rows } => {
                let table = check(find(&table)?, &rows)?;
                let place = |(column, change): (String, Change)| {
                    let place = table.place_of(&column)?.ok_or_else(|| {
                        Error::user("a key-value engine changes no keys").because(&column)
                    })?;
                    Ok((place, change))
                };
                let changes = changes.into_iter().map(place).collect::<Result<_, _>>()?;
                Self::Update { table, changes, rows }
            }
            Statement::Delete { table, rows } => {
                Self::Delete { table: check(find(&table)?, &rows)?, rows }
            }
            Statement::Select { table, columns, rows } => {
                let table = check(find(&table)?, &rows)?;
                let all = std::iter::once(&table.key).chain(&table.columns);
                let names: Vec<_> =
                    if columns.is_empty() { all.collect() } else { columns.iter().collect() };
                let columns =
                    names.into_iter().map(|it| table.place_of(it)).collect::<Result<_, _>>()?;
                Self::Select { table, columns, rows }
            }
            Statement::Count(parts) => {
                let each =
                    |(table, rows): (String, Selection)| Ok((check(find(&table)?, &rows)?, rows));
                Self::Count(parts.into_iter().map(each).collect::<Result<_, _>>()?)
            }
            plain => Self::Plain(plain),
        })
    }

    /// Plays it, as one transaction where none is open.
    pub fn play(
        &self,
        store: &mut Store,
        values: &[Value],
        rows: &mut Rows,
    ) -> Result<Reply, Error> {
        rows.bytes.clear();
        rows.ends.clear();
        let is_own = self.is_compound() && !store.in_transaction();
        if is_own {
            store.begin()?;
        }
        let reply = self.play_within(store, values, rows);
        if is_own {
            // what went wrong first is told
            let ended = store.end(reply.is_ok());
            return reply.and_then(|reply| ended.map(|()| reply));
        }
        reply
    }

    /// Does it write by several requests?
    fn is_compound(&self) -> bool {
        match self {
            Self::Insert { rows, .. } => rows.len() > 1,
            Self::Delete { rows, .. } => !is_one(rows),
            Self::Update { table, rows, .. } => table.columns.len() > 1 || !is_one(rows),
            Self::Plain(plain) => {
                matches!(plain, Statement::Create { .. } | Statement::Drop { .. })
            }
            Self::Select { .. } | Self::Count(_) => false,
        }
    }

    fn play_within(
        &self,
        store: &mut Store,
        values: &[Value],
        rows: &mut Rows,
    ) -> Result<Reply, Error> {
        match self {
            Self::Plain(plain) => play_plain(plain, store, rows),
            Self::Insert { table, rows } => insert(store, table, rows, values),
            Self::Update { table, changes, rows } => update(store, table, changes, rows, values),
            Self::Delete { table, rows } => {
                let mut changed = 0;
                for key in list_keys(store, table, rows, values)? {
                    changed += u64::from(store.remove(&table.row_key(key))?);
                }
                Ok(Reply::Ready { rows: 0, changed })
            }
            Self::Select { table, columns, rows: selected } => {
                name_columns(rows, columns.len(), |at| match columns[at] {
                    Some(place) => &table.columns[place],
                    None => &table.key,
                });
                let found = visit(store, table, selected, values, |key, value| {
                    columns.iter().try_for_each(|column| match column {
                        Some(place) => rows.push(Some(table.text_at(*place, value))),
                        None => push_number(rows, key),
                    })
                })?;
                Ok(Reply::Ready { rows: found, changed: 0 })
            }
            Self::Count(parts) => {
                let mut sum = 0;
                for (table, selected) in parts {
                    sum += visit(store, table, selected, values, |_, _| Ok(()))?;
                }
                name_columns(rows, 1, |_| "count");
                push_number(rows, sum as i64)?;
                Ok(Reply::Ready { rows: 1, changed: 0 })
            }
        }
    }
}

fn is_one(rows: &Selection) -> bool {
    matches!(rows, Selection::Keys(_, keys) if keys.len() == 1)
}

/// Refuses a selection by a column that is no key, or by one that is not there.
fn check(table: Arc<Table>, rows: &Selection) -> Result<Arc<Table>, Error> {
    match rows {
        Selection::Keys(column, _)
        | Selection::Between(column, ..)
        | Selection::From(column, ..) => match table.place_of(column)? {
            None => Ok(table),
            Some(_) => Err(Error::user(format!("{column} is not the key of {}", table.name))
                .because("a key-value engine finds rows by their key alone")
                .sql(0, "0A000")),
        },
        Selection::All(lengths) => {
            for each in lengths {
                table.place_of(&each.column)?;
            }
            Ok(table)
        }
    }
}

/// The values of each row in the order in which they are kept.
fn arrange(table: &Table, columns: &[String], values: Vec<Operand>) -> Result<Vec<NewRow>, Error> {
    let places =
        columns.iter().map(|it| table.place_of(it)).collect::<Result<Vec<Option<usize>>, _>>()?;
    let mut order = Vec::with_capacity(table.columns.len());
    for (place, column) in table.columns.iter().enumerate() {
        let at = places.iter().position(|it| *it == Some(place)).ok_or_else(|| {
            Error::user(format!("a row of {} comes without its {column}", table.name))
                .because("a key-value engine has no defaults")
        })?;
        order.push(at);
    }
    let key = places.iter().position(Option::is_none);
    let row = |values: &[Operand]| {
        let texts = order.iter().map(|at| values[*at].clone()).collect();
        NewRow { key: key.map(|at| values[at].clone()), texts }
    };
    Ok(values.chunks(columns.len()).map(row).collect())
}

fn play_plain(plain: &Statement, store: &mut Store, rows: &mut Rows) -> Result<Reply, Error> {
    let mut found = 0;
    match plain {
        Statement::Begin if store.in_transaction() => {
            let error = Error::engine("a transaction is open already");
            return Err(error.code("ACTIVE_TRANSACTION").sql(0, "25001"));
        }
        Statement::Begin => store.begin()?,
        Statement::Commit | Statement::Rollback => {
            if store.in_transaction() {
                store.end(*plain == Statement::Commit)?;
            }
        }
        Statement::Create { table, key, columns } => tables::create(store, table, key, columns)?,
        Statement::Drop { table } => tables::drop(store, table)?,
        Statement::Tables => {
            name_columns(rows, 1, |_| "table");
            for table in tables::list(store)? {
                rows.push(Some(format!("\"{}\"", table.name).as_bytes()))?;
                found += 1;
            }
        }
        _ => {
            name_columns(rows, 2, |at| ["name", "value"][at]);
            let told = store.database.stats();
            for (name, value) in told.into_iter().filter(|(name, _)| !COUNTED.contains(&&name[..]))
            {
                rows.push(Some(name.as_bytes()))?;
                rows.push(Some(value.as_bytes()))?;
                found += 1;
            }
        }
    }
    Ok(Reply::Ready { rows: found, changed: 0 })
}

fn insert(store: &Store, table: &Table, rows: &[NewRow], values: &[Value]) -> Result<Reply, Error> {
    let mut kept = Vec::new();
    for NewRow { key, texts } in rows {
        let key = match key {
            Some(key) => to_key(key.value(values))?,
            None => table.next_key(store)?,
        };
        kept.clear();
        for text in texts {
            table.append(&to_text(text.value(values))?, &mut kept);
        }
        if !store.put(&table.row_key(key), &kept, When::Absent)? {
            let error = Error::engine(format!("{} has a row with the key {key}", table.name));
            return Err(error.code("UNIQUE").sql(0, "23505"));
        }
    }
    Ok(Reply::Ready { rows: 0, changed: rows.len() as u64 })
}

/// A row of one column beside its key is written over; of several, the others are read first.
fn update(
    store: &Store,
    table: &Table,
    changes: &[(usize, Change)],
    rows: &Selection,
    values: &[Value],
) -> Result<Reply, Error> {
    let (mut changed, mut kept) = (0, Vec::new());
    for key in list_keys(store, table, rows, values)? {
        let key = table.row_key(key);
        let mut old = Vec::new();
        if !matches!(changes, [(_, Change::To(_))] if table.columns.len() == 1)
            && !store.get(&key, |value| old.extend_from_slice(value))?
        {
            continue;
        }
        kept.clear();
        for place in 0..table.columns.len() {
            let text = table.text_at(place, &old);
            match changes.iter().rev().find(|(it, _)| *it == place) {
                None => table.append(text, &mut kept),
                Some((_, Change::To(value))) => {
                    table.append(&to_text(value.value(values))?, &mut kept);
                }
                Some((_, Change::Plus(more))) => {
                    let sum = to_key(&Value::Text(text.to_vec()))?.wrapping_add(*more);
                    table.append(sum.to_string().as_bytes(), &mut kept);
                }
            }
        }
        changed += u64::from(store.put(&key, &kept, When::Present)?);
    }
    Ok(Reply::Ready { rows: 0, changed })
}

/// The keys of rows that are to be written; those that were named need not be there.
fn list_keys(
    store: &Store,
    table: &Table,
    rows: &Selection,
    values: &[Value],
) -> Result<Vec<i64>, Error> {
    if let Selection::Keys(_, keys) = rows {
        let mut keys =
            keys.iter().map(|it| to_key(it.value(values))).collect::<Result<Vec<_>, _>>()?;
        keys.sort_unstable();
        keys.dedup();
        return Ok(keys);
    }
    let mut keys = Vec::new();
    visit(store, table, rows, values, |key, _| {
        keys.push(key);
        Ok(())
    })?;
    Ok(keys)
}

/// Hands over each row of a selection by its key and value; how many there were.
#[inline]
fn visit(
    store: &Store,
    table: &Table,
    rows: &Selection,
    values: &[Value],
    mut one: impl FnMut(i64, &[u8]) -> Result<(), Error>,
) -> Result<u64, Error> {
    let (first, last, limit) = match rows {
        Selection::Keys(_, keys) if keys.len() == 1 => {
            let (key, mut outcome) = (to_key(keys[0].value(values))?, Ok(()));
            let is_there = store.get(&table.row_key(key), |value| outcome = one(key, value))?;
            return outcome.map(|()| u64::from(is_there));
        }
        Selection::Keys(..) => {
            let (mut found, mut outcome) = (0, Ok(()));
            for key in list_keys(store, table, rows, values)? {
                let is_there = store.get(&table.row_key(key), |value| outcome = one(key, value))?;
                found += u64::from(is_there);
                std::mem::replace(&mut outcome, Ok(()))?;
            }
            return Ok(found);
        }
        Selection::Between(_, first, last) => {
            (to_key(first.value(values))?, to_key(last.value(values))?, usize::MAX)
        }
        Selection::From(_, first, limit) => {
            let limit = to_key(limit.value(values))?;
            (to_key(first.value(values))?, i64::MAX, usize::try_from(limit).unwrap_or(0))
        }
        Selection::All(_) => (i64::MIN, i64::MAX, usize::MAX),
    };
    let mut lengths = Vec::new();
    if let Selection::All(wanted) = rows {
        for each in wanted {
            lengths.push((table.place_of(&each.column)?, each.order, each.bytes));
        }
    }
    let (mut found, mut outcome) = (0, Ok(()));
    store.scan(&table.row_key(first), limit, |key, value| {
        let Some(key) = table.number_of(key).filter(|key| *key <= last) else { return false };
        let fits = lengths.iter().all(|(place, order, bytes)| {
            let length = place.map_or(0, |it| table.text_at(it, value).len() as i64);
            length.cmp(bytes) == *order
        });
        if fits {
            found += 1;
            outcome = one(key, value);
        }
        outcome.is_ok()
    })?;
    outcome.map(|()| found)
}

fn push_number(rows: &mut Rows, number: i64) -> Result<(), Error> {
    crate::sessions::literal::put_integer(&mut rows.bytes, number);
    rows.push(Some(b""))
}

/// Names the columns, where a statement has not done so before.
fn name_columns<'a>(rows: &mut Rows, count: usize, name: impl Fn(usize) -> &'a str) {
    rows.width = count as u32;
    if rows.columns.len() == count {
        return;
    }
    rows.columns.clear();
    (0..count).for_each(|at| rows.columns.push(name(at).as_bytes()));
}
