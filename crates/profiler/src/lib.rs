//! Samples where the CPU time of processes, and of all that they fork, goes.
//!
//! [`Sampling::begin`] opens the events, [`Sampling::drain`] takes over now and then what the
//! kernel wrote, [`Sampling::end`] stops it, and [`FunctionNames`] says what was met how often.
//!
//! It uses the kernel's `cpu-clock`, which virtual machines have, too, and no hardware counter.

mod files;
mod functions;
mod mappings;
mod processes;
mod profile;
mod sampling;

pub use functions::FunctionNames;
pub use profile::{Function, Profile, Request, Scope, Slice, Stack, Started};
pub use sampling::{Samples, Sampling};
