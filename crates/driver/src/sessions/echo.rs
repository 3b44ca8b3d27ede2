//! A session with `dyno-driver echo`: requests and answers of given sizes, and no engine. What a
//! request costs is the way there and back, on the same line that every server is reached by.
//!
//! A statement is two numbers, `REQUEST ANSWER`: the bytes to send, and those to await. The request
//! begins with both of them ([`HEADER`]).

use slab::Slab;

use super::literal;
use super::sql::Quoting;
use super::{Counts, Descriptor, Engine, Reply, Rows, Session, Value, misdirected, open_statement};
use crate::plan;
use crate::plan::error::Error;
use crate::plan::{Login, Tls, TlsMode};
use crate::wire::Line;

/// What the driver knows of this session.
pub const DESCRIPTOR: Descriptor = Descriptor {
    kind: "echo",
    engine: Engine::Served,
    dialect: None,
    quoting: Quoting::Standard,
    open,
    type_name: |_| String::new(),
};

/// How a request begins: its own length and the answer's, as little-endian u32.
pub const HEADER: usize = 8;

/// Neither may be longer.
pub const LONGEST: usize = 64 << 20;

const PENDING: Reply = Reply::Pending { until_ns: u64::MAX };

fn open(session: &plan::Session) -> Result<Box<dyn Session>, Error> {
    let plan::Session::Echo { host, port } = session else { return Err(misdirected()) };
    let login = Login {
        host: host.clone(),
        port: *port,
        user: String::new(),
        password: None,
        database: String::new(),
        tls: Tls { mode: TlsMode::Disable, ca: None },
        settings: Vec::new(),
        tells_notices: false,
        proof: Default::default(),
        reads_only: None,
    };
    let line = Line::connect(&login)?;
    Ok(Box::new(Echo {
        login,
        line,
        awaited: 0,
        statements: Slab::new(),
        rows: Rows::default(),
        reconnected: 0,
    }))
}

/// A request's bytes and an answer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sizes {
    request: usize,
    answer: usize,
}

impl Sizes {
    fn read(text: &str) -> Result<Self, Error> {
        let mut words = text.split_whitespace().map(str::parse);
        let (Some(Ok(request)), Some(Ok(answer)), None) =
            (words.next(), words.next(), words.next())
        else {
            return Err(Error::user(format!("`{text}` is not a request for an echo"))
                .hint("two numbers: the bytes to send, and those to await"));
        };
        if !(HEADER..=LONGEST).contains(&request) || !(1..=LONGEST).contains(&answer) {
            let hint = format!("{HEADER} to {LONGEST} bytes there, 1 to {LONGEST} back");
            return Err(Error::user(format!("no echo of {request} and {answer} bytes")).hint(hint));
        }
        Ok(Self { request, answer })
    }

    /// Appends a request of these sizes.
    fn put(self, out: &mut Vec<u8>) {
        let end = out.len() + self.request;
        out.extend_from_slice(&(self.request as u32).to_le_bytes());
        out.extend_from_slice(&(self.answer as u32).to_le_bytes());
        out.resize(end, 0);
    }
}

/// One connection to an echo.
struct Echo {
    login: Login,
    line: Line,
    /// Bytes of the answer still to come.
    awaited: usize,
    statements: Slab<Sizes>,
    rows: Rows,
    reconnected: u64,
}

impl Echo {
    fn send(&mut self, sizes: Sizes) -> Result<Reply, Error> {
        sizes.put(self.line.out());
        self.awaited = sizes.answer;
        self.line.send().map(|()| PENDING)
    }
}

impl Session for Echo {
    fn query(&mut self, sql: &str) -> Result<Reply, Error> {
        self.send(Sizes::read(sql)?)
    }

    fn prepare(&mut self, sql: &[u8]) -> Result<u32, Error> {
        Ok(self.statements.insert(Sizes::read(literal::sql(sql)?)?) as u32)
    }

    #[inline]
    fn execute(&mut self, statement: u32, _values: &[Value]) -> Result<Reply, Error> {
        let sizes = *open_statement(&mut self.statements, statement)?;
        self.send(sizes)
    }

    fn close(&mut self, statement: u32) -> Result<(), Error> {
        self.statements.try_remove(statement as usize);
        Ok(())
    }

    #[inline]
    fn poll(&mut self) -> Result<Reply, Error> {
        loop {
            if !self.line.more()? {
                return Ok(PENDING);
            }
            let came = self.line.inbox().len().min(self.awaited);
            self.line.consume(came);
            self.awaited -= came;
            if self.awaited == 0 {
                return Ok(Reply::Ready { rows: 0, changed: 0 });
            }
        }
    }

    /// An answer that nobody awaits any more, or that was lost, ends the connection.
    fn reset(&mut self) -> Result<(), Error> {
        if self.awaited > 0 {
            self.line = Line::connect(&self.login)?;
            (self.awaited, self.reconnected) = (0, self.reconnected + 1);
        }
        Ok(())
    }

    fn rows(&self) -> &Rows {
        &self.rows
    }

    fn take_counts(&mut self) -> Counts {
        let reconnected = std::mem::take(&mut self.reconnected);
        Counts { reconnected, bytes: self.line.take_bytes(), ..Counts::default() }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_as_long_as_it_says() {
        let mut out = vec![7];
        Sizes::read("20 300").unwrap().put(&mut out);
        assert_eq!(out.len(), 1 + 20);
        assert_eq!(out[1..9], [20, 0, 0, 0, 44, 1, 0, 0]);
    }

    #[test]
    fn what_is_no_pair_of_sizes_is_refused() {
        for text in ["SELECT 1", "20", "20 30 40", "7 1", "8 0", "8 70000000"] {
            assert!(Sizes::read(text).is_err(), "{text}");
        }
    }
}
