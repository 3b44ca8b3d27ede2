//! Null answers after a set delay, without an engine: test double, driver's floor, known dose.

use super::{Counts, Reply, Rows, Session, Value};
use crate::clock::now_ns;
use crate::error::Error;

/// A connection to nothing. Anything may be prepared and sent; no rows come back.
pub struct Null {
    delay_ns: u64,
    sent_ns: u64,
    service_ns: u64,
    prepared: u32,
    rows: Rows,
}

impl Null {
    /// Answers `delay_ns` after the request; 0: at once, without a look at the clock.
    pub fn new(delay_ns: u64) -> Self {
        Self { delay_ns, sent_ns: 0, service_ns: 0, prepared: 0, rows: Rows::default() }
    }

    fn send(&mut self) -> Reply {
        if self.delay_ns == 0 {
            return ANSWER;
        }
        self.sent_ns = now_ns();
        Reply::Pending { until_ns: self.sent_ns.saturating_add(self.delay_ns) }
    }
}

const ANSWER: Reply = Reply::Ready { rows: 0, changed: 0 };

impl Session for Null {
    fn query(&mut self, _sql: &str) -> Result<Reply, Error> {
        Ok(self.send())
    }

    fn prepare(&mut self, _sql: &str) -> Result<u32, Error> {
        self.prepared += 1;
        Ok(self.prepared)
    }

    fn execute(&mut self, _statement: u32, _values: &[Value]) -> Result<Reply, Error> {
        Ok(self.send())
    }

    fn close(&mut self, _statement: u32) -> Result<(), Error> {
        Ok(())
    }

    fn poll(&mut self) -> Result<Reply, Error> {
        let waited_ns = now_ns().saturating_sub(self.sent_ns);
        if waited_ns < self.delay_ns {
            return Ok(Reply::Pending { until_ns: self.sent_ns.saturating_add(self.delay_ns) });
        }
        self.service_ns += waited_ns;
        Ok(ANSWER)
    }

    fn rows(&self) -> &Rows {
        &self.rows
    }

    fn take_counts(&mut self) -> Counts {
        Counts { service_ns: Some(std::mem::take(&mut self.service_ns)), ..Counts::default() }
    }
}
