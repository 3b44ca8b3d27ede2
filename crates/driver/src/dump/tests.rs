//! Files as dump programs write them, and as they are cut.
#![allow(clippy::unwrap_used)]

use std::io::Write;

use super::*;
use crate::sessions::reading;

/// Statements that are sent, with their lines; rows of a COPY behind `<`; or the error.
fn played(text: &str, kind: &str, databases: &str) -> Result<Vec<String>, Error> {
    let mut file = tempfile(text);
    file.flush().unwrap();
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    let mut dump =
        Dump::open(Path::new(&path), reading(kind).unwrap(), Databases::parse(databases))?;
    let mut sent = Vec::new();
    while let Some(part) = dump.next()? {
        let mut said = format!("{}: {}", dump.line, String::from_utf8_lossy(dump.text()));
        if part == Part::Copy {
            let (mut rows, mut piece) = (dump.rows(), Vec::new());
            loop {
                let before = piece.len();
                rows.fill(&mut piece)?;
                if piece.len() == before {
                    break;
                }
            }
            said += &format!(" < {:?}", String::from_utf8_lossy(&piece));
        }
        sent.push(said);
    }
    Ok(sent)
}

fn tempfile(text: &str) -> std::fs::File {
    let handle =
        rustix::fs::memfd_create("dump", rustix::fs::MemfdFlags::CLOEXEC).map(std::fs::File::from);
    let mut file = handle.unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn refused(text: &str, kind: &str) -> String {
    played(text, kind, "").unwrap_err().to_string()
}

#[test]
fn statements_end_where_the_servers_client_ends_them() {
    for (kind, text, wanted) in [
        (
            "mysql",
            "SELECT ';', \"a;\\\"b\" -- ;\n, `;`; # ;\nSELECT 2",
            vec!["1: SELECT ';', \"a;\\\"b\" -- ;\n, `;`", "3: SELECT 2"],
        ),
        (
            "mysql",
            "DELIMITER ;;\nCREATE TRIGGER t BEGIN SET @a = 1; END ;;\nDELIMITER ;\nSELECT 1;",
            vec!["2: CREATE TRIGGER t BEGIN SET @a = 1; END", "4: SELECT 1"],
        ),
        (
            "mysql",
            "delimiter $$\nSELECT 1$$\nSELECT $2; 3$$",
            vec!["2: SELECT 1", "3: SELECT $2; 3"],
        ),
        (
            "mysql",
            "/*!40101 SET NAMES utf8mb4 */;\n/*M!999999\\- enable the sandbox mode */ \n\
                /* ; */SELECT 1;",
            vec!["1: /*!40101 SET NAMES utf8mb4 */", "3: SELECT 1"],
        ),
        (
            "mysql",
            "SET sql_mode='NO_BACKSLASH_ESCAPES';SELECT '\\';SET sql_mode='';SELECT '\\';';",
            vec![
                "1: SET sql_mode='NO_BACKSLASH_ESCAPES'",
                "1: SELECT '\\'",
                "1: SET sql_mode=''",
                "1: SELECT '\\';'",
            ],
        ),
        (
            "postgres",
            "\\restrict x\nSELECT $a$;$a$, E'\\';', '\\';\n\\unrestrict x\n",
            vec!["2: SELECT $a$;$a$, E'\\';', '\\'"],
        ),
        (
            "postgres",
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql\n\
                BEGIN ATOMIC\n SELECT CASE WHEN true THEN 1 END;\nEND;\nSELECT 2;",
            vec![
                "1: CREATE FUNCTION f() RETURNS int LANGUAGE sql\n\
                    BEGIN ATOMIC\n SELECT CASE WHEN true THEN 1 END;\nEND",
                "5: SELECT 2",
            ],
        ),
        (
            "postgres",
            "CREATE RULE r AS ON INSERT TO t DO ALSO (SELECT 1; SELECT 2);SELECT /* /* ; */ ; \
                */ 3;",
            vec![
                "1: CREATE RULE r AS ON INSERT TO t DO ALSO (SELECT 1; SELECT 2)",
                "1: SELECT /* /* ; */ ; */ 3",
            ],
        ),
        ("postgres", "SELECT E'it''s \\';', 1;", vec!["1: SELECT E'it''s \\';', 1"]),
    ] {
        assert_eq!(played(text, kind, "").unwrap(), wanted, "{text}");
    }
}

#[test]
fn a_trigger_of_sqlite_ends_with_its_own_end() {
    let trigger = "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; \
                   SELECT 1; END";
    let sent = played(&format!("{trigger};\nSELECT 1;"), "sqlite", "").unwrap();
    assert_eq!(sent, [format!("1: {trigger}"), "2: SELECT 1".to_owned()]);
}

#[test]
fn a_statement_that_is_longer_than_what_is_read_at_once_is_one() {
    for quote in ["x", "''", "\\'", "--", "$", "/*"] {
        let long = quote.repeat(400_000);
        let text = format!("INSERT INTO t VALUES ('{long}');\nSELECT 1;");
        let sent = played(&text, "mysql", "").unwrap();
        assert_eq!((sent.len(), sent[0].len()), (2, text.len() - 8), "{quote}");
    }
    let many = "INSERT INTO t VALUES (1, 'it''s');\n".repeat(30_000);
    assert_eq!(played(&many, "postgres", "").unwrap().len(), 30_000);
}

#[test]
fn rows_of_a_copy_end_where_a_line_says_so() {
    let text = "COPY public.t (a, b) FROM stdin;\n1\t\\.x\n\\.2\n\\.\n\nCOPY e FROM STDIN;\n\
        \\.\nSELECT 1;";
    assert_eq!(
        played(text, "postgres", "").unwrap(),
        [
            "1: COPY public.t (a, b) FROM stdin < \"1\\t\\\\.x\\n\\\\.2\\n\"",
            "6: COPY e FROM STDIN < \"\"",
            "8: SELECT 1",
        ]
    );
    let rows = "some\trow\n".repeat(100_000);
    let sent =
        played(&format!("COPY t FROM stdin;\n{rows}\\.\nSELECT 1;"), "postgres", "").unwrap();
    assert_eq!(sent.len(), 2);
    let said = refused("COPY t FROM stdin;\n1\n2", "postgres");
    assert!(said.contains("amid the rows of a COPY"), "{said}");
}

#[test]
fn what_concerns_accounts_or_other_databases_is_left_out_and_counted() {
    let text = "ALTER TABLE t OWNER TO app;\nGRANT SELECT ON t TO reader;\nCREATE ROLE x;\n\
        CREATE POLICY p ON t TO app USING (true);\nCREATE POLICY q ON t USING (true);\n\
        SET default_tablespace = fast;\nSET default_tablespace = '';\nSET row_security = off;\n";
    let sent = played(text, "postgres", "").unwrap();
    assert_eq!(
        sent[..2],
        ["5: CREATE POLICY q ON t USING (true)", "7: SET default_tablespace = ''"]
    );
    assert!(sent[2].starts_with("8: SELECT pg_catalog.set_config('row_security', 'off', false)"));
    let text = "SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a:1';\nSET @MYSQLDUMP_TEMP_LOG_BIN = 1;\n\
        CREATE USER a;\nCREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop`;\nUSE `shop`;\n\
        /*!50003 CREATE*/ /*!50017 DEFINER=`a b`@`%`*/ /*!50003 TRIGGER t*/;\n\
        CREATE DEFINER = x@localhost VIEW v AS SELECT 1;\n\
            CREATE SQL SECURITY DEFINER VIEW w AS SELECT 1";
    let wanted = [
        "6: /*!50003 CREATE*/ /*!50017 */ /*!50003 TRIGGER t*/",
        "7: CREATE  VIEW v AS SELECT 1",
        "8: CREATE SQL SECURITY DEFINER VIEW w AS SELECT 1",
    ];
    assert_eq!(played(text, "mysql", "").unwrap(), wanted);
}

#[test]
fn one_of_several_databases_is_loaded_or_none() {
    let text = "SET a = 1;\nUSE `a`;\nSELECT 1;\nUSE b;\nSELECT 2;";
    assert_eq!(played(text, "mysql", "b").unwrap(), ["1: SET a = 1", "5: SELECT 2"]);
    let all = "1: SET a = 1|2: CREATE DATABASE IF NOT EXISTS `a`|2: USE `a`|3: SELECT 1|\
        4: CREATE DATABASE IF NOT EXISTS `b`|4: USE b|5: SELECT 2";
    assert_eq!(played(text, "mysql", "*").unwrap().join("|"), all);
    assert!(refused(text, "mysql").contains("the databases a and b"));
    let text = "CREATE ROLE x;\n\\connect template1\nCOPY t FROM stdin;\n1\n\\.\n\\connect \
        -reuse-previous=on \"dbname='b'\"\nSELECT 2;";
    assert_eq!(played(text, "postgres", "b").unwrap(), ["7: SELECT 2"]);
    assert!(refused(text, "postgres").contains("the databases template1 and b"));
}

#[test]
fn a_dump_s_own_database_is_taken_out_before_names_and_nowhere_else() {
    for (text, wanted) in [
        (
            "CREATE TABLE IF NOT EXISTS `shop` . `t` (i INT)",
            "CREATE TABLE IF NOT EXISTS `t` (i INT)",
        ),
        (
            "CREATE VIEW v AS SELECT a.i FROM`shop`.t a JOIN shop.u",
            "CREATE VIEW v AS SELECT a.i FROM t a JOIN u",
        ),
        (
            "/*!50001 VIEW `shop`.`v` AS select `shop`.`t`.`i` AS `i` from `shop`.`t` */",
            "/*!50001 VIEW `v` AS select `t`.`i` AS `i` from `t` */",
        ),
        (
            "INSERT INTO shop.t VALUES ('shop.t', \"it\\'s shop.t\") -- shop.t",
            "INSERT INTO t VALUES ('shop.t', \"it\\'s shop.t\") -- shop.t",
        ),
        (
            "CREATE TRIGGER shop.g BEFORE INSERT ON shop.t FOR EACH ROW \
             CALL shop.p(shop.f(NEW.i), @shop)",
            "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW CALL p(f(NEW.i), @shop)",
        ),
        // a table, an alias or a column of that name: what is surely the database goes
        ("SELECT shop.i FROM shop", "SELECT shop.i FROM shop"),
        (
            "SELECT shop.i, shop.shop.j FROM t AS shop JOIN shop.u",
            "SELECT shop.i, shop.j FROM t AS shop JOIN u",
        ),
        ("CREATE TABLE `shop`.`shop` (i INT)", "CREATE TABLE `shop` (i INT)"),
        ("SELECT shop.* FROM t", "SELECT shop.* FROM t"),
        (
            "SELECT myshop.i, shop2.i, a.shop.i, other.t.i FROM other.t",
            "SELECT myshop.i, shop2.i, a.shop.i, other.t.i FROM other.t",
        ),
    ] {
        assert_eq!(played(text, "mysql", "shop").unwrap(), [format!("1: {wanted}")], "{text}");
        assert_eq!(played(text, "mysql", "*").unwrap(), [format!("1: {text}")], "{text}");
    }
    let text = "SET sql_mode='NO_BACKSLASH_ESCAPES';INSERT INTO shop.t VALUES ('\\', ' shop.t');";
    let sent = played(text, "mysql", "shop").unwrap();
    assert_eq!(sent[1], "1: INSERT INTO t VALUES ('\\', ' shop.t')");
    let schema = "CREATE TABLE shop.t (i int)";
    assert_eq!(played(schema, "postgres", "shop").unwrap(), [format!("1: {schema}")]);
}

#[test]
fn a_dump_of_another_server_is_refused_by_name() {
    let mysql = "-- MySQL dump 10.13  Distrib 8.0.33\nSELECT 1;\n-- Dump completed on x";
    let postgres = "--\n-- PostgreSQL database dump\n--\n\n\\restrict x\n--\n\
        -- PostgreSQL database dump complete\n--\n";
    assert!(played(mysql, "mysql", "").is_ok() && played(postgres, "postgres", "").is_ok());
    assert!(refused(mysql, "postgres").contains("a dump of MySQL or MariaDB"));
    assert!(refused(postgres, "mysql").contains("a dump of PostgreSQL"));
    assert!(refused(postgres, "sqlite").contains("a dump of PostgreSQL"));
    assert!(
        refused("/*M!999999\\- enable the sandbox mode */\n", "postgres").contains("mariadb-dump")
    );
    assert!(refused("PRAGMA foreign_keys=OFF;\nBEGIN;", "mysql").contains("SQLite"));
}

#[test]
fn a_dump_that_was_cut_is_refused() {
    for (text, kind, said) in [
        ("-- MySQL dump 10.13\n", "mysql", "without '-- Dump completed'"),
        ("-- MySQL dump 10.13\nSELECT 1\n", "mysql", "without '-- Dump completed'"),
        (
            "-- MariaDB dump 10.19\n--\n-- Server version\t11.8.3\nSELECT 1;\n",
            "mysql",
            "without '-- Dump completed'",
        ),
        (
            "-- PostgreSQL database dump\n-- Dumped from database version 18\nSELECT 1;\n",
            "postgres",
            "without '-- PostgreSQL database dump complete'",
        ),
        (
            "-- PostgreSQL database cluster dump\nCREATE ROLE a;\n",
            "postgres",
            "cluster dump complete'",
        ),
        (
            "-- PostgreSQL database cluster dump\n-- PostgreSQL database dump\n\
                -- PostgreSQL database dump complete\n",
            "postgres",
            "cluster dump complete'",
        ),
        ("INSERT INTO t VALUES ('a", "mysql", "amid a quoted text"),
        ("SELECT 1; /* a", "postgres", "amid a comment"),
    ] {
        let found = refused(text, kind);
        assert!(found.contains(said), "{found}");
    }
}

#[test]
fn a_file_put_together_under_a_dump_s_head_needs_no_end() {
    for (text, kind) in [
        ("-- MySQL dump 10.13\nSELECT 1;\n", "mysql"),
        ("-- PostgreSQL database dump\n--\nSELECT 1;\n-- the end\n", "postgres"),
    ] {
        assert_eq!(played(text, kind, "").unwrap().len(), 1, "{text}");
    }
}

#[test]
fn what_only_a_client_can_do_is_refused_with_its_line() {
    for (text, kind) in
        [("\\i x.sql", "postgres"), ("source x.sql", "mysql"), (".read x", "sqlite")]
    {
        assert!(refused(text, kind).contains("cannot be played"), "{text}");
    }
    assert!(refused("/*!40101 SET NAMES gbk */;", "mysql").contains("the character set GBK"));
}

#[test]
fn an_outline_has_all_but_rows() {
    let text = "CREATE TABLE a (i int);\nINSERT INTO a VALUES (1);\nINSERT INTO a VALUES (2);\n\
        USE b;\nINSERT INTO b.c VALUES (1);\nGRANT ALL ON a TO x;\n\
        CREATE TABLE IF NOT EXISTS `d`.`e` (i int);\nCREATE PROCEDURE p() \
        INSERT INTO f.g VALUES (1);";
    let file = tempfile(text);
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    let found = outline(Path::new(&path), reading("mysql").unwrap()).unwrap();
    let texts: Vec<_> = found.texts.iter().map(|it| format!("{}: {}", it.line, it.text)).collect();
    assert_eq!(
        texts,
        [
            "1: CREATE TABLE a (i int)",
            "2: INSERT INTO a VALUES",
            "4: USE b",
            "5: INSERT INTO b.c VALUES",
            "7: CREATE TABLE IF NOT EXISTS `d`.`e` (i int)",
            "8: CREATE PROCEDURE p() INSERT INTO f.g VALUES (1)",
        ]
    );
    assert_eq!(
        found.databases.into_iter().collect::<Vec<_>>(),
        [(String::new(), 3), ("b".to_owned(), 1), ("d".to_owned(), 1)]
    );
    assert_eq!(found.left_out.len(), 1);
}
