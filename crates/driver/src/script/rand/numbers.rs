//! Numbers from a to b by each of the distributions.

use rand::RngExt;

use super::{Distribution, Rand};

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
