//! `dyno-driver ask`: one session, statements in order, answers as text.
//!
//! So settings, settling, audits and probes need no second client library.

use std::process::ExitCode;

use crate::plan::error::Error;
use crate::plan::event::Answer;
use crate::plan::parent;
use crate::plan::parent::Parent;
use crate::sessions::{Reply, Rows, Session};
use crate::{sessions, wire};

/// Answers all statements or, at the first that fails, none.
pub fn ask(parent: &Parent) -> Result<ExitCode, Error> {
    let ask = parent.ask()?;
    let mut session = sessions::open(&ask.session)?;
    let answers: Result<Vec<Answer>, Error> =
        ask.statements.iter().map(|sql| answer(session.as_mut(), sql)).collect();
    parent::print_json(&answers?)?;
    Ok(ExitCode::SUCCESS)
}

fn answer(session: &mut dyn Session, sql: &str) -> Result<Answer, Error> {
    let mut reply = session.query(sql)?;
    loop {
        match reply {
            Reply::Ready { changed, .. } => return Ok(text(session.rows(), changed)),
            Reply::Pending { until_ns } => wire::wait_in_turn(until_ns),
        }
        reply = session.poll()?;
    }
}

fn text(rows: &Rows, changed: u64) -> Answer {
    let fields: Vec<Option<String>> = rows
        .fields()
        .map(|field| field.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
        .collect();
    let width = rows.columns.len().max(1);
    let rows_of_text = fields.chunks(width).map(<[_]>::to_vec).collect();
    Answer { columns: rows.columns.clone(), rows: rows_of_text, changed }
}
