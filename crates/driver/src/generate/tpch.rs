//! TPC-H's largest table by `tpchgen`, but for the comments: dbgen cuts them from 300 MB of text,
//! which would take seconds and memory to make; ours come from less of the same text.

use std::sync::OnceLock;

use tpchgen::dates::{TOTAL_DATE_RANGE, TPCHDate};
use tpchgen::distribution::Distributions;
use tpchgen::generators::{LineItem, LineItemGenerator, LineItemGeneratorIterator};
use tpchgen::text::TextPool;

use super::Source;
use crate::plan::error::Error;

const TEXT_BYTES: i32 = 4 << 20;
const FILL_BYTES: usize = 64 << 10;
const DATE_BYTES: usize = 10;

/// Rows of `lineitem`, in the order of their keys.
pub struct Lines {
    rows: LineItemGeneratorIterator<'static>,
    dates: &'static [u8],
}

/// A part of the table; parts are as long as one another, to the order.
pub fn lineitem(scale: f64, part: i32, parts: i32) -> Result<Lines, Error> {
    if !(scale > 0.0 && scale <= 100_000.0) {
        return Err(Error::user(format!("lineitem has no scale {scale}")).hint("0.01 to 100000"));
    }
    if parts < 1 || !(1..=parts).contains(&part) {
        return Err(Error::user(format!("lineitem has no part {part} of {parts}")));
    }
    let words = Distributions::static_default();
    let rows =
        LineItemGenerator::new_with_distributions_and_text_pool(scale, part, parts, words, text());
    Ok(Lines { rows: rows.iter(), dates: dates() })
}

fn text() -> &'static TextPool {
    static TEXT: OnceLock<TextPool> = OnceLock::new();
    TEXT.get_or_init(|| TextPool::new(TEXT_BYTES, Distributions::static_default()))
}

/// Every date, spelled: formatting three a row would cost more than all the rest.
fn dates() -> &'static [u8] {
    static DATES_SPELLED: OnceLock<Vec<u8>> = OnceLock::new();
    DATES_SPELLED.get_or_init(|| {
        let first = tpchgen::dates::MIN_GENERATE_DATE;
        (first..first + TOTAL_DATE_RANGE)
            .flat_map(|day| TPCHDate::new(day).to_string().into_bytes())
            .collect()
    })
}

impl Source for Lines {
    fn fill(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        let end = out.len() + FILL_BYTES;
        while out.len() < end {
            let Some(row) = self.rows.next() else { break };
            self.put(&row, out);
        }
        Ok(())
    }
}

impl Lines {
    fn put(&self, row: &LineItem, out: &mut Vec<u8>) {
        for number in [row.l_orderkey, row.l_partkey, row.l_suppkey, row.l_linenumber.into()] {
            put_number(number, b'\t', out);
        }
        put_number(row.l_quantity, b'\t', out);
        for decimal in [row.l_extendedprice, row.l_discount, row.l_tax] {
            put_decimal(decimal.into_inner(), out);
        }
        put_text(row.l_returnflag, out);
        put_text(row.l_linestatus, out);
        for date in [row.l_shipdate, row.l_commitdate, row.l_receiptdate] {
            let at = date.into_inner() as usize * DATE_BYTES;
            out.extend_from_slice(&self.dates[at..at + DATE_BYTES]);
            out.push(b'\t');
        }
        put_text(row.l_shipinstruct, out);
        put_text(row.l_shipmode, out);
        out.extend_from_slice(row.l_comment.as_bytes());
        out.push(b'\n');
    }
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(b'\t');
}

/// Digits of a number that is never negative, and what follows it.
fn put_number(number: i64, after: u8, out: &mut Vec<u8>) {
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

fn put_decimal(hundredths: i64, out: &mut Vec<u8>) {
    put_number(hundredths / 100, b'.', out);
    let rest = (hundredths % 100) as u8;
    out.extend_from_slice(&[b'0' + rest / 10, b'0' + rest % 10, b'\t']);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn made(scale: f64, part: i32, parts: i32) -> String {
        let mut source = lineitem(scale, part, parts).unwrap();
        let mut out = Vec::new();
        loop {
            let before = out.len();
            source.fill(&mut out).unwrap();
            if out.len() == before {
                return String::from_utf8(out).unwrap();
            }
        }
    }

    #[test]
    fn rows_are_dbgens_but_for_the_comment() {
        let rows = made(0.01, 1, 1);
        assert_eq!(rows.lines().count(), 60_175);
        let words = Distributions::static_default();
        let own =
            LineItemGenerator::new_with_distributions_and_text_pool(0.01, 1, 1, words, text());
        for (row, line) in own.iter().zip(rows.lines()) {
            assert_eq!(line.replace('\t', "|") + "|", row.to_string());
        }
        // The first row of dbgen's file at this scale, by TPC-H's specification of its generators.
        let first = "1\t1552\t93\t1\t17\t24710.35\t0.04\t0.02\tN\tO\t1996-03-13\t1996-02-12\t\
        1996-03-22\tDELIVER IN PERSON\tTRUCK\t";
        assert!(rows.starts_with(first), "{}", rows.lines().next().unwrap());
    }

    #[test]
    fn parts_make_the_whole() {
        let parts: String = (1..=3).map(|part| made(0.001, part, 3)).collect();
        assert_eq!(parts, made(0.001, 1, 1));
    }

    #[test]
    fn the_last_date_is_spelled() {
        let spelled = dates();
        assert_eq!(spelled.len(), TOTAL_DATE_RANGE as usize * DATE_BYTES);
        assert!(spelled.starts_with(b"1992-01-01"));
    }

    #[test]
    fn what_cannot_be_made_is_refused() {
        for (scale, part, parts) in [(0.0, 1, 1), (f64::NAN, 1, 1), (1.0, 2, 1), (1.0, 0, 0)] {
            assert!(lineitem(scale, part, parts).is_err());
        }
    }
}
