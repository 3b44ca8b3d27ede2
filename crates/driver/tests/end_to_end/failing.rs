//! What cannot be played, and what is kept of it.

use serde_json::json;

use crate::driver::{EVENT, count, once, phase, plan, play};

#[test]
fn a_plan_of_another_version_is_refused_by_name() {
    let output = once("run", r#"{"version":2,"whatever":1}"#);
    let error = &output.events[1];
    assert_eq!((output.code, error["blame"].as_str()), (64, Some("user")));
    assert_eq!(error["message"], "plan version 2, but this driver speaks 1");
    assert_ne!(error["hint"], "");
}

#[test]
fn a_malformed_plan_says_where() {
    let output = once("run", r#"{"version":1,"sed":1}"#);
    assert_eq!(output.code, 64);
    let message = output.events[1]["message"].as_str().unwrap();
    assert!(message.contains("unknown field `sed`") && message.contains("column"), "{message}");
}

#[test]
fn an_unknown_command_offers_the_known_ones() {
    let output = once("play", "");
    assert_eq!((output.code, output.events[0]["blame"].as_str()), (64, Some("user")));
}

#[test]
fn a_script_error_ends_the_trial_and_keeps_what_was_measured() {
    let script = format!(
        r#"{EVENT}
        function event(tid)
          n = (n or 0) + 1
          if n > 5 then error("out of beer") end
          con:query("SELECT 1")
        end
        dyno.phases = function() return {{ {{ name = "e", stop = {{ kind = "count", events = 99 }},
          streams = {{ {{ name = "s", run = "event", connections = 1 }} }} }} }} end"#
    );
    let output = play(&plan(&script, 0));
    assert_eq!((output.code, output.kinds()), (64, vec!["hello", "ready", "done", "error"]));
    let tally = output.tally("e", 0);
    assert_eq!((count(tally, "done"), count(tally, "failed")), (5, 1));
    let error = &output.events[3];
    assert_eq!((error["phase"].as_str(), error["connection"].as_u64()), (Some("e"), Some(0)));
    assert!(error["place"].as_str().unwrap().ends_with(".lua:7"), "{error}");
    assert!(error["message"].as_str().unwrap().contains("out of beer"), "{error}");
}

#[test]
fn a_core_that_does_not_exist_is_the_hosts_fault() {
    let counted = r#"{ name = "c", stop = { kind = "count", events = 1 }, streams = {
        { name = "s", run = "event", connections = 1 } } }"#;
    let mut plan = plan(&phase(counted), 0);
    plan["cpus"] = json!([1_000_000]);
    let output = play(&plan);
    let error = output.events.last().unwrap();
    assert_eq!((output.code, error["blame"].as_str()), (1, Some("host")));
    assert_eq!(error["phase"], "c");
}

#[test]
fn a_stream_without_a_rate_is_the_users_fault() {
    let paced = r#"{ name = "p", stop = { kind = "count", events = 1 }, streams = {
        { name = "s", run = "event", connections = 1,
          pace = { kind = "uniform", rate_per_s = 0 } } } }"#;
    let output = play(&plan(&phase(paced), 0));
    assert_eq!(output.code, 64, "{:?}", output.events);
}

// Commands that answer once.

#[test]
fn ask_answers_every_statement() {
    let ask = r#"{"version":1,"session":{"kind":"null","delay_ns":1000},"statements":["a","b"]}"#;
    let output = once("ask", ask);
    assert_eq!(output.code, 0);
    assert_eq!(output.events[0].as_array().unwrap().len(), 2);
}

#[test]
fn a_connection_lasts_until_a_question_closes_it_or_fails() {
    let asked = |sql: &str, closes: bool| {
        let session =
            r#"{"kind":"sqlite","library":"libsqlite3.so.0","database":":memory:","pragmas":[]}"#;
        format!(r#"{{"version":1,"session":{session},"statements":["{sql}"],"closes":{closes}}}"#)
    };
    let (made, read) = ("CREATE TABLE t AS SELECT 7 AS n", "SELECT n FROM t");
    let questions = [
        asked(made, false),
        asked(read, false),
        asked("SELECT nothing", false),
        asked(read, false),
        asked(made, false),
        asked(read, true),
        asked(read, false),
    ];
    let output = once("ask", &questions.join("\n"));
    let shown = |event: &serde_json::Value| match event["event"].as_str() {
        Some(kind) => kind.to_owned(),
        None => event[0]["rows"].to_string(),
    };
    let shown: Vec<String> = output.events.iter().map(shown).collect();
    let seven = r#"[["7"]]"#;
    assert_eq!(shown, ["[]", seven, "error", "error", "[]", seven, "error"]);
    assert_eq!(output.code, 1, "the last answer's");
}

#[test]
fn schema_shows_all_that_goes_in_and_out() {
    let output = once("schema", "");
    let schemas = output.events[0].as_object().unwrap();
    let names: Vec<&str> = schemas.keys().map(String::as_str).collect();
    assert_eq!(names, ["Answer", "Ask", "Description", "Event", "Plan"]);
}
