//! Answers whole, so that two engines' can be compared: types, refusals, warnings, digests.

use super::one_statement::{Played, send, text};
use crate::plan::answer::{Answer, Notice, Refusal};
use crate::plan::error::Error;
use crate::sessions::rows::{Fields, TOO_LARGE};
use crate::sessions::template::digest;
use crate::sessions::{Aside, Rows, Session};

/// Of a longer answer digests are told and no rows.
const MOST_ROWS: u64 = 2_000;
const MOST_BYTES: usize = 256 << 10;

/// Warnings of one statement that are told.
const WARNINGS: &str = "SHOW WARNINGS LIMIT 16";

/// Answers all statements, whatever becomes of each; an error where the connection was lost.
pub fn answers(
    session: &mut dyn Session,
    statements: &[String],
    type_name: fn(u32) -> String,
) -> Result<Vec<Answer>, Error> {
    session.keep_rows(true);
    session.keep_notices(true);
    statements.iter().map(|sql| answer(session, sql, type_name)).collect()
}

fn answer(
    session: &mut dyn Session,
    sql: &str,
    type_name: fn(u32) -> String,
) -> Result<Answer, Error> {
    let outcome = send(session, sql);
    // An answer that is too large is given up by us, and its connection with it.
    let is_cut = matches!(&outcome, Err(error) if error.engine_code() == Some(TOO_LARGE));
    if session.is_lost() && !is_cut {
        outcome?;
        return Err(Error::engine("the server ended the connection").code("lost"));
    }
    let answer = tell(session, outcome, sql, type_name)?;
    if answer.refusal.is_some() || !answer.cut.is_empty() {
        session.reset()?;
    }
    Ok(answer)
}

/// All that came of a statement whose answer is there: the engine's refusal is an answer, what ends
/// the connection is none.
pub fn tell(
    session: &mut dyn Session,
    outcome: Result<Played, Error>,
    sql: &str,
    type_name: fn(u32) -> String,
) -> Result<Answer, Error> {
    let mut answer = Answer::default();
    match outcome {
        Ok(played) => {
            (answer.found, answer.changed) = (played.found, played.changed);
            answer.elapsed_ns = played.elapsed_ns;
            read(session.rows(), &mut answer, sql)?;
            answer.types = session.rows().types.iter().map(|it| type_name(*it)).collect();
        }
        Err(error) => refuse(error, &mut answer)?,
    }
    (answer.notices, answer.notices_dropped) = session.take_notices();
    let Aside { insert_id, warnings } = session.aside();
    answer.insert_id = insert_id;
    if warnings > 0 && answer.refusal.is_none() {
        answer.notices = read_warnings(session)?;
    }
    Ok(answer)
}

/// The rows, where they are few, and their digests.
fn read(rows: &Rows, answer: &mut Answer, sql: &str) -> Result<(), Error> {
    let found = rows.fields();
    let (in_order, in_any) = digest_rows(found);
    answer.digests = Some((format!("{in_order:016x}"), format!("{in_any:016x}")));
    if answer.found > MOST_ROWS || rows.size() > MOST_BYTES {
        answer.columns = found.columns.to_vec();
        answer.cut = format!("{} rows of {} bytes", answer.found, rows.size());
    } else {
        (answer.columns, answer.rows) = text(rows, sql)?;
    }
    Ok(())
}

/// A digest of the rows one after the other, and the sum of each row's own.
fn digest_rows(found: Fields<'_>) -> (u64, u64) {
    let width = found.columns.len().max(1);
    let (mut row, mut in_order, mut in_any) = (Vec::new(), 0_u64, 0_u64);
    for (at, field) in found.iter().enumerate() {
        match field {
            Some(field) => {
                row.extend_from_slice(&(field.len() as u64).to_le_bytes());
                row.extend_from_slice(field);
            }
            None => row.extend_from_slice(&u64::MAX.to_le_bytes()),
        }
        if (at + 1) % width == 0 {
            let own = digest(&row);
            in_any = in_any.wrapping_add(own);
            row.clear();
            row.extend_from_slice(&in_order.to_le_bytes());
            row.extend_from_slice(&own.to_le_bytes());
            in_order = digest(&row);
            row.clear();
        }
    }
    (in_order, in_any)
}

fn refuse(error: Error, answer: &mut Answer) -> Result<(), Error> {
    match error.engine_code() {
        Some(TOO_LARGE) => answer.cut = error.to_string(),
        Some(code) if !code.bytes().any(|it| it.is_ascii_lowercase()) => {
            answer.refusal = Some(Refusal { code: code.to_owned(), text: error.engine_words() });
        }
        _ => return Err(error),
    }
    Ok(())
}

fn read_warnings(session: &mut dyn Session) -> Result<Vec<Notice>, Error> {
    send(session, WARNINGS)?;
    let (_, rows) = text(session.rows(), WARNINGS)?;
    let notice = |row: Vec<Option<String>>| {
        let mut fields = row.into_iter().map(Option::unwrap_or_default);
        let mut next = || fields.next().unwrap_or_default();
        let (level, code, message) = (next(), next(), next());
        Notice { level, code, message, ..Notice::default() }
    };
    Ok(rows.into_iter().map(notice).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn digests(rows: &[[Option<&str>; 2]]) -> (u64, u64) {
        let mut found = Rows::default();
        for name in ["a", "b"] {
            found.name(name.as_bytes()).unwrap();
        }
        for field in rows.iter().flatten() {
            found.push(field.map(str::as_bytes)).unwrap();
        }
        digest_rows(found.fields())
    }

    #[test]
    fn one_digest_knows_the_order_of_rows_and_one_does_not() {
        let (one, other) = ([Some("1"), None], [Some("2"), Some("x")]);
        let (in_order, in_any) = digests(&[one, other]);
        let turned = digests(&[other, one]);
        assert!(turned.0 != in_order && turned.1 == in_any);
        assert_ne!(digests(&[one, other, one]).1, in_any);
        assert_ne!(digests(&[one]), digests(&[[Some("1"), Some("")]]));
        assert_ne!(digests(&[[Some("ab"), Some("c")]]), digests(&[[Some("a"), Some("bc")]]));
    }
}
