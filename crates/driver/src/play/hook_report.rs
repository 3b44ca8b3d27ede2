//! The table that sysbench 1.0 calls `stat`: what a script's report hook is given of a phase.
//!
//! Only scripts with hooks pay for it, and only in the thread that tells the progress. Workers
//! hand over what they counted of statements when a phase is over. As in sysbench, a read is what
//! answered with columns, a write what changed rows; what failed, or was sent in a batch, is other.

use serde::Serialize;

use super::phase_state::PhaseState;
use crate::plan::error::Error;
use crate::plan::event::{Done, Progress};
use crate::schedule::clock::SECOND_NS;
use crate::script::MainState;
use crate::tally::UserCounts;
use crate::tally::histogram::{add, histogram, percentile};
use crate::tally::share::StreamShare;

/// All streams of a phase together; times and latencies in seconds, as in sysbench.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct HookReport {
    threads_running: u32,
    time_interval: f64,
    time_total: f64,
    latency_pct: f64,
    latency_max: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_avg: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_sum: Option<f64>,
    events: u64,
    reads: u64,
    writes: u64,
    other: u64,
    errors: u64,
    reconnects: u64,
}

impl HookReport {
    /// A whole phase without its warm-up.
    pub fn of_phase(shares: &[StreamShare], percent: f64) -> Result<Self, Error> {
        let mut report = Self::default();
        let mut latency = histogram()?;
        for share in shares {
            report.events += share.events.done;
            report.errors += share.events.failed + share.statements.restarted;
            let UserCounts { queries, reads, writes, reconnected, .. } = share.statements;
            report.reads += reads;
            report.writes += writes;
            report.other += queries.saturating_sub(reads + writes);
            report.reconnects += reconnected;
            share.events.latency.iter().try_for_each(|it| add(&mut latency, it))?;
            share.events.cut_ns.iter().for_each(|waited_ns| latency.saturating_record(*waited_ns));
        }
        report.latency_pct = seconds(percentile(&latency, percent));
        report.latency_max = seconds(latency.max());
        report.latency_min = Some(seconds(latency.min()));
        let mean_s = latency.mean() / SECOND_NS as f64;
        report.latency_avg = Some(mean_s);
        report.latency_sum = Some(mean_s * latency.len() as f64);
        Ok(report)
    }

    /// Adds what is known once the phase has been added up.
    #[must_use]
    pub fn with_times(mut self, done: &Done) -> Self {
        self.threads_running = done.streams.iter().map(|it| it.connections).sum();
        self.time_interval =
            seconds(done.counted_ns.unwrap_or(done.ended_ns.saturating_sub(done.measured_ns)));
        self.time_total = seconds(done.ended_ns.saturating_sub(done.started_ns));
        self
    }
}

/// Reports from one progress line to the next.
pub struct HookReporter<'a> {
    hooks: &'a MainState,
    phase: &'a PhaseState<'a>,
    last: (u64, u64, f64),
}

impl<'a> HookReporter<'a> {
    /// Nothing has been reported yet.
    pub fn new(hooks: &'a MainState, phase: &'a PhaseState<'a>) -> Self {
        let last = (0, 0, 0.0);
        Self { hooks, phase, last }
    }

    /// Calls the hook with what happened since the last line.
    pub fn report(&mut self, progress: &Progress) -> Result<(), Error> {
        // What is told once a second is told a little before or after it.
        if progress.elapsed_s - self.last.2 + 0.5 < self.hooks.report_interval_s {
            return Ok(());
        }
        let streams = &progress.streams;
        let done = streams.iter().map(|it| it.done).sum();
        let failed = streams.iter().map(|it| it.failed).sum();
        let longest_ns = streams.iter().map(|it| it.latency_ns_max).max();
        let latency_max = seconds(longest_ns.unwrap_or(0));
        let report = HookReport {
            threads_running: self.phase.users(),
            time_interval: progress.elapsed_s - self.last.2,
            time_total: progress.elapsed_s,
            // A percentile per interval would cost the workers a second histogram.
            latency_pct: latency_max,
            latency_max,
            events: done - self.last.0,
            errors: failed - self.last.1,
            ..HookReport::default()
        };
        self.last = (done, failed, progress.elapsed_s);
        self.hooks.report_intermediate(&report)
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / SECOND_NS as f64
}
