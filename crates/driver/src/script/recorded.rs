//! A server's log at play: its statements made, and sent one after the other.

use std::collections::HashMap;
use std::path::Path;

use super::connection::open;
use super::recording::{Laid, LaidEvent, Recorded, Recording, value};
use super::shared::{RequestState, Shared};
use super::statement::Form;
use crate::plan::error::Error;
use crate::sessions::literal::TextStatement;
use crate::sessions::sql::number_placeholders;
use crate::sessions::{Engine, descriptor};

impl Shared {
    /// Reads a file and makes its statements on a connection, prepared where they have parameters;
    /// they are due `speed` times as fast as they were.
    pub fn load_recording(
        &mut self,
        path: &Path,
        connection: usize,
        speed: f64,
    ) -> Result<(), Error> {
        let laid = Laid::read(path)?;
        let kinds: Vec<i64> = laid.kinds.into_iter().map(|name| self.number_kind(name)).collect();
        let mut made: HashMap<(usize, bool), usize> = HashMap::new();
        let (mut statements, mut events) = (Vec::new(), Vec::with_capacity(laid.events.len()));
        let mut due_ns = Vec::with_capacity(laid.events.len());
        for LaidEvent(at_ns, text, kind, values) in laid.events {
            let key = (text, values.is_some());
            let statement = match made.get(&key) {
                Some(number) => *number,
                None => {
                    let sql = &laid.texts[text];
                    let form = self.form(connection, sql, key.1)?;
                    statements.push((form, self.account.number(sql.as_bytes(), self.quoting)));
                    made.insert(key, statements.len() - 1);
                    statements.len() - 1
                }
            };
            let values = values.unwrap_or_default().into_iter().map(value).collect();
            events.push(Recorded { statement, kind: kinds[kind], values });
            due_ns.push((at_ns as f64 / speed) as u64);
        }
        self.recording = Some(Recording { connection, statements, events, at: 0, due_ns });
        Ok(())
    }

    fn number_kind(&mut self, name: String) -> i64 {
        self.transactions.push(name);
        self.transactions.len() as i64 - 1
    }

    /// What cannot be prepared here is sent as text, and fails, if it does, as an event.
    fn form(&mut self, connection: usize, sql: &str, has_values: bool) -> Result<Form, Error> {
        if !has_values {
            return Ok(Form::Query(sql.to_owned()));
        }
        if self.parses_with_values() {
            return Ok(Form::Unnamed(number_placeholders(sql.as_bytes()).into_owned()));
        }
        let session = open(&mut self.connections, connection)?.session();
        Ok(match session.prepare(sql.as_bytes()) {
            Ok(handle) => Form::Prepared(handle),
            Err(error) if error.is_engine() => {
                Form::Text(TextStatement::new(sql.as_bytes(), self.quoting))
            }
            Err(error) => return Err(error),
        })
    }

    /// Plays the next event: sends its statement.
    pub fn run_recorded(&mut self) -> RequestState {
        let next = self.recording.as_mut().and_then(|it| {
            it.at += 1;
            it.events.get(it.at - 1).map(|event| (it.connection, &it.statements, event))
        });
        let Some((number, statements, event)) = next else {
            self.fail(Error::driver("a log was played beyond its end"));
            return RequestState::Failed;
        };
        self.counts.queries += 1;
        let (form, text) = &statements[event.statement];
        self.account.send(*text);
        let reply = open(&mut self.connections, number)
            .and_then(|it| form.send(it.keeping(false), &event.values));
        self.take_reply(number, reply)
    }

    /// The error of the event that has just failed. A log goes on after it as its session did: only
    /// a lost connection is made anew.
    #[cold]
    pub fn take_recorded_failure(&mut self) -> Result<Error, Error> {
        let unknown = || Error::driver("an event failed without an error");
        let error = self.failure.take().unwrap_or_else(unknown);
        if error.engine_code() == Some("lost") {
            self.reset();
        }
        match self.stop.clone() {
            Some(stop) => Err(stop),
            None => Ok(error),
        }
    }

    /// Does the engine take a text with its values in one request?
    fn parses_with_values(&self) -> bool {
        let descriptor = descriptor(&self.session);
        descriptor.engine == Engine::Served && descriptor.dialect == Some("pgsql")
    }
}
