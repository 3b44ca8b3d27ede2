//! One column of a chunk of DuckDB's, read field by field.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::fmt::Display;
use std::io::Write;

use super::super::Rows;
use crate::plan::error::Error;

const INTEGER: c_int = 4;
const BIGINT: c_int = 5;
const HUGEINT: c_int = 16;
const VARCHAR: c_int = 17;

/// The `duckdb_type`s that are read from a chunk. All others are read as DuckDB's own text, which
/// costs a copy of the whole answer.
pub const READ: [c_int; 4] = [INTEGER, BIGINT, HUGEINT, VARCHAR];

/// Texts up to this length stand in the vector itself (`duckdb_string_t`), from this byte on.
const INLINE: u32 = 12;
const INLINE_AT: usize = 4;

/// A `duckdb_string_t`: a length, then the text itself, or its beginning and a pointer to it.
#[repr(C)]
struct Text {
    length: u32,
    _start: [u8; 4],
    rest: *const u8,
}

/// One column of a chunk.
pub struct Column {
    /// Its `duckdb_type`, one of [`READ`].
    pub kind: c_int,
    /// Its values.
    pub data: *const c_void,
    /// A bit per row; null where no field is NULL.
    pub valid: *const u64,
}

impl Column {
    /// Adds the field in this row; the row must be one of the chunk's.
    pub fn read(&self, row: usize, rows: &mut Rows) -> Result<(), Error> {
        // SAFETY: the vector holds a value of its column's type for each row of the chunk, and
        // its validity a bit; a text's pointer lives as long as the chunk.
        unsafe {
            if !self.valid.is_null() && *self.valid.add(row / 64) >> (row % 64) & 1 == 0 {
                return rows.push(None);
            }
            match self.kind {
                INTEGER => push(rows, *self.data.cast::<i32>().add(row)),
                BIGINT => push(rows, *self.data.cast::<i64>().add(row)),
                // Two words, the lower first; aligned to eight bytes only.
                HUGEINT => push(rows, self.data.cast::<i128>().add(row).read_unaligned()),
                _ => {
                    let text = self.data.cast::<Text>().add(row);
                    let length = (*text).length;
                    let start = match length > INLINE {
                        true => (*text).rest,
                        false => text.cast::<u8>().add(INLINE_AT),
                    };
                    rows.push(Some(std::slice::from_raw_parts(start, length as usize)))
                }
            }
        }
    }
}

fn push(rows: &mut Rows, number: impl Display) -> Result<(), Error> {
    let _ = write!(rows.bytes, "{number}");
    rows.push(Some(b""))
}
