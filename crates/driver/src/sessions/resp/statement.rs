//! A statement as commands: a row is a string, its key the table's name and the row's number
//! (`kv:17`), its value the table's one other column. What has no command of its own is a script
//! that the server runs in one piece.

use std::cmp::Ordering;
use std::sync::Arc;

use super::reply::{begin, command, put};
use crate::plan::error::Error;
use crate::sessions::Value;
use crate::sessions::key_value::{Change, Length, Operand, Selection, Statement};
use crate::sessions::literal::put_integer;

/// The hash of all tables: a name to the names of its key and of its value.
pub const TABLES: &[u8] = b"dyno:tables";
/// Begins a text that is sent as it is, word by word.
pub const AS_IT_IS: &str = "RESP ";

/// Keys of the pattern ARGV[1] whose values have the length ARGV[3] (`=`), or less (`<`).
const CHOSEN: &str = "
local order, bytes, chosen = ARGV[2], tonumber(ARGV[3]), {}
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  local length = order ~= '' and redis.call('STRLEN', key)
  if order == '' or order == '=' and length == bytes or order == '<' and length < bytes then
    chosen[#chosen + 1] = key
  end
end
";
/// Counts them.
const COUNT: &str = "return #chosen";
/// Answers each row's number and value, by number.
const ROWS: &str = "
local prefix, numbers, rows = ARGV[1]:sub(1, -2), {}, {}
for at, key in ipairs(chosen) do numbers[at] = key:sub(#prefix + 1) end
table.sort(numbers, function(a, b) return tonumber(a) < tonumber(b) end)
for at, number in ipairs(numbers) do
  rows[2 * at - 1], rows[2 * at] = number, redis.call('GET', prefix .. number)
end
return rows";
/// Removes all rows of a table, and it.
const DROP: &str = "
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('UNLINK', key) end
return redis.call('HDEL', KEYS[1], ARGV[2])";

/// A table: what its key and its value are called.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub name: String,
    pub key: String,
    pub value: String,
}

/// A column of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    Key,
    Value,
}

/// A statement whose names were found.
#[derive(Debug)]
pub enum Play {
    Begin,
    Commit,
    Rollback,
    Create(Arc<Table>),
    Drop(String),
    Tables,
    AsItIs(Vec<String>),
    Insert { table: Arc<Table>, rows: Vec<(Operand, Operand)> },
    Update { table: Arc<Table>, value: Operand, keys: Vec<Operand> },
    Delete { table: Arc<Table>, keys: Vec<Operand> },
    Select { table: Arc<Table>, columns: Arc<[Column]>, keys: Vec<Operand> },
    SelectAll { table: Arc<Table>, columns: Arc<[Column]>, length: Option<Length> },
    Count { table: Arc<Table>, length: Option<Length> },
}

impl Play {
    /// Finds a statement's table and columns; what these servers cannot do is refused by name.
    pub fn new(
        statement: Statement,
        find: &mut dyn FnMut(&str) -> Result<Arc<Table>, Error>,
    ) -> Result<Self, Error> {
        Ok(match statement {
            Statement::Begin => Self::Begin,
            Statement::Commit => Self::Commit,
            Statement::Rollback => Self::Rollback,
            Statement::Tables => Self::Tables,
            Statement::Create { table, key, mut columns } => {
                let is_plain = table.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
                match (columns.pop(), columns.is_empty(), is_plain) {
                    (Some(value), true, true) => {
                        Self::Create(Arc::new(Table { name: table, key, value }))
                    }
                    (_, _, false) => return Err(refuse("a table's name is letters and digits")),
                    _ => return Err(refuse("a row is a key and one value")),
                }
            }
            Statement::Drop { table } => Self::Drop(table),
            Statement::Insert { table, columns, values } => {
                let table = find(&table)?;
                let places = columns.iter().map(|it| table.column(it));
                let rows = match &places.collect::<Result<Vec<_>, _>>()?[..] {
                    [Column::Key, Column::Value] => pairs(values, false),
                    [Column::Value, Column::Key] => pairs(values, true),
                    _ => return Err(refuse("a row needs its key and its value")),
                };
                Self::Insert { table, rows }
            }
            Statement::Update { table, mut changes, rows } => {
                let table = find(&table)?;
                match (changes.pop(), changes.is_empty()) {
                    (Some((column, Change::To(value))), true) if column == table.value => {
                        Self::Update { keys: table.keys(rows)?, table, value }
                    }
                    _ => return Err(refuse("an update sets the value of a row, as a whole")),
                }
            }
            Statement::Delete { table, rows } => {
                let table = find(&table)?;
                Self::Delete { keys: table.keys(rows)?, table }
            }
            Statement::Select { table, columns, rows } => {
                let table = find(&table)?;
                let columns = match columns.is_empty() {
                    true => Arc::new([Column::Key, Column::Value]),
                    false => {
                        columns.iter().map(|it| table.column(it)).collect::<Result<Arc<_>, _>>()?
                    }
                };
                match rows {
                    Selection::All(lengths) => {
                        let length = table.length(lengths)?;
                        Self::SelectAll { table, columns, length }
                    }
                    rows => Self::Select { keys: table.keys(rows)?, table, columns },
                }
            }
            Statement::Count(mut parts) => match (parts.pop(), parts.is_empty()) {
                (Some((table, Selection::All(lengths))), true) => {
                    let table = find(&table)?;
                    let length = table.length(lengths)?;
                    Self::Count { table, length }
                }
                _ => return Err(refuse("rows are counted of one table, and of all keys")),
            },
            _ => return Err(refuse("it has no such command")),
        })
    }
}

impl Table {
    fn column(&self, name: &str) -> Result<Column, Error> {
        match name {
            name if name == self.key => Ok(Column::Key),
            name if name == self.value => Ok(Column::Value),
            _ => Err(Error::engine(format!("the table {} has no column {name}", self.name))
                .code("UNDEFINED_COLUMN")
                .sql(0, "42703")),
        }
    }

    /// The keys that a selection names.
    fn keys(&self, rows: Selection) -> Result<Vec<Operand>, Error> {
        match rows {
            Selection::Keys(column, keys) if self.column(&column)? == Column::Key => Ok(keys),
            Selection::Between(..) | Selection::From(..) => {
                Err(refuse("it keeps keys in no order, and scans no range of them"))
            }
            _ => Err(refuse("rows are found by their key alone")),
        }
    }

    fn length(&self, mut lengths: Vec<Length>) -> Result<Option<Length>, Error> {
        match (lengths.pop(), lengths.is_empty()) {
            (None, _) => Ok(None),
            (Some(one), true) if one.column == self.value => Ok(Some(one)),
            _ => Err(refuse("the length of a value is the only one that is looked at")),
        }
    }

    /// Adds a row's key as a word; `scratch` is used again and again.
    #[inline]
    pub fn put_key(&self, out: &mut Vec<u8>, scratch: &mut Vec<u8>, key: i64) {
        scratch.clear();
        scratch.extend_from_slice(self.name.as_bytes());
        scratch.push(b':');
        put_integer(scratch, key);
        put(out, scratch);
    }

    /// Writes the script that counts its rows, or answers them.
    pub fn put_script(&self, out: &mut Vec<u8>, is_count: bool, length: Option<&Length>) {
        let script = format!("{CHOSEN}{}", if is_count { COUNT } else { ROWS });
        let pattern = format!("{}:*", self.name);
        let (order, bytes) = match length {
            None => ("", 0),
            Some(it) => (if it.order == Ordering::Less { "<" } else { "=" }, it.bytes),
        };
        let bytes = bytes.to_string();
        let words = ["EVAL", &script, "0", &pattern, order, &bytes];
        command(out, &words.map(str::as_bytes));
    }

    /// Writes the command that makes it; the answer is 0 where it is there already.
    pub fn put_create(&self, out: &mut Vec<u8>) {
        let columns = format!("{} {}", self.key, self.value);
        command(out, &[b"HSETNX", TABLES, self.name.as_bytes(), columns.as_bytes()]);
    }
}

/// Writes the script that removes a table.
pub fn put_drop(out: &mut Vec<u8>, table: &str) {
    let pattern = format!("{table}:*");
    command(out, &[b"EVAL", DROP.as_bytes(), b"1", TABLES, pattern.as_bytes(), table.as_bytes()]);
}

fn pairs(values: Vec<Operand>, is_turned: bool) -> Vec<(Operand, Operand)> {
    let mut values = values.into_iter();
    let mut rows = Vec::with_capacity(values.len() / 2);
    while let (Some(one), Some(other)) = (values.next(), values.next()) {
        rows.push(if is_turned { (other, one) } else { (one, other) });
    }
    rows
}

/// A row's number.
#[inline]
pub fn to_key(value: &Value) -> Result<i64, Error> {
    match value {
        Value::Integer(key) => Ok(*key),
        _ => Err(refuse("a key is a whole number")),
    }
}

/// Adds a value as a word.
#[inline]
pub fn put_value(out: &mut Vec<u8>, scratch: &mut Vec<u8>, value: &Value) -> Result<(), Error> {
    match value {
        Value::Text(text) => put(out, text),
        Value::Integer(number) => {
            scratch.clear();
            put_integer(scratch, *number);
            put(out, scratch);
        }
        Value::Null | Value::Real(_) => return Err(refuse("a value is a text or a whole number")),
    }
    Ok(())
}

/// Adds a command of a count of words that begins with a name.
#[inline]
pub fn begin_command(out: &mut Vec<u8>, name: &[u8], more: usize) {
    begin(out, 1 + more);
    put(out, name);
}

/// The error for what the server has no way to do.
#[cold]
pub fn refuse(why: &str) -> Error {
    Error::user("a server of keys and values cannot play this statement")
        .because(why)
        .hint("docs/guides/engines/redis.md says what it plays")
        .sql(0, "0A000")
}
