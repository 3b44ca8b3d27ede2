//! What became of a user's statements, text by text.

use std::collections::BTreeMap;

use crate::plan::statement::{StatementKind, StatementTally};

/// What was counted of the statements of one text.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementCount {
    /// The text without its literals.
    pub text: String,
    /// What it does.
    pub kind: StatementKind,
    /// How often it was sent.
    pub sent: u64,
    /// How often it was refused.
    pub failed: u64,
    /// Rows that came back.
    pub rows_read: u64,
    /// Rows that were changed.
    pub rows_changed: u64,
    /// Rows that must have been.
    pub rows_expected: Option<u64>,
    /// How many values were sent with it.
    pub sketch: Sketch,
}

/// How unlike the values of a text are: one user's, or those of several added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sketch {
    /// How many there are.
    pub sketches: u64,
    /// Executions that were looked at: the first of each.
    pub executions: u64,
    /// Of 64 classes into which values fall, those of each.
    pub classes: u64,
}

impl Sketch {
    /// One user's.
    pub fn of(classes: u64, executions: u64) -> Self {
        Self { sketches: 1, executions, classes: u64::from(classes.count_ones()) }
    }

    fn add(&mut self, more: Self) {
        self.sketches += more.sketches;
        self.executions += more.executions;
        self.classes += more.classes;
    }
}

/// By the text's digest; 0: all texts beyond those kept apart.
pub type Statements = BTreeMap<u64, StatementCount>;

/// Texts of a stream that are kept apart.
pub const MOST: usize = 256;

/// What `0` stands for.
pub const FURTHER: &str = "(further statements)";

/// Letters of a text that are told.
const TOLD: usize = 200;

/// Adds statements to a sum, which keeps [`MOST`] texts apart.
pub fn add(sum: &mut Statements, more: Statements) {
    for (digest, count) in more {
        let is_kept = sum.len() < MOST || sum.contains_key(&digest);
        match is_kept {
            true => put(sum, digest, count),
            false => put(sum, 0, further(count)),
        }
    }
}

fn further(count: StatementCount) -> StatementCount {
    StatementCount { text: FURTHER.to_owned(), kind: StatementKind::Other, ..count }
}

fn put(sum: &mut Statements, digest: u64, count: StatementCount) {
    let Some(known) = sum.get_mut(&digest) else {
        sum.insert(digest, count);
        return;
    };
    known.sent += count.sent;
    known.failed += count.failed;
    known.rows_read += count.rows_read;
    known.rows_changed += count.rows_changed;
    known.sketch.add(count.sketch);
    if let Some(more) = count.rows_expected {
        *known.rows_expected.get_or_insert(0) += more;
    }
}

/// As they are told.
pub fn tallies(sum: Statements) -> Vec<StatementTally> {
    let tally = |(digest, count): (u64, StatementCount)| StatementTally {
        text: shorten(count.text),
        digest: if digest == 0 { String::new() } else { format!("{digest:016x}") },
        kind: count.kind,
        sent: count.sent,
        failed: count.failed,
        rows_read: count.rows_read,
        rows_changed: count.rows_changed,
        rows_expected: count.rows_expected,
        sketches: count.sketch.sketches,
        sketched: count.sketch.executions,
        value_classes: count.sketch.classes,
    };
    sum.into_iter().map(tally).collect()
}

fn shorten(text: String) -> String {
    match text.char_indices().nth(TOLD) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(sent: u64) -> StatementCount {
        let text = "UPDATE t SET a=?".to_owned();
        let (failed, rows_read, rows_changed, rows_expected) = (0, 0, sent, None);
        let (kind, sketch) = (StatementKind::Update, Sketch::of(1, sent));
        StatementCount { text, kind, sent, failed, rows_read, rows_changed, rows_expected, sketch }
    }

    #[test]
    fn texts_beyond_those_kept_apart_are_counted_together() {
        let mut sum = Statements::new();
        add(&mut sum, (1..=MOST as u64).map(|digest| (digest, count(1))).collect());
        add(&mut sum, [(1, count(5)), (9_000, count(2)), (9_001, count(3))].into());
        assert_eq!((sum.len(), sum[&1].sent, sum[&0].sent), (MOST + 1, 6, 5));
        assert_eq!(sum[&0].text, FURTHER);
    }
}
