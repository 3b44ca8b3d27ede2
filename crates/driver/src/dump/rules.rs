//! What of a dump is played, and what is left out: whatever concerns more than its one database, or
//! accounts that a copy need not have.

use super::scanner::is_word;
use crate::plan::error::Error;

/// Whose dump a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Mysql,
    Postgres,
    Sqlite,
}

/// What is done with a statement.
#[derive(Debug, PartialEq)]
pub enum Treatment {
    /// It is sent.
    Play,
    /// It is sent in other words, and counted under this name.
    Altered(&'static str),
    /// It is not sent, and counted under this name.
    LeaveOut(&'static str),
    /// It goes to the database of this name.
    Use(String),
    /// It makes, drops or changes a database.
    Database,
}

use Treatment::{Altered, Database, LeaveOut, Play, Use};

const RIGHTS: &str = "GRANT or REVOKE";
const ROLES: &str = "statements on accounts and roles";
const TABLESPACES: &str = "statements on tablespaces";
const DEFINERS: &str = "DEFINER clauses";
const OWNERS: &str = "OWNER TO";
const REPLICATION: &str = "statements on replication (GTID_PURGED and the like)";
/// What a newer `pg_dump` sets, and an older server does not know, or the other way round.
const SETTINGS: [&str; 6] = [
    "transaction_timeout",
    "idle_in_transaction_session_timeout",
    "idle_session_timeout",
    "row_security",
    "default_table_access_method",
    "default_with_oids",
];
/// A client's character sets whose letters may hold a backslash or a quote.
const NOT_READ: [&str; 5] = ["GBK", "BIG5", "SJIS", "CP932", "GB18030"];
/// Where a routine's own text cannot have begun yet.
const HEAD: usize = 512;

/// What is done with a statement of these first words (in capitals); its text may be changed.
pub fn treat(words: &[String], text: &mut Vec<u8>, family: Family) -> Result<Treatment, Error> {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let first = [word(0), word(1), word(2)];
    match family {
        Family::Mysql => of_mysql(first, text),
        Family::Postgres => Ok(of_postgres(first, text)),
        Family::Sqlite => Ok(Play),
    }
}

fn of_mysql(words: [&str; 3], text: &mut Vec<u8>) -> Result<Treatment, Error> {
    Ok(match words {
        ["SET", "NAMES", name] if NOT_READ.contains(&name) => {
            return Err(Error::user(format!("a dump in the character set {name} is not read"))
                .hint("dump with --default-character-set=utf8mb4"));
        }
        ["SET", ..] if has_setting(text, &["gtid_purged", "sql_log_bin", "temp_log_bin"]) => {
            LeaveOut(REPLICATION)
        }
        ["CHANGE", "MASTER" | "REPLICATION", _] => LeaveOut(REPLICATION),
        ["START" | "STOP" | "RESET", "SLAVE" | "REPLICA" | "MASTER", _] => LeaveOut(REPLICATION),
        ["GRANT" | "REVOKE", ..] | ["FLUSH", "PRIVILEGES", _] => LeaveOut(RIGHTS),
        ["CREATE" | "ALTER" | "DROP" | "RENAME", "USER" | "ROLE", _] | ["SET", "ROLE", _] => {
            LeaveOut(ROLES)
        }
        ["SET", "DEFAULT", "ROLE"] | ["SET", "PASSWORD", _] => LeaveOut(ROLES),
        ["CREATE" | "ALTER" | "DROP", "TABLESPACE" | "LOGFILE" | "UNDO", _] => {
            LeaveOut(TABLESPACES)
        }
        ["CREATE" | "ALTER" | "DROP", "DATABASE" | "SCHEMA", _] => Database,
        ["USE", ..] => Use(name_behind(text, b"USE")),
        ["CREATE" | "ALTER", ..] if take_definer(text) => Altered(DEFINERS),
        _ => Play,
    })
}

fn of_postgres(words: [&str; 3], text: &mut Vec<u8>) -> Treatment {
    match words {
        ["ALTER", kind, _] if kind != "SYSTEM" && contains(text, b" OWNER TO ") => LeaveOut(OWNERS),
        ["GRANT" | "REVOKE", ..] | ["ALTER", "DEFAULT", "PRIVILEGES"] => LeaveOut(RIGHTS),
        ["SET", "SESSION", "AUTHORIZATION"] | ["SET", "ROLE", _] => LeaveOut(ROLES),
        ["RESET", "SESSION", _] | ["RESET", "ROLE", _] => LeaveOut(ROLES),
        ["CREATE" | "ALTER" | "DROP", "ROLE" | "USER" | "GROUP", _]
        | ["COMMENT", "ON", "ROLE"]
        | ["SECURITY", "LABEL", _] => LeaveOut(ROLES),
        ["CREATE", "POLICY", _] if contains(text, b" TO ") => LeaveOut("policies of roles"),
        ["CREATE" | "ALTER" | "DROP", "TABLESPACE", _] | ["COMMENT", "ON", "TABLESPACE"] => {
            LeaveOut(TABLESPACES)
        }
        ["SET", "DEFAULT_TABLESPACE", _] if !contains(text, b"''") => LeaveOut(TABLESPACES),
        ["CREATE" | "ALTER" | "DROP", "SUBSCRIPTION", _] => LeaveOut(REPLICATION),
        ["CREATE" | "ALTER" | "DROP", "DATABASE", _] | ["COMMENT", "ON", "DATABASE"] => Database,
        ["CREATE", "SCHEMA", "PUBLIC"] => LeaveOut("CREATE SCHEMA public, which is there"),
        ["SET", ..] => ask_setting(text),
        _ => Play,
    }
}

/// Sets what not every server knows only where the server does.
fn ask_setting(text: &mut Vec<u8>) -> Treatment {
    let said = String::from_utf8_lossy(text).into_owned();
    let (name, value) = said[3..].split_once('=').unwrap_or_default();
    let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().trim_matches('\''));
    if SETTINGS.contains(&name.as_str()) && value.bytes().all(is_word) {
        let asked = format!(
            "SELECT pg_catalog.set_config('{name}', '{value}', false) \
             FROM pg_catalog.pg_settings WHERE name = '{name}'"
        );
        *text = asked.into_bytes();
    }
    Play
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|it| it.eq_ignore_ascii_case(wanted))
}

fn has_setting(text: &[u8], names: &[&str]) -> bool {
    let head = &text[..text.len().min(HEAD)];
    names.iter().any(|name| contains(head, name.as_bytes()))
}

/// A name behind a word, without its quotes.
fn name_behind(text: &[u8], word: &[u8]) -> String {
    let at = text.windows(word.len()).position(|it| it.eq_ignore_ascii_case(word)).unwrap_or(0);
    let rest = String::from_utf8_lossy(&text[at + word.len()..]).into_owned();
    unquote(rest.trim())
}

/// A name without its quotes, or up to what cannot stand in one.
pub fn unquote(name: &str) -> String {
    let quote = name.chars().next().filter(|it| "`\"'".contains(*it));
    match quote {
        Some(quote) => name[1..].split(quote).next().unwrap_or_default().to_owned(),
        None => name
            .split(|it: char| !it.is_alphanumeric() && !"_$-".contains(it))
            .next()
            .unwrap_or_default()
            .to_owned(),
    }
}

/// Takes `DEFINER=user@host` out: who loads the dump defines it. True if there was one.
fn take_definer(text: &mut Vec<u8>) -> bool {
    const WORD: &[u8] = b"DEFINER";
    let head = &text[..text.len().min(HEAD)];
    let mut from = 0;
    while let Some(found) =
        head[from..].windows(WORD.len()).position(|it| it.eq_ignore_ascii_case(WORD))
    {
        let begin = from + found;
        from = begin + WORD.len();
        let Some(mut end) = behind(head, from, b'=') else { continue };
        end = behind_name(head, end);
        if let Some(host) = behind(head, end, b'@') {
            end = behind_name(head, host);
        }
        text.drain(begin..end);
        return true;
    }
    false
}

fn behind(text: &[u8], at: usize, sign: u8) -> Option<usize> {
    let spaces = text[at..].iter().take_while(|it| **it == b' ').count();
    (text.get(at + spaces) == Some(&sign)).then_some(at + spaces + 1)
}

fn behind_name(text: &[u8], at: usize) -> usize {
    let at = at + text[at..].iter().take_while(|it| **it == b' ').count();
    match text.get(at) {
        Some(quote @ (b'`' | b'\'' | b'"')) => {
            let length = text[at + 1..].iter().position(|it| it == quote);
            length.map_or(text.len(), |it| at + it + 2)
        }
        _ => at + text[at..].iter().take_while(|it| is_word(**it) || b".%()".contains(it)).count(),
    }
}
