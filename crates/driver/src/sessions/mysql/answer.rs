//! What has been read of the answers under way, and what came of them.

use super::column::Column;
use crate::plan::error::Error;
use crate::sessions::{Reply, Rows};

const IN_TRANSACTION: u16 = 0x01;

/// What has been read of the answers to the requests under way.
#[derive(Default)]
pub struct Answer {
    /// Rows of the last result that had columns.
    pub rows: Rows,
    pub(super) deprecates_eof: bool,
    pub(super) status: u16,
    pub(super) awaits: Awaits,
    /// Bytes to pass over, then: is what follows the same packet's next part?
    pub(super) skip: usize,
    pub(super) continues: bool,
    pub(super) joined: Vec<u8>,
    pub(super) columns: Vec<Column>,
    pub(super) asked: Asked,
    /// Answers that come first and are nobody's any more.
    pub(super) unwanted: u32,
    /// Answers that come then.
    pub(super) wanted: u32,
    pub(super) counted: u64,
    pub(super) total: u64,
    pub(super) changed: u64,
    pub(super) error: Option<Error>,
    /// Results that followed the first of a request, since somebody last took their number.
    pub(super) further: u64,
}

/// How the answer will look.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked {
    /// Rows come in the binary protocol.
    pub binary: bool,
    /// Rows will be read.
    pub keeps: bool,
    /// Answers of several requests; none has rows of its own to show.
    pub is_batch: bool,
}

/// Which packet comes next.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Awaits {
    /// A result's first packet.
    #[default]
    Head,
    /// Definitions.
    Columns {
        left: u64,
    },
    /// The packet between definitions and rows, where there is one.
    ColumnsEnd,
    Rows,
}

impl Answer {
    /// For a new connection.
    pub fn new(deprecates_eof: bool) -> Self {
        Self { deprecates_eof, ..Self::default() }
    }

    /// Says that requests were sent.
    #[inline]
    pub fn expect(&mut self, requests: u32, asked: Asked) {
        self.asked = asked;
        self.wanted = requests;
        self.forget();
    }

    /// Answers still to come are nobody's from now on.
    pub fn abandon(&mut self) {
        self.unwanted += std::mem::take(&mut self.wanted);
        self.forget();
    }

    /// A rollback was sent, and its answer is nobody's.
    pub fn roll_back(&mut self) {
        self.unwanted += 1;
        self.status &= !IN_TRANSACTION;
    }

    /// The requests fail with this, whatever the server will say.
    pub fn refuse(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    /// Are there answers that somebody waits for?
    pub fn is_wanted(&self) -> bool {
        self.wanted > 0
    }

    /// Is a transaction open, by the last that the server said of it? Errors say nothing.
    pub fn in_transaction(&self) -> bool {
        self.status & IN_TRANSACTION != 0
    }

    /// What came of the requests; the first error is theirs.
    #[inline]
    pub fn outcome(&mut self) -> Result<Reply, Error> {
        match self.error.take() {
            Some(error) => {
                self.rows.clear();
                Err(error)
            }
            None => Ok(Reply::Ready { rows: self.total, changed: self.changed }),
        }
    }

    pub(super) fn forget(&mut self) {
        self.rows.clear();
        self.joined.clear();
        (self.counted, self.total, self.changed) = (0, 0, 0);
        self.error = None;
    }
}
