//! The rows that follow a `COPY … FROM stdin`, up to their own end: `\.` on a line of its own.

use std::cell::RefCell;
use std::rc::Rc;

use memchr::{memchr, memmem, memrchr};

use super::window::Window;
use crate::generate::Source;
use crate::plan::error::Error;

/// Handed out at once, about.
const PIECE: usize = 64 << 10;

/// Rows as the file has them, read as they are wanted.
pub struct Rows {
    window: Rc<RefCell<Window>>,
    line: u64,
    is_over: bool,
}

impl Rows {
    /// Those that begin where the file stands.
    pub fn new(window: &Rc<RefCell<Window>>) -> Self {
        let line = window.borrow().line;
        Self { window: Rc::clone(window), line, is_over: false }
    }
}

impl Source for Rows {
    fn fill(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut window = self.window.borrow_mut();
        while !self.is_over {
            let rest = window.rest();
            if let Some(end) = mark(rest, window.is_end) {
                window.take(end);
                self.is_over = true;
                return Ok(());
            }
            let most = &rest[..rest.len().min(PIECE)];
            let whole = memrchr(b'\n', most).or_else(|| memchr(b'\n', rest)).map(|it| it + 1);
            let before = memmem::find_iter(&rest[..whole.unwrap_or(0)], b"\n\\.")
                .map(|it| it + 1)
                .find(|it| may_be_mark(&rest[*it..]));
            match before.or(whole) {
                Some(length) => {
                    out.extend_from_slice(&rest[..length]);
                    window.take(length);
                    return Ok(());
                }
                None if window.is_end => return Err(self.broken_off()),
                None => window.more()?,
            }
        }
        Ok(())
    }
}

impl Rows {
    fn broken_off(&self) -> Error {
        Error::user("the file ends amid the rows of a COPY")
            .because(format!("they begin on line {}, and no line says \\.", self.line))
            .hint("it was cut: dump or copy it again")
    }
}

/// The length of the line that ends the rows, if that is what begins here.
fn mark(rest: &[u8], is_end: bool) -> Option<usize> {
    let ends = [&b"\\.\n"[..], b"\\.\r\n"];
    let found = ends.into_iter().find(|it| rest.starts_with(it)).map(<[u8]>::len);
    found.or_else(|| (is_end && (rest == b"\\." || rest == b"\\.\r")).then_some(rest.len()))
}

/// A row may begin with `\.` in data of CSV, with more on its line.
fn may_be_mark(rest: &[u8]) -> bool {
    matches!(rest.get(2), None | Some(b'\n' | b'\r'))
}
