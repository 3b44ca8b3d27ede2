//! A server that speaks garbage: no panic, no hang, no memory without bounds.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus as Dice;

use super::super::answer::{Answer, Asked};
use super::super::auth::Auth;
use super::super::framing::Fed;
use super::super::greeting::Greeting;
use super::super::key;
use super::server::{Server, Step, wait};
use super::transcripts::{
    ADMITTED, GREETING_5, GREETING_8, PREPARED_8, ROW_5, ROW_8, SYNTAX_ERROR, TWO_RESULTS_5,
    TWO_RESULTS_8, bytes,
};
use crate::sessions::Value;
use crate::testing::mutated;

const ANSWERS: [&str; 6] =
    [ROW_5, ROW_8, TWO_RESULTS_5, TWO_RESULTS_8, SYNTAX_ERROR, "0500000102666f6f6f"];

fn noise(dice: &mut Dice, most: usize) -> Vec<u8> {
    let length = dice.random_range(0..=most);
    (0..length).map(|_| dice.random()).collect()
}

/// Feeds bytes in pieces; whatever they are, the end is reached.
fn feed(dice: &mut Dice, bytes: &[u8]) {
    let asked = Asked { binary: dice.random(), keeps: dice.random(), is_batch: dice.random() };
    let mut it = Answer::new(dice.random());
    it.expect(dice.random_range(1..3), asked);
    let mut inbox = Vec::new();
    for piece in bytes.chunks(dice.random_range(1..40)) {
        inbox.extend_from_slice(piece);
        match it.feed(&inbox) {
            Ok((used, Fed::More)) => drop(inbox.drain(..used)),
            Ok((used, _)) => {
                assert!(used <= inbox.len());
                drop(it.outcome());
                return;
            }
            Err(error) => {
                assert!(matches!(error.engine_code(), Some("protocol")), "{error}");
                return;
            }
        }
    }
    let held = it.rows.bytes.len() + it.rows.ends.len() + it.rows.columns.len();
    assert!(held <= 400 * bytes.len() + 400, "{held} of {} bytes", bytes.len());
}

#[test]
fn answers() {
    let mut dice = Dice::seed_from_u64(1);
    let transcripts: Vec<Vec<u8>> = ANSWERS.iter().map(|it| bytes(it)).collect();
    for _ in 0..8000 {
        let transcript = &transcripts[dice.random_range(0..transcripts.len())];
        let bytes = mutated(&mut dice, transcript);
        feed(&mut dice, &bytes);
        let bytes = noise(&mut dice, 60);
        feed(&mut dice, &bytes);
    }
}

#[test]
fn greetings_challenges_and_keys() {
    let mut dice = Dice::seed_from_u64(2);
    let login = Server::start(Vec::new()).login();
    let greetings = [bytes(GREETING_5), bytes(GREETING_8)];
    let pem = include_bytes!("key.pem");
    for _ in 0..1000 {
        let which = dice.random_range(0..2);
        let greeting = mutated(&mut dice, &greetings[which][4..]);
        if let Ok(greeting) = Greeting::of(&greeting, &login) {
            drop(greeting.capabilities(&login));
            drop(Auth::open(&login, &greeting.plugin, &greeting.nonce));
        }
        let pem = mutated(&mut dice, pem);
        if key::check(&pem, 7).is_some() {
            mysql_common::crypto::encrypt(b"secret\0", &pem).unwrap();
        }
        assert_eq!(key::check(&noise(&mut dice, 100), 7), None);
        for method in ["mysql_native_password", "caching_sha2_password", "client_ed25519"] {
            if let Ok((mut auth, _)) = Auth::begin(&login, method.as_bytes(), &[9; 20]) {
                drop(auth.go_on(&noise(&mut dice, 40)));
            }
        }
    }
}

#[test]
fn whole_conversations() {
    let mut dice = Dice::seed_from_u64(3);
    let real = [GREETING_8, ADMITTED, PREPARED_8, ROW_8].map(bytes).concat();
    let cases: Vec<Vec<u8>> = (0..300).map(|_| mutated(&mut dice, &real)).collect();
    let scripts = cases.iter().map(|bytes| vec![Step::Say(bytes.clone())]).collect();
    let server = Server::start(scripts);
    for _ in &cases {
        let Ok(mut session) = server.open() else {
            continue;
        };
        if let Ok(statement) = session.prepare("SELECT ?") {
            let sent = session.execute(statement, &[Value::Integer(1)]);
            drop(wait(session.as_mut(), sent));
        }
        drop(session.query("SELECT 1"));
    }
}

#[test]
fn a_packet_without_an_end_is_refused() {
    let endless = [b"\xff\xff\xff\x00".as_slice(), &[10; 100]].concat();
    let server = Server::start(vec![vec![Step::Say(endless), Step::Hear]]);
    let error = server.open().err().unwrap();
    assert_eq!(error.engine_code(), Some("protocol"));
}
