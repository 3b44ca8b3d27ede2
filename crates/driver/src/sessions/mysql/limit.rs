//! A limit on a statement's time that the client keeps: `KILL QUERY` from a connection beside.
//!
//! Some servers have no limit of their own (5.6), and others' leaves statements out (8.0: all but
//! SELECT) or gives way to a hint.

use crate::plan::Login;
use crate::plan::error::Error;
use crate::schedule::clock::{SECOND_NS, now_ns};

/// How long a killed statement may take to end before it is killed again.
const PATIENCE_NS: u64 = 5 * SECOND_NS;
/// Times that a statement is killed before its connection is given up.
const MOST_KILLS: u32 = 3;

/// The limit of one connection, and when the statement under way is to be looked at again.
pub struct Limit {
    limit_ns: u64,
    pub due_ns: u64,
    kills: u32,
}

impl Limit {
    /// That of a log-in, if it has one.
    pub fn of(login: &Login) -> Option<Self> {
        let limit_ns = login.reads_only.as_ref()?.limit_ms * (SECOND_NS / 1000);
        (limit_ns > 0).then_some(Self { limit_ns, due_ns: u64::MAX, kills: 0 })
    }

    /// A request leaves now.
    pub fn begin(&mut self) {
        self.due_ns = now_ns().saturating_add(self.limit_ns);
        self.kills = 0;
    }

    /// Is the statement to be killed now? An error of code `lost` where it was, and does not end.
    pub fn is_over(&mut self) -> Result<bool, Error> {
        let now = now_ns();
        if now < self.due_ns {
            return Ok(false);
        }
        self.kills += 1;
        if self.kills > MOST_KILLS {
            return Err(Error::engine("a statement did not end when it was killed").code("lost"));
        }
        self.due_ns = now + PATIENCE_NS;
        Ok(true)
    }
}
