//! `dyno-driver describe`: what a plan's script declares, without an engine.

use std::process::ExitCode;

use crate::plan::caller::{self, Caller};
use crate::plan::error::Error;
use crate::script;

/// Prints one object.
pub fn describe(caller: &Caller) -> Result<ExitCode, Error> {
    caller::print(&script::describe(&caller.plan()?)?)?;
    Ok(ExitCode::SUCCESS)
}
