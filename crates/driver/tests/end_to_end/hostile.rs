//! Servers that never end what they say: their phases end all the same, and in bounded memory.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::driver::{Driver, count, phase, plan};

/// The bytes of a server's side of one connection: what it says first, what it says once it has
/// heard something, and what it says from the next request on, for ever.
struct Endless {
    kind: &'static str,
    greeting: Vec<u8>,
    welcome: Vec<u8>,
    begins: Vec<u8>,
    again: Vec<u8>,
}

/// A packet of MySQL's.
fn packet(number: u8, content: &[u8]) -> Vec<u8> {
    [&[content.len() as u8, 0, 0, number], content].concat()
}

/// What a server of MySQL's says first, and once it has heard who we are.
pub fn mysql_hello() -> [Vec<u8>; 2] {
    let mut greeting = b"\x0a8.0.33\0\x01\0\0\0abcdefgh\0\xff\xff\xff\x02\0\xff\xdf\x15".to_vec();
    greeting.extend([0; 10]);
    greeting.extend(b"ijklmnopqrst\0mysql_native_password\0");
    [packet(0, &greeting), packet(2, &[0, 0, 0, 2, 0, 0, 0])]
}

fn mysql(again: &[u8]) -> Endless {
    let [greeting, welcome] = mysql_hello();
    let column = b"\x03def\0\0\0\x01a\0\x0c\x2d\0\x05\0\0\0\xfd\0\0\0\0\0";
    Endless {
        kind: "mysql",
        greeting,
        welcome,
        begins: [packet(1, &[1]), packet(2, column)].concat(),
        again: packet(3, again),
    }
}

/// A message of PostgreSQL's.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend((body.len() as u32 + 4).to_be_bytes());
    message.extend(body);
    message
}

fn postgres(again: Vec<u8>) -> Endless {
    let welcome = [message(b'R', &[0; 4]), message(b'Z', b"I")].concat();
    let column = [&[0, 1][..], b"a\0", &[0; 18]].concat();
    let begins = message(b'T', &column);
    Endless { kind: "postgres", greeting: Vec::new(), welcome, begins, again }
}

impl Endless {
    /// Serves connections for as long as the test runs; its port. TCP holds megabytes ready: who
    /// reads on has always more to read.
    fn serve(self) -> (&'static str, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (kind, port) = (self.kind, listener.local_addr().unwrap().port());
        std::thread::spawn(move || {
            for peer in listener.incoming() {
                let _ = self.talk(peer.unwrap());
            }
        });
        (kind, port)
    }

    /// Until the driver hangs up.
    fn talk(&self, mut peer: TcpStream) -> std::io::Result<()> {
        let mut heard = [0; 4096];
        peer.write_all(&self.greeting)?;
        let greeted = peer.read(&mut heard)?;
        peer.write_all(&self.welcome)?;
        if greeted == 0 || peer.read(&mut heard)? == 0 {
            return Ok(());
        }
        peer.write_all(&self.begins)?;
        let many = self.again.repeat(100_000);
        loop {
            peer.write_all(&many)?;
        }
    }
}

/// Plays one event against it until SIGINT ends the phase, after which answers are waited for
/// shorter than at a phase's own end.
fn play_against(endless: Endless) {
    let (kind, port) = endless.serve();
    let long = r#"{ name = "e", stop = { kind = "time", duration_s = 600 }, streams = {
        { name = "s", run = "event", connections = 1 } } }"#;
    let mut plan = plan(&phase(long), 0);
    plan["session"] = json!({
        "kind": kind, "host": "127.0.0.1", "port": port, "user": "ann", "password": null,
        "database": "d", "tls": { "mode": "disable", "ca": null }, "settings": [],
    });
    let mut driver = Driver::start(&plan);
    driver.expect("hello");
    driver.expect("ready");
    driver.go();
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    driver.interrupt();
    driver.expect("answered");
    driver.go();
    let output = driver.rest();
    assert!(began.elapsed() < Duration::from_secs(60), "{kind}");
    assert_eq!(output.code, 130, "{kind}: {:?}", output.events);
    let tally = output.tally("e", 0);
    assert_eq!((count(tally, "done"), count(tally, "cut")), (0, 1), "{kind}");
    let resident = count(&output.done("e")["usage"], "resident_bytes");
    assert!(resident < 200 << 20, "{kind}: {resident} bytes");
}

#[test]
fn answers_without_an_end_end_with_their_phase() {
    let row = message(b'D', b"\0\x01\0\0\0\x01x");
    let notice = message(b'N', b"SNOTICE\0VNOTICE\0C00000\0Mx\0\0");
    let end = message(b'C', b"SELECT 1\0");
    let servers = [mysql(b"\x01x"), postgres(row), postgres(notice), postgres(end)];
    servers.into_iter().for_each(play_against);
}
