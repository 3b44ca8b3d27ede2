//! PostgreSQL's SERIAL: where it stands in a `CREATE TABLE`. Each engine has its own words for it.

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
