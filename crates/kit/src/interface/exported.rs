//! What the server's own program exports, looked up by name: a way to fail, to see a KILL, and a
//! service.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulong, c_void};
use std::ptr;

use crate::fault::Fault;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

fn symbol(names: &[&CStr]) -> Option<*mut c_void> {
    // SAFETY: names end with a zero; no handle means whatever the process has loaded.
    let found = names.iter().map(|name| unsafe { dlsym(ptr::null_mut(), name.as_ptr()) });
    found.into_iter().find(|it| !it.is_null())
}

/// `ER_UNKNOWN_ERROR`: the number that says nothing but its text.
const ER_UNKNOWN: c_uint = 1105;
type PrintError = unsafe extern "C" fn(c_uint, *const c_char, c_ulong, ...);

/// A fault's words as C's text has them: one that held a zero would end there, or be lost.
pub fn shown(Fault(text): &Fault) -> String {
    text.replace('\0', "\\0")
}

/// Makes the statement fail with these words; where the server exports no way, it gets NULL.
pub fn raise(fault: &Fault) {
    let names = [c"my_printf_error", c"_Z15my_printf_errorjPKciz", c"_Z15my_printf_errorjPKcmz"];
    if let (Some(found), Ok(text)) = (symbol(&names), CString::new(shown(fault))) {
        // SAFETY: `void my_printf_error(uint, const char *, myf, ...)` in every version; `myf` is
        // an int or a long, and zero is passed alike; the text is an argument, never the format.
        unsafe {
            let print = std::mem::transmute::<*mut c_void, PrintError>(found);
            print(ER_UNKNOWN, c"dyno_kit: %s".as_ptr(), 0, text.as_ptr());
        }
    }
}

type Session = *mut c_void;

/// The session of this thread, as the server calls it; null where it has none, or tells of none.
fn session() -> Session {
    let found = symbol(&[c"_current_thd", c"_Z19thd_get_current_thdv"]);
    found.map_or(ptr::null_mut(), |it| {
        // SAFETY: MariaDB's and MySQL's are functions of no arguments that answer it.
        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> Session>(it)() }
    })
}

/// Whether somebody has ended the statement of this thread, by KILL or for its time.
pub fn is_killed() -> bool {
    let (Some(found), session) = (symbol(&[c"thd_killed"]), session()) else { return false };
    if session.is_null() {
        return false;
    }
    // SAFETY: `int thd_killed(const THD *)` in every version; some look into what they are given.
    unsafe {
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Session) -> c_int>(found)(session)
            != 0
    }
}

pub mod charset {
    //! MySQL 8.0's service for the character sets of a function's arguments and result.

    use std::ffi::{c_char, c_uint, c_void};
    use std::ptr;

    use super::super::structures::{Args, Init};
    use super::symbol;

    type Handle = *mut c_void;

    #[repr(C)]
    struct Registry {
        acquire: unsafe extern "C" fn(*const c_char, *mut Handle) -> c_char,
        acquire_related: *const c_void,
        release: unsafe extern "C" fn(Handle) -> c_char,
    }

    #[repr(C)]
    struct Metadata {
        argument_get: *const c_void,
        result_get: *const c_void,
        argument_set: unsafe extern "C" fn(*mut Args, *const c_char, c_uint, *mut c_void) -> c_char,
        result_set: unsafe extern "C" fn(*mut Init, *const c_char, *mut c_void) -> c_char,
    }

    /// Has the service do something, where there is one.
    fn with_service(what: impl FnOnce(&Metadata)) {
        let acquire = symbol(&[c"_Z29mysql_plugin_registry_acquirev"]);
        let release = symbol(&[c"_Z29mysql_plugin_registry_releasePK16s_mysql_registry"]);
        let (Some(acquire), Some(release)) = (acquire, release) else { return };
        // SAFETY: both are the server's, of these types since 8.0; a service lives while its
        // handle is held.
        unsafe {
            let acquire = std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn() -> *const Registry,
            >(acquire);
            let release = std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(*const Registry) -> c_char,
            >(release);
            let Some(registry) = acquire().as_ref() else { return };
            let mut handle = ptr::null_mut();
            if (registry.acquire)(c"mysql_udf_metadata".as_ptr(), &mut handle) == 0 {
                what(&*handle.cast::<Metadata>());
                (registry.release)(handle);
            }
            release(registry);
        }
    }

    /// Of texts of one character set, those with a collation in `_bin` get along with all others.
    pub fn set_result(init: &mut Init) {
        // SAFETY: the service copies what it is told.
        with_service(|it| unsafe {
            (it.result_set)(init, c"collation".as_ptr(), c"utf8mb4_bin".as_ptr() as *mut c_void);
        });
    }

    pub fn set_argument(args: &mut Args, index: c_uint) {
        // SAFETY: as above; the argument is there.
        with_service(|it| unsafe {
            (it.argument_set)(args, c"charset".as_ptr(), index, c"utf8mb4".as_ptr() as *mut c_void);
        });
    }
}
