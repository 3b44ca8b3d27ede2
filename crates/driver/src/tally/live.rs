//! What a worker shows while it plays: counts for the progress line, and for reports as sysbench
//! makes them what each user has done. No lock, a little stale; only phases of which reports are
//! made pay for the latter.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::UserCounts;

/// What the progress line reads while a worker writes: no lock, a little stale.
#[derive(Default)]
#[repr(align(64))]
pub struct LiveCounts {
    /// Events done since the phase began.
    pub done: AtomicU64,
    /// Events failed, likewise.
    pub failed: AtomicU64,
    /// The longest latency since the reader last took it.
    pub latency_ns_max: AtomicU64,
}

/// What is read of a worker while it plays.
#[derive(Default)]
pub struct LiveWorker {
    /// One per stream of the phase.
    pub streams: Vec<LiveCounts>,
    /// Where reports are made.
    pub report: Option<LiveReport>,
}

/// A worker's users, and the latencies of all of them together.
pub struct LiveReport {
    /// One per user of the worker.
    pub users: Vec<LiveUser>,
    latency: Vec<AtomicU64>,
}

/// What a user has done since the phase began, warm-up included.
#[derive(Default)]
#[repr(align(64))]
pub struct LiveUser {
    /// Events begun.
    pub begun: AtomicU64,
    /// Events ended, well or not.
    pub ended: AtomicU64,
    /// Events that ended well.
    pub done: AtomicU64,
    /// Statements sent.
    pub queries: AtomicU64,
    /// Those that answered with columns.
    pub reads: AtomicU64,
    /// Those that changed rows.
    pub writes: AtomicU64,
    /// Events begun anew.
    pub restarted: AtomicU64,
    /// Connections made anew.
    pub reconnected: AtomicU64,
    /// It has had a connection.
    pub is_sql: AtomicBool,
}

impl LiveReport {
    /// Nothing done yet.
    pub fn new(users: usize) -> Self {
        Self {
            users: (0..users).map(|_| LiveUser::default()).collect(),
            latency: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Counts a latency.
    pub fn record(&self, latency_ns: u64) {
        add(&self.latency[bucket(latency_ns)], 1);
    }

    /// Adds its latencies to a sum, bucket by bucket.
    pub fn add_latencies(&self, sum: &mut [u64]) {
        sum.iter_mut().zip(&self.latency).for_each(|(sum, it)| *sum += it.load(Ordering::Relaxed));
    }
}

impl LiveUser {
    /// Shows how far its user has come: what it counted before, and since.
    pub fn show(&self, before: &UserCounts, since: &UserCounts, is_sql: bool) {
        self.queries.store(before.queries + since.queries, Ordering::Relaxed);
        self.reads.store(before.reads + since.reads, Ordering::Relaxed);
        self.writes.store(before.writes + since.writes, Ordering::Relaxed);
        self.restarted.store(before.restarted + since.restarted, Ordering::Relaxed);
        self.reconnected.store(before.reconnected + since.reconnected, Ordering::Relaxed);
        self.is_sql.store(is_sql, Ordering::Relaxed);
    }
}

/// Adds to a number that nobody else writes.
pub fn add(number: &AtomicU64, more: u64) {
    number.store(number.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

// sysbench's own buckets: 1024 of them on a logarithmic scale, from 1 µs to 100 s.

/// How many there are.
pub const BUCKETS: usize = 1024;
const LEAST_MS: f64 = 0.001;
const MOST_MS: f64 = 100_000.0;

fn per_unit() -> f64 {
    (BUCKETS - 1) as f64 / (MOST_MS / LEAST_MS).ln()
}

/// The bucket that a latency falls into.
pub fn bucket(latency_ns: u64) -> usize {
    let latency_ms = (latency_ns as f64 / 1e6).clamp(LEAST_MS, MOST_MS);
    ((latency_ms / LEAST_MS).ln() * per_unit()).round() as usize
}

/// The value that stands for a bucket.
pub fn value_ms(bucket: usize) -> f64 {
    (bucket as f64 / per_unit()).exp() * LEAST_MS
}

/// The value below or at which so many percent of the latencies lie, in milliseconds; 0 of none.
pub fn percentile_ms(counts: &[u64], percent: f64) -> f64 {
    let wanted = (counts.iter().sum::<u64>() as f64 * percent / 100.0).ceil() as u64;
    let mut seen = 0;
    for (at, count) in counts.iter().enumerate() {
        seen += count;
        if seen >= wanted && seen > 0 {
            return value_ms(at);
        }
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_told_within_a_hundredth() {
        for latency_ns in [1_000, 77_000, 1_500_000, 99_000_000_000] {
            let told_ms = value_ms(bucket(latency_ns));
            assert!((told_ms * 1e6 / latency_ns as f64 - 1.0).abs() < 0.01, "{told_ms}");
        }
        assert_eq!((bucket(0), bucket(u64::MAX)), (0, BUCKETS - 1));
    }

    #[test]
    fn a_percentile_is_the_first_value_that_holds_so_many() {
        let mut counts = vec![0; BUCKETS];
        assert!(percentile_ms(&counts, 95.0).abs() < f64::EPSILON);
        counts[bucket(1_000_000)] = 95;
        counts[bucket(9_000_000)] = 5;
        assert!((percentile_ms(&counts, 95.0) - 1.0).abs() < 0.01);
        assert!((percentile_ms(&counts, 96.0) - 9.0).abs() < 0.1);
    }
}
