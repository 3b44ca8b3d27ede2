//! Bulk rows, made in Rust and never seen by Lua: one file per kind of data.

mod tpch;

use serde::Deserialize;

use crate::plan::error::Error;

/// Which rows, as a script says it by `dyno.rows`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Rows {
    /// Rows like those of TPC-H's largest table, 6,000,000 for each unit of `scale`.
    Lineitem {
        /// TPC-H's scale factor; may be less than 1.
        #[serde(default = "one")]
        scale: f64,
        /// Which part of the table, from 1.
        #[serde(default = "first")]
        part: i32,
        /// Parts that the table is made in.
        #[serde(default = "first")]
        parts: i32,
    },
}

fn one() -> f64 {
    1.0
}

fn first() -> i32 {
    1
}

/// Rows in the text form that PostgreSQL's `COPY` and MySQL's `LOAD DATA` read by default: fields
/// parted by tabs, a line feed after each row, `\\N` for NULL, backslashes before what would be
/// mistaken for these.
pub trait Source {
    /// Appends some 64 KiB of whole rows; nothing appended means that there are no more.
    fn fill(&mut self, out: &mut Vec<u8>) -> Result<(), Error>;
}

/// Makes ready to make rows.
pub fn open(rows: &Rows) -> Result<Box<dyn Source>, Error> {
    match *rows {
        Rows::Lineitem { scale, part, parts } => Ok(Box::new(tpch::lineitem(scale, part, parts)?)),
    }
}
