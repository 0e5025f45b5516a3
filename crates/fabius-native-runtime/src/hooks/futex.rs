//! Futexes: C++ waits by them for atomics, latches, semaphores and futures.

use super::cond::{waiting, wake};
use crate::control::{in_program, is_running};
use crate::kernel::error;
use crate::op::{Op, Wait};
use crate::rt::rt;
use crate::threads::{Waited, point};

fn kernel(arguments: [usize; 6]) -> isize {
    let result: isize;
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: as the caller wants it.
    unsafe {
        std::arch::asm!(
            "syscall", inlateout("rax") 202isize => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack)
        );
    }
    if result < 0 { error(result) } else { result }
}

/// Waits and wakes.
pub extern "C-unwind" fn futex(
    _: usize,
    word: usize,
    operation: usize,
    value: usize,
    time: *const libc::timespec,
    word2: usize,
    value3: usize,
) -> isize {
    if !in_program() {
        // The explorer's own locks are in memory that its processes share: a private wait would be missed by the others.
        let operation = if is_running() { operation & !(libc::FUTEX_PRIVATE_FLAG as usize) } else { operation };
        return kernel([word, operation, value, time as usize, word2, value3]);
    }

    let pc = crate::place::called_from();
    match operation as i32 & 0x7f {
        kind @ (libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET) => {
            let absolute = kind == libc::FUTEX_WAIT_BITSET;
            let deadline = (!time.is_null()).then(|| {
                if absolute { super::time::deadline(time) } else { rt().now + super::time::nanoseconds(time) }
            });
            wait(word, value as u32, deadline, pc)
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            point(Op { write: true, ..Op::new("futex wake", pc).of(word, 4) });
            let mut asleep: Vec<usize> = waiting(word).collect();
            let mut woken = 0;
            while !asleep.is_empty() && woken < value as isize {
                let all = asleep.len() as isize <= value as isize - woken;
                let chosen = if all { 0 } else { rt().choose(asleep.len() as u32) as usize };
                wake(asleep.remove(chosen));
                woken += 1;
            }
            woken
        }
        _ => crate::threads::not_supported("futex operations other than to wait and to wake"),
    }
}

fn wait(word: usize, value: u32, deadline: Option<u64>, pc: usize) -> isize {
    point(Op { write: true, ..Op::new("futex wait", pc).of(word, 4) });
    // SAFETY: the program waits for this word.
    if unsafe { *(word as *const u32) } != value {
        return error(-(libc::EAGAIN as isize));
    }
    let since = rt().steps;
    let thread = rt().me();
    (thread.waits_for, thread.waits_since, thread.woken) = (word, since, false);
    let waited = point(Op::new("wait to be woken", pc).of(word, 4).when(Wait::Woken).until(deadline));
    rt().me().waits_for = 0;
    if waited == Waited::TimedOut { error(-(libc::ETIMEDOUT as isize)) } else { 0 }
}
