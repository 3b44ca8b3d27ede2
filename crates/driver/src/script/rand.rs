//! Random numbers as sysbench's scripts know them: reproducible, one stream per user.
//!
//! The distributions are sysbench 1.0.20's (and its later Zipfian one); the numbers themselves are
//! not, because sysbench seeds from the clock.

mod numbers;
mod shape;
#[cfg(test)]
mod tests;
mod text;
mod unique;
mod zipfian;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub use shape::{Distribution, Shape};
use unique::Unique;
use zipfian::Zipfian;

use crate::schedule::seed::fnv1a;

/// Where a stream of random numbers begins.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// The trial's seed.
    pub seed: u64,
    /// Command, phase and stream.
    pub names: [&'a str; 3],
    /// The user's number within its stream.
    pub number: u32,
    /// Users of the stream.
    pub users: u32,
}

/// One user's random numbers: `numbers.rs` has the distributions, `text.rs` the strings.
pub struct Rand {
    rng: Xoshiro256PlusPlus,
    shape: Shape,
    pareto_power: f64,
    zipfian: Zipfian,
    unique: Unique,
}

impl Rand {
    /// The stream of one user: the same origin gives the same numbers.
    pub fn new(origin: &Origin, shape: Shape) -> Self {
        let stream = origin.names.iter().fold(origin.seed, |seed, name| named(seed, name));
        let first_unique = (stream as u32).wrapping_add(origin.number);
        Self {
            rng: Xoshiro256PlusPlus::seed_from_u64(stream ^ (u64::from(origin.number) << 32 | 1)),
            pareto_power: shape.pareto_h.ln() / (1.0 - shape.pareto_h).ln(),
            zipfian: Zipfian::new(shape.zipfian_exponent),
            unique: Unique::new(first_unique, origin.users, origin.seed),
            shape,
        }
    }

    /// 0 ≤ x < 1.
    pub fn double(&mut self) -> f64 {
        self.rng.random::<f64>()
    }

    /// 32 random bits.
    pub fn word(&mut self) -> u32 {
        self.rng.random::<u32>()
    }

    /// A whole number from 0 on, below `count` (Lemire's multiply).
    #[inline]
    pub fn below(&mut self, count: u64) -> u64 {
        let product = u128::from(self.rng.random::<u64>()) * u128::from(count);
        (product >> 64) as u64
    }

    /// A 32-bit number that no other user of this stream gets.
    pub fn unique(&mut self) -> u32 {
        self.unique.next()
    }
}

/// One more name in a stream's seed.
fn named(seed: u64, name: &str) -> u64 {
    fnv1a(seed ^ 0xcbf2_9ce4_8422_2325, name.bytes().chain([0xff]))
}
