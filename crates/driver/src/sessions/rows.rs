//! Rows of one answer as every session hands them over, and the memory that they may take.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::plan::error::Error;

/// A row's fields, each with its column's name; none of NULL.
pub type NamedRow = Vec<(String, Option<Vec<u8>>)>;

/// Rows of one answer, packed: reused from request to request, so that a read allocates nothing.
#[derive(Debug, Default)]
pub struct Rows {
    /// Columns of the answer, 0 where it has none; true also of rows that were not kept.
    pub width: u32,
    /// Column names, where rows are kept.
    pub columns: Names,
    /// The engine's numbers of the columns' types, where rows are kept (`Descriptor::type_name`).
    pub types: Vec<u32>,
    /// All fields' bytes, end to end.
    pub bytes: Vec<u8>,
    /// End of each field in `bytes`, row by row; [`Rows::NULL`] for NULL.
    pub ends: Vec<u32>,
    /// Results that came before it in the same answer: names and last row of each that had one.
    pub earlier: Vec<NamedRow>,
    /// Each result of an answer of several, where the engine hands them out one by one (MySQL). All
    /// fields lie in `bytes` and `ends` then, one result's after the other's.
    pub results: Vec<OneResult>,
    /// Nobody will read them: where they fill their memory, later ones take the place of earlier.
    pub is_unread: bool,
    /// Bytes of results beside their fields: names, earlier rows, what each is.
    held: usize,
    grant: Grant,
}

/// Names of columns, in memory that is used again like the rows'.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Names {
    /// All names, end to end.
    pub bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Names {
    /// Forgets them.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds one as the engine sent it.
    pub fn push(&mut self, name: &[u8]) {
        self.bytes.extend_from_slice(name);
        self.ends.push(self.bytes.len());
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// All of them in order; what is no UTF-8 is shown by a sign of its own.
    pub fn to_vec(&self) -> Vec<String> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let name = |(start, end): (&usize, &usize)| {
            String::from_utf8_lossy(&self.bytes[*start..*end]).into_owned()
        };
        starts.zip(&self.ends).map(name).collect()
    }
}

/// A result of several.
#[derive(Debug)]
pub struct OneResult {
    /// Columns; 0: it has none.
    pub width: u32,
    /// Rows that it brought.
    pub rows: u64,
    /// Rows that it changed.
    pub changed: u64,
    columns: Names,
    /// Where its fields end in [`Rows::ends`] and [`Rows::bytes`].
    end: (usize, usize),
}

/// The fields of one result, in the form of [`Rows`].
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    /// Names of the columns.
    pub columns: &'a Names,
    /// End of each field, counted like `start`; [`Rows::NULL`] for NULL.
    pub ends: &'a [u32],
    /// The fields' bytes.
    pub bytes: &'a [u8],
    /// Where `bytes` begin.
    pub start: u32,
}

impl<'a> Fields<'a> {
    /// All fields in order, row by row.
    pub fn iter(self) -> impl Iterator<Item = Option<&'a [u8]>> {
        let mut at = self.start;
        self.ends.iter().map(move |&end| {
            if end == Rows::NULL {
                return None;
            }
            let field = &self.bytes[(at - self.start) as usize..(end - self.start) as usize];
            at = end;
            Some(field)
        })
    }

    /// The fields of the last row; none where there is no row.
    pub fn last(self) -> Option<impl Iterator<Item = Option<&'a [u8]>>> {
        let others = self.ends.len().checked_sub(self.columns.len().max(1))?;
        Some(self.iter().skip(others))
    }

    /// The last row with its columns' names; none where there is no row.
    pub fn last_row(self) -> Option<NamedRow> {
        let fields = self.last()?.map(|it| it.map(<[u8]>::to_vec));
        Some(self.columns.to_vec().into_iter().zip(fields).collect())
    }
}

impl Rows {
    /// Marks a field that is NULL in [`Rows::ends`].
    pub const NULL: u32 = u32::MAX;

    /// Forgets the last answer and keeps the memory.
    pub fn clear(&mut self) {
        self.width = 0;
        self.held = 0;
        self.earlier.clear();
        self.results.clear();
        self.columns.clear();
        self.types.clear();
        self.bytes.clear();
        self.ends.clear();
    }

    /// Makes room for the next result of the same answer.
    pub fn next_result(&mut self) -> Result<(), Error> {
        let (mut earlier, mut held) = (std::mem::take(&mut self.earlier), self.held);
        if let Some(row) = self.fields().last_row() {
            let bytes = |(name, field): &(String, Option<Vec<u8>>)| {
                size_of::<(String, Option<Vec<u8>>)>()
                    + name.len()
                    + field.as_ref().map_or(0, Vec::len)
            };
            held += row.iter().map(bytes).sum::<usize>();
            earlier.push(row);
        }
        self.clear();
        self.earlier = earlier;
        self.hold(held)
    }

    /// Takes room for what lies beside the fields.
    fn hold(&mut self, bytes: usize) -> Result<(), Error> {
        self.held += bytes;
        let all = self.size() + self.held;
        if all >= self.grant.bytes { self.grant.grow(all + 1) } else { Ok(()) }
    }

    /// Adds a column's name.
    pub fn name(&mut self, name: &[u8]) -> Result<(), Error> {
        self.columns.push(name);
        self.hold(name.len() + size_of::<usize>())
    }

    /// Ends a result of several; the next one's columns and rows follow.
    #[cold]
    pub fn end_result(&mut self, rows: u64, changed: u64) -> Result<(), Error> {
        let width = std::mem::take(&mut self.width);
        let columns = std::mem::take(&mut self.columns);
        let end = (self.ends.len(), self.bytes.len());
        self.results.push(OneResult { width, rows, changed, columns, end });
        self.hold(size_of::<OneResult>())
    }

    /// The fields of an answer of one result; of several, those of the last with columns.
    pub fn fields(&self) -> Fields<'_> {
        match self.results.iter().rposition(|it| it.width > 0) {
            Some(at) => self.fields_of(at),
            None => {
                Fields { columns: &self.columns, ends: &self.ends, bytes: &self.bytes, start: 0 }
            }
        }
    }

    /// The fields of a result of several.
    pub fn fields_of(&self, at: usize) -> Fields<'_> {
        let one = &self.results[at];
        let (from, start) = at.checked_sub(1).map_or((0, 0), |it| self.results[it].end);
        Fields {
            columns: &one.columns,
            ends: &self.ends[from..one.end.0],
            bytes: &self.bytes[start..one.end.1],
            start: start as u32,
        }
    }

    /// The last row of each result that has one; `all` or none but the last result with columns.
    pub fn last_rows(&self, all: bool) -> Vec<NamedRow> {
        if !all {
            return self.fields().last_row().into_iter().collect();
        }
        let each = (0..self.results.len()).map(|at| self.fields_of(at));
        let only = self.results.is_empty().then(|| self.fields());
        let rows = each.chain(only).filter_map(Fields::last_row);
        self.earlier.iter().cloned().chain(rows).collect()
    }

    /// Adds a field to the last row.
    pub fn push(&mut self, field: Option<&[u8]>) -> Result<(), Error> {
        let more = field.map_or(0, <[u8]>::len);
        if self.size() + self.held + more >= self.grant.bytes {
            self.make_room(more)?;
        }
        self.ends.push(match field {
            None => Self::NULL,
            Some(field) => {
                self.bytes.extend_from_slice(field);
                self.bytes.len() as u32
            }
        });
        Ok(())
    }

    /// Bytes of fields and of their ends.
    pub fn size(&self) -> usize {
        self.bytes.len() + size_of::<u32>() * self.ends.len()
    }

    #[cold]
    fn make_room(&mut self, more: usize) -> Result<(), Error> {
        if self.is_unread {
            self.bytes.clear();
            self.ends.clear();
            return Ok(());
        }
        self.grant.grow(self.size() + self.held + more + 1)
    }
}

// What all answers together may take. It is asked for in ever larger parts, so that a row costs one
// comparison.

/// What any answer may take without asking: most answers are smaller.
const FREE: usize = 64 * 1024;

/// An end in [`Rows::ends`] is a u32.
const MOST: usize = u32::MAX as usize;

/// The code of the error of an answer that is too large.
pub const TOO_LARGE: &str = "memory";

static LIMIT: AtomicUsize = AtomicUsize::new(512 << 20);
static GRANTED: AtomicUsize = AtomicUsize::new(0);

/// Sets what the answers of this process that are held at one time may take.
pub fn set_limit(bytes: usize) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// Is there room for a part of an answer that has to be there whole before it can be read?
#[cold]
pub fn check_room(bytes: usize) -> Result<(), Error> {
    if bytes > FREE { Grant::default().grow(bytes) } else { Ok(()) }
}

/// What one answer may take; given back when it is dropped.
#[derive(Debug)]
struct Grant {
    bytes: usize,
}

impl Default for Grant {
    fn default() -> Self {
        Self { bytes: FREE }
    }
}

impl Grant {
    /// Adds half as much again, or less where that is not left; `least` bytes in all at least.
    fn grow(&mut self, least: usize) -> Result<(), Error> {
        let sizes = [self.bytes + self.bytes / 2, self.bytes + FREE, least];
        let size = sizes.into_iter().find(|size| *size >= least && self.takes(*size));
        self.bytes = size.ok_or_else(too_large)?;
        Ok(())
    }

    /// Takes what is missing to a size; false: so much is not left.
    fn takes(&self, size: usize) -> bool {
        let limit = LIMIT.load(Ordering::Relaxed);
        let add = |granted| Some(granted + size - self.bytes).filter(|sum| *sum <= limit);
        size < MOST && GRANTED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        GRANTED.fetch_sub(self.bytes - FREE, Ordering::Relaxed);
    }
}

fn too_large() -> Error {
    let mib = LIMIT.load(Ordering::Relaxed) >> 20;
    Error::user(format!("answers take more than the {mib} MiB that they may"))
        .hint("read fewer rows at a time, or raise the option memory_bytes (the limit is its half)")
        .code(TOO_LARGE)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn unread_rows_lie_in_the_same_memory_again_and_again() {
        let mut rows = Rows { is_unread: true, ..Rows::default() };
        for _ in 0..100_000 {
            rows.push(Some(b"ten bytes.")).unwrap();
            rows.push(None).unwrap();
        }
        assert_eq!(rows.grant.bytes, FREE);
        assert!(rows.size() <= FREE && rows.bytes.capacity() <= 2 * FREE);
    }

    #[test]
    fn results_without_rows_take_of_the_answers_memory() {
        let mut rows = Rows::default();
        (0..10_000).for_each(|_| rows.end_result(0, 1).unwrap());
        assert!(rows.grant.bytes > 10_000 * size_of::<OneResult>());
        rows.clear();
        for _ in 0..10_000 {
            rows.name(b"a").unwrap();
            rows.push(Some(b"1")).unwrap();
            rows.next_result().unwrap();
        }
        assert!(rows.held > 10_000 * size_of::<String>());
    }

    #[test]
    fn rows_that_are_read_are_all_there_and_what_they_took_is_given_back() {
        let mut rows = Rows::default();
        (0..100_000).for_each(|number: u32| rows.push(Some(&number.to_le_bytes())).unwrap());
        assert!(rows.size() == 800_000 && rows.grant.bytes > 800_000);
        let last = rows.fields().iter().last().unwrap().unwrap();
        assert_eq!(last, 99_999u32.to_le_bytes());
        drop(rows);
        assert!(check_room(u32::MAX as usize).is_err());
    }
}
