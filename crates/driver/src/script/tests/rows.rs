//! Rows declared as data, and the inserts made of them.

use super::*;
use crate::testing::take_sent;

const ROW: &str = "function thread_init()
       con = sysbench.sql.driver():connect()
       row = dyno.row {dyno.rand.uniform(1, 3) + 10, dyno.rand.compressible(4, 4, 50),
          dyno.rand.string('it\\'s #')}
    end\n";

#[test]
fn an_insert_is_its_head_and_so_many_rows_each_drawn_anew() {
    let event = "function event()
           con:insert('INSERT INTO t VALUES ', 40, row, \"NULL,'now'\")
           con:insert('INSERT INTO t VALUES ', 1, row)
        end";
    take_sent();
    played_on_null(&format!("{ROW}{event}"), 0).unwrap();
    let sent = take_sent();
    let body = sent[0].strip_prefix("INSERT INTO t VALUES (NULL,'now',").unwrap();
    let rows: Vec<&str> = body.strip_suffix(')').unwrap().split("),(NULL,'now',").collect();
    assert_eq!(rows.len(), 40);
    let mut numbers = std::collections::HashSet::new();
    for row in rows.into_iter().chain([one_row(&sent[1])]) {
        let (number, texts) = row.split_once(',').unwrap();
        numbers.insert(number.to_owned());
        let (first, second) = texts.split_once(',').unwrap();
        assert!(first.len() == 6 && first.starts_with("'aa") && first.ends_with('\''));
        assert!(first[3..5].bytes().all(|it| it.is_ascii_lowercase()));
        assert!(second.starts_with("'it''s ") && second.len() == 9);
    }
    assert_eq!(numbers, ["11", "12", "13"].map(str::to_owned).into());
}

fn one_row(sent: &str) -> &str {
    sent.strip_prefix("INSERT INTO t VALUES (").unwrap().strip_suffix(')').unwrap()
}

#[test]
fn an_engine_takes_the_rows_and_answers_how_many() {
    let counters = counted_on_sqlite(&format!(
        "{ROW}function event()
           con:query('CREATE TABLE t (d TEXT, a INT, b TEXT, c TEXT)')
           dyno.count('inserted', con:insert('INSERT INTO t VALUES ', 7, row, \"'d'\").nrows)
           local ok, thrown = pcall(con.insert, con, 'INSERT INTO none VALUES ', 7, row)
           assert(not ok and thrown:find('no such table'))
           dyno.count('there', tonumber((con:query_row('SELECT COUNT(*) FROM t WHERE a > 10'))))
        end",
    ));
    assert_eq!((counters["inserted"], counters["there"]), (7, 7));
}

#[test]
fn the_same_seed_draws_the_same_rows() {
    let script = format!("{ROW}function event() con:insert('', 9, row) end");
    let sent = [0, 0, 20_000].map(|delay_ns| {
        take_sent();
        played_on_null(&script, delay_ns).unwrap();
        take_sent()
    });
    assert_eq!(sent[0], sent[1]);
    assert_eq!(sent[0], sent[2]);
}

#[test]
fn what_is_no_row_is_refused() {
    for (script, expected) in [
        ("dyno.row {7}", "column 1 of a row is not one of dyno.rand"),
        ("dyno.row {dyno.rand.uniform('a', 'b')}", "dyno.row cannot be drawn"),
        ("con:insert('x', 1, {})", "insert needs a row as dyno.row makes it"),
    ] {
        let error = broken(&with_connection(&format!("function event() {script} end")));
        assert!(error.to_string().contains(expected), "{error}");
    }
}
