//! The driver's binary from end to end: the accounting, never the speed.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod accounting;
mod driver;
mod echo;
mod ends;
mod failing;
mod handshake;
mod held_up;
mod hooks;
mod hostile;
mod memory;
mod pacing;
mod rests;
mod streaks;
