//! The SQL file that makes a workload's tables, sent statement by statement.

use std::path::Path;

use super::shared::{RequestState, Shared};
use super::watch;
use crate::dump::{Databases, Dump, Part};
use crate::plan::error::Error;
use crate::sessions;

/// Refusals of a file that are told in an error, and that are listed before it is given up.
const TOLD: usize = 5;
const LISTED: usize = 1000;
/// PostgreSQL's word for what follows an error within a transaction.
const ABORTED: &str = "25P02";

impl Shared {
    /// Opens the file, of whose databases those are played.
    pub fn open_dump(&mut self, path: &str, databases: &str) -> Result<(), Error> {
        let kind = sessions::descriptor(&self.connections.session).kind;
        let reading = sessions::reading(kind)?;
        self.dump = Some(Dump::open(Path::new(path), reading, Databases::parse(databases))?);
        Ok(())
    }

    /// Sends what comes next; none at its end, where the file is closed.
    pub fn send_of_dump(&mut self, connection: usize) -> Result<Option<RequestState>, Error> {
        let Some(mut dump) = self.dump.take() else { return Ok(None) };
        // however long it reads: the file may be anybody's, and the script is not in a loop
        let next = {
            let _reading = watch::in_engine();
            dump.next()?
        };
        let Some(part) = next else { return Ok(None) };
        let number = self.account.number(dump.text(), self.connections.quoting);
        let sent = match part {
            Part::Statement => self.query_as(connection, dump.text(), number),
            Part::Copy => self.copy(connection, &dump, number),
        };
        self.dump = Some(dump);
        Ok(Some(sent))
    }

    fn copy(&mut self, connection: usize, dump: &Dump, number: u32) -> RequestState {
        if self.is_loading {
            return self.refuse_while_loading();
        }
        self.counts.queries += 1;
        let _engine = self.in_engine();
        self.account.send(number, || 0);
        let sql = String::from_utf8_lossy(dump.text());
        let reply = self.connections.at(connection);
        let reply = reply.and_then(|it| it.session().load(&sql, dump.rows()));
        self.take_reply(connection, reply)
    }

    /// Notes that the server refused the statement sent last, and says where and why (nothing of
    /// what only follows another's refusal); none where nothing more can be sent.
    pub fn note_refusal(&mut self) -> Option<String> {
        let place = self.explain_dump();
        let failure = self.errors.failure.as_ref()?;
        if !failure.has_engines_code() || self.refused.len() == LISTED {
            return None;
        }
        let follows = failure.engine_code() == Some(ABORTED) && !self.refused.is_empty();
        let failure = self.errors.failure.take();
        let error = self.errors.stop.take().or(failure)?;
        if follows {
            return Some(String::new());
        }
        let said = format!("{place}: {}", error.engine_words());
        self.refused.push((place, error));
        Some(said)
    }

    /// What the refusals come to, at the end of the file: the place of the first; none where all
    /// was taken.
    pub fn sum_refusals(&mut self) -> Option<String> {
        let refused = std::mem::take(&mut self.refused);
        let (place, first) = refused.first()?.clone();
        let error = if refused.len() == 1 {
            first
        } else {
            let line = |place: &str| place.rsplit(':').next().unwrap_or_default().to_owned();
            let told = refused.iter().take(TOLD);
            let told = told.map(|(at, it)| format!("line {}: {}", line(at), it.engine_words()));
            let told = told.collect::<Vec<_>>().join("; ");
            let more = if refused.len() > TOLD { "; …" } else { "" };
            Error::user(format!("{} statements of the file are refused", refused.len()))
                .because(format!("{told}{more}"))
                .hint("mend them there, or dump without what they need")
        };
        if !error.is_engine() {
            self.errors.stop = Some(error.clone());
        }
        self.errors.failure = Some(error);
        Some(place)
    }

    /// The place of the statement that failed; an extension that the server lacks is said.
    pub fn explain_dump(&mut self) -> String {
        let Some(dump) = &self.dump else { return String::new() };
        if let [create, extension, ..] = dump.words()
            && (create.as_str(), extension.as_str()) == ("CREATE", "EXTENSION")
            && let Some(failure) = &self.errors.failure
        {
            let named = String::from_utf8_lossy(dump.text());
            let name = named.split_whitespace().nth(2).filter(|it| !it.eq_ignore_ascii_case("IF"));
            let name = name.or(named.split_whitespace().nth(5)).unwrap_or_default();
            let error = Error::user(format!("the server does not have the extension {name}"))
                .because(failure.engine_words())
                .hint("install it there, or dump without what needs it (--exclude-schema)");
            self.errors.stop = Some(error);
        }
        dump.place()
    }
}
