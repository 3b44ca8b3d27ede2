//! What was counted: overload, warm-up, delays, types, seeds, counters.

use serde_json::Value;

use crate::driver::{EVENT, count, phase, plan, play};

#[test]
fn overload_counts_skipped_events_and_misses_none() {
    let overload = r#"{ name = "over", stop = { kind = "time", duration_s = 0.2 }, streams = {
        { name = "s", run = "event", connections = 3,
          pace = { kind = "uniform", rate_per_s = 100000 } } } }"#;
    let mut plan = plan(&phase(overload), 1_000_000);
    plan["cpus"] = serde_json::json!([0, 0]);
    let output = play(&plan);
    let tally = output.tally("over", 0);
    assert_eq!(count(tally, "intended"), 20_000);
    assert!(count(tally, "done") > 0 && count(tally, "done") <= 600 + 3);
    assert_eq!(count(tally, "queries"), count(tally, "done"));
    // The last events begun were due long before: charged from the intended time.
    assert!(count(&tally["lateness"], "max_ns") > 50_000_000);
    assert!(count(&tally["latency"], "max_ns") > 50_000_000);
}

#[test]
fn the_warm_up_is_counted_apart() {
    let warm = r#"{ name = "warm", warmup_s = 0.1, stop = { kind = "count", events = 100 },
        streams = {
          { name = "paced", run = "event", connections = 4,
            pace = { kind = "uniform", rate_per_s = 1000 } },
          { name = "free", run = "event", connections = 1 } } }"#;
    let output = play(&plan(&phase(warm), 10_000));
    let paced = output.tally("warm", 0);
    assert_eq!((count(paced, "warmup"), count(paced, "done")), (100, 100));
    assert_eq!(count(paced, "queries"), 100);
    let free = output.tally("warm", 1);
    assert_eq!((count(free, "done"), count(free, "queries")), (100, 100));
    assert!(count(free, "warmup") > 0);
    let done = output.done("warm");
    assert_eq!(count(done, "measured_ns") - count(done, "started_ns"), 100_000_000);
}

#[test]
fn the_null_session_measures_the_delay_that_it_gives() {
    let delay = r#"{ name = "delay", stop = { kind = "count", events = 200 }, streams = {
        { name = "s", run = "event", connections = 2 } } }"#;
    let output = play(&plan(&phase(delay), 200_000));
    let tally = output.tally("delay", 0);
    assert_eq!(count(tally, "queries"), 200);
    assert!(count(tally, "service_ns") >= 200 * 200_000);
    assert!(count(&tally["latency"]["percentiles_ns"], "1") >= 199_900);
}

#[test]
fn transaction_types_have_their_own_latency() {
    let script = r#"
        function event()
          n = (n or 0) + 1
          dyno.transaction(n % 4 == 0 and "rare" or "common")
        end
        dyno.phases = function() return {
          { name = "typed", stop = { kind = "count", events = 400 },
            streams = { { name = "s", run = "event", connections = 1 } } } } end
    "#;
    let output = play(&plan(script, 0));
    let types = &output.tally("typed", 0)["transactions"];
    assert_eq!(count(&types["rare"], "count"), 100);
    assert_eq!(count(&types["common"], "count"), 300);
}

#[test]
fn counters_are_summed_over_users_phases_and_commands() {
    let script = r#"
        function prepare() dyno.count("rows", 1000) end
        function event() dyno.count("rows", 2) end
        dyno.phases = function() return {
          { name = "a", stop = { kind = "count", events = 50 },
            streams = { { name = "s", run = "event", connections = 3 } } },
          { name = "b", stop = { kind = "count", events = 50 },
            streams = { { name = "s", run = "event", connections = 2 } } } } end
    "#;
    let mut plan = plan(script, 0);
    plan["commands"] = serde_json::json!(["prepare", "run"]);
    let output = play(&plan);
    assert_eq!(output.events.last().unwrap()["counters"]["rows"], 1200, "{:?}", output.events);
    assert_eq!(count(output.tally("prepare", 0), "done"), 1);
}

#[test]
fn the_wait_for_an_answer_that_never_comes_is_a_latency() {
    let hang = r#"{ name = "hang", stop = { kind = "time", duration_s = 0.2 }, streams = {
        { name = "s", run = "event", connections = 2 } } }"#;
    let output = play(&plan(&phase(hang), 3_600_000_000_000));
    let done = output.done("hang");
    // What was waited for in vain is no part of what rates are divided by.
    assert_eq!(count(done, "ended_ns") - count(done, "measured_ns"), 200_000_000);
    let tally = output.tally("hang", 0);
    assert_eq!((count(tally, "failed"), count(tally, "cut"), count(tally, "done")), (2, 2, 0));
    let waited_ns = count(tally, "cut_ns_max");
    assert!((10_100_000_000..20_000_000_000).contains(&waited_ns), "{tally}");
    let longest_ns = count(&tally["latency"], "max_ns");
    assert!(longest_ns.abs_diff(waited_ns) < waited_ns / 500, "{longest_ns} {waited_ns}");
    assert_eq!(tally["series"]["failed"], serde_json::json!([2]), "{tally}");
}

#[test]
fn streams_of_one_unit_have_their_latencies_together() {
    let both = r#"{ name = "both", stop = { kind = "count", events = 300 }, streams = {
        { name = "a", run = "event", connections = 2 },
        { name = "b", run = "event", connections = 1 },
        { name = "c", run = "event", connections = 1, unit = "row" } } }"#;
    let output = play(&plan(&phase(both), 20_000));
    let together = output.done("both")["together"].as_object().unwrap();
    assert_eq!(together.keys().collect::<Vec<_>>(), ["event"]);
    let own = [0, 1].map(|stream| count(output.tally("both", stream), "done"));
    assert_eq!(count(&together["event"], "count"), own[0] + own[1]);
}

#[test]
fn writers_keep_their_pace_beside_readers_at_full_speed() {
    let both = r#"{ name = "both", stop = { kind = "time", duration_s = 0.3 }, streams = {
        { name = "writers", run = "event", connections = 2, role = "writer", unit = "row",
          units_per_event = 100, pace = { kind = "uniform", rate_per_s = 200 } },
        { name = "readers", run = "event", connections = 2 } } }"#;
    let output = play(&plan(&phase(both), 20_000));
    let writers = output.tally("both", 0);
    assert_eq!(count(writers, "intended"), 60);
    assert_eq!(writers["target_per_s"], 200.0);
    let readers = output.tally("both", 1);
    assert!(count(readers, "done") > 0 && readers["target_per_s"].is_null());
}

fn requests(seed: u64) -> Value {
    let script = format!(
        r#"{EVENT}
        function event()
          dyno.count("sum", sysbench.rand.uniform(1, 1000000))
          con:query("SELECT 1")
        end
        dyno.phases = function() return {{
          {{ name = "a", stop = {{ kind = "count", events = 100 }},
             streams = {{ {{ name = "s", run = "event", connections = 1 }} }} }} }} end"#
    );
    let mut plan = plan(&script, 0);
    plan["seed"] = seed.into();
    play(&plan).events.last().unwrap()["counters"].clone()
}

#[test]
fn the_same_seed_sends_the_same_requests() {
    assert_eq!(requests(1), requests(1));
    assert_ne!(requests(1), requests(2));
}

#[test]
fn progress_comes_while_a_phase_plays() {
    let short = r#"{ name = "short", stop = { kind = "time", duration_s = 0.5 }, streams = {
        { name = "s", run = "event", connections = 1, unit = "row", units_per_event = 7 } } }"#;
    let mut short = plan(&phase(short), 100_000);
    short["progress_s"] = 0.1.into();
    let output = play(&short);
    let progress: Vec<&Value> =
        output.events.iter().filter(|event| event["event"] == "progress").collect();
    assert!(!progress.is_empty());
    let last = &progress[progress.len() - 1]["streams"][0];
    assert!(count(last, "done") <= count(output.tally("short", 0), "done"));
    assert!(count(last, "done") > 0 && last["name"] == "s");
}
