//! Bulk loads of engines that live in our process: the rows' text taken apart again, and the table
//! that a `COPY … FROM STDIN` names.

use std::borrow::Cow;

use super::sql::is_word;
use crate::generate::Source;
use crate::plan::error::Error;

/// The table of `COPY table FROM STDIN`, the one form of a load that an embedded engine takes.
pub fn table(sql: &str) -> Result<&str, Error> {
    let words: Vec<&str> = sql.split_ascii_whitespace().collect();
    match words[..] {
        [copy, table, from, stdin]
            if copy.eq_ignore_ascii_case("copy")
                && from.eq_ignore_ascii_case("from")
                && stdin.eq_ignore_ascii_case("stdin")
                && table.chars().all(is_word) =>
        {
            Ok(table)
        }
        _ => Err(Error::user("an embedded engine cannot play this bulk load")
            .because(sql)
            .hint("write COPY table FROM STDIN")),
    }
}

/// Hands over each row of a source, its fields apart, `None` for NULL; returns how many there were.
pub fn each_row(
    source: &mut dyn Source,
    mut take: impl FnMut(&[Option<Cow<'_, [u8]>>]) -> Result<(), Error>,
) -> Result<u64, Error> {
    let (mut text, mut rows) = (Vec::new(), 0);
    loop {
        text.clear();
        source.fill(&mut text)?;
        if text.is_empty() {
            return Ok(rows);
        }
        let mut fields = Vec::with_capacity(16);
        for row in text.split_inclusive(|byte| *byte == b'\n') {
            let row = row.strip_suffix(b"\n").unwrap_or(row);
            fields.clear();
            fields.extend(row.split(|byte| *byte == b'\t').map(field));
            take(&fields)?;
            rows += 1;
        }
    }
}

/// A field as it was before it was written for `COPY`.
fn field(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    if text == b"\\N" {
        return None;
    }
    if !text.contains(&b'\\') {
        return Some(Cow::Borrowed(text));
    }
    let (mut plain, mut bytes) = (Vec::with_capacity(text.len()), text.iter());
    while let Some(byte) = bytes.next() {
        plain.push(match (byte, byte == &b'\\') {
            (byte, false) => *byte,
            (_, true) => match bytes.next() {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'r') => b'\r',
                Some(other) => *other,
                None => b'\\',
            },
        });
    }
    Some(Cow::Owned(plain))
}

/// The error of a row that has another number of fields than the table columns.
pub fn unlike(table: &str, columns: usize, fields: usize) -> Error {
    Error::user(format!("a row of {fields} fields does not fit {table}"))
        .because(format!("the table has {columns} columns"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    struct Text(Option<&'static [u8]>);

    impl Source for Text {
        fn fill(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
            out.extend_from_slice(self.0.take().unwrap_or_default());
            Ok(())
        }
    }

    #[test]
    fn fields_are_what_was_written() {
        let mut seen = Vec::new();
        let rows = each_row(&mut Text(Some(b"1\t\\N\ta\\tb\n2\t\t\\\\N\n")), |fields| {
            seen.extend(fields.iter().map(|it| it.as_ref().map(|text| text.to_vec())));
            Ok(())
        });
        assert_eq!(rows, Ok(2));
        let text = |it: &str| Some(it.as_bytes().to_vec());
        assert_eq!(seen, [text("1"), None, text("a\tb"), text("2"), text(""), text("\\N")]);
    }

    #[test]
    fn a_load_names_its_table() {
        assert_eq!(table("copy t from stdin").unwrap(), "t");
        for sql in ["COPY t FROM 'file'", "LOAD DATA", "COPY a;b FROM STDIN", ""] {
            assert!(table(sql).is_err(), "{sql}");
        }
    }
}
