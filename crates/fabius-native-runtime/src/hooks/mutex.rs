//! Mutexes. Who holds one is written into its own bytes, where the C library has the same fields: so restoring memory
//! restores it, and static initializers work.
//!
//! A robust mutex whose owner has ended is free. Who gets it is told so, and says that what it protects is consistent again;
//! if he gives it back without that, nobody gets it any more.

use super::entries;
use crate::control::in_program;
use crate::looks;
use crate::op::{Op, Wait};
use crate::real::next;
use crate::rt::rt;
use crate::threads::{Waited, fail, point};
use fabius_trace::BugKind;

/// The fields of a `pthread_mutex_t`.
#[repr(C)]
struct Mutex {
    lock: i32,
    count: u32,
    /// The thread that holds it, from 1; of a robust one that nobody holds `ENDED` or `LOST`.
    owner: i32,
    /// Whether the owner of a robust one has it from one that has ended, and has not made it consistent.
    inherited: u32,
    kind: i32,
}

const RECURSIVE: i32 = 1;
const CHECKED: i32 = 2;
const ROBUST: i32 = 16;
const DESTROYED: i32 = -1;

/// Its owner has ended.
const ENDED: i32 = i32::MAX;
/// And nobody has made consistent what it protects.
const LOST: i32 = i32::MAX - 1;

fn at(mutex: usize) -> &'static mut Mutex {
    // SAFETY: the program gives the address of a mutex.
    unsafe { &mut *(mutex as *mut Mutex) }
}

/// Whether the thread could take it now.
pub fn is_free(mutex: usize, thread: usize) -> bool {
    let m = at(mutex);
    m.lock == 0 || m.owner == thread as i32 + 1 && matches!(m.kind & 3, RECURSIVE | CHECKED)
}

/// Who holds it.
pub fn owner(mutex: usize) -> Option<usize> {
    let m = at(mutex);
    (m.lock != 0).then(|| m.owner as usize - 1)
}

/// What the thread has to do to get it, which is possible now.
pub fn take(mutex: usize) -> i32 {
    let rt = rt();
    let m = at(mutex);
    if m.lock != 0 {
        if m.kind & 3 == CHECKED {
            return libc::EDEADLK;
        }
        m.count += 1;
        return 0;
    }
    rt.clocks.acquire(rt.current, mutex);
    let before = m.owner;
    if before == LOST {
        return libc::ENOTRECOVERABLE;
    }
    (m.lock, m.owner, m.count) = (1, rt.current as i32 + 1, 1);
    if m.kind & ROBUST == 0 {
        return 0;
    }
    rt.me().robust.push(mutex);
    m.inherited = u32::from(before == ENDED);
    if before == ENDED { libc::EOWNERDEAD } else { 0 }
}

/// Gives it back; `true` if the thread held it.
pub fn release(mutex: usize, pc: usize) -> i32 {
    let rt = rt();
    let m = at(mutex);
    if m.lock == 0 || m.owner != rt.current as i32 + 1 {
        if matches!(m.kind & 3, RECURSIVE | CHECKED) {
            return libc::EPERM;
        }
        let what = if m.lock == 0 { "that nobody holds" } else { "that another thread holds" };
        fail(BugKind::SyncMisuse, format!("a mutex is unlocked {what}"), pc);
    }
    m.count -= 1;
    if m.count == 0 {
        (m.lock, m.owner) = (0, 0);
        if m.kind & ROBUST != 0 {
            rt.me().robust.retain(|held| *held != mutex);
            m.owner = if m.inherited != 0 { LOST } else { 0 };
        }
        rt.clocks.release(rt.current, mutex);
        rt.is_given_back(mutex);
    }
    0
}

/// The thread ends: the robust mutexes that it holds are free.
pub fn owner_ends() {
    for mutex in std::mem::take(&mut rt().me().robust) {
        point(Op::new("end", 0).on(mutex));
        let (rt, m) = (rt(), at(mutex));
        (m.lock, m.count, m.owner) = (0, 0, ENDED);
        rt.clocks.release(rt.current, mutex);
    }
}

/// Ends the execution if it is no mutex that can be used.
pub fn check(mutex: usize, pc: usize) {
    super::tsan::check_memory(mutex, 40, true, pc);
    if at(mutex).kind == DESTROYED {
        fail(BugKind::SyncMisuse, "a mutex is used that was destroyed", pc);
    }
}

entries! {
    pthread_mutex_init: "rdx" => init;
    pthread_mutex_destroy: "rsi" => destroy;
    pthread_mutex_lock: "rsi" => lock;
    pthread_mutex_trylock: "rsi" => trylock;
    pthread_mutex_timedlock: "rdx" => timedlock;
    pthread_mutex_clocklock: "rcx" => clocklock;
    pthread_mutex_unlock: "rsi" => unlock;
    pthread_mutex_consistent: "rsi" => consistent;
}

extern "C-unwind" fn init(mutex: usize, attributes: usize, pc: usize) -> i32 {
    if in_program() {
        // Others may use it already, which is no use of this mutex.
        point(Op::new("pthread_mutex_init", pc).on(mutex));
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn pthread_mutex_init(usize, usize) -> i32)(mutex, attributes) }
}

extern "C-unwind" fn destroy(mutex: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_mutex_destroy(usize) -> i32)(mutex) };
    }
    point(Op::new("pthread_mutex_destroy", pc).on(mutex));
    check(mutex, pc);
    if at(mutex).lock != 0 {
        fail(BugKind::SyncMisuse, "a mutex is destroyed that is held", pc);
    }
    at(mutex).kind = DESTROYED;
    0
}

/// Locks under control.
pub fn lock_here(name: &'static str, mutex: usize, deadline: Option<u64>, pc: usize) -> i32 {
    check(mutex, pc);
    let waited = point(Op::new(name, pc).on(mutex).when(Wait::Mutex).until(deadline));
    check(mutex, pc);
    if waited == Waited::TimedOut { libc::ETIMEDOUT } else { take(mutex) }
}

extern "C-unwind" fn lock(mutex: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_mutex_lock(usize) -> i32)(mutex) };
    }
    lock_here("pthread_mutex_lock", mutex, None, pc)
}

extern "C-unwind" fn trylock(mutex: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_mutex_trylock(usize) -> i32)(mutex) };
    }
    check(mutex, pc);
    let wait = looks::waits(mutex, [0, 0], pc, |_| Wait::Freed);
    point(Op::new("pthread_mutex_trylock", pc).on(mutex).when(wait));
    check(mutex, pc);
    let m = at(mutex);
    if m.lock != 0 && !(m.kind & 3 == RECURSIVE && is_free(mutex, rt().current)) {
        rt().is_refused(mutex);
        looks::found(0);
        return libc::EBUSY;
    }
    take(mutex)
}

/// Who waits until what is no time gets only what is free.
fn at_once(mutex: usize, pc: usize) -> i32 {
    match trylock(mutex, pc) {
        libc::EBUSY => libc::EINVAL,
        other => other,
    }
}

extern "C-unwind" fn timedlock(mutex: usize, until: *const libc::timespec, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_mutex_timedlock(usize, *const libc::timespec) -> i32)(mutex, until) };
    }
    if super::time::is_invalid(until) {
        return at_once(mutex, pc);
    }
    lock_here("pthread_mutex_timedlock", mutex, Some(super::time::deadline(until)), pc)
}

extern "C-unwind" fn clocklock(mutex: usize, clock: i32, until: *const libc::timespec, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn pthread_mutex_clocklock(usize, i32, *const libc::timespec) -> i32)(mutex, clock, until)
        };
    }
    if super::time::is_invalid(until) {
        return at_once(mutex, pc);
    }
    lock_here("pthread_mutex_clocklock", mutex, Some(super::time::deadline(until)), pc)
}

extern "C-unwind" fn unlock(mutex: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_mutex_unlock(usize) -> i32)(mutex) };
    }
    check(mutex, pc);
    point(Op::new("pthread_mutex_unlock", pc).on(mutex));
    check(mutex, pc);
    release(mutex, pc)
}

extern "C-unwind" fn consistent(mutex: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_mutex_consistent(usize) -> i32)(mutex) };
    }
    check(mutex, pc);
    let m = at(mutex);
    let is_mine = m.lock != 0 && m.owner == rt().current as i32 + 1;
    if m.kind & ROBUST == 0 || !is_mine || m.inherited == 0 {
        return libc::EINVAL;
    }
    m.inherited = 0;
    0
}
