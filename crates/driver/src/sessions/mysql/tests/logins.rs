//! Log-ins: by every method, refused in every way, and never with the password in an error.

use std::net::TcpListener;

use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;
use mysql_common::auth::plugins::mysql_native_password::scramble_native;

use super::{ADMITTED, GREETING_5, GREETING_8, Server, Step, after_login, bytes, packet};
use crate::plan::error::Error;
use crate::plan::{Login, Tls, TlsMode};
use crate::sessions::mysql::auth;
use crate::sessions::reach::Reach;
use crate::testing::Folder;
use crate::wire::Line;

const NONCE: &[u8; 20] = b"0123456789abcdefghij";

fn say(number: u8, content: &[u8]) -> Step {
    Step::Say(packet(number, content))
}

fn switch(method: &str) -> Step {
    say(2, &[b"\xfe", method.as_bytes(), b"\0", NONCE, b"\0"].concat())
}

fn refused(steps: &[Step]) -> Error {
    let server = Server::start(vec![steps.to_vec()]);
    let error = server.open().err().unwrap();
    assert!(!format!("{error} {:?}", error.failure(None)).contains("secret"), "{error}");
    error
}

#[test]
fn the_response_names_user_database_and_method() {
    for (greeting, method) in
        [(GREETING_8, "caching_sha2_password"), (GREETING_5, "mysql_native_password")]
    {
        let steps = vec![Step::Say(bytes(greeting)), Step::Hear, Step::Say(bytes(ADMITTED))];
        let server = Server::start(vec![steps]);
        drop(server.open().unwrap());
        let response = server.received().remove(0);
        assert!(response[32..].starts_with(b"ann\0"));
        assert!(response.ends_with(format!("dyno\0{method}\0").as_bytes()));
        assert_eq!(response[8], 45, "utf8mb4");
    }
}

#[test]
fn the_account_may_have_another_method_than_the_greeting() {
    let native = scramble_native(NONCE, b"secret").unwrap().to_vec();
    let sha = scramble_sha256(NONCE, b"secret").unwrap().to_vec();
    for (method, proof) in [("mysql_native_password", native), ("caching_sha2_password", sha)] {
        let greeting = Step::Say(bytes(GREETING_8));
        let done = Step::Say(bytes(ADMITTED));
        let steps = vec![greeting, Step::Hear, switch(method), Step::Hear, done];
        let server = Server::start(vec![steps]);
        drop(server.open().unwrap());
        assert_eq!(server.received()[1], proof);
    }
}

#[test]
fn a_password_that_is_not_cached_goes_over_a_socket_in_clear() {
    let full = say(2, b"\x01\x04");
    let done = Step::Say(bytes(ADMITTED));
    let steps = vec![Step::Say(bytes(GREETING_8)), Step::Hear, full, Step::Hear, done.clone()];
    let cached = vec![Step::Say(bytes(GREETING_8)), Step::Hear, say(2, b"\x01\x03"), done];
    let server = Server::start(vec![steps, cached]);
    drop(server.open().unwrap());
    drop(server.open().unwrap());
    assert_eq!(server.received()[1], b"secret\0");
}

#[test]
fn ed25519_signs_what_the_server_sent() {
    let nonce = [7; 32];
    let challenge = [b"\xfeclient_ed25519\0", &nonce[..]].concat();
    let done = Step::Say(bytes(ADMITTED));
    let greeting = Step::Say(bytes(GREETING_5));
    let steps = vec![greeting, Step::Hear, say(2, &challenge), Step::Hear, done];
    let server = Server::start(vec![steps]);
    drop(server.open().unwrap());
    assert_eq!(server.received()[1].len(), 64);
}

#[test]
fn clear_text_and_unknown_methods_are_refused() {
    for (method, say_all) in [
        ("mysql_clear_password", "the password in clear text"),
        ("mysql_old_password", "dyno has no such method"),
        ("auth_gssapi_client", "dyno has no such method"),
    ] {
        let error = refused(&[Step::Say(bytes(GREETING_8)), Step::Hear, switch(method)]);
        assert!(error.to_string().contains(say_all), "{error}");
        assert_eq!(error.failure(None).blame, "user");
    }
}

#[test]
fn a_refused_log_in_is_blamed_on_who_can_put_it_right() {
    let cases: [(&[u8], &str); 4] = [
        (b"\xff\x15\x04#28000Access denied for user 'ann'", "cannot log in to"),
        (b"\xff\x19\x04#42000Unknown database 'dyno'", "no database dyno on"),
        (b"\xff\x14\x04#42000Access denied to database", "ann may not use the database dyno"),
        (b"\xff\x10\x04#08004Too many connections", "takes no more connections"),
    ];
    for (content, say_all) in cases {
        let error = refused(&[Step::Say(bytes(GREETING_8)), Step::Hear, say(2, content)]);
        assert!(error.to_string().contains(say_all), "{error}");
        assert_eq!(error.failure(None).blame, "user");
        assert!(!error.failure(None).hint.is_empty());
    }
    let blocked = refused(&[say(0, b"\xff\x6a\x04Host 'x' is not allowed to connect")]);
    assert!(blocked.to_string().contains("refuses connections"), "{blocked}");
}

#[test]
fn tls_that_is_not_offered_is_refused_before_anything_is_said() {
    let server = Server::start(vec![vec![Step::Say(bytes(GREETING_5)), Step::Hear]]);
    let mut login = server.login();
    login.tls.mode = TlsMode::Require;
    let error = super::super::connect(&login).err().unwrap();
    assert!(error.to_string().ends_with("offers no TLS"), "{error}");
    assert!(server.received().is_empty());
}

#[test]
fn settings_are_made_in_order_and_quoted() {
    let done = Step::Say(bytes(ADMITTED));
    let server = Server::start(vec![after_login(&[Step::Hear, done])]);
    let mut login = server.login();
    let pairs = [("wait_timeout", "9"), ("sql_mode", "A'B"), ("x", "DEFAULT"), ("y", "'q'")];
    login.settings = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    drop(super::super::connect(&login).unwrap());
    let sent = String::from_utf8(server.received().remove(1)).unwrap();
    assert_eq!(
        sent,
        "\x03SET SESSION wait_timeout = 9, SESSION sql_mode = 'A''B', \
         SESSION x = DEFAULT, SESSION y = 'q'"
    );
    let server = Server::start(vec![after_login(&[])]);
    let mut login = server.login();
    login.settings = vec![("a = 1; DROP".to_owned(), "1".to_owned())];
    let error = super::super::connect(&login).err().unwrap();
    assert!(error.to_string().contains("is not the name of a session setting"), "{error}");
}

// The password itself, and who may have it.

/// Everything that leaves for a server that names this method and asks on with this challenge.
fn sent(login: &Login, reach: Reach, method: &str, asks: &[u8]) -> Result<Vec<u8>, Error> {
    let (mut auth, first) = auth::Auth::begin(login, reach, method.as_bytes(), NONCE)?;
    let then = if asks.is_empty() { None } else { auth.go_on(asks)? };
    Ok([first, then.unwrap_or_default()].concat())
}

/// What asks for all of the password.
const ASKS: [(&str, &[u8]); 3] =
    [("caching_sha2_password", b"\x04"), ("sha256_password", b""), ("mysql_clear_password", b"")];

fn login_by(mode: TlsMode) -> Login {
    let mut login = Server::start(Vec::new()).login();
    (login.host, login.tls.mode) = ("db.example".to_owned(), mode);
    login
}

fn has_password(sent: &[u8]) -> bool {
    sent.windows(6).any(|it| it == b"secret")
}

#[test]
fn a_server_that_could_be_any_other_is_not_sent_the_password() {
    for (mode, reach) in [(TlsMode::Disable, Reach::Open), (TlsMode::Require, Reach::Encrypted)] {
        for (method, asks) in ASKS {
            let error = sent(&login_by(mode), reach, method, asks).unwrap_err();
            let failure = error.failure(None);
            assert_eq!(failure.blame, "user", "{method}");
            assert!(failure.hint.contains("ssl-mode=verify_identity"), "{}", failure.hint);
            assert!(!format!("{failure:?}").contains("secret"));
        }
    }
}

#[test]
fn a_server_that_tls_has_verified_is_sent_the_password() {
    for (method, asks) in ASKS {
        let login = login_by(TlsMode::VerifyFull);
        assert!(has_password(&sent(&login, Reach::Verified, method, asks).unwrap()), "{method}");
    }
}

#[test]
fn whoever_answers_is_sent_the_password_where_the_login_says_so() {
    let mut login = login_by(TlsMode::Require);
    login.proof.enable_cleartext_plugin = true;
    for (method, asks) in ASKS {
        assert!(has_password(&sent(&login, Reach::Encrypted, method, asks).unwrap()), "{method}");
    }
    let mut plain = login_by(TlsMode::Disable);
    plain.proof.enable_cleartext_plugin = true;
    assert!(sent(&plain, Reach::Open, "mysql_clear_password", b"").is_err(), "never in plain");
    plain.proof.get_server_public_key = true;
    let asked = sent(&plain, Reach::Open, "caching_sha2_password", b"\x04").unwrap();
    assert_eq!(asked.last(), Some(&2), "it asks for the key");
    assert_eq!(sent(&plain, Reach::Open, "sha256_password", b"").unwrap(), [1]);
}

#[test]
fn a_server_whose_key_the_login_names_is_sent_the_password_under_it() {
    let folder = Folder::new();
    let path = folder.path().join("key.pem");
    std::fs::write(&path, include_str!("key.pem")).unwrap();
    let mut login = login_by(TlsMode::Disable);
    login.proof.server_public_key = Some(path.clone());
    let sealed = sent(&login, Reach::Open, "caching_sha2_password", b"\x04").unwrap();
    assert_eq!(sealed.len(), 32 + 256, "the proof, then 2048 bits");
    assert!(!has_password(&sealed));
    std::fs::write(&path, "no key").unwrap();
    let error = sent(&login, Reach::Open, "caching_sha2_password", b"\x04").unwrap_err();
    assert!(error.to_string().contains("key.pem holds no RSA key"), "{error}");
}

#[test]
fn by_a_socket_or_on_this_machine_the_server_is_known() {
    let server = Server::start(vec![vec![Step::Say(bytes(GREETING_8))]]);
    let login = Login { tls: Tls { mode: TlsMode::Disable, ca: None }, ..server.login() };
    assert_eq!(Reach::of(&login, &Line::connect(&login).unwrap()), Reach::Near);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let by_port = Login { host: "127.0.0.1".to_owned(), port, ..login };
    assert_eq!(Reach::of(&by_port, &Line::connect(&by_port).unwrap()), Reach::Near);
}

// Public keys that a server sends.

#[test]
fn a_public_key_is_looked_at_before_it_is_used() {
    let pem = include_str!("key.pem");
    assert_eq!(auth::check(pem.as_bytes(), 20), Some(()));
    assert_eq!(auth::check(pem.as_bytes(), 215), None, "a message that does not fit");
    for cut in 0..pem.len() - 1 {
        assert_eq!(auth::check(&pem.as_bytes()[..cut], 20), None);
    }
    assert_eq!(auth::check(b"", 20), None);
}

#[test]
fn a_name_with_a_nul_is_refused_and_not_cut_there() {
    let server = Server::start(Vec::new());
    for login in [
        Login { user: "ann\0x".to_owned(), ..server.login() },
        Login { database: "dyno\0x".to_owned(), ..server.login() },
    ] {
        let error = crate::sessions::mysql::connect(&login).err().unwrap();
        assert_eq!(error.failure(None).blame, "user");
        assert!(error.to_string().contains("holds a NUL"), "{error}");
    }
    assert!(server.received().is_empty(), "nothing was sent");
}
