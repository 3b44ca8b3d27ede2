//! `dyno-driver identify` and `dyno-driver merge`: what is asked where several drivers play one
//! load together, each on a host of its own.

use std::process::ExitCode;

use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::plan::VERSION;
use crate::plan::error::Error;
use crate::plan::event::Done;
use crate::plan::parent::{self, Parent};
use crate::tally::merge::merge_phase;

/// `identify`: which driver this is, and where it runs. Two of one `machine` share its cores and
/// its clock, and two of one `network` its loopback.
pub fn identify() -> Result<ExitCode, Error> {
    let program = std::fs::read("/proc/self/exe")
        .map_err(|cause| Error::host("cannot read our own program").because(cause))?;
    let sum: String = Sha256::digest(&program).iter().map(|byte| format!("{byte:02x}")).collect();
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let network = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, |it| it.get());
    parent::print_json(&json!({
        "version": VERSION,
        "driver": env!("CARGO_PKG_VERSION"),
        "sha256": sum,
        "cores": cores,
        "name": read("/proc/sys/kernel/hostname"),
        "machine": read("/proc/sys/kernel/random/boot_id"),
        "network": network.to_string_lossy(),
    }))?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MergeQuestion {
    #[serde(rename = "version")]
    _version: u32,
    parts: Vec<Done>,
}

/// `merge`: the records of one phase, each of a driver of its own, as one.
pub fn merge(parent: &Parent) -> Result<ExitCode, Error> {
    let question: MergeQuestion = parent.question()?;
    parent::print_json(&merge_phase(question.parts)?)?;
    Ok(ExitCode::SUCCESS)
}
