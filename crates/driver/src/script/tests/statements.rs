//! Cells, statements, rows and bulk inserts.

use super::*;
use crate::testing::take_sent;

#[test]
fn cells_are_shared_and_read_at_execute() {
    let counters = counted_on_sqlite(&with_connection(
        "function event()
           con:query('CREATE TABLE t (id SERIAL, k BIGINT, d DOUBLE PRECISION, s CHAR(9), '
              .. 'PRIMARY KEY (id))')
           local t = sysbench.sql.type
           local insert = con:prepare('INSERT INTO t (k, d, s) VALUES (?, ?, ?)')
           local k, d = insert:bind_create(t.BIGINT), insert:bind_create(t.DOUBLE)
           local s = insert:bind_create(t.CHAR, 3)
           insert:bind_param(k, d, s)
           k:set(7.9) d:set(2) s:set('abcdef') insert:execute()
           k:set(9007199254740993LL) d:set(nil) s:set_rand_str('#@#') insert:execute()
           k:set(-9007199254740993LL) insert:execute()
           local get = con:prepare('SELECT id FROM t WHERE k = ?')
           get:bind_param(k)
           assert(get:execute():fetch_row()[1] == '3')
           local first = con:query('SELECT k, d, s, typeof(d) FROM t WHERE id = 1')
           local rest = con:query('SELECT id, k, d, s FROM t WHERE id > 1 ORDER BY id')
           assert(first.nrows == 1 and first.nfields == 4 and rest.nrows == 2)
           local row = first:fetch_row()
           assert(row[1] == '7' and row[2] == '2.0' and row[3] == 'abc' and row[4] == 'real')
           row = rest:fetch_row()
           assert(row[1] == '2' and row[2] == '9007199254740993' and row[3] == nil)
           assert(row[4]:match('^%d%l%d$'))
           assert(rest:fetch_row()[2] == '-9007199254740993')
           assert(rest:fetch_row() == nil and first:fetch_row() == nil and first:free())
           assert(con:query('UPDATE t SET s = NULL').nrows == 3)
           local a, b, c = con:query_row('SELECT 1, NULL, 3')
           assert(a == '1' and b == nil and c == '3')
           assert(con:query_row('SELECT 1 WHERE 0') == nil)
           dyno.count('nulls', tonumber((con:query_row(
              'SELECT COUNT(*) FROM t WHERE id IS NULL'))))
           insert:close() get:close() con:disconnect()
        end",
    ));
    assert_eq!(counters["nulls"], 0);
}

#[test]
fn texts_drawn_into_a_cell_stay_until_it_is_set_again() {
    counted_on_sqlite(&with_connection(
        "function event()
           con:query('CREATE TABLE t (id SERIAL, a TEXT, b TEXT, PRIMARY KEY (id))')
           local insert = con:prepare('INSERT INTO t (a, b) VALUES (?, ?)')
           local a = insert:bind_create(sysbench.sql.type.VARCHAR, 20)
           local b = insert:bind_create(sysbench.sql.type.CHAR, 4)
           insert:bind_param(a, b)
           a:set_rand_str('##########') b:set_rand_str('@@@@@@') insert:execute()
           insert:execute()
           a:set_rand_str('x-@@@@@@@@@@') b:set('own') insert:execute()
           a:set_rand_str('x-@@@@@@@@@@') b:set_rand_str('##') insert:execute()
           for _ = 1, 1100 do
              insert:bind_create(sysbench.sql.type.VARCHAR, 9):set_rand_str('#')
           end
           local c = insert:bind_create(sysbench.sql.type.VARCHAR, 9)
           insert:bind_param(c, c)
           c:set_rand_str('c##') insert:execute()
           local rows, found = con:query('SELECT a, b FROM t ORDER BY id'), {}
           for at = 1, 5 do found[at] = rows:fetch_row() end
           assert(found[1][1]:match('^%d+$') and #found[1][1] == 10)
           assert(found[1][2]:match('^%l%l%l%l$'))
           assert(found[2][1] == found[1][1] and found[2][2] == found[1][2])
           assert(found[3][1]:match('^x%-%l+$') and found[3][2] == 'own')
           assert(found[4][1]:match('^x%-%l+$') and found[4][1] ~= found[3][1])
           assert(found[4][2]:match('^%d%d$'))
           assert(found[5][1]:match('^c%d%d$') and found[5][2] == found[5][1])
        end",
    ));
}

#[test]
fn statements_without_the_engines_own_send_text() {
    let folder = Folder::new();
    let mut plan = sqlite(
        &folder,
        &with_connection(
            "function event()
               con:query('CREATE TABLE t (a INT, b TEXT)')
               local stmt = con:prepare('INSERT INTO t VALUES (?, ?)')
               local a = stmt:bind_create(sysbench.sql.type.INT)
               local b = stmt:bind_create(sysbench.sql.type.VARCHAR, 20)
               stmt:bind_param(a, b)
               a:set(5) b:set(\"it's\") stmt:execute()
               a:set(nil) b:set('%1') stmt:execute()
               stmt:close()
               assert(con:query_row('SELECT b FROM t WHERE a = 5') == \"it's\")
               assert(con:query_row('SELECT b FROM t WHERE a IS NULL') == '%1')
            end",
        ),
    );
    plan.script.options.insert("db-ps-mode".into(), "disable".into());
    assert_eq!(started(&plan).unwrap().0, DONE);
}

#[test]
fn a_question_mark_in_a_quote_or_comment_of_a_text_is_no_parameter() {
    let counters = counted_on_sqlite(&with_connection(
        "function event()
           local stmt = con:unprepared(\"SELECT '?', /* ? */ ? -- ?\")
           local a = stmt:bind_create(sysbench.sql.type.INT)
           stmt:bind_param(a) a:set(5)
           local row = stmt:execute():fetch_row()
           dyno.count('right', (row[1] == '?' and row[2] == '5') and 1 or 0)
        end",
    ));
    assert_eq!(counters["right"], 1);
}

#[test]
fn a_bulk_insert_sends_every_row_once_in_statements_of_half_a_megabyte() {
    let folder = Folder::new();
    let plan = sqlite(
        &folder,
        &with_connection(
            "function event()
               con:query('CREATE TABLE t (a, b)')
               con:bulk_insert_init('INSERT INTO t VALUES')
               for i = 1, 700 do
                  con:bulk_insert_next(('(%d, \"%s\")'):format(i, ('x'):rep(1000)))
               end
               con:bulk_insert_done()
               dyno.count('rows', tonumber((con:query_row('SELECT COUNT(*) FROM t'))))
            end",
        ),
    );
    let (_, mut user) = started(&plan).unwrap();
    assert_eq!(user.counters()["rows"], 700);
    let counts = user.take_counts();
    assert_eq!((counts.queries, counts.rows_changed, counts.rows_read), (4, 700, 1));
}

#[test]
fn bulk_inserts_of_two_connections_do_not_mix() {
    let counters = counted_on_sqlite(&with_connection(
        "function event()
           local other = sysbench.sql.driver():connect()
           for table, each in pairs({ a = con, b = other }) do
              con:query('CREATE TABLE ' .. table .. ' (x)')
              each:bulk_insert_init('INSERT INTO ' .. table .. ' VALUES')
           end
           for i = 1, 3 do
              con:bulk_insert_next('(1)')
              other:bulk_insert_next('(10)')
           end
           con:bulk_insert_done()
           other:bulk_insert_done()
           dyno.count('a', tonumber((con:query_row('SELECT SUM(x) FROM a'))))
           dyno.count('b', tonumber((con:query_row('SELECT SUM(x) FROM b'))))
        end",
    ));
    assert_eq!((counters["a"], counters["b"]), (3, 30));
}

#[test]
fn a_closed_statement_or_connection_is_refused() {
    for body in ["stmt:close() stmt:execute()", "con:disconnect() con:query('x')"] {
        let script = with_connection(&format!(
            "function event() local stmt = con:prepare('x') stmt:close() {body} end"
        ));
        let error = broken(&script);
        assert!(error.to_string().starts_with("a closed"), "{error}");
        assert_eq!(error.failure(None).blame, "user");
    }
}

#[test]
fn rows_that_no_text_of_the_script_reads_are_only_counted() {
    let counters = counted_on_sqlite(&with_connection(
        "function event()
           local rs = con:query('SELECT 1, 2 UNION SELECT 3, 4')
           assert(rs.nrows == 2 and rs.nfields == 2)
           assert(con:query('SELECT 1 WHERE 0').nrows == 0)
           assert(con:query_row('SELECT 7') == '7')
           local ok, text = pcall(rs['fetch_' .. 'row'], con:query('SELECT 7'))
           assert(not ok and text:find('were not kept'), text)
           dyno.count('n', 1)
        end",
    ));
    assert_eq!(counters["n"], 1);
}

#[test]
fn rows_are_kept_once_a_text_reads_them_however_it_is_loaded() {
    const BODY: &str = "return function(rs) return rs:fetch_row()[1] end";
    let folder = Folder::new();
    let file = folder.path().join("more.lua");
    std::fs::write(&file, BODY).unwrap();
    let file = file.display();
    for load in [
        "require('more')".to_owned(),
        format!("dofile('{file}')"),
        format!("assert(loadfile('{file}'))()"),
        format!("assert(loadstring('{BODY}'))()"),
        format!("assert(load('{BODY}'))()"),
        format!("assert(load(('{BODY}'):gmatch('.')))()"),
    ] {
        let event = "function event() assert(first(con:query('SELECT 5')) == '5') end";
        let plan = sqlite(&folder, &with_connection(&format!("first = {load} {event}")));
        assert_eq!(started(&plan).unwrap().0, DONE, "{load}");
    }
}

#[test]
fn a_loaded_text_that_reads_no_rows_costs_none() {
    let folder = Folder::new();
    let file = folder.path().join("quiet.lua");
    std::fs::write(&file, "quiet = 1").unwrap();
    let script = format!(
        "dofile('{}') assert(loadstring('return 1'))() assert(loadfile('absent.lua') == nil)
         function event()
           local ok, text = pcall(rs_of, con:query('SELECT 7'))
           assert(quiet == 1 and not ok and text:find('were not kept'), text)
         end
         function rs_of(rs) return rs['fetch_' .. 'row'](rs) end",
        file.display()
    );
    let plan = sqlite(&folder, &with_connection(&script));
    assert_eq!(started(&plan).unwrap().0, DONE);
}

// Rows declared as data, and the inserts made of them.

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
    play_on_null(&format!("{ROW}{event}"), 0).unwrap();
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
        play_on_null(&script, delay_ns).unwrap();
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

// Batches of requests, and bulk loads.

#[test]
fn requests_of_a_batch_wait_only_once_and_together() {
    let script = with_connection(
        "function event()
           local insert = con:prepare('insert')
           con:pipeline_begin()
           con:query('x') insert:execute() insert:execute()
           local rows, changed = con:pipeline_sync()
           assert(rows == 0 and changed == 0)
           con:query('y')
        end",
    );
    let (step, mut user) = play_on_null(&script, 20_000).unwrap();
    assert_eq!((step, user.take_counts().queries), (DONE, 4));
    assert!(matches!(user.begin("event").unwrap(), Step::Waiting { .. }));
    assert_eq!(user.take_counts().queries, 3);
}

#[test]
fn a_batch_hands_out_a_result_set_for_each_of_its_requests() {
    let script = with_connection(
        "function event()
           local insert = con:prepare('insert')
           con:pipeline_begin()
           con:query('x') insert:execute() insert:execute()
           local results = con:pipeline_results()
           assert(#results == 3 and results[3].nrows == 0 and results[3]:fetch_row() == nil)
           con:pipeline_begin()
           assert(#con:pipeline_results() == 0)
        end",
    );
    let (step, mut user) = play_on_null(&script, 20_000).unwrap();
    assert_eq!((step, user.take_counts().queries), (DONE, 3));
}

#[test]
fn a_failed_event_ends_its_batch() {
    let script = with_connection(
        "function event()
           if not failed then
              failed = true
              con:pipeline_begin()
              error({errcode = sysbench.error.RESTART_EVENT})
           end
           con:query('y')
        end",
    );
    let folder = Folder::new();
    let mut plan = folder.plan(&script);
    plan.session = Session::Null { delay_ns: 50_000_000 };
    let mut user = User::load(&plan, &IDENTITY).unwrap();
    assert_eq!(play(&mut user, "thread_init").unwrap(), DONE);
    assert_eq!(user.begin("event").unwrap(), Step::Waiting { until_ns: 0 });
    assert!(matches!(user.advance().unwrap(), Step::Waiting { until_ns } if until_ns > 0));
}

#[test]
fn an_engine_without_batches_and_loads_says_so() {
    for (call, said) in [("pipeline_begin()", "no batches"), ("pipeline_sync()", "no batch")] {
        let script = with_connection(&format!("function event() con:{call} end"));
        let error = started(&sqlite(&Folder::new(), &script)).map(drop).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
    let load = "function event() con:load('x', dyno.rows.lineitem{scale = 0.001}) end";
    let error = started(&sqlite(&Folder::new(), &with_connection(load))).map(drop).unwrap_err();
    assert!(error.to_string().contains("cannot play this bulk load"), "{error}");
}

#[test]
fn a_load_makes_the_rows_that_were_asked_for() {
    let script = with_connection(
        "function event()
           for part = 1, 2 do
              local rows = dyno.rows.lineitem{scale = 0.001, part = part, parts = 2}
              dyno.count('n', con:load('copy', rows).nrows)
           end
        end",
    );
    assert_eq!(counted(&script), 6005);
}

#[test]
fn rows_that_nobody_can_make_are_refused_by_name() {
    for (rows, said) in [
        ("dyno.rows.customer{}", "unknown variant `customer`"),
        ("dyno.rows.lineitem{size = 1}", "unknown field `size`"),
        ("dyno.rows.lineitem{scale = 'x'}", "invalid type: string"),
        ("dyno.rows.lineitem{scale = -1}", "is out of range (got -1)"),
        ("dyno.rows.lineitem{part = 3, parts = 2}", "no part 3 of 2"),
    ] {
        let script = with_connection(&format!("function event() con:load('copy', {rows}) end"));
        let error = broken(&script);
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn reads_answer_with_columns_and_writes_change_rows() {
    let folder = Folder::new();
    let script = with_connection(
        "function event()
           con:query('CREATE TABLE t (a)')
           con:query('INSERT INTO t VALUES (1), (2)')
           con:query('DELETE FROM t WHERE a = 3')
           con:query('SELECT a FROM t WHERE a = 3')
        end",
    );
    let (_, mut user) = started(&sqlite(&folder, &script)).unwrap();
    let counts = user.take_counts();
    assert_eq!((counts.queries, counts.reads, counts.writes), (4, 1, 1));
}

#[test]
fn the_words_of_sysbench_0_5_are_played() {
    let counters = counted_on_sqlite(
        "function event()
           db_query('CREATE TABLE t (a INT, b TEXT)')
           db_bulk_insert_init('INSERT INTO t (a) VALUES')
           for i = 1, 100 do db_bulk_insert_next('(' .. i .. ')') end
           db_bulk_insert_done()
           db_connect()
           db_disconnect()
           db_query('SELECT 1')
           local values = {100, 'x'}
           local stmt = db_prepare('UPDATE t SET a = a + ?, b = ?')
           db_bind_param(stmt, values)
           db_execute(stmt)
           values[1], values[2] = 1, 'y'
           local rs = db_execute(stmt)
           db_store_results(rs) db_free_results(rs) db_close(stmt)
           assert(db_driver == 'pgsql' and DB_ERROR_NONE == 0 and DB_ERROR_FAILED == 2)
           local row = {sysbench.sql.driver():connect():query_row(
              \"SELECT MIN(a), MAX(a), COUNT(DISTINCT b) FROM t WHERE b = 'y'\")}
           assert(table.concat(row, ' ') == '102 201 1', table.concat(row, ' '))
           dyno.count('n', 1)
        end",
    );
    assert_eq!(counters["n"], 1);
}

#[test]
fn a_module_of_another_folder_is_found_in_sysbenchs() {
    let Some(scripts) = folder() else {
        skipped();
        return;
    };
    if scripts != Path::new("/usr/share/sysbench") {
        return;
    }
    let counters = counted_on_sqlite(
        "require('oltp_common')
        function thread_init() end
        function event() dyno.count('n', sysbench.opt.table_size) end",
    );
    assert_eq!(counters["n"], 10000);
}
