//! Functions of the C library that return what the next call overwrites, whichever thread makes it: each call is a scheduling
//! point, and writes what it returns.

use super::library::is_alone;
use super::tsan::touch;
use crate::control::in_program;
use crate::op::{Op, of_library};
use crate::real::next;
use crate::threads::point;

super::entries! {
    localtime: "rsi" => localtime_here;
    gmtime: "rsi" => gmtime_here;
    ctime: "rsi" => ctime_here;
    asctime: "rsi" => asctime_here;
}

/// Bytes of a `struct tm`, and of a time as text.
const TIME: usize = 56;
const TEXT: usize = 26;

fn returns(name: &'static str, size: usize, pc: usize, call: impl FnOnce() -> usize) -> usize {
    if in_program() && !is_alone() {
        point(Op::new(name, pc).on(of_library(4)));
    }
    let result = call();
    if in_program() && result != 0 {
        touch(name, result, size, true, pc);
    }
    result
}

extern "C-unwind" fn localtime_here(time: usize, pc: usize) -> usize {
    // SAFETY: as the program calls it.
    returns("localtime", TIME, pc, || unsafe { next!(fn localtime(usize) -> usize)(time) })
}

extern "C-unwind" fn gmtime_here(time: usize, pc: usize) -> usize {
    // SAFETY: as the program calls it.
    returns("gmtime", TIME, pc, || unsafe { next!(fn gmtime(usize) -> usize)(time) })
}

extern "C-unwind" fn ctime_here(time: usize, pc: usize) -> usize {
    // SAFETY: as the program calls it.
    returns("ctime", TEXT, pc, || unsafe { next!(fn ctime(usize) -> usize)(time) })
}

extern "C-unwind" fn asctime_here(time: usize, pc: usize) -> usize {
    // SAFETY: as the program calls it.
    returns("asctime", TEXT, pc, || unsafe { next!(fn asctime(usize) -> usize)(time) })
}
