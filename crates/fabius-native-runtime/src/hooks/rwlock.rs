//! Read-write locks and spin locks, in their own bytes.

use super::entries;
use super::tsan::check_memory;
use crate::control::in_program;
use crate::op::{Op, Wait};
use crate::real::next;
use crate::rt::rt;
use crate::threads::{Waited, fail, point};
use fabius_trace::BugKind;

/// What we keep in a `pthread_rwlock_t`. Static initializers are zero there.
#[repr(C)]
struct Lock {
    readers: u32,
    writer: u32,
}

fn at(lock: usize) -> &'static mut Lock {
    // SAFETY: the program gives the address of a lock.
    unsafe { &mut *(lock as *mut Lock) }
}

/// Whether it could be taken now.
pub fn is_free(lock: usize, write: bool) -> bool {
    let l = at(lock);
    l.writer == 0 && !(write && l.readers > 0)
}

/// Who has it for writing.
pub fn writer(lock: usize) -> Option<usize> {
    (at(lock).writer as usize).checked_sub(1)
}

/// Bytes of a `pthread_rwlock_t`, and of a spin lock.
const SIZE: usize = 56;
const SPIN_SIZE: usize = 4;

/// The point before a lock of so many bytes is used, which has to be there before and after.
fn use_of(op: Op, size: usize) -> Waited {
    check_memory(op.object, size, true, op.pc);
    let waited = point(op);
    check_memory(op.object, size, true, op.pc);
    waited
}

entries! {
    pthread_rwlock_init: "rdx" => init;
    pthread_rwlock_destroy: "rsi" => destroy;
    pthread_rwlock_rdlock: "rsi" => rdlock;
    pthread_rwlock_wrlock: "rsi" => wrlock;
    pthread_rwlock_tryrdlock: "rsi" => tryrdlock;
    pthread_rwlock_trywrlock: "rsi" => trywrlock;
    pthread_rwlock_timedrdlock: "rdx" => timedrdlock;
    pthread_rwlock_timedwrlock: "rdx" => timedwrlock;
    pthread_rwlock_clockrdlock: "rcx" => clockrdlock;
    pthread_rwlock_clockwrlock: "rcx" => clockwrlock;
    pthread_rwlock_unlock: "rsi" => unlock;
    pthread_spin_init: "rdx" => spin_init;
    pthread_spin_destroy: "rsi" => spin_destroy;
    pthread_spin_lock: "rsi" => spin_lock;
    pthread_spin_trylock: "rsi" => spin_trylock;
    pthread_spin_unlock: "rsi" => spin_unlock;
}

extern "C-unwind" fn init(lock: usize, attributes: usize, pc: usize) -> i32 {
    if in_program() {
        // Others may use it already, which is no use of this lock.
        use_of(Op::new("pthread_rwlock_init", pc).on(lock), SIZE);
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn pthread_rwlock_init(usize, usize) -> i32)(lock, attributes) }
}

extern "C-unwind" fn destroy(lock: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_rwlock_destroy(usize) -> i32)(lock) };
    }
    use_of(Op::new("pthread_rwlock_destroy", pc).on(lock), SIZE);
    if !is_free(lock, true) {
        fail(BugKind::SyncMisuse, "a read-write lock is destroyed that is held", pc);
    }
    0
}

fn take(name: &'static str, lock: usize, write: bool, deadline: Option<u64>, pc: usize) -> i32 {
    check_memory(lock, SIZE, true, pc);
    if writer(lock) == Some(rt().current) {
        return libc::EDEADLK;
    }
    let wait = if write { Wait::Write } else { Wait::Read };
    if use_of(Op::new(name, pc).on(lock).when(wait).until(deadline), SIZE) == Waited::TimedOut {
        return libc::ETIMEDOUT;
    }
    taken(lock, write);
    0
}

fn taken(lock: usize, write: bool) {
    let rt = rt();
    if write {
        at(lock).writer = rt.current as u32 + 1;
    } else {
        at(lock).readers += 1;
    }
    rt.clocks.acquire(rt.current, lock);
    if write {
        // Readers do not order each other, but a writer comes after all of them.
        rt.clocks.acquire(rt.current, lock + 1);
    }
}

fn try_take(name: &'static str, lock: usize, write: bool, pc: usize) -> i32 {
    use_of(Op::new(name, pc).on(lock), SIZE);
    if !is_free(lock, write) {
        rt().cannot_have(lock);
        return libc::EBUSY;
    }
    taken(lock, write);
    0
}

extern "C-unwind" fn rdlock(lock: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_rwlock_rdlock(usize) -> i32)(lock) };
    }
    take("pthread_rwlock_rdlock", lock, false, None, pc)
}

extern "C-unwind" fn wrlock(lock: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_rwlock_wrlock(usize) -> i32)(lock) };
    }
    take("pthread_rwlock_wrlock", lock, true, None, pc)
}

extern "C-unwind" fn tryrdlock(lock: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_rwlock_tryrdlock(usize) -> i32)(lock) };
    }
    try_take("pthread_rwlock_tryrdlock", lock, false, pc)
}

extern "C-unwind" fn trywrlock(lock: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_rwlock_trywrlock(usize) -> i32)(lock) };
    }
    try_take("pthread_rwlock_trywrlock", lock, true, pc)
}

type Until = *const libc::timespec;

extern "C-unwind" fn timedrdlock(lock: usize, until: Until, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_rwlock_timedrdlock(usize, Until) -> i32)(lock, until) };
    }
    if super::time::is_invalid(until) {
        return libc::EINVAL;
    }
    take("pthread_rwlock_timedrdlock", lock, false, Some(super::time::deadline(until)), pc)
}

extern "C-unwind" fn timedwrlock(lock: usize, until: Until, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_rwlock_timedwrlock(usize, Until) -> i32)(lock, until) };
    }
    if super::time::is_invalid(until) {
        return libc::EINVAL;
    }
    take("pthread_rwlock_timedwrlock", lock, true, Some(super::time::deadline(until)), pc)
}

extern "C-unwind" fn clockrdlock(lock: usize, clock: i32, until: Until, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_rwlock_clockrdlock(usize, i32, Until) -> i32)(lock, clock, until) };
    }
    if super::time::is_invalid(until) {
        return libc::EINVAL;
    }
    take("pthread_rwlock_clockrdlock", lock, false, Some(super::time::deadline(until)), pc)
}

extern "C-unwind" fn clockwrlock(lock: usize, clock: i32, until: Until, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_rwlock_clockwrlock(usize, i32, Until) -> i32)(lock, clock, until) };
    }
    if super::time::is_invalid(until) {
        return libc::EINVAL;
    }
    take("pthread_rwlock_clockwrlock", lock, true, Some(super::time::deadline(until)), pc)
}

extern "C-unwind" fn unlock(lock: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_rwlock_unlock(usize) -> i32)(lock) };
    }
    use_of(Op::new("pthread_rwlock_unlock", pc).on(lock), SIZE);
    let rt = rt();
    let l = at(lock);
    rt.is_given_back(lock);
    if l.writer == rt.current as u32 + 1 {
        l.writer = 0;
        rt.clocks.release(rt.current, lock);
    } else if l.writer == 0 && l.readers > 0 {
        l.readers -= 1;
        rt.clocks.release(rt.current, lock + 1);
    } else {
        fail(BugKind::SyncMisuse, "a read-write lock is unlocked that the thread does not hold", pc);
    }
    0
}

fn spin(lock: usize) -> &'static mut u32 {
    // SAFETY: the program gives the address of a spin lock.
    unsafe { &mut *(lock as *mut u32) }
}

/// As in the C library: 1 is free.
pub fn spin_is_free(lock: usize) -> bool {
    *spin(lock) == 1
}

extern "C-unwind" fn spin_init(lock: usize, shared: i32, pc: usize) -> i32 {
    if in_program() {
        point(Op::new("pthread_spin_init", pc).on(lock));
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn pthread_spin_init(usize, i32) -> i32)(lock, shared) }
}

extern "C-unwind" fn spin_destroy(lock: usize, _: usize) -> i32 {
    // SAFETY: as the program calls it.
    unsafe { next!(fn pthread_spin_destroy(usize) -> i32)(lock) }
}

fn spin_taken(lock: usize) {
    let rt = rt();
    *spin(lock) = 0;
    rt.clocks.acquire(rt.current, lock);
}

extern "C-unwind" fn spin_lock(lock: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_spin_lock(usize) -> i32)(lock) };
    }
    use_of(Op::new("pthread_spin_lock", pc).on(lock).when(Wait::Spin), SPIN_SIZE);
    spin_taken(lock);
    0
}

extern "C-unwind" fn spin_trylock(lock: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_spin_trylock(usize) -> i32)(lock) };
    }
    use_of(Op::new("pthread_spin_trylock", pc).on(lock), SPIN_SIZE);
    if !spin_is_free(lock) {
        rt().cannot_have(lock);
        return libc::EBUSY;
    }
    spin_taken(lock);
    0
}

extern "C-unwind" fn spin_unlock(lock: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_spin_unlock(usize) -> i32)(lock) };
    }
    use_of(Op::new("pthread_spin_unlock", pc).on(lock), SPIN_SIZE);
    if spin_is_free(lock) {
        fail(BugKind::SyncMisuse, "a spin lock is unlocked that nobody holds", pc);
    }
    let rt = rt();
    *spin(lock) = 1;
    rt.is_given_back(lock);
    rt.clocks.release(rt.current, lock);
    0
}
