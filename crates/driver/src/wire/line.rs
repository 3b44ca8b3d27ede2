//! One connection: bytes out, bytes in.

use std::time::Duration;

use super::{ATTENDED, Shared, connect, here};
use crate::clock::{SECOND_NS, now_ns};
use crate::error::Error;
use crate::login::{Login, Tls};

/// What connecting and each answer during the log-in may take.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A connection to a server, before and after its log-in.
pub struct Line {
    exchange: Shared,
    number: u32,
    out: Vec<u8>,
    inbox: Vec<u8>,
    consumed: usize,
}

impl Line {
    /// Connects to the host or socket; where nobody answers, an error of code `connect` names it.
    pub fn connect(login: &Login) -> Result<Self, Error> {
        let socket = connect::connect(login)?;
        let joined = here().and_then(|it| Ok((it.borrow_mut().add(socket)?, it.clone())));
        let (number, exchange) = joined
            .map_err(|cause| Error::host("cannot make the thread's event loop").because(cause))?;
        Ok(Self { exchange, number, out: Vec::new(), inbox: Vec::new(), consumed: 0 })
    }

    /// Starts TLS, once both sides have agreed to it in their own protocol's words.
    pub fn secure(&mut self, tls: &Tls, host: &str) -> Result<(), Error> {
        let _ = (tls, host);
        Err(Error::driver("TLS is under way"))
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
            self.exchange.borrow_mut().send(self.number, ATTENDED.get(), &mut self.out);
        }
        Ok(())
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
        let mut exchange = self.exchange.borrow_mut();
        exchange.receive(self.number, ATTENDED.get(), &mut self.inbox).map_err(|cause| match cause
            .kind()
        {
            std::io::ErrorKind::UnexpectedEof => lost("the server closed it"),
            _ => lost(cause),
        })
    }

    /// Sends, and waits here until bytes come (the log-in, preparing); not longer than 10 s.
    pub fn wait(&mut self) -> Result<(), Error> {
        self.send()?;
        let until_ns = now_ns() + PATIENCE.as_secs() * SECOND_NS;
        while !self.more()? {
            if now_ns() >= until_ns {
                return Err(lost("no answer within 10 s"));
            }
            self.exchange.borrow_mut().rest(until_ns);
        }
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.exchange.borrow_mut().remove(self.number);
    }
}

fn lost(cause: impl std::fmt::Display) -> Error {
    Error::engine("the connection is lost").because(cause).code("lost")
}
