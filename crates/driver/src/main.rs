//! `dyno-driver`: a plan on stdin, events on stdout; no database server, no Python.
//!
//! ```text
//! run        plays a plan's commands, phase by phase, and says what it measured
//! describe   says what a plan's script declares, without an engine
//! ask        answers statements in order, one session or one after the other
//! answer     the same, but ends at once when stdin does
//! lockstep   plays a log's statements in its order, each in its session, and keeps the answers
//! echo       answers requests of any size without an engine, as a server would
//! rows       writes the rows of a bulk load
//! outline    says what an SQL file holds, without its rows
//! sample     says where the CPU time of a process goes
//! cache-lines  says how long a cache line takes from one core to another
//! identify   says which driver this is, and on which host
//! merge      makes one record of those that several drivers told of a phase
//! schema     prints the JSON schemas of all that goes in and out
//! ```
//! A phase is played by workers (`play/`), each with its users (`script/`), who talk to the
//! engine through sessions (`sessions/`). When an event is due is a pure function of the seed
//! (`schedule/`); what became of it is counted per worker and added up when the phase
//! is over (`tally/`).

mod commands;
mod dump;
mod generate;
mod plan;
mod play;
mod schedule;
mod script;
mod sessions;
mod tally;
#[cfg(test)]
mod testing;
mod wire;

use std::path::PathBuf;
use std::process::ExitCode;

use commands::{ask, cache_lines, echo, lockstep, rows, run, sample, together};
use plan::descriptors;
use plan::error::Error;
use plan::parent::{self, Parent};
use schedule::clock::now_ns;

/// Lua's strings and tables are most of what is allocated while an event is played, and the C
/// library's allocator costs more CPU for them (docs/evidence/code-choices.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let word = std::env::args().nth(1).unwrap_or_default();
    // these serve one thread of Dyno after the other, and may outlive the one that started them:
    // the end of stdin tells them that Dyno is gone
    if !matches!(&*word, "sample" | "answer") {
        parent::die_with_parent();
    }
    let kept = descriptors::keep_to_ourselves();
    let kept = kept.map_err(|cause| Error::host("cannot look at our open files").because(cause));
    let outcome = kept.and_then(|()| parent::keep_streams()).and_then(|()| command(&word));
    outcome.unwrap_or_else(|error| parent::exit_with_error(&error, None))
}

fn command(word: &str) -> Result<ExitCode, Error> {
    match word {
        "run" => Parent::listen(now_ns).and_then(|parent| run::run(&parent)),
        "describe" => Parent::listen(now_ns).and_then(|parent| commands::describe(&parent)),
        "ask" => Parent::listen(now_ns).and_then(|parent| ask::ask(&parent)),
        "answer" => Parent::listen(now_ns).and_then(|parent| {
            parent.end_with_stdin();
            ask::ask(&parent)
        }),
        "lockstep" => Parent::listen(now_ns).and_then(|parent| lockstep::lockstep(&parent)),
        "echo" => echo::echo(&std::env::args().nth(2).unwrap_or_default()),
        "rows" => rows::rows(&std::env::args().nth(2).unwrap_or_default()),
        "outline" => Parent::listen(now_ns).and_then(|parent| commands::outline(&parent)),
        "sample" => {
            let folders: Vec<PathBuf> = std::env::args_os().skip(2).map(PathBuf::from).collect();
            Parent::listen(now_ns).and_then(|parent| sample::sample(&parent, &folders))
        }
        "cache-lines" => cache_lines::cache_lines(),
        "identify" => together::identify(),
        "merge" => Parent::listen(now_ns).and_then(|parent| together::merge(&parent)),
        "schema" => commands::schema(),
        _ => Err(unknown(word)),
    }
}

fn unknown(word: &str) -> Error {
    Error::user(format!("unknown command `{word}`")).hint(concat!(
        "one of run, describe, ask, answer, lockstep, echo, rows, outline, sample, cache-lines, ",
        "identify, merge, schema"
    ))
}
