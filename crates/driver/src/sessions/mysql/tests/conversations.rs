//! Whole conversations with a server whose packets are in the wrong order or of lengths that are
//! none: each request ends in an answer or an error, and none waits for ever.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus as Random;

use super::{
    ADMITTED, GREETING_5, GREETING_8, PREPARED_8, ROW_5, ROW_8, SYNTAX_ERROR, Server, Step,
    TWO_RESULTS_5, TWO_RESULTS_8, answer, bytes, column, ok, wait,
};
use crate::plan::error::Error;
use crate::sessions::Value;
use crate::sessions::mysql::answer::{Answer, AnswerShape, FeedState};
use crate::sessions::mysql::auth;
use crate::sessions::mysql::auth::Auth;
use crate::sessions::mysql::login::Greeting;
use crate::sessions::mysql::packet::{HEADER, length};
use crate::sessions::reach::Reach;
use crate::testing::{OneText, disorder, mutate};

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
    if let Ok(statement) = session.prepare(b"SELECT ?") {
        let sent = session.execute(statement, &[Value::Integer(1)]);
        answered += usize::from(wait(session.as_mut(), sent).is_ok());
    }
    let sent = session.query("SELECT b; UPDATE t");
    answered += usize::from(wait(session.as_mut(), sent).is_ok());
    session.begin_batch()?;
    session.query("UPDATE t")?;
    let sent = session.sync(false);
    answered += usize::from(wait(session.as_mut(), sent).is_ok());
    let sent = session.load("LOAD DATA", Box::new(OneText(Some("1\ta\n"))));
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
fn an_unspoiled_conversation_is_answered_to_its_end() {
    assert_eq!(answered(vec![packets().concat()]), 3);
}

#[test]
fn packets_mutilated_or_torn() {
    let mut random = Random::seed_from_u64(31);
    let whole = packets().concat();
    let found = answered((0..CASES).map(|_| mutate(&mut random, &whole)).collect());
    assert!((CASES / 4..3 * CASES).contains(&found), "{found}");
}

#[test]
fn packets_in_the_wrong_order() {
    let mut random = Random::seed_from_u64(32);
    let whole = packets();
    let found = answered((0..CASES).map(|_| disorder(&mut random, &whole).concat()).collect());
    assert!((CASES / 4..3 * CASES).contains(&found), "{found}");
}

#[test]
fn impossible_lengths_are_refused() {
    let mut random = Random::seed_from_u64(33);
    let whole = packets();
    let spoiled = (0..CASES).map(|_| {
        let mut packets = whole.clone();
        let at = random.random_range(0..packets.len());
        let length: u32 = [0, 1, 0xff, 1 << 20, 0xff_fffe, 0xff_ffff][random.random_range(0..6)];
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
        it.expect(1, AnswerShape { binary: false, keeps: true, is_batch: false });
        let error = it.feed(&answer(case)).unwrap_err();
        assert_eq!(error.engine_code(), Some("protocol"), "{case:?}");
        assert!(it.rows.bytes.is_empty());
    }
}

// A server that speaks garbage: no panic, no hang, no memory without bounds.

const ANSWERS: [&str; 6] =
    [ROW_5, ROW_8, TWO_RESULTS_5, TWO_RESULTS_8, SYNTAX_ERROR, "0500000102666f6f6f"];

fn noise(random: &mut Random, most: usize) -> Vec<u8> {
    let length = random.random_range(0..=most);
    (0..length).map(|_| random.random()).collect()
}

/// Feeds bytes in pieces; whatever they are, the end is reached.
fn feed(random: &mut Random, bytes: &[u8]) {
    let asked =
        AnswerShape { binary: random.random(), keeps: random.random(), is_batch: random.random() };
    let mut it = Answer::new(random.random());
    it.expect(random.random_range(1..3), asked);
    let mut inbox = Vec::new();
    for piece in bytes.chunks(random.random_range(1..40)) {
        inbox.extend_from_slice(piece);
        match it.feed(&inbox) {
            Ok((used, FeedState::More)) => drop(inbox.drain(..used)),
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
    let mut random = Random::seed_from_u64(1);
    let transcripts: Vec<Vec<u8>> = ANSWERS.iter().map(|it| bytes(it)).collect();
    for _ in 0..8000 {
        let transcript = &transcripts[random.random_range(0..transcripts.len())];
        let bytes = mutate(&mut random, transcript);
        feed(&mut random, &bytes);
        let bytes = noise(&mut random, 60);
        feed(&mut random, &bytes);
    }
}

#[test]
fn greetings_challenges_and_keys() {
    let mut random = Random::seed_from_u64(2);
    let login = Server::start(Vec::new()).login();
    let greetings = [bytes(GREETING_5), bytes(GREETING_8)];
    let pem = include_bytes!("key.pem");
    for _ in 0..1000 {
        let which = random.random_range(0..2);
        let greeting = mutate(&mut random, &greetings[which][4..]);
        if let Ok(greeting) = Greeting::of(&greeting, &login) {
            drop(greeting.capabilities(&login));
            drop(Auth::open(&login, Reach::Near, &greeting.plugin, &greeting.nonce));
        }
        let pem = mutate(&mut random, pem);
        if auth::check(&pem, 7).is_some() {
            mysql_common::crypto::encrypt(b"secret\0", &pem).unwrap();
        }
        assert_eq!(auth::check(&noise(&mut random, 100), 7), None);
        for method in ["mysql_native_password", "caching_sha2_password", "client_ed25519"] {
            if let Ok((mut auth, _)) = Auth::begin(&login, Reach::Near, method.as_bytes(), &[9; 20])
            {
                drop(auth.go_on(&noise(&mut random, 40)));
            }
        }
    }
}

#[test]
fn whole_conversations() {
    let mut random = Random::seed_from_u64(3);
    let real = [GREETING_8, ADMITTED, PREPARED_8, ROW_8].map(bytes).concat();
    let cases: Vec<Vec<u8>> = (0..300).map(|_| mutate(&mut random, &real)).collect();
    let scripts = cases.iter().map(|bytes| vec![Step::Say(bytes.clone())]).collect();
    let server = Server::start(scripts);
    for _ in &cases {
        let Ok(mut session) = server.open() else {
            continue;
        };
        if let Ok(statement) = session.prepare(b"SELECT ?") {
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
