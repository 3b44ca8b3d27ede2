//! A script's report hooks, in a Lua state that no user works in.

use mlua::{LuaSerdeExt, Value};

use super::state::State;
use crate::plan::error::Error;
use crate::play::stat::Stat;

/// `sysbench.hooks.report_intermediate` and `report_cumulative`, at least one of them set.
pub struct Hooks {
    state: State,
    /// Which percentile `latency_pct` is: sysbench's option `percentile`.
    pub percentile: f64,
}

impl Hooks {
    /// Keeps a state in which the script is loaded, if the script set a report hook in it.
    pub fn of(state: State) -> Result<Option<Self>, Error> {
        if !state.call::<bool>("reports", ())? {
            return Ok(None);
        }
        let percentile = state.call("general", "percentile")?;
        Ok(Some(Self { state, percentile }))
    }

    /// Tells how it went since the last report; a script without that hook hears nothing.
    pub fn report_intermediate(&self, stat: &Stat) -> Result<(), Error> {
        self.report("report_intermediate", stat)
    }

    /// Tells how the whole phase went.
    pub fn report_cumulative(&self, stat: &Stat) -> Result<(), Error> {
        self.report("report_cumulative", stat)
    }

    fn report(&self, hook: &str, stat: &Stat) -> Result<(), Error> {
        let stat: Value = self.state.lua.to_value(stat).map_err(|cause| {
            Error::driver("cannot hand numbers to a report hook").because(cause)
        })?;
        match self.state.call("report_to", (hook, stat))? {
            true => Ok(()),
            false => Err(self.state.reported().of_nobody()),
        }
    }
}
