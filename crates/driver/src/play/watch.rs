//! Watches a phase from outside: starts all together, says how it goes, and stops them.

use std::time::Duration;

use super::Audience;
use crate::plan::caller::{Wish, say};
use crate::plan::error::Error;
use crate::plan::event::{Event, Usage};
use crate::play::crew::Crew;
use crate::play::progress::Ticker;
use crate::play::scene::Scene;
use crate::play::stage::{NEVER, Stage};
use crate::play::stat::Reporter;
use crate::schedule::clock::{SECOND_NS, now_ns, ns, wait_until};
use crate::sessions;
use crate::tally::lane::Window;
use crate::tally::usage;

/// How often the watch looks for a SIGINT.
const GLANCE_NS: u64 = SECOND_NS / 20;

/// When a phase ran, and what that cost.
pub struct Times {
    pub start_ns: u64,
    pub finished_ns: u64,
    pub watched: Watched,
    pub usage: Usage,
}

/// What the watch saw.
#[derive(Default)]
pub struct Watched {
    /// A SIGINT ended the phase.
    pub interrupted: bool,
    /// A report hook's, which ended it.
    pub error: Option<Error>,
}

/// What is watched, and who hears of it.
pub struct Watch<'a> {
    pub scene: Scene<'a>,
    pub stage: &'a Stage<'a>,
    pub windows: &'a [Vec<Window>],
    pub audience: Audience<'a>,
}

impl Watch<'_> {
    /// Waits until all users are loaded, then for the caller.
    pub fn assemble(&self, crew: &Crew) -> Result<Wish, Error> {
        let mut missing = crew.size();
        while missing > 0 {
            if self.audience.caller.interrupted() {
                self.stage.stop(now_ns());
                return Ok(Wish::Stop);
            }
            missing -= usize::from(crew.hear(Duration::from_nanos(GLANCE_NS))?);
        }
        say(&Event::Ready { phase: self.scene.phase.name.clone(), monotonic_ns: now_ns() })?;
        self.audience.caller.wish()
    }

    /// From the common start to the last answer.
    pub fn play(&self, crew: &Crew) -> Result<Times, Error> {
        // Far enough away that every thread is awake and spins by then.
        let start_ns = now_ns() + 2_000_000 + 20_000 * crew.size() as u64;
        self.stage.start(start_ns);
        crew.start(start_ns);
        wait_until(start_ns);
        let before = usage::now()?;
        let followed = self.follow(crew, start_ns);
        if followed.is_err() {
            self.stage.stop(now_ns());
        }
        let watched = followed?;
        let usage = usage::now()?.since(&before);
        Ok(Times { start_ns, finished_ns: now_ns(), watched, usage })
    }

    /// Has the caller look at a server while its connections are open: some end a process or a
    /// thread with each of them, and the kernel forgets half of what it knew. Whatever the caller
    /// wishes, what was measured is said next.
    pub fn answered(&self) -> Result<(), Error> {
        if sessions::served(&self.scene.plan.session) {
            say(&Event::Answered { phase: self.scene.phase.name.clone() })?;
            self.audience.caller.wish()?;
        }
        Ok(())
    }

    /// Says how it goes until all workers have finished.
    fn follow(&self, crew: &Crew, start_ns: u64) -> Result<Watched, Error> {
        let every_ns = ns(self.scene.plan.progress_s);
        let mut ticker = Ticker::new(self.stage, self.windows, start_ns);
        let mut next_ns = if every_ns > 0 { start_ns + every_ns } else { NEVER };
        let mut reporter = self.audience.hooks.map(|it| Reporter::new(it, self.stage));
        let mut watched = Watched::default();
        let mut missing = crew.size();
        while missing > 0 {
            let now = now_ns();
            watched.interrupted |= self.audience.caller.interrupted();
            if watched.interrupted || watched.error.is_some() {
                self.stage.stop(now);
            }
            if now >= next_ns {
                let progress = ticker.tick(now);
                if let Some(Err(error)) = reporter.as_mut().map(|it| it.report(&progress)) {
                    (watched.error, reporter) = (Some(error), None);
                }
                say(&Event::Progress(progress))?;
                next_ns += every_ns * ((now - next_ns) / every_ns + 1);
            }
            let patience_ns = next_ns.saturating_sub(now).min(GLANCE_NS);
            missing -= usize::from(crew.hear(Duration::from_nanos(patience_ns))?);
        }
        Ok(watched)
    }
}
