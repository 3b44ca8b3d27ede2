//! `COPY … FROM STDIN`: rows on their way to the server.

use super::frame::{put, put_text};
use crate::generate::Source;
use crate::plan::error::Error;

/// The rows of one `COPY`, sent piece by piece.
pub struct Load {
    source: Option<Box<dyn Source>>,
    /// What the source said, where it failed; the server is told only that it did.
    pub error: Option<Error>,
}

impl Load {
    /// Rows from a source.
    pub fn new(source: Box<dyn Source>) -> Self {
        Self { source: Some(source), error: None }
    }

    /// A `COPY` that was sent as if it were a query: there are no rows for it.
    pub fn refused() -> Self {
        let error = Error::user("COPY … FROM STDIN was sent as a query")
            .hint("the script's bulk load brings its rows");
        Self { source: Some(Box::new(Refusal(error))), error: None }
    }

    /// Has everything been written?
    pub fn is_over(&self) -> bool {
        self.source.is_none()
    }

    /// Appends some 64 KiB of rows, or the end.
    pub fn fill(&mut self, out: &mut Vec<u8>) {
        let Some(source) = &mut self.source else { return };
        let (start, mut filled) = (out.len(), Ok(()));
        put(out, b'd', |out| filled = source.fill(out));
        let is_end = out.len() == start + 5;
        if filled.is_err() || is_end {
            out.truncate(start);
            self.source = None;
        }
        match filled {
            Ok(()) if is_end => out.extend_from_slice(b"c\0\0\0\x04"),
            Ok(()) => {}
            Err(error) => {
                self.error = Some(error);
                fail(out);
            }
        }
    }

    /// Ends it without its last rows; the server then keeps none.
    pub fn give_up(self, out: &mut Vec<u8>) {
        fail(out);
    }
}

fn fail(out: &mut Vec<u8>) {
    put(out, b'f', |out| put_text(out, b"the rows could not be made"));
}

/// A source of nothing but an error.
struct Refusal(Error);

impl Source for Refusal {
    fn fill(&mut self, _out: &mut Vec<u8>) -> Result<(), Error> {
        Err(self.0.clone())
    }
}
