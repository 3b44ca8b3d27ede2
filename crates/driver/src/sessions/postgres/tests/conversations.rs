//! Whole conversations with a server whose messages are mutilated, too long or in the wrong order:
//! each request ends in an answer or an error, and none waits for ever.

use std::io::{Read, Write};
use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::{Xoshiro256PlusPlus, Xoshiro256PlusPlus as Random};

use super::{READY, Script, Server, WELCOME, columns, complete, end, message, refusal, row};
use crate::plan::Login;
use crate::plan::error::Error;
use crate::sessions::postgres::answer::{Answer, AnswerMode};
use crate::sessions::postgres::connect;
use crate::sessions::{Rows, Value};
use crate::testing::{OneText, disorder, mutate};

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
    let mut session = connect(login)?;
    let mut answered = 0;
    if let Ok(handle) = session.prepare(b"SELECT ?") {
        let sent = session.execute(handle, &[Value::Integer(1)]);
        answered += usize::from(end(session.as_mut(), sent).is_ok());
    }
    let sent = session.query("SELECT 1");
    answered += usize::from(end(session.as_mut(), sent).is_ok());
    session.begin_batch()?;
    session.query("INSERT")?;
    let sent = session.sync(false);
    answered += usize::from(end(session.as_mut(), sent).is_ok());
    let sent = session.load("COPY t FROM STDIN", Box::new(OneText(Some("row\n"))));
    answered += usize::from(end(session.as_mut(), sent).is_ok());
    Ok(answered)
}

/// How many requests were answered in conversations with servers that say these messages, each
/// time hearing what is asked next, if anything is within `patience`.
fn answered(cases: Vec<Vec<Vec<u8>>>, patience: Duration) -> usize {
    let count = cases.len();
    let scene = |messages: Vec<Vec<u8>>| -> Script {
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
fn spoiled(seed: u64, spoil: impl Fn(&mut Random, Vec<Vec<u8>>) -> Vec<Vec<u8>>) {
    let mut random = Random::seed_from_u64(seed);
    let cases = (0..CASES).map(|_| spoil(&mut random, messages())).collect();
    let found = answered(cases, Duration::from_millis(2));
    assert!(found < 4 * CASES, "nothing was spoiled");
}

#[test]
fn an_unspoiled_conversation_is_answered_to_its_end() {
    assert_eq!(answered(vec![messages()], Duration::from_secs(5)), 4);
}

#[test]
fn messages_mutilated_or_torn() {
    spoiled(21, |random, mut messages| {
        let at = random.random_range(0..messages.len());
        messages[at] = mutate(random, &messages[at]);
        if random.random() {
            messages.truncate(at + 1);
        }
        messages
    });
}

#[test]
fn messages_in_the_wrong_order() {
    spoiled(22, |random, messages| disorder(random, &messages));
}

#[test]
fn impossible_lengths_are_refused() {
    spoiled(23, |random, mut messages| {
        let at = random.random_range(0..messages.len());
        let length = [0, 3, 5, 30_001, 1 << 30, u32::MAX / 2, u32::MAX][random.random_range(0..7)];
        messages[at][1..5].copy_from_slice(&length.to_be_bytes());
        messages
    });
}

// Nonsense, broken-off and mutilated answers against the parser.

const WANTS: [AnswerMode; 4] =
    [AnswerMode::Rows, AnswerMode::Counts, AnswerMode::Sum, AnswerMode::Nothing];

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
fn read(
    bytes: &[u8],
    mode: AnswerMode,
    random: &mut impl Rng,
) -> (Answer, Rows, Result<(), Error>) {
    let (mut answer, mut rows) = (Answer::new(), Rows::default());
    answer.begin(mode);
    let (mut inbox, mut at) = (Vec::new(), 0);
    while at < bytes.len() && !answer.is_over {
        let end = bytes.len().min(at + random.random_range(1..40));
        inbox.extend_from_slice(&bytes[at..end]);
        at = end;
        match answer.read(&inbox, &mut rows) {
            Ok(taken) => drop(inbox.drain(..taken)),
            Err(error) => return (answer, rows, Err(error)),
        }
    }
    (answer, rows, Ok(()))
}

fn response(answer: &Answer, rows: &Rows) -> String {
    format!("{answer:?} {rows:?}")
}

#[test]
fn in_however_many_pieces_an_answer_comes_it_is_the_same() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    for (transcript, mode) in transcripts().iter().flat_map(|it| WANTS.map(|mode| (it, mode))) {
        let (mut whole, mut rows) = (Answer::new(), Rows::default());
        whole.begin(mode);
        // The row without columns has no description before it, as in a prepared answer.
        assert_eq!(whole.read(transcript, &mut rows).unwrap(), transcript.len());
        assert!(whole.is_over);
        for _ in 0..50 {
            let (answer, pieces, outcome) = read(transcript, mode, &mut random);
            assert_eq!(outcome, Ok(()));
            assert_eq!(response(&answer, &pieces), response(&whole, &rows));
        }
    }
}

#[test]
fn a_mutilated_answer_is_an_error_or_an_answer_and_never_a_panic() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(8);
    let transcripts = transcripts();
    let mut refused = 0;
    for _ in 0..20_000 {
        let mut bytes = transcripts[random.random_range(0..transcripts.len())].clone();
        for _ in 0..random.random_range(1..4) {
            let at = random.random_range(0..bytes.len());
            bytes[at] = random.random();
        }
        bytes.truncate(random.random_range(1..=bytes.len()));
        let (_, rows, outcome) = read(&bytes, WANTS[random.random_range(0..4)], &mut random);
        assert_eq!(rows.fields().iter().count(), rows.ends.len());
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
    let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
    let mut bytes = [0; 200];
    let mut ended = 0;
    for _ in 0..20_000 {
        random.fill_bytes(&mut bytes);
        let (answer, _, outcome) = read(&bytes, AnswerMode::Rows, &mut random);
        ended += u32::from(outcome.is_ok() && answer.is_over);
    }
    assert!(ended < 20, "{ended}");
}

#[test]
fn a_server_of_nonsense_is_an_error_at_once() {
    let scenes = (0..300u64).map(|seed| {
        let scene: Box<dyn FnOnce(&mut crate::sessions::postgres::tests::Peer) + Send> =
            Box::new(move |peer| {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                let mut bytes = WELCOME.to_vec();
                let at = random.random_range(0..9);
                bytes[at] = bytes[at].wrapping_add(random.random_range(1..=255));
                peer.startup();
                peer.say(&bytes);
            });
        scene
    });
    let server = Server::start(scenes.collect());
    for _ in 0..300 {
        let error = connect(&server.login).err().unwrap();
        assert!(!error.to_string().is_empty());
    }
    server.end();
}
