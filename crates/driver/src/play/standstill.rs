//! How much of a phase's own time its driver stood still: stopped by a signal, paused with its
//! machine, or kept from every core.
//!
//! The monitor looks up every so often. Where it comes late, and the process used no CPU meanwhile,
//! no thread of it ran. Time in which others had their turn is not its own: there it may be
//! suspended.

use crate::schedule::clock::SECOND_NS;

/// Less than that beyond the monitor's nap is the scheduler's.
const LATE_NS: u64 = SECOND_NS / 20;

/// What the monitor saw when it looked up.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moment {
    /// CLOCK_MONOTONIC.
    pub monotonic_ns: u64,
    /// The phase's clock, which runs in its own turns.
    pub phase_ns: u64,
    /// What all threads of the process have used of the cores.
    pub cpu_ns: u64,
}

/// The standstills of a phase so far.
#[derive(Debug)]
pub struct Standstill {
    nap_ns: u64,
    last: Moment,
    /// In the phase's own time, together.
    pub own_ns: u64,
    /// The longest, by CLOCK_MONOTONIC.
    pub longest_ns: u64,
}

impl Standstill {
    /// None yet; the monitor naps for so long at the most, from `first` on.
    pub fn new(nap_ns: u64, first: Moment) -> Self {
        Self { nap_ns, last: first, own_ns: 0, longest_ns: 0 }
    }

    /// Adds what passed since the monitor looked up last.
    pub fn look(&mut self, now: Moment) {
        let last = std::mem::replace(&mut self.last, now);
        let own_ns = now.phase_ns.saturating_sub(last.phase_ns).saturating_sub(self.nap_ns);
        let used_ns = now.cpu_ns.saturating_sub(last.cpu_ns);
        if own_ns > LATE_NS && used_ns < own_ns / 2 {
            self.own_ns += own_ns;
            let gap_ns = now.monotonic_ns.saturating_sub(last.monotonic_ns);
            self.longest_ns = self.longest_ns.max(gap_ns.saturating_sub(self.nap_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(monotonic_ms: u64, phase_ms: u64, cpu_ms: u64) -> Moment {
        let [monotonic_ns, phase_ns, cpu_ns] = [monotonic_ms, phase_ms, cpu_ms].map(|it| it * MS);
        Moment { monotonic_ns, phase_ns, cpu_ns }
    }

    fn seen(moments: &[Moment]) -> (u64, u64) {
        let mut found = Standstill::new(50 * MS, at(0, 0, 0));
        moments.iter().for_each(|moment| found.look(*moment));
        (found.own_ns / MS, found.longest_ns / MS)
    }

    #[test]
    fn a_monitor_that_looks_up_in_time_has_seen_nothing() {
        assert_eq!(seen(&[at(50, 50, 1), at(110, 110, 2), at(205, 205, 2)]), (0, 0));
    }

    #[test]
    fn a_process_without_cpu_stood_still_in_its_own_time() {
        assert_eq!(seen(&[at(50, 25, 1), at(4100, 2050, 2), at(4150, 2075, 3)]), (1975, 4000));
        assert_eq!(seen(&[at(350, 350, 0), at(550, 550, 0)]), (450, 300));
    }

    #[test]
    fn workers_that_leave_the_monitor_no_core_are_at_work() {
        assert_eq!(seen(&[at(250, 250, 240)]), (0, 0));
    }

    #[test]
    fn a_process_is_suspended_in_others_time() {
        assert_eq!(seen(&[at(50, 50, 1), at(4000, 60, 1)]), (0, 0));
    }
}
