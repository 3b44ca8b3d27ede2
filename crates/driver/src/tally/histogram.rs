//! Distributions of durations: HDR, 1 ns to 1 h, three digits.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};

use crate::plan::error::Error;
use crate::plan::event::{Latency, PERCENTILES};
use crate::schedule::clock::SECOND_NS;

/// Longest duration told apart: an hour; longer ones count as an hour.
pub const LONGEST_NS: u64 = 3_600 * SECOND_NS;

/// An empty one.
pub fn histogram() -> Result<Histogram<u64>, Error> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3)
        .map_err(|cause| Error::driver("cannot make a histogram").because(cause))
}

/// Adds one to a sum.
pub fn add(sum: &mut Histogram<u64>, other: &Histogram<u64>) -> Result<(), Error> {
    sum.add(other).map_err(|cause| Error::driver("cannot add histograms").because(cause))
}

/// The value below which `percent` of the others end. The crate's own takes 99.9 ÷ 100, which is a
/// little over 0.999, and of 1000 values would answer with the last.
pub fn percentile(histogram: &Histogram<u64>, percent: f64) -> u64 {
    histogram.value_at_quantile((percent * 1_000.0).round() / 100_000.0)
}

/// Its numbers, and itself as text.
pub fn latency(histogram: &Histogram<u64>) -> Result<Latency, Error> {
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|cause| Error::driver("cannot write a histogram").because(cause))?;
    let named = |name: &&str| {
        let value = name.parse().map_or(0, |percent| percentile(histogram, percent));
        ((*name).to_owned(), value)
    };
    Ok(Latency {
        count: histogram.len(),
        mean_ns: histogram.mean(),
        max_ns: histogram.max(),
        percentiles_ns: PERCENTILES.iter().map(named).collect(),
        hdr: STANDARD.encode(bytes),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_knows_its_own_numbers() {
        let mut values = histogram().unwrap();
        (1..=1000).for_each(|value| values.saturating_record(value));
        let said = latency(&values).unwrap();
        assert_eq!((said.count, said.max_ns, said.percentiles_ns["50"]), (1000, 1000, 500));
        assert_eq!((said.percentiles_ns["99.9"], said.percentiles_ns["99"]), (999, 990));
        assert_eq!(said.percentiles_ns.len(), PERCENTILES.len());
        // V2 without compression begins with this cookie.
        assert!(STANDARD.decode(said.hdr).unwrap().starts_with(&[0x1c, 0x84, 0x93, 0x13]));
    }
}
