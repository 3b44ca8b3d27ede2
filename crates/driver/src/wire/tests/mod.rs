//! What holds for every way of asking the kernel: played on each of them.
#![allow(clippy::unwrap_used)]

mod tls;
mod traffic;

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::{UnixListener, UnixStream};
use std::rc::Rc;
use std::thread::JoinHandle;

use super::exchange::Exchange;
use super::thread::EXCHANGE;
use super::{Line, set_slot, wait};
use crate::plan::error::Error;
use crate::plan::{Login, Tls, TlsMode};
use crate::schedule::clock::{SECOND_NS, now_ns};
use crate::testing::Folder;
use tls::what_goes_through_tls_comes_back;
use traffic::*;

/// A server in a thread: what it does with each connection, in turn.
struct Server {
    login: Login,
    thread: Option<JoinHandle<()>>,
    _folder: Folder,
}

impl Server {
    fn start(connections: usize, serve: impl Fn(UnixStream) + Send + 'static) -> Self {
        let folder = Folder::new();
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let thread = std::thread::spawn(move || {
            for _ in 0..connections {
                serve(listener.accept().unwrap().0);
            }
        });
        let login = Login {
            host: path.display().to_string(),
            port: 0,
            user: String::new(),
            password: None,
            database: String::new(),
            tls: Tls { mode: TlsMode::Disable, ca: None },
            settings: Vec::new(),
            tells_notices: false,
            proof: Default::default(),
            reads_only: None,
        };
        Self { login, thread: Some(thread), _folder: folder }
    }

    fn end(mut self) {
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Rests until a slot is handed over.
fn wait_for(slot: u32) {
    let (mut ready, until_ns) = (Vec::new(), now_ns() + 20 * SECOND_NS);
    while !ready.contains(&slot) {
        wait(until_ns, &mut ready);
        assert!(now_ns() < until_ns, "slot {slot} was never woken");
    }
}

/// Sends, and rests until so many bytes have come.
fn exchange(line: &mut Line, slot: u32, bytes: usize) -> Result<Vec<u8>, Error> {
    set_slot(slot);
    line.send()?;
    let mut got = Vec::new();
    while got.len() < bytes {
        set_slot(slot);
        while !line.more()? {
            wait_for(slot);
            set_slot(slot);
        }
        got.extend_from_slice(line.inbox());
        line.consume(line.inbox().len());
    }
    Ok(got)
}

fn echo(mut peer: UnixStream) {
    let mut bytes = [0; 4096];
    while let Ok(read @ 1..) = peer.read(&mut bytes) {
        peer.write_all(&bytes[..read]).unwrap();
    }
}

/// Patterned, so that a byte out of place is seen.
fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|n| (n ^ n >> 8 ^ n >> 16) as u8).collect()
}

macro_rules! on_both {
    ($($name:ident)*) => {
        mod epoll {
            $(#[test] fn $name() {
                super::choose(crate::wire::poll::Poll::new().unwrap());
                super::$name();
            })*
        }
        mod io_uring {
            $(#[test] fn $name() {
                // Where a host refuses it, there is nothing to test; CI's does not.
                let Ok(ring) = crate::wire::uring::Uring::new() else { return };
                super::choose(ring);
                super::$name();
            })*
        }
    };
}

fn choose(exchange: impl Exchange + 'static) {
    EXCHANGE.set(Some(Rc::new(RefCell::new(Box::new(exchange)))));
}

on_both! {
    answers_come_back
    an_unconsumed_part_stays_until_the_rest_has_come
    many_megabytes_go_both_ways_at_once
    a_waiting_user_is_woken_when_all_bytes_have_left
    the_servers_last_bytes_are_read_before_the_end
    the_servers_last_bytes_are_read_though_it_read_no_request
    a_closed_connection_wakes_the_user_who_waits
    each_of_many_lines_wakes_its_own_slot
    a_line_may_be_dropped_while_its_answer_is_under_way
    a_wait_ends_in_time_when_nothing_comes
    a_wait_for_one_line_keeps_what_came_for_others
    what_goes_through_tls_comes_back
}

// What is said where nobody answers.

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
