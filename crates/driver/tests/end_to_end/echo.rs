//! `dyno-driver echo`: requests of given sizes, answered, counted, and counted once per answer.

use std::path::PathBuf;

use serde_json::json;

use crate::driver::{Driver, count, once, plan, play};

fn echoes(request: &str) -> String {
    format!(
        r#"function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("{request}") con:query("{request}") end
        dyno.phases = function() return {{{{ name = "way", stop = {{ kind = "count", events = 50 }},
          streams = {{ {{ name = "s", run = "event", connections = 3 }} }} }}}} end"#
    )
}

fn played(place: &str, session: serde_json::Value) -> crate::driver::Output {
    let mut plan = plan(&echoes("100 20000"), 0);
    plan["session"] = session;
    let output = play(&plan);
    assert_eq!(output.code, 0, "{place}: {:?}", output.events);
    output
}

#[test]
fn every_request_is_answered_and_its_bytes_are_counted() {
    let name = format!("echo-{}.sock", std::process::id());
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    let place = path.to_str().unwrap();
    for (place, host) in [(place, place), ("127.0.0.1:0", "127.0.0.1")] {
        let (_echo, port) = Driver::start_echo(place);
        let output = played(place, json!({"kind": "echo", "host": host, "port": port}));
        let tally = output.tally("way", 0);
        assert_eq!((count(tally, "done"), count(tally, "failed")), (50, 0));
        assert_eq!(count(tally, "round_trips"), 100);
        assert_eq!(count(tally, "sent_bytes"), 100 * 100);
        assert_eq!(count(tally, "received_bytes"), 100 * 20_000);
    }
}

#[test]
fn a_place_where_nobody_can_listen_is_refused() {
    let output = once("echo", "");
    assert_eq!(output.code, 64, "{:?}", output.events);
    assert_eq!(output.events[0]["blame"], "user");
}

#[test]
fn an_answer_in_the_call_is_no_round_trip() {
    let tally = play(&plan(&echoes("100 100"), 0)).tally("way", 0).clone();
    assert_eq!((count(&tally, "queries"), count(&tally, "round_trips")), (100, 0));
    assert_eq!(count(&tally, "sent_bytes"), 0);
}
