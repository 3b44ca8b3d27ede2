//! How rows are written: fields of text and numbers, and the stretches in which a source hands
//! them on.

use super::Source;
use crate::plan::error::Error;

/// About so many bytes are written at a time.
pub const FILL_BYTES: usize = 64 << 10;

/// Rows of a table, in the order of their keys, each written by `put`.
pub struct Written<I, F> {
    /// The rows themselves.
    pub rows: I,
    /// Appends one of them.
    pub put: F,
}

impl<I: Iterator, F: FnMut(&I::Item, &mut Vec<u8>)> Source for Written<I, F> {
    fn fill(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        let end = out.len() + FILL_BYTES;
        while out.len() < end {
            let Some(row) = self.rows.next() else { break };
            (self.put)(&row, out);
        }
        Ok(())
    }
}

/// The last field of a row.
pub fn put_last(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}

/// A field that others follow.
pub fn put_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(b'\t');
}

/// Digits of a number that is never negative, and what follows it.
pub fn put_number(number: i64, after: u8, out: &mut Vec<u8>) {
    let (mut digits, mut at, mut left) = ([after; 21], 20, number);
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            return out.extend_from_slice(&digits[at..]);
        }
    }
}
