//! The script's side of a user: one Lua state, one long-lived coroutine in it, its sessions.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::event::Description;
use crate::phase::Phase;
use crate::plan::Plan;

/// Which user of which stream a state is loaded for. Seeds of the script's random numbers hang on
/// all of it, so that no two streams and no two phases send the same requests.
#[derive(Debug, Clone, Copy)]
pub struct Seat<'a> {
    /// The command that is played: `run`, `prepare`, …
    pub command: &'a str,
    /// The phase's name.
    pub phase: &'a str,
    /// The stream's name.
    pub stream: &'a str,
    /// The user's number within its stream, from 0: sysbench's `tid`.
    pub number: u32,
    /// Users of the stream: `sysbench.opt.threads`.
    pub users: u32,
}

/// One user of a workload (a sysbench thread): a Lua state with the script loaded, and 0 … n
/// connections that the script opened.
pub struct User {}

/// Where a call into the script stands.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// The function returned. `transaction` indexes [`User::transaction_names`] (0: unnamed);
    /// `more` is false when it returned `false`, which ends a stream without a count.
    Done {
        /// Which transaction type the script named for this event.
        transaction: usize,
        /// The script has more to play.
        more: bool,
    },
    /// A request is under way: call [`User::advance`] again, at the latest at this time.
    Waiting {
        /// CLOCK_MONOTONIC ns; `u64::MAX`: unknown.
        until_ns: u64,
    },
    /// The event ended in an error that stops this event only (an engine's error which the
    /// script let through and which may be counted); errors that stop the trial are `Err`.
    Failed(Error),
}

/// What a user counted since the last call of [`User::take_counts`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserCounts {
    /// Statements sent.
    pub queries: u64,
    /// Rows that came back.
    pub rows_read: u64,
    /// Rows changed.
    pub rows_changed: u64,
    /// Events begun anew (RESTART_EVENT).
    pub restarted: u64,
    /// Busy answers, asked again.
    pub busy: u64,
    /// Nanoseconds inside the engine, where measured.
    pub service_ns: Option<u64>,
    /// Failed statements by the engine's code.
    pub errors: BTreeMap<String, u64>,
}

impl User {
    /// Loads the plan's script into a fresh state for one seat; calls nothing in it yet.
    pub fn load(plan: &Plan, seat: &Seat) -> Result<Self, Error> {
        let _ = (plan, seat);
        Err(Error::driver("script.rs is not built yet"))
    }

    /// Starts a global function of the script (`thread_init`, `event`, a command) in the
    /// coroutine. A function that does not exist is `Done` at once if it is optional
    /// (`thread_init`, `thread_done`), else an error with the nearest names.
    pub fn begin(&mut self, function: &str) -> Result<Step, Error> {
        Err(Error::driver(function))
    }

    /// Polls the session that the coroutine waits for, and resumes it when the answer is there.
    pub fn advance(&mut self) -> Result<Step, Error> {
        Err(Error::driver("script.rs is not built yet"))
    }

    /// Transaction names seen so far, by index; 0 is the unnamed one.
    pub fn transaction_names(&self) -> &[String] {
        &[]
    }

    /// What was counted since the last call, for the tally.
    pub fn take_counts(&mut self) -> UserCounts {
        UserCounts::default()
    }

    /// The script's own counters (`dyno.count`) of events that ended well, since loading.
    pub fn counters(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }
}

/// Loads the script without a session and says what it declares under the plan's options.
pub fn describe(plan: &Plan) -> Result<Description, Error> {
    let _ = plan;
    Err(Error::driver("script.rs is not built yet"))
}

/// The phases that a command plays: for `run` what `dyno.phases` declares, or one phase `run` from
/// the general options; for any other one phase of its name, whose single stream calls the
/// command's function once per user (all threads where the script says `PARALLEL_COMMAND`).
pub fn phases(plan: &Plan, command: &str) -> Result<Vec<Phase>, Error> {
    let _ = (plan, command);
    Err(Error::driver("script.rs is not built yet"))
}
