//! The protocol against a scripted server, and against nonsense.
#![allow(clippy::unwrap_used)]

mod conversations;
mod logins;
mod requests;

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::{self, JoinHandle};

use crate::plan::error::Error;
use crate::plan::{Login, Tls, TlsMode};
use crate::schedule::clock::now_ns;
use crate::sessions::{Reply, Session};
use crate::testing::Folder;
use crate::wire;

// A server in a thread that says what a test has written down for it.

/// `AuthenticationOk` and an idle `ReadyForQuery`.
pub const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

pub const READY: &[u8] = b"Z\0\0\0\x05I";

/// One connection as the server has it.
pub struct Peer(pub UnixStream);

/// A server that plays one scene per connection, in order.
pub struct Server {
    pub login: Login,
    _folder: Folder,
    thread: Option<JoinHandle<()>>,
}

pub type Script = Box<dyn FnOnce(&mut Peer) + Send>;

impl Server {
    pub fn start(scenes: Vec<Script>) -> Self {
        let folder = Folder::new();
        let host = folder.path().join("socket");
        let listener = UnixListener::bind(&host).unwrap();
        let play = move || {
            for scene in scenes {
                scene(&mut Peer(listener.accept().unwrap().0));
            }
        };
        let login = Login {
            host: host.to_str().unwrap().to_owned(),
            port: 0,
            user: "ann".to_owned(),
            password: Some("secret".to_owned()),
            database: "books".to_owned(),
            tls: Tls { mode: TlsMode::Disable, ca: None },
            settings: Vec::new(),
            tells_notices: false,
            proof: Default::default(),
            reads_only: None,
        };
        Self { login, _folder: folder, thread: Some(thread::spawn(play)) }
    }

    /// Waits for the end of all scenes; what failed in one fails the test.
    pub fn end(mut self) {
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Peer {
    pub fn say(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    /// The start-up message's text.
    pub fn startup(&mut self) -> String {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).unwrap();
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        self.0.read_exact(&mut body).unwrap();
        String::from_utf8_lossy(&body).into_owned()
    }

    pub fn welcome(&mut self) {
        self.startup();
        self.say(WELCOME);
    }

    /// The next message: kind and body.
    pub fn hear(&mut self) -> (char, Vec<u8>) {
        let mut head = [0; 5];
        self.0.read_exact(&mut head).unwrap();
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let mut body = vec![0; length as usize - 4];
        self.0.read_exact(&mut body).unwrap();
        (char::from(head[0]), body)
    }

    /// The kinds of the next messages.
    pub fn kinds(&mut self, count: usize) -> String {
        (0..count).map(|_| self.hear().0).collect()
    }

    pub fn hear_query(&mut self) -> String {
        let (kind, body) = self.hear();
        assert_eq!(kind, 'Q');
        String::from_utf8(body).unwrap().trim_end_matches('\0').to_owned()
    }
}

/// A message of the server's.
pub fn message(kind: char, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind as u8];
    message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    message.extend_from_slice(body);
    message
}

/// An `ErrorResponse`.
pub fn refusal(severity: &str, state: &str, text: &str) -> Vec<u8> {
    message('E', format!("S{severity}\0V{severity}\0C{state}\0M{text}\0\0").as_bytes())
}

/// A `CommandComplete`.
pub fn complete(tag: &str) -> Vec<u8> {
    message('C', format!("{tag}\0").as_bytes())
}

/// A row of texts, none longer than a few bytes.
pub fn row(fields: &[Option<&str>]) -> Vec<u8> {
    let mut body = (fields.len() as u16).to_be_bytes().to_vec();
    for field in fields {
        body.extend_from_slice(&field.map_or(-1, |it| it.len() as i32).to_be_bytes());
        body.extend_from_slice(field.unwrap_or_default().as_bytes());
    }
    message('D', &body)
}

/// A `RowDescription` of text columns.
pub fn columns(names: &[&str]) -> Vec<u8> {
    let mut body = (names.len() as u16).to_be_bytes().to_vec();
    for name in names {
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(&[0; 19]);
    }
    message('T', &body)
}

/// Waits for a request's end: rows that came back, rows changed.
pub fn end(session: &mut dyn Session, reply: Result<Reply, Error>) -> Result<(u64, u64), Error> {
    let mut reply = reply?;
    let limit_ns = now_ns() + 5_000_000_000;
    loop {
        if let Reply::Ready { rows, changed } = reply {
            return Ok((rows, changed));
        }
        assert!(now_ns() < limit_ns, "no answer");
        wire::wait(now_ns() + 1_000_000, &mut Vec::new());
        reply = session.poll()?;
    }
}
