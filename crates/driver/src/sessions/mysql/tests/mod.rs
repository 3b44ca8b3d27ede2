//! The parser on transcripts and on garbage; sessions against a server that follows a script.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod answers;
mod conversations;
mod logins;
mod requests;
mod sessions;

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::JoinHandle;
use std::time::Duration;

use super::packet::{HEADER, length};
use crate::plan::error::Error;
use crate::plan::{Login, Tls, TlsMode};
use crate::schedule::clock::{SECOND_NS, now_ns};
use crate::sessions::{Reply, Session};
use crate::testing::Folder;
use crate::wire;

/// A packet as it goes over the wire.
fn packet(number: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend_from_slice(content);
    super::packet::end(&mut out, 0, number);
    out
}

/// The packets of an answer, numbered from 1.
fn answer(contents: &[&[u8]]) -> Vec<u8> {
    let numbered = contents.iter().zip(1u8..);
    numbered.flat_map(|(content, number)| packet(number, content)).collect()
}

/// An OK that says how many rows were changed.
fn ok(changed: u8, status: u8) -> Vec<u8> {
    vec![0, changed, 0, status, 0, 0, 0]
}

/// The end of rows of a server that still has EOF.
fn eof(status: u8) -> Vec<u8> {
    vec![0xfe, 0, 0, status, 0]
}

/// A column's definition.
fn column(name: &str, kind: u8, flags: u8, decimals: u8) -> Vec<u8> {
    let mut out = b"\x03def\x00\x00\x00".to_vec();
    out.push(name.len() as u8);
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\x00\x0c\x2d\x00\x05\x00\x00\x00");
    out.extend_from_slice(&[kind, flags, 0, decimals, 0, 0]);
    out
}

// A server that follows a script, on a Unix socket.

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
            tells_notices: false,
            proof: Default::default(),
            reads_only: None,
        }
    }

    pub fn open(&self) -> Result<Box<dyn Session>, Error> {
        crate::sessions::mysql::connect(&self.login())
    }

    /// Everything that clients sent, packet by packet, once all scripts have ended.
    pub fn received(self) -> Vec<Vec<u8>> {
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
pub fn after_login(steps: &[Step]) -> Vec<Step> {
    let login = [Step::Say(bytes(GREETING_8)), Step::Hear, Step::Say(bytes(ADMITTED))];
    [&login, steps].concat()
}

/// Waits for a request's answer as a worker does.
pub fn wait(session: &mut dyn Session, sent: Result<Reply, Error>) -> Result<Reply, Error> {
    let mut reply = sent?;
    let until_ns = now_ns() + 5 * SECOND_NS;
    while matches!(reply, Reply::Pending { .. }) {
        assert!(now_ns() < until_ns, "no answer within 5 s");
        wire::wait(until_ns, &mut Vec::new());
        reply = session.poll()?;
    }
    Ok(reply)
}

// What servers sent: 8.0.33 and 5.6.14 on a log-in, a prepared select, two statements in one
// query and a syntax error, as recorded.

/// Bytes from their digits.
pub fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// The greeting of 8.0.33.
pub const GREETING_8: &str = "
4a0000000a382e302e33330030000000434011151846651000ffffff0200ffdf15000000000000000000007330
0c3d6d697a6027175c330063616368696e675f736861325f70617373776f726400";

/// The greeting of 5.6.14.
pub const GREETING_5: &str = "
4a0000000a352e362e3134003000000052402a513862665b00fff70802007f801500000000000000000000735075
7d35302f3a76636d78006d7973716c5f6e61746976655f70617373776f726400";

/// The end of a log-in.
pub const ADMITTED: &str = "0700000200000002000000";

/// 8.0.33: a statement with a parameter and two columns is prepared.
pub const PREPARED_8: &str = "
0c0000010001000000020001000000001700000203646566000000013f000c3f00150000000880000000001e0000
03036465660464796e6f01740174016101610c3f000b0000000303500000001e000004036465660464796e6f0174
0174016201620c2d0050000000fd0000000000";

/// 8.0.33: it is executed and answers one row, 1 and 'z'.
pub const ROW_8: &str = "
01000001021e000002036465660464796e6f01740174016101610c3f000b0000000303500000001e000003036465
660464796e6f01740174016201620c2d0050000000fd000000000008000004000001000000017a07000005fe0000
02000000";

/// 5.6.14: the same, with EOFs.
pub const ROW_5: &str = "
01000001021e000002036465660464796e6f01740174016101610c3f000b0000000303500000001e000003036465
660464796e6f01740174016201620c2d0050000000fd000000000005000004fe0000020008000005000001000000
017a05000006fe00000200";

/// 5.6.14: a select of two rows, then an update of two.
pub const TWO_RESULTS_5: &str = "
01000001011e000002036465660464796e6f01740174016201620c2d0050000000fd000000000005000003fe0000
2a0002000004017a02000005017a05000006fe00002a00300000070002002200000028526f7773206d6174636865
643a203220204368616e6765643a203220205761726e696e67733a2030";

/// 8.0.33: the same.
pub const TWO_RESULTS_8: &str = "
01000001011e000002036465660464796e6f01740174016201620c2d0050000000fd000000000002000003017a02
000004017a07000005fe00002a000000300000060002002200000028526f7773206d6174636865643a2032202043
68616e6765643a203220205761726e696e67733a2030";

/// A syntax error, its text shortened.
pub const SYNTAX_ERROR: &str = "
1f000001ff28042334323030306e656172202753454c454327206174206c696e652031";
