//! Where a statement ends, found as its text comes: bytes that were passed are not read again.

use memchr::{memchr, memchr2, memmem};

use crate::sessions::sql::Quoting;

/// A dollar quote's tag, at most.
const LONGEST_TAG: usize = 128;
/// Words at a statement's beginning that say what it is.
const FIRST_WORDS: usize = 6;

/// Where a statement ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Its text ends.
    pub text: usize,
    /// What follows it begins.
    pub next: usize,
}

/// What the text is in the midst of.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Inside {
    Plain,
    Quote { quote: u8, escapes: bool },
    Dollar(Vec<u8>),
    LineComment,
    BlockComment { depth: u32 },
}

/// How the file's statements are told apart, and how far the one that is read has come.
pub struct Scanner {
    quoting: Quoting,
    /// What ends a statement.
    pub delimiter: Vec<u8>,
    /// Backslashes escape in plain quotes.
    pub escapes: bool,
    at: usize,
    inside: Inside,
    brackets: u32,
    /// The statement's first words, in capitals.
    pub words: Vec<String>,
    body: Body,
}

/// What of a statement's words changes where it ends.
#[derive(Default)]
struct Body {
    /// Of the standard's `BEGIN ATOMIC … END`.
    depth: u32,
    /// A trigger of SQLite's, which ends with `; END;`.
    is_trigger: bool,
    is_after_semicolon: bool,
    is_ending: bool,
}

impl Scanner {
    /// For a file whose quotes are read so.
    pub fn new(quoting: Quoting) -> Self {
        Self {
            quoting,
            delimiter: b";".to_vec(),
            escapes: quoting == Quoting::Mysql,
            at: 0,
            inside: Inside::Plain,
            brackets: 0,
            words: Vec::new(),
            body: Body::default(),
        }
    }

    /// A statement begins at the first of the bytes to come.
    pub fn begin(&mut self) {
        (self.at, self.brackets, self.inside) = (0, 0, Inside::Plain);
        self.words.clear();
        self.body = Body::default();
    }

    /// Is a quoted text or comment open?
    pub fn is_inside(&self) -> bool {
        !matches!(self.inside, Inside::Plain | Inside::LineComment)
    }

    /// Where the statement ends whose text begins with these bytes; none: more must come.
    pub fn end(&mut self, bytes: &[u8], is_end: bool) -> Option<End> {
        while self.at < bytes.len() {
            let found = match self.inside.clone() {
                Inside::Plain => match self.plain(bytes, is_end) {
                    Ok(Some(end)) => return Some(end),
                    Ok(None) => true,
                    Err(()) => false,
                },
                Inside::Quote { quote, escapes } => self.quoted(bytes, is_end, quote, escapes),
                Inside::Dollar(tag) => self.dollar(bytes, &tag),
                Inside::LineComment => {
                    let end = memchr(b'\n', &bytes[self.at..]);
                    self.at = end.map_or(bytes.len(), |it| self.at + it);
                    self.leave(end.is_some())
                }
                Inside::BlockComment { depth } => self.comment(bytes, depth),
            };
            if !found {
                break;
            }
        }
        is_end.then_some(End { text: bytes.len(), next: bytes.len() })
    }

    fn leave(&mut self, is_over: bool) -> bool {
        if is_over {
            self.inside = Inside::Plain;
        }
        is_over
    }

    fn quoted(&mut self, bytes: &[u8], is_end: bool, quote: u8, escapes: bool) -> bool {
        loop {
            let rest = &bytes[self.at..];
            let found = if escapes { memchr2(quote, b'\\', rest) } else { memchr(quote, rest) };
            let Some(found) = found else {
                self.at = bytes.len();
                return false;
            };
            self.at += found;
            let next = bytes.get(self.at + 1);
            if next.is_none() && !is_end {
                return false;
            }
            if bytes[self.at] == b'\\' || next == Some(&quote) {
                self.at = (self.at + 2).min(bytes.len());
                if self.at == bytes.len() {
                    return false;
                }
                continue;
            }
            self.at += 1;
            return self.leave(true);
        }
    }

    fn dollar(&mut self, bytes: &[u8], tag: &[u8]) -> bool {
        let found = memmem::find(&bytes[self.at..], tag);
        self.at = match found {
            Some(found) => self.at + found + tag.len(),
            None => (bytes.len() + 1).saturating_sub(tag.len()).max(self.at),
        };
        self.leave(found.is_some())
    }

    fn comment(&mut self, bytes: &[u8], mut depth: u32) -> bool {
        while let Some(found) = memchr2(b'*', b'/', &bytes[self.at..]) {
            self.at += found;
            match &bytes[self.at..] {
                [b'*', b'/', ..] => {
                    (depth, self.at) = (depth - 1, self.at + 2);
                    if depth == 0 {
                        return self.leave(true);
                    }
                }
                [b'/', b'*', ..] if self.quoting == Quoting::Postgres => {
                    (depth, self.at) = (depth + 1, self.at + 2);
                }
                [_] => {
                    self.inside = Inside::BlockComment { depth };
                    return false;
                }
                _ => self.at += 1,
            }
        }
        self.inside = Inside::BlockComment { depth };
        self.at = bytes.len();
        false
    }
}

// Outside of quotes and comments.

impl Scanner {
    /// One step on; an error where more must come to tell what it is.
    fn plain(&mut self, bytes: &[u8], is_end: bool) -> Result<Option<End>, ()> {
        let is_reading = self.reads_words();
        let (delimiter, is_mysql) = (self.delimiter[0], self.quoting == Quoting::Mysql);
        let skipped = bytes[self.at..]
            .iter()
            .position(|it| *it == delimiter || STOPS[*it as usize] || is_reading && is_letter(*it));
        self.at = skipped.map_or(bytes.len(), |it| self.at + it);
        let rest = &bytes[self.at..];
        let Some(&byte) = rest.first() else { return Ok(None) };
        if rest.len() < self.delimiter.len().max(4) && !is_end && b"/-$;".contains(&byte) {
            return Err(());
        }
        if rest.len() < self.delimiter.len() && !is_end && byte == delimiter {
            return Err(());
        }
        if rest.starts_with(&self.delimiter) && self.ends_here() {
            let next = self.at + self.delimiter.len();
            return Ok(Some(End { text: self.at, next }));
        }
        self.at += match byte {
            b'\'' => self.enter_quote(byte, self.escapes || self.has_escapes(bytes)),
            b'"' => self.enter_quote(byte, is_mysql && self.escapes),
            b'`' if self.quoting != Quoting::Postgres => self.enter_quote(byte, false),
            b'#' if is_mysql => self.enter(Inside::LineComment, 1),
            b'-' if begins_line_comment(rest, is_mysql) => self.enter(Inside::LineComment, 2),
            b'/' if is_mysql && executable(rest) > 0 => executable(rest),
            b'/' if rest.starts_with(b"/*") => self.enter(Inside::BlockComment { depth: 1 }, 2),
            b'$' if self.quoting == Quoting::Postgres => return self.begin_dollar(bytes, is_end),
            b'(' => {
                self.brackets += 1;
                1
            }
            b')' => {
                self.brackets = self.brackets.saturating_sub(1);
                1
            }
            _ if is_reading && is_letter(byte) => return self.read_word(rest, is_end),
            _ => 1,
        };
        Ok(None)
    }

    fn enter(&mut self, inside: Inside, length: usize) -> usize {
        self.inside = inside;
        length
    }

    fn enter_quote(&mut self, quote: u8, escapes: bool) -> usize {
        self.body.is_after_semicolon = false;
        self.enter(Inside::Quote { quote, escapes }, 1)
    }

    /// Does the quote here belong to PostgreSQL's `E'…'`?
    fn has_escapes(&self, bytes: &[u8]) -> bool {
        let before = &bytes[..self.at];
        self.quoting == Quoting::Postgres
            && matches!(before.last(), Some(b'e' | b'E'))
            && !before.len().checked_sub(2).is_some_and(|it| is_word(before[it]))
    }

    fn begin_dollar(&mut self, bytes: &[u8], is_end: bool) -> Result<Option<End>, ()> {
        let rest = &bytes[self.at..];
        let in_word = self.at > 0 && is_word(bytes[self.at - 1]);
        let tag = rest[1..].iter().take(LONGEST_TAG).take_while(|it| is_letter(**it)).count() + 1;
        if rest.len() == tag && !is_end {
            return Err(());
        }
        let is_quote = !in_word && rest.get(tag) == Some(&b'$') && !rest[1].is_ascii_digit();
        self.at += match is_quote {
            true => self.enter(Inside::Dollar(rest[..=tag].to_vec()), tag + 1),
            false => 1,
        };
        Ok(None)
    }

    fn reads_words(&self) -> bool {
        self.words.len() < FIRST_WORDS || self.body.is_trigger || self.has_body()
    }

    /// As psql has it: only in these `BEGIN` opens what `END` closes.
    fn has_body(&self) -> bool {
        let word = |at: usize| self.words.get(at).map_or("", String::as_str);
        let kind = if word(1) == "OR" { word(3) } else { word(1) };
        self.quoting == Quoting::Postgres
            && word(0) == "CREATE"
            && matches!(kind, "FUNCTION" | "PROCEDURE")
    }

    fn read_word(&mut self, rest: &[u8], is_end: bool) -> Result<Option<End>, ()> {
        let length = rest.iter().take_while(|it| is_letter(**it)).count();
        if length == rest.len() && !is_end {
            return Err(());
        }
        let word = String::from_utf8_lossy(&rest[..length]).to_ascii_uppercase();
        let has_body = self.has_body();
        let body = &mut self.body;
        match word.as_str() {
            "BEGIN" if has_body => body.depth += 1,
            "CASE" if has_body && body.depth > 0 => body.depth += 1,
            "END" if has_body => body.depth = body.depth.saturating_sub(1),
            _ => {}
        }
        body.is_ending = body.is_after_semicolon && word == "END";
        body.is_after_semicolon = false;
        self.at += length;
        if self.words.len() < FIRST_WORDS {
            let is_trigger = word == "TRIGGER"
                && self.quoting == Quoting::Standard
                && matches!(self.words.first().map(String::as_str), Some("CREATE"));
            self.body.is_trigger |= is_trigger;
            self.words.push(word);
        }
        Ok(None)
    }

    /// Does a delimiter here end the statement?
    fn ends_here(&mut self) -> bool {
        if self.body.is_trigger && !self.body.is_ending {
            self.body.is_after_semicolon = true;
            return false;
        }
        self.quoting == Quoting::Mysql || self.brackets == 0 && self.body.depth == 0
    }
}

/// Bytes that may begin something, in any dialect.
const STOPS: [bool; 256] = {
    let mut stops = [false; 256];
    let mut at = 0;
    let letters = b"'\"`#-/$()";
    while at < letters.len() {
        stops[letters[at] as usize] = true;
        at += 1;
    }
    stops
};

/// Can the byte stand in a name?
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Of a word or a dollar quote's tag; a delimiter may be made of dollars.
fn is_letter(byte: u8) -> bool {
    byte != b'$' && is_word(byte)
}

fn begins_line_comment(rest: &[u8], is_mysql: bool) -> bool {
    rest.starts_with(b"--") && (!is_mysql || rest.get(2).is_none_or(|it| *it <= b' '))
}

/// The length of the mark of a comment that a server executes: `/*!40101`, `/*M!100401`; 0: none.
pub fn executable(rest: &[u8]) -> usize {
    let mark = [&b"/*!"[..], b"/*M!"].into_iter().find(|it| rest.starts_with(it));
    mark.map_or(0, |it| {
        it.len() + rest[it.len()..].iter().take(6).take_while(|it| it.is_ascii_digit()).count()
    })
}
