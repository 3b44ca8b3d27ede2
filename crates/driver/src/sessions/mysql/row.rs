//! Rows that will be read, as text, whichever protocol they came in.

use super::answer::Answer;
use super::packet::{PART, garbage};
use super::reader::Reader;
use crate::plan::error::Error;

/// No row is longer: `max_allowed_packet` has this limit.
const LONGEST_ROW: usize = 1 << 30;

impl Answer {
    /// A row that came in several packets.
    #[cold]
    pub(super) fn join(&mut self, content: &[u8]) -> Result<(), Error> {
        self.joined.extend_from_slice(content);
        self.continues = content.len() == PART;
        if self.joined.len() > LONGEST_ROW {
            return Err(garbage("a row of more than 1 GiB"));
        }
        if !self.continues {
            let joined = std::mem::take(&mut self.joined);
            self.row(&joined)?;
        }
        Ok(())
    }

    pub(super) fn row(&mut self, content: &[u8]) -> Result<(), Error> {
        self.counted += 1;
        match self.asked.binary {
            true => self.binary_row(content),
            false => self.text_row(content),
        }
    }

    fn text_row(&mut self, content: &[u8]) -> Result<(), Error> {
        let mut reader = Reader(content);
        for _ in 0..self.columns.len() {
            if let [0xfb, rest @ ..] = reader.0 {
                reader = Reader(rest);
                self.rows.push(None)?;
            } else {
                let field = reader.text().ok_or_else(|| garbage("a torn row"))?;
                self.rows.push(Some(field))?;
            }
        }
        Ok(())
    }

    /// After the first byte a bit per column for NULL, the first two bits unused.
    fn binary_row(&mut self, content: &[u8]) -> Result<(), Error> {
        let torn = || garbage("a torn row");
        let mut reader = Reader(content);
        reader.u8().filter(|byte| *byte == 0).ok_or_else(torn)?;
        let nulls = reader.bytes((self.columns.len() + 9) / 8).ok_or_else(torn)?;
        for (at, column) in self.columns.iter().enumerate() {
            if nulls[(at + 2) / 8] & (1 << ((at + 2) % 8)) != 0 {
                self.rows.push(None)?;
            } else {
                column.put(&mut reader, &mut self.rows.bytes).ok_or_else(torn)?;
                self.rows.push(Some(&[]))?;
            }
        }
        Ok(())
    }
}
