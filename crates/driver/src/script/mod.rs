//! The script's side of a user: one Lua state, one long-lived coroutine in it, its sessions.

mod account;
mod answers;
mod api;
mod child_program;
mod connection;
mod declared;
mod describe;
mod errors;
mod inserts;
mod lua_state;
mod main_state;
mod pacing;
mod pgbench;
mod prelude;
mod program;
mod random;
mod recorded;
pub mod recording;
mod requests;
mod scripted;
mod setup;
mod shared;
mod statement;
#[cfg(test)]
mod tests;
mod watch;
mod written;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mlua::{Thread, Value};

use crate::plan::Plan;
use crate::plan::error::Error;
use crate::plan::event::Description;
use crate::plan::phase::{OWN_LOOP, Phase};
use crate::sessions::{Canceller, EngineCounts};
use crate::tally::{ScriptSums, UserCounts};
use account::EngineTime;
use lua_state::LuaState;
pub use main_state::MainState;
use pacing::Wait;
pub use pacing::{Ask, Ended};
use pgbench::Transaction;
pub use pgbench::write_rows;
use shared::RequestState;
pub use watch::begin as watch;

/// Which user of which stream a state is loaded for. Seeds of the script's random numbers hang on
/// all of it, so that no two streams and no two phases send the same requests.
#[derive(Debug, Clone, Copy)]
pub struct UserIdentity<'a> {
    /// The command that is played: `run`, `prepare`, …
    pub command: &'a str,
    /// The phase's name.
    pub phase: &'a str,
    /// The stream's name.
    pub stream: &'a str,
    /// The user's number within its stream, from 0: sysbench's `tid`.
    pub number: u32,
    /// Users of the stream: `sysbench.opt.threads`.
    pub users: u32,
    /// Turns that the stream's users have taken (`dyno.turn`); absent where nobody plays.
    pub turns: Option<&'a Arc<AtomicU64>>,
}

/// One user of a workload (a sysbench thread): a Lua state with the script loaded, and 0 … n
/// connections that the script opened.
pub struct User {
    state: LuaState,
    coroutine: Thread,
    command: String,
    functions: Vec<Function>,
    current: usize,
    /// When the last event of a streak may begin; 0: an event is played alone.
    streak_last_ns: u64,
    /// How what is under way is played.
    mode: Mode,
    /// An error that the script lets through ends the trial, as it ends sysbench.
    ends_at_errors: bool,
    transactions: Vec<String>,
}

/// A function of the script's that was played before.
struct Function {
    name: String,
    slot: Option<i64>,
    is_event: bool,
    mode: Mode,
}

/// How a function is played: by the script, or by us while Lua knows nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Its coroutine is resumed.
    InLua,
    /// It is an event that was declared.
    Declared {
        /// Its number among the user's programs.
        program: usize,
        /// Its transaction type, as `play` in lua/functions.lua numbers them.
        transaction: i64,
    },
    /// It is the next statement of a log.
    Recorded,
    /// It is a transaction of a pgbench script.
    Script,
}

/// SQLSTATE class of statements that fail however often they are sent: syntax, unknown names.
const NEVER_UNDERSTOOD: &str = "42";

/// Where a call into the script stands.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// The function returned. `transaction` indexes [`User::transaction_names`] (0: unnamed);
    /// `more` is false when it ended its stream, and then it counts as no event: by returning
    /// `false`, or in a script without phases (sysbench's own) by returning anything true.
    Done {
        /// Which transaction type the script named for this event.
        transaction: usize,
        /// The script has more to play.
        more: bool,
    },
    /// A request is under way: call [`User::advance`] again, at the latest at this time.
    Waiting {
        /// CLOCK_MONOTONIC ns; `u64::MAX`: unknown; 0: at once (the event begins anew), or
        /// [`User::give_up`] where the phase is over.
        until_ns: u64,
    },
    /// Its own loop asks: call [`User::answer`].
    Asked(Ask),
    /// The event ended in an error that stops this event only (an engine's error which the
    /// script let through and which may be counted); errors that stop the trial are `Err`.
    Failed(Error),
}

impl User {
    /// Loads the plan's script into a fresh state for one identity; calls nothing in it yet.
    pub fn load(plan: &Plan, identity: &UserIdentity) -> Result<Self, Error> {
        let state = LuaState::load(plan, identity).map_err(|error| error.on(identity.number))?;
        let user = Self::of(state, identity.command)?;
        Ok(Self { ends_at_errors: plan.is_line_of_sysbench(), ..user })
    }

    /// A user of a state that is loaded.
    fn of(state: LuaState, command: &str) -> Result<Self, Error> {
        let coroutine = state.coroutine()?;
        Ok(Self {
            state,
            coroutine,
            command: command.to_owned(),
            functions: Vec::new(),
            current: 0,
            streak_last_ns: 0,
            mode: Mode::InLua,
            ends_at_errors: false,
            transactions: vec![String::new()],
        })
    }

    /// Starts a global function of the script (`thread_init`, `event`, a command) in the
    /// coroutine. A function that does not exist is `Done` at once if it is optional
    /// (`thread_init`, `thread_done`), else an error with the nearest names.
    pub fn begin(&mut self, function: &str) -> Result<Step, Error> {
        if self.functions.get(self.current).is_none_or(|it| it.name != function) {
            self.current = self.find(function)?;
        }
        let Function { slot, is_event, mode, .. } = self.functions[self.current];
        if is_event {
            self.state.shared.borrow_mut().account.begin_event();
        }
        self.mode = mode;
        match mode {
            Mode::Recorded => {
                let sent = self.state.shared.borrow_mut().run_recorded();
                self.after_recorded(sent)
            }
            Mode::Script => {
                let played = self.state.shared.borrow_mut().play_transaction();
                self.after_script(played)
            }
            Mode::Declared { program, transaction } => {
                let sent = self.state.shared.borrow_mut().run_declared(program);
                self.after_declared(sent, transaction)
            }
            Mode::InLua => match slot {
                Some(slot) => {
                    let last_ns = if is_event { self.streak_last_ns } else { 0 };
                    self.resume((slot, is_event, last_ns))
                }
                None => Ok(Step::Done { transaction: 0, more: true }),
            },
        }
    }

    /// Says when the event that begins next was due, by the phase's clock: ns.
    pub fn set_due_ns(&mut self, due_ns: u64) {
        self.state.shared.borrow_mut().pacing.due_ns = due_ns;
    }

    /// Lets the script have its user rest (`dyno.rest`) from now on, or says why it may not.
    pub fn allow_rests(&mut self, refusal: Option<String>) {
        self.state.shared.borrow_mut().pacing.no_rest = refusal;
    }

    /// How long the script wants its user to rest now that its event, or `thread_init`, has ended:
    /// ns. To be taken once.
    #[inline]
    pub fn take_rest_ns(&mut self) -> u64 {
        std::mem::take(&mut self.state.shared.borrow_mut().pacing.rest_ns)
    }

    /// Lets the events that begin next be followed, where they wait for nothing, by others that
    /// begin until then: CLOCK_MONOTONIC ns, 0: none. [`User::next_ended`] tells of them.
    pub fn set_streak_last_ns(&mut self, last_ns: u64) {
        self.streak_last_ns = last_ns;
    }

    /// Of a streak, the next event that ended well before the one that a [`Step`] told of. Each
    /// began as the one before it ended.
    #[inline]
    pub fn next_ended(&mut self) -> Option<Ended> {
        let ended = self.state.shared.borrow_mut().pacing.ended.pop()?;
        self.learn_transactions(ended.transaction);
        Some(ended)
    }

    /// Builds what the script declares of a function that will be begun, so that the first event
    /// finds it made.
    pub fn prepare_function(&mut self, function: &str) -> Result<(), Error> {
        self.find(function).map(drop)
    }

    /// Polls the session that the coroutine waits for, and resumes it when the answer is there.
    pub fn advance(&mut self) -> Result<Step, Error> {
        if let Some(until_ns) = self.state.poll_pending() {
            return Ok(Step::Waiting { until_ns });
        }
        match self.mode {
            Mode::Recorded => {
                let sent = self.state.shared.borrow_mut().answers.arrived.take();
                self.after_recorded(sent.unwrap_or(RequestState::Failed))
            }
            Mode::Script => {
                let mut shared = self.state.shared.borrow_mut();
                let played = shared.take_played();
                let transaction = shared.end_transaction(played);
                drop(shared);
                self.after_script(transaction)
            }
            Mode::Declared { transaction, .. } => {
                let sent = self.state.shared.borrow_mut().answers.arrived.take();
                self.after_declared(sent.unwrap_or(RequestState::Failed), transaction)
            }
            Mode::InLua => self.resume(self.state.take_answer()?),
        }
    }

    /// Goes on after [`Step::Asked`]; `more` is what [`Ask::More`] wants to know.
    pub fn answer(&mut self, more: bool) -> Result<Step, Error> {
        self.state.shared.borrow_mut().pacing.wait = Wait::Nothing;
        self.resume(more)
    }

    /// Ends an event that is about to begin anew ([`Step::Waiting`] with 0) as failed, because
    /// its phase is over. What the engine said was counted when it said it.
    pub fn give_up(&mut self) -> Result<Step, Error> {
        self.state.shared.borrow_mut().pacing.wait = Wait::Nothing;
        let step = self.resume(true);
        let stopped = self.state.shared.borrow().errors.stop.is_some();
        match step {
            Err(error) if !stopped => Ok(Step::Failed(error)),
            step => step,
        }
    }

    /// Connects anew, with all prepared statements; how many connections that was. To be called
    /// between two events.
    pub fn renew_connections(&mut self) -> Result<u64, Error> {
        self.state.shared.borrow_mut().renew_connections()
    }

    /// When the statements of the log that it plays are due, in ns from the phase's start; none
    /// where it plays no log. To be taken once, after `thread_init`.
    pub fn take_due(&mut self) -> Option<Vec<u64>> {
        let mut shared = self.state.shared.borrow_mut();
        shared.statements.recording.as_mut().map(|it| std::mem::take(&mut it.due_ns))
    }

    /// Gives its connections up: the request under way fails as `lost` with the next
    /// [`User::advance`], and so does every other. What ends the requests at their servers is for
    /// [`crate::sessions::cancel_all`].
    pub fn drop_connections(&mut self) -> Vec<Canceller> {
        self.state.shared.borrow_mut().drop_connections()
    }

    /// Transaction names seen so far, by index; 0 is the unnamed one.
    pub fn transaction_names(&self) -> &[String] {
        &self.transactions
    }

    /// When it kept its thread for long, by what cannot be waited for in turns with other users:
    /// from, to, by CLOCK_MONOTONIC.
    pub fn take_kept(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.state.shared.borrow_mut().kept)
    }

    /// Learns the transaction types that are known before it plays; true if more may come.
    pub fn prepare_transactions(&mut self) -> bool {
        self.transactions.clone_from(&self.state.shared.borrow().transactions);
        self.state.shared.borrow().expects_types
    }

    /// What was counted since the last call, for the tally.
    pub fn take_counts(&mut self) -> UserCounts {
        self.state.shared.borrow_mut().take_counts()
    }

    /// Shows what was counted since it was last taken, and whether a connection has been opened.
    pub fn show_counts(&self, show: impl FnOnce(&UserCounts, bool)) {
        let mut shared = self.state.shared.borrow_mut();
        shared.gather_counts();
        show(&shared.counts, !shared.connections.all.is_empty());
    }

    /// The script's own counters (`dyno.count`) of events that ended well, since loading.
    pub fn counters(&self) -> BTreeMap<String, u64> {
        self.state.counters()
    }

    /// Its counters, and what it wrote last under sampled keys; to be taken once, at its end.
    pub fn take_sums(&mut self) -> ScriptSums {
        let counters = self.counters();
        let mut shared = self.state.shared.borrow_mut();
        let examples = shared.account.take_examples(self.state.number);
        ScriptSums { counters, written: shared.written.take(), examples }
    }

    fn find(&mut self, name: &str) -> Result<usize, Error> {
        if let Some(at) = self.functions.iter().position(|it| it.name == name) {
            return Ok(at);
        }
        let is_command = name == self.command && name != "run";
        let slot = self.state.slot(name, is_command)?;
        let is_optional = matches!(name, "thread_init" | "thread_done" | "init" | "done");
        if slot.is_none() && !is_optional {
            return Err(self.state.no_function(name).on(self.state.number));
        }
        let is_event = !is_command && !is_optional && name != OWN_LOOP;
        let is_recorded = is_event && self.state.shared.borrow().statements.recording.is_some();
        let is_script = is_event && self.state.shared.borrow().scripts.is_direct();
        let mode = match is_recorded {
            true => Mode::Recorded,
            false if is_script => Mode::Script,
            false => self.state.declaration(slot)?.map_or(Mode::InLua, |(program, transaction)| {
                Mode::Declared { program, transaction }
            }),
        };
        self.functions.push(Function { name: name.to_owned(), slot, is_event, mode });
        Ok(self.functions.len() - 1)
    }

    /// Where a declared event stands. One that failed is handed to Lua, which throws the error as
    /// if it had played the event: so hooks, restarts and reports are those of every script.
    #[inline]
    fn after_declared(&mut self, sent: RequestState, transaction: i64) -> Result<Step, Error> {
        match sent {
            RequestState::Pending => {
                self.state.waits_until_ns().map(|until_ns| Step::Waiting { until_ns })
            }
            RequestState::Failed => {
                self.mode = Mode::InLua;
                let Function { slot, is_event, .. } = self.functions[self.current];
                self.resume((slot, is_event, 0))
            }
            _ => {
                self.mode = Mode::InLua;
                self.ended(transaction)
            }
        }
    }

    /// Where a transaction of a script stands. What only Lua can do, and what becomes of an error,
    /// is Lua's, as if it had played all of it.
    #[inline]
    fn after_script(&mut self, played: Transaction) -> Result<Step, Error> {
        match played {
            Transaction::Waiting => {
                self.state.waits_until_ns().map(|until_ns| Step::Waiting { until_ns })
            }
            Transaction::HandedOver => {
                self.mode = Mode::InLua;
                let Function { slot, is_event, .. } = self.functions[self.current];
                self.resume((slot, is_event, 0))
            }
            Transaction::Done(transaction) => {
                self.mode = Mode::InLua;
                self.ended(transaction)
            }
            Transaction::None => {
                self.mode = Mode::InLua;
                Ok(Step::Done { transaction: 0, more: false })
            }
        }
    }

    /// Where a statement of a log stands.
    #[inline]
    fn after_recorded(&mut self, sent: RequestState) -> Result<Step, Error> {
        match sent {
            RequestState::Pending => {
                self.state.waits_until_ns().map(|until_ns| Step::Waiting { until_ns })
            }
            RequestState::Failed => {
                self.mode = Mode::InLua;
                self.state.shared.borrow_mut().take_recorded_failure().map(Step::Failed)
            }
            _ => {
                self.mode = Mode::InLua;
                let kind = self
                    .state
                    .shared
                    .borrow()
                    .statements
                    .recording
                    .as_ref()
                    .map(|it| it.last_kind());
                self.ended(kind.unwrap_or_default())
            }
        }
    }

    fn resume(&mut self, arguments: impl mlua::IntoLuaMulti) -> Result<Step, Error> {
        let in_script = watch::in_script();
        let resumed = self.coroutine.resume::<Value>(arguments);
        drop(in_script);
        match resumed {
            Ok(Value::Integer(ended)) => self.ended(ended),
            Ok(_) => self.suspended(),
            Err(error) => Err(self.state.lua_error(&error)),
        }
    }

    fn suspended(&mut self) -> Result<Step, Error> {
        let wait = self.state.shared.borrow().pacing.wait;
        if let Wait::Answer(ask) = wait {
            if let Ask::Stop { transaction } = ask {
                self.learn_transactions(transaction);
                self.state.shared.borrow_mut().note_end();
            }
            return Ok(Step::Asked(ask));
        }
        self.state.waits_until_ns().map(|until_ns| Step::Waiting { until_ns })
    }

    fn learn_transactions(&mut self, transaction: usize) {
        if transaction >= self.transactions.len() {
            self.transactions.clone_from(&self.state.shared.borrow().transactions);
        }
    }

    /// What the engine took of the event that has ended, and of those before it in its streak;
    /// none where that was not measured. To be taken before [`User::next_ended`].
    #[inline]
    pub fn take_engine_time(&mut self) -> Option<EngineTime> {
        let mut shared = self.state.shared.borrow_mut();
        let before = shared.pacing.ended.len();
        shared.account.take_engine_time(before)
    }

    /// Rows that its connections changed and never committed; to be taken before they are closed.
    pub fn take_lost_rows(&mut self) -> u64 {
        self.state.shared.borrow_mut().take_lost_rows()
    }

    /// Adds what its connections' engine counted of its own work since the last call.
    pub fn count_work(&mut self, counts: &mut EngineCounts) {
        let mut shared = self.state.shared.borrow_mut();
        for connection in shared.connections.all.iter_mut().flatten() {
            connection.session().count_work(counts);
        }
    }

    /// Reads the number that `play` in lua/functions.lua hands out.
    fn ended(&mut self, ended: i64) -> Result<Step, Error> {
        let Ok(transaction) = usize::try_from(ended) else {
            return match ended {
                -1 => Ok(Step::Done { transaction: 0, more: false }),
                _ => self.failed(),
            };
        };
        self.learn_transactions(transaction);
        if self.functions[self.current].is_event {
            self.state.shared.borrow_mut().note_end();
        }
        Ok(Step::Done { transaction, more: true })
    }

    fn failed(&mut self) -> Result<Step, Error> {
        let error = self.state.reported_error();
        // A connection that cannot be made again is the engine's fault, too, but no event's end.
        let stopped = self.state.shared.borrow().errors.stop.is_some();
        let may_go_on = self.functions[self.current].is_event && !stopped && !self.ends_at_errors;
        match may_go_on && error.is_engine() && !error.state().starts_with(NEVER_UNDERSTOOD) {
            true => Ok(Step::Failed(error)),
            false => Err(error),
        }
    }
}

/// Loads the script without a session and says what it declares under the plan's options.
pub fn describe(plan: &Plan) -> Result<Description, Error> {
    describe::describe(plan)
}

/// The phases that a command plays: for `run` what `dyno.phases` declares, or one phase `run` from
/// the general options; for any other one phase of its name, whose single stream calls the
/// command's function once per user (all threads where the script says `PARALLEL_COMMAND`). With
/// the phases of `run` comes the state of `init`, `done` and report hooks, if the script has any.
pub fn phases(plan: &Plan, command: &str) -> Result<(Vec<Phase>, Option<MainState>), Error> {
    describe::phases(plan, command)
}
