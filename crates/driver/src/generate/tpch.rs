//! TPC-H's tables by `tpchgen`, field by field. Their comments are cut from a long text, which
//! is made once in a process; those of [`short_comments`] from a short one.

use std::io::Write;
use std::sync::OnceLock;

use tpchgen::dates::{TOTAL_DATE_RANGE, TPCHDate};
use tpchgen::decimal::TPCHDecimal;
use tpchgen::distribution::Distributions;
use tpchgen::generators::{
    Customer, CustomerGenerator, LineItem, LineItemGenerator, Nation, NationGenerator, Order,
    OrderGenerator, Part, PartGenerator, PartSupp, PartSuppGenerator, Region, RegionGenerator,
    Supplier, SupplierGenerator,
};
use tpchgen::text::TextPool;

use super::fields::{Written, put_last, put_number, put_text};
use super::{Source, TpchTable};
use crate::plan::error::Error;

const SHORT_TEXT_BYTES: i32 = 4 << 20;
const DATE_BYTES: usize = 10;
/// dbgen uses eight keys of each 32, and its refresh functions the next eight (`mk_sparse`).
const REFRESH_KEYS: i64 = 8;

/// A part of a table; parts are as long as one another, to the row of an order, part or customer.
#[derive(Clone, Copy)]
pub struct Share {
    scale: f64,
    part: i32,
    parts: i32,
}

impl Share {
    /// The `part`th (from 1) of `parts`.
    pub fn new(scale: f64, part: i32, parts: i32) -> Result<Self, Error> {
        if !(scale > 0.0 && scale <= 100_000.0) {
            return Err(Error::user(format!("TPC-H's scale is out of range (got {scale})"))
                .hint("0.01 to 100000"));
        }
        if parts < 1 || !(1..=parts).contains(&part) {
            return Err(Error::user(format!("a table has no part {part} of {parts}")));
        }
        Ok(Self { scale, part, parts })
    }
}

/// Rows of `lineitem` whose comments come from less text: a load measures no making of text.
pub fn short_comments(share: Share) -> impl Source {
    static TEXT: OnceLock<TextPool> = OnceLock::new();
    let words = Distributions::static_default();
    let text = TEXT.get_or_init(|| TextPool::new(SHORT_TEXT_BYTES, words));
    let Share { scale, part, parts } = share;
    let rows =
        LineItemGenerator::new_with_distributions_and_text_pool(scale, part, parts, words, text);
    Written { rows: rows.iter(), put: put_line(0) }
}

/// Rows of a table as dbgen makes them. Keys of orders are those of a `refresh` where that is asked
/// for; of another table that is refused.
pub fn open(table: TpchTable, share: Share, refresh: bool) -> Result<Box<dyn Source>, Error> {
    let Share { scale, part, parts } = share;
    let added = if refresh { REFRESH_KEYS } else { 0 };
    let is_refreshed = matches!(table, TpchTable::Orders | TpchTable::Lineitem);
    if refresh && !is_refreshed {
        return Err(Error::user(format!("a refresh has no rows of {table:?}")));
    }
    if parts > 1 && matches!(table, TpchTable::Nation | TpchTable::Region) {
        return Err(Error::user(format!("{table:?} is made in one part, not in {parts}")));
    }
    Ok(match table {
        TpchTable::Region => {
            let rows = RegionGenerator::new(scale, part, parts).iter();
            Box::new(Written { rows, put: put_region })
        }
        TpchTable::Nation => {
            let rows = NationGenerator::new(scale, part, parts).iter();
            Box::new(Written { rows, put: put_nation })
        }
        TpchTable::Supplier => {
            let rows = SupplierGenerator::new(scale, part, parts).iter();
            Box::new(Written { rows, put: put_supplier })
        }
        TpchTable::Customer => {
            let rows = CustomerGenerator::new(scale, part, parts).iter();
            Box::new(Written { rows, put: put_customer })
        }
        TpchTable::Part => {
            let rows = PartGenerator::new(scale, part, parts).iter();
            Box::new(Written { rows, put: put_part })
        }
        TpchTable::Partsupp => {
            let rows = PartSuppGenerator::new(scale, part, parts).iter();
            Box::new(Written { rows, put: put_partsupp })
        }
        TpchTable::Orders => {
            let rows = OrderGenerator::new(scale, part, parts).iter();
            Box::new(Written { rows, put: put_order(added) })
        }
        TpchTable::Lineitem => {
            let rows = LineItemGenerator::new(scale, part, parts).iter();
            Box::new(Written { rows, put: put_line(added) })
        }
    })
}

fn put_region(row: &Region<'_>, out: &mut Vec<u8>) {
    put_number(row.r_regionkey, b'\t', out);
    put_text(row.r_name, out);
    put_last(row.r_comment, out);
}

fn put_nation(row: &Nation<'_>, out: &mut Vec<u8>) {
    put_number(row.n_nationkey, b'\t', out);
    put_text(row.n_name, out);
    put_number(row.n_regionkey, b'\t', out);
    put_last(row.n_comment, out);
}

// What keeps its fields to itself in `tpchgen` (numbered names, addresses, phones, names of parts)
// can only be formatted.
fn put_supplier(row: &Supplier, out: &mut Vec<u8>) {
    put_number(row.s_suppkey, b'\t', out);
    let (name, address, phone) = (row.s_name, &row.s_address, &row.s_phone);
    let _ = write!(out, "{name}\t{address}\t{}\t{phone}\t", row.s_nationkey);
    put_decimal(row.s_acctbal, out);
    put_last(&row.s_comment, out);
}

fn put_customer(row: &Customer<'_>, out: &mut Vec<u8>) {
    put_number(row.c_custkey, b'\t', out);
    let (name, address, phone) = (row.c_name, &row.c_address, &row.c_phone);
    let _ = write!(out, "{name}\t{address}\t{}\t{phone}\t", row.c_nationkey);
    put_decimal(row.c_acctbal, out);
    put_text(row.c_mktsegment, out);
    put_last(row.c_comment, out);
}

fn put_part(row: &Part<'_>, out: &mut Vec<u8>) {
    put_number(row.p_partkey, b'\t', out);
    let _ = write!(out, "{}\t{}\t{}\t", row.p_name, row.p_mfgr, row.p_brand);
    put_text(row.p_type, out);
    put_number(row.p_size.into(), b'\t', out);
    put_text(row.p_container, out);
    put_decimal(row.p_retailprice, out);
    put_last(row.p_comment, out);
}

fn put_partsupp(row: &PartSupp<'_>, out: &mut Vec<u8>) {
    for number in [row.ps_partkey, row.ps_suppkey, row.ps_availqty.into()] {
        put_number(number, b'\t', out);
    }
    put_decimal(row.ps_supplycost, out);
    put_last(row.ps_comment, out);
}

fn put_order(added: i64) -> impl FnMut(&Order<'static>, &mut Vec<u8>) {
    let dates = dates();
    move |row, out| {
        put_number(row.o_orderkey + added, b'\t', out);
        put_number(row.o_custkey, b'\t', out);
        put_text(row.o_orderstatus.as_str(), out);
        put_decimal(row.o_totalprice, out);
        put_date(row.o_orderdate, dates, out);
        put_text(row.o_orderpriority, out);
        let _ = write!(out, "{}\t{}\t", row.o_clerk, row.o_shippriority);
        put_last(row.o_comment, out);
    }
}

fn put_line(added: i64) -> impl FnMut(&LineItem<'static>, &mut Vec<u8>) {
    let dates = dates();
    move |row, out| {
        put_number(row.l_orderkey + added, b'\t', out);
        for number in [row.l_partkey, row.l_suppkey, row.l_linenumber.into(), row.l_quantity] {
            put_number(number, b'\t', out);
        }
        for decimal in [row.l_extendedprice, row.l_discount, row.l_tax] {
            put_decimal(decimal, out);
        }
        put_text(row.l_returnflag, out);
        put_text(row.l_linestatus, out);
        for date in [row.l_shipdate, row.l_commitdate, row.l_receiptdate] {
            put_date(date, dates, out);
        }
        put_text(row.l_shipinstruct, out);
        put_text(row.l_shipmode, out);
        put_last(row.l_comment, out);
    }
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

fn put_date(date: TPCHDate, dates: &[u8], out: &mut Vec<u8>) {
    let at = date.into_inner() as usize * DATE_BYTES;
    out.extend_from_slice(&dates[at..at + DATE_BYTES]);
    out.push(b'\t');
}

/// A sum of money, which may be owed.
fn put_decimal(decimal: TPCHDecimal, out: &mut Vec<u8>) {
    let hundredths = decimal.into_inner();
    if hundredths < 0 {
        out.push(b'-');
    }
    let hundredths = hundredths.abs();
    put_number(hundredths / 100, b'.', out);
    let rest = (hundredths % 100) as u8;
    out.extend_from_slice(&[b'0' + rest / 10, b'0' + rest % 10, b'\t']);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn written(mut source: impl Source) -> String {
        let mut out = Vec::new();
        loop {
            let before = out.len();
            source.fill(&mut out).unwrap();
            if out.len() == before {
                return String::from_utf8(out).unwrap();
            }
        }
    }

    fn made(table: TpchTable, scale: f64, part: i32, parts: i32) -> String {
        written(open(table, Share::new(scale, part, parts).unwrap(), false).unwrap())
    }

    /// The rows as `tpchgen` formats them, which its own tests hold against dbgen's files.
    fn assert_formatted(table: TpchTable, rows: impl Iterator<Item = impl ToString>) {
        let ours = made(table, 0.001, 1, 1);
        let theirs: Vec<String> = rows.map(|row| row.to_string()).collect();
        assert_eq!(ours.lines().count(), theirs.len(), "{table:?}");
        for (ours, theirs) in ours.lines().zip(theirs) {
            assert_eq!(ours.replace('\t', "|") + "|", theirs);
        }
    }

    #[test]
    fn rows_are_dbgens() {
        assert_formatted(TpchTable::Region, RegionGenerator::new(0.001, 1, 1).iter());
        assert_formatted(TpchTable::Nation, NationGenerator::new(0.001, 1, 1).iter());
        assert_formatted(TpchTable::Supplier, SupplierGenerator::new(0.001, 1, 1).iter());
        assert_formatted(TpchTable::Customer, CustomerGenerator::new(0.001, 1, 1).iter());
        assert_formatted(TpchTable::Part, PartGenerator::new(0.001, 1, 1).iter());
        assert_formatted(TpchTable::Partsupp, PartSuppGenerator::new(0.001, 1, 1).iter());
        assert_formatted(TpchTable::Orders, OrderGenerator::new(0.001, 1, 1).iter());
        assert_formatted(TpchTable::Lineitem, LineItemGenerator::new(0.001, 1, 1).iter());
    }

    #[test]
    fn short_comments_are_all_that_differs() {
        let short = written(short_comments(Share::new(0.01, 1, 1).unwrap()));
        let whole = made(TpchTable::Lineitem, 0.01, 1, 1);
        assert_eq!(short.lines().count(), 60_175);
        assert_ne!(short, whole);
        for (short, whole) in short.lines().zip(whole.lines()) {
            assert_eq!(short.rsplit_once('\t').unwrap().0, whole.rsplit_once('\t').unwrap().0);
        }
        // The first row of dbgen's file at this scale, by TPC-H's specification of its generators.
        let first = "1\t1552\t93\t1\t17\t24710.35\t0.04\t0.02\tN\tO\t1996-03-13\t1996-02-12\t\
        1996-03-22\tDELIVER IN PERSON\tTRUCK\t";
        assert!(whole.starts_with(first), "{}", whole.lines().next().unwrap());
    }

    #[test]
    fn a_refresh_brings_keys_that_the_tables_lack() {
        let share = Share::new(0.001, 1, 1).unwrap();
        for table in [TpchTable::Orders, TpchTable::Lineitem] {
            let key = |row: &str| row.split('\t').next().unwrap().parse::<i64>().unwrap();
            for row in written(open(table, share, true).unwrap()).lines() {
                assert_eq!(key(row) % 32 / 8, 1, "{row}");
            }
            assert!(made(table, 0.001, 1, 1).lines().all(|row| key(row) % 32 < 8));
        }
        assert!(open(TpchTable::Part, share, true).is_err());
    }

    #[test]
    fn parts_make_the_whole() {
        for table in [TpchTable::Orders, TpchTable::Partsupp, TpchTable::Lineitem] {
            let parts: String = (1..=3).map(|part| made(table, 0.001, part, 3)).collect();
            assert_eq!(parts, made(table, 0.001, 1, 1));
        }
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
            assert!(Share::new(scale, part, parts).is_err());
        }
        assert!(open(TpchTable::Nation, Share::new(1.0, 1, 2).unwrap(), false).is_err());
    }
}
