//! MySQL 8.0's `uuid_to_bin`, `bin_to_uuid` and `is_uuid`, for servers that lack them.
//!
//! With a second argument that is not 0 the bytes of a time-based UUID are put so that those made
//! later sort later: the time's high part goes first (`12345678-1234-1…` is low-mid-high).

use crate::function::{Answer, Arguments, Fault, Function, Kind, Shape, Takes};

const BYTES: usize = 16;
const TEXT: usize = 36;
/// Before which bytes of the text's 16 a hyphen stands.
const HYPHENS: [usize; 4] = [4, 6, 8, 10];

/// The bytes of a UUID written as 8-4-4-4-12 hexadecimal digits, the same in braces, or 32 digits.
fn parse(text: &[u8]) -> Option<[u8; BYTES]> {
    let inner = match text {
        [b'{', inner @ .., b'}'] if inner.len() == TEXT => inner,
        _ => text,
    };
    let has_hyphens = inner.len() == TEXT;
    if !has_hyphens && inner.len() != 2 * BYTES {
        return None;
    }
    let mut digits = inner.iter();
    let mut bytes = [0; BYTES];
    for (index, byte) in bytes.iter_mut().enumerate() {
        if has_hyphens && HYPHENS.contains(&index) && *digits.next()? != b'-' {
            return None;
        }
        *byte = digit(*digits.next()?)? << 4 | digit(*digits.next()?)?;
    }
    Some(bytes)
}

fn digit(it: u8) -> Option<u8> {
    char::from(it).to_digit(16).map(|value| value as u8)
}

/// From low-mid-high to high-mid-low.
fn high_first(it: [u8; BYTES]) -> [u8; BYTES] {
    let mut out = it;
    out[..2].copy_from_slice(&it[6..8]);
    out[2..4].copy_from_slice(&it[4..6]);
    out[4..8].copy_from_slice(&it[..4]);
    out
}

/// And back.
fn low_first(it: [u8; BYTES]) -> [u8; BYTES] {
    let mut out = it;
    out[..4].copy_from_slice(&it[4..8]);
    out[4..6].copy_from_slice(&it[2..4]);
    out[6..8].copy_from_slice(&it[..2]);
    out
}

/// `uuid_to_bin(uuid [, swap])`: 16 bytes; an error for what is no UUID.
pub struct ToBinary([u8; BYTES]);

impl Function for ToBinary {
    const TAKES: Takes = Takes {
        kinds: &[Kind::Bytes, Kind::Integer],
        least: 1,
        usage: "uuid_to_bin(uuid [, swap])",
    };
    const DETERMINISTIC: bool = true;

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self([0; BYTES]), Shape::Bytes(BYTES)))
    }

    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault> {
        let Some(text) = row.bytes(0) else { return Ok(Answer::Null) };
        let found = parse(text).ok_or("uuid_to_bin: this is not a UUID")?;
        self.0 = if row.integer(1).unwrap_or(0) != 0 { high_first(found) } else { found };
        Ok(Answer::Bytes(&self.0))
    }
}

/// `bin_to_uuid(bytes [, swap])`: 36 characters; an error for what is not 16 bytes long.
pub struct ToText(String);

impl Function for ToText {
    const TAKES: Takes = Takes {
        kinds: &[Kind::Bytes, Kind::Integer],
        least: 1,
        usage: "bin_to_uuid(bytes [, swap])",
    };
    const DETERMINISTIC: bool = true;

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self(String::with_capacity(TEXT)), Shape::Bytes(TEXT)))
    }

    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault> {
        let Some(bytes) = row.bytes(0) else { return Ok(Answer::Null) };
        let found: [u8; BYTES] =
            bytes.try_into().map_err(|_| "bin_to_uuid: a UUID has 16 bytes, no more, no less")?;
        let found = if row.integer(1).unwrap_or(0) != 0 { low_first(found) } else { found };
        self.0.clear();
        for (index, byte) in found.iter().enumerate() {
            if HYPHENS.contains(&index) {
                self.0.push('-');
            }
            for half in [byte >> 4, byte & 15] {
                self.0.extend(char::from_digit(u32::from(half), 16));
            }
        }
        Ok(Answer::Bytes(self.0.as_bytes()))
    }
}

/// `is_uuid(text)`: 1 or 0.
pub struct IsUuid;

impl Function for IsUuid {
    const TAKES: Takes = Takes { kinds: &[Kind::Bytes], least: 1, usage: "is_uuid(text)" };
    const DETERMINISTIC: bool = true;

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self, Shape::Integer))
    }

    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault> {
        Ok(match row.bytes(0) {
            Some(text) => Answer::Integer(parse(text).is_some().into()),
            None => Answer::Null,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::function::Value;

    const TEXT: &str = "6ccd780c-baba-1026-9564-5b8c656024db";

    #[test]
    fn the_swap_is_that_of_mysqls_manual() {
        let bytes = parse(TEXT.as_bytes()).unwrap();
        assert_eq!(high_first(bytes)[..8], [0x10, 0x26, 0xba, 0xba, 0x6c, 0xcd, 0x78, 0x0c]);
        assert_eq!(low_first(high_first(bytes)), bytes);
    }

    #[test]
    fn what_is_no_uuid_is_told_from_what_is_one() {
        let braces = format!("{{{TEXT}}}");
        let plain = TEXT.replace('-', "");
        for good in [TEXT, &braces, &plain, &TEXT.to_uppercase()] {
            assert!(parse(good.as_bytes()).is_some(), "{good}");
        }
        for bad in ["", "{}", &TEXT[1..], &format!("{{{plain}}}"), &TEXT.replacen('-', "x", 1)] {
            assert!(parse(bad.as_bytes()).is_none(), "{bad}");
        }
    }

    #[test]
    fn text_comes_back_and_null_is_null() {
        let bytes = parse(TEXT.as_bytes()).unwrap();
        let (mut function, _) = ToText::prepare(Arguments(&[])).unwrap();
        let row = [Value::Bytes(&bytes), Value::Null];
        assert_eq!(function.answer(Arguments(&row)), Ok(Answer::Bytes(TEXT.as_bytes())));
        assert_eq!(function.answer(Arguments(&[Value::Null])), Ok(Answer::Null));
        assert!(function.answer(Arguments(&[Value::Bytes(b"short")])).is_err());
    }
}
