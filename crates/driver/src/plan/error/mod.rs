//! One error, its kind private: what went wrong, who can put it right, and where.

mod details;

use std::fmt;

use crate::plan::event::Failure;

/// Anything that stops the driver, or one event.
#[derive(Debug, Clone, PartialEq)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone, PartialEq)]
struct Inner {
    kind: Kind,
    message: String,
    cause: Option<String>,
    hint: String,
    code: Option<String>,
    place: Option<String>,
    connection: Option<u32>,
    number: i32,
    state: String,
    restartable: bool,
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
            hint: String::new(),
            code: None,
            place: None,
            connection: None,
            number: 0,
            state: "HY000".to_owned(),
            restartable: false,
        }))
    }

    /// The engine's number; 0: none.
    pub fn number(&self) -> i32 {
        self.0.number
    }

    /// The SQLSTATE; `HY000`: none.
    pub fn state(&self) -> &str {
        &self.0.state
    }

    /// May the event begin anew?
    pub fn is_restartable(&self) -> bool {
        self.0.restartable
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
            connection: self.0.connection,
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
