//! Who speaks when.

use std::time::Duration;

use serde_json::Value;

use crate::driver::{Driver, count, phase, plan};

const TWO: &str = r#"
    { name = "a", settle = true, stop = { kind = "count", events = 10 },
      streams = { { name = "s", run = "event", connections = 2 } } },
    { name = "b", stop = { kind = "count", events = 10 },
      streams = { { name = "s", run = "event", connections = 1 } } }
"#;

const LONG: &str = r#"
    { name = "long", stop = { kind = "time", duration_s = 600 },
      streams = { { name = "s", run = "event", connections = 2 } } }
"#;

#[test]
fn the_driver_waits_for_go_after_each_settle_each_ready_and_each_done() {
    let mut driver = Driver::start(&plan(&phase(TWO), 0));
    assert_eq!(driver.expect("hello")["version"], 1);
    assert_eq!(driver.expect("settle")["phase"], "a");
    driver.go();
    let ready = driver.expect("ready");
    assert_eq!(ready["phase"], "a");
    std::thread::sleep(Duration::from_millis(30));
    driver.go();
    let done = driver.expect("done");
    assert!(count(&done, "started_ns") > count(&ready, "monotonic_ns") + 30_000_000);
    std::thread::sleep(Duration::from_millis(30));
    driver.go();
    let second = driver.expect("ready");
    assert!(count(&second, "monotonic_ns") > count(&done, "ended_ns") + 30_000_000);
    driver.go();
    driver.expect("done");
    driver.go();
    driver.expect("end");
    assert_eq!(driver.rest().code, 0);
}

#[test]
fn a_parent_that_is_gone_before_a_phase_ends_the_driver_silently() {
    let mut driver = Driver::start(&plan(&phase(LONG), 0));
    driver.expect("hello");
    driver.expect("ready");
    driver.hang_up();
    let output = driver.rest();
    assert_eq!((output.code, output.events), (1, Vec::<Value>::new()));
}

#[test]
fn a_driver_dies_with_whoever_started_it() {
    let mut driver = Driver::start_under_a_shell(&plan(&phase(LONG), 1000));
    driver.expect("hello");
    driver.expect("ready");
    driver.go();
    driver.kill();
    assert!(driver.falls_silent(Duration::from_secs(10)));
}

#[test]
fn workers_stay_on_the_cores_of_the_plan() {
    let mut pinned = plan(&phase(LONG), 1000);
    pinned["cpus"] = serde_json::json!([0]);
    let mut driver = Driver::start(&pinned);
    driver.expect("hello");
    driver.expect("ready");
    let tasks = std::fs::read_dir(format!("/proc/{}/task", driver.pid())).unwrap();
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap();
    let mut workers = tasks
        .map(|task| task.unwrap().path())
        .filter(|task| read(task.join("comm")).starts_with("worker-"))
        .peekable();
    assert!(workers.peek().is_some());
    for worker in workers {
        let status = read(worker.join("status"));
        assert!(status.contains("Cpus_allowed_list:\t0\n"), "{status}");
    }
}

#[test]
fn sigint_ends_a_phase_with_what_was_measured() {
    let mut long = plan(&phase(LONG), 1000);
    long["progress_s"] = 0.05.into();
    let mut driver = Driver::start(&long);
    driver.expect("hello");
    driver.expect("ready");
    driver.go();
    while count(&driver.expect("progress")["streams"][0], "done") == 0 {}
    driver.interrupt();
    let output = driver.rest();
    assert_eq!(output.code, 130);
    assert_eq!(output.turns(), ["done", "end"]);
    assert_eq!(output.done("long")["interrupted"], true);
    assert!(count(output.tally("long", 0), "done") > 0);
}

#[test]
fn sigint_reaches_users_who_wait_for_a_far_away_event() {
    let lonely = r#"{ name = "lonely", stop = { kind = "time", duration_s = 600 }, streams = {
        { name = "s", run = "event", connections = 1,
          pace = { kind = "uniform", rate_per_s = 0.01 } } } }"#;
    let mut lonely = plan(&phase(lonely), 0);
    lonely["progress_s"] = 0.05.into();
    let mut driver = Driver::start(&lonely);
    driver.expect("hello");
    driver.expect("ready");
    driver.go();
    while count(&driver.expect("progress")["streams"][0], "done") == 0 {}
    driver.interrupt();
    let output = driver.rest();
    assert_eq!((output.code, output.turns()), (130, vec!["done", "end"]));
    assert_eq!(count(output.tally("lonely", 0), "intended"), 1);
}

#[test]
fn sigint_between_phases_ends_the_trial() {
    for waits in ["settle", "ready"] {
        let mut driver = Driver::start(&plan(&phase(TWO), 0));
        driver.expect("hello");
        driver.expect("settle");
        if waits == "ready" {
            driver.go();
            driver.expect("ready");
        }
        driver.interrupt();
        driver.expect("end");
        assert_eq!(driver.rest().code, 130);
    }
}
