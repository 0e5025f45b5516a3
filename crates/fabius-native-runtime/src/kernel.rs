//! Calls of the kernel, past the function by which the program makes its own ([`crate::hooks::syscalls`]).

use std::ffi::c_long;

unsafe extern "C" {
    /// As the C library's function of this name.
    #[link_name = "fabius_kernel"]
    pub fn syscall(number: c_long, ...) -> c_long;
}

/// [`syscall`].
///
/// # Safety
/// What the kernel is asked to do must be right.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn fabius_kernel() {
    std::arch::naked_asm!(
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov r10, r8",
        "mov r8, r9",
        "mov r9, [rsp + 8]",
        "syscall",
        "cmp rax, -4095",
        "jae 3f",
        "ret",
        "3:",
        "mov rdi, rax",
        "jmp {error}",
        error = sym error,
    )
}

/// What the kernel says has failed, as the C library says it.
pub extern "C" fn error(result: isize) -> isize {
    // SAFETY: the thread's own `errno`.
    unsafe { *libc::__errno_location() = -result as i32 };
    -1
}
