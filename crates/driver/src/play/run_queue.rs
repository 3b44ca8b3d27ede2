//! Who is to be played next: users who are ready, and users who wait for a time.
//!
//! All memory is taken in the beginning. A user who waits for the network is in neither list; the
//! wire hands it over ([`crate::wire::wait`]).

use crate::schedule::clock::NEVER;

/// One worker's users, by number.
pub struct RunQueue {
    /// Who is played in the next round; a number may stand there twice.
    pub ready: Vec<u32>,
    /// This round's, while it is played.
    round: Vec<u32>,
    timers: Timers,
}

impl RunQueue {
    /// All users are ready.
    pub fn new(users: usize) -> Self {
        let mut ready = Vec::with_capacity(2 * users);
        ready.extend(0..users as u32);
        Self { ready, round: Vec::with_capacity(2 * users), timers: Timers::new(users) }
    }

    /// Begins a round: who is ready now is played once before anybody is a second time.
    #[inline]
    pub fn begin_round(&mut self) -> Vec<u32> {
        std::mem::replace(&mut self.ready, std::mem::take(&mut self.round))
    }

    /// Ends a round, so that its memory is used again.
    #[inline]
    pub fn end_round(&mut self, mut round: Vec<u32>) {
        round.clear();
        self.round = round;
    }

    /// Wakes a user at a time ([`NEVER`]: not by a time), in place of what was set before.
    #[inline]
    pub fn set_timer(&mut self, time_ns: u64, user: u32) {
        self.timers.set(user, time_ns);
    }

    /// Who waited for a time until now is ready.
    #[inline]
    pub fn wake_due(&mut self, now: u64) {
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

/// One timer per user: a binary heap in which each user knows its place, so that a timer is moved
/// rather than set a second time, and nothing is allocated.
struct Timers {
    times_ns: Vec<u64>,
    /// Users, heaped by their times.
    heap: Vec<u32>,
    /// Each user's place in the heap; [`NONE`]: it waits for no time.
    places: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Timers {
    /// Nobody waits for a time.
    fn new(users: usize) -> Self {
        let heap = Vec::with_capacity(users);
        Self { times_ns: vec![u64::MAX; users], heap, places: vec![NONE; users] }
    }

    /// Sets a user's timer in place of its last one; `u64::MAX`: takes it away.
    #[inline]
    fn set(&mut self, user: u32, time_ns: u64) {
        let place = self.places[user as usize];
        if place == NONE && time_ns == u64::MAX {
            return;
        }
        self.times_ns[user as usize] = time_ns;
        let place = if place == NONE {
            self.heap.push(user);
            self.heap.len() - 1
        } else {
            place as usize
        };
        self.sift(place, user);
        if time_ns == u64::MAX {
            self.remove(self.places[user as usize] as usize);
        }
    }

    /// The earliest time.
    #[inline]
    fn first_ns(&self) -> Option<u64> {
        self.heap.first().map(|&user| self.times_ns[user as usize])
    }

    /// Takes the user with the earliest time.
    #[inline]
    fn pop(&mut self) -> Option<u32> {
        let user = *self.heap.first()?;
        self.remove(0);
        Some(user)
    }

    fn remove(&mut self, place: usize) {
        let user = self.heap.swap_remove(place);
        self.places[user as usize] = NONE;
        if let Some(&moved) = self.heap.get(place) {
            self.sift(place, moved);
        }
    }

    /// Moves a user from a place to where its time belongs.
    fn sift(&mut self, mut place: usize, user: u32) {
        let time_ns = self.times_ns[user as usize];
        while place > 0 && time_ns < self.time_at((place - 1) / 2) {
            place = self.shift((place - 1) / 2, place);
        }
        while let Some(child) = self.earlier_child(place)
            && self.time_at(child) < time_ns
        {
            place = self.shift(child, place);
        }
        self.heap[place] = user;
        self.places[user as usize] = place as u32;
    }

    fn time_at(&self, place: usize) -> u64 {
        self.times_ns[self.heap[place] as usize]
    }

    /// Moves who stands at a place; returns the place, which is free then.
    fn shift(&mut self, from: usize, to: usize) -> usize {
        let user = self.heap[from];
        self.heap[to] = user;
        self.places[user as usize] = to as u32;
        from
    }

    fn earlier_child(&self, place: usize) -> Option<usize> {
        let children = 2 * place + 1..(2 * place + 3).min(self.heap.len());
        children.min_by_key(|&child| self.time_at(child))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    #[test]
    fn a_user_made_ready_in_a_round_is_played_in_the_next() {
        let mut queue = RunQueue::new(2);
        let round = queue.begin_round();
        assert_eq!(round, [0, 1]);
        queue.ready.push(round[1]);
        queue.end_round(round);
        assert_eq!(queue.begin_round(), [1]);
    }

    #[test]
    fn a_user_who_waits_for_a_time_is_ready_from_then_on() {
        let mut queue = RunQueue::new(2);
        queue.ready.clear();
        queue.set_timer(20, 0);
        queue.set_timer(10, 1);
        queue.wake_due(9);
        assert_eq!((queue.next_ns(), queue.ready.len()), (10, 0));
        queue.wake_due(10);
        assert_eq!((queue.next_ns(), &queue.ready[..]), (20, &[1][..]));
        queue.set_timer(NEVER, 0);
        assert_eq!(queue.next_ns(), NEVER);
    }

    #[test]
    fn timers_set_and_moved_at_random_end_in_order() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut timers = Timers::new(50);
        let mut expected = [u64::MAX; 50];
        for _ in 0..20_000 {
            let user: u32 = random.random_range(0..50);
            let time_ns = match random.random_range(0..4) {
                0 => u64::MAX,
                _ => random.random_range(0..1000),
            };
            timers.set(user, time_ns);
            expected[user as usize] = time_ns;
            let first = expected.iter().copied().min().filter(|at| *at != u64::MAX);
            assert_eq!(timers.first_ns(), first);
            if random.random_range(0..3) == 0
                && let Some(user) = timers.pop()
            {
                assert_eq!(Some(expected[user as usize]), first);
                expected[user as usize] = u64::MAX;
            }
        }
        assert!(timers.heap.capacity() == 50, "nothing is allocated");
    }
}
