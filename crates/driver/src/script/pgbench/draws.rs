//! pgbench's random numbers, so that a seed draws what it draws there: its generator, distributions
//! and permutation, and its hashes.

/// Vigna's SplitMix64, which seeds, and Blackman and Vigna's xoroshiro128**.
#[derive(Debug, Clone, Copy, Default)]
pub struct Generator([u64; 2]);

impl Generator {
    pub fn of(seed: u64) -> Self {
        let mut state = seed;
        let mut mixed = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        };
        Self([mixed(), mixed()])
    }

    #[inline]
    pub fn next(&mut self) -> u64 {
        let [a, b] = self.0;
        let sum = a ^ b;
        self.0 = [a.rotate_left(24) ^ sum ^ sum << 16, sum.rotate_left(37)];
        a.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// A number up to `most`: as many bits as that has, drawn until they fit.
    #[inline]
    pub fn up_to(&mut self, most: u64) -> u64 {
        let shift = most.max(1).leading_zeros();
        loop {
            let number = self.next() >> shift;
            if number <= most {
                return number;
            }
        }
    }

    /// In [0, 1), of 52 bits.
    #[inline]
    fn fraction(&mut self) -> f64 {
        (self.next() >> 12) as f64 * 0.5f64.powi(52)
    }

    #[inline]
    pub fn uniform(&mut self, low: i64, high: i64) -> i64 {
        let range = high.wrapping_sub(low) as u64;
        if range == 0 { low } else { low.wrapping_add(self.up_to(range) as i64) }
    }

    pub fn exponential(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let cut = (-parameter).exp();
        let drawn = -(cut + (1.0 - cut) * (1.0 - self.fraction())).ln() / parameter;
        low.wrapping_add((count(low, high) * drawn).floor() as i64)
    }

    /// Box and Muller's normal numbers, drawn until one lies within the parameter.
    pub fn gaussian(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let deviation = loop {
            let (first, second) = (1.0 - self.fraction(), 1.0 - self.fraction());
            let drawn = (-2.0 * first.ln()).sqrt() * (2.0 * std::f64::consts::PI * second).sin();
            if (-parameter..parameter).contains(&drawn) {
                break drawn;
            }
        };
        let share = (deviation + parameter) / (parameter * 2.0);
        low.wrapping_add((count(low, high) * share).floor() as i64)
    }

    /// Devroye's rejection (Non-Uniform Random Variate Generation, 1986, page 550).
    pub fn zipfian(&mut self, low: i64, high: i64, s: f64) -> i64 {
        let count = count(low, high);
        if count <= 1.0 {
            return low;
        }
        let b = 2f64.powf(s - 1.0);
        loop {
            let (u, v) = (self.fraction(), self.fraction());
            let x = u.powf(-1.0 / (s - 1.0)).floor();
            let t = (1.0 + 1.0 / x).powf(s - 1.0);
            if v * x * (t - 1.0) / (b - 1.0) <= t / b && x <= count {
                return low.wrapping_add(x as i64 - 1);
            }
        }
    }
}

/// How many whole numbers a range has.
#[inline]
fn count(low: i64, high: i64) -> f64 {
    high.wrapping_sub(low) as f64 + 1.0
}

/// Where `value` comes to stand when 0 … size-1 are shuffled: six rounds, each an odd multiple, a
/// mask and a rotation of the lower and of the upper power of two, then an offset.
pub fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let mut drawn = Generator::of(seed as u64);
    let size = size as u64;
    let mut v = value as u64 % size;
    let bits = size.ilog2();
    let mask = (1u64 << bits) - 1;
    let stirred = |half: u64, drawn: &mut Generator| {
        let (odd, other) = (drawn.next() & mask | 1, drawn.next() & mask);
        if half > mask {
            return half;
        }
        let mixed = (half.wrapping_mul(odd) ^ other) & mask;
        mixed << 1 & mask | mixed >> (bits - 1)
    };
    for _ in 0..6 {
        v = stirred(v, &mut drawn);
        v = size - 1 - stirred(size - 1 - v, &mut drawn);
        v = (v + drawn.up_to(size - 1)) % size;
    }
    v as i64
}

/// Fowler, Noll and Vo's hash 1a of the eight bytes, lowest first, begun from the seed.
pub fn fnv1a(value: i64, seed: i64) -> i64 {
    let begin = 0xcbf2_9ce4_8422_2325 ^ seed as u64;
    let hash = value
        .to_le_bytes()
        .iter()
        .fold(begin, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    hash as i64
}

/// Appleby's `MurmurHash2` (64A) of the eight bytes.
pub fn murmur2(value: i64, seed: i64) -> i64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let k = (value as u64).wrapping_mul(M);
    let k = (k ^ k >> 47).wrapping_mul(M);
    let hash = (seed as u64 ^ M.wrapping_mul(8) ^ k).wrapping_mul(M);
    let hash = (hash ^ hash >> 47).wrapping_mul(M);
    (hash ^ hash >> 47) as i64
}
