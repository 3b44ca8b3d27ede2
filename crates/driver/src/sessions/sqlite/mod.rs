//! SQLite, any library of it, opened by path; it works inside the call, on the caller's thread.

mod connection;
mod counts;
mod failure;
mod library;
mod statement;
#[cfg(test)]
mod tests;

use std::ffi::CString;
use std::path::Path;
use std::rc::Rc;

use slab::Slab;

use super::literal;
use super::sql::Quoting;
use super::{
    Counts, Descriptor, Engine, EngineCounts, Reply, Rows, ScanCount, Session, Value, bulk,
    misdirected, open_statement, sql,
};
use crate::generate::Source;
use crate::plan;
use crate::plan::error::Error;
use connection::Connection;
use counts::Work;
use library::Api;
use statement::Statement;

/// What the driver knows of this session.
pub const DESCRIPTOR: Descriptor = Descriptor {
    kind: "sqlite",
    engine: Engine::Embedded,
    dialect: Some("pgsql"),
    quoting: Quoting::Standard,
    open,
    type_name: statement::type_name,
};

/// One connection to one database file.
struct Sqlite {
    connection: Rc<Connection>,
    statements: Slab<Prepared>,
    text_rows: Rows,
    /// The statement whose rows were read last; `None`: those of a text query.
    last: Option<u32>,
    /// Rows will be read.
    keeps: bool,
    /// Rows that all statements of the last text changed.
    changed_of_all: u64,
    work: Work,
}

/// A prepared statement with the rows of its last execution.
struct Prepared {
    statement: Statement,
    sql: String,
    rows: Rows,
}

/// Opens the library and the database that the plan names.
fn open(session: &plan::Session) -> Result<Box<dyn Session>, Error> {
    let plan::Session::Sqlite { library, database, pragmas } = session else {
        return Err(misdirected());
    };
    let mut it = Sqlite {
        connection: connect(Api::load(library)?, database, connection::timeout_ms(pragmas)?)?,
        statements: Slab::new(),
        text_rows: Rows::default(),
        last: None,
        keeps: true,
        changed_of_all: 0,
        work: Work::default(),
    };
    connection::set_all(&mut it, pragmas)?;
    it.connection.busy.count.set(0);
    Ok(Box::new(it))
}

fn connect(api: Api, database: &Path, timeout_ms: u64) -> Result<Rc<Connection>, Error> {
    let path = CString::new(database.as_os_str().as_encoded_bytes())
        .map_err(|error| Error::user("the database's path holds a NUL").because(error))?;
    Connection::open(api, &path, timeout_ms).map_err(|(_, message)| {
        Error::host(format!("cannot open the database {}", database.display()))
            .because(message)
            .hint("does its folder exist, and may it be written?")
    })
}

impl Sqlite {
    /// Plays the statements of a text; the last one's answer is the text's.
    fn texts(&mut self, sql: &str, rows: &mut Rows) -> Result<Reply, Error> {
        self.changed_of_all = 0;
        let (mut reply, mut rest) = (Reply::Ready { rows: 0, changed: 0 }, sql);
        while !rest.trim().is_empty() {
            let (statement, tail) = Statement::compile(&self.connection, rest)?;
            rest = tail;
            if let Some(mut statement) = statement {
                rows.next_result()?;
                reply = statement.execute(&[], rows, sql)?;
                if let Reply::Ready { changed, .. } = reply {
                    self.changed_of_all += changed;
                }
            }
        }
        Ok(reply)
    }

    /// Inserts all rows of a load, by one prepared statement.
    fn insert_all(&mut self, table: &str, source: &mut dyn Source) -> Result<u64, Error> {
        self.query(&format!("SELECT * FROM {table} LIMIT 0"))?;
        let columns = self.text_rows.columns.len();
        let sql = format!("INSERT INTO {table} VALUES (?{})", ", ?".repeat(columns - 1));
        let (statement, _) = Statement::compile(&self.connection, &sql)?;
        let statement = statement.ok_or_else(|| Error::driver("an empty INSERT"))?;
        bulk::each_row(source, |fields| match fields.len() == columns {
            true => statement.insert(fields, &sql),
            false => Err(bulk::unlike(table, columns, fields.len())),
        })
    }
}

impl Session for Sqlite {
    fn query(&mut self, sql: &str) -> Result<Reply, Error> {
        sql::refuse_nul(sql.as_bytes())?;
        let sql = statement::with_integer_key(sql)?;
        let mut rows = std::mem::take(&mut self.text_rows);
        rows.clear();
        rows.is_unread = !self.keeps;
        let reply = self.texts(&sql, &mut rows);
        self.text_rows = rows;
        self.last = None;
        reply
    }

    fn prepare(&mut self, sql: &[u8]) -> Result<u32, Error> {
        sql::refuse_nul(sql)?;
        let sql = literal::sql(sql)?;
        let (statement, mut rest) = Statement::compile(&self.connection, sql)?;
        let statement = statement.ok_or_else(|| Error::user("an empty statement was prepared"))?;
        while !rest.trim().is_empty() {
            let (further, tail) = Statement::compile(&self.connection, rest)?;
            if further.is_some() {
                let error = Error::user("several statements were prepared as one").because(sql);
                return Err(error.hint("prepare each by itself, or send all as text by con:query"));
            }
            rest = tail;
        }
        let (sql, rows) = (sql.to_owned(), Rows::default());
        Ok(self.statements.insert(Prepared { statement, sql, rows }) as u32)
    }

    fn execute(&mut self, handle: u32, values: &[Value]) -> Result<Reply, Error> {
        let Prepared { statement, sql, rows } = open_statement(&mut self.statements, handle)?;
        self.last = Some(handle);
        rows.is_unread = !self.keeps;
        if statement.parameters != values.len() {
            let (wanted, given) = (statement.parameters, values.len());
            let told = format!("a statement with {wanted} parameters got {given} values");
            return Err(Error::user(told).because(sql));
        }
        statement.execute(values, rows, sql)
    }

    fn load(&mut self, sql: &str, mut rows: Box<dyn Source>) -> Result<Reply, Error> {
        let table = bulk::table(sql)?;
        let is_own = !self.connection.in_transaction();
        if is_own {
            self.query("BEGIN IMMEDIATE")?;
        }
        let loaded = self.insert_all(table, rows.as_mut());
        self.text_rows.clear();
        self.last = None;
        if is_own {
            let ended = self.query(if loaded.is_ok() { "COMMIT" } else { "ROLLBACK" });
            return loaded.and_then(|changed| ended.map(|_| Reply::Ready { rows: 0, changed }));
        }
        loaded.map(|changed| Reply::Ready { rows: 0, changed })
    }

    fn in_transaction(&self) -> bool {
        self.connection.in_transaction()
    }

    fn changed_of_all(&self) -> Option<u64> {
        Some(self.changed_of_all)
    }

    fn close(&mut self, statement: u32) -> Result<(), Error> {
        if let Some(closed) = self.statements.try_remove(statement as usize) {
            self.work.count_statement(&closed.statement);
        }
        Ok(())
    }

    fn keep_rows(&mut self, wanted: bool) {
        self.keeps = wanted;
    }

    fn reset(&mut self) -> Result<(), Error> {
        match self.connection.in_transaction() {
            true => self.query("ROLLBACK").map(drop),
            false => Ok(()),
        }
    }

    fn rows(&self) -> &Rows {
        let prepared = self.last.and_then(|at| self.statements.get(at as usize));
        prepared.map_or(&self.text_rows, |prepared| &prepared.rows)
    }

    fn take_counts(&mut self) -> Counts {
        Counts { busy: self.connection.busy.count.take(), ..Counts::default() }
    }

    fn scans(&self, statement: u32) -> Vec<ScanCount> {
        let prepared = self.statements.get(statement as usize);
        prepared.map(|it| it.statement.scans()).unwrap_or_default()
    }

    fn count_work(&mut self, counts: &mut EngineCounts) {
        for (_, prepared) in &self.statements {
            self.work.count_statement(&prepared.statement);
        }
        self.work.count_connection(&self.connection);
        self.work.hand_over(counts);
    }
}
