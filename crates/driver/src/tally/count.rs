//! What a worker counts of one stream's events: numbers, HDR histograms, a row per second.
//!
//! It belongs to one worker alone, so that counting an event takes no lock and allocates nothing
//! (but a row once a second where the phase's length is unknown).

use hdrhistogram::Histogram;

use super::histogram::histogram;
use crate::plan::error::Error;
use crate::plan::event::Series;
use crate::schedule::clock::{NEVER, SECOND_NS};
use crate::schedule::timeline::Timeline;

/// One event, from its intended time to its answer, on its phase's clock.
#[derive(Debug, Clone, Copy)]
pub struct EventTimes {
    /// When it was due.
    pub intended_ns: u64,
    /// When it was begun.
    pub begun_ns: u64,
    /// When it was answered.
    pub answered_ns: u64,
}

/// One worker's count of one stream.
pub struct EventCounts {
    timeline: Timeline,
    measured_ns: u64,
    /// What of the phase's counted time the warm-up had, and how many slices.
    warmup_ns: u64,
    warmup_slices: usize,
    /// Events that ended well after the warm-up.
    pub done: u64,
    /// Events that failed after the warm-up.
    pub failed: u64,
    /// What those of them had waited that had no answer when their connections were cut.
    pub cut_ns: Vec<u64>,
    /// Events, of the warm-up or not, that were under way when the phase was to end.
    pub under_way: u64,
    /// The least that one of them took, or had waited when it was cut.
    pub under_way_ns_min: u64,
    /// Events of the warm-up.
    pub warmup: u64,
    /// The latest intended time of all events begun.
    pub last_intended_ns: u64,
    /// The latest answer, to an event that was not cut.
    pub last_answer_ns: u64,
    /// Latency by transaction type; 0 is the unnamed one.
    pub latency: Vec<Histogram<u64>>,
    /// Names of the transaction types.
    pub names: Vec<String>,
    /// Begun minus intended, of those that were late.
    pub lateness: Histogram<u64>,
    /// Measured events begun just when they were intended, as most are in a closed loop.
    pub punctual: u64,
    /// A row per second after the warm-up.
    pub series: Series,
    /// Events done in each slice after the warm-up, where turns are taken.
    pub slices: Vec<u64>,
    /// Measured events that ended after the turn in which they began.
    pub overrun: u64,
    /// For transaction types that are named in measured time.
    spare: Vec<Histogram<u64>>,
}

impl EventCounts {
    /// Nothing counted, with room for so many seconds.
    pub fn new(seconds: usize) -> Result<Self, Error> {
        let series = Series {
            done: Vec::with_capacity(seconds),
            failed: Vec::with_capacity(seconds),
            latency_ns_max: Vec::with_capacity(seconds),
        };
        Ok(Self {
            timeline: Timeline::new(0, None, true),
            measured_ns: 0,
            warmup_ns: 0,
            warmup_slices: 0,
            done: 0,
            failed: 0,
            cut_ns: Vec::new(),
            under_way: 0,
            under_way_ns_min: NEVER,
            warmup: 0,
            last_intended_ns: 0,
            last_answer_ns: 0,
            latency: vec![histogram()?],
            names: vec![String::new()],
            lateness: histogram()?,
            punctual: 0,
            spare: Vec::new(),
            series,
            slices: Vec::new(),
            overrun: 0,
        })
    }

    /// Sets the phase's clock and when the warm-up ends.
    pub fn start(&mut self, timeline: &Timeline, measured_ns: u64) {
        self.timeline = timeline.clone();
        self.measured_ns = measured_ns;
        self.warmup_ns = timeline.counted_ns(measured_ns);
        self.warmup_slices = timeline.slice(measured_ns).unwrap_or(0);
    }

    /// The number of a transaction type, new ones included.
    pub fn transaction_type(&mut self, name: &str) -> Result<usize, Error> {
        if let Some(kind) = self.names.iter().position(|known| known == name) {
            return Ok(kind);
        }
        self.names.push(name.to_owned());
        self.latency.push(self.spare.pop().map_or_else(histogram, Ok)?);
        Ok(self.names.len() - 1)
    }

    /// Makes room for so many transaction types whose names are still to come.
    pub fn expect_types(&mut self, types: usize) -> Result<(), Error> {
        while self.spare.len() < types {
            self.spare.push(histogram()?);
        }
        self.names.reserve(types);
        self.latency.reserve(types);
        Ok(())
    }

    /// Counts an event that ended well.
    #[inline]
    pub fn done(&mut self, event: EventTimes, kind: usize) {
        if !self.is_measured(event) {
            return;
        }
        self.done += 1;
        let latency_ns = self.latency_ns(event);
        self.latency[kind].saturating_record(latency_ns);
        let second = self.second(event.answered_ns);
        self.series.done[second] += 1;
        let longest = &mut self.series.latency_ns_max[second];
        *longest = latency_ns.max(*longest);
    }

    /// An event's latency; the event is counted in the slice that it began in.
    #[inline]
    fn latency_ns(&mut self, event: EventTimes) -> u64 {
        let EventTimes { intended_ns, answered_ns, .. } = event;
        let slice = self.timeline.slice(intended_ns);
        slice.inspect(|slice| self.count_slice(*slice));
        if slice == self.timeline.slice(answered_ns) {
            return answered_ns.saturating_sub(intended_ns);
        }
        self.overrun += 1;
        self.timeline.overrun_ns(intended_ns, answered_ns)
    }

    #[inline]
    fn count_slice(&mut self, slice: usize) {
        let at = slice.saturating_sub(self.warmup_slices);
        if at >= self.slices.len() {
            self.slices.resize(at + 1, 0);
        }
        self.slices[at] += 1;
    }

    /// Counts an event that failed; its latency is of no use. The row of its second, if measured.
    pub fn failed(&mut self, event: EventTimes) -> Option<usize> {
        if !self.is_measured(event) {
            return None;
        }
        self.failed += 1;
        let second = self.second(event.answered_ns);
        self.series.failed[second] += 1;
        Some(second)
    }

    /// Counts an event that was given up without an answer at `answered_ns`, in a phase that was to
    /// end at `stop_ns`: it failed, and would have taken longer than it had waited. The phase did
    /// not last until it was given up, so it stands in the phase's last second.
    #[cold]
    pub fn cut(&mut self, event: EventTimes, stop_ns: u64) {
        let waited_ns = event.answered_ns.saturating_sub(event.intended_ns);
        let until_ns = stop_ns.saturating_sub(1).min(event.answered_ns).max(event.intended_ns);
        let last_answer_ns = self.last_answer_ns;
        let second = self.failed(EventTimes { answered_ns: until_ns, ..event });
        self.last_answer_ns = last_answer_ns;
        if let Some(second) = second {
            self.cut_ns.push(waited_ns);
            let longest = &mut self.series.latency_ns_max[second];
            *longest = waited_ns.max(*longest);
        }
    }

    /// Notes an event that ended, or was cut, after the phase's time was up: where none was done,
    /// it is what is known of the rate.
    #[cold]
    pub fn outlasted(&mut self, event: EventTimes) {
        self.under_way += 1;
        let waited_ns = event.answered_ns.saturating_sub(event.intended_ns);
        self.under_way_ns_min = self.under_way_ns_min.min(waited_ns);
    }

    /// Notes the time of an event that counts for nothing.
    pub fn withdraw(&mut self, event: EventTimes) {
        self.last_intended_ns = self.last_intended_ns.max(event.intended_ns);
        self.last_answer_ns = event.answered_ns;
    }

    /// Notes what holds for every event; false in the warm-up.
    #[inline]
    fn is_measured(&mut self, event: EventTimes) -> bool {
        self.last_intended_ns = self.last_intended_ns.max(event.intended_ns);
        self.last_answer_ns = event.answered_ns;
        let counts = self.timeline.is_counted(event.intended_ns);
        if event.intended_ns < self.measured_ns || !counts {
            self.warmup += 1;
            return false;
        }
        match event.begun_ns.saturating_sub(event.intended_ns) {
            0 => self.punctual += 1,
            late_ns => self.lateness.saturating_record(late_ns),
        }
        true
    }

    #[inline]
    fn second(&mut self, answered_ns: u64) -> usize {
        let counted_ns = self.timeline.counted_ns(answered_ns).saturating_sub(self.warmup_ns);
        let second = (counted_ns / SECOND_NS) as usize;
        if second >= self.series.done.len() {
            self.series.extend(second + 1);
        }
        second
    }
}

impl Series {
    /// Makes all columns that long.
    #[cold]
    pub fn extend(&mut self, seconds: usize) {
        for column in [&mut self.done, &mut self.failed, &mut self.latency_ns_max] {
            column.resize(seconds.max(column.len()), 0);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::plan::turns::Turns;
    use crate::schedule::clock::now_ns;
    use crate::tally::histogram::LONGEST_NS;

    fn times(intended_ns: u64, answered_ns: u64) -> EventTimes {
        EventTimes { intended_ns, begun_ns: intended_ns + 10, answered_ns }
    }

    #[test]
    fn events_due_in_the_warm_up_are_counted_apart() {
        let mut counts = EventCounts::new(0).unwrap();
        counts.start(&Timeline::new(0, None, true), 1_000);
        counts.done(times(999, 5_000), 0);
        counts.failed(times(500, 900));
        counts.done(times(1_000, 1_200), 0);
        assert_eq!((counts.warmup, counts.done, counts.failed), (2, 1, 0));
        assert_eq!((counts.latency[0].len(), counts.lateness.len()), (1, 1));
    }

    #[test]
    fn what_was_waited_for_no_answer_is_kept_but_in_the_warm_up() {
        let mut counts = EventCounts::new(0).unwrap();
        counts.start(&Timeline::new(0, None, true), 1_000);
        counts.cut(times(999, 5_000), 3_000);
        counts.cut(times(2_000, 2_000 + 11 * SECOND_NS), 1_000 + 2 * SECOND_NS);
        assert_eq!((counts.warmup, counts.failed, counts.latency[0].len()), (1, 1, 0));
        assert_eq!(
            (counts.cut_ns, counts.series.latency_ns_max),
            (vec![11 * SECOND_NS], vec![0, 11 * SECOND_NS])
        );
        assert_eq!(counts.last_answer_ns, 0, "nobody answered");
    }

    #[test]
    fn room_for_types_is_made_before_they_are_named() {
        let mut counts = EventCounts::new(0).unwrap();
        counts.expect_types(2).unwrap();
        for (left, name) in [(1, "a"), (0, "b"), (0, "c"), (0, "a")] {
            let kind = counts.transaction_type(name).unwrap();
            counts.done(times(0, 5), kind);
            assert_eq!(counts.spare.len(), left);
        }
        assert_eq!(counts.latency.iter().map(|it| it.len()).collect::<Vec<_>>(), [0, 2, 1, 1]);
    }

    #[test]
    fn latency_runs_from_the_intended_time_and_is_kept_by_type() {
        let mut counts = EventCounts::new(0).unwrap();
        let kind = counts.transaction_type("payment").unwrap();
        assert_eq!(counts.transaction_type("payment").unwrap(), kind);
        counts.done(times(0, 800), kind);
        assert_eq!((counts.latency[kind].max(), counts.latency[0].len()), (800, 0));
        assert_eq!(counts.lateness.max(), 10);
    }

    #[test]
    fn what_outlasts_its_turn_took_as_long_as_its_engine_was_at_it() {
        let turns = |frozen| Turns {
            order: vec![0, 1],
            own: 0,
            slice_ns: SECOND_NS,
            drain_ns: 0,
            ramp_in_ns: 0,
            epoch_turns: 0,
            connect_ns: 0,
            frozen,
        };
        // Due nine seconds ago, in our first slice, and answered in our second; now is our fifth.
        let start_ns = now_ns() - 9 * SECOND_NS;
        let longest_s = |frozen| {
            let mut counts = EventCounts::new(0).unwrap();
            counts.start(&Timeline::new(start_ns, Some(&turns(frozen)), true), start_ns);
            counts.done(times(start_ns, start_ns + SECOND_NS / 2), 0);
            counts.done(times(start_ns, start_ns + SECOND_NS + SECOND_NS / 2), 0);
            assert_eq!((counts.done, counts.overrun, counts.slices.as_slice()), (2, 1, &[2][..]));
            counts.latency[0].max() as f64 / SECOND_NS as f64
        };
        assert!((longest_s(true) - 1.5).abs() < 0.01);
        assert!(longest_s(false) >= 9.0);
    }

    #[test]
    fn more_than_an_hour_counts_as_an_hour() {
        let mut counts = EventCounts::new(0).unwrap();
        counts.done(times(0, 2 * LONGEST_NS), 0);
        assert_eq!(counts.latency[0].len(), 1);
        assert!(counts.latency[0].equivalent(counts.latency[0].max(), LONGEST_NS));
    }

    #[test]
    fn every_second_has_a_row_even_an_idle_one() {
        let mut counts = EventCounts::new(0).unwrap();
        counts.start(&Timeline::new(0, None, true), 0);
        counts.done(times(0, 500), 0);
        counts.done(times(0, 2 * SECOND_NS + 1), 0);
        counts.failed(times(0, 2 * SECOND_NS + 2));
        assert_eq!(counts.series.done, [1, 0, 1]);
        assert_eq!(counts.series.failed, [0, 0, 1]);
        assert_eq!(counts.series.latency_ns_max, [500, 0, 2 * SECOND_NS + 1]);
    }
}
