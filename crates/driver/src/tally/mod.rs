//! How much: what workers count, distributions, and the sums that a phase ends with.

pub mod count;
pub mod histogram;
pub mod share;
pub mod summary;

use std::collections::BTreeMap;

// What a script counts of its own work, by name: the driver's side of the ledger.

/// The script's own u64 counters.
pub type Counters = BTreeMap<String, u64>;

/// Adds counters to a sum.
pub fn add(sum: &mut Counters, counters: Counters) {
    for (name, count) in counters {
        *sum.entry(name).or_default() += count;
    }
}
