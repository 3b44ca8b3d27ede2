//! Numbers as exact decimals, within the 65 digits of the servers' DECIMAL.

use bigdecimal::num_bigint::BigInt;
use bigdecimal::{BigDecimal, RoundingMode, Zero};

use crate::function::Fault;

/// The servers' own limits.
pub const DIGITS_MAX: u64 = 65;
pub const SCALE_MAX: u32 = 30;
/// Powers of ten: larger numbers have no place in a DECIMAL, and those nearer to 0 count as 0.
const MAGNITUDE_MAX: i64 = 200;
/// Longer numbers are refused before they are read.
const LENGTH_MAX: usize = 400;
/// With a larger exponent even the longest number is too large, or too near to 0: so that
/// `1e999999999` costs nothing.
const EXPONENT_MAX: i64 = MAGNITUDE_MAX + LENGTH_MAX as i64;

/// The number that a line or a JSON value holds; a fault where it is none, or too large.
pub fn parse(text: &str) -> Result<BigDecimal, Fault> {
    let shown = || text.chars().take(40).collect::<String>();
    let is_number =
        text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    if !is_number || text.is_empty() {
        return Err(format!("'{}' is not a number", shown()).into());
    }
    let no_number = || Fault(format!("'{}' is not a number", shown()));
    let too_large = || Fault(format!("{} has no place in a DECIMAL", shown()));
    if text.len() > LENGTH_MAX {
        return Err(too_large());
    }
    let (written, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let written: BigDecimal = written.parse().map_err(|_| no_number())?;
    let exponent = read_exponent(exponent).ok_or_else(no_number)?;
    let (digits, scale) = written.into_bigint_and_exponent();
    let number = BigDecimal::new(digits, scale - exponent);
    // whose exponent and length say that it is neither: its digits are not counted
    if exponent.unsigned_abs() + (text.len() as u64) < MAGNITUDE_MAX as u64 {
        return Ok(number);
    }
    // at least a tenth of ten to this power, and less than it
    let magnitude = number.digits() as i64 - (scale - exponent);
    if number.is_zero() || magnitude <= -MAGNITUDE_MAX {
        return Ok(BigDecimal::zero());
    }
    if magnitude > MAGNITUDE_MAX { Err(too_large()) } else { Ok(number) }
}

/// An exponent as it is written, one that is too large made one that is large enough; `None` where
/// it is none.
fn read_exponent(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] | digits => (1, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let fold = |all: i64, it: &u8| (all * 10 + i64::from(it - b'0')).min(EXPONENT_MAX + 1);
    Some(sign * digits.iter().fold(0, fold))
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
    fn what_counts_as_zero_or_too_large_is_the_number_and_not_its_exponent() {
        let ones = "1".repeat(300);
        for (written, same) in [
            (format!("{ones}e-290"), format!("{}.{}", &ones[..10], &ones[10..])),
            (format!("0.{}1e301", "0".repeat(299)), "10".to_owned()),
            (format!("1{}e-399", "0".repeat(390)), "1e-9".to_owned()),
            ("1e-200".to_owned(), format!("0.{}1", "0".repeat(199))),
            ("0e999999999999999999999".to_owned(), "0".to_owned()),
            ("0.9e-200".to_owned(), "0".to_owned()),
            ("1e-99999999999999999999999".to_owned(), "0".to_owned()),
        ] {
            assert_eq!(parse(&written), parse(&same), "{written}");
            assert!(parse(&written).is_ok(), "{written}");
        }
        for bad in [format!("{ones}e-90"), "1e200".to_owned(), "1e99999999999999999999".to_owned()]
        {
            assert!(parse(&bad).unwrap_err().0.contains("no place in a DECIMAL"), "{bad}");
        }
        for bad in ["..e-300", "-e-300", "1e-", "1e+-5", "1e5e5"] {
            assert!(parse(bad).unwrap_err().0.contains("is not a number"), "{bad}");
        }
    }

    #[test]
    fn a_mean_is_rounded_once() {
        let third = mean(&parse("1").unwrap(), 3);
        assert_eq!(digits(&third, 5).unwrap(), "0.33333");
        assert_eq!(digits(&mean(&parse("-2").unwrap(), 3), 30).unwrap().len(), 33);
        assert_eq!(digits(&mean(&parse("5").unwrap(), 2), 0).unwrap(), "3");
    }
}
