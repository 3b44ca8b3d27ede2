//! What the options `rand_*` say: a distribution and the parameters of all.

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
