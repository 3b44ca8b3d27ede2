//! `dyno-driver ask` and `answer`: statements in order, answers as text, question after question.
//!
//! So settings, settling, audits and probes need no second client library. A question over the same
//! session as the one before finds its connection, unless that was to be closed. A failure ends its
//! connection and no more: the next question opens one anew.

use std::process::ExitCode;

use super::contents;
use super::one_statement::{Played, send, text, too_large, wait};
use crate::plan::answer::Answer;
use crate::plan::error::Error;
use crate::plan::parent;
use crate::plan::parent::Parent;
use crate::plan::{self, Ask, AskMode};
use crate::schedule::clock::now_ns;
use crate::sessions::rows::{self, TOO_LARGE};
use crate::sessions::{EngineCounts, Session};
use crate::{sessions, wire};

/// What all answers may take: more than two of MySQL's packets, and less than what
/// `src/dyno/driver/questions.py` reads, unless JSON writes much of it as escapes.
const MOST_BYTES: usize = 40 << 20;

/// Answers one question after the other, until there is none; the exit code is of the last answer.
pub fn ask(parent: &Parent) -> Result<ExitCode, Error> {
    rows::set_limit(MOST_BYTES);
    let mut next = Some(parent.ask()?);
    let (mut open, mut code) = (None, ExitCode::SUCCESS);
    while let Some(asked) = next {
        let outcome = answer(&mut open, &asked);
        if outcome.is_err() || asked.closes {
            open = None;
        }
        code = match outcome {
            Ok(answers) => parent::print_json(&answers).map(|()| ExitCode::SUCCESS)?,
            Err(error) => parent::exit_with_error(&error, None),
        };
        next = parent.ask_again()?;
    }
    Ok(code)
}

/// A connection, and how it was opened.
type Open = (plan::Session, Box<dyn Session>);

/// Answers a question over the connection that is open, if that is its own.
fn answer(open: &mut Option<Open>, asked: &Ask) -> Result<Vec<Answer>, Error> {
    if let Some((_, session)) = open.as_mut().filter(|(of, _)| *of == asked.session) {
        return answers(session.as_mut(), asked);
    }
    // the last one ends before the next begins, and files of authorities may have changed since
    *open = None;
    wire::forget_authorities();
    let began_ns = now_ns();
    let mut session = sessions::open(&asked.session)?;
    let opened_ns = now_ns() - began_ns;
    let mut answered = answers(session.as_mut(), asked)?;
    if let Some(answer) = answered.first_mut() {
        (answer.opened_ns, answer.process) = (Some(opened_ns), session.process());
    }
    *open = Some((asked.session.clone(), session));
    Ok(answered)
}

/// Answers all statements or, at the first that fails, none.
fn answers(session: &mut dyn Session, asked: &Ask) -> Result<Vec<Answer>, Error> {
    if asked.mode == AskMode::Contents {
        let type_name = sessions::descriptor(&asked.session).type_name;
        return contents::answers(session, &asked.statements, type_name);
    }
    let (mut answers, mut bytes) = (Vec::new(), 0);
    session.keep_rows(asked.mode == AskMode::Rows);
    session.keep_notices(matches!(asked.mode, AskMode::Notices | AskMode::Prepares));
    let mut before = EngineCounts::default();
    session.count_work(&mut before);
    for sql in &asked.statements {
        let play = match asked.mode {
            AskMode::Prepares => prepare,
            AskMode::Executes => execute,
            _ => send,
        };
        let Played { found, changed, elapsed_ns, scans } =
            play(session, sql).map_err(|error| bounded(error, sql))?;
        let mut counts = EngineCounts::default();
        session.count_work(&mut counts);
        let mut answer = Answer { rows: scans, changed, found, elapsed_ns, ..Answer::default() };
        answer.counts = counts.into_iter().map(|(name, n)| (name.to_owned(), n)).collect();
        (answer.notices, answer.notices_dropped) = session.take_notices();
        if asked.mode == AskMode::Rows {
            let rows = session.rows();
            bytes += rows.size();
            if bytes > MOST_BYTES {
                return Err(too_many_bytes(sql));
            }
            (answer.columns, answer.rows) = text(rows, sql)?;
        }
        answers.push(answer);
    }
    Ok(answers)
}

/// Prepares a statement, which waits for the answer, and closes it again.
fn prepare(session: &mut dyn Session, sql: &str) -> Result<Played, Error> {
    let began_ns = now_ns();
    let handle = session.prepare_as_written(sql.as_bytes())?;
    let elapsed_ns = now_ns() - began_ns;
    session.close(handle)?;
    Ok(Played { found: 0, changed: 0, elapsed_ns, scans: Vec::new() })
}

/// Executes a statement that was prepared before.
fn execute(session: &mut dyn Session, sql: &str) -> Result<Played, Error> {
    let handle = session.prepare(sql.as_bytes())?;
    let began_ns = now_ns();
    let reply = session.execute(handle, &[])?;
    let mut played = wait(session, reply, began_ns)?;
    let scans = session.scans(handle).into_iter();
    played.scans = scans
        .map(|it| vec![Some(it.step), Some(it.loops.to_string()), Some(it.rows.to_string())])
        .collect();
    session.close(handle)?;
    Ok(played)
}

/// The session's own error, but for an answer that was too large: none of ours has to be.
fn bounded(error: Error, sql: &str) -> Error {
    match error.engine_code() {
        Some(TOO_LARGE) => too_many_bytes(sql),
        _ => error,
    }
}

fn too_many_bytes(sql: &str) -> Error {
    too_large(&format!("{} MiB", MOST_BYTES >> 20), sql)
}
