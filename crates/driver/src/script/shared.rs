//! What the Lua functions of one user share: its sessions, statements, counts and last error.

use slab::Slab;

use super::account::Account;
use super::child_program::ChildProgram;
use super::connection::{Connection, Connections};
use super::errors::Errors;
use super::inserts::{Bulk, Row};
use super::pacing::{Pacing, Wait};
use super::pgbench::Scripts;
use super::program::Program;
use super::random::Rand;
use super::recording::Recording;
use super::statement::{Statement, TextCell};
use super::watch::{self, InEngine};
use super::written::Written;
use crate::dump::Dump;
use crate::plan::error::{Error, shorten};
use crate::schedule::clock::{SECOND_NS, now_ns};
use crate::sessions::Reply;
use crate::sessions::rows::TOO_LARGE;
use crate::tally::UserCounts;
use crate::{plan, sessions};

/// One user: its parts, and what it counts.
pub struct Shared {
    pub rand: Rand,
    pub connections: Connections,
    pub statements: Statements,
    /// Scripts of pgbench's language.
    pub scripts: Scripts,
    pub answers: Answers,
    pub pacing: Pacing,
    pub errors: Errors,
    /// Transaction types by index; 0 is the unnamed one.
    pub transactions: Vec<String>,
    /// Its script may name more of them while it plays.
    pub expects_types: bool,
    /// The script is being loaded, and its engine does not answer at once.
    pub is_loading: bool,
    /// Programs that the script started, until they have ended.
    pub children: Slab<ChildProgram>,
    pub counts: UserCounts,
    /// When it kept its thread for long by what is done in one go, by CLOCK_MONOTONIC: from, to.
    pub kept: Vec<(u64, u64)>,
    /// What became of its statements.
    pub account: Account,
    /// What it wrote last under sampled keys.
    pub written: Written,
    /// The SQL file that makes its tables, while it is loaded.
    pub dump: Option<Dump>,
    /// What the server has refused of it, and where.
    pub refused: Vec<(String, Error)>,
}

/// What a user may send.
#[derive(Default)]
pub struct Statements {
    /// Prepared ones, and texts with cells, by their number.
    pub all: Slab<Statement>,
    /// Text cells filled from templates.
    pub text_cells: Vec<TextCell>,
    /// Declared events.
    pub programs: Vec<Program>,
    /// The one under way.
    pub playing: Option<usize>,
    /// The statement that it failed with, until the script is told.
    pub failed: Option<usize>,
    /// Where its notes of the declared statement sent last begin.
    pub noted_before: usize,
    /// The part of a server's log that it plays.
    pub recording: Option<Recording>,
    /// Declared rows, and the text that was made last, of them or of a script's pieces.
    pub rows: Vec<Row>,
    pub text: Vec<u8>,
}

/// What came back, and what of it the script may read.
#[derive(Default)]
pub struct Answers {
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
    /// The answer that the coroutine is resumed with.
    pub arrived: Option<RequestState>,
}

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

impl RequestState {
    /// Nothing had to be waited for.
    pub fn done((): ()) -> Self {
        Self::Changed(0)
    }
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
            connections: Connections::new(session),
            statements: Statements::default(),
            scripts: Scripts::default(),
            answers: Answers::default(),
            pacing: Pacing::default(),
            errors: Errors::default(),
            transactions: vec![String::new()],
            expects_types: false,
            is_loading: false,
            children: Slab::new(),
            counts: UserCounts::default(),
            kept: Vec::new(),
            account: Account::default(),
            written: Written::default(),
            dump: None,
            refused: Vec::new(),
        }
    }

    /// To be held while a session is called, which may be where its engine works.
    #[inline]
    pub fn in_engine(&self) -> Option<InEngine> {
        self.connections.is_embedded.then(watch::in_engine)
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
        let session = self.keep_thread(|it| sessions::open(&it.connections.session))?;
        let connection = Connection::new(session, self.answers.keeps_rows);
        self.connections.all.push(Some(connection));
        self.connections.bulks.push(Bulk::default());
        Ok(self.connections.all.len() - 1)
    }

    /// Keeps the error of a connection that was not made; its words, for the script to be thrown.
    pub fn refuse(&mut self, error: Error) -> String {
        let words = error.to_string();
        self.errors.refused = Some(error);
        words
    }

    pub fn disconnect(&mut self, connection: usize) {
        if let Some(slot) = self.connections.all.get_mut(connection)
            && let Some(mut closed) = slot.take()
        {
            closed.count(&mut self.counts);
            self.counts.settled.lost += closed.take_unsettled();
        }
    }

    pub fn reconnect(&mut self, connection: usize) -> Result<(), Error> {
        let _engine = self.in_engine();
        self.disconnect(connection);
        let session = self.keep_thread(|it| sessions::open(&it.connections.session))?;
        self.counts.reconnected += 1;
        if let Some(slot) = self.connections.all.get_mut(connection) {
            *slot = Some(Connection::new(session, self.answers.keeps_rows));
        }
        Ok(())
    }

    /// Has each session connect anew, with its prepared statements; how many did: one in our own
    /// process has nothing to connect to.
    pub fn renew_connections(&mut self) -> Result<u64, Error> {
        self.keep_thread(|it| {
            let mut renewed = 0;
            for connection in it.connections.all.iter_mut().flatten() {
                renewed += u64::from(connection.session().renew()?);
            }
            Ok(renewed)
        })
    }

    /// Has the last answer on a connection left a transaction open?
    pub fn in_transaction(&self, connection: usize) -> bool {
        matches!(self.connections.all.get(connection), Some(Some(it)) if it.in_transaction())
    }

    /// Ends transactions that a failed event left open.
    pub fn reset(&mut self) {
        self.written.settle(false);
        let _engine = self.in_engine();
        self.keep_thread(|it| {
            for connection in it.connections.all.iter_mut().flatten() {
                it.counts.settled.rolled_back += connection.take_unsettled();
                if let Err(error) = connection.reset() {
                    it.errors.stop.get_or_insert(error);
                }
            }
        });
    }

    pub fn restarted(&mut self) {
        self.counts.restarted += 1;
        self.pacing.wait = Wait::Restart;
    }

    pub fn take_counts(&mut self) -> UserCounts {
        self.gather_counts();
        self.counts.statements = self.account.take();
        std::mem::take(&mut self.counts)
    }

    /// Rows changed that nothing has committed when the connections are closed.
    pub fn take_lost_rows(&mut self) -> u64 {
        self.connections.all.iter_mut().flatten().map(Connection::take_unsettled).sum()
    }

    /// Looks, at an event's end, whether it leaves a transaction open.
    #[inline]
    pub fn note_end(&mut self) {
        self.counts.ends += 1;
        self.written.settle(true);
        let is_open = self.connections.all.iter().flatten().any(Connection::in_transaction);
        self.counts.ends_open += u64::from(is_open);
    }

    /// Adds what the connections counted.
    pub fn gather_counts(&mut self) {
        for connection in self.connections.all.iter_mut().flatten() {
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
            self.errors.stop.get_or_insert_with(|| error.clone());
        }
        self.errors.failure = Some(error);
    }

    /// Adds the statement to the error of an answer that was too large; its session has lost it.
    pub fn name_statement(&mut self, sql: &str) {
        let is_it = |error: &Error| error.engine_code() == Some(TOO_LARGE);
        if let Some(error) = self.errors.failure.take_if(|error| is_it(error)) {
            self.errors.stop = Some(error.because(shorten(sql)));
            self.errors.failure.clone_from(&self.errors.stop);
        }
    }

    pub fn take_reply(&mut self, connection: usize, reply: Result<Reply, Error>) -> RequestState {
        match reply {
            Ok(Reply::Ready { rows, changed }) => {
                self.pacing.wait = Wait::Nothing;
                self.settle(connection, rows, changed);
                self.answered(connection, rows, changed)
            }
            Ok(Reply::Pending { until_ns }) => {
                self.pacing.wait = Wait::Request { connection, until_ns };
                RequestState::Pending
            }
            Err(error) => {
                self.pacing.wait = Wait::Nothing;
                self.answers.keeps_next = false;
                if let Some(Some(connection)) = self.connections.all.get_mut(connection) {
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
