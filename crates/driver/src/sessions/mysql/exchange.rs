//! Answers as they come: rows asked for, requests abandoned, connections made anew.

use super::answer::Answer;
use super::dialogue::Dialogue;
use super::framing::Fed;
use super::packet::garbage;
use super::statement::Statement;
use super::{Mysql, PENDING, login, packet};
use crate::plan::error::Error;
use crate::sessions::Reply;

impl Mysql {
    #[inline]
    pub(super) fn advance(&mut self) -> Result<Reply, Error> {
        loop {
            let (used, fed) = self.answer.feed(self.line.inbox())?;
            self.line.consume(used);
            match fed {
                Fed::Done => return self.ended(),
                Fed::Infile(number) => self.infile(number)?,
                Fed::More => {}
            }
            if let Some(load) = &mut self.load {
                load.fill(&mut self.line)?;
            }
            if !self.line.more()? {
                return Ok(PENDING);
            }
        }
    }

    #[inline]
    fn ended(&mut self) -> Result<Reply, Error> {
        let is_torn = self.load.take().is_some_and(|load| load.is_torn());
        let outcome = self.answer.outcome();
        if is_torn {
            // What of the rows is still under way would be taken for requests.
            self.is_lost = true;
            return outcome.and_then(|_| Err(garbage("an answer amid the rows of a bulk load")));
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
                .hint("a script loads files by dyno's own bulk load")
                .code("local-infile"),
        );
        self.line.send()
    }

    /// Waits for the answers that nobody wants.
    fn drain(&mut self) -> Result<(), Error> {
        loop {
            let (used, fed) = self.answer.feed(self.line.inbox())?;
            self.line.consume(used);
            match fed {
                Fed::Done => return Ok(()),
                Fed::Infile(number) => self.infile(number)?,
                Fed::More => self.line.wait()?,
            }
        }
    }

    /// Makes a statement, after all answers that are still to come.
    pub(super) fn prepared(&mut self, sql: &str) -> Result<Statement, Error> {
        self.drain()?;
        Dialogue::new(&mut self.line).prepare(sql, self.deprecates_eof)
    }

    /// A new connection in the place of a lost one, with all its statements.
    pub(super) fn reconnect(&mut self) -> Result<(), Error> {
        let login::Opened { line, deprecates_eof } = login::open(&self.login)?;
        self.line = line;
        self.deprecates_eof = deprecates_eof;
        let further = self.answer.further;
        self.answer = Answer { further, ..Answer::new(deprecates_eof) };
        self.load = None;
        self.is_lost = false;
        self.reconnected += 1;
        for statement in self.statements.iter_mut() {
            let mut dialogue = Dialogue::new(&mut self.line);
            *statement = dialogue.prepare(&statement.sql, deprecates_eof)?;
        }
        Ok(())
    }
}
