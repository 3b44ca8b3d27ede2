//! Whose turn it is: users to turn now, and users who wait for a time.
//!
//! All memory is taken in the beginning. A user who waits for the network stands in neither list;
//! the wire hands it over ([`crate::wire::rest`]).

use crate::play::stage::NEVER;
use crate::schedule::timers::Timers;

/// The turns of one worker's users, by number.
pub struct Agenda {
    /// Who gets a turn in the next round; a number may stand there twice.
    pub ready: Vec<u32>,
    /// This round's, while it is played.
    round: Vec<u32>,
    timers: Timers,
}

impl Agenda {
    /// Everybody is to be turned.
    pub fn new(users: usize) -> Self {
        let mut ready = Vec::with_capacity(2 * users);
        ready.extend(0..users as u32);
        Self { ready, round: Vec::with_capacity(2 * users), timers: Timers::new(users) }
    }

    /// Begins a round: who is ready now gets a turn before anybody gets a second one.
    #[inline]
    pub fn take(&mut self) -> Vec<u32> {
        std::mem::replace(&mut self.ready, std::mem::take(&mut self.round))
    }

    /// Ends a round, so that its memory is used again.
    #[inline]
    pub fn give_back(&mut self, mut round: Vec<u32>) {
        round.clear();
        self.round = round;
    }

    /// Turns a user at a time ([`NEVER`]: not for a time's sake), in place of what was said before.
    #[inline]
    pub fn at(&mut self, time_ns: u64, user: u32) {
        self.timers.set(user, time_ns);
    }

    /// Whoever waited for a time until now is ready.
    #[inline]
    pub fn wake(&mut self, now: u64) {
        while self.next_ns() <= now
            && let Some(user) = self.timers.pop()
        {
            self.ready.push(user);
        }
    }

    /// The time of the next timer; [`NEVER`]: there is none.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.timers.first_ns().unwrap_or(NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_made_ready_in_a_round_is_turned_in_the_next() {
        let mut agenda = Agenda::new(2);
        let round = agenda.take();
        assert_eq!(round, [0, 1]);
        agenda.ready.push(round[1]);
        agenda.give_back(round);
        assert_eq!(agenda.take(), [1]);
    }

    #[test]
    fn who_waits_for_a_time_is_ready_from_then_on() {
        let mut agenda = Agenda::new(2);
        agenda.ready.clear();
        agenda.at(20, 0);
        agenda.at(10, 1);
        agenda.wake(9);
        assert_eq!((agenda.next_ns(), agenda.ready.len()), (10, 0));
        agenda.wake(10);
        assert_eq!((agenda.next_ns(), &agenda.ready[..]), (20, &[1][..]));
        agenda.at(NEVER, 0);
        assert_eq!(agenda.next_ns(), NEVER);
    }
}
