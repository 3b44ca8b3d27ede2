//! A prepared statement: how it is sent, in the binary protocol or as text.

use super::packet::{COM_QUERY, COM_STMT_EXECUTE, begin, end, put_length};
use crate::plan::error::Error;
use crate::sessions::Value;
use crate::sessions::literal::TextStatement;
use crate::sessions::sql::Quoting;

const LONGLONG: u8 = 8;
const DOUBLE: u8 = 5;
const VAR_STRING: u8 = 253;

/// A statement on one connection; made anew under another `id` where the connection was lost.
pub struct Statement {
    /// Its text.
    pub sql: Vec<u8>,
    id: u32,
    parameters: usize,
    /// The types that the server knows; 0: none yet.
    types: Vec<u8>,
    /// The server refuses to prepare it (`BEGIN` on MySQL): sent as text instead, its values put in
    /// as literals. sysbench does the same, and its own scripts prepare `BEGIN`.
    emulated: Option<TextStatement>,
}

impl Statement {
    /// A statement that the server has under a number.
    pub fn new(id: u32, sql: &[u8], parameters: usize) -> Self {
        Self { sql: sql.to_owned(), id, parameters, types: vec![0; parameters], emulated: None }
    }

    /// A statement that is sent as text.
    pub fn emulated(sql: &[u8]) -> Self {
        let emulated = TextStatement::new(sql, Quoting::Mysql);
        let parameters = emulated.parameters();
        Self { emulated: Some(emulated), ..Self::new(0, sql, parameters) }
    }

    /// Under which number the server has it; `None`: it has not.
    pub fn id(&self) -> Option<u32> {
        self.emulated.is_none().then_some(self.id)
    }

    /// Has its parameters' types told again with its next execution.
    pub fn forget_types(&mut self) {
        self.types.fill(0);
    }

    /// Appends the packet that executes it; true: the rows will be binary. Types are sent only
    /// where they are not as before.
    #[inline]
    pub fn encode(&mut self, values: &[Value], out: &mut Vec<u8>) -> Result<bool, Error> {
        if values.len() != self.parameters {
            return Err(self.unbound(values.len()));
        }
        if let Some(emulated) = &self.emulated {
            let at = begin(out);
            out.push(COM_QUERY);
            emulated.put(out, values);
            end(out, at, 0);
            return Ok(false);
        }
        let at = begin(out);
        let [a, b, c, d] = self.id.to_le_bytes();
        // No cursor; one iteration.
        out.extend_from_slice(&[COM_STMT_EXECUTE, a, b, c, d, 0, 1, 0, 0, 0]);
        if !values.is_empty() {
            self.encode_values(values, out);
        }
        end(out, at, 0);
        Ok(true)
    }

    #[inline]
    fn encode_values(&mut self, values: &[Value], out: &mut Vec<u8>) {
        let nulls = out.len();
        out.resize(nulls + values.len().div_ceil(8), 0);
        let mut changed = false;
        for (at, value) in values.iter().enumerate() {
            let known = &mut self.types[at];
            let kind = kind(value, *known);
            changed |= kind != *known;
            *known = kind;
            if *value == Value::Null {
                out[nulls + at / 8] |= 1 << (at % 8);
            }
        }
        out.push(u8::from(changed));
        if changed {
            out.extend(self.types.iter().flat_map(|kind| [*kind, 0]));
        }
        for value in values {
            put(out, value);
        }
    }

    #[cold]
    fn unbound(&self, given: usize) -> Error {
        let wanted = self.parameters;
        Error::user(format!("a statement with {wanted} parameters got {given} values"))
            .because(String::from_utf8_lossy(&self.sql))
    }
}

/// A NULL is told apart by its bit and leaves the type as it was.
fn kind(value: &Value, known: u8) -> u8 {
    match value {
        Value::Integer(_) => LONGLONG,
        Value::Real(_) => DOUBLE,
        Value::Text(_) => VAR_STRING,
        Value::Null if known == 0 => VAR_STRING,
        Value::Null => known,
    }
}

#[inline]
fn put(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Integer(n) => out.extend_from_slice(&n.to_le_bytes()),
        Value::Real(n) => out.extend_from_slice(&n.to_le_bytes()),
        Value::Text(bytes) => {
            put_length(out, bytes.len());
            out.extend_from_slice(bytes);
        }
        Value::Null => {}
    }
}
