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
        Self::new(login.reads_only.as_ref()?.limit_ms)
    }

    /// One of so many milliseconds; 0: none.
    fn new(limit_ms: u64) -> Option<Self> {
        let limit_ns = limit_ms.saturating_mul(SECOND_NS / 1000);
        (limit_ns > 0).then_some(Self { limit_ns, due_ns: u64::MAX, kills: 0 })
    }

    /// A request leaves now.
    pub fn begin(&mut self) {
        self.begin_at(now_ns());
    }

    fn begin_at(&mut self, now: u64) {
        self.due_ns = now.saturating_add(self.limit_ns);
        self.kills = 0;
    }

    /// Is the statement to be killed now? An error of code `lost` where it was, and does not end.
    pub fn is_over(&mut self) -> Result<bool, Error> {
        self.is_over_at(now_ns())
    }

    fn is_over_at(&mut self, now: u64) -> Result<bool, Error> {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_killed_once_its_limit_is_over_and_again_where_it_goes_on() {
        let mut limit = Limit::new(2_000).unwrap();
        assert!(!limit.is_over_at(u64::MAX - 1).unwrap(), "no request is under way");
        limit.begin_at(10 * SECOND_NS);
        assert_eq!(limit.due_ns, 12 * SECOND_NS);
        assert!(!limit.is_over_at(12 * SECOND_NS - 1).unwrap());
        let mut now = 12 * SECOND_NS;
        for _ in 0..MOST_KILLS {
            assert!(limit.is_over_at(now).unwrap());
            assert!(!limit.is_over_at(now + PATIENCE_NS - 1).unwrap(), "it is given time to end");
            now += PATIENCE_NS;
        }
        assert_eq!(limit.is_over_at(now).unwrap_err().engine_code(), Some("lost"));
    }

    #[test]
    fn each_request_has_a_limit_and_kills_of_its_own() {
        let mut limit = Limit::new(1).unwrap();
        for began in [SECOND_NS, 2 * SECOND_NS] {
            limit.begin_at(began);
            for kill in 0..u64::from(MOST_KILLS) {
                assert!(limit.is_over_at(began + SECOND_NS / 1_000 + kill * PATIENCE_NS).unwrap());
            }
        }
    }

    #[test]
    fn a_limit_of_nothing_is_none_and_one_beyond_all_time_never_comes() {
        assert!(Limit::new(0).is_none());
        let mut limit = Limit::new(u64::MAX).unwrap();
        limit.begin_at(u64::MAX / 2);
        assert!(!limit.is_over_at(u64::MAX - 1).unwrap());
    }
}
