//! Numbers from a to b by each of the distributions, unique numbers, random texts.

use std::collections::BTreeMap;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Distribution, Rand};
use crate::schedule::fnv1a;

impl Rand {
    /// From a to b, both included, by the option `rand_type`.
    pub fn by_default(&mut self, a: f64, b: f64) -> f64 {
        match self.shape.default {
            Distribution::Uniform => self.uniform(a, b),
            Distribution::Gaussian => self.gaussian(a, b),
            Distribution::Special => self.special(a, b),
            Distribution::Pareto => self.pareto(a, b),
            Distribution::Zipfian => self.zipfian(a, b),
        }
    }

    /// Every whole number from a to b alike.
    pub fn uniform(&mut self, a: f64, b: f64) -> f64 {
        let share = self.double();
        scaled(a, b, share)
    }

    /// The mean of `rand_spec_iter` uniform numbers.
    pub fn gaussian(&mut self, a: f64, b: f64) -> f64 {
        let mean = self.mean();
        scaled(a, b, mean)
    }

    /// `rand_spec_res` percent in the middle `rand_spec_pct` percent, the rest gaussian.
    pub fn special(&mut self, a: f64, b: f64) -> f64 {
        let width = b.trunc() - a.trunc();
        let rnd = self.double();
        if rnd < 1.0 - self.shape.special_share / 100.0 {
            return a.trunc() + (self.mean() * width).trunc();
        }
        let spot = width * self.shape.special_percent / 100.0;
        let within = rnd * (spot + 1.0) + width / 2.0 - spot / 2.0;
        a.trunc() + within.trunc().min(width.max(0.0))
    }

    /// A power of a uniform number: small ones are frequent.
    pub fn pareto(&mut self, a: f64, b: f64) -> f64 {
        let share = self.double().powf(self.pareto_power);
        scaled(a, b, share)
    }

    /// P(a + k - 1) ~ 1 / k^`rand_zipfian_exp`.
    pub fn zipfian(&mut self, a: f64, b: f64) -> f64 {
        let numbers = (b.trunc() - a.trunc() + 1.0).max(1.0);
        let rng = &mut self.rng;
        let k = self.zipfian.sample(numbers, || rng.random::<f64>());
        a.trunc() + k - 1.0
    }

    fn mean(&mut self) -> f64 {
        let iterations = self.shape.iterations.max(1);
        (0..iterations).map(|_| self.double()).sum::<f64>() / f64::from(iterations)
    }
}

/// The whole number at a share of the range from a to b; bounds are cut to whole as in sysbench.
fn scaled(a: f64, b: f64, share: f64) -> f64 {
    let (a, b) = (whole(a), whole(b));
    let number = a + whole(share * (b - a + 1.0));
    if a <= b { number.clamp(a, b) } else { number }
}

/// `trunc` without the call into the C library that it is on x86-64's oldest processors; beyond
/// 2^53 every number is whole.
#[inline]
fn whole(x: f64) -> f64 {
    if x.abs() < 9_007_199_254_740_992.0 { (x as i64) as f64 } else { x }
}

// Numbers of a Zipfian distribution.

/// Rejection-inversion after Hörmann & Derflinger, "Rejection-inversion to generate variates from
/// monotone discrete distributions", ACM TOMACS 6.3 (1996), their ZRI with v = 0.
pub struct Zipfian {
    exponent: f64,
    shortcut: f64,
    low: f64,
    numbers: f64,
    high: f64,
}

impl Zipfian {
    /// By its exponent.
    pub fn new(exponent: f64) -> Self {
        let mut it = Self { exponent, shortcut: 0.0, low: 0.0, numbers: 0.0, high: 0.0 };
        it.low = it.integral(1.5) - 1.0;
        it.shortcut = 2.0 - it.inverse(it.integral(2.5) - it.hat(2.0));
        it
    }

    /// A number from 1 to `numbers`, from uniform ones.
    pub fn sample(&mut self, numbers: f64, mut double: impl FnMut() -> f64) -> f64 {
        if numbers.to_bits() != self.numbers.to_bits() {
            self.numbers = numbers;
            self.high = self.integral(numbers + 0.5);
        }
        loop {
            let u = self.high + double() * (self.low - self.high);
            let x = self.inverse(u);
            let k = (x + 0.5).floor().clamp(1.0, numbers);
            if k - x <= self.shortcut || u >= self.integral(k + 0.5) - self.hat(k) {
                return k;
            }
        }
    }

    /// The hat function 1 / x^exponent.
    fn hat(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    /// Its integral, (x^(1-e) - 1) / (1-e), which is ln x at e = 1.
    fn integral(&self, x: f64) -> f64 {
        let power = 1.0 - self.exponent;
        if power.abs() < 1e-9 { x.ln() } else { (power * x.ln()).exp_m1() / power }
    }

    fn inverse(&self, y: f64) -> f64 {
        let power = 1.0 - self.exponent;
        if power.abs() < 1e-9 {
            return y.exp();
        }
        ((y * power).max(-1.0).ln_1p() / power).exp()
    }
}

// 32-bit numbers that no two users of a stream share.

/// A user's numbers, in the order of Preshing's permutation (public domain): of the users of a
/// stream each has every n-th. Streams begin at hashed places, so that two of them overlap only by
/// chance: with a million numbers each, about once in 2000 pairs.
pub struct Unique {
    index: u32,
    step: u32,
    offset: u32,
}

impl Unique {
    /// From the place `start` on, every `users`-th number; streams of one seed share the order.
    pub fn new(start: u32, users: u32, seed: u64) -> Self {
        let offset = permuted(permuted(seed as u32).wrapping_add(0x4679_0905));
        Self { index: start, step: users.max(1), offset }
    }

    /// The next number.
    pub fn next(&mut self) -> u32 {
        let index = self.index;
        self.index = index.wrapping_add(self.step);
        permuted(permuted(index).wrapping_add(self.offset) ^ 0x5bf0_3635)
    }
}

/// A permutation of the 32-bit numbers by quadratic residues (J. Preshing, "How to Generate a
/// Sequence of Unique Random Integers", 2012).
fn permuted(x: u32) -> u32 {
    const PRIME: u32 = 4_294_967_291;
    if x >= PRIME {
        return x;
    }
    let residue = (u64::from(x) * u64::from(x) % u64::from(PRIME)) as u32;
    if x <= PRIME / 2 { residue } else { PRIME - residue }
}

// Numbers of a range that no two users of a stream share.

/// A user's places in permutations of ranges: of the users of a stream each has every n-th number,
/// and when all were given they come again.
pub struct UniqueInRange {
    key: u64,
    first: u64,
    step: u64,
    given: BTreeMap<(u64, u64), u64>,
}

impl UniqueInRange {
    /// The user `number` of so many; a stream's users share the key, and so the order.
    pub fn new(key: u64, number: u32, users: u32) -> Self {
        let step = u64::from(users.max(1));
        Self { key, first: u64::from(number), step, given: BTreeMap::new() }
    }

    /// The next number of the range, from 0 on.
    pub fn next(&mut self, first: u64, last: u64) -> u64 {
        let count = last.saturating_sub(first).saturating_add(1);
        let given = self.given.entry((first, last)).or_default();
        let place = self.first.wrapping_add(given.wrapping_mul(self.step)) % count;
        *given += 1;
        shuffled(place, count, self.key ^ first.rotate_left(32))
    }
}

/// A permutation of the numbers below `count`: a Feistel network over the next even power of two,
/// walked until it is in the range (Black & Rogaway, "Ciphers with Arbitrary Finite Domains", 2002,
/// section 3); four steps at most on average.
fn shuffled(mut number: u64, count: u64, key: u64) -> u64 {
    let half_bits = (64 - count.saturating_sub(1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1_u64 << half_bits) - 1;
    loop {
        for round in 0..4_u64 {
            let (left, right) = (number >> half_bits, number & mask);
            let mixed = fnv1a(key ^ round, right.to_le_bytes().into_iter());
            number = right << half_bits | (left ^ mixed >> 17) & mask;
        }
        if number < count {
            return number;
        }
    }
}

// Random text: templates, and letters that compress as wanted.

impl Rand {
    /// Appends a template's text: `#` becomes a digit, `@` a letter from a to z.
    pub fn string(&mut self, template: &[u8], text: &mut Vec<u8>) {
        let mut bits = Bits::default();
        for &byte in template {
            text.push(match byte {
                b'#' => b'0' + bits.below(10, &mut self.rng),
                b'@' => b'a' + bits.below(26, &mut self.rng),
                other => other,
            });
        }
    }

    /// Appends `least` to `most` letters; `percent` of them, the last, are random from a to z, and
    /// the rest are a.
    pub fn compressible(&mut self, least: f64, most: f64, percent: f64, text: &mut Vec<u8>) {
        let (least, most) = (least.min(most) as u64, most as u64);
        let length = (least + self.below(most - least + 1)) as usize;
        let varied = (length as f64 * (percent / 100.0).clamp(0.0, 1.0)) as usize;
        text.resize(text.len() + length - varied, b'a');
        let mut bits = Bits::default();
        text.extend((0..varied).map(|_| b'a' + bits.below(26, &mut self.rng)));
    }

    /// Appends `least` to `most` characters from `0` to `z`.
    pub fn varstring(&mut self, least: f64, most: f64, text: &mut Vec<u8>) {
        for _ in 0..self.uniform(least.min(most), most) as usize {
            text.push(self.byte(b'0', b'z' - b'0' + 1));
        }
    }

    fn byte(&mut self, first: u8, count: u8) -> u8 {
        first + ((u64::from(self.word()) * u64::from(count)) >> 32) as u8
    }
}

/// Letters that one draw of 64 bits serves: 8 take 38 of them, so the last is even to 2^-26.
const CHARACTERS_PER_DRAW: u32 = 8;

/// What is left of 64 random bits.
#[derive(Default)]
struct Bits {
    bits: u64,
    characters: u32,
}

impl Bits {
    /// A number below `count` from their top (Lemire's multiply).
    #[inline]
    fn below(&mut self, count: u8, rng: &mut Xoshiro256PlusPlus) -> u8 {
        if self.characters == 0 {
            *self = Self { bits: rng.random::<u64>(), characters: CHARACTERS_PER_DRAW };
        }
        self.characters -= 1;
        let product = u128::from(self.bits) * u128::from(count);
        self.bits = product as u64;
        (product >> 64) as u8
    }
}
