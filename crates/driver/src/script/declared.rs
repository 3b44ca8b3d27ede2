//! Declared events at play: from one statement to the next as answers come, also while the script's
//! coroutine waits.

use super::account::digest_values;
use super::connection::Connection;
use super::pacing::Wait;
use super::shared::{RequestState, Shared};
use crate::plan::error::Error;
use crate::schedule::clock::{NAP_NS, PATIENCE_NS, now_ns};
use crate::sessions::{self, Canceller};
use crate::wire;

impl Shared {
    /// Plays a declared event from its beginning to its end, or to where it must wait. One that
    /// has just failed without a script's knowing fails once more instead.
    pub fn run_declared(&mut self, program: usize) -> RequestState {
        if self.statements.failed.is_some() {
            return RequestState::Failed;
        }
        self.statements.playing = Some(program);
        self.written.begin(self.statements.programs[program].notes_several);
        let _engine = self.in_engine();
        self.send_statements()
    }

    /// Takes an answer. Where it belongs to a declared event, plays on.
    #[inline]
    pub fn continue_declared(&mut self, answer: RequestState) -> RequestState {
        match (self.statements.playing, &answer) {
            (None, _) | (_, RequestState::Pending) => answer,
            (_, RequestState::Failed) => self.fail_event(),
            (Some(program), _) => {
                self.count_changed(program, &answer);
                self.send_statements()
            }
        }
    }

    /// Forgets the event under way.
    pub fn abandon_declared(&mut self) {
        if let Some(program) = self.statements.playing.take() {
            self.statements.programs[program].finish(false);
            self.written.begin(false);
        }
    }

    fn send_statements(&mut self) -> RequestState {
        while let Some(program) = self.statements.playing {
            match self.send_next(program) {
                None => {
                    self.statements.playing = None;
                    self.statements.programs[program].finish(true);
                    self.written.begin(false);
                }
                Some(RequestState::Pending) => return RequestState::Pending,
                Some(RequestState::Failed) => return self.fail_event(),
                Some(answer) => self.count_changed(program, &answer),
            }
        }
        RequestState::Changed(0)
    }

    #[inline]
    fn count_changed(&mut self, program: usize, answer: &RequestState) {
        if let RequestState::Changed(changed) = answer {
            if *changed == 0 {
                self.written.take_back(self.statements.noted_before);
            }
            let expected = self.statements.programs[program].count(*changed);
            if let Some((statement, rows)) = expected
                && let Some(it) = self.statements.all.get(statement)
            {
                self.account.expect(it.number, rows);
            }
        }
    }

    /// Sends the next statement; `None`: there is none.
    #[inline]
    fn send_next(&mut self, program: usize) -> Option<RequestState> {
        let declared = self.statements.programs.get_mut(program)?.next(&mut self.rand)?;
        self.counts.queries += 1;
        let Some(statement) = self.statements.all.get(declared.statement) else {
            self.fail(Error::user("a closed statement was executed"));
            return Some(RequestState::Failed);
        };
        let connection = statement.connection;
        if self.account.wants_example(statement.number) {
            let execution = (&statement.form, declared.values.as_slice());
            self.account.keep_execution(statement.number, execution, self.connections.quoting);
        }
        self.account.send(statement.number, || digest_values(&declared.values));
        self.statements.noted_before = self.written.mark();
        declared.note_writes(&mut self.written);
        let reply = self
            .connections
            .at(connection)
            .and_then(|it| statement.form.send(it.keeping(false), &declared.values));
        Some(self.take_reply(connection, reply))
    }

    #[cold]
    fn fail_event(&mut self) -> RequestState {
        let program =
            self.statements.playing.and_then(|program| self.statements.programs.get(program));
        self.statements.failed = program.and_then(|it| it.last_statement()).map(|it| it.statement);
        self.abandon_declared();
        RequestState::Failed
    }
}

// Requests under way: polled for the coroutine, waited for, or given up.

impl Shared {
    /// Polls for the worker, without waking the coroutine; an answer is kept in `arrived`.
    pub fn poll_pending(&mut self) -> Option<u64> {
        let answer = match self.pacing.wait {
            Wait::Request { connection, .. } => {
                let answer = self.poll(connection);
                let answer = self.continue_declared(answer);
                self.continue_script(answer)
            }
            Wait::Sleep { until_ns } if now_ns() < until_ns && !self.pacing.is_given_up => {
                return Some(until_ns);
            }
            _ => {
                self.pacing.wait = Wait::Nothing;
                if !self.scripts.is_waiting() {
                    return None;
                }
                self.wake_script()
            }
        };
        match answer {
            RequestState::Pending => match self.pacing.wait {
                Wait::Request { until_ns, .. } | Wait::Sleep { until_ns } => Some(until_ns),
                _ => None,
            },
            answer => {
                self.answers.arrived = Some(answer);
                None
            }
        }
    }

    /// Gives all connections up: a request or a sleep under way is lost, and so is whatever is sent
    /// later. Programs under way are ended. What ends the requests at their servers is handed back.
    pub fn drop_connections(&mut self) -> Vec<Canceller> {
        self.pacing.is_given_up = true;
        self.end_programs();
        let open = self.connections.all.iter_mut().flatten();
        let cancellers = open.filter_map(|it| it.session().canceller()).collect();
        for connection in self.connections.all.iter_mut().flatten() {
            connection.count(&mut self.counts);
            self.counts.settled.lost += connection.take_unsettled();
            *connection = Connection::new(sessions::disconnected(), false);
        }
        cancellers
    }

    /// Waits for the request under way, outside the driver's coroutine: nobody else of the thread
    /// plays meanwhile, so that an answer which does not come soon is given up.
    pub fn drain(&mut self) {
        self.abandon_declared();
        self.scripts.abandon();
        let limit_ns = now_ns() + PATIENCE_NS;
        while let Wait::Request { connection, until_ns } = self.pacing.wait {
            if now_ns() > limit_ns {
                sessions::cancel_all(self.drop_connections());
            }
            wire::wait_in_turn(until_ns.min(now_ns() + NAP_NS));
            self.poll(connection);
        }
    }
}
