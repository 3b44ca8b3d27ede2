//! Requests and answers in the orders that events and their failures bring about.

use super::super::open;
use super::server::{READY, Server, columns, complete, end, refusal, row};

#[test]
fn the_last_result_of_a_text_counts() {
    let server = Server::start(vec![Box::new(|peer| {
        peer.welcome();
        assert_eq!(peer.hear_query(), "two");
        peer.say(
            &[&columns(&["a", "b"])[..], &row(&[Some("1"), None]), &complete("SELECT 1")].concat(),
        );
        peer.say(&[&columns(&["c"])[..], &row(&[Some("x")]), &row(&[Some("yz")])].concat());
        peer.say(&[&complete("SELECT 2")[..], READY].concat());
        peer.hear_query();
        peer.say(&[&columns(&["c"])[..], &row(&[Some("x")]), &complete("SELECT 1")].concat());
        peer.say(&[&complete("UPDATE 7")[..], READY].concat());
    })]);
    let mut session = open(&server.login).unwrap();
    let reply = session.query("two");
    assert_eq!(end(session.as_mut(), reply).unwrap(), (2, 0));
    let rows = session.rows();
    assert_eq!((rows.width, &rows.columns[..]), (1, &["c".to_owned()][..]));
    assert_eq!(rows.fields().collect::<Vec<_>>(), [Some(&b"x"[..]), Some(b"yz")]);
    let reply = session.query("and an update");
    assert_eq!(end(session.as_mut(), reply).unwrap(), (0, 7));
    assert_eq!(session.rows().width, 0);
    server.end();
}

#[test]
fn a_failed_transaction_is_rolled_back_and_nobody_waits_for_it() {
    let server = Server::start(vec![Box::new(|peer| {
        peer.welcome();
        peer.hear_query();
        peer.say(&[&refusal("ERROR", "40P01", "deadlock")[..], b"Z\0\0\0\x05E"].concat());
        assert_eq!(peer.hear_query(), "ROLLBACK");
        assert_eq!(peer.hear_query(), "next");
        peer.say(&[&complete("ROLLBACK")[..], READY].concat());
        peer.say(
            &[&columns(&["c"])[..], &row(&[Some("x")]), &complete("SELECT 1"), READY].concat(),
        );
    })]);
    let mut session = open(&server.login).unwrap();
    let reply = session.query("locks");
    let error = end(session.as_mut(), reply).unwrap_err();
    assert!(error.is_restartable() && error.state() == "40P01", "{error}");
    session.reset().unwrap();
    session.reset().unwrap();
    assert_eq!(session.take_counts().claimed, Some(0), "the transaction has not ended");
    let reply = session.query("next");
    assert_eq!(end(session.as_mut(), reply).unwrap(), (1, 0));
    assert_eq!(session.take_counts().claimed, Some(2), "its rollback, and the next");
    server.end();
}

#[test]
fn a_request_given_up_is_swallowed_with_all_that_it_opened() {
    let server = Server::start(vec![Box::new(|peer| {
        peer.welcome();
        peer.hear_query();
        peer.say(&row(&[Some("half")])[..7]);
        assert_eq!(peer.hear_query(), "ROLLBACK");
        assert_eq!(peer.hear_query(), "next");
        peer.say(&row(&[Some("half")])[7..]);
        peer.say(&[&complete("SELECT 1")[..], b"Z\0\0\0\x05T"].concat());
        peer.say(&[&complete("ROLLBACK")[..], READY, &complete("DELETE 3"), READY].concat());
    })]);
    let mut session = open(&server.login).unwrap();
    session.query("slow").unwrap();
    assert!(session.query("second").is_err());
    let _ = session.poll().unwrap();
    session.reset().unwrap();
    let reply = session.query("next");
    assert_eq!(end(session.as_mut(), reply).unwrap(), (0, 3));
    server.end();
}
