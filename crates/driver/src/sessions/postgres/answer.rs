//! One answer: the messages up to `ReadyForQuery`, counted where nobody reads the rows.

use super::super::Rows;
use super::failure::Told;
use super::frame::{Body, HEAD, check, head};
use super::results::{parameters, row};
use crate::plan::error::Error;

/// What is wanted of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// The last result with its rows.
    Rows,
    /// The last result, its rows counted only.
    Counts,
    /// The sum of all results, rows counted only.
    Sum,
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
    /// The first error.
    pub error: Option<Error>,
    /// The types of a prepared statement's parameters.
    pub parameters: Vec<u32>,
    pub(super) want: Want,
    /// Rows of the result that comes now.
    pub(super) count: u64,
    /// A result is over: what follows is the next one's.
    pub(super) is_between: bool,
    /// Bytes still to come of a row that nobody reads.
    skip: usize,
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
            error: None,
            parameters: Vec::new(),
            want: Want::Nothing,
            count: 0,
            is_between: false,
            skip: 0,
        }
    }

    /// Awaits the next answer. The parameters stay: only preparing looks at them.
    #[inline]
    pub fn begin(&mut self, want: Want) {
        self.want = want;
        self.is_over = false;
        self.wants_copy = false;
        self.rows = 0;
        self.changed = 0;
        self.count = 0;
        self.is_between = false;
        self.error = None;
    }

    /// Nobody wants the rest of the answer that is coming.
    pub fn abandon(&mut self) {
        self.want = Want::Nothing;
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
                if kind != b'D' || self.want == Want::Rows {
                    check(kind)?;
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
                if self.want == Want::Rows {
                    row(body, rows)?;
                }
            }
            b'C' => self.complete(body, rows),
            b'I' => self.complete(b"", rows),
            b'Z' => {
                self.status = Body(body).byte()?;
                self.is_over = true;
            }
            b'T' => self.describe(body, rows)?,
            b'E' => self.fail(body)?,
            b't' => self.parameters = parameters(body)?,
            b'G' => self.wants_copy = true,
            // Completions of Parse, Bind and Close; no data; suspended; notices, notifications,
            // settings; the data of a COPY TO.
            b'1' | b'2' | b'3' | b'n' | b's' | b'N' | b'A' | b'S' | b'H' | b'd' | b'c' => {}
            _ => check(kind)?,
        }
        Ok(())
    }

    #[cold]
    fn fail(&mut self, body: &[u8]) -> Result<(), Error> {
        let told = Told::read(body)?;
        if told.is_fatal() {
            (self.is_over, self.is_lost) = (true, true);
        }
        if self.want != Want::Nothing || self.is_lost {
            self.error.get_or_insert_with(|| told.error());
        }
        Ok(())
    }
}
