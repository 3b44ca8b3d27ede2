//! The exchange of a thread: made for its first line, waited on for all of them.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use super::exchange::Exchange;
use super::{poll, uring};
use crate::schedule::clock;

thread_local! {
    pub static CURRENT_SLOT: Cell<u32> = const { Cell::new(0) };
    pub static EXCHANGE: RefCell<Option<Shared>> = const { RefCell::new(None) };
}

/// The thread's exchange, as its lines hold it.
pub type Shared = Rc<RefCell<Box<dyn Exchange>>>;

/// Says for whom the lines opened and used from now on are: a number that [`wait`] hands back.
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
/// by the next [`wait`].
pub fn wait_in_turn(until_ns: u64) {
    EXCHANGE.with_borrow(|here| match here {
        Some(exchange) => exchange.borrow_mut().wait(until_ns),
        None => clock::sleep_until(until_ns),
    });
}

/// The thread's exchange, made for its first line.
pub fn thread_exchange() -> io::Result<Shared> {
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
