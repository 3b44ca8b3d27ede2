//! The Lua state that no user works in, as sysbench's main thread has one: `init()` before the
//! first phase of `run`, the report hooks while it plays, `done()` after the last.

use std::collections::BTreeMap;

use mlua::{LuaSerdeExt, Value};

use super::lua_state::LuaState;
use super::{Step, User};
use crate::plan::error::Error;
use crate::plan::event::Report;
use crate::plan::parent::Parent;
use crate::schedule::clock::{NAP_NS, now_ns};
use crate::tally::UserCounts;
use crate::{sessions, wire};

/// A script's `init`, `done` and report hooks, at least one of them there.
pub struct MainState {
    user: User,
    /// The script has set a report hook, or the plan asks for reports.
    pub is_hooked: bool,
    /// Which percentile `latency_pct` is: sysbench's option `percentile`.
    pub percentile: f64,
    /// Seconds between two reports; 0: each is made.
    pub report_interval_s: f64,
}

impl MainState {
    /// Keeps a state in which the script is loaded, if the script or the plan wants one.
    pub fn of(state: LuaState, reports: bool) -> Result<Option<Self>, Error> {
        let is_hooked = reports || state.call::<bool>("reports", ())?;
        let plays = state.slot("init", false)?.or(state.slot("done", false)?).is_some();
        if !is_hooked && !plays {
            return Ok(None);
        }
        let percentile = state.call("general", "percentile")?;
        let report_interval_s = state.call("general", "report_interval")?;
        let user = User::of(state, "run")?;
        Ok(Some(Self { user, is_hooked, percentile, report_interval_s }))
    }

    /// Calls `init` or `done` where the script has it, outside of every phase; false: a SIGINT
    /// came meanwhile.
    pub fn play(&mut self, function: &str, parent: &Parent) -> Result<bool, Error> {
        let mut step = self.user.begin(function).map_err(Error::without_connection)?;
        while !parent.is_interrupted() {
            match step {
                Step::Done { .. } => return Ok(true),
                Step::Failed(error) => return Err(error.without_connection()),
                Step::Waiting { until_ns } => wire::wait_in_turn(until_ns.min(now_ns() + NAP_NS)),
                Step::Asked(_) => return Err(Error::driver("a loop outside of a phase")),
            }
            step = self.user.advance().map_err(Error::without_connection)?;
        }
        sessions::cancel_all(self.user.drop_connections());
        Ok(false)
    }

    /// What was counted of `init` and `done` since the last call.
    pub fn take_counts(&mut self) -> UserCounts {
        self.user.take_counts()
    }

    /// Has it a connection open?
    pub fn is_connected(&self) -> bool {
        self.user.state.shared.borrow().connections.all.iter().any(Option::is_some)
    }

    /// The script's counters of `init` and `done`.
    pub fn counters(&self) -> BTreeMap<String, u64> {
        self.user.counters()
    }

    /// Calls the hook that a report is for; false: the script has none. It may send queries, as in
    /// sysbench: their answers are waited for here, while the users play on.
    pub fn report(&self, report: &Report) -> Result<bool, Error> {
        let hook = if report.is_cumulative { "report_cumulative" } else { "report_intermediate" };
        let state = &self.user.state;
        let stat: Value = state.lua.to_value(report).map_err(|cause| {
            Error::driver("cannot hand numbers to a report hook").because(cause)
        })?;
        match state.call_waiting::<Option<bool>>("report_to", (hook, stat))? {
            Some(true) => Ok(true),
            Some(false) => Err(state.reported_error().without_connection()),
            None => Ok(false),
        }
    }
}
