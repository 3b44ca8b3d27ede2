//! Adds up what the workers counted of a phase, and checks that nothing got lost.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};

use crate::error::Error;
use crate::event::{Latency, PERCENTILES, Series, Tally};
use crate::lane::Lane;
use crate::script::UserCounts;
use crate::stage::{NEVER, Queue, Stage};
use crate::tally::histogram;
use crate::worker::merge;

/// One tally per stream, in the phase's order.
pub fn streams(stage: &Stage, lanes: Vec<Lane>, start_ns: u64) -> Result<Vec<Tally>, Error> {
    let mut sums = stage
        .queues
        .iter()
        .map(Sum::new)
        .collect::<Result<Vec<Sum>, Error>>()?;
    for lane in lanes {
        sums[lane.index].add(lane)?;
    }
    let clock = Clock {
        start_ns,
        warmup_ns: stage.warmup_ns(),
        stop_ns: stage.stop_ns(),
    };
    let seconds = sums
        .iter()
        .map(|sum| sum.series.done.len())
        .max()
        .unwrap_or(0);
    sums.into_iter()
        .map(|sum| sum.tally(clock, seconds))
        .collect()
}

/// When a phase began, was measured and was told to stop.
#[derive(Clone, Copy)]
struct Clock {
    start_ns: u64,
    warmup_ns: u64,
    stop_ns: u64,
}

/// All workers' counts of one stream.
struct Sum<'a> {
    queue: &'a Queue<'a>,
    done: u64,
    failed: u64,
    warmup: u64,
    begun: u64,
    last_intended_ns: u64,
    dropped_ns: Vec<u64>,
    counts: UserCounts,
    latency: BTreeMap<String, Histogram<u64>>,
    lateness: Histogram<u64>,
    series: Series,
}

impl<'a> Sum<'a> {
    fn new(queue: &'a Queue<'a>) -> Result<Self, Error> {
        Ok(Self {
            queue,
            done: 0,
            failed: 0,
            warmup: 0,
            begun: 0,
            last_intended_ns: 0,
            dropped_ns: Vec::new(),
            counts: UserCounts::default(),
            latency: BTreeMap::new(),
            lateness: histogram()?,
            series: Series::default(),
        })
    }

    fn add(&mut self, lane: Lane) -> Result<(), Error> {
        let tally = lane.tally;
        self.done += tally.done;
        self.failed += tally.failed;
        self.warmup += tally.warmup;
        self.begun += lane.begun;
        self.last_intended_ns = self.last_intended_ns.max(tally.last_intended_ns);
        self.dropped_ns.extend(lane.dropped_ns);
        merge(&mut self.counts, lane.counts);
        for (name, latency) in tally.names.into_iter().zip(&tally.latency) {
            if !latency.is_empty() {
                let sum = match self.latency.entry(name) {
                    std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                    std::collections::btree_map::Entry::Vacant(new) => new.insert(histogram()?),
                };
                add(sum, latency)?;
            }
        }
        add(&mut self.lateness, &tally.lateness)?;
        self.series.add(&tally.series);
        Ok(())
    }

    /// How many events should have been played, and how many of them nobody began. Counted from
    /// the schedule and the tickets, not from the events played, so that the identity is a check.
    fn intended_and_skipped(&self, clock: Clock) -> (u64, u64) {
        let Some(schedule) = &self.queue.schedule else {
            let limited = self.queue.limit.is_some();
            return (
                if limited {
                    self.queue.taken()
                } else {
                    self.begun
                },
                0,
            );
        };
        // A user may have begun an event in the very moment that another ended the phase.
        let end_ns = match clock.stop_ns {
            NEVER => NEVER,
            stop_ns => stop_ns.max(self.last_intended_ns + 1) - clock.start_ns,
        };
        let measured_ns = clock.warmup_ns..end_ns;
        let limit = self.queue.limit.unwrap_or(NEVER);
        let intended = schedule.due(0..limit, measured_ns.clone());
        let left = schedule.due(self.queue.taken()..limit, measured_ns.clone());
        let dropped = self.dropped_ns.iter().map(|at| at - clock.start_ns);
        (
            intended,
            left + dropped.filter(|at| measured_ns.contains(at)).count() as u64,
        )
    }

    fn tally(mut self, clock: Clock, seconds: usize) -> Result<Tally, Error> {
        let stream = self.queue.stream;
        let (intended, skipped) = self.intended_and_skipped(clock);
        if intended != self.done + self.failed + skipped {
            return Err(Error::driver(format!(
                "stream {} does not add up: {intended} intended, {} done, {} failed, {skipped} skipped",
                stream.name, self.done, self.failed
            )));
        }
        self.series.extend(seconds);
        Ok(Tally {
            name: stream.name.clone(),
            unit: stream.unit.clone(),
            units_per_event: stream.units_per_event,
            connections: stream.connections,
            target_per_s: stream.pace.rate_per_s(),
            intended,
            done: self.done,
            failed: self.failed,
            skipped,
            warmup: self.warmup,
            restarted: self.counts.restarted,
            queries: self.counts.queries,
            rows_read: self.counts.rows_read,
            rows_changed: self.counts.rows_changed,
            busy: self.counts.busy,
            errors: self.counts.errors,
            service_ns: self.counts.service_ns,
            latency: together(&self.latency)?,
            lateness: latency(&self.lateness)?,
            transactions: by_type(&self.latency)?,
            series: self.series,
        })
    }
}

impl Series {
    fn add(&mut self, other: &Series) {
        self.extend(other.done.len());
        let sum = |(sum, more): (&mut u64, &u64)| *sum += more;
        self.done.iter_mut().zip(&other.done).for_each(sum);
        self.failed.iter_mut().zip(&other.failed).for_each(sum);
        let longest = self.latency_ns_max.iter_mut().zip(&other.latency_ns_max);
        longest.for_each(|(longest, more)| *longest = (*longest).max(*more));
    }
}

fn add(sum: &mut Histogram<u64>, other: &Histogram<u64>) -> Result<(), Error> {
    sum.add(other)
        .map_err(|cause| Error::driver("cannot add histograms").because(cause))
}

fn together(types: &BTreeMap<String, Histogram<u64>>) -> Result<Latency, Error> {
    let mut sum = histogram()?;
    types
        .values()
        .try_for_each(|of_type| add(&mut sum, of_type))?;
    latency(&sum)
}

fn by_type(types: &BTreeMap<String, Histogram<u64>>) -> Result<BTreeMap<String, Latency>, Error> {
    let named = types.keys().any(|name| !name.is_empty());
    let shown = types.iter().filter(|_| named);
    shown
        .map(|(name, of_type)| Ok((name.clone(), latency(of_type)?)))
        .collect()
}

fn latency(histogram: &Histogram<u64>) -> Result<Latency, Error> {
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|cause| Error::driver("cannot write a histogram").because(cause))?;
    let percentile = |name: &&str| {
        let value = name
            .parse()
            .map_or(0, |percent| histogram.value_at_percentile(percent));
        ((*name).to_owned(), value)
    };
    Ok(Latency {
        count: histogram.len(),
        mean_ns: histogram.mean(),
        max_ns: histogram.max(),
        percentiles_ns: PERCENTILES.iter().map(percentile).collect(),
        hdr: STANDARD.encode(bytes),
    })
}
