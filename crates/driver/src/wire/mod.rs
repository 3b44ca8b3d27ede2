//! The wire: sockets of one thread and the event loop that serves them.
//!
//! ```text
//! session   writes into line.out(), line.send(), answers Pending ── worker rests: everything that
//! was sent leaves, and the thread sleeps until bytes come ── session.poll(): line.more(), parse
//! ```
//! Everything here belongs to the thread that made it. Two ways of asking the kernel serve alike:
//! io_uring, and epoll where io_uring is refused ([`exchange::Exchange`]).

mod connect;
mod end_point;
mod exchange;
mod line;
mod poll;
mod ring;
mod ring_line;
mod stream;
#[cfg(test)]
mod tests;
mod thread;
mod tls;
mod trust;
mod uring;

pub use line::{Bytes, Line};
pub use thread::{set_slot, wait, wait_in_turn};
pub use trust::forget_authorities;
