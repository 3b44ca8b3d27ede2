//! Tables in keys and values: how their rows are written, and a catalogue of them.
//!
//! A row's key is its table's number and its own, big-endian, so that bytes are ordered as numbers
//! are. The value is the row's one other column as it is; each of several has its length before it.
//! The catalogue is table 0, its keys are names.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::library::{Store, When};
use crate::plan::error::Error;
use crate::sessions::Value;

const NUMBER_BYTES: usize = 4;
/// Of a row's key.
pub const KEY_BYTES: usize = NUMBER_BYTES + 8;
/// Of a text's length, before it.
const LENGTH_BYTES: usize = 4;

/// A table.
#[derive(Debug)]
pub struct Table {
    /// From 1 on.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// The column that is its key.
    pub key: String,
    /// The others.
    pub columns: Vec<String>,
    /// The greatest key that a row was given here; 0: none was.
    given: AtomicI64,
}

impl Table {
    /// The key of a row.
    #[inline]
    pub fn row_key(&self, key: i64) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        bytes[..NUMBER_BYTES].copy_from_slice(&self.number.to_be_bytes());
        bytes[NUMBER_BYTES..].copy_from_slice(&(key ^ i64::MIN).to_be_bytes());
        bytes
    }

    /// The number of a row by its key; none: it is another table's.
    #[inline]
    pub fn number_of(&self, key: &[u8]) -> Option<i64> {
        let own = key.strip_prefix(&self.number.to_be_bytes())?;
        Some(i64::from_be_bytes(own.try_into().ok()?) ^ i64::MIN)
    }

    /// The place of a column among those that are no key; none: it is the key.
    pub fn place_of(&self, column: &str) -> Result<Option<usize>, Error> {
        if column == self.key {
            return Ok(None);
        }
        let place = self.columns.iter().position(|it| it == column).map(Some);
        place.ok_or_else(|| {
            Error::engine(format!("the table {} has no column {column}", self.name))
                .code("UNDEFINED_COLUMN")
                .sql(0, "42703")
        })
    }

    /// Adds the next text of a row's value.
    pub fn append(&self, text: &[u8], value: &mut Vec<u8>) {
        if self.columns.len() > 1 {
            value.extend_from_slice(&(text.len() as u32).to_le_bytes());
        }
        value.extend_from_slice(text);
    }

    /// A text of a row's value.
    #[inline]
    pub fn text_at<'a>(&self, place: usize, value: &'a [u8]) -> &'a [u8] {
        if self.columns.len() == 1 {
            return value;
        }
        let mut rest = value;
        for at in 0..=place {
            let Some((length, more)) = rest.split_first_chunk::<LENGTH_BYTES>() else { break };
            let length = (u32::from_le_bytes(*length) as usize).min(more.len());
            if at == place {
                return &more[..length];
            }
            rest = &more[length..];
        }
        &[]
    }

    /// A key for a new row that came without one, as a column SERIAL gives it.
    pub fn next_key(&self, store: &Store) -> Result<i64, Error> {
        if self.given.load(Ordering::Relaxed) == 0 {
            let last = self.last_key(store)?;
            let _ = self.given.compare_exchange(0, last, Ordering::Relaxed, Ordering::Relaxed);
        }
        Ok(self.given.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The greatest of the keys from 1 on, by halves: no engine need scan backwards.
    fn last_key(&self, store: &Store) -> Result<i64, Error> {
        let (mut there, mut beyond) = (0, i64::MAX);
        while there + 1 < beyond {
            let middle = there + (beyond - there) / 2;
            let mut found = None;
            store.scan(&self.row_key(middle), 1, |key, _| {
                found = self.number_of(key);
                false
            })?;
            match found {
                Some(key) => there = key,
                None => beyond = middle,
            }
        }
        Ok(there)
    }
}

/// A value as it is kept.
pub fn to_text(value: &Value) -> Result<Vec<u8>, Error> {
    match value {
        Value::Text(bytes) => Ok(bytes.clone()),
        Value::Integer(number) => Ok(number.to_string().into_bytes()),
        Value::Real(number) => Ok(number.to_string().into_bytes()),
        Value::Null => Err(Error::engine("a row of a key-value engine has no NULL")
            .code("NOT_NULL")
            .sql(0, "23502")),
    }
}

/// A value as a key.
#[inline]
pub fn to_key(value: &Value) -> Result<i64, Error> {
    match value {
        Value::Integer(number) => Some(*number),
        Value::Text(text) => std::str::from_utf8(text).ok().and_then(|it| it.parse().ok()),
        _ => None,
    }
    .ok_or_else(|| Error::user("a key-value engine's keys are whole numbers"))
}

// ---- the catalogue -----------------------------------------------------------------------------

fn name_key(name: &str) -> Vec<u8> {
    [&[0; NUMBER_BYTES], name.as_bytes()].concat()
}

fn read(name: &str, told: &[u8]) -> Option<Table> {
    let told = std::str::from_utf8(told).ok()?;
    let mut words = told.split('\t');
    let number = words.next()?.parse().ok()?;
    let key = words.next()?.to_owned();
    let columns = words.map(str::to_owned).collect();
    Some(Table { number, name: name.to_owned(), key, columns, given: AtomicI64::new(0) })
}

/// All tables by name.
pub fn list(store: &Store) -> Result<Vec<Table>, Error> {
    let mut found = Vec::new();
    store.scan(&name_key(""), usize::MAX, |key, told| {
        let name = key.strip_prefix(&[0; NUMBER_BYTES]);
        let table = name.and_then(|it| read(&String::from_utf8_lossy(it), told));
        let is_table = table.is_some();
        found.extend(table);
        is_table
    })?;
    Ok(found)
}

/// The table of a name.
pub fn find(store: &Store, name: &str) -> Result<Arc<Table>, Error> {
    let mut found = None;
    store.get(&name_key(name), |told| found = read(name, told))?;
    found.map(Arc::new).ok_or_else(|| {
        let error = Error::engine(format!("there is no table {name}"));
        error.code("UNDEFINED_TABLE").sql(0, "42P01")
    })
}

/// Makes a table.
pub fn create(store: &Store, name: &str, key: &str, columns: &[String]) -> Result<(), Error> {
    let numbers = list(store)?.into_iter().map(|it| it.number);
    let number = numbers.max().unwrap_or(0) + 1;
    let words = std::iter::once(key).chain(columns.iter().map(String::as_str));
    let told = words.fold(number.to_string(), |told, word| told + "\t" + word);
    match store.put(&name_key(name), told.as_bytes(), When::Absent)? {
        true => Ok(()),
        false => {
            let error = Error::engine(format!("there is a table {name} already"));
            Err(error.code("DUPLICATE_TABLE").sql(0, "42P07"))
        }
    }
}

/// Deletes a table with its rows, where it is there.
pub fn drop(store: &Store, name: &str) -> Result<(), Error> {
    let Some(table) = list(store)?.into_iter().find(|it| it.name == name) else { return Ok(()) };
    let mut keys = Vec::new();
    store.scan(&table.row_key(i64::MIN), usize::MAX, |key, _| {
        keys.push(key.to_vec());
        table.number_of(key).is_some()
    })?;
    for key in keys.iter().filter(|key| table.number_of(key).is_some()) {
        store.remove(key)?;
    }
    store.remove(&name_key(name)).map(std::mem::drop)
}
