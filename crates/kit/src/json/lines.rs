//! The lines that values come in: one to a line, each ended by a newline.
//!
//! What would break a line is escaped as MySQL's own exports do: `\n` for a newline, `\\` for a
//! backslash. So a line is a value, whatever the value holds.

use super::reader::{self, Scalar};
use crate::bounds::{Output, check_killed};
use crate::function::{Arguments, Fault};

/// Appends text with its newlines and backslashes escaped; `also` is escaped, too.
pub fn escape(out: &mut Output, text: &str, also: Option<u8>) -> Result<(), Fault> {
    let mut begin = 0;
    for (at, byte) in text.bytes().enumerate() {
        if matches!(byte, b'\n' | b'\\') || Some(byte) == also {
            out.extend(&text.as_bytes()[begin..at])?;
            out.extend(&[b'\\', if byte == b'\n' { b'n' } else { byte }])?;
            begin = at + 1;
        }
    }
    out.extend(&text.as_bytes()[begin..])
}

/// Appends a value as a line has it: strings without quotes, `true`, `false`, `NULL`.
pub fn scalar(out: &mut Output, scalar: &Scalar) -> Result<(), Fault> {
    match scalar {
        Scalar::Null => out.extend(b"NULL"),
        Scalar::Bool(true) => out.extend(b"true"),
        Scalar::Bool(false) => out.extend(b"false"),
        Scalar::Number(text) => out.extend(text.as_bytes()),
        Scalar::String(text) => escape(out, text, None),
    }
}

/// What a call does with a document that is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalid {
    /// The statement fails.
    Error,
    /// The answer is NULL.
    Null,
}

impl Invalid {
    /// The word for it, as the last argument of a function has it.
    fn of(word: &[u8]) -> Option<Self> {
        match word {
            b"error" => Some(Self::Error),
            b"null" => Some(Self::Null),
            _ => None,
        }
    }

    /// Whether NULL is the answer for a document that failed. Only where it is no JSON: whatever
    /// else failed (a result too large, no memory) is an error.
    pub fn forgives(self, document: &[u8]) -> bool {
        self == Self::Null && check_killed().is_ok() && !reader::is_json(document)
    }

    /// What the constant at `index` asks for: `Error` where none is given, `None` for no such word.
    pub fn asked(constants: Arguments, index: usize) -> Option<Self> {
        match constants.0.get(index) {
            None => Some(Self::Error),
            Some(_) => constants.bytes(index).and_then(Self::of),
        }
    }
}
