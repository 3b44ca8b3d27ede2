//! Plays one phase: everybody ready, go, watch, done.

pub mod phase_state;
pub mod report_hooks;
mod turns;
mod user_slot;
mod watch;
mod worker;
mod workers;

use crate::plan::error::Error;
use crate::plan::event::{Done, Event};
use crate::plan::parent::{Caller, Wish, say};
use crate::plan::phase::Phase;
use crate::script::Hooks;
use crate::tally::share::{Lane, Window};
use crate::tally::{Counters, add, summary};
use phase_state::{Scene, Stage};
use report_hooks::Stat;
use watch::{Times, Watch};
use worker::Report;
use workers::{Crew, groups};

/// Who hears how it goes.
#[derive(Clone, Copy)]
pub struct Audience<'a> {
    /// Whoever started us; it also says when to go on.
    pub caller: &'a Caller,
    /// The script's report hooks, where it set any.
    pub hooks: Option<&'a Hooks>,
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
