//! Sessions against a server that follows a script: errors, lost connections, batches.

use super::{PREPARED_8, ROW_8, SYNTAX_ERROR, Server, Step, after_login, answer, bytes, ok, wait};
use crate::plan::error::Error;
use crate::sessions::{Reply, Session, Value};

pub fn say(hex: &str) -> Step {
    Step::Say(bytes(hex))
}

pub fn say_all(contents: &[&[u8]]) -> Step {
    Step::Say(answer(contents))
}

pub fn query(session: &mut dyn Session, sql: &str) -> Result<Reply, Error> {
    let sent = session.query(sql);
    wait(session, sent)
}

fn execute(session: &mut dyn Session, statement: u32) -> Result<Reply, Error> {
    let sent = session.execute(statement, &[Value::Integer(1)]);
    wait(session, sent)
}

#[test]
fn a_lost_connection_is_made_anew_with_its_statements() {
    let first = after_login(&[Step::Hear, say(PREPARED_8), Step::Hear]);
    let second = after_login(&[Step::Hear, say(PREPARED_8), Step::Hear, say(ROW_8), Step::Hear]);
    let server = Server::start(vec![first, second]);
    let mut session = server.open().unwrap();
    let statement = session.prepare(b"SELECT ?").unwrap();
    let error = execute(session.as_mut(), statement).unwrap_err();
    assert_eq!((error.engine_code(), error.number()), (Some("lost"), 2013));
    assert!(error.is_engine() && !error.is_restartable());
    let again = session.query("SELECT 1").unwrap_err();
    assert_eq!(again.engine_code(), Some("lost"), "until it is made anew");
    session.reset().unwrap();
    let reply = execute(session.as_mut(), statement).unwrap();
    assert_eq!(reply, Reply::Ready { rows: 1, changed: 0 });
    let counts = session.take_counts();
    assert_eq!((counts.reconnected, counts.claimed), (1, Some(2)), "no statement was prepared");
    let counts = session.take_counts();
    assert_eq!((counts.reconnected, counts.claimed), (0, Some(0)));
    drop(session);
    let heard = server.received();
    let prepared: Vec<_> = heard.iter().filter(|it| it[0] == 0x16).collect();
    assert_eq!(prepared, [b"\x16SELECT ?", b"\x16SELECT ?"]);
    let executions: Vec<_> = heard.iter().filter(|it| it[0] == 0x17).collect();
    assert_eq!(executions[0], executions[1], "its types are told again");
    assert_eq!(heard.last().unwrap(), &[1], "goodbye");
}

#[test]
fn a_server_that_is_gone_for_good_ends_the_trial() {
    let server = Server::start(vec![after_login(&[Step::Hear])]);
    let mut session = server.open().unwrap();
    query(session.as_mut(), "SELECT 1").unwrap_err();
    drop(server);
    session.reset().unwrap_err();
}

#[test]
fn what_the_server_closes_the_connection_with_counts_as_lost() {
    for number in [1053u16, 1927, 4031] {
        let [a, b] = number.to_le_bytes();
        let killed = [&[0xff, a, b], b"#70100Connection was killed".as_slice()].concat();
        let server =
            Server::start(vec![after_login(&[Step::Hear, say_all(&[&killed])]), after_login(&[])]);
        let mut session = server.open().unwrap();
        let error = query(session.as_mut(), "SELECT 1").unwrap_err();
        assert_eq!(error.engine_code(), Some(number.to_string().as_str()));
        session.reset().unwrap();
        assert_eq!(session.take_counts().reconnected, 1);
    }
}

#[test]
fn an_error_in_a_transaction_is_rolled_back_without_waiting() {
    let steps = after_login(&[
        Step::Hear,
        say_all(&[&ok(0, 3)]),
        Step::Hear,
        say(SYNTAX_ERROR),
        Step::Hear,
        Step::Hear,
        say_all(&[&ok(0, 2)]),
        say_all(&[&ok(4, 2)]),
    ]);
    let server = Server::start(vec![steps]);
    let mut session = server.open().unwrap();
    query(session.as_mut(), "BEGIN").unwrap();
    query(session.as_mut(), "SELEC").unwrap_err();
    session.reset().unwrap();
    let reply = query(session.as_mut(), "UPDATE").unwrap();
    assert_eq!(reply, Reply::Ready { rows: 0, changed: 4 });
    session.reset().unwrap();
    drop(session);
    assert_eq!(
        server.received()[1..],
        [
            b"\x03BEGIN".to_vec(),
            b"\x03SELEC".to_vec(),
            b"\x03ROLLBACK".to_vec(),
            b"\x03UPDATE".to_vec()
        ]
    );
}

#[test]
fn a_batch_is_sent_at_once_and_reports_its_first_error() {
    let answers = [answer(&[&ok(1, 2)]), bytes(SYNTAX_ERROR), answer(&[&ok(1, 2)])].concat();
    let heard = [Step::Hear, Step::Hear, Step::Hear];
    let steps = after_login(&[&heard[..], &[Step::Say(answers), Step::Hear]].concat());
    let server = Server::start(vec![steps]);
    let mut session = server.open().unwrap();
    session.begin_batch().unwrap();
    for sql in ["A", "B", "C"] {
        assert_eq!(session.query(sql).unwrap(), Reply::Ready { rows: 0, changed: 0 });
    }
    let sent = session.sync(false);
    assert_eq!(wait(session.as_mut(), sent).unwrap_err().number(), 1064);
    session.begin_batch().unwrap();
    session.query("never sent").unwrap();
    session.reset().unwrap();
    session.begin_batch().unwrap();
    assert_eq!(session.sync(false).unwrap(), Reply::Ready { rows: 0, changed: 0 });
    assert!(session.sync(false).is_err());
    drop(session);
    assert_eq!(server.received().last().unwrap(), &[1]);
}

#[test]
fn a_request_before_the_answer_is_the_scripts_mistake() {
    let server = Server::start(vec![after_login(&[Step::Hear])]);
    let mut session = server.open().unwrap();
    session.query("SELECT 1").unwrap();
    let error = session.query("SELECT 2").unwrap_err();
    assert!(!error.is_engine(), "{error}");
}

#[test]
fn types_that_an_abandoned_batch_would_have_told_are_told_again() {
    let steps = [Step::Hear, say(PREPARED_8), Step::Hear, say(ROW_8), Step::Hear];
    let server = Server::start(vec![after_login(&steps)]);
    let mut session = server.open().unwrap();
    let statement = session.prepare(b"SELECT ?").unwrap();
    session.begin_batch().unwrap();
    session.execute(statement, &[Value::Integer(1)]).unwrap();
    session.reset().unwrap();
    execute(session.as_mut(), statement).unwrap();
    drop(session);
    let heard = server.received();
    let execution = heard.iter().find(|it| it[0] == 0x17).unwrap();
    // After the head (10 bytes) and a byte of NULLs: new types follow, the first a LONGLONG.
    assert_eq!(execution[11..14], [1, 8, 0]);
}

#[test]
fn more_parameters_than_the_protocol_counts_are_refused_before_they_are_sent() {
    let server = Server::start(vec![after_login(&[Step::Hear])]);
    let mut session = server.open().unwrap();
    let marks = format!("SELECT {}", vec!["?"; 65_536].join(","));
    let failure = session.prepare(marks.as_bytes()).unwrap_err().failure(None);
    assert_eq!(failure.blame, "user");
    assert!(failure.message.contains("65536 parameters"), "{}", failure.message);
    drop(session);
    assert_eq!(server.received().last().unwrap(), &[1], "goodbye, and nothing before");
}

#[test]
fn a_statement_under_way_is_killed_by_its_connections_number() {
    let done = Step::Say(answer(&[&ok(0, 2)]));
    let silent = after_login(&[Step::Hear, done.clone(), Step::Hear, Step::Hear]);
    let second = after_login(&[Step::Hear, done, Step::Hear]);
    let server = Server::start(vec![silent, second]);
    let mut session = server.open().unwrap();
    assert!(session.canceller().is_none(), "nothing is under way");
    query(session.as_mut(), "SELECT 1").unwrap();
    assert!(session.canceller().is_none(), "nor is it after the answer");
    session.query("SELECT SLEEP(1000)").unwrap();
    let cancel = session.canceller().unwrap();
    drop(session);
    cancel().unwrap();
    let heard = server.received();
    assert!(heard.contains(&b"\x03KILL 48".to_vec()), "{heard:?}");
}
