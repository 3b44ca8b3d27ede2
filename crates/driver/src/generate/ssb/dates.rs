//! The date table: the seven years from 1992 on, with what ssb-dbgen says of each day.

use std::io::Write;
use std::ops::Range;
use std::sync::OnceLock;

use tpchgen::dates::{MIN_GENERATE_DATE, TOTAL_DATE_RANGE, TPCHDate};

use super::super::Source;
use super::super::fields::{Written, put_last, put_number, put_text};

/// Rows of the table.
pub const DAYS: i64 = TOTAL_DATE_RANGE as i64;
const KEY_BYTES: usize = 8;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
/// 1992-01-01 was a Wednesday, the third day after Sunday.
const FIRST_WEEKDAY: i64 = 3;
/// Month and day.
const HOLIDAYS: [(i64, i64); 10] =
    [(12, 24), (1, 1), (2, 20), (4, 20), (5, 20), (7, 20), (8, 20), (9, 20), (10, 20), (11, 20)];

fn year_month_day(day: i64) -> (i64, i64, i64) {
    let (year, month, day) = TPCHDate::new(MIN_GENERATE_DATE + day as i32).to_ymd();
    (1900 + i64::from(year), month.into(), day.into())
}

/// Rows of the table, by day from 0 on.
pub fn dates(days: Range<i64>) -> Box<dyn Source> {
    Box::new(Written { rows: days, put: put_date })
}

fn put_date(index: &i64, out: &mut Vec<u8>) {
    let (year, month, day) = year_month_day(*index);
    let name = MONTHS[month as usize - 1];
    let of_year = 1 + (0..*index).rev().take_while(|it| year_month_day(*it).0 == year).count();
    // ssb-dbgen counts one day too many: its weeks begin with a Saturday that it calls Sunday.
    let of_week = (FIRST_WEEKDAY + index + 1) % 7 + 1;
    let is_last_of_month = index + 1 == DAYS || year_month_day(index + 1).1 != month;
    put_date_key(*index as usize, b'\t', out);
    let _ = write!(out, "{name} {day}, {year}\t");
    put_text(WEEKDAYS[of_week as usize - 1], out);
    put_text(name, out);
    put_number(year, b'\t', out);
    put_number(year * 100 + month, b'\t', out);
    let _ = write!(out, "{}{year}\t", &name[..3]);
    for number in [of_week, day, of_year as i64, month, of_year as i64 / 7 + 1] {
        put_number(number, b'\t', out);
    }
    put_text(season(month), out);
    let flags = [of_week == 7, is_last_of_month, HOLIDAYS.contains(&(month, day))];
    for flag in flags {
        put_text(flag_text(flag), out);
    }
    put_last(flag_text((2..=6).contains(&of_week)), out);
}

fn flag_text(flag: bool) -> &'static str {
    if flag { "1" } else { "0" }
}

fn season(month: i64) -> &'static str {
    match month {
        1..=3 => "Winter",
        4 => "Spring",
        5..=8 => "Summer",
        9..=10 => "Fall",
        _ => "Christmas",
    }
}

/// The key of a day (0: 1992-01-01) as `19920101`, and what follows it.
pub fn put_date_key(day: usize, after: u8, out: &mut Vec<u8>) {
    static KEYS: OnceLock<Vec<u8>> = OnceLock::new();
    let keys = KEYS.get_or_init(|| {
        let key = |day| {
            let (year, month, day) = year_month_day(day);
            (year * 10_000 + month * 100 + day).to_string().into_bytes()
        };
        (0..DAYS).flat_map(key).collect()
    });
    out.extend_from_slice(&keys[day * KEY_BYTES..(day + 1) * KEY_BYTES]);
    out.push(after);
}
