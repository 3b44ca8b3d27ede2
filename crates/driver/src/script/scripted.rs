//! Scripts at play: from one command to the next as answers come, while the script's coroutine
//! waits or without it.

use super::pgbench::{Asked, Played, Problem, Scripts, Step, Transaction};
use super::shared::{RequestState, Shared};
use crate::plan::error::Error;

impl Played {
    /// As a request stands, towards Lua: the number of its function, 0 for none.
    pub fn state(self) -> RequestState {
        match self {
            Self::Over => RequestState::Changed(0),
            Self::Waiting => RequestState::Pending,
            Self::Failed => RequestState::Failed,
            Self::Lua(function) => RequestState::Changed(function),
        }
    }
}

impl Shared {
    /// Which script the next transaction plays, or the one goes on with that was handed over; none
    /// where its client plays no more.
    pub fn draw_script(&mut self) -> Option<usize> {
        let scripts = &mut self.scripts;
        if scripts.handed_over.is_some() {
            return Some(scripts.current);
        }
        if let Some(client) = &mut scripts.client
            && !client.begin(self.pacing.due_ns)
        {
            return None;
        }
        if !std::mem::take(&mut scripts.is_again) {
            scripts.draw();
        }
        Some(scripts.current)
    }

    /// Begins a transaction, and plays as much of it as can be.
    #[inline]
    pub fn play_transaction(&mut self) -> Transaction {
        match self.draw_script() {
            None => Transaction::None,
            Some(script) => {
                self.scripts.begin(script);
                let played = self.go_on_script();
                self.end_transaction(played)
            }
        }
    }

    /// What becomes of a transaction that was played so far without Lua.
    #[inline]
    pub fn end_transaction(&mut self, played: Played) -> Transaction {
        if played == Played::Waiting {
            return Transaction::Waiting;
        }
        let program = &self.scripts.programs[self.scripts.current];
        let (number, kind) = (program.number, program.kind);
        let looks = program.begins || self.scripts.client.is_some();
        if played != Played::Over || looks && self.in_transaction(self.scripts.connection) {
            self.scripts.handed_over = Some(played);
            return Transaction::HandedOver;
        }
        if let Some(client) = &mut self.scripts.client {
            client.end(number, 0, 1);
        }
        Transaction::Done(kind)
    }

    /// How a script that waited went on.
    pub fn take_played(&mut self) -> Played {
        match self.answers.arrived.take() {
            Some(RequestState::Changed(0)) => Played::Over,
            Some(RequestState::Changed(function)) => Played::Lua(function),
            _ => Played::Failed,
        }
    }

    /// Plays a script from its beginning on a connection, or goes on with what was handed over.
    pub fn play_script(&mut self, program: usize, connection: usize) -> Played {
        if let Some(played) = self.scripts.handed_over.take() {
            return played;
        }
        self.scripts.connection = connection;
        self.scripts.begin(program);
        self.go_on_script()
    }

    /// Takes an answer, and plays on where it belongs to a script.
    #[inline]
    pub fn continue_script(&mut self, answer: RequestState) -> RequestState {
        if !self.scripts.is_waiting || matches!(answer, RequestState::Pending) {
            return answer;
        }
        self.scripts.is_waiting = false;
        match answer {
            RequestState::Failed => answer,
            _ => match self.store_rows() {
                Ok(()) => self.go_on_script().state(),
                Err(problem) => self.fail_script(problem).state(),
            },
        }
    }

    /// A script's sleep is over, or was cut.
    pub fn wake_script(&mut self) -> RequestState {
        self.scripts.is_waiting = false;
        match self.pacing.is_given_up {
            true => self.fail_as_lost().state(),
            false => self.go_on_script().state(),
        }
    }

    /// Plays a script on.
    #[inline]
    pub fn go_on_script(&mut self) -> Played {
        loop {
            let sent = match self.scripts.advance() {
                Ok(Asked::Over) => return Played::Over,
                Ok(Asked::Lua(function)) => return Played::Lua(function),
                Ok(Asked::Send(statement)) => self.send_of_script(statement, false),
                Ok(Asked::Store(statement)) => self.send_of_script(statement, true),
                Ok(Asked::StartPipeline(step)) => self.start_pipeline(step),
                Ok(Asked::FlushPipeline) => {
                    let flushed = self.flush_batch(self.scripts.connection);
                    flushed.map_err(|error| self.stop_script(error)).map(RequestState::done)
                }
                Ok(Asked::EndPipeline) => Ok(self.sync(self.scripts.connection, false)),
                Ok(Asked::Sleep(seconds)) if self.sleep(seconds) => Ok(RequestState::Pending),
                Ok(Asked::Sleep(_)) => Err(self.fail_as_lost()),
                Err(problem) => Err(self.fail_script(problem)),
            };
            match sent {
                Err(played) => return played,
                Ok(RequestState::Pending) => {
                    self.scripts.is_waiting = true;
                    return Played::Waiting;
                }
                Ok(RequestState::Failed) => return Played::Failed,
                Ok(_) => {
                    if let Err(problem) = self.store_rows() {
                        return self.fail_script(problem);
                    }
                }
            }
        }
    }

    /// Sends a statement of the script's; one that is not prepared is Lua's to prepare first.
    #[inline]
    fn send_of_script(&mut self, number: usize, keeps: bool) -> Result<RequestState, Played> {
        let Scripts { statements, variables, client, connection, .. } = &mut self.scripts;
        let (statement, connection) = (&mut statements[number], *connection);
        if let Some(parametric) = &statement.parametric {
            let Some(made) = parametric.made else {
                let prepare = parametric.prepare;
                self.scripts.at -= 1;
                return Err(Played::Lua(prepare));
            };
            if let Some(client) = client {
                client.tell_sending(|| statement.marked());
            }
            if let Some(it) = self.statements.all.get_mut(made) {
                for (slot, place) in it.values_mut().iter_mut().zip(&statement.variables) {
                    variables.fill(*place, slot);
                }
            }
            self.answers.keeps_next = keeps;
            return Ok(self.execute(made));
        }
        let mut text = std::mem::take(&mut self.statements.text);
        text.clear();
        statement.put(variables, &mut text);
        if let Some(client) = client {
            client.tell_sending(|| text.trim_ascii().to_vec());
        }
        self.answers.keeps_next = keeps;
        let (sql, quoting) = (text.trim_ascii(), self.connections.quoting);
        let number = statement.number(variables, || self.account.number(sql, quoting));
        let sent = self.query_as(connection, sql, number);
        self.statements.text = text;
        Ok(sent)
    }

    /// A pipeline begins once all its statements are prepared.
    fn start_pipeline(&mut self, step: usize) -> Result<RequestState, Played> {
        let scripts = &mut self.scripts;
        let program = &scripts.programs[scripts.current];
        let Some(Step::StartPipeline(list)) = program.steps.get(step) else {
            return Ok(RequestState::done(()));
        };
        let unmade = list.iter().filter_map(|it| scripts.statements[*it].parametric.as_ref());
        if let Some(it) = unmade.rev().find(|it| it.made.is_none()) {
            scripts.at -= 1;
            return Err(Played::Lua(it.prepare));
        }
        let begun = self.begin_batch(self.scripts.connection);
        begun.map_err(|error| self.stop_script(error)).map(RequestState::done)
    }

    /// Stores the row of the answer, where the command that was answered wants it. The columns'
    /// variables are looked up once, unless the columns change.
    #[inline]
    fn store_rows(&mut self) -> Result<(), Problem> {
        let Scripts { programs, current, at, variables, statements, connection, .. } =
            &mut self.scripts;
        let Some(Step::Store(number, prefix, of_all)) = programs[*current].steps.get(*at - 1)
        else {
            return Ok(());
        };
        let brought = self.answers.rows_brought;
        let Some(Some(connection)) = self.connections.all.get(*connection) else { return Ok(()) };
        if *of_all {
            for (name, field) in connection.rows().last_rows(true).into_iter().flatten() {
                let place = variables.place_of_column(prefix, &name)?;
                variables.held[place].set(&field.unwrap_or_default());
            }
            return Ok(());
        } else if brought != 1 {
            return Err(format!("expected one row, got {brought}"));
        }
        let fields = connection.rows().fields();
        let (columns, places) = &mut statements[*number].stored;
        if columns != fields.columns {
            let names = fields.columns.to_vec();
            let found: Result<_, _> =
                names.iter().map(|it| variables.place_of_column(prefix, it)).collect();
            (*columns, *places) = (fields.columns.clone(), found?);
        }
        for (place, field) in places.iter().zip(fields.last().into_iter().flatten()) {
            variables.held[*place].set(field.unwrap_or_default());
        }
        Ok(())
    }

    #[cold]
    fn fail_script(&mut self, problem: Problem) -> Played {
        self.scripts.problem = Some(problem);
        Played::Failed
    }

    /// Ends the trial, whatever Lua does with it.
    #[cold]
    fn stop_script(&mut self, error: Error) -> Played {
        let problem = error.to_string();
        self.errors.stop.get_or_insert(error);
        self.fail_script(problem)
    }

    /// The phase was over before a sleep was.
    #[cold]
    fn fail_as_lost(&mut self) -> Played {
        let problem = self.fail_if_given_up().unwrap_or_default();
        self.errors.thrown.clone_from(&problem);
        self.fail_script(problem)
    }

    /// What was sent last, for an error's words.
    pub fn sent_of_script(&self) -> Vec<u8> {
        match self.scripts.last_statement() {
            Some(it) if it.parametric.is_some() => it.marked(),
            _ => self.statements.text.trim_ascii().to_vec(),
        }
    }
}
