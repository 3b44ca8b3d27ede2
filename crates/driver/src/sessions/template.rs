//! A statement's template: its text without what changes from one execution to the next. Two
//! statements are the same work where their templates are equal.

use super::sql::{Quoting, passage};
use crate::plan::statement::StatementKind;

/// No more of a text is read: what follows are a bulk insert's rows.
const READ_BYTES: usize = 4096;

/// Puts the template of a text into `out`, in the place of what was there: `?` for each literal or
/// parameter, one for a list of them, `(?)` for a list of rows; no comments, single spaces. True
/// where it has several statements.
pub fn put_template(sql: &[u8], quoting: Quoting, out: &mut Vec<u8>) -> bool {
    out.clear();
    let mut template = Template { out, space: false, ended: false, several: false };
    template.read(&sql[..sql.len().min(READ_BYTES)], quoting);
    template.several
}

/// The kind of a template's statement, or of its several.
pub fn kind_of(template: &[u8], is_several: bool) -> StatementKind {
    match kind(template) {
        StatementKind::Ddl => StatementKind::Ddl,
        _ if is_several => StatementKind::Several,
        kind => kind,
    }
}

/// A digest that is the same in every process.
pub fn digest(text: &[u8]) -> u64 {
    const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| {
        let product = (hash ^ word).wrapping_mul(PRIME);
        product ^ product >> 29
    };
    let (words, rest) = text.as_chunks::<8>();
    let hash = words.iter().fold(PRIME, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(mix(hash, u64::from_le_bytes(last)), text.len() as u64)
}

struct Template<'a> {
    out: &'a mut Vec<u8>,
    /// A space or comment lies between what was put and what follows.
    space: bool,
    /// A semicolon was read, and nothing since.
    ended: bool,
    several: bool,
}

/// Can the byte stand in a name or number?
const fn is_word(byte: u8) -> bool {
    WORDS[byte as usize]
}

/// That of every byte: a text is read for each statement that is sent.
const WORDS: [bool; 256] = {
    let mut words = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let it = byte as u8;
        words[byte] = it.is_ascii_alphanumeric() || it == b'_' || it >= 0x80;
        byte += 1;
    }
    words
};

/// Does a word begin with the byte that is neither a number nor maybe the sign of a quote?
const fn begins_word(byte: u8) -> bool {
    is_word(byte) && !byte.is_ascii_digit() && byte != b'e' && byte != b'E'
}

/// Where the word that a byte is in ends.
fn end_of_word(sql: &[u8], at: usize) -> usize {
    sql[at..].iter().position(|it| !is_word(*it)).map_or(sql.len(), |length| at + length)
}

impl Template<'_> {
    fn read(&mut self, sql: &[u8], quoting: Quoting) {
        let mut at = 0;
        while let Some(&byte) = sql.get(at) {
            let next = sql.get(at + 1).copied().unwrap_or(0);
            at = match byte {
                b' ' | b'\t' | b'\n' | b'\r' => {
                    self.space = true;
                    at + 1
                }
                b'0'..=b'9' => self.literal(sql, at),
                b'+' | b'-' if next.is_ascii_digit() && self.is_sign() => self.literal(sql, at + 1),
                b'$' if next.is_ascii_digit() => self.literal(sql, at + 1),
                b'?' => self.literal(sql, at + 1),
                b'\'' | b'"' | b'`' | b'$' | b'-' | b'#' | b'/' | b'e' | b'E' => {
                    self.passage(sql, at, quoting)
                }
                _ => self.plain(sql, at),
            };
        }
    }

    /// Is what follows a number's sign, and no operator?
    fn is_sign(&self) -> bool {
        self.space || !self.out.last().is_some_and(|it| is_word(*it) || b"?)".contains(it))
    }

    /// A literal or parameter whose further letters begin here; where the next token begins.
    fn literal(&mut self, sql: &[u8], at: usize) -> usize {
        self.put_literal();
        let more = sql[at..].iter().take_while(|it| is_word(**it) || **it == b'.').count();
        at + more
    }

    /// A doubled quote ends one text and begins the next, which is the same literal.
    fn put_literal(&mut self) {
        if self.out.ends_with(b"?") && !self.space {
            return;
        }
        if self.out.ends_with(b"?,") {
            self.out.pop();
            self.space = false;
            return;
        }
        self.before(b'?');
        self.out.push(b'?');
    }

    /// A quoted text, a quoted name, a comment, or none of them.
    fn passage(&mut self, sql: &[u8], at: usize, quoting: Quoting) -> usize {
        let Some(found) = passage(sql, at, quoting) else { return self.plain(sql, at) };
        let is_name = sql[at] == b'`' || sql[at] == b'"' && quoting != Quoting::Mysql;
        if found.is_comment {
            self.space = true;
        } else if is_name {
            self.before(sql[at]);
            self.out.extend_from_slice(&sql[at..found.end]);
        } else {
            self.put_literal();
        }
        found.end.min(sql.len())
    }

    /// A word, or a sign.
    fn plain(&mut self, sql: &[u8], at: usize) -> usize {
        let byte = sql[at];
        if byte == b';' {
            (self.ended, self.space) = (true, true);
            return at + 1;
        }
        if byte == b')' && self.out.ends_with(b"(?),(?") {
            self.out.truncate(self.out.len() - b",(?".len());
            self.space = false;
            return at + 1;
        }
        self.before(byte);
        let mut end = end_of_word(sql, at).max(at + 1);
        // single spaces between words stay, and are put with them
        while is_word(byte)
            && let Some([b' ', first, ..]) = sql.get(end..)
            && begins_word(*first)
        {
            end = end_of_word(sql, end + 1);
        }
        self.out.extend_from_slice(&sql[at..end]);
        end
    }

    /// What comes before a token: a semicolon where another statement begins, or a space.
    fn before(&mut self, first: u8) {
        if std::mem::take(&mut self.ended) && !self.out.is_empty() {
            self.several = true;
            self.out.extend_from_slice(b"; ");
            self.space = false;
        }
        let follows = self.out.last().is_some_and(|it| !b"(, ".contains(it));
        if std::mem::take(&mut self.space) && follows && !b",)".contains(&first) {
            self.out.push(b' ');
        }
    }
}

/// The kind of a template's statement.
fn kind(template: &[u8]) -> StatementKind {
    const KINDS: [(&[u8], StatementKind); 26] = [
        (b"insert", StatementKind::Insert),
        (b"replace", StatementKind::Insert),
        (b"update", StatementKind::Update),
        (b"delete", StatementKind::Delete),
        (b"merge", StatementKind::Write),
        (b"copy", StatementKind::Write),
        (b"load", StatementKind::Write),
        (b"select", StatementKind::Read),
        (b"with", StatementKind::Read),
        (b"values", StatementKind::Read),
        (b"table", StatementKind::Read),
        (b"show", StatementKind::Read),
        (b"explain", StatementKind::Read),
        (b"fetch", StatementKind::Read),
        (b"from", StatementKind::Read),
        (b"begin", StatementKind::Begin),
        (b"start", StatementKind::Begin),
        (b"commit", StatementKind::Commit),
        (b"end", StatementKind::Commit),
        (b"rollback", StatementKind::Rollback),
        (b"abort", StatementKind::Rollback),
        (b"create", StatementKind::Ddl),
        (b"drop", StatementKind::Ddl),
        (b"alter", StatementKind::Ddl),
        (b"truncate", StatementKind::Ddl),
        (b"rename", StatementKind::Ddl),
    ];
    let text = &template[template.iter().take_while(|it| **it == b'(').count()..];
    let mut words = text.split(|it| !is_word(*it)).filter(|it| !it.is_empty());
    let first = words.next().unwrap_or_default();
    let found = KINDS.iter().find(|(word, _)| first.eq_ignore_ascii_case(word));
    match found.map_or(StatementKind::Other, |(_, kind)| *kind) {
        StatementKind::Rollback if words.take(2).any(|it| it.eq_ignore_ascii_case(b"to")) => {
            StatementKind::Other
        }
        kind => kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(sql: &str, quoting: Quoting) -> String {
        let mut out = Vec::new();
        put_template(sql.as_bytes(), quoting, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn literals_lists_of_them_and_rows_are_one_sign_and_names_stay() {
        for (sql, wanted) in [
            ("SELECT c FROM sbtest12 WHERE id=17", "SELECT c FROM sbtest12 WHERE id=?"),
            ("SELECT c FROM sbtest12 WHERE id=?", "SELECT c FROM sbtest12 WHERE id=?"),
            ("SELECT c FROM sbtest12 WHERE id=$1", "SELECT c FROM sbtest12 WHERE id=?"),
            ("a  IN (1, 'b', -2.5e3 , 0x1F)", "a IN (?)"),
            ("VALUES (1,'it''s'),(2,'b'), (3, 'c')", "VALUES (?)"),
            (
                "UPDATE t SET k=k-1 /* 7 */ WHERE a BETWEEN -5 AND 6;",
                "UPDATE t SET k=k-? WHERE a BETWEEN ? AND ?",
            ),
            ("INSERT INTO \"t1\" VALUES(1)", "INSERT INTO \"t1\" VALUES(?)"),
            ("a b  c\td e1 5 f -- g\n h, i (j ) ;", "a b c d e1 ? f h,i (j)"),
            ("SELECT a AS ende FROM t ESCAPE 'x'", "SELECT a AS ende FROM t ESCAPE ?"),
        ] {
            assert_eq!(template(sql, Quoting::Standard), wanted, "{sql}");
        }
        assert_eq!(template("a = \"b\" and `c1` = 1 # x", Quoting::Mysql), "a = ? and `c1` = ?");
        assert_eq!(template("a = E'\\'' || $x$ ' $x$ -- y", Quoting::Postgres), "a = ? || ?");
    }

    #[test]
    fn a_statement_is_of_a_kind_by_its_first_word() {
        use StatementKind as Kind;
        for (sql, wanted) in [
            ("insert ignore into t values (1)", Kind::Insert),
            ("/* UPDATE */ (SELECT 1)", Kind::Read),
            ("ROLLBACK", Kind::Rollback),
            ("ROLLBACK WORK TO SAVEPOINT a", Kind::Other),
            ("END;", Kind::Commit),
            ("UPDATE t SET a=1; COMMIT", Kind::Several),
            ("UPDATE t SET a=';'; ", Kind::Update),
            ("CREATE TRIGGER x BEGIN SELECT 1; END", Kind::Ddl),
            ("LOAD DATA LOCAL INFILE 'rows'", Kind::Write),
            ("SET autocommit=0", Kind::Other),
            ("", Kind::Other),
        ] {
            let mut out = Vec::new();
            let is_several = put_template(sql.as_bytes(), Quoting::Standard, &mut out);
            assert_eq!(kind_of(&out, is_several), wanted, "{sql}");
        }
    }

    #[test]
    fn texts_of_other_tables_have_other_digests() {
        let of = |sql: &str| digest(template(sql, Quoting::Standard).as_bytes());
        assert_eq!(of("SELECT 1 FROM t1 WHERE a=5"), of("SELECT 22 FROM t1 WHERE a='x'"));
        assert_ne!(of("SELECT 1 FROM t1"), of("SELECT 1 FROM t2"));
        assert_ne!(digest(b""), digest(b"\0"));
    }
}
