//! What is counted: a user's statements, a worker's events of a stream, a phase's sums.
//!
//! ```text
//! count      events of one worker in one stream: numbers, histograms, a row per second
//! share      a worker's share in a stream: which arrivals it takes, what became of them
//! statements what became of a user's statements, text by text
//! live       what workers show while they play, for reports
//! summary    all workers' counts added up, and checked that none is missing
//! merge      what several drivers counted of one phase, as one
//! examples   one execution of each text
//! histogram  distributions of durations
//! written    what users wrote last under sampled keys
//! ```

pub mod count;
pub mod examples;
pub mod histogram;
pub mod live;
pub mod merge;
pub mod share;
pub mod statements;
pub mod summary;
pub mod written;

use std::collections::BTreeMap;

use examples::Examples;
use statements::Statements;
use written::LastWrites;

/// The script's own u64 counters by name: the driver's side of the ledger.
pub type Counters = BTreeMap<String, u64>;

/// Adds counters to a sum.
pub fn add(sum: &mut Counters, counters: Counters) {
    for (name, count) in counters {
        *sum.entry(name).or_default() += count;
    }
}

/// The driver's side of a ledger.
#[derive(Debug, Default)]
pub struct ScriptSums {
    /// The script's own counters.
    pub counters: Counters,
    /// What users wrote last under sampled keys.
    pub written: LastWrites,
    /// An execution of each text.
    pub examples: Examples,
}

impl ScriptSums {
    /// Adds others.
    pub fn add(&mut self, more: ScriptSums) {
        add(&mut self.counters, more.counters);
        written::add(&mut self.written, more.written);
        examples::add(&mut self.examples, more.examples);
    }
}

/// What a user counted of its statements since it was last asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UserCounts {
    /// Statements sent.
    pub queries: u64,
    /// What the engine must have counted, too.
    pub claimed: Option<u64>,
    /// What the engine may have counted beyond that.
    pub further: u64,
    /// Those that answered with columns, as sysbench counts reads.
    pub reads: u64,
    /// Those that changed rows, as sysbench counts writes.
    pub writes: u64,
    /// Rows that came back.
    pub rows_read: u64,
    /// Answers that were waited for: a batch has one for all its statements.
    pub round_trips: u64,
    /// Bytes sent to a server.
    pub sent_bytes: u64,
    /// Bytes that came from it.
    pub received_bytes: u64,
    /// Rows changed.
    pub rows_changed: u64,
    /// Events begun anew (RESTART_EVENT).
    pub restarted: u64,
    /// Busy answers, asked again.
    pub busy: u64,
    /// Lost connections, made anew.
    pub reconnected: u64,
    /// Nanoseconds inside the engine, where measured.
    pub service_ns: Option<u64>,
    /// Failed statements by the engine's code.
    pub errors: BTreeMap<String, u64>,
    /// Statements, text by text.
    pub statements: Statements,
    /// What became of the rows that they changed.
    pub settled: SettledRows,
    /// Events at whose end it was looked whether a transaction is open.
    pub ends: u64,
    /// Those of them that left one open.
    pub ends_open: u64,
    /// What some events spent in the script and the driver.
    pub client_ns: u64,
    /// How many events these were.
    pub client_events: u64,
    /// What a script slept.
    pub slept_ns: u64,
}

/// What became of changed rows, as far as the driver was told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SettledRows {
    /// Their transaction was committed.
    pub committed: u64,
    /// It was rolled back.
    pub rolled_back: u64,
    /// It was open when the connection was closed.
    pub lost: u64,
    /// Transactions that committed some, at least: of a batch or a text of several only one.
    pub commits: u64,
}

impl SettledRows {
    /// Adds others.
    pub fn add(&mut self, other: Self) {
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.lost += other.lost;
        self.commits += other.commits;
    }
}

impl UserCounts {
    /// Adds what another user counted.
    pub fn add(&mut self, counts: UserCounts) {
        self.queries += counts.queries;
        self.claim(&counts);
        self.reads += counts.reads;
        self.writes += counts.writes;
        self.round_trips += counts.round_trips;
        self.sent_bytes += counts.sent_bytes;
        self.received_bytes += counts.received_bytes;
        self.rows_read += counts.rows_read;
        self.rows_changed += counts.rows_changed;
        self.restarted += counts.restarted;
        self.busy += counts.busy;
        self.reconnected += counts.reconnected;
        if let Some(service_ns) = counts.service_ns {
            *self.service_ns.get_or_insert(0) += service_ns;
        }
        self.ends += counts.ends;
        self.ends_open += counts.ends_open;
        self.client_ns += counts.client_ns;
        self.client_events += counts.client_events;
        self.slept_ns += counts.slept_ns;
        add(&mut self.errors, counts.errors);
        statements::add(&mut self.statements, counts.statements);
    }

    /// Adds what is counted of the warm-up as well: what the engine must have counted, too, and
    /// what became of the rows changed.
    pub fn claim(&mut self, counts: &UserCounts) {
        self.claim_more(counts.claimed, counts.further);
        self.settled.add(counts.settled);
    }

    /// Adds what the engine must have counted, too.
    pub fn claim_more(&mut self, more: Option<u64>, further: u64) {
        if let Some(more) = more {
            *self.claimed.get_or_insert(0) += more;
        }
        self.further += further;
    }
}
