//! Bulk rows, made in Rust and never seen by Lua: one file per kind of data.

mod fields;
mod ssb;
mod tpcc;
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
    /// Rows of one of TPC-H's tables as dbgen makes them, its comments included.
    Tpch {
        /// Which of the eight.
        table: TpchTable,
        /// TPC-H's scale factor; may be less than 1.
        #[serde(default = "one")]
        scale: f64,
        /// Which part of the table, from 1. Nation and region have one.
        #[serde(default = "first")]
        part: i32,
        /// Parts that the table is made in.
        #[serde(default = "first")]
        parts: i32,
        /// The orders, and their lines, get keys that dbgen leaves free: new rows for a refresh.
        #[serde(default)]
        refresh: bool,
    },
    /// Rows of one of the star schema benchmark's tables, as ssb-dbgen makes them.
    Ssb {
        /// Which of the five.
        table: SsbTable,
        /// The scale factor: 0.01 to 1, or a whole number.
        #[serde(default = "one")]
        scale: f64,
        /// Which part of the table, from 1.
        #[serde(default = "first")]
        part: i32,
        /// Parts that the table is made in.
        #[serde(default = "first")]
        parts: i32,
    },
    /// Rows of its largest table by their number, each with a text behind its columns.
    Lineorder {
        /// The scale factor.
        #[serde(default = "one")]
        scale: f64,
        /// The first row, from 0.
        #[serde(default)]
        first: u64,
        /// How many rows.
        rows: u64,
        /// Random words of a row's text.
        words: u16,
        /// How often the text says them, one time after the other.
        times: u16,
    },
    /// Rows of one of TPC-C's tables.
    Tpcc(tpcc::Population),
}

/// A table of TPC-H.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TpchTable {
    /// 5 rows.
    Region,
    /// 25 rows.
    Nation,
    /// 10,000 rows for each unit of the scale.
    Supplier,
    /// 150,000 rows.
    Customer,
    /// 200,000 rows.
    Part,
    /// 800,000 rows, in the order of the parts' keys.
    Partsupp,
    /// 1,500,000 rows.
    Orders,
    /// 6,001,215 rows at scale 1.
    Lineitem,
}

/// A table of the star schema benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SsbTable {
    /// 200,000 rows, and as many more each time that the scale doubles.
    Part,
    /// 2,000 rows for each unit of the scale.
    Supplier,
    /// 30,000 rows.
    Customer,
    /// 2,557 rows at every scale.
    Date,
    /// 6,001,173 rows at scale 1.
    Lineorder,
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

impl Source for Box<dyn Source> {
    fn fill(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.as_mut().fill(out)
    }
}

/// Makes ready to make rows.
pub fn open(rows: &Rows) -> Result<Box<dyn Source>, Error> {
    match *rows {
        Rows::Tpcc(ref population) => tpcc::open(population),
        Rows::Lineitem { scale, part, parts } => {
            Ok(Box::new(tpch::short_comments(tpch::Share::new(scale, part, parts)?)))
        }
        Rows::Tpch { table, scale, part, parts, refresh } => {
            tpch::open(table, tpch::Share::new(scale, part, parts)?, refresh)
        }
        Rows::Ssb { table, scale, part, parts } => ssb::open(table, scale, part, parts),
        Rows::Lineorder { scale, first, rows, words, times } => {
            ssb::stretch(scale, ssb::Stretch { first, rows, words, times })
        }
    }
}
