//! Adds up what the workers counted of a phase, and checks that nothing got lost.

mod identity;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::plan::error::Error;
use crate::plan::event::{Latency, Series, Tally};
use crate::play::stage::{Queue, Stage};
use crate::script::UserCounts;
use crate::tally::histogram::{add, histogram, latency};
use crate::tally::lane::Lane;

/// One tally per stream, in the phase's order.
pub fn streams(stage: &Stage, lanes: Vec<Lane>, start_ns: u64) -> Result<Vec<Tally>, Error> {
    let mut sums = stage.queues.iter().map(Sum::new).collect::<Result<Vec<Sum>, Error>>()?;
    for lane in lanes {
        sums[lane.index].add(lane)?;
    }
    let clock = Clock { start_ns, warmup_ns: stage.warmup_ns(), stop_ns: stage.stop_ns() };
    let seconds = sums.iter().map(|sum| sum.series.done.len()).max().unwrap_or(0);
    sums.into_iter().map(|sum| sum.tally(clock, seconds)).collect()
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
    claimed_before: u64,
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
            claimed_before: 0,
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
        self.claimed_before += lane.claimed_before;
        self.last_intended_ns = self.last_intended_ns.max(tally.last_intended_ns);
        self.dropped_ns.extend(lane.dropped_ns);
        self.counts.add(lane.counts);
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

    fn tally(mut self, clock: Clock, seconds: usize) -> Result<Tally, Error> {
        let (stream, (intended, skipped)) = (self.queue.stream, self.settled(clock, seconds)?);
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
            claimed: self.counts.claimed,
            claimed_further: self.counts.further,
            claimed_before: self.claimed_before,
            rows_read: self.counts.rows_read,
            rows_changed: self.counts.rows_changed,
            busy: self.counts.busy,
            reconnected: self.counts.reconnected,
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

fn together(types: &BTreeMap<String, Histogram<u64>>) -> Result<Latency, Error> {
    let mut sum = histogram()?;
    types.values().try_for_each(|of_type| add(&mut sum, of_type))?;
    latency(&sum)
}

fn by_type(types: &BTreeMap<String, Histogram<u64>>) -> Result<BTreeMap<String, Latency>, Error> {
    let named = types.keys().any(|name| !name.is_empty());
    let shown = types.iter().filter(|_| named);
    shown.map(|(name, of_type)| Ok((name.clone(), latency(of_type)?))).collect()
}
