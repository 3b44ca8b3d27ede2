//! Plays one phase: all users ready, go, monitor, done.
//!
//! ```text
//! phase_state  what its workers share          workers    the threads, started and joined
//! worker       one thread, the hot loop        user_slot  one user in it
//! run_queue    who is to be played next        monitor    progress, SIGINT, the phase's end
//! own_loop     a user whose script has a loop of its own
//! rests        a user who rests between two events
//! reconnects   connections made anew or given up, and whom that keeps waiting
//! standstill   time in which the whole driver stood still
//! client       one of several drivers: its threads' and its host's time
//! report       what sysbench reports, and a script's report hooks are given
//! ```

mod client;
mod monitor;
mod own_loop;
mod phase_state;
mod reconnects;
mod report;
mod rests;
mod run_queue;
mod standstill;
mod user_slot;
mod worker;
mod workers;

use std::collections::BTreeMap;

use crate::plan::PhaseRef;
use crate::plan::error::Error;
use crate::plan::event::{Done, Event};
use crate::plan::parent::{Instruction, Parent, emit};
use crate::plan::statement::merge;
use crate::script::MainState;
use crate::tally::ScriptSums;
use crate::tally::live::{LiveCounts, LiveReport, LiveWorker};
use crate::tally::share::StreamShare;
use crate::tally::summary::{PhaseSpan, Summary, summary};
use client::HostTimes;
pub use monitor::Observers;
use monitor::{Measured, PhaseMonitor};
use phase_state::PhaseState;
use reconnects::HeldUp;
use worker::WorkerReport;
pub use workers::pin_thread;
use workers::{WorkerPool, groups};

/// How a phase ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseEnd {
    /// As planned.
    Completed,
    /// By a SIGINT; what was measured has been told.
    Interrupted,
    /// The parent is gone; nothing was told.
    ParentGone,
}

/// Plays one phase, adds its users' side of the ledger; tells the parent `settle` where the phase
/// asks for it, `ready`, `progress`, `answered` and `done`, and the script's report hooks the
/// progress and the sum.
pub fn play_phase(
    phase_ref: PhaseRef,
    observers: Observers,
    sums: &mut ScriptSums,
) -> Result<PhaseEnd, Error> {
    let phase = PhaseState::new(phase_ref)?;
    if let Some(end) = settle(&phase, observers.parent)? {
        return Ok(end);
    }
    let live: Vec<LiveWorker> = groups(&phase)
        .iter()
        .map(|users| LiveWorker {
            streams: phase.streams.iter().map(|_| LiveCounts::default()).collect(),
            report: observers.hooks.map(|_| LiveReport::new(users.len())),
        })
        .collect();
    let (measured, reports, host) = std::thread::scope(|scope| {
        let pool = WorkerPool::spawn(scope, &phase, &live)?;
        let monitor = PhaseMonitor { phase: &phase, live: &live, observers };
        let start_ns = match monitor.wait_until_ready(&pool)? {
            Instruction::Go { start_ns } => start_ns,
            other => return Ok((Err(other), Vec::new(), [None, None])),
        };
        let before = HostTimes::read();
        let measured = monitor.play(&pool, start_ns)?;
        let host = [before, HostTimes::read()];
        monitor.pause_while_connected()?;
        Ok((Ok(measured), pool.join()?, host))
    })?;
    if measured.is_ok() && phase.phase_ref.plan.client.is_some() {
        let workers: Vec<_> = reports.iter().map(|it| (it.began_ns, it.spent)).collect();
        emit(&Event::Client(client::describe_client(&phase, &workers, host)))?;
    }
    match measured {
        Ok(measured) => finish(&phase, measured, gather(reports, sums), observers.hooks),
        Err(instruction) => Ok(instead_of_go(instruction)),
    }
}

/// Has the parent settle the engine while no connection is open, and hear of the users to come; how
/// the phase ended, if it did.
fn settle(phase: &PhaseState, parent: &Parent) -> Result<Option<PhaseEnd>, Error> {
    let event = match phase.phase_ref {
        it if it.phase.settle => Event::Settle { phase: phase.name() },
        it if it.plan.reports => Event::Loads { phase: phase.name(), users: phase.users() },
        _ => return Ok(None),
    };
    emit(&event)?;
    let instruction = parent.await_go()?;
    Ok(match instruction {
        Instruction::Go { .. } => None,
        other => Some(instead_of_go(other)),
    })
}

fn instead_of_go(instruction: Instruction) -> PhaseEnd {
    match instruction {
        Instruction::Stop => PhaseEnd::Interrupted,
        _ => PhaseEnd::ParentGone,
    }
}

/// What the workers counted, the worst of what held their users up, and the first error that one
/// of them met.
#[derive(Default)]
struct Gathered<'a> {
    shares: Vec<StreamShare<'a>>,
    held_up: HeldUp,
    waited_ns: u64,
    engine_counts: BTreeMap<String, u64>,
    error: Option<Error>,
}

fn gather<'a>(reports: Vec<WorkerReport<'a>>, sums: &mut ScriptSums) -> Gathered<'a> {
    let mut all = Gathered::default();
    for report in reports {
        all.shares.extend(report.shares);
        sums.add(report.sums);
        all.held_up = all.held_up.or_worse(report.held_up);
        all.waited_ns = all.waited_ns.max(report.spent.waited_ns);
        for (name, count) in report.engine_counts {
            *all.engine_counts.entry(name.to_owned()).or_default() += count;
        }
        all.error = all.error.or(report.error);
    }
    all
}

/// Tells what was measured, even where an error ended the phase.
fn finish(
    phase: &PhaseState,
    measured: Measured,
    Gathered { shares, held_up, waited_ns, engine_counts, error }: Gathered,
    hooks: Option<&MainState>,
) -> Result<PhaseEnd, Error> {
    let report = hooks.map(|hooks| report::report_of_phase(&shares, hooks)).transpose();
    let done = done(phase, &measured, (shares, held_up, engine_counts))
        .map(|done| Done { waited_ns, ..done });
    let error = measured.hook_error.or(error);
    // What ended the phase goes before what it left that does not add up.
    let (done, error) = match (done, error) {
        (Err(mismatch), error) => return Err(error.unwrap_or(mismatch)),
        (Ok(done), error) => (done, error),
    };
    let report = if error.is_none() { report? } else { None };
    let report = report.map(|report| report::with_times(report, &done));
    let told = match (hooks, report, &error) {
        (Some(hooks), Some(report), None) => {
            report::tell(report, hooks, phase.phase_ref.plan.reports)
        }
        _ => Ok(()),
    };
    emit(&Event::Done(done))?;
    if let Some(error) = error.or(told.err()) {
        return Err(error);
    }
    match measured.interrupted {
        true => Ok(PhaseEnd::Interrupted),
        false => Ok(PhaseEnd::Completed),
    }
}

fn done(
    phase: &PhaseState,
    measured: &Measured,
    (shares, held_up, engine_counts): (Vec<StreamShare>, HeldUp, BTreeMap<String, u64>),
) -> Result<Done, Error> {
    let last_answer_ns = shares.iter().map(|share| share.events.last_answer_ns).max().unwrap_or(0);
    let timeline = phase.timeline();
    let (measured_ns, stop_ns) = (phase.measured_ns(), phase.stop_ns());
    let finished_ns = timeline.phase_ns(measured.finished_ns);
    let ended_ns = last_answer_ns.max(stop_ns.min(finished_ns));
    let span = PhaseSpan { timeline: timeline.clone(), measured_ns, stop_ns, ended_ns };
    let Summary { mut streams, together } = summary(&phase.streams, shares, &span)?;
    if let Some(first) = streams.first_mut() {
        let before = phase.phase_ref.before;
        first.claimed_before += before.claimed;
        merge(&mut first.statements_before, before.statements);
    }
    let is_interleaved = phase.phase_ref.turns().is_some();
    let counted_ns = timeline.counted_ns(ended_ns).saturating_sub(timeline.counted_ns(measured_ns));
    Ok(Done {
        phase: phase.name(),
        started_ns: measured.start_ns,
        measured_ns: timeline.monotonic_ns(measured_ns),
        ended_ns: timeline.monotonic_ns(ended_ns),
        own_ns: is_interleaved.then(|| ended_ns.saturating_sub(measured.start_ns)),
        counted_ns: is_interleaved.then_some(counted_ns),
        stood_still_ns: measured.standstill.own_ns,
        stood_still_ns_max: measured.standstill.longest_ns,
        held_up_ns: held_up.own_ns,
        held_up_ns_max: held_up.longest_ns,
        waited_ns: 0,
        interrupted: measured.interrupted,
        usage: measured.usage,
        engine_counts,
        streams,
        together,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::plan::event::Usage;
    use crate::script;
    use crate::testing::Folder;

    #[test]
    fn what_ended_a_phase_is_told_rather_than_that_its_counts_do_not_add_up() {
        let folder = Folder::new();
        let mut plan = folder.plan("function event() end");
        let options = [("events", "9"), ("time", "0")];
        plan.script.options.extend(options.map(|(name, text)| (name.into(), text.into())));
        let (phases, _) = script::phases(&plan, "run").unwrap();
        let before = Default::default();
        let phase_ref = PhaseRef { plan: &plan, command: "run", phase: &phases[0], before };
        let phase = PhaseState::new(phase_ref).unwrap();
        phase.streams[0].take_ticket();
        let end = |error| {
            let measured = Measured {
                start_ns: 0,
                finished_ns: 1,
                interrupted: false,
                hook_error: None,
                usage: Usage::default(),
                standstill: standstill::Standstill::new(1, Default::default()),
            };
            finish(&phase, measured, Gathered { error, ..Gathered::default() }, None)
                .unwrap_err()
                .to_string()
        };
        assert!(end(None).contains("does not add up"));
        assert_eq!(end(Some(Error::engine("the disk is full"))), "the disk is full");
    }
}
