//! The results inside an answer: their columns, their rows, their ends.

use super::super::Rows;
use super::answer::{Answer, Want};
use super::frame::{Body, garbage};
use crate::plan::error::Error;

impl Answer {
    /// The end of a result: only the last one counts, unless all are summed.
    #[inline]
    pub(super) fn complete(&mut self, tag: &[u8], rows: &mut Rows) {
        let (count, changed) = (std::mem::take(&mut self.count), changed(tag));
        match self.want {
            Want::Sum => {
                self.rows += count;
                self.changed += changed;
            }
            Want::Nothing => {}
            Want::Rows | Want::Counts => {
                if self.is_between {
                    rows.clear();
                }
                (self.rows, self.changed) = (count, changed);
            }
        }
        self.is_between = true;
    }

    /// The columns of the result that comes, or would come of a prepared statement.
    pub(super) fn describe(&mut self, body: &[u8], rows: &mut Rows) -> Result<(), Error> {
        let mut body = Body(body);
        let width = body.short()?;
        if matches!(self.want, Want::Sum | Want::Nothing) {
            return Ok(());
        }
        rows.clear();
        rows.width = u32::from(width);
        self.is_between = false;
        if self.want == Want::Rows {
            for _ in 0..width {
                rows.columns.push(String::from_utf8_lossy(body.text()?).into_owned());
                body.take(18)?;
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
        return Err(garbage("a row that is not as wide as its description"));
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

#[cfg(test)]
mod tests {
    use super::changed;

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
