//! One line under io_uring: its socket, and what the kernel may touch of it.

use std::os::fd::OwnedFd;

use io_uring::cqueue;

use super::stream::Stream;

/// Received at once: as much as MySQL's server writes at once (its `net_buffer_length`). Where more
/// has come, it is read by a plain system call.
const CHUNK: usize = 16 * 1024;

/// What a request is for stands in the upper half of its mark, whose line in the lower.
pub const RECEIVE: u64 = 1 << 32;
/// That a socket takes bytes again.
pub const ROOM: u64 = 2 << 32;
/// The end of another request.
pub const CANCEL: u64 = 3 << 32;
/// The end of a rest without a deadline.
pub const WAKE: u64 = 4 << 32;
/// The lower half of a mark.
pub const LINES: u64 = u32::MAX as u64;

/// A line that a ring holds.
pub struct RingLine {
    /// Its socket.
    pub stream: Stream,
    /// A receive is queued or under way.
    pub receives: bool,
    /// So is hearing of room to send.
    pub waits: bool,
    /// Written by the kernel while `receives`, ours otherwise; never freed meanwhile.
    buffer: Box<[u8]>,
    filled: usize,
}

impl RingLine {
    /// A connected socket of which nothing is known.
    pub fn new(socket: OwnedFd) -> Self {
        let buffer = vec![0; CHUNK].into_boxed_slice();
        Self { stream: Stream::new(socket), buffer, filled: 0, receives: false, waits: false }
    }

    /// Where the kernel may write until [`RingLine::receive_done`]; sets `receives`.
    pub fn lend_buffer(&mut self) -> (*mut u8, u32) {
        self.receives = true;
        (self.buffer.as_mut_ptr(), self.buffer.len() as u32)
    }

    /// Notes that a receive is over.
    pub fn receive_done(&mut self, done: &cqueue::Entry) {
        self.receives = false;
        self.filled = usize::try_from(done.result()).unwrap_or(0);
        let is_full = self.filled == self.buffer.len();
        // An end or an error is found again by the plain read.
        if self.filled == 0 || is_full || cqueue::sock_nonempty(done.flags()) {
            self.stream.may_read();
        }
    }

    /// Appends what was received; false: nothing.
    pub fn take(&mut self, inbox: &mut Vec<u8>) -> bool {
        let filled = std::mem::take(&mut self.filled);
        inbox.extend_from_slice(&self.buffer[..filled]);
        filled > 0
    }

    /// Notes that the socket takes bytes again.
    pub fn has_room(&mut self) {
        self.waits = false;
        self.stream.flush();
    }

    /// Is there anything for who awaits this line?
    pub fn has_news(&self) -> bool {
        self.filled > 0 || self.stream.has_news()
    }

    /// Is the request of a mark queued or under way?
    pub fn is_under_way(&self, mark: u64) -> bool {
        if mark & RECEIVE != 0 { self.receives } else { self.waits }
    }
}

impl Drop for RingLine {
    /// What the kernel may still write is never freed. It is not reached: a line that is dropped
    /// waits for its last completion.
    fn drop(&mut self) {
        if self.receives {
            std::mem::forget(std::mem::take(&mut self.buffer));
        }
    }
}
