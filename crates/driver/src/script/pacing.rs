//! When a user goes on: what its coroutine waits for, when its events are due and have ended.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A user's place in time.
pub struct Pacing {
    /// What the coroutine waits for.
    pub wait: Wait,
    /// When the event under way was due, in an open loop, by the phase's clock: ns.
    pub due_ns: u64,
    /// How long the user rests once its event has ended, ns; and why it may not, if it may not.
    pub rest_ns: u64,
    pub no_rest: Option<String>,
    /// Events of a streak that ended before the one under way, the first of them last.
    pub ended: Vec<Ended>,
    /// Its phase is over, and nobody waits for it any more.
    pub is_given_up: bool,
    /// Turns that the stream's users have taken.
    pub turns: Arc<AtomicU64>,
    /// Others play some of them in processes of their own.
    pub is_dealt: bool,
}

impl Default for Pacing {
    fn default() -> Self {
        Self {
            wait: Wait::Nothing,
            due_ns: 0,
            rest_ns: 0,
            no_rest: Some("dyno.rest is for thread_init and events only".to_owned()),
            ended: Vec::with_capacity(MOST_OF_STREAK),
            is_given_up: false,
            turns: Arc::default(),
            is_dealt: false,
        }
    }
}

/// What a suspended coroutine waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// It does not wait.
    Nothing,
    /// A request on a connection, to be polled at the latest at a time.
    Request { connection: usize, until_ns: u64 },
    /// An event that begins anew, as soon as the worker likes.
    Restart,
    /// A time to come.
    Sleep { until_ns: u64 },
    /// What its own loop asked.
    Answer(Ask),
}

/// What a script's own loop (`thread_run`) asks of whoever plays it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Is there one more event? The answer may have to wait until it is due.
    More,
    /// An event begins.
    Start,
    /// It ended well.
    Stop {
        /// Its transaction type, as in [`super::Step::Done`].
        transaction: usize,
    },
}

/// An event of a streak that ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// When: CLOCK_MONOTONIC ns.
    pub at_ns: u64,
    /// Its transaction type, as in [`super::Step::Done`].
    pub transaction: usize,
}

/// Events of a streak before its last, at most: `MOST` in lua/functions.lua.
const MOST_OF_STREAK: usize = 40;
