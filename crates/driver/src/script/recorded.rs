//! A server's log at play: its statements made, and sent one after the other.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use super::recording::{CHECK, FORMS_MOST, LaidEvent, LaidForm, Lane, Recording};
use super::shared::{RequestState, Shared};
use super::statement::Form;
use crate::plan::error::Error;
use crate::sessions::literal::{TextStatement, spell_out};
use crate::sessions::sql::{Quoting, mark_parameters, number_placeholders};
use crate::sessions::{Engine, Value, descriptor};

/// PostgreSQL answers nothing in a transaction that has failed, and nothing changes in it either.
const ABORTED: &str = "25P02";

/// A text whose values go into it.
fn text_form(sql: &[u8], quoting: Quoting) -> LaidForm {
    let (text, order) = mark_parameters(sql);
    LaidForm { form: Form::Text(TextStatement::new(&text, quoting)), order }
}

/// An event's statement with its values in it.
#[cold]
fn spell_event(event: &LaidEvent, quoting: Quoting) -> Cow<'_, [u8]> {
    if !event.has_values {
        return Cow::Borrowed(&event.text);
    }
    let (text, order) = mark_parameters(&event.text);
    let arrange = |at: usize| event.values.get(at).cloned().unwrap_or(Value::Null);
    match order {
        Some(order) => {
            let arranged: Vec<_> = order.into_iter().map(arrange).collect();
            Cow::Owned(spell_out(&text, &arranged, quoting))
        }
        None => Cow::Owned(spell_out(&text, &event.values, quoting)),
    }
}

impl Shared {
    /// Goes through a file, and makes the statements that have parameters on a connection; they are
    /// due `speed` times as fast as they were.
    pub fn load_recording(
        &mut self,
        path: &Path,
        connection: usize,
        speed: f64,
    ) -> Result<(), Error> {
        let mut lane = Lane::open(path)?;
        let mut kinds = vec![None; lane.names.len()];
        let (mut forms, mut due_ns, mut texts) = (HashMap::new(), Vec::new(), Vec::new());
        while lane.next_event()? {
            let event = &lane.event;
            due_ns.push((event.at_ns as f64 / speed) as u64);
            // counted alike, whatever marks an engine reads
            let counted = match event.has_values {
                true => mark_parameters(&event.text).0,
                false => Cow::Borrowed(&event.text[..]),
            };
            texts.push(self.account.number(&counted, self.connections.quoting));
            let (Some(kind), Some(name)) = (kinds.get_mut(event.kind), lane.names.get(event.kind))
            else {
                return Err(Error::driver("a laid out log has a type without a name"));
            };
            if kind.is_none() {
                *kind = Some(self.number_kind(name.clone()));
            }
            if event.has_values && forms.len() < FORMS_MOST && !forms.contains_key(&event.text) {
                forms.insert(event.text.clone(), self.form(connection, &event.text)?);
            }
        }
        lane.rewind()?;
        texts.shrink_to_fit();
        let question = self.connections.session.question().map(str::to_owned);
        self.statements.recording = Some(Recording {
            connection,
            lane,
            at: 0,
            question,
            is_check: false,
            texts,
            kinds,
            forms,
            arranged: Vec::new(),
            due_ns,
        });
        Ok(())
    }

    fn number_kind(&mut self, name: String) -> i64 {
        self.transactions.push(name);
        self.transactions.len() as i64 - 1
    }

    /// What cannot be prepared here is sent as text, and fails, if it does, as an event.
    fn form(&mut self, connection: usize, sql: &[u8]) -> Result<LaidForm, Error> {
        if self.parses_with_values() {
            let form = Form::Unnamed(number_placeholders(sql).into_owned());
            return Ok(LaidForm { form, order: None });
        }
        let (text, order) = mark_parameters(sql);
        let session = self.connections.at(connection)?.session();
        let form = match session.prepare(&text) {
            Ok(handle) => Form::Prepared(handle),
            Err(error) if error.is_engine() => {
                Form::Text(TextStatement::new(&text, self.connections.quoting))
            }
            Err(error) => return Err(error),
        };
        Ok(LaidForm { form, order })
    }

    /// Plays the next event: sends its statement.
    pub fn run_recorded(&mut self) -> RequestState {
        self.counts.queries += 1;
        let quoting = self.connections.quoting;
        let unnamed = self.parses_with_values();
        let Some(it) = self.statements.recording.as_mut() else {
            self.fail(Error::driver("a log was played that was not loaded"));
            return RequestState::Failed;
        };
        let number = it.connection;
        // A log's values are its own.
        let text = it.texts.get(it.at).copied().unwrap_or_default();
        self.account.send(text, || 0);
        it.at += 1;
        let reply = match it.lane.next_event() {
            Ok(true) => self.connections.at(number).and_then(|connection| {
                let (session, event) = (connection.keeping(false), &it.lane.event);
                it.is_check = event.text == CHECK;
                if !it.is_check && self.account.wants_example(text) {
                    self.account.keep_text(text, &spell_event(event, quoting));
                }
                if let Some(question) = it.question.as_ref().filter(|_| it.is_check) {
                    return session.query(question);
                }
                match it.forms.get(&event.text).filter(|_| event.has_values) {
                    Some(form) => form.send(session, &event.values, &mut it.arranged),
                    None if !event.has_values => session.query_bytes(&event.text),
                    None if unnamed => {
                        session.execute_unnamed(&number_placeholders(&event.text), &event.values)
                    }
                    None => text_form(&event.text, quoting).send(
                        session,
                        &event.values,
                        &mut it.arranged,
                    ),
                }
            }),
            Ok(false) => Err(Error::driver("a log was played beyond its end")),
            Err(error) => Err(error),
        };
        self.take_reply(number, reply)
    }

    /// The error of the event that has just failed. A log goes on after it as its session did: only
    /// a lost connection is made anew.
    #[cold]
    pub fn take_recorded_failure(&mut self) -> Result<Error, Error> {
        let unknown = || Error::driver("an event failed without an error");
        let error = self.errors.failure.take().unwrap_or_else(unknown);
        if error.engine_code() == Some("lost") {
            self.reset();
        } else if self
            .statements
            .recording
            .as_ref()
            .is_some_and(|it| it.is_check && it.question.is_some())
            && error.engine_code() != Some(ABORTED)
        {
            return Err(Error::user("the server may let this session write, so the replay ends")
                .because(error)
                .hint("a pooler or init_connect may have changed it: name the server itself"));
        }
        match self.errors.stop.clone() {
            Some(stop) => Err(stop),
            None => Ok(error),
        }
    }

    /// Does the engine take a text with its values in one request?
    fn parses_with_values(&self) -> bool {
        let descriptor = descriptor(&self.connections.session);
        descriptor.engine == Engine::Served && descriptor.dialect == Some("pgsql")
    }
}
