//! Statements of a table with a key, for engines that know keys and values and no SQL.
//!
//! A workload's texts stay as they are, so that what every engine was sent can be held against each
//! other. Such a session reads a text once ([`read`]) and plays the [`Statement`]; all other SQL is
//! refused by name.

mod read;
#[cfg(test)]
mod tests;

use super::Value;
pub use read::read;

/// What a text asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// `BEGIN`.
    Begin,
    /// `COMMIT`.
    Commit,
    /// `ROLLBACK`.
    Rollback,
    /// `CREATE TABLE`, by its primary key of one column and its other columns.
    Create {
        /// The table.
        table: String,
        /// The column that is its key.
        key: String,
        /// The others, in their order.
        columns: Vec<String>,
    },
    /// `DROP TABLE IF EXISTS`.
    Drop {
        /// The table.
        table: String,
    },
    /// `SHOW TABLES`.
    Tables,
    /// `SHOW STATUS`: what the engine says of itself.
    Status,
    /// `INSERT INTO … (columns) VALUES …`.
    Insert {
        /// The table.
        table: String,
        /// Those that have a value.
        columns: Vec<String>,
        /// As many for each row as there are columns.
        values: Vec<Operand>,
    },
    /// `UPDATE … SET … WHERE …`.
    Update {
        /// The table.
        table: String,
        /// Each column that changes, and how.
        changes: Vec<(String, Change)>,
        /// The rows.
        rows: Selection,
    },
    /// `DELETE FROM … WHERE …`.
    Delete {
        /// The table.
        table: String,
        /// The rows.
        rows: Selection,
    },
    /// `SELECT columns FROM … [WHERE …]`.
    Select {
        /// The table.
        table: String,
        /// Those that are answered; none: all.
        columns: Vec<String>,
        /// The rows.
        rows: Selection,
    },
    /// `SELECT COUNT(*) FROM … [WHERE …]`, or a sum of such counts.
    Count(Vec<(String, Selection)>),
}

/// Which rows of a table are meant; where a column is named, it has to be the key.
#[derive(Debug, Clone, PartialEq)]
pub enum Selection {
    /// `key = value`, `key IN (values)`.
    Keys(String, Vec<Operand>),
    /// `key BETWEEN first AND last`.
    Between(String, Operand, Operand),
    /// `key >= first ORDER BY key LIMIT rows`.
    From(String, Operand, Operand),
    /// All, or those whose texts have such lengths.
    All(Vec<Length>),
}

/// `LENGTH(column) = bytes`.
#[derive(Debug, Clone, PartialEq)]
pub struct Length {
    /// The column.
    pub column: String,
    /// How the length is held against `bytes`.
    pub order: std::cmp::Ordering,
    /// Bytes.
    pub bytes: i64,
}

/// What becomes of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// `column = value`.
    To(Operand),
    /// `column = column + number`.
    Plus(i64),
}

/// A value in a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// The parameter of this number, from 0 on.
    Parameter(usize),
    /// It stands in the text.
    Literal(Value),
}

impl Operand {
    /// Its value, where the parameters have `values`: as many as [`read`] counts.
    #[inline]
    pub fn value<'a>(&'a self, values: &'a [Value]) -> &'a Value {
        match self {
            Self::Parameter(number) => values.get(*number).unwrap_or(&Value::Null),
            Self::Literal(value) => value,
        }
    }
}
