//! SQLite's result codes: their names, their SQLSTATE, and who can put them right.

use crate::plan::error::{Error, shorten};

/// Result codes that the session itself looks at.
pub const BUSY: i32 = 5;
pub const BUSY_SNAPSHOT: i32 = 517;

const NAMES: [&str; 27] = [
    "OK",
    "ERROR",
    "INTERNAL",
    "PERM",
    "ABORT",
    "BUSY",
    "LOCKED",
    "NOMEM",
    "READONLY",
    "INTERRUPT",
    "IOERR",
    "CORRUPT",
    "NOTFOUND",
    "FULL",
    "CANTOPEN",
    "PROTOCOL",
    "EMPTY",
    "SCHEMA",
    "TOOBIG",
    "CONSTRAINT",
    "MISMATCH",
    "MISUSE",
    "NOLFS",
    "AUTH",
    "FORMAT",
    "RANGE",
    "NOTADB",
];

/// Extended codes that people look for, with their SQLSTATE.
const EXTENDED: [(i32, &str, &str); 10] = [
    (261, "BUSY_RECOVERY", "40001"),
    (BUSY_SNAPSHOT, "BUSY_SNAPSHOT", "40001"),
    (773, "BUSY_TIMEOUT", "40001"),
    (275, "CONSTRAINT_CHECK", "23514"),
    (787, "CONSTRAINT_FOREIGNKEY", "23503"),
    (1299, "CONSTRAINT_NOTNULL", "23502"),
    (1555, "CONSTRAINT_PRIMARYKEY", "23505"),
    (2067, "CONSTRAINT_UNIQUE", "23505"),
    (2579, "CONSTRAINT_ROWID", "23505"),
    (3091, "CONSTRAINT_DATATYPE", "22000"),
];

/// Beginnings of messages of the catch-all code 1, and what they are called elsewhere.
const STATES: [(&str, &str); 6] = [
    ("no such table", "42P01"),
    ("no such column", "42703"),
    ("no such function", "42883"),
    ("wrong number of arguments", "42883"),
    ("incomplete input", "42601"),
    ("unrecognized token", "42601"),
];

/// The name under which failures are counted.
pub fn name(code: i32) -> String {
    if let Some((_, name, _)) = EXTENDED.iter().find(|(known, ..)| *known == code) {
        return format!("SQLITE_{name}");
    }
    let primary = NAMES.get((code & 0xff) as usize).copied().unwrap_or("UNKNOWN");
    match code >> 8 {
        0 => format!("SQLITE_{primary}"),
        detail => format!("SQLITE_{primary}_{detail}"),
    }
}

/// An error as SQLite told it. `sql` is shown where the statement itself is at fault.
pub fn error(code: i32, message: &str, sql: &str) -> Error {
    let state = state(code, message);
    let error = match code & 0xff {
        7 | 10 | 13 | 14 => Error::host("the engine cannot continue").hint(remedy(code)),
        _ if state.starts_with("42") => Error::engine("the engine does not understand a statement")
            .hint(format!("is it written for another engine? {}", shorten(sql))),
        _ => Error::engine("the engine refused a statement"),
    };
    error.because(message).code(name(code)).sql(code, state)
}

fn remedy(code: i32) -> &'static str {
    match code & 0xff {
        13 => "the disk is full: free space, or put the database elsewhere",
        14 => "does the database's folder exist, and may it be written?",
        7 => "the machine has no memory left",
        _ => "look at the kernel's log: the disk failed or is full",
    }
}

fn state(code: i32, message: &str) -> &'static str {
    if let Some((_, _, state)) = EXTENDED.iter().find(|(known, ..)| *known == code) {
        return state;
    }
    match code & 0xff {
        BUSY => "55P03",
        // CORRUPT and NOTADB, by PostgreSQL's word for data that are damaged
        11 | 26 => "XX001",
        1 if message.contains("syntax error") => "42601",
        1 => STATES
            .iter()
            .find(|(start, _)| message.starts_with(start))
            .map_or("HY000", |(_, state)| state),
        _ => "HY000",
    }
}
