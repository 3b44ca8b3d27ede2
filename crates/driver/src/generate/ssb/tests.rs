//! Rows against ssb-dbgen's, parts against the whole, sizes and refusals.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::generate::{Rows, open as open_rows};

const TABLES: [SsbTable; 5] =
    [SsbTable::Part, SsbTable::Supplier, SsbTable::Customer, SsbTable::Date, SsbTable::Lineorder];

fn written(mut source: Box<dyn Source>) -> String {
    let mut out = Vec::new();
    loop {
        let before = out.len();
        source.fill(&mut out).unwrap();
        if out.len() == before {
            return String::from_utf8(out).unwrap();
        }
    }
}

fn made(table: SsbTable, scale: f64, part: i32, parts: i32) -> String {
    written(open(table, scale, part, parts).unwrap())
}

// The whole of scale 1 is held against ssb-dbgen's files by their digests in
// tests/workloads/test_ssb.py; here the first rows of those files.
#[test]
fn the_first_rows_are_ssb_dbgens() {
    let first = |table| {
        let text = made(table, 1.0, 1, 2_000);
        text.lines().next().unwrap().replace('\t', "|")
    };
    let known = [
        "1|lace spring|MFGR#1|MFGR#11|MFGR#1121|goldenrod|PROMO BURNISHED COPPER|7|JUMBO PKG",
        "1|Supplier#000000001|sdrGnXCDRcfriBvY0KL,i|PERU     9|PERU|AMERICA|27-989-741-2988",
        "1|Customer#000000001|j5JsirBM9P|MOROCCO  6|MOROCCO|AFRICA|25-214-662-5265|BUILDING",
        "19920101|January 1, 1992|Thursday|January|1992|199201|Jan1992|5|1|1|1|1|Winter|0|0|1|1",
        "1|1|18238|155190|828|19960130|2-HIGH|0|17|2116823|10523209|4|2032150|74711|2|19960311|\
        TRUCK",
    ];
    assert_eq!(TABLES.map(first), known);
}

#[test]
fn parts_make_the_whole() {
    for table in TABLES {
        let parts: String = (1..=3).map(|part| made(table, 0.01, part, 3)).collect();
        assert_eq!(parts, made(table, 0.01, 1, 1), "{table:?}");
    }
}

#[test]
fn rows_by_their_number_are_those_of_the_table_with_texts_behind_them() {
    let whole = made(SsbTable::Lineorder, 0.01, 1, 1);
    let rows: Vec<&str> = whole.lines().collect();
    for (first, count) in [(0, 1), (1, 1), (2, 5), (7, 700), (rows.len() - 3, 3)] {
        let wanted = |words, times| {
            let (first, rows) = (first as u64, count as u64);
            open_rows(&Rows::Lineorder { scale: 0.01, first, rows, words, times }).unwrap()
        };
        let plain = written(wanted(0, 1));
        assert_eq!(plain.lines().collect::<Vec<_>>(), rows[first..first + count]);
        let (once, thrice) = (written(wanted(4, 1)), written(wanted(4, 3)));
        for ((once, thrice), row) in once.lines().zip(thrice.lines()).zip(&rows[first..]) {
            let (columns, text) = once.rsplit_once('\t').unwrap();
            assert_eq!((columns, text.split(' ').count()), (*row, 4));
            assert_eq!(thrice, format!("{columns}\t{text} {text} {text}"));
        }
    }
}

#[test]
fn a_text_is_the_same_wherever_its_stretch_begins() {
    let text = |first, rows| {
        let wanted = Rows::Lineorder { scale: 0.01, first, rows, words: 10, times: 1 };
        written(open_rows(&wanted).unwrap())
    };
    assert_eq!(text(0, 50) + &text(50, 50), text(0, 100));
}

#[test]
fn parts_grow_by_the_logarithm_to_2_and_those_ordered_by_the_natural_one() {
    let parts = |scale| {
        let sizes = Sizes::at(scale).unwrap();
        (sizes.parts / PARTS, sizes.ordered_parts / PARTS)
    };
    let known = [(1.0, 1, 1), (2.0, 2, 1), (3.0, 2, 2), (4.0, 3, 2), (8.0, 4, 3), (64.0, 7, 5)];
    for (scale, all, ordered) in known {
        assert_eq!(parts(scale), (all, ordered), "scale {scale}");
    }
    assert_eq!(Sizes::at(0.05).unwrap().suppliers, 100);
}

#[test]
fn keys_of_orders_need_more_than_31_bits_beyond_scale_357() {
    let last = |scale: i64| order_key_of_last_row(scale as f64);
    assert!(last(357) < 1 << 31 && last(358) > 1 << 31);
}

fn order_key_of_last_row(scale: f64) -> i64 {
    let orders = Sizes::at(scale).unwrap().orders as i32;
    let text = made(SsbTable::Lineorder, scale, orders, orders);
    let row = text.lines().last().unwrap();
    assert_eq!(row.split('\t').count(), 17);
    row.split('\t').next().unwrap().parse().unwrap()
}

#[test]
fn every_day_is_there_and_every_order_is_on_one() {
    let text = made(SsbTable::Date, 0.01, 1, 1);
    let days: Vec<&str> = text.lines().map(|row| &row[..8]).collect();
    assert_eq!((days.len(), days[0], days[2_556]), (2_557, "19920101", "19981231"));
    for row in made(SsbTable::Lineorder, 0.01, 1, 1).lines() {
        let fields: Vec<&str> = row.split('\t').collect();
        assert!(days.contains(&fields[5]) && days.contains(&fields[15]), "{row}");
    }
}

#[test]
fn what_cannot_be_made_is_refused() {
    for scale in [0.0, 0.001, 1.5, 1001.0, f64::NAN, -1.0] {
        assert!(Sizes::at(scale).is_err(), "{scale}");
    }
    assert!(open(SsbTable::Part, 1.0, 3, 2).is_err() && open(SsbTable::Part, 1.0, 1, 0).is_err());
    let stretch = Stretch { first: 60_000, rows: 1_000, words: 1, times: 1 };
    assert!(super::stretch(0.01, stretch).is_err());
}
