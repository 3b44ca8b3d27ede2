//! DuckDB's appender: rows into a table without SQL.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::ffi::c_int;
use std::ptr;

use super::library::{Api, Connection, Handle, text};
use super::{answer, failure};
use crate::generate::Source;
use crate::plan::error::Error;
use crate::sessions::bulk;

/// An open appender, of one table.
struct Appender<'a> {
    api: &'a Api,
    table: &'a str,
    handle: Handle,
    columns: usize,
}

/// Appends all rows of a load; returns how many. Where it fails, DuckDB may have taken some of
/// them: the caller's transaction must go.
pub fn append(connection: &Connection, table: &str, source: &mut dyn Source) -> Result<u64, Error> {
    let (api, name, mut handle) = (connection.api, text(table.as_bytes())?, ptr::null_mut());
    // SAFETY: the connection is open and the name ends in NUL; the handle is written also where
    // this fails, and holds the error then.
    let code = unsafe {
        (api.appender_create)(connection.handle, ptr::null(), name.as_ptr(), &mut handle)
    };
    let mut it = Appender { api, table, handle, columns: 0 };
    it.check(code)?;
    // SAFETY: a good appender.
    it.columns = unsafe { (api.appender_column_count)(handle) } as usize;
    let rows = bulk::each_row(source, |fields| it.append_row(fields))?;
    // SAFETY: as above; what is still in its memory goes to the table.
    it.check(unsafe { (api.appender_close)(handle) })?;
    Ok(rows)
}

impl Appender<'_> {
    /// One row; a text becomes what its column holds.
    fn append_row(&self, fields: &[Option<Cow<'_, [u8]>>]) -> Result<(), Error> {
        if fields.len() != self.columns {
            return Err(bulk::unlike(self.table, self.columns, fields.len()));
        }
        for field in fields {
            // SAFETY: a good appender; the text is copied.
            self.check(unsafe {
                match field {
                    None => (self.api.append_null)(self.handle),
                    Some(text) => {
                        let (start, length) = (text.as_ptr().cast(), text.len() as u64);
                        (self.api.append_varchar_length)(self.handle, start, length)
                    }
                }
            })?;
        }
        // SAFETY: as above.
        self.check(unsafe { (self.api.appender_end_row)(self.handle) })
    }

    fn check(&self, code: c_int) -> Result<(), Error> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: a failed appender keeps its error until it is destroyed; the text is copied.
        let message = unsafe { answer::copy_text((self.api.appender_error)(self.handle)) };
        Err(failure::error(&message, self.table))
    }
}

impl Drop for Appender<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `append`, and used no more.
        unsafe { (self.api.appender_destroy)(&mut self.handle) };
    }
}
