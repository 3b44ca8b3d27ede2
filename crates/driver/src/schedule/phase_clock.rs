//! A worker's reading of its phase's clock: cheap, as it is read about every event. It works out
//! whose turn it is once a turn, and then only subtracts.

use super::clock::{NAP_NS, NEVER, SPIN_NS, now_ns};
use super::own_turns::Place;
use super::timeline::Timeline;

/// What a phase's clock shows, as its worker reads it.
#[derive(Debug)]
pub struct PhaseClock {
    timeline: Timeline,
    /// What the clock lags behind CLOCK_MONOTONIC, until that shows `until_ns`.
    lag_ns: u64,
    until_ns: u64,
    /// When the users are to connect anew, by CLOCK_MONOTONIC.
    connect_ns: u64,
}

impl PhaseClock {
    /// Before anything was read.
    pub fn new(timeline: Timeline) -> Self {
        let until_ns = if timeline.turns.is_none() { NEVER } else { 0 };
        let connect_ns = match &timeline.turns {
            Some(turns) if turns.connects_ns > 0 => timeline.start_ns + turns.connect_after(0),
            _ => NEVER,
        };
        Self { timeline, lag_ns: 0, until_ns, connect_ns }
    }

    /// What it shows now.
    #[inline]
    pub fn now_ns(&mut self) -> u64 {
        let now = now_ns();
        if now < self.until_ns { now - self.lag_ns } else { self.find_turn(now) }
    }

    #[cold]
    fn find_turn(&mut self, now: u64) -> u64 {
        let phase_ns = self.timeline.phase_ns(now);
        self.until_ns = 0;
        if let Some(turns) = &self.timeline.turns {
            let since_ns = now.checked_sub(self.timeline.start_ns);
            if let Place::Own { into_ns, .. } = turns.place(since_ns) {
                (self.lag_ns, self.until_ns) = (now - phase_ns, now + turns.turn_ns - into_ns);
            }
        }
        phase_ns
    }

    /// What it lags behind CLOCK_MONOTONIC in the turn in which it was read last; none if it stood
    /// still then.
    #[inline]
    pub fn lag_ns(&self) -> Option<u64> {
        (self.until_ns > 0).then_some(self.lag_ns)
    }

    /// What it shows of a CLOCK_MONOTONIC time that is near.
    #[inline]
    pub fn phase_ns(&self, monotonic_ns: u64) -> u64 {
        if monotonic_ns < self.until_ns {
            monotonic_ns.saturating_sub(self.lag_ns)
        } else {
            self.timeline.phase_ns(monotonic_ns)
        }
    }

    /// Until when somebody rests whose event was due and ended at times that it has shown.
    pub fn rests_until_ns(&self, due_ns: u64, ended_ns: u64, rest_ns: u64) -> u64 {
        self.timeline.rests_until_ns(due_ns, ended_ns, rest_ns)
    }

    /// Until when to sleep for it to show a time, where it showed `now` last: CLOCK_MONOTONIC, and
    /// not beyond the time at which the users are to connect anew. 0: that is near, and spun for.
    #[inline]
    pub fn sleep_end_ns(&self, phase_ns: u64, now: u64) -> u64 {
        let now = if self.timeline.turns.is_none() { now } else { now_ns() };
        self.sleep_end_from(phase_ns, now)
    }

    /// The same of a CLOCK_MONOTONIC time. Nobody spins in others' time, on what may be their core:
    /// a slice's ramp-in is for who wakes late.
    fn sleep_end_from(&self, phase_ns: u64, monotonic_ns: u64) -> u64 {
        let due_ns = self.timeline.monotonic_ns(phase_ns).min(self.connect_ns);
        let opens_ns = self.timeline.turn_opens_ns(phase_ns).min(due_ns);
        let spins_ns = due_ns.saturating_sub(SPIN_NS).max(opens_ns);
        if spins_ns > monotonic_ns { spins_ns.min(monotonic_ns + NAP_NS) } else { 0 }
    }

    /// Are the users to connect anew now? True once in every epoch, at the time that is ours.
    #[inline]
    pub fn is_to_connect(&mut self) -> bool {
        self.connect_ns != NEVER && self.connects_now(now_ns())
    }

    #[cold]
    fn connects_now(&mut self, now: u64) -> bool {
        let Some(turns) = &self.timeline.turns else { return false };
        if now < self.connect_ns {
            return false;
        }
        let late_ns = now - self.connect_ns;
        self.connect_ns =
            self.timeline.start_ns + turns.connect_after(now - self.timeline.start_ns);
        // One that was slept through is left out: it is somebody else's time now.
        late_ns < turns.connect_ns / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::turns::Turns;

    const START_NS: u64 = 1_000_000;

    /// The clock of the second of two, whose slices are 100 units long and drained for 20.
    fn second_of_two(unit_ns: u64, epoch_turns: u64) -> PhaseClock {
        let turns = Turns {
            order: vec![0, 1, 1, 0],
            own: 1,
            slice_ns: 100 * unit_ns,
            drain_ns: 20 * unit_ns,
            ramp_in_ns: 10 * unit_ns,
            epoch_turns,
            connect_ns: 50 * unit_ns,
            frozen: true,
        };
        PhaseClock::new(Timeline::new(START_NS, Some(&turns), true))
    }

    #[test]
    fn who_waits_for_a_turn_sleeps_until_its_turn_opens() {
        let clock = second_of_two(10_000, 0);
        let opens_ns = START_NS + 1_200_000;
        let sleeps = |due_ns: u64, at_ns: u64| clock.sleep_end_from(START_NS + due_ns, at_ns);
        assert_eq!(sleeps(0, START_NS), opens_ns, "due at once in its turn");
        assert_eq!(sleeps(SPIN_NS - 1, START_NS), opens_ns, "due soon after");
        assert_eq!(sleeps(900_000, START_NS), opens_ns + 900_000 - SPIN_NS, "due in its midst");
        assert_eq!(sleeps(SPIN_NS, opens_ns), 0, "its own time may be spun in");
        assert_eq!(sleeps(0, opens_ns - 1), opens_ns, "not a moment of others'");
    }

    #[test]
    fn without_turns_a_deadline_is_spun_for_at_last() {
        let clock = PhaseClock::new(Timeline::new(START_NS, None, true));
        let sleeps = |due_ns: u64| clock.sleep_end_ns(START_NS + due_ns, START_NS);
        assert_eq!(sleeps(SPIN_NS), 0);
        assert_eq!(sleeps(SPIN_NS + 1), START_NS + 1);
        assert_eq!(sleeps(2 * NAP_NS), START_NS + NAP_NS, "so that a stop is seen soon");
    }

    #[test]
    fn users_connect_anew_once_in_an_epoch_at_their_own_time() {
        let mut often = second_of_two(1, 4);
        let times: Vec<u64> = (0..1_700).filter(|at| often.connects_now(START_NS + at)).collect();
        assert_eq!(times, [580, 2 * 580 + 50], "each second epoch the other way round");
        let mut late = second_of_two(1, 4);
        assert!(!late.connects_now(START_NS + 580 + 40), "half of its part is over");
        assert!(late.connects_now(START_NS + 2 * 580 + 60));
    }
}
