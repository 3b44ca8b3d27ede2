//! Arguments made at random, the same for a seed: what a function may like, changed or not, small
//! ones often and ones of a megabyte now and then.

use roaring::RoaringBitmap;

/// Random numbers (SplitMix64).
pub struct Rng(pub u64);

impl Rng {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Below a number.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end.max(1) as u64) as usize
    }

    /// True in so many percent of the cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.bits() % 100 < percent
    }

    /// One of them.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// How much: seldom up to `most`, often a little.
    fn size(&mut self, most: usize) -> usize {
        let doublings = most.ilog2() as usize + 1;
        let doublings = (0..3).map(|_| self.below(doublings)).min().unwrap_or(0);
        self.below(1 << (doublings + 1)).min(most)
    }
}

/// An argument before it lies in memory as a server's.
#[derive(Debug, Clone)]
pub enum Hostile {
    /// SQL's NULL.
    Null,
    /// A number, or its digits.
    Integer(i64),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Bytes with a length beyond all bounds beside them.
    Claimed(Vec<u8>, u64),
}

/// The index that is there before a case of `fb_*` begins, its columns, and rows of every kind.
pub const INDEX: &str = "t";
pub const COLUMNS: &str = "a:int, b:ulong, c:double, d:text";
pub const LINES: &str = "1,2,0.5,x\n-7,18446744073709551615,-1e300,\"a,\"\"b\"\n,,,\n1,0,0,\\N\n";

/// The argument of a function at a place.
pub fn value(rng: &mut Rng, function: &str, at: usize) -> Hostile {
    let is_of_files = function.starts_with("fb_");
    if is_of_files && at == 0 && rng.chance(92) {
        let name = if function == "fb_create" { "made" } else { INDEX };
        return Hostile::Bytes(name.into());
    }
    match rng.below(40) {
        0 => return Hostile::Null,
        1 | 2 => return Hostile::Integer(number(rng)),
        3 => {
            let most = rng.pick(&[(1 << 30) + 1, 1 << 32, i64::MAX as u64, u64::MAX]);
            return Hostile::Claimed(word(rng), most);
        }
        4 => return Hostile::Bytes(noise(rng)),
        5 => return Hostile::Bytes(word(rng)),
        _ => (),
    }
    let bytes = match function {
        "fb_create" => columns(rng),
        "fb_load" => lines(rng),
        "fb_query" | "fb_inlist" => query(rng),
        "fb_delete" => condition(rng),
        _ if is_of_files => row(rng),
        _ if function.starts_with("rb_") && rng.chance(30) => return list_or_number(rng),
        _ if function.starts_with("rb_") => bitmap(rng),
        _ if function.contains("uuid") => uuid(rng),
        _ if rng.chance(10) => nested(rng),
        _ => document(rng),
    };
    Hostile::Bytes(if rng.chance(20) { changed(rng, bytes) } else { bytes })
}

fn number(rng: &mut Rng) -> i64 {
    let edges = [0, 1, -1, 65_535, 65_536, 1 << 31, (1 << 32) - 1, 1 << 32, i64::MAX, i64::MIN];
    let any = rng.bits() as i64;
    let small = rng.below(1000) as i64;
    let edge = rng.pick(&edges);
    rng.pick(&[edge, small, any])
}

fn noise(rng: &mut Rng) -> Vec<u8> {
    (0..rng.size(1 << 12)).map(|_| rng.bits() as u8).collect()
}

const WORDS: &[&[u8]] = &[
    b"keys",
    b"paths",
    b"error",
    b"null",
    b"ignore",
    b"",
    b" ",
    b"1.5",
    b"-0",
    b"1e-400",
    b"1E36",
    b"1e99999999999999999999",
    b"-",
    b".",
    b"NaN",
    b"a",
    b"$.a",
    b"id",
    b"\0",
    b"a\0b",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x82",
    b"\"\\ud800\"",
    b"\"\\u0000\"",
];

fn word(rng: &mut Rng) -> Vec<u8> {
    rng.pick(WORDS).to_vec()
}

/// Cut off, doubled, or with bytes of any kind in the place of others.
fn changed(rng: &mut Rng, mut bytes: Vec<u8>) -> Vec<u8> {
    let at = rng.below(bytes.len() + 1);
    match rng.below(4) {
        0 => bytes.truncate(at),
        1 => bytes.extend_from_within(at..),
        2 => drop(bytes.splice(at..at, word(rng))),
        _ => {
            for _ in 0..1 + rng.below(4) {
                let at = rng.below(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = rng.bits() as u8;
                }
            }
        }
    }
    bytes
}

fn list_or_number(rng: &mut Rng) -> Hostile {
    if rng.chance(30) {
        return Hostile::Integer(number(rng));
    }
    let marks = [",", ", ", "\n", ",,"];
    let mark = rng.pick(&marks);
    let numbers: Vec<_> = (0..rng.size(1 << 17)).map(|_| number(rng).to_string()).collect();
    let text = numbers.join(mark);
    Hostile::Bytes(if rng.chance(30) { format!("[{text}]") } else { text }.into())
}

fn bitmap(rng: &mut Rng) -> Vec<u8> {
    let mut bitmap = RoaringBitmap::new();
    for _ in 0..rng.size(64) {
        let from = rng.bits() as u32 & rng.pick(&[u32::MAX, 0xfffff, 0xfff]);
        let length = rng.size(1 << 18) as u32;
        match rng.chance(30) {
            true => drop(bitmap.insert_range(from..=from.saturating_add(length))),
            false => bitmap.extend((0..length % 500).map(|it| from.wrapping_add(it * 7))),
        }
    }
    if rng.chance(40) {
        bitmap.optimize();
    }
    let mut bytes = Vec::new();
    // a vector takes all
    let _ = bitmap.serialize_into(&mut bytes);
    bytes
}

fn uuid(rng: &mut Rng) -> Vec<u8> {
    let raw: Vec<u8> = (0..16).map(|_| rng.bits() as u8).collect();
    let hex: String = raw.iter().map(|it| format!("{it:02x}")).collect();
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    match rng.below(4) {
        0 => raw,
        1 => hex.into(),
        2 => parts.join("-").into(),
        _ => format!("{{{}}}", parts.join("-")).into(),
    }
}

fn nested(rng: &mut Rng) -> Vec<u8> {
    let depth = rng.pick(&[10, 99, 101, 999, 1000, 1001, 20_000, 300_000]);
    let (open, close) = rng.pick(&[("[", "]"), ("{\"a\":", "}"), ("[1,", "]"), ("[[],", "]")]);
    let closed = rng.pick(&[depth, depth, 0, depth / 2]);
    format!("{}1{}", open.repeat(depth), close.repeat(closed)).into()
}

fn document(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut parts = 1 + rng.size(1 << 18);
    put_part(rng, &mut bytes, 8, &mut parts);
    bytes
}

const TEXTS: &[&[u8]] = &[
    b"a",
    b"b",
    b"id",
    b"",
    b"\xc3\xa4",
    b"\xf0\x9f\x98\x80",
    b"a\\nb",
    b"a\\\"b",
    b"a=b",
    b"\\u0000",
    b"\\ud83d\\ude00",
    b"\\ud800",
    b"w w w",
    b"\xff",
    b"\0",
];
const NUMBERS: &[&[u8]] = &[
    b"0",
    b"-1",
    b"1.5",
    b"1e300",
    b"5e-324",
    b"9223372036854775808",
    b"-18446744073709551616",
    b"1e-290",
    b"1e399",
    b"0.1",
    b"1E+5",
    b"null",
    b"true",
    b"false",
];

fn put_text(rng: &mut Rng, out: &mut Vec<u8>) {
    out.push(b'"');
    let valid = if rng.chance(98) { TEXTS.len() - 3 } else { TEXTS.len() };
    let text = rng.pick(&TEXTS[..valid]);
    let times = if rng.chance(3) { rng.size(1 << 12) } else { 1 };
    out.extend(text.repeat(times));
    out.push(b'"');
}

fn put_number(rng: &mut Rng, out: &mut Vec<u8>) {
    if rng.chance(5) {
        out.push(b'1' + rng.below(9) as u8);
        out.extend((0..rng.size(500)).map(|_| b'0' + rng.below(10) as u8));
    } else {
        out.extend(rng.pick(NUMBERS));
    }
}

/// A value of a document, of at most so many parts.
fn put_part(rng: &mut Rng, out: &mut Vec<u8>, depth: usize, parts: &mut usize) {
    let kind = rng.below(if depth > 0 { 6 } else { 3 });
    match kind {
        0 => return put_text(rng, out),
        1 | 2 => return put_number(rng, out),
        _ => (),
    }
    let is_object = kind > 3;
    out.push(if is_object { b'{' } else { b'[' });
    let most = rng.size(*parts + 1);
    for at in 0..most {
        if *parts == 0 {
            break;
        }
        *parts -= 1;
        out.extend(if at > 0 { &b","[..] } else { b"" });
        if is_object {
            put_text(rng, out);
            out.push(b':');
        }
        put_part(rng, out, depth - 1, parts);
    }
    out.push(if is_object { b'}' } else { b']' });
}

fn joined(rng: &mut Rng, of: &[&str], count: usize, mark: &str) -> String {
    (0..count).map(|_| rng.pick(of)).collect::<Vec<_>>().join(mark)
}

fn columns(rng: &mut Rng) -> Vec<u8> {
    let kinds = ["byte", "int", "ulong", "float", "double", "key", "text", "TEXT"];
    let count = rng.pick(&[1, 2, 5, 32, 33]);
    let each: Vec<_> = (0..count).map(|at| format!("c{at}:{}", rng.pick(&kinds))).collect();
    each.join(",").into()
}

fn row(rng: &mut Rng) -> Vec<u8> {
    joined(rng, &["1", "0", "", "\\N", "-7", "0.5", "\"a|\"\"b\""], 4, "|").into()
}

fn lines(rng: &mut Rng) -> Vec<u8> {
    let fields =
        ["1", "-1", "0.5", "x", "", "\\N", "\"a,\n\"", "\"", "1e309", "999999999999999999999"];
    let mut text = String::new();
    for at in 0..1 + rng.size(1 << 16) {
        match rng.chance(99) {
            true => text += &format!("{at},7,0.5,x{}", at % 97),
            false => text += &joined(rng, &fields, 4, ","),
        }
        text += rng.pick(&["\n", "\n", "\n", "\r\n"]);
    }
    text.into()
}

fn condition(rng: &mut Rng) -> Vec<u8> {
    let leaves =
        ["a < 2", "b IN (0, 2)", "c BETWEEN -1 AND 5", "d = 'x'", "d IS NULL", "1 < a <= 5"];
    let any = [
        "a", "b", "c", "d", "z", "1", "-1", "0.5", "1e9", "'x'", "''", "`a`", "NULL", "=", "<",
        "<>", "AND", "OR", "XOR", "NOT", "!", "(", ")", ",", "IN (", "IS",
    ];
    if rng.chance(20) {
        let count = rng.size(1 << 12);
        return joined(rng, &any, count, " ").into();
    }
    let mut text = rng.pick(&leaves).to_owned();
    let most = if rng.chance(10) { 1200 } else { 20 };
    for _ in 0..rng.size(most) {
        let (sign, leaf) = (rng.pick(&["AND", "OR", "XOR"]), rng.pick(&leaves));
        text = match rng.below(20) {
            0 => format!("({text})"),
            1 => format!("NOT {text}"),
            _ => format!("{text} {sign} {leaf}"),
        };
    }
    text.into()
}

fn query(rng: &mut Rng) -> Vec<u8> {
    let items = [
        "a",
        "b",
        "c",
        "d",
        "COUNT(*)",
        "SUM(a)",
        "SUM(b)",
        "AVG(c)",
        "MIN(d)",
        "MAX(b)",
        "COUNT(DISTINCT d)",
        "COUNTDISTINCT(a)",
        "MAX(c)",
        "*",
        "SUM(d)",
        "SQRT(a)",
    ];
    let count = 1 + rng.size(70);
    let mut text: Vec<u8> = joined(rng, &items, count, ", ").into();
    if rng.chance(80) {
        text.extend(b" WHERE ");
        text.extend(condition(rng));
    }
    text.extend(rng.pick(&[&b""[..], b"", b" LIMIT 1", b" LIMIT 1, 99", b" LIMIT 0 OFFSET 9"]));
    text
}
