//! The wire: sockets of one thread and the event loop that serves them.
//!
//! ```text
//! session   writes into line.out(), line.send(), answers Pending ── worker rests: everything that
//! was sent leaves, and the thread sleeps until bytes come ── session.poll(): line.more(), parse
//! ```
//! Everything here belongs to the thread that made it.
// Its users follow in the same week; then this line goes.
#![allow(dead_code, unused_imports)]

mod line;

pub use line::Line;

/// Says for whom the lines opened and used from now on are: a number that [`rest`] hands back.
pub fn attend(slot: u32) {
    let _ = slot;
}

/// Sends what is to be sent and waits until bytes come for somebody, at the latest until a
/// CLOCK_MONOTONIC time (`u64::MAX`: no limit); appends for whom they came.
pub fn rest(until_ns: u64, ready: &mut Vec<u32>) {
    let _ = (until_ns, ready);
    std::thread::yield_now();
}
