//! Nonsense, broken-off and mutilated answers against the parser.

use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::super::answer::{Answer, Want};
use super::super::open;
use super::server::{READY, Server, WELCOME, columns, complete, message, refusal, row};
use crate::plan::error::Error;
use crate::sessions::Rows;

const WANTS: [Want; 4] = [Want::Rows, Want::Counts, Want::Sum, Want::Nothing];

/// Answers as a server sends them: text, prepared, empty, failed, copied.
fn transcripts() -> Vec<Vec<u8>> {
    let select = [
        &columns(&["id", "c"])[..],
        &row(&[Some("1"), Some("a long enough field")]),
        &row(&[None, Some("")]),
        &complete("SELECT 2"),
    ]
    .concat();
    let prepared = [&message('2', b"")[..], &row(&[]), &complete("SELECT 1"), READY].concat();
    let described = [&message('1', b"")[..], &message('t', b"\0\x01\0\0\0\x17"), READY].concat();
    let failed = [&refusal("ERROR", "23505", "duplicate"), READY].concat();
    let notices = message('N', b"SNOTICE\0C00000\0Mhello\0\0");
    vec![
        [&select[..], &complete("INSERT 0 3"), READY].concat(),
        [&complete("BEGIN")[..], &select, b"Z\0\0\0\x05T"].concat(),
        [&notices[..], &message('I', b""), READY].concat(),
        prepared,
        described,
        failed,
        refusal("FATAL", "57P01", "going down"),
        [&message('G', b"\0\0\0")[..], &complete("COPY 9"), READY].concat(),
    ]
}

/// Reads an answer in pieces as they might come; an error and an end in the middle stop it.
fn read(bytes: &[u8], want: Want, dice: &mut impl Rng) -> (Answer, Rows, Result<(), Error>) {
    let (mut answer, mut rows) = (Answer::new(), Rows::default());
    answer.begin(want);
    let (mut inbox, mut at) = (Vec::new(), 0);
    while at < bytes.len() && !answer.is_over {
        let end = bytes.len().min(at + dice.random_range(1..40));
        inbox.extend_from_slice(&bytes[at..end]);
        at = end;
        match answer.read(&inbox, &mut rows) {
            Ok(taken) => drop(inbox.drain(..taken)),
            Err(error) => return (answer, rows, Err(error)),
        }
    }
    (answer, rows, Ok(()))
}

fn told(answer: &Answer, rows: &Rows) -> String {
    format!("{answer:?} {rows:?}")
}

#[test]
fn in_however_many_pieces_an_answer_comes_it_is_the_same() {
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(7);
    for (transcript, want) in transcripts().iter().flat_map(|it| WANTS.map(|want| (it, want))) {
        let (mut whole, mut rows) = (Answer::new(), Rows::default());
        whole.begin(want);
        // The row without columns has no description before it, as in a prepared answer.
        assert_eq!(whole.read(transcript, &mut rows).unwrap(), transcript.len());
        assert!(whole.is_over);
        for _ in 0..50 {
            let (answer, pieces, outcome) = read(transcript, want, &mut dice);
            assert_eq!(outcome, Ok(()));
            assert_eq!(told(&answer, &pieces), told(&whole, &rows));
        }
    }
}

#[test]
fn a_mutilated_answer_is_an_error_or_an_answer_and_never_a_panic() {
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(8);
    let transcripts = transcripts();
    let mut refused = 0;
    for _ in 0..20_000 {
        let mut bytes = transcripts[dice.random_range(0..transcripts.len())].clone();
        for _ in 0..dice.random_range(1..4) {
            let at = dice.random_range(0..bytes.len());
            bytes[at] = dice.random();
        }
        bytes.truncate(dice.random_range(1..=bytes.len()));
        let (_, rows, outcome) = read(&bytes, WANTS[dice.random_range(0..4)], &mut dice);
        assert_eq!(rows.fields().count(), rows.ends.len());
        assert!(rows.bytes.len() <= bytes.len());
        if let Err(error) = outcome {
            assert_eq!(error.engine_code(), Some("protocol"));
            refused += 1;
        }
    }
    assert!(refused > 2_000, "{refused}");
}

#[test]
fn random_bytes_are_refused_or_awaited() {
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(9);
    let mut bytes = [0; 200];
    let mut ended = 0;
    for _ in 0..20_000 {
        dice.fill_bytes(&mut bytes);
        let (answer, _, outcome) = read(&bytes, Want::Rows, &mut dice);
        ended += u32::from(outcome.is_ok() && answer.is_over);
    }
    assert!(ended < 20, "{ended}");
}

#[test]
fn a_server_of_nonsense_is_an_error_at_once() {
    let scenes = (0..300u64).map(|seed| {
        let scene: Box<dyn FnOnce(&mut super::server::Peer) + Send> = Box::new(move |peer| {
            let mut dice = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut bytes = WELCOME.to_vec();
            let at = dice.random_range(0..9);
            bytes[at] = bytes[at].wrapping_add(dice.random_range(1..=255));
            peer.startup();
            peer.say(&bytes);
        });
        scene
    });
    let server = Server::start(scenes.collect());
    for _ in 0..300 {
        let error = open(&server.login).err().unwrap();
        assert!(!error.to_string().is_empty());
    }
    server.end();
}
