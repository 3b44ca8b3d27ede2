//! How users share a thread, and what ends a phase whose answers do not come.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::plan::Session;
use crate::play::scene::Scene;
use crate::schedule::clock::SECOND_NS;
use crate::script;
use crate::testing::Folder;

#[test]
fn an_answer_that_never_comes_does_not_hold_the_phase() {
    let folder = Folder::new();
    let mut plan = folder.plan(
        r#"function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("SELECT 1") end
        function thread_done() con:query("SELECT 2") end"#,
    );
    plan.session = Session::Null { delay_ns: 3600 * SECOND_NS };
    let (phases, _) = script::phases(&plan, "run").unwrap();
    let stage = Stage::new(Scene { plan: &plan, command: "run", phase: &phases[0] }).unwrap();
    let windows = [Window::default()];
    let mut worker = Worker::load(&stage, &[Place { queue: 0, number: 0 }], &windows).unwrap();
    let start_ns = now_ns();
    stage.stop(start_ns + SECOND_NS / 100);
    worker.play(start_ns);
    let report = worker.close();
    assert_eq!((report.lanes[0].tally.failed, report.error), (1, None));
    assert_eq!(report.lanes[0].counts.errors.get("lost"), Some(&1));
}

#[test]
fn nor_does_one_that_a_call_waits_for() {
    let folder = Folder::new();
    let mut plan = folder.plan(
        r#"function thread_init() sysbench.sql.driver():connect():query("SELECT 1") end
        function event() end"#,
    );
    plan.session = Session::Null { delay_ns: 3600 * SECOND_NS };
    let (phases, _) = script::phases(&plan, "run").unwrap();
    let stage = Stage::new(Scene { plan: &plan, command: "run", phase: &phases[0] }).unwrap();
    let windows = [Window::default()];
    stage.stop(now_ns());
    let loaded = Worker::load(&stage, &[Place { queue: 0, number: 0 }], &windows);
    assert_eq!(loaded.map(drop).unwrap_err().engine_code(), Some("lost"));
}

#[test]
fn users_who_need_not_wait_all_have_their_share() {
    let folder = Folder::new();
    let mut plan = folder.plan("function event() dyno.count('of_' .. sysbench.tid) end");
    let options = [("threads", "2"), ("events", "10000"), ("time", "0")];
    plan.script.options.extend(options.map(|(name, text)| (name.into(), text.into())));
    let (phases, _) = script::phases(&plan, "run").unwrap();
    let stage = Stage::new(Scene { plan: &plan, command: "run", phase: &phases[0] }).unwrap();
    let windows = [Window::default()];
    let places = [0, 1].map(|number| Place { queue: 0, number });
    let mut worker = Worker::load(&stage, &places, &windows).unwrap();
    worker.play(now_ns());
    let counters = worker.close().counters;
    assert_eq!(counters["of_0"] + counters["of_1"], 10_000);
}
