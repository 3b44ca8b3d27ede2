//! `json_tokens(document [, invalid])`: a hash for each value with its path, to be looked up by.
//!
//! A path is the names that lead to a value; places in arrays are left out. Objects and arrays have
//! a token of their own at their path, too. So whatever `json_holds` finds in a document has all
//! tokens of the pattern, and an index over tokens misses nothing; what else it finds (hashes that
//! are equal by chance, values of several elements of an array) `json_holds` sorts out.

use std::io::Write;

use super::atom::{Atom, FNV_OFFSET, fnv};
use super::lines::Invalid;
use super::reader::{Reader, Token};
use crate::function::{Answer, Arguments, Fault, Function, Kind, Shape, Takes};

/// As many as one document may have: as many rows as the table of places has in a server.
const TOKENS_MAX: usize = 1 << 16;
/// Before each name: no byte of UTF-8.
const SEPARATOR: &[u8] = b"\xff";

/// The tokens of the last row, 16 hexadecimal digits in a line: values first.
pub struct Tokens {
    invalid: Invalid,
    out: Vec<u8>,
}

impl Function for Tokens {
    const TAKES: Takes = Takes {
        kinds: &[Kind::Bytes, Kind::Bytes],
        least: 1,
        usage: "json_tokens(document [, 'error' or 'null'])",
    };
    const DETERMINISTIC: bool = true;

    fn prepare(constants: Arguments) -> Result<(Self, Shape), Fault> {
        let invalid = Invalid::asked(constants, 1).ok_or("json_tokens: say 'error' or 'null'")?;
        Ok((Self { invalid, out: Vec::new() }, Shape::Text))
    }

    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault> {
        let Some(document) = row.bytes(0) else { return Ok(Answer::Null) };
        let tokens = match tokens(document) {
            Err(_) if self.invalid == Invalid::Null => return Ok(Answer::Null),
            told => told?,
        };
        self.out.clear();
        for token in tokens {
            // A Vec takes all that is written to it.
            let _ = writeln!(self.out, "{token:016x}");
        }
        Ok(Answer::Bytes(&self.out))
    }
}

/// Each once, those of values before those of objects and arrays.
fn tokens(document: &[u8]) -> Result<Vec<u64>, Fault> {
    let (mut values, mut holders) = (Vec::new(), Vec::new());
    // the hash of the path so far, and those of what is open
    let (mut path, mut open) = (FNV_OFFSET, Vec::new());
    let mut reader = Reader::new(document)?;
    while let Some(token) = reader.next()? {
        match token {
            Token::ObjectBegin | Token::ArrayBegin => {
                holders.push(fnv(path, if token == Token::ObjectBegin { b"{" } else { b"[" }));
                open.push(path);
            }
            Token::ObjectEnd | Token::ArrayEnd => path = open.pop().unwrap_or(FNV_OFFSET),
            Token::Key(key) => {
                let above = open.last().copied().unwrap_or(FNV_OFFSET);
                path = fnv(fnv(above, SEPARATOR), key.as_bytes());
            }
            Token::Scalar(scalar) => values.push(Atom::of(scalar)?.hash(path)),
        }
    }
    for list in [&mut values, &mut holders] {
        list.sort_unstable();
        list.dedup();
    }
    holders.retain(|it| values.binary_search(it).is_err());
    values.append(&mut holders);
    if values.len() > TOKENS_MAX {
        return Err(format!("the document has over {TOKENS_MAX} different values").into());
    }
    Ok(values)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::function::Value;

    fn of(document: &str) -> Vec<u64> {
        tokens(document.as_bytes()).unwrap()
    }

    #[test]
    fn a_token_is_a_path_and_a_value_wherever_in_an_array() {
        let shared = of(r#"{"a": [1, {"b": 2}], "c": "x"}"#);
        for part in [r#"{"a":1.0}"#, r#"{"a":[1]}"#, r#"{"a":{"b":2}}"#, r#"{"a":[{}]}"#] {
            assert!(of(part).iter().all(|it| shared.contains(it)), "{part}");
        }
        for other in [r#"{"b":2}"#, r#"{"a":"1"}"#, r#"{"a":{"b":{}}}"#, "[]", r#"{"c":[]}"#] {
            assert!(!of(other).iter().all(|it| shared.contains(it)), "{other}");
        }
        assert_ne!(of(r#"{"ab":{"c":1}}"#)[0], of(r#"{"a":{"bc":1}}"#)[0]);
    }

    #[test]
    fn each_token_comes_once_and_values_come_first() {
        assert_eq!(of("[1, 1, 1.0, [1]]").len(), 2);
        assert_eq!(of("[1, [1]]")[0], of("1")[0]);
        assert_eq!(of("{}").len(), 1);
    }

    #[test]
    fn invalid_json_and_too_many_values_are_refused() {
        let call = |document: &str, word: &'static [u8]| {
            let row = [Value::Bytes(document.as_bytes()), Value::Bytes(word)];
            let (mut function, _) = Tokens::prepare(Arguments(&row))?;
            function.answer(Arguments(&row)).map(|it| it == Answer::Null)
        };
        assert!(call("[1,]", b"error").is_err());
        assert_eq!(call("[1,]", b"null"), Ok(true));
        assert_eq!(call("[1]", b"null"), Ok(false));
        assert!(call("[1]", b"maybe").is_err());
        let list =
            |count| format!("[{}0]", (1..count).map(|n| format!("{n},")).collect::<String>());
        assert_eq!(of(&list(TOKENS_MAX - 1)).len(), TOKENS_MAX);
        assert!(tokens(list(TOKENS_MAX).as_bytes()).is_err());
    }
}
