//! A server that follows a script, on a Unix socket.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::JoinHandle;
use std::time::Duration;

use super::super::packet::{HEADER, length};
use super::transcripts::{ADMITTED, GREETING_8, bytes};
use crate::plan::error::Error;
use crate::plan::login::{Login, Tls, TlsMode};
use crate::schedule::clock::{SECOND_NS, now_ns};
use crate::sessions::{Reply, Session};
use crate::testing::Folder;
use crate::wire;

/// What it does next; after its last step it closes the connection.
#[derive(Clone)]
pub enum Step {
    Say(Vec<u8>),
    /// Reads one packet.
    Hear,
}

/// A server for as many connections as it has scripts.
pub struct Server {
    folder: Folder,
    thread: JoinHandle<Vec<Vec<u8>>>,
}

impl Server {
    pub fn start(scripts: Vec<Vec<Step>>) -> Self {
        let folder = Folder::new();
        let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        let thread = std::thread::spawn(move || {
            let mut heard = Vec::new();
            for script in scripts {
                let (stream, _) = listener.accept().unwrap();
                follow(stream, script, &mut heard);
            }
            heard
        });
        Self { folder, thread }
    }

    pub fn login(&self) -> Login {
        Login {
            host: self.folder.path().join("socket").to_str().unwrap().to_owned(),
            port: 0,
            user: "ann".to_owned(),
            password: Some("secret".to_owned()),
            database: "dyno".to_owned(),
            tls: Tls { mode: TlsMode::Disable, ca: None },
            settings: Vec::new(),
        }
    }

    pub fn open(&self) -> Result<Box<dyn Session>, Error> {
        super::super::open(&self.login())
    }

    /// Everything that clients said, packet by packet, once all scripts have ended.
    pub fn heard(self) -> Vec<Vec<u8>> {
        self.thread.join().unwrap()
    }
}

/// A client that is gone, or silent, ends the script.
fn follow(mut stream: UnixStream, script: Vec<Step>, heard: &mut Vec<Vec<u8>>) {
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    for step in script {
        match step {
            Step::Say(bytes) => {
                if stream.write_all(&bytes).is_err() {
                    return;
                }
            }
            Step::Hear => match hear(&mut stream) {
                Some(content) => heard.push(content),
                None => return,
            },
        }
    }
}

fn hear(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let mut header = [0; HEADER];
    stream.read_exact(&mut header).ok()?;
    let mut content = vec![0; length(&header)];
    stream.read_exact(&mut content).ok()?;
    Some(content)
}

/// A log-in that succeeds at once, then these steps.
pub fn admitted(steps: &[Step]) -> Vec<Step> {
    let login = [Step::Say(bytes(GREETING_8)), Step::Hear, Step::Say(bytes(ADMITTED))];
    [&login, steps].concat()
}

/// Waits for a request's answer as a worker does.
pub fn wait(session: &mut dyn Session, sent: Result<Reply, Error>) -> Result<Reply, Error> {
    let mut reply = sent?;
    let until_ns = now_ns() + 5 * SECOND_NS;
    while matches!(reply, Reply::Pending { .. }) {
        assert!(now_ns() < until_ns, "no answer within 5 s");
        wire::rest(until_ns, &mut Vec::new());
        reply = session.poll()?;
    }
    Ok(reply)
}
