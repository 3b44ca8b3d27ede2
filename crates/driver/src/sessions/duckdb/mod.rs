//! DuckDB, any library of it from 1.1 on, opened by path; it works inside the call.
#![allow(unsafe_code)]

mod answer;
mod failure;
mod library;
mod statement;
#[cfg(test)]
mod tests;

use super::statements::Statements;
use super::{Counts, Reply, Rows, Session, Value};
use crate::plan;
use crate::plan::error::Error;
use library::{Answer, Api, Connection, text};
use statement::Prepared;

/// One connection to one database file.
struct Duckdb {
    // Before the connection, so that they are dropped first.
    statements: Statements<Prepared>,
    connection: Connection,
    text_rows: Rows,
    /// The statement whose rows were read last; `None`: those of a text query.
    last: Option<u32>,
}

/// Opens the library and connects to the database that the plan names.
pub fn open(session: &plan::Session) -> Result<Box<dyn Session>, Error> {
    let plan::Session::Duckdb { library, database, settings } = session else {
        return Err(Error::driver("a plan for another session came to this one"));
    };
    let connection = Connection::open(Api::load(library)?, database, settings)?;
    Ok(Box::new(Duckdb {
        connection,
        statements: Statements::default(),
        text_rows: Rows::default(),
        last: None,
    }))
}

impl Session for Duckdb {
    fn query(&mut self, sql: &str) -> Result<Reply, Error> {
        let sql = statement::with_sequence(sql);
        let (api, connection) = (self.connection.api, self.connection.handle);
        let c_sql = text(sql.as_bytes())?;
        self.last = None;
        self.text_rows.clear();
        // SAFETY: the connection is open and the text ends in NUL.
        let send = |answer: &mut Answer| unsafe { (api.query)(connection, c_sql.as_ptr(), answer) };
        answer::send(api, &sql, send)?.into_rows(&mut self.text_rows)
    }

    fn prepare(&mut self, sql: &str) -> Result<u32, Error> {
        let prepared = Prepared::new(self.connection.api, self.connection.handle, sql)?;
        Ok(self.statements.keep(prepared))
    }

    fn execute(&mut self, statement: u32, values: &[Value]) -> Result<Reply, Error> {
        let prepared = self.statements.open(statement)?;
        self.last = Some(statement);
        prepared.execute(values)
    }

    fn close(&mut self, statement: u32) -> Result<(), Error> {
        self.statements.take(statement);
        Ok(())
    }

    /// The C API does not tell whether a transaction is open, so DuckDB is asked to end it and may
    /// answer that there is none.
    fn reset(&mut self) -> Result<(), Error> {
        match self.query("ROLLBACK") {
            Err(error) if !error.to_string().contains("no transaction is active") => Err(error),
            _ => Ok(()),
        }
    }

    fn rows(&self) -> &Rows {
        let prepared = self.last.and_then(|at| self.statements.get(at));
        prepared.map_or(&self.text_rows, |prepared| &prepared.rows)
    }

    /// DuckDB never waits for another transaction: a conflict fails at once, and is counted there.
    fn take_counts(&mut self) -> Counts {
        Counts::default()
    }
}
