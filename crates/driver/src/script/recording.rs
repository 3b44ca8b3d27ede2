//! A part of a server's log that one user plays again: its statements are laid out before the
//! phase, and each is an event. `src/dyno/replay/layout.py` writes the files.

use std::path::Path;

use serde::Deserialize;

use super::statement::Form;
use crate::plan::error::Error;
use crate::sessions::Value;

/// What a file holds.
#[derive(Deserialize)]
pub struct Laid {
    /// Names of the transaction types.
    pub kinds: Vec<String>,
    /// Each text once, with `?` for its parameters if its events have values.
    pub texts: Vec<String>,
    /// In the order in which they are played.
    pub events: Vec<LaidEvent>,
}

/// When it is due, in ns from the phase's start; its text's and its type's number; its values.
#[derive(Deserialize)]
pub struct LaidEvent(pub u64, pub usize, pub usize, pub Option<Vec<Option<String>>>);

impl Laid {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let unreadable = |cause: String| {
            Error::user(format!("cannot read the laid out log {}", path.display())).because(cause)
        };
        let text = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
        serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))
    }
}

/// What a user plays of a log, and how far that is.
pub struct Recording {
    /// The number of its connection.
    pub connection: usize,
    /// What is sent, each with its text's number in the user's account.
    pub statements: Vec<(Form, u32)>,
    /// In the order in which they are played.
    pub events: Vec<Recorded>,
    /// How many of them were begun.
    pub at: usize,
    /// When each event is due, until the worker has taken it.
    pub due_ns: Vec<u64>,
}

/// An event: a statement, its transaction type, its values.
pub struct Recorded {
    /// The statement's number.
    pub statement: usize,
    /// The type's number.
    pub kind: i64,
    /// One per parameter.
    pub values: Vec<Value>,
}

impl Recording {
    /// The transaction type of the event begun last.
    #[inline]
    pub fn last_kind(&self) -> i64 {
        self.events[self.at - 1].kind
    }
}

/// Whole numbers travel as such, so that an engine without types of parameters takes them for that.
pub fn value(text: Option<String>) -> Value {
    let Some(text) = text else { return Value::Null };
    match text.parse::<i64>() {
        Ok(number) if number.to_string() == text => Value::Integer(number),
        _ => Value::Text(text.into_bytes()),
    }
}
