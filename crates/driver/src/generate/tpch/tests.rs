//! Rows of lineitem against the generator's own spelling.
#![allow(clippy::unwrap_used)]

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
    let own = LineItemGenerator::new_with_distributions_and_text_pool(0.01, 1, 1, words, text());
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
