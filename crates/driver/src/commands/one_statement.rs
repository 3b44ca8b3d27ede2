//! One statement sent and waited for, and its rows as text.

use crate::plan::error::{Error, shorten};
use crate::schedule::clock::now_ns;
use crate::sessions::{Reply, Rows, Session};
use crate::wire;

/// Rows of one answer.
const MOST_ROWS: usize = 500_000;

/// What became of one statement: rows that came back, rows changed, what was timed, and a row for
/// each scan that the engine counted: its words, loops, rows.
pub struct Played {
    pub found: u64,
    pub changed: u64,
    pub elapsed_ns: u64,
    pub scans: Vec<Vec<Option<String>>>,
}

/// Sends a statement and waits for its answer.
pub fn send(session: &mut dyn Session, sql: &str) -> Result<Played, Error> {
    let began_ns = now_ns();
    let reply = session.query(sql)?;
    wait(session, reply, began_ns)
}

pub fn wait(session: &mut dyn Session, mut reply: Reply, began_ns: u64) -> Result<Played, Error> {
    loop {
        match reply {
            Reply::Ready { rows, changed } => {
                let elapsed_ns = now_ns() - began_ns;
                return Ok(Played { found: rows, changed, elapsed_ns, scans: Vec::new() });
            }
            Reply::Pending { until_ns } => wire::wait_in_turn(until_ns),
        }
        reply = session.poll()?;
    }
}

/// Names of columns, and rows of text.
pub type Text = (Vec<String>, Vec<Vec<Option<String>>>);

pub fn text(rows: &Rows, sql: &str) -> Result<Text, Error> {
    let found = rows.fields();
    let width = found.columns.len().max(1);
    if found.ends.len() / width > MOST_ROWS {
        return Err(too_large(&format!("{MOST_ROWS} rows"), sql));
    }
    let text = |field: Option<&[u8]>| field.map(|it| String::from_utf8_lossy(it).into_owned());
    let mut fields = found.iter().map(text).peekable();
    let mut rows_of_text = Vec::new();
    while fields.peek().is_some() {
        rows_of_text.push(fields.by_ref().take(width).collect());
    }
    Ok((found.columns.to_vec(), rows_of_text))
}

/// An answer that is larger than anybody has to ask for.
pub fn too_large(what: &str, sql: &str) -> Error {
    Error::engine(format!("the engine answered with more than {what}")).because(shorten(sql))
}
