//! Bulk loads, and a server that asks for files.

use super::server::{Server, Step, admitted, wait};
use super::sessions::{query, said, say};
use super::transcripts::ADMITTED;
use super::{ok, packet};
use crate::generate::Source;
use crate::plan::error::Error;
use crate::sessions::{Reply, Session};

struct Rows(Vec<&'static str>);

impl Source for Rows {
    fn fill(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        out.extend_from_slice(self.0.pop().unwrap_or_default().as_bytes());
        Ok(())
    }
}

fn load(session: &mut dyn Session) -> Result<Reply, Error> {
    let sent = session.load("LOAD DATA", Box::new(Rows(vec!["2\tb\n", "1\ta\n"])));
    wait(session, sent)
}

#[test]
fn a_bulk_load_streams_its_rows_and_an_empty_packet() {
    let hears = [Step::Hear, Step::Hear, Step::Hear];
    let asked = [Step::Hear, said(&[b"\xfbrows"])];
    let done = [Step::Say(packet(5, &ok(2, 2)))];
    let server = Server::start(vec![admitted(&[&asked[..], &hears, &done].concat())]);
    let mut session = server.open().unwrap();
    let reply = load(session.as_mut()).unwrap();
    assert_eq!(reply, Reply::Ready { rows: 0, changed: 2 });
    drop(session);
    let heard = server.heard();
    assert_eq!(heard[2..], [b"1\ta\n".to_vec(), b"2\tb\n".to_vec(), Vec::new()]);
}

#[test]
fn a_bulk_load_may_be_refused_before_or_amid_its_rows() {
    let denied = b"\xff\x6c\x0f#42000Loading local data is disabled";
    let server = Server::start(vec![admitted(&[Step::Hear, said(&[denied])])]);
    let error = load(server.open().unwrap().as_mut()).unwrap_err();
    assert_eq!(error.failure(None).blame, "user");
    let duplicate = packet(5, b"\xff\x26\x04#23000Duplicate entry");
    let hears = [Step::Hear, Step::Hear, Step::Hear, Step::Say(duplicate)];
    let asked = [Step::Hear, said(&[b"\xfbrows"])];
    let more = [Step::Hear, said(&[&ok(0, 2)])];
    let server = Server::start(vec![admitted(&[&asked[..], &hears, &more].concat())]);
    let mut session = server.open().unwrap();
    assert_eq!(load(session.as_mut()).unwrap_err().number(), 1062);
    query(session.as_mut(), "SELECT 1").unwrap();
}

#[test]
fn a_server_that_asks_for_a_file_unasked_gets_an_empty_packet() {
    let refused = packet(3, b"\xff\x02\x00#HY000File not found");
    let asked = [Step::Hear, said(&[b"\xfb/etc/passwd"]), Step::Hear, Step::Say(refused)];
    let server =
        Server::start(vec![admitted(&[&asked[..], &[Step::Hear, say(ADMITTED)]].concat())]);
    let mut session = server.open().unwrap();
    let error = query(session.as_mut(), "SELECT 1").unwrap_err();
    assert_eq!(error.engine_code(), Some("local-infile"));
    query(session.as_mut(), "SELECT 1").unwrap();
    drop(session);
    assert_eq!(server.heard()[2], b"");
}

#[test]
fn a_server_that_keeps_up_with_a_bulk_load_gets_all_of_it() {
    let rows: &'static str = "x".repeat(64 * 1024).leak();
    for _ in 0..20 {
        let asked = [Step::Hear, said(&[b"\xfbrows"])];
        let done = [Step::Say(packet(19, &ok(16, 2)))];
        let hears: Vec<Step> = (0..17).map(|_| Step::Hear).collect();
        let server = Server::start(vec![admitted(&[&asked[..], &hears, &done].concat())]);
        let mut session = server.open().unwrap();
        let sent = session.load("LOAD DATA", Box::new(Rows(vec![rows; 16])));
        let reply = wait(session.as_mut(), sent).unwrap();
        assert_eq!(reply, Reply::Ready { rows: 0, changed: 16 });
    }
}
