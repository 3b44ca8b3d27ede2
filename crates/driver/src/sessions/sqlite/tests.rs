//! The session against the system's SQLite.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod answers;
mod failures;
mod locks;
mod pragmas;

use std::path::PathBuf;

use super::open;
use crate::plan;
use crate::sessions::Session;
use crate::testing::Folder;

fn plan_of(folder: &Folder, pragmas: &[(&str, &str)]) -> plan::Session {
    let pragmas = pragmas.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    plan::Session::Sqlite {
        library: PathBuf::from("libsqlite3.so.0"),
        database: folder.path().join("test.db"),
        pragmas: pragmas.collect(),
    }
}

fn opened(folder: &Folder, pragmas: &[(&str, &str)]) -> Box<dyn Session> {
    open(&plan_of(folder, pragmas)).unwrap()
}

fn texts(session: &dyn Session) -> Vec<Option<String>> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    session.rows().fields().map(|field| field.map(text)).collect()
}

fn asked(session: &mut dyn Session, sql: &str) -> Vec<Option<String>> {
    session.query(sql).unwrap();
    texts(session)
}
