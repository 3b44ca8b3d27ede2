//! Scripts against the null session and against SQLite where the system has it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Seat, Step, User};
use crate::error::Error;
use crate::plan::{self, Plan, Session};

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("dyno-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn plan(&self, script: &str) -> Plan {
        let path = self.0.join("script.lua");
        std::fs::write(&path, script).unwrap();
        Plan {
            version: plan::VERSION,
            seed: 7,
            session: Session::Null { delay_ns: 0 },
            script: plan::Script {
                path,
                options: BTreeMap::new(),
            },
            commands: Vec::new(),
            cpus: Vec::new(),
            progress_s: 0.0,
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

const SEAT: Seat = Seat {
    command: "run",
    phase: "run",
    stream: "event",
    number: 0,
    users: 1,
};

/// Plays a function to its end, however often it waits.
fn play(user: &mut User, function: &str) -> Result<Step, Error> {
    let mut step = user.begin(function)?;
    while let Step::Waiting { .. } = step {
        step = user.advance()?;
    }
    Ok(step)
}

/// Loads and plays `event` once on the null session, at once and with answers that come later.
fn played(script: &str) -> Vec<Result<(Step, User), Error>> {
    [0, 20_000]
        .into_iter()
        .map(|delay_ns| {
            let folder = Folder::new();
            let mut plan = folder.plan(script);
            plan.session = Session::Null { delay_ns };
            let mut user = User::load(&plan, &SEAT)?;
            play(&mut user, "thread_init")?;
            Ok((play(&mut user, "event")?, user))
        })
        .collect()
}

const DONE: Step = Step::Done {
    transaction: 0,
    more: true,
};

#[test]
fn a_query_is_counted() {
    for outcome in
        played("function event() local c = sysbench.sql.driver():connect() c:query('x') end")
    {
        let (step, mut user) = outcome.unwrap();
        assert_eq!(step, DONE);
        assert_eq!(user.take_counts().queries, 1);
        assert_eq!(user.take_counts().queries, 0);
    }
}
