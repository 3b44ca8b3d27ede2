//! Columns: their types, and values as keys, bytes that sort as the values do.

use std::io::Write;

use super::check_name;
use crate::function::Fault;

/// More columns an index does not have: `fb_insert2` takes as many arguments, and the name.
pub const COLUMNS_MAX: usize = 32;
/// A text is at most so long.
pub const TEXT_BYTES_MAX: usize = 65_535;
/// Of a key of numbers.
pub const NUMBER_BYTES: usize = 8;

/// What a column holds, beside NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Whole numbers of so many bits.
    Signed(u32),
    /// Those from 0.
    Unsigned(u32),
    /// 32 bits.
    Float,
    /// 64 bits.
    Double,
    /// UTF-8, compared byte by byte.
    Text,
}

const TYPES: [(&str, Type); 12] = [
    ("byte", Type::Signed(8)),
    ("short", Type::Signed(16)),
    ("int", Type::Signed(32)),
    ("long", Type::Signed(64)),
    ("ubyte", Type::Unsigned(8)),
    ("ushort", Type::Unsigned(16)),
    ("uint", Type::Unsigned(32)),
    ("ulong", Type::Unsigned(64)),
    ("float", Type::Float),
    ("double", Type::Double),
    ("key", Type::Text),
    ("text", Type::Text),
];

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: Type,
}

/// The columns that `a:int,b:text` names.
pub fn parse_columns(text: &[u8]) -> Result<Vec<Column>, Fault> {
    let text = std::str::from_utf8(text).map_err(|_| "the columns are not UTF-8")?;
    let mut found: Vec<Column> = Vec::new();
    for word in text.split(',') {
        let (name, kind) = word.trim().split_once(':').ok_or("write columns as a:int,b:text")?;
        let name = check_name(name.trim().as_bytes(), "the name of a column")?.to_owned();
        let known = TYPES.iter().find(|it| it.0.eq_ignore_ascii_case(kind.trim()));
        let Some((_, kind)) = known else {
            let names: Vec<&str> = TYPES.iter().map(|it| it.0).collect();
            return Err(format!("'{name}' has no type of {}", names.join(", ")).into());
        };
        if found.iter().any(|it| it.name.eq_ignore_ascii_case(&name)) {
            return Err(format!("there are two columns '{name}'").into());
        }
        if found.len() == COLUMNS_MAX {
            return Err(format!("an index has at most {COLUMNS_MAX} columns").into());
        }
        found.push(Column { name, kind: *kind });
    }
    Ok(found)
}

/// As `parse_columns` reads them.
pub fn write_columns(columns: &[Column]) -> String {
    let word = |it: &Column| {
        let name = TYPES.iter().find(|known| known.1 == it.kind).map_or("", |known| known.0);
        format!("{}:{name}", it.name)
    };
    columns.iter().map(word).collect::<Vec<_>>().join(",")
}

impl Column {
    /// The key of a value in text, at the end of `out`; a fault where it is none of this type.
    pub fn encode(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        let shown = || {
            let text: String = String::from_utf8_lossy(text).chars().take(40).collect();
            Fault(format!("'{text}' is not a value of the column '{}'", self.name))
        };
        let words = || std::str::from_utf8(text).map(str::trim).map_err(|_| shown());
        match self.kind {
            Type::Signed(bits) => {
                let number: i64 = words()?.parse().map_err(|_| shown())?;
                if number >> (bits - 1) != number >> 63 {
                    return Err(shown());
                }
                out.extend_from_slice(&signed_key(number));
            }
            Type::Unsigned(bits) => {
                let number: u64 = words()?.parse().map_err(|_| shown())?;
                if bits < 64 && number >> bits != 0 {
                    return Err(shown());
                }
                out.extend_from_slice(&number.to_be_bytes());
            }
            Type::Float | Type::Double => {
                let mut number: f64 = words()?.parse().map_err(|_| shown())?;
                if self.kind == Type::Float {
                    number = f64::from(number as f32);
                }
                if !number.is_finite() {
                    return Err(shown());
                }
                out.extend_from_slice(&real_key(number));
            }
            Type::Text => {
                if text.len() > TEXT_BYTES_MAX || std::str::from_utf8(text).is_err() {
                    return Err(shown());
                }
                out.extend_from_slice(text);
            }
        }
        Ok(())
    }

    /// The value of a key, as JSON has it.
    pub fn write_json(&self, key: &[u8], out: &mut Vec<u8>) {
        match self.kind {
            Type::Text => write_text(key, out),
            _ => self.write_number(key, out),
        }
    }

    /// The value of a key, as a literal of SQL.
    pub fn write_sql(&self, key: &[u8], out: &mut Vec<u8>) {
        match self.kind {
            Type::Text if key.iter().any(|it| b"'\\\0".contains(it)) => {
                // whatever sql_mode says of backslashes
                out.extend_from_slice(b"_utf8mb4 0x");
                for byte in key {
                    let _ = write!(out, "{byte:02x}");
                }
            }
            Type::Text => {
                out.push(b'\'');
                out.extend_from_slice(key);
                out.push(b'\'');
            }
            _ => self.write_number(key, out),
        }
    }

    fn write_number(&self, key: &[u8], out: &mut Vec<u8>) {
        let mut digits = itoa::Buffer::new();
        match self.kind {
            Type::Signed(_) => {
                out.extend_from_slice(digits.format(signed(number_bits(key))).as_bytes());
            }
            Type::Unsigned(_) => {
                out.extend_from_slice(digits.format(number_bits(key)).as_bytes());
            }
            // writing into a vector does not fail
            Type::Float => drop(write!(out, "{:?}", self.real(key) as f32)),
            _ => drop(write!(out, "{:?}", self.real(key))),
        }
    }

    /// Of a column of whole numbers.
    pub fn whole(&self, key: &[u8]) -> i128 {
        let bits = number_bits(key);
        match self.kind {
            Type::Signed(_) => i128::from(signed(bits)),
            _ => i128::from(bits),
        }
    }

    /// Of a column of reals.
    pub fn real(&self, key: &[u8]) -> f64 {
        let bits = number_bits(key);
        f64::from_bits(if bits >> 63 == 1 { bits ^ 1 << 63 } else { !bits })
    }

    /// Whether it holds whole numbers.
    pub fn is_whole(&self) -> bool {
        matches!(self.kind, Type::Signed(_) | Type::Unsigned(_))
    }

    /// How long each of its keys is; `None` where they differ.
    pub fn width(&self) -> Option<usize> {
        (self.kind != Type::Text).then_some(NUMBER_BYTES)
    }
}

fn number_bits(key: &[u8]) -> u64 {
    key.try_into().map_or(0, u64::from_be_bytes)
}

/// The number whose key `signed_key` is.
fn signed(bits: u64) -> i64 {
    (bits ^ 1 << 63) as i64
}

/// The key of a whole number with a sign.
pub fn signed_key(number: i64) -> [u8; NUMBER_BYTES] {
    (number as u64 ^ 1 << 63).to_be_bytes()
}

/// The key of a real; that of -0 is 0's.
pub fn real_key(number: f64) -> [u8; NUMBER_BYTES] {
    let bits = (number + 0.0).to_bits();
    (if bits >> 63 == 1 { !bits } else { bits ^ 1 << 63 }).to_be_bytes()
}

/// A text of JSON.
fn write_text(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            0..0x20 => drop(write!(out, "\\u{byte:04x}")),
            _ => out.push(*byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn key(kind: &str, text: &str) -> Option<Vec<u8>> {
        let column = &parse_columns(format!("a:{kind}").as_bytes()).unwrap()[0];
        let mut out = Vec::new();
        column.encode(text.as_bytes(), &mut out).ok().map(|()| out)
    }

    #[test]
    fn keys_sort_as_their_values_do_and_are_read_again() {
        let values = [
            ("byte", vec!["-128", "-1", "0", "1", "127"]),
            ("long", vec!["-9223372036854775808", "-1", "0", "9223372036854775807"]),
            ("ulong", vec!["0", "9223372036854775808", "18446744073709551615"]),
            ("double", vec!["-1e+300", "-1.5", "0.0", "5e-324", "2.25", "1e+300"]),
            ("text", vec!["", "a", "ab", "b", "ä"]),
        ];
        for (kind, told) in values {
            let column = &parse_columns(format!("a:{kind}").as_bytes()).unwrap()[0];
            let keys: Vec<Vec<u8>> = told.iter().map(|it| key(kind, it).unwrap()).collect();
            assert!(keys.is_sorted(), "{kind}");
            for (key, text) in keys.iter().zip(&told) {
                let mut out = Vec::new();
                column.write_sql(key, &mut out);
                let shown = String::from_utf8(out).unwrap();
                let shown = shown.trim_matches('\'');
                assert!(
                    shown == *text || shown.parse::<f64>().ok() == text.parse::<f64>().ok(),
                    "{shown} {text}"
                );
            }
        }
        assert_eq!(key("double", "-0"), key("double", "0"));
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        for (kind, text) in [
            ("byte", "128"),
            ("byte", "-129"),
            ("ubyte", "256"),
            ("uint", "-1"),
            ("int", "1.5"),
            ("int", ""),
            ("double", "nan"),
            ("double", "1e999"),
            ("float", "1e39"),
        ] {
            assert_eq!(key(kind, text), None, "{kind} {text}");
        }
        for columns in ["", "a", "a:blob", "a:int,A:int", "a b:int", "../a:int"] {
            assert!(parse_columns(columns.as_bytes()).is_err(), "{columns}");
        }
    }
}
