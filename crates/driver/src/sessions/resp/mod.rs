//! RESP2 over a [`crate::wire::Line`]: Redis, Valkey, and kin that take their commands.
//!
//! A workload's statements are read by `key_value`. A transaction is `MULTI` to `EXEC`: what is
//! inserted in it is only queued, is claimed to be inserted, and held against what `EXEC` answers;
//! a rollback is `DISCARD`. In it nothing can be read, updated or deleted, since the server would
//! answer nothing before its end. Requests of a batch leave together, as a pipeline.
//!
//! ```text
//! statement  SQL's forms as commands      answer  what each reply says
//! reply      bytes to replies and back
//! ```

mod answer;
mod reply;
mod statement;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use slab::Slab;

use super::key_value::{self, Operand};
use super::sql::Quoting;
use super::{
    Counts, Descriptor, Engine, LONGEST_WAIT, MOST_READS, Reply, Rows, SOON, Session, Value,
    literal, misdirected, open_statement,
};
use crate::plan::error::Error;
use crate::plan::{self, Login};
use crate::wire::Line;
use answer::{Answer, Expected};
use reply::{Item, Reader, command, garbage};
use statement::{
    AS_IT_IS, Play, TABLES, Table, begin_command, put_drop, put_value, refuse, to_key,
};

const PENDING: Reply = Reply::Pending { until_ns: u64::MAX };
const DONE: Reply = Reply::Ready { rows: 0, changed: 0 };

/// What the driver knows of this session.
pub const DESCRIPTOR: Descriptor = Descriptor {
    kind: "resp",
    engine: Engine::Served,
    dialect: Some("pgsql"),
    quoting: Quoting::Standard,
    open,
    type_name: |_| String::new(),
};

/// One connection to a server.
struct Resp {
    login: Login,
    line: Line,
    /// Those that were met.
    tables: HashMap<String, Arc<Table>>,
    statements: Slab<Prepared>,
    answer: Answer,
    /// A key being written, and the keys of a statement in order, in memory that is used again.
    scratch: Vec<u8>,
    keys: Vec<i64>,
    is_batch: bool,
    in_transaction: bool,
    keeps: bool,
    is_lost: bool,
    reconnected: u64,
}

/// A prepared statement.
struct Prepared {
    play: Play,
    parameters: usize,
}

fn open(session: &plan::Session) -> Result<Box<dyn Session>, Error> {
    let plan::Session::Resp(login) = session else { return Err(misdirected()) };
    let mut made = Resp {
        line: Line::connect(login)?,
        login: login.clone(),
        tables: HashMap::new(),
        statements: Slab::new(),
        answer: Answer::default(),
        scratch: Vec::new(),
        keys: Vec::new(),
        is_batch: false,
        in_transaction: false,
        keeps: true,
        is_lost: false,
        reconnected: 0,
    };
    made.log_in()?;
    Ok(Box::new(made))
}

impl Resp {
    /// Says who we are and chooses the database, where that is asked for.
    fn log_in(&mut self) -> Result<(), Error> {
        let Login { user, password, database, .. } = self.login.clone();
        if let Some(password) = password {
            match user.is_empty() {
                true => self.ask_at_once(&[b"AUTH", password.as_bytes()])?,
                false => self.ask_at_once(&[b"AUTH", user.as_bytes(), password.as_bytes()])?,
            };
        }
        if !database.is_empty() {
            self.ask_at_once(&[b"SELECT", database.as_bytes()])?;
        }
        Ok(())
    }

    /// Sends a command and waits for its reply, whose string it answers.
    fn ask_at_once(&mut self, words: &[&[u8]]) -> Result<Option<Vec<u8>>, Error> {
        self.drain()?;
        command(self.line.out(), words);
        let began = Instant::now();
        loop {
            let bytes = self.line.inbox();
            if let Some(length) = reply::length(bytes)? {
                let found = match Reader::new(bytes).next()? {
                    Some(Item::Error(words)) => Err(answer::of_server(words)),
                    Some(Item::Bulk(found)) => Ok(found.map(<[u8]>::to_vec)),
                    _ => Ok(None),
                };
                self.line.consume(length);
                return found;
            }
            check_wait(began)?;
            self.line.wait()?;
        }
    }

    /// Waits for the replies that nobody wants.
    fn drain(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        loop {
            let used = self.answer.feed(self.line.inbox())?;
            self.line.consume(used);
            if self.answer.to_come() == 0 {
                return Ok(());
            }
            check_wait(began)?;
            self.line.wait()?;
        }
    }

    fn read(&mut self, sql: &str) -> Result<Prepared, Error> {
        if let Some(words) = sql.strip_prefix(AS_IT_IS) {
            let words = words.split_ascii_whitespace().map(str::to_owned).collect();
            return Ok(Prepared { play: Play::AsItIs(words), parameters: 0 });
        }
        let (statement, parameters) = key_value::read(sql)?;
        let play = Play::new(statement, &mut |name| self.find_table(name))?;
        Ok(Prepared { play, parameters })
    }

    fn find_table(&mut self, name: &str) -> Result<Arc<Table>, Error> {
        if let Some(found) = self.tables.get(name) {
            return Ok(found.clone());
        }
        if self.in_transaction {
            return Err(refuse("a table that is met first in a transaction cannot be looked up"));
        }
        let columns = self.ask_at_once(&[b"HGET", TABLES, name.as_bytes()])?;
        let columns = columns.and_then(|it| String::from_utf8(it).ok()).unwrap_or_default();
        let Some((key, value)) = columns.split_once(' ') else {
            return Err(Error::engine(format!("there is no table {name}")).sql(0, "42P01"));
        };
        let table = Table { name: name.to_owned(), key: key.to_owned(), value: value.to_owned() };
        Ok(self.tables.entry(name.to_owned()).or_insert(Arc::new(table)).clone())
    }

    /// May a request be sent now?
    #[inline]
    fn check(&self) -> Result<(), Error> {
        if self.is_lost {
            return Err(Error::engine("the connection is lost")
                .because("it was lost earlier in this event")
                .code("lost"));
        }
        if self.answer.is_wanted() && !self.is_batch {
            return Err(Error::user("a request was sent before the last one was answered"));
        }
        Ok(())
    }

    /// Writes a request, and sends it where it is no part of a batch.
    #[inline]
    fn ask(&mut self, play: &Play, values: &[Value]) -> Result<Reply, Error> {
        if !self.is_batch {
            self.answer.begin(self.keeps);
        }
        let (written, to_come) = (self.line.out().len(), self.answer.to_come());
        if let Err(error) = self.write(play, values) {
            self.line.out().truncate(written);
            self.answer.truncate(to_come);
            return Err(error);
        }
        if self.is_batch || !self.answer.is_wanted() {
            return Ok(DONE);
        }
        self.send()
    }

    #[inline]
    fn send(&mut self) -> Result<Reply, Error> {
        match self.line.send() {
            Ok(()) => Ok(PENDING),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Writes what a statement of rows asks for, or any other.
    #[inline]
    fn write(&mut self, play: &Play, values: &[Value]) -> Result<(), Error> {
        let Self { line, answer, scratch, keys, in_transaction, .. } = self;
        let out = line.out();
        if *in_transaction && !matches!(play, Play::Insert { .. } | Play::Commit | Play::Rollback) {
            return Err(refuse("in a transaction it answers nothing before the end: only inserts"));
        }
        match play {
            Play::Insert { table, rows } => {
                match &rows[..] {
                    [(key, value)] => {
                        begin_command(out, b"SET", 3);
                        table.put_key(out, scratch, to_key(key.value(values))?);
                        put_value(out, scratch, value.value(values))?;
                        reply::put(out, b"NX");
                    }
                    rows => {
                        begin_command(out, b"MSETNX", 2 * rows.len());
                        for (key, value) in rows {
                            table.put_key(out, scratch, to_key(key.value(values))?);
                            put_value(out, scratch, value.value(values))?;
                        }
                    }
                }
                let count = rows.len() as u64;
                answer.expect(match *in_transaction {
                    true => Expected::Queued(count),
                    false => Expected::Inserted(count),
                });
            }
            Play::Update { table, value, keys: named } => {
                list_keys(named, values, keys)?;
                let is_one = keys.len() == 1;
                if !is_one {
                    command(out, &[b"MULTI"]);
                    answer.expect(Expected::Part);
                }
                for key in keys.iter() {
                    begin_command(out, b"SET", 3);
                    table.put_key(out, scratch, *key);
                    put_value(out, scratch, value.value(values))?;
                    reply::put(out, b"XX");
                    answer.expect(if is_one { Expected::Updated } else { Expected::Part });
                }
                if !is_one {
                    command(out, &[b"EXEC"]);
                    answer.expect(Expected::UpdatedAll);
                }
            }
            Play::Delete { table, keys: named } => {
                list_keys(named, values, keys)?;
                begin_command(out, b"DEL", keys.len());
                keys.iter().for_each(|key| table.put_key(out, scratch, *key));
                answer.expect(Expected::Deleted);
            }
            Play::Select { table, columns, keys: named } => {
                list_keys(named, values, keys)?;
                begin_command(out, if keys.len() == 1 { b"GET" } else { b"MGET" }, keys.len());
                keys.iter().for_each(|key| table.put_key(out, scratch, *key));
                answer.expect_rows(table.clone(), columns.clone(), keys);
            }
            plain => self.write_plain(plain),
        }
        Ok(())
    }

    /// Writes what no rows are named for.
    fn write_plain(&mut self, play: &Play) {
        let Self { line, answer, in_transaction, .. } = self;
        let out = line.out();
        match play {
            Play::Begin => {
                command(out, &[b"MULTI"]);
                answer.expect(Expected::Ignored);
                *in_transaction = true;
            }
            Play::Commit if *in_transaction => {
                command(out, &[b"EXEC"]);
                answer.expect(Expected::Executed);
                *in_transaction = false;
            }
            Play::Rollback if *in_transaction => {
                command(out, &[b"DISCARD"]);
                answer.expect(Expected::Ignored);
                *in_transaction = false;
            }
            Play::Create(table) => {
                table.put_create(out);
                answer.expect(Expected::Created);
                self.tables.insert(table.name.clone(), table.clone());
            }
            Play::Drop(table) => {
                put_drop(out, table);
                answer.expect(Expected::Ignored);
                self.tables.remove(table);
            }
            Play::Tables => {
                command(out, &[b"HKEYS", TABLES]);
                answer.expect(Expected::Names);
            }
            Play::AsItIs(words) => {
                let words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
                command(out, &words);
                answer.expect(Expected::Anything);
            }
            Play::Count { table, length } => {
                table.put_script(out, true, length.as_ref());
                answer.expect(Expected::Number);
            }
            Play::SelectAll { table, columns, length } => {
                table.put_script(out, false, length.as_ref());
                answer.expect(Expected::AllRows(table.clone(), columns.clone()));
            }
            _ => {}
        }
    }

    /// Notes whether the connection can go on after an error.
    #[cold]
    fn fail(&mut self, error: Error) -> Error {
        self.is_lost |= matches!(error.engine_code(), Some("lost" | "protocol"));
        error
    }

    fn reconnect(&mut self) -> Result<(), Error> {
        self.line = Line::connect(&self.login)?;
        self.answer = Answer::default();
        self.is_lost = false;
        self.in_transaction = false;
        self.log_in()?;
        self.reconnected += 1;
        Ok(())
    }
}

/// The keys that a statement means, each once, in order, as SQL does.
#[inline]
fn list_keys(named: &[Operand], values: &[Value], keys: &mut Vec<i64>) -> Result<(), Error> {
    keys.clear();
    for each in named {
        keys.push(to_key(each.value(values))?);
    }
    keys.sort_unstable();
    keys.dedup();
    Ok(())
}

fn check_wait(began: Instant) -> Result<(), Error> {
    match began.elapsed() > LONGEST_WAIT {
        true => Err(garbage("an answer did not end within a minute")),
        false => Ok(()),
    }
}

fn check_parameters(wanted: usize, given: usize) -> Result<(), Error> {
    match wanted == given {
        true => Ok(()),
        false => {
            Err(Error::user(format!("a statement with {wanted} parameters got {given} values")))
        }
    }
}

impl Session for Resp {
    fn query(&mut self, sql: &str) -> Result<Reply, Error> {
        self.check()?;
        let prepared = self.read(sql).map_err(|error| self.fail(error))?;
        check_parameters(prepared.parameters, 0)?;
        self.ask(&prepared.play, &[])
    }

    fn prepare(&mut self, sql: &[u8]) -> Result<u32, Error> {
        self.check()?;
        let sql = literal::sql(sql)?.to_owned();
        let prepared = self.read(&sql).map_err(|error| self.fail(error))?;
        Ok(self.statements.insert(prepared) as u32)
    }

    #[inline]
    fn execute(&mut self, statement: u32, values: &[Value]) -> Result<Reply, Error> {
        self.check()?;
        let prepared = open_statement(&mut self.statements, statement)?;
        check_parameters(prepared.parameters, values.len())?;
        let play = std::mem::replace(&mut prepared.play, Play::Tables);
        let reply = self.ask(&play, values);
        self.statements[statement as usize].play = play;
        reply
    }

    fn close(&mut self, statement: u32) -> Result<(), Error> {
        self.statements.try_remove(statement as usize);
        Ok(())
    }

    fn begin_batch(&mut self) -> Result<(), Error> {
        self.check()?;
        if self.is_batch {
            return Err(Error::user("a batch was begun inside a batch"));
        }
        self.is_batch = true;
        self.answer.begin(self.keeps);
        Ok(())
    }

    fn sync(&mut self, keeps: bool) -> Result<Reply, Error> {
        self.check()?;
        if !std::mem::take(&mut self.is_batch) {
            return Err(Error::user("there is no batch to send"));
        }
        self.answer.keep_each(keeps);
        if self.answer.is_wanted() { self.send() } else { Ok(DONE) }
    }

    fn keep_rows(&mut self, wanted: bool) {
        self.keeps = wanted;
    }

    #[inline]
    fn poll(&mut self) -> Result<Reply, Error> {
        for _ in 0..MOST_READS {
            let used = self.answer.feed(self.line.inbox()).map_err(|error| self.fail(error))?;
            self.line.consume(used);
            if !self.answer.is_wanted() {
                // a table that could not be made is another one than was thought
                return self.answer.outcome().inspect_err(|_| self.tables.clear());
            }
            if !self.line.more().map_err(|error| self.fail(error))? {
                return Ok(PENDING);
            }
        }
        Ok(SOON)
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    fn reset(&mut self) -> Result<(), Error> {
        if self.is_lost || std::mem::take(&mut self.is_batch) {
            self.is_batch = false;
            return self.reconnect();
        }
        self.answer.abandon();
        if std::mem::take(&mut self.in_transaction) {
            command(self.line.out(), &[b"DISCARD"]);
            self.answer.expect(Expected::Ignored);
            self.answer.abandon();
            return self.line.send();
        }
        Ok(())
    }

    fn renew(&mut self) -> Result<bool, Error> {
        if self.is_lost || self.is_batch || self.in_transaction {
            return Ok(false);
        }
        let reconnected = self.reconnected;
        self.reconnect()?;
        self.reconnected = reconnected;
        Ok(true)
    }

    fn rows(&self) -> &Rows {
        &self.answer.rows
    }

    fn take_counts(&mut self) -> Counts {
        Counts {
            reconnected: std::mem::take(&mut self.reconnected),
            bytes: self.line.take_bytes(),
            ..Counts::default()
        }
    }
}
