//! `dyno-driver run`: plays a plan's commands phase by phase, hand in hand with the caller.

use std::process::ExitCode;

use crate::plan::error::Error;
use crate::plan::event::Event;
use crate::plan::parent::{Caller, Wish, say};
use crate::plan::{VERSION, parent};
use crate::play::phase_state::Scene;
use crate::play::{Audience, Ending, play};
use crate::script;
use crate::tally::Counters;

/// Says hello, plays every phase of every command, says the end.
pub fn run(caller: &Caller) -> Result<ExitCode, Error> {
    say(&Event::Hello { version: VERSION, driver: env!("CARGO_PKG_VERSION").to_owned() })?;
    let plan = caller.plan()?;
    let mut counters = Counters::new();
    for command in &plan.commands {
        let (phases, hooks) = script::phases(&plan, command)?;
        let audience = Audience { caller, hooks: hooks.as_ref() };
        for phase in phases {
            let scene = Scene { plan: &plan, command, phase: &phase };
            let ending = match play(scene, audience, &mut counters) {
                Ok(Ending::Over) => after_done(caller)?,
                Ok(ending) => ending,
                Err(error) => return Ok(parent::fail(&error, Some(&phase.name))),
            };
            match ending {
                Ending::Over => {}
                Ending::Gone => return Ok(ExitCode::FAILURE),
                Ending::Interrupted => return end(counters, 130),
            }
        }
    }
    end(counters, 0)
}

fn after_done(caller: &Caller) -> Result<Ending, Error> {
    Ok(match caller.wish()? {
        Wish::Go => Ending::Over,
        Wish::Stop => Ending::Interrupted,
        Wish::Gone => Ending::Gone,
    })
}

fn end(counters: Counters, code: u8) -> Result<ExitCode, Error> {
    say(&Event::End { counters })?;
    Ok(ExitCode::from(code))
}
