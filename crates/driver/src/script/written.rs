//! What one user wrote last under sampled keys: 1, 1 + `every`, 1 + 2 · `every`, …
//!
//! A write counts when its event has ended well. Nothing is allocated once a name has its room, and
//! a key that is not sampled costs a division.

use crate::schedule::clock::now_ns;
use crate::sessions::Value;
use crate::sessions::template::digest;
use crate::tally::written::{LastWrite, LastWrites};

/// Sampled keys of a name, at most.
pub const MOST_KEYS: usize = 256;
/// Writes of one event that need no further room.
const OF_AN_EVENT: usize = 64;

/// A user's last writes, by name and key.
#[derive(Default)]
pub struct Written {
    columns: Vec<Column>,
    /// Those of the event under way.
    pending: Vec<Pending>,
    /// When the transaction under way began; 0: with the statement.
    began_ns: u64,
}

/// What is written under one name.
struct Column {
    name: String,
    every: u64,
    last: Vec<Option<LastWrite>>,
}

struct Pending {
    column: usize,
    slot: usize,
    digest: u64,
    began_ns: u64,
}

impl Written {
    /// The number of a name, of whose keys one of `every` is sampled.
    pub fn column(&mut self, name: &str, every: u64) -> usize {
        if let Some(known) = self.columns.iter().position(|it| it.name == name) {
            return known;
        }
        self.pending.reserve(OF_AN_EVENT);
        let (name, every, last) = (name.to_owned(), every.max(1), vec![None; MOST_KEYS]);
        self.columns.push(Column { name, every, last });
        self.columns.len() - 1
    }

    /// A transaction of several statements begins now (true), or none does.
    #[inline]
    pub fn begin(&mut self, is_several: bool) {
        self.began_ns = if is_several { now_ns() } else { 0 };
    }

    /// How many writes of the event under way are noted.
    #[inline]
    pub fn mark(&self) -> usize {
        self.pending.len()
    }

    /// Notes a value that is sent now.
    #[inline]
    pub fn send(&mut self, column: usize, key: &Value, value: &Value) {
        if let (Value::Integer(key), Value::Text(value)) = (key, value) {
            self.send_text(column, *key, value);
        }
    }

    /// Notes a text that is sent now.
    #[inline]
    pub fn send_text(&mut self, column: usize, key: i64, value: &[u8]) {
        let Some(it) = self.columns.get(column) else { return };
        let from_first = key.wrapping_sub(1) as u64;
        let slot = (from_first / it.every) as usize;
        if from_first.is_multiple_of(it.every) && slot < MOST_KEYS {
            let began_ns = if self.began_ns == 0 { now_ns() } else { self.began_ns };
            let digest = digest(without_blanks(value));
            self.pending.push(Pending { column, slot, digest, began_ns });
        }
    }

    /// Forgets what was noted since [`Written::mark`]: the statement changed no row.
    #[inline]
    pub fn take_back(&mut self, mark: usize) {
        self.pending.truncate(mark);
    }

    /// The event has ended; what one that failed wrote is not known.
    #[inline]
    pub fn settle(&mut self, is_good: bool) {
        if !self.pending.is_empty() {
            self.settle_all(is_good);
        }
    }

    fn settle_all(&mut self, is_good: bool) {
        let answered_ns = now_ns();
        for Pending { column, slot, digest, began_ns } in self.pending.drain(..) {
            let write = match is_good {
                true => LastWrite { digest: Some(digest), began_ns, answered_ns },
                false => LastWrite::unknown(began_ns),
            };
            self.columns[column].last[slot] = Some(write);
        }
    }

    /// All last writes; what an event under way wrote is not known.
    pub fn take(&mut self) -> LastWrites {
        self.settle(false);
        let keys = |it: Column| {
            let of_key = |(slot, write): (usize, Option<LastWrite>)| {
                Some((1 + (slot as u64 * it.every) as i64, vec![write?]))
            };
            (it.name, it.last.into_iter().enumerate().filter_map(of_key).collect())
        };
        std::mem::take(&mut self.columns).into_iter().map(keys).collect()
    }
}

/// A CHAR column may be filled up with blanks, so that those at the end count for nothing.
fn without_blanks(text: &[u8]) -> &[u8] {
    let length = text.iter().rposition(|letter| *letter != b' ').map_or(0, |at| at + 1);
    &text[..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Value {
        Value::Text(value.as_bytes().to_vec())
    }

    #[test]
    fn of_sampled_keys_the_last_value_of_a_good_event_is_kept() {
        let mut written = Written::default();
        let column = written.column("c", 10);
        assert_eq!(written.column("c", 10), column);
        for (key, value, is_good) in
            [(1, "a", true), (1, "b", true), (2, "c", true), (11, "d", false)]
        {
            written.send(column, &Value::Integer(key), &text(value));
            written.settle(is_good);
        }
        let keys = &written.take()["c"];
        assert_eq!(keys.keys().collect::<Vec<_>>(), [&1, &11]);
        assert_eq!((keys[&1][0].digest, keys[&11][0].digest), (Some(digest(b"b")), None));
    }

    #[test]
    fn what_changed_no_row_was_not_written_and_blanks_at_the_end_count_for_nothing() {
        let mut written = Written::default();
        let column = written.column("c", 1);
        written.send(column, &Value::Integer(1), &text("a  "));
        let mark = written.mark();
        written.send(column, &Value::Integer(1), &text("b"));
        written.take_back(mark);
        written.settle(true);
        assert_eq!(written.take()["c"][&1][0].digest, Some(digest(b"a")));
    }

    #[test]
    fn keys_beyond_the_most_that_are_sampled_are_left_out() {
        let mut written = Written::default();
        let column = written.column("c", 2);
        for key in [i64::MIN, -1, 0, 2, 1 + 2 * MOST_KEYS as i64, i64::MAX] {
            written.send(column, &Value::Integer(key), &text("a"));
        }
        written.settle(true);
        assert!(written.take()["c"].is_empty());
    }
}
