//! The functions as SQL calls them.

use std::marker::PhantomData;

use super::query::{parse_condition, parse_query, query_steps};
use super::results::{self, Form};
use super::writer::{self, Writer};
use super::{Index, MANIFEST, Root, columns, evaluate, folder_of, refused};
use crate::bounds::{self, Output, Steps, copied, push};
use crate::function::{Aggregate, Answer, Arguments, Fault, Function, Kind, Shape, Takes};

const NO_NAME: &str = "the name of the index is NULL";

/// Something done for each row, of texts, that answers a number.
pub trait Act: Send + 'static {
    /// What it takes.
    const TAKES: Takes;
    /// As of a function.
    const ARGUMENT_BYTES_MAX: usize = bounds::ARGUMENT_BYTES_MAX;

    /// Does it.
    fn act(row: Arguments) -> Result<u64, Fault>;
}

/// A function that does something.
pub struct Acting<A>(PhantomData<A>);

impl<A: Act> Function for Acting<A> {
    const TAKES: Takes = A::TAKES;
    const ARGUMENT_BYTES_MAX: usize = A::ARGUMENT_BYTES_MAX;

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
        writer::create(&Root::of_server()?, &folder, row.bytes(1).ok_or("the columns are NULL")?)?;
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
        writer::remove(&Root::of_server()?, &folder_of(row.bytes(0).ok_or(NO_NAME)?)?)?;
        Ok(0)
    }
}

/// Of `Load`.
pub struct Loading;
/// `fb_load(index, lines [, delimiter])`: how many rows.
pub type Load = Acting<Loading>;

/// As large as a packet can be: files are read by `LOAD_FILE`, and their rows are kept one by one.
const LINES_BYTES_MAX: usize = 1 << 30;

impl Act for Loading {
    const ARGUMENT_BYTES_MAX: usize = LINES_BYTES_MAX;
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
        let mut steps = query_steps();
        let gone = index.segments.iter();
        let gone = gone.map(|it| evaluate::rows_of(&condition, it, columns, &mut steps));
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
    let (mut rest, mut number, mut steps) = (lines, 0_u64, Steps::of_input());
    while !rest.is_empty() {
        steps.take(1)?;
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
pub fn fields_of(lines: &[u8], delimiter: u8) -> Result<(Vec<Field>, &[u8]), Fault> {
    let (mut fields, mut rest) = (Vec::new(), lines);
    loop {
        let field;
        (field, rest) = field_of(rest, delimiter)?;
        if fields.len() == columns::COLUMNS_MAX {
            return Err(format!("a row has at most {} fields", columns::COLUMNS_MAX).into());
        }
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
        if field.len() > columns::TEXT_BYTES_MAX {
            return Err(too_long());
        }
        return Ok((if is_null { None } else { Some(copied(field)?) }, rest));
    };
    let (mut field, mut rest) = (Vec::new(), quoted);
    loop {
        if field.len() > columns::TEXT_BYTES_MAX {
            return Err(too_long());
        }
        match rest {
            [b'"', b'"', behind @ ..] => {
                push(&mut field, b'"')?;
                rest = behind;
            }
            [b'"', behind @ ..] => {
                let ends = behind.is_empty()
                    || behind[0] == delimiter
                    || behind.starts_with(b"\n")
                    || behind.starts_with(b"\r\n");
                return match ends {
                    true => Ok((Some(field), behind)),
                    false => Err("text follows a closing quote".into()),
                };
            }
            [byte, behind @ ..] => {
                push(&mut field, *byte)?;
                rest = behind;
            }
            [] => return Err("a quote has no end".into()),
        }
    }
}

fn too_long() -> Fault {
    format!("a field has at most {} bytes", columns::TEXT_BYTES_MAX).into()
}

/// `fb_insert2(index, value, …)`: an aggregate; the rows of a group become a segment, or none does.
#[derive(Default)]
pub struct Insert2(Group);

/// What became of a group so far.
#[derive(Default)]
enum Group {
    #[default]
    Empty,
    /// An index's name, and the rows on their way into it.
    Open(Vec<u8>, Box<Writer>),
    /// So many rows were added, or none: a server may ask more than once.
    Ended(Result<u64, Fault>),
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
        let told = match std::mem::take(&mut self.0) {
            Group::Empty => Ok(0),
            Group::Open(_, writer) => writer.commit(),
            Group::Ended(told) => told,
        };
        self.0 = Group::Ended(told.clone());
        told.map(|it| Answer::Integer(it as i64))
    }
}

impl Aggregate for Insert2 {
    fn clear(&mut self) {
        self.0 = Group::Empty;
    }

    fn add(&mut self, row: Arguments) -> Result<(), Fault> {
        let added = self.insert(row);
        if let Err(fault) = &added {
            self.0 = Group::Ended(Err(fault.clone()));
        }
        added
    }
}

impl Insert2 {
    fn insert(&mut self, row: Arguments) -> Result<(), Fault> {
        let name = row.bytes(0).ok_or(NO_NAME)?;
        if matches!(self.0, Group::Empty) {
            let writer = Writer::open(folder_of(name)?)?;
            self.0 = Group::Open(copied(name)?, Box::new(writer));
        }
        let writer = match &mut self.0 {
            Group::Open(held, writer) if held == name => writer,
            Group::Open(..) => return Err("a group's rows go into one index".into()),
            Group::Ended(Err(fault)) => return Err(fault.clone()),
            _ => return Err("the group's rows are in the index already".into()),
        };
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
    out: Output,
}

impl<T: Told> Function for Asked<T> {
    const TAKES: Takes = Takes { kinds: &[BYTES, BYTES], least: 2, usage: T::USAGE };

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self { form: PhantomData, out: Output::default() }, Shape::Text))
    }

    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault> {
        let (Some(name), Some(text)) = (row.bytes(0), row.bytes(1)) else {
            return Ok(Answer::Null);
        };
        let index = Index::open(&folder_of(name)?)?;
        let query = parse_query(text, &index.manifest)?;
        results::answer(&index, &query, T::FORM, &mut self.out)?;
        Ok(Answer::Bytes(self.out.bytes()))
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
pub struct List(Output);

impl Function for List {
    const TAKES: Takes = Takes { kinds: &[], least: 0, usage: "fb_list()" };

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self(Output::default()), Shape::Text))
    }

    fn answer(&mut self, _: Arguments) -> Result<Answer<'_>, Fault> {
        let mut names = Vec::new();
        match std::fs::read_dir(Root::of_server()?.path) {
            Ok(entries) => {
                for entry in entries {
                    let entry = entry.map_err(|it| refused("the folder of the indexes", &it))?;
                    if entry.path().join(MANIFEST).is_file() {
                        push(&mut names, entry.file_name().to_string_lossy().into_owned())?;
                    }
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => (),
            Err(error) => return Err(refused("the folder of the indexes", &error)),
        }
        names.sort();
        self.0.clear();
        for (at, name) in names.iter().enumerate() {
            self.0.extend(if at > 0 { b"," } else { b"" })?;
            self.0.extend(name.as_bytes())?;
        }
        Ok(Answer::Bytes(self.0.bytes()))
    }
}
