//! What users wrote last under sampled keys: the driver's side of a ledger's values.
//!
//! A transaction that began after another had been committed comes later in the engine, too, at any
//! level of isolation. So of a key's writes only those may have come last that were answered after
//! every other had begun.

use std::collections::BTreeMap;

use crate::plan::event::{WrittenKey, WrittenKeys};
use crate::schedule::clock::NEVER;

/// One user's last write under a key, by CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastWrite {
    /// Of the value; none where nobody knows whether it was written: its event failed.
    pub digest: Option<u64>,
    /// When its transaction began.
    pub began_ns: u64,
    /// When its event had ended, at the latest.
    pub answered_ns: u64,
}

impl LastWrite {
    /// One of an event that failed.
    pub fn unknown(began_ns: u64) -> Self {
        Self { digest: None, began_ns, answered_ns: NEVER }
    }
}

/// By name and key, those that may have come last.
pub type LastWrites = BTreeMap<String, BTreeMap<i64, Vec<LastWrite>>>;

/// Adds writes to a sum.
pub fn add(sum: &mut LastWrites, more: LastWrites) {
    for (name, keys) in more {
        let known = sum.entry(name).or_default();
        for (key, writes) in keys {
            let all = known.entry(key).or_default();
            all.extend(writes);
            let began_ns = all.iter().map(|it| it.began_ns).max().unwrap_or(0);
            all.retain(|it| it.answered_ns >= began_ns);
        }
    }
}

/// As they are told: of a key that is not known for certain no digest.
pub fn told(sum: LastWrites) -> Vec<WrittenKeys> {
    let told_key = |(key, writes): (i64, Vec<LastWrite>)| {
        let digests: Option<Vec<u64>> = writes.iter().map(|it| it.digest).collect();
        let digests = digests.unwrap_or_default();
        WrittenKey { key, digests: digests.iter().map(|it| format!("{it:016x}")).collect() }
    };
    sum.into_iter()
        .map(|(name, keys)| WrittenKeys { name, keys: keys.into_iter().map(told_key).collect() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(digest: u64, began_ns: u64, answered_ns: u64) -> LastWrite {
        LastWrite { digest: Some(digest), began_ns, answered_ns }
    }

    fn of(writes: &[LastWrite]) -> Vec<String> {
        let mut sum = LastWrites::new();
        for each in writes {
            add(&mut sum, [("v".to_owned(), [(7, vec![*each])].into())].into());
        }
        let told = told(sum);
        assert_eq!((told.len(), told[0].keys[0].key), (1, 7));
        told[0].keys[0].digests.clone()
    }

    fn hex(digest: u64) -> String {
        format!("{digest:016x}")
    }

    #[test]
    fn only_writes_that_no_other_came_after_may_be_the_last() {
        assert_eq!(of(&[write(1, 10, 20), write(2, 30, 40)]), [hex(2)]);
        assert_eq!(of(&[write(2, 30, 40), write(1, 10, 20)]), [hex(2)]);
        assert_eq!(of(&[write(1, 10, 35), write(2, 30, 40)]), [hex(1), hex(2)]);
    }

    #[test]
    fn a_key_that_a_failed_event_may_have_written_is_not_known() {
        assert!(of(&[write(1, 10, 20), LastWrite::unknown(5)]).is_empty());
        assert!(of(&[LastWrite::unknown(5), write(1, 10, 20)]).is_empty());
    }
}
