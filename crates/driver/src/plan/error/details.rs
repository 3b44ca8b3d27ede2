//! What is known of an error beside its message.

use std::fmt;

use super::Error;

impl Error {
    /// Adds the reason, shown after a colon.
    #[must_use]
    pub fn because(mut self, cause: impl fmt::Display) -> Self {
        self.0.cause = Some(cause.to_string());
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

    /// Adds the user's number.
    #[must_use]
    pub fn on(mut self, connection: u32) -> Self {
        self.0.connection = Some(connection);
        self
    }

    /// Takes the user's number away: a report hook has a state, but no user.
    #[must_use]
    pub fn of_nobody(mut self) -> Self {
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
}
