//! Operators and functions of pgbench's expressions, as its documentation has them.

use std::cmp::Ordering;

use serde::Deserialize;

use super::draws::{Generator, fnv1a, murmur2, permute};
use super::value::{Problem, Value};

/// An operator, or a function by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    #[serde(rename = "+")]
    Add,
    #[serde(rename = "-")]
    Subtract,
    #[serde(rename = "*")]
    Multiply,
    #[serde(rename = "/")]
    Divide,
    #[serde(rename = "%", alias = "mod")]
    Modulo,
    #[serde(rename = "=")]
    Equal,
    #[serde(rename = "<>")]
    Unequal,
    #[serde(rename = "<")]
    Less,
    #[serde(rename = "<=")]
    AtMost,
    #[serde(rename = ">")]
    More,
    #[serde(rename = ">=")]
    AtLeast,
    #[serde(rename = "&")]
    And,
    #[serde(rename = "|")]
    Or,
    #[serde(rename = "#")]
    Xor,
    #[serde(rename = "<<")]
    ShiftLeft,
    #[serde(rename = ">>")]
    ShiftRight,
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    #[serde(rename = "hash_murmur2", alias = "hash")]
    HashMurmur2,
    HashFnv1a,
    Int,
    Least,
    Ln,
    Permute,
    Pi,
    #[serde(alias = "pow")]
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
}

impl Function {
    /// Its value; NULL where an argument is. What it draws comes from `drawn`.
    #[inline]
    pub fn call(self, given: &[Value], drawn: &mut Generator) -> Result<Value, Problem> {
        if given.contains(&Value::Null) {
            return Ok(Value::Null);
        }
        match *given {
            [Value::Integer(a), Value::Integer(b)] => self.of_integers(a, b, given, drawn),
            [a, b] if self.is_arithmetic() => self.of_numbers(a, b, drawn),
            _ => self.of_any(given, drawn),
        }
    }

    /// Of two whole numbers, which most are.
    #[inline]
    fn of_integers(
        self,
        a: i64,
        b: i64,
        given: &[Value],
        drawn: &mut Generator,
    ) -> Result<Value, Problem> {
        let number = match self {
            Self::Random => return uniform(a, b, drawn),
            Self::Add => a.checked_add(b).ok_or("bigint add out of range")?,
            Self::Subtract => a.checked_sub(b).ok_or("bigint sub out of range")?,
            Self::Multiply => a.checked_mul(b).ok_or("bigint mul out of range")?,
            Self::Divide | Self::Modulo if b == 0 => return Err("division by zero".to_owned()),
            Self::Divide => a.checked_div(b).ok_or("bigint div out of range")?,
            Self::Modulo => a.wrapping_rem(b),
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::ShiftLeft => a.wrapping_shl(b as u32),
            Self::ShiftRight => a.wrapping_shr(b as u32),
            Self::Equal => return Ok(Value::Boolean(a == b)),
            Self::Unequal => return Ok(Value::Boolean(a != b)),
            Self::Less => return Ok(Value::Boolean(a < b)),
            Self::AtMost => return Ok(Value::Boolean(a <= b)),
            Self::More => return Ok(Value::Boolean(a > b)),
            Self::AtLeast => return Ok(Value::Boolean(a >= b)),
            _ => return self.of_any(given, drawn),
        };
        Ok(Value::Integer(number))
    }

    /// Is it an operator, or `random`, which takes whole numbers as they do?
    fn is_arithmetic(self) -> bool {
        (self as u8) <= Self::ShiftRight as u8 || self == Self::Random
    }

    /// An operator that is reckoned in doubles where one side is one, or in whole numbers.
    fn of_numbers(self, a: Value, b: Value, drawn: &mut Generator) -> Result<Value, Problem> {
        let is_double = matches!(a, Value::Double(_)) || matches!(b, Value::Double(_));
        let real: Option<fn(f64, f64) -> Value> = match self {
            Self::Add => Some(|a, b| Value::Double(a + b)),
            Self::Subtract => Some(|a, b| Value::Double(a - b)),
            Self::Multiply => Some(|a, b| Value::Double(a * b)),
            Self::Divide => Some(|a, b| Value::Double(a / b)),
            Self::Equal => Some(|a, b| Value::Boolean(a == b)),
            Self::Unequal => Some(|a, b| Value::Boolean(a != b)),
            Self::Less => Some(|a, b| Value::Boolean(a < b)),
            Self::AtMost => Some(|a, b| Value::Boolean(a <= b)),
            Self::More => Some(|a, b| Value::Boolean(a > b)),
            Self::AtLeast => Some(|a, b| Value::Boolean(a >= b)),
            _ => None,
        };
        match real.filter(|_| is_double) {
            Some(real) => Ok(real(a.to_double()?, b.to_double()?)),
            None => self.of_integers(a.to_integer()?, b.to_integer()?, &[], drawn),
        }
    }

    fn of_any(self, given: &[Value], drawn: &mut Generator) -> Result<Value, Problem> {
        let whole = |at: usize| given.get(at).copied().unwrap_or(Value::Null).to_integer();
        let real = |at: usize| given.get(at).copied().unwrap_or(Value::Null).to_double();
        Ok(match self {
            Self::Abs => match given {
                [Value::Double(x)] => Value::Double(x.abs()),
                _ => Value::Integer(whole(0)?.checked_abs().ok_or("bigint sub out of range")?),
            },
            Self::Debug => given.first().copied().unwrap_or(Value::Null),
            Self::Double => Value::Double(real(0)?),
            Self::Exp => Value::Double(real(0)?.exp()),
            Self::Ln => Value::Double(real(0)?.ln()),
            Self::Sqrt => Value::Double(real(0)?.sqrt()),
            Self::Pi => Value::Double(std::f64::consts::PI),
            Self::Power => Value::Double(real(0)?.powf(real(1)?)),
            Self::Int => Value::Integer(whole(0)?),
            Self::Least | Self::Greatest => self.extreme(given)?,
            Self::HashMurmur2 => Value::Integer(murmur2(whole(0)?, whole(1)?)),
            Self::HashFnv1a => Value::Integer(fnv1a(whole(0)?, whole(1)?)),
            Self::Permute => {
                let (size, value) = (whole(1)?, whole(0)?);
                if size <= 0 {
                    return Err("permute size parameter must be greater than zero".to_owned());
                }
                Value::Integer(permute(value, size, whole(2)?))
            }
            Self::RandomExponential | Self::RandomGaussian | Self::RandomZipfian => {
                self.shaped(real(2)?, whole(0), whole(1), drawn)?
            }
            _ => return Err(format!("unexpected number of arguments ({self:?})")),
        })
    }

    /// Of several: a double if one of them is.
    fn extreme(self, given: &[Value]) -> Result<Value, Problem> {
        let is_better = |order: Ordering| match self {
            Self::Least => order.is_lt(),
            _ => order.is_gt(),
        };
        let has_double = given.iter().any(|it| matches!(it, Value::Double(_)));
        let mut best = None;
        for value in given {
            let (value, order) = if has_double {
                let x = value.to_double()?;
                let order = best.map(|it: Value| it.to_double().map(|it| x.partial_cmp(&it)));
                (Value::Double(x), order.transpose()?.flatten())
            } else {
                let number = value.to_integer()?;
                let order = best.map(|it: Value| it.to_integer().map(|it| number.cmp(&it)));
                (Value::Integer(number), order.transpose()?)
            };
            if best.is_none() || order.is_some_and(is_better) {
                best = Some(value);
            }
        }
        Ok(best.unwrap_or(Value::Null))
    }

    fn shaped(
        self,
        parameter: f64,
        low: Result<i64, Problem>,
        high: Result<i64, Problem>,
        drawn: &mut Generator,
    ) -> Result<Value, Problem> {
        let (fits, wanted) = match self {
            Self::RandomExponential => {
                (parameter > 0.0, "exponential parameter must be greater than zero")
            }
            Self::RandomGaussian => {
                (parameter >= 2.0, "gaussian parameter must be at least 2.000000")
            }
            _ => (
                (1.001..=1000.0).contains(&parameter),
                "zipfian parameter must be in range [1.001, 1000]",
            ),
        };
        if !fits {
            return Err(format!("{wanted} (not {parameter:.6})"));
        }
        let (low, high) = (low?, high?);
        check_range(low, high)?;
        Ok(Value::Integer(match self {
            Self::RandomExponential => drawn.exponential(low, high, parameter),
            Self::RandomGaussian => drawn.gaussian(low, high, parameter),
            _ => drawn.zipfian(low, high, parameter),
        }))
    }
}

#[inline]
fn uniform(low: i64, high: i64, drawn: &mut Generator) -> Result<Value, Problem> {
    check_range(low, high)?;
    Ok(Value::Integer(drawn.uniform(low, high)))
}

#[inline]
fn check_range(low: i64, high: i64) -> Result<(), Problem> {
    if low > high {
        return Err("empty range given to random".to_owned());
    }
    match high.checked_sub(low) {
        Some(range) if range < i64::MAX => Ok(()),
        _ => Err("random range is too large".to_owned()),
    }
}
