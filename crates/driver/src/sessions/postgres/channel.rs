//! A logged-in connection, the answers that are due on it, and how it ends.

use std::time::Instant;

use super::answer::{Answer, AnswerMode};
use super::copy::Load;
use super::frame::{garbage, query};
use super::login;
use super::notices::Notices;
use crate::plan::Login;
use crate::plan::error::Error;
use crate::sessions::{LONGEST_WAIT, MOST_READS, Reply, Rows, SOON};
use crate::wire::{Bytes, Line};

const PENDING: Reply = Reply::Pending { until_ns: u64::MAX };

/// So much may be on its way to the server before a load makes more rows.
const WINDOW: usize = 128 * 1024;

/// A connection in one of the states: idle, an answer awaited, lost.
pub struct Channel {
    line: Line,
    /// By which its statements are cancelled.
    key: Option<(i32, i32)>,
    answer: Answer,
    /// What is wanted of the answer that is awaited, once the owed ones have come.
    mode: Option<AnswerMode>,
    /// Answers to come before it, which nobody reads: to `ROLLBACK`s and abandoned requests.
    owed: u32,
    /// Answers that come before it and are its own: to the parts of a batch that were sent ahead.
    parts: u32,
    /// The rows of a `COPY … FROM STDIN` under way.
    load: Option<Load>,
    is_lost: bool,
    /// Transactions that ended, as the server counts commits and rollbacks.
    pub(super) ended: u64,
}

impl Channel {
    /// Logs in: a line that is ready for queries.
    pub fn open(login: &Login) -> Result<Self, Error> {
        let login::LoggedIn { line, key } = login::open(login)?;
        let mut answer = Answer::new();
        answer.notices.tells = login.tells_notices;
        Ok(Self {
            line,
            key,
            answer,
            mode: None,
            owed: 0,
            parts: 0,
            load: None,
            is_lost: false,
            ended: 0,
        })
    }

    /// Where a request is written; none but one may be under way.
    #[inline]
    pub fn out(&mut self) -> Result<&mut Vec<u8>, Error> {
        if self.is_lost {
            return Err(Error::engine("the connection is lost").code("lost").sql(0, "08006"));
        }
        if self.mode.is_some() {
            return Err(Error::user("a request was sent before the last one was answered"));
        }
        Ok(self.line.out())
    }

    /// Sends what was written as one request.
    #[inline]
    pub fn send(&mut self, mode: AnswerMode) -> Result<Reply, Error> {
        self.mode = Some(mode);
        if self.owed == 0 {
            self.answer.begin(mode);
        }
        match self.line.send() {
            Ok(()) => Ok(PENDING),
            Err(error) => Err(self.connection_error(error)),
        }
    }

    /// Sends what was written as a batch, each of whose results is kept; `widths` as
    /// [`Answer::widths`].
    pub fn send_batch(&mut self, widths: &[u32]) -> Result<Reply, Error> {
        self.answer.widths.clear();
        self.answer.widths.extend_from_slice(widths);
        self.send(AnswerMode::Each)
    }

    /// Sends what was written as a part of a request that is not whole yet.
    pub fn send_part(&mut self) -> Result<(), Error> {
        self.parts += 1;
        self.line.send().map_err(|error| self.connection_error(error))
    }

    /// Were parts of a request sent, and not the whole?
    pub fn has_parts(&self) -> bool {
        self.parts > 0
    }

    /// Reads what came.
    #[inline]
    pub fn poll(&mut self, rows: &mut Rows) -> Result<Reply, Error> {
        for _ in 0..MOST_READS {
            match self.line.more() {
                Ok(true) => {}
                Ok(false) => {
                    if self.answer.wants_copy {
                        self.feed()?;
                    }
                    return Ok(PENDING);
                }
                Err(error) => return Err(self.connection_error(error)),
            }
            if self.read(rows)? {
                return self.finish();
            }
        }
        Ok(SOON)
    }

    /// Sends, and waits for the answer.
    pub fn wait(&mut self, mode: AnswerMode, rows: &mut Rows) -> Result<Reply, Error> {
        self.send(mode)?;
        let began = Instant::now();
        loop {
            if began.elapsed() > LONGEST_WAIT {
                self.is_lost = true;
                return Err(garbage("an answer did not end within a minute"));
            }
            if let Err(error) = self.line.wait() {
                return Err(self.connection_error(error));
            }
            if self.read(rows)? {
                return self.finish();
            }
        }
    }

    /// Reads on, and says whether the awaited answer has come to its end.
    #[inline]
    fn read(&mut self, rows: &mut Rows) -> Result<bool, Error> {
        loop {
            let read = self.answer.read(self.line.inbox(), rows);
            let taken = read.inspect_err(|_| self.is_lost = true)?;
            self.line.consume(taken);
            if !self.answer.is_over {
                return Ok(false);
            }
            self.ended += u64::from(self.answer.status == b'I');
            if self.answer.is_lost || self.owed + self.parts == 0 {
                return Ok(true);
            }
            if self.owed == 0 {
                self.parts -= 1;
                self.answer.go_on();
                continue;
            }
            self.owed -= 1;
            self.answer.begin(self.mode.filter(|_| self.owed == 0).unwrap_or(AnswerMode::Nothing));
        }
    }

    #[inline]
    fn finish(&mut self) -> Result<Reply, Error> {
        self.mode = None;
        self.is_lost |= self.answer.is_lost;
        let source_error = self.load.take().and_then(|it| it.error);
        match source_error.or_else(|| self.answer.error.take()) {
            None => Ok(Reply::Ready { rows: self.answer.rows, changed: self.answer.changed }),
            Some(error) => Err(error),
        }
    }

    /// Sends a `COPY … FROM STDIN` as text; its rows follow as the server takes them.
    pub fn load(&mut self, sql: &str, load: Load) -> Result<Reply, Error> {
        query(sql.as_bytes(), self.out()?);
        self.load = Some(load);
        self.send(AnswerMode::Counts)
    }

    /// Sends more rows, while there is room for them; who waits is woken when all have left.
    #[cold]
    fn feed(&mut self) -> Result<(), Error> {
        let load = self.load.get_or_insert_with(Load::refused);
        while !load.is_over() && self.line.unsent() < WINDOW {
            load.fill(self.line.out());
            if let Err(error) = self.line.send() {
                return Err(self.connection_error(error));
            }
        }
        Ok(())
    }
    /// Has the connection to be made anew?
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Has the last answer left a transaction open, sound or failed?
    pub fn in_transaction(&self) -> bool {
        matches!(self.answer.status, b'T' | b'E')
    }

    /// Is the open transaction a failed one?
    pub fn is_aborted(&self) -> bool {
        self.answer.status == b'E'
    }

    /// Rows that all results of the last answer changed.
    pub fn changed_of_all(&self) -> u64 {
        self.answer.changed_of_all
    }

    /// The process that the login named.
    pub fn process(&self) -> Option<i32> {
        self.key.map(|(process, _)| process)
    }

    /// Where notices are kept.
    pub fn notices(&mut self) -> &mut Notices {
        &mut self.answer.notices
    }

    /// What went to and fro since the last call.
    pub fn take_bytes(&mut self) -> Bytes {
        self.line.take_bytes()
    }

    /// Transactions beyond those that ended, since the last call, which statements may have
    /// committed by themselves.
    pub fn take_further(&mut self) -> u64 {
        std::mem::take(&mut self.answer.further)
    }

    /// Adds those of the connection before this one.
    pub fn add_further(&mut self, more: u64) {
        self.answer.further += more;
    }

    /// The types of the parameters of the statement that was made last.
    pub fn parameters(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.answer.parameters)
    }
}

// How a request ends that nobody waits for, and how a connection does.

impl Channel {
    /// What the server said before it hung up was read before this.
    #[cold]
    fn connection_error(&mut self, error: Error) -> Error {
        self.is_lost = true;
        error.sql(0, "08006")
    }

    /// Gives up the request under way, and ends the transaction that is left open; nothing waits.
    pub fn abandon(&mut self) -> Result<(), Error> {
        let mut given_up = std::mem::take(&mut self.parts);
        if given_up > 0 && self.mode.is_none() && self.owed == 0 {
            self.answer.begin(AnswerMode::Nothing);
        }
        if self.mode.take().is_some() {
            given_up += 1;
            if let Some(load) = self.load.take().filter(|it| !it.is_over()) {
                load.give_up(self.line.out());
            }
            self.answer.abandon();
        }
        self.owed += given_up;
        // What is owed already may leave a transaction, too, but none can be begun by a ROLLBACK.
        if given_up > 0 || self.answer.status != b'I' && self.owed == 0 {
            query(b"ROLLBACK", self.line.out());
            if self.owed == 0 {
                self.answer.begin(AnswerMode::Nothing);
            }
            self.owed += 1;
            return self.line.send().map_err(|error| self.connection_error(error));
        }
        Ok(())
    }
}

impl Channel {
    /// What a statement under way is cancelled by.
    pub fn key_of_request(&self) -> Option<(i32, i32)> {
        let is_under_way = self.mode.is_some() || self.owed + self.parts > 0;
        self.key.filter(|_| is_under_way && !self.is_lost)
    }

    /// Is nothing owed, and no transaction open?
    pub fn is_idle(&self) -> bool {
        self.owed + self.parts == 0 && self.load.is_none() && matches!(self.answer.status, 0 | b'I')
    }
}

impl Drop for Channel {
    /// Says goodbye, so that the server's log has nothing to complain about.
    fn drop(&mut self) {
        if !self.is_lost {
            self.line.out().extend_from_slice(b"X\0\0\0\x04");
            let _ = self.line.send();
        }
    }
}
