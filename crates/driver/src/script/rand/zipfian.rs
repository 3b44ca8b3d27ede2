//! Numbers of a Zipfian distribution.

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
