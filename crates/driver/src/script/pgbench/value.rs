//! Values of pgbench's expressions, its variables, and what their texts mean.

use std::io::Write;

use crate::script::statement::put_text;
use crate::sessions::Value as Sent;
use crate::sessions::literal::put_integer;

/// A value as expressions reckon with it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
}

/// What a variable holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Held {
    Unset,
    Value(Value),
    /// Of a column or an option: read as a value where it is used as one.
    Text(Vec<u8>),
}

impl Held {
    pub fn integer(number: i64) -> Self {
        Self::Value(Value::Integer(number))
    }

    /// A text; one that a whole number would be written as is that number.
    pub fn read(text: &[u8]) -> Self {
        let mut held = Self::Unset;
        held.set(text);
        held
    }

    /// The same, in memory that is used again.
    #[inline]
    pub fn set(&mut self, text: &[u8]) {
        let number = std::str::from_utf8(text).ok().filter(|it| it.len() <= DIGITS_OF_MOST);
        let number = number.and_then(|it| it.parse::<i64>().ok()).filter(|number| {
            let digits = text.strip_prefix(b"-").unwrap_or(text);
            text == b"0" || *number != 0 && digits[0].is_ascii_digit() && digits[0] != b'0'
        });
        match (number, self) {
            (Some(number), it) => *it = Self::integer(number),
            (None, Self::Text(bytes)) => {
                bytes.clear();
                bytes.extend_from_slice(text);
            }
            (None, it) => *it = Self::Text(text.to_vec()),
        }
    }

    /// Takes what another holds, in memory that is used again.
    #[inline]
    pub fn take_from(&mut self, other: &Self) {
        match (self, other) {
            (Self::Text(text), Self::Text(its)) => text.clone_from(its),
            (it, other) => *it = other.clone(),
        }
    }
}

/// Why a command could not be played, in pgbench's words.
pub type Problem = String;

impl Value {
    /// What pgbench calls its type.
    fn type_name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "boolean",
            Self::Integer(_) => "int",
            Self::Double(_) => "double",
        }
    }

    /// A double is rounded to the nearest, halves to the even one.
    #[inline]
    pub fn to_integer(self) -> Result<i64, Problem> {
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        match self {
            Self::Integer(number) => Ok(number),
            Self::Double(x) => {
                let whole = x.round_ties_even();
                let fits = (-LIMIT..LIMIT).contains(&whole);
                fits.then_some(whole as i64)
                    .ok_or_else(|| format!("double to int overflow for {x:.6}"))
            }
            _ => Err(format!("cannot coerce {} to int", self.type_name())),
        }
    }

    #[inline]
    pub fn to_double(self) -> Result<f64, Problem> {
        match self {
            Self::Integer(number) => Ok(number as f64),
            Self::Double(x) => Ok(x),
            _ => Err(format!("cannot coerce {} to double", self.type_name())),
        }
    }

    #[inline]
    pub fn to_boolean(self) -> Result<bool, Problem> {
        match self {
            Self::Boolean(truth) => Ok(truth),
            _ => Err(format!("cannot coerce {} to boolean", self.type_name())),
        }
    }

    /// Is a condition met? NULL and zero are not true.
    #[inline]
    pub fn is_true(self) -> bool {
        match self {
            Self::Null => false,
            Self::Boolean(truth) => truth,
            Self::Integer(number) => number != 0,
            Self::Double(x) => x != 0.0,
        }
    }

    /// Appends it as SQL reads it.
    #[inline]
    pub fn put(self, text: &mut Vec<u8>) {
        match self {
            Self::Integer(number) => put_integer(text, number),
            Self::Null => text.extend_from_slice(b"NULL"),
            Self::Boolean(truth) => {
                text.extend_from_slice(if truth { b"true" } else { b"false" });
            }
            Self::Double(x) => put_double(text, x),
        }
    }

    /// As `debug()` shows it.
    pub fn show(self) -> String {
        let mut text = Vec::new();
        self.put(&mut text);
        match self {
            Self::Null => self.type_name().to_owned(),
            _ => format!("{} {}", self.type_name(), String::from_utf8_lossy(&text)),
        }
    }

    /// A text as pgbench reads the value of a variable.
    fn read(text: &[u8], name: &str) -> Result<Self, Problem> {
        let shown = String::from_utf8_lossy(text);
        let lower = shown.to_ascii_lowercase();
        let word = shown.trim_ascii();
        let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
        if lower == "null" {
            return Ok(Self::Null);
        } else if !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit()) {
            let number = word.parse().map(Self::Integer);
            return number
                .map_err(|_| format!("value \"{shown}\" is out of range for type bigint"));
        } else if let Some(truth) = truth_of(&lower) {
            return Ok(Self::Boolean(truth));
        }
        let hexadecimal = digits.strip_prefix("0x").and_then(|it| u64::from_str_radix(it, 16).ok());
        let number = match hexadecimal {
            Some(number) if word == digits => Some(number as f64),
            _ => word.parse().ok(),
        };
        let is_number = word.starts_with(|it: char| "-+.".contains(it) || it.is_ascii_digit());
        number
            .filter(|_| is_number)
            .map(Self::Double)
            .ok_or_else(|| format!("malformed variable \"{name}\" value: \"{shown}\""))
    }
}

/// Texts that mean true or false: any beginning of some, the whole of others.
fn truth_of(lower: &str) -> Option<bool> {
    let begins = |word: &str| !lower.is_empty() && word.starts_with(lower);
    match lower {
        "on" => Some(true),
        "off" | "of" => Some(false),
        _ if begins("true") || begins("yes") => Some(true),
        _ if begins("false") || begins("no") => Some(false),
        _ => None,
    }
}

/// PostgreSQL spells what is no number in words of its own; else as C's `%.15g`.
fn put_double(text: &mut Vec<u8>, x: f64) {
    const DIGITS: i32 = 15;
    if !x.is_finite() {
        let word: &[u8] =
            if x.is_nan() { b"NaN" } else { [&b"-Infinity"[..], b"Infinity"][(x > 0.0) as usize] };
        return text.extend_from_slice(word);
    }
    let from = text.len();
    drop(write!(text, "{x:.14e}"));
    let mark = text.iter().rposition(|it| *it == b'e').unwrap_or(text.len());
    let power = text.get(mark + 1..).and_then(|it| std::str::from_utf8(it).ok());
    let power: i32 = power.and_then(|it| it.parse().ok()).unwrap_or(0);
    let is_short = (-4..DIGITS).contains(&power);
    text.truncate(if is_short { from } else { mark });
    if is_short {
        drop(write!(text, "{x:.*}", (DIGITS - 1 - power) as usize));
    }
    if text[from..].contains(&b'.') {
        let end = text.iter().rposition(|it| *it != b'0').unwrap_or(from);
        text.truncate(if text[end] == b'.' { end } else { end + 1 });
    }
    if !is_short {
        drop(write!(text, "e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs()));
    }
}

/// The variables of a client's scripts, each known by its place.
#[derive(Default)]
pub struct Variables {
    pub names: Vec<String>,
    pub held: Vec<Held>,
}

impl Variables {
    /// The place of a name, which may be new.
    pub fn place(&mut self, name: &str) -> usize {
        let known = self.names.iter().position(|it| it == name);
        known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.held.push(Held::Unset);
            self.names.len() - 1
        })
    }

    /// The place of a column's name behind a prefix.
    pub fn place_of_column(&mut self, prefix: &str, column: &str) -> Result<usize, Problem> {
        let name = format!("{prefix}{column}");
        if is_name(name.as_bytes()) {
            return Ok(self.place(&name));
        }
        let reason = format!("invalid variable name: \"{name}\"");
        Err(format!("error storing into variable {name}: {reason}"))
    }

    /// Its value, to reckon with.
    #[inline]
    pub fn value(&self, place: usize) -> Result<Value, Problem> {
        match &self.held[place] {
            Held::Value(value) => Ok(*value),
            Held::Text(text) => Value::read(text, &self.names[place]),
            Held::Unset => Err(format!("undefined variable \"{}\"", self.names[place])),
        }
    }

    /// Appends its text; in the place of none, its name.
    #[inline]
    pub fn put(&self, place: usize, text: &mut Vec<u8>) {
        match &self.held[place] {
            Held::Value(value) => value.put(text),
            Held::Text(bytes) => text.extend_from_slice(bytes),
            Held::Unset => {
                text.push(b':');
                text.extend_from_slice(self.names[place].as_bytes());
            }
        }
    }

    /// Empty memory for another text of it.
    pub fn take_text(&mut self, place: usize) -> Vec<u8> {
        let Held::Text(text) = &mut self.held[place] else { return Vec::new() };
        text.clear();
        std::mem::take(text)
    }

    /// Puts it into a parameter: a whole number as such, all else as its text, none as NULL.
    #[inline]
    pub fn fill(&self, place: usize, slot: &mut Sent) {
        match &self.held[place] {
            Held::Value(Value::Integer(number)) => *slot = Sent::Integer(*number),
            Held::Unset => *slot = Sent::Null,
            _ => {
                put_text(slot, b"");
                if let Sent::Text(text) = slot {
                    self.put(place, text);
                }
            }
        }
    }

    /// Its text; none where it has no value.
    pub fn text(&self, name: &str) -> Option<Vec<u8>> {
        let place = self.names.iter().position(|it| it == name)?;
        let mut text = Vec::new();
        self.put(place, &mut text);
        (self.held[place] != Held::Unset).then_some(text)
    }
}

/// Letters of the longest whole number.
const DIGITS_OF_MOST: usize = 20;

/// May a variable be called so?
fn is_name(name: &[u8]) -> bool {
    let is_letter = |it: &u8| it.is_ascii_alphabetic() || *it == b'_' || *it >= 0x80;
    name.first().is_some_and(is_letter)
        && name.iter().all(|it| is_letter(it) || it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_spelled_as_by_c() {
        let spelled = |x| {
            let mut text = b"e".to_vec();
            put_double(&mut text, x);
            String::from_utf8(text).unwrap_or_default()
        };
        for (x, text) in [
            (0.0, "e0"),
            (-0.0, "e-0"),
            (1.5, "e1.5"),
            (100.0, "e100"),
            (1e15, "e1e+15"),
            (123_456_789_012_345.0, "e123456789012345"),
            (1e300, "e1e+300"),
            (1.25e-7, "e1.25e-07"),
            (0.0001, "e0.0001"),
            (2.0 / 3.0, "e0.666666666666667"),
            (9_999_999_999_999_999.0, "e1e+16"),
            (f64::NEG_INFINITY, "e-Infinity"),
            (f64::NAN, "eNaN"),
        ] {
            assert_eq!(spelled(x), text);
        }
    }

    #[test]
    fn a_text_is_kept_as_it_is_where_a_number_would_be_spelled_otherwise() {
        let mut variables = Variables::default();
        let place = variables.place("x");
        for text in
            ["0", "7", "-7", "-0", "+7", "07", "-07", "9223372036854775808", "", " 7", "yes"]
        {
            variables.held[place] = Held::read(text.as_bytes());
            let mut shown = Vec::new();
            variables.put(place, &mut shown);
            assert_eq!(shown, text.as_bytes());
        }
        variables.held[place] = Held::read(b" 7 ");
        assert_eq!(variables.value(place), Ok(Value::Integer(7)));
        variables.held[place] = Held::read(b"of");
        assert_eq!(variables.value(place), Ok(Value::Boolean(false)));
        variables.held[place] = Held::read(b"word");
        assert_eq!(variables.value(place), Err(r#"malformed variable "x" value: "word""#.into()));
    }
}
