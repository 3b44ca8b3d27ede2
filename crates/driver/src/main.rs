//! `dyno-driver`: a plan on stdin, events on stdout; no database server, no Python.
#![allow(dead_code)]

mod clock;
mod error;
mod event;
mod phase;
mod plan;
mod script;
mod sessions;

fn main() {}
