//! `jsum`, `jmin`, `jmax`, `jcount`, `javg`: over the numbers that the rows of a group hold.
//!
//! A row holds a list of lines, as `json_extract_all` makes it, or JSON: a number or an array of
//! values. `NULL` and `null` are passed over as SQL's aggregates do; text that is no number fails.

use bigdecimal::{BigDecimal, Zero};

use super::decimal::{self, SCALE_MAX};
use super::reader::{Reader, Scalar, Token};
use crate::bounds::Steps;
use crate::function::{Aggregate, Answer, Arguments, Fault, Function, Kind, Shape, Takes, Value};

/// Hands each number of a row's text to `take`, as it is written.
fn each(text: &[u8], mut take: impl FnMut(&str) -> Result<(), Fault>) -> Result<(), Fault> {
    if text.trim_ascii_start().first() == Some(&b'[') {
        return each_of_array(text, take);
    }
    let text = std::str::from_utf8(text).map_err(|_| "the list is not UTF-8")?;
    let mut steps = Steps::of_input();
    for line in text.split('\n').map(str::trim) {
        steps.take(1)?;
        if !matches!(line, "" | "NULL" | "null") {
            take(line)?;
        }
    }
    Ok(())
}

fn each_of_array(
    text: &[u8],
    mut take: impl FnMut(&str) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut reader = Reader::new(text)?;
    while let Some(token) = reader.next()? {
        match token {
            Token::Scalar(Scalar::Number(text)) => take(text)?,
            Token::Scalar(Scalar::String(text)) => take(&text)?,
            Token::Scalar(Scalar::Bool(it)) => take(if it { "true" } else { "false" })?,
            Token::ObjectBegin => return Err("an array of numbers holds an object".into()),
            _ => {}
        }
    }
    Ok(())
}

/// How many digits behind the point are asked for, the second argument.
fn scale(constants: Arguments) -> Result<u32, Fault> {
    match constants.0.get(1) {
        None => Ok(SCALE_MAX),
        Some(Value::Integer(scale)) if (0..=i64::from(SCALE_MAX)).contains(scale) => {
            Ok(*scale as u32)
        }
        Some(_) => Err("the scale is a constant from 0 to 30".into()),
    }
}

/// What all four that answer a DECIMAL share: the number so far, and how many there were.
pub struct Decimal<K> {
    kind: std::marker::PhantomData<K>,
    scale: u32,
    number: BigDecimal,
    count: i64,
    out: String,
}

/// How a number joins those before it, and what the answer is.
pub trait Fold: Send + 'static {
    /// The function's name and arguments.
    const USAGE: &'static str;

    /// `so_far` with one more number; the first is taken as it is.
    fn fold(so_far: &mut BigDecimal, number: BigDecimal);

    /// The answer, once all are in.
    fn end(number: &BigDecimal, _count: i64) -> BigDecimal {
        number.clone()
    }
}

impl<K: Fold> Function for Decimal<K> {
    const TAKES: Takes = Takes { kinds: &[Kind::Bytes, Kind::Integer], least: 1, usage: K::USAGE };

    fn prepare(constants: Arguments) -> Result<(Self, Shape), Fault> {
        let scale = scale(constants)?;
        let (kind, number) = (std::marker::PhantomData, BigDecimal::zero());
        Ok((Self { kind, scale, number, count: 0, out: String::new() }, Shape::Decimal(scale)))
    }

    fn answer(&mut self, _: Arguments) -> Result<Answer<'_>, Fault> {
        if self.count == 0 {
            return Ok(Answer::Null);
        }
        self.out = decimal::digits(&K::end(&self.number, self.count), self.scale)?;
        Ok(Answer::Bytes(self.out.as_bytes()))
    }
}

impl<K: Fold> Aggregate for Decimal<K> {
    fn clear(&mut self) {
        self.number = BigDecimal::zero();
        self.count = 0;
    }

    fn add(&mut self, row: Arguments) -> Result<(), Fault> {
        let Some(text) = row.bytes(0) else { return Ok(()) };
        each(text, |text| {
            let number = decimal::parse(text)?;
            if self.count == 0 {
                self.number = number
            } else {
                K::fold(&mut self.number, number)
            }
            self.count += 1;
            Ok(())
        })
    }
}

/// Of `Sum`.
pub struct Summed;
/// Of `Minimum`.
pub struct Least;
/// Of `Maximum`.
pub struct Most;
/// Of `Average`.
pub struct Meant;

impl Fold for Summed {
    const USAGE: &'static str = "jsum(list [, scale])";

    fn fold(so_far: &mut BigDecimal, number: BigDecimal) {
        *so_far += number;
    }
}

impl Fold for Least {
    const USAGE: &'static str = "jmin(list [, scale])";

    fn fold(so_far: &mut BigDecimal, number: BigDecimal) {
        if number < *so_far {
            *so_far = number;
        }
    }
}

impl Fold for Most {
    const USAGE: &'static str = "jmax(list [, scale])";

    fn fold(so_far: &mut BigDecimal, number: BigDecimal) {
        if number > *so_far {
            *so_far = number;
        }
    }
}

impl Fold for Meant {
    const USAGE: &'static str = "javg(list [, scale])";

    fn fold(so_far: &mut BigDecimal, number: BigDecimal) {
        *so_far += number;
    }

    fn end(number: &BigDecimal, count: i64) -> BigDecimal {
        decimal::mean(number, count)
    }
}

/// The sum; NULL where there is no number.
pub type Sum = Decimal<Summed>;
/// The smallest.
pub type Minimum = Decimal<Least>;
/// The largest.
pub type Maximum = Decimal<Most>;
/// The mean.
pub type Average = Decimal<Meant>;

/// How many values there are, numbers or not; 0 where there is none.
pub struct Count(i64);

impl Function for Count {
    const TAKES: Takes = Takes { kinds: &[Kind::Bytes], least: 1, usage: "jcount(list)" };

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self(0), Shape::Integer))
    }

    fn answer(&mut self, _: Arguments) -> Result<Answer<'_>, Fault> {
        Ok(Answer::Integer(self.0))
    }
}

impl Aggregate for Count {
    fn clear(&mut self) {
        self.0 = 0;
    }

    fn add(&mut self, row: Arguments) -> Result<(), Fault> {
        let Some(text) = row.bytes(0) else { return Ok(()) };
        each(text, |_| {
            self.0 += 1;
            Ok(())
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of<F: Aggregate>(
        rows: &[Option<&str>],
        scale: Option<i64>,
    ) -> Result<Option<String>, Fault> {
        let mut constants = vec![Value::Null];
        constants.extend(scale.map(Value::Integer));
        let (mut function, _) = F::prepare(Arguments(&constants))?;
        function.add(Arguments(&[Value::Bytes(b"99")]))?;
        function.clear();
        for row in rows {
            let value = row.map_or(Value::Null, |text| Value::Bytes(text.as_bytes()));
            function.add(Arguments(&[value]))?;
        }
        Ok(match function.answer(Arguments(&[]))? {
            Answer::Null => None,
            Answer::Integer(number) => Some(number.to_string()),
            Answer::Bytes(bytes) => Some(String::from_utf8(bytes.to_vec()).unwrap()),
        })
    }

    #[test]
    fn lists_and_arrays_of_all_rows_count() {
        let rows = [Some("3\n2\n1\n"), None, Some("[0.1, [\"0.2\"], null]"), Some("NULL\n")];
        assert_eq!(of::<Sum>(&rows, Some(1)), Ok(Some("6.3".to_owned())));
        assert_eq!(of::<Minimum>(&rows, Some(2)), Ok(Some("0.10".to_owned())));
        assert_eq!(of::<Maximum>(&rows, Some(0)), Ok(Some("3".to_owned())));
        assert_eq!(of::<Average>(&rows, Some(2)), Ok(Some("1.26".to_owned())));
        assert_eq!(of::<Count>(&rows, None), Ok(Some("5".to_owned())));
    }

    #[test]
    fn nothing_is_null_and_its_count_zero() {
        for rows in [&[][..], &[None], &[Some("")], &[Some("[]")]] {
            assert_eq!(of::<Sum>(rows, None), Ok(None));
            assert_eq!(of::<Minimum>(rows, None), Ok(None));
            assert_eq!(of::<Average>(rows, None), Ok(None));
            assert_eq!(of::<Count>(rows, None), Ok(Some("0".to_owned())));
        }
    }

    #[test]
    fn what_is_no_number_is_refused_and_never_taken_for_zero() {
        for row in ["abc\n", "[true]", "[{}]", "[1", "1e999", "[\"x\"]", "5 apples"] {
            assert!(of::<Sum>(&[Some(row)], None).is_err(), "{row}");
        }
        assert!(of::<Sum>(&[], Some(31)).is_err());
        assert!(of::<Sum>(&[], Some(-1)).is_err());
    }

    #[test]
    fn a_last_line_needs_no_end() {
        assert_eq!(of::<Sum>(&[Some("1\n2")], Some(0)), Ok(Some("3".to_owned())));
    }
}
