//! One timer per user: a binary heap in which each user knows its place, so that a timer is moved
//! rather than set a second time, and nothing is allocated.

/// Times by user, the earliest first.
pub struct Timers {
    times_ns: Vec<u64>,
    /// Users, heaped by their times.
    heap: Vec<u32>,
    /// Each user's place in the heap; [`NONE`]: it waits for no time.
    places: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Timers {
    /// Nobody waits for a time.
    pub fn new(users: usize) -> Self {
        let heap = Vec::with_capacity(users);
        Self { times_ns: vec![u64::MAX; users], heap, places: vec![NONE; users] }
    }

    /// Sets a user's timer in place of its last one; `u64::MAX`: takes it away.
    #[inline]
    pub fn set(&mut self, user: u32, time_ns: u64) {
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
        self.settle(place, user);
        if time_ns == u64::MAX {
            self.remove(self.places[user as usize] as usize);
        }
    }

    /// The earliest time.
    #[inline]
    pub fn first_ns(&self) -> Option<u64> {
        self.heap.first().map(|&user| self.times_ns[user as usize])
    }

    /// Takes the user with the earliest time.
    #[inline]
    pub fn pop(&mut self) -> Option<u32> {
        let user = *self.heap.first()?;
        self.remove(0);
        Some(user)
    }

    fn remove(&mut self, place: usize) {
        let user = self.heap.swap_remove(place);
        self.places[user as usize] = NONE;
        if let Some(&moved) = self.heap.get(place) {
            self.settle(place, moved);
        }
    }

    /// Moves a user from a place to where its time belongs.
    fn settle(&mut self, mut place: usize, user: u32) {
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
    fn whatever_is_set_and_moved_comes_out_in_order() {
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
