//! Values as SQL literals, and statements sent as text, in whose parameters' places they go.

use super::Value;
use super::sql::{self, Quoting};
use crate::plan::error::Error;

/// Digits of the longest whole number.
const DIGITS: usize = 20;

/// Appends a value as it stands in SQL.
#[inline]
pub fn put(text: &mut Vec<u8>, value: &Value, quoting: Quoting) {
    match value {
        Value::Null => text.extend_from_slice(b"NULL"),
        Value::Integer(number) => put_integer(text, *number),
        // Without an exponent MySQL would read a DECIMAL.
        Value::Real(number) if quoting == Quoting::Mysql => {
            text.extend_from_slice(format!("{number:e}").as_bytes());
        }
        Value::Real(number) => text.extend_from_slice(number.to_string().as_bytes()),
        Value::Text(bytes) => put_text(text, bytes, quoting),
    }
}

/// Appends a whole number. A write of fixed length and a cut take less than a copy of a length that
/// is only now known.
#[inline]
pub fn put_integer(text: &mut Vec<u8>, number: i64) {
    if !(0..100_000_000).contains(&number) {
        return put_long(text, number);
    }
    let digits = eight_digits(number as u64);
    let zeros = (digits.trailing_zeros() / 8).min(7);
    text.extend_from_slice(&((digits | ZEROS) >> (8 * zeros)).to_le_bytes());
    text.truncate(text.len() - zeros as usize);
}

const ZEROS: u64 = 0x3030_3030_3030_3030;

/// A number's eight decimal digits, one in each byte, the first in the lowest: halves, quarters and
/// eighths are parted side by side, and divisions are products with a rounded reciprocal.
#[inline]
fn eight_digits(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - 10 * tens) << 8)
}

#[cold]
fn put_long(text: &mut Vec<u8>, number: i64) {
    let (mut digits, mut at, mut rest) = ([0; DIGITS], DIGITS, number.unsigned_abs());
    while rest > 0 || at == DIGITS {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    if number < 0 {
        text.push(b'-');
    }
    text.extend_from_slice(&digits[at..]);
}

/// Quotes within are doubled; where backslashes escape, they and quotes get one.
fn put_text(text: &mut Vec<u8>, bytes: &[u8], quoting: Quoting) {
    text.push(b'\'');
    for byte in bytes {
        match (byte, quoting) {
            (b'\'' | b'\\', Quoting::Mysql) => text.push(b'\\'),
            (b'\'', _) => text.push(b'\''),
            _ => {}
        }
        text.push(*byte);
    }
    text.push(b'\'');
}

/// A statement for an engine that reads UTF-8 only, which is what refuses any other.
pub fn sql(text: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(text)
        .map_err(|it| Error::engine("a text is not UTF-8").because(it).code("not_utf8"))
}

/// A statement that is sent as text: cut at its parameters, in whose places literals go.
pub struct TextStatement {
    pieces: Vec<Vec<u8>>,
    quoting: Quoting,
}

impl TextStatement {
    /// Cuts a text.
    pub fn new(sql: &[u8], quoting: Quoting) -> Self {
        let (mut pieces, mut from) = (Vec::new(), 0);
        for at in sql::parameters(sql, quoting) {
            pieces.push(sql[from..at].to_owned());
            from = at + 1;
        }
        pieces.push(sql[from..].to_owned());
        Self { pieces, quoting }
    }

    /// How many values it takes.
    pub fn parameters(&self) -> usize {
        self.pieces.len() - 1
    }

    /// Appends the text with its values; a question mark without one stays as it is.
    pub fn put(&self, out: &mut Vec<u8>, values: &[Value]) {
        let mut values = values.iter();
        for (number, piece) in self.pieces.iter().enumerate() {
            if number > 0 {
                match values.next() {
                    Some(value) => put(out, value, self.quoting),
                    None => out.push(b'?'),
                }
            }
            out.extend_from_slice(piece);
        }
    }
}

/// A statement with its values in the places of its parameters, `?` or PostgreSQL's `$1`.
pub fn spell_out(sql: &[u8], values: &[Value], quoting: Quoting) -> Vec<u8> {
    let mut text = Vec::with_capacity(sql.len());
    let mut from = 0;
    if quoting == Quoting::Postgres {
        for (place, number) in sql::numbered_parameters(sql) {
            text.extend_from_slice(&sql[from..place.start]);
            match number.checked_sub(1).and_then(|it| values.get(it)) {
                Some(value) => put(&mut text, value, quoting),
                None => text.extend_from_slice(&sql[place.clone()]),
            }
            from = place.end;
        }
    }
    match from {
        0 => TextStatement::new(sql, quoting).put(&mut text, values),
        _ => text.extend_from_slice(&sql[from..]),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_written_as_the_standard_library_writes_them() {
        let near = |power: u32| (10_i64.pow(power) - 2..10_i64.pow(power) + 2).chain([-7]);
        for number in (0..20_000).chain((0..12).flat_map(near)).chain([12_345_678, 99_999_999]) {
            let mut text = b"x".to_vec();
            put(&mut text, &Value::Integer(number), Quoting::Standard);
            assert_eq!(text, format!("x{number}").as_bytes());
        }
    }

    #[test]
    fn literals_are_sql() {
        for (value, expected) in [
            (Value::Null, "NULL"),
            (Value::Integer(0), "0"),
            (Value::Integer(-120), "-120"),
            (Value::Integer(i64::MIN), "-9223372036854775808"),
            (Value::Integer(i64::MAX), "9223372036854775807"),
            (Value::Real(2.5), "2.5"),
            (Value::Text(b"it's '".to_vec()), "'it''s '''"),
            (Value::Text(Vec::new()), "''"),
        ] {
            let mut text = Vec::new();
            put(&mut text, &value, Quoting::Standard);
            assert_eq!(text, expected.as_bytes());
        }
    }

    #[test]
    fn a_statement_is_spelled_out_with_its_values() {
        use Quoting::{Postgres, Standard};
        let values = [Value::Integer(7), Value::Text(b"a'b".to_vec())];
        for (sql, quoting, wanted) in [
            ("SELECT ? + '?', ?", Standard, "SELECT 7 + '?', 'a''b'"),
            ("SELECT $2, $1, $1, '$1', $3", Postgres, "SELECT 'a''b', 7, 7, '$1', $3"),
            ("SELECT ?, ?", Postgres, "SELECT 7, 'a''b'"),
            ("SELECT 1", Postgres, "SELECT 1"),
        ] {
            let text = spell_out(sql.as_bytes(), &values, quoting);
            assert_eq!(String::from_utf8_lossy(&text), wanted);
        }
    }

    #[test]
    fn question_marks_in_quotes_and_comments_are_no_parameters() {
        use Quoting::{Mysql, Standard};
        for (sql, quoting, count) in [
            (r"SELECT 'it\'s ?', ?", Mysql, 1),
            (r#"SELECT "\"?", `?`, ?"#, Mysql, 1),
            ("SELECT ? -- ?\n, ?", Mysql, 2),
            ("SELECT ? # ?\n, ?", Mysql, 2),
            ("SELECT /* ? /* */ ?", Mysql, 1),
            ("SELECT 1 --?", Mysql, 1),
            ("/*!40101 SELECT ? */", Mysql, 1),
            (r"SELECT '\', ?", Standard, 1),
            ("SELECT '?', /* ? */ ? --?", Standard, 1),
            ("SELECT $$?$$", Standard, 1),
        ] {
            assert_eq!(TextStatement::new(sql.as_bytes(), quoting).parameters(), count, "{sql}");
        }
    }

    #[test]
    fn a_text_statement_has_literals_in_its_parameters_places() {
        let text = Value::Text(br"it's \".to_vec());
        for (quoting, wanted) in [
            (Quoting::Standard, r"VALUES (-3, 'a?', 'it''s \', NULL, ?)"),
            (Quoting::Mysql, r"VALUES (-3, 'a?', 'it\'s \\', NULL, ?)"),
        ] {
            let statement = TextStatement::new(b"VALUES (?, 'a?', ?, ?, ?)", quoting);
            let mut out = Vec::new();
            statement.put(&mut out, &[Value::Integer(-3), text.clone(), Value::Null]);
            assert_eq!(String::from_utf8_lossy(&out), wanted);
        }
    }
}
