//! Numbers as exact decimals, within the 65 digits of the servers' DECIMAL.

use bigdecimal::num_bigint::BigInt;
use bigdecimal::{BigDecimal, RoundingMode, Zero};

use crate::function::Fault;

/// The servers' own limits.
pub const DIGITS_MAX: u64 = 65;
pub const SCALE_MAX: u32 = 30;
/// Numbers this far from 1 have no place in a DECIMAL; bounded so that `1e999999999` costs nothing.
const EXPONENT_MAX: i64 = 200;
/// Longer numbers are refused before they are read.
const LENGTH_MAX: usize = 400;

/// The number that a line or a JSON value holds; a fault where it is none, or too large.
pub fn parse(text: &str) -> Result<BigDecimal, Fault> {
    let shown = || text.chars().take(40).collect::<String>();
    let is_number =
        text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    if !is_number || text.is_empty() {
        return Err(format!("'{}' is no number", shown()).into());
    }
    let too_large = || Fault(format!("{} has no place in a DECIMAL", shown()));
    let exponent = text.find(['e', 'E']).map_or("0", |at| &text[at + 1..]);
    let exponent: i64 = exponent.parse().map_err(|_| too_large())?;
    if text.len() > LENGTH_MAX || exponent > EXPONENT_MAX {
        return Err(too_large());
    }
    if exponent < -EXPONENT_MAX {
        return Ok(BigDecimal::zero());
    }
    text.parse().map_err(|_| format!("'{}' is no number", shown()).into())
}

/// The digits of a number with so many behind the point, rounded half away from zero as the
/// servers round; a fault where a DECIMAL cannot hold it.
pub fn digits(number: &BigDecimal, scale: u32) -> Result<String, Fault> {
    let rounded = number.with_scale_round(i64::from(scale), RoundingMode::HalfUp);
    if rounded.digits() > DIGITS_MAX {
        return Err(format!(
            "a result has over {DIGITS_MAX} digits with {scale} behind the point: ask for fewer"
        )
        .into());
    }
    Ok(rounded.to_plain_string())
}

/// The mean, to the precision of any scale.
pub fn mean(sum: &BigDecimal, count: i64) -> BigDecimal {
    // Two digits more than are ever shown: then it is rounded once.
    let scaled = sum.with_scale_round(i64::from(SCALE_MAX) + 70, RoundingMode::Down);
    let (whole, scale) = scaled.into_bigint_and_exponent();
    BigDecimal::new(whole / BigInt::from(count), scale)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_bounded() {
        let sum = parse("0.1").unwrap() + parse("0.2").unwrap();
        assert_eq!(digits(&sum, 30).unwrap(), format!("0.3{}", "0".repeat(29)));
        assert_eq!(digits(&parse("-2.5").unwrap(), 0).unwrap(), "-3");
        assert_eq!(digits(&parse("1E3").unwrap(), 1).unwrap(), "1000.0");
        assert_eq!(parse("1e-999999999999").unwrap(), BigDecimal::zero());
        assert_eq!(parse("1e-1000").unwrap(), BigDecimal::zero());
        for bad in ["", "abc", "1e999999999", "0x1", "1_0", "nan", "inf", "-", "1e", "1.2.3", "e5"]
        {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert!(digits(&parse("1e36").unwrap(), 30).is_err());
        assert_eq!(digits(&parse("1e36").unwrap(), 0).unwrap().len(), 37);
    }

    #[test]
    fn a_mean_is_rounded_once() {
        let third = mean(&parse("1").unwrap(), 3);
        assert_eq!(digits(&third, 5).unwrap(), "0.33333");
        assert_eq!(digits(&mean(&parse("-2").unwrap(), 3), 30).unwrap().len(), 33);
        assert_eq!(digits(&mean(&parse("5").unwrap(), 2), 0).unwrap(), "3");
    }
}
