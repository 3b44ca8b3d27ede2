//! Memory that answers and scripts may take: who reached the limit, and by which statement.

use serde_json::{Value, json};

use crate::driver::{Output, once, plan, play};

const ENDLESS: &str =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c";

/// One that has no rows, in memory of its own.
fn sqlite() -> Value {
    json!({"kind": "sqlite", "library": "libsqlite3.so.0", "database": ":memory:", "pragmas": []})
}

fn play_on_sqlite(script: &str, memory_bytes: &str) -> Output {
    let mut plan = plan(script, 0);
    plan["session"] = sqlite();
    plan["script"]["options"] = json!({"memory_bytes": memory_bytes, "events": "2"});
    play(&plan)
}

/// The error that ended the trial, and the words of it.
fn error_of(output: &Output) -> (&Value, &str) {
    let error = output.events.last().unwrap();
    assert_eq!((output.code, error["event"].as_str()), (64, Some("error")), "{error}");
    (error, error["message"].as_str().unwrap())
}

#[test]
fn an_answer_without_end_to_a_question_of_ours_is_refused_with_its_statement() {
    let ask = json!({"version": 1, "session": sqlite(), "statements": ["SELECT 1", ENDLESS]});
    let output = once("ask", &ask.to_string());
    let error = &output.events[0];
    assert_eq!((output.code, error["blame"].as_str()), (1, Some("engine")));
    let wanted = format!("the engine answered with more than 40 MiB: {ENDLESS}");
    assert_eq!(error["message"], wanted);
}

#[test]
fn answers_to_questions_are_bounded_together_and_by_their_rows() {
    let row = "SELECT hex(zeroblob(12500000))";
    let ask = json!({"version": 1, "session": sqlite(), "statements": [row, row]});
    let output = once("ask", &ask.to_string());
    assert_eq!(
        output.events[0]["message"],
        format!("the engine answered with more than 40 MiB: {row}")
    );
    let rows = ENDLESS.replace(" FROM c)", " FROM c LIMIT 500001)");
    let ask = json!({"version": 1, "session": sqlite(), "statements": [rows]});
    let output = once("ask", &ask.to_string());
    let wanted = format!("the engine answered with more than 500000 rows: {rows}");
    assert_eq!(output.events[0]["message"], wanted);
}

#[test]
fn rows_beyond_the_limit_name_connection_stream_and_statement() {
    let script = format!(
        r#"function thread_init() con = sysbench.sql.driver():connect() end
        function read() con:query("{ENDLESS}"):fetch_row() end
        function rest() dyno.sleep(0.01) end
        dyno.phases = function() return {{ {{ name = "r",
          stop = {{ kind = "time", duration_s = 60 }},
          streams = {{ {{ name = "idlers", run = "rest", connections = 1 }},
            {{ name = "readers", run = "read", connections = 1 }} }} }} }} end"#
    );
    let output = play_on_sqlite(&script, "16M");
    let (error, message) = error_of(&output);
    assert_eq!(message, format!("answers take more than the 8 MiB that they may: {ENDLESS}"));
    assert_eq!(
        (error["stream"].as_str(), error["connection"].as_u64()),
        (Some("readers"), Some(0))
    );
    assert!(error["hint"].as_str().unwrap().contains("memory_bytes"), "{error}");
    assert!(error["place"].as_str().unwrap().ends_with(".lua:2"), "{error}");
}

#[test]
fn a_declared_event_names_its_statement_too() {
    let limited = ENDLESS.replace(" FROM c)", " FROM c LIMIT ?)");
    let script = format!(
        r#"function thread_init() con = sysbench.sql.driver():connect()
          many = con:prepare("{limited}") cell = many:bind_create(sysbench.sql.type.INT)
          many:bind_param(cell) end
        function event() cell:set(3000000) many:execute():fetch_row() end"#
    );
    let output = play_on_sqlite(&script, "16M");
    let (_, message) = error_of(&output);
    assert_eq!(message, format!("answers take more than the 8 MiB that they may: {limited}"));
}

#[test]
fn rows_that_nobody_reads_take_no_memory() {
    let limited = ENDLESS.replace(" FROM c)", " FROM c LIMIT 300000)");
    let script = format!(
        r#"function thread_init() con = sysbench.sql.driver():connect() end
        function event() dyno.count("n", con:query("{limited}").nrows) end"#
    );
    let output = play_on_sqlite(&script, "0");
    assert_eq!(output.code, 0, "{:?}", output.events.last());
    assert_eq!(output.events.last().unwrap()["counters"]["n"], 600_000);
}

#[test]
fn a_script_that_holds_too_much_is_told_so_wherever_it_does() {
    let hoard = "for i = 1, 1e9 do all[i] = ('x'):rep(1000) .. i end";
    let places = [
        format!("all = {{}}\n{hoard}\nfunction event() end"),
        format!("all = {{}}\nfunction event()\n{hoard} end"),
        format!(
            "all = {{}}\nfunction event()
               local ok, text = pcall(function() {hoard} end) error(text) end"
        ),
    ];
    for script in places {
        let output = play_on_sqlite(&script, "64M");
        let (error, message) = error_of(&output);
        assert_eq!(message, "a user's Lua state takes more than the 32 MiB that it may", "{error}");
        assert!(error["hint"].as_str().unwrap().contains("memory_bytes"), "{error}");
    }
}

#[test]
fn an_answer_that_lua_cannot_hold_is_told_like_any_other() {
    let script = r#"function thread_init() con = sysbench.sql.driver():connect() all = {} end
        function event() for i = 1, 99 do
          all[i] = con:query("SELECT hex(zeroblob(2500000)) || " .. i) all[i]:fetch_row() end end"#;
    let output = play_on_sqlite(script, "64M");
    let (_, message) = error_of(&output);
    assert_eq!(message, "a user's Lua state takes more than the 32 MiB that it may");
}

#[test]
fn how_much_memory_there_is_is_an_option_that_is_described() {
    let mut asked = plan("function event() end", 0);
    let described = once("describe", &asked.to_string());
    let options = described.events[0]["options"].as_array().unwrap().clone();
    let option = options.iter().find(|it| it["name"] == "memory_bytes").unwrap();
    assert_eq!(
        (option["owner"].as_str(), option["value"].as_str()),
        (Some("general"), Some("1073741824"))
    );
    asked["script"]["options"] = json!({"memory_bytes": "much"});
    let refused = once("describe", &asked.to_string());
    assert_eq!(refused.code, 64, "{:?}", refused.events);
}
