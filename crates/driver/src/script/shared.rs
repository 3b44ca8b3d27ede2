//! What the Lua functions of one user share: its sessions, statements, counts and last error.

use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use slab::Slab;

use super::connection::{Connection, open};
use super::inserts::{Bulk, Insert, Row};
use super::program::Program;
use super::random::Rand;
use super::recording::Recording;
use super::statement::{Form, Kind, Statement, TextCell};
use super::watch::{self, InEngine};
use crate::plan::error::{Error, shorten};
use crate::sessions::rows::TOO_LARGE;
use crate::sessions::sql::Quoting;
use crate::sessions::{Engine, Reply};
use crate::tally::UserCounts;
use crate::{generate, plan, sessions};

/// One user's sessions and all that hangs on them.
pub struct Shared {
    pub rand: Rand,
    /// Transaction types by index; 0 is the unnamed one.
    pub transactions: Vec<String>,
    /// Rows of the last answer, packed as lua/requests.lua reads them.
    pub packed: Vec<u8>,
    /// The script may read rows; else they are only counted.
    pub keeps_rows: bool,
    /// So is it with the next answer, whatever the script's text says.
    pub keeps_next: bool,
    /// So is it with those results of the last answer that were not handed out yet.
    pub keeps_results: bool,
    /// Rows that the last answer brought, those without a column too.
    pub rows_brought: u64,
    /// Turns that the stream's users have taken.
    pub turns: Arc<AtomicU64>,
    /// When the event under way was due, in an open loop, by the phase's clock: ns.
    pub due_ns: u64,
    /// How long the user rests once its event has ended, ns; and why it may not, if it may not.
    pub rest_ns: u64,
    pub no_rest: Option<String>,
    /// Events of a streak that ended before the one under way, the first of them last.
    pub ended: Vec<Ended>,
    /// What the coroutine waits for.
    pub wait: Wait,
    /// An error that ends the trial, whatever the script does with it.
    pub stop: Option<Error>,
    /// The connection that was refused last, until the script is over it.
    pub refused: Option<Error>,
    /// The last failed statement's error, and the text that the script was thrown.
    pub failure: Option<Error>,
    pub thrown: String,
    /// The script's error.
    pub report: Option<Reported>,
    /// Script file and line of the last error.
    pub place: Option<String>,
    /// Declared events.
    pub programs: Vec<Program>,
    /// The one under way.
    pub playing: Option<usize>,
    /// The part of a server's log that it plays.
    pub recording: Option<Recording>,
    /// Declared rows, and the text of the insert made of them last.
    pub rows: Vec<Row>,
    pub text: Vec<u8>,
    /// Bulk inserts, by the number of their connection.
    pub bulks: Vec<Bulk>,
    /// The statement that it failed with, until the script is told.
    pub failed_statement: Option<usize>,
    /// The script is being loaded, and its engine does not answer at once.
    pub is_loading: bool,
    is_embedded: bool,
    /// Its phase is over, and nobody waits for it any more.
    pub is_given_up: bool,
    /// Programs that the script started, until they have ended.
    pub children: Slab<Child>,
    pub session: plan::Session,
    pub connections: Vec<Option<Connection>>,
    /// The answer that the coroutine is resumed with.
    pub arrived: Option<RequestState>,
    /// How the engine reads quotes and comments.
    pub quoting: Quoting,
    pub statements: Slab<Statement>,
    /// Text cells filled from templates.
    pub text_cells: Vec<TextCell>,
    pub counts: UserCounts,
}

/// How a function of the script's failed.
#[derive(Debug, Default)]
pub struct Reported {
    pub text: String,
    /// It asked for its event to begin anew.
    pub restart: bool,
    /// What sysbench calls the function.
    pub function: Option<String>,
}

/// What a suspended coroutine waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// It does not wait.
    Nothing,
    /// A request on a connection, to be polled at the latest at a time.
    Request { connection: usize, until_ns: u64 },
    /// An event that begins anew, as soon as the worker likes.
    Restart,
    /// A time to come.
    Sleep { until_ns: u64 },
    /// What its own loop asked.
    Answer(Ask),
}

/// What a script's own loop (`thread_run`) asks of whoever plays it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Is there one more event? The answer may have to wait until it is due.
    More,
    /// An event begins.
    Start,
    /// It ended well.
    Stop {
        /// Its transaction type, as in [`super::Step::Done`].
        transaction: usize,
    },
}

/// An event of a streak that ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// When: CLOCK_MONOTONIC ns.
    pub at_ns: u64,
    /// Its transaction type, as in [`super::Step::Done`].
    pub transaction: usize,
}

/// Events of a streak before its last, at most: `MOST` in lua/functions.lua.
const MOST_OF_STREAK: usize = 40;

/// How a request stands, towards Lua.
pub enum RequestState {
    /// Answered without columns; rows changed.
    Changed(u64),
    /// Answered with columns; nobody will read the rows.
    Counted { columns: u32, rows: u32 },
    /// Answered; the rows are in [`Shared::packed`].
    Rows,
    /// Not answered yet.
    Pending,
    /// Refused; the error is in [`Shared::failure`].
    Failed,
}

/// More text cells than a script has in use.
const MOST_TEXT_CELLS: usize = 1000;

impl Drop for Shared {
    fn drop(&mut self) {
        self.end_programs();
    }
}

impl Shared {
    pub fn new(session: plan::Session, rand: Rand) -> Self {
        Self {
            rand,
            transactions: vec![String::new()],
            packed: Vec::new(),
            keeps_rows: false,
            keeps_next: false,
            keeps_results: false,
            rows_brought: 0,
            turns: Arc::default(),
            due_ns: 0,
            rest_ns: 0,
            no_rest: Some("dyno.rest is for thread_init and events: nobody rests here".to_owned()),
            ended: Vec::with_capacity(MOST_OF_STREAK),
            wait: Wait::Nothing,
            stop: None,
            refused: None,
            failure: None,
            thrown: String::new(),
            report: None,
            place: None,
            programs: Vec::new(),
            playing: None,
            recording: None,
            rows: Vec::new(),
            text: Vec::new(),
            bulks: Vec::new(),
            failed_statement: None,
            quoting: sessions::descriptor(&session).quoting,
            is_loading: false,
            is_embedded: sessions::descriptor(&session).engine == Engine::Embedded,
            is_given_up: false,
            children: Slab::new(),
            session,
            connections: Vec::new(),
            arrived: None,
            statements: Slab::new(),
            text_cells: Vec::new(),
            counts: UserCounts::default(),
        }
    }

    /// To be held while a session is called, which may be where its engine works.
    #[inline]
    pub fn in_engine(&self) -> Option<InEngine> {
        self.is_embedded.then(watch::in_engine)
    }

    pub fn connect(&mut self) -> Result<usize, Error> {
        let _engine = self.in_engine();
        let connection = Connection::new(sessions::open(&self.session)?, self.keeps_rows);
        self.connections.push(Some(connection));
        self.bulks.push(Bulk::default());
        Ok(self.connections.len() - 1)
    }

    /// Keeps the error of a connection that was not made; its words, for the script to be thrown.
    pub fn refuse(&mut self, error: Error) -> String {
        let words = error.to_string();
        self.refused = Some(error);
        words
    }

    pub fn disconnect(&mut self, connection: usize) {
        if let Some(slot) = self.connections.get_mut(connection)
            && let Some(mut closed) = slot.take()
        {
            closed.count(&mut self.counts);
        }
    }

    pub fn reconnect(&mut self, connection: usize) -> Result<(), Error> {
        let _engine = self.in_engine();
        self.disconnect(connection);
        let session = sessions::open(&self.session)?;
        self.counts.reconnected += 1;
        if let Some(slot) = self.connections.get_mut(connection) {
            *slot = Some(Connection::new(session, self.keeps_rows));
        }
        Ok(())
    }

    pub fn query(&mut self, connection: usize, sql: &[u8]) -> RequestState {
        if self.is_loading {
            return self.refuse_while_loading();
        }
        self.counts.queries += 1;
        let (keeps, _engine) = (self.keeps(), self.in_engine());
        let reply = open(&mut self.connections, connection)
            .and_then(|it| it.keeping(keeps).query_bytes(sql));
        self.take_reply(connection, reply)
    }

    /// An answer could not be waited for, so nothing is sent.
    #[cold]
    fn refuse_while_loading(&mut self) -> RequestState {
        self.fail(
            Error::user("a query cannot wait for its answer while the script loads").hint(
                "send it from init(), thread_init(), an event or a command; nothing was sent",
            ),
        );
        RequestState::Failed
    }

    /// Sends rows as one statement, made in memory that is used again.
    pub fn insert(&mut self, connection: usize, insert: &Insert) -> RequestState {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        insert.put(&mut self.rows[insert.row], &mut self.rand, self.quoting, &mut text);
        let sent = self.query(connection, &text);
        self.text = text;
        sent
    }

    /// The bulk insert of a connection's number.
    pub fn bulk(&mut self, connection: usize) -> Result<&mut Bulk, Error> {
        let bulk = self.bulks.get_mut(connection);
        bulk.ok_or_else(|| Error::user("a bulk insert without a connection"))
    }

    /// Sends the rows that were gathered, and goes back to the head.
    pub fn send_bulk(&mut self, connection: usize) -> Result<RequestState, Error> {
        let mut bulk = std::mem::take(self.bulk(connection)?);
        let sent = self.query(connection, bulk.text());
        bulk.forget_rows();
        *self.bulk(connection)? = bulk;
        Ok(sent)
    }

    /// Will the rows of the next answer be read?
    #[inline]
    fn keeps(&self) -> bool {
        (self.keeps_rows || self.keeps_next) && self.playing.is_none()
    }

    pub fn begin_batch(&mut self, connection: usize) -> Result<(), Error> {
        open(&mut self.connections, connection)?.begin_batch()
    }

    pub fn flush_batch(&mut self, connection: usize) -> Result<(), Error> {
        open(&mut self.connections, connection)?.flush_batch()
    }

    /// Sends the batch; the rows that come back are counted, and kept where they will be read.
    pub fn sync(&mut self, connection: usize, keeps: bool) -> RequestState {
        let _engine = self.in_engine();
        let reply = open(&mut self.connections, connection).and_then(|it| it.sync(keeps));
        self.take_reply(connection, reply)
    }

    /// Streams generated rows into a table.
    pub fn load(&mut self, connection: usize, sql: &str, rows: &generate::Rows) -> RequestState {
        if self.is_loading {
            return self.refuse_while_loading();
        }
        self.counts.queries += 1;
        let _engine = self.in_engine();
        let reply = generate::open(rows).and_then(|source| {
            open(&mut self.connections, connection)?.session().load(sql, source)
        });
        self.take_reply(connection, reply)
    }

    pub fn prepare(&mut self, connection: usize, sql: &[u8]) -> Option<usize> {
        let _engine = self.in_engine();
        let prepared =
            open(&mut self.connections, connection).and_then(|it| it.session().prepare(sql));
        match prepared {
            Ok(handle) => Some(self.keep(connection, Form::Prepared(handle))),
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    /// Keeps a statement; returns its number.
    pub fn keep(&mut self, connection: usize, form: Form) -> usize {
        self.statements.insert(Statement::new(connection, form))
    }

    pub fn bind(&mut self, statement: usize, kinds: Vec<Kind>) {
        if let Some(it) = self.statements.get_mut(statement) {
            it.bind(kinds);
        }
    }

    /// Puts a Lua value into a parameter, cut to the cell's kind.
    pub fn set(&mut self, statement: usize, at: usize, value: &mlua::Value) {
        if let Some(it) = self.statements.get_mut(statement) {
            it.set(at, value, &self.text_cells);
        }
    }

    /// Gives a text cell its template; its number, or none where there are too many (a script that
    /// makes new cells in each event).
    pub fn text_cell(&mut self, template: &[u8], known: Option<usize>) -> Option<usize> {
        let number = known.unwrap_or(self.text_cells.len());
        if number == self.text_cells.len() {
            if number == MOST_TEXT_CELLS {
                return None;
            }
            self.text_cells.push(TextCell::default());
        }
        template.clone_into(&mut self.text_cells[number].template);
        Some(number)
    }

    pub fn execute(&mut self, statement: usize) -> RequestState {
        if self.is_loading {
            return self.refuse_while_loading();
        }
        self.counts.queries += 1;
        let keeps = self.keeps();
        let Some(it) = self.statements.get(statement) else {
            self.fail(Error::user("a closed statement was executed"));
            return RequestState::Failed;
        };
        let connection = it.connection;
        let _engine = self.in_engine();
        let reply = open(&mut self.connections, connection)
            .and_then(|session| it.send(session.keeping(keeps)));
        self.take_reply(connection, reply)
    }

    pub fn close(&mut self, statement: usize) -> Result<(), Error> {
        let Some(it) = self.statements.try_remove(statement) else {
            return Ok(());
        };
        match (self.connections.get_mut(it.connection), it.form) {
            (Some(Some(connection)), Form::Prepared(handle)) => connection.session().close(handle),
            _ => Ok(()),
        }
    }

    pub fn poll(&mut self, connection: usize) -> RequestState {
        let reply = open(&mut self.connections, connection).and_then(|it| it.session().poll());
        self.counts.round_trips += u64::from(!matches!(reply, Ok(Reply::Pending { .. })));
        self.take_reply(connection, reply)
    }

    /// New connections in the place of all; how many there are.
    pub fn renew_connections(&mut self) -> Result<u64, Error> {
        let mut renewed = 0;
        for connection in self.connections.iter_mut().flatten() {
            renewed += u64::from(connection.session().renew()?);
        }
        Ok(renewed)
    }

    /// Has the last answer on a connection left a transaction open?
    pub fn in_transaction(&self, connection: usize) -> bool {
        matches!(self.connections.get(connection), Some(Some(it)) if it.in_transaction())
    }

    /// Ends transactions that a failed event left open.
    pub fn reset(&mut self) {
        let _engine = self.in_engine();
        for connection in self.connections.iter_mut().flatten() {
            if let Err(error) = connection.reset() {
                self.stop.get_or_insert(error);
            }
        }
    }

    pub fn restarted(&mut self) {
        self.counts.restarted += 1;
        self.wait = Wait::Restart;
    }

    pub fn take_counts(&mut self) -> UserCounts {
        self.gather_counts();
        std::mem::take(&mut self.counts)
    }

    /// Adds what the connections counted.
    pub fn gather_counts(&mut self) {
        for connection in self.connections.iter_mut().flatten() {
            connection.count(&mut self.counts);
        }
    }

    pub fn fail(&mut self, error: Error) {
        if error.is_engine() {
            let code = error.engine_code().unwrap_or("unknown");
            match self.counts.errors.get_mut(code) {
                Some(times) => *times += 1,
                None => drop(self.counts.errors.insert(code.to_owned(), 1)),
            }
        } else {
            self.stop.get_or_insert_with(|| error.clone());
        }
        self.failure = Some(error);
    }

    /// Adds the statement to the error of an answer that was too large; its session has lost it.
    pub fn name_statement(&mut self, sql: &str) {
        let is_it = |error: &Error| error.engine_code() == Some(TOO_LARGE);
        if let Some(error) = self.failure.take_if(|error| is_it(error)) {
            self.stop = Some(error.because(shorten(sql)));
            self.failure.clone_from(&self.stop);
        }
    }

    pub fn take_reply(&mut self, connection: usize, reply: Result<Reply, Error>) -> RequestState {
        match reply {
            Ok(Reply::Ready { rows, changed }) => {
                self.wait = Wait::Nothing;
                self.answered(connection, rows, changed)
            }
            Ok(Reply::Pending { until_ns }) => {
                self.wait = Wait::Request { connection, until_ns };
                RequestState::Pending
            }
            Err(error) => {
                self.wait = Wait::Nothing;
                self.keeps_next = false;
                if let Some(Some(connection)) = self.connections.get_mut(connection) {
                    connection.batch.answered();
                }
                self.fail(error);
                RequestState::Failed
            }
        }
    }
}
