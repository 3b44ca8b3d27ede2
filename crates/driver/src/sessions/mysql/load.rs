//! `LOAD DATA LOCAL INFILE`: rows streamed while the server takes them.

use super::packet::{HEADER, begin, end};
use crate::generate::Source;
use crate::plan::error::Error;
use crate::wire::Line;

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

    /// Asked for, and not written to its end?
    pub fn is_torn(&self) -> bool {
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
