//! The session's verbs: each writes its request and says that the answer is to come.

use super::answer::Asked;
use super::load::Load;
use super::{Batch, COM_QUERY, COM_STMT_CLOSE, Mysql, QUEUED, packet};
use crate::generate::Source;
use crate::plan::error::Error;
use crate::sessions::{Counts, Reply, Rows, Session, Value};

impl Session for Mysql {
    fn query(&mut self, sql: &str) -> Result<Reply, Error> {
        self.check()?;
        packet::command(self.out(), COM_QUERY, sql.as_bytes());
        self.ask(false)
    }

    fn prepare(&mut self, sql: &str) -> Result<u32, Error> {
        self.check()?;
        let statement = self.prepared(sql).map_err(|error| self.fail(error))?;
        Ok(self.statements.keep(statement))
    }

    #[inline]
    fn execute(&mut self, statement: u32, values: &[Value]) -> Result<Reply, Error> {
        self.check()?;
        let Self { statements, batch, line, .. } = self;
        let statement = statements.open(statement)?;
        let out = batch.as_mut().map_or_else(|| line.out(), |batch| &mut batch.packets);
        let is_binary = statement.encode(values, out)?;
        self.ask(is_binary)
    }

    fn close(&mut self, statement: u32) -> Result<(), Error> {
        let closed = self.statements.take(statement);
        if let Some(id) = closed.and_then(|it| it.id()).filter(|_| !self.is_lost) {
            // Not answered; it leaves with the next request.
            packet::command(self.out(), COM_STMT_CLOSE, &id.to_le_bytes());
        }
        Ok(())
    }

    fn begin_batch(&mut self) -> Result<(), Error> {
        self.check()?;
        if self.batch.replace(Batch::default()).is_some() {
            return Err(Error::user("a batch was begun inside a batch"));
        }
        self.answer.expect(0, Asked::default());
        Ok(())
    }

    fn sync(&mut self) -> Result<Reply, Error> {
        self.check()?;
        let batch = self.batch.take();
        let batch = batch.ok_or_else(|| Error::user("there is no batch to send"))?;
        self.line.out().extend_from_slice(&batch.packets);
        self.asked += u64::from(batch.requests);
        self.answer.expect(batch.requests, Asked { is_batch: true, ..Asked::default() });
        if batch.requests == 0 { Ok(QUEUED) } else { self.send() }
    }

    fn load(&mut self, sql: &str, rows: Box<dyn Source>) -> Result<Reply, Error> {
        self.check()?;
        if self.batch.is_some() {
            return Err(Error::user("a bulk load cannot stand in a batch"));
        }
        self.load = Some(Load::new(rows));
        self.query(sql)
    }

    fn keep_rows(&mut self, wanted: bool) {
        self.keeps = wanted;
    }

    #[inline]
    fn poll(&mut self) -> Result<Reply, Error> {
        self.advance().map_err(|error| self.fail(error))
    }

    fn reset(&mut self) -> Result<(), Error> {
        self.batch = None;
        if self.is_lost || self.load.is_some() {
            return self.reconnect();
        }
        self.answer.abandon();
        if self.answer.in_transaction() {
            packet::command(self.line.out(), COM_QUERY, b"ROLLBACK");
            self.asked += 1;
            self.answer.roll_back();
            return self.line.send();
        }
        Ok(())
    }

    fn rows(&self) -> &Rows {
        &self.answer.rows
    }

    fn take_counts(&mut self) -> Counts {
        Counts {
            reconnected: std::mem::take(&mut self.reconnected),
            claimed: Some(std::mem::take(&mut self.asked)),
            further: std::mem::take(&mut self.answer.further),
            ..Counts::default()
        }
    }
}
