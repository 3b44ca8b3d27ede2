//! A script's report hooks, and what they are told.

use std::path::PathBuf;

use serde_json::Value;

use crate::driver::{EVENT, Output, count, plan, play};

const PHASE: &str = r#"dyno.phases = function() return {
    { name = "p", stop = { kind = "time", duration_s = 0.3 }, streams = {
      { name = "a", run = "event", connections = 2 },
      { name = "b", run = "event", connections = 1 } } } } end"#;

/// Plays a script whose `print` writes to a file; answers its lines too.
fn play_with_hooks(name: &str, hooks: &str) -> (Output, Vec<String>) {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("told-{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&file);
    let script = format!(
        "{EVENT}{PHASE}
        function print(text)
          local file = assert(io.open('{}', 'a'))
          file:write(text, '\\n')
          file:close()
        end
        local function numbers(kind, stat)
          local pairs_of = {{}}
          for name, n in pairs(stat) do
            pairs_of[#pairs_of + 1] = ('\"%s\": %.17g'):format(name, n)
          end
          print('{{\"kind\": \"' .. kind .. '\", ' .. table.concat(pairs_of, ', ') .. '}}')
        end
        {hooks}",
        file.display()
    );
    let mut plan = plan(&script, 100_000);
    plan["progress_s"] = 0.05.into();
    let output = play(&plan);
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let _ = std::fs::remove_file(&file);
    (output, text.lines().map(str::to_owned).collect())
}

fn real(stat: &Value, name: &str) -> f64 {
    stat[name].as_f64().unwrap_or_else(|| panic!("no {name} in {stat}"))
}

/// The delay is 100 µs, the phase 0.3 s.
fn are_in_seconds(whole: &Value) {
    assert!(real(whole, "latency_min") >= 0.000_099);
    assert!(real(whole, "latency_min") <= real(whole, "latency_avg"));
    assert!(real(whole, "latency_avg") <= real(whole, "latency_max"));
    assert!(real(whole, "latency_pct") <= real(whole, "latency_max"));
    assert!(real(whole, "latency_max") <= real(whole, "latency_sum"));
    assert!(real(whole, "time_interval") >= 0.3 && real(whole, "time_total") >= 0.3);
}

#[test]
fn both_hooks_are_given_all_streams_together() {
    let (output, lines) = play_with_hooks(
        "both",
        "function sysbench.hooks.report_intermediate(stat) numbers('part', stat) end
        function sysbench.hooks.report_cumulative(stat) numbers('whole', stat) end",
    );
    assert_eq!(output.code, 0, "{:?}", output.events);
    let stats: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (whole, parts) = stats.split_last().unwrap();
    assert!(!parts.is_empty() && parts.iter().all(|part| part["kind"] == "part"));
    assert_eq!(whole["kind"], "whole");
    let sum = |name: &str| count(output.tally("p", 0), name) + count(output.tally("p", 1), name);
    assert_eq!((count(whole, "events"), count(whole, "other")), (sum("done"), sum("queries")));
    assert_eq!((count(whole, "errors"), count(whole, "threads_running")), (0, 0));
    let in_parts: u64 = parts.iter().map(|part| count(part, "events")).sum();
    assert!(in_parts > 0 && in_parts <= sum("done"));
    are_in_seconds(whole);
    let lapses: f64 = parts.iter().map(|part| real(part, "time_interval")).sum();
    assert!((lapses - real(parts.last().unwrap(), "time_total")).abs() < 1e-9);
    assert!(parts.iter().any(|part| real(part, "latency_max") > 0.0));
}

#[test]
fn the_ready_made_reports_print_what_sysbenchs_print() {
    let (output, lines) = play_with_hooks(
        "ready-made",
        "io.stderr = { write = function(_, ...) print(table.concat({...})) end }
        function sysbench.hooks.report_cumulative(stat)
          sysbench.report_default(stat)
          sysbench.report_csv(stat)
          sysbench.report_json(stat)
        end",
    );
    assert_eq!(output.code, 0, "{:?}", output.events);
    let told = lines[0].starts_with("[ 0s ] thds: 0 tps: ") && lines[0].contains("(r/w/o: ");
    assert!(told, "{}", lines[0]);
    let cells: Vec<f64> = lines[1].split(',').map(|cell| cell.parse().unwrap()).collect();
    assert_eq!((cells.len(), cells[1]), (10, 0.0));
    let list: Value = serde_json::from_str(&lines[2..].concat()).unwrap();
    let json = &list[0];
    assert_eq!(count(json, "threads"), 0);
    assert_eq!((real(json, "tps"), real(&json["qps"], "total")), (cells[2], cells[3]));
    assert!(cells[2] > 0.0 && real(json, "latency") == cells[7]);
}

fn is_reported_with_its_line(error: &Value) {
    assert_eq!((error["blame"].as_str(), error["phase"].as_str()), (Some("user"), Some("p")));
    let place = error["place"].as_str().unwrap();
    let (file, line) = place.rsplit_once(':').unwrap();
    let script = std::fs::read_to_string(file).unwrap();
    let line = script.lines().nth(line.parse::<usize>().unwrap() - 1);
    assert_eq!(line, Some(" return stat.nothing.more end"), "{error}");
    assert!(error["connection"].is_null(), "{error}");
    assert!(error["message"].as_str().unwrap().contains("field 'nothing'"), "{error}");
}

#[test]
fn a_hook_that_fails_ends_the_trial_and_keeps_what_was_measured() {
    for (hook, last) in [("report_intermediate", "progress"), ("report_cumulative", "done")] {
        let (output, _) = play_with_hooks(
            hook,
            &format!("function sysbench.hooks.{hook}(stat)\n return stat.nothing.more end"),
        );
        assert_eq!(output.code, 64, "{:?}", output.events);
        assert!(output.kinds().contains(&last) && !output.kinds().contains(&"end"));
        assert!(count(&output.done("p")["streams"][0], "connections") == 2);
        is_reported_with_its_line(output.events.last().unwrap());
    }
}
