//! The exchange over io_uring: one system call for all lines that are awaited.
//!
//! A send is a plain system call: it starts the server while we still serve others, and measured
//! no dearer than one through the ring, where it would need memory that outlives it. A receive is
//! queued, and leaves with the call that waits, also where a thread has one line only: a plain
//! receive that waits on a Unix socket is woken twice, since the kernel's `unix_stream_data_wait`
//! also wakes when the server reads the request. Measured, that was a third more CPU of the client
//! and a sixth more of the server for each point select.

use std::io;
use std::os::fd::OwnedFd;

use slab::Slab;

use super::Exchange;
use super::ring::Ring;
use super::ring_line::{LINES, RECEIVE, ROOM, RingLine};
use crate::schedule::clock::{NAP_NS, now_ns};

/// Lines of a thread under one ring.
pub struct Uring {
    ring: Ring,
    lines: Slab<RingLine>,
    woken: Vec<u32>,
}

impl Uring {
    /// An empty one; an error where the kernel is too old for it (6.1) or forbids it.
    pub fn new() -> io::Result<Self> {
        Ok(Self { ring: Ring::new()?, lines: Slab::new(), woken: Vec::new() })
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
        self.lines.remove(line as usize);
    }

    fn send(&mut self, line: u32, slot: u32, bytes: &mut Vec<u8>) {
        let ring_line = &mut self.lines[line as usize];
        ring_line.stream.send(bytes);
        (ring_line.stream.slot, ring_line.stream.awaited) = (slot, true);
        self.notify(line);
        let ring_line = &mut self.lines[line as usize];
        if ring_line.stream.awaited {
            self.ring.receive(line, ring_line);
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
            self.ring.receive(line, ring_line);
        }
        Ok(came)
    }

    fn wait(&mut self, until_ns: u64) {
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
