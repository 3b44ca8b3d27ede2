//! The star schema benchmark's five tables, byte for byte those of ssb-dbgen (github.com/eyalroz/
//! ssb-dbgen at ae1e254, run with TZ=UTC), on `tpchgen`'s random numbers and words.
//!
//! That program makes part, supplier, customer, date and lineorder in this order and in one
//! process, and its columns draw from numbered streams of random numbers. What one table leaves
//! behind the next one meets: customers go on where suppliers stopped in the streams of phones and
//! cities, and each row of the date table, whose number once was that of TPC-H's orders, moves the
//! streams of orders by one row. Below scale 1 ssb-dbgen shortens the calendar, too, so that orders
//! have dates that its date table lacks; here all 2,557 days are made at every scale.

mod dates;
mod dimensions;
mod lineorder;
mod words;

use tpchgen::random::RowRandomInt;

use super::{Source, SsbTable};
use crate::plan::error::Error;

use lineorder::Lineorder;
pub use lineorder::Stretch;

/// How many rows the tables have at a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    parts: i64,
    /// The parts that are ever ordered: by the natural logarithm of the scale, where the table of
    /// parts grows by that to the base of 2.
    ordered_parts: i64,
    suppliers: i64,
    customers: i64,
    orders: i64,
}

const PARTS: i64 = 200_000;
const SUPPLIERS: i64 = 2_000;
const CUSTOMERS: i64 = 30_000;
const ORDERS: i64 = 1_500_000;
/// The largest scale that ssb-dbgen claims to know.
const MOST_SCALE: f64 = 1000.0;

impl Sizes {
    /// Those at a scale: a whole number, or one below 1.
    pub fn at(scale: f64) -> Result<Self, Error> {
        if (0.01..1.0).contains(&scale) {
            let share = |rows: i64| (rows as f64 * scale) as i64;
            return Ok(Self {
                parts: share(PARTS),
                ordered_parts: share(PARTS),
                suppliers: share(SUPPLIERS),
                customers: share(CUSTOMERS),
                orders: share(ORDERS),
            });
        }
        if !(1.0..=MOST_SCALE).contains(&scale) || scale.fract() != 0.0 {
            return Err(Error::user(format!(
                "the star schema benchmark's scale is out of range (got {scale})"
            ))
            .hint("0.01 to 1, or a whole number up to 1000"));
        }
        let whole = scale as i64;
        Ok(Self {
            parts: PARTS * (1.0 + scale.ln() / 2_f64.ln()).floor() as i64,
            ordered_parts: PARTS * (scale.ln().floor() as i64 + 1),
            suppliers: SUPPLIERS * whole,
            customers: CUSTOMERS * whole,
            orders: ORDERS * whole,
        })
    }
}

/// A column's random numbers: its seed, how many a row may take, and the rows that came before.
fn stream(seed: i64, each_row: i32, rows_before: i64) -> RowRandomInt {
    let mut stream = RowRandomInt::new(seed, each_row);
    stream.advance_rows(rows_before);
    stream
}

/// Rows of a table, or of one of its parts, which are as long as one another to the row (of
/// lineorder: to the order).
pub fn open(table: SsbTable, scale: f64, part: i32, parts: i32) -> Result<Box<dyn Source>, Error> {
    let sizes = Sizes::at(scale)?;
    if parts < 1 || !(1..=parts).contains(&part) {
        return Err(Error::user(format!("a table has no part {part} of {parts}")));
    }
    let share = |rows: i64| {
        let edge = |part: i32| rows * i64::from(part) / i64::from(parts);
        edge(part - 1)..edge(part)
    };
    Ok(match table {
        SsbTable::Part => dimensions::parts(share(sizes.parts)),
        SsbTable::Supplier => dimensions::suppliers(share(sizes.suppliers)),
        SsbTable::Customer => dimensions::customers(share(sizes.customers), sizes.suppliers),
        SsbTable::Date => dates::dates(share(dates::DAYS)),
        SsbTable::Lineorder => Box::new(Lineorder::new(&sizes, share(sizes.orders))),
    })
}

/// Rows of lineorder by their number, with a text each.
pub fn stretch(scale: f64, stretch: Stretch) -> Result<Box<dyn Source>, Error> {
    Ok(Box::new(Lineorder::stretch(&Sizes::at(scale)?, stretch)?))
}

#[cfg(test)]
mod tests;
