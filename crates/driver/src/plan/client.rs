//! One of several drivers that play one load together, each on a host of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::Error;
use super::phase::{Pace, Phase, Stop};

/// Our part of a load that several drivers play. All of them are given the same plan but for this,
/// and each phase's start with its `go`; each plays the users that are dealt to it, and the end of
/// its stdin ends it at any time.
///
/// Users are numbered through all streams of a phase and dealt in turn, so each keeps the number,
/// and with it the random numbers and keys, that it has where one driver plays all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Which of the drivers we are, from 0.
    pub own: u32,
    /// How many there are.
    pub of: u32,
}

impl Client {
    /// An error where nobody could be this one.
    pub fn check(&self) -> Result<(), Error> {
        match self.own < self.of {
            true => Ok(()),
            false => Err(Error::user(format!("there is no client {} of {}", self.own, self.of))),
        }
    }

    /// Is the user of this number in its phase ours?
    pub fn plays(&self, user: u32) -> bool {
        user % self.of == self.own
    }

    /// How many of a stream's first `users` are ours, where `before` are users of earlier streams.
    pub fn count_own(&self, before: u32, users: u64) -> u64 {
        (0..users).filter(|number| self.plays(before + *number as u32)).count() as u64
    }

    /// How many events of a count are ours, each being one of the stream's users' in turn.
    pub fn share_of_count(&self, events: u64, before: u32, users: u32) -> u64 {
        let (rounds, rest) = (events / u64::from(users), events % u64::from(users));
        rounds * self.count_own(before, u64::from(users)) + self.count_own(before, rest)
    }

    /// Refuses phases whose users have something in common that several processes have not, or are
    /// too few.
    pub fn check_phases(&self, phases: &[Phase]) -> Result<(), Error> {
        if self.of == 1 {
            return Ok(());
        }
        phases.iter().try_for_each(|phase| match self.find_common(phase) {
            Some((common, hint)) => {
                let message = format!("phase {} cannot be played by several clients", phase.name);
                Err(Error::user(message).because(common).hint(hint))
            }
            None => Ok(()),
        })
    }

    /// What a phase's users have in common, and what to do instead.
    fn find_common(&self, phase: &Phase) -> Option<(String, &'static str)> {
        let users: u32 = phase.streams.iter().map(|it| it.connections).sum();
        if users < self.of {
            return Some((
                format!("it has {users} users for {} client hosts", self.of),
                "name fewer hosts, or set its threads or clients higher",
            ));
        }
        let until = "play it by time, or a fixed number of events, or from one host";
        match &phase.stop {
            Stop::Stream { stream, .. } => {
                return Some((format!("stream {stream} ends it for all users"), until));
            }
            Stop::Count { events: 0, .. } => {
                return Some(("the first user to have no more ends it for all".into(), until));
            }
            _ => {}
        }
        let paced = phase.streams.iter().find(|it| it.pace != Pace::Closed)?;
        Some((
            format!("the users of stream {} share one schedule of arrivals", paced.name),
            "play it without a rate, or from one host",
        ))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_user_and_every_event_is_one_clients() {
        for (of, before, users, events) in
            [(1, 0, 5, 17), (2, 3, 5, 17), (3, 1, 4, 2), (4, 0, 4, 9)]
        {
            let clients: Vec<Client> = (0..of).map(|own| Client { own, of }).collect();
            let dealt: u64 = clients.iter().map(|it| it.count_own(before, users)).sum();
            let shares = clients.iter().map(|it| it.share_of_count(events, before, users as u32));
            assert_eq!((dealt, shares.sum::<u64>()), (users, events));
        }
        assert!(Client { own: 2, of: 2 }.check().is_err());
    }
}
