//! A user's account of its statements: how often each text was sent, what it changed, whether that
//! was committed, and how long some events were in the engine. Nothing is allocated for a statement
//! that was sent before.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::statement::{Execution, StatementKind};
use crate::schedule::clock::now_ns;
use crate::script::statement::Form;
use crate::sessions::Value;
use crate::sessions::literal::spell_out;
use crate::sessions::sql::{Quoting, number_placeholders};
use crate::sessions::template::{digest, kind_of, put_template};
use crate::tally::examples::{Example, Examples, KEPT, KEPT_OF_OTHERS};
use crate::tally::statements::{FURTHER, MOST, Sketch, StatementCount, Statements};

/// The number of all texts beyond those kept apart.
const OTHERS: u32 = 0;
/// The number of whatever is sent as one batch.
pub const BATCH: u32 = 1;
/// Where a text's number is looked for first, by its digest.
const SLOTS: usize = 128;
/// A user's first events are timed, then one of every `OFTEN` until so `MANY` were, then fewer.
const TIMED_FIRST: u64 = 64;
const TIMED_OFTEN: u64 = 7;
const TIMED_MANY: u64 = 1000;
const TIMED_EVERY: u64 = 61;
/// Executions of a text whose values are sketched.
const SKETCHED: u64 = 1024;
/// Bytes at a text's end that are looked at for that.
const LOOKED_AT: usize = 256;
/// Bytes of a text that is kept as an example: beyond are a bulk insert's rows; and of all further
/// executions of it.
const EXAMPLE_BYTES: usize = 8192;
const EXECUTIONS_BYTES: usize = 4 * EXAMPLE_BYTES;

/// What a user counted of its statements since it was last asked.
pub struct Account {
    texts: Vec<Text>,
    slots: [u32; SLOTS],
    /// Where templates are made.
    template: Vec<u8>,
    /// The statement sent last.
    current: usize,
    /// Events begun.
    begun: u64,
    /// Those of them that were timed.
    timed: u64,
    /// The engine's part of the event under way is measured.
    is_timed: bool,
    sent_ns: u64,
    engine_ns: u64,
    /// Executions of each text that are kept, and how many were kept in all.
    wanted: usize,
    kept: u32,
}

/// A text, and what became of it.
struct Text {
    digest: u64,
    template: String,
    kind: StatementKind,
    sent: u64,
    failed: u64,
    rows_read: u64,
    rows_changed: u64,
    rows_expected: Option<u64>,
    /// A bit for each of 64 classes of values that were sent with it.
    values: u64,
    /// The first text that it was made of; empty where that is too long.
    source: Vec<u8>,
    /// The first executions, their values in them.
    executions: Vec<(u32, Vec<u8>)>,
    /// No more of them are kept: there are enough, or they are too long.
    is_full: bool,
    /// What was prepared for it, its parameters as PostgreSQL's quoting counts them; empty where it
    /// is parsed each time.
    prepared: Vec<u8>,
}

/// What an engine took of an event, and of those before it in its streak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineTime {
    /// From each request to its answer.
    pub ns: u64,
    /// How many events they are.
    pub events: u64,
}

impl Text {
    fn new(digest: u64, template: &str, kind: StatementKind) -> Self {
        Self {
            digest,
            template: template.to_owned(),
            kind,
            sent: 0,
            failed: 0,
            rows_read: 0,
            rows_changed: 0,
            rows_expected: None,
            values: 0,
            source: Vec::new(),
            executions: Vec::new(),
            is_full: false,
            prepared: Vec::new(),
        }
    }

    /// What was counted; none where it was never sent.
    fn take(&mut self) -> Option<StatementCount> {
        if self.sent == 0 && self.failed == 0 {
            return None;
        }
        let mut fresh = Self::new(self.digest, &self.template, self.kind);
        fresh.source = std::mem::take(&mut self.source);
        fresh.executions = std::mem::take(&mut self.executions);
        fresh.is_full = self.is_full;
        fresh.prepared = std::mem::take(&mut self.prepared);
        let it = std::mem::replace(self, fresh);
        Some(StatementCount {
            text: it.template,
            kind: it.kind,
            sent: it.sent,
            failed: it.failed,
            rows_read: it.rows_read,
            rows_changed: it.rows_changed,
            rows_expected: it.rows_expected,
            sketch: Sketch::of(it.values, it.sent.min(SKETCHED)),
        })
    }
}

impl Default for Account {
    fn default() -> Self {
        let batch = "(batch)";
        Self {
            texts: vec![
                Text::new(0, FURTHER, StatementKind::Other),
                Text::new(digest(batch.as_bytes()), batch, StatementKind::Batch),
            ],
            slots: [OTHERS; SLOTS],
            template: Vec::new(),
            current: 0,
            begun: 0,
            timed: 0,
            is_timed: false,
            sent_ns: 0,
            engine_ns: 0,
            wanted: KEPT_OF_OTHERS,
            kept: 0,
        }
    }
}

/// A digest of a text's end, where most literals stand: of a long one it costs no more.
#[inline]
pub fn digest_end(sql: &[u8]) -> u64 {
    digest(&sql[sql.len().saturating_sub(LOOKED_AT)..])
}

/// A digest of a statement's values.
#[inline]
pub fn digest_values(values: &[Value]) -> u64 {
    const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
    let of = |value: &Value| match value {
        Value::Null => 0,
        Value::Integer(number) => *number as u64,
        Value::Real(number) => number.to_bits(),
        Value::Text(text) => digest(text),
    };
    values.iter().fold(PRIME, |hash, value| {
        let product = (hash ^ of(value)).wrapping_mul(PRIME);
        product ^ product >> 29
    })
}

impl Account {
    /// The number of a statement's text, without its literals.
    pub fn number(&mut self, sql: &[u8], quoting: Quoting) -> u32 {
        let is_several = put_template(sql, quoting, &mut self.template);
        let digest = digest(&self.template);
        let slot = digest as usize % SLOTS;
        let number = self.slots[slot];
        if self.texts[number as usize].digest == digest {
            return number;
        }
        let number = self.find(digest, is_several, sql);
        self.slots[slot] = number;
        number
    }

    #[cold]
    fn find(&mut self, digest: u64, is_several: bool, sql: &[u8]) -> u32 {
        if let Some(known) = self.texts.iter().position(|it| it.digest == digest) {
            return known as u32;
        }
        if self.texts.len() > MOST {
            return OTHERS;
        }
        let kind = kind_of(&self.template, is_several);
        let template = String::from_utf8_lossy(&self.template);
        let mut text = Text::new(digest, &template, kind);
        text.source = sql[..if sql.len() > EXAMPLE_BYTES { 0 } else { sql.len() }].to_vec();
        self.texts.push(text);
        self.texts.len() as u32 - 1
    }

    /// Counts a statement that is sent now; `values` is a digest of what is sent with its text.
    #[inline]
    pub fn send(&mut self, number: u32, values: impl FnOnce() -> u64) {
        self.current = number as usize;
        let text = &mut self.texts[self.current];
        if text.sent < SKETCHED {
            text.values |= 1 << (values() >> 58);
        }
        text.sent += 1;
        if self.is_timed {
            self.sent_ns = now_ns();
        }
    }

    /// Keeps more executions: those of the first user are enough by themselves.
    pub fn keep_many(&mut self) {
        self.wanted = KEPT;
    }

    /// Is an execution of the text to be kept?
    #[inline]
    pub fn wants_example(&self, number: u32) -> bool {
        !self.texts[number as usize].is_full
    }

    /// Keeps a text that is sent as it is.
    #[cold]
    pub fn keep_text(&mut self, number: u32, sql: &[u8]) {
        let text = &mut self.texts[number as usize];
        let bytes = text.executions.iter().map(|(_, it)| it.len()).sum::<usize>() + sql.len();
        if number > BATCH && sql.len() <= EXAMPLE_BYTES && bytes <= EXECUTIONS_BYTES {
            text.executions.push((self.kept, sql.to_vec()));
            self.kept += 1;
            text.is_full = text.executions.len() >= self.wanted;
        } else {
            text.is_full = true;
        }
    }

    /// Keeps a text that is sent with values apart.
    #[cold]
    pub fn keep_execution(
        &mut self,
        number: u32,
        (form, values): (&Form, &[Value]),
        quoting: Quoting,
    ) {
        let text = &mut self.texts[number as usize];
        if text.prepared.is_empty() && matches!(form, Form::Prepared(_)) {
            text.prepared = match quoting {
                Quoting::Postgres => number_placeholders(&text.source).into_owned(),
                _ => text.source.clone(),
            };
        }
        let spelled = spell_out(&text.source, values, quoting);
        self.keep_text(number, &spelled);
    }

    /// Hands over what was kept, as that of the user with a number.
    pub fn take_examples(&mut self, user: u32) -> Examples {
        let example = |text: &mut Text| {
            let mut executions = BTreeSet::new();
            for (place, sql) in std::mem::take(&mut text.executions) {
                if let Ok(sql) = String::from_utf8(sql) {
                    executions.insert(Execution { user, place, sql });
                }
            }
            let sql = executions.first()?.sql.clone();
            let prepared =
                String::from_utf8(std::mem::take(&mut text.prepared)).unwrap_or_default();
            Some((text.digest, Example { user, sql, prepared, executions }))
        };
        self.texts.iter_mut().filter_map(example).collect()
    }

    /// Counts the answer to the statement sent last; what it does.
    #[inline]
    pub fn answered(&mut self, rows: u64, changed: u64) -> StatementKind {
        self.note_engine_time();
        let text = &mut self.texts[self.current];
        text.rows_read += rows;
        text.rows_changed += changed;
        text.kind
    }

    /// What the statement sent last does.
    pub fn kind(&self) -> StatementKind {
        self.texts[self.current].kind
    }

    /// Counts the engine's refusal of the statement sent last.
    #[cold]
    pub fn refused(&mut self) {
        self.note_engine_time();
        self.texts[self.current].failed += 1;
    }

    /// Counts the engine's refusal to prepare a statement.
    #[cold]
    pub fn refused_to_prepare(&mut self, number: u32) {
        self.texts[number as usize].failed += 1;
    }

    /// Counts rows that a statement must have changed.
    #[inline]
    pub fn expect(&mut self, number: u32, rows: u64) {
        *self.texts[number as usize].rows_expected.get_or_insert(0) += rows;
    }

    #[inline]
    fn note_engine_time(&mut self) {
        if self.is_timed {
            self.engine_ns += now_ns().saturating_sub(self.sent_ns);
        }
    }

    /// An event begins.
    #[inline]
    pub fn begin_event(&mut self) {
        self.begun += 1;
        let every = if self.timed < TIMED_MANY { TIMED_OFTEN } else { TIMED_EVERY };
        self.is_timed = self.begun <= TIMED_FIRST || self.begun.is_multiple_of(every);
        self.timed += u64::from(self.is_timed);
        self.engine_ns = 0;
    }

    /// What the engine took of the event that has ended, if that was measured; `before` it in its
    /// streak were so many others.
    #[inline]
    pub fn take_engine_time(&mut self, before: usize) -> Option<EngineTime> {
        let it = EngineTime { ns: self.engine_ns, events: 1 + before as u64 };
        std::mem::take(&mut self.is_timed).then_some(it)
    }

    /// What was counted since the last call.
    pub fn take(&mut self) -> Statements {
        let counted = self.texts.iter_mut().map(|it| (it.digest, it.take()));
        let counted = counted.filter_map(|(digest, it)| Some((digest, it?)));
        counted.collect::<BTreeMap<_, _>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_counted_by_their_text() {
        let mut account = Account::default();
        for (sql, changed) in [("UPDATE t SET a=1", 1), ("SELECT 1", 0), ("UPDATE t SET a=2", 3)] {
            let number = account.number(sql.as_bytes(), Quoting::Standard);
            account.send(number, || digest(sql.as_bytes()));
            account.answered(0, changed);
        }
        account.send(BATCH, || 0);
        account.refused();
        let taken = account.take();
        let of = |text: &str| taken.values().find(|it| it.text == text);
        let update = of("UPDATE t SET a=?").map(|it| (it.sent, it.rows_changed, it.kind));
        assert_eq!(update, Some((2, 4, StatementKind::Update)));
        assert_eq!(of("(batch)").map(|it| (it.sent, it.failed)), Some((1, 1)));
        assert_eq!((taken.len(), account.take().len()), (3, 0));
    }

    #[test]
    fn the_first_execution_of_a_text_is_kept_with_its_values() {
        let mut account = Account::default();
        let number = account.number(b"SELECT c FROM t WHERE id=? AND k=?", Quoting::Mysql);
        assert!(account.wants_example(number));
        for id in [7, 8] {
            let values = [Value::Integer(id), Value::Text(b"a'b".to_vec())];
            if account.wants_example(number) {
                account.keep_execution(number, (&Form::Prepared(0), &values), Quoting::Mysql);
            }
            account.send(number, || 0);
            account.answered(1, 0);
            account.take();
        }
        let long = format!("INSERT INTO t VALUES ({}1)", "1,".repeat(EXAMPLE_BYTES));
        let long_number = account.number(long.as_bytes(), Quoting::Mysql);
        account.keep_text(long_number, long.as_bytes());
        assert!(!account.wants_example(long_number), "it is looked at once");
        let kept: Vec<_> = account.take_examples(3).into_values().collect();
        let sql = |id| format!(r"SELECT c FROM t WHERE id={id} AND k='a\'b'");
        assert_eq!((kept.len(), &kept[0].sql), (1, &sql(7)));
        assert_eq!(kept[0].prepared, "SELECT c FROM t WHERE id=? AND k=?");
        let places: Vec<_> = kept[0].executions.iter().map(|it| (it.place, &*it.sql)).collect();
        assert_eq!(places, [(0, &*sql(7)), (1, &*sql(8))]);
        let number = account.number(b"SELECT c FROM u WHERE id=?", Quoting::Postgres);
        let values = [Value::Integer(7)];
        account.keep_execution(number, (&Form::Prepared(0), &values), Quoting::Postgres);
        let other = account.number(b"SELECT c FROM v WHERE id=?", Quoting::Postgres);
        account.keep_execution(other, (&Form::Unnamed(Vec::new()), &values), Quoting::Postgres);
        let mut kept: Vec<_> = account.take_examples(0).into_values().collect();
        kept.sort();
        let prepared = kept.iter().map(|it| it.prepared.as_str()).collect::<Vec<_>>();
        assert_eq!(prepared, ["SELECT c FROM u WHERE id=$1", ""]);
    }

    #[test]
    fn so_many_executions_of_a_text_are_kept_and_no_more() {
        let mut account = Account::default();
        account.keep_many();
        let number = account.number(b"SELECT 1", Quoting::Mysql);
        let mut asked = 0;
        while account.wants_example(number) && asked < 2 * KEPT {
            account.keep_text(number, format!("SELECT {asked}").as_bytes());
            asked += 1;
        }
        let mut kept = account.take_examples(0).into_values();
        assert_eq!(kept.next().map(|it| it.executions.len()), Some(KEPT));
    }

    #[test]
    fn few_values_of_a_text_are_told_from_many() {
        let mut account = Account::default();
        for (number, modulus) in [(OTHERS, 1), (BATCH, 1_000_000)] {
            for at in 0..5_000_u64 {
                let value = Value::Integer((at % modulus) as i64);
                account.send(number, || digest_values(&[value]));
            }
        }
        let sketches: Vec<_> = account.take().into_values().map(|it| it.sketch).collect();
        assert!(sketches.contains(&Sketch { sketches: 1, executions: 1024, classes: 1 }));
        assert!(sketches.contains(&Sketch { sketches: 1, executions: 1024, classes: 64 }));
    }

    #[test]
    fn more_texts_than_are_kept_apart_share_one_number() {
        let mut account = Account::default();
        let number = |account: &mut Account, at: usize| {
            account.number(format!("SELECT a FROM t{at}").as_bytes(), Quoting::Standard)
        };
        let first: Vec<u32> = (0..400).map(|at| number(&mut account, at)).collect();
        let again: Vec<u32> = (0..400).map(|at| number(&mut account, at)).collect();
        assert_eq!(first, again);
        assert_eq!((first[0], first[399]), (2, OTHERS));
    }

    #[test]
    fn the_first_events_and_then_some_are_timed() {
        let mut account = Account::default();
        let mut is_timed = || {
            account.begin_event();
            account.take_engine_time(0).is_some()
        };
        let mut timed = |events| (0..events).filter(|_| is_timed()).count() as u64;
        assert_eq!(timed(TIMED_FIRST), TIMED_FIRST);
        assert_eq!(timed(700), 100, "of events after a warm-up there are enough");
        assert_eq!(timed(10_000), TIMED_MANY - TIMED_FIRST - 100 + (10_000 - 5_852) / TIMED_EVERY);
    }
}
