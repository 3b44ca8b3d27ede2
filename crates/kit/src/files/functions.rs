//! The functions as SQL calls them.

use std::marker::PhantomData;

use super::query::{parse_condition, parse_query};
use super::results::{self, Form};
use super::writer::{self, Writer};
use super::{Index, MANIFEST, evaluate, folder_of, refused, root};
use crate::function::{Aggregate, Answer, Arguments, Fault, Function, Kind, Shape, Takes};

const NO_NAME: &str = "the name of the index is NULL";

/// Something done for each row, of texts, that answers a number.
pub trait Act: Send + 'static {
    /// What it takes.
    const TAKES: Takes;

    /// Does it.
    fn act(row: Arguments) -> Result<u64, Fault>;
}

/// A function that does something.
pub struct Acting<A>(PhantomData<A>);

impl<A: Act> Function for Acting<A> {
    const TAKES: Takes = A::TAKES;

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self(PhantomData), Shape::Integer))
    }

    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault> {
        A::act(row).map(|it| Answer::Integer(it as i64))
    }
}

const BYTES: Kind = Kind::Bytes;

/// Of `Create`.
pub struct Creating;
/// `fb_create(index, columns)`: 0.
pub type Create = Acting<Creating>;

impl Act for Creating {
    const TAKES: Takes =
        Takes { kinds: &[BYTES, BYTES], least: 2, usage: "fb_create(index, 'a:int,b:text')" };

    fn act(row: Arguments) -> Result<u64, Fault> {
        let folder = folder_of(row.bytes(0).ok_or(NO_NAME)?)?;
        writer::create(&folder, row.bytes(1).ok_or("the columns are NULL")?)?;
        Ok(0)
    }
}

/// Of `Drop`.
pub struct Dropping;
/// `fb_drop(index)`: 0.
pub type Drop = Acting<Dropping>;

impl Act for Dropping {
    const TAKES: Takes = Takes { kinds: &[BYTES], least: 1, usage: "fb_drop(index)" };

    fn act(row: Arguments) -> Result<u64, Fault> {
        writer::remove(&folder_of(row.bytes(0).ok_or(NO_NAME)?)?)?;
        Ok(0)
    }
}

/// Of `Load`.
pub struct Loading;
/// `fb_load(index, lines [, delimiter])`: how many rows.
pub type Load = Acting<Loading>;

impl Act for Loading {
    const TAKES: Takes = Takes {
        kinds: &[BYTES, BYTES, BYTES],
        least: 2,
        usage: "fb_load(index, lines [, delimiter])",
    };

    fn act(row: Arguments) -> Result<u64, Fault> {
        let folder = folder_of(row.bytes(0).ok_or(NO_NAME)?)?;
        let lines = row.bytes(1).ok_or("the lines are NULL: may the server read that file?")?;
        let delimiter = delimiter_of(row, b',')?;
        let mut writer = Writer::open(folder)?;
        add_lines(&mut writer, lines, delimiter)?;
        writer.commit()
    }
}

/// Of `Insert`.
pub struct Inserting;
/// `fb_insert(index, 'v|v' [, delimiter])`: 1.
pub type Insert = Acting<Inserting>;

impl Act for Inserting {
    const TAKES: Takes = Takes {
        kinds: &[BYTES, BYTES, BYTES],
        least: 2,
        usage: "fb_insert(index, 'value|value' [, delimiter])",
    };

    fn act(row: Arguments) -> Result<u64, Fault> {
        let folder = folder_of(row.bytes(0).ok_or(NO_NAME)?)?;
        let line = row.bytes(1).ok_or("the row is NULL")?;
        let delimiter = delimiter_of(row, b'|')?;
        let mut writer = Writer::open(folder)?;
        let (fields, rest) = fields_of(line, delimiter)?;
        if !rest.is_empty() {
            return Err("that is more than one row".into());
        }
        writer.add(&as_row(&fields))?;
        writer.commit()
    }
}

/// Of `Delete`.
pub struct Deleting;
/// `fb_delete(index, condition)`: how many rows.
pub type Delete = Acting<Deleting>;

impl Act for Deleting {
    const TAKES: Takes =
        Takes { kinds: &[BYTES, BYTES], least: 2, usage: "fb_delete(index, condition)" };

    fn act(row: Arguments) -> Result<u64, Fault> {
        let folder = folder_of(row.bytes(0).ok_or(NO_NAME)?)?;
        let text = row.bytes(1).ok_or("the condition is NULL")?;
        let mut writer = Writer::open(folder.clone())?;
        // under the lock, so that no row is added meanwhile
        let index = Index::open(&folder)?;
        let condition = parse_condition(text, &index.manifest)?;
        let columns = &index.manifest.columns;
        let gone = index.segments.iter().map(|it| evaluate::rows_of(&condition, it, columns));
        let count = writer.delete(gone.collect::<Result<_, _>>()?)?;
        writer.commit()?;
        Ok(count)
    }
}

fn delimiter_of(row: Arguments, usual: u8) -> Result<u8, Fault> {
    match row.bytes(2) {
        None => Ok(usual),
        Some([it]) if it.is_ascii() && !b"\"\\\r\n".contains(it) => Ok(*it),
        Some(_) => Err("a delimiter is one ASCII character, no quote, no end of a line".into()),
    }
}

fn add_lines(writer: &mut Writer, lines: &[u8], delimiter: u8) -> Result<(), Fault> {
    let (mut rest, mut number) = (lines, 0_u64);
    while !rest.is_empty() {
        number += 1;
        let at = |Fault(why)| Fault(format!("row {number}: {why}"));
        let (fields, behind) = fields_of(rest, delimiter).map_err(at)?;
        writer.add(&as_row(&fields)).map_err(at)?;
        rest = behind;
    }
    Ok(())
}

type Field = Option<Vec<u8>>;

fn as_row(fields: &[Field]) -> Vec<Option<&[u8]>> {
    fields.iter().map(Option::as_deref).collect()
}

/// The fields of the first line, and what follows it. One in quotes may have all in it, a quote as
/// two; `\N`, and nothing at all, is NULL.
fn fields_of(lines: &[u8], delimiter: u8) -> Result<(Vec<Field>, &[u8]), Fault> {
    let (mut fields, mut rest) = (Vec::new(), lines);
    loop {
        let field;
        (field, rest) = field_of(rest, delimiter)?;
        fields.push(field);
        match rest {
            [] => return Ok((fields, rest)),
            [b'\n', behind @ ..] | [b'\r', b'\n', behind @ ..] => return Ok((fields, behind)),
            [_, behind @ ..] => rest = behind,
        }
    }
}

fn field_of(text: &[u8], delimiter: u8) -> Result<(Field, &[u8]), Fault> {
    let Some(quoted) = text.strip_prefix(b"\"") else {
        let end = text.iter().position(|it| *it == delimiter || *it == b'\n');
        let (field, rest) = text.split_at(end.unwrap_or(text.len()));
        // the end of a line may be of two characters
        let shorter =
            if rest.first() == Some(&delimiter) { None } else { field.strip_suffix(b"\r") };
        let field = shorter.unwrap_or(field);
        let is_null = field.is_empty() || field == b"\\N";
        return Ok(((!is_null).then(|| field.to_vec()), rest));
    };
    let (mut field, mut rest) = (Vec::new(), quoted);
    loop {
        match rest {
            [b'"', b'"', behind @ ..] => {
                field.push(b'"');
                rest = behind;
            }
            [b'"', behind @ ..] => {
                let ends = behind.is_empty()
                    || behind[0] == delimiter
                    || behind.starts_with(b"\n")
                    || behind.starts_with(b"\r\n");
                return match ends {
                    true => Ok((Some(field), behind)),
                    false => Err("something stands behind a quote".into()),
                };
            }
            [byte, behind @ ..] => {
                field.push(*byte);
                rest = behind;
            }
            [] => return Err("a quote has no end".into()),
        }
    }
}

/// `fb_insert2(index, value, …)`: an aggregate; the rows of a group become a segment, or none does.
#[derive(Default)]
pub struct Insert2 {
    writer: Option<(Vec<u8>, Writer)>,
}

impl Function for Insert2 {
    const TAKES: Takes = Takes {
        kinds: &[BYTES; super::columns::COLUMNS_MAX + 1],
        least: 2,
        usage: "fb_insert2(index, value, …)",
    };

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self::default(), Shape::Integer))
    }

    fn answer(&mut self, _: Arguments) -> Result<Answer<'_>, Fault> {
        let added = self.writer.take().map_or(Ok(0), |(_, writer)| writer.commit())?;
        Ok(Answer::Integer(added as i64))
    }
}

impl Aggregate for Insert2 {
    fn clear(&mut self) {
        self.writer = None;
    }

    fn add(&mut self, row: Arguments) -> Result<(), Fault> {
        let added = self.insert(row);
        if added.is_err() {
            self.writer = None;
        }
        added
    }
}

impl Insert2 {
    fn insert(&mut self, row: Arguments) -> Result<(), Fault> {
        let name = row.bytes(0).ok_or(NO_NAME)?;
        let (held, writer) = match &mut self.writer {
            Some(it) => it,
            none => none.insert((name.to_vec(), Writer::open(folder_of(name)?)?)),
        };
        if held != name {
            return Err("a group's rows go into one index".into());
        }
        let values: Vec<_> = (1..row.0.len()).map(|at| row.bytes(at)).collect();
        writer.add(&values)
    }
}

/// How a query is answered.
pub trait Told: Send + 'static {
    /// The function's name and arguments.
    const USAGE: &'static str;
    /// What it answers.
    const FORM: Form;
}

/// A function that answers a query.
pub struct Asked<T> {
    form: PhantomData<T>,
    out: Vec<u8>,
}

impl<T: Told> Function for Asked<T> {
    const TAKES: Takes = Takes { kinds: &[BYTES, BYTES], least: 2, usage: T::USAGE };

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self { form: PhantomData, out: Vec::new() }, Shape::Text))
    }

    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault> {
        let (Some(name), Some(text)) = (row.bytes(0), row.bytes(1)) else {
            return Ok(Answer::Null);
        };
        let index = Index::open(&folder_of(name)?)?;
        let query = parse_query(text, &index.manifest)?;
        results::answer(&index, &query, T::FORM, &mut self.out)?;
        Ok(Answer::Bytes(&self.out))
    }
}

/// Of `Query`.
pub struct AsJson;
/// Of `InList`.
pub struct AsList;

impl Told for AsJson {
    const USAGE: &'static str = "fb_query(index, query)";
    const FORM: Form = Form::Json;
}

impl Told for AsList {
    const USAGE: &'static str = "fb_inlist(index, query)";
    const FORM: Form = Form::InList;
}

/// `fb_query(index, query)`: rows as JSON.
pub type Query = Asked<AsJson>;
/// `fb_inlist(index, query)`: `(1,2)` for IN.
pub type InList = Asked<AsList>;

/// `fb_list()`: the names of all indexes, apart by commas.
pub struct List(Vec<u8>);

impl Function for List {
    const TAKES: Takes = Takes { kinds: &[], least: 0, usage: "fb_list()" };

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self(Vec::new()), Shape::Text))
    }

    fn answer(&mut self, _: Arguments) -> Result<Answer<'_>, Fault> {
        let mut names = Vec::new();
        match std::fs::read_dir(root()?) {
            Ok(entries) => {
                for entry in entries {
                    let entry = entry.map_err(|it| refused("the folder of the indexes", &it))?;
                    if entry.path().join(MANIFEST).is_file() {
                        names.push(entry.file_name().to_string_lossy().into_owned());
                    }
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => (),
            Err(error) => return Err(refused("the folder of the indexes", &error)),
        }
        names.sort();
        self.0 = names.join(",").into_bytes();
        Ok(Answer::Bytes(&self.0))
    }
}
