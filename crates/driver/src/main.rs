//! `dyno-driver`: a plan on stdin, events on stdout; no database server, no Python.
//!
//! ```text
//! run        plays a plan's commands, phase by phase, and says what it measured
//! describe   says what a plan's script declares, without an engine
//! ask        answers statements, one session, in order
//! schema     prints the JSON schemas of all that goes in and out
//! ```
//! A phase is played by workers (`worker.rs`), each with its users (`script.rs`), who talk to the
//! engine through sessions (`sessions/`). When an event is due is a pure function of the seed
//! (`schedule.rs`); what became of it is counted per worker (`tally.rs`) and added up when the
//! phase is over (`summary.rs`).

mod agenda;
mod ask;
mod caller;
mod clock;
mod counters;
mod crew;
mod error;
mod event;
mod generate;
mod histogram;
mod lane;
mod login;
mod phase;
mod plan;
mod play;
mod progress;
mod rand;
mod run;
mod scene;
mod schedule;
mod schema;
mod script;
mod seed;
mod sessions;
mod signals;
mod slot;
mod stage;
mod stat;
mod summary;
mod tally;
#[cfg(test)]
mod testing;
mod timers;
mod usage;
mod wire;
mod worker;

use std::process::ExitCode;

use caller::Caller;
use error::Error;

fn main() -> ExitCode {
    signals::die_with_parent();
    let word = std::env::args().nth(1).unwrap_or_default();
    let outcome = match word.as_str() {
        "run" => Caller::listen().and_then(|caller| run::run(&caller)),
        "describe" => Caller::listen().and_then(|caller| describe(&caller)),
        "ask" => Caller::listen().and_then(|caller| ask::ask(&caller)),
        "schema" => schema::print(),
        _ => Err(unknown(&word)),
    };
    outcome.unwrap_or_else(|error| caller::fail(&error, None))
}

fn describe(caller: &Caller) -> Result<ExitCode, Error> {
    caller::print(&script::describe(&caller.plan()?)?)?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(word: &str) -> Error {
    Error::user(format!("unknown command `{word}`")).hint("one of run, describe, ask, schema")
}
