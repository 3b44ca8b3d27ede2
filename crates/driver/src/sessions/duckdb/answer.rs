//! One answer of DuckDB, read into rows: by chunks of columns, or field by field as text.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Display;
use std::io::Write;

use super::failure;
use super::library::{Answer, Api, Handle};
use crate::plan::error::Error;
use crate::sessions::{Reply, Rows};

/// A `duckdb_return_type`: the answer holds rows that were asked for.
const ROWS: c_int = 3;

/// An answer, freed when dropped.
pub struct AnswerReader<'a> {
    api: &'a Api,
    answer: Answer,
}

/// Sends a statement and answers what came back; its error where it failed.
pub fn send<'a>(
    api: &'a Api,
    sql: &str,
    send: impl FnOnce(&mut Answer) -> c_int,
) -> Result<AnswerReader<'a>, Error> {
    let mut read = AnswerReader { api, answer: Answer::default() };
    match send(&mut read.answer) {
        0 => Ok(read),
        _ => Err(failure::error(&read.failure(), sql)),
    }
}

impl Drop for AnswerReader<'_> {
    fn drop(&mut self) {
        // SAFETY: written by DuckDB, or still all zeros, and used no more.
        unsafe { (self.api.destroy_result)(&mut self.answer) };
    }
}

impl AnswerReader<'_> {
    /// Why the statement failed.
    fn failure(&mut self) -> String {
        // SAFETY: the text lives as long as the answer, and is copied.
        unsafe { copy_text((self.api.result_error)(&mut self.answer)) }
    }

    /// Reads all rows; an answer that only counts changed rows has none.
    pub fn into_rows(mut self, rows: &mut Rows) -> Result<Reply, Error> {
        // SAFETY: the answer is a good one; its type is an enum.
        if unsafe { (self.api.result_return_type)(self.answer) } != ROWS {
            rows.clear();
            // SAFETY: as above; zero where nothing was changed.
            let changed = unsafe { (self.api.rows_changed)(&mut self.answer) };
            return Ok(Reply::Ready { rows: 0, changed });
        }
        // SAFETY: as above.
        let columns = unsafe { (self.api.column_count)(&mut self.answer) };
        self.name_columns(columns, rows);
        // SAFETY: the answer has these columns.
        let kind = |column| unsafe { (self.api.column_type)(&mut self.answer, column) };
        let kinds: Vec<c_int> = (0..columns).map(kind).collect();
        rows.types.clear();
        rows.types.extend(kinds.iter().map(|it| *it as u32));
        let rows = match kinds.iter().all(|it| READ.contains(it)) {
            true => self.chunks(&kinds, rows)?,
            false => self.texts(columns, rows)?,
        };
        Ok(Reply::Ready { rows, changed: 0 })
    }

    /// Names the columns anew where their number changed; a prepared statement keeps its names.
    fn name_columns(&mut self, columns: u64, rows: &mut Rows) {
        rows.width = columns as u32;
        if rows.columns.len() as u64 == columns {
            return;
        }
        rows.columns.clear();
        for it in 0..columns {
            // SAFETY: the answer has these columns; the name lives as long as it, and is copied.
            let name = unsafe { copy_text((self.api.column_name)(&mut self.answer, it)) };
            rows.columns.push(name.as_bytes());
        }
    }

    fn chunks(&mut self, kinds: &[c_int], rows: &mut Rows) -> Result<u64, Error> {
        let mut count = 0;
        loop {
            // SAFETY: the answer is a good one; null stands after the last chunk.
            let mut chunk = unsafe { (self.api.fetch_chunk)(self.answer) };
            if chunk.is_null() {
                return Ok(count);
            }
            let size = self.chunk(chunk, kinds, rows);
            // SAFETY: used no more.
            unsafe { (self.api.destroy_data_chunk)(&mut chunk) };
            count += size?;
        }
    }

    fn chunk(&self, chunk: Handle, kinds: &[c_int], rows: &mut Rows) -> Result<u64, Error> {
        // SAFETY: the chunk has these columns; validity is null where nothing is.
        let column = |(at, &kind): (usize, &c_int)| unsafe {
            let vector = (self.api.data_chunk_get_vector)(chunk, at as u64);
            let (data, valid) =
                ((self.api.vector_get_data)(vector), (self.api.vector_get_validity)(vector));
            Column { kind, data, valid }
        };
        let columns: Vec<Column> = kinds.iter().enumerate().map(column).collect();
        // SAFETY: the chunk is a good one.
        let size = unsafe { (self.api.data_chunk_get_size)(chunk) };
        for row in 0..size as usize {
            for column in &columns {
                column.read(row, rows)?;
            }
        }
        Ok(size)
    }

    fn texts(&mut self, columns: u64, rows: &mut Rows) -> Result<u64, Error> {
        // SAFETY: the answer is a good one.
        let count = unsafe { (self.api.row_count)(&mut self.answer) };
        for row in 0..count {
            for column in 0..columns {
                self.text(column, row, rows)?;
            }
        }
        Ok(count)
    }

    fn text(&mut self, column: u64, row: u64, rows: &mut Rows) -> Result<(), Error> {
        // SAFETY: the answer has this field; the text ends in NUL and is ours to free.
        unsafe {
            if (self.api.value_is_null)(&mut self.answer, column, row) {
                return rows.push(None);
            }
            let text = (self.api.value_varchar)(&mut self.answer, column, row);
            if text.is_null() {
                return Err(Error::user("a column's type has no text form").hint("cast it"));
            }
            let outcome = rows.push(Some(CStr::from_ptr(text).to_bytes()));
            (self.api.free)(text.cast());
            outcome
        }
    }
}

/// DuckDB's word for a `duckdb_type`.
pub fn type_name(number: u32) -> String {
    const NAMES: [&str; 20] = [
        "invalid",
        "boolean",
        "tinyint",
        "smallint",
        "integer",
        "bigint",
        "utinyint",
        "usmallint",
        "uinteger",
        "ubigint",
        "float",
        "double",
        "timestamp",
        "date",
        "time",
        "interval",
        "hugeint",
        "varchar",
        "blob",
        "decimal",
    ];
    let name = NAMES.get(number as usize);
    name.map_or_else(|| format!("type {number}"), |it| (*it).to_owned())
}

/// A C text, copied; empty for none. The caller vouches for the pointer.
pub unsafe fn copy_text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller hands in a text that ends in NUL.
    unsafe { CStr::from_ptr(text).to_string_lossy().into_owned() }
}

// One column of a chunk of DuckDB's, read field by field.

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
