//! The servers' interface for loadable functions, and the only place of the kit with `unsafe`.
//!
//! It is the same in MySQL 5.6 to 8.x and MariaDB (`st_udf_init`, `st_udf_args` in `mysql_com.h`,
//! later `udf_registration_types.h`): `x_init` once per place in a statement, `x` per row or per
//! group, `x_clear` and `x_add` for aggregates, `x_deinit` at the end. Nothing unwinds into the
//! server: each entry catches a panic and makes a fault of it.
//!
//! A fault is an error of the statement where the server exports `my_printf_error` (all that are
//! known do, under one of two names), and NULL where it does not. On MySQL 8.0 the service
//! `mysql_udf_metadata` makes arguments and results utf8mb4; elsewhere text comes as it is stored,
//! and results are binary.
#![allow(unsafe_code)]

mod entries;
pub(crate) mod exported;
#[cfg(test)]
pub mod hostile;
mod states;
mod structures;
#[cfg(test)]
mod tests;

use std::ffi::{c_char, c_int, c_ulong};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

pub(crate) use self::entries::{entries, export};
use self::exported::{charset, raise, shown};
use self::states::{keep, release, state_of};
pub use self::structures::{Args, Init};
use crate::function::{Aggregate, Answer, Arguments, Fault, Function, Kind, Shape, Takes, Value};

/// `Item_result`: how values are handed in. Reals and decimals are asked for as text.
const STRING: c_int = 0;
const INTEGER: c_int = 2;
/// No function takes more arguments: a row of an index and its name.
const ARGUMENTS_MAX: usize = 33;
/// `MYSQL_ERRMSG_SIZE`: what an init may say, its zero included.
const MESSAGE_BYTES: usize = 512;
/// What makes a column the largest kind of blob.
const LONGEST: c_ulong = u32::MAX as c_ulong;

fn code(kind: Kind) -> c_int {
    match kind {
        Kind::Bytes => STRING,
        Kind::Integer => INTEGER,
    }
}

/// The values of a row as the function wants them, and how many; a fault where one is longer than
/// the function takes. While a call is prepared only constants have values, in types of their own:
/// those of another one are left out, too.
///
/// # Safety
/// `args` is the server's, and its arrays have `count` places.
unsafe fn row<'a, F: Function>(
    args: *const Args,
) -> Result<([Value<'a>; ARGUMENTS_MAX], usize), Fault> {
    let mut found = [Value::Null; ARGUMENTS_MAX];
    let kinds = F::TAKES.kinds;
    // SAFETY: the caller vouches for it.
    let args = unsafe { &*args };
    let count = (args.count as usize).min(kinds.len()).min(ARGUMENTS_MAX);
    for (index, place) in found.iter_mut().enumerate().take(count) {
        // SAFETY: the caller vouches for the arrays; a value that is not null is of the type that
        // stands beside it, and as long as its length says.
        unsafe {
            let value = *args.values.add(index);
            if value.is_null() || *args.kinds.add(index) != code(kinds[index]) {
                continue;
            }
            *place = match kinds[index] {
                Kind::Integer => Value::Integer(ptr::read_unaligned(value.cast())),
                Kind::Bytes => {
                    let length = *args.lengths.add(index) as usize;
                    check_length::<F>(length)?;
                    Value::Bytes(std::slice::from_raw_parts(value.cast(), length))
                }
            };
        }
    }
    Ok((found, count))
}

/// The fault of an argument that is longer than the function takes.
fn check_length<F: Function>(length: usize) -> Result<(), Fault> {
    if length > F::ARGUMENT_BYTES_MAX {
        let most = F::ARGUMENT_BYTES_MAX >> 20;
        return Err(format!("an argument is larger than {most} MiB").into());
    }
    Ok(())
}

/// A call's function, and the fault of a row of its group: a group that lacks a row has no answer.
struct Call<F> {
    function: F,
    fault: Option<Fault>,
}

/// The call that the server means.
///
/// # Safety
/// `init` is the server's, and its init was `F`'s; one call is made by one thread at a time.
unsafe fn call<'a, F: Function>(init: *mut Init) -> Result<&'a mut Call<F>, Fault> {
    // SAFETY: the caller vouches for it.
    unsafe { state_of((*init).state) }.ok_or_else(|| "the call has ended already".into())
}

/// What was done, or a fault in place of a panic.
fn guarded<T>(what: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(what))
        .unwrap_or_else(|_| Err("a fault of dyno_kit's own; the server's log has more".into()))
}

/// `x_init`: checks the arguments, asks for their kinds, makes a state. True: refused.
///
/// # Safety
/// The server calls it, with pointers to its own; `message` has room for 512 bytes.
pub unsafe fn begin<F: Function>(init: *mut Init, args: *mut Args, message: *mut c_char) -> bool {
    // SAFETY: the caller vouches for all three.
    let (init, args) = unsafe { (&mut *init, &mut *args) };
    // Where an init fails, some servers call the end all the same.
    init.state = ptr::null_mut();
    match guarded(|| open::<F>(init, args)) {
        Ok(()) => false,
        Err(fault) => {
            let text = shown(&fault);
            let mut end = text.len().min(MESSAGE_BYTES - 1);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let text = &text.as_bytes()[..end];
            // SAFETY: there is room for the text and its zero.
            unsafe {
                ptr::copy_nonoverlapping(text.as_ptr().cast(), message, text.len());
                *message.add(text.len()) = 0;
            }
            true
        }
    }
}

fn open<F: Function>(init: &mut Init, args: &mut Args) -> Result<(), Fault> {
    let takes = F::TAKES;
    let count = args.count as usize;
    if count < takes.least || count > takes.kinds.len() {
        return Err(format!("it takes {}", takes.usage).into());
    }
    // SAFETY: the server's arrays, with `count` places.
    let (constants, _) = unsafe { row::<F>(args) }?;
    let (function, shape) = F::prepare(Arguments(&constants[..count]))?;
    for (index, wanted) in takes.kinds.iter().enumerate().take(count) {
        // SAFETY: as above; of no arguments there is no array.
        unsafe { *args.kinds.add(index) = code(*wanted) };
    }
    declare(init, args, &takes, shape);
    if !F::DETERMINISTIC {
        // the server has set it where all arguments are constants
        init.const_item = 0;
    }
    init.state = keep(Call { function, fault: None })?;
    Ok(())
}

fn declare(init: &mut Init, args: &mut Args, takes: &Takes, shape: Shape) {
    init.maybe_null = 1;
    match shape {
        Shape::Text | Shape::Digits => init.max_length = LONGEST,
        Shape::Bytes(most) => init.max_length = (most as c_ulong).min(LONGEST),
        Shape::Integer => init.max_length = 20,
        Shape::Decimal(scale) => {
            init.decimals = scale;
            init.max_length = 67;
        }
    }
    if matches!(shape, Shape::Text | Shape::Digits) {
        charset::set_result(init);
    }
    if shape == Shape::Text {
        for index in (0..args.count).filter(|it| takes.kinds[*it as usize] == Kind::Bytes) {
            charset::set_argument(args, index);
        }
    }
}

/// `x`: the answer for a row or a group; `None` is NULL, said in `is_null` or `error` already.
///
/// # Safety
/// The server calls it between a good init and its end.
pub unsafe fn answer<'a, F: Function>(
    init: *mut Init,
    args: *mut Args,
    is_null: *mut c_char,
    error: *mut c_char,
) -> Option<Answer<'a>> {
    let told = guarded(|| {
        // SAFETY: the caller vouches for the pointers; what is answered lies in the state.
        let (call, (row, count)) = unsafe { (call::<F>(init)?, row::<F>(args)?) };
        if let Some(fault) = &call.fault {
            return Err(fault.clone());
        }
        call.function.answer(Arguments(&row[..count]))
    });
    match told {
        Ok(Answer::Null) => {
            // SAFETY: both are flags of the server's.
            unsafe { *is_null = 1 };
            None
        }
        Ok(answer) => Some(answer),
        Err(fault) => {
            // SAFETY: both are flags of the server's.
            unsafe {
                *is_null = 1;
                *error = 1;
            }
            raise(&fault);
            None
        }
    }
}

/// `x` of a function that returns STRING or DECIMAL.
///
/// # Safety
/// As for `answer`; `length` is the server's.
pub unsafe fn bytes<F: Function>(
    init: *mut Init,
    args: *mut Args,
    length: *mut c_ulong,
    is_null: *mut c_char,
    error: *mut c_char,
) -> *const c_char {
    // SAFETY: the caller vouches for all.
    match unsafe { answer::<F>(init, args, is_null, error) } {
        Some(Answer::Bytes(bytes)) => {
            // SAFETY: as above.
            unsafe { *length = bytes.len() as c_ulong };
            // An empty answer's pointer would point nowhere; servers may look there.
            if bytes.is_empty() { c"".as_ptr() } else { bytes.as_ptr().cast() }
        }
        _ => ptr::null(),
    }
}

/// `x` of a function that returns INTEGER.
///
/// # Safety
/// As for `answer`.
pub unsafe fn integer<F: Function>(
    init: *mut Init,
    args: *mut Args,
    is_null: *mut c_char,
    error: *mut c_char,
) -> i64 {
    // SAFETY: the caller vouches for all.
    match unsafe { answer::<F>(init, args, is_null, error) } {
        Some(Answer::Integer(number)) => number,
        _ => 0,
    }
}

/// `x_clear`: a group begins.
///
/// # Safety
/// As for `answer`.
pub unsafe fn clear<F: Aggregate>(init: *mut Init) {
    let done = guarded(|| {
        // SAFETY: the caller vouches for it.
        let call = unsafe { call::<F>(init) }?;
        call.fault = None;
        call.function.clear();
        Ok(())
    });
    if let Err(fault) = done {
        raise(&fault);
    }
}

/// `x_add`: a row of the group.
///
/// # Safety
/// As for `answer`.
pub unsafe fn add<F: Aggregate>(init: *mut Init, args: *mut Args, error: *mut c_char) {
    let done = guarded(|| {
        // SAFETY: the caller vouches for the pointers.
        let call = unsafe { call::<F>(init) }?;
        if call.fault.is_some() {
            // told already
            return Ok(());
        }
        // SAFETY: as above.
        let (row, count) = unsafe { row::<F>(args) }?;
        call.function.add(Arguments(&row[..count]))
    });
    if let Err(fault) = done {
        // SAFETY: as above; the error is a flag of the server's.
        unsafe {
            *error = 1;
            if let Ok(call) = call::<F>(init) {
                call.fault = Some(fault.clone());
            }
        }
        raise(&fault);
    }
}

/// `x_deinit`: the state goes, once.
///
/// # Safety
/// The server calls it, for a call whose init was `F`'s.
pub unsafe fn end(init: *mut Init) {
    // A panic in a drop has nobody to be told to.
    let _ = guarded(|| {
        // SAFETY: the caller vouches for it.
        unsafe { release(std::mem::replace(&mut (*init).state, ptr::null_mut())) };
        Ok(())
    });
}
