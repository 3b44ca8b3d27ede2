//! An excerpt of `run`: so many events of one user, for an instrument that counts operations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{Error, nearest_or_all};
use super::phase::{Pace, Phase, Stop};

/// What is played of `run` where its operations are counted: the difference of two excerpts of one
/// seed is the work of the events that only the longer one has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Excerpt {
    /// The phase that is cut short; those before it are played whole, those after it not at all.
    /// Empty: the first.
    pub phase: String,
    /// Its events.
    pub events: u64,
}

impl Excerpt {
    /// The phases up to the one that is cut short; an error where it is not one user's, is paced,
    /// or has fewer events.
    pub fn cut(&self, mut phases: Vec<Phase>) -> Result<Vec<Phase>, Error> {
        let names: Vec<_> = phases.iter().map(|it| it.name.clone()).collect();
        let wanted = names.iter().position(|it| it == &self.phase || self.phase.is_empty());
        let Some(last) = wanted else {
            let error = Error::user(format!("there is no phase {}", self.phase));
            return Err(error.hint(nearest_or_all(&self.phase, names)));
        };
        phases.truncate(last + 1);
        let phase = &mut phases[last];
        let users: u32 = phase.streams.iter().map(|it| it.connections).sum();
        if users != 1 {
            let error = Error::user(format!("phase {} has {users} connections", phase.name));
            return Err(error.hint("operations are counted of one: set threads or clients to 1"));
        }
        if phase.streams[0].pace != Pace::Closed {
            return Err(Error::user(format!("phase {} is paced", phase.name))
                .hint("operations are counted where each follows the answer to the last"));
        }
        if let Stop::Count { events, .. } = phase.stop
            && (1..self.events).contains(&events)
        {
            let message = format!("phase {} has {events} events, not {}", phase.name, self.events);
            return Err(Error::user(message).hint("play fewer events, or raise the script's own"));
        }
        phase.stop = Stop::Count { events: self.events, within_s: 0.0 };
        phase.warmup_s = 0.0;
        phase.expected_s = 0.0;
        Ok(phases)
    }
}
