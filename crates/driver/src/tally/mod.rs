//! How much: what workers count, distributions, and the sums that a phase ends with.

pub mod count;
pub mod counters;
pub mod histogram;
pub mod lane;
pub mod summary;
pub mod usage;
