//! Databases before the names of tables, as MySQL's dumps have them: `shop.item`.

use memchr::memmem;

use super::scanner::is_word;
use crate::sessions::sql::{Quoting, passage};

/// Words behind which a name with one dot begins with a database, and not with a table or an alias.
const BEFORE_TABLE: [&[u8]; 11] = [
    b"INTO",
    b"TABLE",
    b"EXISTS",
    b"VIEW",
    b"JOIN",
    b"REFERENCES",
    b"TRIGGER",
    b"PROCEDURE",
    b"FUNCTION",
    b"EVENT",
    b"CALL",
];
/// Words that may stand before the name of what is made or filled.
const CONDITION: [&[u8]; 3] = [b"IF", b"NOT", b"EXISTS"];

/// The database that a statement puts its table, view or rows into, if it names one.
pub fn target(text: &[u8]) -> Option<String> {
    let (mut at, mut is_behind) = (0, false);
    while at < text.len() {
        let token = Token::read(text, at, Quoting::Mysql);
        at = token.end;
        let Some(name) = token.name else { continue };
        if is_behind && !is_one_of(name, &CONDITION) {
            return behind_dot(text, at).map(|_| String::from_utf8_lossy(name).into_owned());
        }
        is_behind |= is_one_of(name, &BEFORE_TABLE[..4]);
    }
    None
}

/// Takes a database out where it stands before a name. Where the statement has something else of
/// that name, a table or an alias, only what can be nothing but the database is taken.
pub fn take(text: &mut Vec<u8>, database: &str, quoting: Quoting) {
    let database = database.as_bytes();
    if memmem::find(text, database).is_none() {
        return;
    }
    let (mut found, mut is_shared) = (Vec::new(), false);
    let (mut at, mut word, mut is_behind_dot) = (0, 0..0, false);
    while at < text.len() {
        let (token, begin) = (Token::read(text, at, quoting), at);
        at = token.end;
        match token.name {
            Some(name) if name == database => match behind_dot(text, at) {
                Some(next) if !is_behind_dot => {
                    let has_column = behind_dot(text, Token::read(text, next, quoting).end);
                    let is_sure = is_one_of(&text[word.clone()], &BEFORE_TABLE);
                    found.push((begin..next, is_sure || has_column.is_some()));
                }
                _ => is_shared = true,
            },
            Some(_) => word = begin..at,
            None => {}
        }
        if !text[begin].is_ascii_whitespace() {
            is_behind_dot = text[begin] == b'.';
        }
    }
    for (range, _) in found.into_iter().rev().filter(|it| it.1 || !is_shared) {
        let is_glued = range.start > 0 && is_word(text[range.start - 1]);
        text.splice(range, is_glued.then_some(b' '));
    }
}

/// What begins at a byte.
struct Token<'a> {
    end: usize,
    name: Option<&'a [u8]>,
}

impl<'a> Token<'a> {
    fn read(text: &'a [u8], at: usize, quoting: Quoting) -> Self {
        if let Some(found) = passage(text, at, quoting) {
            let is_name = text[at] == b'`' && found.is_closed;
            return Self { end: found.end, name: is_name.then(|| &text[at + 1..found.end - 1]) };
        }
        let length = text[at..].iter().take_while(|it| is_word(**it) || **it == b'@').count();
        Self { end: at + length.max(1), name: (length > 0).then(|| &text[at..at + length]) }
    }
}

fn is_one_of(name: &[u8], words: &[&[u8]]) -> bool {
    words.iter().any(|it| it.eq_ignore_ascii_case(name))
}

/// Where the name behind a dot begins, if both follow.
fn behind_dot(text: &[u8], at: usize) -> Option<usize> {
    let skip = |at: usize| at + text[at..].iter().take_while(|it| it.is_ascii_whitespace()).count();
    let dot = skip(at);
    let next = skip(dot + usize::from(text.get(dot) == Some(&b'.')));
    let is_name = text.get(next).is_some_and(|it| is_word(*it) || *it == b'`');
    (next > dot && is_name).then_some(next)
}
