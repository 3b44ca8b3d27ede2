//! Columns and rows, as the text protocol would give them whichever protocol they came in.

use std::io::Write;

use super::packet::{Reader, garbage};
use crate::plan::error::Error;
use crate::sessions::Rows;
use crate::sessions::literal::put_integer;

const ZEROFILL: u16 = 64;
const UNSIGNED: u16 = 32;
/// More digits than any type has: as many as the value needs.
const FREE_DECIMALS: u8 = 31;

/// What must be known of a column to read its fields.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    kind: u8,
    flags: u16,
    width: u32,
    decimals: u8,
}

impl Column {
    /// A definition's packet; its name beside.
    pub fn parse(packet: &[u8]) -> Option<(&[u8], Self)> {
        let mut reader = Reader(packet);
        // Catalogue, schema, table, the table's own name.
        for _ in 0..4 {
            reader.text()?;
        }
        let name = reader.text()?;
        // The column's own name, the length of what follows, the character set.
        reader.text()?;
        reader.number()?;
        reader.u16()?;
        let (width, kind, flags) = (reader.u32()?, reader.u8()?, reader.u16()?);
        Some((name, Self { kind, flags, width, decimals: reader.u8()? }))
    }

    /// Its type with the flag that says that it has no sign, for [`type_name`].
    pub fn type_number(&self) -> u32 {
        u32::from(self.kind) | u32::from(self.flags & UNSIGNED) << 8
    }

    /// Appends the next field of a binary row as text.
    pub fn put(&self, reader: &mut Reader, out: &mut Vec<u8>) -> Option<()> {
        match self.kind {
            1 => self.put_whole(i64::from(reader.u8()? as i8), 0xff, out),
            2 | 13 => self.put_whole(i64::from(reader.u16()? as i16), 0xffff, out),
            3 | 9 => self.put_whole(i64::from(reader.u32()? as i32), 0xffff_ffff, out),
            8 => self.put_whole(reader.u64()? as i64, u64::MAX, out),
            4 => self.put_real(short(f32::from_bits(reader.u32()?)), out),
            5 => self.put_real(f64::from_bits(reader.u64()?), out),
            7 | 10 | 12 | 14 => self.put_date(reader.text()?, out),
            11 => self.put_time(reader.text()?, out),
            _ => {
                out.extend_from_slice(reader.text()?);
                Some(())
            }
        }
    }

    #[inline]
    fn put_whole(&self, n: i64, mask: u64, out: &mut Vec<u8>) -> Option<()> {
        if self.flags & (ZEROFILL | UNSIGNED) == 0 {
            put_integer(out, n);
            return Some(());
        }
        let width = if self.flags & ZEROFILL != 0 { self.width.min(255) as usize } else { 0 };
        match self.flags & UNSIGNED {
            0 => write!(out, "{n:0width$}"),
            _ => write!(out, "{:0width$}", n as u64 & mask),
        }
        .ok()
    }

    /// The shortest digits that give the same number again; an exponent where the engine has one.
    fn put_real(&self, n: f64, out: &mut Vec<u8>) -> Option<()> {
        let size = n.abs();
        match self.decimals {
            decimals if decimals < FREE_DECIMALS => {
                write!(out, "{n:.*}", usize::from(decimals))
            }
            _ if size != 0.0 && !(1e-15..1e15).contains(&size) => write!(out, "{n:e}"),
            _ => write!(out, "{n}"),
        }
        .ok()
    }

    fn put_date(&self, field: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let mut reader = Reader(field);
        let year = reader.u16().unwrap_or(0);
        let mut next = || reader.u8().unwrap_or(0);
        let (month, day, hour, minute, second) = (next(), next(), next(), next(), next());
        write!(out, "{year:04}-{month:02}-{day:02}").ok()?;
        if self.kind == 10 || self.kind == 14 {
            return Some(());
        }
        write!(out, " {hour:02}:{minute:02}:{second:02}").ok()?;
        self.put_fraction(reader.u32().unwrap_or(0), out)
    }

    fn put_time(&self, field: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let mut reader = Reader(field);
        let sign = if reader.u8().unwrap_or(0) == 0 { "" } else { "-" };
        let days = u64::from(reader.u32().unwrap_or(0));
        let mut next = || reader.u8().unwrap_or(0);
        let (hours, minute, second) = (days * 24 + u64::from(next()), next(), next());
        write!(out, "{sign}{hours:02}:{minute:02}:{second:02}").ok()?;
        self.put_fraction(reader.u32().unwrap_or(0), out)
    }

    /// As many digits as the column has.
    fn put_fraction(&self, microseconds: u32, out: &mut Vec<u8>) -> Option<()> {
        let digits = match self.decimals {
            0 => return Some(()),
            digits @ 1..=6 => digits,
            _ if microseconds == 0 => return Some(()),
            _ => 6,
        };
        let fraction = microseconds.min(999_999) / 10u32.pow(6 - u32::from(digits));
        write!(out, ".{fraction:0width$}", width = usize::from(digits)).ok()
    }
}

/// The engine writes a FLOAT with six digits, though it has a little more.
fn short(n: f32) -> f64 {
    format!("{n:.5e}").parse().unwrap_or_else(|_| f64::from(n))
}

/// The server's word for a [`Column::type_number`].
pub fn type_name(number: u32) -> String {
    let name = match number & 0xff {
        0 | 246 => "decimal",
        1 => "tinyint",
        2 => "smallint",
        3 => "int",
        4 => "float",
        5 => "double",
        6 => "null",
        7 => "timestamp",
        8 => "bigint",
        9 => "mediumint",
        10 | 14 => "date",
        11 => "time",
        12 => "datetime",
        13 => "year",
        16 => "bit",
        245 => "json",
        247 => "enum",
        248 => "set",
        249..=252 => "blob",
        253 | 15 => "varchar",
        254 => "char",
        255 => "geometry",
        other => return format!("type {other}"),
    };
    let sign = if number >> 8 == 0 { "" } else { " unsigned" };
    format!("{name}{sign}")
}

// Rows that will be read, as text, whichever protocol they came in.

/// Adds a row of the text protocol.
pub fn put_text(columns: usize, content: &[u8], rows: &mut Rows) -> Result<(), Error> {
    let mut reader = Reader(content);
    for _ in 0..columns {
        if let [0xfb, rest @ ..] = reader.0 {
            reader = Reader(rest);
            rows.push(None)?;
        } else {
            let field = reader.text().ok_or_else(|| garbage("a torn row"))?;
            rows.push(Some(field))?;
        }
    }
    Ok(())
}

/// Adds a row of the binary protocol: after the first byte a bit per column for NULL, the first two
/// bits unused.
pub fn put_binary(columns: &[Column], content: &[u8], rows: &mut Rows) -> Result<(), Error> {
    let torn = || garbage("a torn row");
    let mut reader = Reader(content);
    reader.u8().filter(|byte| *byte == 0).ok_or_else(torn)?;
    let nulls = reader.bytes((columns.len() + 9) / 8).ok_or_else(torn)?;
    for (at, column) in columns.iter().enumerate() {
        if nulls[(at + 2) / 8] & (1 << ((at + 2) % 8)) != 0 {
            rows.push(None)?;
        } else {
            column.put(&mut reader, &mut rows.bytes).ok_or_else(torn)?;
            rows.push(Some(&[]))?;
        }
    }
    Ok(())
}
