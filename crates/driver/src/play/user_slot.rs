//! One user at work on a worker's thread: where it stands, and its calls outside measured time.

use super::phase_state::Stage;
use crate::plan::error::Error;
use crate::schedule::clock::{NAP_NS, PATIENCE_NS, now_ns};
use crate::script::{Seat, Step, User};
use crate::tally::count::Played;
use crate::tally::share::Lane;
use crate::wire;

/// A user's place in a phase: which stream, which number in it.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The stream's place in the phase.
    pub queue: usize,
    /// The user's number in the stream.
    pub number: u32,
}

/// One user at work.
pub struct Slot {
    /// Its side of the script.
    pub user: User,
    /// Its number in the stream.
    pub number: u32,
    /// The worker's lane for its stream.
    pub lane: usize,
    /// Where it stands.
    pub state: State,
    /// The warm-up is over for it.
    pub measured: bool,
    /// Its connections were given up, because an answer did not come.
    pub lost: bool,
    /// The user's transaction numbers as the lane's.
    pub kinds: Vec<usize>,
}

/// Where a user stands.
#[derive(Debug, Clone, Copy)]
pub enum State {
    /// Free since; takes an arrival next.
    Free { since_ns: u64 },
    /// Holds an arrival that is not due yet.
    Due { intended_ns: u64 },
    /// An event is under way.
    Busy { event: Played, until_ns: u64 },
    /// Nothing more to do.
    Over,
}

impl Slot {
    /// Loads the user, opens its connections, runs `thread_init`.
    pub fn load(stage: &Stage, place: Place, lane: usize) -> Result<Self, Error> {
        let scene = stage.scene;
        let stream = stage.queues[place.queue].stream;
        let mut user = User::load(
            scene.plan,
            &Seat {
                command: scene.command,
                phase: &scene.phase.name,
                stream: &stream.name,
                number: place.number,
                users: stream.connections,
                turns: Some(&stage.queues[place.queue].turns),
            },
        )?;
        if scene.is_load() {
            call(stage, &mut user, "thread_init")?;
            user.expect(&stream.function)?;
        }
        let (state, kinds) = (State::Over, Vec::new());
        Ok(Self { user, number: place.number, lane, state, measured: false, lost: false, kinds })
    }

    /// Finds the lane's numbers of all transaction types that the user has named so far.
    #[cold]
    pub fn learn_kinds(&mut self, lane: &mut Lane) -> Result<(), Error> {
        let names = self.user.transaction_names();
        let kinds = names.iter().map(|name| lane.tally.kind(name));
        self.kinds = kinds.collect::<Result<_, Error>>()?;
        Ok(())
    }
}

/// Calls a function outside the measured time and waits for its end; where the phase has ended, not
/// longer than its users.
pub fn call(stage: &Stage, user: &mut User, function: &str) -> Result<(), Error> {
    let began_ns = now_ns();
    let mut step = user.begin(function)?;
    loop {
        match step {
            Step::Done { .. } => return Ok(()),
            Step::Failed(error) => return Err(error),
            Step::Waiting { until_ns } => wire::nap(until_ns.min(now_ns() + NAP_NS)),
        }
        if now_ns() > stage.stop_ns().max(began_ns).saturating_add(PATIENCE_NS) {
            user.lose();
        }
        step = user.advance()?;
    }
}
