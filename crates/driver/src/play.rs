//! Plays one phase: everybody ready, go, watch, done.

use std::time::Duration;

use crate::caller::{Caller, Wish, say};
use crate::clock::{SECOND_NS, now_ns, ns, wait_until};
use crate::crew::{Crew, groups};
use crate::error::Error;
use crate::event::{Done, Event, Usage};
use crate::lane::{Lane, Window};
use crate::phase::Phase;
use crate::plan::Plan;
use crate::progress::Ticker;
use crate::run::{Counters, add};
use crate::stage::{NEVER, Stage};
use crate::worker::Report;
use crate::{summary, usage};

/// What is played.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The whole plan.
    pub plan: &'a Plan,
    /// The command under way.
    pub command: &'a str,
    /// Its phase.
    pub phase: &'a Phase,
}

impl Scene<'_> {
    /// Is it the load, and not a command that calls one function once per user?
    pub fn is_load(&self) -> bool {
        self.command == "run"
    }
}

/// How a phase ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// As planned.
    Over,
    /// By a SIGINT; what was measured has been said.
    Interrupted,
    /// The caller is gone; nothing was said.
    Gone,
}

/// How often the watch looks for a SIGINT.
const GLANCE_NS: u64 = SECOND_NS / 20;

/// Plays one phase, adds the script's counters, says `ready`, `progress` and `done`.
pub fn play(scene: Scene, caller: &Caller, counters: &mut Counters) -> Result<Ending, Error> {
    let stage = Stage::new(scene)?;
    let row = || stage.queues.iter().map(|_| Window::default()).collect();
    let windows: Vec<Vec<Window>> = groups(&stage).iter().map(|_| row()).collect();
    let (times, reports) = std::thread::scope(|scope| {
        let crew = Crew::hire(scope, &stage, &windows)?;
        let watch = Watch { scene, stage: &stage, windows: &windows, caller };
        match watch.assemble(&crew)? {
            Wish::Go => {}
            other => return Ok((Err(other), Vec::new())),
        }
        let times = watch.play(&crew)?;
        Ok((Ok(times), crew.dismiss()?))
    })?;
    let times = match times {
        Ok(times) => times,
        Err(Wish::Stop) => return Ok(Ending::Interrupted),
        Err(_) => return Ok(Ending::Gone),
    };
    finish(&stage, times, reports, counters)
}

/// When a phase ran, and what that cost.
struct Times {
    start_ns: u64,
    finished_ns: u64,
    interrupted: bool,
    usage: Usage,
}

struct Watch<'a> {
    scene: Scene<'a>,
    stage: &'a Stage<'a>,
    windows: &'a [Vec<Window>],
    caller: &'a Caller,
}

impl Watch<'_> {
    /// Waits until all users are loaded, then for the caller.
    fn assemble(&self, crew: &Crew) -> Result<Wish, Error> {
        let mut missing = crew.size();
        while missing > 0 {
            if self.caller.interrupted() {
                return Ok(Wish::Stop);
            }
            missing -= usize::from(crew.hear(Duration::from_nanos(GLANCE_NS))?);
        }
        let phase = self.scene.phase;
        let (name, settle) = (phase.name.clone(), phase.settle);
        say(&Event::Ready { phase: name, settle, monotonic_ns: now_ns() })?;
        self.caller.wish()
    }

    /// From the common start to the last answer.
    fn play(&self, crew: &Crew) -> Result<Times, Error> {
        // Far enough away that every thread is awake and spins by then.
        let start_ns = now_ns() + 2_000_000 + 20_000 * crew.size() as u64;
        self.stage.start(start_ns);
        crew.start(start_ns);
        wait_until(start_ns);
        let before = usage::now()?;
        let followed = self.follow(crew, start_ns);
        if followed.is_err() {
            self.stage.stop(now_ns());
        }
        let interrupted = followed?;
        let usage = usage::now()?.since(&before);
        Ok(Times { start_ns, finished_ns: now_ns(), interrupted, usage })
    }

    /// Says how it goes until all workers have finished; true if a SIGINT ended it.
    fn follow(&self, crew: &Crew, start_ns: u64) -> Result<bool, Error> {
        let every_ns = ns(self.scene.plan.progress_s);
        let mut ticker = Ticker::new(self.stage, self.windows, start_ns);
        let mut next_ns = if every_ns > 0 { start_ns + every_ns } else { NEVER };
        let mut interrupted = false;
        let mut missing = crew.size();
        while missing > 0 {
            let now = now_ns();
            if self.caller.interrupted() && !interrupted {
                interrupted = true;
                self.stage.stop(now);
            }
            if now >= next_ns {
                say(&Event::Progress(ticker.tick(now)))?;
                next_ns += every_ns * ((now - next_ns) / every_ns + 1);
            }
            let patience_ns = next_ns.saturating_sub(now).min(GLANCE_NS);
            missing -= usize::from(crew.hear(Duration::from_nanos(patience_ns))?);
        }
        Ok(interrupted)
    }
}

/// Says what was measured, even where an error ended the phase.
fn finish(
    stage: &Stage,
    times: Times,
    reports: Vec<Report>,
    counters: &mut Counters,
) -> Result<Ending, Error> {
    let mut lanes = Vec::new();
    let mut error = None;
    for report in reports {
        lanes.extend(report.lanes);
        add(counters, report.counters);
        error = error.or(report.error);
    }
    say(&Event::Done(times.done(stage, lanes)?))?;
    match error {
        Some(error) => Err(error),
        None if times.interrupted => Ok(Ending::Interrupted),
        None => Ok(Ending::Over),
    }
}

impl Times {
    fn done(&self, stage: &Stage, lanes: Vec<Lane>) -> Result<Done, Error> {
        let answers = lanes.iter().map(|lane| lane.tally.last_answer_ns);
        let last_ns = answers.max().unwrap_or(0);
        Ok(Done {
            phase: stage.scene.phase.name.clone(),
            started_ns: self.start_ns,
            measured_ns: self.start_ns + stage.warmup_ns(),
            ended_ns: last_ns.max(stage.stop_ns().min(self.finished_ns)),
            interrupted: self.interrupted,
            usage: self.usage,
            streams: summary::streams(stage, lanes, self.start_ns)?,
        })
    }
}
