//! Scripts on the null session, at once and with answers that come later, and on SQLite.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod declarations;
mod declared;
mod failures;
mod statements;
mod streaks;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{Step, User, UserIdentity, describe, phases};
use crate::plan::error::Error;
use crate::plan::excerpt::Excerpt;
use crate::plan::phase::{Pace, Phase, Stop};
use crate::plan::{Login, Plan, Session, Tls, TlsMode};
use crate::testing::Folder;

const IDENTITY: UserIdentity = UserIdentity {
    command: "run",
    phase: "run",
    stream: "event",
    number: 0,
    users: 1,
    turns: None,
};

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
fn play_on_null(script: &str, delay_ns: u64) -> Result<(Step, User), Error> {
    let folder = Folder::new();
    let mut plan = folder.plan(script);
    plan.session = Session::Null { delay_ns };
    started(&plan)
}

fn started(plan: &Plan) -> Result<(Step, User), Error> {
    let mut user = User::load(plan, &IDENTITY)?;
    play(&mut user, "thread_init")?;
    let step = play(&mut user, "event")?;
    Ok((step, user))
}

/// Plays `event` with answers at once and later; what it counts as `n` must be the same.
fn counted(script: &str) -> u64 {
    let both = [0, 20_000].map(|delay_ns| {
        let (step, user) = play_on_null(script, delay_ns).unwrap();
        assert_eq!(step, DONE);
        user.counters().get("n").copied().unwrap_or(0)
    });
    assert_eq!(both[0], both[1]);
    both[0]
}

/// The error of a script that must fail.
fn broken(script: &str) -> Error {
    play_on_null(script, 0).map(|(step, _)| step).unwrap_err()
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

// Reproducible random numbers, as a script sees them.

fn drawn(identity: &UserIdentity, seed: u64, options: &[(&str, &str)]) -> BTreeMap<String, u64> {
    let folder = Folder::new();
    let mut plan = folder.plan(
        "function event()
           for i = 1, 4 do dyno.count('u' .. i, sysbench.rand.uniform(1, 1e9)) end
           dyno.count('unique', sysbench.rand.unique())
           assert(type(sysbench.rand.uniform_uint64()) == 'cdata')
           assert(sb_rand_str('a#@') :match('^a%d%l$') and sb_rand_uniq() >= 0)
           assert(#sysbench.rand.varstring(2, 5) >= 2)
        end",
    );
    plan.seed = seed;
    let options = options.iter().map(|(name, text)| (name.to_string(), text.to_string()));
    plan.script.options = options.collect();
    let mut user = User::load(&plan, identity).unwrap();
    assert_eq!(user.begin("event").unwrap(), DONE);
    user.counters()
}

#[test]
fn the_same_seed_and_seat_send_the_same_and_any_other_does_not() {
    let first = drawn(&IDENTITY, 1, &[]);
    assert_eq!(first, drawn(&IDENTITY, 1, &[]));
    let others = [
        drawn(&IDENTITY, 2, &[]),
        drawn(&IDENTITY, 1, &[("rand_seed", "5")]),
        drawn(&UserIdentity { number: 1, users: 2, ..IDENTITY }, 1, &[]),
        drawn(&UserIdentity { phase: "other", ..IDENTITY }, 1, &[]),
        drawn(&UserIdentity { stream: "other", ..IDENTITY }, 1, &[]),
        drawn(&UserIdentity { command: "other", ..IDENTITY }, 1, &[]),
    ];
    for (at, other) in others.iter().enumerate() {
        assert_ne!(&first, other);
        assert!(!others[..at].contains(other));
    }
    assert_eq!(others[1], drawn(&IDENTITY, 9, &[("rand_seed", "5")]));
}

// The runnable scripts of Debian's package `sysbench`, unmodified.

const SCRIPTS: [&str; 11] = [
    "bulk_insert",
    "oltp_delete",
    "oltp_insert",
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_write_only",
    "select_random_points",
    "select_random_ranges",
];

/// Debian's package `sysbench`, or its unpacked tree; absent on most machines.
fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("SYSBENCH_SCRIPTS").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| PathBuf::from("/usr/share/sysbench"));
    folder.join("oltp_common.lua").is_file().then_some(folder)
}

/// Says so past the harness's capture, because nobody reads what a passing test prints.
fn skipped() {
    let missing = "NOT TESTED: the scripts of Debian's package sysbench (apt-get install sysbench, \
                   or set SYSBENCH_SCRIPTS to its /usr/share/sysbench)";
    assert!(std::env::var_os("CI").is_none(), "{missing}");
    writeln!(std::io::stderr(), "{missing}").unwrap();
}

fn command(plan: &Plan, command: &str, events: u32) -> Result<(), Error> {
    let identity = UserIdentity { command, phase: command, ..IDENTITY };
    let mut user = User::load(plan, &identity)?;
    if command != "run" {
        return play(&mut user, command).map(drop);
    }
    play(&mut user, "thread_init")?;
    for _ in 0..events {
        assert_eq!(play(&mut user, "event")?, DONE);
    }
    play(&mut user, "thread_done").map(drop)
}

fn play_all(mut plan: Plan, scripts: &Path, name: &str) -> Result<(), Error> {
    plan.script.path = scripts.join(name).with_extension("lua");
    if name != "bulk_insert" {
        plan.script.options.insert("table-size".into(), "200".into());
    }
    describe(&plan)?;
    command(&plan, "prepare", 0)?;
    command(&plan, "run", 30)?;
    command(&plan, "cleanup", 0)
}

#[test]
fn the_packages_scripts_run_unmodified() {
    let Some(scripts) = folder() else {
        skipped();
        return;
    };
    for name in SCRIPTS {
        let folder = Folder::new();
        play_all(sqlite(&folder, ""), &scripts, name).unwrap();
        play_all(folder.plan(""), &scripts, name).unwrap();
        let mut late = folder.plan("");
        late.session = Session::Null { delay_ns: 1000 };
        play_all(late, &scripts, name).unwrap();
    }
}
