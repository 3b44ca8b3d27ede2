//! The server's structures of a call, as its C header has them.

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

/// `UDF_INIT`: one place in a statement that calls a function.
#[repr(C)]
pub struct Init {
    pub(super) maybe_null: c_char,
    pub(super) decimals: c_uint,
    pub(super) max_length: c_ulong,
    pub(super) state: *mut c_char,
    pub(super) const_item: c_char,
    pub(super) extension: *mut c_void,
}

/// `UDF_ARGS`: the arguments of a row, or what is known of them beforehand.
#[repr(C)]
pub struct Args {
    pub(super) count: c_uint,
    pub(super) kinds: *mut c_int,
    pub(super) values: *const *const c_char,
    pub(super) lengths: *const c_ulong,
    pub(super) maybe_null: *mut c_char,
    pub(super) attributes: *const *const c_char,
    pub(super) attribute_lengths: *const c_ulong,
    pub(super) extension: *mut c_void,
}
