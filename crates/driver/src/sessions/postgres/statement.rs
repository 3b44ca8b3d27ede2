//! Prepared statements: the messages that make, execute and free them, parameters included.

use std::io::Write;

use super::answer::AnswerMode;
use super::channel::Channel;
use super::frame::{put, put_text};
use crate::plan::error::Error;
use crate::sessions::{Rows, Value};

/// `Execute` the unnamed portal to its end.
const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";

/// `Sync`: the end of a request.
pub const SYNC: &[u8] = b"S\0\0\0\x04";

/// A prepared statement with the rows of its last execution.
pub struct Prepared {
    /// Its text, to prepare it again on a new connection.
    sql: Vec<u8>,
    /// What the server calls it, with its NUL.
    name: Vec<u8>,
    /// The types of its parameters, as the server inferred them.
    parameters: Vec<u32>,
    /// Its answer's rows; width and names are those that the server described.
    pub rows: Rows,
}

impl Prepared {
    /// A statement that has to be made yet; `number` is never used twice on a connection.
    pub fn new(sql: &[u8], number: u64) -> Self {
        let (sql, name) = (sql.to_owned(), format!("s{number}\0").into_bytes());
        Self { sql, name, parameters: Vec::new(), rows: Rows::default() }
    }

    /// Has the server make it, infer its parameters' types and describe it; waits for that.
    pub fn make(&mut self, channel: &mut Channel) -> Result<(), Error> {
        let out = channel.out()?;
        parse(out, &self.name, &self.sql);
        put(out, b'D', |out| {
            out.push(b'S');
            out.extend_from_slice(&self.name);
        });
        out.extend_from_slice(SYNC);
        channel.wait(AnswerMode::Rows, &mut self.rows)?;
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
        put(out, b'B', |out| body(&self.name, &self.parameters, values, out));
        out.extend_from_slice(EXECUTE);
        Ok(())
    }

    #[cold]
    fn unbound(&self, given: usize) -> Error {
        let wanted = self.parameters.len();
        Error::user(format!("a statement with {wanted} parameters got {given} values"))
            .because(String::from_utf8_lossy(&self.sql))
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

/// Appends a text statement that is parsed, described and executed once: one of a batch, where the
/// simple protocol has no place, or one of the extended protocol. Values go as text, since nobody
/// has asked for the parameters' types.
pub fn execute_unnamed(sql: &[u8], values: &[Value], out: &mut Vec<u8>) {
    parse(out, b"\0", sql);
    put(out, b'B', |out| body(b"\0", &vec![0; values.len()], values, out));
    put(out, b'D', |out| out.extend_from_slice(b"P\0"));
    out.extend_from_slice(EXECUTE);
}

// `Bind`: a statement's name and its parameters, each in the form that is cheaper.

/// Object identifiers of the types whose binary form is cheaper than digits (`pg_type.dat`).
const INT2: u32 = 21;
const INT4: u32 = 23;
const INT8: u32 = 20;
const FLOAT4: u32 = 700;
const FLOAT8: u32 = 701;

/// Appends the body of a `Bind` of a named statement to the unnamed portal. Results come as text,
/// as pgbench has them (sysbench asks for binary ones; of text columns they are the same).
#[inline]
pub fn body(name: &[u8], kinds: &[u32], values: &[Value], out: &mut Vec<u8>) {
    let count = (values.len() as u16).to_be_bytes();
    out.push(0);
    out.extend_from_slice(name);
    out.extend_from_slice(&count);
    for (value, kind) in values.iter().zip(kinds) {
        out.extend_from_slice(&u16::from(is_binary(value, *kind)).to_be_bytes());
    }
    out.extend_from_slice(&count);
    for (value, kind) in values.iter().zip(kinds) {
        put_value(value, *kind, out);
    }
    out.extend_from_slice(&[0, 0]);
}

/// May the value travel in the type's binary form? A number that does not fit goes as digits, so
/// that the server says what is wrong with it.
#[inline]
fn is_binary(value: &Value, kind: u32) -> bool {
    match value {
        Value::Integer(n) => match kind {
            INT4 => i32::try_from(*n).is_ok(),
            INT2 => i16::try_from(*n).is_ok(),
            INT8 | FLOAT8 => true,
            _ => false,
        },
        Value::Real(_) => matches!(kind, FLOAT8 | FLOAT4),
        Value::Null | Value::Text(_) => false,
    }
}

#[inline]
fn put_value(value: &Value, kind: u32, out: &mut Vec<u8>) {
    if matches!(value, Value::Null) {
        out.extend_from_slice(&u32::MAX.to_be_bytes());
        return;
    }
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    match (value, is_binary(value, kind)) {
        (Value::Integer(n), true) => put_integer(*n, kind, out),
        (Value::Integer(n), false) => drop(write!(out, "{n}")),
        (Value::Real(x), true) if kind == FLOAT4 => {
            out.extend_from_slice(&(*x as f32).to_be_bytes());
        }
        (Value::Real(x), true) => out.extend_from_slice(&x.to_be_bytes()),
        (Value::Real(x), false) => drop(write!(out, "{x}")),
        (Value::Text(text), _) => out.extend_from_slice(text),
        (Value::Null, _) => {}
    }
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

#[inline]
fn put_integer(n: i64, kind: u32, out: &mut Vec<u8>) {
    match kind {
        INT4 => out.extend_from_slice(&(n as i32).to_be_bytes()),
        INT2 => out.extend_from_slice(&(n as i16).to_be_bytes()),
        FLOAT8 => out.extend_from_slice(&(n as f64).to_be_bytes()),
        _ => out.extend_from_slice(&n.to_be_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(value: Value, kind: u32) -> (bool, Vec<u8>) {
        let mut out = Vec::new();
        put_value(&value, kind, &mut out);
        (is_binary(&value, kind), out.split_off(4))
    }

    #[test]
    fn a_number_travels_in_its_types_width_where_it_fits_and_as_digits_elsewhere() {
        assert_eq!(sent(Value::Integer(-2), INT4), (true, (-2i32).to_be_bytes().to_vec()));
        assert_eq!(sent(Value::Integer(7), INT8), (true, 7i64.to_be_bytes().to_vec()));
        assert_eq!(sent(Value::Integer(7), INT2), (true, 7i16.to_be_bytes().to_vec()));
        assert_eq!(sent(Value::Integer(1 << 40), INT4), (false, b"1099511627776".to_vec()));
        assert_eq!(sent(Value::Integer(7), 1700), (false, b"7".to_vec()));
        assert_eq!(sent(Value::Integer(7), FLOAT8), (true, 7f64.to_be_bytes().to_vec()));
        assert_eq!(sent(Value::Real(0.5), FLOAT4), (true, 0.5f32.to_be_bytes().to_vec()));
        assert_eq!(sent(Value::Real(0.5), INT4), (false, b"0.5".to_vec()));
        assert_eq!(sent(Value::Text(b"7".to_vec()), INT4), (false, b"7".to_vec()));
    }

    #[test]
    fn null_has_a_length_and_no_bytes() {
        let mut out = Vec::new();
        put_value(&Value::Null, INT4, &mut out);
        assert_eq!(out, [0xff; 4]);
    }
}
