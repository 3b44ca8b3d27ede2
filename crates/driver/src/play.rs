//! Plays one phase: everybody ready, go, watch, done.

use std::time::Duration;

use crate::caller::{Caller, Wish, say};
use crate::clock::{SECOND_NS, now_ns, ns, wait_until};
use crate::counters::{Counters, add};
use crate::crew::{Crew, groups};
use crate::error::Error;
use crate::event::{Done, Event, Usage};
use crate::lane::{Lane, Window};
use crate::phase::Phase;
use crate::progress::Ticker;
use crate::scene::Scene;
use crate::script::Hooks;
use crate::stage::{NEVER, Stage};
use crate::stat::{Reporter, Stat};
use crate::worker::Report;
use crate::{sessions, summary, usage};

/// Who hears how it goes.
#[derive(Clone, Copy)]
pub struct Audience<'a> {
    /// Whoever started us; it also says when to go on.
    pub caller: &'a Caller,
    /// The script's report hooks, where it set any.
    pub hooks: Option<&'a Hooks>,
}

impl<'a> Audience<'a> {
    /// Both of them.
    pub fn new(caller: &'a Caller, hooks: Option<&'a Hooks>) -> Self {
        Self { caller, hooks }
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

/// Plays one phase, adds the script's counters, says `settle` where the phase asks for it, `ready`,
/// `progress` and `done`; the last two to the script's report hooks as well.
pub fn play(scene: Scene, audience: Audience, counters: &mut Counters) -> Result<Ending, Error> {
    let stage = Stage::new(scene)?;
    if let Some(ending) = settled(scene.phase, audience.caller)? {
        return Ok(ending);
    }
    let row = || stage.queues.iter().map(|_| Window::default()).collect();
    let windows: Vec<Vec<Window>> = groups(&stage).iter().map(|_| row()).collect();
    let (times, reports) = std::thread::scope(|scope| {
        let crew = Crew::hire(scope, &stage, &windows)?;
        let watch = Watch { scene, stage: &stage, windows: &windows, audience };
        match watch.assemble(&crew)? {
            Wish::Go => {}
            other => return Ok((Err(other), Vec::new())),
        }
        let times = watch.play(&crew)?;
        watch.answered()?;
        Ok((Ok(times), crew.dismiss()?))
    })?;
    let times = match times {
        Ok(times) => times,
        Err(wish) => return Ok(ended(wish)),
    };
    finish(&stage, times, gathered(reports, counters), audience.hooks)
}

/// Has the caller settle the engine while no connection is open; how the phase ended, if it did.
fn settled(phase: &Phase, caller: &Caller) -> Result<Option<Ending>, Error> {
    if !phase.settle {
        return Ok(None);
    }
    say(&Event::Settle { phase: phase.name.clone() })?;
    let wish = caller.wish()?;
    Ok((wish != Wish::Go).then(|| ended(wish)))
}

fn ended(wish: Wish) -> Ending {
    if wish == Wish::Stop { Ending::Interrupted } else { Ending::Gone }
}

/// When a phase ran, and what that cost.
struct Times {
    start_ns: u64,
    finished_ns: u64,
    watched: Watched,
    usage: Usage,
}

/// What the watch saw.
#[derive(Default)]
struct Watched {
    /// A SIGINT ended the phase.
    interrupted: bool,
    /// A report hook's, which ended it.
    error: Option<Error>,
}

struct Watch<'a> {
    scene: Scene<'a>,
    stage: &'a Stage<'a>,
    windows: &'a [Vec<Window>],
    audience: Audience<'a>,
}

impl Watch<'_> {
    /// Waits until all users are loaded, then for the caller.
    fn assemble(&self, crew: &Crew) -> Result<Wish, Error> {
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
        let watched = followed?;
        let usage = usage::now()?.since(&before);
        Ok(Times { start_ns, finished_ns: now_ns(), watched, usage })
    }

    /// Has the caller look at a server while its connections are open: some end a process or a
    /// thread with each of them, and the kernel forgets half of what it knew. Whatever the caller
    /// wishes, what was measured is said next.
    fn answered(&self) -> Result<(), Error> {
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

/// What the workers counted, and the first error that one of them met.
fn gathered<'a>(
    reports: Vec<Report<'a>>,
    counters: &mut Counters,
) -> (Vec<Lane<'a>>, Option<Error>) {
    let (mut lanes, mut error) = (Vec::new(), None);
    for report in reports {
        lanes.extend(report.lanes);
        add(counters, report.counters);
        error = error.or(report.error);
    }
    (lanes, error)
}

/// Says what was measured, even where an error ended the phase.
fn finish(
    stage: &Stage,
    times: Times,
    (lanes, error): (Vec<Lane>, Option<Error>),
    hooks: Option<&Hooks>,
) -> Result<Ending, Error> {
    let stat = hooks.map(|it| Stat::of_phase(&lanes, it.percentile));
    let done = times.done(stage, lanes)?;
    let stat = stat.transpose()?.map(|stat| stat.when(&done));
    say(&Event::Done(done))?;
    if let Some(error) = times.watched.error.or(error) {
        return Err(error);
    }
    if let (Some(hooks), Some(stat)) = (hooks, stat) {
        hooks.report_cumulative(&stat)?;
    }
    match times.watched.interrupted {
        true => Ok(Ending::Interrupted),
        false => Ok(Ending::Over),
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
            interrupted: self.watched.interrupted,
            usage: self.usage,
            streams: summary::streams(stage, lanes, self.start_ns)?,
        })
    }
}
