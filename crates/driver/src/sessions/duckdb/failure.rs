//! DuckDB's errors, which it tells as text: `KIND Error: what happened`.

use crate::plan::error::{Error, shorten};

/// Kinds of errors, and what they are called elsewhere (SQLSTATE).
const STATES: [(&str, &str); 6] = [
    ("Parser", "42601"),
    ("Catalog", "42P01"),
    ("Binder", "42703"),
    ("Constraint", "23000"),
    ("TransactionContext", "25000"),
    ("Conversion", "22000"),
];

/// No kind of DuckDB's is longer.
const LONGEST_KIND: usize = 40;

/// What DuckDB says where two transactions wrote the same row: the later one may begin anew. A
/// unique key that another transaction holds uncommitted is reported as a constraint's error.
const CONFLICTS: [&str; 4] = [
    "Conflict on ",
    "Transaction conflict",
    "write-write conflict",
    "Failed to commit: PRIMARY KEY or UNIQUE constraint",
];

/// An error as DuckDB reported it. `sql` is shown where the statement itself is at fault.
pub fn error(message: &str, sql: &str) -> Error {
    let kind = kind(message);
    let is_conflict = CONFLICTS.iter().any(|conflict| message.contains(conflict));
    let state = match is_conflict {
        true => "40001",
        false => STATES.iter().find(|(it, _)| *it == kind).map_or("HY000", |(_, state)| state),
    };
    let error = match kind {
        "IO" | "Out of Memory" | "FATAL" => Error::host("the engine cannot continue")
            .hint("is the disk full, the file locked by another process, or memory_limit small?"),
        _ if state.starts_with("42") => Error::engine("the engine does not understand a statement")
            .hint(format!("is it written for another engine? {}", shorten(sql))),
        _ => Error::engine("the engine refused a statement"),
    };
    let code = if is_conflict { "DUCKDB_CONFLICT".to_owned() } else { code(kind) };
    let error = error.because(first_line(message)).code(code).sql(0, state);
    if is_conflict { error.restartable() } else { error }
}

/// Empty where a message has none; what is long is a text that quotes somebody.
fn kind(message: &str) -> &str {
    let kind = message.split_once(" Error: ").map_or("", |(kind, _)| kind);
    if kind.len() <= LONGEST_KIND { kind } else { "" }
}

/// The name under which failures are counted.
fn code(kind: &str) -> String {
    match kind {
        "" => "DUCKDB_UNKNOWN".to_owned(),
        kind => format!("DUCKDB_{}", kind.to_ascii_uppercase().replace(' ', "_")),
    }
}

/// What follows is the statement again, with an arrow below it.
fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{code, error, kind};

    #[test]
    fn a_conflict_may_begin_anew_and_another_error_may_not() {
        let conflict = error("TransactionContext Error: Conflict on update!", "");
        assert!(conflict.is_restartable());
        assert_eq!((conflict.engine_code(), conflict.state()), (Some("DUCKDB_CONFLICT"), "40001"));
        let duplicate = error("Constraint Error: Duplicate key \"id: 1\"", "");
        assert!(!duplicate.is_restartable() && duplicate.is_engine());
        assert_eq!(duplicate.engine_code(), Some("DUCKDB_CONSTRAINT"));
        assert!(!error("IO Error: disk full", "").is_engine());
    }

    #[test]
    fn a_text_that_quotes_an_error_is_no_kind() {
        let message = format!("{} Error: quoted", "x".repeat(262_144));
        assert_eq!(code(kind(&message)), "DUCKDB_UNKNOWN");
        assert!(error(&message, "").to_string().len() < 600);
    }
}
