//! The JSON schemas of all that goes in and out, for the other side's contract test.

use std::process::ExitCode;

use schemars::schema_for;
use serde_json::json;

use crate::plan::caller;
use crate::plan::error::Error;
use crate::plan::event::{Answer, Description, Event};
use crate::plan::{Ask, Plan};

/// Prints one object: type name to its schema.
pub fn print() -> Result<ExitCode, Error> {
    caller::print(&json!({
        "Plan": schema_for!(Plan),
        "Ask": schema_for!(Ask),
        "Event": schema_for!(Event),
        "Description": schema_for!(Description),
        "Answer": schema_for!(Answer),
    }))?;
    Ok(ExitCode::SUCCESS)
}
