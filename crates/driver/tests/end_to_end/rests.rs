//! Users who rest between two events, interleaved and where they are told to stop.

use serde_json::json;

use crate::driver::{Driver, count, plan, play};

/// Users of one thread who rest so long after each event.
fn script(rest_s: f64, stop: &str) -> String {
    format!(
        r#"function thread_init() con = sysbench.sql.driver():connect() end
        function event() dyno.rest({rest_s}) con:query("SELECT 1") end
        dyno.phases = function() return {{ {{ name = "p", {stop}, streams = {{
          {{ name = "s", run = "event", connections = 2 }} }} }} }} end"#
    )
}

#[test]
fn interleaved_a_rest_passes_in_slices_only() {
    let mut plan = plan(&script(0.005, r#"stop = { kind = "time", duration_s = 0.1 }"#), 0);
    plan["turns"] = json!({
        "order": [0, 1], "own": 0, "slice_ns": 1_000_000, "drain_ns": 200_000,
        "ramp_in_ns": 100_000, "epoch_turns": 40, "connect_ns": 5_000_000, "frozen": true,
    });
    let mut driver = Driver::start(&plan);
    driver.expect("hello");
    let ready = driver.expect("ready");
    driver.go_at(count(&ready, "monotonic_ns") + 10_000_000);
    (0..4).for_each(|_| driver.go());
    let output = driver.rest();
    let tally = output.tally("p", 0);
    let played = count(tally, "done") + count(tally, "warmup");
    // 100 ms of slices for two users who rest 5 ms: a busy host plays fewer, no host more
    assert!((8..=40).contains(&played), "{tally}");
    let rested_ns = count(tally, "rested_ns");
    assert!((40_000_000..=180_000_000).contains(&rested_ns), "{tally}");
    assert_eq!(output.done("p")["counted_ns"], 90_000_000);
}

#[test]
fn who_rests_when_the_phase_ends_has_begun_nothing() {
    let output = play(&plan(&script(60.0, r#"stop = { kind = "time", duration_s = 0.1 }"#), 0));
    let tally = output.tally("p", 0);
    assert_eq!(
        [count(tally, "intended"), count(tally, "done"), count(tally, "skipped")],
        [2, 2, 0]
    );
    assert!((120_000_000..=200_000_000).contains(&count(tally, "rested_ns")), "{tally}");
}
