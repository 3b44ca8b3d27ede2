//! `dyno-driver cache-lines`: how long a cache line takes from one core to another, and how long a
//! thread that sleeps there takes to run once it is woken.
//!
//! Two threads, each pinned to its core, store into one word in turn and wait for each other's
//! store. They wait by plain loads: a pause instruction takes longer than the line on some cores.
//! Then the second sleeps between the stores, and the first works for a while before each.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};

use rustix::thread::{CpuSet, sched_getaffinity};
use serde::Serialize;
use serde_json::json;

use crate::plan::error::Error;
use crate::plan::parent;
use crate::play::pin_thread;
use crate::schedule::clock::{SECOND_NS, now_ns};

/// Pairs of cores at most, and what one may take where something else runs on its cores.
const PAIRS: usize = 8;
const PAIR_NS: u64 = 3 * SECOND_NS;
/// Bursts of a pair, and the round trips of one: so short that most are not interrupted.
const BURSTS: usize = 301;
const ROUNDS: u32 = 400;
/// Polls after which one who waits looks at the clock: more than any line takes.
const POLLS: u32 = 1 << 16;
/// Wake-ups of a pair, and how long the one who wakes works before each: the other core rests.
const WAKEUPS: usize = 200;
const BETWEEN_WAKEUPS_NS: u64 = 300_000;
/// The second thread is not there yet: no round's number.
const ABSENT: u32 = u32::MAX;

/// Two lines of 64 bytes, since some cores fetch the neighbour, too.
#[repr(align(128))]
struct Line<T>(T);

/// What the two threads share: the word, and that there are no more rounds.
struct Shared {
    word: Line<AtomicU32>,
    is_over: Line<AtomicBool>,
}

#[derive(Serialize)]
struct Pair {
    cpus: [usize; 2],
    /// Half a round trip, the mean of each burst.
    one_way_ns: Vec<f64>,
    /// From before each wake-up until who slept has read the clock.
    wakeup_ns: Vec<u64>,
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
    let shared =
        Shared { word: Line(AtomicU32::new(ABSENT)), is_over: Line(AtomicBool::new(false)) };
    let crashed = |_| Error::driver("a thread that bounces a cache line has panicked");
    let one_way_ns = thread::scope(|scope| {
        let second = scope.spawn(|| answer(&shared, cpus[1]));
        let first = scope.spawn(|| bounce(&shared, cpus[0]));
        let found = first.join().map_err(crashed)?;
        second.join().map_err(crashed)??;
        found
    })?;
    let wakeups = &Wakeups { asked: AtomicUsize::new(0), woken_ns: AtomicU64::new(0) };
    let wakeup_ns = thread::scope(|scope| {
        let sleeper = scope.spawn(|| sleep(wakeups, cpus[1]));
        let woken = sleeper.thread().clone();
        let waker = scope.spawn(move || wake(wakeups, cpus[0], &woken));
        let found = waker.join().map_err(crashed)?;
        sleeper.join().map_err(crashed)??;
        found
    })?;
    Ok(Pair { cpus, one_way_ns, wakeup_ns })
}

/// Which wake-up was asked for, and when the last one was over: 0 while it is not.
struct Wakeups {
    asked: AtomicUsize,
    woken_ns: AtomicU64,
}

/// Sleeps until each wake-up, and says when it ran.
fn sleep(wakeups: &Wakeups, cpu: usize) -> Result<(), Error> {
    let pinned = pin_thread(cpu);
    for number in 1..=WAKEUPS {
        while wakeups.asked.load(Ordering::Acquire) < number {
            thread::park();
        }
        wakeups.woken_ns.store(now_ns(), Ordering::Release);
    }
    pinned
}

/// Wakes the other, and waits each time until it ran. That needs no time limit: the kernel runs
/// whoever is woken, however crowded its core is.
fn wake(wakeups: &Wakeups, cpu: usize, sleeper: &Thread) -> Result<Vec<u64>, Error> {
    let pinned = pin_thread(cpu);
    let mut found = Vec::with_capacity(WAKEUPS);
    for number in 1..=WAKEUPS {
        let until_ns = now_ns() + BETWEEN_WAKEUPS_NS;
        while now_ns() < until_ns {}
        wakeups.woken_ns.store(0, Ordering::Relaxed);
        let began_ns = now_ns();
        wakeups.asked.store(number, Ordering::Release);
        sleeper.unpark();
        while wakeups.woken_ns.load(Ordering::Acquire) == 0 {}
        found.push(wakeups.woken_ns.load(Ordering::Acquire) - began_ns);
    }
    pinned.map(|()| found)
}

/// Waits for odd numbers and stores the next one, until it is over.
fn answer(shared: &Shared, cpu: usize) -> Result<(), Error> {
    let word = &shared.word.0;
    let pinned = pin_thread(cpu);
    shared.is_over.0.fetch_or(pinned.is_err(), Ordering::Release);
    word.store(0, Ordering::Release);
    pinned?;
    loop {
        match word.load(Ordering::Acquire) {
            number if number % 2 == 1 => word.store(number + 1, Ordering::Release),
            _ if shared.is_over.0.load(Ordering::Relaxed) => return Ok(()),
            _ => {}
        }
    }
}

/// Stores odd numbers and waits for the answers; nothing where the other thread cannot.
fn bounce(shared: &Shared, cpu: usize) -> Result<Vec<f64>, Error> {
    let pinned = pin_thread(cpu);
    let mut found = Vec::with_capacity(BURSTS);
    let until_ns = now_ns() + PAIR_NS;
    if pinned.is_ok() && wait_for(&shared.word.0, 0, until_ns) {
        let mut began_ns = now_ns();
        while found.len() < BURSTS
            && began_ns < until_ns
            && !shared.is_over.0.load(Ordering::Acquire)
            && play_rounds(&shared.word.0, until_ns)
        {
            let ended_ns = now_ns();
            found.push((ended_ns - began_ns) as f64 / f64::from(2 * ROUNDS));
            began_ns = ended_ns;
        }
    }
    shared.is_over.0.store(true, Ordering::Release);
    pinned.map(|()| found)
}

/// One burst; false where the other thread has no core.
fn play_rounds(word: &AtomicU32, until_ns: u64) -> bool {
    (0..ROUNDS).all(|round| {
        word.store(2 * round + 1, Ordering::Release);
        wait_for(word, 2 * round + 2, until_ns)
    })
}

fn wait_for(word: &AtomicU32, wanted: u32, until_ns: u64) -> bool {
    let mut polls: u32 = 0;
    while word.load(Ordering::Acquire) != wanted {
        polls = polls.wrapping_add(1);
        if polls.is_multiple_of(POLLS) && now_ns() > until_ns {
            return false;
        }
    }
    true
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
