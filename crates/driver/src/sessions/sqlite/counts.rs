//! What SQLite counts of its own work: pages of its cache by connection, steps by statement.

use std::ffi::c_int;

use super::connection::{COUNTER_BITS, Connection};
use super::statement::Statement;
use crate::sessions::EngineCounts;

/// `SQLITE_DBSTATUS_…` of the page cache.
const CACHE_HIT: c_int = 7;
const CACHE_MISS: c_int = 8;
const CACHE_WRITE: c_int = 9;
const CACHE_SPILL: c_int = 12;
/// `SQLITE_STMTSTATUS_…`, and what they are called here.
const OF_STATEMENTS: [(c_int, &str); 5] = [
    (1, "scanned_rows"),
    (2, "sorts"),
    (3, "automatic_index_rows"),
    (4, "machine_steps"),
    (5, "reprepares"),
];

/// Counts of a connection that nobody has taken yet; the last values of those that are never reset.
#[derive(Default)]
pub struct Work {
    counts: EngineCounts,
    hits: u32,
    misses: u32,
    writes: u32,
    spills: u32,
}

impl Work {
    /// Adds what a prepared statement did since this was last asked.
    pub fn count_statement(&mut self, statement: &Statement) {
        for (counter, name) in OF_STATEMENTS {
            *self.counts.entry(name).or_default() += statement.take_status(counter);
        }
    }

    /// Adds what the connection's page cache did, and what was slept for locks.
    pub fn count_connection(&mut self, connection: &Connection) {
        let read = |counter, last: &mut u32| {
            let now = connection.read_status(counter)?;
            let since = now.wrapping_sub(*last) & COUNTER_BITS;
            *last = now;
            Some(u64::from(since))
        };
        let hits = read(CACHE_HIT, &mut self.hits);
        let misses = read(CACHE_MISS, &mut self.misses);
        let found = [
            ("pages_read", misses),
            ("page_requests", hits.zip(misses).map(|(hits, misses)| hits + misses)),
            ("pages_written", read(CACHE_WRITE, &mut self.writes)),
            ("pages_spilled", read(CACHE_SPILL, &mut self.spills)),
            ("lock_wait_us", u64::try_from(connection.busy.slept.take().as_micros()).ok()),
        ];
        for (name, count) in found {
            if let Some(count) = count {
                *self.counts.entry(name).or_default() += count;
            }
        }
    }

    /// Adds all to `counts`, and begins anew.
    pub fn hand_over(&mut self, counts: &mut EngineCounts) {
        for (name, count) in std::mem::take(&mut self.counts) {
            *counts.entry(name).or_default() += count;
        }
    }
}
