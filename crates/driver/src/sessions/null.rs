//! Sessions without an engine: null answers after a set delay; a dropped connection refuses.

use super::sql::Quoting;
use super::{Counts, Descriptor, Engine, Reply, Rows, Session, Value, misdirected};
use crate::generate::Source;
use crate::plan;
use crate::plan::error::Error;
use crate::schedule::clock::now_ns;

/// What the driver knows of this session.
pub const DESCRIPTOR: Descriptor = Descriptor {
    kind: "null",
    engine: Engine::Absent,
    dialect: None,
    quoting: Quoting::Standard,
    open,
    type_name: |_| String::new(),
};

/// A connection to nothing. Anything may be prepared and sent; no rows come back.
pub struct Null {
    delay_ns: u64,
    sent_ns: u64,
    service_ns: u64,
    prepared: u32,
    batching: bool,
    /// Requests of the batch that is queued.
    batched: u64,
    rows: Rows,
    loaded: u64,
    #[cfg(test)]
    texts: Vec<String>,
}

/// Answers without an engine.
fn open(session: &plan::Session) -> Result<Box<dyn Session>, Error> {
    let plan::Session::Null { delay_ns } = session else { return Err(misdirected()) };
    Ok(Box::new(Null::new(*delay_ns)))
}

impl Null {
    /// Answers `delay_ns` after the request; 0: at once, without a look at the clock.
    pub fn new(delay_ns: u64) -> Self {
        Self {
            delay_ns,
            sent_ns: 0,
            service_ns: 0,
            prepared: 0,
            batching: false,
            batched: 0,
            rows: Rows::default(),
            loaded: 0,
            #[cfg(test)]
            texts: Vec::new(),
        }
    }

    fn send(&mut self) -> Reply {
        self.batched += u64::from(self.batching);
        if self.delay_ns == 0 || self.batching {
            return self.answer();
        }
        self.sent_ns = now_ns();
        Reply::Pending { until_ns: self.sent_ns.saturating_add(self.delay_ns) }
    }

    fn answer(&mut self) -> Reply {
        Reply::Ready { rows: 0, changed: std::mem::take(&mut self.loaded) }
    }
}

impl Session for Null {
    fn query(&mut self, sql: &str) -> Result<Reply, Error> {
        self.query_bytes(sql.as_bytes())
    }

    fn query_bytes(&mut self, _sql: &[u8]) -> Result<Reply, Error> {
        #[cfg(test)]
        crate::testing::note_sent(String::from_utf8_lossy(_sql).into_owned());
        Ok(self.send())
    }

    fn prepare(&mut self, _sql: &[u8]) -> Result<u32, Error> {
        self.prepared += 1;
        #[cfg(test)]
        self.texts.push(String::from_utf8_lossy(_sql).into_owned());
        Ok(self.prepared)
    }

    fn execute(&mut self, _statement: u32, _values: &[Value]) -> Result<Reply, Error> {
        #[cfg(test)]
        if let Some(text) = self.texts.get(_statement as usize - 1) {
            crate::testing::note_sent(format!("{text} {_values:?}"));
        }
        Ok(self.send())
    }

    fn execute_unnamed(&mut self, _sql: &[u8], _values: &[Value]) -> Result<Reply, Error> {
        #[cfg(test)]
        crate::testing::note_sent(format!("{} {_values:?}", String::from_utf8_lossy(_sql)));
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
        Ok(self.answer())
    }

    fn begin_batch(&mut self) -> Result<(), Error> {
        self.batching = true;
        self.batched = 0;
        Ok(())
    }

    fn sync(&mut self, keeps: bool) -> Result<Reply, Error> {
        self.batching = false;
        self.rows.clear();
        if keeps {
            (0..self.batched).try_for_each(|_| self.rows.end_result(0, 0))?;
        }
        Ok(self.send())
    }

    /// Makes the rows, which is the client's share of a load.
    fn load(&mut self, _sql: &str, mut rows: Box<dyn Source>) -> Result<Reply, Error> {
        let mut made = Vec::new();
        loop {
            made.clear();
            rows.fill(&mut made)?;
            if made.is_empty() {
                return Ok(self.send());
            }
            self.loaded += made.iter().filter(|byte| **byte == b'\n').count() as u64;
        }
    }

    fn reset(&mut self) -> Result<(), Error> {
        self.batching = false;
        Ok(())
    }

    fn rows(&self) -> &Rows {
        &self.rows
    }

    fn take_counts(&mut self) -> Counts {
        Counts { service_ns: Some(std::mem::take(&mut self.service_ns)), ..Counts::default() }
    }
}

/// Stands where a connection was dropped, because an answer did not come.
#[derive(Default)]
pub struct Disconnected {
    rows: Rows,
}

fn disconnected<T>() -> Result<T, Error> {
    let error = Error::engine("the connection is lost").code("lost");
    Err(error.because("no answer long after the phase's end"))
}

impl Session for Disconnected {
    fn query(&mut self, _sql: &str) -> Result<Reply, Error> {
        disconnected()
    }

    fn prepare(&mut self, _sql: &[u8]) -> Result<u32, Error> {
        disconnected()
    }

    fn execute(&mut self, _statement: u32, _values: &[Value]) -> Result<Reply, Error> {
        disconnected()
    }

    fn close(&mut self, _statement: u32) -> Result<(), Error> {
        Ok(())
    }

    fn poll(&mut self) -> Result<Reply, Error> {
        disconnected()
    }

    fn rows(&self) -> &Rows {
        &self.rows
    }

    fn take_counts(&mut self) -> Counts {
        Counts::default()
    }
}
