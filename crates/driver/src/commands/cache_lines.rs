//! `dyno-driver cache-lines`: how long a cache line takes from one core to another.
//!
//! Two threads, each pinned to its core, store into one word in turn and wait for each other's
//! store. They wait by plain loads: a pause instruction takes longer than the line on some cores.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use rustix::thread::{CpuSet, sched_getaffinity};
use serde::Serialize;
use serde_json::json;

use crate::plan::error::Error;
use crate::plan::parent;
use crate::play::pin_thread;
use crate::schedule::clock::{SECOND_NS, now_ns};

/// Pairs of cores at most, and what one may take where something else runs on its cores.
const PAIRS: usize = 8;
const PAIR_NS: u64 = SECOND_NS;
/// Bursts of a pair, and the round trips of one: so short that most are not interrupted.
const BURSTS: usize = 301;
const ROUNDS: u32 = 400;
/// Words that are no round's number: the second thread is not there yet; no more rounds.
const ABSENT: u32 = u32::MAX - 1;
const OVER: u32 = u32::MAX;

/// Two lines of 64 bytes, since some cores fetch the neighbour, too.
#[repr(align(128))]
struct Line(AtomicU32);

#[derive(Serialize)]
struct Pair {
    cpus: [usize; 2],
    /// Half a round trip, the mean of each burst.
    one_way_ns: Vec<f64>,
}

/// Measures pairs of the cores that we may run on; none where that is one core.
pub fn cache_lines() -> Result<ExitCode, Error> {
    let allowed = sched_getaffinity(None)
        .map_err(|cause| Error::host("cannot read our cores").because(cause))?;
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    let pairs = spread(&cpus).into_iter().map(measure).collect::<Result<Vec<Pair>, Error>>()?;
    parent::print_json(&json!({"pairs": pairs}))?;
    Ok(ExitCode::SUCCESS)
}

/// At most `PAIRS` of all pairs, equally spread over their list: near cores and far ones.
fn spread(cpus: &[usize]) -> Vec<[usize; 2]> {
    let rest = |at: usize| &cpus[at + 1..];
    let all: Vec<[usize; 2]> = (0..cpus.len())
        .flat_map(|at| rest(at).iter().map(move |other| [cpus[at], *other]))
        .collect();
    let most = all.len().min(PAIRS);
    (0..most).map(|number| all[number * all.len() / most]).collect()
}

fn measure(cpus: [usize; 2]) -> Result<Pair, Error> {
    let line = Line(AtomicU32::new(ABSENT));
    let word = &line.0;
    let one_way_ns = thread::scope(|scope| {
        let second = scope.spawn(|| answer(word, cpus[1]));
        let first = scope.spawn(|| bounce(word, cpus[0]));
        let crashed = |_| Error::driver("a thread that bounces a cache line has panicked");
        let found = first.join().map_err(crashed)?;
        second.join().map_err(crashed)??;
        found
    })?;
    Ok(Pair { cpus, one_way_ns })
}

/// Waits for odd numbers and stores the next one, until it is over.
fn answer(word: &AtomicU32, cpu: usize) -> Result<(), Error> {
    let pinned = pin_thread(cpu);
    word.store(if pinned.is_ok() { 0 } else { OVER }, Ordering::Release);
    pinned?;
    loop {
        match word.load(Ordering::Acquire) {
            OVER => return Ok(()),
            number if number % 2 == 1 => word.store(number + 1, Ordering::Release),
            _ => {}
        }
    }
}

/// Stores odd numbers and waits for the answers; nothing where the other thread cannot.
fn bounce(word: &AtomicU32, cpu: usize) -> Result<Vec<f64>, Error> {
    let pinned = pin_thread(cpu);
    while word.load(Ordering::Acquire) == ABSENT {}
    if pinned.is_err() || word.load(Ordering::Acquire) == OVER {
        word.store(OVER, Ordering::Release);
        pinned?;
        return Ok(Vec::new());
    }
    let (until_ns, mut found) = (now_ns() + PAIR_NS, Vec::with_capacity(BURSTS));
    let mut began_ns = now_ns();
    while found.len() < BURSTS && began_ns < until_ns {
        for round in 0..ROUNDS {
            word.store(2 * round + 1, Ordering::Release);
            while word.load(Ordering::Acquire) != 2 * round + 2 {}
        }
        let ended_ns = now_ns();
        found.push((ended_ns - began_ns) as f64 / f64::from(2 * ROUNDS));
        began_ns = ended_ns;
    }
    word.store(OVER, Ordering::Release);
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_spread_over_all_cores() {
        assert_eq!(spread(&[3]), Vec::<[usize; 2]>::new());
        assert_eq!(spread(&[1, 4]), [[1, 4]]);
        let many: Vec<usize> = (0..64).collect();
        let pairs = spread(&many);
        assert_eq!(pairs.len(), PAIRS);
        assert!(pairs.iter().any(|pair| pair[0] > 31) && pairs.iter().all(|it| it[0] < it[1]));
    }

    #[test]
    fn a_core_that_is_not_there_is_an_error_and_no_wait_without_end() {
        for cpus in [[CpuSet::MAX_CPU, 0], [0, CpuSet::MAX_CPU]] {
            assert!(measure(cpus).is_err());
        }
    }
}
