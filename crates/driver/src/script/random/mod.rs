//! Random numbers as sysbench's scripts know them: reproducible, one stream per user.
//!
//! The distributions are sysbench 1.0.20's (and its later Zipfian one); the numbers themselves are
//! not, because sysbench seeds from the clock.

pub mod numbers;
#[cfg(test)]
mod tests;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;

use crate::schedule::fnv1a;
use crate::sessions::Value;
use numbers::{Unique, UniqueInRange, Zipfian};

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
    unique_in: UniqueInRange,
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
            unique_in: UniqueInRange::new(stream, origin.number, origin.users),
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

    /// A whole number from a to b; no user of this stream gets another's before it has had its
    /// share.
    pub fn unique_in(&mut self, a: f64, b: f64) -> f64 {
        let (a, b) = (a.ceil().max(0.0), b.floor().max(0.0));
        let (first, last) = (a as u64, b as u64);
        first.saturating_add(self.unique_in.next(first, last)) as f64
    }
}

/// One more name in a stream's seed.
fn named(seed: u64, name: &str) -> u64 {
    fnv1a(seed ^ 0xcbf2_9ce4_8422_2325, name.bytes().chain([0xff]))
}

// What the options `rand_*` say: a distribution and the parameters of all.

/// What the options `rand_*` say.
#[derive(Debug, Clone)]
pub struct Shape {
    /// The distribution behind [`Rand::by_default`].
    pub default: Distribution,
    /// Numbers averaged for one of the gaussian kind.
    pub iterations: u32,
    /// Percent of the range that is special.
    pub special_percent: f64,
    /// Percent of numbers that fall there.
    pub special_share: f64,
    /// Shape of the Pareto distribution.
    pub pareto_h: f64,
    /// Exponent of the Zipfian distribution.
    pub zipfian_exponent: f64,
}

/// sysbench's distributions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// Every number alike.
    Uniform,
    /// The mean of some uniform numbers.
    Gaussian,
    /// A gaussian background and a uniform hot spot in the middle.
    Special,
    /// A power of a uniform number.
    Pareto,
    /// P(k) ~ 1 / k^exponent.
    Zipfian,
}

impl Distribution {
    /// By its name in the option `rand_type`.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "uniform" => Self::Uniform,
            "gaussian" => Self::Gaussian,
            "special" => Self::Special,
            "pareto" => Self::Pareto,
            "zipfian" => Self::Zipfian,
            _ => return None,
        })
    }
}

// Random values of a declared event: `sysbench.rand`'s functions, called when it is played.

/// One of the functions of `sysbench.rand`, with its arguments.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    Default(f64, f64),
    Uniform(f64, f64),
    Gaussian(f64, f64),
    Special(f64, f64),
    Pareto(f64, f64),
    Zipfian(f64, f64),
    Unique {},
    UniformDouble {},
    String(String),
    Varstring(f64, f64),
    /// Not one of `sysbench.rand`.
    Compressible(f64, f64, f64),
}

impl Draw {
    /// Puts the next value into a slot, in the place of the last one.
    #[inline]
    pub fn put(&self, slot: &mut Value, rand: &mut Rand) {
        let number = match self {
            Self::Default(a, b) => rand.by_default(*a, *b),
            Self::Uniform(a, b) => rand.uniform(*a, *b),
            Self::Gaussian(a, b) => rand.gaussian(*a, *b),
            Self::Special(a, b) => rand.special(*a, *b),
            Self::Pareto(a, b) => rand.pareto(*a, *b),
            Self::Zipfian(a, b) => rand.zipfian(*a, *b),
            Self::Unique {} => f64::from(rand.unique()),
            Self::UniformDouble {} => return *slot = Value::Real(rand.double()),
            Self::String(template) => return rand.string(template.as_bytes(), text(slot)),
            Self::Compressible(least, most, percent) => {
                return rand.compressible(*least, *most, *percent, text(slot));
            }
            Self::Varstring(least, most) => return rand.varstring(*least, *most, text(slot)),
        };
        *slot = Value::Integer(number as i64);
    }
}

/// The slot's text, emptied.
fn text(slot: &mut Value) -> &mut Vec<u8> {
    if !matches!(slot, Value::Text(_)) {
        *slot = Value::Text(Vec::new());
    }
    match slot {
        Value::Text(text) => {
            text.clear();
            text
        }
        _ => unreachable!(),
    }
}
