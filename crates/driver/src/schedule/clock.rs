//! CLOCK_MONOTONIC in nanoseconds, and waiting by it.

use std::num::NonZeroU64;
use std::time::Duration;

use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// One second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// A time that is not known, or does not come.
pub const NEVER: u64 = u64::MAX;

/// The last stretch before a deadline is spun: a sleep ends late by timer slack and wake-up.
pub const SPIN_NS: u64 = 80_000;

/// No sleep is longer, so that a stop is seen soon.
pub const NAP_NS: u64 = 20_000_000;

/// How long after a phase's end an answer is waited for.
pub const PATIENCE_NS: u64 = if cfg!(test) { SECOND_NS / 20 } else { 10 * SECOND_NS };

/// Now.
#[inline]
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * SECOND_NS + now.tv_nsec as u64
}

/// What all threads of this process have used of the cores.
pub fn process_cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as u64 * SECOND_NS + used.tv_nsec as u64
}

/// Seconds to nanoseconds; negative and NaN become 0.
pub fn ns(seconds: f64) -> u64 {
    (seconds * SECOND_NS as f64) as u64
}

/// As the kernel takes it.
pub fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / SECOND_NS) as i64, tv_nsec: (ns % SECOND_NS) as i64 }
}

/// Sleeps until a time, and the kernel's lateness longer; 0: does not; never: for a nap.
pub fn sleep_until(until_ns: u64) {
    let until_ns = if until_ns == u64::MAX { now_ns() + NAP_NS } else { until_ns };
    if until_ns > 0 {
        // A signal may end it early: whoever rests looks around and comes again.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &timespec(until_ns));
    }
}

/// Sleeps towards a deadline, but neither the whole way nor long; `now` where it is near.
pub fn doze_until(deadline_ns: u64, now: u64) {
    let rest_ns = deadline_ns.saturating_sub(now);
    if rest_ns > SPIN_NS {
        std::thread::sleep(Duration::from_nanos((rest_ns - SPIN_NS).min(NAP_NS)));
    } else {
        std::hint::spin_loop();
    }
}

/// Waits until a deadline, exactly.
pub fn wait_until(deadline_ns: u64) {
    loop {
        let now = now_ns();
        if now >= deadline_ns {
            return;
        }
        doze_until(deadline_ns, now);
    }
}

/// Asks the kernel to end this thread's sleeps on time; where it refuses, spinning bridges it.
pub fn sharpen_sleep() {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}
