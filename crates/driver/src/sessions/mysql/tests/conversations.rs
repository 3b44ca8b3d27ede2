//! Whole conversations with a server whose packets are in the wrong order or of lengths that are
//! none: each request ends in an answer or an error, and none waits for ever.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus as Dice;

use super::super::answer::{Answer, Asked};
use super::super::packet::{HEADER, length};
use super::server::{Server, Step, wait};
use super::transcripts::{ADMITTED, GREETING_8, PREPARED_8, ROW_8, TWO_RESULTS_8, bytes};
use super::{answer, column, ok};
use crate::plan::error::Error;
use crate::sessions::Value;
use crate::testing::{One, disordered, mutated};

const CASES: usize = 300;

/// The packets of what 8.0.33 says to [`converse`].
fn packets() -> Vec<Vec<u8>> {
    let recorded = [GREETING_8, ADMITTED, PREPARED_8, ROW_8, TWO_RESULTS_8].map(bytes).concat();
    let loaded = [answer(&[&ok(2, 2)]), answer(&[b"\xfbrows", &ok(1, 2)])].concat();
    let (mut rest, mut packets) = (&[recorded, loaded].concat()[..], Vec::new());
    while !rest.is_empty() {
        let (packet, more) = rest.split_at(HEADER + length(rest));
        packets.push(packet.to_vec());
        rest = more;
    }
    packets
}

/// Everything that a session does; how much of it was answered.
fn converse(server: &Server) -> Result<usize, Error> {
    let mut session = server.open()?;
    let mut answered = 0;
    if let Ok(statement) = session.prepare("SELECT ?") {
        let sent = session.execute(statement, &[Value::Integer(1)]);
        answered += usize::from(wait(session.as_mut(), sent).is_ok());
    }
    let sent = session.query("SELECT b; UPDATE t");
    answered += usize::from(wait(session.as_mut(), sent).is_ok());
    session.begin_batch()?;
    session.query("UPDATE t")?;
    let sent = session.sync();
    answered += usize::from(wait(session.as_mut(), sent).is_ok());
    let sent = session.load("LOAD DATA", Box::new(One(Some("1\ta\n"))));
    drop(wait(session.as_mut(), sent));
    Ok(answered)
}

/// How many of the requests in conversations with such a server were answered.
fn answered(cases: Vec<Vec<u8>>) -> usize {
    let count = cases.len();
    let server = Server::start(cases.into_iter().map(|case| vec![Step::Say(case)]).collect());
    (0..count).map(|_| converse(&server).unwrap_or(0)).sum()
}

#[test]
fn a_conversation_that_nobody_spoiled_is_answered_to_its_end() {
    assert_eq!(answered(vec![packets().concat()]), 3);
}

#[test]
fn packets_mutilated_or_torn() {
    let mut dice = Dice::seed_from_u64(31);
    let whole = packets().concat();
    let found = answered((0..CASES).map(|_| mutated(&mut dice, &whole)).collect());
    assert!((CASES / 4..3 * CASES).contains(&found), "{found}");
}

#[test]
fn packets_in_the_wrong_order() {
    let mut dice = Dice::seed_from_u64(32);
    let whole = packets();
    let found = answered((0..CASES).map(|_| disordered(&mut dice, &whole).concat()).collect());
    assert!((CASES / 4..3 * CASES).contains(&found), "{found}");
}

#[test]
fn lengths_that_are_none() {
    let mut dice = Dice::seed_from_u64(33);
    let whole = packets();
    let spoiled = (0..CASES).map(|_| {
        let mut packets = whole.clone();
        let at = dice.random_range(0..packets.len());
        let length: u32 = [0, 1, 0xff, 1 << 20, 0xff_fffe, 0xff_ffff][dice.random_range(0..6)];
        packets[at][..3].copy_from_slice(&length.to_le_bytes()[..3]);
        packets.concat()
    });
    let found = answered(spoiled.collect());
    assert!((CASES / 4..3 * CASES).contains(&found), "{found}");
}

#[test]
fn texts_and_counts_longer_than_their_packet() {
    let huge = [&[0xfe][..], &[0xff; 8]].concat();
    let text = column("c", 0xfd, 0, 0);
    let torn_column = [&huge[..], &text[1..]].concat();
    let cases: [&[&[u8]]; 5] =
        [&[&huge], &[&[0xfc, 0, 0]], &[&[1], &torn_column], &[&[1], &text, &huge], &[&[0, 0xfe]]];
    for case in cases {
        let mut it = Answer::new(true);
        it.expect(1, Asked { binary: false, keeps: true, is_batch: false });
        let error = it.feed(&answer(case)).unwrap_err();
        assert_eq!(error.engine_code(), Some("protocol"), "{case:?}");
        assert!(it.rows.bytes.is_empty());
    }
}
