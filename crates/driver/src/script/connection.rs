//! A user's connection: a session, its batch, and whether the rows to come will be read.

use super::inserts::Bulk;
use crate::plan::error::Error;
use crate::plan::statement::StatementKind;
use crate::sessions::sql::Quoting;
use crate::sessions::{Engine, Reply, Rows, Session};
use crate::tally::{SettledRows, UserCounts};
use crate::{plan, sessions};

/// Where a connection's batch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batch {
    /// There is none.
    None,
    /// Requests are queued; their own answers say nothing.
    Queued,
    /// It is under way, and the next answer is its own.
    UnderWay,
}

impl Batch {
    /// What an answer makes of it.
    pub fn answered(&mut self) {
        if *self == Self::UnderWay {
            *self = Self::None;
        }
    }
}

/// One connection that a script opened.
pub struct Connection {
    /// Its batch of requests.
    pub batch: Batch,
    /// How many results of the last answer of several the script was given.
    pub handed_out: usize,
    session: Box<dyn Session>,
    keeps_rows: bool,
    /// Rows changed in the open transaction.
    unsettled: u64,
    /// The open transaction can only be rolled back, whatever ends it.
    is_aborted: bool,
}

impl Connection {
    /// A new session, told at once whether its rows will be read.
    pub fn new(mut session: Box<dyn Session>, keeps_rows: bool) -> Self {
        session.keep_rows(keeps_rows);
        let (batch, handed_out, unsettled, is_aborted) = (Batch::None, 0, 0, false);
        Self { batch, handed_out, session, keeps_rows, unsettled, is_aborted }
    }

    /// The session, to be given a request whose rows will be read or not.
    #[inline]
    pub fn keeping(&mut self, rows: bool) -> &mut dyn Session {
        if self.keeps_rows != rows {
            self.keeps_rows = rows;
            self.session.keep_rows(rows);
        }
        self.session.as_mut()
    }

    /// Queues the requests that follow.
    pub fn begin_batch(&mut self) -> Result<(), Error> {
        self.session.begin_batch()?;
        self.batch = Batch::Queued;
        Ok(())
    }

    /// Sends what was queued so far.
    pub fn flush_batch(&mut self) -> Result<(), Error> {
        self.session.flush_batch()
    }

    /// Sends what was queued, to keep each request's result or none; a failed batch is over.
    pub fn sync(&mut self, keeps: bool) -> Result<Reply, Error> {
        self.batch = Batch::UnderWay;
        self.session.sync(keeps)
    }

    /// Has the last answer left a transaction open?
    pub fn in_transaction(&self) -> bool {
        self.session.in_transaction()
    }

    /// Rows of the last answer.
    pub fn rows(&self) -> &Rows {
        self.session.rows()
    }

    /// The session, for anything else.
    pub fn session(&mut self) -> &mut dyn Session {
        self.session.as_mut()
    }

    /// Ends what a failed event left open, a batch included.
    pub fn reset(&mut self) -> Result<(), Error> {
        self.batch = Batch::None;
        self.session.reset()
    }

    /// Adds what the session counted since the last time.
    pub fn count(&mut self, counts: &mut UserCounts) {
        let more = self.session.take_counts();
        counts.busy += more.busy;
        counts.reconnected += more.reconnected;
        counts.claim_more(more.claimed, more.further);
        counts.sent_bytes += more.bytes.sent;
        counts.received_bytes += more.bytes.received;
        if let Some(ns) = more.service_ns {
            *counts.service_ns.get_or_insert(0) += ns;
        }
    }
}

// What becomes of the rows that its statements change.

impl Connection {
    /// Are requests queued, and none answered yet?
    #[inline]
    pub fn is_queueing(&self) -> bool {
        self.batch == Batch::Queued
    }

    /// Counts rows changed, and what a statement that ends a transaction makes of them.
    #[inline]
    pub fn settle(&mut self, kind: StatementKind, changed: u64, sum: &mut SettledRows) {
        self.unsettled += changed;
        if self.unsettled == 0 {
            return;
        }
        let is_commit = kind == StatementKind::Commit;
        let is_rollback = kind == StatementKind::Rollback || self.is_aborted && is_commit;
        if is_rollback {
            sum.rolled_back += self.take_unsettled();
        } else if is_commit || !self.in_transaction() {
            sum.committed += self.take_unsettled();
            sum.commits += 1;
        }
        self.is_aborted = false;
    }

    /// An error came: in some engines it aborts the transaction, in some it ends it.
    #[cold]
    pub fn refused(&mut self) -> SettledRows {
        let mut settled = SettledRows::default();
        if self.in_transaction() {
            self.is_aborted = self.session.is_aborted();
        } else {
            settled.rolled_back = self.take_unsettled();
        }
        settled
    }

    /// Rows that nothing has settled yet.
    pub fn take_unsettled(&mut self) -> u64 {
        self.is_aborted = false;
        std::mem::take(&mut self.unsettled)
    }
}

/// A user's connections, and what they are opened with.
pub struct Connections {
    pub session: plan::Session,
    /// Each by its number; none where it was closed.
    pub all: Vec<Option<Connection>>,
    /// Bulk inserts, by the number of their connection.
    pub bulks: Vec<Bulk>,
    /// How the engine reads quotes and comments.
    pub quoting: Quoting,
    /// The engine lives in our own process.
    pub is_embedded: bool,
}

impl Connections {
    /// None yet, of such a session.
    pub fn new(session: plan::Session) -> Self {
        let descriptor = sessions::descriptor(&session);
        let (quoting, is_embedded) = (descriptor.quoting, descriptor.engine == Engine::Embedded);
        Self { session, all: Vec::new(), bulks: Vec::new(), quoting, is_embedded }
    }

    /// The open connection of a number.
    #[inline]
    pub fn at(&mut self, number: usize) -> Result<&mut Connection, Error> {
        match self.all.get_mut(number) {
            Some(Some(connection)) => Ok(connection),
            _ => Err(Error::user("a closed connection was used")),
        }
    }
}
