//! The functions by which a script gives way: to a time, to a program, to whoever plays its loop.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use mlua::{BString, LuaString};

use super::{RawTable, stop};
use crate::plan::error::Error;
use crate::schedule::clock::{SECOND_NS, now_ns, ns};
use crate::script::child_program::ChildProgram;
use crate::script::pacing::{Ask, Ended, Wait};
use crate::script::shared::Shared;

impl RawTable<'_> {
    pub fn pauses(&self) -> mlua::Result<()> {
        self.add("sleep", |_, it, seconds: f64| Ok(it.sleep(seconds)))?;
        self.add("given_up", |_, it, ()| Ok(it.fail_if_given_up()))?;
        self.add("rest", |_, it, seconds: f64| Ok(it.rest(seconds)))?;
        self.add("nap", |_, it, seconds: f64| {
            it.pacing.wait = Wait::Nothing;
            std::thread::sleep(Duration::try_from_secs_f64(seconds).unwrap_or_default());
            Ok(())
        })?;
        self.add("ask", |_, it, (ask, transaction): (u8, usize)| {
            it.pacing.wait = Wait::Answer(match ask {
                1 => Ask::More,
                2 => Ask::Start,
                _ => Ask::Stop { transaction },
            });
            Ok(())
        })?;
        self.add("streak_ended", |_, it, written: LuaString| {
            it.note_ended(&written.as_bytes());
            Ok(())
        })?;
        self.add("due_ns", |_, it, ()| Ok(it.pacing.due_ns as f64))?;
        self.add("count_event", |_, it, kind: u32| Ok(it.count_by_script(kind)))?;
        self.children()
    }

    /// Programs get no stdin, which is the driver's own, and write to stderr. Each leads a process
    /// group, so that what it has started ends with it.
    fn children(&self) -> mlua::Result<()> {
        self.add("spawn", |_, it, (command, is_read): (LuaString, bool)| {
            let child = ChildProgram::start(&command.as_bytes(), is_read).map_err(|cause| {
                let command = command.to_string_lossy();
                stop(it, Error::host(format!("cannot start `{command}`")).because(cause))
            })?;
            Ok(it.children.insert(child))
        })?;
        self.add("ended", |_, it, child: usize| {
            let ended = it.children.get_mut(child).and_then(|it| it.has_ended().transpose());
            let status = ended.transpose().map_err(|cause| {
                stop(it, Error::host("cannot wait for a program").because(cause))
            })?;
            let ended = status.and_then(|_| it.children.try_remove(child));
            let said = ended.map(ChildProgram::said).transpose().map_err(|cause| {
                stop(it, Error::host("cannot read what a program said").because(cause))
            })?;
            Ok((status.map(ExitStatusExt::into_raw), said.map(BString::from)))
        })
    }
}

/// No rest is longer: three years.
const LONGEST_REST_S: f64 = 1e8;

impl Shared {
    /// Sleeps from now on; false: not at all, since its phase is over.
    pub fn sleep(&mut self, seconds: f64) -> bool {
        if !self.pacing.is_given_up {
            let asleep_ns = ns(seconds.max(0.0));
            self.counts.slept_ns = self.counts.slept_ns.saturating_add(asleep_ns);
            self.pacing.wait = Wait::Sleep { until_ns: now_ns().saturating_add(asleep_ns) };
        }
        !self.pacing.is_given_up
    }

    /// Fails a sleep that was cut, and says how.
    pub fn fail_if_given_up(&mut self) -> Option<String> {
        self.pacing.is_given_up.then(|| {
            let error = Error::engine("the phase was over before a sleep or a program had ended");
            let error = error.code("lost");
            let text = error.to_string();
            self.fail(error);
            text
        })
    }

    /// Ends the programs that the script has started, and all that these have.
    pub fn end_programs(&mut self) {
        for child in self.children.drain() {
            child.kill();
        }
    }

    /// Has the user rest once its event has ended; the last word holds. Why not, where it may not.
    fn rest(&mut self, seconds: f64) -> Option<String> {
        if self.pacing.no_rest.is_none() {
            self.pacing.rest_ns = ns(seconds.min(LONGEST_REST_S));
        }
        self.pacing.no_rest.clone()
    }

    /// Takes the events of a streak, as lua/functions.lua wrote them: for each the seconds and
    /// nanoseconds of its end, and its transaction type.
    fn note_ended(&mut self, written: &[u8]) {
        let (words, _) = written.as_chunks::<8>();
        let (events, _) = words.as_chunks::<3>();
        self.pacing.ended.extend(events.iter().rev().map(|event| {
            let [s, ns, transaction] = event.map(u64::from_ne_bytes);
            Ended { at_ns: s * SECOND_NS + ns, transaction: transaction as usize }
        }));
    }

    /// Counts what a script says it has done (`sb_counter_inc`, sysbench's `sb_counter_type`);
    /// false: of this kind it cannot say so.
    fn count_by_script(&mut self, kind: u32) -> bool {
        match kind {
            0..=2 => {
                self.counts.queries += 1;
                self.counts.reads += u64::from(kind == 1);
                self.counts.writes += u64::from(kind == 2);
            }
            4 => *self.counts.errors.entry(BY_SCRIPT.to_owned()).or_default() += 1,
            5 => self.counts.reconnected += 1,
            _ => return false,
        }
        true
    }
}

/// Under what errors stand that a script counted itself.
const BY_SCRIPT: &str = "script";
