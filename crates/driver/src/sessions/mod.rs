//! Ways of talking to an engine: one file each, one arm each in [`open`].

mod duckdb;
mod null;
mod rows;
mod serial;
mod sqlite;

use crate::error::Error;
use crate::plan;
pub use rows::Rows;

/// Opens one connection.
pub fn open(session: &plan::Session) -> Result<Box<dyn Session>, Error> {
    match session {
        plan::Session::Null { delay_ns } => Ok(Box::new(null::Null::new(*delay_ns))),
        plan::Session::Sqlite { .. } => sqlite::open(session),
        plan::Session::Duckdb { .. } => duckdb::open(session),
    }
}

/// Does the engine work inside the call? Then each connection has a thread of its own.
pub fn embedded(session: &plan::Session) -> bool {
    matches!(session, plan::Session::Sqlite { .. } | plan::Session::Duckdb { .. })
}

/// The session's kind, as a script reads it in `dyno.engine`.
pub fn kind(session: &plan::Session) -> &'static str {
    match session {
        plan::Session::Null { .. } => "null",
        plan::Session::Sqlite { .. } => "sqlite",
        plan::Session::Duckdb { .. } => "duckdb",
    }
}

/// Which of sysbench's drivers a session passes for; `None`: what the option `db_driver` says.
/// Scripts know no embedded engine, and PostgreSQL's words come nearest.
pub fn dialect(session: &plan::Session) -> Option<&'static str> {
    match session {
        plan::Session::Null { .. } => None,
        plan::Session::Sqlite { .. } | plan::Session::Duckdb { .. } => Some("pgsql"),
    }
}

/// One connection to an engine, as a script's user holds it.
///
/// A session never blocks on a network: it answers [`Reply::Ready`], or [`Reply::Pending`] and is
/// polled by the worker while the script's coroutine is suspended. An embedded engine works inside
/// the call, so its sessions are always ready and each has a thread of its own
/// ([`embedded`]).
pub trait Session {
    /// Sends SQL as text.
    fn query(&mut self, sql: &str) -> Result<Reply, Error>;

    /// Makes a prepared statement; its handle is valid on this session only.
    fn prepare(&mut self, sql: &str) -> Result<u32, Error>;

    /// Sends a prepared statement with one value per parameter.
    fn execute(&mut self, statement: u32, values: &[Value]) -> Result<Reply, Error>;

    /// Frees a prepared statement.
    fn close(&mut self, statement: u32) -> Result<(), Error>;

    /// Asks how a pending request is going, without waiting.
    fn poll(&mut self) -> Result<Reply, Error> {
        Err(Error::driver("a session was polled that never has a pending request"))
    }

    /// Ends what a failed event left open (a transaction). Never waits.
    fn reset(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// The rows of the last answer; valid until the next request.
    fn rows(&self) -> &Rows;

    /// What the session counted since the last call, and starts anew.
    fn take_counts(&mut self) -> Counts;
}

/// Where a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// Answered: rows that came back, rows that were changed.
    Ready {
        /// Rows that came back.
        rows: u64,
        /// Rows that the statement reported as changed.
        changed: u64,
    },
    /// Not yet; poll again, at the latest at this CLOCK_MONOTONIC time.
    Pending {
        /// When an answer may be expected; `u64::MAX`: unknown.
        until_ns: u64,
    },
}

/// What a session counts beside the requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Times that the engine said busy and was asked again.
    pub busy: u64,
    /// Nanoseconds inside the engine, where they are measured.
    pub service_ns: Option<u64>,
}

/// A value bound to a parameter, or found in a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// SQL NULL.
    Null,
    /// A signed 64-bit integer.
    Integer(i64),
    /// A double.
    Real(f64),
    /// Text in UTF-8 (bytes as they came).
    Text(Vec<u8>),
}
