//! What holds of every function: its bounds are written down, and little memory is no end of a
//! server.

#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::process::Command;

use crate::bitmap::{Build, BuildAgg, Either, Or, ToList};
use crate::bounds::{ARGUMENT_BYTES_MAX, RESULT_BYTES_MAX};
use crate::function::{Aggregate, Arguments, Fault, Function, Value};
use crate::json::{ExtractAll, Flatten, Holds, Sum, Tokens, bounds_of_json};

const PAGE: &str = include_str!("../../../docs/guides/kit/bounds.md");

#[test]
fn the_page_of_bounds_names_every_function_and_says_what_holds() {
    let exports = include_str!("exports.rs").lines().filter_map(|it| it.split('"').nth(1));
    let mut count = 0;
    for name in exports {
        assert!(PAGE.contains(&format!("`{name}`")), "{name}");
        count += 1;
    }
    assert!(count > 30, "{count}");
    assert_eq!((ARGUMENT_BYTES_MAX, RESULT_BYTES_MAX), (64 << 20, 64 << 20));
    let grouped = |number: usize| {
        let digits = number.to_string();
        let groups: Vec<_> =
            digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
        groups.join(",")
    };
    for number in bounds_of_json().into_iter().chain(crate::files::bounds_of_files()) {
        assert!(PAGE.contains(&grouped(number)), "{}", grouped(number));
    }
}

/// In a child: so many MiB of addresses may be had.
const CHILD: &str = "DYNO_LITTLE_MEMORY";
const TEST: &str = "tests::a_function_that_gets_no_memory_fails_and_the_process_goes_on";

#[test]
fn a_function_that_gets_no_memory_fails_and_the_process_goes_on() {
    if std::env::var_os(CHILD).is_some() {
        let told: Vec<_> = calls().into_iter().filter_map(|call| call().err()).collect();
        // what the test that made this child looks through
        return writeln!(std::io::stdout(), "{told:?}").unwrap();
    }
    let mut words = String::new();
    for mib in [96, 256] {
        let limited = format!("ulimit -v {}; exec \"$0\" --exact {TEST} --nocapture", mib << 10);
        let done = Command::new("sh")
            .arg("-c")
            .arg(limited)
            .arg(std::env::current_exe().unwrap())
            .envs([(CHILD, "1"), ("MALLOC_ARENA_MAX", "1")])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success(), "{mib} MiB: {told} {:?}", done.status);
        words += &told;
    }
    assert!(words.contains("the system refuses"), "{words}");
}

type Call = Box<dyn Fn() -> Result<(), Fault>>;

fn row<F: Function>(values: &[Vec<u8>]) -> Result<(), Fault> {
    let values: Vec<Value> = values.iter().map(|it| Value::Bytes(it)).collect();
    let (mut function, _) = F::prepare(Arguments(&[]))?;
    function.answer(Arguments(&values)).map(|_| ())
}

fn group<F: Aggregate>(rows: impl Iterator<Item = Vec<u8>>) -> Result<(), Fault> {
    let (mut function, _) = F::prepare(Arguments(&[]))?;
    function.clear();
    for each in rows {
        function.add(Arguments(&[Value::Bytes(&each)]))?;
    }
    function.answer(Arguments(&[])).map(|_| ())
}

/// A bitmap of one number in each of 65,536 containers.
fn sparse(rest: u32) -> Vec<u8> {
    let bitmap: roaring::RoaringBitmap = (0..1 << 16).map(|it| (it << 16) + rest).collect();
    let mut bytes = Vec::new();
    bitmap.serialize_into(&mut bytes).unwrap();
    bytes
}

/// Calls whose results or states grow, most of them to more than they may have.
fn calls() -> Vec<Call> {
    let words = || format!("{{\"{}\":\"{}\"}}", "k".repeat(20_000), "w ".repeat(20_000));
    let list = |value: &str, count| format!("[{}1]", format!("{value},").repeat(count));
    vec![
        Box::new(move || row::<Flatten>(&[words().into()])),
        Box::new(move || row::<Tokens>(&[list("1", 400_000).into()])),
        Box::new(move || row::<ExtractAll>(&[list("{\"a\":1}", 100_000).into(), b"a".to_vec()])),
        Box::new(move || row::<Holds>(&[list("1", 200_000).into(), b"2".to_vec()])),
        Box::new(move || group::<Sum>((0..3).map(|_| list("1e-200,1e199", 3_000).into()))),
        Box::new(|| row::<Either>(&[sparse(1), sparse(2)])),
        Box::new(|| row::<ToList>(&[sparse(1)])),
        Box::new(|| {
            let numbers: Vec<_> = (0..100_000_u32).map(|it| (it * 40_000).to_string()).collect();
            row::<Build>(&[numbers.join(",").into()])
        }),
        Box::new(|| group::<Or>((0..4).map(sparse))),
        Box::new(|| {
            let (mut function, _) = BuildAgg::prepare(Arguments(&[]))?;
            (0..200_000).try_for_each(|it| function.add(Arguments(&[Value::Integer(it * 20_000)])))
        }),
    ]
}
