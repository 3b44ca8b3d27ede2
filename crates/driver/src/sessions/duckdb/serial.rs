//! PostgreSQL's SERIAL in DuckDB's words: a sequence, and a default that takes numbers from it.

use std::borrow::Cow;

use super::super::serial::{column, find, is_word};

/// A `CREATE TABLE` whose SERIAL column gets numbers; any other statement as it is.
///
/// The sequence is called as PostgreSQL calls its own. It outlives the table, so a table made anew
/// goes on counting.
pub fn mapped(sql: &str) -> Cow<'_, str> {
    let Some((start, end)) = find(sql) else { return Cow::Borrowed(sql) };
    let sequence = format!("{}_{}_seq", table(sql), column(sql, start));
    let by = match sql[start..end].to_ascii_lowercase().as_str() {
        "bigserial" => "BIGINT",
        "smallserial" => "SMALLINT",
        _ => "INTEGER",
    };
    let (head, rest) = (&sql[..start], &sql[end..]);
    Cow::Owned(format!(
        "CREATE SEQUENCE IF NOT EXISTS {sequence}; {head}{by} DEFAULT nextval('{sequence}'){rest}"
    ))
}

/// The table's name: the last word before the columns.
fn table(sql: &str) -> &str {
    let head = sql.split('(').next().unwrap_or("").trim_end().trim_end_matches('"');
    head.rsplit(|c: char| !is_word(c)).next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::mapped;

    #[test]
    fn serial_becomes_a_default_from_a_sequence() {
        assert_eq!(
            mapped("CREATE TABLE t (id BIGSERIAL PRIMARY KEY, k int)"),
            "CREATE SEQUENCE IF NOT EXISTS t_id_seq; \
             CREATE TABLE t (id BIGINT DEFAULT nextval('t_id_seq') PRIMARY KEY, k int)"
        );
        assert_eq!(mapped("INSERT INTO t VALUES ('serial')"), "INSERT INTO t VALUES ('serial')");
    }
}
