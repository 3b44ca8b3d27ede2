//! Prepared statements, and the connection that is lost below them.

use super::super::open;
use super::server::{READY, Server, columns, complete, end, message, refusal, row};
use crate::sessions::Value;

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
    let mut session = open(&server.login).unwrap();
    let handle = session.prepare("SELECT c FROM t WHERE id=?").unwrap();
    let reply = session.execute(handle, &[Value::Integer(5)]);
    let error = end(session.as_mut(), reply).unwrap_err();
    assert_eq!((error.engine_code(), error.is_engine()), (Some("57P01"), true));
    assert_eq!(session.query("SELECT 1").unwrap_err().engine_code(), Some("lost"));
    session.reset().unwrap();
    let counts = session.take_counts();
    assert_eq!((counts.reconnected, counts.claimed), (1, Some(3)), "preparing counts");
    let reply = session.execute(handle, &[Value::Integer(5)]);
    assert_eq!(end(session.as_mut(), reply).unwrap(), (1, 0));
    assert_eq!(session.rows().fields().collect::<Vec<_>>(), [Some(&b"x"[..])]);
    session.keep_rows(false);
    assert!(session.execute(handle, &[]).is_err());
    server.end();
}
