//! When a stream's events are due: a pure function of (seed, phase, stream).
//!
//! Every worker walks its own copy, so that who takes which arrival needs one atomic number and no
//! lock (`stream`); and the end of a phase can be checked by walking it once more. Also the seeds
//! that all random numbers begin with, the clock (`clock`), whose turn it is (`own_turns`),
//! what counts of it (`timeline`), and a worker's reading of that (`phase_clock`).

pub mod clock;
mod own_turns;
pub mod phase_clock;
pub mod stream;
pub mod timeline;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::plan::client::Deal;
use crate::plan::error::Error;
use crate::plan::phase::Pace;
use clock::SECOND_NS;
use timeline::Timeline;

/// The arrivals of one open-loop stream, walked forward.
#[derive(Debug, Clone)]
pub struct Schedule {
    gaps: Gaps,
    /// Which arrivals are ours, where several drivers play them; else all are.
    deal: Option<Deal>,
    rate_per_s: f64,
    ticket: u64,
    at_ns: f64,
}

#[derive(Debug, Clone)]
enum Gaps {
    Uniform,
    Poisson(Box<Xoshiro256PlusPlus>),
    Burst,
}

impl Schedule {
    /// The schedule of a pace; none for a closed loop.
    pub fn new(pace: &Pace, seed: u64) -> Result<Option<Self>, Error> {
        let gaps = match pace {
            // Each user knows its own times (`play/user_slot.rs`).
            Pace::Closed | Pace::Recorded { .. } => return Ok(None),
            Pace::Uniform { .. } => Gaps::Uniform,
            Pace::Burst { .. } => Gaps::Burst,
            Pace::Poisson { .. } => {
                Gaps::Poisson(Box::new(Xoshiro256PlusPlus::seed_from_u64(seed)))
            }
        };
        let rate_per_s = pace.rate_per_s().unwrap_or_default();
        if !rate_per_s.is_finite() || rate_per_s <= 0.0 {
            return Err(Error::user(format!("a pace must be above 0 events/s (got {rate_per_s})")));
        }
        let mut schedule = Self { gaps, deal: None, rate_per_s, ticket: 0, at_ns: 0.0 };
        schedule.at_ns = schedule.random_gap_ns();
        Ok(Some(schedule))
    }

    /// The same schedule, of whose arrivals only some are ours: tickets number those.
    pub fn keep_own(self, deal: Option<Deal>) -> Self {
        Self { deal, ..self }
    }

    /// When an arrival is due on a phase's clock; tickets must not go back.
    #[inline]
    pub fn due_ns(&mut self, ticket: u64, timeline: &Timeline) -> u64 {
        let gap_ns = match self.gaps {
            Gaps::Uniform => (SECOND_NS as f64 / self.rate_per_s) as u64,
            Gaps::Burst => SECOND_NS,
            Gaps::Poisson(_) => 0,
        };
        let number = self.deal.map_or(ticket, |deal| deal.find_number(ticket));
        timeline.arrival_ns(self.arrival_ns(number), gap_ns)
    }

    /// Nanoseconds of the schedule from its beginning to an arrival.
    fn arrival_ns(&mut self, ticket: u64) -> u64 {
        match self.gaps {
            Gaps::Uniform => (ticket as f64 / self.rate_per_s * SECOND_NS as f64) as u64,
            Gaps::Burst => (ticket as f64 / self.rate_per_s) as u64 * SECOND_NS,
            Gaps::Poisson(_) => {
                debug_assert!(ticket >= self.ticket, "a schedule is walked forward");
                for _ in self.ticket..ticket {
                    self.at_ns += self.random_gap_ns();
                }
                self.ticket = ticket;
                self.at_ns as u64
            }
        }
    }

    fn random_gap_ns(&mut self) -> f64 {
        let Gaps::Poisson(random) = &mut self.gaps else {
            return 0.0;
        };
        let uniform: f64 = random.random();
        -(1.0 - uniform).ln() / self.rate_per_s * SECOND_NS as f64
    }

    /// How many of the tickets `from..to` are due on a phase's clock before `end_ns`, at times that
    /// count; walks on a copy.
    pub fn count_due(
        &self,
        tickets: std::ops::Range<u64>,
        timeline: &Timeline,
        end_ns: u64,
        counts: impl Fn(u64) -> bool,
    ) -> u64 {
        let mut walk = self.clone();
        let arrivals = tickets.map(|ticket| walk.due_ns(ticket, timeline));
        arrivals.take_while(|at| *at < end_ns).filter(|at| counts(*at)).count() as u64
    }
}

/// How many arrivals of a schedule are due, asked again and again: each arrival is walked once,
/// however often it is asked.
pub struct DueCounter {
    schedule: Schedule,
    limit: u64,
    count: u64,
}

impl DueCounter {
    /// Of the tickets below a limit.
    pub fn new(schedule: Schedule, limit: u64) -> Self {
        Self { schedule, limit, count: 0 }
    }

    /// Those due on a phase's clock before a time, or before an earlier call's if that was later.
    pub fn count(&mut self, timeline: &Timeline, end_ns: u64) -> u64 {
        while self.count < self.limit && self.schedule.due_ns(self.count, timeline) < end_ns {
            self.count += 1;
        }
        self.count
    }
}

impl Pace {
    /// Events per second of the whole stream; none in a closed loop.
    pub fn rate_per_s(&self) -> Option<f64> {
        match self {
            Self::Closed => None,
            Self::Recorded { rate_per_s }
            | Self::Uniform { rate_per_s }
            | Self::Poisson { rate_per_s }
            | Self::Burst { rate_per_s } => Some(*rate_per_s),
        }
    }
}

// Seeds that differ by every name, alike on all machines and with all versions of Rust.

/// A stream's seed: by the trial's seed, and the names of its phase and its own.
pub fn seed_of(trial: u64, names: &[&str]) -> u64 {
    let bytes = names.iter().flat_map(|name| name.bytes().chain([0]));
    fnv1a(0xcbf2_9ce4_8422_2325, trial.to_le_bytes().into_iter().chain(bytes))
}

/// The hash FNV-1a of 64 bits, continued from an earlier one.
pub fn fnv1a(hash: u64, bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{seed_of, *};
    use crate::plan::client::Client;

    fn schedule(pace: &Pace, seed: u64) -> Schedule {
        Schedule::new(pace, seed).unwrap().unwrap()
    }

    #[test]
    fn uniform_arrivals_have_equal_gaps() {
        let mut uniform = schedule(&Pace::Uniform { rate_per_s: 1000.0 }, 1);
        let at: Vec<u64> = (0..4).map(|ticket| uniform.arrival_ns(ticket)).collect();
        assert_eq!(at, [0, 1_000_000, 2_000_000, 3_000_000]);
    }

    #[test]
    fn a_burst_is_a_whole_seconds_work_at_its_beginning() {
        let burst = schedule(&Pace::Burst { rate_per_s: 2.5 }, 1);
        let all = Timeline::new(0, None, true);
        let due = |from, to| burst.count_due(0..100, &all, to, |at| at >= from);
        let in_second = |s: u64| due(s * SECOND_NS, s * SECOND_NS + 1);
        assert_eq!([in_second(0), in_second(1), in_second(2), in_second(3)], [3, 2, 3, 2]);
    }

    #[test]
    fn poisson_arrivals_have_exponential_gaps_of_the_asked_mean() {
        let mut poisson = schedule(&Pace::Poisson { rate_per_s: 1e6 }, 7);
        let at: Vec<u64> = (0..100_000).map(|ticket| poisson.arrival_ns(ticket)).collect();
        let gaps: Vec<f64> = at.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let longer = gaps.iter().filter(|gap| **gap > 1000.0).count() as f64 / gaps.len() as f64;
        assert!((mean - 1000.0).abs() < 20.0, "mean gap {mean}");
        assert!((longer - (-1f64).exp()).abs() < 0.01, "share over the mean {longer}");
    }

    #[test]
    fn copies_agree_however_they_are_walked() {
        let mut every = schedule(&Pace::Poisson { rate_per_s: 50.0 }, 3);
        let mut some = every.clone();
        let at: Vec<u64> = (0..100).map(|ticket| every.arrival_ns(ticket)).collect();
        for ticket in (0..100).step_by(7) {
            assert_eq!(some.arrival_ns(ticket), at[ticket as usize]);
        }
    }

    #[test]
    fn arrivals_that_are_counted_again_and_again_are_those_counted_at_once() {
        let all = Timeline::new(0, None, true);
        for pace in [Pace::Poisson { rate_per_s: 1e4 }, Pace::Burst { rate_per_s: 7.5 }] {
            let schedule = schedule(&pace, 5);
            let mut counter = DueCounter::new(schedule.clone(), 20_000);
            for end_ns in [0, 1, SECOND_NS, SECOND_NS, 2 * SECOND_NS + 1, 3600 * SECOND_NS] {
                let at_once = schedule.count_due(0..20_000, &all, end_ns, |_| true);
                assert_eq!(counter.count(&all, end_ns), at_once);
            }
            assert_eq!(counter.count, 20_000);
        }
    }

    #[test]
    fn several_clients_arrivals_are_together_those_of_one_schedule() {
        let all = Timeline::new(0, None, true);
        let due = |mut it: Schedule| {
            let at = (0..).map(|ticket| it.due_ns(ticket, &all));
            at.take_while(|at| *at < 9 * SECOND_NS).collect::<Vec<u64>>()
        };
        let paces = [
            Pace::Poisson { rate_per_s: 300.0 },
            Pace::Uniform { rate_per_s: 70.0 },
            Pace::Burst { rate_per_s: 7.5 },
        ];
        for (pace, (of, before, users)) in paces.iter().zip([(3, 0, 7), (2, 3, 5), (3, 1, 4)]) {
            let clients = (0..of).map(|own| Client { own, of });
            let own = |it: Client| schedule(pace, 5).keep_own(it.deal_arrivals(before, users));
            let mut dealt: Vec<u64> = clients.flat_map(|it| due(own(it))).collect();
            dealt.sort_unstable();
            assert_eq!(dealt, due(schedule(pace, 5)));
        }
    }

    #[test]
    fn a_pace_of_nothing_is_refused() {
        assert!(Schedule::new(&Pace::Uniform { rate_per_s: 0.0 }, 1).is_err());
        assert!(Schedule::new(&Pace::Poisson { rate_per_s: f64::NAN }, 1).is_err());
    }

    #[test]
    fn seeds_differ_by_trial_phase_and_stream() {
        let seeds = [
            seed_of(1, &["qr100", "writers"]),
            seed_of(2, &["qr100", "writers"]),
            seed_of(1, &["qr500", "writers"]),
            seed_of(1, &["qr100", "readers"]),
            seed_of(1, &["qr100writers", ""]),
        ];
        let distinct: std::collections::BTreeSet<u64> = seeds.into_iter().collect();
        assert_eq!(distinct.len(), seeds.len());
    }
}
