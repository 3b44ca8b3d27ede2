//! One connection to a server: bytes out, bytes in, TLS in between.

use std::io::ErrorKind;

use rustix::net::{SocketAddrAny, getpeername};

use super::connect::{self, PATIENCE};
use super::thread::{CURRENT_SLOT, Shared, thread_exchange};
use super::tls::TlsState;
use crate::plan::error::Error;
use crate::plan::{Login, Tls};
use crate::schedule::clock::{SECOND_NS, now_ns};

/// Bytes that were sent and that came, before and after TLS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
}

/// A connection to a server, before and after its log-in.
pub struct Line {
    /// Who answers there; none where it cannot be asked.
    pub peer: Option<SocketAddrAny>,
    exchange: Shared,
    number: u32,
    out: Vec<u8>,
    inbox: Vec<u8>,
    consumed: usize,
    tls_state: Option<Box<TlsState>>,
    sealed: Vec<u8>,
    bytes: Bytes,
}

impl Line {
    /// Connects to the host or socket; where nobody answers, an error of code `connect` names it.
    pub fn connect(login: &Login) -> Result<Self, Error> {
        let socket = connect::connect(login)?;
        let peer = getpeername(&socket).ok().flatten();
        let joined =
            thread_exchange().and_then(|it| Ok((it.borrow_mut().add(socket)?, it.clone())));
        let (number, exchange) = joined
            .map_err(|cause| Error::host("cannot make the thread's event loop").because(cause))?;
        Ok(Self {
            peer,
            exchange,
            number,
            out: Vec::new(),
            inbox: Vec::new(),
            consumed: 0,
            tls_state: None,
            sealed: Vec::new(),
            bytes: Bytes::default(),
        })
    }

    /// Where the next request is written; nothing leaves before [`Line::send`].
    pub fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Hands over what was written; it leaves with the thread's next rest at the latest, and from
    /// now on an answer is waited for. That the connection is gone is said by [`Line::more`], after
    /// the server's last words.
    pub fn send(&mut self) -> Result<(), Error> {
        if !self.out.is_empty() {
            self.bytes.sent += self.out.len() as u64;
            self.flush();
        }
        Ok(())
    }

    fn flush(&mut self) {
        let slot = CURRENT_SLOT.get();
        let Some(tls_state) = &mut self.tls_state else {
            return self.exchange.borrow_mut().send(self.number, slot, &mut self.out);
        };
        tls_state.seal(&mut self.out, &mut self.sealed);
        if !self.sealed.is_empty() {
            self.exchange.borrow_mut().send(self.number, slot, &mut self.sealed);
        }
    }

    /// Written but not yet taken by the kernel: more than a little means, fill in no more now. Who
    /// waits for an answer is also woken when all of it has left.
    pub fn unsent(&self) -> usize {
        self.out.len() + self.exchange.borrow().unsent(self.number)
    }

    /// The bytes that came and were not consumed.
    pub fn inbox(&self) -> &[u8] {
        &self.inbox[self.consumed..]
    }

    /// Takes bytes off the inbox's beginning.
    pub fn consume(&mut self, bytes: usize) {
        self.consumed += bytes;
        if self.consumed == self.inbox.len() {
            self.inbox.clear();
            self.consumed = 0;
        }
    }

    /// Have bytes come since the last call? If not, they are waited for from now on, and the thread
    /// may rest. An error of code `lost` means that the connection is gone.
    pub fn more(&mut self) -> Result<bool, Error> {
        if self.consumed > 0 {
            self.inbox.drain(..self.consumed);
            self.consumed = 0;
        }
        let before = self.inbox.len();
        let came = self.receive()?;
        self.bytes.received += (self.inbox.len() - before) as u64;
        Ok(came)
    }

    #[inline]
    fn receive(&mut self) -> Result<bool, Error> {
        let Some(tls_state) = &mut self.tls_state else {
            return received(&self.exchange, self.number, &mut self.inbox);
        };
        let mut came = false;
        while !came && received(&self.exchange, self.number, &mut tls_state.sealed)? {
            let is_handshaking = tls_state.is_handshaking();
            let opened = tls_state.open(&mut self.inbox);
            came = opened.map_err(|it| if is_handshaking { it } else { lost(it) })?;
        }
        if tls_state.wants_write() {
            self.flush();
        }
        Ok(came)
    }

    /// What went to and fro since the last call.
    pub fn take_bytes(&mut self) -> Bytes {
        std::mem::take(&mut self.bytes)
    }

    /// Sends, and waits here until bytes come (the log-in, preparing); not longer than 10 s.
    pub fn wait(&mut self) -> Result<(), Error> {
        self.send()?;
        let until_ns = deadline();
        while !self.more()? {
            self.wait_until(until_ns)?;
        }
        Ok(())
    }

    /// Rests for something on this line or another, or to no purpose.
    fn wait_until(&self, until_ns: u64) -> Result<(), Error> {
        if now_ns() >= until_ns {
            return Err(lost("no answer within 10 s"));
        }
        self.exchange.borrow_mut().wait(until_ns);
        Ok(())
    }
}

fn received(exchange: &Shared, line: u32, into: &mut Vec<u8>) -> Result<bool, Error> {
    let received = exchange.borrow_mut().receive(line, CURRENT_SLOT.get(), into);
    received.map_err(|cause| match cause.kind() {
        ErrorKind::UnexpectedEof => lost("the server closed it"),
        _ => lost(cause),
    })
}

fn deadline() -> u64 {
    now_ns() + PATIENCE.as_secs() * SECOND_NS
}

impl Drop for Line {
    fn drop(&mut self) {
        self.exchange.borrow_mut().remove(self.number);
    }
}

fn lost(cause: impl std::fmt::Display) -> Error {
    Error::engine("the connection is lost").because(cause).code("lost")
}

// The beginning of TLS on a connection.

impl Line {
    /// Starts TLS, once both sides have agreed to it in their own protocol's words.
    pub fn secure(&mut self, tls: &Tls, host: &str) -> Result<(), Error> {
        if !self.inbox().is_empty() {
            // Taken as said under TLS, it would be whoever stands between who said it.
            return Err(Error::engine("the server spoke before TLS began").code("tls"));
        }
        self.tls_state = Some(Box::new(TlsState::new(tls, host)?));
        let until_ns = deadline();
        self.flush();
        while self.is_handshaking() {
            let came = self.more();
            if came.is_err() {
                // TLS itself tells the server why.
                self.flush();
            }
            if !came? && self.is_handshaking() {
                self.wait_until(until_ns)?;
            }
        }
        Ok(())
    }

    /// What TLS binds a proof to (RFC 5929, `tls-server-end-point`): none without TLS, or where the
    /// server's certificate names no hash for it.
    pub fn server_end_point(&self) -> Option<Vec<u8>> {
        self.tls_state.as_ref()?.server_end_point()
    }

    fn is_handshaking(&self) -> bool {
        self.tls_state.as_ref().is_some_and(|it| it.is_handshaking())
    }
}
