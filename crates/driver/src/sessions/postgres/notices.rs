//! What the server says beside its answers.

use super::failure::ErrorResponse;
use crate::plan::answer::Notice;

/// Notices of one answer that are kept: a statement inside a function may say one for each row.
const MOST_BYTES: usize = 8 << 20;

/// Nobody hears them unless they are told or kept: then none is even read.
#[derive(Debug, Default)]
pub struct Notices {
    /// They are written to stderr, as the server's own programs do.
    pub tells: bool,
    keeps: bool,
    kept: Vec<Notice>,
    bytes: usize,
    dropped: u64,
}

impl Notices {
    /// Keeps those that come, or no more.
    pub fn keep(&mut self, wanted: bool) {
        self.keeps = wanted;
    }

    /// Is there anybody who wants them?
    #[inline]
    pub fn are_heard(&self) -> bool {
        self.tells || self.keeps
    }

    /// One has come.
    #[cold]
    pub fn take(&mut self, said: ErrorResponse) {
        if self.tells {
            eprintln!("{}", said.report);
        }
        if !self.keeps {
            return;
        }
        let notice = said.notice();
        self.bytes += notice.message.len() + notice.context.len() + notice.detail.len();
        if self.bytes > MOST_BYTES {
            self.dropped += 1;
        } else {
            self.kept.push(notice);
        }
    }

    /// Those of the last answer, and how many more there were.
    pub fn take_kept(&mut self) -> (Vec<Notice>, u64) {
        self.bytes = 0;
        (std::mem::take(&mut self.kept), std::mem::take(&mut self.dropped))
    }
}
