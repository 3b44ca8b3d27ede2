//! Who is woken, and when.

use std::io::Read;
use std::time::Duration;

use super::{Server, echo, exchange, pattern, rest_for};
use crate::schedule::clock::{SECOND_NS, now_ns};
use crate::wire::{Line, attend, rest};

pub fn who_awaits_a_line_is_woken_when_all_has_left() {
    const BYTES: usize = 3_000_000;
    let server = Server::start(1, |mut peer| {
        std::thread::sleep(Duration::from_millis(20));
        peer.read_exact(&mut vec![0; BYTES]).unwrap();
        let _ = peer.read(&mut [0]);
    });
    let mut line = Line::connect(&server.login).unwrap();
    line.out().extend_from_slice(&pattern(BYTES));
    line.send().unwrap();
    attend(5);
    assert!(!line.more().unwrap());
    while line.unsent() > 0 {
        rest_for(5);
        assert!(!line.more().unwrap());
    }
    drop(line);
    server.end();
}

pub fn a_peer_that_goes_away_wakes_who_waits() {
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
            attend(slot as u32);
            line.out().extend_from_slice(&(round * LINES + slot as u32).to_ne_bytes());
            line.send().unwrap();
        }
        let (mut missing, until_ns) = (LINES, now_ns() + 20 * SECOND_NS);
        while missing > 0 {
            assert!(now_ns() < until_ns, "{missing} slots were never woken");
            let mut ready = Vec::new();
            rest(until_ns, &mut ready);
            for slot in ready {
                attend(slot);
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

pub fn a_rest_ends_in_time_when_nothing_comes() {
    let server = Server::start(1, |mut peer| drop(peer.read(&mut [0])));
    let mut line = Line::connect(&server.login).unwrap();
    assert!(!line.more().unwrap());
    for ns in [0, 300_000, 1_000_000, 5_300_000] {
        let until_ns = now_ns() + ns;
        let mut ready = Vec::new();
        rest(if ns == 0 { 0 } else { until_ns }, &mut ready);
        assert!(ready.is_empty());
        assert!(now_ns() + 1_000_000 >= until_ns, "a rest of {ns} ns was over early");
    }
    drop(line);
    server.end();
}

pub fn a_wait_for_one_line_keeps_what_came_for_others() {
    let server = Server::start(2, |peer| drop(std::thread::spawn(|| echo(peer))));
    let mut one = Line::connect(&server.login).unwrap();
    let mut other = Line::connect(&server.login).unwrap();
    attend(8);
    one.out().push(1);
    one.send().unwrap();
    assert!(!one.more().unwrap());
    attend(9);
    for _ in 0..20 {
        other.out().push(2);
        other.wait().unwrap();
        other.consume(1);
    }
    rest_for(8);
    assert!(one.more().unwrap());
    assert_eq!(one.inbox(), [1]);
    drop((one, other));
    server.end();
}
