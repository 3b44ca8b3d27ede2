//! What became of the statements of a stream: how often each text was sent, and what it changed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All statements of one text, its literals aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatementTally {
    /// The text with `?` in the place of literals, cut where it is long.
    pub text: String,
    /// Of the whole text, as 16 hexadecimal digits; empty: all texts beyond those kept apart.
    pub digest: String,
    /// What it does.
    pub kind: StatementKind,
    /// How often it was sent.
    pub sent: u64,
    /// How often the engine refused it, whoever caught the error.
    pub failed: u64,
    /// Rows that came back.
    pub rows_read: u64,
    /// Rows that the engine reported as changed.
    pub rows_changed: u64,
    /// Rows that the script says it must have changed; absent where it says nothing.
    pub rows_expected: Option<u64>,
    /// How often it was looked at which values a user sends with it: for each, once a slice.
    pub sketches: u64,
    /// The executions that were looked at: the first of each sketch, 1,024 at most.
    pub sketched: u64,
    /// Values fall into 64 classes by chance: those that were met, added up over the sketches. As
    /// many as these where each user always sends the same.
    pub value_classes: u64,
}

/// One execution of a text, its values in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatementExample {
    /// The text's, as [`StatementTally`] has it.
    pub digest: String,
    /// What was sent.
    pub sql: String,
    /// The text that was prepared, its parameters as the engine counts them; empty where it was
    /// sent with its values each time.
    #[serde(default)]
    pub prepared: String,
    /// This and further executions, of the first users the first ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executions: Vec<Execution>,
}

/// One execution of a text among all that are kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    /// Who sent it, by number within its stream.
    pub user: u32,
    /// How many of its user's were kept before it.
    pub place: u32,
    /// What was sent, its values as literals.
    pub sql: String,
}

/// What a statement does, by its first word.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum StatementKind {
    /// `INSERT`, `REPLACE`.
    Insert,
    /// `UPDATE`.
    Update,
    /// `DELETE`.
    Delete,
    /// Any other that writes rows: `MERGE`, and bulk loads.
    Write,
    /// `SELECT` and its kin.
    Read,
    /// Begins a transaction.
    Begin,
    /// Commits one.
    Commit,
    /// Rolls one back, and not to a savepoint.
    Rollback,
    /// Makes, alters or drops what holds data.
    Ddl,
    /// A text of several statements, of which the engine may report the last alone.
    Several,
    /// What is sent as one batch: its requests have rows of their own, its changes are here.
    Batch,
    /// Anything else.
    Other,
}

/// Adds further tallies to those of a stream, text by text.
pub fn merge(sum: &mut Vec<StatementTally>, more: &[StatementTally]) {
    for each in more {
        let Some(known) = sum.iter_mut().find(|it| it.digest == each.digest) else {
            sum.push(each.clone());
            continue;
        };
        known.sent += each.sent;
        known.failed += each.failed;
        known.rows_read += each.rows_read;
        known.rows_changed += each.rows_changed;
        if let Some(more) = each.rows_expected {
            *known.rows_expected.get_or_insert(0) += more;
        }
        known.sketches += each.sketches;
        known.sketched += each.sketched;
        known.value_classes += each.value_classes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(digest: &str, sent: u64) -> StatementTally {
        let (text, digest) = ("SELECT ?".to_owned(), digest.to_owned());
        let (failed, rows_read, rows_changed, rows_expected) = (0, sent, 0, None);
        let kind = StatementKind::Read;
        let (sketches, sketched, value_classes) = (sent, sent, sent);
        StatementTally {
            text,
            digest,
            kind,
            sent,
            failed,
            rows_read,
            rows_changed,
            rows_expected,
            sketches,
            sketched,
            value_classes,
        }
    }

    #[test]
    fn tallies_of_one_text_are_one() {
        let mut sum = vec![tally("a", 1)];
        merge(&mut sum, &[tally("b", 2), tally("a", 3)]);
        assert_eq!(sum, [tally("a", 4), tally("b", 2)]);
    }
}
