//! `json_holds(document, pattern [, invalid])`: is all of the pattern in the document?
//!
//! The rules are those of MySQL's JSON_CONTAINS (reference manual, "Functions That Search JSON
//! Values"), which 5.6 lacks: an object is held by one with at least its members; an array by one
//! that holds each of its elements; anything else by an equal value, or by an array that holds it.
//! Here numbers are compared exactly, and of members with one name any counts.

use std::borrow::Cow;

use super::atom::{Atom, owned};
use super::lines::Invalid;
use super::reader::{Reader, Token};
use crate::bounds::{Steps, copied, push, reserve};
use crate::function::{Answer, Arguments, Fault, Function, Kind, Shape, Takes};

/// A pattern may not be nested deeper: comparing goes as deep into the server's stack.
pub const PATTERN_DEPTH_MAX: usize = 100;
/// A tree takes about 100 bytes for each of its values.
pub const DOCUMENT_VALUES_MAX: usize = 1 << 20;
pub const PATTERN_VALUES_MAX: usize = 1 << 16;
/// No row takes more steps: each looks at a value, a name, or so many bytes of one, and all of them
/// together take a fraction of a second.
pub const STEPS_MAX: u64 = 20_000_000;
const STEP_BYTES: usize = 64;

/// A document's values in order: an array or object is followed by all that it holds.
struct Tree<'a>(Vec<Node<'a>>);

struct Node<'a> {
    /// Of a member: its name.
    key: Cow<'a, str>,
    what: What<'a>,
    /// Where what it holds has ended.
    end: usize,
}

#[derive(PartialEq)]
enum What<'a> {
    Object,
    Array,
    Atom(Atom<'a>),
}

impl<'a> Tree<'a> {
    fn parse(document: &'a [u8], depth_max: usize, values_max: usize) -> Result<Self, Fault> {
        let (mut nodes, mut open, mut key) = (Vec::new(), Vec::new(), Cow::Borrowed(""));
        let mut reader = Reader::new(document)?;
        while let Some(token) = reader.next()? {
            let what = match token {
                Token::Key(name) => {
                    key = name;
                    continue;
                }
                Token::ObjectEnd | Token::ArrayEnd => {
                    let end = nodes.len();
                    if let Some(Node { end: last, .. }) =
                        open.pop().and_then(|at| nodes.get_mut(at))
                    {
                        *last = end;
                    }
                    continue;
                }
                Token::ObjectBegin => What::Object,
                Token::ArrayBegin => What::Array,
                Token::Scalar(scalar) => What::Atom(Atom::of(scalar)?),
            };
            let at = nodes.len();
            if !matches!(what, What::Atom(_)) {
                if open.len() == depth_max {
                    return Err(format!("the pattern is nested deeper than {depth_max}").into());
                }
                open.push(at);
            }
            if at == values_max {
                return Err(format!("there are more than {values_max} values").into());
            }
            push(&mut nodes, Node { key: std::mem::take(&mut key), what, end: at + 1 })?;
        }
        Ok(Self(nodes))
    }

    /// The places of what an array or object holds.
    fn children(&self, at: usize) -> impl Iterator<Item = usize> {
        let mut next = at + 1;
        std::iter::from_fn(move || {
            let found = (next < self.0[at].end).then_some(next)?;
            next = self.0[found].end;
            Some(found)
        })
    }

    fn into_owned(self) -> Result<Tree<'static>, Fault> {
        let mut nodes = Vec::new();
        reserve(&mut nodes, self.0.len())?;
        for Node { key, what, end } in self.0 {
            nodes.push(Node { key: owned(key)?, what: what.into_owned()?, end });
        }
        Ok(Tree(nodes))
    }
}

impl What<'_> {
    fn into_owned(self) -> Result<What<'static>, Fault> {
        Ok(match self {
            Self::Object => What::Object,
            Self::Array => What::Array,
            Self::Atom(atom) => What::Atom(atom.into_owned()?),
        })
    }

    fn size(&self) -> usize {
        match self {
            Self::Object | Self::Array => 1,
            Self::Atom(atom) => atom.size(),
        }
    }
}

/// One comparison of a document and a pattern.
struct Comparison<'a> {
    document: &'a Tree<'a>,
    pattern: &'a Tree<'static>,
    steps: Steps,
}

impl Comparison<'_> {
    /// A value or a name of the pattern, of so many bytes, is compared.
    fn step(&mut self, bytes: usize) -> Result<(), Fault> {
        self.steps.take(1 + (bytes / STEP_BYTES) as u64)
    }

    /// Does the document at `held` hold the pattern at `sought`? Goes no deeper than the pattern.
    fn holds(&mut self, held: usize, sought: usize) -> Result<bool, Fault> {
        let is_array = |node: &Node| node.what == What::Array;
        if is_array(&self.pattern.0[sought]) {
            return self.holds_elements(held, sought);
        }
        // arrays are looked through, arrays in them too
        let (mut at, end) = (held, self.document.0[held].end);
        while at < end {
            self.step(0)?;
            let node = &self.document.0[at];
            if is_array(node) {
                at += 1;
                continue;
            }
            if self.equals(at, sought)? {
                return Ok(true);
            }
            at = node.end;
        }
        Ok(false)
    }

    fn holds_elements(&mut self, held: usize, sought: usize) -> Result<bool, Fault> {
        let (document, pattern) = (self.document, self.pattern);
        if document.0[held].what != What::Array {
            return Ok(false);
        }
        'sought: for element in pattern.children(sought) {
            for candidate in document.children(held) {
                self.step(0)?;
                if self.holds(candidate, element)? {
                    continue 'sought;
                }
            }
            return Ok(false);
        }
        Ok(true)
    }

    /// Of what is no array: is it the same value, or an object with at least these members?
    fn equals(&mut self, held: usize, sought: usize) -> Result<bool, Fault> {
        self.step(self.pattern.0[sought].what.size())?;
        let (document, pattern) = (self.document, self.pattern);
        if pattern.0[sought].what != What::Object {
            return Ok(document.0[held].what == pattern.0[sought].what);
        }
        if document.0[held].what != What::Object {
            return Ok(false);
        }
        'sought: for member in pattern.children(sought) {
            for candidate in document.children(held) {
                self.step(pattern.0[member].key.len())?;
                let is_named_so = document.0[candidate].key == pattern.0[member].key;
                if is_named_so && self.holds(candidate, member)? {
                    continue 'sought;
                }
            }
            return Ok(false);
        }
        Ok(true)
    }
}

/// The pattern of the last row, since it is the next one's, too.
pub struct Holds {
    invalid: Invalid,
    text: Vec<u8>,
    pattern: Option<Tree<'static>>,
}

impl Function for Holds {
    const TAKES: Takes = Takes {
        kinds: &[Kind::Bytes, Kind::Bytes, Kind::Bytes],
        least: 2,
        usage: "json_holds(document, pattern [, 'error' or 'null'])",
    };
    const DETERMINISTIC: bool = true;

    fn prepare(constants: Arguments) -> Result<(Self, Shape), Fault> {
        let invalid = Invalid::asked(constants, 2).ok_or("json_holds: say 'error' or 'null'")?;
        Ok((Self { invalid, text: Vec::new(), pattern: None }, Shape::Integer))
    }

    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault> {
        let (Some(document), Some(text)) = (row.bytes(0), row.bytes(1)) else {
            return Ok(Answer::Null);
        };
        if self.pattern.is_none() || self.text != text {
            self.pattern = None;
            let pattern = Tree::parse(text, PATTERN_DEPTH_MAX, PATTERN_VALUES_MAX)
                .map_err(|Fault(cause)| format!("the pattern: {cause}"))?;
            self.pattern = Some(pattern.into_owned()?);
            self.text = copied(text)?;
        }
        let Some(pattern) = &self.pattern else { return Ok(Answer::Null) };
        let document = match Tree::parse(document, usize::MAX, DOCUMENT_VALUES_MAX) {
            Err(_) if self.invalid.forgives(document) => return Ok(Answer::Null),
            told => told?,
        };
        let steps = Steps::new(STEPS_MAX, "the document and the pattern are too large together");
        let mut comparison = Comparison { document: &document, pattern, steps };
        Ok(Answer::Integer(comparison.holds(0, 0)?.into()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::function::Value;

    fn held(document: &str, pattern: &str) -> Result<bool, Fault> {
        let row = [Value::Bytes(document.as_bytes()), Value::Bytes(pattern.as_bytes())];
        let (mut function, _) = Holds::prepare(Arguments(&row))?;
        let told =
            [0; 2].map(|_| function.answer(Arguments(&row)).map(|it| it == Answer::Integer(1)));
        assert_eq!(told[0], told[1]);
        told[0].clone()
    }

    const DOCUMENT: &str =
        r#"{"a": 1, "b": {"c": [1, "x", {"d": null, "e": 2}]}, "f": [[1, 2], [3]], "g": []}"#;

    #[test]
    fn what_is_there_is_held_and_nothing_else() {
        for pattern in [
            "{}",
            r#"{"a":1.0}"#,
            r#"{"b":{"c":"x"}}"#,
            r#"{"b":{"c":["x",1]}}"#,
            r#"{"b":{"c":{"d":null,"e":20e-1}}}"#,
            r#"{"b":{"c":[{"e":2},1]},"a":1}"#,
            r#"{"f":3}"#,
            r#"{"f":[[3],[2]]}"#,
            r#"{"f":[1]}"#,
            r#"{"f":[]}"#,
            r#"{"g":[]}"#,
        ] {
            assert_eq!(held(DOCUMENT, pattern), Ok(true), "{pattern}");
        }
        for pattern in [
            "[]",
            "1",
            r#"{"a":"1"}"#,
            r#"{"a":[1]}"#,
            r#"{"c":1}"#,
            r#"{"b":{"c":[{"d":null},{"e":1}]}}"#,
            r#"{"f":[[1,3]]}"#,
            r#"{"g":{}}"#,
            r#"{"g":null}"#,
        ] {
            assert_eq!(held(DOCUMENT, pattern), Ok(false), "{pattern}");
        }
        assert_eq!(held("[1, [2]]", "2"), Ok(true));
        assert_eq!(held(r#"{"a":1,"a":2}"#, r#"{"a":1}"#), Ok(true));
    }

    #[test]
    fn depth_and_work_are_bounded() {
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(held(&deep(1000), &deep(100)), Ok(true));
        assert!(held("[]", &deep(101)).is_err());
        let document = format!("{}{}{}", "[".repeat(1000), "1", "]".repeat(1000));
        assert_eq!(held(&document, "1"), Ok(true));
        let many = |value: &str| format!("[{}0]", format!("{value},").repeat(5_000));
        let fault = held(&many("1"), &many("2")).map(|_| ());
        assert_eq!(fault, Ok(()));
        let each = (0..5_000).map(|n| format!("{n},")).collect::<String>();
        assert!(held(&many("1"), &format!("[{}]", "0,".repeat(5_000) + "0")).is_err());
        assert!(held(&format!("[{each}0]"), "[0, 4999]").unwrap());
    }

    #[test]
    fn steps_that_find_nothing_are_counted() {
        let ones = format!("[{}1]", "1,".repeat(8_000));
        let list = |element: &str| format!("[{}1]", format!("{element},").repeat(8_000));
        let long = "k".repeat(2_000);
        let alike = format!("\"{long}\"");
        for (document, pattern) in [
            // arrays that hold nothing, members of other names, long texts that end otherwise
            (list("[]"), ones.clone()),
            (list("[[],[]]"), ones),
            (format!("[{}{{}}]", "{\"a\":1},".repeat(8_000)), list("{\"b\":1}")),
            (list(&format!("\"{long}x\"")), list(&alike.replacen("kk\"", "ky\"", 1))),
        ] {
            let began = std::time::Instant::now();
            let _ = held(&document, &pattern);
            // they took minutes
            assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
        }
    }

    #[test]
    fn more_values_than_a_document_may_have_are_an_error() {
        let of = |values_max| Tree::parse(b"[1, [2], {\"a\": 3}]", 9, values_max).map(|_| ());
        assert_eq!(of(6), Ok(()));
        assert_eq!(of(5), Err("there are more than 5 values".into()));
        let many = format!("[{}1]", "1,".repeat(PATTERN_VALUES_MAX));
        assert!(held("[]", &many).is_err());
    }

    #[test]
    fn the_deepest_pattern_fits_a_small_stack() {
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        let small = std::thread::Builder::new().stack_size(128 << 10);
        let told = small.spawn(move || held(&deep(1000), &deep(PATTERN_DEPTH_MAX)));
        assert_eq!(told.unwrap().join().unwrap(), Ok(true));
    }

    #[test]
    fn invalid_json_is_an_error_or_null_and_an_invalid_pattern_an_error() {
        let call = |document: &[u8], pattern: &[u8], word: &[u8]| {
            let row = [document, pattern, word].map(Value::Bytes);
            let (mut function, _) = Holds::prepare(Arguments(&row))?;
            function.answer(Arguments(&row)).map(|it| it == Answer::Null)
        };
        assert!(call(b"{", b"1", b"error").is_err());
        assert_eq!(call(b"{", b"1", b"null"), Ok(true));
        assert!(call(b"{}", b"{", b"null").is_err());
        assert!(call(b"{}", b"{}", b"maybe").is_err());
    }
}
