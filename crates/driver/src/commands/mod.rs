//! One file per command of `dyno-driver`.

pub mod ask;
pub mod run;

use std::process::ExitCode;

use schemars::schema_for;
use serde_json::json;

use crate::plan::error::Error;
use crate::plan::event::{Answer, Description, Event};
use crate::plan::parent::Parent;
use crate::plan::{Ask, Plan, parent};
use crate::script;

// `dyno-driver describe`: what a plan's script declares, without an engine.

/// Prints one object.
pub fn describe(parent: &Parent) -> Result<ExitCode, Error> {
    parent::print_json(&script::describe(&parent.plan()?)?)?;
    Ok(ExitCode::SUCCESS)
}

// The JSON schemas of all that goes in and out, for the other side's contract test.

/// Prints one object: type name to its schema.
pub fn print() -> Result<ExitCode, Error> {
    parent::print_json(&json!({
        "Plan": schema_for!(Plan),
        "Ask": schema_for!(Ask),
        "Event": schema_for!(Event),
        "Description": schema_for!(Description),
        "Answer": schema_for!(Answer),
    }))?;
    Ok(ExitCode::SUCCESS)
}
