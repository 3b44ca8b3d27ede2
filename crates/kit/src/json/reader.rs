//! A document read token by token, as RFC 8259 has it: strict, in order, without recursion.

use std::borrow::Cow;

use crate::bounds::{Steps, push_text};
use crate::function::Fault;

/// How deep arrays and objects may be nested. MySQL's own limit is 100, MariaDB's 32.
pub const DEPTH_MAX: usize = 1000;

/// Whether a document is JSON that is read here.
pub fn is_json(document: &[u8]) -> bool {
    let read_all = || {
        let mut reader = Reader::new(document)?;
        while reader.next()?.is_some() {}
        Ok::<(), Fault>(())
    };
    read_all().is_ok()
}

/// The next thing in a document.
#[derive(Debug, PartialEq, Eq)]
pub enum Token<'a> {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    /// The name of the member whose value comes next, its escapes resolved.
    Key(Cow<'a, str>),
    Scalar(Scalar<'a>),
}

/// A value that holds no others.
#[derive(Debug, PartialEq, Eq)]
pub enum Scalar<'a> {
    Null,
    Bool(bool),
    /// As it is written.
    Number(&'a str),
    /// Its escapes resolved.
    String(Cow<'a, str>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    /// Of an array that has just begun: it may be empty.
    ValueOrEnd,
    Key,
    /// Of an object that has just begun: it may be empty.
    KeyOrEnd,
    CommaOrEnd,
}

/// Reads one document.
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// What is open; true: an object.
    open: Vec<bool>,
    next: Next,
    steps: Steps,
}

impl<'a> Reader<'a> {
    /// A fault where the bytes are no UTF-8: what is stored in another character set must be
    /// converted by the server.
    pub fn new(document: &'a [u8]) -> Result<Self, Fault> {
        let text = std::str::from_utf8(document).map_err(|error| {
            let at = error.valid_up_to();
            format!("the JSON is not UTF-8 at byte {at}: CONVERT(… USING utf8mb4)")
        })?;
        let steps = Steps::of_input();
        Ok(Self { text, at: 0, open: Vec::new(), next: Next::Value, steps })
    }

    /// The next token; `None` at the end of the document.
    pub fn next(&mut self) -> Result<Option<Token<'a>>, Fault> {
        self.steps.take(1)?;
        loop {
            self.skip_space();
            let Some(byte) = self.peek() else {
                let is_whole = self.open.is_empty() && self.next == Next::CommaOrEnd;
                return if is_whole { Ok(None) } else { Err(self.fault("it ends too early")) };
            };
            match (self.next, byte) {
                (Next::CommaOrEnd, b',') if !self.open.is_empty() => {
                    self.at += 1;
                    let in_object = self.open.last() == Some(&true);
                    self.next = if in_object { Next::Key } else { Next::Value };
                }
                (Next::CommaOrEnd | Next::ValueOrEnd, b']') if self.open.last() == Some(&false) => {
                    return Ok(Some(self.close(Token::ArrayEnd)));
                }
                (Next::CommaOrEnd | Next::KeyOrEnd, b'}') if self.open.last() == Some(&true) => {
                    return Ok(Some(self.close(Token::ObjectEnd)));
                }
                (Next::Key | Next::KeyOrEnd, b'"') => return self.key().map(Some),
                (Next::Value | Next::ValueOrEnd, _) => return self.value(byte).map(Some),
                _ => return Err(self.fault("unexpected")),
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    fn fault(&self, what: &str) -> Fault {
        match self.text[self.at.min(self.text.len())..].chars().next() {
            Some(found) => format!("invalid JSON at byte {}: {what} {found:?}", self.at).into(),
            None => format!("invalid JSON at byte {}: it ends too early", self.at).into(),
        }
    }

    fn close(&mut self, token: Token<'a>) -> Token<'a> {
        self.at += 1;
        self.open.pop();
        self.next = Next::CommaOrEnd;
        token
    }

    fn begin(&mut self, is_object: bool) -> Result<(), Fault> {
        if self.open.len() == DEPTH_MAX {
            return Err(format!("the JSON is nested deeper than {DEPTH_MAX}").into());
        }
        self.at += 1;
        self.open.push(is_object);
        self.next = if is_object { Next::KeyOrEnd } else { Next::ValueOrEnd };
        Ok(())
    }

    fn key(&mut self) -> Result<Token<'a>, Fault> {
        let key = self.string()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.fault("a colon belongs before"));
        }
        self.at += 1;
        self.next = Next::Value;
        Ok(Token::Key(key))
    }

    fn value(&mut self, first: u8) -> Result<Token<'a>, Fault> {
        let scalar = match first {
            b'{' => return self.begin(true).map(|()| Token::ObjectBegin),
            b'[' => return self.begin(false).map(|()| Token::ArrayBegin),
            b'"' => Scalar::String(self.string()?),
            b'-' | b'0'..=b'9' => Scalar::Number(self.number()?),
            b't' => self.word("true", Scalar::Bool(true))?,
            b'f' => self.word("false", Scalar::Bool(false))?,
            b'n' => self.word("null", Scalar::Null)?,
            _ => return Err(self.fault("unexpected")),
        };
        self.next = Next::CommaOrEnd;
        Ok(Token::Scalar(scalar))
    }

    fn word(&mut self, word: &str, scalar: Scalar<'a>) -> Result<Scalar<'a>, Fault> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.fault("unexpected"));
        }
        self.at += word.len();
        Ok(scalar)
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let begin = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == begin { Err(self.fault("a digit belongs before")) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<&'a str, Fault> {
        let begin = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(&self.text[begin..self.at])
    }

    /// What stands between quotes; borrowed where nothing in it is escaped.
    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        self.at += 1;
        let begin = self.at;
        self.plain()?;
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(&self.text[begin..self.at - 1]));
        }
        let mut found = String::new();
        push_text(&mut found, &self.text[begin..self.at])?;
        loop {
            if self.peek() == Some(b'"') {
                self.at += 1;
                return Ok(Cow::Owned(found));
            }
            self.at += 1;
            push_text(&mut found, self.escaped()?.encode_utf8(&mut [0; 4]))?;
            let begin = self.at;
            self.plain()?;
            push_text(&mut found, &self.text[begin..self.at])?;
        }
    }

    /// Up to the next quote or backslash.
    fn plain(&mut self) -> Result<(), Fault> {
        let rest = &self.text.as_bytes()[self.at..];
        let found = rest.iter().position(|it| matches!(it, b'"' | b'\\' | 0..0x20));
        self.at += found.unwrap_or(rest.len());
        match self.peek() {
            Some(b'"' | b'\\') => Ok(()),
            _ => Err(self.fault("unexpected in a string")),
        }
    }

    /// What an escape stands for; its backslash is read.
    fn escaped(&mut self) -> Result<char, Fault> {
        let escape = self.peek();
        self.at += 1;
        Ok(match escape {
            Some(it @ (b'"' | b'\\' | b'/')) => char::from(it),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.code_point(),
            _ => {
                self.at -= 1;
                return Err(self.fault("no escape is"));
            }
        })
    }

    fn code_point(&mut self) -> Result<char, Fault> {
        let first = self.hex()?;
        let code = match first {
            0xD800..0xDC00 if self.text[self.at..].starts_with("\\u") => {
                self.at += 2;
                let second = self.hex()?;
                let low = second.checked_sub(0xDC00).filter(|it| *it < 0x400);
                low.map_or(first, |low| 0x10000 + ((first - 0xD800) << 10) + low)
            }
            _ => first,
        };
        char::from_u32(code).ok_or_else(|| self.fault("half a pair of surrogates before"))
    }

    fn hex(&mut self) -> Result<u32, Fault> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let digits = digits.ok_or_else(|| self.fault("\\u wants four digits, not"))?;
        let mut code = 0;
        for digit in digits {
            let value = char::from(*digit).to_digit(16);
            code = code << 4 | value.ok_or_else(|| self.fault("\\u wants four digits, not"))?;
        }
        self.at += 4;
        Ok(code)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The document as `serde_json` would hold it; of equal keys the last one counts.
    fn value_of(document: &[u8]) -> Result<Value, Fault> {
        fn put(into: &mut [(Value, Option<String>)], value: Value) {
            match into.last_mut() {
                Some((Value::Array(items), _)) => items.push(value),
                Some((Value::Object(members), key)) => {
                    members.insert(key.take().unwrap(), value);
                }
                _ => unreachable!(),
            }
        }
        let mut reader = Reader::new(document)?;
        let mut open = vec![(Value::Array(Vec::new()), None)];
        while let Some(token) = reader.next()? {
            match token {
                Token::ObjectBegin => open.push((Value::Object(serde_json::Map::new()), None)),
                Token::ArrayBegin => open.push((Value::Array(Vec::new()), None)),
                Token::ObjectEnd | Token::ArrayEnd => {
                    let (done, _) = open.pop().unwrap();
                    put(&mut open, done);
                }
                Token::Key(key) => open.last_mut().unwrap().1 = Some(key.into_owned()),
                Token::Scalar(Scalar::Null) => put(&mut open, Value::Null),
                Token::Scalar(Scalar::Bool(it)) => put(&mut open, it.into()),
                Token::Scalar(Scalar::Number(it)) => {
                    put(&mut open, serde_json::from_str(it).unwrap());
                }
                Token::Scalar(Scalar::String(it)) => put(&mut open, it.into_owned().into()),
            }
        }
        Ok(open[0].0[0].take())
    }

    const SEEDS: [&str; 10] = [
        r#"{"a":1,"b":"x y","c":{"d":[1,2.5,true,null],"e":-3},"a":1e20}"#,
        r#"[]"#,
        r#" { } "#,
        r#""\u00e4\ud83d\ude00\n\\\/""#,
        r#"[[],[{}],{"":[]}]"#,
        r#"-0.0e-7"#,
        r#"[1,-1,0,10,1.5,1E5,1e+5,123456789012345678901234567890.123456789]"#,
        r#"{"ä":"ö","key with \"quotes\"":false}"#,
        "[\"\u{7f}\", \"\u{2028}\" ,\t\r\nnull]",
        r#""\ud800""#,
    ];

    fn agree(document: &[u8]) {
        let theirs: Result<Value, _> = serde_json::from_slice(document);
        match (value_of(document), theirs) {
            (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs),
            (Err(_), Err(_)) => {}
            (ours, theirs) => {
                let text = String::from_utf8_lossy(document);
                panic!("{text}: ours {ours:?}, theirs {theirs:?}");
            }
        }
    }

    #[test]
    fn it_takes_and_refuses_what_serde_json_does() {
        let refused = "{ [ ] } [1,] [,1] {\"a\"} {\"a\":} {,} 01 1. .5 +1 1e 1e+ - tru nul \"a \
            \"\\x\" \"\\u12\" \"\\u12g4\" [1]] {}x [1 2] {\"a\":1,} {1:2} ' NaN Infinity -- 1.e5 \
            0x1 \"\\ud800\\n\"";
        refused.split(' ').for_each(|it| agree(it.as_bytes()));
        SEEDS.iter().for_each(|it| agree(it.as_bytes()));
        agree(b"");
        agree(b"\"\x01\"");
        agree(b"\"\xff\"");
    }

    #[test]
    fn it_agrees_with_serde_json_on_damaged_documents() {
        let alphabet = b"{}[]\",:\\u0189ed+-. tfn\xc3\xa4\n";
        let mut random = 88_172_645_463_325_252_u64;
        let mut draw = move |below: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % below as u64) as usize
        };
        for round in 0..40_000 {
            let mut document = SEEDS[round % SEEDS.len()].as_bytes().to_vec();
            for _ in 0..=draw(3) {
                let at = draw(document.len());
                match draw(3) {
                    0 => document[at] = alphabet[draw(alphabet.len())],
                    1 => document.insert(at, alphabet[draw(alphabet.len())]),
                    _ if document.len() > 1 => drop(document.remove(at)),
                    _ => {}
                }
            }
            agree(&document);
        }
    }

    #[test]
    fn a_document_that_is_nested_too_deeply_is_refused() {
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        let mut reader = Reader::new(b"").unwrap();
        assert!(reader.next().is_err());
        let fine = deep(DEPTH_MAX);
        let mut reader = Reader::new(fine.as_bytes()).unwrap();
        while reader.next().unwrap().is_some() {}
        let deep = deep(DEPTH_MAX + 1);
        let mut reader = Reader::new(deep.as_bytes()).unwrap();
        let fault = loop {
            match reader.next() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("it was read"),
                Err(fault) => break fault,
            }
        };
        assert_eq!(fault.0, "the JSON is nested deeper than 1000");
    }
}
