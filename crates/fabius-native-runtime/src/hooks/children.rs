//! Children of `fork`: they run by themselves, and the kernel says what has become of them. A process waits for its own ones only:
//! to the kernel, other workers of the explorer may be its children, too.

use super::files::fails_with;
use crate::control::in_program;
use crate::op::{Op, PROCESS};
use crate::real::next;
use crate::rt::rt;
use crate::threads::point;
use std::ffi::c_void;

super::entries! {
    wait: "rsi" => wait_here;
    waitpid: "rcx" => waitpid_here;
    wait3: "rcx" => wait3_here;
    wait4: "r8" => wait4_here;
    waitid: "r8" => waitid_here;
}

/// How long a thread that can do nothing else waits for what a child does, in milliseconds.
const PATIENCE: u32 = 2000;

/// Whether nothing that may still happen in a child can let a thread go on. If nobody can for now, waits for children first.
/// `false` if they have not ended by then.
pub fn have_done_all() -> bool {
    for _ in 0..PATIENCE {
        let rt = rt();
        // Before the threads are looked at: what the last child has done they see then.
        let ended = rt.children.iter().all(|child| has_ended(*child));
        let stuck = (0..rt.threads.len()).all(|thread| !rt.is_ready(thread));
        if ended || rt.over || !stuck {
            return true;
        }
        rest();
    }
    false
}

/// A millisecond.
fn rest() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    // SAFETY: sleeps.
    unsafe { crate::kernel::syscall(libc::SYS_nanosleep, &raw const time, 0usize) };
}

fn has_ended(child: i32) -> bool {
    // SAFETY: asks the kernel, which goes on to say so when it is asked again.
    unsafe {
        let mut about: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        let got = crate::kernel::syscall(libc::SYS_waitid, libc::P_PID, child, &raw mut about, options, 0usize);
        got != 0 || about.si_signo != 0
    }
}

extern "C-unwind" fn wait4_here(child: i32, status: *mut i32, options: i32, usage: *mut c_void, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    let call = |child: i32, options: i32| unsafe {
        crate::kernel::syscall(libc::SYS_wait4, child, status, options, usage) as i32
    };
    if !in_program() {
        return call(child, options);
    }
    point(Op::new("wait", pc).on(PROCESS));
    rt().unannounced = true;
    loop {
        let asked: Vec<i32> = rt().children.iter().copied().filter(|own| child <= 0 || *own == child).collect();
        if asked.is_empty() {
            return fails_with(libc::ECHILD) as i32;
        }
        for child in asked {
            let got = call(child, options | libc::WNOHANG);
            if got != 0 {
                if got > 0 && has_ended(child) {
                    rt().children.retain(|own| *own != child);
                }
                rt().moved += 1;
                return got;
            }
        }
        if options & libc::WNOHANG != 0 {
            return 0;
        }
        rest();
    }
}

extern "C-unwind" fn wait_here(status: *mut i32, pc: usize) -> i32 {
    wait4_here(-1, status, 0, std::ptr::null_mut(), pc)
}

extern "C-unwind" fn waitpid_here(child: i32, status: *mut i32, options: i32, pc: usize) -> i32 {
    wait4_here(child, status, options, std::ptr::null_mut(), pc)
}

extern "C-unwind" fn wait3_here(status: *mut i32, options: i32, usage: *mut c_void, pc: usize) -> i32 {
    wait4_here(-1, status, options, usage, pc)
}

extern "C-unwind" fn waitid_here(of: u32, child: u32, about: *mut c_void, options: i32, pc: usize) -> i32 {
    if in_program() && of != libc::P_PID {
        crate::threads::not_supported("waitid of any child");
    }
    if in_program() {
        point(Op::new("waitid", pc).on(PROCESS));
        rt().unannounced = true;
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn waitid(u32, u32, *mut c_void, i32) -> i32)(of, child, about, options) }
}
