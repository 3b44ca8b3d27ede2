//! PostgreSQL's protocol 3.0 over a [`crate::wire::Line`].

use super::Session;
use crate::error::Error;
use crate::login::Login;

/// Connects and logs in.
pub fn open(login: &Login) -> Result<Box<dyn Session>, Error> {
    let _ = login;
    Err(Error::driver("PostgreSQL's protocol is under way"))
}
