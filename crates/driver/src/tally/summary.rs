//! Adds up what the workers counted of a phase, and checks that no event is missing.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::UserCounts;
use super::histogram::{add, histogram, latency};
use super::share::StreamShare;
use super::statements::{self, Statements, tallies};
use crate::plan::error::Error;
use crate::plan::event::{Latency, Series, Tally};
use crate::schedule::clock::NEVER;
use crate::schedule::stream::StreamState;
use crate::schedule::timeline::Timeline;

/// What a phase's streams did.
pub struct Summary {
    /// One per stream, in the phase's order.
    pub streams: Vec<Tally>,
    /// Latencies of streams that count in one unit, by unit.
    pub together: BTreeMap<String, Latency>,
}

/// Adds up what all workers counted.
pub fn summary(
    streams: &[StreamState],
    shares: Vec<StreamShare>,
    span: &PhaseSpan,
) -> Result<Summary, Error> {
    let mut sums = streams.iter().map(StreamSum::new).collect::<Result<Vec<_>, Error>>()?;
    for share in shares {
        sums[share.index].add(share)?;
    }
    let seconds = sums.iter().map(|sum| sum.series.done.len()).max().unwrap_or(0);
    let together = together(&sums)?;
    let streams = sums.into_iter().map(|sum| sum.tally(span, seconds)).collect::<Result<_, _>>()?;
    Ok(Summary { streams, together })
}

/// Percentiles do not average, so histograms are added up: those of units that two or more streams
/// answered in.
fn together(sums: &[StreamSum]) -> Result<BTreeMap<String, Latency>, Error> {
    let mut units: BTreeMap<&str, Vec<Histogram<u64>>> = BTreeMap::new();
    for sum in sums {
        let own = sum.all_types()?;
        if !own.is_empty() {
            units.entry(&sum.stream.declared.unit).or_default().push(own);
        }
    }
    units.retain(|_, streams| streams.len() > 1);
    let add_up = |(unit, streams): (&str, Vec<Histogram<u64>>)| {
        let mut whole = histogram()?;
        streams.iter().try_for_each(|own| add(&mut whole, own))?;
        Ok((unit.to_owned(), latency(&whole)?))
    };
    units.into_iter().map(add_up).collect()
}

/// A phase's clock, when its warm-up ended, and when it was told to stop.
pub struct PhaseSpan {
    /// Its clock and slices.
    pub timeline: Timeline,
    /// The end of the warm-up.
    pub measured_ns: u64,
    /// Nothing due from here on is played; [`NEVER`] where only counts end it.
    pub stop_ns: u64,
    /// When its last event was answered, or its time was up if that is later.
    pub ended_ns: u64,
}

impl PhaseSpan {
    /// The slices that passed whole after the warm-up, as many as its counted time has; none
    /// without turns.
    fn slices(&self) -> usize {
        let warmup = self.timeline.slice(self.measured_ns).unwrap_or(0);
        self.timeline.whole_slices(self.ended_ns).saturating_sub(warmup)
    }
}

/// All workers' counts of one stream.
struct StreamSum<'a> {
    stream: &'a StreamState<'a>,
    done: u64,
    failed: u64,
    cut_ns: Vec<u64>,
    under_way: u64,
    under_way_ns_min: u64,
    warmup: u64,
    begun: u64,
    withdrawn: u64,
    claimed_before: u64,
    statements_before: Statements,
    last_intended_ns: u64,
    dropped_ns: Vec<u64>,
    returned: u64,
    counts: UserCounts,
    latency: BTreeMap<String, Histogram<u64>>,
    lateness: Histogram<u64>,
    series: Series,
    slices: Vec<u64>,
    overrun: u64,
    renewed: u64,
    rested_ns: u64,
}

impl<'a> StreamSum<'a> {
    fn new(stream: &'a StreamState<'a>) -> Result<Self, Error> {
        Ok(Self {
            stream,
            done: 0,
            failed: 0,
            cut_ns: Vec::new(),
            under_way: 0,
            under_way_ns_min: NEVER,
            warmup: 0,
            begun: 0,
            withdrawn: 0,
            claimed_before: 0,
            statements_before: Statements::new(),
            last_intended_ns: 0,
            dropped_ns: Vec::new(),
            returned: 0,
            counts: UserCounts::default(),
            latency: BTreeMap::new(),
            lateness: histogram()?,
            series: Series::default(),
            slices: Vec::new(),
            overrun: 0,
            renewed: 0,
            rested_ns: 0,
        })
    }

    fn add(&mut self, share: StreamShare) -> Result<(), Error> {
        let events = share.events;
        self.done += events.done;
        self.failed += events.failed;
        self.cut_ns.extend(events.cut_ns);
        self.under_way += events.under_way;
        self.under_way_ns_min = self.under_way_ns_min.min(events.under_way_ns_min);
        self.warmup += events.warmup;
        self.begun += share.begun;
        self.withdrawn += share.withdrawn;
        self.claimed_before += share.claimed_before;
        statements::add(&mut self.statements_before, share.statements_before);
        self.renewed += share.renewed;
        self.rested_ns += share.rested_ns;
        self.last_intended_ns = self.last_intended_ns.max(events.last_intended_ns);
        self.dropped_ns.extend(share.dropped_ns);
        self.returned += share.returned;
        self.counts.add(share.statements);
        for (name, latency) in events.names.into_iter().zip(&events.latency) {
            if !latency.is_empty() {
                let sum = match self.latency.entry(name) {
                    std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                    std::collections::btree_map::Entry::Vacant(new) => new.insert(histogram()?),
                };
                add(sum, latency)?;
            }
        }
        add(&mut self.lateness, &events.lateness)?;
        self.lateness.saturating_record_n(0, events.punctual);
        self.series.add(&events.series);
        self.slices.resize(events.slices.len().max(self.slices.len()), 0);
        self.slices.iter_mut().zip(&events.slices).for_each(|(sum, more)| *sum += more);
        self.overrun += events.overrun;
        Ok(())
    }

    fn tally(mut self, span: &PhaseSpan, seconds: usize) -> Result<Tally, Error> {
        let (stream, (intended, skipped)) =
            (self.stream.declared, self.check_identity(span, seconds)?);
        Ok(Tally {
            name: stream.name.clone(),
            unit: stream.unit.clone(),
            units_per_event: stream.units_per_event,
            connections: self.stream.own_users,
            target_per_s: stream.pace.rate_per_s(),
            intended,
            done: self.done,
            failed: self.failed,
            cut: self.cut_ns.len() as u64,
            cut_ns_max: self.cut_ns.iter().copied().max().unwrap_or(0),
            under_way: self.under_way,
            under_way_ns_min: if self.under_way > 0 { self.under_way_ns_min } else { 0 },
            skipped,
            warmup: self.warmup,
            restarted: self.counts.restarted,
            queries: self.counts.queries,
            claimed: self.counts.claimed,
            claimed_further: self.counts.further,
            claimed_before: self.claimed_before,
            round_trips: self.counts.round_trips,
            sent_bytes: self.counts.sent_bytes,
            received_bytes: self.counts.received_bytes,
            rows_read: self.counts.rows_read,
            rows_changed: self.counts.rows_changed,
            busy: self.counts.busy,
            reconnected: self.counts.reconnected,
            latency: latency(&self.all_types()?)?,
            errors: self.counts.errors,
            service_ns: self.counts.service_ns,
            lateness: latency(&self.lateness)?,
            transactions: by_type(&self.latency)?,
            series: self.series,
            slices: self.slices,
            overrun: self.overrun,
            renewed: self.renewed,
            rested_ns: self.rested_ns,
            statements: tallies(self.counts.statements),
            statements_before: tallies(self.statements_before),
            rows_committed: self.counts.settled.committed,
            rows_rolled_back: self.counts.settled.rolled_back,
            rows_lost: self.counts.settled.lost,
            commits: self.counts.settled.commits,
            ends: self.counts.ends,
            ends_open: self.counts.ends_open,
            client_ns: self.counts.client_ns,
            client_events: self.counts.client_events,
            slept_ns: self.counts.slept_ns,
        })
    }

    /// Of all transaction types, and of events that were cut, which are of none.
    fn all_types(&self) -> Result<Histogram<u64>, Error> {
        let mut sum = histogram()?;
        self.latency.values().try_for_each(|of_type| add(&mut sum, of_type))?;
        self.cut_ns.iter().for_each(|waited_ns| sum.saturating_record(*waited_ns));
        Ok(sum)
    }
}

impl Series {
    /// Adds another's columns, second by second.
    pub fn add(&mut self, other: &Series) {
        self.extend(other.done.len());
        let sum = |(sum, more): (&mut u64, &u64)| *sum += more;
        self.done.iter_mut().zip(&other.done).for_each(sum);
        self.failed.iter_mut().zip(&other.failed).for_each(sum);
        let longest = self.latency_ns_max.iter_mut().zip(&other.latency_ns_max);
        longest.for_each(|(longest, more)| *longest = (*longest).max(*more));
    }
}

fn by_type(types: &BTreeMap<String, Histogram<u64>>) -> Result<BTreeMap<String, Latency>, Error> {
    let named = types.keys().any(|name| !name.is_empty());
    let shown = types.iter().filter(|_| named);
    shown.map(|(name, of_type)| Ok((name.clone(), latency(of_type)?))).collect()
}

// intended = done + failed + skipped: held for every stream of every phase.

impl StreamSum<'_> {
    /// How many events should have been played, and how many of them nobody began. Counted from
    /// the schedule and the tickets, not from the events played, so that the identity is a check.
    fn intended_and_skipped(&self, span: &PhaseSpan) -> (u64, u64) {
        let Some(schedule) = &self.stream.schedule else {
            let by_tickets = self.stream.limit.is_some() && !self.stream.own_loop;
            let begun = match by_tickets {
                true => self.stream.tickets_taken().saturating_sub(self.returned),
                false => self.begun,
            };
            return (begun.saturating_sub(self.withdrawn), 0);
        };
        // A user may have begun an event in the very moment that another ended the phase.
        let end_ns = match span.stop_ns {
            NEVER => NEVER,
            stop_ns => stop_ns.max(self.last_intended_ns + 1),
        };
        let counts = |at: u64| at >= span.measured_ns && span.timeline.is_counted(at);
        let count_due = |tickets| schedule.count_due(tickets, &span.timeline, end_ns, counts);
        let limit = self.stream.limit.unwrap_or(NEVER);
        let intended = count_due(0..limit).saturating_sub(self.withdrawn);
        let left = count_due(self.stream.tickets_taken()..limit);
        let dropped = self.dropped_ns.iter().filter(|at| **at < end_ns && counts(**at));
        (intended, left + dropped.count() as u64)
    }

    fn check(&self, intended: u64, skipped: u64) -> Result<(), Error> {
        let Self { stream, done, failed, .. } = self;
        if intended == done + failed + skipped {
            return Ok(());
        }
        let name = &stream.declared.name;
        Err(Error::driver(format!("stream {name} does not add up")).because(format!(
            "{intended} intended, {done} done, {failed} failed, {skipped} skipped"
        )))
    }

    /// Intended and skipped, once they are known to add up; the series as long as all others, and
    /// the slices with those at the end in which nothing began.
    fn check_identity(&mut self, span: &PhaseSpan, seconds: usize) -> Result<(u64, u64), Error> {
        let (intended, skipped) = self.intended_and_skipped(span);
        self.series.extend(seconds);
        self.slices.resize(span.slices().max(self.slices.len()), 0);
        self.check(intended, skipped).map(|()| (intended, skipped))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::plan::phase::{Pace, Phase, Stop, Stream};
    use crate::plan::turns::Turns;
    use crate::plan::{PhaseRef, Plan, Script, Session};

    fn plan() -> Plan {
        Plan {
            version: 1,
            seed: 1,
            session: Session::Null { delay_ns: 0 },
            script: Script { path: "x.lua".into(), options: BTreeMap::new(), argv: Vec::new() },
            commands: vec!["run".to_owned()],
            cpus: Vec::new(),
            threads: 0,
            progress_s: 0.0,
            reports: false,
            turns: None,
            excerpt: None,
            client: None,
        }
    }

    fn phase(pace: Pace) -> Phase {
        let stream = Stream {
            name: "s".to_owned(),
            function: "event".to_owned(),
            connections: 1,
            pace,
            role: Default::default(),
            unit: "event".to_owned(),
            units_per_event: 1,
        };
        Phase {
            title: String::new(),
            group: String::new(),
            name: "p".to_owned(),
            streams: vec![stream],
            stop: Stop::Time { duration_s: 1.0 },
            warmup_s: 0.0,
            stationary: false,
            settle: false,
            primary: Vec::new(),
            expected_s: 0.0,
        }
    }

    fn sum_of(pace: Pace, done: u64, taken: u64) -> Result<Tally, Error> {
        sum_over(Timeline::new(50, None, true), pace, done, taken)
    }

    /// Over a second of the timeline, from 50 ns on; all that was done began in its first slice.
    fn sum_over(timeline: Timeline, pace: Pace, done: u64, taken: u64) -> Result<Tally, Error> {
        let (plan, phase) = (plan(), phase(pace));
        let phase_ref =
            PhaseRef { plan: &plan, command: "run", phase: &phase, before: Default::default() };
        let stream = StreamState::new(phase_ref, &phase.streams[0])?;
        (0..taken).for_each(|_| _ = stream.take_ticket());
        let mut sum = StreamSum::new(&stream)?;
        sum.done = done;
        sum.begun = 7;
        sum.slices = vec![done];
        let stop_ns = 50 + timeline.length_ns(1.0);
        let span = PhaseSpan { timeline, measured_ns: 50, stop_ns, ended_ns: stop_ns - 1 };
        sum.tally(&span, 1)
    }

    #[test]
    fn slices_at_the_end_in_which_nothing_began_are_told() {
        let turns = Turns {
            order: vec![0, 1],
            own: 0,
            slice_ns: 250_000_000,
            drain_ns: 1_000_000,
            ramp_in_ns: 0,
            epoch_turns: 0,
            connect_ns: 0,
            frozen: true,
        };
        let timeline = Timeline::new(50, Some(&turns), true);
        let tally = sum_over(timeline, Pace::Closed, 7, 0).unwrap();
        assert_eq!(tally.slices, [7, 0, 0, 0]);
    }

    #[test]
    fn arrivals_that_nobody_took_are_skipped() {
        let tally = sum_of(Pace::Uniform { rate_per_s: 100.0 }, 60, 60).unwrap();
        assert_eq!((tally.intended, tally.done, tally.skipped), (100, 60, 40));
    }

    #[test]
    fn a_missing_event_is_the_drivers_own_error() {
        let paced = sum_of(Pace::Uniform { rate_per_s: 100.0 }, 59, 60);
        assert_eq!(paced.unwrap_err().failure(None).blame, "driver");
        assert!(sum_of(Pace::Closed, 7, 0).is_ok());
        assert!(sum_of(Pace::Closed, 6, 0).is_err());
    }
}
