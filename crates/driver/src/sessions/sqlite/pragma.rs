//! PRAGMAs of a plan, set when a connection opens.

use super::Sqlite;
use super::failure;
use crate::plan::error::Error;
use crate::sessions::Session;

/// What SQLite waits for a lock by default here, as most bindings set it.
const BUSY_TIMEOUT_MS: u64 = 5000;

/// Sets all but the time-out for locks, which [`timeout_ms`] reads.
pub fn set_all(session: &mut Sqlite, pragmas: &[(String, String)]) -> Result<(), Error> {
    for (name, value) in pragmas.iter().filter(|(name, _)| !is_busy_timeout(name)) {
        set(session, &statement(name, value)?)?;
    }
    Ok(())
}

/// Asks again also where SQLite does not: for a change of the journal mode it gives up at once
/// when another connection has the file open (pragma.html#pragma_journal_mode).
fn set(session: &mut Sqlite, pragma: &str) -> Result<(), Error> {
    let mut times = 0;
    loop {
        match session.query(pragma) {
            Err(error) if is_busy(&error) && session.connection.busy.wait(times) => times += 1,
            other => return other.map(drop),
        }
    }
}

fn is_busy(error: &Error) -> bool {
    error.number() & 0xff == failure::BUSY
}

fn is_busy_timeout(name: &str) -> bool {
    name.eq_ignore_ascii_case("busy_timeout")
}

/// The PRAGMA would put SQLite's own handler in the place of ours, which counts.
pub fn timeout_ms(pragmas: &[(String, String)]) -> Result<u64, Error> {
    match pragmas.iter().rfind(|(name, _)| is_busy_timeout(name)) {
        None => Ok(BUSY_TIMEOUT_MS),
        Some((_, text)) => text.trim().parse().map_err(|_| {
            Error::user(format!("busy_timeout is not a number of milliseconds: {text}"))
        }),
    }
}

fn statement(name: &str, value: &str) -> Result<String, Error> {
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.') {
        return Err(Error::user(format!("not the name of a PRAGMA: {name}")));
    }
    let is_plain = value.chars().all(|c| c.is_ascii_alphanumeric() || "_-.+".contains(c));
    Ok(match is_plain {
        true => format!("PRAGMA {name} = {value}"),
        false => format!("PRAGMA {name} = '{}'", value.replace('\'', "''")),
    })
}
