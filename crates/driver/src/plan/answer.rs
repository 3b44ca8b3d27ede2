//! What a question is answered with: rows, times, counts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `dyno-driver ask` answers, per statement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Column names.
    pub columns: Vec<String>,
    /// Rows of text, `null` for NULL.
    pub rows: Vec<Vec<Option<String>>>,
    /// Rows that the statement reported as changed.
    pub changed: u64,
    /// Rows that came back, also where they were counted only.
    #[serde(default)]
    pub found: u64,
    /// From sending the statement to the end of its answer.
    #[serde(default)]
    pub elapsed_ns: u64,
    /// What opening the connection took, in the first answer over it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_ns: Option<u64>,
    /// The server's process as the login named it, in the first answer over it: another one works
    /// where a pooler stands between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<i32>,
    /// What the server said beside its answer, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// Notices that were more than is kept.
    #[serde(default, skip_serializing_if = "is_none")]
    pub notices_dropped: u64,
    /// The engine's words for the columns' types, where contents are asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// The engine's refusal, where contents are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// The number that the engine gave a new row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insert_id: Option<u64>,
    /// Digests of the rows, in their order and in any, where contents are asked for: 16 hexadecimal
    /// digits each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digests: Option<(String, String)>,
    /// Why the rows are not all here; empty: they are.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cut: String,
    /// What an engine that works inside the call counted meanwhile.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
}

/// A statement that the engine did not execute.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// The engine's own code.
    pub code: String,
    /// Its message.
    pub text: String,
}

/// A notice of the server's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notice {
    /// What it says, whole.
    pub message: String,
    /// Inside which functions it was said, from the inner to the outer; empty: in none.
    pub context: String,
    /// What it adds, whole; empty: nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// How grave it is, in the server's word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub level: String,
    /// Its code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}
