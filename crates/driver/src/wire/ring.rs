//! A ring of io_uring: what is asked of the kernel, and what it answers.
//!
//! The completions run in the call that waits and nowhere else (DEFER_TASKRUN), so nothing
//! interrupts the thread.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};

use super::ring_line::{CANCEL, RECEIVE, ROOM, RingLine, WAKE};
use crate::schedule::clock::{NAP_NS, SECOND_NS, now_ns};

/// Requests queued between two calls; more of them make a call earlier.
const REQUESTS: u32 = 256;

/// Completions between two calls; the kernel keeps more of them by itself.
const COMPLETIONS: u32 = 4096;

/// `IORING_RECVSEND_POLL_FIRST` of linux/io_uring.h, and `POLLOUT` of poll(2).
const POLL_FIRST: u16 = 1;
const POLLOUT: u32 = 4;

/// A wait without a deadline ends by this timer in the ring, which is armed once per beat; a
/// deadline of its own would cost every wait a timer of the kernel's.
static WAKE_INTERVAL: Timespec = Timespec::new().nsec(NAP_NS as u32);

/// One thread's ring.
pub struct Ring {
    ring: IoUring,
    beats: bool,
}

impl Ring {
    /// An empty one; an error where the kernel is too old for it (6.1) or forbids it.
    pub fn new() -> io::Result<Self> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_clamp()
            .setup_cqsize(COMPLETIONS)
            .build(REQUESTS)?;
        Ok(Self { ring, beats: false })
    }

    /// Queues a receive into a line's buffer, unless one is under way. Nothing can have come yet,
    /// so it polls first.
    pub fn receive(&mut self, line: u32, ring_line: &mut RingLine) {
        if ring_line.receives {
            return;
        }
        let (at, room) = ring_line.lend_buffer();
        let socket = Fd(ring_line.stream.socket.as_raw_fd());
        let request = opcode::Recv::new(socket, at, room).ioprio(POLL_FIRST).build();
        // SAFETY: a lent buffer is not looked at, and not freed even if its line is dropped.
        unsafe { self.queue(&request.user_data(RECEIVE | u64::from(line))) };
    }

    /// Queues hearing of room to send, unless that is under way.
    pub fn await_room(&mut self, line: u32, ring_line: &mut RingLine) {
        if !std::mem::replace(&mut ring_line.waits, true) {
            let socket = Fd(ring_line.stream.socket.as_raw_fd());
            let request = opcode::PollAdd::new(socket, POLLOUT).build();
            // SAFETY: it names no memory.
            unsafe { self.queue(&request.user_data(ROOM | u64::from(line))) };
        }
    }

    /// Queues the end of a request; its own completion still comes.
    pub fn cancel(&mut self, mark: u64) {
        let request = opcode::AsyncCancel::new(mark).build().user_data(CANCEL);
        // SAFETY: it names no memory.
        unsafe { self.queue(&request) };
    }

    /// Submits what is queued and waits for one completion until a time (0: does not wait;
    /// `u64::MAX`: for a nap).
    pub fn enter(&mut self, until_ns: u64) {
        // Errors are a signal, or that the time is over: who waits looks around and comes again.
        let _ = match until_ns {
            0 if self.is_quiet() => Ok(0),
            0 => self.ring.submit(),
            u64::MAX => {
                self.arm_wake();
                self.ring.submit_and_wait(1)
            }
            _ => {
                let wait_ns = until_ns.saturating_sub(now_ns());
                let nanos = (wait_ns % SECOND_NS) as u32;
                let wait = Timespec::new().sec(wait_ns / SECOND_NS).nsec(nanos);
                self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&wait))
            }
        };
    }

    /// Would a call neither submit nor complete anything?
    fn is_quiet(&mut self) -> bool {
        let requests = self.ring.submission();
        requests.is_empty() && !requests.taskrun() && !requests.cq_overflow()
    }

    /// The next completion that has come.
    pub fn next(&mut self) -> Option<cqueue::Entry> {
        let done = self.ring.completion().next()?;
        self.beats &= done.user_data() != WAKE;
        Some(done)
    }

    fn arm_wake(&mut self) {
        if !std::mem::replace(&mut self.beats, true) {
            let request = opcode::Timeout::new(&raw const WAKE_INTERVAL).build().user_data(WAKE);
            // SAFETY: a static's memory lives for ever.
            unsafe { self.queue(&request) };
        }
    }

    /// # Safety
    /// The memory that a request names lives, and is left alone, until its completion has come.
    unsafe fn queue(&mut self, request: &squeue::Entry) {
        // SAFETY: as promised by the caller.
        while unsafe { self.ring.submission().push(request) }.is_err() {
            // Full: an interrupted call took some of them all the same.
            let _ = self.ring.submit();
        }
    }
}
