//! Requests and answers in the orders that events and their failures bring about.

use std::io::Write;

use super::{READY, Server, columns, complete, end, message, refusal, row};
use crate::generate::Source;
use crate::plan::error::Error;
use crate::sessions::postgres::answer::{Answer, AnswerMode};
use crate::sessions::postgres::connect;
use crate::sessions::{Rows, Value};

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
    let mut session = connect(&server.login).unwrap();
    let reply = session.query("two");
    assert_eq!(end(session.as_mut(), reply).unwrap(), (2, 0));
    let rows = session.rows();
    assert_eq!((rows.width, rows.columns.to_vec()), (1, vec!["c".to_owned()]));
    assert_eq!(rows.fields().iter().collect::<Vec<_>>(), [Some(&b"x"[..]), Some(b"yz")]);
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
    let mut session = connect(&server.login).unwrap();
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
fn an_abandoned_request_is_skipped_and_its_transaction_rolled_back() {
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
    let mut session = connect(&server.login).unwrap();
    session.query("slow").unwrap();
    assert!(session.query("second").is_err());
    let _ = session.poll().unwrap();
    session.reset().unwrap();
    let reply = session.query("next");
    assert_eq!(end(session.as_mut(), reply).unwrap(), (0, 3));
    server.end();
}

// Prepared statements, and the connection that is lost below them.

/// What preparing is answered: one parameter of type int4, one column.
fn described() -> Vec<u8> {
    let parameters = message('t', b"\0\x01\0\0\0\x17");
    [&message('1', b"")[..], &parameters, &columns(&["c"]), READY].concat()
}

fn executed() -> Vec<u8> {
    [&message('2', b"")[..], &row(&[Some("x")]), &complete("SELECT 1"), READY].concat()
}

/// The first connection ends under a request, and the second one knows what the first one knew.
fn ends_once() -> Server {
    Server::start(vec![
        Box::new(|peer| {
            peer.welcome();
            assert_eq!(peer.kinds(3), "PDS");
            peer.say(&described());
            assert_eq!(peer.kinds(3), "BES");
            peer.say(&refusal("FATAL", "57P01", "terminating connection"));
        }),
        Box::new(|peer| {
            peer.welcome();
            assert_eq!(peer.hear(), ('P', b"s1\0SELECT c FROM t WHERE id=$1\0\0\0".to_vec()));
            assert_eq!(peer.kinds(2), "DS");
            peer.say(&described());
            let bound = b"\0s1\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\0\x05\0\0".to_vec();
            assert_eq!(peer.hear(), ('B', bound));
            assert_eq!(peer.kinds(2), "ES");
            peer.say(&executed());
        }),
    ])
}

#[test]
fn a_lost_connection_is_made_anew_with_its_statements() {
    let server = ends_once();
    let mut session = connect(&server.login).unwrap();
    let handle = session.prepare(b"SELECT c FROM t WHERE id=?").unwrap();
    let reply = session.execute(handle, &[Value::Integer(5)]);
    let error = end(session.as_mut(), reply).unwrap_err();
    assert_eq!((error.engine_code(), error.is_engine()), (Some("57P01"), true));
    assert_eq!(session.query("SELECT 1").unwrap_err().engine_code(), Some("lost"));
    session.reset().unwrap();
    let counts = session.take_counts();
    assert_eq!((counts.reconnected, counts.claimed), (1, Some(3)), "preparing counts");
    let reply = session.execute(handle, &[Value::Integer(5)]);
    assert_eq!(end(session.as_mut(), reply).unwrap(), (1, 0));
    assert_eq!(session.rows().fields().iter().collect::<Vec<_>>(), [Some(&b"x"[..])]);
    session.keep_rows(false);
    assert!(session.execute(handle, &[]).is_err());
    server.end();
}

// Messages that promise more than they hold, and a log-in that never comes to its end.

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
        answer.begin(AnswerMode::Rows);
        let all = [columns(&["c"]), body].concat();
        let error = answer.read(&all, &mut rows).unwrap_err();
        assert_eq!(error.engine_code(), Some("protocol"));
        assert!(rows.bytes.is_empty());
    }
}

#[test]
fn an_endless_log_in_is_given_up() {
    let server = Server::start(vec![Box::new(|peer| {
        peer.startup();
        peer.say(&message('R', b"\0\0\0\0"));
        while peer.0.write_all(&message('S', b"a\0b\0")).is_ok() {}
    })]);
    let error = connect(&server.login).err().unwrap();
    assert!(error.to_string().contains("the log-in does not end"), "{error}");
    server.end();
}

// Batches and bulk loads.

/// So many rows, one at a time; then the end, or a failure.
struct TestRows(usize, Option<Error>);

impl Source for TestRows {
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
fn a_batch_is_sent_with_one_sync_and_its_answers_are_summed() {
    let server = Server::start(vec![Box::new(|peer| {
        peer.welcome();
        assert_eq!(peer.kinds(3), "PDS");
        let parameters = message('t', b"\0\x01\0\0\0\x17");
        peer.say(&[&parameters[..], &columns(&["c"]), READY].concat());
        assert_eq!(peer.kinds(9), "BEBEPBDES");
        let one = [&row(&[Some("x")])[..], &complete("SELECT 1")].concat();
        peer.say(&[&one[..], &one, &complete("INSERT 0 4"), READY].concat());
    })]);
    let mut session = connect(&server.login).unwrap();
    let handle = session.prepare(b"SELECT c FROM t WHERE id=?").unwrap();
    session.begin_batch().unwrap();
    session.execute(handle, &[Value::Integer(1)]).unwrap();
    session.execute(handle, &[Value::Integer(2)]).unwrap();
    session.query("INSERT").unwrap();
    let reply = session.sync(false);
    assert_eq!(end(session.as_mut(), reply).unwrap(), (2, 4));
    assert!(session.sync(false).is_err());
    server.end();
}

#[test]
fn a_batch_that_keeps_has_a_result_for_each_request_as_wide_as_it_is() {
    let server = Server::start(vec![Box::new(|peer| {
        peer.welcome();
        assert_eq!(peer.kinds(3), "PDS");
        let parameters = message('t', b"\0\x01\0\0\0\x17");
        peer.say(&[&parameters[..], &columns(&["c"]), READY].concat());
        assert_eq!(peer.kinds(13), "BEPBDEPBDEBES");
        let one = [&row(&[Some("x")])[..], &complete("SELECT 1")].concat();
        let wide =
            [&columns(&["a", "b"])[..], &row(&[Some("y"), None]), &complete("SELECT 1")].concat();
        let none = complete("SELECT 0");
        peer.say(&[&one[..], &complete("INSERT 0 4"), &wide, &none, READY].concat());
    })]);
    let mut session = connect(&server.login).unwrap();
    let handle = session.prepare(b"SELECT c FROM t WHERE id=?").unwrap();
    session.begin_batch().unwrap();
    session.execute(handle, &[Value::Integer(1)]).unwrap();
    session.query("INSERT").unwrap();
    session.query("SELECT a, b").unwrap();
    session.execute(handle, &[Value::Integer(2)]).unwrap();
    let reply = session.sync(true);
    assert_eq!(end(session.as_mut(), reply).unwrap(), (2, 4));
    let rows = session.rows();
    let shapes: Vec<_> = rows.results.iter().map(|it| (it.width, it.rows, it.changed)).collect();
    assert_eq!(shapes, [(1, 1, 0), (0, 0, 4), (2, 1, 0), (1, 0, 0)]);
    assert_eq!(rows.fields_of(2).iter().collect::<Vec<_>>(), [Some(&b"y"[..]), None]);
    server.end();
}

#[test]
fn a_batch_fails_with_its_first_error_and_one_given_up_is_never_sent() {
    let server = Server::start(vec![Box::new(|peer| {
        peer.welcome();
        assert_eq!(peer.kinds(5), "PBDES");
        peer.say(&[&refusal("ERROR", "22012", "by zero"), READY].concat());
        assert_eq!(peer.hear_query(), "next");
        peer.say(&[&complete("INSERT 0 1"), READY].concat());
    })]);
    let mut session = connect(&server.login).unwrap();
    session.begin_batch().unwrap();
    session.query("SELECT 1 / 0").unwrap();
    let reply = session.sync(false);
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
    let mut session = connect(&server.login).unwrap();
    let reply = session.load("COPY t FROM STDIN", Box::new(TestRows(2, None)));
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
    let mut session = connect(&server.login).unwrap();
    let source = TestRows(1, Some(Error::user("no more rows")));
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
    let mut session = connect(&server.login).unwrap();
    let reply = session.query("COPY t FROM STDIN");
    let error = end(session.as_mut(), reply).unwrap_err();
    assert!(error.to_string().contains("sent as a query"), "{error}");
    let reply = session.query("BEGIN");
    assert!(end(session.as_mut(), reply).is_ok());
    server.end();
}

#[test]
fn what_the_protocol_has_no_room_for_is_refused_before_it_is_sent() {
    let server = Server::start(vec![Box::new(|peer| {
        peer.welcome();
        assert_eq!(peer.hear().0, 'X', "nothing but a goodbye");
    })]);
    let mut session = connect(&server.login).unwrap();
    let many = vec![Value::Integer(1); 65_536];
    let marks = format!("SELECT {}", vec!["?"; 65_536].join(","));
    let errors = [
        session.query("SELECT 1\0").map(drop),
        session.prepare(b"SELECT 1\0").map(drop),
        session.execute_unnamed(b"SELECT 1\0", &[]).map(drop),
        session.execute_unnamed(b"SELECT 1", &many).map(drop),
        session.prepare(marks.as_bytes()).map(drop),
        session.prepare(b"SELECT $65536").map(drop),
    ];
    for error in errors {
        assert_eq!(error.unwrap_err().failure(None).blame, "user");
    }
    drop(session);
    server.end();
}

#[test]
fn a_statement_under_way_is_cancelled_by_its_processs_secret() {
    let key = message('K', &[0, 0, 0, 7, 1, 2, 3, 4]);
    let server = Server::start(vec![
        Box::new(move |peer| {
            peer.startup();
            peer.say(b"R\0\0\0\x08\0\0\0\0");
            peer.say(&key);
            peer.say(READY);
            peer.hear_query();
        }),
        Box::new(|peer| {
            let said = peer.startup();
            assert!(said.as_bytes().ends_with(&[0, 0, 0, 7, 1, 2, 3, 4]), "{said:?}");
        }),
    ]);
    let mut session = connect(&server.login).unwrap();
    assert!(session.canceller().is_none(), "nothing is under way");
    session.query("SELECT pg_sleep(1000)").unwrap();
    let cancel = session.canceller().unwrap();
    cancel().unwrap();
    server.end();
}

#[test]
fn notices_are_kept_where_they_are_asked_for_and_only_so_many() {
    let notice = |text: &str| {
        message('N', format!("SNOTICE\0VNOTICE\0C00000\0M{text}\0Winside f()\0\0").as_bytes())
    };
    let long = "x".repeat(5 << 20);
    let server = Server::start(vec![Box::new(move |peer| {
        peer.welcome();
        for notices in [vec!["unheard"], vec!["first", "second"], vec![&long[..], &long[..]]] {
            peer.hear_query();
            let said: Vec<u8> = notices.into_iter().flat_map(notice).collect();
            peer.say(&[&said[..], &complete("SELECT 0"), READY].concat());
        }
    })]);
    let mut session = connect(&server.login).unwrap();
    let mut told = Vec::new();
    for wanted in [false, true, true] {
        session.keep_notices(wanted);
        let reply = session.query("says");
        end(session.as_mut(), reply).unwrap();
        told.push(session.take_notices());
    }
    assert_eq!(told[0], (Vec::new(), 0));
    let messages: Vec<_> = told[1].0.iter().map(|it| (&it.message[..], &it.context[..])).collect();
    assert_eq!(messages, [("first", "inside f()"), ("second", "inside f()")]);
    assert_eq!((told[2].0.len(), told[2].1), (1, 1), "the second is beyond the limit");
    server.end();
}
