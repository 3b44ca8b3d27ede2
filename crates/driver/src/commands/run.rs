//! `dyno-driver run`: plays a plan's commands phase by phase, in step with the parent.

use std::process::ExitCode;

use crate::plan::PhaseRef;
use crate::plan::error::Error;
use crate::plan::event::Event;
use crate::plan::parent::{Instruction, Parent, emit};
use crate::plan::turns::Turns;
use crate::plan::{VERSION, parent};
use crate::play::{Observers, PhaseEnd, play_phase};
use crate::script;
use crate::tally::Counters;

/// Says hello, plays every phase of every command, says the end.
pub fn run(parent: &Parent) -> Result<ExitCode, Error> {
    emit(&Event::Hello { version: VERSION, driver: env!("CARGO_PKG_VERSION").to_owned() })?;
    let plan = parent.plan()?;
    plan.turns.iter().try_for_each(Turns::check)?;
    let mut counters = Counters::new();
    for command in &plan.commands {
        let (phases, hooks) = script::phases(&plan, command)?;
        let observers = Observers { parent, hooks: hooks.as_ref() };
        for phase in phases {
            let phase_ref = PhaseRef { plan: &plan, command, phase: &phase };
            let ending = match play_phase(phase_ref, observers, &mut counters) {
                Ok(PhaseEnd::Completed) => after_done(parent)?,
                Ok(ending) => ending,
                Err(error) => return Ok(parent::exit_with_error(&error, Some(&phase.name))),
            };
            match ending {
                PhaseEnd::Completed => {}
                PhaseEnd::ParentGone => return Ok(ExitCode::FAILURE),
                PhaseEnd::Interrupted => return end(counters, 130),
            }
        }
    }
    end(counters, 0)
}

fn after_done(parent: &Parent) -> Result<PhaseEnd, Error> {
    Ok(match parent.await_go()? {
        Instruction::Go { .. } => PhaseEnd::Completed,
        Instruction::Stop => PhaseEnd::Interrupted,
        Instruction::Gone => PhaseEnd::ParentGone,
    })
}

fn end(counters: Counters, code: u8) -> Result<ExitCode, Error> {
    emit(&Event::End { counters })?;
    Ok(ExitCode::from(code))
}
