//! Atomic operations on sixteen bytes, and on any number of them as the compiler's library for that is called.

use super::atomics::{acquires, announce, asks, releases};
use super::tsan::touch_atomic;
use crate::control::in_program;
use crate::place::called_from;
use crate::real::next;
use crate::rt::rt;
use std::ffi::c_void;

super::entries! {
    __tsan_atomic128_load: "rdx" => load16;
    __tsan_atomic128_store: "r8" => store16;
    __tsan_atomic128_exchange: "r8" => exchange16;
    __tsan_atomic128_fetch_add: "r8" => add16;
    __tsan_atomic128_fetch_sub: "r8" => sub16;
    __tsan_atomic128_fetch_and: "r8" => and16;
    __tsan_atomic128_fetch_or: "r8" => or16;
    __tsan_atomic128_fetch_xor: "r8" => xor16;
    __tsan_atomic128_fetch_nand: "r8" => nand16;
    __atomic_load_16: "rdx" => load16;
    __atomic_store_16: "r8" => store16;
    __atomic_exchange_16: "r8" => exchange16;
    __atomic_load: "r8" => load;
    __atomic_store: "r8" => store;
    __atomic_exchange: "r9" => exchange;
}

// All registers of arguments are used: the place of the call is the first on the stack.
super::entry! { __tsan_atomic128_compare_exchange_strong: [] => compare16 }
super::entry! { __tsan_atomic128_compare_exchange_weak: [] => compare16 }
super::entry! { __tsan_atomic128_compare_exchange_val: [] => compare_value16 }
super::entry! { __atomic_compare_exchange_16: [] => compare16 }
super::entry! { __atomic_compare_exchange: [] => compare }

const SIZE: usize = 16;

/// The point of an operation that reads; then what it reads is there.
fn reads(name: &'static str, address: usize, size: usize, order: i32, pc: usize) {
    if in_program() {
        announce(name, address, size, false, pc);
        touch_atomic(address, size, false, pc);
        asks(address, order);
        rt().clocks.load(rt().current, (address, size), acquires(order));
    }
}

/// The point of an operation that writes.
fn writes(name: &'static str, address: usize, size: usize, order: i32, pc: usize) {
    if in_program() {
        announce(name, address, size, true, pc);
        touch_atomic(address, size, true, pc);
        asks(address, order);
        rt().clocks.store(rt().current, (address, size), releases(order));
    }
}

/// The point of an operation that does both.
fn modifies(name: &'static str, address: usize, size: usize, order: i32, pc: usize) {
    if in_program() {
        announce(name, address, size, true, pc);
        touch_atomic(address, size, true, pc);
        asks(address, order);
        let (rt, bytes) = (rt(), (address, size));
        rt.clocks.load(rt.current, bytes, acquires(order));
        rt.clocks.modify(rt.current, bytes, releases(order));
    }
}

/// The point of a compare-exchange, and whether these bytes are what is expected. Where they are not it only reads.
fn compares(address: usize, size: usize, expected: usize, orders: (i32, i32), pc: usize) -> bool {
    // SAFETY: the program gives so many bytes.
    let is_so = || unsafe { libc::memcmp(address as *const c_void, expected as *const c_void, size) } == 0;
    if in_program() {
        announce("compare-exchange", address, size, true, pc);
        touch_atomic(address, size, is_so(), pc);
        asks(address, if is_so() { orders.0 } else { orders.1 });
        let (rt, bytes) = (rt(), (address, size));
        if is_so() {
            rt.clocks.load(rt.current, bytes, acquires(orders.0));
            rt.clocks.modify(rt.current, bytes, releases(orders.0));
        } else {
            rt.clocks.load(rt.current, bytes, acquires(orders.1));
        }
    }
    is_so()
}

/// Replaces sixteen bytes if they are what is expected; what they were. Without control, threads are real. The instruction is
/// written out: what the compiler makes of its own name for it is a call of the function that this is called by.
fn replace(address: *mut u128, expected: u128, value: u128) -> u128 {
    let (mut low, mut high) = (expected as u64, (expected >> 64) as u64);
    // SAFETY: the program gives sixteen bytes that are aligned, as an atomic variable has to be. `rbx` is as before.
    unsafe {
        std::arch::asm!(
            "xchg rbx, rsi",
            "lock cmpxchg16b [rdi]",
            "mov rbx, rsi",
            in("rdi") address,
            inout("rsi") value as u64 => _,
            in("rcx") (value >> 64) as u64,
            inout("rax") low,
            inout("rdx") high,
            options(nostack),
        );
    }
    u128::from(high) << 64 | u128::from(low)
}

/// Changes sixteen bytes; what they were.
fn change(address: *mut u128, f: impl Fn(u128) -> u128) -> u128 {
    let mut old = 0;
    loop {
        let found = replace(address, old, f(old));
        if found == old {
            return old;
        }
        old = found;
    }
}

extern "C-unwind" fn load16(address: *mut u128, order: i32, pc: usize) -> u128 {
    reads("atomic load", address as usize, SIZE, order, pc);
    change(address, |old| old)
}

extern "C-unwind" fn store16(address: *mut u128, value: u128, order: i32, pc: usize) {
    writes("atomic store", address as usize, SIZE, order, pc);
    change(address, |_| value);
}

fn modify(name: &'static str, address: *mut u128, order: i32, pc: usize, f: impl Fn(u128) -> u128) -> u128 {
    modifies(name, address as usize, SIZE, order, pc);
    change(address, f)
}

extern "C-unwind" fn exchange16(address: *mut u128, value: u128, order: i32, pc: usize) -> u128 {
    modify("atomic exchange", address, order, pc, |_| value)
}

extern "C-unwind" fn add16(address: *mut u128, value: u128, order: i32, pc: usize) -> u128 {
    modify("atomic add", address, order, pc, |old| old.wrapping_add(value))
}

extern "C-unwind" fn sub16(address: *mut u128, value: u128, order: i32, pc: usize) -> u128 {
    modify("atomic sub", address, order, pc, |old| old.wrapping_sub(value))
}

extern "C-unwind" fn and16(address: *mut u128, value: u128, order: i32, pc: usize) -> u128 {
    modify("atomic and", address, order, pc, |old| old & value)
}

extern "C-unwind" fn or16(address: *mut u128, value: u128, order: i32, pc: usize) -> u128 {
    modify("atomic or", address, order, pc, |old| old | value)
}

extern "C-unwind" fn xor16(address: *mut u128, value: u128, order: i32, pc: usize) -> u128 {
    modify("atomic xor", address, order, pc, |old| old ^ value)
}

extern "C-unwind" fn nand16(address: *mut u128, value: u128, order: i32, pc: usize) -> u128 {
    modify("atomic nand", address, order, pc, |old| !(old & value))
}

extern "C-unwind" fn compare16(address: *mut u128, expected: *mut u128, value: u128, order: i32, failure: i32) -> i32 {
    compares(address as usize, SIZE, expected as usize, (order, failure), called_from());
    // SAFETY: the program gives an address for what it expects.
    unsafe {
        let wanted = expected.read_unaligned();
        let found = replace(address, wanted, value);
        expected.write_unaligned(found);
        i32::from(found == wanted)
    }
}

extern "C-unwind" fn compare_value16(
    address: *mut u128,
    expected: u128,
    value: u128,
    order: i32,
    failure: i32,
) -> u128 {
    let mut found = expected;
    compare16(address, &raw mut found, value, order, failure);
    found
}

/// As a library for atomics of any size would copy.
fn copy(to: usize, from: usize, size: usize) {
    // SAFETY: the program gives so many bytes.
    unsafe { std::ptr::copy(from as *const u8, to as *mut u8, size) }
}

extern "C-unwind" fn load(size: usize, address: usize, to: usize, order: i32, pc: usize) {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn __atomic_load(usize, usize, usize, i32))(size, address, to, order) };
    }
    reads("atomic load", address, size, order, pc);
    copy(to, address, size);
}

extern "C-unwind" fn store(size: usize, address: usize, from: usize, order: i32, pc: usize) {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn __atomic_store(usize, usize, usize, i32))(size, address, from, order) };
    }
    writes("atomic store", address, size, order, pc);
    copy(address, from, size);
}

extern "C-unwind" fn exchange(size: usize, address: usize, from: usize, to: usize, order: i32, pc: usize) {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn __atomic_exchange(usize, usize, usize, usize, i32))(size, address, from, to, order) };
    }
    modifies("atomic exchange", address, size, order, pc);
    copy(to, address, size);
    copy(address, from, size);
}

extern "C-unwind" fn compare(
    size: usize,
    address: usize,
    expected: usize,
    from: usize,
    order: i32,
    failure: i32,
) -> bool {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn __atomic_compare_exchange(usize, usize, usize, usize, i32, i32) -> bool)(
                size, address, expected, from, order, failure,
            )
        };
    }
    let is_so = compares(address, size, expected, (order, failure), called_from());
    if is_so {
        copy(address, from, size);
    } else {
        copy(expected, address, size);
    }
    is_so
}
