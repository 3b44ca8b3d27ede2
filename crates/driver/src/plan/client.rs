//! One of several drivers that play one load together, each on a host of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::Error;
use super::phase::{Pace, Phase, Stop, Stream};

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

    /// Which of a stream's arrivals are ours; none where we have no user in it.
    pub fn deal_arrivals(&self, before: u32, users: u32) -> Option<Deal> {
        let first = (0..users).find(|number| self.plays(before + number))?;
        Some(Deal {
            first: u64::from(first),
            step: u64::from(self.of),
            own: self.count_own(before, u64::from(users)),
            users: u64::from(users),
        })
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
        let is_recorded = |it: &&Stream| matches!(it.pace, Pace::Recorded { .. });
        if let Some(recorded) = phase.streams.iter().find(is_recorded) {
            return Some((
                format!("stream {} plays a server's log, which lies on one host", recorded.name),
                "replay it from one host",
            ));
        }
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
                Some((format!("stream {stream} ends it for all users"), until))
            }
            Stop::Count { events: 0, .. } => {
                Some(("the first user to have no more ends it for all".into(), until))
            }
            _ => None,
        }
    }
}

/// Which of a stream's arrivals are one client's: each arrival is one of the stream's users' in
/// turn, so all clients' together are those of one schedule, and none is two clients'.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deal {
    first: u64,
    step: u64,
    own: u64,
    users: u64,
}

impl Deal {
    /// The number among all arrivals that one has among ours; ours are in the order of all.
    #[inline]
    pub fn find_number(&self, number: u64) -> u64 {
        let (rounds, user) = (number / self.own, number % self.own);
        rounds * self.users + self.first + user * self.step
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

    #[test]
    fn every_arrival_is_one_clients_and_a_count_ends_where_its_share_does() {
        for (of, before, users) in [(1, 0, 5), (2, 3, 5), (3, 1, 4), (4, 2, 3), (4, 0, 9)] {
            let mut dealt = Vec::new();
            for client in (0..of).map(|own| Client { own, of }) {
                let deal = client.deal_arrivals(before, users);
                let numbers = (0..).map_while(|own| deal.map(|it| it.find_number(own)));
                let own: Vec<u64> = numbers.take_while(|number| *number < 1_000).collect();
                assert!(own.is_sorted_by(|one, next| one < next));
                assert_eq!(own.len() as u64, client.share_of_count(1_000, before, users));
                let user_of = |number: u64| before + (number % u64::from(users)) as u32;
                assert!(own.iter().all(|number| client.plays(user_of(*number))));
                dealt.extend(own);
            }
            dealt.sort_unstable();
            assert_eq!(dealt, (0..1_000).collect::<Vec<u64>>());
        }
    }
}
