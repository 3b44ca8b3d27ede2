//! How a request ends that nobody waits for, and how a connection does.

use super::answer::Want;
use super::channel::Channel;
use super::statement::query;
use crate::plan::error::Error;

impl Channel {
    /// What the server said before it hung up was read before this.
    #[cold]
    pub(super) fn broken(&mut self, error: Error) -> Error {
        self.is_lost = true;
        error.sql(0, "08006")
    }

    /// Gives up the request under way, and ends the transaction that is left open; nothing waits.
    pub fn abandon(&mut self) -> Result<(), Error> {
        let was_under_way = self.want.take().is_some();
        if was_under_way {
            if let Some(load) = self.load.take().filter(|it| !it.is_over()) {
                load.give_up(self.line.out());
            }
            self.answer.abandon();
            self.owed += 1;
        }
        // What is owed already may leave a transaction, too, but none can be begun by a ROLLBACK.
        if was_under_way || self.answer.status != b'I' && self.owed == 0 {
            query("ROLLBACK", self.line.out());
            if self.owed == 0 {
                self.answer.begin(Want::Nothing);
            }
            self.owed += 1;
            return self.line.send().map_err(|error| self.broken(error));
        }
        Ok(())
    }
}

impl Drop for Channel {
    /// Says goodbye, so that the server's log has nothing to complain about.
    fn drop(&mut self) {
        if !self.is_lost {
            self.line.out().extend_from_slice(b"X\0\0\0\x04");
            let _ = self.line.send();
        }
    }
}
