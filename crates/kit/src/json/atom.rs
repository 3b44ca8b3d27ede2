//! A value that holds no others, so that equal ones are equal however they are written.

use std::borrow::Cow;

use super::reader::Scalar;
use crate::bounds::{copied, reserve};
use crate::function::Fault;

/// A number's digits without zeros before and behind them, and the power of ten of the last one:
/// `-12.50` is `-125` and -1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    negative: bool,
    digits: Vec<u8>,
    exponent: i128,
}

/// A value of a document. Values of two types are never equal: `1` is not `"1"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Atom<'a> {
    Null,
    Bool(bool),
    Number(Number),
    String(Cow<'a, str>),
}

impl Number {
    /// From a number as JSON writes it; a fault where its exponent has no place in 64 bits.
    fn parse(text: &str) -> Result<Self, Fault> {
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i64 =
            exponent.parse().map_err(|_| format!("the exponent of {:.40} is too large", text))?;
        let unsigned = number.strip_prefix('-').unwrap_or(number);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let mut digits = Vec::new();
        reserve(&mut digits, whole.len() + fraction.len())?;
        digits.extend(whole.bytes().chain(fraction.bytes()).skip_while(|it| *it == b'0'));
        let written = digits.len();
        digits.truncate(digits.iter().rposition(|it| *it != b'0').map_or(0, |it| it + 1));
        let exponent = i128::from(exponent) + (written - digits.len()) as i128;
        if digits.is_empty() {
            return Ok(Self { negative: false, digits, exponent: 0 });
        }
        let negative = unsigned.len() < number.len();
        Ok(Self { negative, digits, exponent: exponent - fraction.len() as i128 })
    }
}

impl<'a> Atom<'a> {
    /// Of a scalar as the reader hands it out.
    pub fn of(scalar: Scalar<'a>) -> Result<Self, Fault> {
        Ok(match scalar {
            Scalar::Null => Self::Null,
            Scalar::Bool(it) => Self::Bool(it),
            Scalar::Number(text) => Self::Number(Number::parse(text)?),
            Scalar::String(text) => Self::String(text),
        })
    }

    /// The same, borrowing nothing.
    pub fn into_owned(self) -> Result<Atom<'static>, Fault> {
        Ok(match self {
            Self::Null => Atom::Null,
            Self::Bool(it) => Atom::Bool(it),
            Self::Number(it) => Atom::Number(it),
            Self::String(text) => Atom::String(owned(text)?),
        })
    }

    /// How many bytes a comparison looks at, at most.
    pub fn size(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) => 1,
            Self::Number(it) => it.digits.len(),
            Self::String(text) => text.len(),
        }
    }

    /// `hash` with the type and the value; equal atoms, and hardly others, have equal hashes.
    pub fn hash(&self, hash: u64) -> u64 {
        match self {
            Self::Null => fnv(hash, b"n"),
            Self::Bool(it) => fnv(hash, if *it { b"t" } else { b"f" }),
            Self::String(text) => fnv(fnv(hash, b"s"), text.as_bytes()),
            Self::Number(Number { negative, digits, exponent }) => {
                let signed = fnv(hash, if *negative { b"-" } else { b"+" });
                fnv(fnv(signed, &exponent.to_le_bytes()), digits)
            }
        }
    }
}

/// A text that borrows nothing, or a fault where there is no memory.
pub fn owned(text: Cow<str>) -> Result<Cow<'static, str>, Fault> {
    Ok(Cow::Owned(match text {
        Cow::Owned(text) => text,
        Cow::Borrowed(text) => {
            let bytes = copied(text.as_bytes())?;
            String::from_utf8(bytes).map_err(|_| "a text that is not UTF-8")?
        }
    }))
}

/// What `fnv` begins with.
pub const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a with 64 bits (RFC 9923): `hash` with these bytes. It is stored, and may never change.
pub fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv(FNV_OFFSET, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(FNV_OFFSET, b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv(FNV_OFFSET, b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn numbers_are_equal_by_value_and_exactly() {
        let of = |text| Atom::of(Scalar::Number(text)).unwrap();
        for same in [
            ["1", "1.0"],
            ["10", "1e1"],
            ["-0.0e5", "0"],
            ["1200", "12.00E+2"],
            ["0.00125", "125e-5"],
            ["0e99", "0"],
        ] {
            assert_eq!(of(same[0]), of(same[1]));
            assert_eq!(of(same[0]).hash(1), of(same[1]).hash(1));
        }
        for other in [["1", "10"], ["1", "-1"], ["9007199254740993", "9007199254740992"]] {
            assert_ne!(of(other[0]), of(other[1]));
            assert_ne!(of(other[0]).hash(1), of(other[1]).hash(1));
        }
        assert!(Atom::of(Scalar::Number("1e99999999999999999999")).is_err());
    }

    #[test]
    fn values_of_two_types_have_two_hashes() {
        let atoms = [
            Atom::Null,
            Atom::Bool(true),
            Atom::Bool(false),
            Atom::of(Scalar::Number("1")).unwrap(),
            Atom::String("1".into()),
            Atom::String("".into()),
        ];
        for (at, atom) in atoms.iter().enumerate() {
            assert!(atoms[..at].iter().all(|it| it != atom && it.hash(7) != atom.hash(7)));
        }
    }
}
