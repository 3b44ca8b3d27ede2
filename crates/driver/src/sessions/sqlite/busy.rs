//! Waiting for a lock: counted, with SQLite's own back-off, and limited like `busy_timeout`.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Milliseconds between two looks at a lock, as SQLite's own handler waits (main.c); then 100.
const DELAYS_MS: [u64; 11] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50];

/// What a connection's busy handler knows. Shared with SQLite, hence the cells.
pub struct Busy {
    timeout: Duration,
    since: Cell<Instant>,
    /// Times that the engine said busy and was asked again, to be taken.
    pub count: Cell<u64>,
    /// The handler was asked during the current statement.
    pub asked: Cell<bool>,
}

impl Busy {
    /// Gives up after so long.
    pub fn new(timeout_ms: u64) -> Self {
        Self {
            timeout: Duration::from_millis(timeout_ms),
            since: Cell::new(Instant::now()),
            count: Cell::new(0),
            asked: Cell::new(false),
        }
    }

    /// Sleeps before the next look; false: the time is up.
    pub fn wait(&self, times: usize) -> bool {
        self.asked.set(true);
        if times == 0 {
            self.since.set(Instant::now());
        }
        let delay = Duration::from_millis(DELAYS_MS.get(times).copied().unwrap_or(100));
        let rest = self.timeout.saturating_sub(self.since.get().elapsed());
        if rest.is_zero() {
            return false;
        }
        self.count.set(self.count.get() + 1);
        std::thread::sleep(delay.min(rest));
        true
    }
}
