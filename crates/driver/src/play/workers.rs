//! The workers of a phase, hired, started together and dismissed.
//!
//! ```text
//! worker  loads users ── Ready ──▶ · ◀── start_ns ── plays ── Finished ──▶ · ◀── hang up ── closes
//! ```

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use rustix::thread::{CpuSet, sched_setaffinity};

use super::phase_state::Stage;
use super::user_slot::Place;
use super::worker::{Report, Worker};
use crate::plan::error::Error;
use crate::schedule::clock::sharpen_sleep;
use crate::sessions;
use crate::tally::share::Window;

/// All threads of a phase. Dropping it sends the workers home.
pub struct Crew<'s, 'a> {
    hands: Vec<Hand<'s, 'a>>,
    news: Receiver<News>,
}

struct Hand<'s, 'a> {
    orders: Sender<u64>,
    thread: ScopedJoinHandle<'s, Option<Report<'a>>>,
}

enum News {
    Ready(Result<(), Error>),
    Finished,
    Lost,
}

/// A worker's end of the line, and its core.
struct Post {
    news: Sender<News>,
    orders: Receiver<u64>,
    cpu: Option<usize>,
}

impl<'s, 'a: 's> Crew<'s, 'a> {
    /// Starts one thread per group of places; they load their users at once.
    pub fn hire<'e>(
        scope: &'s Scope<'s, 'e>,
        stage: &'a Stage<'a>,
        windows: &'a [Vec<Window>],
    ) -> Result<Self, Error>
    where
        'a: 'e,
    {
        let cpus = &stage.scene.plan.cpus;
        let (sender, news) = channel();
        let mut hands = Vec::new();
        for (number, (places, windows)) in groups(stage).into_iter().zip(windows).enumerate() {
            let (order, orders) = channel();
            let cpu = (!cpus.is_empty()).then(|| cpus[number % cpus.len()]);
            let post = Post { news: sender.clone(), orders, cpu };
            let thread = Builder::new()
                .name(format!("worker-{number}"))
                .spawn_scoped(scope, move || work(stage, &places, windows, &post))
                .map_err(|cause| Error::host("cannot start a worker thread").because(cause))?;
            hands.push(Hand { orders: order, thread });
        }
        Ok(Self { hands, news })
    }

    /// How many.
    pub fn size(&self) -> usize {
        self.hands.len()
    }

    /// Waits for one worker's news, not longer than asked; true if there were any.
    pub fn hear(&self, patience: Duration) -> Result<bool, Error> {
        match self.news.recv_timeout(patience) {
            Ok(News::Ready(Err(error))) => Err(error),
            Ok(News::Lost) => Err(lost()),
            Ok(_) => Ok(true),
            Err(RecvTimeoutError::Timeout) => Ok(false),
            Err(RecvTimeoutError::Disconnected) => Err(lost()),
        }
    }

    /// Tells everybody when to begin.
    pub fn start(&self, start_ns: u64) {
        for hand in &self.hands {
            // A worker that is gone is noticed when its news are missed.
            let _ = hand.orders.send(start_ns);
        }
    }

    /// Lets everybody close and collects what they counted.
    pub fn dismiss(self) -> Result<Vec<Report<'a>>, Error> {
        let (orders, threads): (Vec<_>, Vec<_>) =
            self.hands.into_iter().map(|hand| (hand.orders, hand.thread)).unzip();
        drop(orders);
        threads.into_iter().map(|thread| thread.join().ok().flatten().ok_or_else(lost)).collect()
    }
}

impl Drop for Post {
    /// A panic must not leave the watch waiting for news.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.news.send(News::Lost);
        }
    }
}

fn lost() -> Error {
    Error::driver("a worker thread panicked").hint("its last words are in the driver's log")
}

fn work<'a>(
    stage: &'a Stage<'a>,
    places: &[Place],
    windows: &'a [Window],
    post: &Post,
) -> Option<Report<'a>> {
    let is_alone = stage.queues.iter().map(|side| side.stream.connections).sum::<u32>() == 1;
    let loaded =
        settle_down(post.cpu, is_alone).and_then(|()| Worker::load(stage, places, windows));
    let mut worker = match loaded {
        Ok(worker) => worker,
        Err(error) => {
            post.news.send(News::Ready(Err(error))).ok()?;
            return None;
        }
    };
    post.news.send(News::Ready(Ok(()))).ok()?;
    let start_ns = post.orders.recv().ok()?;
    worker.play(start_ns);
    post.news.send(News::Finished).ok()?;
    // Hanging up means: usage has been read, closing is no longer measured.
    let _ = post.orders.recv();
    Some(worker.close())
}

// Which users share a thread.

/// Who works together: each user alone where the engine works inside the call, else round-robin
/// over one thread per core of the plan.
pub fn groups(stage: &Stage) -> Vec<Vec<Place>> {
    let streams = stage.queues.iter().enumerate();
    let places: Vec<Place> = streams
        .flat_map(|(queue, side)| {
            (0..side.stream.connections).map(move |number| Place { queue, number })
        })
        .collect();
    let plan = stage.scene.plan;
    let threads = if sessions::embedded(&plan.session) { places.len() } else { plan.cpus.len() };
    let mut groups = vec![Vec::new(); threads.clamp(1, places.len())];
    let count = groups.len();
    for (number, place) in places.into_iter().enumerate() {
        groups[number % count].push(place);
    }
    groups
}

// What a worker's thread is given at first: a sharp sleep, its own table of files, its core.

/// Sets all of them up for the calling thread.
///
/// A lone worker takes its table of open files for itself: a table that threads share costs every
/// call on a file a reference count, which a program of one thread, where embedded engines live,
/// does not pay (3 % of a point select). Not for two: POSIX locks belong to the table.
pub fn settle_down(cpu: Option<usize>, is_alone: bool) -> Result<(), Error> {
    sharpen_sleep();
    if is_alone {
        // Where it is refused, files stay shared, as they were.
        let _ = nix::sched::unshare(nix::sched::CloneFlags::CLONE_FILES);
    }
    let Some(cpu) = cpu else { return Ok(()) };
    let refused =
        |cause: String| Error::host(format!("cannot pin a worker to cpu {cpu}")).because(cause);
    if cpu >= CpuSet::MAX_CPU {
        return Err(refused(format!("the kernel knows {} at most", CpuSet::MAX_CPU)));
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|cause| refused(cause.to_string()))
}
