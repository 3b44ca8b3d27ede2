//! What a script counts of its own work, by name: the driver's side of the ledger.

use std::collections::BTreeMap;

/// The script's own u64 counters.
pub type Counters = BTreeMap<String, u64>;

/// Adds counters to a sum.
pub fn add(sum: &mut Counters, counters: Counters) {
    for (name, count) in counters {
        *sum.entry(name).or_default() += count;
    }
}
