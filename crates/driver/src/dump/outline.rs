//! What a file holds, for who decides whether and where it is loaded: without its rows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use super::rules::Family;
use super::{Databases, Dump, Part, Seen, qualifiers};
use crate::plan::error::Error;
use crate::sessions::sql::Quoting;
use crate::sessions::template::digest;

/// What is told of statements, at most.
const MOST_BYTES: usize = 24 << 20;
/// Where the rows of an INSERT begin at the latest.
const HEAD: usize = 16 << 10;

/// A statement without its rows, and the line on which it begins.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct OutlinedText {
    pub line: u64,
    pub text: String,
}

/// A file's content, without rows.
#[derive(Debug, Default, Serialize)]
pub struct Outline {
    /// What its head says wrote it; empty: it says nothing.
    pub program: String,
    /// Its statements, as far as they are played.
    pub statements: u64,
    /// Statements that bring tables, views or rows, by the database that they name, or that the
    /// file has gone to; empty: neither.
    pub databases: BTreeMap<String, u64>,
    /// What is left out or altered.
    pub left_out: BTreeMap<String, Seen>,
    /// Events that the server's scheduler plays by itself.
    pub events: u64,
    /// Each statement; of those that bring rows only what comes before these, each once.
    pub texts: Vec<OutlinedText>,
}

/// Reads a file to its end, as it would be loaded.
pub fn outline(path: &Path, engine: (&'static str, Quoting)) -> Result<Outline, Error> {
    let mut dump = Dump::open(path, engine, Databases::AsTheyAre)?;
    dump.moves = Some(Vec::new());
    let (mut outline, mut told, mut bytes) = (Outline::default(), BTreeSet::new(), 0);
    while let Some(part) = dump.next()? {
        let text = head(dump.text(), dump.words());
        if told.insert(digest(text)) {
            bytes += text.len();
            if bytes > MOST_BYTES {
                return Err(Error::user(
                    "the file's statements differ too much to be looked through",
                )
                .hint("load rows by INSERT … VALUES or COPY"));
            }
            let text = String::from_utf8_lossy(text).into_owned();
            outline.texts.push(OutlinedText { line: dump.line, text });
        }
        outline.statements += 1;
        outline.events +=
            u64::from(makes(dump.words(), "EVENT") && dump.family == Some(Family::Mysql));
        let brought = u64::from(brings(dump.words()));
        let is_named = brought == 1 && dump.family == Some(Family::Mysql);
        let named = is_named.then(|| qualifiers::target(text)).flatten();
        let database = named.or(dump.database.clone()).unwrap_or_default();
        *outline.databases.entry(database).or_insert(0) += brought;
        if part == Part::Copy {
            dump.skip_rows().map_err(|error| error.at(dump.place()))?;
        }
    }
    outline.texts.extend(dump.moves.take().unwrap_or_default());
    outline.texts.sort_by_key(|it| it.line);
    outline.program = dump.program;
    outline.left_out = dump.left_out.iter().map(|(what, it)| ((*what).to_owned(), *it)).collect();
    Ok(outline)
}

fn makes(words: &[String], what: &str) -> bool {
    words.first().is_some_and(|it| it == "CREATE") && words.iter().any(|it| it == what)
}

fn brings(words: &[String]) -> bool {
    let first = words.first().map_or("", String::as_str);
    matches!(first, "INSERT" | "REPLACE" | "COPY") || makes(words, "TABLE") || makes(words, "VIEW")
}

/// A statement without the rows that it brings.
fn head<'a>(text: &'a [u8], words: &[String]) -> &'a [u8] {
    let first = words.first().map_or("", String::as_str);
    if !matches!(first, "INSERT" | "REPLACE") {
        return text;
    }
    let looked = &text[..text.len().min(HEAD)];
    let word = looked.windows(6).position(|it| it.eq_ignore_ascii_case(b"VALUES"));
    word.map_or(text, |it| &text[..it + 6])
}
