//! What is played: a phase of a command of a plan.

use crate::plan::Plan;
use crate::plan::phase::Phase;

/// What is played.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The whole plan.
    pub plan: &'a Plan,
    /// The command under way.
    pub command: &'a str,
    /// Its phase.
    pub phase: &'a Phase,
}

impl Scene<'_> {
    /// Is it the load, and not a command that calls one function once per user?
    pub fn is_load(&self) -> bool {
        self.command == "run"
    }
}
