//! Cells, statements, rows and bulk inserts.

use super::*;

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
fn rows_are_kept_where_a_required_file_reads_them() {
    let folder = Folder::new();
    let more = "function first(rs) return rs:fetch_row()[1] end";
    std::fs::write(folder.path().join("more.lua"), more).unwrap();
    let script = "require('more') function event() assert(first(con:query('SELECT 5')) == '5') end";
    let plan = sqlite(&folder, &with_connection(script));
    assert_eq!(started(&plan).unwrap().0, DONE);
}
