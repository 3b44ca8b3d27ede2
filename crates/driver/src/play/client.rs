//! What one of several drivers tells of itself and its host beside a phase's counts.
//!
//! It is read before the start and after the last answer, from the kernel's own sums: the threads'
//! time on a core and their waits for one (schedstat), and the host's (`/proc/stat`).

use std::fs::read_to_string;

use super::phase_state::PhaseState;
use crate::plan::client_phase::ClientPhase;

/// What a thread had of the cores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadTimes {
    /// It ran.
    pub ran_ns: u64,
    /// It stood ready and waited.
    pub waited_ns: u64,
}

impl ThreadTimes {
    /// The calling thread's so far; nothing where the kernel does not tell.
    pub fn read() -> Self {
        let told = read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let mut numbers = told.split_whitespace().map(|it| it.parse().unwrap_or(0));
        Self { ran_ns: numbers.next().unwrap_or(0), waited_ns: numbers.next().unwrap_or(0) }
    }

    /// The calling thread's since these.
    pub fn since(&self) -> Self {
        let now = Self::read();
        Self {
            ran_ns: now.ran_ns.saturating_sub(self.ran_ns),
            waited_ns: now.waited_ns.saturating_sub(self.waited_ns),
        }
    }
}

/// What the cores of a host did, all together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostTimes {
    cores: u32,
    busy_ns: u64,
    stolen_ns: u64,
}

/// A tick of `/proc/stat`: `USER_HZ` is 100 wherever Linux runs on a machine of ours.
const TICK_NS: u64 = 10_000_000;

impl HostTimes {
    /// Those so far; none where the kernel does not tell.
    pub fn read() -> Option<Self> {
        Self::parse(&read_to_string("/proc/stat").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let total = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks = total.split_whitespace().map(|it| it.parse().ok());
        let ticks: Vec<u64> = ticks.collect::<Option<_>>()?;
        // user, nice, system, idle, iowait, irq, softirq, steal; guests are in the first two
        let at = |column: usize| ticks.get(column).copied().unwrap_or(0);
        let busy = [0, 1, 2, 5, 6].map(at).iter().sum::<u64>();
        let is_core = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
        let cores = text.lines().filter(is_core).count() as u32;
        Some(Self { cores, busy_ns: busy * TICK_NS, stolen_ns: at(7) * TICK_NS })
    }
}

/// What a phase was for its driver and its host; of each worker when it began, and what its thread
/// spent.
pub fn describe_client(
    phase: &PhaseState,
    workers: &[(u64, ThreadTimes)],
    [before, after]: [Option<HostTimes>; 2],
) -> ClientPhase {
    let began = || workers.iter().map(|it| it.0);
    let host = before.zip(after);
    ClientPhase {
        phase: phase.name(),
        users: phase.streams.iter().map(|it| it.own_users).sum(),
        threads: workers.len() as u32,
        first_began_ns: began().min().unwrap_or(0),
        last_began_ns: began().max().unwrap_or(0),
        busiest_ns: workers.iter().map(|it| it.1.ran_ns).max().unwrap_or(0),
        waited_ns_max: workers.iter().map(|it| it.1.waited_ns).max().unwrap_or(0),
        cores: host.map(|(_, after)| after.cores),
        host_busy_ns: host.map(|(before, after)| after.busy_ns.saturating_sub(before.busy_ns)),
        host_stolen_ns: host
            .map(|(before, after)| after.stolen_ns.saturating_sub(before.stolen_ns)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_disk_is_not_work_and_stolen_time_is_apart() {
        let text = "cpu  1 2 3 100 50 4 5 6 1 0\ncpu0 1 0\ncpu1 0 2\nintr 7\n";
        let found = HostTimes::parse(text).unwrap();
        assert_eq!((found.cores, found.busy_ns / TICK_NS, found.stolen_ns / TICK_NS), (2, 15, 6));
        assert_eq!(HostTimes::parse("intr 7"), None);
    }

    #[test]
    fn a_thread_that_works_has_run() {
        let before = ThreadTimes::read();
        let end_ns = crate::schedule::clock::now_ns() + 30_000_000;
        while crate::schedule::clock::now_ns() < end_ns {}
        assert!(before.since().ran_ns > 0);
    }
}
