//! Watches that scripts come back. An endless loop would hold its thread for ever, and a loop that
//! LuaJIT has compiled hears no hook, so another thread looks, and ends the process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::plan::Plan;
use crate::plan::error::Error;
use crate::plan::event::Event;
use crate::plan::parent::emit;

/// The option that says how long a script may keep its thread; 0: for ever.
const OPTION: &str = "script_timeout";
const DEFAULT_S: f64 = 60.0;
/// Looks within the time allowed.
const LOOKS: u32 = 20;

/// Counted up when a script is given its thread and when it gives it back: odd between the two.
type Pulse = Arc<AtomicU64>;

static PULSES: Mutex<Vec<Pulse>> = Mutex::new(Vec::new());

thread_local! {
    static PULSE: Pulse = {
        let pulse = Pulse::default();
        PULSES.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&pulse));
        pulse
    };
}

/// As long as it lives, a script has this thread.
pub struct InScript(());

/// Says that a script is given this thread.
#[inline]
pub fn in_script() -> InScript {
    count();
    InScript(())
}

impl Drop for InScript {
    #[inline]
    fn drop(&mut self) {
        count();
    }
}

/// As long as it lives, an engine that works inside our calls has this thread, and no script.
pub struct InEngine {
    was_in_script: bool,
}

/// Says that an embedded engine is given this thread: what it does may take its time.
#[inline]
pub fn in_engine() -> InEngine {
    let was_in_script = PULSE.with(|pulse| pulse.load(Ordering::Relaxed) % 2 == 1);
    if was_in_script {
        count();
    }
    InEngine { was_in_script }
}

impl Drop for InEngine {
    #[inline]
    fn drop(&mut self) {
        if self.was_in_script {
            count();
        }
    }
}

#[inline]
fn count() {
    PULSE.with(|pulse| pulse.store(pulse.load(Ordering::Relaxed) + 1, Ordering::Relaxed));
}

/// Begins to watch. Looks are counted and not seconds: a process that stands still while others
/// have their turn does not come back, either.
pub fn begin(plan: &Plan) {
    let text = plan.script.options.get(OPTION);
    let limit_s = text.and_then(|it| it.parse().ok()).unwrap_or(DEFAULT_S);
    if limit_s > 0.0 {
        thread::spawn(move || watch(limit_s));
    }
}

fn watch(limit_s: f64) {
    let mut seen: Vec<(u64, u32)> = Vec::new();
    loop {
        thread::sleep(Duration::from_secs_f64(limit_s / f64::from(LOOKS)));
        let pulses = PULSES.lock().unwrap_or_else(PoisonError::into_inner);
        seen.resize(pulses.len(), (0, 0));
        for (pulse, (last, looks)) in pulses.iter().zip(&mut seen) {
            let now = pulse.load(Ordering::Relaxed);
            *looks = if now == *last && now % 2 == 1 { *looks + 1 } else { 0 };
            *last = now;
            if *looks >= LOOKS {
                end(limit_s);
            }
        }
    }
}

/// Says why, and ends the process: the thread that the script holds cannot be had back.
fn end(limit_s: f64) {
    let error =
        Error::user(format!("the script ran for {limit_s} s without waiting for an answer"))
            .hint(format!("look for an endless loop, or raise the option {OPTION} (0: no limit)"));
    // A parent that no longer reads has only the exit code left.
    let _ = emit(&Event::Error(error.failure(None)));
    std::process::exit(64);
}
