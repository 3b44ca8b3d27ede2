//! What tallying an event costs, in ns: `bench/run event-rate` starts it.
//!
//! It compiles the driver's own tally beside itself, since a program has no library to link. Prints
//! the ns of one counted event, then those of one look at the clock.
#![allow(dead_code)]

use std::hint::black_box;
use std::io::Write;

#[path = "../src/plan"]
mod plan {
    pub mod client_phase;
    pub mod error;
    pub mod event;
    pub mod phase;
    pub mod statement;
    pub mod turns;
}
#[path = "../src/schedule"]
mod schedule {
    pub mod clock;
    pub mod own_turns;
    pub mod timeline;
}
#[path = "../src/tally"]
mod tally {
    pub mod count;
    pub mod histogram;
}

use plan::error::Error;
use schedule::clock::now_ns;
use tally::count::{EventCounts, EventTimes};

/// Events per round; the fastest of some rounds is printed, since others only add.
const EVENTS: u64 = 2_000_000;
const ROUNDS: usize = 5;

fn main() -> Result<(), Error> {
    let mut tally = EventCounts::new(3_600)?;
    let tallied = fastest(|number| tally.done(played(number), 0));
    let looked = fastest(|_| {
        black_box(now_ns());
    });
    writeln!(std::io::stdout(), "{tallied:.1} {looked:.1}")
        .map_err(|cause| Error::host("cannot write to stdout").because(cause))
}

/// An event with a latency that wanders over the histogram as real ones do: 300 ns to 66 us.
fn played(number: u64) -> EventTimes {
    let latency_ns = 300 + (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48);
    let intended_ns = number * 400;
    EventTimes {
        intended_ns,
        begun_ns: intended_ns, // in a closed loop
        answered_ns: intended_ns + latency_ns,
    }
}

fn fastest(mut each: impl FnMut(u64)) -> f64 {
    let mut best_ns = u64::MAX;
    for _ in 0..ROUNDS {
        let began_ns = now_ns();
        for number in 0..EVENTS {
            each(black_box(number));
        }
        best_ns = best_ns.min(now_ns() - began_ns);
    }
    best_ns as f64 / EVENTS as f64
}
