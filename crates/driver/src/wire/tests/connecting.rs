//! What is said where nobody answers.

use std::net::TcpListener;

use super::{Server, exchange};
use crate::plan::login::Login;
use crate::wire::Line;

fn login(host: &str, port: u16) -> Login {
    let server = Server::start(0, drop);
    Login { host: host.to_owned(), port, ..server.login.clone() }
}

fn refusal(host: &str, port: u16) -> (String, String, String) {
    let error = Line::connect(&login(host, port)).map(drop).unwrap_err();
    let failure = error.failure(None);
    (failure.blame, failure.message, failure.hint)
}

#[test]
fn a_socket_that_is_not_there_is_named() {
    let (blame, message, hint) = refusal("/nowhere/.s.PGSQL.5432", 0);
    assert_eq!(blame, "engine");
    assert!(message.starts_with("cannot connect to /nowhere/.s.PGSQL.5432: No such file"));
    assert_eq!(hint, "is the server running, and listening there?");
}

#[test]
fn a_path_that_the_kernel_does_not_take_is_the_users_to_shorten() {
    let (blame, message, hint) = refusal(&format!("/{}", "long/".repeat(30)), 0);
    assert_eq!(blame, "user");
    assert!(message.starts_with("the socket's path is too long: /long/long"), "{message}");
    assert!(hint.contains("107 bytes"), "{hint}");
}

#[test]
fn a_closed_port_is_named_with_its_host() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let (blame, message, _) = refusal("127.0.0.1", port);
    assert_eq!(blame, "engine");
    let expected = format!("cannot connect to 127.0.0.1 port {port}: Connection refused");
    assert!(message.starts_with(&expected), "{message}");
}

#[test]
fn an_unknown_host_is_the_users_to_put_right() {
    let (blame, message, hint) = refusal("no-such-host.invalid", 1);
    assert_eq!(blame, "user");
    assert!(message.starts_with("cannot find the host no-such-host.invalid"), "{message}");
    assert!(!hint.is_empty());
}

#[test]
fn a_host_is_reached_by_name_and_by_address() {
    for host in ["localhost", "127.0.0.1"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut peer, _) = listener.accept().unwrap();
            std::io::copy(&mut peer.try_clone().unwrap(), &mut peer).unwrap();
        });
        let mut line = Line::connect(&login(host, port)).unwrap();
        line.out().extend_from_slice(b"hello");
        assert_eq!(exchange(&mut line, 0, 5).unwrap(), b"hello");
        drop(line);
        server.join().unwrap();
    }
}
