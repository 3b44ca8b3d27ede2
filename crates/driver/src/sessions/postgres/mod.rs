//! PostgreSQL's protocol 3.0 over a [`crate::wire::Line`].
//!
//! ```text
//! login      from nothing to ready for queries, with the crate postgres-protocol
//! channel    requests out, answers in, and those that nobody waits for any more
//! answer     the messages of one answer, parsed in place     failure  what the server refuses
//! statement  Parse, Bind, Execute                            copy     rows of a bulk load
//! frame      messages as bytes                           notices  what is said beside them
//! ```

mod answer;
mod binding;
mod channel;
mod copy;
mod failure;
mod frame;
mod login;
mod notices;
mod statement;
#[cfg(test)]
mod tests;

use slab::Slab;

use super::sql::Quoting;
use super::{
    Canceller, Counts, Descriptor, Engine, Reply, Rows, Session, Value, misdirected,
    open_statement, sql,
};
use crate::generate::Source;
use crate::plan::answer::Notice;
use crate::plan::error::Error;
use crate::plan::{self, Login};
use answer::AnswerMode;
use channel::Channel;
use copy::Load;
use statement::{Prepared, SYNC};

/// What the driver knows of this session.
pub const DESCRIPTOR: Descriptor = Descriptor {
    kind: "postgres",
    engine: Engine::Served,
    dialect: Some("pgsql"),
    quoting: Quoting::Postgres,
    open,
    type_name,
};

/// The server's word for a type's object number, as `pg_type` has those that come along.
fn type_name(number: u32) -> String {
    let name = match number {
        16 => "bool",
        17 => "bytea",
        18 => "char",
        19 => "name",
        20 => "int8",
        21 => "int2",
        23 => "int4",
        25 => "text",
        26 => "oid",
        114 => "json",
        700 => "float4",
        701 => "float8",
        705 => "unknown",
        790 => "money",
        1042 => "bpchar",
        1043 => "varchar",
        1082 => "date",
        1083 => "time",
        1114 => "timestamp",
        1184 => "timestamptz",
        1186 => "interval",
        1266 => "timetz",
        1560 => "bit",
        1700 => "numeric",
        2950 => "uuid",
        3802 => "jsonb",
        other => return format!("oid {other}"),
    };
    name.to_owned()
}

/// Connects and logs in.
fn open(session: &plan::Session) -> Result<Box<dyn Session>, Error> {
    let plan::Session::Postgres(login) = session else { return Err(misdirected()) };
    connect(login)
}

fn connect(login: &Login) -> Result<Box<dyn Session>, Error> {
    Ok(Box::new(Postgres::open(login)?))
}

const QUEUED: Reply = Reply::Ready { rows: 0, changed: 0 };

/// One connection to one server.
pub struct Postgres {
    login: Login,
    channel: Channel,
    statements: Slab<Prepared>,
    /// Statements made so far on this connection: their names.
    made: u64,
    text_rows: Rows,
    /// The statement whose rows come or were read last; `None`: those of a text query.
    last: Option<u32>,
    mode: AnswerMode,
    is_batching: bool,
    /// What is queued for the next batch.
    batch: Vec<u8>,
    /// Columns of each statement of the batch, as far as they are known before its answer.
    widths: Vec<u32>,
    reconnected: u64,
}

impl Postgres {
    /// Connects and logs in.
    pub fn open(login: &Login) -> Result<Self, Error> {
        Ok(Self {
            login: login.clone(),
            channel: Channel::open(login)?,
            statements: Slab::new(),
            made: 0,
            text_rows: Rows::default(),
            last: None,
            mode: AnswerMode::Rows,
            is_batching: false,
            batch: Vec::new(),
            widths: Vec::new(),
            reconnected: 0,
        })
    }

    /// The server says how wide its rows are.
    fn queue_unnamed(&mut self, sql: &[u8], values: &[Value]) -> Reply {
        statement::execute_unnamed(sql, values, &mut self.batch);
        self.widths.push(0);
        QUEUED
    }

    /// Connects anew and makes all statements again under their old handles.
    #[cold]
    fn reconnect(&mut self) -> Result<(), Error> {
        let mut lost = std::mem::replace(&mut self.channel, Channel::open(&self.login)?);
        self.channel.add_further(lost.take_further());
        (self.channel.ended, self.reconnected) = (lost.ended, self.reconnected + 1);
        self.statements.iter_mut().try_for_each(|(_, it)| it.make(&mut self.channel))
    }
}

impl Session for Postgres {
    fn query(&mut self, sql: &str) -> Result<Reply, Error> {
        self.query_bytes(sql.as_bytes())
    }

    fn query_bytes(&mut self, sql: &[u8]) -> Result<Reply, Error> {
        sql::refuse_nul(sql)?;
        if self.is_batching {
            return Ok(self.queue_unnamed(sql, &[]));
        }
        frame::query(sql, self.channel.out()?);
        self.text_rows.clear();
        self.last = None;
        self.channel.send(self.mode)
    }

    fn prepare(&mut self, sql: &[u8]) -> Result<u32, Error> {
        sql::refuse_parameters(sql::count_parameters(sql))?;
        self.prepare_as_written(&sql::number_placeholders(sql))
    }

    fn prepare_as_written(&mut self, sql: &[u8]) -> Result<u32, Error> {
        sql::refuse_nul(sql)?;
        if self.channel.has_parts() {
            return Err(Error::user("a statement was prepared inside a batch that is being sent"));
        }
        self.made += 1;
        let mut prepared = Prepared::new(sql, self.made);
        prepared.make(&mut self.channel)?;
        Ok(self.statements.insert(prepared) as u32)
    }

    #[inline]
    fn execute(&mut self, statement: u32, values: &[Value]) -> Result<Reply, Error> {
        let prepared = open_statement(&mut self.statements, statement)?;
        if self.is_batching {
            prepared.execute(values, &mut self.batch)?;
            self.widths.push(prepared.rows.width);
            return Ok(QUEUED);
        }
        let out = self.channel.out()?;
        prepared.execute(values, out)?;
        out.extend_from_slice(SYNC);
        self.last = Some(statement);
        self.channel.send(self.mode)
    }

    fn execute_unnamed(&mut self, sql: &[u8], values: &[Value]) -> Result<Reply, Error> {
        sql::refuse_nul(sql)?;
        sql::refuse_parameters(values.len())?;
        if self.is_batching {
            return Ok(self.queue_unnamed(sql, values));
        }
        let out = self.channel.out()?;
        statement::execute_unnamed(sql, values, out);
        out.extend_from_slice(SYNC);
        self.text_rows.clear();
        self.last = None;
        self.channel.send(self.mode)
    }

    fn close(&mut self, statement: u32) -> Result<(), Error> {
        self.last = self.last.filter(|last| *last != statement);
        if let Some(prepared) = self.statements.try_remove(statement as usize)
            && !self.channel.is_lost()
        {
            prepared.free(self.channel.out()?);
        }
        Ok(())
    }

    fn begin_batch(&mut self) -> Result<(), Error> {
        self.batch.clear();
        self.widths.clear();
        self.is_batching = true;
        Ok(())
    }

    /// An error in one part of the batch leaves the parts after it alone, as each ends in a `Sync`.
    fn flush_batch(&mut self) -> Result<(), Error> {
        let out = self.channel.out()?;
        out.extend_from_slice(&self.batch);
        out.extend_from_slice(SYNC);
        self.batch.clear();
        self.channel.send_part()
    }

    fn sync(&mut self, keeps: bool) -> Result<Reply, Error> {
        if !std::mem::take(&mut self.is_batching) {
            return Err(Error::user("there is no batch to send"));
        }
        let out = self.channel.out()?;
        out.extend_from_slice(&self.batch);
        out.extend_from_slice(SYNC);
        self.text_rows.clear();
        self.last = None;
        if keeps {
            return self.channel.send_batch(&self.widths);
        }
        self.channel.send(AnswerMode::Sum)
    }

    fn load(&mut self, sql: &str, rows: Box<dyn Source>) -> Result<Reply, Error> {
        sql::refuse_nul(sql.as_bytes())?;
        self.text_rows.clear();
        self.last = None;
        self.channel.load(sql, Load::new(rows))
    }

    fn keep_rows(&mut self, wanted: bool) {
        self.mode = if wanted { AnswerMode::Rows } else { AnswerMode::Counts };
    }

    fn keep_notices(&mut self, wanted: bool) {
        self.channel.notices().keep(wanted);
    }

    fn take_notices(&mut self) -> (Vec<Notice>, u64) {
        self.channel.notices().take_kept()
    }

    fn process(&self) -> Option<i32> {
        self.channel.process()
    }

    #[inline]
    fn poll(&mut self) -> Result<Reply, Error> {
        let prepared = self.last.and_then(|at| self.statements.get_mut(at as usize));
        self.channel.poll(prepared.map_or(&mut self.text_rows, |it| &mut it.rows))
    }

    fn in_transaction(&self) -> bool {
        self.channel.in_transaction()
    }

    fn is_aborted(&self) -> bool {
        self.channel.is_aborted()
    }

    fn is_lost(&self) -> bool {
        self.channel.is_lost()
    }

    fn changed_of_all(&self) -> Option<u64> {
        Some(self.channel.changed_of_all())
    }

    fn reset(&mut self) -> Result<(), Error> {
        self.is_batching = false;
        if self.channel.is_lost() { self.reconnect() } else { self.channel.abandon() }
    }

    fn renew(&mut self) -> Result<bool, Error> {
        if self.channel.is_lost() || self.is_batching || !self.channel.is_idle() {
            return Ok(false);
        }
        let reconnected = self.reconnected;
        self.reconnect()?;
        self.reconnected = reconnected;
        Ok(true)
    }

    fn canceller(&mut self) -> Option<Canceller> {
        let (key, login) = (self.channel.key_of_request()?, self.login.clone());
        Some(Box::new(move || login::cancel(&login, key)))
    }

    fn rows(&self) -> &Rows {
        let prepared = self.last.and_then(|at| self.statements.get(at as usize));
        prepared.map_or(&self.text_rows, |it| &it.rows)
    }

    fn take_counts(&mut self) -> Counts {
        let claimed = Some(std::mem::take(&mut self.channel.ended));
        Counts {
            reconnected: std::mem::take(&mut self.reconnected),
            claimed,
            further: self.channel.take_further(),
            bytes: self.channel.take_bytes(),
            ..Counts::default()
        }
    }
}
