//! Packets asked and answered one by one, waiting: the log-in, preparing.

use std::time::{Duration, Instant};

use super::packet::{COM_STMT_PREPARE, HEADER, Reader, begin, end, garbage};
use super::statement::Statement;
use super::{failure, packet};
use crate::plan::error::Error;
use crate::sessions::LONGEST_WAIT;
use crate::wire::Line;

/// Not supported in the prepared statement protocol.
const UNSUPPORTED: i32 = 1295;
/// A server that trickles is as good as one that is silent.
const PATIENCE: Duration = Duration::from_secs(10);
/// No packet of a dialogue is longer.
const LONGEST: usize = 1 << 20;

/// One side of it.
pub struct Dialogue<'a> {
    /// The connection.
    pub line: &'a mut Line,
    number: u8,
    began: Instant,
}

impl<'a> Dialogue<'a> {
    /// Begins one.
    pub fn new(line: &'a mut Line) -> Self {
        Self { line, number: 0, began: Instant::now() }
    }

    /// Writes a packet; it leaves with the next [`Self::receive`].
    pub fn write(&mut self, content: &[u8]) {
        let at = begin(self.line.out());
        self.line.out().extend_from_slice(content);
        self.number = end(self.line.out(), at, self.number);
    }

    /// Writes a command.
    pub fn command(&mut self, byte: u8, text: &[u8]) {
        packet::command(self.line.out(), byte, text);
    }

    /// Waits for the next packet.
    pub fn receive(&mut self) -> Result<Vec<u8>, Error> {
        let began = Instant::now();
        loop {
            if let Some(content) = self.whole()? {
                return Ok(content);
            }
            if began.elapsed() > PATIENCE {
                return Err(garbage("a packet did not end within 10 s"));
            }
            if self.began.elapsed() > LONGEST_WAIT {
                return Err(garbage("an answer did not end within a minute"));
            }
            self.line.wait().map_err(failure::of_line)?;
        }
    }

    fn whole(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let Some((head, rest)) = self.line.inbox().split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = packet::length(head);
        if length == 0 || length > LONGEST {
            return Err(garbage("a packet of an impossible length"));
        }
        let Some(content) = rest.get(..length).map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        self.number = head[3].wrapping_add(1);
        self.line.consume(HEADER + length);
        Ok(Some(content))
    }

    /// Prepares a statement; the definitions of its parameters and columns are passed over.
    pub fn prepare(&mut self, sql: &[u8], deprecates_eof: bool) -> Result<Statement, Error> {
        self.command(COM_STMT_PREPARE, sql);
        let head = self.receive()?;
        if head[0] == 0xff {
            let error = failure::of_packet(&head);
            let is_refused = error.number() == UNSUPPORTED;
            return if is_refused { Ok(Statement::emulated(sql)) } else { Err(error) };
        }
        let (id, columns, parameters) =
            prepared(&head).ok_or_else(|| garbage("a prepared statement without a number"))?;
        for definitions in [parameters, columns].into_iter().filter(|it| *it > 0) {
            for _ in 0..usize::from(definitions) + usize::from(!deprecates_eof) {
                self.receive()?;
            }
        }
        Ok(Statement::new(id, sql, usize::from(parameters)))
    }
}

fn prepared(head: &[u8]) -> Option<(u32, u16, u16)> {
    let mut reader = Reader(head);
    reader.u8().filter(|byte| *byte == 0)?;
    Some((reader.u32()?, reader.u16()?, reader.u16()?))
}
