//! Atomic operations, as the compiler calls them.

use super::entries;
use super::tsan::{check_memory, touch_atomic};
use crate::control::in_program;
use crate::looks;
use crate::op::{Op, Wait};
use crate::rt::{Thread, rt};
use crate::threads::point;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst, fence};

pub(super) fn acquires(order: i32) -> bool {
    matches!(order & 0xffff, 1 | 2 | 4 | 5)
}

pub(super) fn releases(order: i32) -> bool {
    matches!(order & 0xffff, 3..=5)
}

/// An operation on the object there asks for this order.
pub(super) fn asks(address: usize, order: i32) {
    let rt = rt();
    // Who was joined sees no more.
    let current = rt.current;
    let may_see = |(number, thread): (usize, &Thread)| number != current && !thread.joined && !thread.is_timer;
    if rt.threads.iter().enumerate().any(may_see) {
        rt.weaker.sees(address, order);
    }
}

pub(super) fn announce(name: &'static str, address: usize, size: usize, write: bool, pc: usize) {
    announce_when(Wait::Not, name, address, size, write, pc);
}

/// The same of an operation that may find what it has found before, and leave it there.
fn announce_look(name: &'static str, (address, size): (usize, usize), given: Option<[u64; 2]>, pc: usize) {
    let wait = looks::waits(address, given.unwrap_or_default(), pc, Wait::Other);
    announce_when(wait, name, address, size, given.is_some(), pc);
}

fn announce_when(wait: Wait, name: &'static str, address: usize, size: usize, write: bool, pc: usize) {
    // One object is eight bytes.
    rt().unannounced |= size > 8;
    check_memory(address, size, write, pc);
    point(Op { write, ..Op::new(name, pc).of(address, size) }.when(wait));
    check_memory(address, size, write, pc);
}

/// What an operation on an atomic object has found there, and what it has written.
fn written_down(address: usize, old: u64, new: Option<u64>) {
    let rt = rt();
    if !rt.left.is_empty() {
        rt.has_seen(address, old, new);
    }
    if rt.record {
        rt.values(Some(old), new);
    }
}

macro_rules! of_size {
    ($module:ident, $int:ty, $atomic:ty, $($load:ident $store:ident $exchange:ident $add:ident $sub:ident $and:ident $or:ident
        $xor:ident $nand:ident $strong:ident $weak:ident $value:ident)*) => {
        mod $module {
            use super::*;

            const SIZE: usize = size_of::<$int>();

            fn at(address: *mut $int) -> &'static $atomic {
                // SAFETY: the program accesses this atomically now.
                unsafe { <$atomic>::from_ptr(address) }
            }

            pub(super) extern "C-unwind" fn load(address: *mut $int, order: i32, pc: usize) -> $int {
                if !in_program() {
                    return at(address).load(SeqCst);
                }
                announce_look("atomic load", (address as usize, SIZE), None, pc);
                touch_atomic(address as usize, SIZE, false, pc);
                asks(address as usize, order);
                rt().clocks.load(rt().current, (address as usize, SIZE), acquires(order));
                let value = at(address).load(SeqCst);
                looks::found(value.into());
                written_down(address as usize, value.into(), None);
                value
            }

            pub(super) extern "C-unwind" fn store(address: *mut $int, value: $int, order: i32, pc: usize) {
                if !in_program() {
                    return at(address).store(value, SeqCst);
                }
                announce("atomic store", address as usize, SIZE, true, pc);
                touch_atomic(address as usize, SIZE, true, pc);
                asks(address as usize, order);
                rt().clocks.store(rt().current, (address as usize, SIZE), releases(order));
                let old = at(address).swap(value, SeqCst);
                written_down(address as usize, old.into(), Some(value.into()));
            }

            fn modify(
                name: &'static str,
                address: *mut $int,
                value: $int,
                order: i32,
                pc: usize,
                f: impl Fn($int, $int) -> $int,
            ) -> $int {
                let f = |old| f(old, value);
                let atomic = at(address);
                if !in_program() {
                    return atomic.fetch_update(SeqCst, SeqCst, |old| Some(f(old))).unwrap_or_else(|old| old);
                }
                announce_look(name, (address as usize, SIZE), Some([value.into(), 0]), pc);
                touch_atomic(address as usize, SIZE, true, pc);
                let (rt, bytes) = (rt(), (address as usize, SIZE));
                asks(bytes.0, order);
                rt.clocks.load(rt.current, bytes, acquires(order));
                rt.clocks.modify(rt.current, bytes, releases(order));
                let old = atomic.load(SeqCst);
                atomic.store(f(old), SeqCst);
                if f(old) == old {
                    looks::found(old.into());
                }
                written_down(address as usize, old.into(), Some(f(old).into()));
                old
            }

            pub(super) extern "C-unwind" fn exchange(address: *mut $int, value: $int, order: i32, pc: usize) -> $int {
                modify("atomic exchange", address, value, order, pc, |_, value| value)
            }
            pub(super) extern "C-unwind" fn add(address: *mut $int, value: $int, order: i32, pc: usize) -> $int {
                modify("atomic add", address, value, order, pc, |old, value| old.wrapping_add(value))
            }
            pub(super) extern "C-unwind" fn sub(address: *mut $int, value: $int, order: i32, pc: usize) -> $int {
                modify("atomic sub", address, value, order, pc, |old, value| old.wrapping_sub(value))
            }
            pub(super) extern "C-unwind" fn and(address: *mut $int, value: $int, order: i32, pc: usize) -> $int {
                modify("atomic and", address, value, order, pc, |old, value| old & value)
            }
            pub(super) extern "C-unwind" fn or(address: *mut $int, value: $int, order: i32, pc: usize) -> $int {
                modify("atomic or", address, value, order, pc, |old, value| old | value)
            }
            pub(super) extern "C-unwind" fn xor(address: *mut $int, value: $int, order: i32, pc: usize) -> $int {
                modify("atomic xor", address, value, order, pc, |old, value| old ^ value)
            }
            pub(super) extern "C-unwind" fn nand(address: *mut $int, value: $int, order: i32, pc: usize) -> $int {
                modify("atomic nand", address, value, order, pc, |old, value| !(old & value))
            }

            pub(super) extern "C-unwind" fn compare(
                address: *mut $int,
                expected: *mut $int,
                value: $int,
                order: i32,
                failure: i32,
                pc: usize,
            ) -> i32 {
                // SAFETY: the program gives a valid address for what it expects.
                let found = value_of(address, unsafe { *expected }, value, order, failure, pc);
                match found {
                    Ok(_) => 1,
                    Err(found) => {
                        // SAFETY: as above.
                        unsafe { *expected = found };
                        0
                    }
                }
            }

            pub(super) extern "C-unwind" fn compare_value(
                address: *mut $int,
                expected: $int,
                value: $int,
                order: i32,
                failure: i32,
                pc: usize,
            ) -> $int {
                value_of(address, expected, value, order, failure, pc).unwrap_or_else(|found| found)
            }

            fn value_of(
                address: *mut $int,
                expected: $int,
                value: $int,
                order: i32,
                failure: i32,
                pc: usize,
            ) -> Result<$int, $int> {
                let atomic = at(address);
                if !in_program() {
                    return atomic.compare_exchange(expected, value, SeqCst, SeqCst);
                }
                announce_look("compare-exchange", (address as usize, SIZE), Some([expected.into(), value.into()]), pc);
                let (rt, bytes) = (rt(), (address as usize, SIZE));
                let found = atomic.load(SeqCst);
                // Where it fails it only reads.
                touch_atomic(bytes.0, SIZE, found == expected, pc);
                if found != expected {
                    asks(bytes.0, failure);
                    rt.clocks.load(rt.current, bytes, acquires(failure));
                    looks::found(found.into());
                    written_down(bytes.0, found.into(), None);
                    return Err(found);
                }
                asks(bytes.0, order);
                rt.clocks.load(rt.current, bytes, acquires(order));
                rt.clocks.modify(rt.current, bytes, releases(order));
                atomic.store(value, SeqCst);
                written_down(bytes.0, found.into(), Some(value.into()));
                Ok(found)
            }
        }
        $( entries! {
            $load: "rdx" => $module::load;
            $store: "rcx" => $module::store;
            $exchange: "rcx" => $module::exchange;
            $add: "rcx" => $module::add;
            $sub: "rcx" => $module::sub;
            $and: "rcx" => $module::and;
            $or: "rcx" => $module::or;
            $xor: "rcx" => $module::xor;
            $nand: "rcx" => $module::nand;
            $strong: "r9" => $module::compare;
            $weak: "r9" => $module::compare;
            $value: "r9" => $module::compare_value;
        } )*
    };
}

of_size!(bits8, u8, AtomicU8, __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange __tsan_atomic8_fetch_add
    __tsan_atomic8_fetch_sub __tsan_atomic8_fetch_and __tsan_atomic8_fetch_or __tsan_atomic8_fetch_xor
    __tsan_atomic8_fetch_nand __tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_weak
    __tsan_atomic8_compare_exchange_val);
of_size!(bits16, u16, AtomicU16, __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange
    __tsan_atomic16_fetch_add __tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and __tsan_atomic16_fetch_or
    __tsan_atomic16_fetch_xor __tsan_atomic16_fetch_nand __tsan_atomic16_compare_exchange_strong
    __tsan_atomic16_compare_exchange_weak __tsan_atomic16_compare_exchange_val);
of_size!(bits32, u32, AtomicU32, __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange
    __tsan_atomic32_fetch_add __tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and __tsan_atomic32_fetch_or
    __tsan_atomic32_fetch_xor __tsan_atomic32_fetch_nand __tsan_atomic32_compare_exchange_strong
    __tsan_atomic32_compare_exchange_weak __tsan_atomic32_compare_exchange_val);
of_size!(bits64, u64, AtomicU64, __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange
    __tsan_atomic64_fetch_add __tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and __tsan_atomic64_fetch_or
    __tsan_atomic64_fetch_xor __tsan_atomic64_fetch_nand __tsan_atomic64_compare_exchange_strong
    __tsan_atomic64_compare_exchange_weak __tsan_atomic64_compare_exchange_val);

entries! {
    __tsan_atomic_thread_fence: "rsi" => thread_fence;
    __tsan_atomic_signal_fence: "rsi" => signal_fence;
}

extern "C-unwind" fn thread_fence(order: i32, _: usize) {
    fence(SeqCst);
    if in_program() {
        let rt = rt();
        rt.clocks.fence(rt.current, acquires(order), releases(order));
    }
}

extern "C-unwind" fn signal_fence(_: i32, _: usize) {}
