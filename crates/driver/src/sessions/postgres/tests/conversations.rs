//! Whole conversations with a server whose messages are mutilated, too long or in the wrong order:
//! each request ends in an answer or an error, and none waits for ever.

use std::io::{Read, Write};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus as Dice;

use super::super::open;
use super::server::{READY, Scene, Server, columns, complete, end, message, row};
use crate::plan::error::Error;
use crate::plan::login::Login;
use crate::sessions::Value;
use crate::testing::{One, disordered, mutated};

const CASES: usize = 300;

/// What a server says to [`converse`]: a log-in, a statement made and executed, a query, a batch, a
/// bulk load.
fn messages() -> Vec<Vec<u8>> {
    let (one, selected) = (row(&[Some("1")]), complete("SELECT 1"));
    let (bound, ready) = (message('2', b""), READY.to_vec());
    let login = [message('R', b"\0\0\0\0"), message('S', b"a\0b\0"), message('K', &[7; 8])];
    let made = [message('1', b""), message('t', b"\0\x01\0\0\0\x17"), columns(&["c"])];
    let executed = [bound.clone(), one.clone(), selected.clone()];
    let asked = [columns(&["c"]), one.clone(), selected];
    let batch = [bound.clone(), one, complete("INSERT 0 1"), bound, complete("UPDATE 2")];
    let copied = [message('G', b"\0\0\0"), complete("COPY 1")];
    let parts = [&login[..], &made, &executed, &asked, &batch, &copied];
    parts.into_iter().flat_map(|part| [part, std::slice::from_ref(&ready)].concat()).collect()
}

/// Everything that a session does; what was answered.
fn converse(login: &Login) -> Result<usize, Error> {
    let mut session = open(login)?;
    let mut answered = 0;
    if let Ok(handle) = session.prepare("SELECT ?") {
        let sent = session.execute(handle, &[Value::Integer(1)]);
        answered += usize::from(end(session.as_mut(), sent).is_ok());
    }
    let sent = session.query("SELECT 1");
    answered += usize::from(end(session.as_mut(), sent).is_ok());
    session.begin_batch()?;
    session.query("INSERT")?;
    let sent = session.sync();
    answered += usize::from(end(session.as_mut(), sent).is_ok());
    let sent = session.load("COPY t FROM STDIN", Box::new(One(Some("row\n"))));
    answered += usize::from(end(session.as_mut(), sent).is_ok());
    Ok(answered)
}

/// How many requests were answered in conversations with servers that say these messages, each
/// time hearing what is asked next, if anything is within `patience`.
fn answered(cases: Vec<Vec<Vec<u8>>>, patience: Duration) -> usize {
    let count = cases.len();
    let scene = |messages: Vec<Vec<u8>>| -> Scene {
        Box::new(move |peer| {
            peer.startup();
            for message in messages {
                if peer.0.write_all(&message).is_err() {
                    return;
                }
                if message.starts_with(b"Z") || message.starts_with(b"G") {
                    peer.0.set_read_timeout(Some(patience)).unwrap();
                    let _ = peer.0.read(&mut [0; 1 << 12]);
                }
            }
        })
    };
    let server = Server::start(cases.into_iter().map(scene).collect());
    let answered = (0..count).map(|_| converse(&server.login).unwrap_or(0)).sum();
    server.end();
    answered
}

/// Plays conversations that are spoiled, each in another way.
fn spoiled(seed: u64, spoil: impl Fn(&mut Dice, Vec<Vec<u8>>) -> Vec<Vec<u8>>) {
    let mut dice = Dice::seed_from_u64(seed);
    let cases = (0..CASES).map(|_| spoil(&mut dice, messages())).collect();
    let found = answered(cases, Duration::from_millis(2));
    assert!(found < 4 * CASES, "nothing was spoiled");
}

#[test]
fn a_conversation_that_nobody_spoiled_is_answered_to_its_end() {
    assert_eq!(answered(vec![messages()], Duration::from_secs(5)), 4);
}

#[test]
fn messages_mutilated_or_torn() {
    spoiled(21, |dice, mut messages| {
        let at = dice.random_range(0..messages.len());
        messages[at] = mutated(dice, &messages[at]);
        if dice.random() {
            messages.truncate(at + 1);
        }
        messages
    });
}

#[test]
fn messages_in_the_wrong_order() {
    spoiled(22, |dice, messages| disordered(dice, &messages));
}

#[test]
fn lengths_that_are_none() {
    spoiled(23, |dice, mut messages| {
        let at = dice.random_range(0..messages.len());
        let length = [0, 3, 5, 30_001, 1 << 30, u32::MAX / 2, u32::MAX][dice.random_range(0..7)];
        messages[at][1..5].copy_from_slice(&length.to_be_bytes());
        messages
    });
}
