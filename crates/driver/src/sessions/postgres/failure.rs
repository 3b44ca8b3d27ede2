//! What the server says when it refuses: who can put it right, and what may begin anew.

use super::frame::{Body, garbage};
use crate::plan::Login;
use crate::plan::answer::Notice;
use crate::plan::error::{Error, shorten};

/// An `ErrorResponse`.
#[derive(Debug, Default)]
pub struct ErrorResponse {
    /// `ERROR`, `FATAL` or `PANIC`; after the last two the server closes the connection.
    severity: String,
    /// The SQLSTATE.
    pub state: String,
    message: String,
    /// The message as it was sent.
    words: String,
    /// Where it was said: inside which function.
    context: String,
    detail: String,
    /// The detail as it was sent.
    whole_detail: String,
    hint: String,
    /// As libpq's programs print it: severity, message, details, hint, context, each whole.
    pub report: String,
}

/// The class of SQLSTATEs that say that a statement means nothing here.
const SYNTAX: &str = "42";

/// What a repetition may cure: serialisation, deadlock, lock timeout; and a duplicate key, since
/// sysbench's own driver for PostgreSQL ignores it, and its scripts count on that.
const RESTARTABLE: [&str; 4] = ["40001", "40P01", "55P03", "23505"];

impl ErrorResponse {
    /// Reads an `ErrorResponse`'s fields.
    pub fn read(body: &[u8]) -> Result<Self, Error> {
        let (mut response, mut body) = (Self::default(), Body(body));
        loop {
            let kind = body.byte()?;
            if kind == 0 {
                break;
            }
            let whole = String::from_utf8_lossy(body.text()?);
            response.report(kind, &whole);
            let text = shorten(&whole);
            match kind {
                // `S` is the same in the server's language; servers before 9.6 send no `V`.
                b'V' => response.severity = text,
                b'S' if response.severity.is_empty() => response.severity = text,
                b'C' => response.state = text,
                b'M' => (response.message, response.words) = (text, whole.into_owned()),
                b'W' => response.context = whole.into_owned(),
                b'D' => (response.detail, response.whole_detail) = (text, whole.into_owned()),
                b'H' => response.hint = text,
                _ => {}
            }
        }
        let is_state =
            response.state.len() == 5 && response.state.bytes().all(|it| it.is_ascii_graphic());
        match is_state {
            true => Ok(response),
            false => Err(garbage("an error without an SQLSTATE")),
        }
    }

    /// Adds a field to the report; they come in this order.
    fn report(&mut self, kind: u8, text: &str) {
        let (head, word) = match kind {
            b'S' => ("", text),
            b'M' => (":  ", text),
            b'D' => ("\nDETAIL:  ", text),
            b'H' => ("\nHINT:  ", text),
            b'W' => ("\nCONTEXT:  ", text),
            _ => return,
        };
        self.report.push_str(head);
        self.report.push_str(word);
    }

    /// As a notice.
    pub fn notice(self) -> Notice {
        Notice {
            message: self.words,
            context: self.context,
            detail: self.whole_detail,
            level: self.severity,
            code: self.state,
        }
    }

    /// Does the server close the connection now?
    pub fn is_fatal(&self) -> bool {
        self.severity == "FATAL" || self.severity == "PANIC"
    }

    /// As the answer to a statement.
    pub fn error(&self) -> Error {
        let error = match self.state.as_str() {
            "53100" => Error::host("the server cannot continue")
                .hint("the server's disk is full: free space, or put its data elsewhere"),
            state if state.starts_with("58") => Error::host("the server cannot continue")
                .hint("the server's own files failed: its log says more"),
            state if state.starts_with(SYNTAX) => {
                Error::engine("the server does not understand a statement")
                    .hint("is it written for another engine, or are its tables not made yet?")
            }
            _ if self.is_fatal() => Error::engine("the server ended the connection"),
            _ => Error::engine("the server refused a statement"),
        };
        let error = self.with_details(error);
        match RESTARTABLE.contains(&self.state.as_str()) {
            true => error.restartable(),
            false => error,
        }
    }

    /// As the answer to a log-in.
    pub fn refusal(&self, login: &Login) -> Error {
        let who = format!("'{}'", login.user);
        let message = format!("cannot log in to {} as {who}", place(login));
        let error = match self.state.as_str() {
            "28P01" | "28000" => {
                Error::user(message).hint("check user and password, and the server's pg_hba.conf")
            }
            "3D000" => Error::user(message)
                .hint(format!("create the database '{}' or name another", login.database)),
            "53300" => Error::user(message)
                .hint("use fewer connections, or raise the server's max_connections"),
            "08P01" if self.message.contains("startup parameter") => {
                Error::user(message).hint("a pooler stands there: name the server itself")
            }
            "57P03" => Error::engine(message).hint("wait until the server has started"),
            state if state.starts_with(SYNTAX) || state == "22023" => {
                Error::user(message).hint("check the session settings")
            }
            _ => Error::engine(message),
        };
        self.with_details(error)
    }

    fn with_details(&self, error: Error) -> Error {
        let cause = match self.detail.is_empty() {
            true => self.message.clone(),
            false => format!("{} ({})", self.message, self.detail.trim_end_matches('.')),
        };
        let error = error.because(cause).code(&self.state).sql(0, &self.state);
        let error = error.worded(self.words.clone()).reported(self.report.clone());
        match self.hint.is_empty() {
            true => error,
            false => error.hint(&self.hint),
        }
    }
}

/// The server as a user knows it.
pub fn place(login: &Login) -> String {
    match login.host.starts_with('/') {
        true => login.host.clone(),
        false => format!("{}:{}", login.host, login.port),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_told_the_message_alone_and_whole() {
        let long = format!("value \"{}\" too long\nfor type character(1)", "x".repeat(600));
        let body = format!("SERROR\0VERROR\0C22001\0M{long}\0DFailing row (null).\0HCut it.\0\0");
        let error = ErrorResponse::read(body.as_bytes()).unwrap().error();
        assert_eq!(error.engine_words(), long);
        assert!(error.engine_report().ends_with("DETAIL:  Failing row (null).\nHINT:  Cut it."));
        let told = error.to_string();
        assert!(told.len() < long.len() && told.contains("more)"), "{told}");
    }
}
