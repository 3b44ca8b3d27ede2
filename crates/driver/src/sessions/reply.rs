//! What a session is given and what it answers.

/// Where a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// Answered: rows that came back, rows that were changed.
    Ready {
        /// Rows that came back.
        rows: u64,
        /// Rows that the statement reported as changed.
        changed: u64,
    },
    /// Not yet; poll again, at the latest at this CLOCK_MONOTONIC time.
    Pending {
        /// When an answer may be expected; `u64::MAX`: unknown.
        until_ns: u64,
    },
}

/// What a session counts beside the requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Times that the engine said busy and was asked again.
    pub busy: u64,
    /// Nanoseconds inside the engine, where they are measured.
    pub service_ns: Option<u64>,
    /// Connections that were lost and made anew.
    pub reconnected: u64,
    /// What the engine must have counted, too, as it counts; absent where it counts nothing.
    pub claimed: Option<u64>,
    /// What it may have counted beyond that: results that followed the first of a request are a
    /// text's next statements, or a procedure's own, and the answers do not say which.
    pub further: u64,
}

/// A value bound to a parameter, or found in a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// SQL NULL.
    Null,
    /// A signed 64-bit integer.
    Integer(i64),
    /// A double.
    Real(f64),
    /// Text in UTF-8 (bytes as they came).
    Text(Vec<u8>),
}
