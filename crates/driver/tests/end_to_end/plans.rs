//! Plans for a null engine, and the scripts that they play.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

/// A plan for a null engine that answers after a delay.
pub fn plan(script: &str, delay_ns: u64) -> Value {
    json!({
        "version": 1,
        "seed": 1,
        "session": {"kind": "null", "delay_ns": delay_ns},
        "script": {"path": file(script), "options": {}},
        "commands": ["run"],
        "cpus": [],
        "progress_s": 0.0,
    })
}

fn file(script: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("script-{}-{number}.lua", std::process::id());
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, script).unwrap();
    path
}

/// A script of one phase whose streams send one query an event.
pub fn phase(phase: &str) -> String {
    format!("{EVENT}\ndyno.phases = function() return {{ {phase} }} end\n")
}

/// A global function `event` that sends one query over a connection of its own.
pub const EVENT: &str = r#"
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT 1") end
"#;
