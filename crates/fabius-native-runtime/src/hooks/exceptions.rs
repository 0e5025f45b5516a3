//! Exceptions of C++ that several threads hold, as those of a future: the C++ library counts who does, and who is the last
//! destroys them. The count is atomic there and not seen, so what it orders is told here: who gives up an exception that others
//! hold releases what was done with it, and the last one acquires that. Nothing else is ordered by it, so no data race is hidden.
//!
//! Who is the last destroys, so to give up one that others hold is a scheduling point.
//!
//! The layout is that of GCC's library (Itanium C++ ABI: Exception Handling, 2.2.1, with a count in front).

use super::entries;
use super::library::is_alone;
use crate::control::in_program;
use crate::op::Op;
use crate::real::next;
use crate::rt::rt;
use crate::threads::point;

entries! {
    _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv: "rsi" => release;
    __cxa_end_catch: "rdi" => end_catch;
}

/// Bytes of what the library knows of an exception, in front of it; and where the count is, before that.
const HEADER: usize = 112;
const COUNT: usize = 128;
/// Where in the header is how many handlers are under way, and whose exception it is.
const HANDLERS: usize = 40;
const CLASS: usize = 80;
/// `GNUCC++`, and that for another hold of an exception.
const GNU: u64 = 0x474e_5543_432b_2b00;
const ANOTHER: u64 = GNU + 1;

/// The current thread is about to give up an exception that it holds.
fn gives_up(exception: usize, pc: usize) {
    let count = exception - COUNT;
    // SAFETY: the thread holds the exception, so it is there.
    let holds = || unsafe { *(count as *const i32) };
    if holds() > 1 && !is_alone() {
        point(Op::new("give up an exception", pc).on(count));
    }
    let (rt, me) = (rt(), rt().current);
    if holds() > 1 {
        rt.clocks.release(me, count);
    } else {
        rt.clocks.acquire(me, count);
    }
}

extern "C-unwind" fn release(pointer: *const usize, pc: usize) {
    if in_program() {
        // SAFETY: the program gives an `exception_ptr`.
        let exception = unsafe { *pointer };
        if exception != 0 {
            gives_up(exception, pc);
        }
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(*const usize))(pointer) }
}

extern "C-unwind" fn end_catch(pc: usize) {
    if in_program()
        && let Some(exception) = caught()
    {
        gives_up(exception, pc);
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn __cxa_end_catch())() }
}

/// The exception whose last handler of this thread ends.
fn caught() -> Option<usize> {
    // SAFETY: the library's own, of this thread; in front of what is caught is a header, of which the class is in any case there.
    unsafe {
        let header = *next!(fn __cxa_get_globals() -> *const usize)();
        if header == 0 {
            return None;
        }
        let exception = match *((header + CLASS) as *const u64) {
            GNU => header + HEADER,
            ANOTHER => *(header as *const usize),
            _ => return None,
        };
        (*((header + HANDLERS) as *const i32) == 1).then_some(exception)
    }
}
