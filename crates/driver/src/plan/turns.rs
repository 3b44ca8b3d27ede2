//! The turns that several drivers take with their phases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::Error;

/// Slices in which several drivers are interleaved. All of them are given the same but for `own`
/// and `frozen`, and each phase's start with its `go`: so each knows whose time it is
/// (`schedule/timeline.rs`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Turns {
    /// Whose turn it is, turn by turn; it comes again where it is too short.
    pub order: Vec<u32>,
    /// Which of them we are.
    pub own: u32,
    /// Length of a slice: events are begun in it.
    pub slice_ns: u64,
    /// What follows it until the next one's: events end in it.
    pub drain_ns: u64,
    /// The beginning of a slice that counts for nothing in a phase that ends by time.
    pub ramp_in_ns: u64,
    /// After so many turns of all drivers the users connect anew; 0: never.
    pub epoch_turns: u64,
    /// What each driver is given for that.
    pub connect_ns: u64,
    /// Does our engine stand still while others have their turn?
    pub frozen: bool,
}

impl Turns {
    /// An error where nobody could take these turns.
    pub fn check(&self) -> Result<(), Error> {
        if !self.order.contains(&self.own) {
            return Err(Error::user("the turns leave out this candidate"));
        }
        if self.slice_ns <= self.ramp_in_ns {
            return Err(Error::user("a slice must be longer than its ramp-in"));
        }
        Ok(())
    }
}
