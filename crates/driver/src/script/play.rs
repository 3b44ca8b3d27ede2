//! Declared events at play: from one statement to the next as answers come.

use super::connection::open;
use super::shared::{Sent, Shared};
use crate::plan::error::Error;

impl Shared {
    /// Plays a declared event from its beginning to its end, or to where it must wait. One that
    /// has just failed without a script's knowing fails once more instead.
    pub fn play(&mut self, program: usize) -> Sent {
        if self.broken_off.is_some() {
            return Sent::Failed;
        }
        self.playing = Some(program);
        self.go_on()
    }

    /// Takes an answer. Where it belongs to a declared event, plays on.
    #[inline]
    pub fn play_on(&mut self, answer: Sent) -> Sent {
        match (self.playing, &answer) {
            (None, _) | (_, Sent::Pending) => answer,
            (_, Sent::Failed) => self.fail_event(),
            (Some(program), _) => {
                self.count_changed(program, &answer);
                self.go_on()
            }
        }
    }

    /// Forgets the event under way.
    pub fn break_off(&mut self) {
        if let Some(program) = self.playing.take() {
            self.programs[program].settle(false);
        }
    }

    fn go_on(&mut self) -> Sent {
        while let Some(program) = self.playing {
            match self.send_next(program) {
                None => {
                    self.playing = None;
                    self.programs[program].settle(true);
                }
                Some(Sent::Pending) => return Sent::Pending,
                Some(Sent::Failed) => return self.fail_event(),
                Some(answer) => self.count_changed(program, &answer),
            }
        }
        Sent::Changed(0)
    }

    #[inline]
    fn count_changed(&mut self, program: usize, answer: &Sent) {
        if let Sent::Changed(changed) = answer {
            self.programs[program].count(*changed);
        }
    }

    /// Sends the next statement; `None`: there is none.
    #[inline]
    fn send_next(&mut self, program: usize) -> Option<Sent> {
        let sending = self.programs.get_mut(program)?.next(&mut self.rand)?;
        self.counts.queries += 1;
        let Some(Some(statement)) = self.statements.get(sending.statement) else {
            self.fail(Error::user("a closed statement was executed"));
            return Some(Sent::Failed);
        };
        let connection = statement.connection;
        let reply = open(&mut self.connections, connection)
            .and_then(|it| statement.form.send(it.wanting(false), &sending.values));
        Some(self.sent(connection, reply))
    }

    #[cold]
    fn fail_event(&mut self) -> Sent {
        let program = self.playing.and_then(|program| self.programs.get(program));
        self.broken_off = program.and_then(|it| it.sent()).map(|it| it.statement);
        self.break_off();
        Sent::Failed
    }
}
