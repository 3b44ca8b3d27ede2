//! Proofs, refusals, and servers that speak out of turn during the log-in.

use std::io::Read;

use super::{READY, Server, WELCOME, message, refusal};
use crate::plan::error::Error;
use crate::plan::{ChannelBinding, TlsMode};
use crate::sessions::postgres::{connect, login};
use crate::sessions::reach::Reach;
use crate::wire::Line;

const ASKS_MD5: &[u8] = b"R\0\0\0\x0c\0\0\0\x05salt";
const ASKS_CLEARTEXT: &[u8] = b"R\0\0\0\x08\0\0\0\x03";

fn sasl(mechanism: &str) -> Vec<u8> {
    message('R', format!("\0\0\0\x0a{mechanism}\0\0").as_bytes())
}

fn refused_by(says: Vec<u8>) -> Error {
    let server = Server::start(vec![Box::new(move |peer| {
        peer.startup();
        peer.say(&says);
    })]);
    let error = connect(&server.login).err().unwrap();
    assert!(!format!("{error:?}").contains("secret"));
    server.end();
    error
}

#[test]
fn the_start_up_message_names_user_database_and_settings() {
    let mut server = Server::start(vec![Box::new(|peer| {
        let said = peer.startup();
        let words: Vec<&str> = said.trim_end_matches('\0').split('\0').collect();
        let wanted = ["user", "ann", "database", "books", "application_name", "dyno"];
        assert!(words.ends_with(&["client_encoding", "UTF8", "work_mem", "1MB"]), "{words:?}");
        assert!(words.windows(wanted.len()).any(|it| it == wanted), "{words:?}");
        peer.say(WELCOME);
    })]);
    server.login.settings = vec![("work_mem".to_owned(), "1MB".to_owned())];
    assert!(connect(&server.login).is_ok());
    server.end();
}

#[test]
fn md5_is_answered_with_a_salted_hash() {
    let server = Server::start(vec![Box::new(|peer| {
        peer.startup();
        peer.say(ASKS_MD5);
        // echo -n "$(echo -n secretann | md5sum | cut -c-32)salt" | md5sum
        assert_eq!(peer.hear(), ('p', b"md5b8f5ba9f485dba302ec0963f7ee9ba8f\0".to_vec()));
        peer.say(WELCOME);
    })]);
    assert!(connect(&server.login).is_ok());
    server.end();
}

#[test]
fn a_password_in_clear_text_goes_where_nobody_can_listen() {
    let server = Server::start(vec![Box::new(|peer| {
        peer.startup();
        peer.say(ASKS_CLEARTEXT);
        assert_eq!(peer.hear(), ('p', b"secret\0".to_vec()));
        peer.say(WELCOME);
    })]);
    assert!(connect(&server.login).is_ok());
    server.end();
}

#[test]
fn a_missing_password_is_asked_for() {
    let mut server = Server::start(vec![Box::new(|peer| {
        peer.startup();
        peer.say(ASKS_MD5);
    })]);
    server.login.password = None;
    let error = connect(&server.login).err().unwrap();
    assert!(error.to_string().ends_with("wants a password for 'ann'"), "{error}");
    server.end();
}

#[test]
fn a_refusal_is_blamed_on_who_can_put_it_right() {
    for (state, blame, hint) in [
        ("28P01", "user", "password"),
        ("3D000", "user", "'books'"),
        ("53300", "user", "max_connections"),
        ("57P03", "engine", "started"),
        ("XX000", "engine", ""),
    ] {
        let failure = refused_by(refusal("FATAL", state, "no")).failure(None);
        assert!(failure.message.ends_with("as 'ann': no"), "{}", failure.message);
        assert_eq!(failure.blame, blame);
        assert!(failure.hint.contains(hint), "{}", failure.hint);
    }
}

#[test]
fn a_server_that_offers_no_tls_is_refused() {
    let mut server = Server::start(vec![Box::new(|peer| {
        peer.startup();
        peer.say(b"N");
    })]);
    server.login.tls.mode = TlsMode::Require;
    let error = connect(&server.login).err().unwrap();
    assert!(error.to_string().ends_with("offers no TLS"), "{error}");
    server.end();
}

#[test]
fn proofs_that_we_cannot_give_are_named() {
    let error = refused_by(sasl("OAUTHBEARER"));
    assert!(error.to_string().ends_with("OAUTHBEARER"), "{error}");
    let gss = refused_by(b"R\0\0\0\x08\0\0\0\x07".to_vec());
    assert_eq!(gss.failure(None).blame, "user");
}

#[test]
fn what_comes_out_of_turn_is_an_error_of_the_protocol() {
    let longest = [b"S".as_slice(), &30_001u32.to_be_bytes(), b"a"].concat();
    let out_of_turn: [&[u8]; 6] = [
        READY,
        b"HTTP/1.1 400 Bad Request\r\n",
        b"R\0\0\0\x03",
        b"R\0\0\0\x04",
        &longest,
        b"\0\0\0\0\0",
    ];
    for says in out_of_turn {
        let error = refused_by(says.to_vec());
        assert!(matches!(error.engine_code(), Some("protocol") | None), "{error}");
    }
    let server = Server::start(vec![Box::new(|peer| {
        peer.startup();
        peer.say(&sasl("SCRAM-SHA-256"));
        peer.hear();
        peer.say(&message('R', b"\0\0\0\x0br=not-ours,s=c2FsdA==,i=4096"));
    })]);
    assert_eq!(connect(&server.login).err().unwrap().engine_code(), Some("protocol"));
    server.end();
}

#[test]
fn a_server_that_hangs_up_is_an_error() {
    assert_eq!(refused_by(Vec::new()).engine_code(), Some("lost"));
    assert_eq!(refused_by(b"R\0\0".to_vec()).engine_code(), Some("lost"));
}

// Servers that could be any other.

/// The log-in to a server in plain text elsewhere, which says this and reads no answer.
fn from_afar(says: Vec<u8>, require_auth: &[&str]) -> Result<(), Error> {
    let mut server = Server::start(vec![Box::new(move |peer| {
        peer.startup();
        peer.say(&says);
        let _ = peer.0.read_to_end(&mut Vec::new());
    })]);
    server.login.proof.require_auth = require_auth.iter().map(|it| (*it).to_owned()).collect();
    let line = Line::connect(&server.login).unwrap();
    let opened = login::open_over(line, Reach::Encrypted, &server.login);
    assert!(!format!("{:?}", opened.as_ref().err()).contains("secret"));
    let opened = opened.map(drop);
    server.end();
    opened
}

#[test]
fn a_server_that_could_be_any_other_is_given_no_weak_proof() {
    let scram = [sasl("SCRAM-SHA-256"), message('R', b"\0\0\0\x0br=x,s=c2FsdA==,i=1")].concat();
    for (asks, says) in [
        (ASKS_MD5.to_vec(), "an MD5 of the password"),
        (ASKS_CLEARTEXT.to_vec(), "wants the password"),
        (scram, "weak authentication"),
    ] {
        let error = from_afar(asks, &[]).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        let failure = error.failure(None);
        assert_eq!(
            (failure.blame.as_str(), failure.hint.contains("sslmode=verify-full")),
            ("user", true)
        );
    }
}

#[test]
fn a_weak_proof_is_given_where_the_login_says_so() {
    for (asks, method) in [(ASKS_MD5, "md5"), (ASKS_CLEARTEXT, "password")] {
        let admitted = [asks, WELCOME].concat();
        from_afar(admitted, &["scram-sha-256", method]).unwrap();
    }
}

#[test]
fn a_server_that_asks_for_less_than_the_login_wants_is_refused() {
    for asks in [WELCOME, ASKS_MD5, ASKS_CLEARTEXT] {
        let error = from_afar(asks.to_vec(), &["scram-sha-256"]).unwrap_err();
        assert!(error.to_string().contains("method that require_auth excludes"), "{error}");
    }
}

#[test]
fn a_login_that_wants_a_bound_proof_gives_no_other() {
    for asks in [
        WELCOME.to_vec(),
        ASKS_MD5.to_vec(),
        ASKS_CLEARTEXT.to_vec(),
        sasl("SCRAM-SHA-256"),
        sasl("SCRAM-SHA-256-PLUS"),
    ] {
        let mut server = Server::start(vec![Box::new(move |peer| {
            peer.startup();
            peer.say(&asks);
            assert_eq!(peer.0.read_to_end(&mut Vec::new()).unwrap(), 0);
        })]);
        server.login.proof.channel_binding = ChannelBinding::Require;
        let error = connect(&server.login).err().unwrap();
        assert!(error.to_string().contains("cannot bind the proof"), "{error}");
        server.end();
    }
}
