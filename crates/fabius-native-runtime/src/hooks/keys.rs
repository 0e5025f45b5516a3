//! Thread-specific values by keys. Always ours under control, before `main` too: a key made there is used later.

use super::entries;
use super::library::is_alone;
use crate::control::{in_program, is_controlled, is_running};
use crate::op::{DELETED, KEYS, Op};
use crate::real::next;
use crate::rt::rt;
use crate::threads::point;

/// Keys that there may be at a time, as in the C library.
const MOST: usize = 1024;

/// How often destructors are called for what destructors have set.
const PASSES: usize = 4;

/// Keys and the first thread's values from before `main`: destructors, by key.
pub static mut EARLY: [(bool, usize, usize); MOST] = [(false, 0, 0); MOST];

entries! {
    pthread_key_create: "rdx" => create;
    pthread_key_delete: "rsi" => delete;
    pthread_getspecific: "rsi" => get;
    pthread_setspecific: "rdx" => set;
}

fn early() -> &'static mut [(bool, usize, usize); MOST] {
    let keys = &raw mut EARLY;
    // SAFETY: before `main` there is one thread that makes keys.
    unsafe { &mut *keys }
}

extern "C-unwind" fn create(key: *mut u32, destructor: usize, _: usize) -> i32 {
    if !is_controlled() || is_running() && !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_key_create(*mut u32, usize) -> i32)(key, destructor) };
    }
    let found = if in_program() {
        // Which number a key gets is a matter of who comes first.
        rt().unannounced |= rt().threads.len() > 1;
        let keys = &mut rt().keys;
        let free = keys.iter().position(Option::is_none).unwrap_or(keys.len());
        if free == MOST {
            return libc::EAGAIN;
        }
        if free == keys.len() {
            keys.push(None);
        }
        keys[free] = Some(destructor);
        free
    } else {
        let Some(free) = early().iter().position(|k| !k.0) else { return libc::EAGAIN };
        early()[free] = (true, destructor, 0);
        free
    };
    // SAFETY: the program wants the key there.
    unsafe { *key = found as u32 };
    0
}

extern "C-unwind" fn delete(key: u32, pc: usize) -> i32 {
    if !is_controlled() || is_running() && !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_key_delete(u32) -> i32)(key) };
    }
    if in_program() {
        deletion_is_seen();
        if !is_alone() {
            point(Op::new("pthread_key_delete", pc).on(KEYS));
        }
        let rt = rt();
        let Some(known @ Some(_)) = rt.keys.get_mut(key as usize) else { return libc::EINVAL };
        *known = None;
        for thread in &mut rt.threads {
            thread.values.remove(&key);
        }
        return 0;
    }
    let Some(known) = early().get_mut(key as usize).filter(|known| known.0) else { return libc::EINVAL };
    *known = (false, 0, 0);
    0
}

/// A thread that ends with values may do so before a key is deleted, or later: from now on that is a point.
fn deletion_is_seen() {
    let rt = rt();
    if rt.threads.len() > 1 && !rt.points_are_fixed && rt.mark(DELETED) {
        rt.search_again();
    }
}

extern "C-unwind" fn get(key: u32, _: usize) -> usize {
    if !is_controlled() || is_running() && !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_getspecific(u32) -> usize)(key) };
    }
    if in_program() {
        return rt().me().values.get(&key).copied().unwrap_or(0);
    }
    early().get(key as usize).map_or(0, |k| k.2)
}

extern "C-unwind" fn set(key: u32, value: usize, _: usize) -> i32 {
    if !is_controlled() || is_running() && !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_setspecific(u32, usize) -> i32)(key, value) };
    }
    if in_program() {
        if rt().keys.get(key as usize).copied().flatten().is_none() {
            return libc::EINVAL;
        }
        rt().me().values.insert(key, value);
        return 0;
    }
    let Some(known) = early().get_mut(key as usize).filter(|known| known.0) else { return libc::EINVAL };
    known.2 = value;
    0
}

/// The keys from before `main`, and the first thread's values.
pub fn before() -> (Vec<Option<usize>>, Vec<(u32, usize)>) {
    let last = early().iter().rposition(|k| k.0).map_or(0, |at| at + 1);
    let keys = early()[..last].iter().map(|k| k.0.then_some(k.1)).collect();
    let values = early()[..last].iter().enumerate().filter(|(_, k)| k.2 != 0).map(|(n, k)| (n as u32, k.2)).collect();
    (keys, values)
}

/// The destructors of the values of the thread that ends, by the order of keys; they may set others, and see those that are left.
pub fn run_destructors() {
    for _ in 0..PASSES {
        let mut next = first_value(0);
        if next.is_none() {
            return;
        }
        while let Some(key) = next {
            runs_destructor(key);
            next = first_value(key + 1);
        }
    }
}

/// The first key from this one on of which the thread has a value.
fn first_value(from: u32) -> Option<u32> {
    let values = rt().me().values.iter().filter(|(key, value)| **key >= from && **value != 0);
    values.map(|(key, _)| *key).min()
}

fn runs_destructor(key: u32) {
    if rt().races.is_racy(DELETED) {
        point(Op::new("destructor", 0).reads(KEYS));
    }
    // Who deletes the key takes the value away.
    let Some(value) = rt().me().values.remove(&key) else { return };
    if let Some(Some(destructor)) = rt().keys.get(key as usize).copied()
        && destructor != 0
    {
        // SAFETY: the program gave the function for this.
        unsafe { std::mem::transmute::<usize, extern "C-unwind" fn(usize)>(destructor)(value) };
    }
}
