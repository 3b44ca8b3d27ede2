//! What the driver says: JSON lines on stdout. `src/dyno/driver/events.py` reads them.
//!
//! The handshake: after each `settle`, `ready`, `answered` and `done` the driver waits for a line
//! `go` on stdin. The caller settles the engine and samples its probes there, so that neither falls
//! into a phase.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::client_phase::ClientPhase;
use super::phase::Phase;
use super::statement::{StatementExample, StatementTally};

/// One line of the driver's stdout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "lowercase", deny_unknown_fields)]
pub enum Event {
    /// First line: who speaks.
    Hello {
        /// [`crate::plan::VERSION`].
        version: u32,
        /// The driver's own version.
        driver: String,
    },
    /// The caller should settle the engine before this phase, and nobody is connected: some engines
    /// let one process in at a time. Waits for `go`.
    Settle {
        /// The phase's name.
        phase: String,
    },
    /// A phase is about to load its users, where the plan asks for reports. Waits for `go`.
    Loads {
        /// The phase's name.
        phase: String,
        /// How many users.
        users: u32,
    },
    /// A phase stands ready, its connections open; waits for `go`.
    Ready {
        /// The phase's name.
        phase: String,
        /// CLOCK_MONOTONIC.
        monotonic_ns: u64,
        /// Its `go` is to say when it starts.
        is_interleaved: bool,
    },
    /// An error has ended an interleaved phase before its time: the other drivers need
    /// not go on. What was measured follows, then the error.
    Failing {
        /// The phase's name.
        phase: String,
    },
    /// A server's last answer of a phase is here, and its connections are still open: what serves
    /// them can be looked at before it ends. Waits for `go`.
    Answered {
        /// The phase's name.
        phase: String,
    },
    /// Once a second while a phase plays.
    Progress(Progress),
    /// What sysbench reports of a phase, where the plan asks for it: after a `progress`, or before
    /// the `done`.
    Report(Report),
    /// Before a phase's `done`, where several drivers play together: what this one's host did.
    Client(ClientPhase),
    /// The answer to a line `ping NUMBER`, sent as soon as that is read.
    Pong {
        /// The ping's.
        number: u64,
        /// CLOCK_MONOTONIC.
        monotonic_ns: u64,
    },
    /// A phase is over; waits for `go`.
    Done(Done),
    /// Last line of a good trial.
    End {
        /// The script's own u64 counters (`dyno.count`), summed over users and phases.
        counters: BTreeMap<String, u64>,
        /// What users wrote last under the keys that the script has sampled (`dyno.written`).
        written: Vec<WrittenKeys>,
        /// An execution of each text that was sent, by its digest.
        examples: Vec<StatementExample>,
    },
    /// Last line of a failed one; what was measured before stands in its `done` lines.
    Error(Failure),
}

/// The table that sysbench 1.0 calls `stat`, under its names: all streams of a phase together,
/// times and latencies in seconds. A read is what answered with columns, a write what changed rows;
/// what failed, or was sent in a batch, is other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Of the whole phase without its warm-up, and not since the last report.
    pub is_cumulative: bool,
    /// Users who have more to play.
    pub threads_running: u32,
    /// What the counts are of.
    pub time_interval: f64,
    /// Since the phase began.
    pub time_total: f64,
    /// The percentile that the option `percentile` names.
    pub latency_pct: f64,
    /// The longest.
    pub latency_max: f64,
    /// The shortest; like all that follows of latencies, of a whole phase only.
    pub latency_min: f64,
    /// Their mean.
    pub latency_avg: f64,
    /// Their sum.
    pub latency_sum: f64,
    /// Events done.
    pub events: u64,
    /// Statements that answered with columns.
    pub reads: u64,
    /// Statements that changed rows.
    pub writes: u64,
    /// All other statements.
    pub other: u64,
    /// Events that failed, or began anew after an error.
    pub errors: u64,
    /// Connections made anew.
    pub reconnects: u64,
    /// Events that are due, and that nobody has begun; 0 without a rate.
    pub queue_length: u64,
    /// Events under way.
    pub concurrency: u64,
    /// A user has had a connection.
    pub is_sql: bool,
    /// Of a whole phase: each user's.
    pub users: Vec<UserShare>,
    /// Of a whole phase: sysbench's buckets, none that is empty.
    pub histogram: Vec<Bucket>,
}

/// A user's part of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserShare {
    /// Events done.
    pub events: u64,
    /// The seconds that they took.
    pub busy_s: f64,
}

/// How many latencies lie about a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// In milliseconds.
    pub value_ms: f64,
    /// How many.
    pub count: u64,
}

/// How a phase is going.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// The phase's name.
    pub phase: String,
    /// Seconds since the phase began, warm-up included.
    pub elapsed_s: f64,
    /// One per stream, in the phase's order.
    pub streams: Vec<StreamProgress>,
}

/// How a stream is going.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamProgress {
    /// The stream's name.
    pub name: String,
    /// Events done since the phase began, warm-up included.
    pub done: u64,
    /// Events failed, likewise.
    pub failed: u64,
    /// Units per second since the last progress line.
    pub rate_per_s: f64,
    /// Longest latency since the last progress line, from the intended time.
    pub latency_ns_max: u64,
}

/// What a phase measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// The phase's name.
    pub phase: String,
    /// CLOCK_MONOTONIC of the common start: its first event is sent now.
    pub started_ns: u64,
    /// CLOCK_MONOTONIC when the warm-up was over.
    pub measured_ns: u64,
    /// CLOCK_MONOTONIC when its last event was answered, or its time was up if that is later.
    pub ended_ns: u64,
    /// How much of the time from `started_ns` to `ended_ns` was its own, where turns were taken.
    pub own_ns: Option<u64>,
    /// How much of that counts after the warm-up: its slices without their ramp-ins.
    pub counted_ns: Option<u64>,
    /// How much of its own time the whole driver stood still, warm-up included.
    pub stood_still_ns: u64,
    /// The longest of these standstills, others' time included.
    pub stood_still_ns_max: u64,
    /// How much of its own time a worker was kept by a connection that was made anew for one user,
    /// or by a statement's preparation, while its others waited; of the worker with the most.
    pub held_up_ns: u64,
    /// The longest time that one of these took, others' time included.
    pub held_up_ns_max: u64,
    /// How long a worker stood ready and had no core; of the worker with the most.
    pub waited_ns: u64,
    /// A SIGINT ended it.
    pub interrupted: bool,
    /// What the driver's process itself spent between `started_ns` and `ended_ns`.
    pub usage: Usage,
    /// What an engine that works inside the call counted of its own work in the phase, warm-up
    /// included, by the names of Dyno's probe `work`; nothing where the engine counts nothing.
    pub engine_counts: BTreeMap<String, u64>,
    /// One per stream, in the phase's order.
    pub streams: Vec<Tally>,
    /// The latencies of all streams that count in a unit, where two or more did: their histograms
    /// added up, by unit.
    pub together: BTreeMap<String, Latency>,
}

/// Resources of the driver's process (and of the engine, where that is embedded).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// CPU in user mode.
    pub user_ns: u64,
    /// CPU in the kernel.
    pub system_ns: u64,
    /// Times that a thread waited.
    pub voluntary_switches: u64,
    /// Times that a thread was pushed off its core.
    pub involuntary_switches: u64,
    /// Resident memory at the end.
    pub resident_bytes: u64,
}

/// What a stream did. Always: intended = done + failed + skipped (all without the warm-up).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// The stream's name.
    pub name: String,
    /// What one unit is.
    pub unit: String,
    /// Units in one event.
    pub units_per_event: u64,
    /// Its users.
    pub connections: u32,
    /// Events per second asked for; absent in a closed loop.
    pub target_per_s: Option<f64>,
    /// Events that should have been played.
    pub intended: u64,
    /// Events that ended well.
    pub done: u64,
    /// Events that ended in an error.
    pub failed: u64,
    /// Those of them that had no answer long after the phase's end, when connections were cut.
    pub cut: u64,
    /// The longest that one of these had waited.
    pub cut_ns_max: u64,
    /// Events, of the warm-up or not, that were under way when the phase was to end.
    pub under_way: u64,
    /// The least that one of them took, or had waited when it was cut; 0 without any.
    pub under_way_ns_min: u64,
    /// Events due before the end that no user was free to start.
    pub skipped: u64,
    /// Events played in the warm-up (done or failed), in none of the counts above.
    pub warmup: u64,
    /// Events begun anew after an ignorable error (RESTART_EVENT), inside their latency.
    pub restarted: u64,
    /// Statements sent.
    pub queries: u64,
    /// What the server must have counted, too, from the start to the close, warm-up included:
    /// statements (MySQL), ended transactions (PostgreSQL). Absent where the engine is embedded.
    pub claimed: Option<u64>,
    /// What it may have counted beyond that: results that followed the first of a request, and the
    /// transactions that maintenance of a whole database takes for each table.
    pub claimed_further: u64,
    /// Both of `thread_init`, before the start.
    pub claimed_before: u64,
    /// Answers that were waited for: a batch has one for all its statements, and what an embedded
    /// engine answers in the call is not waited for.
    pub round_trips: u64,
    /// Bytes sent to a server, before TLS.
    pub sent_bytes: u64,
    /// Bytes that came from it.
    pub received_bytes: u64,
    /// Rows that came back.
    pub rows_read: u64,
    /// Rows that statements reported as changed.
    pub rows_changed: u64,
    /// Times that the engine said busy and was asked again.
    pub busy: u64,
    /// Connections that were lost and made anew.
    pub reconnected: u64,
    /// Failed statements by the engine's own code.
    pub errors: BTreeMap<String, u64>,
    /// Nanoseconds inside the session, where it measures them (null: the delay).
    pub service_ns: Option<u64>,
    /// From the intended time to the answer, or to where it was cut, of all transaction types.
    pub latency: Latency,
    /// How late events were begun: actual minus intended start.
    pub lateness: Latency,
    /// The same by transaction type, where the script names more than one.
    pub transactions: BTreeMap<String, Latency>,
    /// One entry per second that counts, from `measured_ns`.
    pub series: Series,
    /// Events done in each of our slices from `measured_ns` on, also where none began; empty
    /// without turns.
    pub slices: Vec<u64>,
    /// Events that ended after the turn that they began in, and stood still meanwhile with the
    /// phase's clock.
    pub overrun: u64,
    /// Connections that were made anew between two epochs of turns.
    pub renewed: u64,
    /// What its users rested after the warm-up (`dyno.rest`), which is in no latency.
    pub rested_ns: u64,
    /// What became of its statements after the warm-up, text by text.
    pub statements: Vec<StatementTally>,
    /// The same of `init` and `thread_init`, before the start.
    pub statements_before: Vec<StatementTally>,
    /// Rows changed by what was committed, from the start to the close, warm-up included.
    pub rows_committed: u64,
    /// Rows changed by what was rolled back, likewise.
    pub rows_rolled_back: u64,
    /// Rows changed by what was neither when its connection was closed: they are lost.
    pub rows_lost: u64,
    /// Transactions that committed changed rows, at least, since the phase stood ready: what the
    /// server must have counted as commits, too.
    pub commits: u64,
    /// Events after the warm-up at whose end it was looked whether a transaction is open.
    pub ends: u64,
    /// Those of them that left one open.
    pub ends_open: u64,
    /// What some of its events spent in the script and the driver, and not in the engine.
    pub client_ns: u64,
    /// How many events these were.
    pub client_events: u64,
    /// What its users slept inside events, as their script told them to.
    pub slept_ns: u64,
}

/// A distribution of durations: HDR V2, base64, ns, 1 ns to 1 h, three digits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Durations recorded.
    pub count: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// The longest, to the histogram's precision.
    pub max_ns: u64,
    /// Percentile (`"50"`, `"99.9"`) to ns; keys are [`PERCENTILES`].
    pub percentiles_ns: BTreeMap<String, u64>,
    /// The whole histogram, V2 + DEFLATE-free, base64.
    pub hdr: String,
}

/// Percentiles written beside each histogram, so that a reader needs no HDR library.
pub const PERCENTILES: [&str; 12] =
    ["1", "10", "25", "50", "75", "90", "95", "99", "99.5", "99.9", "99.99", "99.999"];

/// Per-second columns, all of one length.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Events done in that second.
    pub done: Vec<u64>,
    /// Events failed.
    pub failed: Vec<u64>,
    /// The longest latency of an event answered in that second.
    pub latency_ns_max: Vec<u64>,
}

/// What went wrong, as `errors.py` shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Who can put it right: `user` (plan, option, script), `engine`, `host` or `driver`.
    pub blame: String,
    /// A clause in lower case, without a full stop, its causes after colons.
    pub message: String,
    /// What to do about it; may be empty.
    pub hint: String,
    /// Phase, where one was under way.
    pub phase: Option<String>,
    /// Script file and line, where a script was.
    pub place: Option<String>,
    /// The script's own words, where it failed by itself, or those that it was thrown.
    pub script_words: Option<String>,
    /// The engine's SQLSTATE, where it refused a statement.
    #[serde(default)]
    pub state: Option<String>,
    /// The script's function that failed, as sysbench calls it (`thread_run` for `event`).
    pub function: Option<String>,
    /// The user's number (sysbench's thread id), where one was at work.
    pub connection: Option<u32>,
    /// The user's stream, where the phase has several.
    pub stream: Option<String>,
}

/// What `dyno-driver describe` says of a script: one JSON object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The script's first comment block.
    pub summary: String,
    /// Its options and the general ones.
    pub options: Vec<ScriptOption>,
    /// Its commands.
    pub commands: Vec<String>,
    /// Its phases under the plan's options.
    pub phases: Vec<Phase>,
    /// SQL that checks the driver's ledger (`dyno.ledger`) once the last phase is over.
    pub ledger: Vec<LedgerEntry>,
    /// Statements whose plans are asked for then (`dyno.plans`).
    pub plans: Vec<PlannedStatement>,
    /// The script's guess of the data set's size (`dyno.size_bytes`); 0: unknown.
    pub size_bytes: u64,
    /// Options, and their values, under which all phases are over in seconds (`dyno.brief`): what a
    /// pilot plays of a script whose phases end by count.
    pub brief: BTreeMap<String, String>,
    /// What of its events Lua plays step by step, which costs the client more: its functions, or
    /// why a pgbench script is not played without Lua.
    pub in_lua: Vec<String>,
}

/// A statement whose plan is held against other candidates'.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedStatement {
    /// What it is called.
    pub name: String,
    /// Its text, without parameters.
    pub sql: String,
}

/// An option of a script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptOption {
    /// With underscores.
    pub name: String,
    /// What it means.
    pub help: String,
    /// As text; empty: none.
    pub default: String,
    /// The value under this plan.
    pub value: String,
    /// Whose it is: `script` or `general` (threads, time, rand_type, …).
    pub owner: String,
}

/// One number that must be what the script says: the engine's, or the script's own counters'.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LedgerEntry {
    /// What is checked, in words.
    pub name: String,
    /// Answers one row with one number. Empty: nothing is asked, the counters' sum is the number.
    #[serde(default)]
    pub sql: String,
    /// Counter name to factor: rows = inserted − deleted is `{inserted: 1, deleted: -1}`.
    #[serde(default)]
    pub counters: BTreeMap<String, i64>,
    /// What the number must be, beside what the counters add up to. With neither the rows
    /// themselves are held against other candidates'.
    #[serde(default)]
    pub equals: Option<i64>,
    /// The name under which the script samples what it writes (`dyno.written`): the SQL answers
    /// keys and values, `?` stands for the keys, and each value must be what was written last.
    #[serde(default)]
    pub written: String,
    /// Why nothing of this is checked; empty: something is.
    #[serde(default)]
    pub unchecked: String,
}

/// What users wrote last under the sampled keys of one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenKeys {
    /// As the script's ledger names it.
    pub name: String,
    /// Keys under which something was written.
    pub keys: Vec<WrittenKey>,
}

/// A key, and digests of the values of which one must be there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenKey {
    /// The key.
    pub key: i64,
    /// 16 hexadecimal digits each. None: what is there is not known for certain.
    pub digests: Vec<String>,
}
