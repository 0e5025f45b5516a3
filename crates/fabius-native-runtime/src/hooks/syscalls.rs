//! `syscall`: what the C library has a function for is done as if that were called, futexes by [`super::futex`]. Of the rest
//! the kernel is asked where it neither waits nor changes what is looked after here; everything else is refused by its name.

use super::{
    children, files, memory, named_files, polls, process, signals, sockets, thread, time, timer_files, timers,
};
use crate::control::in_program;
use crate::place::REGISTERS;
use libc::*;

/// `syscall`, as the program calls it.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn syscall() {
    std::arch::naked_asm!(
        "cmp rdi, 202",
        "je 2f",
        "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9",
        "sub rsp, 8",
        "mov rsi, [rsp + 56]",
        "call {function}",
        "mov r11, rax",
        "add rsp, 8",
        "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
        "test r11, r11",
        "jz {kernel}",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov rcx, r8",
        "mov r8, r9",
        "mov r9, [rsp + 8]",
        "jmp r11",
        "2:",
        super::keep_registers!(),
        "jmp {futex}",
        registers = sym REGISTERS,
        function = sym function,
        futex = sym super::futex::futex,
        kernel = sym crate::kernel::fabius_kernel,
    )
}

type Function = unsafe extern "C-unwind" fn();

/// Functions that take what the kernel takes.
const FUNCTIONS: &[(i64, Function)] = &[
    (SYS_read, files::read),
    (SYS_readv, files::readv),
    (SYS_write, files::write),
    (SYS_writev, files::writev),
    (SYS_close, files::close),
    (SYS_close_range, files::close_range),
    (SYS_dup2, files::dup2),
    (SYS_dup3, files::dup3),
    (SYS_socketpair, files::socketpair),
    (SYS_flock, files::flock),
    (SYS_poll, polls::poll),
    (SYS_epoll_wait, polls::epoll_wait),
    (SYS_epoll_ctl, polls::epoll_ctl),
    (SYS_bind, sockets::bind),
    (SYS_listen, sockets::listen),
    (SYS_connect, sockets::connect),
    (SYS_accept, sockets::accept),
    (SYS_accept4, sockets::accept4),
    (SYS_shutdown, sockets::shutdown),
    (SYS_sendto, sockets::sendto),
    (SYS_recvfrom, sockets::recvfrom),
    (SYS_sendmsg, sockets::sendmsg),
    (SYS_recvmsg, sockets::recvmsg),
    (SYS_open, named_files::open),
    (SYS_openat, named_files::openat),
    (SYS_creat, named_files::creat),
    (SYS_rename, named_files::rename),
    (SYS_link, named_files::link),
    (SYS_symlink, named_files::symlink),
    (SYS_unlink, named_files::unlink),
    (SYS_rmdir, named_files::rmdir),
    (SYS_mkdir, named_files::mkdir),
    (SYS_access, named_files::access),
    (SYS_truncate, named_files::truncate),
    (SYS_ftruncate, named_files::ftruncate),
    (SYS_lseek, named_files::lseek),
    (SYS_pread64, named_files::pread64),
    (SYS_pwrite64, named_files::pwrite64),
    (SYS_renameat, named_files::renameat),
    (SYS_renameat2, named_files::renameat2),
    (SYS_linkat, named_files::linkat),
    (SYS_symlinkat, named_files::symlinkat),
    (SYS_unlinkat, named_files::unlinkat),
    (SYS_mkdirat, named_files::mkdirat),
    (SYS_exit_group, process::_exit),
    (SYS_fork, process::fork),
    (SYS_getpid, process::getpid),
    (SYS_getppid, process::getppid),
    (SYS_gettid, process::gettid),
    (SYS_kill, signals::kill),
    (SYS_pause, signals::pause),
    (SYS_sigaltstack, signals::sigaltstack),
    (SYS_sched_yield, thread::sched_yield),
    (SYS_nanosleep, time::nanosleep),
    (SYS_clock_gettime, time::clock_gettime),
    (SYS_gettimeofday, time::gettimeofday),
    (SYS_time, time::time),
    (SYS_getrandom, time::getrandom),
    (SYS_wait4, children::wait4),
    (SYS_alarm, timers::alarm),
    (SYS_setitimer, timers::setitimer),
    (SYS_getitimer, timers::getitimer),
    (SYS_timerfd_create, timer_files::timerfd_create),
    (SYS_timerfd_settime, timer_files::timerfd_settime),
    (SYS_timerfd_gettime, timer_files::timerfd_gettime),
    (SYS_mmap, memory::mmap),
    (SYS_munmap, memory::munmap),
    (SYS_mprotect, memory::mprotect),
];

/// What only tells something, or does what nothing here has to know of.
const HARMLESS: &[i64] = &[
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getgroups,
    SYS_getresuid,
    SYS_getresgid,
    SYS_getpgrp,
    SYS_getpgid,
    SYS_getsid,
    SYS_uname,
    SYS_getcwd,
    SYS_sysinfo,
    SYS_getrlimit,
    SYS_prlimit64,
    SYS_getrusage,
    SYS_getpriority,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_getcpu,
    SYS_membarrier,
    SYS_madvise,
    SYS_mlock,
    SYS_mlock2,
    SYS_munlock,
    SYS_mincore,
    SYS_msync,
    SYS_mbind,
    SYS_get_mempolicy,
    SYS_set_mempolicy,
    SYS_memfd_create,
    SYS_pipe,
    SYS_pipe2,
    SYS_eventfd,
    SYS_eventfd2,
    SYS_epoll_create,
    SYS_epoll_create1,
    SYS_inotify_init,
    SYS_inotify_init1,
    SYS_inotify_add_watch,
    SYS_socket,
    SYS_getsockopt,
    SYS_setsockopt,
    SYS_getsockname,
    SYS_getpeername,
    SYS_dup,
    SYS_fcntl,
    SYS_ioctl,
    SYS_fsync,
    SYS_fdatasync,
    SYS_fstat,
    SYS_stat,
    SYS_lstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_readlink,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_umask,
    SYS_prctl,
    SYS_arch_prctl,
    SYS_clock_getres,
];

macro_rules! names {
    ($($name:ident)*) => { &[ $( ($name, stringify!($name)) ),* ] };
}

/// The names of those that are refused and that somebody may call.
const NAMES: &[(i64, &str)] = names! {
    SYS_clone SYS_clone3 SYS_vfork SYS_execve SYS_execveat SYS_exit SYS_io_uring_setup SYS_io_uring_enter
    SYS_io_uring_register SYS_io_setup SYS_io_submit SYS_io_getevents SYS_tgkill SYS_tkill SYS_rt_sigaction SYS_rt_sigprocmask
    SYS_rt_sigtimedwait SYS_rt_sigsuspend SYS_rt_sigqueueinfo SYS_rt_tgsigqueueinfo SYS_signalfd SYS_signalfd4
    SYS_clock_nanosleep SYS_select SYS_pselect6 SYS_ppoll SYS_epoll_pwait SYS_epoll_pwait2 SYS_recvmmsg SYS_sendmmsg SYS_waitid
    SYS_futex_waitv SYS_set_robust_list SYS_mremap SYS_brk SYS_splice SYS_tee SYS_vmsplice SYS_sendfile SYS_copy_file_range
    SYS_semget SYS_semop SYS_semtimedop SYS_semctl SYS_msgget SYS_msgsnd SYS_msgrcv SYS_msgctl SYS_shmget SYS_shmat SYS_shmdt
    SYS_mq_open SYS_mq_timedsend SYS_mq_timedreceive SYS_mq_notify SYS_timer_create SYS_timer_settime SYS_timer_delete
    SYS_ptrace SYS_unshare SYS_setns SYS_userfaultfd SYS_process_vm_readv SYS_process_vm_writev SYS_pidfd_open
    SYS_pidfd_send_signal SYS_seccomp SYS_bpf SYS_perf_event_open SYS_rseq SYS_faccessat SYS_faccessat2 SYS_openat2
};

/// The function that does what is asked for; 0: the kernel does.
extern "C-unwind" fn function(number: i64, pc: usize) -> usize {
    if !in_program() || crate::image::is_own(pc) || HARMLESS.contains(&number) {
        return 0;
    }
    if let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == number) {
        return *function as usize;
    }
    match NAMES.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => crate::threads::not_supported(&format!("syscall({name}, ..)")),
        None => crate::threads::not_supported(&format!("syscall({number}, ..)")),
    }
}
