//! The entries as a server calls them.

#![allow(clippy::unwrap_used)]

use std::ffi::c_uint;

use super::*;

/// Answers its row, panics at "panic", fails at "fail".
struct Echo(Vec<u8>);

impl Function for Echo {
    const TAKES: Takes =
        Takes { kinds: &[Kind::Bytes, Kind::Integer], least: 1, usage: "echo(text [, n])" };

    fn prepare(constants: Arguments) -> Result<(Self, Shape), Fault> {
        match constants.bytes(0) {
            Some(b"panic") => panic!("as asked"),
            Some(b"fail") => Err("x".repeat(2000).into()),
            Some(b"letters") => Err("ä".repeat(2000).into()),
            Some(b"zero") => Err("a \0 as asked".into()),
            _ => Ok((Self(Vec::new()), Shape::Text)),
        }
    }

    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault> {
        match row.bytes(0) {
            Some(b"panic") => panic!("as asked"),
            Some(b"fail") => Err("as asked".into()),
            Some(b"zero") => Err("a \0 as asked".into()),
            Some(text) => {
                self.0 = text.repeat(row.integer(1).unwrap_or(1) as usize);
                Ok(Answer::Bytes(&self.0))
            }
            None => Ok(Answer::Null),
        }
    }
}

impl Aggregate for Echo {
    fn clear(&mut self) {}

    fn add(&mut self, row: Arguments) -> Result<(), Fault> {
        self.answer(row).map(|_| ())
    }
}

/// A server's side of one call, with a text and a number as arguments.
struct Server {
    init: Init,
    kinds: [c_int; 2],
    lengths: [c_ulong; 2],
    message: [c_char; MESSAGE_BYTES],
}

impl Server {
    fn new() -> Self {
        let (state, extension) = (ptr::null_mut(), ptr::null_mut());
        let (maybe_null, const_item) = (0, 0);
        let init = Init { maybe_null, decimals: 0, max_length: 0, state, const_item, extension };
        Self { init, kinds: [STRING, INTEGER], lengths: [0, 8], message: [1; MESSAGE_BYTES] }
    }

    fn with<T>(
        &mut self,
        text: Option<&str>,
        count: c_uint,
        what: impl FnOnce(&mut Init, &mut Args, &mut [c_char]) -> T,
    ) -> T {
        let number = 2_i64;
        let text = text.map_or(&[][..], |text| {
            self.lengths[0] = text.len() as c_ulong;
            text.as_bytes()
        });
        let first = if text.is_empty() { ptr::null() } else { text.as_ptr().cast() };
        let pointers = [first, ptr::from_ref(&number).cast::<c_char>()];
        let mut args = Args {
            count,
            kinds: self.kinds.as_mut_ptr(),
            values: pointers.as_ptr(),
            lengths: self.lengths.as_ptr(),
            maybe_null: ptr::null_mut(),
            attributes: ptr::null(),
            attribute_lengths: ptr::null(),
            extension: ptr::null_mut(),
        };
        what(&mut self.init, &mut args, &mut self.message)
    }

    fn begin(&mut self, text: Option<&str>, count: c_uint) -> Result<(), String> {
        // SAFETY: the pointers are those of living things.
        let refused = self.with(text, count, |init, args, message| unsafe {
            begin::<Echo>(init, args, message.as_mut_ptr())
        });
        let told: Vec<u8> =
            self.message.iter().map(|it| *it as u8).take_while(|it| *it != 0).collect();
        if refused { Err(String::from_utf8(told).unwrap()) } else { Ok(()) }
    }

    /// The answer, `is_null` and `error`.
    fn row(&mut self, text: Option<&str>) -> (Option<String>, c_char, c_char) {
        let (mut length, mut is_null, mut error) = (0, 0, 0);
        self.with(text, 2, |init, args, _| {
            // SAFETY: as above; what is answered is read before the state changes.
            unsafe {
                let told = bytes::<Echo>(init, args, &mut length, &mut is_null, &mut error);
                let told = (!told.is_null())
                    .then(|| std::slice::from_raw_parts(told.cast(), length as usize));
                let told = told.map(|it: &[u8]| String::from_utf8(it.to_vec()).unwrap());
                (told, is_null, error)
            }
        })
    }
}

#[test]
fn the_structures_are_as_long_as_the_servers() {
    assert_eq!((size_of::<Init>(), size_of::<Args>()), (40, 64));
    assert_eq!(std::mem::offset_of!(Init, state), 16);
    assert_eq!(std::mem::offset_of!(Init, extension), 32);
}

#[test]
fn a_call_begins_answers_and_ends() {
    let mut server = Server::new();
    server.begin(None, 2).unwrap();
    assert_eq!(server.init.max_length, LONGEST);
    assert_eq!(server.row(Some("ab")), (Some("abab".to_owned()), 0, 0));
    assert_eq!(server.row(None), (None, 1, 0));
    // SAFETY: its init was good.
    unsafe { end(&mut server.init) };
    assert_eq!(server.row(Some("ab")), (None, 1, 1));
}

#[test]
fn a_panic_and_a_fault_are_errors_and_the_call_goes_on() {
    let mut server = Server::new();
    server.begin(None, 2).unwrap();
    for bad in ["panic", "fail"] {
        assert_eq!(server.row(Some(bad)), (None, 1, 1));
    }
    assert_eq!(server.row(Some("a")).0.as_deref(), Some("aa"));
    // SAFETY: its init was good.
    unsafe { end(&mut server.init) };
}

#[test]
fn what_is_refused_is_said_within_the_servers_room() {
    assert_eq!(Server::new().begin(None, 0), Err("it takes echo(text [, n])".to_owned()));
    let long = Server::new().begin(Some("fail"), 1).unwrap_err();
    assert_eq!(long.len(), MESSAGE_BYTES - 1);
    let fault = Server::new().begin(Some("panic"), 1).unwrap_err();
    assert!(fault.contains("dyno_kit's own"), "{fault}");
}

#[test]
fn the_end_of_a_copied_call_is_survived() {
    // as MariaDB does for a view's WHERE (MDEV-24507), with another call in between
    let mut server = Server::new();
    server.begin(None, 2).unwrap();
    let state = server.init.state;
    // SAFETY: its init was good.
    unsafe { end(&mut server.init) };
    let mut others: Vec<Server> = (0..64).map(|_| Server::new()).collect();
    others.iter_mut().for_each(|it| it.begin(None, 2).unwrap());
    server.init.state = state;
    // SAFETY: this is the case that is tested: it is no longer alive.
    unsafe { end(&mut server.init) };
    for other in &mut others {
        assert_eq!(other.row(Some("a")).0.as_deref(), Some("aa"));
        // SAFETY: its init was good.
        unsafe { end(&mut other.init) };
    }
}

#[test]
fn words_with_a_zero_or_of_long_letters_are_said_whole() {
    let told = Server::new().begin(Some("zero"), 1);
    assert_eq!(told, Err("a \\0 as asked".to_owned()));
    assert_eq!(shown(&"a \0 as asked".into()), "a \\0 as asked");
    let letters = Server::new().begin(Some("letters"), 1).unwrap_err();
    assert_eq!(letters, "ä".repeat((MESSAGE_BYTES - 1) / 2));
}

#[test]
fn a_group_that_lacks_a_row_has_no_answer_until_the_next_begins() {
    let mut server = Server::new();
    server.begin(None, 2).unwrap();
    for bad in ["zero", "panic"] {
        let mut error = 0;
        // SAFETY: the pointers are those of living things.
        server.with(Some(bad), 2, |init, args, _| unsafe { add::<Echo>(init, args, &mut error) });
        assert_eq!(error, 1);
        // SAFETY: as above.
        server.with(Some("a"), 2, |init, args, _| unsafe { add::<Echo>(init, args, &mut error) });
        assert_eq!(server.row(Some("a")), (None, 1, 1));
        // SAFETY: as above.
        unsafe { clear::<Echo>(&mut server.init) };
        assert_eq!(server.row(Some("a")).0.as_deref(), Some("aa"));
    }
    // SAFETY: its init was good.
    unsafe { end(&mut server.init) };
}

#[test]
fn a_row_of_a_copied_call_that_has_ended_is_refused() {
    let mut server = Server::new();
    server.begin(None, 2).unwrap();
    let state = server.init.state;
    // SAFETY: its init was good.
    unsafe { end(&mut server.init) };
    // its place is another call's now
    let mut other = Server::new();
    other.begin(None, 2).unwrap();
    server.init.state = state;
    assert_eq!(server.row(Some("a")), (None, 1, 1));
    assert_eq!(other.row(Some("a")).0.as_deref(), Some("aa"));
    // SAFETY: its init was good.
    unsafe { end(&mut other.init) };
}

/// Takes nothing.
struct Nothing;

impl Function for Nothing {
    const TAKES: Takes = Takes { kinds: &[], least: 0, usage: "nothing()" };

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self, Shape::Integer))
    }

    fn answer(&mut self, _: Arguments) -> Result<Answer<'_>, Fault> {
        Ok(Answer::Integer(7))
    }
}

#[test]
fn a_call_without_arguments_needs_no_arrays() {
    let mut server = Server::new();
    let mut args = Args {
        count: 0,
        kinds: ptr::null_mut(),
        values: ptr::null(),
        lengths: ptr::null(),
        maybe_null: ptr::null_mut(),
        attributes: ptr::null(),
        attribute_lengths: ptr::null(),
        extension: ptr::null_mut(),
    };
    let (mut is_null, mut error) = (0, 0);
    // SAFETY: the pointers are those of living things, or null where there are no arguments.
    unsafe {
        assert!(!begin::<Nothing>(&mut server.init, &mut args, server.message.as_mut_ptr()));
        let told = integer::<Nothing>(&mut server.init, &mut args, &mut is_null, &mut error);
        assert_eq!((told, is_null, error), (7, 0, 0));
        end(&mut server.init);
    }
}

#[test]
fn an_argument_that_is_too_large_is_refused_before_it_is_looked_at() {
    let long = "x".repeat(Echo::ARGUMENT_BYTES_MAX + 1);
    let mut server = Server::new();
    server.begin(None, 2).unwrap();
    assert_eq!(server.row(Some(&long)), (None, 1, 1));
    // SAFETY: its init was good.
    unsafe { end(&mut server.init) };
}
