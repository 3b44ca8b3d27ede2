//! Monitors a phase from outside its workers: starts all together, tells the progress, stops them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use super::phase_state::PhaseState;
use super::report::Reporter;
use super::standstill::{Moment, Standstill};
use super::workers::WorkerPool;
use crate::plan::error::Error;
use crate::plan::event::{Event, Progress, StreamProgress, Usage};
use crate::plan::parent::{Instruction, Parent, emit};
use crate::schedule::clock::{NEVER, SECOND_NS, now_ns, ns, process_cpu_ns, wait_until};
use crate::script::{self, MainState};
use crate::sessions::{self, Engine};
use crate::tally::live::LiveWorker;

/// How often the monitor looks for a SIGINT.
const SIGINT_CHECK_NS: u64 = SECOND_NS / 20;

/// Who is told how a phase goes.
#[derive(Clone, Copy)]
pub struct Observers<'a> {
    /// The process that started us; it also says when to go on.
    pub parent: &'a Parent,
    /// The script's report hooks, where it set any or reports are asked for.
    pub hooks: Option<&'a MainState>,
}

/// When a phase was played, how that ended, and what the process spent meanwhile.
pub struct Measured {
    pub start_ns: u64,
    pub finished_ns: u64,
    /// A SIGINT ended it.
    pub interrupted: bool,
    /// A report hook's error, which ended it.
    pub hook_error: Option<Error>,
    pub standstill: Standstill,
    pub usage: Usage,
}

/// How the monitor's watch over a phase ended: a SIGINT ended it, or a report hook's error.
struct Followed {
    interrupted: bool,
    hook_error: Option<Error>,
    standstill: Standstill,
}

/// What is monitored, and who is told.
pub struct PhaseMonitor<'a> {
    pub phase: &'a PhaseState<'a>,
    pub live: &'a [LiveWorker],
    pub observers: Observers<'a>,
}

impl PhaseMonitor<'_> {
    /// Waits until all users are loaded, then for the parent.
    pub fn wait_until_ready(&self, pool: &WorkerPool) -> Result<Instruction, Error> {
        let mut missing = pool.size();
        while missing > 0 {
            if self.observers.parent.is_interrupted() {
                self.phase.cut_short();
                return Ok(Instruction::Stop);
            }
            missing -= usize::from(pool.wait_for_message(Duration::from_nanos(SIGINT_CHECK_NS))?);
        }
        emit(&Event::Ready {
            phase: self.phase.name(),
            monotonic_ns: now_ns(),
            is_interleaved: self.phase.phase_ref.turns().is_some(),
        })?;
        self.observers.parent.await_go()
    }

    /// From the common start, which the parent names where turns are taken, to the last answer.
    pub fn play(&self, pool: &WorkerPool, start_ns: Option<u64>) -> Result<Measured, Error> {
        let phase_ref = self.phase.phase_ref;
        if (phase_ref.turns().is_some() || phase_ref.plan.client.is_some()) != start_ns.is_some() {
            return Err(Error::user(
                "a phase of several drivers needs a start time, and no other has one",
            ));
        }
        self.refuse_late_start(start_ns)?;
        // Far enough away that every thread is awake and spins by then.
        let soon_ns = now_ns() + 2_000_000 + 20_000 * pool.size() as u64;
        let start_ns = start_ns.unwrap_or(soon_ns);
        self.phase.start(start_ns);
        pool.start(start_ns);
        wait_until(start_ns);
        let before = usage_now()?;
        let followed = self.follow(pool, start_ns);
        if followed.is_err() {
            self.phase.cut_short();
        }
        let Followed { interrupted, hook_error, standstill } = followed?;
        if self.phase.is_failing() && self.phase.phase_ref.turns().is_some() {
            emit(&Event::Failing { phase: self.phase.name() })?;
        }
        let usage = usage_now()?.since(&before);
        let finished_ns = now_ns();
        Ok(Measured { start_ns, finished_ns, interrupted, hook_error, standstill, usage })
    }

    /// Drivers that start together measure together: one that hears of the start too late would
    /// say so of nothing.
    fn refuse_late_start(&self, start_ns: Option<u64>) -> Result<(), Error> {
        let late_ns = now_ns().saturating_sub(start_ns.unwrap_or(NEVER));
        match self.phase.phase_ref.plan.client {
            Some(_) if late_ns > 0 => {
                let late_ms = late_ns as f64 / 1e6;
                Err(Error::engine(format!("the common start came {late_ms:.1} ms too late here")))
            }
            _ => Ok(()),
        }
    }

    /// Has the parent look at a server while its connections are open: some end a process or a
    /// thread with each of them, and the kernel forgets half of what it knew. Whatever the parent
    /// answers, what was measured is told next.
    pub fn pause_while_connected(&self) -> Result<(), Error> {
        let session = sessions::descriptor(&self.phase.phase_ref.plan.session);
        if session.engine == Engine::Served {
            emit(&Event::Answered { phase: self.phase.name() })?;
            self.observers.parent.await_go()?;
        }
        Ok(())
    }

    /// Tells the progress until all workers have finished.
    fn follow(&self, pool: &WorkerPool, start_ns: u64) -> Result<Followed, Error> {
        let every_ns = ns(self.phase.phase_ref.plan.progress_s);
        let mut meter = ProgressMeter::new(self.phase, self.live, start_ns);
        let hooks = self.observers.hooks;
        let mut reporter = hooks.map(|hooks| Reporter::new(hooks, self.phase, self.live));
        let warmup_ns = if reporter.is_some() { self.phase.measured_ns() - start_ns } else { 0 };
        let mut next_ns = start_ns.saturating_add(first_line_ns(every_ns, warmup_ns));
        let mut standstill = Standstill::new(SIGINT_CHECK_NS, self.moment(start_ns));
        let (mut interrupted, mut hook_error) = (false, None);
        let mut missing = pool.size();
        while missing > 0 {
            let now = now_ns();
            standstill.look(self.moment(now));
            interrupted |= self.observers.parent.is_interrupted();
            if interrupted || hook_error.is_some() {
                self.phase.cut_short();
            }
            if now >= next_ns {
                let progress = meter.progress(now);
                script::write_rows();
                emit(&Event::Progress(progress.clone()))?;
                if let Some(Err(error)) = reporter.as_mut().map(|it| it.report(&progress)) {
                    (hook_error, reporter) = (Some(error), None);
                }
                next_ns += every_ns * ((now - next_ns) / every_ns + 1);
            }
            let wait_ns = next_ns.saturating_sub(now).min(SIGINT_CHECK_NS);
            missing -= usize::from(pool.wait_for_message(Duration::from_nanos(wait_ns))?);
        }
        standstill.look(self.moment(now_ns()));
        Ok(Followed { interrupted, hook_error, standstill })
    }

    fn moment(&self, monotonic_ns: u64) -> Moment {
        let phase_ns = self.phase.timeline().phase_ns(monotonic_ns);
        Moment { monotonic_ns, phase_ns, cpu_ns: process_cpu_ns() }
    }
}

/// How long after the start the first line of progress is told: so that one of those that follow
/// falls on the end of the warm-up, from which reports count.
fn first_line_ns(every_ns: u64, warmup_ns: u64) -> u64 {
    match warmup_ns.checked_rem(every_ns) {
        None => NEVER,
        Some(0) => every_ns,
        Some(rest_ns) => rest_ns,
    }
}

/// The progress line: differences from one to the next, read from the workers' live counts.
struct ProgressMeter<'a> {
    phase: &'a PhaseState<'a>,
    live: &'a [LiveWorker],
    start_ns: u64,
    /// Up to where the last line went, in time that counts.
    last_ns: u64,
    last_done: Vec<u64>,
}

impl<'a> ProgressMeter<'a> {
    fn new(phase: &'a PhaseState<'a>, live: &'a [LiveWorker], start_ns: u64) -> Self {
        let last_done = vec![0; phase.streams.len()];
        Self { phase, live, start_ns, last_ns: 0, last_done }
    }

    /// The line at this time.
    fn progress(&mut self, now: u64) -> Progress {
        let timeline = self.phase.timeline();
        let counted_ns = timeline.counted_ns(timeline.phase_ns(now));
        let lapse_s = counted_ns.saturating_sub(self.last_ns) as f64 / SECOND_NS as f64;
        let streams = (0..self.last_done.len()).map(|at| self.stream(at, lapse_s)).collect();
        self.last_ns = counted_ns;
        let elapsed_s = (now - self.start_ns) as f64 / SECOND_NS as f64;
        Progress { phase: self.phase.name(), elapsed_s, streams }
    }

    fn stream(&mut self, at: usize, lapse_s: f64) -> StreamProgress {
        let live = || self.live.iter().map(|worker| &worker.streams[at]);
        let done = live().map(|counts| counts.done.load(Ordering::Relaxed)).sum();
        let failed = live().map(|counts| counts.failed.load(Ordering::Relaxed)).sum();
        let longest = live().map(|counts| counts.latency_ns_max.swap(0, Ordering::Relaxed));
        let latency_ns_max = longest.max().unwrap_or(0);
        let stream = self.phase.streams[at].declared;
        let units = (done - self.last_done[at]) * stream.units_per_event;
        self.last_done[at] = done;
        let rate_per_s = if lapse_s > 0.0 { units as f64 / lapse_s } else { 0.0 };
        StreamProgress { name: stream.name.clone(), done, failed, rate_per_s, latency_ns_max }
    }
}

/// What the driver's own process has spent since it began. The kernel measures CPU time to the
/// nanosecond, but splits it into user and system by where its ticks fell, so the split is coarse
/// in short phases.
fn usage_now() -> Result<Usage, Error> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)
        .map_err(|cause| Error::host("cannot read the driver's usage").because(cause))?;
    Ok(Usage {
        user_ns: time_ns(usage.user_time()),
        system_ns: time_ns(usage.system_time()),
        voluntary_switches: count(usage.voluntary_context_switches()),
        involuntary_switches: count(usage.involuntary_context_switches()),
        resident_bytes: resident_bytes(),
    })
}

impl Usage {
    /// What was spent since an earlier look; memory as it is now.
    fn since(&self, before: &Usage) -> Usage {
        Usage {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            voluntary_switches: self.voluntary_switches - before.voluntary_switches,
            involuntary_switches: self.involuntary_switches - before.involuntary_switches,
            resident_bytes: self.resident_bytes,
        }
    }
}

fn time_ns(time: TimeVal) -> u64 {
    count(time.tv_sec()) * 1_000_000_000 + count(time.tv_usec()) * 1_000
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()).and_then(|kib| kib.parse().ok());
    kib.unwrap_or(0u64) * 1024
}
