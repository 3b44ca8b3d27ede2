//! Bulk rows, made in Rust and never seen by Lua: one file per kind of data.
// Its users follow in the same week; then this line goes.
#![allow(dead_code, unused_imports)]

use crate::error::Error;

/// Rows in the text form that PostgreSQL's `COPY` and MySQL's `LOAD DATA` read by default: fields
/// parted by tabs, a line feed after each row, `\\N` for NULL, backslashes before what would be
/// mistaken for these.
pub trait Source {
    /// Appends some 64 KiB of whole rows; nothing appended means that there are no more.
    fn fill(&mut self, out: &mut Vec<u8>) -> Result<(), Error>;
}
