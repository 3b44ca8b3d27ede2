//! A user's requests: texts, prepared statements, bulk loads and batches, and their answers.

use super::account::{BATCH, digest_end, digest_values};
use super::inserts::{Bulk, Insert};
use super::shared::{RequestState, Shared};
use super::statement::{Form, Kind, Statement, TextCell};
use crate::generate;
use crate::plan::error::Error;
use crate::plan::statement::StatementKind;
use crate::sessions::Reply;

/// More text cells than a script has in use.
const MOST_TEXT_CELLS: usize = 1000;

impl Shared {
    /// Sends a text.
    pub fn query(&mut self, connection: usize, sql: &[u8]) -> RequestState {
        let number = self.account.number(sql, self.connections.quoting);
        self.query_as(connection, sql, number)
    }

    /// Sends a text that the account knows by a number.
    pub(super) fn query_as(&mut self, connection: usize, sql: &[u8], number: u32) -> RequestState {
        if self.is_loading {
            return self.refuse_while_loading();
        }
        self.counts.queries += 1;
        if self.account.wants_example(number) {
            self.account.keep_text(number, sql);
        }
        let (keeps, _engine) = (self.keeps(), self.in_engine());
        self.account.send(number, || digest_end(sql));
        let reply =
            self.connections.at(connection).and_then(|it| it.keeping(keeps).query_bytes(sql));
        self.take_reply(connection, reply)
    }

    /// An answer could not be waited for, so nothing is sent.
    #[cold]
    pub(super) fn refuse_while_loading(&mut self) -> RequestState {
        self.fail(
            Error::user("a query cannot wait for its answer while the script loads").hint(
                "send it from init(), thread_init(), an event or a command; nothing was sent",
            ),
        );
        RequestState::Failed
    }

    /// Sends rows as one statement, made in memory that is used again.
    pub fn insert(&mut self, connection: usize, insert: &Insert) -> RequestState {
        let mut text = std::mem::take(&mut self.statements.text);
        text.clear();
        insert.put(
            &mut self.statements.rows[insert.row],
            &mut self.rand,
            self.connections.quoting,
            &mut text,
        );
        let number = self.account.number(insert.head, self.connections.quoting);
        let sent = self.query_as(connection, &text, number);
        self.statements.text = text;
        sent
    }

    /// The bulk insert of a connection's number.
    pub fn bulk(&mut self, connection: usize) -> Result<&mut Bulk, Error> {
        let bulk = self.connections.bulks.get_mut(connection);
        bulk.ok_or_else(|| Error::user("a bulk insert without a connection"))
    }

    /// Sends the rows that were gathered, and goes back to the head.
    pub fn send_bulk(&mut self, connection: usize) -> Result<RequestState, Error> {
        let mut bulk = std::mem::take(self.bulk(connection)?);
        let number = self.account.number(bulk.head(), self.connections.quoting);
        let sent = self.query_as(connection, bulk.text(), number);
        bulk.forget_rows();
        *self.bulk(connection)? = bulk;
        Ok(sent)
    }

    /// Will the rows of the next answer be read?
    #[inline]
    fn keeps(&self) -> bool {
        (self.answers.keeps_rows || self.answers.keeps_next) && self.statements.playing.is_none()
    }

    pub fn begin_batch(&mut self, connection: usize) -> Result<(), Error> {
        self.connections.at(connection)?.begin_batch()
    }

    pub fn flush_batch(&mut self, connection: usize) -> Result<(), Error> {
        self.connections.at(connection)?.flush_batch()
    }

    /// Sends the batch; the rows that come back are counted, and kept where they will be read.
    pub fn sync(&mut self, connection: usize, keeps: bool) -> RequestState {
        let _engine = self.in_engine();
        self.account.send(BATCH, || 0);
        let reply = self.connections.at(connection).and_then(|it| it.sync(keeps));
        self.take_reply(connection, reply)
    }

    /// Streams generated rows into a table.
    pub fn load(&mut self, connection: usize, sql: &str, rows: &generate::Rows) -> RequestState {
        if self.is_loading {
            return self.refuse_while_loading();
        }
        self.counts.queries += 1;
        let _engine = self.in_engine();
        let number = self.account.number(sql.as_bytes(), self.connections.quoting);
        self.account.send(number, || 0);
        let reply = generate::open(rows)
            .and_then(|source| self.connections.at(connection)?.session().load(sql, source));
        self.take_reply(connection, reply)
    }

    pub fn prepare(&mut self, connection: usize, sql: &[u8]) -> Option<usize> {
        let _engine = self.in_engine();
        let prepared = self.keep_thread(|it| {
            it.connections.at(connection).and_then(|it| it.session().prepare(sql))
        });
        match prepared {
            Ok(handle) => Some(self.keep(connection, Form::Prepared(handle), sql)),
            Err(error) => {
                let number = self.account.number(sql, self.connections.quoting);
                self.account.refused_to_prepare(number);
                self.fail(error);
                None
            }
        }
    }

    /// Keeps a statement; returns its number.
    pub fn keep(&mut self, connection: usize, form: Form, sql: &[u8]) -> usize {
        let number = self.account.number(sql, self.connections.quoting);
        self.statements.all.insert(Statement::new(connection, form, number))
    }

    pub fn bind(&mut self, statement: usize, kinds: Vec<Kind>) {
        if let Some(it) = self.statements.all.get_mut(statement) {
            it.bind(kinds);
        }
    }

    /// Puts a Lua value into a parameter, cut to the cell's kind.
    pub fn set(&mut self, statement: usize, at: usize, value: &mlua::Value) {
        if let Some(it) = self.statements.all.get_mut(statement) {
            it.set(at, value, &self.statements.text_cells);
        }
    }

    /// Gives a text cell its template; its number, or none where there are too many (a script that
    /// makes new cells in each event).
    pub fn text_cell(&mut self, template: &[u8], known: Option<usize>) -> Option<usize> {
        let number = known.unwrap_or(self.statements.text_cells.len());
        if number == self.statements.text_cells.len() {
            if number == MOST_TEXT_CELLS {
                return None;
            }
            self.statements.text_cells.push(TextCell::default());
        }
        template.clone_into(&mut self.statements.text_cells[number].template);
        Some(number)
    }

    pub fn execute(&mut self, statement: usize) -> RequestState {
        if self.is_loading {
            return self.refuse_while_loading();
        }
        self.counts.queries += 1;
        let keeps = self.keeps();
        let Some(it) = self.statements.all.get(statement) else {
            self.fail(Error::user("a closed statement was executed"));
            return RequestState::Failed;
        };
        let connection = it.connection;
        if self.account.wants_example(it.number) {
            let execution = (&it.form, it.values());
            self.account.keep_execution(it.number, execution, self.connections.quoting);
        }
        self.account.send(it.number, || digest_values(it.values()));
        let _engine = self.in_engine();
        let reply =
            self.connections.at(connection).and_then(|session| it.send(session.keeping(keeps)));
        self.take_reply(connection, reply)
    }

    pub fn close(&mut self, statement: usize) -> Result<(), Error> {
        let Some(it) = self.statements.all.try_remove(statement) else {
            return Ok(());
        };
        match (self.connections.all.get_mut(it.connection), it.form) {
            (Some(Some(connection)), Form::Prepared(handle)) => connection.session().close(handle),
            _ => Ok(()),
        }
    }

    pub fn poll(&mut self, connection: usize) -> RequestState {
        let reply = self.connections.at(connection).and_then(|it| it.session().poll());
        self.counts.round_trips += u64::from(!matches!(reply, Ok(Reply::Pending { .. })));
        self.take_reply(connection, reply)
    }

    /// Counts what came of the statement sent last. Of a batch that is queued nothing has come yet.
    #[inline]
    pub fn settle(&mut self, connection: usize, rows: u64, changed: u64) {
        let Some(Some(it)) = self.connections.all.get_mut(connection) else { return };
        if it.is_queueing() {
            return;
        }
        let changed = match self.account.kind() {
            StatementKind::Several => it.session().changed_of_all().unwrap_or(changed),
            _ => changed,
        };
        let kind = self.account.answered(rows, changed);
        it.settle(kind, changed, &mut self.counts.settled);
    }
}
