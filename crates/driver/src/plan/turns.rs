//! The turns that several drivers take with their phases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::Error;

/// Windows that several drivers take turns in. All of them are given the same but for `own` and
/// `frozen`, and
/// each phase's start with its `go`: so each knows whose time it is (`schedule/timeline.rs`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Turns {
    /// Whose turn it is, slot by slot; it comes again where it is too short.
    pub order: Vec<u32>,
    /// Which of them we are.
    pub own: u32,
    /// Length of a window: events are begun in it.
    pub window_ns: u64,
    /// What follows it until the next one's: events end in it.
    pub drain_ns: u64,
    /// The beginning of a window that counts for nothing in a phase that ends by time.
    pub edge_ns: u64,
    /// After so many slots of all drivers the users connect anew; 0: never.
    pub epoch_slots: u64,
    /// What each driver is given for that.
    pub connect_ns: u64,
    /// Does our engine stand still while others have their turn?
    pub frozen: bool,
}

impl Turns {
    /// An error where nobody could take these turns.
    pub fn check(&self) -> Result<(), Error> {
        if !self.order.contains(&self.own) {
            return Err(Error::user("turns in which it is never our turn"));
        }
        if self.window_ns <= self.edge_ns {
            return Err(Error::user("turns whose windows are all edge"));
        }
        Ok(())
    }
}
