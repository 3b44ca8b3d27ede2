//! Statements that the server refuses to prepare (`BEGIN` on MySQL): sent as text instead, their
//! values put in as literals. sysbench does the same, and its own scripts prepare `BEGIN`.

use std::io::Write;

use super::COM_QUERY;
use super::packet::{begin, end};
use crate::sessions::Value;

/// The text, cut at its question marks.
pub struct Emulated {
    parts: Vec<String>,
}

impl Emulated {
    /// Question marks inside quotes are none.
    pub fn new(sql: &str) -> Self {
        let (mut parts, mut quote) = (vec![String::new()], None);
        for c in sql.chars() {
            match (quote, c) {
                (None, '?') => parts.push(String::new()),
                (None, '\'' | '"' | '`') => quote = Some(c),
                (Some(open), c) if open == c => quote = None,
                _ => {}
            }
            let is_mark = quote.is_none() && c == '?';
            if let Some(part) = parts.last_mut().filter(|_| !is_mark) {
                part.push(c);
            }
        }
        Self { parts }
    }

    /// How many values it takes.
    pub fn parameters(&self) -> usize {
        self.parts.len() - 1
    }

    /// Appends the packet that executes it.
    pub fn encode(&self, values: &[Value], out: &mut Vec<u8>) {
        let at = begin(out);
        out.push(COM_QUERY);
        let mut values = values.iter();
        for (place, part) in self.parts.iter().enumerate() {
            if place > 0 {
                values.next().into_iter().for_each(|value| put(out, value));
            }
            out.extend_from_slice(part.as_bytes());
        }
        end(out, at, 0);
    }
}

fn put(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        // Writing to memory does not fail.
        Value::Integer(n) => drop(write!(out, "{n}")),
        Value::Real(n) => drop(write!(out, "{n:e}")),
        Value::Text(bytes) => {
            out.push(b'\'');
            for byte in bytes {
                match byte {
                    b'\'' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
                    _ => out.push(*byte),
                }
            }
            out.push(b'\'');
        }
    }
}
