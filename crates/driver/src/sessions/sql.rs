//! PostgreSQL's SERIAL: where it stands in a `CREATE TABLE`. Each engine has its own words for it.

use std::borrow::Cow;
use std::fmt::Write;

const SERIALS: [&str; 3] = ["serial", "bigserial", "smallserial"];

/// Start and end of the word SERIAL (or of its big or small sister) in a `CREATE TABLE`.
pub fn find(sql: &str) -> Option<(usize, usize)> {
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
pub fn column(sql: &str, start: usize) -> &str {
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

// `?`, as scripts written for sysbench have it, to the server's `$1`, `$2`, …

/// Numbers every `?` outside quotes and comments; a statement with a `$1` already is left as it is
/// (there, `?` is an operator of jsonb).
pub fn number_placeholders(sql: &str) -> Cow<'_, str> {
    if !sql.contains('?') {
        return Cow::Borrowed(sql);
    }
    let (mut out, mut count, mut rest) = (String::with_capacity(sql.len() + 8), 0, sql);
    while let Some(c) = rest.chars().next() {
        let length = quoted(rest).unwrap_or(c.len_utf8());
        match c {
            '$' if length == 1 && follows_digit(rest) => return Cow::Borrowed(sql),
            '?' => {
                count += 1;
                let _ = write!(out, "${count}");
            }
            _ => out.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    Cow::Owned(out)
}

fn follows_digit(rest: &str) -> bool {
    rest[1..].starts_with(|c: char| c.is_ascii_digit())
}

/// Length of the word, quote or comment that begins here and in which `?` and `$` mean nothing.
fn quoted(rest: &str) -> Option<usize> {
    let first = rest.chars().next()?;
    match first {
        '\'' => Some(until_quote(rest, '\'', false)),
        '"' => Some(until_quote(rest, '"', false)),
        'e' | 'E' if rest[1..].starts_with('\'') => Some(1 + until_quote(&rest[1..], '\'', true)),
        '-' if rest.starts_with("--") => Some(rest.find('\n').unwrap_or(rest.len())),
        '/' if rest.starts_with("/*") => Some(until_comment_end(rest)),
        '$' => dollar_quote(rest),
        c if c.is_alphanumeric() || c == '_' => Some(word(rest)),
        _ => None,
    }
}

/// A name may hold `$`, so it is taken whole.
fn word(rest: &str) -> usize {
    rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len())
}

/// A doubled quote ends one text and begins the next, which comes to the same.
fn until_quote(rest: &str, quote: char, escapes: bool) -> usize {
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return at + 1;
        }
        if escapes && c == '\\' {
            chars.next();
        }
    }
    rest.len()
}

/// Comments nest in PostgreSQL.
fn until_comment_end(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        at += match here {
            [b'/', b'*', ..] => {
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
            return at;
        }
    }
    rest.len()
}

/// `$tag$ … $tag$`
fn dollar_quote(rest: &str) -> Option<usize> {
    let tag = 2 + rest[1..].find('$')?;
    let name = &rest[1..tag - 1];
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if !is_name {
        return None;
    }
    let end = rest[tag..].find(&rest[..tag]);
    Some(end.map_or(rest.len(), |end| tag + end + tag))
}

#[cfg(test)]
mod tests {
    use super::number_placeholders;

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
            assert_eq!(number_placeholders(sql), wanted, "{sql}");
        }
    }

    #[test]
    fn a_statement_with_numbers_or_broken_off_is_left_as_it_is() {
        for sql in ["SELECT j ? 'key', $1", "SELECT '?", "SELECT /* ?", "SELECT $x$ ?", "-- ?"] {
            assert_eq!(number_placeholders(sql), sql);
        }
    }
}
