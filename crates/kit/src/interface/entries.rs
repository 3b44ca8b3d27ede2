//! The functions that the server calls, one set for each name.

/// The entries of each function, under the names that the server looks for.
macro_rules! export {
    ($($kind:ident $name:literal $function:ty;)*) => { $(
        const _: () = {
            $crate::interface::entries!($kind $name $function);

            #[unsafe(export_name = concat!($name, "_init"))]
            extern "C" fn init(init: *mut Init, args: *mut Args, message: *mut c_char) -> bool {
                // SAFETY: the server calls it as its interface says.
                unsafe { interface::begin::<$function>(init, args, message) }
            }

            #[unsafe(export_name = concat!($name, "_deinit"))]
            extern "C" fn deinit(init: *mut Init) {
                // SAFETY: as above.
                unsafe { interface::end(init) }
            }
        };
    )*
        /// All of them, for tests that call each.
        #[cfg(test)]
        pub fn entries() -> Vec<interface::hostile::Entry> {
            vec![$( interface::hostile::Entry::$kind::<$function>($name) ),*]
        }
    };
}

/// The entries for rows and groups, by what the function returns.
macro_rules! entries {
    (string $name:literal $function:ty) => {
        #[unsafe(export_name = $name)]
        extern "C" fn row(
            init: *mut Init,
            args: *mut Args,
            _buffer: *mut c_char,
            length: *mut c_ulong,
            is_null: *mut c_char,
            error: *mut c_char,
        ) -> *const c_char {
            // SAFETY: the server calls it as its interface says.
            unsafe { interface::bytes::<$function>(init, args, length, is_null, error) }
        }
    };
    (integer $name:literal $function:ty) => {
        #[unsafe(export_name = $name)]
        extern "C" fn row(
            init: *mut Init,
            args: *mut Args,
            is_null: *mut c_char,
            error: *mut c_char,
        ) -> i64 {
            // SAFETY: the server calls it as its interface says.
            unsafe { interface::integer::<$function>(init, args, is_null, error) }
        }
    };
    (string_of_group $name:literal $function:ty) => {
        $crate::interface::entries!(string $name $function);
        $crate::interface::entries!(@group $name $function);
    };
    (integer_of_group $name:literal $function:ty) => {
        $crate::interface::entries!(integer $name $function);
        $crate::interface::entries!(@group $name $function);
    };
    (@group $name:literal $function:ty) => {
        #[unsafe(export_name = concat!($name, "_clear"))]
        extern "C" fn clear(init: *mut Init, _is_null: *mut c_char, _error: *mut c_char) {
            // SAFETY: the server calls it as its interface says.
            unsafe { interface::clear::<$function>(init) }
        }

        #[unsafe(export_name = concat!($name, "_add"))]
        extern "C" fn add(
            init: *mut Init,
            args: *mut Args,
            _is_null: *mut c_char,
            error: *mut c_char,
        ) {
            // SAFETY: as above.
            unsafe { interface::add::<$function>(init, args, error) }
        }
    };
}

pub(crate) use {entries, export};
