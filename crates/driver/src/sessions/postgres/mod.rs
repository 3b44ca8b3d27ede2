//! PostgreSQL's protocol 3.0 over a [`crate::wire::Line`].
//!
//! ```text
//! login, auth       from nothing to ready for queries, with the crate postgres-protocol
//! session           one connection, as the script holds it
//! channel, ending   requests out, answers in, and those that nobody waits for any more
//! answer, results   the messages of one answer, parsed in place   failure  what the server refuses
//! statement, bind   Parse, Bind, Execute          copy    rows of a bulk load
//! placeholders      ? to $1                       frame   messages as bytes
//! ```

mod answer;
mod auth;
mod bind;
mod channel;
mod copy;
mod ending;
mod failure;
mod frame;
mod login;
mod placeholders;
mod results;
mod session;
mod statement;
#[cfg(test)]
mod tests;

use super::Session;
use crate::plan::error::Error;
use crate::plan::login::Login;

/// Connects and logs in.
pub fn open(login: &Login) -> Result<Box<dyn Session>, Error> {
    Ok(Box::new(session::Postgres::open(login)?))
}
