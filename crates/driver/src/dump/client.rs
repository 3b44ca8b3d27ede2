//! Lines of a file that are for `mysql` or `psql` and not for the server.

use super::rules::{Family, unquote};
use crate::plan::error::Error;

/// What such a line says.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Nothing that concerns what is loaded.
    Nothing,
    /// What ends a statement from here on.
    Delimiter(Vec<u8>),
    /// The database that what follows belongs to.
    Database(String),
}

/// Lines that nothing is lost without.
const IDLE: [&str; 8] =
    ["restrict", "unrestrict", "echo", "qecho", "set", "timing", "pset", "encoding"];

/// Whose line begins here; none: it is a statement.
pub fn begins(rest: &[u8], family: Option<Family>) -> Option<Family> {
    let word = |word: &[u8]| {
        rest.len() > word.len()
            && rest[..word.len()].eq_ignore_ascii_case(word)
            && rest[word.len()].is_ascii_whitespace()
    };
    match family {
        Some(Family::Mysql) if word(b"delimiter") || word(b"source") || rest[0] == b'\\' => {
            Some(Family::Mysql)
        }
        Some(Family::Sqlite) if rest[0] == b'.' => Some(Family::Sqlite),
        _ if rest[0] == b'\\' => Some(Family::Postgres),
        _ => None,
    }
}

/// Reads a line; an error where it asks for what is not done.
pub fn read(line: &str, family: Family) -> Result<Line, Error> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let name = word.trim_start_matches('\\').to_ascii_lowercase();
    match (family, name.as_str()) {
        (Family::Mysql, "delimiter" | "d") if !rest.trim().is_empty() => {
            Ok(Line::Delimiter(rest.split_whitespace().next().unwrap_or(";").as_bytes().to_vec()))
        }
        (Family::Postgres, "connect" | "c") => Ok(Line::Database(connected(rest.trim()))),
        (Family::Postgres, name) if IDLE.contains(&name) => Ok(Line::Nothing),
        (Family::Mysql, "-") => Ok(Line::Nothing),
        _ => {
            let whose = match family {
                Family::Mysql => "mysql",
                Family::Postgres => "psql",
                Family::Sqlite => "sqlite3",
            };
            Err(Error::user(format!("a command of {whose} cannot be played"))
                .because(line.to_owned())
                .hint("a setup file holds SQL: put in what the command would bring"))
        }
    }
}

/// `\connect shop`, `\connect -reuse-previous=on "dbname='shop'"`
fn connected(rest: &str) -> String {
    match rest.split_once("dbname=") {
        Some((_, name)) => unquote(name),
        None => unquote(rest),
    }
}
