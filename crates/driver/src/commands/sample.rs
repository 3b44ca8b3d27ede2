//! `dyno-driver sample`: where the CPU time of a process goes, between `start` and `stop`.
//!
//! The first line says whom to sample, and how often. A `start` is answered by what is seen, a
//! `stop` by the functions that were met; then it may start again. The end of stdin ends it.

use std::process::ExitCode;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use dyno_profiler::Sampling;

use crate::plan::error::Error;
use crate::plan::parent::{Parent, print_json};

/// How often what the kernel wrote is taken over. A ring holds the samples of some seconds.
const DRAIN_EVERY: Duration = Duration::from_millis(500);

/// Answers `start` and `stop` until stdin ends.
pub fn sample(parent: &Parent) -> Result<ExitCode, Error> {
    let request = parent.sampling()?;
    let mut going: Option<Sampling> = None;
    loop {
        match parent.next_word(DRAIN_EVERY) {
            Ok(word) => match (word.as_str(), going.take()) {
                ("start", None) => {
                    let begun = Sampling::begin(&request).map_err(Error::host)?;
                    print_json(&begun.started())?;
                    going = Some(begun);
                }
                ("stop", Some(begun)) => print_json(&begun.end().map_err(Error::host)?)?,
                (other, _) => {
                    return Err(Error::driver(format!(
                        "expected `start` or `stop` on stdin, not `{other}`"
                    )));
                }
            },
            Err(RecvTimeoutError::Timeout) => {
                if let Some(begun) = going.as_mut() {
                    begun.drain().map_err(Error::host)?;
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(ExitCode::SUCCESS),
        }
    }
}
