//! Rows of one answer as every session hands them over.

use crate::plan::error::Error;

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
}

impl Rows {
    /// Marks a field that is NULL in [`Rows::ends`].
    pub const NULL: u32 = u32::MAX;

    /// Forgets the last answer and keeps the memory.
    pub fn clear(&mut self) {
        self.width = 0;
        self.columns.clear();
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds a field to the last row.
    pub fn push(&mut self, field: Option<&[u8]>) -> Result<(), Error> {
        let Some(field) = field else {
            self.ends.push(Self::NULL);
            return Ok(());
        };
        self.bytes.extend_from_slice(field);
        let end = u32::try_from(self.bytes.len()).ok().filter(|end| *end != Self::NULL);
        self.ends.push(end.ok_or_else(|| Error::user("one answer of more than 4 GiB"))?);
        Ok(())
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
