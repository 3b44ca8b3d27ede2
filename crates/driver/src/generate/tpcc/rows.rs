//! A row of each table, field by field as the tables' columns are declared (`_tpcc_schema.lua`).

use super::super::fields::{put_number, put_text};
use super::draws::Draws;
use super::{DISTRICTS, Key, Population, TpccTable};

/// Date of all that was there before the run.
const LOADED: &str = "2020-01-01 00:00:00";
/// In dollars: what each customer has paid.
const PAID: i64 = 10;
const DIST_LENGTH: usize = 24;
const ORIGINAL: &[u8] = b"ORIGINAL";

pub fn put_warehouse(it: &Population, [w, ..]: Key, draws: &mut Draws, out: &mut Vec<u8>) {
    put_numbers([w], out);
    draws.put_letters(6, 10, out);
    put_address(draws, out);
    put_decimal(draws.number(0, 2000), 4, out);
    let districts = i64::from(DISTRICTS * it.customers);
    put_decimal(100 * PAID * districts, 2, out);
    end_row(out);
}

pub fn put_district(it: &Population, [w, d, _]: Key, draws: &mut Draws, out: &mut Vec<u8>) {
    put_numbers([d, w], out);
    draws.put_letters(6, 10, out);
    put_address(draws, out);
    put_decimal(draws.number(0, 2000), 4, out);
    put_decimal(100 * PAID * i64::from(it.customers), 2, out);
    put_numbers([it.customers + 1], out);
    end_row(out);
}

pub fn put_customer(it: &Population, [w, d, id]: Key, draws: &mut Draws, out: &mut Vec<u8>) {
    put_numbers([id, d, w], out);
    draws.put_letters(8, 16, out);
    put_text("OE", out);
    let name = if id <= it.last_names { id - 1 } else { draws.last_name(it.c_last, it.last_names) };
    put_last_name(name, out);
    put_address(draws, out);
    draws.put_digits(16, out);
    put_text("", out);
    put_text(LOADED, out);
    put_text(if draws.percent(10) { "BC" } else { "GC" }, out);
    put_decimal(5_000_000, 2, out);
    put_decimal(draws.number(0, 5000), 4, out);
    put_decimal(-100 * PAID, 2, out);
    put_decimal(100 * PAID, 2, out);
    put_numbers([1, 0], out);
    draws.put_letters(300, 500, out);
    end_row(out);
}

pub fn put_history(_: &Population, [w, d, id]: Key, draws: &mut Draws, out: &mut Vec<u8>) {
    put_numbers([id, d, w, d, w], out);
    put_text(LOADED, out);
    put_decimal(100 * PAID, 2, out);
    draws.put_letters(12, 24, out);
    end_row(out);
}

pub fn put_item(_: &Population, [.., id]: Key, draws: &mut Draws, out: &mut Vec<u8>) {
    put_numbers([id], out);
    put_number(draws.number(1, 10_000), b'\t', out);
    draws.put_letters(14, 24, out);
    put_decimal(draws.number(100, 10_000), 2, out);
    put_data(draws, out);
    end_row(out);
}

pub fn put_stock(_: &Population, [w, _, item]: Key, draws: &mut Draws, out: &mut Vec<u8>) {
    put_numbers([item, w], out);
    put_number(draws.number(10, 100), b'\t', out);
    for _ in 0..DISTRICTS {
        draws.put_letters(DIST_LENGTH, DIST_LENGTH, out);
    }
    put_numbers([0, 0, 0], out);
    put_data(draws, out);
    end_row(out);
}

pub fn put_order(
    it: &Population,
    [w, d, id]: Key,
    buyer: u32,
    draws: &mut Draws,
    out: &mut Vec<u8>,
) {
    let lines = draws.lines();
    put_numbers([id, d, w, buyer], out);
    put_text(LOADED, out);
    match id <= it.delivered {
        true => put_number(draws.number(1, 10), b'\t', out),
        false => put_text("\\N", out),
    }
    put_number(lines, b'\t', out);
    put_numbers([1], out);
    end_row(out);
}

pub fn put_new_order(_: &Population, [w, d, id]: Key, _: &mut Draws, out: &mut Vec<u8>) {
    put_numbers([id, d, w], out);
    end_row(out);
}

/// All lines of an order.
pub fn put_lines(it: &Population, key: Key, draws: &mut Draws, out: &mut Vec<u8>) {
    let ([w, d, order], is_delivered) = (key, key[2] <= it.delivered);
    let date = if is_delivered { LOADED } else { it.undelivered.as_deref().unwrap_or("\\N") };
    let lines = it.draws(TpccTable::Orders, key).lines();
    for line in 1..=lines {
        put_numbers([order, d, w], out);
        put_number(line, b'\t', out);
        put_number(draws.number(1, it.items.into()), b'\t', out);
        put_numbers([w], out);
        put_text(date, out);
        put_numbers([5], out);
        put_decimal(if is_delivered { 0 } else { draws.number(1, 999_999) }, 2, out);
        draws.put_letters(DIST_LENGTH, DIST_LENGTH, out);
        end_row(out);
    }
}

/// Two streets, a city, a state and a zip code.
fn put_address(draws: &mut Draws, out: &mut Vec<u8>) {
    for _ in 0..3 {
        draws.put_letters(10, 20, out);
    }
    draws.put_letters(2, 2, out);
    draws.put_digits(4, out);
    put_text("11111", out);
}

/// Letters, and in one of ten somewhere among them that it is an original.
fn put_data(draws: &mut Draws, out: &mut Vec<u8>) {
    let start = out.len();
    draws.put_letters(26, 50, out);
    if draws.percent(10) {
        let last = out.len() - 1 - start - ORIGINAL.len();
        let at = start + draws.number(0, last as i64) as usize;
        out[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}

/// The name of a number from 0 to 999 (clause 4.3.2.3).
fn put_last_name(number: u32, out: &mut Vec<u8>) {
    const SYLLABLES: [&str; 10] =
        ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    for digit in [number / 100, number / 10 % 10, number % 10] {
        out.extend_from_slice(SYLLABLES[digit as usize].as_bytes());
    }
    out.push(b'\t');
}

fn put_numbers<const N: usize>(numbers: [u32; N], out: &mut Vec<u8>) {
    for number in numbers {
        put_number(number.into(), b'\t', out);
    }
}

/// A number of so many decimals, in units of the last one.
fn put_decimal(number: i64, decimals: u32, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    let (number, one) = (number.abs(), 10_i64.pow(decimals));
    put_number(number / one, b'.', out);
    let mut place = one / 10;
    while place > 0 {
        out.push(b'0' + (number / place % 10) as u8);
        place /= 10;
    }
    out.push(b'\t');
}

/// The tab behind the last field becomes the row's end.
fn end_row(out: &mut [u8]) {
    if let Some(last) = out.last_mut() {
        *last = b'\n';
    }
}
