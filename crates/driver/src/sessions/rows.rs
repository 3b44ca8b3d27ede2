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
    pub columns: Vec<String>,
    /// All fields' bytes, end to end.
    pub bytes: Vec<u8>,
    /// End of each field in `bytes`, row by row; [`Rows::NULL`] for NULL.
    pub ends: Vec<u32>,
    /// Results that came before it in the same answer: names and last row of each that had one.
    pub earlier: Vec<NamedRow>,
    /// Nobody will read them: where they fill their memory, later ones take the place of earlier.
    pub is_unread: bool,
    grant: Grant,
}

impl Rows {
    /// Marks a field that is NULL in [`Rows::ends`].
    pub const NULL: u32 = u32::MAX;

    /// Forgets the last answer and keeps the memory.
    pub fn clear(&mut self) {
        self.width = 0;
        self.earlier.clear();
        self.columns.clear();
        self.bytes.clear();
        self.ends.clear();
    }

    /// Makes room for the next result of the same answer.
    pub fn next_result(&mut self) {
        let mut earlier = std::mem::take(&mut self.earlier);
        earlier.extend(self.last_row());
        self.clear();
        self.earlier = earlier;
    }

    /// The last row with its columns' names.
    pub fn last_row(&self) -> Option<NamedRow> {
        let others = self.ends.len().checked_sub(self.columns.len().max(1))?;
        let field = |it: Option<&[u8]>| it.map(<[u8]>::to_vec);
        Some(self.columns.iter().cloned().zip(self.fields().skip(others).map(field)).collect())
    }

    /// Adds a field to the last row.
    pub fn push(&mut self, field: Option<&[u8]>) -> Result<(), Error> {
        let more = field.map_or(0, <[u8]>::len);
        if self.size() + more >= self.grant.bytes {
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
        self.grant.grow(self.size() + more + 1)
    }

    /// All fields in order, row by row; a row is as many as there are columns.
    pub fn fields(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            if end == Self::NULL {
                return None;
            }
            let field = &self.bytes[start..end as usize];
            start = end as usize;
            Some(field)
        })
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
        .hint("read fewer rows at a time, or raise the option memory_bytes, of which it is half")
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
    fn rows_that_are_read_are_all_there_and_what_they_took_is_given_back() {
        let mut rows = Rows::default();
        (0..100_000).for_each(|number: u32| rows.push(Some(&number.to_le_bytes())).unwrap());
        assert!(rows.size() == 800_000 && rows.grant.bytes > 800_000);
        let last = rows.fields().last().unwrap().unwrap();
        assert_eq!(last, 99_999u32.to_le_bytes());
        drop(rows);
        assert!(check_room(u32::MAX as usize).is_err());
    }
}
