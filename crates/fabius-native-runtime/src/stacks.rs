//! Stacks that the explorer runs on, and processes that go on on them.

use std::arch::global_asm;

global_asm!(
    // Calls a function with an argument on another stack.
    ".global fabius_call_on",
    ".type fabius_call_on,@function",
    "fabius_call_on:",
    "push rbp",
    "mov rbp, rsp",
    "mov rsp, rdi",
    "mov rdi, rdx",
    "call rsi",
    "mov rsp, rbp",
    "pop rbp",
    "ret",
    // The same in a new process, which ends there; the number of that process. The child touches no stack but its own.
    ".global fabius_fork_on",
    ".type fabius_fork_on,@function",
    "fabius_fork_on:",
    "mov eax, 57",
    "syscall",
    "test eax, eax",
    "jne 2f",
    "mov rsp, rdi",
    "mov rdi, rdx",
    "call rsi",
    "ud2",
    "2:",
    "ret",
    // Leaves where this stack is, for another process to go on from, and ends this process.
    ".global fabius_hand_over",
    ".type fabius_hand_over,@function",
    "fabius_hand_over:",
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "mov [rdi], rsp",
    "mov eax, 231",
    "xor edi, edi",
    "syscall",
    "ud2",
    // A new process that goes on from there; its number.
    ".global fabius_fork_into",
    ".type fabius_fork_into,@function",
    "fabius_fork_into:",
    "mov eax, 57",
    "syscall",
    "test eax, eax",
    "jne 2f",
    "mov rsp, rdi",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "2:",
    "ret",
);

unsafe extern "C" {
    /// Calls a function with an argument on a stack.
    pub fn fabius_call_on(top: usize, function: extern "C" fn(usize), argument: usize);
    /// The same in a new process.
    pub fn fabius_fork_on(top: usize, function: extern "C" fn(usize), argument: usize) -> i32;
    /// Ends this process; the next one comes back from here.
    pub fn fabius_hand_over(at: *mut u64);
    /// A new process that comes back from there.
    pub fn fabius_fork_into(at: u64) -> i32;
}

/// Waits for a process; how it ended, as the kernel says it.
pub fn wait_for(process: i32) -> i32 {
    let mut status = 0i32;
    loop {
        let got: isize;
        // SAFETY: writes a number. No wrapper of the C library's: `errno` may be of storage that a child uses, too.
        unsafe {
            std::arch::asm!(
                "syscall", inlateout("rax") libc::SYS_wait4 as isize => got, in("rdi") process,
                in("rsi") &raw mut status, in("rdx") 0, in("r10") 0, lateout("rcx") _, lateout("r11") _,
            );
        }
        if got == process as isize {
            return status;
        }
        if got != -(libc::EINTR as isize) {
            crate::say::fatal(&[b"a process cannot be waited for"]);
        }
    }
}

/// Ends this process as another one has ended.
pub fn end_like(status: i32) -> ! {
    // SAFETY: ends the process, straight by the kernel.
    unsafe {
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            let default = [0usize; 4];
            crate::kernel::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), 0, 8);
            crate::kernel::syscall(libc::SYS_kill, crate::kernel::syscall(libc::SYS_getpid), signal);
        }
        crate::kernel::syscall(libc::SYS_exit_group, libc::WEXITSTATUS(status));
    }
    unreachable!("the process has ended")
}

/// This process ends with the one that it comes from.
pub fn end_with(parent: u32) {
    // SAFETY: changes only what happens when the other process ends, which it may have done already.
    unsafe {
        crate::kernel::syscall(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if crate::kernel::syscall(libc::SYS_getppid) as u32 != parent {
            crate::kernel::syscall(libc::SYS_exit_group, 1);
        }
    }
}

/// The number of this process.
pub fn process() -> u32 {
    // SAFETY: asks the kernel.
    unsafe { crate::kernel::syscall(libc::SYS_getpid) as u32 }
}
