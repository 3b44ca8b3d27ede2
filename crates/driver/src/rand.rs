//! Random numbers as sysbench's scripts know them: reproducible, one stream per user.
//!
//! The distributions are sysbench 1.0.20's (and its later Zipfian one); the numbers themselves are
//! not, because sysbench seeds from the clock.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

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

/// One user's random numbers.
pub struct Rand {
    rng: Xoshiro256PlusPlus,
    shape: Shape,
    pareto_power: f64,
    zipfian: Zipfian,
    unique_next: u32,
    unique_step: u32,
    unique_offset: u32,
}

impl Rand {
    /// The stream of one user: the same origin gives the same numbers.
    pub fn new(origin: &Origin, shape: Shape) -> Self {
        let stream = origin.names.iter().fold(origin.seed, |h, name| hash(h, name));
        let rng = Xoshiro256PlusPlus::seed_from_u64(stream ^ (u64::from(origin.number) << 32 | 1));
        Self {
            rng,
            pareto_power: shape.pareto_h.ln() / (1.0 - shape.pareto_h).ln(),
            zipfian: Zipfian::new(shape.zipfian_exponent),
            shape,
            unique_next: (stream as u32).wrapping_add(origin.number),
            unique_step: origin.users.max(1),
            unique_offset: permuted(permuted(origin.seed as u32).wrapping_add(0x4679_0905)),
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

    /// A whole number from 0 on, below `count` (Lemire's multiply).
    #[inline]
    pub fn below(&mut self, count: u64) -> u64 {
        let product = u128::from(self.rng.random::<u64>()) * u128::from(count);
        (product >> 64) as u64
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

    /// A 32-bit number that no other user of this stream gets, in the order of Preshing's
    /// permutation (public domain). Streams begin at hashed places, so that two of them overlap
    /// only by chance: with a million numbers each, about once in 2000 pairs.
    pub fn unique(&mut self) -> u32 {
        let index = self.unique_next;
        self.unique_next = index.wrapping_add(self.unique_step);
        permuted(permuted(index).wrapping_add(self.unique_offset) ^ 0x5bf0_3635)
    }

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

    fn mean(&mut self) -> f64 {
        let iterations = self.shape.iterations.max(1);
        (0..iterations).map(|_| self.double()).sum::<f64>() / f64::from(iterations)
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

/// FNV-1a, continued; stable across versions of Rust, unlike the standard hasher.
fn hash(seed: u64, text: &str) -> u64 {
    let start = seed ^ 0xcbf2_9ce4_8422_2325;
    text.bytes()
        .chain([0xff])
        .fold(start, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
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

/// Rejection-inversion after Hörmann & Derflinger, "Rejection-inversion to generate variates from
/// monotone discrete distributions", ACM TOMACS 6.3 (1996), their ZRI with v = 0.
struct Zipfian {
    exponent: f64,
    shortcut: f64,
    low: f64,
    numbers: f64,
    high: f64,
}

impl Zipfian {
    fn new(exponent: f64) -> Self {
        let mut it = Self { exponent, shortcut: 0.0, low: 0.0, numbers: 0.0, high: 0.0 };
        it.low = it.integral(1.5) - 1.0;
        it.shortcut = 2.0 - it.inverse(it.integral(2.5) - it.hat(2.0));
        it
    }

    fn sample(&mut self, numbers: f64, mut double: impl FnMut() -> f64) -> f64 {
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Distribution, Origin, Rand, Shape};

    fn rand(number: u32, users: u32) -> Rand {
        let shape = Shape {
            default: Distribution::Uniform,
            iterations: 12,
            special_percent: 1.0,
            special_share: 75.0,
            pareto_h: 0.2,
            zipfian_exponent: 0.8,
        };
        Rand::new(&Origin { seed: 11, names: ["run", "p", "s"], number, users }, shape)
    }

    /// 100,000 numbers from 1 to `most`, sorted; all whole and within bounds.
    fn drawn(most: f64, mut draw: impl FnMut(&mut Rand, f64, f64) -> f64) -> Vec<f64> {
        let mut rand = rand(0, 1);
        let mut numbers: Vec<f64> = (0..100_000).map(|_| draw(&mut rand, 1.0, most)).collect();
        numbers.sort_by(f64::total_cmp);
        assert!(numbers.iter().all(|n| n.fract() == 0.0 && (1.0..=most).contains(n)));
        numbers
    }

    fn mean(numbers: &[f64]) -> f64 {
        numbers.iter().sum::<f64>() / numbers.len() as f64
    }

    fn share(numbers: &[f64], from: f64, to: f64) -> f64 {
        let within = numbers.iter().filter(|n| (from..=to).contains(*n)).count();
        within as f64 / numbers.len() as f64
    }

    #[test]
    fn uniform_reaches_all_numbers_alike() {
        let numbers = drawn(10.0, Rand::uniform);
        for k in 1..=10 {
            assert!((share(&numbers, f64::from(k), f64::from(k)) - 0.1).abs() < 0.005);
        }
        assert_eq!(rand(0, 1).uniform(5.9, 5.2), 5.0);
    }

    #[test]
    fn gaussian_is_the_mean_of_twelve_uniforms() {
        let numbers = drawn(1000.0, Rand::gaussian);
        let mean = mean(&numbers);
        let variance = numbers.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 1e5;
        assert!((mean - 500.5).abs() < 2.0, "{mean}");
        assert!((variance.sqrt() - 1000.0 / 12.0).abs() < 1.0, "{}", variance.sqrt());
    }

    #[test]
    fn special_puts_three_quarters_into_the_middle_hundredth() {
        let numbers = drawn(10_000.0, Rand::special);
        let spot = share(&numbers, 4950.0, 5051.0);
        assert!((0.75..0.80).contains(&spot), "{spot}");
        assert!(share(&numbers, 1.0, 4000.0) > 0.01);
        assert!(drawn(1.0, Rand::special).iter().all(|n| *n == 1.0));
        drawn(2.0, Rand::special);
    }

    #[test]
    fn pareto_gives_eighty_percent_to_the_first_fifth() {
        let numbers = drawn(10_000.0, Rand::pareto);
        let first = share(&numbers, 1.0, 2000.0);
        assert!((first - 0.8).abs() < 0.01, "{first}");
    }

    #[test]
    fn zipfian_follows_its_law() {
        let numbers = drawn(100.0, Rand::zipfian);
        let weights: f64 = (1..=100).map(|k| f64::from(k).powf(-0.8)).sum();
        for k in [1.0, 2.0, 10.0, 100.0_f64] {
            let wanted = k.powf(-0.8) / weights;
            let got = share(&numbers, k, k);
            assert!((got - wanted).abs() < 0.1 * wanted, "{k}: {got} for {wanted}");
        }
    }

    #[test]
    fn unique_numbers_repeat_for_no_user_of_a_stream() {
        let mut seen = HashSet::new();
        for number in 0..4 {
            let mut rand = rand(number, 4);
            assert!((0..10_000).all(|_| seen.insert(rand.unique())));
        }
    }

    #[test]
    fn strings_follow_their_template() {
        let mut text = Vec::new();
        rand(0, 1).string(b"##-@@ x", &mut text);
        assert!(text[..2].iter().all(u8::is_ascii_digit));
        assert!(text[3..5].iter().all(u8::is_ascii_lowercase));
        assert_eq!((text[2], &text[5..]), (b'-', &b" x"[..]));
        let mut rand = rand(0, 1);
        for _ in 0..1000 {
            text.clear();
            rand.varstring(2.0, 5.0, &mut text);
            assert!((2..=5).contains(&text.len()));
            assert!(text.iter().all(|byte| (b'0'..=b'z').contains(byte)));
        }
    }

    #[test]
    fn compressible_text_is_of_a_length_within_bounds_and_random_at_its_end() {
        let (mut rand, mut text) = (rand(0, 1), Vec::new());
        let (mut lengths, mut last) = (HashSet::new(), HashSet::new());
        for _ in 0..2000 {
            text.clear();
            rand.compressible(10.0, 20.0, 50.0, &mut text);
            lengths.insert(text.len());
            assert!(text[..text.len().div_ceil(2)].iter().all(|byte| *byte == b'a'));
            last.extend(text[text.len().div_ceil(2)..].iter().copied());
        }
        assert_eq!(lengths, (10..=20).collect());
        assert_eq!(last, (b'a'..=b'z').collect());
    }
}
