//! `dyno-driver run`: plays a plan's commands phase by phase, in step with the parent.

use std::process::ExitCode;

use crate::plan::PhaseRef;
use crate::plan::error::Error;
use crate::plan::event::Event;
use crate::plan::parent::{Instruction, Parent, emit};
use crate::plan::phase::Phase;
use crate::plan::statement::StatementTally;
use crate::plan::turns::Turns;
use crate::plan::{Before, Plan, VERSION, parent};
use crate::play::{Observers, PhaseEnd, play_phase};
use crate::script;
use crate::script::MainState;
use crate::tally::statements::tallies;
use crate::tally::{ScriptSums, add, examples, written};

/// Says hello, plays every phase of every command, says the end.
pub fn run(parent: &Parent) -> Result<ExitCode, Error> {
    emit(&Event::Hello { version: VERSION, driver: env!("CARGO_PKG_VERSION").to_owned() })?;
    let plan = parent.plan()?;
    plan.turns.iter().try_for_each(Turns::check)?;
    if let Some(client) = plan.client {
        client.check()?;
        parent.end_with_stdin();
    }
    script::watch(&plan);
    let mut run = Run { plan: &plan, parent, sums: ScriptSums::default() };
    // All of them first: a mistake in what is played last is told before a load that takes long.
    let mut commands = Vec::with_capacity(plan.commands.len());
    for command in &plan.commands {
        commands.push((command, script::phases(&plan, command)?));
    }
    for (command, (phases, main)) in commands {
        match run.command(command, &phases, main) {
            Ok(PhaseEnd::Completed) => {}
            Ok(PhaseEnd::ParentGone) => return Ok(ExitCode::FAILURE),
            Ok(PhaseEnd::Interrupted) => return end(run.sums, 130),
            Err((error, phase)) => {
                return Ok(parent::exit_with_error(&error, phase.as_deref()));
            }
        }
    }
    end(run.sums, 0)
}

/// A plan as far as it was played.
struct Run<'a> {
    plan: &'a Plan,
    parent: &'a Parent,
    sums: ScriptSums,
}

/// An error, and the phase that it ended.
type Ended = (Error, Option<String>);

impl Run<'_> {
    /// `init`, every phase, `done`.
    fn command(
        &mut self,
        command: &str,
        phases: &[Phase],
        mut main: Option<MainState>,
    ) -> Result<PhaseEnd, Ended> {
        if !self.call(&mut main, "init").map_err(|error| (error, None))? {
            return Ok(PhaseEnd::Interrupted);
        }
        for phase in phases {
            let of_phase = |error| (error, Some(phase.name.clone()));
            let mut statements = Vec::new();
            let before = before(&mut main, phase, &mut statements).map_err(of_phase)?;
            let hooks = main.as_ref().filter(|it| it.is_hooked);
            let observers = Observers { parent: self.parent, hooks };
            let phase_ref = PhaseRef { plan: self.plan, command, phase, before };
            let ending = match play_phase(phase_ref, observers, &mut self.sums) {
                Ok(PhaseEnd::Completed) => after_done(self.parent).map_err(of_phase)?,
                Ok(ending) => ending,
                Err(error) => return Err(of_phase(error)),
            };
            if ending != PhaseEnd::Completed {
                return Ok(ending);
            }
        }
        let is_done = self.call(&mut main, "done").map_err(|error| (error, None))?;
        main.iter().for_each(|it| add(&mut self.sums.counters, it.counters()));
        Ok(if is_done { PhaseEnd::Completed } else { PhaseEnd::Interrupted })
    }

    fn call(&self, main: &mut Option<MainState>, function: &str) -> Result<bool, Error> {
        main.as_mut().map_or(Ok(true), |it| it.play(function, self.parent))
    }
}

/// What `init` left for a phase. An engine cannot settle while somebody is connected: some let one
/// process in at a time.
fn before<'a>(
    main: &mut Option<MainState>,
    phase: &Phase,
    statements: &'a mut Vec<StatementTally>,
) -> Result<Before<'a>, Error> {
    let Some(main) = main else { return Ok(Before::default()) };
    let is_connected = main.is_connected();
    if is_connected && phase.settle {
        let error = Error::user("init() leaves a connection open, so the engine cannot settle");
        return Err(error.hint("end init() with con:disconnect()"));
    }
    let counts = main.take_counts();
    let claimed = counts.claimed.unwrap_or(0) + counts.further;
    *statements = tallies(counts.statements);
    Ok(Before { claimed, statements, is_connected })
}

fn after_done(parent: &Parent) -> Result<PhaseEnd, Error> {
    Ok(match parent.await_go()? {
        Instruction::Go { .. } => PhaseEnd::Completed,
        Instruction::Stop => PhaseEnd::Interrupted,
        Instruction::Gone => PhaseEnd::ParentGone,
    })
}

fn end(sums: ScriptSums, code: u8) -> Result<ExitCode, Error> {
    let (counters, written) = (sums.counters, written::told(sums.written));
    emit(&Event::End { counters, written, examples: examples::list_examples(sums.examples) })?;
    Ok(ExitCode::from(code))
}
