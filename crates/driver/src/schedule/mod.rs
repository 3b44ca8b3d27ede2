//! When: arrivals of a stream, the clock, timers, and the seeds that random numbers begin with.

pub mod arrivals;
pub mod clock;
pub mod seed;
pub mod timers;
