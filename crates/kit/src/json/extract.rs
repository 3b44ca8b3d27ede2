//! `json_extract_all(document, key [, invalid])`: a line for each value under a key, at any depth.

use super::lines::{self, Invalid};
use super::reader::{Reader, Token};
use crate::bounds::Output;
use crate::function::{Answer, Arguments, Fault, Function, Kind, Shape, Takes};

/// The values found in the last row.
pub struct ExtractAll {
    invalid: Invalid,
    out: Output,
    /// For what is open: is its nearest key the one asked for?
    open: Vec<bool>,
}

impl Function for ExtractAll {
    const TAKES: Takes = Takes {
        kinds: &[Kind::Bytes, Kind::Bytes, Kind::Bytes],
        least: 2,
        usage: "json_extract_all(document, key [, 'error' or 'null'])",
    };
    const DETERMINISTIC: bool = true;

    fn prepare(constants: Arguments) -> Result<(Self, Shape), Fault> {
        let invalid = Invalid::asked(constants, 2)
            .ok_or("json_extract_all: for invalid JSON say 'error' or 'null'")?;
        Ok((Self { invalid, out: Output::default(), open: Vec::new() }, Shape::Text))
    }

    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault> {
        let (Some(document), Some(key)) = (row.bytes(0), row.bytes(1)) else {
            return Ok(Answer::Null);
        };
        match self.extract(document, key) {
            Ok(()) => Ok(Answer::Bytes(self.out.bytes())),
            Err(_) if self.invalid.forgives(document) => Ok(Answer::Null),
            Err(fault) => Err(fault),
        }
    }
}

impl ExtractAll {
    fn extract(&mut self, document: &[u8], wanted: &[u8]) -> Result<(), Fault> {
        self.out.clear();
        self.open.clear();
        let mut is_wanted = false;
        let mut reader = Reader::new(document)?;
        while let Some(token) = reader.next()? {
            match token {
                Token::ObjectBegin | Token::ArrayBegin => self.open.push(is_wanted),
                Token::ObjectEnd | Token::ArrayEnd => is_wanted = self.open.pop().unwrap_or(false),
                Token::Key(key) => is_wanted = key.as_bytes() == wanted,
                Token::Scalar(scalar) if is_wanted => {
                    lines::scalar(&mut self.out, &scalar)?;
                    self.out.push(b'\n')?;
                }
                Token::Scalar(_) => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::function::Value;

    fn found(document: &str, key: &str) -> String {
        let values = [Value::Bytes(document.as_bytes()), Value::Bytes(key.as_bytes())];
        let (mut function, _) = ExtractAll::prepare(Arguments(&values)).unwrap();
        match function.answer(Arguments(&values)).unwrap() {
            Answer::Bytes(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_value_under_the_key_is_found_in_order_and_no_other() {
        let document = r#"{"a":1,"z":[{"a":[4,"x",null]},5],"b":{"a":{"c":6,"a":7}}}"#;
        assert_eq!(found(document, "a"), "1\n4\nx\nNULL\n7\n");
        assert_eq!(found(document, "z"), "5\n");
        assert_eq!(found(document, "y"), "");
        assert_eq!(found(r#"{"\u0061":"l\nl"}"#, "a"), "l\\nl\n");
    }
}
