//! What the replies that are still to come mean, in their order, and what those of the last request
//! have said.

use std::collections::VecDeque;
use std::sync::Arc;

use super::reply::{self, Item, Reader, garbage};
use super::statement::{Column, Table};
use crate::plan::error::Error;
use crate::sessions::literal::put_integer;
use crate::sessions::{MOST_CHANGED, Reply, Rows};

/// What a reply is to.
#[derive(Debug)]
pub enum Expected {
    /// It says nothing, or an error.
    Ignored,
    /// The same of a part of a request.
    Part,
    /// A table was made, or was there.
    Created,
    /// So many rows were inserted, or none of them.
    Inserted(u64),
    /// So many rows are queued until the transaction's end.
    Queued(u64),
    /// The replies of what was queued.
    Executed,
    /// One row was updated, or was not there.
    Updated,
    /// The same of each of several.
    UpdatedAll,
    /// So many rows were deleted.
    Deleted,
    /// A number, as a row.
    Number,
    /// Tables, by name.
    Names,
    /// Values of so many keys.
    Rows(Arc<Table>, Arc<[Column]>, usize),
    /// Numbers and values in turn.
    AllRows(Arc<Table>, Arc<[Column]>),
    /// A row for each string or number.
    Anything,
}

/// The answer to the last request, and what is to come.
#[derive(Default)]
pub struct Answer {
    /// Its rows.
    pub rows: Rows,
    queue: VecDeque<Expected>,
    /// Keys that values are to come of.
    keys: VecDeque<i64>,
    /// So many of the replies to come nobody wants.
    unwanted: usize,
    error: Option<Error>,
    found: u64,
    changed: u64,
    /// Rows are kept; those of each request of a batch by themselves.
    keeps: bool,
    keeps_each: bool,
}

impl Answer {
    /// A new request; what was not answered by now is not wanted any more.
    #[inline]
    pub fn begin(&mut self, keeps: bool) {
        self.rows.clear();
        self.rows.is_unread = !keeps;
        (self.error, self.found, self.changed) = (None, 0, 0);
        (self.keeps, self.keeps_each) = (keeps, false);
    }

    /// Each request's rows of a batch are a result of their own.
    pub fn keep_each(&mut self, keeps: bool) {
        self.keeps_each = keeps;
    }

    /// A reply that is to come.
    #[inline]
    pub fn expect(&mut self, expected: Expected) {
        self.queue.push_back(expected);
    }

    /// The values of these keys are to come.
    #[inline]
    pub fn expect_rows(&mut self, table: Arc<Table>, columns: Arc<[Column]>, keys: &[i64]) {
        self.keys.extend(keys);
        self.queue.push_back(Expected::Rows(table, columns, keys.len()));
    }

    /// How many replies are to come.
    #[inline]
    pub fn to_come(&self) -> usize {
        self.queue.len()
    }

    /// Forgets those that no request was sent for.
    #[cold]
    pub fn truncate(&mut self, replies: usize) {
        self.queue.truncate(replies);
    }

    /// Is somebody waiting?
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.queue.len() > self.unwanted
    }

    /// Nobody waits any more for what is to come.
    pub fn abandon(&mut self) {
        self.unwanted = self.queue.len();
    }

    /// Reads the replies that came whole; how many bytes they were.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        let mut used = 0;
        while !self.queue.is_empty() {
            let Some(length) = reply::length(&bytes[used..])? else { break };
            let one = &bytes[used..used + length];
            used += length;
            let Some(expected) = self.queue.pop_front() else { break };
            if self.unwanted > 0 {
                self.unwanted -= 1;
                if let Expected::Rows(.., keys) = expected {
                    self.keys.drain(..keys);
                }
                continue;
            }
            let (found, changed) = (self.found, self.changed);
            if let Err(error) = self.read(&expected, &mut Reader::new(one)) {
                if error.engine_code() == Some("protocol") {
                    return Err(error);
                }
                self.error.get_or_insert(error);
            }
            if self.keeps_each && !matches!(expected, Expected::Part) {
                self.rows.end_result(self.found - found, self.changed - changed)?;
            }
        }
        Ok(used)
    }

    /// What all replies together say.
    #[inline]
    pub fn outcome(&mut self) -> Result<Reply, Error> {
        match self.error.take() {
            Some(error) => Err(error.beside_changes(self.changed)),
            None => Ok(Reply::Ready { rows: self.found, changed: self.changed }),
        }
    }

    #[inline]
    fn read(&mut self, expected: &Expected, reader: &mut Reader<'_>) -> Result<(), Error> {
        let first = whole(reader)?;
        if let Item::Error(words) = first {
            if let Expected::Rows(.., keys) = expected {
                self.keys.drain(..*keys);
            }
            return Err(of_server(words));
        }
        match (expected, first) {
            (Expected::Rows(table, columns, 1), Item::Bulk(value)) => {
                self.read_row(table, columns, value)
            }
            (Expected::Rows(table, columns, keys), Item::Array(Some(parts))) if parts == *keys => {
                for _ in 0..parts {
                    let Item::Bulk(value) = whole(reader)? else {
                        return Err(garbage("a value that is no string"));
                    };
                    self.read_row(table, columns, value)?;
                }
                Ok(())
            }
            (Expected::Updated, Item::Status(_)) => self.add_changed(1),
            (Expected::Updated, Item::Bulk(None)) => Ok(()),
            (Expected::Inserted(rows), Item::Status(_) | Item::Integer(1)) => {
                self.add_changed(*rows)
            }
            (Expected::Inserted(_), Item::Bulk(None) | Item::Integer(0)) => Err(duplicate()),
            (Expected::Deleted, Item::Integer(rows)) => self.add_changed(rows as u64),
            (Expected::Ignored | Expected::Part, _) => Ok(()),
            (Expected::Queued(rows), Item::Status(b"QUEUED")) => self.add_changed(*rows),
            (Expected::Executed | Expected::UpdatedAll, Item::Array(Some(parts))) => {
                self.read_parts(expected, parts, reader)
            }
            (Expected::Created, Item::Integer(1)) => Ok(()),
            (Expected::Created, Item::Integer(_)) => {
                Err(Error::engine("such a table is there already").sql(0, "42P07"))
            }
            (Expected::Number, Item::Integer(number)) => {
                self.name_columns(&[b"count"]);
                self.push_number(number)
            }
            (Expected::AllRows(table, columns), Item::Array(Some(parts))) if parts % 2 == 0 => {
                self.read_all(table, columns, parts, reader)
            }
            (Expected::Names | Expected::Anything, first) => self.read_any(expected, first, reader),
            _ => Err(garbage("a reply of another kind than the command has")),
        }
    }

    /// The replies of a transaction's commands.
    fn read_parts(
        &mut self,
        expected: &Expected,
        parts: usize,
        reader: &mut Reader<'_>,
    ) -> Result<(), Error> {
        for _ in 0..parts {
            match (expected, whole(reader)?) {
                (_, Item::Error(words)) => return Err(of_server(words)),
                (Expected::UpdatedAll, Item::Status(_)) => self.add_changed(1)?,
                (Expected::Executed, Item::Bulk(None) | Item::Integer(0)) => {
                    return Err(duplicate());
                }
                _ => {}
            }
        }
        Ok(())
    }

    #[inline]
    fn read_row(
        &mut self,
        table: &Table,
        columns: &[Column],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        let key = self.keys.pop_front().ok_or_else(|| garbage("a value of no key"))?;
        self.name_row(table, columns);
        let Some(value) = value else { return Ok(()) };
        self.found += 1;
        if !self.keeps {
            return Ok(());
        }
        for column in columns {
            match column {
                Column::Value => self.rows.push(Some(value))?,
                Column::Key => {
                    put_integer(&mut self.rows.bytes, key);
                    self.rows.push(Some(b""))?;
                }
            }
        }
        Ok(())
    }

    fn read_all(
        &mut self,
        table: &Table,
        columns: &[Column],
        parts: usize,
        reader: &mut Reader<'_>,
    ) -> Result<(), Error> {
        self.name_row(table, columns);
        for _ in 0..parts / 2 {
            let (Item::Bulk(Some(key)), Item::Bulk(Some(value))) = (whole(reader)?, whole(reader)?)
            else {
                return Err(garbage("a row that is no pair of strings"));
            };
            self.found += 1;
            if self.keeps {
                for column in columns {
                    self.rows.push(Some(if *column == Column::Key { key } else { value }))?;
                }
            }
        }
        Ok(())
    }

    /// A row for each string or number, however deep.
    fn read_any(
        &mut self,
        expected: &Expected,
        first: Item<'_>,
        reader: &mut Reader<'_>,
    ) -> Result<(), Error> {
        self.name_columns(&[b"reply"]);
        let (mut next, mut left) = (first, 1_usize);
        loop {
            left -= 1;
            match next {
                Item::Status(text) | Item::Bulk(Some(text)) => {
                    if matches!(expected, Expected::Names) {
                        self.rows.bytes.push(b'"');
                        self.rows.bytes.extend_from_slice(text);
                        self.push_text(b"\"")?;
                    } else {
                        self.push_text(text)?;
                    }
                }
                Item::Integer(number) => self.push_number(number)?,
                Item::Bulk(None) | Item::Array(None) => {
                    self.found += 1;
                    self.rows.push(None)?;
                }
                Item::Array(Some(parts)) => left += parts,
                Item::Error(words) => return Err(of_server(words)),
            }
            if left == 0 {
                return Ok(());
            }
            next = whole(reader)?;
        }
    }

    fn push_text(&mut self, text: &[u8]) -> Result<(), Error> {
        self.found += 1;
        self.rows.push(Some(text))
    }

    fn push_number(&mut self, number: i64) -> Result<(), Error> {
        put_integer(&mut self.rows.bytes, number);
        self.push_text(b"")
    }

    #[inline]
    fn name_row(&mut self, table: &Table, columns: &[Column]) {
        self.rows.width = columns.len() as u32;
        if self.keeps && !self.keeps_each && self.rows.columns.len() == 0 {
            for column in columns {
                let name = if *column == Column::Key { &table.key } else { &table.value };
                self.rows.columns.push(name.as_bytes());
            }
        }
    }

    fn name_columns(&mut self, names: &[&[u8]]) {
        self.rows.width = names.len() as u32;
        if self.rows.columns.len() == 0 {
            names.iter().for_each(|name| self.rows.columns.push(name));
        }
    }

    #[inline]
    fn add_changed(&mut self, rows: u64) -> Result<(), Error> {
        if rows > MOST_CHANGED {
            return Err(garbage("a number of rows that no table has"));
        }
        self.changed += rows;
        Ok(())
    }
}

/// A part of a reply that has come whole.
#[inline]
fn whole<'a>(reader: &mut Reader<'a>) -> Result<Item<'a>, Error> {
    reader.next()?.ok_or_else(|| garbage("a reply that ends too early"))
}

/// The server refused a command: its first word is the error's code.
#[cold]
pub fn of_server(words: &[u8]) -> Error {
    let text = String::from_utf8_lossy(words);
    let code = text.split(' ').next().unwrap_or_default().to_owned();
    Error::engine("the server refused a command").because(text).code(code)
}

#[cold]
fn duplicate() -> Error {
    Error::engine("a row with such a key is there already").code("EXISTS").sql(0, "23505")
}
