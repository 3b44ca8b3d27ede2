//! What asks the kernel about a thread's sockets: io_uring or epoll, alike for who uses them.

use std::io;
use std::os::fd::OwnedFd;

/// Sockets of one thread, and a way of asking the kernel about all of them at once.
pub trait Exchange {
    /// Takes a connected, blocking socket over; returns its number.
    fn add(&mut self, socket: OwnedFd) -> io::Result<u32>;

    /// Closes a socket. Nothing is read or written for it any more when this returns.
    fn remove(&mut self, line: u32);

    /// Takes bytes over, which leave at the next rest at the latest, and awaits an answer for a
    /// slot. Does not wait, and says nothing of a broken connection: what the server said before is
    /// still to be read.
    fn send(&mut self, line: u32, slot: u32, bytes: &mut Vec<u8>);

    /// Bytes taken over that have not left.
    fn unsent(&self, line: u32) -> usize;

    /// Appends what came; where nothing did, awaits it from now on for a slot and says `false`.
    /// The end of the stream is an `UnexpectedEof`.
    fn receive(&mut self, line: u32, slot: u32, inbox: &mut Vec<u8>) -> io::Result<bool>;

    /// Sleeps until something comes for an awaited line, or what a line could not send at once has
    /// left, at the latest until a time (0: does not sleep; `u64::MAX`: for a nap); notes for which
    /// slots.
    fn wait(&mut self, until_ns: u64);

    /// The slots noted and not yet handed over.
    fn woken(&mut self) -> &mut Vec<u32>;
}
