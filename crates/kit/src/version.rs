//! `dyno_kit_version()`: which library the server has loaded.

use crate::function::{Answer, Arguments, Fault, Function, Shape, Takes};

/// The version of the package.
pub struct Version;

impl Function for Version {
    const TAKES: Takes = Takes { kinds: &[], least: 0, usage: "no argument" };

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self, Shape::Text))
    }

    fn answer(&mut self, _: Arguments) -> Result<Answer<'_>, Fault> {
        Ok(Answer::Bytes(env!("CARGO_PKG_VERSION").as_bytes()))
    }
}
