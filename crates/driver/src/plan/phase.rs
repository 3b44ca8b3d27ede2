//! What a script declares of its phases: the streams in each, when it stops, what it is judged by.
//!
//! A script without `dyno.phases` (any sysbench script) gets one phase, `run`, made of the general
//! options `threads`, `time`, `events`, `rate` and `warmup_time`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One stretch of a trial with its own streams and stop rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Unique within the workload, in the field's words: `l.i0`, `qr100`, `run`.
    pub name: String,
    /// What it does, in words for a reader of a report: `load in key order`; empty: its name says.
    #[serde(default)]
    pub title: String,
    /// Phases of one group are told together; empty: of none.
    #[serde(default)]
    pub group: String,
    /// What runs side by side.
    pub streams: Vec<Stream>,
    /// When it is over.
    pub stop: Stop,
    /// Seconds played before measuring begins; counted apart.
    #[serde(default)]
    pub warmup_s: f64,
    /// The work per second is meant to be the same from start to end.
    #[serde(default)]
    pub stationary: bool,
    /// Ask the engine to settle (checkpoint, vacuum, analyse) before this phase.
    #[serde(default)]
    pub settle: bool,
    /// The streams and metrics that a verdict rests on; empty: explored only.
    #[serde(default)]
    pub primary: Vec<Primary>,
    /// The script's guess of the phase's length, for the forecast before a run.
    #[serde(default)]
    pub expected_s: f64,
}

/// Users of one kind: the same script function, pace and role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Unique within the phase.
    pub name: String,
    /// The global Lua function that plays one event; called with the user's number. Scripts write
    /// `run`, because `function` is a reserved word there.
    #[serde(alias = "run")]
    pub function: String,
    /// Users, each with its own Lua state (a sysbench thread).
    pub connections: u32,
    /// When events are sent.
    #[serde(default)]
    pub pace: Pace,
    /// What the stream mostly does.
    #[serde(default)]
    pub role: Role,
    /// What is counted: `event`, or for instance `row` where one event sends many.
    #[serde(default = "one_event")]
    pub unit: String,
    /// Units in one event.
    #[serde(default = "one")]
    pub units_per_event: u64,
}

/// sysbench's name for the function that plays all events of a thread.
pub const OWN_LOOP: &str = "thread_run";

impl Stream {
    /// Does a script's own `thread_run` begin and end the events?
    pub fn is_own_loop(&self) -> bool {
        self.function == OWN_LOOP
    }
}

/// When a stream's events are sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Pace {
    /// The next event follows the answer at once.
    #[default]
    Closed,
    /// Equal gaps.
    Uniform {
        /// Events per second of the whole stream.
        rate_per_s: f64,
    },
    /// Exponential gaps.
    Poisson {
        /// Events per second of the whole stream, on average.
        rate_per_s: f64,
    },
    /// When the statements of a server's log were sent, or a constant times faster.
    Recorded {
        /// Events per second of the whole stream, on average.
        rate_per_s: f64,
    },
    /// All of a second's events at its beginning, as the original insert benchmark sends them.
    Burst {
        /// Events per second of the whole stream.
        rate_per_s: f64,
    },
}

/// What a stream mostly does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads.
    #[default]
    Reader,
    /// Writes; a phase whose paced writers fall behind gets no verdict.
    Writer,
}

/// When a phase is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Stop {
    /// After so many seconds of measuring (after the warm-up).
    Time {
        /// Seconds.
        duration_s: f64,
    },
    /// When every stream has played so many events.
    Count {
        /// Events per stream; 0 means that the first stream function to return `false` ends it.
        events: u64,
        /// But not longer than so many seconds; 0: however long it takes.
        #[serde(default)]
        within_s: f64,
    },
    /// When the named stream has played so many events; the others stop with it.
    Stream {
        /// The stream that decides.
        stream: String,
        /// Its events.
        events: u64,
    },
}

/// One pair of stream and metric that a verdict rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Primary {
    /// A stream of this phase.
    pub stream: String,
    /// A metric of that stream: `rate_per_s`, `latency_ns_p99`, …
    pub metric: String,
    /// Its margin in percent; absent: the experiment's.
    #[serde(default)]
    pub margin_percent: Option<f64>,
}

fn one_event() -> String {
    "event".to_owned()
}

fn one() -> u64 {
    1
}
