//! `json_tokens(document [, invalid])`: a hash for each value with its path, to be looked up by.
//!
//! A path is the names that lead to a value; places in arrays are left out. Objects and arrays have
//! a token of their own at their path, too. So whatever `json_holds` finds in a document has all
//! tokens of the pattern, and an index over tokens misses nothing; what else it finds (hashes that
//! are equal by chance, values of several elements of an array) `json_holds` sorts out.

use super::atom::{Atom, FNV_OFFSET, fnv};
use super::lines::Invalid;
use super::reader::{Reader, Token};
use crate::bounds::{Output, push};
use crate::function::{Answer, Arguments, Fault, Function, Kind, Shape, Takes};

/// As many as one document may have: as many rows as the table of places has in a server.
pub const TOKENS_MAX: usize = 1 << 16;
/// Before each name: no byte of UTF-8.
const SEPARATOR: &[u8] = b"\xff";

/// The tokens of the last row, 16 hexadecimal digits in a line: values first.
pub struct Tokens {
    invalid: Invalid,
    out: Output,
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
        Ok((Self { invalid, out: Output::default() }, Shape::Text))
    }

    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault> {
        let Some(document) = row.bytes(0) else { return Ok(Answer::Null) };
        let tokens = match tokens(document) {
            Err(_) if self.invalid.forgives(document) => return Ok(Answer::Null),
            told => told?,
        };
        self.out.clear();
        for token in tokens {
            self.out.extend(format!("{token:016x}\n").as_bytes())?;
        }
        Ok(Answer::Bytes(self.out.bytes()))
    }
}

/// Each once, those of values before those of objects and arrays.
fn tokens(document: &[u8]) -> Result<Vec<u64>, Fault> {
    let (mut values, mut holders) = (Distinct::default(), Distinct::default());
    // the hash of the path so far, and those of what is open
    let (mut path, mut open) = (FNV_OFFSET, Vec::new());
    let mut reader = Reader::new(document)?;
    while let Some(token) = reader.next()? {
        match token {
            Token::ObjectBegin | Token::ArrayBegin => {
                holders.add(fnv(path, if token == Token::ObjectBegin { b"{" } else { b"[" }))?;
                open.push(path);
            }
            Token::ObjectEnd | Token::ArrayEnd => path = open.pop().unwrap_or(FNV_OFFSET),
            Token::Key(key) => {
                let above = open.last().copied().unwrap_or(FNV_OFFSET);
                path = fnv(fnv(above, SEPARATOR), key.as_bytes());
            }
            Token::Scalar(scalar) => values.add(Atom::of(scalar)?.hash(path))?,
        }
    }
    let (mut values, mut holders) = (values.sorted()?, holders.sorted()?);
    holders.retain(|it| values.binary_search(it).is_err());
    values.append(&mut holders);
    if values.len() > TOKENS_MAX { Err(too_many()) } else { Ok(values) }
}

fn too_many() -> Fault {
    format!("the document has over {TOKENS_MAX} different values").into()
}

/// Different tokens; in between, each at most twice as often as there may be any.
#[derive(Default)]
struct Distinct(Vec<u64>);

impl Distinct {
    fn add(&mut self, token: u64) -> Result<(), Fault> {
        if self.0.len() == 2 * TOKENS_MAX {
            self.reduce()?;
        }
        push(&mut self.0, token)
    }

    fn reduce(&mut self) -> Result<(), Fault> {
        self.0.sort_unstable();
        self.0.dedup();
        if self.0.len() > TOKENS_MAX { Err(too_many()) } else { Ok(()) }
    }

    fn sorted(mut self) -> Result<Vec<u64>, Fault> {
        self.reduce()?;
        Ok(self.0)
    }
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
        assert_eq!(of(&format!("[{}0]", "1,".repeat(5 * TOKENS_MAX))).len(), 3);
        assert!(tokens(list(TOKENS_MAX).as_bytes()).is_err());
    }
}
