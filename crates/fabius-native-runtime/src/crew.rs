//! Several processes that explore at once: copies of the first one, with what the search knows in memory that all share.

use crate::fiber::Berth;
use crate::rt::{Rt, rt, set};
use crate::stacks::{end_like, end_with, fabius_fork_on, process, wait_for};
use crate::{arena, descriptors, signals};
use fabius_explore::search::Workers;
use fabius_native_protocol::MOST_WORKERS;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// Processes instead of threads.
pub const PROCESSES: Workers = Workers(run);

/// The processes at work; 0: none.
static AT_WORK: [AtomicI32; MOST_WORKERS] = [const { AtomicI32::new(0) }; MOST_WORKERS];

/// What a process finds where it begins, and leaves there.
struct Task<'a> {
    number: usize,
    berth: Berth,
    work: &'a (dyn Fn() + Sync),
    /// Its execution, and what that has found out.
    rt: Box<Rt>,
}

fn run(jobs: usize, work: &(dyn Fn() + Sync)) {
    if jobs <= 1 {
        return work();
    }
    signals::tell_of_children(ended);
    let mut tasks: Vec<Task<'_>> = (1..jobs.min(MOST_WORKERS))
        .map(|number| {
            let (berth, rt) = (Berth::new(rt().shape, number), Box::new(rt().twin(number)));
            Task { number, berth, work, rt }
        })
        .collect();
    for task in &mut tasks {
        let (top, number) = (task.berth.top, task.number);
        // SAFETY: the stack is nobody's, and the task outlives the process.
        let process = unsafe { fabius_fork_on(top, begin, std::ptr::from_mut(task) as usize) };
        if process < 0 {
            crate::say::fatal(&[b"no process can be made"]);
        }
        AT_WORK[number].store(process, Relaxed);
    }
    // One may have ended before it was known.
    ended();
    work();
    for task in tasks {
        let status = wait_for(AT_WORK[task.number].swap(0, Relaxed));
        if status != 0 {
            rt().header.died.store(task.number as u32, Relaxed);
            end_like(status);
        }
        rt().learn(&task.rt);
        task.berth.leave();
    }
}

extern "C" fn begin(task: usize) {
    // SAFETY: the task is in memory that is shared, and waits for us.
    let task = unsafe { &mut *(task as *mut Task<'_>) };
    arena::set_worker(task.number);
    task.berth.enter();
    end_with(rt().process);
    descriptors::list();
    signals::set_up();
    task.rt.worker().process.store(process(), Relaxed);
    set(&raw mut *task.rt);
    (task.work)();
    // SAFETY: ends the process.
    unsafe { crate::kernel::syscall(libc::SYS_exit_group, 0) };
}

/// A process has ended. If that was within an execution, nobody would ever tell those who wait for what it does.
fn ended() {
    for (number, process) in AT_WORK.iter().enumerate() {
        let process = process.load(Relaxed);
        // SAFETY: asks how a process has ended, and leaves it there to be waited for.
        let status = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            let got = crate::kernel::syscall(libc::SYS_waitid, libc::P_PID, process, &raw mut info, how, 0);
            if process == 0 || got != 0 || info.si_pid() != process {
                continue;
            }
            if info.si_code == libc::CLD_EXITED { info.si_status() << 8 } else { info.si_status() }
        };
        if status != 0 {
            rt().header.died.store(number as u32, Relaxed);
            end_like(status);
        }
    }
}
