//! Results, packet by packet: their heads, columns and ends.

use super::answer::{Answer, Awaits};
use super::column::Column;
use super::failure;
use super::packet::{PART, garbage};
use super::reader::Reader;
use crate::plan::error::Error;

const MORE_RESULTS: u16 = 0x08;
/// The engines' own limit is 4096.
const MOST_COLUMNS: u64 = u16::MAX as u64;

/// Anything that is neither an end nor an error; a field that begins with 0xFE fills whole parts.
#[inline]
pub fn is_row(first: u8, length: usize) -> bool {
    first < 0xfe || (first == 0xfe && length == PART)
}

impl Answer {
    /// One packet; true: the server wants a file's content.
    pub(super) fn take(&mut self, content: &[u8]) -> Result<bool, Error> {
        let is_part = self.continues || content.len() == PART;
        match self.awaits {
            Awaits::Head => return self.head(content),
            Awaits::Rows if is_part => self.join(content)?,
            Awaits::Rows if is_row(content[0], content.len()) => self.row(content)?,
            _ if content[0] == 0xff => self.refused(content),
            Awaits::Columns { left } => self.column(content, left)?,
            Awaits::ColumnsEnd if content[0] == 0xfe => self.awaits = Awaits::Rows,
            Awaits::ColumnsEnd => return Err(garbage("columns without an end")),
            Awaits::Rows => self.rows_end(content)?,
        }
        Ok(false)
    }

    fn head(&mut self, content: &[u8]) -> Result<bool, Error> {
        match content[0] {
            0x00 => self.ok(content)?,
            0xff => self.refused(content),
            0xfb => return Ok(true),
            _ => {
                let count = Reader(content).number().filter(|it| (1..=MOST_COLUMNS).contains(it));
                let left = count.ok_or_else(|| garbage("an answer without a head"))?;
                self.rows.clear();
                self.columns.clear();
                self.rows.width = if self.asked.is_batch { 0 } else { left as u32 };
                self.counted = 0;
                self.awaits = Awaits::Columns { left };
            }
        }
        Ok(false)
    }

    /// What comes after a definition, of which `left` were to come.
    pub(super) fn after_column(&self, left: u64) -> Awaits {
        match left {
            2.. => Awaits::Columns { left: left - 1 },
            _ if self.deprecates_eof => Awaits::Rows,
            _ => Awaits::ColumnsEnd,
        }
    }

    fn column(&mut self, content: &[u8], left: u64) -> Result<(), Error> {
        let (name, column) = Column::parse(content).ok_or_else(|| garbage("a torn column"))?;
        self.rows.columns.push(String::from_utf8_lossy(name).into_owned());
        self.columns.push(column);
        self.awaits = self.after_column(left);
        Ok(())
    }

    /// An OK of the new kind, or the EOF that older servers send.
    #[inline]
    fn rows_end(&mut self, content: &[u8]) -> Result<(), Error> {
        if self.deprecates_eof {
            return self.ok(content);
        }
        let mut reader = Reader(content);
        let status = reader.bytes(3).and_then(|_| reader.u16());
        self.result_end(status.ok_or_else(|| garbage("a torn end of rows"))?);
        Ok(())
    }

    #[inline]
    fn ok(&mut self, content: &[u8]) -> Result<(), Error> {
        let mut reader = Reader(&content[1..]);
        let mut parse = || Some((reader.number()?, reader.number()?, reader.u16()?));
        let (changed, _, status) = parse().ok_or_else(|| garbage("a torn OK"))?;
        self.changed = self.changed.saturating_add(changed);
        self.result_end(status);
        Ok(())
    }

    #[inline]
    fn result_end(&mut self, status: u16) {
        self.status = status;
        self.awaits = Awaits::Head;
        if status & MORE_RESULTS == 0 {
            self.command_end();
        } else {
            self.further += 1;
        }
    }

    #[cold]
    fn refused(&mut self, content: &[u8]) {
        let error = failure::of_packet(content);
        if self.unwanted == 0 {
            self.error.get_or_insert(error);
        }
        self.awaits = Awaits::Head;
        self.command_end();
    }

    #[inline]
    fn command_end(&mut self) {
        if self.unwanted > 0 {
            self.unwanted -= 1;
            self.forget();
        } else {
            self.wanted -= 1;
            self.total += std::mem::take(&mut self.counted);
        }
    }
}
