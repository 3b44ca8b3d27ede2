//! How phases end that would not end by themselves, and what is counted of them then.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::driver::{Driver, Output, count, phase, plan, play};

/// A plan that is interleaved with another driver's, in slices of 5 ms.
fn interleaved(script: &str) -> Value {
    let mut plan = plan(script, 1_000_000);
    plan["turns"] = json!({
        "order": [0, 1], "own": 0, "slice_ns": 5_000_000, "drain_ns": 2_000_000,
        "ramp_in_ns": 0, "epoch_turns": 0, "connect_ns": 0, "frozen": true,
    });
    plan
}

/// A count of so many events, played interleaved until its time is up or `meanwhile` has ended it.
fn counted(stop: &str, meanwhile: impl FnOnce(&Driver)) -> Output {
    let counted = format!(
        r#"{{ name = "c", stop = {stop}, streams = {{
            {{ name = "s", run = "event", connections = 4 }} }} }}"#
    );
    let mut driver = Driver::start(&interleaved(&phase(&counted)));
    driver.expect("hello");
    let ready = driver.expect("ready");
    driver.go_at(count(&ready, "monotonic_ns") + 10_000_000);
    meanwhile(&driver);
    (0..4).for_each(|_| driver.go());
    driver.rest()
}

#[test]
fn interleaved_a_count_that_its_time_ends_adds_up() {
    let output = counted(r#"{ kind = "count", events = 1000000, within_s = 0.1 }"#, |_| {});
    assert_eq!(output.code, 0, "{:?}", output.events.last());
    assert!(count(output.tally("c", 0), "done") > 0);
}

#[test]
fn interleaved_a_count_that_sigint_ends_adds_up() {
    let output = counted(r#"{ kind = "count", events = 1000000 }"#, |driver| {
        std::thread::sleep(Duration::from_millis(300));
        driver.interrupt();
    });
    assert_eq!(output.code, 130, "{:?}", output.events.last());
    assert!(count(output.tally("c", 0), "done") > 0);
}

// A user who sleeps, or waits for a program.

/// A script whose one event waits in this way, in a phase of 0.1 s.
fn waiting(way: &str) -> String {
    format!(
        r#"local ffi = require("ffi")
        function event() {way} end
        dyno.phases = function() return {{ {{ name = "w",
          stop = {{ kind = "time", duration_s = 0.1 }},
          streams = {{ {{ name = "s", run = "event", connections = 1 }} }} }} }} end"#
    )
}

#[test]
fn neither_a_sleep_nor_a_program_outlives_its_phase() {
    let ways = ["dyno.sleep(3600)", "ffi.C.usleep(3600e6)", r#"os.execute("sleep 3600")"#];
    let threads = ways.map(|way| {
        std::thread::spawn(move || {
            let began = Instant::now();
            let output = play(&plan(&waiting(way), 0));
            assert_eq!(output.code, 0, "{way}: {:?}", output.events);
            let tally = output.tally("w", 0);
            assert_eq!((count(tally, "done"), count(tally, "cut")), (0, 1), "{way}");
            assert!(began.elapsed() < Duration::from_secs(100), "{way}");
        })
    });
    threads.into_iter().for_each(|it| it.join().unwrap());
}

#[test]
fn sigint_ends_a_sleep_also_before_the_phase() {
    let before = "function thread_init() dyno.sleep(3600) end function event() end";
    for (script, is_ready) in [(waiting("dyno.sleep(3600)"), true), (before.to_owned(), false)] {
        let mut driver = Driver::start(&plan(&script, 0));
        driver.expect("hello");
        if is_ready {
            driver.expect("ready");
            driver.go();
        }
        let began = Instant::now();
        std::thread::sleep(Duration::from_millis(300));
        driver.interrupt();
        assert_eq!(driver.rest().code, 130);
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}

#[test]
fn what_could_never_end_is_refused_before_it_begins() {
    let streams = r#"streams = { { name = "s", run = "event", connections = 1 } }"#;
    for (declared, says) in [
        (
            format!(r#"stop = {{ kind = "stream", stream = "typo", events = 1 }}, {streams}"#),
            "typo",
        ),
        (format!(r#"stop = {{ kind = "time", duration_s = 1/0 }}, {streams}"#), "lasts"),
        (
            format!(r#"stop = {{ kind = "count", events = 1, within_s = 0/0 }}, {streams}"#),
            "within",
        ),
        (
            format!(r#"warmup_s = 1/0, stop = {{ kind = "count", events = 1 }}, {streams}"#),
            "warm-up",
        ),
    ] {
        let output = play(&plan(&phase(&format!(r#"{{ name = "p", {declared} }}"#)), 0));
        let error = output.events.last().unwrap();
        assert_eq!((output.code, error["blame"].as_str()), (64, Some("user")), "{error}");
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
    }
}

#[test]
fn phases_and_streams_of_one_name_are_refused() {
    let stop = r#"stop = { kind = "count", events = 1 }"#;
    let stream = r#"{ name = "s", run = "event", connections = 1 }"#;
    let twice = format!(r#"{{ name = "p", {stop}, streams = {{ {stream}, {stream} }} }}"#);
    let same = format!(r#"{{ name = "p", {stop}, streams = {{ {stream} }} }}"#);
    for declared in [twice, format!("{same}, {same}")] {
        let output = play(&plan(&phase(&declared), 0));
        assert_eq!(output.code, 64, "{:?}", output.events);
    }
}
