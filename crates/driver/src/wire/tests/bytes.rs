//! What is sent and what comes.

use std::io::{Read, Write};
use std::time::Duration;

use super::{Server, echo, exchange, pattern, rest_for};
use crate::schedule::clock::now_ns;
use crate::wire::{Line, rest};

pub fn answers_come_back() {
    let server = Server::start(1, echo);
    let mut line = Line::connect(&server.login).unwrap();
    for n in 0..100u8 {
        line.out().extend_from_slice(&[n; 10]);
        assert_eq!(exchange(&mut line, 7, 10).unwrap(), [n; 10]);
    }
    drop(line);
    server.end();
}

pub fn a_part_stays_until_the_rest_has_come() {
    let server = Server::start(1, |mut peer| {
        for byte in b"hello" {
            peer.write_all(&[*byte]).unwrap();
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = peer.read(&mut [0]);
    });
    let mut line = Line::connect(&server.login).unwrap();
    while line.inbox().len() < 5 {
        let seen = line.inbox().to_vec();
        if !line.more().unwrap() {
            assert_eq!(line.inbox(), seen, "what came is not moved by waiting for more");
            rest_for(0);
        }
    }
    line.consume(2);
    assert_eq!(line.inbox(), b"llo");
    drop(line);
    server.end();
}

pub fn many_megabytes_go_both_ways_at_once() {
    let server = Server::start(1, echo);
    let mut line = Line::connect(&server.login).unwrap();
    let sent = pattern(5_000_000);
    line.out().extend_from_slice(&sent);
    line.send().unwrap();
    assert!(line.unsent() > 0, "a socket takes less than that at once");
    assert!(exchange(&mut line, 3, sent.len()).unwrap() == sent);
    assert_eq!(line.unsent(), 0);
    drop(line);
    server.end();
}

pub fn the_last_words_are_read_before_the_end() {
    let server = Server::start(1, |mut peer| peer.write_all(b"shutting down").unwrap());
    let mut line = Line::connect(&server.login).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    line.out().extend_from_slice(b"a request that comes too late");
    assert_eq!(exchange(&mut line, 1, 13).unwrap(), b"shutting down");
    let error = exchange(&mut line, 1, 1).unwrap_err();
    assert_eq!((error.engine_code(), error.is_engine()), (Some("lost"), true));
    server.end();
}

pub fn a_line_may_be_dropped_while_its_answer_is_under_way() {
    let server = Server::start(60, |mut peer| {
        let mut byte = [0; 1];
        if let Ok(1) = peer.read(&mut byte) {
            // It may be gone by now.
            let _ = peer.write_all(&[byte[0]; 100]);
            std::mem::forget(peer);
        }
    });
    for n in 0..30u8 {
        let mut dropped = Line::connect(&server.login).unwrap();
        dropped.out().push(255);
        assert!(!{
            dropped.send().unwrap();
            dropped.more().unwrap()
        });
        rest(0, &mut Vec::new());
        drop(dropped);
        let mut line = Line::connect(&server.login).unwrap();
        line.out().push(n);
        assert_eq!(exchange(&mut line, u32::from(n), 100).unwrap(), [n; 100]);
    }
    server.end();
}

pub fn the_last_words_are_read_though_the_request_was_not() {
    let server = Server::start(1, |mut peer| {
        std::thread::sleep(Duration::from_millis(20));
        peer.write_all(b"shutting down").unwrap();
    });
    let mut line = Line::connect(&server.login).unwrap();
    line.out().extend_from_slice(b"a request that nobody reads");
    line.send().unwrap();
    rest(now_ns() + 5_000_000, &mut Vec::new());
    server.end();
    assert_eq!(exchange(&mut line, 1, 13).unwrap(), b"shutting down");
    assert_eq!(exchange(&mut line, 1, 1).unwrap_err().engine_code(), Some("lost"));
}
