//! An SQL file that makes tables, a dump for the most part: its statements one after the other, as
//! far as they are played. Nothing but the statement under way, or a piece of its rows, is in
//! memory.
//!
//! ```text
//! window    the part of the file that is looked at      scanner  where a statement ends
//! rows      what follows a COPY … FROM stdin            rules    what is played, what is left out
//! client    lines that are for mysql or psql            outline  what a file holds, for who asks
//! qualifiers  a database before a table's name
//! ```

mod client;
mod outline;
mod qualifiers;
mod rows;
mod rules;
mod scanner;
#[cfg(test)]
mod tests;
mod window;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use memchr::{memchr, memmem};
use serde::Serialize;

use crate::generate::Source;
use crate::plan::error::Error;
use crate::sessions::sql::Quoting;
use client::Line;
use outline::OutlinedText;
pub use outline::outline;
use rows::Rows;
use rules::{Family, Treatment, treat};
use scanner::{Scanner, executable};
use window::Window;

/// What else programs write below their heads.
const AS_WRITTEN: [&str; 3] = ["Dumped by ", "Dumped from ", "Server version"];

/// Bytes that tell how something begins.
const AHEAD: usize = 64;

/// Which databases of a file are played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Databases {
    /// It has one, or none that it names, whose tables come where the connection is.
    One,
    /// This one of several, likewise.
    Named(String),
    /// All, where the file puts them.
    AsTheyAre,
}

impl Databases {
    /// As an option says it: nothing, a name, `*`.
    pub fn parse(text: &str) -> Self {
        match text {
            "" => Self::One,
            "*" => Self::AsTheyAre,
            name => Self::Named(name.to_owned()),
        }
    }
}

/// What is to be sent next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A statement: [`Dump::text`].
    Statement,
    /// A `COPY`, whose rows [`Dump::rows`] has.
    Copy,
}

/// How often something was, and on which line first.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Seen {
    pub count: u64,
    pub line: u64,
}

/// A file that is read on.
pub struct Dump {
    path: PathBuf,
    window: Rc<RefCell<Window>>,
    scanner: Scanner,
    family: Option<Family>,
    /// What its head says wrote it.
    pub program: String,
    /// Ends that its head promises: `-- Dump completed`.
    promised: Vec<&'static str>,
    /// It has more lines that only a program writes: without its end it was cut.
    is_as_written: bool,
    /// The last statement had its end.
    is_ended: bool,
    databases: Databases,
    /// The database that the file has gone to.
    pub database: Option<String>,
    /// Databases that it has gone to, where all are played; what brought it to the last, which is
    /// sent once that was made.
    entered: BTreeSet<String>,
    waiting: Option<Vec<u8>>,
    /// What was left out or altered, by what it is.
    pub left_out: BTreeMap<&'static str, Seen>,
    text: Vec<u8>,
    /// The line of what is sent.
    pub line: u64,
    /// The session's, as its descriptor has it.
    kind: &'static str,
    /// It is read for its outline: lines that go to another database, which are no statements.
    moves: Option<Vec<OutlinedText>>,
}

impl Dump {
    /// A file for an engine of that kind (`postgres`, as [`crate::sessions::Descriptor`] has it).
    pub fn open(
        path: &Path,
        (kind, quoting): (&'static str, Quoting),
        databases: Databases,
    ) -> Result<Self, Error> {
        Ok(Self {
            path: path.to_owned(),
            window: Rc::new(RefCell::new(Window::open(path)?)),
            scanner: Scanner::new(quoting),
            family: family_of(kind),
            program: String::new(),
            promised: Vec::new(),
            is_as_written: false,
            is_ended: false,
            databases,
            database: None,
            entered: BTreeSet::new(),
            waiting: None,
            left_out: BTreeMap::new(),
            text: Vec::new(),
            line: 1,
            kind,
            moves: None,
        })
    }

    /// The statement to be sent.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Its first words, in capitals.
    pub fn words(&self) -> &[String] {
        &self.scanner.words
    }

    /// The rows of the `COPY` to be sent, which are read before what follows them.
    pub fn rows(&self) -> Box<dyn Source> {
        Box::new(Rows::new(&self.window))
    }

    /// Where it stands, as errors have it.
    pub fn place(&self) -> String {
        format!("{}:{}", self.path.display(), self.line)
    }

    /// What comes next; none at the end. An error where the file is cut, or holds what is not
    /// played.
    pub fn next(&mut self) -> Result<Option<Part>, Error> {
        let found = self.find_next();
        found.map_err(|error| error.at(self.place()))
    }

    fn find_next(&mut self) -> Result<Option<Part>, Error> {
        if let Some(text) = self.waiting.take() {
            self.text = text;
            return Ok(Some(Part::Statement));
        }
        loop {
            let is_there = self.window.borrow_mut().skip_space()?;
            self.line = self.window.borrow().line;
            if !is_there {
                return self.finish().map(|()| None);
            }
            if self.pass_over()? {
                continue;
            }
            self.read_statement()?;
            let is_copy = self.is_copy();
            if is_copy {
                self.take_line()?;
            }
            if self.is_played()? {
                return Ok(Some(if is_copy { Part::Copy } else { Part::Statement }));
            }
            if is_copy {
                self.skip_rows()?;
            }
        }
    }

    /// The text of the statement that begins here, without what ends it.
    fn read_statement(&mut self) -> Result<(), Error> {
        let mut window = self.window.borrow_mut();
        self.scanner.begin();
        let end = loop {
            match self.scanner.end(window.rest(), window.is_end) {
                Some(end) => break end,
                None => window.more()?,
            }
        };
        if end.text == window.rest().len() && self.scanner.is_inside() {
            return Err(Error::user("the file ends amid a quoted text or a comment")
                .because(format!("the statement begins on line {}", self.line))
                .hint("it was cut: dump or copy it again"));
        }
        self.text.clear();
        self.text.extend_from_slice(window.rest()[..end.text].trim_ascii_end());
        if self.text.len() < self.text.capacity() / 8 {
            self.text.shrink_to(2 * self.text.len());
        }
        self.is_ended = end.next > end.text;
        window.take(end.next);
        Ok(())
    }

    /// Is the statement sent? It may be altered, and what it says of the file is noted.
    fn is_played(&mut self) -> Result<bool, Error> {
        self.follow_modes();
        if self.scanner.words.first().is_some_and(|it| it == "PRAGMA") && self.line < 3 {
            self.belongs_to(Family::Sqlite, "sqlite3's .dump")?;
        }
        let Some(family) = self.family else { return Ok(true) };
        let is_elsewhere = matches!((&self.databases, &self.database),
            (Databases::Named(wanted), Some(here)) if wanted != here);
        let treatment = treat(&self.scanner.words, &mut self.text, family)?;
        if let (Databases::Named(own), Family::Mysql) = (&self.databases, family) {
            let quoting = [Quoting::Standard, Quoting::Mysql][usize::from(self.scanner.escapes)];
            qualifiers::take(&mut self.text, own, quoting);
        }
        Ok(match treatment {
            Treatment::Use(name) => self.go_to(name)?,
            Treatment::Database => {
                self.databases == Databases::AsTheyAre || { self.note("CREATE DATABASE and USE") }
            }
            _ if is_elsewhere => false,
            Treatment::LeaveOut(what) => self.note(what),
            Treatment::Altered(what) => {
                self.note(what);
                true
            }
            Treatment::Play => true,
        })
    }

    fn note(&mut self, what: &'static str) -> bool {
        let seen = self.left_out.entry(what).or_insert(Seen { count: 0, line: self.line });
        seen.count += 1;
        false
    }

    /// Goes to a database; true where that is played.
    fn go_to(&mut self, name: String) -> Result<bool, Error> {
        let is_other = self.database.as_ref().is_some_and(|it| *it != name);
        if is_other && self.databases == Databases::One {
            let first = self.database.as_deref().unwrap_or_default();
            return Err(Error::user(format!("the file holds the databases {first} and {name}"))
                .hint("a copy is one database: dump the one that is wanted"));
        }
        if self.databases != Databases::AsTheyAre {
            self.database = Some(name);
            return Ok(self.note("CREATE DATABASE and USE"));
        }
        // a dump without CREATE DATABASE goes to one that a new server lacks
        if self.moves.is_none() && self.entered.insert(name.clone()) {
            let quoted = name.replace('`', "``");
            let make = format!("CREATE DATABASE IF NOT EXISTS `{quoted}`").into_bytes();
            self.waiting = Some(std::mem::replace(&mut self.text, make));
        }
        self.database = Some(name);
        Ok(true)
    }

    /// What a statement sets that changes how the next ones are read.
    fn follow_modes(&mut self) {
        if self.scanner.words.first().is_none_or(|it| it != "SET") || self.text.len() > AHEAD * 64 {
            return;
        }
        let said = String::from_utf8_lossy(&self.text).to_ascii_lowercase();
        if self.family == Some(Family::Mysql) && said.contains("sql_mode") {
            self.scanner.escapes = !said.contains("no_backslash_escapes");
        }
        if self.family == Some(Family::Postgres) && said.contains("standard_conforming_strings") {
            self.scanner.escapes = said.trim_end_matches(['\'', ' ']).ends_with("off");
        }
    }

    fn is_copy(&self) -> bool {
        if self.scanner.words.first().is_none_or(|it| it != "COPY") {
            return false;
        }
        let words: Vec<_> = self.text.split(u8::is_ascii_whitespace).collect();
        let is = |it: &[u8], word: &[u8]| it.eq_ignore_ascii_case(word);
        words.windows(2).any(|it| is(it[0], b"from") && is(it[1], b"stdin"))
    }

    fn skip_rows(&self) -> Result<(), Error> {
        let (mut rows, mut piece) = (self.rows(), Vec::new());
        loop {
            piece.clear();
            rows.fill(&mut piece)?;
            if piece.is_empty() {
                return Ok(());
            }
        }
    }

    /// What its head promised has come; a file that somebody put together under such a head may do
    /// without.
    fn finish(&mut self) -> Result<(), Error> {
        match self.promised.first() {
            Some(_) if self.is_ended && !self.is_as_written => {
                self.note("the line that ends such a dump");
                Ok(())
            }
            Some(end) => Err(Error::user(format!("{} is not whole", self.path.display()))
                .because(format!("it ends on line {} without '-- {end}'", self.line))
                .hint(format!("it was cut: make it again; end it with '-- {end}' if it is whole"))),
            None => Ok(()),
        }
    }
}

// What is no statement: comments, and lines that are for a client.

impl Dump {
    /// Passes over what begins here, if it is no statement.
    fn pass_over(&mut self) -> Result<bool, Error> {
        self.look_ahead()?;
        let window = Rc::clone(&self.window);
        let is_mysql = self.family == Some(Family::Mysql);
        let rest = window.borrow().rest()[..].iter().take(AHEAD).copied().collect::<Vec<_>>();
        if rest.starts_with(&self.scanner.delimiter) {
            window.borrow_mut().take(self.scanner.delimiter.len());
            return Ok(true);
        }
        if rest.starts_with(b"--") || rest.starts_with(b"#") && is_mysql {
            let comment = self.take_line()?;
            self.read_comment(&comment)?;
            return Ok(true);
        }
        let is_sandbox = rest.starts_with(b"/*M!999999\\-") || rest.starts_with(b"/*!999999\\-");
        if is_sandbox {
            self.belongs_to(Family::Mysql, "mariadb-dump")?;
        }
        let is_comment = rest.starts_with(b"/*") && (!is_mysql || executable(&rest) == 0);
        if is_sandbox || is_comment {
            self.take_comment(!is_mysql)?;
            return Ok(true);
        }
        let Some(is_line) = client::begins(&rest, self.family) else { return Ok(false) };
        let line = String::from_utf8_lossy(&self.take_line()?).into_owned();
        match client::read(&line, is_line)? {
            Line::Nothing => {}
            Line::Delimiter(sign) => self.scanner.delimiter = sign,
            Line::Database(name) => {
                match &mut self.moves {
                    Some(moves) => moves.push(OutlinedText { line: self.line, text: line }),
                    None if self.databases == Databases::AsTheyAre => {
                        return Err(Error::user("a connection stays in its database")
                            .hint("dump the one that is wanted"));
                    }
                    None => {}
                }
                self.go_to(name)?;
            }
        }
        Ok(true)
    }

    fn look_ahead(&self) -> Result<(), Error> {
        let mut window = self.window.borrow_mut();
        while window.rest().len() < AHEAD && !window.is_end {
            window.more()?;
        }
        Ok(())
    }

    /// The rest of the line, which is gone past.
    fn take_line(&self) -> Result<Vec<u8>, Error> {
        let mut window = self.window.borrow_mut();
        loop {
            let rest = window.rest();
            if let Some(end) = memchr(b'\n', rest).or(window.is_end.then_some(rest.len())) {
                let line = rest[..end].trim_ascii().to_vec();
                let next = (end + 1).min(rest.len());
                window.take(next);
                return Ok(line);
            }
            window.more()?;
        }
    }

    fn take_comment(&self, nests: bool) -> Result<(), Error> {
        let mut window = self.window.borrow_mut();
        loop {
            let end = match nests && self.family == Some(Family::Postgres) {
                true => crate::sessions::sql::passage(window.rest(), 0, Quoting::Postgres)
                    .filter(|it| it.is_closed)
                    .map(|it| it.end),
                false => memmem::find(&window.rest()[2..], b"*/").map(|it| it + 4),
            };
            match end {
                Some(end) => {
                    window.take(end);
                    return Ok(());
                }
                None if window.is_end => {
                    return Err(Error::user("the file ends amid a comment")
                        .because(format!("it begins on line {}", self.line))
                        .hint("it was cut: dump or copy it again"));
                }
                None => window.more()?,
            }
        }
    }

    /// Dumps say in comments who wrote them, and that they are whole.
    fn read_comment(&mut self, comment: &[u8]) -> Result<(), Error> {
        let text = String::from_utf8_lossy(comment);
        let text = text.trim_start_matches(['-', '#']).trim();
        for (head, family, end) in HEADS {
            if text.starts_with(head) && !text.ends_with("complete") {
                if !end.is_empty() {
                    self.promised.push(end);
                }
                self.is_as_written |= head.contains("cluster");
                return self.belongs_to(*family, text);
            }
        }
        self.is_as_written |= AS_WRITTEN.iter().any(|it| text.starts_with(it));
        if let Some(at) = self.promised.iter().rposition(|it| text.starts_with(it)) {
            self.promised.remove(at);
        }
        Ok(())
    }

    /// Refuses another server's dump.
    fn belongs_to(&mut self, family: Family, program: &str) -> Result<(), Error> {
        if self.program.is_empty() {
            program.clone_into(&mut self.program);
        }
        match self.family {
            Some(own) if own != family => Err(refuse_family(family, program, self.kind)),
            Some(_) => Ok(()),
            None if matches!(self.kind, "null" | "echo") => {
                self.family = Some(family);
                self.scanner = Scanner::new(match family {
                    Family::Mysql => Quoting::Mysql,
                    Family::Postgres => Quoting::Postgres,
                    Family::Sqlite => Quoting::Standard,
                });
                Ok(())
            }
            None => Err(refuse_family(family, program, self.kind)),
        }
    }
}

/// How dumps begin, whose they are, and how they end.
const HEADS: &[(&str, Family, &str)] = &[
    ("MySQL dump ", Family::Mysql, "Dump completed"),
    ("MariaDB dump ", Family::Mysql, "Dump completed"),
    ("phpMyAdmin SQL Dump", Family::Mysql, ""),
    ("PostgreSQL database dump", Family::Postgres, "PostgreSQL database dump complete"),
    (
        "PostgreSQL database cluster dump",
        Family::Postgres,
        "PostgreSQL database cluster dump complete",
    ),
];

fn family_of(kind: &str) -> Option<Family> {
    match kind {
        "mysql" => Some(Family::Mysql),
        "postgres" => Some(Family::Postgres),
        "sqlite" => Some(Family::Sqlite),
        _ => None,
    }
}

fn refuse_family(family: Family, program: &str, kind: &str) -> Error {
    let (whose, hint) = match family {
        Family::Mysql => ("MySQL or MariaDB", "load it into these"),
        Family::Postgres => ("PostgreSQL", "load it into that"),
        Family::Sqlite => ("SQLite", "load it into that"),
    };
    Error::user(format!("a dump of {whose} cannot be loaded into {kind}"))
        .because(format!("it begins with '{program}'"))
        .hint(format!("{hint}, or write its tables in {kind}'s own SQL"))
}
