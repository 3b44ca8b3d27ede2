//! The commands of `dyno-driver`: `run`, `ask`, `lockstep`, `echo`, `rows`, `sample`, `cache-lines`
//! in files of their own, `identify` and `merge` in `together`, `describe`, `outline`, `schema`.

pub mod ask;
pub mod cache_lines;
mod contents;
pub mod echo;
pub mod lockstep;
mod one_statement;
pub mod rows;
pub mod run;
pub mod sample;
pub mod together;

use std::path::PathBuf;
use std::process::ExitCode;

use schemars::schema_for;
use serde::Deserialize;
use serde_json::json;

use crate::plan::answer::Answer;
use crate::plan::error::Error;
use crate::plan::event::{Description, Event};
use crate::plan::parent::Parent;
use crate::plan::{Ask, Plan, parent};
use crate::{dump, script, sessions};

/// `dyno-driver describe`: prints what a plan's script declares, without an engine.
pub fn describe(parent: &Parent) -> Result<ExitCode, Error> {
    let plan = parent.plan()?;
    script::watch(&plan);
    parent::print_json(&script::describe(&plan)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Which file, and the kind of the session that it is for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OutlineQuestion {
    #[serde(rename = "version")]
    _version: u32,
    path: PathBuf,
    kind: String,
}

/// `dyno-driver outline`: prints what an SQL file holds, without its rows.
pub fn outline(parent: &Parent) -> Result<ExitCode, Error> {
    let question: OutlineQuestion = parent.question()?;
    let engine = sessions::reading(&question.kind)?;
    parent::print_json(&dump::outline(&question.path, engine)?)?;
    Ok(ExitCode::SUCCESS)
}

/// `dyno-driver schema`: prints the JSON schemas of all that goes in and out, by type name, for the
/// other side's contract test.
pub fn schema() -> Result<ExitCode, Error> {
    parent::print_json(&json!({
        "Plan": schema_for!(Plan),
        "Ask": schema_for!(Ask),
        "Event": schema_for!(Event),
        "Description": schema_for!(Description),
        "Answer": schema_for!(Answer),
    }))?;
    Ok(ExitCode::SUCCESS)
}
