//! The protocol against a scripted server, and against nonsense.
#![allow(clippy::unwrap_used)]

mod conversations;
mod garbage;
mod loads;
mod logins;
mod lost;
mod orders;
mod promises;
mod server;
