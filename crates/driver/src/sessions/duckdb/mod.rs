//! DuckDB, any library of it from 1.1 on, opened by path; it works inside the call.
#![allow(unsafe_code)]

mod answer;
mod appender;
mod failure;
mod library;
mod statement;
#[cfg(test)]
mod tests;

use slab::Slab;

use super::literal;
use super::sql::Quoting;
use super::{
    Counts, Descriptor, Engine, Reply, Rows, Session, Value, bulk, misdirected, open_statement,
};
use crate::generate::Source;
use crate::plan;
use crate::plan::error::Error;
use library::{Answer, Api, Connection, text};
use statement::Prepared;

/// What the driver knows of this session.
pub const DESCRIPTOR: Descriptor = Descriptor {
    kind: "duckdb",
    engine: Engine::Embedded,
    dialect: Some("pgsql"),
    quoting: Quoting::Postgres,
    open,
    type_name: answer::type_name,
};

/// One connection to one database file.
struct Duckdb {
    // Before the connection, so that they are dropped first.
    statements: Slab<Prepared>,
    connection: Connection,
    text_rows: Rows,
    /// The statement whose rows were read last; `None`: those of a text query.
    last: Option<u32>,
    /// Rows will be read.
    keeps: bool,
    /// A text has begun a transaction, and none has ended it.
    began: bool,
}

/// Opens the library and connects to the database that the plan names.
fn open(session: &plan::Session) -> Result<Box<dyn Session>, Error> {
    let plan::Session::Duckdb { library, database, settings } = session else {
        return Err(misdirected());
    };
    let connection = Connection::open(Api::load(library)?, database, settings)?;
    Ok(Box::new(Duckdb {
        connection,
        statements: Slab::new(),
        text_rows: Rows::default(),
        last: None,
        keeps: true,
        began: false,
    }))
}

/// What a text makes of the open transaction, by its first word. The C API does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Begins,
    Ends,
    Leaves,
}

impl Ending {
    fn of(sql: &str) -> Self {
        let word = sql.split_ascii_whitespace().next().unwrap_or_default().trim_end_matches(';');
        let is = |words: &[&str]| words.iter().any(|it| word.eq_ignore_ascii_case(it));
        match word {
            _ if is(&["BEGIN", "START"]) => Self::Begins,
            _ if is(&["COMMIT", "END", "ROLLBACK", "ABORT"]) => Self::Ends,
            _ => Self::Leaves,
        }
    }

    /// Is a transaction open after the text?
    fn after(self, began: bool) -> bool {
        self == Self::Begins || began && self == Self::Leaves
    }
}

impl Session for Duckdb {
    fn query(&mut self, sql: &str) -> Result<Reply, Error> {
        let sql = statement::with_sequence(sql);
        let (api, connection) = (self.connection.api, self.connection.handle);
        let c_sql = text(sql.as_bytes())?;
        self.last = None;
        self.text_rows.clear();
        self.text_rows.is_unread = !self.keeps;
        // SAFETY: the connection is open and the text ends in NUL.
        let send = |answer: &mut Answer| unsafe { (api.query)(connection, c_sql.as_ptr(), answer) };
        let answer = answer::send(api, &sql, send)?;
        self.began = Ending::of(&sql).after(self.began);
        answer.into_rows(&mut self.text_rows)
    }

    fn prepare(&mut self, sql: &[u8]) -> Result<u32, Error> {
        let sql = literal::sql(sql)?;
        let prepared = Prepared::new(self.connection.api, self.connection.handle, sql)?;
        Ok(self.statements.insert(prepared) as u32)
    }

    fn execute(&mut self, statement: u32, values: &[Value]) -> Result<Reply, Error> {
        let prepared = open_statement(&mut self.statements, statement)?;
        self.last = Some(statement);
        prepared.rows.is_unread = !self.keeps;
        let reply = prepared.execute(values)?;
        self.began = prepared.ending.after(self.began);
        Ok(reply)
    }

    fn close(&mut self, statement: u32) -> Result<(), Error> {
        self.statements.try_remove(statement as usize);
        Ok(())
    }

    /// In a transaction of its own, or in the one that a text has begun.
    fn load(&mut self, sql: &str, mut rows: Box<dyn Source>) -> Result<Reply, Error> {
        let table = bulk::table(sql)?;
        let is_own = !self.began;
        if is_own {
            self.query("BEGIN")?;
        }
        let loaded = appender::append(&self.connection, table, rows.as_mut());
        if is_own {
            let ended = self.query(if loaded.is_ok() { "COMMIT" } else { "ROLLBACK" });
            return loaded.and_then(|changed| ended.map(|_| Reply::Ready { rows: 0, changed }));
        }
        loaded.map(|changed| Reply::Ready { rows: 0, changed })
    }

    fn keep_rows(&mut self, wanted: bool) {
        self.keeps = wanted;
    }

    fn in_transaction(&self) -> bool {
        self.began
    }

    /// The C API does not tell whether a transaction is open, so DuckDB is asked to end it and may
    /// answer that there is none.
    fn reset(&mut self) -> Result<(), Error> {
        match self.query("ROLLBACK") {
            Err(error) if !error.to_string().contains("no transaction is active") => Err(error),
            _ => {
                self.began = false;
                Ok(())
            }
        }
    }

    fn rows(&self) -> &Rows {
        let prepared = self.last.and_then(|at| self.statements.get(at as usize));
        prepared.map_or(&self.text_rows, |prepared| &prepared.rows)
    }

    /// DuckDB never waits for another transaction: a conflict fails at once, and is counted there.
    fn take_counts(&mut self) -> Counts {
        Counts::default()
    }
}
