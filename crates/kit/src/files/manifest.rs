//! The manifest: which segments an index is made of, in a text that ends with its own checksum.

use std::fmt::Write;

use super::columns::{Column, parse_columns, write_columns};
use crate::function::Fault;

const FORMAT: &str = "dyno-fb 1";

/// A segment, and which of its rows are deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its file's number.
    pub number: u32,
    /// How many rows, deleted ones included.
    pub rows: u32,
    /// The checksum of its directory, which has those of all its blocks.
    pub crc: u32,
    /// The number of the file that says which rows are deleted; 0 where none are.
    pub deleted: u32,
}

/// What an index is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// In order.
    pub columns: Vec<Column>,
    /// The number of the next file.
    pub next: u32,
    /// In the order in which they were written.
    pub segments: Vec<Entry>,
}

impl Manifest {
    /// The file's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let columns = write_columns(&self.columns);
        let mut text = format!("{FORMAT}\ncolumns {columns}\nnext {}\n", self.next);
        for it in &self.segments {
            // writing into a string does not fail
            let _ = writeln!(text, "segment {} {} {} {}", it.number, it.rows, it.crc, it.deleted);
        }
        let crc = crc32fast::hash(text.as_bytes());
        let _ = writeln!(text, "crc {crc}");
        text.into_bytes()
    }

    /// What `bytes` wrote; a fault for whatever else.
    pub fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        Self::read(bytes).ok_or_else(|| "the index's manifest is damaged".into())
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let at = text.rfind("crc ")?;
        let told: u32 = text[at..].strip_prefix("crc ")?.trim_end().parse().ok()?;
        let mut lines = text[..at].lines();
        if told != crc32fast::hash(&bytes[..at]) || lines.next()? != FORMAT {
            return None;
        }
        let columns = parse_columns(lines.next()?.strip_prefix("columns ")?.as_bytes()).ok()?;
        let next = lines.next()?.strip_prefix("next ")?.parse().ok()?;
        let segments = lines.map(read_entry).collect::<Option<Vec<_>>>()?;
        Some(Self { columns, next, segments })
    }

    /// The number of a new file; 0, which says that there is none, is never one.
    pub fn take_number(&mut self) -> Result<u32, Fault> {
        let number = self.next.max(1);
        self.next = number.checked_add(1).ok_or("the index has used up all numbers of files")?;
        Ok(number)
    }

    /// The place of a column.
    pub fn column(&self, name: &str) -> Result<usize, Fault> {
        let found = self.columns.iter().position(|it| it.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| format!("there is no column '{name}'").into())
    }

    /// Whether a file of the index's folder is of this manifest.
    pub fn names(&self, file: &str) -> bool {
        self.segments.iter().any(|it| {
            file == segment_file(it.number) || it.deleted != 0 && file == deleted_file(it.deleted)
        })
    }
}

fn read_entry(line: &str) -> Option<Entry> {
    let mut words = line.strip_prefix("segment ")?.split(' ').map(|it| it.parse::<u32>().ok());
    let mut word = || words.next().flatten();
    Some(Entry { number: word()?, rows: word()?, crc: word()?, deleted: word()? })
}

/// The name of a segment's file.
pub fn segment_file(number: u32) -> String {
    format!("s{number:010}")
}

/// The name of a file that says which rows are deleted.
pub fn deleted_file(number: u32) -> String {
    format!("d{number:010}")
}

/// Whether a file has a name of ours.
pub fn is_ours(file: &str) -> bool {
    let digits = file.strip_prefix(['s', 'd']).unwrap_or("");
    digits.len() == 10 && digits.bytes().all(|it| it.is_ascii_digit())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_as_it_was_written_and_any_damage_is_seen() {
        let columns = parse_columns(b"a:int,b:text").unwrap();
        let entry = Entry { number: 7, rows: 9, crc: 11, deleted: 0 };
        let written = Manifest { columns, next: 8, segments: vec![entry] };
        let bytes = written.bytes();
        assert_eq!(Manifest::parse(&bytes), Ok(written));
        for at in 0..bytes.len() - 1 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(Manifest::parse(&damaged).is_err(), "byte {at}");
            assert!(Manifest::parse(&bytes[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn numbers_of_files_end_and_none_is_0() {
        let columns = parse_columns(b"a:int").unwrap();
        let mut manifest = Manifest { columns, next: 0, segments: Vec::new() };
        assert_eq!((manifest.take_number(), manifest.next), (Ok(1), 2));
        manifest.next = u32::MAX;
        assert!(manifest.take_number().is_err());
        assert_eq!(manifest.next, u32::MAX);
    }
}
