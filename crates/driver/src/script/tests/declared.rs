//! Declared events send what written ones send.

use super::*;
use crate::testing::take_sent;

const HEAD: &str = "
    local con
    local function prepared(number)
       return con:prepare('SELECT a FROM t' .. number .. ' WHERE a BETWEEN ? AND ?'),
          con:prepare('DELETE FROM t' .. number .. ' WHERE a = ?'),
          con:prepare('INSERT INTO t' .. number .. ' VALUES (?, ?, ?)')
    end
    function thread_init()
       con = sysbench.sql.driver():connect()
       con:query('CREATE TABLE t1 (a, b, c)')
       con:query('CREATE TABLE t2 (a, b, c)')
    end
    function rows()
       for number = 1, 2 do
          local answer = con:query('SELECT * FROM t' .. number)
          for _ = 1, answer.nrows do
             local row = answer:fetch_row()
             dyno.count(('t%d %s %s %s'):format(number, row[1], row[2], tostring(row[3])))
          end
       end
    end\n";

/// Three ranges on one of two tables; a delete and an insert of one id, twice, on one of two; text.
const DECLARED: &str = "
    local function items(number)
       local range, delete, insert = prepared(number)
       local from, id = dyno.rand.default(1, 100), dyno.rand.special(1, 5)
       return {times = 3, range, from, from + 9},
          {times = 2, {delete, id, counts = {gone = 1, ids = id}},
             {insert, id, dyno.rand.string('#@#'), 2.5}}
    end
    declared = dyno.event(function()
       local first, second = {items(1)}, {items(2)}
       return {
          {con:prepare('BEGIN')},
          dyno.one_of {first[1], second[1]},
          dyno.one_of {first[2], second[2]},
          {con:unprepared('INSERT INTO t1 VALUES (?, ?, NULL)'), dyno.rand.unique() - 1, \"it's\"},
          {con:prepare('COMMIT')},
          atomic = true,
       }
    end)\n";

const WRITTEN: &str = "
    local rand, t = sysbench.rand, sysbench.sql.type
    local function bound(statement, ...)
       local cells = {}
       for i, kind in ipairs {...} do cells[i] = statement:bind_create(kind) end
       statement:bind_param(unpack(cells))
       return function(...)
          for i, cell in ipairs(cells) do cell:set((select(i, ...))) end
          return statement:execute().nrows
       end
    end
    local function functions(number)
       local range, delete, insert = prepared(number)
       return {range = bound(range, t.INT, t.INT), delete = bound(delete, t.INT),
          insert = bound(insert, t.INT, t.CHAR, t.DOUBLE)}
    end
    function thread_start()
       local tables = {functions(1), functions(2)}
       local text = bound(con:unprepared('INSERT INTO t1 VALUES (?, ?, NULL)'), t.BIGINT, t.CHAR)
       local begin, commit = con:prepare('BEGIN'), con:prepare('COMMIT')
       event = function()
          begin:execute()
          local one = tables[rand.uniform(1, 2)]
          for _ = 1, 3 do
             local from = rand.default(1, 100)
             one.range(from, from + 9)
          end
          one = tables[rand.uniform(1, 2)]
          for _ = 1, 2 do
             local id = rand.special(1, 5)
             local gone = one.delete(id)
             dyno.count('gone', gone)
             dyno.count('ids', gone * id)
             one.insert(id, rand.string('#@#'), 2.5)
          end
          text(rand.unique() - 1, \"it's\")
          commit:execute()
       end
    end
    function event() thread_start() event() end\n";

/// All that 20 events of a script sent, and what they counted.
fn sent(plan: &Plan) -> (Vec<String>, BTreeMap<String, u64>) {
    let mut user = User::load(plan, &SEAT).unwrap();
    play(&mut user, "thread_init").unwrap();
    take_sent();
    let steps = (0..20).map(|_| play(&mut user, "event").unwrap());
    assert!(steps.into_iter().all(|step| step == DONE));
    assert_eq!(user.take_counts().queries, 20 * 10 + 2);
    let sent = take_sent();
    play(&mut user, "rows").unwrap();
    (sent, user.counters())
}

const FORMS: [&str; 3] = [WRITTEN, "event = declared", "function event() declared() end"];

#[test]
fn a_declared_event_sends_what_a_written_one_sends() {
    for (option, value) in
        [("rand_type", "uniform"), ("rand_type", "pareto"), ("db-ps-mode", "disable")]
    {
        for delay_ns in [0, 1000] {
            let [written, declared, called] = FORMS.map(|form| {
                let folder = Folder::new();
                let mut plan = folder.plan(&format!("{HEAD}{DECLARED}{form}"));
                plan.session = Session::Null { delay_ns };
                plan.script.options.insert(option.into(), value.into());
                sent(&plan).0
            });
            assert_eq!(written.len(), 200);
            assert_eq!(written, declared);
            assert_eq!(written, called);
        }
    }
}

#[test]
fn an_engine_holds_the_same_rows_and_counts_the_same_after_either() {
    let [written, declared, called] = FORMS.map(|form| {
        let folder = Folder::new();
        sent(&sqlite(&folder, &format!("{HEAD}{DECLARED}{form}"))).1
    });
    assert!(written["gone"] > 0 && written.len() > 20, "{written:?}");
    assert_eq!(written, declared);
    assert_eq!(written, called);
}
