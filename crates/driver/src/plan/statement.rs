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
