//! What was intended, done and skipped adds up, or is our own error.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::plan::phase::{Pace, Phase, Stop, Stream};
use crate::plan::{Plan, Script, Session};
use crate::play::scene::Scene;

fn plan() -> Plan {
    Plan {
        version: 1,
        seed: 1,
        session: Session::Null { delay_ns: 0 },
        script: Script { path: "x.lua".into(), options: BTreeMap::new() },
        commands: vec!["run".to_owned()],
        cpus: Vec::new(),
        progress_s: 0.0,
    }
}

fn phase(pace: Pace) -> Phase {
    let stream = Stream {
        name: "s".to_owned(),
        function: "event".to_owned(),
        connections: 1,
        pace,
        role: Default::default(),
        unit: "event".to_owned(),
        units_per_event: 1,
    };
    Phase {
        name: "p".to_owned(),
        streams: vec![stream],
        stop: Stop::Time { duration_s: 1.0 },
        warmup_s: 0.0,
        stationary: false,
        settle: false,
        primary: Vec::new(),
        expected_s: 0.0,
    }
}

fn summed(pace: Pace, done: u64, taken: u64) -> Result<Tally, Error> {
    let (plan, phase) = (plan(), phase(pace));
    let stage = Stage::new(Scene { plan: &plan, command: "run", phase: &phase })?;
    (0..taken).for_each(|_| _ = stage.queues[0].take());
    let mut sum = Sum::new(&stage.queues[0])?;
    sum.done = done;
    sum.begun = 7;
    sum.tally(Clock { start_ns: 50, warmup_ns: 0, stop_ns: 50 + 1_000_000_000 }, 1)
}

#[test]
fn arrivals_that_nobody_took_are_skipped() {
    let tally = summed(Pace::Uniform { rate_per_s: 100.0 }, 60, 60).unwrap();
    assert_eq!((tally.intended, tally.done, tally.skipped), (100, 60, 40));
}

#[test]
fn an_event_that_got_lost_is_our_own_error() {
    let paced = summed(Pace::Uniform { rate_per_s: 100.0 }, 59, 60);
    assert_eq!(paced.unwrap_err().failure(None).blame, "driver");
    assert!(summed(Pace::Closed, 7, 0).is_ok());
    assert!(summed(Pace::Closed, 6, 0).is_err());
}
