//! What is sent and what comes.

use std::io::{Read, Write};
use std::time::Duration;

use super::{Server, echo, exchange, pattern, wait_for};
use crate::schedule::clock::{SECOND_NS, now_ns};
use crate::wire::{Line, set_slot, wait};

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

pub fn an_unconsumed_part_stays_until_the_rest_has_come() {
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
            wait_for(0);
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

pub fn the_servers_last_bytes_are_read_before_the_end() {
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
        wait(0, &mut Vec::new());
        drop(dropped);
        let mut line = Line::connect(&server.login).unwrap();
        line.out().push(n);
        assert_eq!(exchange(&mut line, u32::from(n), 100).unwrap(), [n; 100]);
    }
    server.end();
}

pub fn the_servers_last_bytes_are_read_though_it_read_no_request() {
    let server = Server::start(1, |mut peer| {
        std::thread::sleep(Duration::from_millis(20));
        peer.write_all(b"shutting down").unwrap();
    });
    let mut line = Line::connect(&server.login).unwrap();
    line.out().extend_from_slice(b"a request that nobody reads");
    line.send().unwrap();
    wait(now_ns() + 5_000_000, &mut Vec::new());
    server.end();
    assert_eq!(exchange(&mut line, 1, 13).unwrap(), b"shutting down");
    assert_eq!(exchange(&mut line, 1, 1).unwrap_err().engine_code(), Some("lost"));
}

// Who is woken, and when.

pub fn a_waiting_user_is_woken_when_all_bytes_have_left() {
    const BYTES: usize = 3_000_000;
    let server = Server::start(1, |mut peer| {
        std::thread::sleep(Duration::from_millis(20));
        peer.read_exact(&mut vec![0; BYTES]).unwrap();
        let _ = peer.read(&mut [0]);
    });
    let mut line = Line::connect(&server.login).unwrap();
    line.out().extend_from_slice(&pattern(BYTES));
    line.send().unwrap();
    set_slot(5);
    assert!(!line.more().unwrap());
    while line.unsent() > 0 {
        wait_for(5);
        assert!(!line.more().unwrap());
    }
    drop(line);
    server.end();
}

pub fn a_closed_connection_wakes_the_user_who_waits() {
    let server = Server::start(1, |mut peer| {
        peer.read_exact(&mut [0; 4]).unwrap();
        std::thread::sleep(Duration::from_millis(10));
    });
    let mut line = Line::connect(&server.login).unwrap();
    line.out().extend_from_slice(b"ping");
    assert_eq!(exchange(&mut line, 1, 1).unwrap_err().engine_code(), Some("lost"));
    server.end();
}

pub fn each_of_many_lines_wakes_its_own_slot() {
    const LINES: u32 = 200;
    let server = Server::start(LINES as usize, |peer| drop(std::thread::spawn(|| echo(peer))));
    let mut lines: Vec<Line> = (0..LINES).map(|_| Line::connect(&server.login).unwrap()).collect();
    for round in 0..5u32 {
        for (slot, line) in lines.iter_mut().enumerate() {
            set_slot(slot as u32);
            line.out().extend_from_slice(&(round * LINES + slot as u32).to_ne_bytes());
            line.send().unwrap();
        }
        let (mut missing, until_ns) = (LINES, now_ns() + 20 * SECOND_NS);
        while missing > 0 {
            assert!(now_ns() < until_ns, "{missing} slots were never woken");
            let mut ready = Vec::new();
            wait(until_ns, &mut ready);
            for slot in ready {
                set_slot(slot);
                let line = &mut lines[slot as usize];
                assert!(line.more().unwrap(), "slot {slot} was woken for nothing");
                assert_eq!(line.inbox(), (round * LINES + slot).to_ne_bytes());
                line.consume(4);
                missing -= 1;
            }
        }
    }
    drop(lines);
    server.end();
}

pub fn a_wait_ends_in_time_when_nothing_comes() {
    let server = Server::start(1, |mut peer| drop(peer.read(&mut [0])));
    let mut line = Line::connect(&server.login).unwrap();
    assert!(!line.more().unwrap());
    for ns in [0, 300_000, 1_000_000, 5_300_000] {
        let until_ns = now_ns() + ns;
        let mut ready = Vec::new();
        wait(if ns == 0 { 0 } else { until_ns }, &mut ready);
        assert!(ready.is_empty());
        assert!(now_ns() + 1_000_000 >= until_ns, "a wait of {ns} ns was over early");
    }
    drop(line);
    server.end();
}

pub fn a_wait_for_one_line_keeps_what_came_for_others() {
    let server = Server::start(2, |peer| drop(std::thread::spawn(|| echo(peer))));
    let mut one = Line::connect(&server.login).unwrap();
    let mut other = Line::connect(&server.login).unwrap();
    set_slot(8);
    one.out().push(1);
    one.send().unwrap();
    assert!(!one.more().unwrap());
    set_slot(9);
    for _ in 0..20 {
        other.out().push(2);
        other.wait().unwrap();
        other.consume(1);
    }
    wait_for(8);
    assert!(one.more().unwrap());
    assert_eq!(one.inbox(), [1]);
    drop((one, other));
    server.end();
}
