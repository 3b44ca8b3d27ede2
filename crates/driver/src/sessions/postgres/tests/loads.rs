//! Batches and bulk loads.

use super::super::open;
use super::server::{READY, Server, columns, complete, end, message, refusal, row};
use crate::generate::Source;
use crate::plan::error::Error;
use crate::sessions::Value;

/// So many rows, one at a time; then the end, or a failure.
struct Rows(usize, Option<Error>);

impl Source for Rows {
    fn fill(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        match (self.0, self.1.take()) {
            (0, Some(error)) => Err(error),
            (0, None) => Ok(()),
            (_, error) => {
                out.extend_from_slice(b"row\n");
                (self.0, self.1) = (self.0 - 1, error);
                Ok(())
            }
        }
    }
}

const COPY_IN: &[u8] = b"G\0\0\0\x07\0\0\0";

#[test]
fn a_batch_leaves_as_one_with_one_sync_and_is_summed() {
    let server = Server::start(vec![Box::new(|peer| {
        peer.welcome();
        assert_eq!(peer.kinds(3), "PDS");
        let parameters = message('t', b"\0\x01\0\0\0\x17");
        peer.say(&[&parameters[..], &columns(&["c"]), READY].concat());
        assert_eq!(peer.kinds(8), "BEBEPBES");
        let one = [&row(&[Some("x")])[..], &complete("SELECT 1")].concat();
        peer.say(&[&one[..], &one, &complete("INSERT 0 4"), READY].concat());
    })]);
    let mut session = open(&server.login).unwrap();
    let handle = session.prepare("SELECT c FROM t WHERE id=?").unwrap();
    session.begin_batch().unwrap();
    session.execute(handle, &[Value::Integer(1)]).unwrap();
    session.execute(handle, &[Value::Integer(2)]).unwrap();
    session.query("INSERT").unwrap();
    let reply = session.sync();
    assert_eq!(end(session.as_mut(), reply).unwrap(), (2, 4));
    assert!(session.sync().is_err());
    server.end();
}

#[test]
fn a_batch_fails_with_its_first_error_and_one_given_up_is_never_sent() {
    let server = Server::start(vec![Box::new(|peer| {
        peer.welcome();
        assert_eq!(peer.kinds(4), "PBES");
        peer.say(&[&refusal("ERROR", "22012", "by zero"), READY].concat());
        assert_eq!(peer.hear_query(), "next");
        peer.say(&[&complete("INSERT 0 1"), READY].concat());
    })]);
    let mut session = open(&server.login).unwrap();
    session.begin_batch().unwrap();
    session.query("SELECT 1 / 0").unwrap();
    let reply = session.sync();
    assert_eq!(end(session.as_mut(), reply).unwrap_err().state(), "22012");
    session.begin_batch().unwrap();
    session.query("INSERT").unwrap();
    session.reset().unwrap();
    let reply = session.query("next");
    assert_eq!(end(session.as_mut(), reply).unwrap(), (0, 1));
    server.end();
}

#[test]
fn rows_are_copied_until_their_source_ends() {
    let server = Server::start(vec![Box::new(|peer| {
        peer.welcome();
        assert_eq!(peer.hear_query(), "COPY t FROM STDIN");
        peer.say(COPY_IN);
        assert_eq!(peer.hear(), ('d', b"row\n".to_vec()));
        assert_eq!(peer.kinds(2), "dc");
        peer.say(&[&complete("COPY 2"), READY].concat());
    })]);
    let mut session = open(&server.login).unwrap();
    let reply = session.load("COPY t FROM STDIN", Box::new(Rows(2, None)));
    assert_eq!(end(session.as_mut(), reply).unwrap(), (0, 2));
    server.end();
}

#[test]
fn a_failing_source_fails_the_copy_with_its_own_error() {
    let server = Server::start(vec![Box::new(|peer| {
        peer.welcome();
        peer.hear_query();
        peer.say(COPY_IN);
        assert_eq!(peer.kinds(2), "df");
        peer.say(&[&refusal("ERROR", "57014", "COPY failed"), READY].concat());
    })]);
    let mut session = open(&server.login).unwrap();
    let source = Rows(1, Some(Error::user("no more rows")));
    let reply = session.load("COPY t FROM STDIN", Box::new(source));
    assert_eq!(end(session.as_mut(), reply).unwrap_err().to_string(), "no more rows");
    server.end();
}

#[test]
fn a_copy_sent_as_a_query_is_refused_and_the_connection_goes_on() {
    let server = Server::start(vec![Box::new(|peer| {
        peer.welcome();
        peer.hear_query();
        peer.say(COPY_IN);
        assert_eq!(peer.kinds(1), "f");
        peer.say(&[&refusal("ERROR", "57014", "COPY failed"), READY].concat());
        peer.hear_query();
        peer.say(&[&complete("BEGIN"), READY].concat());
    })]);
    let mut session = open(&server.login).unwrap();
    let reply = session.query("COPY t FROM STDIN");
    let error = end(session.as_mut(), reply).unwrap_err();
    assert!(error.to_string().contains("sent as a query"), "{error}");
    let reply = session.query("BEGIN");
    assert!(end(session.as_mut(), reply).is_ok());
    server.end();
}
