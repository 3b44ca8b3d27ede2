//! What went wrong with a user's requests, until its script, or who plays it, is told.

use crate::plan::error::Error;

/// A user's errors.
#[derive(Default)]
pub struct Errors {
    /// One that ends the trial, whatever the script does with it.
    pub stop: Option<Error>,
    /// The connection that was refused last, until the script is over it.
    pub refused: Option<Error>,
    /// The last failed statement's error, and the text that the script was thrown.
    pub failure: Option<Error>,
    pub thrown: String,
    /// The script's error.
    pub report: Option<Reported>,
    /// Script file and line of the last error.
    pub place: Option<String>,
}

/// How a function of the script's failed.
#[derive(Debug, Default)]
pub struct Reported {
    pub text: String,
    /// It asked for its event to begin anew.
    pub restart: bool,
    /// What sysbench calls the function.
    pub function: Option<String>,
}
