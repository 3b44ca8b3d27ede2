//! Finds the packets in whatever bytes have come. Rows that nobody will read are passed over as
//! they come and only counted, so they never lie in memory whole.

use super::answer::{Answer, Awaits};
use super::packet::{self, HEADER, PART, garbage};
use super::result::is_row;
use crate::plan::error::Error;

/// No packet but a row is longer.
const LONGEST: usize = 1 << 20;

/// How far the answers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fed {
    /// More bytes must come.
    More,
    /// The server wants a file's content; it begins with the packet of this number.
    Infile(u8),
    /// All are there.
    Done,
}

enum Glance {
    Pass,
    Wait,
    Take,
}

impl Answer {
    /// Reads on; says how many bytes were used and need not be shown again.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(usize, Fed), Error> {
        let mut at = 0;
        loop {
            let passed = self.skip.min(bytes.len() - at);
            self.skip -= passed;
            at += passed;
            if self.skip > 0 {
                return Ok((at, Fed::More));
            }
            if self.wanted + self.unwanted == 0 {
                return Ok((at, Fed::Done));
            }
            let rest = &bytes[at..];
            match self.glance(rest)? {
                Glance::Pass => self.skip = HEADER + packet::length(rest),
                Glance::Wait => return Ok((at, Fed::More)),
                Glance::Take => {
                    let (head, rest) = rest.split_at(HEADER);
                    let content = &rest[..packet::length(head)];
                    at += HEADER + content.len();
                    if self.take(content)? {
                        return Ok((at, Fed::Infile(head[3].wrapping_add(1))));
                    }
                }
            }
        }
    }

    /// Can the next packet be passed over, or must it be there whole?
    #[inline]
    fn glance(&mut self, rest: &[u8]) -> Result<Glance, Error> {
        if rest.len() < HEADER {
            return Ok(Glance::Wait);
        }
        let length = packet::length(rest);
        let passes = if self.continues {
            !self.keeps()
        } else if length == 0 {
            return Err(garbage("an empty packet"));
        } else if rest.len() == HEADER {
            return Ok(Glance::Wait);
        } else {
            self.passes(rest[HEADER], length)?
        };
        if passes {
            self.continues = length == PART;
            return Ok(Glance::Pass);
        }
        Ok(if rest.len() < HEADER + length { Glance::Wait } else { Glance::Take })
    }

    #[inline]
    fn keeps(&self) -> bool {
        self.asked.keeps && self.unwanted == 0
    }

    #[inline]
    fn passes(&mut self, first: u8, length: usize) -> Result<bool, Error> {
        match self.awaits {
            Awaits::Columns { left } if !self.keeps() => {
                self.awaits = self.after_column(left);
                Ok(true)
            }
            Awaits::Rows if is_row(first, length) => {
                self.counted += u64::from(!self.keeps());
                Ok(!self.keeps())
            }
            _ if length > LONGEST => Err(garbage("a packet that is too long")),
            _ => Ok(false),
        }
    }
}
