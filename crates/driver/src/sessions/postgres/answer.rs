//! One answer: the messages up to `ReadyForQuery`, rows counted where nobody reads them.

use super::failure::ErrorResponse;
use super::frame::{Body, HEAD, check, garbage, head};
use super::notices::Notices;
use crate::plan::error::Error;
use crate::sessions::MOST_CHANGED;
use crate::sessions::rows::{Rows, check_room};

/// The tags of statements that take a transaction for each table, and tables of a database, its
/// catalogue's among them, that nobody has more of.
const BY_TABLE: [&[u8]; 4] = [b"ANALYZE", b"VACUUM", b"REINDEX", b"CLUSTER"];
const MOST_TABLES: u64 = 10_000;

/// What is wanted of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerMode {
    /// The last result with its rows.
    Rows,
    /// The last result, its rows counted only.
    Counts,
    /// The sum of all results, rows counted only.
    Sum,
    /// The sum of all results, and each with its rows.
    Each,
    /// Nothing: it is swallowed.
    Nothing,
}

/// An answer as far as it has come.
#[derive(Debug)]
pub struct Answer {
    /// `ReadyForQuery` has come, or an error after which nothing comes.
    pub is_over: bool,
    /// The server closes the connection.
    pub is_lost: bool,
    /// The server awaits the data of a `COPY … FROM STDIN`.
    pub wants_copy: bool,
    /// `I`: idle, `T`: in a transaction, `E`: in a failed one.
    pub status: u8,
    /// Rows that came back.
    pub rows: u64,
    /// Rows changed, as the server reports them.
    pub changed: u64,
    /// Transactions that statements may have committed beside their own.
    pub(super) further: u64,
    /// The same of all results, also where the last alone counts.
    pub changed_of_all: u64,
    /// The first error.
    pub error: Option<Error>,
    /// The types of a prepared statement's parameters.
    pub parameters: Vec<u32>,
    /// Columns of each result of a batch, where a prepared statement has told them before: 0 where
    /// its answer will.
    pub widths: Vec<u32>,
    pub(super) mode: AnswerMode,
    /// Rows of the result that comes now.
    pub(super) count: u64,
    /// A result is over: what follows is the next one's.
    pub(super) is_between: bool,
    /// Bytes still to come of a row that nobody reads.
    skip: usize,
    /// What becomes of notices.
    pub notices: Notices,
}

impl Answer {
    /// An answer of which nothing has come.
    pub fn new() -> Self {
        Self {
            is_over: false,
            is_lost: false,
            wants_copy: false,
            status: b'I',
            rows: 0,
            changed: 0,
            further: 0,
            changed_of_all: 0,
            error: None,
            parameters: Vec::new(),
            widths: Vec::new(),
            mode: AnswerMode::Nothing,
            count: 0,
            is_between: false,
            skip: 0,
            notices: Notices::default(),
        }
    }

    /// Awaits the next answer. The parameters stay: only preparing looks at them.
    #[inline]
    pub fn begin(&mut self, mode: AnswerMode) {
        self.mode = mode;
        self.is_over = false;
        self.wants_copy = false;
        self.rows = 0;
        self.changed = 0;
        self.changed_of_all = 0;
        self.count = 0;
        self.is_between = false;
        self.error = None;
    }

    /// Awaits the rest of an answer that comes in parts.
    #[cold]
    pub fn go_on(&mut self) {
        self.is_over = false;
        self.is_between = false;
    }

    /// Nobody wants the rest of the answer that is coming.
    pub fn abandon(&mut self) {
        self.mode = AnswerMode::Nothing;
    }

    /// Reads what came, up to the end of the answer, and says how many bytes it took.
    #[inline]
    pub fn read(&mut self, bytes: &[u8], rows: &mut Rows) -> Result<usize, Error> {
        let mut at = self.skip.min(bytes.len());
        self.skip -= at;
        while !self.is_over
            && let Some((kind, length)) = head(&bytes[at..])?
        {
            let here = &bytes[at..];
            if length > here.len() {
                if kind != b'D' || self.keeps_rows() {
                    check(kind)?;
                    check_room(here.len())?;
                    break;
                }
                self.count += 1;
                self.skip = length - here.len();
                return Ok(bytes.len());
            }
            self.take(kind, &here[HEAD..length], rows)?;
            at += length;
        }
        Ok(at)
    }

    #[inline]
    fn take(&mut self, kind: u8, body: &[u8], rows: &mut Rows) -> Result<(), Error> {
        match kind {
            b'D' => {
                self.count += 1;
                if self.keeps_rows() {
                    self.expect_width(rows);
                    row(body, rows)?;
                }
            }
            b'C' => self.complete(body, rows)?,
            b'I' => self.complete(b"", rows)?,
            b'Z' => {
                self.status = Body(body).byte()?;
                self.is_over = true;
            }
            b'T' => self.describe(body, rows)?,
            b'E' => self.fail(body)?,
            b't' => self.parameters = parameters(body)?,
            b'G' => self.wants_copy = true,
            b'N' if self.notices.are_heard() => self.notices.take(ErrorResponse::read(body)?),
            // Completions of Parse, Bind and Close; no data; suspended; notices, notifications,
            // settings; the data of a COPY TO.
            b'1' | b'2' | b'3' | b'n' | b's' | b'N' | b'A' | b'S' | b'H' | b'd' | b'c' => {}
            _ => check(kind)?,
        }
        Ok(())
    }

    #[cold]
    fn fail(&mut self, body: &[u8]) -> Result<(), Error> {
        let response = ErrorResponse::read(body)?;
        if response.is_fatal() {
            (self.is_over, self.is_lost) = (true, true);
        }
        if self.mode != AnswerMode::Nothing || self.is_lost {
            self.error.get_or_insert_with(|| response.error());
        }
        Ok(())
    }
}

// The results inside an answer: their columns, their rows, their ends.

impl Answer {
    /// The end of a result: only the last one counts, unless all are summed.
    #[inline]
    pub(super) fn complete(&mut self, tag: &[u8], rows: &mut Rows) -> Result<(), Error> {
        let (count, changed) = (std::mem::take(&mut self.count), changed(tag));
        if changed > MOST_CHANGED {
            return Err(garbage("an impossible number of changed rows"));
        }
        self.further += own_commits(tag);
        self.changed_of_all += changed;
        match self.mode {
            AnswerMode::Sum => {
                self.rows += count;
                self.changed += changed;
            }
            AnswerMode::Each => {
                self.rows += count;
                self.changed += changed;
                self.expect_width(rows);
                rows.end_result(count, changed)?;
            }
            AnswerMode::Nothing => {}
            AnswerMode::Rows | AnswerMode::Counts => {
                if self.is_between {
                    rows.next_result()?;
                }
                (self.rows, self.changed) = (count, changed);
            }
        }
        self.is_between = true;
        Ok(())
    }

    #[inline]
    fn keeps_rows(&self) -> bool {
        matches!(self.mode, AnswerMode::Rows | AnswerMode::Each)
    }

    /// The columns of a batch's result that nothing in the answer tells.
    #[inline]
    fn expect_width(&self, rows: &mut Rows) {
        if self.mode == AnswerMode::Each && rows.width == 0 {
            rows.width = self.widths.get(rows.results.len()).copied().unwrap_or(0);
        }
    }

    /// The columns of the result that comes, or would come of a prepared statement.
    pub(super) fn describe(&mut self, body: &[u8], rows: &mut Rows) -> Result<(), Error> {
        let mut body = Body(body);
        let width = body.short()?;
        if matches!(self.mode, AnswerMode::Sum | AnswerMode::Nothing) {
            return Ok(());
        }
        if self.mode == AnswerMode::Each {
            rows.width = u32::from(width);
            return Ok(());
        }
        if self.is_between {
            rows.next_result()?;
        } else {
            rows.clear();
        }
        rows.width = u32::from(width);
        self.is_between = false;
        if self.mode == AnswerMode::Rows {
            for _ in 0..width {
                rows.name(body.text()?)?;
                body.take(6)?;
                rows.types.push(body.long()?);
                body.take(8)?;
            }
        }
        Ok(())
    }
}

/// A row's fields.
pub fn row(body: &[u8], rows: &mut Rows) -> Result<(), Error> {
    let mut body = Body(body);
    let width = body.short()?;
    if u32::from(width) != rows.width {
        return Err(garbage("a row has another number of columns than described"));
    }
    for _ in 0..width {
        match body.long()? {
            u32::MAX => rows.push(None)?,
            length => rows.push(Some(body.take(length as usize)?))?,
        }
    }
    Ok(())
}

/// The types of a prepared statement's parameters.
pub fn parameters(body: &[u8]) -> Result<Vec<u32>, Error> {
    let mut body = Body(body);
    (0..body.short()?).map(|_| body.long()).collect()
}

/// The number that ends a `CommandComplete`'s tag, where rows were changed: `INSERT 0 5`, `COPY 5`.
/// Rows that only came back are counted as they come.
#[inline]
fn changed(tag: &[u8]) -> u64 {
    if matches!(tag.first(), Some(b'S' | b'F')) {
        return 0;
    }
    let mut number: u64 = 0;
    for byte in tag.strip_suffix(b"\0").unwrap_or(tag) {
        number = match byte {
            b'0'..=b'9' => number.saturating_mul(10).saturating_add(u64::from(byte - b'0')),
            _ => 0,
        };
    }
    number
}

/// Transactions that a statement may have committed by itself: one for each table that it went to.
#[inline]
fn own_commits(tag: &[u8]) -> u64 {
    let each_table = matches!(tag.first(), Some(b'A' | b'V' | b'R' | b'C'))
        && BY_TABLE.contains(&tag.strip_suffix(b"\0").unwrap_or(tag));
    if each_table { MOST_TABLES } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::{Answer, MOST_TABLES, Rows, changed, own_commits};

    #[test]
    fn more_changed_rows_than_any_table_has_are_no_answer() {
        let mut rows = Rows::default();
        assert!(Answer::new().complete(b"UPDATE 281474976710656\0", &mut rows).is_ok());
        for tag in [&b"UPDATE 281474976710657\0"[..], b"COPY 99999999999999999999999\0"] {
            assert!(Answer::new().complete(tag, &mut rows).is_err());
        }
    }

    #[test]
    fn a_statement_on_every_table_commits_as_often() {
        for tag in ["ANALYZE", "VACUUM", "REINDEX", "CLUSTER"] {
            assert_eq!(own_commits(format!("{tag}\0").as_bytes()), MOST_TABLES, "{tag}");
        }
        for tag in ["ALTER TABLE", "VALUES 1", "ROLLBACK", "COMMIT", "CREATE INDEX", "", "COPY 7"] {
            assert_eq!(own_commits(format!("{tag}\0").as_bytes()), 0, "{tag}");
        }
    }

    #[test]
    fn a_tags_last_number_counts_where_rows_were_changed() {
        let tags = ["INSERT 0 5", "UPDATE 12", "DELETE 0", "COPY 100000", "MERGE 3"];
        let numbers = tags.map(|tag| changed(format!("{tag}\0").as_bytes()));
        assert_eq!(numbers, [5, 12, 0, 100_000, 3]);
        for tag in ["SELECT 5\0", "FETCH 2\0", "BEGIN\0", "CREATE TABLE\0", "\0", ""] {
            assert_eq!(changed(tag.as_bytes()), 0, "{tag}");
        }
        assert_eq!(changed(b"COPY 99999999999999999999999\0"), u64::MAX);
    }
}
