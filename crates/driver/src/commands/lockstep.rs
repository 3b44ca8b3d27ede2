//! `dyno-driver lockstep`: a log's statements in the log's own order, each in its own session, one
//! at a time; all that each is answered with goes into a file.
//!
//! A statement that waits for a lock of another session is left waiting while the others go on: the
//! server says that it waits. What follows it in its session waits with it. Whenever a session
//! has left its transaction, those that wait are seen to first, so that the order of what they do
//! is the same in every play.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use super::contents::tell;
use super::one_statement::{Played, send};
use crate::plan;
use crate::plan::answer::Answer;
use crate::plan::error::Error;
use crate::plan::parent::{self, Parent};
use crate::schedule::clock::now_ns;
use crate::script::recording::{LaidEvent, Lane};
use crate::sessions::literal::spell_out;
use crate::sessions::sql::{Quoting, number_placeholders};
use crate::sessions::{Reply, Session, cancel_all, rows};
use crate::{sessions, wire};

/// What the answers that are held at one time may take.
const MOST_BYTES: usize = 64 << 20;
/// Statements that wait behind one of their session; more, and the oldest wait is seen to its end.
const QUEUED_MOST: usize = 20_000;
/// How long an answer may take before the server is asked whether it waits for a lock, and what a
/// statement is given to end once it was cancelled.
const PATIENCE_NS: u64 = 20_000_000;
const CANCELLED_NS: u64 = 5_000_000_000;
/// How long an answer may take once a lock was freed, before the server is asked who still waits.
const FREED_NS: u64 = 3_000_000;
/// Stands in a log's file in the place of a statement: its session has ended.
const END: &[u8] = b"/* the session ends */";

/// What is played, and where the answers go.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    #[serde(rename = "version")]
    _version: u32,
    session: plan::Session,
    /// The log as `src/dyno/workloads/replay/order.py` lays it out: a session's number in the place
    /// of a type's.
    log: PathBuf,
    /// A line per statement: its place in the log, ns until its answer (0 where it waited for a
    /// lock), the answer as JSON.
    answers: PathBuf,
    /// What every session is sent first, `{second}` when its first statement was sent (since 1970).
    opening: Vec<String>,
    began_s: f64,
    /// What asks a session for its own process; and what answers a row where `{process}` waits for
    /// a lock (empty: none does), no sooner than `spacing_s` after the last time it was asked.
    process: String,
    waits: String,
    spacing_s: f64,
    /// What any one statement may take.
    limit_s: f64,
    /// No further statement begins after so long, and none after so many (0: all of them).
    stop_s: f64,
    most: u64,
}

/// What became of it.
#[derive(Debug, Default, Serialize)]
struct Summary {
    statements: u64,
    sessions: u64,
    /// Statements that waited for a lock, that were given up, and connections that were lost.
    waited: u64,
    given_up: u64,
    lost: u64,
}

/// Plays the log, and says what became of it.
pub fn lockstep(parent: &Parent) -> Result<ExitCode, Error> {
    let question: Question = parent.question()?;
    rows::set_limit(MOST_BYTES);
    let mut lane = Lane::open(&question.log)?;
    let mut player = Player::new(&question)?;
    while !player.is_to_stop() && lane.next_event()? {
        player.take(std::mem::take(&mut lane.event))?;
    }
    parent::print_json(&player.finish()?)?;
    Ok(ExitCode::SUCCESS)
}

/// A statement of the log, by its place there.
struct Step {
    place: u64,
    event: LaidEvent,
}

/// A session of the log.
struct User {
    session: Box<dyn Session>,
    process: String,
    /// What was sent and is not answered, and when.
    sent: Option<(Step, u64)>,
    has_waited: bool,
    queue: VecDeque<Step>,
}

struct Player<'a> {
    question: &'a Question,
    type_name: fn(u32) -> String,
    quoting: Quoting,
    users: HashMap<usize, User>,
    /// Who waits for a lock, in the order in which they began.
    waiting: Vec<usize>,
    queued: usize,
    monitor: Option<Box<dyn Session>>,
    asked_ns: u64,
    began_ns: u64,
    answers: BufWriter<File>,
    place: u64,
    summary: Summary,
}

impl<'a> Player<'a> {
    fn new(question: &'a Question) -> Result<Self, Error> {
        let descriptor = sessions::descriptor(&question.session);
        let file = File::create(&question.answers).map_err(|error| unwritten(&error))?;
        Ok(Self {
            question,
            type_name: descriptor.type_name,
            quoting: descriptor.quoting,
            users: HashMap::new(),
            waiting: Vec::new(),
            queued: 0,
            monitor: None,
            asked_ns: 0,
            began_ns: now_ns(),
            answers: BufWriter::with_capacity(1 << 18, file),
            place: 0,
            summary: Summary::default(),
        })
    }

    fn is_to_stop(&self) -> bool {
        let is_enough = self.question.most > 0 && self.place >= self.question.most;
        is_enough || now_ns() > self.began_ns + (self.question.stop_s * 1e9) as u64
    }

    /// The next statement of the log, or the end of its session.
    fn take(&mut self, event: LaidEvent) -> Result<(), Error> {
        let number = event.kind;
        let is_end = event.text == END;
        let step = Step { place: self.place, event };
        self.place += u64::from(!is_end);
        if let Some(user) = self.users.get_mut(&number) {
            if user.sent.is_some() {
                user.queue.push_back(step);
                self.queued += 1;
                return if self.queued > QUEUED_MOST { self.end_oldest_wait() } else { Ok(()) };
            }
        } else if !is_end {
            let user = self.open(&step.event)?;
            self.users.insert(number, user);
            self.summary.sessions += 1;
        }
        if is_end {
            // what it had open is rolled back, and others may get its locks
            self.users.remove(&number);
            return self.look_after_waiting(true);
        }
        self.play(number, step)
    }

    fn open(&mut self, event: &LaidEvent) -> Result<User, Error> {
        let mut session = sessions::open(&self.question.session)?;
        session.keep_notices(true);
        self.begin_session(session.as_mut(), event)?;
        let process = match self.question.process.is_empty() {
            true => String::new(),
            false => {
                send(session.as_mut(), &self.question.process)?;
                let found = session.rows().fields().last_row().unwrap_or_default();
                let value = found.into_iter().next().and_then(|(_, value)| value);
                String::from_utf8_lossy(&value.unwrap_or_default()).into_owned()
            }
        };
        Ok(User { session, process, sent: None, has_waited: false, queue: VecDeque::new() })
    }

    fn begin_session(&self, session: &mut dyn Session, event: &LaidEvent) -> Result<(), Error> {
        let second = self.question.began_s + event.at_ns as f64 / 1e9;
        session.keep_rows(true);
        for sql in &self.question.opening {
            send(session, &sql.replace("{second}", &format!("{second:.6}")))?;
        }
        Ok(())
    }

    /// Sends a statement, and comes back once it is answered or waits for a lock.
    fn play(&mut self, number: usize, step: Step) -> Result<(), Error> {
        if self.begin(number, step)? && !self.await_answer(number)? {
            return self.note_wait(number);
        }
        let frees = !self.user(number)?.session.in_transaction();
        self.look_after_waiting(frees)
    }

    /// Sends a statement; false where it is answered at once.
    fn begin(&mut self, number: usize, step: Step) -> Result<bool, Error> {
        self.summary.statements += 1;
        let began_ns = now_ns();
        let quoting = self.quoting;
        let user = self.user(number)?;
        let reply = send_event(user.session.as_mut(), &step.event, quoting);
        user.sent = Some((step, began_ns));
        match reply {
            Ok(Reply::Pending { .. }) => Ok(true),
            other => self.note(number, other).map(|()| false),
        }
    }

    fn user(&mut self, number: usize) -> Result<&mut User, Error> {
        self.users.get_mut(&number).ok_or_else(|| Error::driver("a session was not opened"))
    }

    /// What a session has answered, at the latest at a time; none where it has not.
    fn poll_until(
        &mut self,
        number: usize,
        until_ns: u64,
    ) -> Result<Option<Result<Reply, Error>>, Error> {
        let session = &mut self.user(number)?.session;
        loop {
            match session.poll() {
                Ok(Reply::Pending { .. }) if now_ns() >= until_ns => return Ok(None),
                Ok(Reply::Pending { until_ns: soon_ns }) => {
                    wire::wait_in_turn(soon_ns.min(until_ns));
                }
                other => return Ok(Some(other)),
            }
        }
    }

    /// When a session's statement has taken as long as it may.
    fn find_limit(&mut self, number: usize) -> Result<u64, Error> {
        let limit_ns = (self.question.limit_s * 1e9) as u64;
        Ok(self.user(number)?.sent.as_ref().map_or(0, |(_, began_ns)| began_ns + limit_ns))
    }

    /// Waits for an answer; false where the server says that it waits for a lock. What takes too
    /// long is cancelled. The time until the server may be asked again is spent waiting for the
    /// answer: slept through, it would be counted as the statement's own.
    fn await_answer(&mut self, number: usize) -> Result<bool, Error> {
        let limit_ns = self.find_limit(number)?;
        loop {
            let asks_ns = (now_ns() + PATIENCE_NS).max(self.asked_ns + self.find_spacing());
            if let Some(reply) = self.poll_until(number, limit_ns.min(asks_ns))? {
                self.note(number, reply)?;
                return Ok(true);
            }
            if now_ns() > limit_ns {
                self.give_up(number)?;
                return Ok(true);
            }
            if self.waits_for_lock(number)? {
                return Ok(false);
            }
        }
    }

    /// Asks the server whether a session waits for a lock.
    fn waits_for_lock(&mut self, number: usize) -> Result<bool, Error> {
        if self.question.waits.is_empty() {
            return Ok(false);
        }
        let sql = self.question.waits.replace("{process}", &self.user(number)?.process);
        if self.monitor.is_none() {
            self.monitor = Some(sessions::open(&self.question.session)?);
        }
        let until_ns = self.asked_ns + self.find_spacing();
        while now_ns() < until_ns {
            wire::wait_in_turn(until_ns);
        }
        let Some(monitor) = self.monitor.as_mut() else { return Ok(false) };
        let found = send(monitor.as_mut(), &sql)?.found;
        self.asked_ns = now_ns();
        Ok(found > 0)
    }

    /// How long after a question the server answers the next one truly.
    fn find_spacing(&self) -> u64 {
        (self.question.spacing_s * 1e9) as u64
    }

    /// Those that wait for a lock: what has been answered is noted, and their sessions go on. Where
    /// locks may have been freed the server is asked who still waits.
    fn look_after_waiting(&mut self, frees: bool) -> Result<(), Error> {
        let mut at = 0;
        while at < self.waiting.len() {
            let number = self.waiting[at];
            let until_ns = if frees { now_ns() + FREED_NS } else { 0 };
            let went_on = match self.poll_until(number, until_ns)? {
                Some(reply) => self.note(number, reply).map(|()| true)?,
                None => frees && !self.waits_for_lock(number)? && self.await_answer(number)?,
            };
            if went_on {
                self.waiting.remove(at);
                self.go_on(number)?;
                // what it did may have freed others
                at = 0;
            } else {
                at += 1;
            }
        }
        Ok(())
    }

    /// Plays what a session has queued behind a statement that is answered now.
    fn go_on(&mut self, number: usize) -> Result<(), Error> {
        while let Some(step) = self.user(number)?.queue.pop_front() {
            self.queued -= 1;
            if step.event.text == END {
                self.users.remove(&number);
                return Ok(());
            }
            if self.begin(number, step)? && !self.await_answer(number)? {
                return self.note_wait(number);
            }
        }
        Ok(())
    }

    /// A session waits for a lock from now on.
    fn note_wait(&mut self, number: usize) -> Result<(), Error> {
        self.user(number)?.has_waited = true;
        self.summary.waited += 1;
        self.waiting.push(number);
        Ok(())
    }

    /// Nobody who could end the oldest wait goes on: it is waited for, and given up in the end.
    fn end_oldest_wait(&mut self) -> Result<(), Error> {
        let Some(number) = self.waiting.first().copied() else { return Ok(()) };
        let limit_ns = self.find_limit(number)?;
        match self.poll_until(number, limit_ns)? {
            Some(reply) => self.note(number, reply)?,
            None => self.give_up(number)?,
        }
        self.waiting.remove(0);
        self.go_on(number)?;
        self.look_after_waiting(true)
    }

    /// Cancels a statement and notes that it has no answer.
    fn give_up(&mut self, number: usize) -> Result<(), Error> {
        self.summary.given_up += 1;
        let until_ns = now_ns() + CANCELLED_NS;
        let cut = format!("it was not answered within {} s", self.question.limit_s);
        let user = self.user(number)?;
        cancel_all(user.session.canceller().into_iter().collect());
        match self.poll_until(number, until_ns)? {
            Some(Err(error)) if !is_sound_after(&error) => self.replace(number)?,
            None => self.replace(number)?,
            _ => {}
        }
        self.write(number, now_ns(), Answer { cut, ..Answer::default() })
    }

    /// A new connection in the place of a lost one.
    fn replace(&mut self, number: usize) -> Result<(), Error> {
        self.summary.lost += 1;
        let mut user = self
            .users
            .remove(&number)
            .ok_or_else(|| Error::driver("a session was lost that was not opened"))?;
        if let Some((step, _)) = &user.sent {
            let fresh = self.open(&step.event)?;
            (user.session, user.process) = (fresh.session, fresh.process);
        }
        self.users.insert(number, user);
        Ok(())
    }

    /// Writes down what a statement was answered with.
    fn note(&mut self, number: usize, reply: Result<Reply, Error>) -> Result<(), Error> {
        let (type_name, answered_ns) = (self.type_name, now_ns());
        let user = self.user(number)?;
        let sql = user.sent.as_ref().map(|(step, _)| String::from_utf8_lossy(&step.event.text));
        let outcome = reply.map(|reply| match reply {
            Reply::Ready { rows, changed } => {
                Played { found: rows, changed, elapsed_ns: 0, scans: Vec::new() }
            }
            Reply::Pending { .. } => {
                Played { found: 0, changed: 0, elapsed_ns: 0, scans: Vec::new() }
            }
        });
        let told = tell(user.session.as_mut(), outcome, &sql.unwrap_or_default(), type_name);
        match told {
            Ok(answer) => self.write(number, answered_ns, answer),
            Err(error) if error.is_engine() => {
                // a server that is gone refuses the next one, too, and that ends the play
                self.replace(number)?;
                let cut = format!("the connection was lost: {error}");
                self.write(number, now_ns(), Answer { cut, ..Answer::default() })
            }
            Err(error) => Err(error),
        }
    }

    /// Writes an answer that came at a time; what it takes to read warnings and rows is ours.
    fn write(&mut self, number: usize, answered_ns: u64, mut answer: Answer) -> Result<(), Error> {
        let user = self.user(number)?;
        let has_waited = std::mem::take(&mut user.has_waited);
        let Some((step, began_ns)) = user.sent.take() else { return Ok(()) };
        let elapsed_ns = if has_waited { 0 } else { answered_ns - began_ns };
        answer.elapsed_ns = 0;
        let json = serde_json::to_string(&answer)
            .map_err(|cause| Error::driver("cannot write JSON").because(cause))?;
        writeln!(self.answers, "{}\t{elapsed_ns}\t{json}", step.place)
            .map_err(|error| unwritten(&error))
    }

    /// The log is over: what still waits is seen to its end.
    fn finish(mut self) -> Result<Summary, Error> {
        while !self.waiting.is_empty() {
            self.look_after_waiting(true)?;
            self.end_oldest_wait()?;
        }
        self.answers.flush().map_err(|error| unwritten(&error))?;
        Ok(self.summary)
    }
}

/// Does the connection go on after the error of a statement that was cancelled?
fn is_sound_after(error: &Error) -> bool {
    error.engine_code() != Some("lost") && error.state() != "08006" && error.is_engine()
}

#[cold]
fn unwritten(error: &std::io::Error) -> Error {
    Error::host("cannot write the answers").because(error)
}

/// Sends a statement as its session did: with its values beside it where the engine takes them so.
fn send_event(
    session: &mut dyn Session,
    event: &LaidEvent,
    quoting: Quoting,
) -> Result<Reply, Error> {
    if !event.has_values {
        session.query_bytes(&event.text)
    } else if quoting == Quoting::Postgres {
        session.execute_unnamed(&number_placeholders(&event.text), &event.values)
    } else {
        session.query_bytes(&spell_out(&event.text, &event.values, quoting))
    }
}
