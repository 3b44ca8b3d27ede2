//! Samples where the CPU time of a process, and of all that it forks, goes.
//!
//! [`Sampling::begin`] opens the events, [`Sampling::drain`] takes over now and then what the
//! kernel wrote, and [`Sampling::end`] names the functions that were met and says how often.
//!
//! It uses the kernel's `cpu-clock`, which virtual machines have, too, and no hardware counter.

mod functions;
mod mappings;
mod processes;
mod profile;
mod sampling;

pub use profile::{Function, Profile, Request, Scope, Stack, Started};
pub use sampling::Sampling;
