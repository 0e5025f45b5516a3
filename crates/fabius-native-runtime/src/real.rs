//! The functions that are interposed, as they would be without us.

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A function further down in the order in which symbols are looked up.
pub struct Next {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Next {
    /// Looked up when it is used.
    pub const fn new(name: &'static CStr) -> Next {
        Next { name, address: AtomicUsize::new(0) }
    }

    /// Its address; ends the process if there is none.
    pub fn address(&self) -> usize {
        let known = self.address.load(Relaxed);
        if known != 0 {
            return known;
        }
        // SAFETY: looks a name up.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
        if found == 0 {
            crate::say::fatal(&[b"the C library has no ", self.name.to_bytes()]);
        }
        self.address.store(found, Relaxed);
        found
    }
}

/// Calls a function further down in the order of symbols: `next!(fn read(fd: i32, ..) -> isize)(3, ..)`.
macro_rules! next {
    (fn $name:ident ( $($type:ty),* ) $(-> $ret:ty)? ) => {{
        static NEXT: $crate::real::Next = $crate::real::Next::new(
            match ::std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => unreachable!(),
            },
        );
        // The function has this type in every C library that we support.
        ::std::mem::transmute::<usize, unsafe extern "C-unwind" fn($($type),*) $(-> $ret)?>(NEXT.address())
    }};
}
pub(crate) use next;

/// The address of a symbol further down.
pub fn next_address(name: &'static CStr) -> usize {
    Next::new(name).address()
}
