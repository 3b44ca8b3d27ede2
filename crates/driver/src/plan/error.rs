//! One error, its kind private: what went wrong, who can put it right, and where.

use std::fmt;

use super::event::Failure;

/// Anything that stops the driver, or one event.
#[derive(Debug, Clone, PartialEq)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone, PartialEq)]
struct Inner {
    kind: Kind,
    message: String,
    cause: Option<String>,
    words: Option<String>,
    report: Option<String>,
    hint: String,
    code: Option<String>,
    place: Option<String>,
    script_words: Option<String>,
    function: Option<String>,
    connection: Option<u32>,
    stream: Option<String>,
    number: i32,
    state: String,
    restartable: bool,
    changed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    User,
    Engine,
    Host,
    Driver,
}

impl Error {
    /// The plan, an option or the script is at fault.
    pub fn user(message: impl Into<String>) -> Self {
        Self::new(Kind::User, message)
    }

    /// The engine said no.
    pub fn engine(message: impl Into<String>) -> Self {
        Self::new(Kind::Engine, message)
    }

    /// The machine said no: a missing file, a full disk, a limit.
    pub fn host(message: impl Into<String>) -> Self {
        Self::new(Kind::Host, message)
    }

    /// We are at fault.
    pub fn driver(message: impl Into<String>) -> Self {
        Self::new(Kind::Driver, message)
    }

    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            cause: None,
            words: None,
            report: None,
            hint: String::new(),
            code: None,
            place: None,
            script_words: None,
            function: None,
            connection: None,
            stream: None,
            number: 0,
            state: "HY000".to_owned(),
            restartable: false,
            changed: 0,
        }))
    }

    /// A script failed by itself, in these words.
    pub fn of_script(words: &str) -> Self {
        Self::user("the script failed").because(words).in_script_words(words)
    }

    /// The engine's number; 0: none.
    pub fn number(&self) -> i32 {
        self.0.number
    }

    /// The SQLSTATE; `HY000`: none.
    pub fn state(&self) -> &str {
        &self.0.state
    }

    /// The engine's message, whole, without our words; all of any other error.
    pub fn engine_words(&self) -> String {
        match (&self.0.words, &self.0.cause) {
            (Some(words), _) => words.clone(),
            (None, Some(cause)) if self.has_engines_code() => cause.clone(),
            _ => self.to_string(),
        }
    }

    /// What the engine said as its own client would print it, line by line; else all in one line.
    pub fn engine_report(&self) -> String {
        self.0.report.clone().unwrap_or_else(|| self.engine_words())
    }

    /// Codes of ours (`lost`) are in lower case.
    pub fn has_engines_code(&self) -> bool {
        self.engine_code().is_some_and(|it| !it.bytes().any(|byte| byte.is_ascii_lowercase()))
    }

    /// May the event begin anew?
    pub fn is_restartable(&self) -> bool {
        self.0.restartable
    }

    /// Rows that the batch's other requests changed all the same.
    pub fn changed(&self) -> u64 {
        self.0.changed
    }

    /// Did the engine say no? Then it costs an event; anything else ends the trial.
    pub fn is_engine(&self) -> bool {
        self.0.kind == Kind::Engine
    }

    /// The engine's own code, where it gave one.
    pub fn engine_code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// The error as the last line of a failed trial.
    pub fn failure(&self, phase: Option<&str>) -> Failure {
        Failure {
            blame: self.0.kind.blame().to_owned(),
            message: self.to_string(),
            hint: self.0.hint.clone(),
            phase: phase.map(str::to_owned),
            place: self.0.place.clone(),
            script_words: self.0.script_words.clone(),
            state: self.is_engine().then(|| self.0.state.clone()),
            function: self.0.function.clone(),
            connection: self.0.connection,
            stream: self.0.stream.clone(),
        }
    }
}

impl Kind {
    fn blame(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Engine => "engine",
            Self::Host => "host",
            Self::Driver => "driver",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match &self.0.cause {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

// What is known of an error beside its message.

impl Error {
    /// Adds the reason, shown after a colon; of a long one the beginning.
    #[must_use]
    pub fn because(mut self, cause: impl fmt::Display) -> Self {
        self.0.cause = Some(cut(cause.to_string()));
        self
    }

    /// Adds the engine's message where the reason shows only a part of it, or more.
    #[must_use]
    pub fn worded(mut self, words: String) -> Self {
        self.0.words = Some(words);
        self
    }

    /// Adds what the engine's own client would print.
    #[must_use]
    pub fn reported(mut self, report: String) -> Self {
        self.0.report = Some(report);
        self
    }

    /// Adds the remedy, shown on its own line.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = hint.into();
        self
    }

    /// Adds the engine's own code, by which failures are counted.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.0.code = Some(code.into());
        self
    }

    /// Adds the script's file and line.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.0.place = Some(place.into());
        self
    }

    /// Adds the text that the script was thrown, or threw.
    #[must_use]
    pub fn in_script_words(mut self, words: &str) -> Self {
        self.0.script_words = Some(words.to_owned());
        self
    }

    /// Adds what sysbench calls the function that failed.
    #[must_use]
    pub fn in_function(mut self, function: Option<String>) -> Self {
        self.0.function = function;
        self
    }

    /// Adds the user's number.
    #[must_use]
    pub fn on(mut self, connection: u32) -> Self {
        self.0.connection = Some(connection);
        self
    }

    /// Adds the stream whose user it was, where a phase has several.
    #[must_use]
    pub fn of_stream(mut self, stream: &str) -> Self {
        self.0.stream = Some(stream.to_owned());
        self
    }

    /// Takes the user's number away: a report hook has a state, but no user.
    #[must_use]
    pub fn without_connection(mut self) -> Self {
        self.0.connection = None;
        self
    }

    /// Adds what a script's error hook sees: the engine's number and an SQLSTATE.
    #[must_use]
    pub fn sql(mut self, number: i32, state: &str) -> Self {
        self.0.number = number;
        state.clone_into(&mut self.0.state);
        self
    }

    /// Says that the event may begin anew (a deadlock, a stale snapshot).
    #[must_use]
    pub fn restartable(mut self) -> Self {
        self.0.restartable = true;
        self
    }

    /// Adds how many rows the batch's other requests changed all the same.
    #[must_use]
    pub fn beside_changes(mut self, rows: u64) -> Self {
        self.0.changed = rows;
        self
    }
}

// Texts of others, which may be long: a server's message may repeat a whole statement.

/// Characters shown of a text that is cut.
const SHOWN: usize = 400;

/// Characters that are shown whole, so that a text cut once is not cut again inside another error.
const WHOLE: usize = 500;

/// A text on one line, cut.
pub fn shorten(text: &str) -> String {
    cut(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A text's beginning, with how many characters more there were.
fn cut(text: String) -> String {
    let ends = |characters| text.char_indices().nth(characters);
    match (ends(WHOLE), ends(SHOWN)) {
        (Some(_), Some((end, _))) => {
            format!("{}... ({} more)", &text[..end], text[end..].chars().count())
        }
        _ => text,
    }
}

// Nearest names, for hints.

/// Up to three of `names` that a misspelt `name` may have meant, as a hint; empty: none is near.
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let mut near: Vec<(f64, &str)> = names
        .into_iter()
        .map(|other| (strsim::jaro_winkler(name, other), other))
        .filter(|(likeness, _)| *likeness > 0.7)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let names: Vec<&str> = near.iter().take(3).map(|(_, name)| *name).collect();
    match names.as_slice() {
        [] => String::new(),
        some => format!("did you mean {}?", some.join(" or ")),
    }
}

/// The nearest of `names`, or all of them where none is near.
pub fn nearest_or_all(name: &str, mut names: Vec<String>) -> String {
    names.sort();
    let near = nearest(name, names.iter().map(String::as_str));
    if near.is_empty() { format!("known: {}", names.join(", ")) } else { near }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_cause_is_cut_once_however_often_it_is_told() {
        let long = Error::engine("refused").because("é".repeat(262_144));
        let told = format!("refused: {}... (261744 more)", "é".repeat(400));
        assert_eq!(long.to_string(), told);
        let outer = Error::user("cannot log in").because(&long).to_string();
        assert_eq!(outer, format!("cannot log in: {told}"));
        assert_eq!(shorten(&"a  b\n".repeat(250)).chars().count(), 400 + "... (599 more)".len());
        assert_eq!(shorten(&"a  b\n".repeat(100)).len(), 399);
    }
}
