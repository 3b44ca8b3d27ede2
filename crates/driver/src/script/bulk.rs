//! Texts of bulk inserts, gathered outside of Lua's memory (lua/bulk.lua).
//!
//! A collector lets garbage grow to what is alive before it looks for it: half a megabyte of rows
//! alive had each event write to memory that no near cache held, and a row cost a third more.

use super::literal;
use super::shared::{Sent, Shared};
use crate::plan::error::Error;

/// The statement that a connection's rows are joined to; its memory is used again.
#[derive(Default)]
pub struct Bulk {
    head_bytes: usize,
    text: Vec<u8>,
}

impl Bulk {
    /// Begins at the text up to its `values`; rows that were not sent are forgotten.
    pub fn begin(&mut self, head: &[u8]) {
        self.text.clear();
        self.text.extend_from_slice(head);
        self.head_bytes = head.len();
    }

    /// Adds rows.
    pub fn put(&mut self, rows: &[u8]) {
        self.text.extend_from_slice(rows);
    }
}

impl Shared {
    /// The bulk insert of a connection's number.
    pub fn bulk(&mut self, connection: usize) -> Result<&mut Bulk, Error> {
        let bulk = self.bulks.get_mut(connection);
        bulk.ok_or_else(|| Error::user("a bulk insert without a connection"))
    }

    /// Sends the rows that were gathered, and goes back to the head.
    pub fn send_bulk(&mut self, connection: usize) -> Result<Sent, Error> {
        let Bulk { head_bytes, mut text } = std::mem::take(self.bulk(connection)?);
        let sent = self.query_bytes(connection, &text);
        text.truncate(head_bytes);
        *self.bulk(connection)? = Bulk { head_bytes, text };
        Ok(sent)
    }

    /// Sends a text made outside of Lua.
    pub fn query_bytes(&mut self, connection: usize, text: &[u8]) -> Sent {
        match literal::sql(text) {
            Ok(sql) => self.query(connection, sql),
            Err(error) => {
                self.fail(error);
                Sent::Failed
            }
        }
    }
}
