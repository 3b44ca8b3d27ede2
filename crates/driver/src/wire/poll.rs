//! The exchange over epoll: for hosts that refuse io_uring.
//!
//! Edge-triggered, so that a line is registered once: a socket is tried only after an event said
//! that it is worth it, and until it has nothing more.

use std::io;
use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};

use slab::Slab;

use super::exchange::Exchange;
use super::stream::Stream;
use crate::schedule::clock::{NAP_NS, now_ns, timespec};

/// Events taken at once.
const EVENTS: usize = 256;

const MILLISECOND_NS: u64 = 1_000_000;

/// Lines of a thread under one epoll.
pub struct Poll {
    epoll: OwnedFd,
    lines: Slab<Stream>,
    events: Vec<Event>,
    woken: Vec<u32>,
}

impl Poll {
    /// An empty one.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let events = Vec::with_capacity(EVENTS);
        Ok(Self { epoll, lines: Slab::new(), events, woken: Vec::new() })
    }

    /// Fetches events. epoll counts in milliseconds: what is nearer is waited for by poll.
    fn fetch(&mut self, until_ns: u64) -> rustix::io::Result<()> {
        let wait_ns = match until_ns {
            0 => 0,
            u64::MAX => NAP_NS,
            until_ns => until_ns.saturating_sub(now_ns()),
        };
        let mut timeout = timespec(wait_ns - wait_ns % MILLISECOND_NS);
        if 0 < wait_ns && wait_ns < MILLISECOND_NS {
            poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timespec(wait_ns)))?;
            timeout = timespec(0);
        }
        self.events.clear();
        epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&timeout)).map(drop)
    }
}

/// What is always heard of. That a socket takes bytes again is heard of only where some wait:
/// otherwise the peer's every read would wake us.
const INTEREST: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);

impl Poll {
    /// Notes whom news of a line are for, and hears of room for what is unsent.
    fn notify(&mut self, line: u32) {
        let stream = &mut self.lines[line as usize];
        if stream.awaited && stream.has_news() {
            stream.awaited = false;
            self.woken.push(stream.slot);
        }
        let waits = stream.unsent() > 0;
        if waits != stream.waits_for_room {
            stream.waits_for_room = waits;
            let flags = if waits { INTEREST | EventFlags::OUT } else { INTEREST };
            let data = EventData::new_u64(line.into());
            // It cannot fail for a socket that was added.
            let _ = epoll::modify(&self.epoll, &stream.socket, data, flags);
        }
    }
}

impl Exchange for Poll {
    fn add(&mut self, socket: OwnedFd) -> io::Result<u32> {
        let line = self.lines.insert(Stream::new(socket)) as u32;
        let data = EventData::new_u64(line.into());
        let added = epoll::add(&self.epoll, &self.lines[line as usize].socket, data, INTEREST);
        added.inspect_err(|_| drop(self.lines.remove(line as usize)))?;
        Ok(line)
    }

    fn remove(&mut self, line: u32) {
        // Closing its only descriptor takes a socket out of epoll.
        self.lines.remove(line as usize);
    }

    fn send(&mut self, line: u32, slot: u32, bytes: &mut Vec<u8>) {
        let stream = &mut self.lines[line as usize];
        stream.send(bytes);
        (stream.slot, stream.awaited) = (slot, true);
        self.notify(line);
    }

    fn unsent(&self, line: u32) -> usize {
        self.lines[line as usize].unsent()
    }

    fn receive(&mut self, line: u32, slot: u32, inbox: &mut Vec<u8>) -> io::Result<bool> {
        let stream = &mut self.lines[line as usize];
        let came = stream.receive(inbox)?;
        (stream.slot, stream.awaited) = (slot, !came);
        Ok(came)
    }

    fn wait(&mut self, until_ns: u64) {
        if self.fetch(until_ns).is_err() {
            // A signal: whoever rests looks around and comes again.
            return;
        }
        for at in 0..self.events.len() {
            let Event { data, flags, .. } = self.events[at];
            let line = data.u64() as u32;
            if let Some(stream) = self.lines.get_mut(line as usize) {
                stream.on_event(flags);
                self.notify(line);
            }
        }
    }

    fn woken(&mut self) -> &mut Vec<u32> {
        &mut self.woken
    }
}
