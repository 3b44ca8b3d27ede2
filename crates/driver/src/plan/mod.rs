//! The plan: what to play, how to reach the engine. `src/dyno/driver/plan.py` writes it as a line
//! of JSON.
//!
//! The plan names a script and its options; the script declares its phases (`phase.rs`). So a
//! workload is described in one place, and the plan never repeats what the script says.

pub mod answer;
pub mod client;
pub mod client_phase;
pub mod descriptors;
pub mod error;
pub mod event;
pub mod excerpt;
pub mod parent;
pub mod phase;
pub mod statement;
pub mod turns;

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use client::Client;
use excerpt::Excerpt;
use phase::Phase;
use statement::StatementTally;
use turns::Turns;

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
    /// Worker threads where more are wanted than cores are named; 0: one for each core.
    #[serde(default)]
    pub threads: usize,
    /// Seconds between progress events; 0 sends none.
    pub progress_s: f64,
    /// Say what sysbench reports of `run`: with each progress, and at its end. A report for which
    /// the script has a hook is the hook's alone.
    #[serde(default)]
    pub reports: bool,
    /// How the phases of `run` are interleaved with those of other drivers; absent: they play all
    /// the time.
    pub turns: Option<Turns>,
    /// What is played of `run`; absent: all of it.
    #[serde(default)]
    pub excerpt: Option<Excerpt>,
    /// Our part of a load that several drivers play together; absent: we play all of it.
    #[serde(default)]
    pub client: Option<Client>,
}

impl Plan {
    /// Is it a command line of sysbench's? Then what ends sysbench ends it, and nothing else.
    pub fn is_line_of_sysbench(&self) -> bool {
        !self.script.argv.is_empty()
    }
}

/// The script to load, and the options that the user set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// A Lua file; `require` also looks in its folder.
    pub path: PathBuf,
    /// Option name (with underscores) to its text; the script's defaults fill the rest.
    pub options: BTreeMap<String, String>,
    /// The words of a command line of sysbench's; empty where there was none.
    #[serde(default)]
    pub argv: Vec<String>,
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
    /// `dyno-driver echo`: a server without an engine.
    Echo {
        /// A host name or address; beginning with `/`, the Unix socket's own path.
        host: String,
        /// The TCP port; a Unix socket has none and says 0.
        port: u16,
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
    /// A library with the functions of `dyno_engine.h`, opened by path.
    Plugin {
        /// The shared library.
        library: PathBuf,
        /// The folder of its database; it is there.
        database: PathBuf,
        /// The engine's settings, which are its own.
        settings: Vec<(String, String)>,
    },
    /// A server that speaks PostgreSQL's protocol 3.0.
    Postgres(Login),
    /// A server that speaks MySQL's protocol 10.
    Mysql(Login),
    /// A server that speaks RESP2: Redis, Valkey.
    Resp(Login),
}

impl Session {
    /// What a session that only reads asks, to be sure that it still does.
    pub fn question(&self) -> Option<&str> {
        match self {
            Self::Postgres(login) | Self::Mysql(login) => {
                login.reads_only.as_ref().map(|it| &it.question[..])
            }
            _ => None,
        }
    }
}

/// What `dyno-driver ask` and `answer` read: a session and the statements to answer, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Must equal [`VERSION`].
    pub version: u32,
    /// How to reach the engine.
    pub session: Session,
    /// SQL, one statement each.
    pub statements: Vec<String>,
    /// What is done with them.
    #[serde(default)]
    pub mode: AskMode,
    /// The connection is closed before the answer is given.
    #[serde(default)]
    pub closes: bool,
}

/// What is done with the statements that are asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AskMode {
    /// They are executed, and their rows answered.
    #[default]
    Rows,
    /// They are executed, and their rows counted only.
    Counts,
    /// The same, and what the server says beside its answer is kept (PostgreSQL's notices).
    Notices,
    /// They are prepared as they are written and closed, and not executed; what the server says
    /// beside is kept.
    Prepares,
    /// They are prepared, executed, their rows counted only, and closed; the execution is timed.
    /// The answer's rows are the scans that an engine counts: words, loops, rows.
    Executes,
    /// They are executed whatever becomes of each: a refusal is an answer, too. Columns' types,
    /// notices, warnings and the rows' digests are answered; the rows of a long answer are not.
    Contents,
}

/// How to reach a server, and as whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// A host name or address; beginning with `/`, the Unix socket's own path.
    pub host: String,
    /// The TCP port; a Unix socket has none and says 0.
    pub port: u16,
    /// Who logs in.
    pub user: String,
    /// The user's password; it travels in the plan (stdin) only, and no error repeats it.
    pub password: Option<String>,
    /// The database to work in.
    pub database: String,
    /// Whether and how the connection is encrypted.
    pub tls: Tls,
    /// Session settings that every connection makes on opening, in this order.
    pub settings: Vec<(String, String)>,
    /// The server's notices are written to stderr, as its own programs do (PostgreSQL).
    #[serde(default)]
    pub tells_notices: bool,
    /// What of the password may leave for a server that has not proved who it is.
    #[serde(default)]
    pub proof: Proof,
    /// Nothing may be written, whatever is asked for; none: the server alone says what may be.
    #[serde(default)]
    pub reads_only: Option<ReadsOnly>,
}

/// Opt-ins, by the names that the servers' own clients have for them. Without any, the password
/// itself, or what it is easily guessed from, goes to servers on this machine and to those that TLS
/// has verified.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Proof {
    /// MySQL: the RSA key of whoever answers is believed, or under TLS whoever answers.
    pub get_server_public_key: bool,
    /// MySQL: a PEM file of the server's RSA key, for connections in plain text.
    pub server_public_key: Option<PathBuf>,
    /// MySQL: `mysql_clear_password` may be asked for, under TLS or by a server on this machine.
    pub enable_cleartext_plugin: bool,
    /// PostgreSQL: the server has to ask for one of these (`none`, `password`, `md5`,
    /// `scram-sha-256`); empty: for anything but what is unsafe there.
    pub require_auth: Vec<String>,
    /// PostgreSQL: is the proof bound to the server's certificate?
    pub channel_binding: ChannelBinding,
}

/// libpq's words: whether SCRAM's proof is bound to the certificate of TLS, so that who stands in
/// between cannot pass it on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelBinding {
    /// Never.
    Disable,
    /// Where the server offers it.
    #[default]
    Prefer,
    /// There is no log-in without it.
    Require,
}

/// A session that only reads: its `settings` have the server refuse writes, and the protocol offers
/// neither several statements in one text nor files of ours (MySQL).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadsOnly {
    /// After so many milliseconds without an answer a statement is killed from a connection beside
    /// (MySQL); 0: never.
    pub limit_ms: u64,
    /// What the server refuses to answer once it lets the session write.
    pub question: String,
}

/// Encryption of a connection. There is no mode that falls back to plain text by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// How much is asked of the server.
    pub mode: TlsMode,
    /// A PEM file of authorities to trust in place of the system's.
    pub ca: Option<PathBuf>,
}

/// libpq's words for the same things are `disable`, `require`, `verify-ca`, `verify-full`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// Plain text.
    Disable,
    /// Encrypted; whoever answers is believed.
    Require,
    /// Encrypted, and the certificate comes from a trusted authority.
    VerifyCa,
    /// As before, and it is for the host that we asked for.
    VerifyFull,
}

/// What is played: a phase of a command of a plan.
#[derive(Debug, Clone, Copy)]
pub struct PhaseRef<'a> {
    /// The whole plan.
    pub plan: &'a Plan,
    /// The command under way.
    pub command: &'a str,
    /// Its phase.
    pub phase: &'a Phase,
    /// What was played in the script's main state before it.
    pub before: Before<'a>,
}

/// What a script's `init` left behind for a phase.
#[derive(Debug, Clone, Copy, Default)]
pub struct Before<'a> {
    /// What it had the engine count.
    pub claimed: u64,
    /// What became of its statements.
    pub statements: &'a [StatementTally],
    /// It holds a connection.
    pub is_connected: bool,
}

impl<'a> PhaseRef<'a> {
    /// Is it the load, and not a command that calls one function once per user?
    pub fn is_load(&self) -> bool {
        self.command == "run"
    }

    /// Our part of the load, where several drivers play it.
    pub fn client(&self) -> Option<Client> {
        self.plan.client.filter(|_| self.is_load())
    }

    /// The turns that it takes, if any.
    pub fn turns(&self) -> Option<&'a Turns> {
        self.plan.turns.as_ref().filter(|_| self.is_load())
    }
}
