//! Thread-specific values by keys. Always ours under control, before `main` too: a key made there is used later.

use super::entries;
use crate::control::{in_program, is_controlled, is_running};
use crate::real::next;
use crate::rt::rt;

/// Keys that there may be at a time, as in the C library.
const MOST: usize = 1024;

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

extern "C-unwind" fn delete(key: u32, _: usize) -> i32 {
    if !is_controlled() || is_running() && !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_key_delete(u32) -> i32)(key) };
    }
    if in_program() {
        let Some(known @ Some(_)) = rt().keys.get_mut(key as usize) else { return libc::EINVAL };
        *known = None;
        for thread in &mut rt().threads {
            thread.values.remove(&key);
        }
        return 0;
    }
    let Some(known) = early().get_mut(key as usize).filter(|known| known.0) else { return libc::EINVAL };
    *known = (false, 0, 0);
    0
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

/// The destructors of the values of the thread that ends; they may set others.
pub fn run_destructors() {
    for _ in 0..4 {
        let mut values: Vec<(u32, usize)> = rt().me().values.drain().filter(|(_, value)| *value != 0).collect();
        if values.is_empty() {
            return;
        }
        values.sort_unstable();
        for (key, value) in values {
            if let Some(Some(destructor)) = rt().keys.get(key as usize).copied()
                && destructor != 0
            {
                // SAFETY: the program gave the function for this.
                unsafe { std::mem::transmute::<usize, extern "C-unwind" fn(usize)>(destructor)(value) };
            }
        }
    }
}
