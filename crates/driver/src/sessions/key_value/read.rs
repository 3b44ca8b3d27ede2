//! A text of SQL as a [`Statement`].

use std::cmp::Ordering;

use super::{Change, Length, Operand, Selection, Statement};
use crate::plan::error::{Error, shorten};
use crate::sessions::Value;

/// Reads one statement, and how many parameters it has; any that is none of the forms is refused.
pub fn read(sql: &str) -> Result<(Statement, usize), Error> {
    let mut reader = Reader { rest: sql, parameters: 0 };
    let found = reader.statement().filter(|_| {
        reader.skip_sign(';');
        reader.rest.trim().is_empty()
    });
    found.map(|it| (it, reader.parameters)).ok_or_else(|| {
        Error::user("a key-value engine does not know such a statement")
            .because(shorten(sql))
            .hint("it reads and writes rows of a table by their key, as the workload kv does")
            .sql(0, "0A000")
    })
}

/// The rest of a text; `None` from any function: it is not what was looked for.
struct Reader<'a> {
    rest: &'a str,
    parameters: usize,
}

impl<'a> Reader<'a> {
    fn statement(&mut self) -> Option<Statement> {
        let word = self.next_word()?.to_ascii_uppercase();
        match &word[..] {
            "BEGIN" => Some(Statement::Begin),
            "COMMIT" => Some(Statement::Commit),
            "ROLLBACK" => Some(Statement::Rollback),
            "CREATE" => self.create(),
            "DROP" => {
                self.words(&["TABLE", "IF", "EXISTS"])?;
                Some(Statement::Drop { table: self.name()? })
            }
            "SHOW" if self.word("TABLES") => Some(Statement::Tables),
            "SHOW" if self.word("STATUS") => Some(Statement::Status),
            "INSERT" => self.insert(),
            "UPDATE" => self.update(),
            "DELETE" => {
                self.words(&["FROM"])?;
                let (table, rows) = self.rows()?;
                Some(Statement::Delete { table, rows })
            }
            "SELECT" => self.select(),
            _ => None,
        }
    }

    /// The key is the column that says so itself, or a clause of its own behind all columns.
    fn create(&mut self) -> Option<Statement> {
        self.words(&["TABLE"])?;
        let table = self.name()?;
        self.sign('(')?;
        let (mut key, mut columns) = (None, Vec::new());
        loop {
            if self.words(&["PRIMARY", "KEY"]).is_some() {
                self.sign('(')?;
                key = Some(self.name()?);
                self.sign(')')?;
            } else {
                let column = self.name()?;
                if self.type_of_column()?.to_ascii_uppercase().contains("PRIMARY KEY") {
                    key = Some(column.clone());
                }
                columns.push(column);
            }
            if !self.skip_sign(',') {
                break;
            }
        }
        self.sign(')')?;
        let key = key?;
        columns.retain(|it| *it != key);
        Some(Statement::Create { table, key, columns })
    }

    /// All that stands behind a column's name.
    fn type_of_column(&mut self) -> Option<&'a str> {
        let mut depth = 0;
        let end = self.rest.find(|sign| {
            depth += i32::from(sign == '(') - i32::from(sign == ')');
            depth < 0 || depth == 0 && sign == ','
        })?;
        let (found, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(found)
    }

    fn insert(&mut self) -> Option<Statement> {
        self.words(&["INTO"])?;
        let table = self.name()?;
        self.sign('(')?;
        let columns = self.list(Self::name)?;
        self.sign(')')?;
        self.words(&["VALUES"])?;
        let mut values = Vec::new();
        loop {
            self.sign('(')?;
            let row = self.list(Self::operand)?;
            self.sign(')')?;
            if row.len() != columns.len() {
                return None;
            }
            values.extend(row);
            if !self.skip_sign(',') {
                return Some(Statement::Insert { table, columns, values });
            }
        }
    }

    fn update(&mut self) -> Option<Statement> {
        let table = self.name()?;
        self.words(&["SET"])?;
        let changes = self.list(|it| {
            let column = it.name()?;
            it.sign('=')?;
            let plus = it.rest;
            if it.name().as_ref() == Some(&column) && it.skip_sign('+') {
                return Some((column, Change::Plus(it.number()?)));
            }
            it.rest = plus;
            Some((column, Change::To(it.operand()?)))
        })?;
        let rows = self.selection()?;
        Some(Statement::Update { table, changes, rows })
    }

    fn select(&mut self) -> Option<Statement> {
        if self.skip_sign('(') {
            return self.sum();
        }
        if self.counts_rows() {
            return Some(Statement::Count(vec![self.counted_rows()?]));
        }
        let columns = if self.skip_sign('*') { Vec::new() } else { self.list(Self::name)? };
        self.words(&["FROM"])?;
        let (table, rows) = self.rows()?;
        Some(Statement::Select { table, columns, rows })
    }

    /// `(SELECT COUNT(*) FROM a) + (SELECT COUNT(*) FROM b)`, behind the first bracket.
    fn sum(&mut self) -> Option<Statement> {
        let mut parts = Vec::new();
        loop {
            self.words(&["SELECT"])?;
            if !self.counts_rows() {
                return None;
            }
            parts.push(self.counted_rows()?);
            self.sign(')')?;
            if !self.skip_sign('+') {
                return Some(Statement::Count(parts));
            }
            self.sign('(')?;
        }
    }

    fn counts_rows(&mut self) -> bool {
        let before = self.rest;
        let found = self.word("COUNT") && "(*)".chars().all(|sign| self.skip_sign(sign));
        if !found {
            self.rest = before;
        }
        found
    }

    fn counted_rows(&mut self) -> Option<(String, Selection)> {
        self.words(&["FROM"])?;
        self.rows()
    }

    fn rows(&mut self) -> Option<(String, Selection)> {
        let table = self.name()?;
        Some((table, self.selection()?))
    }

    fn selection(&mut self) -> Option<Selection> {
        if !self.word("WHERE") {
            return Some(Selection::All(Vec::new()));
        }
        if self.word("LENGTH") {
            return self.lengths();
        }
        let key = self.name()?;
        if self.word("IN") {
            self.sign('(')?;
            let keys = self.list(Self::operand)?;
            self.sign(')')?;
            return Some(Selection::Keys(key, keys));
        }
        if self.word("BETWEEN") {
            let first = self.operand()?;
            self.words(&["AND"])?;
            return Some(Selection::Between(key, first, self.operand()?));
        }
        if self.skip_sign('=') {
            return Some(Selection::Keys(key, vec![self.operand()?]));
        }
        self.sign('>')?;
        self.sign('=')?;
        let first = self.operand()?;
        self.words(&["ORDER", "BY"])?;
        if self.name()? != key {
            return None;
        }
        self.words(&["LIMIT"])?;
        Some(Selection::From(key, first, self.operand()?))
    }

    /// Behind the first `LENGTH`.
    fn lengths(&mut self) -> Option<Selection> {
        let mut lengths = Vec::new();
        loop {
            self.sign('(')?;
            let column = self.name()?;
            self.sign(')')?;
            let order = if self.skip_sign('<') {
                Ordering::Less
            } else {
                self.sign('=')?;
                Ordering::Equal
            };
            lengths.push(Length { column, order, bytes: self.number()? });
            if self.words(&["AND", "LENGTH"]).is_none() {
                return Some(Selection::All(lengths));
            }
        }
    }

    // ---- pieces -------------------------------------------------------------------------------

    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut found = vec![one(self)?];
        while self.skip_sign(',') {
            found.push(one(self)?);
        }
        Some(found)
    }

    fn operand(&mut self) -> Option<Operand> {
        if self.skip_sign('?') {
            self.parameters += 1;
            return Some(Operand::Parameter(self.parameters - 1));
        }
        let value = match self.skip_sign('\'') {
            true => Value::Text(self.quoted('\'')?.into_bytes()),
            false => Value::Integer(self.number()?),
        };
        Some(Operand::Literal(value))
    }

    fn number(&mut self) -> Option<i64> {
        let minus = if self.skip_sign('-') { "-" } else { "" };
        let digits = self.next_word()?;
        format!("{minus}{digits}").parse().ok()
    }

    fn name(&mut self) -> Option<String> {
        match self.skip_sign('"') {
            true => self.quoted('"'),
            false => self.next_word().map(str::to_owned),
        }
    }

    /// To the mark that ends it, behind the one that began it; a doubled one stands for itself.
    fn quoted(&mut self, mark: char) -> Option<String> {
        let mut found = String::new();
        loop {
            let (text, rest) = self.rest.split_once(mark)?;
            found.push_str(text);
            self.rest = rest;
            match rest.strip_prefix(mark) {
                Some(rest) => {
                    found.push(mark);
                    self.rest = rest;
                }
                None => return Some(found),
            }
        }
    }

    fn next_word(&mut self) -> Option<&'a str> {
        let text = self.rest.trim_start();
        let end = text.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    /// These words, or none of them.
    fn words(&mut self, wanted: &[&str]) -> Option<()> {
        let before = self.rest;
        let found = wanted
            .iter()
            .all(|wanted| self.next_word().is_some_and(|it| it.eq_ignore_ascii_case(wanted)));
        if !found {
            self.rest = before;
        }
        found.then_some(())
    }

    fn word(&mut self, wanted: &str) -> bool {
        self.words(&[wanted]).is_some()
    }

    fn sign(&mut self, wanted: char) -> Option<()> {
        self.skip_sign(wanted).then_some(())
    }

    fn skip_sign(&mut self, wanted: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}
