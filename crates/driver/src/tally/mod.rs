//! What is counted: a user's statements, a worker's events of a stream, a phase's sums.
//!
//! ```text
//! count      events of one worker in one stream: numbers, histograms, a row per second
//! share      a worker's share in a stream: which arrivals it takes, what became of them
//! live       what workers show while they play, for reports
//! summary    all workers' counts added up, and checked that none is missing
//! histogram  distributions of durations
//! ```

pub mod count;
pub mod histogram;
pub mod live;
pub mod share;
pub mod summary;

use std::collections::BTreeMap;

/// The script's own u64 counters by name: the driver's side of the ledger.
pub type Counters = BTreeMap<String, u64>;

/// Adds counters to a sum.
pub fn add(sum: &mut Counters, counters: Counters) {
    for (name, count) in counters {
        *sum.entry(name).or_default() += count;
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
}

impl UserCounts {
    /// Adds what another user counted.
    pub fn add(&mut self, counts: UserCounts) {
        self.queries += counts.queries;
        self.claim(counts.claimed, counts.further);
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
        add(&mut self.errors, counts.errors);
    }

    /// Adds what the engine must have counted, too: in the warm-up as well.
    pub fn claim(&mut self, more: Option<u64>, further: u64) {
        if let Some(more) = more {
            *self.claimed.get_or_insert(0) += more;
        }
        self.further += further;
    }
}
