//! MySQL's protocol 10 over a [`crate::wire::Line`]: MySQL from 5.5, MariaDB from 10.1, and kin.
//!
//! A request may have several results (a procedure's, a text of several statements): the first is
//! the answer, and a script asks for the others (`next_result`); what all brought and changed is
//! added up. In a batch the server works the requests off one after another: the first error is the
//! batch's, and what follows it runs all the same. After an error the server may close the
//! connection; then the event has failed, and [`Session::reset`] makes the connection and its
//! statements anew.
//!
//! ```text
//! login, auth  from nothing to ready for queries     dialogue  packets asked and answered in turn
//! session      requests, answers, bulk loads         answer    results, read as they come
//! packet       bytes to packets and back             rows      columns and rows
//! statement    prepared, or sent as text             failure   what the server refuses
//! limit        what takes too long is killed
//! ```

mod answer;
mod auth;
mod dialogue;
mod failure;
mod limit;
mod login;
mod packet;
mod rows;
mod session;
mod statement;
#[cfg(test)]
mod tests;

use slab::Slab;

use super::sql::Quoting;
use super::{Descriptor, Engine, Reply, Session, misdirected};
use crate::plan::error::Error;
use crate::plan::{self, Login};
use crate::wire::Line;
use answer::{Answer, AnswerShape};
use limit::Limit;
use session::Load;
use statement::Statement;

const PENDING: Reply = Reply::Pending { until_ns: u64::MAX };
const QUEUED: Reply = Reply::Ready { rows: 0, changed: 0 };

/// What the driver knows of this session.
pub const DESCRIPTOR: Descriptor = Descriptor {
    kind: "mysql",
    engine: Engine::Served,
    dialect: Some("mysql"),
    quoting: Quoting::Mysql,
    open,
    type_name: rows::type_name,
};

/// One connection to a server.
struct Mysql {
    login: Login,
    line: Line,
    deprecates_eof: bool,
    /// Its number at the server.
    number: u32,
    limit: Option<Limit>,
    answer: Answer,
    statements: Slab<Statement>,
    batch: Batch,
    load: Option<Load>,
    keeps: bool,
    is_lost: bool,
    reconnected: u64,
    /// Statements sent, as the server counts `Questions`.
    asked: u64,
}

/// Requests that wait for their `sync`, in memory that is used again.
#[derive(Default)]
struct Batch {
    /// Requests are queued; else nothing below says anything.
    is_open: bool,
    /// As they will be sent.
    packets: Vec<u8>,
    /// Of each request: will its rows come in the binary protocol?
    are_binary: Vec<bool>,
}

impl Batch {
    fn open(&mut self) {
        self.is_open = true;
        self.packets.clear();
        self.are_binary.clear();
    }
}

/// Connects and logs in.
fn open(session: &plan::Session) -> Result<Box<dyn Session>, Error> {
    let plan::Session::Mysql(login) = session else { return Err(misdirected()) };
    connect(login)
}

fn connect(login: &Login) -> Result<Box<dyn Session>, Error> {
    let login::LoggedIn { line, deprecates_eof, number } = login::open(login)?;
    Ok(Box::new(Mysql {
        login: login.clone(),
        line,
        deprecates_eof,
        number,
        limit: Limit::of(login),
        answer: Answer::new(deprecates_eof),
        statements: Slab::new(),
        batch: Batch::default(),
        load: None,
        keeps: true,
        is_lost: false,
        reconnected: 0,
        asked: 0,
    }))
}

impl Mysql {
    /// May a request be sent now?
    #[inline]
    fn check(&self) -> Result<(), Error> {
        if self.is_lost {
            return Err(failure::after_disconnect());
        }
        if self.answer.is_wanted() {
            return Err(Error::user("a request was sent before the last one was answered"));
        }
        Ok(())
    }

    /// Where the next request is written.
    #[inline]
    fn out(&mut self) -> &mut Vec<u8> {
        if self.batch.is_open { &mut self.batch.packets } else { self.line.out() }
    }

    /// Sends the request that was written, or leaves it in the batch.
    #[inline]
    fn ask(&mut self, binary: bool) -> Result<Reply, Error> {
        if self.batch.is_open {
            self.batch.are_binary.push(binary);
            return Ok(QUEUED);
        }
        self.asked += 1;
        self.answer.expect(1, AnswerShape { binary, keeps: self.keeps, is_batch: false });
        self.send()
    }

    #[inline]
    fn send(&mut self) -> Result<Reply, Error> {
        if let Some(limit) = &mut self.limit {
            limit.begin();
        }
        match self.line.send() {
            Ok(()) => self.wait_on(),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// The answer is not there yet; where it has a limit, that is kept.
    #[inline]
    fn wait_on(&mut self) -> Result<Reply, Error> {
        let Some(limit) = &mut self.limit else { return Ok(PENDING) };
        let is_over = limit.is_over()?;
        let until_ns = limit.due_ns;
        if is_over {
            let killer = self.killer(format!("QUERY {}", self.number));
            // The worker plays others meanwhile. Where it fails, or no thread can be had, the
            // statement is killed again.
            let _ = std::thread::Builder::new().name("kill".to_owned()).spawn(killer);
        }
        Ok(Reply::Pending { until_ns })
    }

    /// Notes whether the connection can go on after an error.
    #[cold]
    fn fail(&mut self, error: Error) -> Error {
        let error = failure::of_line(error);
        self.is_lost |= failure::ends_connection(&error);
        error
    }
}

impl Drop for Mysql {
    /// Says goodbye, so that the server counts no aborted connection.
    fn drop(&mut self) {
        if !self.is_lost {
            packet::command(self.line.out(), packet::COM_QUIT, b"");
            drop(self.line.send());
        }
    }
}
