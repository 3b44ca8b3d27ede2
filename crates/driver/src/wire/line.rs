//! One socket: bytes out, bytes in.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::error::Error;
use crate::login::{Login, Tls};

/// What connecting and each answer during the log-in may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Read at once, at least.
const CHUNK: usize = 8 * 1024;

/// A connection to a server, before and after its log-in.
pub struct Line {
    socket: Box<dyn Socket>,
    out: Vec<u8>,
    inbox: Vec<u8>,
    consumed: usize,
}

trait Socket: Read + Write {
    fn set_waiting(&self, waits: bool) -> std::io::Result<()>;
}

impl Line {
    /// Connects to the host or socket; a `HostError` names it where nobody answers.
    pub fn connect(login: &Login) -> Result<Self, Error> {
        let socket: std::io::Result<Box<dyn Socket>> = match login.host.starts_with('/') {
            true => UnixStream::connect(&login.host).map(|it| Box::new(it) as _),
            false => {
                TcpStream::connect((login.host.as_str(), login.port)).map(|it| Box::new(it) as _)
            }
        };
        let socket = socket.and_then(|it| it.set_waiting(false).map(|()| it)).map_err(|cause| {
            Error::engine(format!("cannot connect to {}", login.host))
                .because(cause)
                .code("connect")
        })?;
        Ok(Self { socket, out: Vec::new(), inbox: Vec::new(), consumed: 0 })
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

    /// Hands over what was written; it leaves with the thread's next rest at the latest.
    pub fn send(&mut self) -> Result<(), Error> {
        while !self.out.is_empty() {
            match self.socket.write(&self.out) {
                Ok(0) => return Err(lost("the server closed the connection")),
                Ok(sent) => drop(self.out.drain(..sent)),
                Err(cause) if is_later(&cause) => std::thread::yield_now(),
                Err(cause) => return Err(lost(cause)),
            }
        }
        Ok(())
    }

    /// Written but not yet taken by the kernel: more than a little means, fill in no more now.
    pub fn unsent(&self) -> usize {
        self.out.len()
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
        let end = self.inbox.len();
        self.inbox.resize(end + CHUNK, 0);
        let read = self.socket.read(&mut self.inbox[end..]);
        self.inbox.truncate(end + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(lost("the server closed the connection")),
            Ok(_) => Ok(true),
            Err(cause) if is_later(&cause) => Ok(false),
            Err(cause) => Err(lost(cause)),
        }
    }

    /// Sends, and waits here until bytes come (the log-in, preparing); not longer than 10 s.
    pub fn wait(&mut self) -> Result<(), Error> {
        self.send()?;
        let began = std::time::Instant::now();
        while !self.more()? {
            if began.elapsed() > PATIENCE {
                return Err(lost("no answer within 10 s"));
            }
            std::thread::yield_now();
        }
        Ok(())
    }
}

impl Socket for UnixStream {
    fn set_waiting(&self, waits: bool) -> std::io::Result<()> {
        self.set_nonblocking(!waits)
    }
}

impl Socket for TcpStream {
    fn set_waiting(&self, waits: bool) -> std::io::Result<()> {
        self.set_nodelay(true)?;
        self.set_nonblocking(!waits)
    }
}

fn is_later(cause: &std::io::Error) -> bool {
    matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn lost(cause: impl std::fmt::Display) -> Error {
    Error::engine("the connection is lost").because(cause).code("lost")
}
