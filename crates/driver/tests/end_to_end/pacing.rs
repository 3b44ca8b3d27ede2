//! When events are due.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;
use std::{fs, process};

use serde_json::{Value, json};

use crate::driver::{Driver, EVENT, count, phase, plan, play};

/// Intended events of half a second at a pace, by a seed.
fn intended(pace: &str, rate_per_s: u32, seed: u64) -> u64 {
    let paced = format!(
        r#"{{ name = "p", stop = {{ kind = "time", duration_s = 0.5 }}, streams = {{
            {{ name = "s", run = "event", connections = 4,
               pace = {{ kind = "{pace}", rate_per_s = {rate_per_s} }} }} }} }}"#
    );
    let mut plan: Value = plan(&phase(&paced), 0);
    plan["seed"] = seed.into();
    count(play(&plan).tally("p", 0), "intended")
}

#[test]
fn a_uniform_pace_intends_its_rate() {
    assert_eq!(intended("uniform", 1000, 1), 500);
}

#[test]
fn a_burst_intends_a_whole_second_at_its_beginning() {
    assert_eq!(intended("burst", 1000, 1), 1000);
}

#[test]
fn a_poisson_pace_intends_its_rate_on_average_and_depends_on_the_seed_alone() {
    let by_seed: Vec<u64> = (1..=3).map(|seed| intended("poisson", 2000, seed)).collect();
    // Five standard deviations of a Poisson count of 1000.
    assert!(by_seed.iter().all(|events| events.abs_diff(1000) < 160), "{by_seed:?}");
    assert!(by_seed.windows(2).any(|pair| pair[0] != pair[1]), "{by_seed:?}");
    assert_eq!(intended("poisson", 2000, 1), by_seed[0]);
}

#[test]
fn no_event_is_begun_before_it_is_due() {
    let burst = r#"{ name = "p", stop = { kind = "count", events = 3 }, streams = {
        { name = "s", run = "event", connections = 5,
          pace = { kind = "uniform", rate_per_s = 20 } } } }"#;
    let output = play(&plan(&phase(burst), 0));
    let done = output.done("p");
    // The third event is due 100 ms after the start.
    assert!(count(done, "ended_ns") - count(done, "started_ns") >= 100_000_000);
    assert_eq!(count(output.tally("p", 0), "done"), 3);
}

// When a phase is over.

#[test]
fn a_count_is_exact_over_many_users_and_workers() {
    let counted = r#"{ name = "c", stop = { kind = "count", events = 1001 }, streams = {
        { name = "x", run = "event", connections = 7 },
        { name = "y", run = "event", connections = 3,
          pace = { kind = "burst", rate_per_s = 2000 } } } }"#;
    let mut plan = plan(&phase(counted), 1000);
    plan["cpus"] = json!([0, 0]);
    let output = play(&plan);
    for stream in 0..2 {
        let tally = output.tally("c", stream);
        assert_eq!((count(tally, "done"), count(tally, "intended")), (1001, 1001));
    }
}

#[test]
fn a_count_of_nothing_ends_when_the_function_returns_false() {
    let script = format!(
        r#"{EVENT}
        function event() n = (n or 0) + 1; con:query("SELECT 1"); return n < 10 end
        dyno.phases = function() return {{ {{ name = "f", stop = {{ kind = "count", events = 0 }},
          streams = {{ {{ name = "s", run = "event", connections = 1 }} }} }} }} end"#
    );
    let output = play(&plan(&script, 0));
    assert_eq!(count(output.tally("f", 0), "done"), 9, "what ends it is no event");
}

#[test]
fn a_deciding_stream_ends_the_others() {
    let decided = r#"{ name = "d", stop = { kind = "stream", stream = "w", events = 20 },
        streams = {
          { name = "r", run = "event", connections = 2 },
          { name = "far", run = "event", connections = 1,
            pace = { kind = "uniform", rate_per_s = 0.001 } },
          { name = "w", run = "event", connections = 2,
            pace = { kind = "uniform", rate_per_s = 400 } } } }"#;
    let output = play(&plan(&phase(decided), 10_000));
    assert_eq!(count(output.tally("d", 2), "done"), 20);
    assert!(count(output.tally("d", 0), "done") > 0);
    assert_eq!(count(output.tally("d", 1), "intended"), 1);
}

#[test]
fn time_ends_a_closed_loop() {
    let timed = r#"{ name = "t", stop = { kind = "time", duration_s = 0.2 }, streams = {
        { name = "s", run = "event", connections = 2 } } }"#;
    let output = play(&plan(&phase(timed), 100_000));
    let done = output.done("t");
    assert!(count(done, "ended_ns") - count(done, "measured_ns") >= 200_000_000);
    assert!(count(output.tally("t", 0), "done") > 0);
}

/// A script whose every event asks to begin anew, in a phase with this stop. A user notes in a file
/// that it has begun.
fn restarting(stop: &str, notes: &Path) -> String {
    format!(
        r#"function event()
          if not begun then
            begun = io.open("{}", "a")
            begun:write("begun ")
            begun:close()
          end
          error({{ errcode = sysbench.error.RESTART_EVENT }})
        end
        dyno.phases = function() return {{ {{ name = "again", stop = {stop},
          streams = {{ {{ name = "s", run = "event", connections = 2 }} }} }} }} end"#,
        notes.display()
    )
}

#[test]
fn an_event_that_begins_anew_for_ever_is_given_up_when_its_phase_is_over() {
    let stop = r#"{ kind = "time", duration_s = 0.5 }"#;
    let output = play(&plan(&restarting(stop, Path::new("/dev/null")), 0));
    assert_eq!(output.code, 0, "{:?}", output.events);
    let tally = output.tally("again", 0);
    assert_eq!((count(tally, "done"), count(tally, "failed")), (0, 2));
    assert!(count(tally, "restarted") > 0);
}

#[test]
fn sigint_ends_an_event_that_begins_anew_for_ever() {
    let notes = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("again-{}", process::id()));
    let script = restarting(r#"{ kind = "count", events = 2 }"#, &notes);
    let mut driver = Driver::start(&plan(&script, 0));
    driver.expect("hello");
    driver.expect("ready");
    driver.go();
    while fs::read_to_string(&notes).unwrap_or_default() != "begun begun " {
        sleep(Duration::from_millis(5));
    }
    fs::remove_file(&notes).unwrap();
    driver.interrupt();
    let output = driver.rest();
    assert_eq!((output.code, output.kinds()), (130, vec!["done", "end"]));
    let tally = output.tally("again", 0);
    assert_eq!((count(tally, "done"), count(tally, "failed")), (0, 2));
}
