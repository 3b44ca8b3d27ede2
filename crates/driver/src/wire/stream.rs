//! One socket, tried without waiting, and only when an event said that it is worth it.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

/// Read at once, at least; at most where the last read filled what it got.
const CHUNK: usize = 8 * 1024;
const CHUNK_MAX: usize = 256 * 1024;

/// A connected socket, and what did not leave at once.
pub struct Stream {
    /// The descriptor.
    pub socket: OwnedFd,
    /// For whom it is awaited.
    pub slot: u32,
    /// It is.
    pub awaited: bool,
    /// An event is awaited that says that the kernel takes more.
    pub waits_for_room: bool,
    /// A read is worth a try.
    readable: bool,
    /// The other side has ended: reads are worth a try for ever.
    ended: bool,
    outgoing: Vec<u8>,
    left: usize,
    failure: Option<Errno>,
}

impl Stream {
    /// Nothing sent, nothing known to have come.
    pub fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            slot: 0,
            awaited: false,
            waits_for_room: false,
            readable: false,
            ended: false,
            outgoing: Vec::new(),
            left: 0,
            failure: None,
        }
    }

    /// Takes bytes over and sends what the kernel takes.
    pub fn send(&mut self, bytes: &mut Vec<u8>) {
        if self.unsent() > 0 {
            self.outgoing.append(bytes);
            return;
        }
        self.outgoing.clear();
        self.left = 0;
        std::mem::swap(&mut self.outgoing, bytes);
        self.flush();
    }

    /// What the kernel has not taken.
    pub fn unsent(&self) -> usize {
        self.outgoing.len() - self.left
    }

    /// Appends what came; false: nothing did. A failure to send is told after the last byte read.
    pub fn receive(&mut self, inbox: &mut Vec<u8>) -> io::Result<bool> {
        if self.readable && self.read(inbox)? {
            return Ok(true);
        }
        match self.failure {
            Some(failure) => Err(failure.into()),
            None => Ok(false),
        }
    }

    /// Notes an event, and sends what waited for it.
    pub fn on_event(&mut self, flags: EventFlags) {
        let ended = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        self.ended |= flags.intersects(ended);
        self.readable |= self.ended || flags.contains(EventFlags::IN);
        if self.unsent() > 0 && flags.intersects(EventFlags::OUT | EventFlags::ERR) {
            self.flush();
        }
    }

    /// A read is worth a try.
    pub fn may_read(&mut self) {
        self.readable = true;
    }

    /// Is there anything for who awaits this line: bytes, an end, all sent that had to wait?
    pub fn has_news(&self) -> bool {
        self.readable || self.waits_for_room && self.unsent() == 0
    }

    /// Sends what the kernel takes.
    pub fn flush(&mut self) {
        while self.unsent() > 0 {
            let bytes = &self.outgoing[self.left..];
            match send(&self.socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => self.left += sent,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(failure) => {
                    self.failure = Some(failure);
                    self.readable = true;
                    self.left = self.outgoing.len();
                }
            }
        }
    }

    /// Reads once; false: there was nothing.
    fn read(&mut self, inbox: &mut Vec<u8>) -> io::Result<bool> {
        inbox.reserve(CHUNK);
        let room = inbox.capacity() - inbox.len();
        let read = loop {
            match recv(&self.socket, spare_capacity(inbox), RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok((read, _)) => break read,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.readable = false;
                    return Ok(false);
                }
                Err(cause) => return Err(cause.into()),
            }
        };
        // A read that leaves room has emptied the socket, and what comes later is an event.
        self.readable = self.ended || read == room;
        if read == room && room < CHUNK_MAX {
            inbox.reserve(2 * room);
        }
        Ok(true)
    }
}
