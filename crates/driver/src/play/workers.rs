//! The workers of a phase: their threads, started together and joined.
//!
//! ```text
//! worker  loads users ── Ready ──▶ · ◀── start_ns ── plays ── Finished ──▶ · ◀── hang up ── closes
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use rustix::thread::{CpuSet, sched_setaffinity};

use super::client::ThreadTimes;
use super::phase_state::{PhaseState, UserPlace};
use super::worker::{Worker, WorkerReport};
use crate::plan::{self, error::Error};
use crate::schedule::clock::sharpen_sleep;
use crate::sessions::{self, Engine};
use crate::tally::live::LiveWorker;

/// All threads of a phase. Dropping it lets the workers close.
pub struct WorkerPool<'s, 'a> {
    threads: Vec<WorkerThread<'s, 'a>>,
    messages: Receiver<Message>,
}

struct WorkerThread<'s, 'a> {
    start_ns: Sender<u64>,
    thread: ScopedJoinHandle<'s, Option<WorkerReport<'a>>>,
}

/// What a worker tells its pool.
enum Message {
    Ready(Result<(), Error>),
    Finished,
    Panicked,
}

/// A worker's side of the pool, and its core.
struct PoolLink {
    messages: Sender<Message>,
    start_ns: Receiver<u64>,
    cpu: Option<usize>,
}

impl<'s, 'a: 's> WorkerPool<'s, 'a> {
    /// Starts one thread per group of users; they load their users at once.
    pub fn spawn<'e>(
        scope: &'s Scope<'s, 'e>,
        phase: &'a PhaseState<'a>,
        live: &'a [LiveWorker],
    ) -> Result<Self, Error>
    where
        'a: 'e,
    {
        let cpus = &phase.phase_ref.plan.cpus;
        let (sender, messages) = channel();
        let mut threads = Vec::new();
        for (number, (places, live)) in groups(phase).into_iter().zip(live).enumerate() {
            let (start, start_ns) = channel();
            let cpu = (!cpus.is_empty()).then(|| cpus[number % cpus.len()]);
            let link = PoolLink { messages: sender.clone(), start_ns, cpu };
            let thread = Builder::new()
                .name(format!("worker-{number}"))
                .spawn_scoped(scope, move || {
                    // Caught here, since a scope whose thread panicked panics itself.
                    let worked = catch_unwind(AssertUnwindSafe(|| {
                        work(phase, &places, live, &link) //
                    }));
                    worked.unwrap_or_else(|_| {
                        // The monitor must not wait for a message of this worker's.
                        let _ = link.messages.send(Message::Panicked);
                        None
                    })
                })
                .map_err(|cause| Error::host("cannot start a worker thread").because(cause))?;
            threads.push(WorkerThread { start_ns: start, thread });
        }
        Ok(Self { threads, messages })
    }

    /// How many threads.
    pub fn size(&self) -> usize {
        self.threads.len()
    }

    /// Waits for one worker's message, not longer than asked; true if there was one.
    pub fn wait_for_message(&self, at_most: Duration) -> Result<bool, Error> {
        match self.messages.recv_timeout(at_most) {
            Ok(Message::Ready(Err(error))) => Err(error),
            Ok(Message::Panicked) => Err(panicked()),
            Ok(_) => Ok(true),
            Err(RecvTimeoutError::Timeout) => Ok(false),
            Err(RecvTimeoutError::Disconnected) => Err(panicked()),
        }
    }

    /// Tells all workers when to begin.
    pub fn start(&self, start_ns: u64) {
        for worker in &self.threads {
            // A worker that is gone is noticed when its message is missed.
            let _ = worker.start_ns.send(start_ns);
        }
    }

    /// Lets all workers close and collects what they counted.
    pub fn join(self) -> Result<Vec<WorkerReport<'a>>, Error> {
        let (senders, threads): (Vec<_>, Vec<_>) =
            self.threads.into_iter().map(|worker| (worker.start_ns, worker.thread)).unzip();
        drop(senders);
        let joined = threads.into_iter().map(|thread| thread.join().ok().flatten());
        joined.map(|report| report.ok_or_else(panicked)).collect()
    }
}

fn panicked() -> Error {
    Error::driver("a worker thread panicked").hint("the driver's log has its message")
}

fn work<'a>(
    phase: &'a PhaseState<'a>,
    places: &[UserPlace],
    live: &'a LiveWorker,
    link: &PoolLink,
) -> Option<WorkerReport<'a>> {
    let users: u32 = phase.streams.iter().map(|stream| stream.own_users).sum();
    let phase_ref = &phase.phase_ref;
    // an instrument that counts looks a library up in the process's own table of files, and threads
    // of a user's own engine may live from one phase to the next
    let is_shared = phase_ref.before.is_connected
        || phase_ref.plan.excerpt.is_some()
        || matches!(phase_ref.plan.session, plan::Session::Plugin { .. });
    let loaded = prepare_thread(link.cpu, users == 1 && !is_shared)
        .and_then(|()| Worker::load(phase, places, live));
    let mut worker = match loaded {
        Ok(worker) => worker,
        Err(error) => {
            link.messages.send(Message::Ready(Err(error))).ok()?;
            return None;
        }
    };
    link.messages.send(Message::Ready(Ok(()))).ok()?;
    let start_ns = link.start_ns.recv().ok()?;
    let thread = ThreadTimes::read();
    worker.play(start_ns);
    let spent = thread.since();
    link.messages.send(Message::Finished).ok()?;
    // Hanging up means: usage has been read, closing is no longer measured.
    let _ = link.start_ns.recv();
    Some(WorkerReport { spent, ..worker.close() })
}

/// Which users share a thread: each has its own where the engine works inside the call, else they
/// are dealt over one thread per core of the plan.
pub fn groups(phase: &PhaseState) -> Vec<Vec<UserPlace>> {
    let streams = phase.streams.iter().enumerate();
    let client = phase.phase_ref.client();
    let places = streams
        .flat_map(|(stream, state)| {
            (0..state.declared.connections).map(move |number| UserPlace { stream, number })
        })
        .zip(0u32..)
        .filter(|(_, user)| client.is_none_or(|client| client.plays(*user)));
    let places: Vec<UserPlace> = places.map(|(place, _)| place).collect();
    let plan = phase.phase_ref.plan;
    let is_embedded = sessions::descriptor(&plan.session).engine == Engine::Embedded;
    let threads = if is_embedded { places.len() } else { plan.cpus.len().max(plan.threads) };
    let mut groups = vec![Vec::new(); threads.clamp(1, places.len())];
    let count = groups.len();
    for (number, place) in places.into_iter().enumerate() {
        groups[number % count].push(place);
    }
    groups
}

/// Gives the calling thread a sharp sleep, its own table of files and its core.
///
/// A lone worker takes its table of open files for itself: a table that threads share costs every
/// call on a file a reference count, which a program of one thread, where embedded engines live,
/// does not pay (docs/evidence/code-choices.md). Not for two: POSIX locks belong to the table.
fn prepare_thread(cpu: Option<usize>, is_alone: bool) -> Result<(), Error> {
    sharpen_sleep();
    if is_alone {
        // Where it is refused, files stay shared, as they were.
        let _ = nix::sched::unshare(nix::sched::CloneFlags::CLONE_FILES);
    }
    cpu.map_or(Ok(()), pin_thread)
}

/// Holds the calling thread to one core.
pub fn pin_thread(cpu: usize) -> Result<(), Error> {
    let refused =
        |cause: String| Error::host(format!("cannot pin a thread to cpu {cpu}")).because(cause);
    if cpu >= CpuSet::MAX_CPU {
        return Err(refused(format!("the kernel supports {} at most", CpuSet::MAX_CPU)));
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|cause| refused(cause.to_string()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::plan::PhaseRef;
    use crate::script;
    use crate::testing::Folder;

    #[test]
    fn a_workers_panic_is_an_error_of_the_drivers() {
        let folder = Folder::new();
        let plan = folder.plan("function event() end");
        let (phases, _) = script::phases(&plan, "run").unwrap();
        let before = Default::default();
        let phase_ref = PhaseRef { plan: &plan, command: "run", phase: &phases[0], before };
        let phase = PhaseState::new(phase_ref).unwrap();
        // No counts for the phase's one stream: the worker looks for them in vain, and panics.
        let live = [LiveWorker { streams: Vec::new(), report: None }];
        let error = std::thread::scope(|scope| {
            let pool = WorkerPool::spawn(scope, &phase, &live)?;
            let waited = pool.wait_for_message(Duration::from_secs(60)).map(drop);
            pool.join().map(drop).and(waited)
        });
        assert_eq!(error.unwrap_err().failure(None).blame, "driver");
    }
}
