//! Reports of a phase as sysbench makes them, for a script's hooks and for whoever asked for them.
//!
//! Only phases of which reports are made pay for it. Between two reports the workers' users show
//! how far they have come (`tally/live.rs`); when a phase is over, its sums are known exactly.

use std::sync::atomic::{AtomicU64, Ordering};

use super::phase_state::PhaseState;
use crate::plan::error::Error;
use crate::plan::event::{Bucket, Done, Event, Progress, Report, UserShare};
use crate::plan::parent::emit;
use crate::schedule::DueCounter;
use crate::schedule::clock::{NEVER, SECOND_NS};
use crate::script::MainState;
use crate::tally::UserCounts;
use crate::tally::histogram::{add, histogram, percentile};
use crate::tally::live::{BUCKETS, LiveUser, LiveWorker, bucket, percentile_ms, value_ms};
use crate::tally::share::StreamShare;

/// A whole phase without its warm-up, but with what `thread_init` and `thread_done` sent, as in
/// sysbench.
pub fn report_of_phase(shares: &[StreamShare], hooks: &MainState) -> Result<Report, Error> {
    let mut report = Report { is_cumulative: true, ..Report::default() };
    let mut latency = histogram()?;
    for share in shares {
        report.events += share.events.done;
        report.errors += share.events.failed + share.statements.restarted;
        for counts in [&share.statements, &share.beside] {
            let UserCounts { queries, reads, writes, reconnected, .. } = counts;
            report.reads += reads;
            report.writes += writes;
            report.other += queries.saturating_sub(reads + writes);
            report.reconnects += reconnected;
        }
        report.is_sql |= share.report.is_some_and(|it| it.users.iter().any(is_sql));
        let users = share.played.iter();
        let user = |(events, ns): &(u64, u64)| UserShare { events: *events, busy_s: seconds(*ns) };
        report.users.extend(users.map(user));
        share.events.latency.iter().try_for_each(|it| add(&mut latency, it))?;
        share.events.cut_ns.iter().for_each(|waited_ns| latency.saturating_record(*waited_ns));
    }
    report.latency_pct = seconds(percentile(&latency, hooks.percentile));
    report.latency_max = seconds(latency.max());
    report.latency_min = seconds(latency.min());
    report.latency_avg = latency.mean() / SECOND_NS as f64;
    report.latency_sum = report.latency_avg * latency.len() as f64;
    let mut counts = vec![0; BUCKETS];
    for value in latency.iter_recorded() {
        counts[bucket(value.value_iterated_to())] += value.count_at_value();
    }
    let filled = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
    report.histogram = filled.map(|(at, count)| Bucket { value_ms: value_ms(at), count }).collect();
    Ok(report)
}

/// Adds what is known once the phase has been added up.
pub fn with_times(report: Report, done: &Done) -> Report {
    let measured_ns = done.ended_ns.saturating_sub(done.measured_ns);
    Report {
        time_interval: seconds(done.counted_ns.unwrap_or(measured_ns)),
        time_total: seconds(measured_ns),
        ..report
    }
}

/// Hands a report to the script's hook, or to whoever asked for it.
pub fn tell(report: Report, hooks: &MainState, is_asked: bool) -> Result<(), Error> {
    if !hooks.report(&report)? && is_asked {
        emit(&Event::Report(report))?;
    }
    Ok(())
}

/// Reports from one progress line to the next.
pub struct Reporter<'a> {
    hooks: &'a MainState,
    phase: &'a PhaseState<'a>,
    live: &'a [LiveWorker],
    /// Of streams with a rate.
    due: Vec<DueCounter>,
    warmup_s: f64,
    /// The warm-up is over, and what it played stands in `last`.
    is_measuring: bool,
    last: Report,
    last_latency: Vec<u64>,
}

impl<'a> Reporter<'a> {
    /// Nothing has been reported yet.
    pub fn new(hooks: &'a MainState, phase: &'a PhaseState<'a>, live: &'a [LiveWorker]) -> Self {
        let paced = phase.streams.iter().filter_map(|it| Some((it.schedule.clone()?, it.limit)));
        let due = paced.map(|(it, limit)| DueCounter::new(it, limit.unwrap_or(NEVER))).collect();
        let warmup_s = seconds(phase.measured_ns() - phase.timeline().start_ns());
        let (is_measuring, last_latency) = (warmup_s == 0.0, vec![0; BUCKETS]);
        let last = Report::default();
        Self { hooks, phase, live, due, warmup_s, is_measuring, last, last_latency }
    }

    /// Tells what happened since the last report, if the next is due. What is reported first after
    /// the warm-up is where counting begins, and told to nobody.
    pub fn report(&mut self, progress: &Progress) -> Result<(), Error> {
        let measured_s = progress.elapsed_s - self.warmup_s;
        if measured_s < 0.0 {
            return Ok(());
        }
        // What is told once a second is told a little before or after it.
        let is_due = measured_s - self.last.time_total + 0.5 >= self.hooks.report_interval_s;
        if self.is_measuring && !is_due {
            return Ok(());
        }
        let longest_ns = progress.streams.iter().map(|it| it.latency_ns_max).max();
        let (mut sum, begun) = self.sum(progress, measured_s);
        sum.queue_length = self.count_due().saturating_sub(begun);
        let mut latency = vec![0; BUCKETS];
        self.reports().for_each(|it| it.add_latencies(&mut latency));
        if !self.is_measuring {
            (self.is_measuring, self.last, self.last_latency) = (true, sum, latency);
            return Ok(());
        }
        let since = latency.iter().zip(&self.last_latency).map(|(now, last)| now - last);
        sum.latency_pct = percentile_ms(&since.collect::<Vec<_>>(), self.hooks.percentile) / 1e3;
        sum.latency_max = seconds(longest_ns.unwrap_or(0));
        let report = self.since_last(&sum);
        (self.last, self.last_latency) = (sum, latency);
        tell(report, self.hooks, self.phase.phase_ref.plan.reports)
    }

    fn reports(&self) -> impl Iterator<Item = &crate::tally::live::LiveReport> {
        self.live.iter().filter_map(|worker| worker.report.as_ref())
    }

    /// What all users have done since the phase began, and how many events they have begun.
    fn sum(&self, progress: &Progress, measured_s: f64) -> (Report, u64) {
        let mut sum = Report {
            threads_running: self.phase.users(),
            time_total: measured_s,
            errors: progress.streams.iter().map(|it| it.failed).sum(),
            ..Report::default()
        };
        let (mut begun, mut queries) = (0, 0);
        for user in self.reports().flat_map(|it| &it.users) {
            let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
            begun += of(&user.begun);
            sum.concurrency += of(&user.begun).saturating_sub(of(&user.ended));
            sum.events += of(&user.done);
            queries += of(&user.queries);
            sum.reads += of(&user.reads);
            sum.writes += of(&user.writes);
            sum.errors += of(&user.restarted);
            sum.reconnects += of(&user.reconnected);
            sum.is_sql |= is_sql(user);
        }
        sum.other = queries.saturating_sub(sum.reads + sum.writes);
        (sum, begun)
    }

    /// How many events of streams with a rate are due by now.
    fn count_due(&mut self) -> u64 {
        let (timeline, now) = (self.phase.timeline(), self.phase.now_ns());
        self.due.iter_mut().map(|stream| stream.count(&timeline, now)).sum()
    }

    fn since_last(&self, sum: &Report) -> Report {
        let last = &self.last;
        Report {
            time_interval: sum.time_total - last.time_total,
            events: sum.events - last.events,
            reads: sum.reads.saturating_sub(last.reads),
            writes: sum.writes.saturating_sub(last.writes),
            other: sum.other.saturating_sub(last.other),
            errors: sum.errors - last.errors,
            reconnects: sum.reconnects - last.reconnects,
            ..sum.clone()
        }
    }
}

fn is_sql(user: &LiveUser) -> bool {
    user.is_sql.load(Ordering::Relaxed)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / SECOND_NS as f64
}
