//! Scripts on the null session, at once and with answers that come later, and on SQLite.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod batches;
mod debian;
mod declarations;
mod declared;
mod declared_failures;
mod failures;
mod options;
mod random;
mod restarts;
mod rows;
mod statements;
mod waiting;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Seat, Step, User, describe, phases};
use crate::plan::error::Error;
use crate::plan::phase::{Pace, Phase, Stop};
use crate::plan::{Plan, Session};
use crate::testing::Folder;

const SEAT: Seat =
    Seat { command: "run", phase: "run", stream: "event", number: 0, users: 1, turns: None };

const DONE: Step = Step::Done { transaction: 0, more: true };

/// Plays a function to its end, however often it waits.
fn play(user: &mut User, function: &str) -> Result<Step, Error> {
    let mut step = user.begin(function)?;
    while let Step::Waiting { .. } = step {
        step = user.advance()?;
    }
    Ok(step)
}

/// A user whose `event` was played once, on null; the answer comes at once, or later.
fn played_on_null(script: &str, delay_ns: u64) -> Result<(Step, User), Error> {
    let folder = Folder::new();
    let mut plan = folder.plan(script);
    plan.session = Session::Null { delay_ns };
    started(&plan)
}

fn started(plan: &Plan) -> Result<(Step, User), Error> {
    let mut user = User::load(plan, &SEAT)?;
    play(&mut user, "thread_init")?;
    let step = play(&mut user, "event")?;
    Ok((step, user))
}

/// Plays `event` with answers at once and later; what it counts as `n` must be the same.
fn counted(script: &str) -> u64 {
    let both = [0, 20_000].map(|delay_ns| {
        let (step, user) = played_on_null(script, delay_ns).unwrap();
        assert_eq!(step, DONE);
        user.counters().get("n").copied().unwrap_or(0)
    });
    assert_eq!(both[0], both[1]);
    both[0]
}

/// The error of a script that must fail.
fn broken(script: &str) -> Error {
    played_on_null(script, 0).map(|(step, _)| step).unwrap_err()
}

fn sqlite(folder: &Folder, script: &str) -> Plan {
    let mut plan = folder.plan(script);
    plan.session = Session::Sqlite {
        library: PathBuf::from("libsqlite3.so.0"),
        database: folder.path().join("test.db"),
        pragmas: vec![("journal_mode".to_owned(), "wal".to_owned())],
    };
    plan
}

/// Plays `event` once on SQLite and answers the counters.
fn counted_on_sqlite(script: &str) -> BTreeMap<String, u64> {
    let folder = Folder::new();
    let (step, user) = started(&sqlite(&folder, script)).unwrap();
    assert_eq!(step, DONE);
    user.counters()
}

const CONNECT: &str = "function thread_init() con = sysbench.sql.driver():connect() end\n";

fn with_connection(rest: &str) -> String {
    format!("{CONNECT}{rest}")
}
