//! The exchange over io_uring: one system call for all lines that are awaited.
//!
//! A send is a plain system call: it starts the server while we still serve others, and measured
//! no dearer than one through the ring, where it would need memory that outlives it. A receive is
//! queued, and leaves with the call that waits. Where a thread has one line only, and nothing else
//! to wait for, a plain receive waits: the kernel gets there by a shorter way.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};

use slab::Slab;

use super::exchange::Exchange;
use super::ring::Ring;
use super::ring_line::{LINES, RECEIVE, ROOM, RingLine};
use crate::schedule::clock::{NAP_NS, now_ns};

/// Lines of a thread under one ring.
pub struct Uring {
    ring: Ring,
    lines: Slab<RingLine>,
    /// The only line, awaited, its receive not queued.
    lone: Option<u32>,
    woken: Vec<u32>,
}

impl Uring {
    /// An empty one; an error where the kernel is too old for it (6.1) or forbids it.
    pub fn new() -> io::Result<Self> {
        Ok(Self { ring: Ring::new()?, lines: Slab::new(), lone: None, woken: Vec::new() })
    }

    /// Sees to it that the next rest receives what comes.
    fn receive_next(&mut self, line: u32) {
        if self.lines.len() == 1 {
            self.lone = Some(line);
        } else {
            self.ring.receive(line, &mut self.lines[line as usize]);
        }
    }

    /// Rests on the only line; false: the ring has to do it.
    fn wait_on_lone_line(&mut self, until_ns: u64) -> bool {
        let Some(line) = self.lone.take() else { return false };
        let is_one = self.lines.len() == 1;
        let ring_line = &mut self.lines[line as usize];
        let is_free = !ring_line.receives && !ring_line.waits && ring_line.stream.awaited;
        if until_ns != u64::MAX || !is_free || !is_one {
            self.ring.receive(line, ring_line);
            return false;
        }
        ring_line.receive_blocking();
        self.notify(line);
        self.lone = self.lines[line as usize].stream.awaited.then_some(line);
        true
    }

    /// Wakes who awaits a line, if there is news; hears of room for what is unsent.
    fn notify(&mut self, line: u32) {
        let ring_line = &mut self.lines[line as usize];
        if ring_line.stream.awaited && ring_line.has_news() {
            ring_line.stream.awaited = false;
            self.woken.push(ring_line.stream.slot);
        }
        ring_line.stream.waits_for_room = ring_line.stream.unsent() > 0;
        if ring_line.stream.waits_for_room {
            self.ring.await_room(line, ring_line);
        }
    }
}

impl Exchange for Uring {
    fn add(&mut self, socket: OwnedFd) -> io::Result<u32> {
        let nap = Some(Duration::from_nanos(NAP_NS));
        set_socket_timeout(&socket, Timeout::Recv, nap)?;
        Ok(self.lines.insert(RingLine::new(socket)) as u32)
    }

    /// The number is given again, and the buffer freed, only when no completion can come for it.
    fn remove(&mut self, line: u32) {
        for mark in [RECEIVE | u64::from(line), ROOM | u64::from(line)] {
            while self.lines[line as usize].is_under_way(mark) {
                self.ring.cancel(mark);
                self.wait(now_ns() + NAP_NS);
            }
        }
        self.lone = self.lone.filter(|it| *it != line);
        self.lines.remove(line as usize);
    }

    fn send(&mut self, line: u32, slot: u32, bytes: &mut Vec<u8>) {
        let ring_line = &mut self.lines[line as usize];
        ring_line.stream.send(bytes);
        (ring_line.stream.slot, ring_line.stream.awaited) = (slot, true);
        self.notify(line);
        if self.lines[line as usize].stream.awaited {
            self.receive_next(line);
        }
    }

    fn unsent(&self, line: u32) -> usize {
        self.lines[line as usize].stream.unsent()
    }

    fn receive(&mut self, line: u32, slot: u32, inbox: &mut Vec<u8>) -> io::Result<bool> {
        let ring_line = &mut self.lines[line as usize];
        if ring_line.take(inbox) {
            return Ok(true);
        }
        let came = !ring_line.receives && ring_line.stream.receive(inbox)?;
        (ring_line.stream.slot, ring_line.stream.awaited) = (slot, !came);
        if !came {
            self.receive_next(line);
        }
        Ok(came)
    }

    fn wait(&mut self, until_ns: u64) {
        if self.wait_on_lone_line(until_ns) {
            return;
        }
        self.ring.enter(until_ns);
        while let Some(done) = self.ring.next() {
            let line = (done.user_data() & LINES) as u32;
            match done.user_data() & !LINES {
                RECEIVE => self.lines[line as usize].receive_done(&done),
                ROOM => self.lines[line as usize].has_room(),
                _ => continue,
            }
            self.notify(line);
        }
    }

    fn woken(&mut self) -> &mut Vec<u32> {
        &mut self.woken
    }
}
