//! The part of a file that is looked at: it moves on, and never holds the whole.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use memchr::memchr_iter;

use crate::plan::error::Error;

/// Read at once, at least.
const CHUNK: usize = 256 << 10;
/// What one statement, or one row, may take.
const LONGEST: usize = 512 << 20;

/// A stretch of a file, from what was not taken yet.
pub struct Window {
    file: File,
    bytes: Vec<u8>,
    start: usize,
    /// The line on which it begins, from 1.
    pub line: u64,
    /// It reaches to the file's end.
    pub is_end: bool,
}

impl Window {
    /// At a file's beginning.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|cause| unreadable(path, &cause))?;
        let mut window = Self { file, bytes: Vec::new(), start: 0, line: 1, is_end: false };
        window.more().map_err(|error| error.because(path.display()))?;
        if window.rest().starts_with(b"\xef\xbb\xbf") {
            window.take(3);
        }
        Ok(window)
    }

    /// What is there.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Reads on, as much again as is there: a long statement is read in few steps.
    pub fn more(&mut self) -> Result<(), Error> {
        let there = self.bytes.len() - self.start;
        if there > LONGEST {
            return Err(Error::user(format!(
                "the statement or row on line {} has over {} MiB",
                self.line,
                LONGEST >> 20
            )));
        }
        self.bytes.copy_within(self.start.., 0);
        self.start = 0;
        let wanted = there.max(CHUNK);
        self.bytes.resize(there + wanted, 0);
        let read = fill(&mut self.file, &mut self.bytes[there..]);
        let read = read.map_err(|cause| Error::host("a file cannot be read on").because(cause))?;
        self.bytes.truncate(there + read);
        self.is_end = read < wanted;
        // what one long statement needed is not held for the rest of the file
        if self.bytes.capacity() > 8 * CHUNK && self.bytes.len() < CHUNK {
            self.bytes.shrink_to(2 * CHUNK);
        }
        Ok(())
    }

    /// Goes past so many bytes.
    pub fn take(&mut self, count: usize) {
        let taken = &self.bytes[self.start..self.start + count];
        self.line += memchr_iter(b'\n', taken).count() as u64;
        self.start += count;
    }

    /// Goes past white space; false at the file's end.
    pub fn skip_space(&mut self) -> Result<bool, Error> {
        loop {
            let rest = self.rest();
            let spaces = rest.iter().take_while(|it| it.is_ascii_whitespace()).count();
            let is_over = spaces == rest.len();
            self.take(spaces);
            match (is_over, self.is_end) {
                (false, _) => return Ok(true),
                (true, true) => return Ok(false),
                (true, false) => self.more()?,
            }
        }
    }
}

fn unreadable(path: &Path, cause: &std::io::Error) -> Error {
    Error::user(format!("cannot read the setup file {}", path.display())).because(cause)
}

fn fill(file: &mut File, into: &mut [u8]) -> std::io::Result<usize> {
    let mut read = 0;
    while read < into.len() {
        match file.read(&mut into[read..])? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}
