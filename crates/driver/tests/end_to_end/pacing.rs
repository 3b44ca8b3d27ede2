//! When events are due.

use serde_json::Value;

use crate::driver::play;
use crate::plans::{phase, plan};
use crate::said::count;

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
fn a_poisson_pace_intends_its_rate_on_average_and_hangs_on_the_seed_alone() {
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
    let said = play(&plan(&phase(burst), 0));
    let done = said.done("p");
    // The third event is due 100 ms after the start.
    assert!(count(done, "ended_ns") - count(done, "started_ns") >= 100_000_000);
    assert_eq!(count(said.tally("p", 0), "done"), 3);
}
