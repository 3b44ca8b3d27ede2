//! `dyno-driver sample`: where the CPU time of processes goes, between a request and `stop`.
//!
//! A request, a line of JSON, says whom to sample and how often, and is answered by what is seen.
//! `stop` ends the sampling and is answered by `{}`; `name` is answered by the functions that were
//! met, a profile for each process asked for, while these stand; before `stop` it is answered by
//! those that were met until then. Then the next request may come. The end of stdin ends it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use dyno_profiler::{FunctionNames, Profile, Samples, Sampling};
use serde_json::json;

use crate::plan::error::Error;
use crate::plan::parent::{Parent, parse, print_json};

/// How often what the kernel wrote is taken over. A ring holds the samples of some seconds, of a
/// thread's own or with stacks those of half a second.
const DRAIN_EVERY: Duration = Duration::from_millis(100);

/// What goes on.
enum State {
    Idle,
    Sampling(Box<Sampling>),
    Stopped(Vec<Samples>),
}

/// Answers requests until stdin ends; `debug_folders` hold debug files by build id.
pub fn sample(parent: &Parent, debug_folders: &[PathBuf]) -> Result<ExitCode, Error> {
    let mut names = FunctionNames::new(debug_folders);
    let mut state = State::Idle;
    loop {
        let within = match &state {
            State::Sampling(going) => going.due(DRAIN_EVERY),
            _ => DRAIN_EVERY,
        };
        match parent.next_word(within) {
            Ok(word) => state = answer(&word, state, &mut names)?,
            Err(RecvTimeoutError::Timeout) => {
                if let State::Sampling(going) = &mut state {
                    going.drain().map_err(Error::host)?;
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(ExitCode::SUCCESS),
        }
    }
}

fn answer(word: &str, state: State, names: &mut FunctionNames) -> Result<State, Error> {
    match (word, state) {
        ("stop", State::Sampling(going)) => {
            let stopped = going.end().map_err(Error::host)?;
            print_json(&json!({}))?;
            Ok(State::Stopped(stopped))
        }
        ("name", State::Sampling(mut going)) => {
            let samples = going.look().map_err(Error::host)?;
            let profiles: Vec<Profile> = samples.iter().map(|each| names.name(each)).collect();
            print_json(&profiles)?;
            Ok(State::Sampling(going))
        }
        ("name", State::Stopped(samples)) => {
            let profiles: Vec<Profile> = samples.iter().map(|each| names.name(each)).collect();
            print_json(&profiles)?;
            Ok(State::Idle)
        }
        (request, State::Idle | State::Stopped(_)) if request.starts_with('{') => {
            let begun = Sampling::begin(&parse("request", request)?).map_err(Error::host)?;
            print_json(&begun.started())?;
            Ok(State::Sampling(Box::new(begun)))
        }
        (other, _) => Err(Error::driver(format!(
            "expected a request, or `stop` and then `name` on stdin, not `{other}`"
        ))),
    }
}
