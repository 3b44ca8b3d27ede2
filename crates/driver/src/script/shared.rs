//! What the Lua functions of one user share: its sessions, statements, counts and last error.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use slab::Slab;

use super::account::Account;
use super::child_program::ChildProgram;
use super::connection::Connection;
use super::inserts::{Bulk, Row};
use super::program::Program;
use super::random::Rand;
use super::recording::Recording;
use super::statement::{Statement, TextCell};
use super::watch::{self, InEngine};
use super::written::Written;
use crate::plan::error::{Error, shorten};
use crate::schedule::clock::{SECOND_NS, now_ns};
use crate::sessions::rows::TOO_LARGE;
use crate::sessions::sql::Quoting;
use crate::sessions::{Engine, Reply};
use crate::tally::UserCounts;
use crate::{plan, sessions};

/// One user's sessions and all that hangs on them.
pub struct Shared {
    pub rand: Rand,
    /// Transaction types by index; 0 is the unnamed one.
    pub transactions: Vec<String>,
    /// Its script may name more of them while it plays.
    pub expects_types: bool,
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
    pub children: Slab<ChildProgram>,
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
    /// When it kept its thread for long by what is done in one go, by CLOCK_MONOTONIC: from, to.
    pub kept: Vec<(u64, u64)>,
    /// What became of its statements.
    pub account: Account,
    /// What it wrote last under sampled keys.
    pub written: Written,
    /// Where its notes of the declared statement sent last begin.
    pub noted_before: usize,
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

/// A user that keeps its thread for longer keeps others from theirs for long: 20 ms.
const LONG_NS: u64 = SECOND_NS / 50;

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
            expects_types: false,
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
            kept: Vec::new(),
            account: Account::default(),
            written: Written::default(),
            noted_before: 0,
        }
    }

    /// To be held while a session is called, which may be where its engine works.
    #[inline]
    pub fn in_engine(&self) -> Option<InEngine> {
        self.is_embedded.then(watch::in_engine)
    }

    /// Does what cannot be waited for in turns with other users, and notes it if it takes long.
    pub fn keep_thread<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        let began_ns = now_ns();
        let done = what(self);
        let ended_ns = now_ns();
        if ended_ns - began_ns > LONG_NS {
            self.kept.push((began_ns, ended_ns));
        }
        done
    }

    pub fn connect(&mut self) -> Result<usize, Error> {
        let _engine = self.in_engine();
        let session = self.keep_thread(|it| sessions::open(&it.session))?;
        let connection = Connection::new(session, self.keeps_rows);
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
            self.counts.settled.lost += closed.take_unsettled();
        }
    }

    pub fn reconnect(&mut self, connection: usize) -> Result<(), Error> {
        let _engine = self.in_engine();
        self.disconnect(connection);
        let session = self.keep_thread(|it| sessions::open(&it.session))?;
        self.counts.reconnected += 1;
        if let Some(slot) = self.connections.get_mut(connection) {
            *slot = Some(Connection::new(session, self.keeps_rows));
        }
        Ok(())
    }

    /// New connections in the place of all; how many there are.
    pub fn renew_connections(&mut self) -> Result<u64, Error> {
        self.keep_thread(|it| {
            let mut renewed = 0;
            for connection in it.connections.iter_mut().flatten() {
                renewed += u64::from(connection.session().renew()?);
            }
            Ok(renewed)
        })
    }

    /// Has the last answer on a connection left a transaction open?
    pub fn in_transaction(&self, connection: usize) -> bool {
        matches!(self.connections.get(connection), Some(Some(it)) if it.in_transaction())
    }

    /// Ends transactions that a failed event left open.
    pub fn reset(&mut self) {
        self.written.settle(false);
        let _engine = self.in_engine();
        self.keep_thread(|it| {
            for connection in it.connections.iter_mut().flatten() {
                it.counts.settled.rolled_back += connection.take_unsettled();
                if let Err(error) = connection.reset() {
                    it.stop.get_or_insert(error);
                }
            }
        });
    }

    pub fn restarted(&mut self) {
        self.counts.restarted += 1;
        self.wait = Wait::Restart;
    }

    pub fn take_counts(&mut self) -> UserCounts {
        self.gather_counts();
        self.counts.statements = self.account.take();
        std::mem::take(&mut self.counts)
    }

    /// Rows changed that nothing has committed when the connections are closed.
    pub fn take_lost_rows(&mut self) -> u64 {
        self.connections.iter_mut().flatten().map(Connection::take_unsettled).sum()
    }

    /// Looks, at an event's end, whether it leaves a transaction open.
    #[inline]
    pub fn note_end(&mut self) {
        self.counts.ends += 1;
        self.written.settle(true);
        let is_open = self.connections.iter().flatten().any(Connection::in_transaction);
        self.counts.ends_open += u64::from(is_open);
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
                self.settle(connection, rows, changed);
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
                    self.counts.settled.add(connection.refused());
                }
                self.account.refused();
                self.fail(error);
                RequestState::Failed
            }
        }
    }
}
