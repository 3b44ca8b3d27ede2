//! What goes wrong, and whose fault it is.

use std::path::Path;

use super::super::open;
use super::opened;
use crate::plan;
use crate::plan::error::Error;
use crate::sessions::Value;
use crate::testing::Folder;

#[test]
fn a_full_disk_is_the_hosts_fault() {
    let folder = Folder::new();
    let mut session = opened(&folder, &[("max_page_count", "2")]);
    let error = session.query("CREATE TABLE t (a); CREATE TABLE u (a)").unwrap_err();
    assert_eq!(error.failure(None).blame, "host");
    assert!(error.failure(None).hint.contains("disk is full"), "{error:?}");
}

#[test]
fn foreign_words_get_the_engines_words_and_a_hint() {
    let folder = Folder::new();
    let mut session = opened(&folder, &[]);
    let error = session.query("CREATE TABLE t (a INT) ENGINE = innodb").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the engine does not understand a statement: near \"=\": syntax error"
    );
    assert!(error.failure(None).hint.starts_with("is it written for another engine? CREATE TABLE"));
    let error = session.prepare("SELECT sleep(1)").unwrap_err();
    assert_eq!(error.state(), "42883");
}

#[test]
fn wrong_use_is_the_users_error() {
    let folder = Folder::new();
    let mut session = opened(&folder, &[]);
    let one = session.prepare("SELECT ?").unwrap();
    let error = session.execute(one, &[]).unwrap_err();
    assert_eq!(error.to_string(), "a statement with 1 parameters got 0 values: SELECT ?");
    session.close(one).unwrap();
    session.close(one).unwrap();
    assert!(session.execute(one, &[Value::Null]).is_err());
    let again = session.prepare("SELECT 2").unwrap();
    assert_eq!(again, one, "the closed statement's place is used again");
}

#[test]
fn what_is_no_library_or_no_folder_is_said() {
    let folder = Folder::new();
    let failed = |library: &Path, database: &str| -> Error {
        let plan = plan::Session::Sqlite {
            library: library.to_owned(),
            database: folder.path().join(database),
            pragmas: Vec::new(),
        };
        open(&plan).err().unwrap()
    };
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "not a library").unwrap();
    let error = failed(&text, "test.db");
    assert!(error.to_string().contains("notes.txt is not a SQLite library: "), "{error}");
    assert_eq!(error.failure(None).blame, "user");
    let error = failed(Path::new("libm.so.6"), "test.db");
    assert!(error.to_string().contains("sqlite3_threadsafe"), "{error}");
    let error = failed(Path::new("libsqlite3.so.0"), "missing/test.db");
    assert_eq!(error.failure(None).blame, "host");
    assert!(error.to_string().contains("missing/test.db: unable to open"), "{error}");
}
