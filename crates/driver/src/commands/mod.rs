//! One file per command of `dyno-driver`.

pub mod ask;
pub mod describe;
pub mod run;
pub mod schema;
