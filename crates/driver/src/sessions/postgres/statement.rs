//! Prepared statements: the messages that make, execute and free them.

use super::super::{Rows, Value};
use super::answer::Want;
use super::bind;
use super::channel::Channel;
use super::frame::{put, put_text};
use crate::plan::error::Error;

/// `Execute` the unnamed portal to its end.
const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";

/// `Sync`: the end of a request.
pub const SYNC: &[u8] = b"S\0\0\0\x04";

/// A prepared statement with the rows of its last execution.
pub struct Prepared {
    /// Its text, to prepare it again on a new connection.
    sql: String,
    /// What the server calls it, with its NUL.
    name: Vec<u8>,
    /// The types of its parameters, as the server inferred them.
    parameters: Vec<u32>,
    /// Its answer's rows; width and names are those that the server described.
    pub rows: Rows,
}

impl Prepared {
    /// A statement that has to be made yet; `number` is never used twice on a connection.
    pub fn new(sql: &str, number: u64) -> Self {
        let (sql, name) = (sql.to_owned(), format!("s{number}\0").into_bytes());
        Self { sql, name, parameters: Vec::new(), rows: Rows::default() }
    }

    /// Has the server make it, infer its parameters' types and describe it; waits for that.
    pub fn make(&mut self, channel: &mut Channel) -> Result<(), Error> {
        let out = channel.out()?;
        parse(out, &self.name, self.sql.as_bytes());
        put(out, b'D', |out| {
            out.push(b'S');
            out.extend_from_slice(&self.name);
        });
        out.extend_from_slice(SYNC);
        channel.wait(Want::Rows, &mut self.rows)?;
        self.parameters = channel.parameters();
        Ok(())
    }

    /// Appends what frees it; the answer comes with the next request's.
    pub fn free(&self, out: &mut Vec<u8>) {
        put(out, b'C', |out| {
            out.push(b'S');
            out.extend_from_slice(&self.name);
        });
    }

    /// Appends what executes it: `Bind`, `Execute`. It was described when it was made, so nothing
    /// asks for that again (pgbench does).
    #[inline]
    pub fn execute(&mut self, values: &[Value], out: &mut Vec<u8>) -> Result<(), Error> {
        if self.parameters.len() != values.len() {
            return Err(self.unbound(values.len()));
        }
        self.rows.bytes.clear();
        self.rows.ends.clear();
        put(out, b'B', |out| bind::body(&self.name, &self.parameters, values, out));
        out.extend_from_slice(EXECUTE);
        Ok(())
    }

    #[cold]
    fn unbound(&self, given: usize) -> Error {
        let wanted = self.parameters.len();
        Error::user(format!("a statement with {wanted} parameters got {given} values"))
            .because(&self.sql)
    }
}

/// Appends `Parse` with all types to be inferred.
fn parse(out: &mut Vec<u8>, name: &[u8], sql: &[u8]) {
    put(out, b'P', |out| {
        out.extend_from_slice(name);
        put_text(out, sql);
        out.extend_from_slice(&[0, 0]);
    });
}

/// Appends a text statement as a part of a batch, where the simple protocol has no place.
pub fn unnamed(sql: &str, out: &mut Vec<u8>) {
    parse(out, b"\0", sql.as_bytes());
    put(out, b'B', |out| out.extend_from_slice(&[0; 8]));
    out.extend_from_slice(EXECUTE);
}

/// Appends a text statement, or several, in the simple protocol.
pub fn query(sql: &str, out: &mut Vec<u8>) {
    put(out, b'Q', |out| put_text(out, sql.as_bytes()));
}
