//! A part of a server's log that one user plays again: each statement is an event.
//! `src/dyno/workloads/replay/layout.py` writes the files.
//!
//! A file is read while it is played. In memory are the buffer that it is read through, the event
//! that is played, when each is due and its text's number (12 bytes), and what was made of up to
//! `FORMS_MOST` texts that have parameters.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::statement::Form;
use crate::plan::error::Error;
use crate::sessions::{Reply, Session, Value};

/// Texts with parameters of which statements are made beforehand: servers allow not many more on a
/// connection. Others are sent as text.
pub const FORMS_MOST: usize = 1 << 12;
/// In the place of this text a session that only reads asks its own question: whether it still does
/// (`plan::ReadsOnly`). Nothing is played once it does not.
pub const CHECK: &[u8] = b"SELECT 1 /* does the session still only read? */";
/// The longest text or value that is believed; a longer one is a damaged file.
const LONGEST: usize = 1 << 30;
/// What is made room for before it is read.
const MUCH: usize = 1 << 20;

/// A file that is read event by event.
pub struct Lane {
    path: PathBuf,
    file: BufReader<File>,
    first: u64,
    /// Names of the transaction types.
    pub names: Vec<String>,
    /// The event that was read last.
    pub event: LaidEvent,
}

/// An event; its memory is used again for the next.
#[derive(Default)]
pub struct LaidEvent {
    /// When it is due, in ns from the log's first statement.
    pub at_ns: u64,
    /// The number of its transaction type's name.
    pub kind: usize,
    /// Its text, with the log's own marks (`$1`) for its parameters.
    pub text: Vec<u8>,
    /// Does it have parameters?
    pub has_values: bool,
    /// One per parameter.
    pub values: Vec<Value>,
}

impl Lane {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let unreadable = |error| unreadable(path, &error);
        let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(unreadable)?);
        let names = read_names(&mut file).map_err(unreadable)?;
        let first = file.stream_position().map_err(unreadable)?;
        Ok(Self { path: path.to_owned(), file, first, names, event: LaidEvent::default() })
    }

    /// Goes back to the first event.
    pub fn rewind(&mut self) -> Result<(), Error> {
        let sought = self.file.seek(SeekFrom::Start(self.first));
        sought.map(|_| ()).map_err(|error| unreadable(&self.path, &error))
    }

    /// Reads the next event; false at the end.
    #[inline]
    pub fn next_event(&mut self) -> Result<bool, Error> {
        self.event.read(&mut self.file).map_err(|error| unreadable(&self.path, &error))
    }
}

#[cold]
fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::user(format!("cannot read the laid out log {}", path.display())).because(error)
}

fn read_names(file: &mut impl Read) -> io::Result<Vec<String>> {
    let count = length(i32::from_le_bytes(read_bytes(file)?))?.unwrap_or_default();
    let name = |_| {
        let mut bytes = Vec::new();
        let size = length(i32::from_le_bytes(read_bytes(file)?))?.unwrap_or_default();
        read_into(file, &mut bytes, size)?;
        String::from_utf8(bytes).map_err(io::Error::other)
    };
    (0..count).map(name).collect()
}

impl LaidEvent {
    fn read(&mut self, file: &mut impl Read) -> io::Result<bool> {
        let mut at_ns = [0; 8];
        if file.read(&mut at_ns[..1])? == 0 {
            return Ok(false);
        }
        file.read_exact(&mut at_ns[1..])?;
        self.at_ns = u64::from_le_bytes(at_ns);
        self.kind = u32::from_le_bytes(read_bytes(file)?) as usize;
        let size = u32::from_le_bytes(read_bytes(file)?) as usize;
        let count = i32::from_le_bytes(read_bytes(file)?);
        read_into(file, &mut self.text, size)?;
        self.has_values = count >= 0;
        let count = length(count)?.unwrap_or_default();
        self.values.truncate(count);
        for at in 0..count {
            if at == self.values.len() {
                self.values.push(Value::Null);
            }
            match length(i32::from_le_bytes(read_bytes(file)?))? {
                None => self.values[at] = Value::Null,
                Some(size) => read_value(file, size, &mut self.values[at])?,
            }
        }
        Ok(true)
    }
}

fn read_bytes<const SIZE: usize>(file: &mut impl Read) -> io::Result<[u8; SIZE]> {
    let mut bytes = [0; SIZE];
    file.read_exact(&mut bytes).map(|()| bytes)
}

/// A length as it is written: -1 is none.
fn length(size: i32) -> io::Result<Option<usize>> {
    match usize::try_from(size) {
        Ok(size) => Ok(Some(size)),
        Err(_) if size == -1 => Ok(None),
        Err(_) => Err(io::Error::other("it is damaged")),
    }
}

fn read_into(file: &mut impl Read, bytes: &mut Vec<u8>, size: usize) -> io::Result<()> {
    if size > LONGEST {
        return Err(io::Error::other("it is damaged"));
    }
    bytes.clear();
    if size > MUCH {
        // a damaged length takes no more memory than there is to be read
        return match file.take(size as u64).read_to_end(bytes)? {
            read if read == size => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        };
    }
    bytes.resize(size, 0);
    file.read_exact(bytes)
}

/// Whole numbers travel as such, so that an engine without types of parameters takes them for that.
fn read_value(file: &mut impl Read, size: usize, value: &mut Value) -> io::Result<()> {
    let mut bytes = match std::mem::replace(value, Value::Null) {
        Value::Text(bytes) => bytes,
        _ => Vec::new(),
    };
    read_into(file, &mut bytes, size)?;
    let number = std::str::from_utf8(&bytes).ok().and_then(|text| text.parse::<i64>().ok());
    *value = match number {
        Some(number) if number.to_string().as_bytes() == bytes => Value::Integer(number),
        _ => Value::Text(bytes),
    };
    Ok(())
}

/// What is sent of a text with parameters, and which of the values each of its marks takes; none
/// where they are taken as they are.
pub struct LaidForm {
    pub form: Form,
    pub order: Option<Vec<usize>>,
}

impl LaidForm {
    /// Sends the statement with an event's values.
    #[inline]
    pub fn send(
        &self,
        session: &mut dyn Session,
        values: &[Value],
        arranged: &mut Vec<Value>,
    ) -> Result<Reply, Error> {
        let Some(order) = &self.order else { return self.form.send(session, values) };
        arranged.clear();
        arranged.extend(order.iter().map(|at| values.get(*at).cloned().unwrap_or(Value::Null)));
        self.form.send(session, arranged)
    }
}

/// What a user plays of a log, and how far that is.
pub struct Recording {
    /// The number of its connection.
    pub connection: usize,
    /// Its events.
    pub lane: Lane,
    /// How many of them were begun.
    pub at: usize,
    /// What a session that only reads is asked where `CHECK` stands; and is it asked just now?
    pub question: Option<String>,
    pub is_check: bool,
    /// The number of each event's text in the user's account.
    pub texts: Vec<u32>,
    /// The numbers of the transaction types' names, of those that occur.
    pub kinds: Vec<Option<i64>>,
    /// What is sent of texts with parameters.
    pub forms: HashMap<Vec<u8>, LaidForm>,
    /// The values of an event in the order of its marks; its memory is used again.
    pub arranged: Vec<Value>,
    /// When each event is due, until the worker has taken it.
    pub due_ns: Vec<u64>,
}

impl Recording {
    /// The transaction type of the event begun last.
    #[inline]
    pub fn last_kind(&self) -> i64 {
        self.kinds.get(self.lane.event.kind).copied().flatten().unwrap_or_default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_length_takes_no_more_memory_than_there_is_to_read() {
        let mut bytes = Vec::new();
        for size in [MUCH + 1, LONGEST] {
            let error = read_into(&mut &[7; 100][..], &mut bytes, size).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
            assert!(bytes.capacity() < MUCH);
        }
        let long = vec![7; MUCH + 5];
        read_into(&mut &long[..], &mut bytes, MUCH + 1).unwrap();
        assert_eq!(bytes.len(), MUCH + 1);
        read_into(&mut &long[..], &mut bytes, 3).unwrap();
        assert_eq!(bytes, [7; 3]);
        assert!(read_into(&mut &long[..], &mut bytes, LONGEST + 1).is_err());
    }
}
