//! What an answer is to Lua: counts, or packed rows; results of one answer handed out one by one.

use super::connection::Batch;
use super::shared::{RequestState, Shared};
use crate::sessions::Rows;
use crate::sessions::rows::Fields;

impl Shared {
    /// What an answer is to Lua; of several results the first.
    pub fn answered(&mut self, number: usize, rows: u64, changed: u64) -> RequestState {
        self.counts.rows_read += rows;
        self.counts.rows_changed += changed;
        self.answers.rows_brought = rows;
        let keeps_this = std::mem::take(&mut self.answers.keeps_next);
        let Some(Some(connection)) = self.connections.all.get_mut(number) else {
            return RequestState::Changed(changed);
        };
        if connection.batch != Batch::None {
            connection.batch.answered();
            (connection.handed_out, self.answers.keeps_results) = (0, true); // for `batch_result`
            return RequestState::Changed(changed);
        }
        let answer = connection.rows();
        let columns = answer.width;
        if !answer.results.is_empty() {
            connection.handed_out = 0;
            self.answers.keeps_results =
                self.statements.playing.is_none() && (self.answers.keeps_rows || keeps_this);
            return self.hand_out_result(number);
        }
        if columns == 0 {
            self.counts.writes += u64::from(changed > 0);
            return RequestState::Changed(changed);
        }
        self.counts.reads += 1;
        let rows = rows as u32;
        if self.statements.playing.is_some() || !self.answers.keeps_rows && !keeps_this {
            return RequestState::Counted { columns, rows };
        }
        pack(columns, rows, answer.fields(), &mut self.answers.packed);
        RequestState::Rows
    }

    /// The next result of an answer of several, as if it were an answer of its own.
    #[cold]
    fn hand_out_result(&mut self, number: usize) -> RequestState {
        let Some(Some(connection)) = self.connections.all.get_mut(number) else {
            return RequestState::Changed(0);
        };
        let at = connection.handed_out;
        connection.handed_out += 1;
        let answer = connection.rows();
        let (one, fields) = (&answer.results[at], answer.fields_of(at));
        if one.width == 0 {
            self.counts.writes += u64::from(one.changed > 0);
            return RequestState::Changed(one.changed);
        }
        self.counts.reads += 1;
        if !self.answers.keeps_results {
            return RequestState::Counted { columns: one.width, rows: one.rows as u32 };
        }
        pack(one.width, one.rows as u32, fields, &mut self.answers.packed);
        RequestState::Rows
    }

    /// The next result of the last answer, if it had several and not all were handed out.
    pub fn next_result(&mut self, connection: usize) -> Option<RequestState> {
        if !self.has_next_result(connection) {
            return None;
        }
        self.counts.queries += 1;
        Some(self.hand_out_result(connection))
    }

    /// The result of the next request of a batch whose results were kept; none after the last.
    pub fn batch_result(&mut self, connection: usize) -> Option<RequestState> {
        self.has_next_result(connection).then(|| self.hand_out_result(connection))
    }

    /// Has the last answer a result that was not handed out yet?
    pub fn has_next_result(&self, connection: usize) -> bool {
        let it = self.connections.all.get(connection);
        matches!(it, Some(Some(it)) if it.handed_out < it.rows().results.len())
    }
}

/// Columns, rows, the end of each field, the fields' bytes (lua/requests.lua reads them).
fn pack(width: u32, rows: u32, fields: Fields, packed: &mut Vec<u8>) {
    packed.clear();
    packed.extend_from_slice(&width.to_ne_bytes());
    packed.extend_from_slice(&rows.to_ne_bytes());
    for end in fields.ends {
        let end = if *end == Rows::NULL { *end } else { end - fields.start };
        packed.extend_from_slice(&end.to_ne_bytes());
    }
    packed.extend_from_slice(fields.bytes);
}
