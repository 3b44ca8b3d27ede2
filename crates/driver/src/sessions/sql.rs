//! SQL as text: quotes and comments, question marks outside them, and PostgreSQL's SERIAL.
//!
//! The one reader of SQL's lexical rules: parameters of prepared statements, statements that are
//! sent as text, and pgbench's files all ask here where `?`, `$1` and `:name` mean nothing.

use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;

use crate::plan::error::{Error, shorten};

/// How an engine reads quotes and comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    /// As the standard has it; names in backticks as well.
    Standard,
    /// Also `E'…\'…'` and `$tag$…$tag$`; comments nest.
    Postgres,
    /// Backslashes escape in quotes; `#` begins a comment, `--` only before a space; `/*! … */` is
    /// no comment, since the server reads it.
    Mysql,
}

/// A quoted text or name, or a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// Where the rest begins.
    pub end: usize,
    /// It has come to its own end, and not to the text's.
    pub is_closed: bool,
    /// A comment; else a quoted text or name.
    pub is_comment: bool,
}

/// The quoted passage or comment that begins at a byte of the text; none: it is plain there.
pub fn passage(sql: &[u8], at: usize, quoting: Quoting) -> Option<Passage> {
    let rest = &sql[at..];
    let in_word = at > 0 && is_word_byte(sql[at - 1]);
    match rest {
        [b'\'', ..] => Some(quoted(sql, at, quoting == Quoting::Mysql)),
        [b'"', ..] => Some(quoted(sql, at, quoting == Quoting::Mysql)),
        [b'`', ..] if quoting != Quoting::Postgres => Some(quoted(sql, at, false)),
        [b'e' | b'E', b'\'', ..] if quoting == Quoting::Postgres && !in_word => {
            Some(quoted(sql, at + 1, true))
        }
        [b'$', ..] if quoting == Quoting::Postgres && !in_word => dollar_quoted(sql, at),
        [b'-', b'-', ..] if begins_line_comment(&rest[2..], quoting) => Some(line_comment(sql, at)),
        [b'#', ..] if quoting == Quoting::Mysql => Some(line_comment(sql, at)),
        [b'/', b'*', b'!', ..] if quoting == Quoting::Mysql => None,
        [b'/', b'*', ..] => Some(block_comment(sql, at, quoting == Quoting::Postgres)),
        _ => None,
    }
}

/// Can the byte stand in a name? All of a letter beyond ASCII can.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn begins_line_comment(after: &[u8], quoting: Quoting) -> bool {
    quoting != Quoting::Mysql || after.first().is_none_or(|it| *it <= b' ')
}

/// A doubled quote ends one text and begins the next, which comes to the same.
fn quoted(sql: &[u8], open: usize, escapes: bool) -> Passage {
    let mut at = open + 1;
    while at < sql.len() {
        match sql[at] {
            byte if byte == sql[open] => {
                return Passage { end: at + 1, is_closed: true, is_comment: false };
            }
            b'\\' if escapes => at += 2,
            _ => at += 1,
        }
    }
    Passage { end: sql.len(), is_closed: false, is_comment: false }
}

/// `$tag$ … $tag$`
fn dollar_quoted(sql: &[u8], at: usize) -> Option<Passage> {
    let rest = &sql[at..];
    let tag = 2 + rest[1..].iter().position(|it| *it == b'$')?;
    let name = &rest[1..tag - 1];
    if name.first().is_some_and(u8::is_ascii_digit) || !name.iter().all(|it| is_word_byte(*it)) {
        return None;
    }
    let close = rest[tag..].windows(tag).position(|it| it == &rest[..tag]);
    let end = close.map_or(sql.len(), |close| at + tag + close + tag);
    Some(Passage { end, is_closed: close.is_some(), is_comment: false })
}

fn line_comment(sql: &[u8], at: usize) -> Passage {
    let length = sql[at..].iter().position(|it| *it == b'\n').unwrap_or(sql.len() - at);
    Passage { end: at + length, is_closed: true, is_comment: true }
}

fn block_comment(sql: &[u8], at: usize, nests: bool) -> Passage {
    let (mut depth, mut end) = (1, at + 2);
    while end < sql.len() {
        end += match &sql[end..] {
            [b'/', b'*', ..] if nests => {
                depth += 1;
                2
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        if depth == 0 {
            return Passage { end, is_closed: true, is_comment: true };
        }
    }
    Passage { end: sql.len(), is_closed: false, is_comment: true }
}

/// Places of a text that are in no quotes and no comment.
fn plain_places(sql: &[u8], quoting: Quoting) -> impl Iterator<Item = usize> {
    let mut next = 0;
    std::iter::from_fn(move || {
        while let Some(skipped) = (next < sql.len()).then(|| passage(sql, next, quoting)).flatten()
        {
            next = skipped.end;
        }
        next += 1;
        (next <= sql.len()).then(|| next - 1)
    })
}

/// Refuses a text with a NUL where a NUL ends the text: the engine would play a part of it.
pub fn refuse_nul(sql: &[u8]) -> Result<(), Error> {
    match sql.contains(&0) {
        true => Err(Error::user("a statement's text holds a NUL")
            .because(shorten(&String::from_utf8_lossy(sql)))
            .hint("the engine would end it there; send the byte as a parameter's value")),
        false => Ok(()),
    }
}

/// Parameters of a statement, at most: both servers count them in 16 bits.
const MOST_PARAMETERS: usize = u16::MAX as usize;

/// Refuses more parameters than a server can be told of.
pub fn refuse_parameters(count: usize) -> Result<(), Error> {
    match count > MOST_PARAMETERS {
        true => Err(Error::user(format!("a prepared statement has {count} parameters"))
            .because(format!("servers take {MOST_PARAMETERS} at most"))
            .hint("put fewer rows into one statement, or send it as text (con:query)")),
        false => Ok(()),
    }
}

/// Places of the question marks that stand for parameters.
pub fn parameters(sql: &[u8], quoting: Quoting) -> Vec<usize> {
    let places = plain_places(sql, quoting);
    places.filter(|at| sql[*at] == b'?').collect()
}

/// `?`, as scripts written for sysbench have it, to PostgreSQL's `$1`, `$2`, …; a statement with a
/// `$1` already is left as it is (there, `?` is an operator of jsonb).
pub fn number_placeholders(sql: &[u8]) -> Cow<'_, [u8]> {
    let places = parameters(sql, Quoting::Postgres);
    if places.is_empty() || has_numbers(sql) {
        return Cow::Borrowed(sql);
    }
    let (mut out, mut from) = (Vec::with_capacity(sql.len() + 2 * places.len()), 0);
    for (number, at) in (1..).zip(places) {
        out.extend_from_slice(&sql[from..at]);
        // Writing to memory does not fail.
        let _ = write!(out, "${number}");
        from = at + 1;
    }
    out.extend_from_slice(&sql[from..]);
    Cow::Owned(out)
}

fn has_numbers(sql: &[u8]) -> bool {
    numbers(sql).next().is_some()
}

/// The numbers of PostgreSQL's parameters in a text, each as often as it stands there.
fn numbers(sql: &[u8]) -> impl Iterator<Item = usize> {
    numbered_parameters(sql).map(|(_, number)| number)
}

/// PostgreSQL's parameters in a text: where each stands, and its number.
pub fn numbered_parameters(sql: &[u8]) -> impl Iterator<Item = (Range<usize>, usize)> {
    plain_places(sql, Quoting::Postgres).filter_map(|at| {
        let in_word = at > 0 && is_word_byte(sql[at - 1]);
        let digits = sql[at + 1..].iter().take_while(|it| it.is_ascii_digit());
        let add = |number: usize, digit: &u8| {
            number.saturating_mul(10).saturating_add(usize::from(digit - b'0'))
        };
        let is_number = sql.get(at + 1).is_some_and(u8::is_ascii_digit);
        let end = at + 1 + digits.clone().count();
        (sql[at] == b'$' && !in_word && is_number).then(|| (at..end, digits.fold(0, add)))
    })
}

/// PostgreSQL's `$1` as `?`, for engines that read no numbers, and which of the values (from 0)
/// each mark takes; none where they are taken in their order. A text with a `?` of its own (an
/// operator of jsonb) is left as it is.
pub fn mark_parameters(sql: &[u8]) -> (Cow<'_, [u8]>, Option<Vec<usize>>) {
    let found: Vec<_> = numbered_parameters(sql).collect();
    if found.is_empty() || !parameters(sql, Quoting::Postgres).is_empty() {
        return (Cow::Borrowed(sql), None);
    }
    let (mut out, mut from) = (Vec::with_capacity(sql.len()), 0);
    for (place, _) in &found {
        out.extend_from_slice(&sql[from..place.start]);
        out.push(b'?');
        from = place.end;
    }
    out.extend_from_slice(&sql[from..]);
    let order: Vec<_> = found.into_iter().map(|(_, number)| number.wrapping_sub(1)).collect();
    let is_in_order = order.iter().copied().eq(0..order.len());
    (Cow::Owned(out), (!is_in_order).then_some(order))
}

/// How many parameters PostgreSQL will see: the greatest number, or all question marks.
pub fn count_parameters(sql: &[u8]) -> usize {
    let numbered = numbers(sql).max();
    numbered.unwrap_or_else(|| parameters(sql, Quoting::Postgres).len())
}

/// PostgreSQL's SERIAL in a `CREATE TABLE`; each engine has its own words for it.
const SERIALS: [&str; 3] = ["serial", "bigserial", "smallserial"];

/// Start and end of the word SERIAL (or of its big or small sister) in a `CREATE TABLE`.
pub fn find_serial(sql: &str) -> Option<(usize, usize)> {
    if !creates_table(sql) {
        return None;
    }
    let mut at = 0;
    for word in sql.split(|c: char| !is_word(c)) {
        if SERIALS.iter().any(|serial| word.eq_ignore_ascii_case(serial)) {
            return Some((at, at + word.len()));
        }
        at += word.len();
        at += sql[at..].chars().next().map_or(0, char::len_utf8);
    }
    None
}

/// The name of the column whose type begins at `start`.
pub fn serial_column(sql: &str, start: usize) -> &str {
    sql[..start].trim_end().rsplit(|c: char| !is_word(c)).next().unwrap_or("")
}

/// Can the character stand in a name?
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn creates_table(sql: &str) -> bool {
    let mut words = sql.split_whitespace().take(3);
    let is =
        |word: Option<&str>, wanted: &str| word.is_some_and(|it| it.eq_ignore_ascii_case(wanted));
    is(words.next(), "create") && words.any(|word| word.eq_ignore_ascii_case("table"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_marks_are_numbered_outside_quotes_and_comments() {
        for (sql, wanted) in [
            ("SELECT c FROM t WHERE id=?", "SELECT c FROM t WHERE id=$1"),
            ("SELECT ?, '?', \"?\", ?", "SELECT $1, '?', \"?\", $2"),
            ("SELECT 'it''s ?', ? -- ?\n, ?", "SELECT 'it''s ?', $1 -- ?\n, $2"),
            (r"SELECT E'\'?', ?", r"SELECT E'\'?', $1"),
            (r"SELECT '\', ?", r"SELECT '\', $1"),
            ("/* ? /* ? */ ? */ ?", "/* ? /* ? */ ? */ $1"),
            ("SELECT $$?$$, $a$ $$ ? $a$, ?", "SELECT $$?$$, $a$ $$ ? $a$, $1"),
            ("SELECT a$1b, ? ", "SELECT a$1b, $1 "),
            ("SELECT 'ü?', ?", "SELECT 'ü?', $1"),
        ] {
            assert_eq!(number_placeholders(sql.as_bytes()), wanted.as_bytes(), "{sql}");
        }
    }

    #[test]
    fn numbers_are_marks_that_take_their_own_values() {
        for (sql, wanted, order) in [
            ("SELECT $1, '$2', $2 -- $3", "SELECT ?, '$2', ? -- $3", None),
            ("SELECT $2, a$1, $1, $2", "SELECT ?, a$1, ?, ?", Some(vec![1, 0, 1])),
            ("SELECT j ? 'key', $2", "SELECT j ? 'key', $2", None),
            ("SELECT 1", "SELECT 1", None),
        ] {
            let (text, found) = mark_parameters(sql.as_bytes());
            assert_eq!((&text[..], found), (wanted.as_bytes(), order), "{sql}");
        }
    }

    #[test]
    fn a_statement_with_numbers_or_broken_off_is_left_as_it_is() {
        for sql in ["SELECT j ? 'key', $1", "SELECT '?", "SELECT /* ?", "SELECT $x$ ?", "-- ?"] {
            assert_eq!(number_placeholders(sql.as_bytes()), sql.as_bytes());
        }
    }
}
