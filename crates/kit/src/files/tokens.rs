//! A query's text as words, numbers, quoted texts and signs.

use crate::bounds::{Steps, copied, push};
use crate::function::Fault;

/// A query has no more of them: as many as a list of a million numbers.
pub const TOKENS_MAX: usize = 1 << 21;

/// A word of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    /// A name, bare or in backquotes.
    Word(String),
    /// Digits, with a point and an exponent or not.
    Number(String),
    /// What stood in quotes.
    Text(Vec<u8>),
    /// One of `SIGNS`.
    Sign(&'static str),
}

const SIGNS: [&str; 16] =
    ["<=", ">=", "<>", "!=", "==", "&&", "||", "=", "<", ">", "(", ")", ",", "*", "!", "-"];

/// The tokens of a text.
pub fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
    let mut rest = text.trim_start();
    let (mut found, mut steps) = (Vec::new(), Steps::of_input());
    while let Some(first) = rest.chars().next() {
        steps.take(1)?;
        if found.len() == TOKENS_MAX {
            return Err(format!("the query has more than {TOKENS_MAX} words and signs").into());
        }
        let (token, length) = if first.is_ascii_digit() || first == '.' {
            let length = number_length(rest);
            (Token::Number(owned(&rest[..length])?), length)
        } else if first.is_ascii_alphabetic() || first == '_' {
            let end = |it: char| !(it.is_ascii_alphanumeric() || it == '_');
            let length = rest.find(end).unwrap_or(rest.len());
            (Token::Word(owned(&rest[..length])?), length)
        } else if matches!(first, '\'' | '"' | '`') {
            let (content, length) = quoted(rest, first)?;
            let token = match (first, String::from_utf8(content)) {
                ('`', Ok(name)) => Token::Word(name),
                (_, Ok(text)) => Token::Text(text.into_bytes()),
                (_, Err(_)) => return Err("the query is not UTF-8".into()),
            };
            (token, length)
        } else {
            let sign = SIGNS.iter().find(|it| rest.starts_with(**it));
            let sign = sign.ok_or_else(|| format!("a query has no '{first}'"))?;
            (Token::Sign(sign), sign.len())
        };
        push(&mut found, token)?;
        rest = rest[length..].trim_start();
    }
    Ok(found)
}

fn owned(text: &str) -> Result<String, Fault> {
    let bytes = copied(text.as_bytes())?;
    String::from_utf8(bytes).map_err(|_| "the query is not UTF-8".into())
}

/// Of digits, a point, and an exponent.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let behind = digits(end + 1 + sign);
        if behind > end + 1 + sign {
            end = behind;
        }
    }
    end
}

/// What stands between quotes, a quote written twice, and how long it was. A backslash is itself.
fn quoted(text: &str, quote: char) -> Result<(Vec<u8>, usize), Fault> {
    let (bytes, quote) = (text.as_bytes(), quote as u8);
    let (mut content, mut at) = (Vec::new(), 1);
    while let Some(byte) = bytes.get(at) {
        if *byte == quote {
            if bytes.get(at + 1) != Some(&quote) {
                return Ok((content, at + 1));
            }
            at += 1;
        }
        push(&mut content, *byte)?;
        at += 1;
    }
    Err("a quote of the query has no end".into())
}
