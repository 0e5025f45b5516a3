//! Functions that wait for what is not known here, or that a program under control must not call: the execution ends, and the
//! answer names the function.

use crate::control::in_program;

macro_rules! refused {
    ($($name:ident)*) => { $(
        #[doc = concat!("`", stringify!($name), "`, as the program calls it.")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            extern "C-unwind" fn address() -> usize {
                if in_program() {
                    crate::threads::not_supported(stringify!($name));
                }
                static NEXT: crate::real::Next = crate::real::Next::new(
                    match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => unreachable!(),
                    },
                );
                NEXT.address()
            }
            std::arch::naked_asm!(
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                "call {address}",
                "mov r11, rax",
                "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "jmp r11",
                address = sym address,
            )
        }
    )* };
}

refused! {
    execve execv execvp execvpe execl execlp execle fexecve execveat posix_spawn posix_spawnp pidfd_spawn pidfd_spawnp vfork
    clone _Fork daemon forkpty aio_read aio_read64 aio_write aio_write64 aio_fsync aio_fsync64 lio_listio lio_listio64 getaddrinfo_a
    splice tee vmsplice mremap
    epoll_pwait2 __recvfrom_chk __ppoll_chk
    msgget msgsnd msgrcv mq_notify
    sigset sighold sigrelse sigignore sigpause __xpg_sigpause sigblock sigsetmask pthread_attr_setsigmask_np
    ualarm signalfd
}
