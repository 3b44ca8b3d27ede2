//! Prepared statements of DuckDB, and PostgreSQL's SERIAL in its words.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::ffi::c_int;
use std::ptr;

use super::library::{Answer, Api, Handle, text};
use super::{Ending, answer, failure};
use crate::plan::error::Error;
use crate::sessions::sql::{find_serial, is_word, serial_column};
use crate::sessions::{Reply, Rows, Value};

/// A `duckdb_type`: a parameter that is compared with, or stored in, a column of 32 bits.
const INTEGER: c_int = 4;

/// A prepared statement with the rows of its last execution; it must go before its connection.
pub struct Prepared {
    /// Its answer's rows.
    pub rows: Rows,
    /// What it makes of the open transaction.
    pub ending: Ending,
    api: &'static Api,
    statement: Handle,
    /// Type of each parameter.
    kinds: Vec<c_int>,
    sql: String,
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and used no more; a failed one holds its error until here.
        unsafe { (self.api.destroy_prepare)(&mut self.statement) };
    }
}

impl Prepared {
    /// Compiles a statement on an open connection.
    pub fn new(api: &'static Api, connection: Handle, sql: &str) -> Result<Self, Error> {
        let c_sql = text(sql.as_bytes())?;
        let (statement, kinds) = (ptr::null_mut(), Vec::new());
        let (rows, ending) = (Rows::default(), Ending::of(sql));
        let mut it = Self { rows, ending, api, statement, kinds, sql: sql.to_owned() };
        // SAFETY: the connection is open and the text ends in NUL; the error is copied.
        unsafe {
            if (api.prepare)(connection, c_sql.as_ptr(), &mut it.statement) != 0 {
                let message = answer::copy_text((api.prepare_error)(it.statement));
                return Err(failure::error(&message, sql));
            }
        }
        // SAFETY: compiled above; parameters are numbered from one.
        let kind = |at| unsafe { (api.param_type)(it.statement, at) };
        // SAFETY: as above.
        it.kinds = (1..=unsafe { (api.nparams)(it.statement) }).map(kind).collect();
        Ok(it)
    }

    /// Executes it with these values and reads its rows.
    pub fn execute(&mut self, values: &[Value]) -> Result<Reply, Error> {
        if self.kinds.len() != values.len() {
            let (wanted, given) = (self.kinds.len(), values.len());
            let message = format!("a statement with {wanted} parameters got {given} values");
            return Err(Error::user(message).because(&self.sql));
        }
        self.rows.bytes.clear();
        self.rows.ends.clear();
        self.bind(values);
        let (execute, statement) = (self.api.execute_prepared, self.statement);
        // SAFETY: the statement is compiled, and its connection open.
        let send = |answer: &mut Answer| unsafe { execute(statement, answer) };
        answer::send(self.api, &self.sql, send)?.into_rows(&mut self.rows)
    }

    /// An integer is bound in the parameter's own width: for another type DuckDB plans the
    /// statement anew each time (`PreparedStatementData::RequireRebind`).
    fn bind(&self, values: &[Value]) {
        let (api, statement) = (self.api, self.statement);
        for (index, (value, kind)) in (1..).zip(values.iter().zip(&self.kinds)) {
            // SAFETY: the index is within the statement's parameters; a text is copied.
            unsafe {
                match value {
                    Value::Null => (api.bind_null)(statement, index),
                    Value::Integer(n) => match i32::try_from(*n) {
                        Ok(n) if *kind == INTEGER => (api.bind_int32)(statement, index, n),
                        _ => (api.bind_int64)(statement, index, *n),
                    },
                    Value::Real(x) => (api.bind_double)(statement, index, *x),
                    Value::Text(text) => {
                        let (start, length) = (text.as_ptr().cast(), text.len() as u64);
                        (api.bind_varchar_length)(statement, index, start, length)
                    }
                }
            };
        }
    }
}

// PostgreSQL's SERIAL in DuckDB's words: a sequence, and a default that takes numbers from it.

/// A `CREATE TABLE` whose SERIAL column gets numbers; any other statement as it is.
///
/// The sequence is called as PostgreSQL calls its own. It outlives the table, so a table made anew
/// goes on counting.
pub fn with_sequence(sql: &str) -> Cow<'_, str> {
    let Some((start, end)) = find_serial(sql) else { return Cow::Borrowed(sql) };
    let sequence = format!("{}_{}_seq", table(sql), serial_column(sql, start));
    let by = match sql[start..end].to_ascii_lowercase().as_str() {
        "bigserial" => "BIGINT",
        "smallserial" => "SMALLINT",
        _ => "INTEGER",
    };
    let (head, rest) = (&sql[..start], &sql[end..]);
    Cow::Owned(format!(
        "CREATE SEQUENCE IF NOT EXISTS {sequence}; {head}{by} DEFAULT nextval('{sequence}'){rest}"
    ))
}

/// The table's name: the last word before the columns.
fn table(sql: &str) -> &str {
    let head = sql.split('(').next().unwrap_or("").trim_end().trim_end_matches('"');
    head.rsplit(|c: char| !is_word(c)).next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::with_sequence;

    #[test]
    fn serial_becomes_a_default_from_a_sequence() {
        assert_eq!(
            with_sequence("CREATE TABLE t (id BIGSERIAL PRIMARY KEY, k int)"),
            "CREATE SEQUENCE IF NOT EXISTS t_id_seq; \
             CREATE TABLE t (id BIGINT DEFAULT nextval('t_id_seq') PRIMARY KEY, k int)"
        );
        assert_eq!(
            with_sequence("INSERT INTO t VALUES ('serial')"),
            "INSERT INTO t VALUES ('serial')"
        );
    }
}
