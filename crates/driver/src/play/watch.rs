//! Watches a phase from outside: starts all together, says how it goes, and stops them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use super::Audience;
use super::phase_state::{NEVER, Scene, Stage};
use super::report_hooks::Reporter;
use super::workers::Crew;
use crate::plan::error::Error;
use crate::plan::event::{Event, Progress, StreamProgress, Usage};
use crate::plan::parent::{Wish, say};
use crate::schedule::clock::{SECOND_NS, now_ns, ns, wait_until};
use crate::sessions;
use crate::tally::share::Window;

/// How often the watch looks for a SIGINT.
const GLANCE_NS: u64 = SECOND_NS / 20;

/// When a phase ran, and what that cost.
pub struct Times {
    pub start_ns: u64,
    pub finished_ns: u64,
    pub watched: Watched,
    pub usage: Usage,
}

/// What the watch saw.
#[derive(Default)]
pub struct Watched {
    /// A SIGINT ended the phase.
    pub interrupted: bool,
    /// A report hook's, which ended it.
    pub error: Option<Error>,
}

/// What is watched, and who hears of it.
pub struct Watch<'a> {
    pub scene: Scene<'a>,
    pub stage: &'a Stage<'a>,
    pub windows: &'a [Vec<Window>],
    pub audience: Audience<'a>,
}

impl Watch<'_> {
    /// Waits until all users are loaded, then for the caller.
    pub fn assemble(&self, crew: &Crew) -> Result<Wish, Error> {
        let mut missing = crew.size();
        while missing > 0 {
            if self.audience.caller.interrupted() {
                self.stage.stop(now_ns());
                return Ok(Wish::Stop);
            }
            missing -= usize::from(crew.hear(Duration::from_nanos(GLANCE_NS))?);
        }
        say(&Event::Ready { phase: self.scene.phase.name.clone(), monotonic_ns: now_ns() })?;
        self.audience.caller.wish()
    }

    /// From the common start to the last answer.
    pub fn play(&self, crew: &Crew) -> Result<Times, Error> {
        // Far enough away that every thread is awake and spins by then.
        let start_ns = now_ns() + 2_000_000 + 20_000 * crew.size() as u64;
        self.stage.start(start_ns);
        crew.start(start_ns);
        wait_until(start_ns);
        let before = now()?;
        let followed = self.follow(crew, start_ns);
        if followed.is_err() {
            self.stage.stop(now_ns());
        }
        let watched = followed?;
        let usage = now()?.since(&before);
        Ok(Times { start_ns, finished_ns: now_ns(), watched, usage })
    }

    /// Has the caller look at a server while its connections are open: some end a process or a
    /// thread with each of them, and the kernel forgets half of what it knew. Whatever the caller
    /// wishes, what was measured is said next.
    pub fn answered(&self) -> Result<(), Error> {
        if sessions::served(&self.scene.plan.session) {
            say(&Event::Answered { phase: self.scene.phase.name.clone() })?;
            self.audience.caller.wish()?;
        }
        Ok(())
    }

    /// Says how it goes until all workers have finished.
    fn follow(&self, crew: &Crew, start_ns: u64) -> Result<Watched, Error> {
        let every_ns = ns(self.scene.plan.progress_s);
        let mut ticker = Ticker::new(self.stage, self.windows, start_ns);
        let mut next_ns = if every_ns > 0 { start_ns + every_ns } else { NEVER };
        let mut reporter = self.audience.hooks.map(|it| Reporter::new(it, self.stage));
        let mut watched = Watched::default();
        let mut missing = crew.size();
        while missing > 0 {
            let now = now_ns();
            watched.interrupted |= self.audience.caller.interrupted();
            if watched.interrupted || watched.error.is_some() {
                self.stage.stop(now);
            }
            if now >= next_ns {
                let progress = ticker.tick(now);
                if let Some(Err(error)) = reporter.as_mut().map(|it| it.report(&progress)) {
                    (watched.error, reporter) = (Some(error), None);
                }
                say(&Event::Progress(progress))?;
                next_ns += every_ns * ((now - next_ns) / every_ns + 1);
            }
            let patience_ns = next_ns.saturating_sub(now).min(GLANCE_NS);
            missing -= usize::from(crew.hear(Duration::from_nanos(patience_ns))?);
        }
        Ok(watched)
    }
}

// The progress line: how a phase goes, read from the workers' windows.

/// Differences from one progress line to the next.
pub struct Ticker<'a> {
    stage: &'a Stage<'a>,
    windows: &'a [Vec<Window>],
    start_ns: u64,
    last_ns: u64,
    last_done: Vec<u64>,
}

impl<'a> Ticker<'a> {
    /// Nothing has happened yet.
    pub fn new(stage: &'a Stage<'a>, windows: &'a [Vec<Window>], start_ns: u64) -> Self {
        let last_done = vec![0; stage.queues.len()];
        Self { stage, windows, start_ns, last_ns: start_ns, last_done }
    }

    /// The line at this time.
    pub fn tick(&mut self, now: u64) -> Progress {
        let lapse_s = (now - self.last_ns) as f64 / SECOND_NS as f64;
        let streams = (0..self.last_done.len()).map(|queue| self.stream(queue, lapse_s)).collect();
        self.last_ns = now;
        let elapsed_s = (now - self.start_ns) as f64 / SECOND_NS as f64;
        Progress { phase: self.stage.scene.phase.name.clone(), elapsed_s, streams }
    }

    fn stream(&mut self, queue: usize, lapse_s: f64) -> StreamProgress {
        let windows = || self.windows.iter().map(|row| &row[queue]);
        let done = windows().map(|window| window.done.load(Ordering::Relaxed)).sum();
        let failed = windows().map(|window| window.failed.load(Ordering::Relaxed)).sum();
        let longest = windows().map(|window| window.latency_ns_max.swap(0, Ordering::Relaxed));
        let latency_ns_max = longest.max().unwrap_or(0);
        let stream = self.stage.queues[queue].stream;
        let units = (done - self.last_done[queue]) * stream.units_per_event;
        self.last_done[queue] = done;
        let rate_per_s = units as f64 / lapse_s;
        StreamProgress { name: stream.name.clone(), done, failed, rate_per_s, latency_ns_max }
    }
}

// What the driver's own process has spent.

/// Since the process began. The kernel measures CPU time to the nanosecond, but splits it into user
/// and system by where its ticks fell, so the split is coarse in short phases.
pub fn now() -> Result<Usage, Error> {
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
    pub fn since(&self, before: &Usage) -> Usage {
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
