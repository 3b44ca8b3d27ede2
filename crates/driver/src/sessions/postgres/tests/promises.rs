//! Messages that promise more than they hold, and a log-in that never comes to its end.

use std::io::Write;

use super::super::answer::{Answer, Want};
use super::super::open;
use super::server::{Server, columns, message};
use crate::sessions::Rows;

#[test]
fn counts_and_fields_longer_than_their_message() {
    let long = |body: &[u8], kind| message(kind, body);
    let bodies = [
        long(b"\0\x01\x7f\xff\xff\xff", 'D'),
        long(b"\xff\xff\0\0\0\x01x", 'D'),
        long(b"\xff\xffname\0", 'T'),
        long(b"\xff\xff\0\0\0\x17", 't'),
        long(b"SERROR", 'E'),
    ];
    for body in bodies {
        let (mut answer, mut rows) = (Answer::new(), Rows::default());
        answer.begin(Want::Rows);
        let all = [columns(&["c"]), body].concat();
        let error = answer.read(&all, &mut rows).unwrap_err();
        assert_eq!(error.engine_code(), Some("protocol"));
        assert!(rows.bytes.is_empty());
    }
}

#[test]
fn a_log_in_of_words_without_end_is_given_up() {
    let server = Server::start(vec![Box::new(|peer| {
        peer.startup();
        peer.say(&message('R', b"\0\0\0\0"));
        while peer.0.write_all(&message('S', b"a\0b\0")).is_ok() {}
    })]);
    let error = open(&server.login).err().unwrap();
    assert!(error.to_string().contains("a log-in without an end"), "{error}");
    server.end();
}
