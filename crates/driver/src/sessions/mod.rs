//! Ways of talking to an engine: a file or folder each, and an arm each in [`descriptor`].

pub mod bulk;
mod cancel;
mod duckdb;
pub mod echo;
mod key_value;
pub mod literal;
mod mysql;
mod null;
mod plugin;
mod postgres;
mod reach;
mod resp;
pub mod rows;
pub mod sql;
mod sqlite;
pub mod template;

use std::time::Duration;

use slab::Slab;

use crate::generate::Source;
use crate::plan;
use crate::plan::answer::Notice;
use crate::plan::error::Error;
use crate::wire::Bytes;
pub use cancel::{Canceller, cancel_all};
pub use rows::Rows;
use sql::Quoting;

/// What the driver knows of a session without opening it: one in each session's file.
pub struct Descriptor {
    /// As a script reads it in `dyno.engine`.
    pub kind: &'static str,
    /// Where the engine works.
    pub engine: Engine,
    /// Which of sysbench's drivers it passes for; none: what the option `db_driver` says. Scripts
    /// know no embedded engine, and PostgreSQL's words come nearest.
    pub dialect: Option<&'static str>,
    /// How it reads quotes and comments.
    pub quoting: Quoting,
    /// The engine's word for a column's type by its number ([`Rows::types`]); empty: it tells none.
    pub type_name: fn(u32) -> String,
    /// Opens one connection by its part of the plan.
    pub open: fn(&plan::Session) -> Result<Box<dyn Session>, Error>,
}

/// Where an engine works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// There is none.
    Absent,
    /// Inside the call: each connection has a thread of its own.
    Embedded,
    /// In a process of its own that our connections lead to.
    Served,
}

/// The descriptor of a plan's session. A new session has an arm here, and its file.
pub fn descriptor(session: &plan::Session) -> &'static Descriptor {
    match session {
        plan::Session::Null { .. } => &null::DESCRIPTOR,
        plan::Session::Echo { .. } => &echo::DESCRIPTOR,
        plan::Session::Sqlite { .. } => &sqlite::DESCRIPTOR,
        plan::Session::Duckdb { .. } => &duckdb::DESCRIPTOR,
        plan::Session::Plugin { .. } => &plugin::DESCRIPTOR,
        plan::Session::Postgres(_) => &postgres::DESCRIPTOR,
        plan::Session::Mysql(_) => &mysql::DESCRIPTOR,
        plan::Session::Resp(_) => &resp::DESCRIPTOR,
    }
}

/// How an engine of a kind (`postgres`) reads quotes and comments, and that kind.
pub fn reading(kind: &str) -> Result<(&'static str, Quoting), Error> {
    let all = [
        &null::DESCRIPTOR,
        &echo::DESCRIPTOR,
        &sqlite::DESCRIPTOR,
        &duckdb::DESCRIPTOR,
        &plugin::DESCRIPTOR,
        &postgres::DESCRIPTOR,
        &mysql::DESCRIPTOR,
        &resp::DESCRIPTOR,
    ];
    let found = all.into_iter().find(|it| it.kind == kind).map(|it| (it.kind, it.quoting));
    found.ok_or_else(|| Error::driver(format!("there is no session of the kind {kind}")))
}

/// Opens one connection.
pub fn open(session: &plan::Session) -> Result<Box<dyn Session>, Error> {
    (descriptor(session).open)(session)
}

/// What takes the place of a connection that was dropped: every request fails as `lost`.
pub fn disconnected() -> Box<dyn Session> {
    Box::new(null::Disconnected::default())
}

/// A prepared statement to be executed; a closed one is the script's mistake.
#[inline]
fn open_statement<S>(statements: &mut Slab<S>, handle: u32) -> Result<&mut S, Error> {
    let statement = statements.get_mut(handle as usize);
    statement.ok_or_else(|| Error::user("a closed statement was executed"))
}

/// The error of a session that was given another one's part of a plan.
fn misdirected() -> Error {
    Error::driver("a plan for another session came to this one")
}

/// One connection to an engine, as a script's user holds it.
///
/// A session never blocks on a network: it answers [`Reply::Ready`], or [`Reply::Pending`] and is
/// polled by the worker while the script's coroutine is suspended. An embedded engine works inside
/// the call, so its sessions are always ready and each has a thread of its own
/// ([`Engine::Embedded`]).
pub trait Session {
    /// Sends SQL as text.
    fn query(&mut self, sql: &str) -> Result<Reply, Error>;

    /// Sends SQL as the bytes that it is: a server reads them in its own character set, an embedded
    /// engine in UTF-8 only.
    fn query_bytes(&mut self, sql: &[u8]) -> Result<Reply, Error> {
        self.query(literal::sql(sql)?)
    }

    /// Makes a prepared statement; its handle is valid on this session only, also after a lost
    /// connection was made anew. A server's session waits for the answer: scripts prepare before
    /// the measured time. Its text is bytes, as of [`Session::query_bytes`].
    fn prepare(&mut self, sql: &[u8]) -> Result<u32, Error>;

    /// The same for a text that no script wrote: a `?` in it is the engine's own.
    fn prepare_as_written(&mut self, sql: &[u8]) -> Result<u32, Error> {
        self.prepare(sql)
    }

    /// Sends a prepared statement with one value per parameter.
    fn execute(&mut self, statement: u32, values: &[Value]) -> Result<Reply, Error>;

    /// Sends a text with one value per parameter (`?`), parsed anew each time, in one request.
    fn execute_unnamed(&mut self, sql: &[u8], values: &[Value]) -> Result<Reply, Error> {
        let _ = (sql, values);
        Err(Error::user("this engine has no extended protocol")
            .hint("use the protocol simple or prepared"))
    }

    /// Frees a prepared statement.
    fn close(&mut self, statement: u32) -> Result<(), Error>;

    /// Queues the requests that follow: each is answered at once by `Ready` with zeros, and nothing
    /// is sent before [`Session::sync`].
    fn begin_batch(&mut self) -> Result<(), Error> {
        Err(Error::user("this engine takes no batches").hint("send one request after another"))
    }

    /// Sends what was queued so far, without waiting; what follows is queued on. The answers come
    /// with [`Session::sync`]'s. Where a batch's requests do not hang on one another nothing is
    /// sent yet.
    fn flush_batch(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Sends what was queued as one batch, and ends it; the reply counts rows and changes of all.
    /// The first error of the batch is the batch's. `keeps`: each request's result is one of
    /// [`Rows::results`], in their order, without its columns' names.
    fn sync(&mut self, keeps: bool) -> Result<Reply, Error> {
        let _ = keeps;
        Err(Error::user("there is no batch to send"))
    }

    /// Streams rows into a table by the engine's own bulk command (`COPY … FROM STDIN`,
    /// `LOAD DATA LOCAL INFILE 'rows' …`): tab-separated text as both read it by default. An engine
    /// in our process takes `COPY table FROM STDIN` for the fastest way it has, in one transaction.
    fn load(&mut self, sql: &str, rows: Box<dyn Source>) -> Result<Reply, Error> {
        let _ = (sql, rows);
        Err(Error::user("this engine has no bulk load")
            .hint("use bulk_insert_init, _next and _done"))
    }

    /// Says whether the rows of the answers to come will be read. Where they are not, a session
    /// need only count them ([`Rows::width`] and [`Reply::Ready`]).
    fn keep_rows(&mut self, wanted: bool) {
        let _ = wanted;
    }

    /// Says whether the notices of the answers to come are kept, where the server says any.
    fn keep_notices(&mut self, wanted: bool) {
        let _ = wanted;
    }

    /// The notices of the last answer, and how many more there were than are kept.
    fn take_notices(&mut self) -> (Vec<Notice>, u64) {
        (Vec::new(), 0)
    }

    /// The process that works for this connection, as its login named it.
    fn process(&self) -> Option<i32> {
        None
    }

    /// Asks how a pending request is going, without waiting.
    fn poll(&mut self) -> Result<Reply, Error> {
        Err(Error::driver("a session was polled that never has a pending request"))
    }

    /// Has the last answer left a transaction open?
    fn in_transaction(&self) -> bool {
        false
    }

    /// Can the open transaction only be rolled back, whatever ends it?
    fn is_aborted(&self) -> bool {
        false
    }

    /// Did the server close the connection with its last answer?
    fn is_lost(&self) -> bool {
        false
    }

    /// Rows that all statements of the last text changed, where its reply tells of the last alone.
    fn changed_of_all(&self) -> Option<u64> {
        None
    }

    /// Ends what a failed event left open (a transaction), and makes a lost connection anew.
    /// Never waits for an answer, but for the new connection's.
    fn reset(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// A new connection in the place of a sound one that nothing is under way on, with all its
    /// statements; false, and all as it was, where it stands in a transaction or is a file of this
    /// process's. Waits for the new connection.
    fn renew(&mut self) -> Result<bool, Error> {
        Ok(false)
    }

    /// What ends the requests under way at the server once this session is dropped, where there are
    /// any; counted as asked.
    fn canceller(&mut self) -> Option<Canceller> {
        None
    }

    /// Adds what an engine that works inside the call counted of its own work since the last call.
    fn count_work(&mut self, counts: &mut EngineCounts) {
        let _ = counts;
    }

    /// What each scan of a prepared statement's plan did, where the engine counts that.
    fn scans(&self, statement: u32) -> Vec<ScanCount> {
        let _ = statement;
        Vec::new()
    }

    /// What the last answer said beside rows and changes, where the engine says that.
    fn aside(&self) -> Aside {
        Aside::default()
    }

    /// The rows of the last answer; valid until the next request.
    fn rows(&self) -> &Rows;

    /// What the session counted since the last call, and starts anew.
    fn take_counts(&mut self) -> Counts;
}

// What a session is given and what it answers.

/// Reads of one poll, at most: a server that sends for ever must not hold the thread.
pub const MOST_READS: usize = 64;

/// More has come than one poll may read: poll again as soon as others have had their turn.
pub const SOON: Reply = Reply::Pending { until_ns: 1 };

/// What a session waits at most where it waits itself (preparing), however much the server says
/// meanwhile.
pub const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Rows that one statement may say that it changed, at most: no table has more, and sums of what a
/// server says must not overflow.
pub const MOST_CHANGED: u64 = 1 << 48;

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

/// What an engine counted of its own work, by the names of Dyno's probe `work`.
pub type EngineCounts = std::collections::BTreeMap<&'static str, u64>;

/// A scan of a plan, in the engine's words: how often it was begun, and rows that it visited, of
/// all executions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanCount {
    /// As EXPLAIN calls it.
    pub step: String,
    /// Times that it was begun.
    pub loops: i64,
    /// Rows that it visited.
    pub rows: i64,
}

/// What an answer says beside its rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Aside {
    /// The number that a new row was given.
    pub insert_id: Option<u64>,
    /// Warnings that may be asked for.
    pub warnings: u16,
}

/// What a session counts beside the requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Times that the engine said busy and was asked again.
    pub busy: u64,
    /// Nanoseconds inside the engine, where they are measured.
    pub service_ns: Option<u64>,
    /// Connections that were lost and made anew.
    pub reconnected: u64,
    /// What the engine must have counted, too, as it counts; absent where it counts nothing.
    pub claimed: Option<u64>,
    /// What it may have counted beyond that: results that followed the first of a request are a
    /// text's next statements, or a procedure's own, and the answers do not say which.
    pub further: u64,
    /// What went over the wire; nothing where there is none.
    pub bytes: Bytes,
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
