//! Lost stands where a connection was given up, because an answer did not come.

use super::{Counts, Reply, Rows, Session, Value};
use crate::plan::error::Error;

/// A connection that is no more.
#[derive(Default)]
pub struct Lost {
    rows: Rows,
}

fn lost<T>() -> Result<T, Error> {
    let error = Error::engine("the connection is lost").code("lost");
    Err(error.because("no answer long after the phase's end"))
}

impl Session for Lost {
    fn query(&mut self, _sql: &str) -> Result<Reply, Error> {
        lost()
    }

    fn prepare(&mut self, _sql: &str) -> Result<u32, Error> {
        lost()
    }

    fn execute(&mut self, _statement: u32, _values: &[Value]) -> Result<Reply, Error> {
        lost()
    }

    fn close(&mut self, _statement: u32) -> Result<(), Error> {
        Ok(())
    }

    fn poll(&mut self) -> Result<Reply, Error> {
        lost()
    }

    fn rows(&self) -> &Rows {
        &self.rows
    }

    fn take_counts(&mut self) -> Counts {
        Counts::default()
    }
}
