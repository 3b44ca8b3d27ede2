//! When a phase may be played: all the time, or in slices that it shares with others.
//!
//! Several drivers are given the same turns and the same start, so that each knows whose slice it
//! is without a word between them:
//!
//! ```text
//! epoch  │ connect 0 │ connect 1 │ slice │ drain │ slice │ drain │ …      order 0 1 1 0 …
//! ```
//! A phase has a clock of its own, which runs in its own turns (a slice and its drain) and stands
//! still in all others: everything of a phase is told by it, its end, its arrivals, its latencies.
//! An event begins in a slice and may end in the drain; the ramp-in at a slice's beginning, in
//! which caches are cold, counts for nothing in a phase that ends by time. Where there are no
//! turns, the phase's clock is CLOCK_MONOTONIC.

use std::sync::Arc;

use super::clock::{NEVER, now_ns, ns};
use super::own_turns::{OwnTurns, Place};
use crate::plan::turns::Turns;

/// What a phase's clock shows when, and what may be begun then. Cheap to copy.
#[derive(Debug, Clone)]
pub struct Timeline {
    pub(super) start_ns: u64,
    pub(super) turns: Option<Arc<OwnTurns>>,
}

impl Timeline {
    /// A phase that starts at a CLOCK_MONOTONIC time. The ramp-in is left out where `ends_by_time`.
    pub fn new(start_ns: u64, turns: Option<&Turns>, ends_by_time: bool) -> Self {
        let turns = turns.map(|turns| Arc::new(OwnTurns::new(turns, ends_by_time)));
        Self { start_ns, turns }
    }

    /// The phase's start, which both clocks show alike.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// What the phase's clock shows at a CLOCK_MONOTONIC time. Between two turns it stands at the
    /// last nanosecond of the first.
    pub fn phase_ns(&self, monotonic_ns: u64) -> u64 {
        let Some(turns) = &self.turns else { return monotonic_ns };
        match turns.place(monotonic_ns.checked_sub(self.start_ns)) {
            Place::Own { before, into_ns } => self.start_ns + before * turns.turn_ns + into_ns,
            Place::Others { before } => self.start_ns + before * turns.turn_ns - 1,
        }
    }

    /// The CLOCK_MONOTONIC time at which the phase's clock will show this.
    pub fn monotonic_ns(&self, phase_ns: u64) -> u64 {
        let Some(turns) = &self.turns else { return phase_ns };
        if phase_ns == NEVER {
            return NEVER;
        }
        let since_ns = phase_ns.saturating_sub(self.start_ns);
        let begin_ns = turns.begin_ns(since_ns / turns.turn_ns);
        self.start_ns + begin_ns + since_ns % turns.turn_ns
    }

    /// The CLOCK_MONOTONIC time at which the turn opens in which the phase's clock will show this;
    /// 0 without turns.
    pub fn turn_opens_ns(&self, phase_ns: u64) -> u64 {
        let Some(turns) = &self.turns else { return 0 };
        let turn = phase_ns.saturating_sub(self.start_ns) / turns.turn_ns;
        self.start_ns + turns.begin_ns(turn)
    }

    /// The first time from `phase_ns` on at which whoever was free then may begin an event.
    ///
    /// Who came to an end so far into the drain begins as far into the next slice. Slices then
    /// hold a user's events without gaps, as if there had been no drain, and a rate is true
    /// whatever part of a slice an event takes (but where it divides one exactly, which no real
    /// event does). If all began with the slice, events of 5.0 and of 5.1 ms alike would begin
    /// four times in one of 20 ms, and those of 4.9 five times.
    #[inline]
    pub fn opens_ns(&self, phase_ns: u64) -> u64 {
        let Some(turns) = &self.turns else { return phase_ns };
        let since_ns = phase_ns.saturating_sub(self.start_ns);
        let is_open = since_ns % turns.turn_ns < turns.slice_ns;
        let drain_ns = turns.turn_ns - turns.slice_ns;
        self.start_ns + since_ns + if is_open { 0 } else { drain_ns }
    }

    /// Until when somebody rests whose event was due at `due_ns` and ended at `ended_ns`. Rests
    /// pass in slices only, as schedules do: so slices hold as much of users who rest and play as
    /// if there were no drains.
    ///
    /// A rest that is longer than a ramp-in ends in none, and the event and its rest take as much
    /// of the time that counts as they took of slices: a user who comes once a slice would come in
    /// every ramp-in otherwise, and never count.
    pub fn rests_until_ns(&self, due_ns: u64, ended_ns: u64, rest_ns: u64) -> u64 {
        let Some(turns) = &self.turns else { return ended_ns + rest_ns };
        let in_slices_ns = |phase_ns: u64| {
            let since_ns = self.opens_ns(phase_ns).saturating_sub(self.start_ns);
            since_ns / turns.turn_ns * turns.slice_ns + since_ns % turns.turn_ns
        };
        let ended_ns = in_slices_ns(ended_ns);
        if rest_ns < turns.ramp_in_ns {
            return self.arrival_ns(ended_ns + rest_ns, 0);
        }
        let took_ns = ended_ns.saturating_sub(in_slices_ns(due_ns));
        self.arrival_ns(self.counted_ns(due_ns) + took_ns + rest_ns, NEVER)
    }

    /// Does an event that was due then count? Not at a slice's ramp-in.
    #[inline]
    pub fn is_counted(&self, phase_ns: u64) -> bool {
        self.turns.as_ref().is_none_or(|turns| {
            phase_ns.saturating_sub(self.start_ns) % turns.turn_ns >= turns.ramp_in_ns
        })
    }

    /// Until when events may begin, and count or not, as one that begins then; not beyond it in a
    /// drain, in which none begins.
    #[inline]
    pub fn alike_until_ns(&self, phase_ns: u64) -> u64 {
        let Some(turns) = &self.turns else { return NEVER };
        let into_ns = phase_ns.saturating_sub(self.start_ns) % turns.turn_ns;
        let mut ends_ns = [turns.ramp_in_ns, turns.slice_ns].into_iter();
        phase_ns + ends_ns.find(|end_ns| into_ns < *end_ns).map_or(0, |end_ns| end_ns - into_ns)
    }

    /// How long so many seconds of slices are on the phase's clock: whole slices.
    pub fn length_ns(&self, seconds: f64) -> u64 {
        let length_ns = ns(seconds);
        self.turns
            .as_ref()
            .map_or(length_ns, |turns| length_ns.div_ceil(turns.slice_ns) * turns.turn_ns)
    }

    /// How much of the time from the start until then counts.
    #[inline]
    pub fn counted_ns(&self, phase_ns: u64) -> u64 {
        let since_ns = phase_ns.saturating_sub(self.start_ns);
        let Some(turns) = &self.turns else { return since_ns };
        let into_ns = (since_ns % turns.turn_ns).clamp(turns.ramp_in_ns, turns.slice_ns);
        let whole_ns = turns.slice_ns - turns.ramp_in_ns;
        since_ns / turns.turn_ns * whole_ns + into_ns - turns.ramp_in_ns
    }

    /// When an arrival is due whose schedule comes at gaps of `gap_ns` (0: at none that are equal).
    /// Schedules run in slices only.
    ///
    /// Where gaps are equal, it also stands still in a ramp-in for what that is longer than whole
    /// gaps, from the beginning of each. Every ramp-in has as many arrivals then, and the rest of
    /// its slice as many as the rate says. A schedule of one arrival a slice would else have all of
    /// them in ramp-ins, or none.
    #[inline]
    pub fn arrival_ns(&self, since_ns: u64, gap_ns: u64) -> u64 {
        let Some(turns) = &self.turns else { return self.start_ns.saturating_add(since_ns) };
        let still_ns = turns.ramp_in_ns.checked_rem(gap_ns).unwrap_or(0);
        let runs_ns = turns.slice_ns - still_ns;
        let whole_ns = (since_ns / runs_ns).saturating_mul(turns.turn_ns);
        self.start_ns.saturating_add(whole_ns).saturating_add(still_ns + since_ns % runs_ns)
    }

    /// How long an event took that ended just now in another turn than it was due in. An engine
    /// that ran on meanwhile was at it all the time, though the phase's clock stood still.
    #[cold]
    pub fn overrun_ns(&self, due_ns: u64, ended_ns: u64) -> u64 {
        match &self.turns {
            Some(turns) if !turns.frozen => now_ns().saturating_sub(self.monotonic_ns(due_ns)),
            _ => ended_ns.saturating_sub(due_ns),
        }
    }

    /// Which of our slices a time belongs to; none without turns.
    #[inline]
    pub fn slice(&self, phase_ns: u64) -> Option<usize> {
        let turns = self.turns.as_ref()?;
        Some((phase_ns.saturating_sub(self.start_ns) / turns.turn_ns) as usize)
    }

    /// How many of our slices are over then, their drains or not; none without turns. Between two
    /// turns the clock stands a nanosecond before the first one's end.
    pub fn whole_slices(&self, phase_ns: u64) -> usize {
        let Some(turns) = &self.turns else { return 0 };
        let since_ns = (phase_ns + 1).saturating_sub(self.start_ns);
        let is_over = since_ns % turns.turn_ns >= turns.slice_ns;
        (since_ns / turns.turn_ns) as usize + usize::from(is_over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START_NS: u64 = 1_000_000;

    /// Slices of 100, drains of 20, ramp-ins of 10; every 4 turns an epoch with 2 parts of 50.
    fn timeline(own: u32) -> Timeline {
        let turns = Turns {
            order: vec![0, 1, 1, 0],
            own,
            slice_ns: 100,
            drain_ns: 20,
            ramp_in_ns: 10,
            epoch_turns: 4,
            connect_ns: 50,
            frozen: true,
        };
        Timeline::new(START_NS, Some(&turns), true)
    }

    /// A slice of 100 each, without drain, ramp-in and epochs.
    fn two_turns() -> Turns {
        Turns {
            order: vec![0, 1],
            own: 0,
            slice_ns: 100,
            drain_ns: 0,
            ramp_in_ns: 0,
            epoch_turns: 0,
            connect_ns: 0,
            frozen: true,
        }
    }

    #[test]
    fn without_turns_the_clock_is_the_machines() {
        let all = Timeline::new(START_NS, None, true);
        for at in [0, START_NS, START_NS + 777] {
            assert_eq!((all.phase_ns(at), all.monotonic_ns(at)), (at, at));
            assert_eq!(all.opens_ns(at), at);
            assert!(all.is_counted(at) && all.alike_until_ns(at) == NEVER);
        }
        assert_eq!((all.length_ns(1.5), all.counted_ns(START_NS + 5)), (1_500_000_000, 5));
        assert_eq!((all.arrival_ns(7, 5), all.slice(START_NS)), (START_NS + 7, None));
    }

    #[test]
    fn it_is_one_drivers_turn_at_a_time_and_each_has_as_much() {
        let (first, second) = (timeline(0), timeline(1));
        let runs = |it: &Timeline, at| it.phase_ns(START_NS + at + 1) > it.phase_ns(START_NS + at);
        let mut own = [0, 0];
        for at in 0..10 * 580 {
            // the nanosecond in which a turn begins shows the step to it
            assert!(!(runs(&first, at) && runs(&second, at)), "both at {at}");
            own[0] += u64::from(runs(&first, at));
            own[1] += u64::from(runs(&second, at));
        }
        assert_eq!(own, [10 * 240, 10 * 240]);
    }

    #[test]
    fn the_clock_runs_in_own_turns_and_stands_still_between_them() {
        let first = timeline(0);
        let shown = |at: u64| first.phase_ns(START_NS + at) as i64 - START_NS as i64;
        // connecting, first turn, the other's two, own again, the next epoch
        assert_eq!([shown(0), shown(99)], [-1, -1]);
        assert_eq!([shown(100), shown(219)], [0, 119]);
        assert_eq!([shown(220), shown(459)], [119, 119]);
        assert_eq!([shown(460), shown(579)], [120, 239]);
        assert_eq!([shown(580), shown(679), shown(680)], [239, 239, 240]);
    }

    #[test]
    fn both_clocks_agree_wherever_it_runs() {
        for own in [0, 1] {
            let it = timeline(own);
            for phase_ns in START_NS..START_NS + 2_000 {
                assert_eq!(it.phase_ns(it.monotonic_ns(phase_ns)), phase_ns);
            }
        }
        assert_eq!(timeline(0).monotonic_ns(NEVER), NEVER);
        let opens = |at: u64| timeline(0).turn_opens_ns(START_NS + at) - START_NS;
        assert_eq!([opens(0), opens(119), opens(120), opens(239)], [100, 100, 460, 460]);
    }

    #[test]
    fn an_event_begins_in_a_slice_and_counts_after_its_ramp_in() {
        let it = timeline(0);
        let opens = |at: u64| it.opens_ns(START_NS + at) - START_NS;
        assert_eq!(
            [opens(0), opens(99), opens(100), opens(119), opens(120)],
            [0, 99, 120, 139, 120]
        );
        let counts = |at: u64| it.is_counted(START_NS + at);
        assert_eq!(
            [counts(0), counts(9), counts(10), counts(129), counts(130)].map(u8::from),
            [0, 0, 1, 0, 1]
        );
        let alike = |at: u64| it.alike_until_ns(START_NS + at) - START_NS;
        assert_eq!(
            [alike(0), alike(9), alike(10), alike(99), alike(100), alike(119), alike(120)],
            [10, 10, 100, 100, 100, 119, 130]
        );
        let counted = |at: u64| it.counted_ns(START_NS + at);
        assert_eq!([counted(5), counted(10), counted(60), counted(119)], [0, 0, 50, 90]);
        assert_eq!([counted(240), it.length_ns(250e-9)], [180, 360]);
        assert_eq!([it.arrival_ns(99, 0), it.arrival_ns(100, 0)], [START_NS + 99, START_NS + 120]);
        assert_eq!(it.slice(START_NS + 130), Some(1));
    }

    #[test]
    fn a_slice_is_over_at_its_drain_when_all_its_time_has_counted() {
        let it = timeline(0);
        for (at, whole) in [(0, 0), (98, 0), (99, 1), (119, 1), (120, 1), (218, 1), (219, 2)] {
            assert_eq!(it.whole_slices(START_NS + at), whole, "{at}");
            assert_eq!(it.counted_ns(START_NS + at + 1) / 90, whole as u64, "{at}");
        }
    }

    #[test]
    fn a_rate_is_true_whatever_part_of_a_slice_an_event_takes() {
        let it = timeline(0);
        for takes_ns in [1, 7, 9, 11, 13, 17, 19] {
            let (mut at, mut counted) = (START_NS, 0);
            while at < START_NS + 120 * 1_000 {
                counted += u64::from(it.is_counted(at));
                at = it.opens_ns(at + takes_ns);
            }
            let rate = counted as f64 / it.counted_ns(START_NS + 120 * 1_000) as f64;
            assert!((rate * takes_ns as f64 - 1.0).abs() < 0.003, "{takes_ns}: {rate}");
        }
    }

    #[test]
    fn a_schedule_counts_at_its_rate_also_where_it_comes_once_a_slice() {
        let it = timeline(0);
        let until_ns = START_NS + 120 * 1_000;
        for gap_ns in [1, 3, 7, 10, 11, 19, 20, 33, 50, 70, 90, 99, 100, 101, 200, 300, 1_000] {
            let arrivals = (0..).map(|number| it.arrival_ns(number * gap_ns, gap_ns));
            let counted = arrivals.take_while(|at| *at < until_ns).filter(|at| it.is_counted(*at));
            let due = it.counted_ns(until_ns) as f64 / gap_ns as f64;
            let counted = counted.count() as f64;
            assert!((counted - due).abs() <= 1.0, "{gap_ns}: {counted} of {due}");
        }
        // gaps of 4: two in a ramp-in of 10, from its third nanosecond on
        let at = [0, 1, 2, 24, 25].map(|number| it.arrival_ns(number * 4, 4) - START_NS);
        assert_eq!(at, [2, 6, 10, 98, 120 + 4]);
    }

    #[test]
    fn rests_pass_in_slices_only() {
        let it = timeline(0);
        let until = |due, ended, rest_ns| {
            it.rests_until_ns(START_NS + due, START_NS + ended, rest_ns) - START_NS
        };
        assert_eq!([until(0, 0, 9), until(85, 92, 9)], [9, 121]);
        // one longer than a ramp-in ends in none
        assert_eq!([until(0, 0, 89), until(0, 0, 90), until(80, 90, 20)], [99, 130, 140]);
        // who ended in the drain begins to rest in the next slice
        assert_eq!([until(105, 105, 0), until(105, 105, 5)], [125, 130]);
        let all = Timeline::new(START_NS, None, true);
        assert_eq!(all.rests_until_ns(START_NS, START_NS + 2, 7), START_NS + 9);
    }

    #[test]
    fn users_who_rest_count_at_their_rate_also_where_they_come_once_a_slice() {
        let it = timeline(0);
        for (takes_ns, rest_ns) in
            [(7, 30), (1, 99), (7, 93), (20, 80), (10, 190), (2, 9), (15, 46)]
        {
            let (mut at, mut counted) = (START_NS, 0);
            while at < START_NS + 120 * 1_000 {
                counted += u64::from(it.is_counted(at));
                at = it.rests_until_ns(at, at + takes_ns, rest_ns);
            }
            let due = it.counted_ns(START_NS + 120 * 1_000) / (takes_ns + rest_ns);
            assert!(counted.abs_diff(due) <= 1 + due / 200, "{takes_ns}: {counted} of {due}");
        }
    }

    #[test]
    fn a_phase_that_ends_by_count_has_no_ramp_in() {
        let turns = Turns { own: 1, ramp_in_ns: 10, connect_ns: 50, ..two_turns() };
        let it = Timeline::new(START_NS, Some(&turns), false);
        assert!(it.is_counted(START_NS));
        assert_eq!(it.counted_ns(START_NS + 250), 250);
        assert_eq!(it.monotonic_ns(START_NS + 150), START_NS + 350);
    }

    #[test]
    fn an_arrival_beyond_all_time_is_never_due() {
        let turns = Turns { slice_ns: 1_000, drain_ns: 100, ..two_turns() };
        for turns in [None, Some(&turns)] {
            let timeline = Timeline::new(START_NS, turns, true);
            assert_eq!(timeline.arrival_ns(u64::MAX, 0), NEVER);
        }
    }
}
