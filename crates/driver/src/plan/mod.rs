//! What to send, as data. A plan is one line of JSON on stdin; `src/dyno/plan.py` writes it.
//!
//! The plan names a script and its options; the script declares its phases (`phase.rs`). So a
//! workload is described in one place, and the plan never repeats what the script says.

pub mod caller;
pub mod error;
pub mod event;
pub mod login;
pub mod phase;
pub mod signals;

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::login::Login;

/// The version of the plan and of the events that answer it. Both sides refuse another.
pub const VERSION: u32 = 1;

/// Everything that `dyno-driver` needs to play one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Must equal [`VERSION`].
    pub version: u32,
    /// Seeds every random stream of the trial; the same seed sends the same requests.
    pub seed: u64,
    /// How to reach the engine.
    pub session: Session,
    /// What to send.
    pub script: Script,
    /// The script's commands to play, in order: `prepare`, `run`, `cleanup` or its own.
    pub commands: Vec<String>,
    /// Cores for the worker threads; empty leaves the placing to the kernel.
    pub cpus: Vec<usize>,
    /// Seconds between progress events; 0 sends none.
    pub progress_s: f64,
}

/// The script to load, and the options that the user set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// A Lua file; `require` also looks in its folder.
    pub path: PathBuf,
    /// Option name (with underscores) to its text; the script's defaults fill the rest.
    pub options: BTreeMap<String, String>,
}

/// One way of talking to an engine: an arm per file in `sessions/`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Session {
    /// Answers after a set delay, without an engine.
    Null {
        /// Nanoseconds from request to answer.
        delay_ns: u64,
    },
    /// Any SQLite library, opened by path.
    Sqlite {
        /// The shared library.
        library: PathBuf,
        /// The database file; made where it does not exist.
        database: PathBuf,
        /// PRAGMAs that every connection sets on opening, in this order.
        pragmas: Vec<(String, String)>,
    },
    /// Any DuckDB library, opened by path.
    Duckdb {
        /// The shared library.
        library: PathBuf,
        /// The database file; made where it does not exist.
        database: PathBuf,
        /// Settings that the database is opened with.
        settings: Vec<(String, String)>,
    },
    /// A server that speaks PostgreSQL's protocol 3.0.
    Postgres(Login),
    /// A server that speaks MySQL's protocol 10.
    Mysql(Login),
}

/// What `dyno-driver ask` reads: one session and the statements to answer, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Must equal [`VERSION`].
    pub version: u32,
    /// How to reach the engine.
    pub session: Session,
    /// SQL, one statement each.
    pub statements: Vec<String>,
}
