//! The wire: sockets of one thread and the event loop that serves them.
//!
//! ```text
//! session   writes into line.out(), line.send(), answers Pending ── worker rests: everything that
//! was sent leaves, and the thread sleeps until bytes come ── session.poll(): line.more(), parse
//! ```
//! Everything here belongs to the thread that made it. Two ways of asking the kernel serve alike:
//! io_uring, and epoll where io_uring is refused ([`Exchange`]).

mod connect;
mod line;
mod poll;
mod ring;
mod ring_line;
mod stream;
#[cfg(test)]
mod tests;
mod tls;
mod trust;
mod uring;

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use crate::schedule::clock;
pub use line::{Bytes, Line};

thread_local! {
    static CURRENT_SLOT: Cell<u32> = const { Cell::new(0) };
    static EXCHANGE: RefCell<Option<Shared>> = const { RefCell::new(None) };
}

/// The thread's exchange, as its lines hold it.
type Shared = Rc<RefCell<Box<dyn Exchange>>>;

/// Sockets of one thread, and a way of asking the kernel about all of them at once.
trait Exchange {
    /// Takes a connected, blocking socket over; returns its number.
    fn add(&mut self, socket: OwnedFd) -> io::Result<u32>;

    /// Closes a socket. Nothing is read or written for it any more when this returns.
    fn remove(&mut self, line: u32);

    /// Takes bytes over, which leave at the next rest at the latest, and awaits an answer for a
    /// slot. Does not wait, and says nothing of a broken connection: what the server said before is
    /// still to be read.
    fn send(&mut self, line: u32, slot: u32, bytes: &mut Vec<u8>);

    /// Bytes taken over that have not left.
    fn unsent(&self, line: u32) -> usize;

    /// Appends what came; where nothing did, awaits it from now on for a slot and says `false`.
    /// The end of the stream is an `UnexpectedEof`.
    fn receive(&mut self, line: u32, slot: u32, inbox: &mut Vec<u8>) -> io::Result<bool>;

    /// Sleeps until something comes for an awaited line, or what a line could not send at once has
    /// left, at the latest until a time (0: does not sleep; `u64::MAX`: for a nap); notes for which
    /// slots.
    fn wait(&mut self, until_ns: u64);

    /// The slots noted and not yet handed over.
    fn woken(&mut self) -> &mut Vec<u32>;
}

/// Says for whom the lines opened and used from now on are: a number that [`rest`] hands back.
#[inline]
pub fn set_slot(slot: u32) {
    CURRENT_SLOT.set(slot);
}

/// Sends what is to be sent and waits until bytes come for somebody, at the latest until a
/// CLOCK_MONOTONIC time (0: only looks; `u64::MAX`: for a nap of 20 ms, so that a stop is seen
/// soon); appends for whom they came, at times also somebody for whom none did.
#[inline]
pub fn wait(until_ns: u64, ready: &mut Vec<u32>) {
    EXCHANGE.with_borrow(|here| match here {
        Some(exchange) => {
            let mut exchange = exchange.borrow_mut();
            let is_told = exchange.woken().is_empty();
            exchange.wait(if is_told { until_ns } else { 0 });
            ready.append(exchange.woken());
        }
        None => clock::sleep_until(until_ns),
    });
}

/// Rests on behalf of one user in the middle of its turn: for whom else bytes came is handed over
/// by the next [`rest`].
pub fn wait_in_turn(until_ns: u64) {
    EXCHANGE.with_borrow(|here| match here {
        Some(exchange) => exchange.borrow_mut().wait(until_ns),
        None => clock::sleep_until(until_ns),
    });
}

/// The thread's exchange, made for its first line.
fn thread_exchange() -> io::Result<Shared> {
    EXCHANGE.with_borrow_mut(|here| {
        if let Some(exchange) = here {
            return Ok(Rc::clone(exchange));
        }
        let made: Shared = Rc::new(RefCell::new(open()?));
        Ok(Rc::clone(here.insert(made)))
    })
}

/// io_uring, or epoll where that is refused (an old kernel, a container's filter, the setting
/// `kernel.io_uring_disabled`). `DYNO_WIRE`, `io_uring` or `epoll`, takes one and no other.
fn open() -> io::Result<Box<dyn Exchange>> {
    let asked = std::env::var("DYNO_WIRE").unwrap_or_default();
    if asked != "epoll" {
        match uring::Uring::new() {
            Ok(ring) => return Ok(Box::new(ring)),
            Err(cause) if asked == "io_uring" => return Err(cause),
            Err(_) => {}
        }
    }
    Ok(Box::new(poll::Poll::new()?))
}
