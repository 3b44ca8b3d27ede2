//! The session's requests, their answers as they come, and bulk loads.

use std::time::Instant;

use super::answer::{Answer, AnswerShape, FeedState};
use super::dialogue::Dialogue;
use super::packet::{COM_QUERY, COM_QUIT, COM_STMT_CLOSE, HEADER, begin, end, garbage};
use super::statement::Statement;
use super::{Mysql, QUEUED, login, packet};
use crate::generate::Source;
use crate::plan::error::Error;
use crate::sessions::sql::{Quoting, parameters, refuse_parameters};
use crate::sessions::{
    Aside, Canceller, Counts, LONGEST_WAIT, MOST_READS, Reply, Rows, SOON, Session, Value,
    open_statement,
};
use crate::wire::Line;

impl Session for Mysql {
    fn query(&mut self, sql: &str) -> Result<Reply, Error> {
        self.query_bytes(sql.as_bytes())
    }

    fn query_bytes(&mut self, sql: &[u8]) -> Result<Reply, Error> {
        self.check()?;
        packet::command(self.out(), COM_QUERY, sql);
        self.ask(false)
    }

    fn prepare(&mut self, sql: &[u8]) -> Result<u32, Error> {
        self.check()?;
        refuse_parameters(parameters(sql, Quoting::Mysql).len())?;
        let statement = self.prepare_statement(sql).map_err(|error| self.fail(error))?;
        Ok(self.statements.insert(statement) as u32)
    }

    #[inline]
    fn execute(&mut self, statement: u32, values: &[Value]) -> Result<Reply, Error> {
        self.check()?;
        let Self { statements, batch, line, .. } = self;
        let statement = open_statement(statements, statement)?;
        let out = if batch.is_open { &mut batch.packets } else { line.out() };
        let is_binary = statement.encode(values, out)?;
        self.ask(is_binary)
    }

    fn close(&mut self, statement: u32) -> Result<(), Error> {
        let closed = self.statements.try_remove(statement as usize);
        if let Some(id) = closed.and_then(|it| it.id()).filter(|_| !self.is_lost) {
            // Not answered; it leaves with the next request.
            packet::command(self.out(), COM_STMT_CLOSE, &id.to_le_bytes());
        }
        Ok(())
    }

    fn begin_batch(&mut self) -> Result<(), Error> {
        self.check()?;
        if self.batch.is_open {
            return Err(Error::user("a batch was begun inside a batch"));
        }
        self.batch.open();
        self.answer.expect(0, AnswerShape::default());
        Ok(())
    }

    fn sync(&mut self, keeps: bool) -> Result<Reply, Error> {
        self.check()?;
        if !std::mem::take(&mut self.batch.is_open) {
            return Err(Error::user("there is no batch to send"));
        }
        let requests = self.batch.are_binary.len();
        self.line.out().extend_from_slice(&self.batch.packets);
        self.asked += requests as u64;
        self.answer.expect_batch(&self.batch.are_binary, keeps);
        if requests == 0 { Ok(QUEUED) } else { self.send() }
    }

    fn load(&mut self, sql: &str, rows: Box<dyn Source>) -> Result<Reply, Error> {
        self.check()?;
        if self.batch.is_open {
            return Err(Error::user("a bulk load cannot stand in a batch"));
        }
        self.load = Some(Load::new(rows));
        self.query(sql)
    }

    fn keep_rows(&mut self, wanted: bool) {
        self.keeps = wanted;
    }

    #[inline]
    fn poll(&mut self) -> Result<Reply, Error> {
        self.advance().map_err(|error| self.fail(error))
    }

    fn is_lost(&self) -> bool {
        self.is_lost
    }

    fn reset(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.batch.is_open) {
            // The types that it told the server of have not been told.
            self.statements.iter_mut().for_each(|(_, it)| it.forget_types());
        }
        if self.is_lost || self.load.is_some() {
            return self.reconnect();
        }
        self.answer.abandon();
        if self.answer.in_transaction() {
            packet::command(self.line.out(), COM_QUERY, b"ROLLBACK");
            self.asked += 1;
            self.answer.roll_back();
            return self.line.send();
        }
        Ok(())
    }

    fn aside(&self) -> Aside {
        let (insert_id, warnings) = (Some(self.answer.insert_id), self.answer.warnings);
        Aside { insert_id, warnings }
    }

    fn in_transaction(&self) -> bool {
        self.answer.in_transaction()
    }

    fn renew(&mut self) -> Result<bool, Error> {
        let is_open = self.batch.is_open || self.load.is_some() || self.answer.in_transaction();
        if self.is_lost || is_open {
            return Ok(false);
        }
        packet::command(self.line.out(), COM_QUIT, b"");
        self.asked += 1;
        self.line.send()?;
        let reconnected = self.reconnected;
        self.reconnect()?;
        self.reconnected = reconnected;
        Ok(true)
    }

    fn canceller(&mut self) -> Option<Canceller> {
        if self.is_lost || !self.answer.is_under_way() {
            return None;
        }
        Some(self.killer(self.number.to_string()))
    }

    fn rows(&self) -> &Rows {
        &self.answer.rows
    }

    fn take_counts(&mut self) -> Counts {
        Counts {
            reconnected: std::mem::take(&mut self.reconnected),
            claimed: Some(std::mem::take(&mut self.asked)),
            further: std::mem::take(&mut self.answer.further),
            bytes: self.line.take_bytes(),
            ..Counts::default()
        }
    }
}

// Answers as they come: rows asked for, requests abandoned, connections made anew.

impl Mysql {
    #[inline]
    pub(super) fn advance(&mut self) -> Result<Reply, Error> {
        for _ in 0..MOST_READS {
            let (used, state) = self.answer.feed(self.line.inbox())?;
            self.line.consume(used);
            match state {
                FeedState::Done => return self.finish(),
                FeedState::Infile(number) => self.infile(number)?,
                FeedState::More => {}
            }
            if let Some(load) = &mut self.load {
                load.fill(&mut self.line)?;
            }
            if !self.line.more()? {
                return self.wait_on();
            }
        }
        Ok(SOON)
    }

    #[inline]
    fn finish(&mut self) -> Result<Reply, Error> {
        let is_incomplete = self.load.take().is_some_and(|load| load.is_incomplete());
        let outcome = self.answer.outcome();
        if is_incomplete {
            // What of the rows is still under way would be taken for requests.
            self.is_lost = true;
            return outcome.and_then(|_| Err(garbage("an answer in the middle of a bulk load")));
        }
        outcome
    }

    /// The server asks for a file: the rows of a load, and nothing otherwise.
    #[cold]
    fn infile(&mut self, number: u8) -> Result<(), Error> {
        if self.load.as_mut().is_some_and(|load| load.begin(number)) {
            return Ok(());
        }
        let at = packet::begin(self.line.out());
        packet::end(self.line.out(), at, number);
        self.answer.refuse(
            Error::engine("the server asked for a local file")
                .because("no bulk load is under way")
                .hint("scripts load rows by con:load")
                .code("local-infile"),
        );
        self.line.send()
    }

    /// What kills our connection, or its statement (`login::kill`).
    #[cold]
    pub(super) fn killer(&mut self, what: String) -> Canceller {
        let (login, peer) = (self.login.clone(), self.line.peer.clone());
        // `KILL`, and the goodbye after it.
        self.asked += 2;
        Box::new(move || login::kill(&login, peer.as_ref(), &what))
    }

    /// Waits for the answers that nobody wants.
    fn drain(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        loop {
            if began.elapsed() > LONGEST_WAIT {
                return Err(garbage("an answer did not end within a minute"));
            }
            let (used, state) = self.answer.feed(self.line.inbox())?;
            self.line.consume(used);
            match state {
                FeedState::Done => return Ok(()),
                FeedState::Infile(number) => self.infile(number)?,
                FeedState::More => self.line.wait()?,
            }
        }
    }

    /// Makes a statement, after all answers that are still to come.
    pub(super) fn prepare_statement(&mut self, sql: &[u8]) -> Result<Statement, Error> {
        self.drain()?;
        Dialogue::new(&mut self.line).prepare(sql, self.deprecates_eof)
    }

    /// A new connection in the place of a lost one, with all its statements.
    pub(super) fn reconnect(&mut self) -> Result<(), Error> {
        let login::LoggedIn { line, deprecates_eof, number } = login::open(&self.login)?;
        self.line = line;
        self.number = number;
        self.deprecates_eof = deprecates_eof;
        let further = self.answer.further;
        self.answer = Answer::new(deprecates_eof);
        self.answer.further = further;
        self.load = None;
        self.is_lost = false;
        self.reconnected += 1;
        for (_, statement) in &mut self.statements {
            let mut dialogue = Dialogue::new(&mut self.line);
            *statement = dialogue.prepare(&statement.sql, deprecates_eof)?;
        }
        Ok(())
    }
}

// `LOAD DATA LOCAL INFILE`: rows streamed while the server takes them.

/// Written ahead of the kernel at most, so that rows are made while others travel.
const AHEAD: usize = 256 * 1024;

/// A bulk load under way.
pub struct Load {
    source: Box<dyn Source>,
    /// The next packet's number; `None`: the server has not asked yet.
    number: Option<u8>,
    ended: bool,
}

impl Load {
    /// Before the server asks for the rows.
    pub fn new(source: Box<dyn Source>) -> Self {
        Self { source, number: None, ended: false }
    }

    /// The server asks, in vain if it was answered already.
    pub fn begin(&mut self, number: u8) -> bool {
        self.number.replace(number).is_none()
    }

    /// AnswerShape for, and not written to its end?
    pub fn is_incomplete(&self) -> bool {
        self.number.is_some() && !self.ended
    }

    /// Fills the line up, until so much waits there that we are woken once it has left: a server
    /// that keeps up takes all that was written at once, and nobody would come to write more.
    pub fn fill(&mut self, line: &mut Line) -> Result<(), Error> {
        let Some(mut number) = self.number else {
            return Ok(());
        };
        while !self.ended && line.unsent() < AHEAD {
            let out = line.out();
            let at = begin(out);
            self.source.fill(out)?;
            self.ended = out.len() == at + HEADER;
            number = end(out, at, number);
            line.send()?;
        }
        self.number = Some(number);
        Ok(())
    }
}
