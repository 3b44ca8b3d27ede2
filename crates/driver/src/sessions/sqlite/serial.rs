//! PostgreSQL's SERIAL in SQLite's words: only an `INTEGER PRIMARY KEY` numbers its rows there.

use std::borrow::Cow;

use super::super::serial;
use crate::plan::error::Error;

/// A `CREATE TABLE` whose SERIAL column gets numbers; any other statement as it is.
pub fn mapped(sql: &str) -> Result<Cow<'_, str>, Error> {
    let Some((start, end)) = serial::find(sql) else {
        return Ok(Cow::Borrowed(sql));
    };
    let column = serial::column(sql, start);
    let rest = sql[end..].to_ascii_lowercase();
    let by = match key(&column.to_ascii_lowercase(), &rest) {
        Key::Here => "INTEGER",
        Key::Nowhere => "INTEGER PRIMARY KEY",
        Key::Elsewhere => return Err(unmappable(column)),
    };
    Ok(Cow::Owned(format!("{}{by}{}", &sql[..start], &sql[end..])))
}

enum Key {
    Here,
    Nowhere,
    Elsewhere,
}

/// Where the table's primary key stands, seen from its SERIAL column.
fn key(column: &str, rest: &str) -> Key {
    let words = rest.split_whitespace().collect::<Vec<_>>().join(" ");
    let own = words.split(',').next().unwrap_or_default();
    let compact = words.replace(' ', "");
    if own.contains("primary key") || compact.contains(&format!("primarykey({column})")) {
        Key::Here
    } else if compact.contains("primarykey") {
        Key::Elsewhere
    } else {
        Key::Nowhere
    }
}

fn unmappable(column: &str) -> Error {
    Error::user(format!("SERIAL column {column} is not the table's primary key"))
        .because("this engine numbers the rows of an INTEGER PRIMARY KEY only")
        .hint("make it the primary key, or send ids of your own")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::mapped;

    #[test]
    fn serial_becomes_the_key_that_numbers_rows() {
        let table =
            |id| format!("CREATE TABLE t(\n  id {id},\n  k INTEGER,\n  PRIMARY KEY (id)\n)");
        assert_eq!(mapped(&table("SERIAL")).unwrap(), table("INTEGER"));
        assert_eq!(mapped(&table("bigserial")).unwrap(), table("INTEGER"));
        let inline = mapped("create temp table t (id serial primary key, k int)").unwrap();
        assert_eq!(inline, "create temp table t (id INTEGER primary key, k int)");
        let bare = mapped("CREATE TABLE t (id SERIAL NOT NULL, k int)").unwrap();
        assert_eq!(bare, "CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, k int)");
    }

    #[test]
    fn a_serial_that_would_stay_null_is_refused() {
        let error = mapped("CREATE TABLE t (id SERIAL, k int, PRIMARY KEY (k, id))").unwrap_err();
        assert!(error.to_string().contains("SERIAL column id is not"), "{error}");
    }

    #[test]
    fn other_statements_stay_as_they_are() {
        for sql in ["INSERT INTO t VALUES ('serial')", "CREATE TABLE serials (a int)", "ö", ""] {
            assert_eq!(mapped(sql).unwrap(), sql);
        }
    }
}
