//! Events that wait for nothing follow each other without the driver, and are counted all the same.

use serde_json::{Value, json};

use crate::driver::{Driver, EVENT, Output, count, plan, play};

/// Streams of one query an event, answered at once, by three users of one thread.
fn script(stop: &str) -> String {
    format!(
        r#"{EVENT}
        local send, n = event, 0
        function event()
          n = n + 1
          dyno.transaction(n % 4 == 0 and "rare" or "common")
          dyno.count("events")
          send()
        end
        dyno.phases = function() return {{ {{ name = "p", {stop}, streams = {{
          {{ name = "s", run = "event", connections = 3 }} }} }} }} end"#
    )
}

/// What was played is what was counted, wherever an event is counted: in so many stretches, of
/// which each may begin and end anywhere in a user's four events.
fn adds_up(output: &Output, stretches: u64) -> &Value {
    let tally = output.tally("p", 0);
    let (done, warmup) = (count(tally, "done"), count(tally, "warmup"));
    assert_eq!(output.events.last().unwrap()["counters"]["events"], done + warmup);
    assert_eq!((count(tally, "queries"), count(&tally["lateness"], "count")), (done, done));
    let [common, rare] = ["common", "rare"].map(|it| count(&tally["transactions"][it], "count"));
    assert_eq!(common + rare, done);
    assert!(common.abs_diff(3 * rare) <= 12 * stretches, "{common} {rare}");
    tally
}

#[test]
fn each_event_of_a_streak_is_counted_and_the_warm_up_apart() {
    let output =
        play(&plan(&script(r#"warmup_s = 0.05, stop = { kind = "time", duration_s = 0.1 }"#), 0));
    let tally = adds_up(&output, 1);
    assert!(count(tally, "warmup") > 0 && count(tally, "done") > 1_000, "{tally}");
    // each has its own latency: those of a streak share no time
    let mean_ns = tally["latency"]["mean_ns"].as_f64().unwrap();
    assert!(mean_ns * (count(tally, "done") as f64) <= 3.0 * 0.11e9, "{tally}");
}

#[test]
fn a_count_of_events_is_met_exactly() {
    let output = play(&plan(&script(r#"stop = { kind = "count", events = 1001 }"#), 0));
    assert_eq!(count(adds_up(&output, 1), "done"), 1001);
}

#[test]
fn a_streak_ends_with_its_slice() {
    let mut plan = plan(&script(r#"stop = { kind = "time", duration_s = 0.05 }"#), 0);
    plan["turns"] = json!({
        "order": [0, 1], "own": 0, "slice_ns": 1_000_000, "drain_ns": 200_000,
        "ramp_in_ns": 100_000, "epoch_turns": 0, "connect_ns": 0, "frozen": true,
    });
    let mut driver = Driver::start(&plan);
    driver.expect("hello");
    let ready = driver.expect("ready");
    driver.go_at(count(&ready, "monotonic_ns") + 10_000_000);
    (0..4).for_each(|_| driver.go());
    let output = driver.rest();
    let tally = adds_up(&output, 50);
    let slices: Vec<u64> =
        tally["slices"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    assert_eq!(slices.iter().sum::<u64>(), count(tally, "done"));
    // A phase lasts until its last answer, which a crowded machine gives some slices late: events
    // begin in the fifty that it was given, and all its slices count.
    assert!(slices.len() >= 50 && slices.iter().skip(50).all(|it| *it == 0), "{slices:?}");
    let counted_slices = output.done("p")["counted_ns"].as_u64().unwrap() / 900_000;
    assert_eq!(counted_slices, slices.len() as u64);
}
