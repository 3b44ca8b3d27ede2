//! `json_flatten(document [, form [, invalid]])`: a line `key=value` for each value.

use super::lines::{self, Invalid};
use super::reader::{Reader, Scalar, Token};
use crate::bounds::Output;
use crate::function::{Answer, Arguments, Fault, Function, Kind, Shape, Takes, Value};

/// What stands before the `=`, and how the value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The nearest key, and plain values; of strings with spaces also each word.
    Keys,
    /// The path as `$.a[0].b`, and values as JSON.
    Paths,
}

/// The flattened document of the last row.
pub struct Flatten {
    form: Form,
    invalid: Invalid,
    out: Output,
    place: Place,
}

/// Where in a document a value stands: `text` from `begin` on.
#[derive(Default)]
struct Place {
    text: Output,
    begin: usize,
    open: Vec<Level>,
}

/// An array or object that is open, and what to go back to at its end.
struct Level {
    length: usize,
    begin: usize,
    /// Of an array: the place of its next value.
    index: Option<usize>,
}

impl Function for Flatten {
    const TAKES: Takes = Takes {
        kinds: &[Kind::Bytes, Kind::Bytes, Kind::Bytes],
        least: 1,
        usage: "json_flatten(document [, 'keys' or 'paths' [, 'error' or 'null']])",
    };
    const DETERMINISTIC: bool = true;

    fn prepare(constants: Arguments) -> Result<(Self, Shape), Fault> {
        let form = match constants.0.get(1) {
            None | Some(Value::Bytes(b"keys")) => Form::Keys,
            Some(Value::Bytes(b"paths")) => Form::Paths,
            Some(_) => return Err("json_flatten: the form is 'keys' or 'paths'".into()),
        };
        let invalid = Invalid::asked(constants, 2)
            .ok_or("json_flatten: for invalid JSON say 'error' or 'null'")?;
        Ok((Self { form, invalid, out: Output::default(), place: Place::default() }, Shape::Text))
    }

    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault> {
        let Some(document) = row.bytes(0) else { return Ok(Answer::Null) };
        match self.flatten(document) {
            Ok(()) => Ok(Answer::Bytes(self.out.bytes())),
            Err(_) if self.invalid.forgives(document) => Ok(Answer::Null),
            Err(fault) => Err(fault),
        }
    }
}

impl Flatten {
    fn flatten(&mut self, document: &[u8]) -> Result<(), Fault> {
        self.out.clear();
        self.place.reset(self.form)?;
        let mut reader = Reader::new(document)?;
        while let Some(token) = reader.next()? {
            match token {
                Token::ObjectBegin => self.place.open(self.form, None)?,
                Token::ArrayBegin => self.place.open(self.form, Some(0))?,
                Token::ObjectEnd | Token::ArrayEnd => self.place.close(),
                Token::Key(key) => self.place.key(self.form, &key)?,
                Token::Scalar(scalar) => {
                    self.place.value(self.form)?;
                    self.line(&scalar)?;
                }
            }
        }
        Ok(())
    }

    fn line(&mut self, scalar: &Scalar) -> Result<(), Fault> {
        let Self { out, place, form, .. } = self;
        begin_line(out, place)?;
        if *form == Form::Paths {
            json(out, scalar)?;
            return out.push(b'\n');
        }
        lines::scalar(out, scalar)?;
        out.push(b'\n')?;
        if let Scalar::String(text) = scalar
            && text.contains(' ')
        {
            for word in text.split(' ').filter(|word| !word.is_empty()) {
                begin_line(out, place)?;
                lines::escape(out, word, None)?;
                out.push(b'\n')?;
            }
        }
        Ok(())
    }
}

fn begin_line(out: &mut Output, place: &Place) -> Result<(), Fault> {
    out.extend(&place.text.bytes()[place.begin..])?;
    out.push(b'=')
}

impl Place {
    fn reset(&mut self, form: Form) -> Result<(), Fault> {
        self.open.clear();
        self.text.clear();
        self.begin = 0;
        if form == Form::Paths { self.text.push(b'$') } else { Ok(()) }
    }

    /// An array (with its first place) or an object begins: itself a value where it stands.
    fn open(&mut self, form: Form, index: Option<usize>) -> Result<(), Fault> {
        self.value(form)?;
        // no more than documents may be nested
        self.open.push(Level { length: self.text.bytes().len(), begin: self.begin, index });
        Ok(())
    }

    fn close(&mut self) {
        if let Some(Level { length, begin, .. }) = self.open.pop() {
            self.text.truncate(length);
            self.begin = begin;
        }
    }

    fn key(&mut self, form: Form, key: &str) -> Result<(), Fault> {
        self.text.truncate(self.open.last().map_or(0, |level| level.length));
        if form == Form::Keys {
            self.begin = self.text.bytes().len();
            return lines::escape(&mut self.text, key, Some(b'='));
        }
        self.text.push(b'.')?;
        let is_name = |it: u8| it.is_ascii_alphanumeric() || it == b'_' || it == b'$';
        let starts_well = key.bytes().next().is_some_and(|it| !it.is_ascii_digit());
        if starts_well && key.bytes().all(is_name) {
            self.text.extend(key.as_bytes())
        } else {
            quoted(&mut self.text, key)
        }
    }

    /// A value follows: in an array at its next place.
    fn value(&mut self, form: Form) -> Result<(), Fault> {
        if form == Form::Paths
            && let Some(Level { length, index: Some(index), .. }) = self.open.last_mut()
        {
            self.text.truncate(*length);
            self.text.extend(format!("[{index}]").as_bytes())?;
            *index += 1;
        }
        Ok(())
    }
}

/// A value as JSON.
fn json(out: &mut Output, scalar: &Scalar) -> Result<(), Fault> {
    match scalar {
        Scalar::Null => out.extend(b"null"),
        Scalar::String(text) => quoted(out, text),
        other => lines::scalar(out, other),
    }
}

/// Text as a string of JSON, in which no newline stands.
fn quoted(out: &mut Output, text: &str) -> Result<(), Fault> {
    out.push(b'"')?;
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(&[b'\\', byte])?,
            b'\n' => out.extend(b"\\n")?,
            b'\t' => out.extend(b"\\t")?,
            0..b' ' => out.extend(format!("\\u{byte:04x}").as_bytes())?,
            _ => out.push(byte)?,
        }
    }
    out.push(b'"')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn flat(document: &str, words: &[&str]) -> Result<Option<String>, Fault> {
        let mut values = vec![Value::Bytes(document.as_bytes())];
        values.extend(words.iter().map(|it| Value::Bytes(it.as_bytes())));
        let (mut function, _) = Flatten::prepare(Arguments(&values))?;
        Ok(match function.answer(Arguments(&values))? {
            Answer::Bytes(bytes) => Some(String::from_utf8(bytes.to_vec()).unwrap()),
            _ => None,
        })
    }

    const DOCUMENT: &str =
        r#"{"a":1,"b":"x y","c":{"d":[1,2.5,true,null],"e":-3},"a":1e20,"z":[{"k":4},5]}"#;

    #[test]
    fn keys_are_the_nearest_and_values_as_written() {
        let lines = "a=1 b=x_y b=x b=y d=1 d=2.5 d=true d=NULL e=-3 a=1e20 k=4 z=5 ";
        let lines = lines.replace(' ', "\n").replace('_', " ");
        assert_eq!(flat(DOCUMENT, &[]), Ok(Some(lines)));
        assert_eq!(flat("[1,[2],\"3\"]", &[]), Ok(Some("=1\n=2\n=3\n".to_owned())));
        assert_eq!(flat("{}", &[]), Ok(Some(String::new())));
    }

    #[test]
    fn paths_are_whole_and_values_json() {
        let lines = "$.a=1|$.b=\"x y\"|$.c.d[0]=1|$.c.d[1]=2.5|$.c.d[2]=true|$.c.d[3]=null|\
            $.c.e=-3|$.a=1e20|$.z[0].k=4|$.z[1]=5|";
        assert_eq!(flat(DOCUMENT, &["paths"]), Ok(Some(lines.replace('|', "\n"))));
        let nested = flat(r#"[[1,[2]],{"x y":{"":3}},4]"#, &["paths"]);
        let lines = "$[0][0]=1\n$[0][1][0]=2\n$[1].\"x y\".\"\"=3\n$[2]=4\n";
        assert_eq!(nested, Ok(Some(lines.to_owned())));
    }

    #[test]
    fn a_value_is_a_line_whatever_it_holds() {
        let document = r#"{"a=b":"1\n2\\","c":"\u0001\""}"#;
        let keys = "a\\=b=1\\n2\\\\\nc=\u{1}\"\n";
        assert_eq!(flat(document, &[]), Ok(Some(keys.to_owned())));
        let paths = "$.\"a=b\"=\"1\\n2\\\\\"\n$.c=\"\\u0001\\\"\"\n";
        assert_eq!(flat(document, &["paths"]), Ok(Some(paths.to_owned())));
    }

    #[test]
    fn what_is_no_json_is_an_error_or_null_by_choice() {
        assert!(flat("{", &[]).is_err());
        assert!(flat("{", &["keys", "error"]).is_err());
        assert_eq!(flat("{", &["keys", "null"]), Ok(None));
        assert!(flat("{}", &["key"]).is_err());
        assert!(flat("{}", &["keys", "maybe"]).is_err());
    }

    #[test]
    fn a_result_ends_within_a_value_of_many_words() {
        let (key, words) = ("k".repeat(20_000), "w ".repeat(20_000));
        let fault = flat(&format!("{{\"{key}\":\"{words}\"}}"), &[]).unwrap_err();
        assert_eq!(fault.0, "the result is larger than 64 MiB");
    }

    #[test]
    fn a_result_that_is_too_large_is_an_error_also_where_invalid_json_is_null() {
        let (key, words) = ("k".repeat(20_000), "w ".repeat(20_000));
        let document = format!("{{\"{key}\":\"{words}\"}}");
        assert!(flat(&document, &["keys", "null"]).is_err());
        assert_eq!(flat(&document[..document.len() - 1], &["keys", "null"]), Ok(None));
    }

    #[test]
    fn a_result_is_bounded() {
        let depth = 900;
        let long = format!("{{\"{}\":", "k".repeat(200)).repeat(depth);
        let document = format!("{long}[{}]{}", "0,".repeat(999) + "0", "}".repeat(depth));
        let fault = flat(&document, &["paths"]).unwrap_err();
        assert_eq!(fault.0, "the result is larger than 64 MiB");
    }
}
