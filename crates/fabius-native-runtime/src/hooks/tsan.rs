//! What the compiler inserts for `-fsanitize=thread`: a call before each access to memory, and around functions.

use crate::control::{count_call, in_program, is_in_program};
use crate::heap::{self, Misuse};
use crate::op::Op;
use crate::races::Touch;
use crate::rt::rt;
use crate::threads::{fail, point};
use fabius_trace::{BugKind, Points};

/// Accesses to so many bytes.
macro_rules! accesses {
    ($($name:ident: $size:literal, $kind:ident;)*) => {
        $( super::entry! { $name: [concat!("mov esi, ", $size), "mov rdx, [rsp]"] => $kind } )*
    };
}

accesses! {
    __tsan_read1: 1, read; __tsan_read2: 2, read; __tsan_read4: 4, read; __tsan_read8: 8, read; __tsan_read16: 16, read;
    __tsan_write1: 1, write; __tsan_write2: 2, write; __tsan_write4: 4, write; __tsan_write8: 8, write;
    __tsan_write16: 16, write;
    __tsan_unaligned_read2: 2, read; __tsan_unaligned_read4: 4, read; __tsan_unaligned_read8: 8, read;
    __tsan_unaligned_read16: 16, read;
    __tsan_unaligned_write2: 2, write; __tsan_unaligned_write4: 4, write; __tsan_unaligned_write8: 8, write;
    __tsan_unaligned_write16: 16, write;
    __tsan_read_write1: 1, write; __tsan_read_write2: 2, write; __tsan_read_write4: 4, write;
    __tsan_read_write8: 8, write; __tsan_read_write16: 16, write;
    __tsan_unaligned_read_write2: 2, write; __tsan_unaligned_read_write4: 4, write;
    __tsan_unaligned_read_write8: 8, write; __tsan_unaligned_read_write16: 16, write;
    __tsan_volatile_read1: 1, volatile_read; __tsan_volatile_read2: 2, volatile_read;
    __tsan_volatile_read4: 4, volatile_read; __tsan_volatile_read8: 8, volatile_read;
    __tsan_volatile_read16: 16, volatile_read;
    __tsan_volatile_write1: 1, volatile_write; __tsan_volatile_write2: 2, volatile_write;
    __tsan_volatile_write4: 4, volatile_write; __tsan_volatile_write8: 8, volatile_write;
    __tsan_volatile_write16: 16, volatile_write;
    __tsan_unaligned_volatile_read2: 2, volatile_read; __tsan_unaligned_volatile_read4: 4, volatile_read;
    __tsan_unaligned_volatile_read8: 8, volatile_read; __tsan_unaligned_volatile_read16: 16, volatile_read;
    __tsan_unaligned_volatile_write2: 2, volatile_write; __tsan_unaligned_volatile_write4: 4, volatile_write;
    __tsan_unaligned_volatile_write8: 8, volatile_write; __tsan_unaligned_volatile_write16: 16, volatile_write;
    __tsan_vptr_read: 8, read;
}

super::entries! {
    __tsan_read_range: "rdx" => read_range;
    __tsan_write_range: "rdx" => write_range;
    __tsan_vptr_update: "rdx" => vptr_update;
}

extern "C-unwind" fn read(address: usize, size: usize, pc: usize) {
    if is_in_program() {
        plain("read", address, size, false, pc);
    }
}

extern "C-unwind" fn write(address: usize, size: usize, pc: usize) {
    if is_in_program() {
        plain("write", address, size, true, pc);
    }
}

extern "C-unwind" fn volatile_read(address: usize, size: usize, pc: usize) {
    if in_program() {
        volatile(address, size, false, pc);
    }
}

extern "C-unwind" fn volatile_write(address: usize, size: usize, pc: usize) {
    if in_program() {
        volatile(address, size, true, pc);
    }
}

extern "C-unwind" fn read_range(address: usize, size: usize, pc: usize) {
    if in_program() && size > 0 {
        plain("read", address, size, false, pc);
    }
}

extern "C-unwind" fn write_range(address: usize, size: usize, pc: usize) {
    if in_program() && size > 0 {
        plain("write", address, size, true, pc);
    }
}

extern "C-unwind" fn vptr_update(address: usize, value: usize, pc: usize) {
    // SAFETY: the program is about to write there.
    if in_program() && unsafe { *(address as *const usize) } != value {
        plain("write", address, 8, true, pc);
    }
}

/// Ends the execution if these bytes may not be used: of the heap, or of a thread that has ended.
#[inline(always)]
pub fn check_memory(address: usize, size: usize, write: bool, pc: usize) {
    if heap::contains(address)
        && let Some(misuse) = heap::check(address, size)
    {
        let what = if write { "written" } else { "read" };
        let how = match misuse {
            Misuse::Freed => "memory that was freed is",
            Misuse::Outside | Misuse::NoBlock => "memory of the heap outside of any block is",
        };
        fail(BugKind::Memory, format!("{how} {what}"), pc);
    }
    crate::gone::check(address, write, pc);
}

/// An access that synchronizes with nothing.
#[inline]
pub fn plain(name: &'static str, address: usize, size: usize, write: bool, pc: usize) {
    // What is on the thread's own stack is compared where it matters.
    if !rt().fibers[rt().current].holds(address) {
        count_call();
    }
    check_memory(address, size, write, pc);
    if points(name, address, size, write, pc) {
        check_memory(address, size, write, pc);
    }
    touch(name, address, size, write, pc);
}

/// The points before an access; whether there were any.
#[inline]
pub fn points(name: &'static str, address: usize, size: usize, write: bool, pc: usize) -> bool {
    let rt = rt();
    let (mut at, mut are_some) = (address, false);
    while at < address + size {
        // One point for each eight bytes: what is announced is one variable.
        if rt.settings.points == Points::All || rt.races.is_racy(at) {
            let size = ((at & !7) + 8).min(address + size) - at;
            point(Op { write, ..Op::new(name, pc).of(at, size) });
            are_some = true;
        }
        at = (at & !7) + 8;
    }
    are_some
}

/// Notes an access for the detection of data races.
#[inline]
pub fn touch(name: &str, address: usize, size: usize, write: bool, pc: usize) {
    let rt = rt();
    let touch = Touch { thread: rt.current, address, size, write, atomic: false };
    if rt.record {
        rt.access(name, touch, pc);
    }
    crate::handlers::note(touch);
    may_race(touch, pc);
}

/// A call of the library puts its result there, which is told of as the call.
pub fn gives(name: &'static str, address: usize, size: usize, pc: usize) {
    check_memory(address, size, true, pc);
    if points(name, address, size, true, pc) {
        check_memory(address, size, true, pc);
    }
    let touch = Touch { thread: rt().current, address, size, write: true, atomic: false };
    if rt().record {
        rt().remember(touch);
    }
    crate::handlers::note(touch);
    may_race(touch, pc);
}

/// The same of an atomic one.
#[inline]
pub fn touch_atomic(address: usize, size: usize, write: bool, pc: usize) {
    touch_at_point(Touch { thread: rt().current, address, size, write, atomic: true }, pc);
}

/// The same of one that was a point and is written down as that.
#[inline]
fn touch_at_point(touch: Touch, pc: usize) {
    if rt().record {
        rt().remember(touch);
    }
    // A handler may come before it, whatever the type.
    crate::handlers::note(Touch { atomic: true, ..touch });
    may_race(touch, pc);
}

#[inline(always)]
fn may_race(touch: Touch, pc: usize) {
    let rt = rt();
    if rt.cycles.are_looked_for() {
        rt.touched(touch);
    }
    if let Some(byte) = rt.races.touch(touch, &rt.clocks) {
        raced(byte, touch, pc);
    }
}

#[cold]
fn raced(byte: usize, touch: Touch, pc: usize) {
    let rt = rt();
    if rt.record {
        rt.raced(byte, touch);
    }
    if rt.settings.race_is_bug {
        fail(BugKind::DataRace, "two accesses race: nothing orders them, and one of them writes", pc);
    }
    if rt.points_are_fixed {
        return;
    }
    for at in (touch.address & !7..touch.address + touch.size).step_by(8) {
        if rt.races.races_at(at) | rt.mark(at) {
            rt.search_again();
        }
    }
}

/// An access to a volatile variable: a point, as others may see at once what it does; and it races as any other one
/// (C11 5.1.2.4).
fn volatile(address: usize, size: usize, write: bool, pc: usize) {
    check_memory(address, size, write, pc);
    let name = if write { "volatile write" } else { "volatile read" };
    point(Op { write, ..Op::new(name, pc).of(address, size) });
    touch_at_point(Touch { thread: rt().current, address, size, write, atomic: false }, pc);
    let rt = rt();
    if rt.record {
        let now = crate::recorder::value(address, size);
        rt.values(now, None);
    }
}

/// A function begins, called from there.
///
/// # Safety
/// None is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_func_entry(called_from: usize) {
    if is_in_program() && rt().record {
        let here = std::ptr::from_ref(&called_from) as usize;
        let calls = &mut rt().me().calls;
        // What `longjmp` has left behind is below.
        while calls.last().is_some_and(|(_, stack)| *stack <= here) {
            calls.pop();
        }
        calls.push((called_from, here));
    }
}

/// A function ends.
///
/// # Safety
/// None is needed.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __tsan_func_exit() {
    std::arch::naked_asm!("mov rdi, [rsp]", "jmp {target}", target = sym function_ends)
}

extern "C" fn function_ends(pc: usize) {
    if is_in_program() && rt().record {
        let me = rt().me();
        me.calls.pop();
        if me.calls.is_empty() {
            me.left_at = pc;
        }
    }
}

/// The compiler's greeting.
///
/// # Safety
/// None is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_init() {}

/// Accesses of this thread are not to be looked at, says the compiler where nobody but the runtime sees them.
///
/// # Safety
/// None is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_ignore_thread_begin() {}

/// They are again.
///
/// # Safety
/// None is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_ignore_thread_end() {}
