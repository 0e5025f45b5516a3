//! The end of the process, failed assertions, `fork`.

use super::entries;
use crate::control::{in_program, is_controlled, is_running, set_in_program};
use crate::op::{NUMBER, Op, PROCESS};
use crate::real::next;
use crate::rt::rt;
use crate::threads::{fabius_fails, fail, point, stop_here};
use fabius_native_protocol::Isolation;
use fabius_trace::BugKind;
use std::ffi::{CStr, c_char};

const FORKS: &str = "the program forks: what its children do is not explored";

/// What is to be done at the end, from before `main`.
pub static mut EARLY: Vec<(usize, usize)> = Vec::new();

entries! {
    exit: "rsi" => exit_entry;
    _exit: "rsi" => end_at_once;
    _Exit: "rsi" => end_at_once;
    quick_exit: "rsi" => end_at_once;
    abort: "rdi" => abort_here;
    __cxa_throw: "rcx" => throw_here;
    __assert_fail: "r8" => assert_fail;
    __assert_perror_fail: "r8" => assert_perror_fail;
    __cxa_atexit: "rcx" => cxa_atexit;
    on_exit: "rdx" => on_exit_here;
    at_quick_exit: "rsi" => at_quick_exit_here;
    fork: "rdi" => fork_here;
    getpid: "rdi" => getpid_here;
    getppid: "rdi" => getppid_here;
    gettid: "rdi" => gettid_here;
    dlopen: "rdx" => dlopen_here;
}

/// The process ends, with all that is to be done then.
pub fn exit_here(_: i32, pc: usize) -> ! {
    point(Op::new("exit", pc).on(PROCESS));
    let does_something = !rt().at_exit.is_empty();
    while let Some((function, argument)) = rt().at_exit.pop() {
        // SAFETY: the program gave the function for this.
        unsafe { std::mem::transmute::<usize, extern "C-unwind" fn(usize, i32)>(function)(argument, 0) };
    }
    if does_something && rt().threads.len() > 1 {
        // Others may still go on when that was done.
        point(Op::new("_exit", pc).on(PROCESS));
    }
    over()
}

/// The process has ended.
fn over() -> ! {
    if rt().shows_output {
        // SAFETY: writes out what is buffered.
        unsafe { libc::fflush(std::ptr::null_mut()) };
    }
    let (blocks, bytes) = crate::heap::left(&super::library::buffers());
    if rt().settings.leaks && blocks > 0 {
        let s = if blocks == 1 { "" } else { "s" };
        fail(BugKind::Leak, format!("{blocks} block{s} of {bytes} bytes left at the end"), 0);
    }
    rt().over = true;
    stop_here()
}

extern "C-unwind" fn exit_entry(code: i32, pc: usize) {
    if !in_program() {
        if is_controlled() && !is_running() {
            crate::say::fatal(&[b"the program ends before `main` begins"]);
        }
        // SAFETY: as the program calls it.
        return unsafe { next!(fn exit(i32))(code) };
    }
    exit_here(code, pc)
}

extern "C-unwind" fn end_at_once(code: i32, pc: usize) {
    if !in_program() {
        // SAFETY: ends the process.
        unsafe { crate::kernel::syscall(libc::SYS_exit_group, code) };
        return;
    }
    point(Op::new("_exit", pc).on(PROCESS));
    rt().over = true;
    stop_here()
}

extern "C-unwind" fn abort_here(pc: usize) {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn abort())() };
    }
    match uncaught() {
        // The last one that was thrown: a place of the program, which the caller is not.
        Some(name) => fail(BugKind::Crash, format!("an exception of type {name} is not caught"), rt().me().thrown),
        None => fail(BugKind::Crash, "abort", pc),
    }
}

/// An exception is thrown: keeps where.
extern "C-unwind" fn throw_here(object: usize, kind: usize, destructor: usize, pc: usize) {
    if in_program() {
        rt().me().thrown = pc;
    }
    // SAFETY: as the compiler calls it; it does not come back.
    unsafe { next!(fn __cxa_throw(usize, usize, usize))(object, kind, destructor) }
}

/// The type of the exception under way, as the compiler writes it.
fn uncaught() -> Option<String> {
    // SAFETY: looks a function up, which needs no C++ in the program.
    unsafe {
        let function = libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_current_exception_type".as_ptr());
        if function.is_null() {
            return None;
        }
        let current = std::mem::transmute::<*mut libc::c_void, extern "C" fn() -> *const *const c_char>(function)();
        if current.is_null() {
            return None;
        }
        let name = CStr::from_ptr(*current.add(1)).to_string_lossy().into_owned();
        Some(name)
    }
}

fn text(text: *const c_char) -> String {
    if text.is_null() {
        return "?".into();
    }
    // SAFETY: the compiler gives strings.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

extern "C-unwind" fn assert_fail(
    what: *const c_char,
    file: *const c_char,
    line: u32,
    function: *const c_char,
    pc: usize,
) {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn __assert_fail(*const c_char, *const c_char, u32, *const c_char))(what, file, line, function)
        };
    }
    failed(format!("assert({}) fails", text(what)), text(file), line, pc)
}

extern "C-unwind" fn assert_perror_fail(
    error: i32,
    file: *const c_char,
    line: u32,
    function: *const c_char,
    pc: usize,
) {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn __assert_perror_fail(i32, *const c_char, u32, *const c_char))(error, file, line, function)
        };
    }
    failed(format!("assert_perror({error}) fails"), text(file), line, pc)
}

fn failed(message: String, file: String, line: u32, pc: usize) -> ! {
    let at = rt().calls(pc);
    let line = Some((file, line));
    rt().failure = Some(crate::rt::Failure { kind: BugKind::Assertion, message, at, line });
    fabius_fails();
    stop_here()
}

extern "C-unwind" fn cxa_atexit(function: usize, argument: usize, library: usize, _: usize) -> i32 {
    if in_program() {
        rt().at_exit.push((function, argument));
    } else if is_controlled() && !is_running() {
        let early = &raw mut EARLY;
        // SAFETY: before `main` one thread does this.
        unsafe { (*early).push((function, argument)) };
    } else {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn __cxa_atexit(usize, usize, usize) -> i32)(function, argument, library) };
    }
    0
}

extern "C-unwind" fn on_exit_here(_: usize, _: usize, _: usize) -> i32 {
    refuse("on_exit");
    0
}

extern "C-unwind" fn at_quick_exit_here(_: usize, _: usize) -> i32 {
    refuse("at_quick_exit");
    0
}

extern "C-unwind" fn fork_here(pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn fork() -> i32)() };
    }
    if rt().queues.are_some() || rt().semaphores.are_some() {
        crate::threads::not_supported("`fork` beside message queues or semaphores of System V");
    }
    point(Op::new("fork", pc).on(PROCESS));
    // The C library blocks all signals while it makes a process.
    crate::watched::end();
    // SAFETY: as the program calls it.
    let child = unsafe { next!(fn fork() -> i32)() };
    if child == 0 {
        // The child goes on by itself, with the one thread that it has.
        set_in_program(false);
    } else {
        rt().children.extend((child > 0).then_some(child));
        rt().limits.insert(FORKS.into());
    }
    child
}

/// Ends an execution in which children of `fork` may use what is known here only.
pub fn refuses_children(what: &str) {
    if rt().limits.contains(FORKS) {
        crate::threads::not_supported(what);
    }
}

extern "C-unwind" fn getpid_here(_: usize) -> i32 {
    if in_program() { NUMBER } else { crate::stacks::process() as i32 }
}

extern "C-unwind" fn getppid_here(_: usize) -> i32 {
    if in_program() {
        return NUMBER - 1;
    }
    // SAFETY: asks the kernel.
    unsafe { crate::kernel::syscall(libc::SYS_getppid) as i32 }
}

extern "C-unwind" fn gettid_here(_: usize) -> i32 {
    if in_program() {
        return NUMBER + rt().current as i32;
    }
    // SAFETY: asks the kernel.
    unsafe { crate::kernel::syscall(libc::SYS_gettid) as i32 }
}

/// What a library that is loaded leaves in the linker is not undone by restoring memory.
extern "C-unwind" fn dlopen_here(file: *const c_char, flags: i32, _: usize) -> usize {
    if in_program() && rt().settings.isolation == Isolation::Memory && !file.is_null() {
        let name = text(file);
        let rt = rt();
        rt.not_restored = Some(format!("the program loads the library {name}"));
        rt.header.halt.store(true, std::sync::atomic::Ordering::Relaxed);
        crate::threads::give_up("a library is loaded");
    }
    let inside = in_program();
    // What the linker does is not the program's.
    set_in_program(false);
    // SAFETY: as the program calls it. The linker looks at who calls it only for names that are relative to that.
    let library = unsafe { next!(fn dlopen(*const c_char, i32) -> usize)(file, flags) };
    set_in_program(inside);
    library
}

/// What cannot be done under control.
fn refuse(name: &str) {
    if in_program() {
        crate::threads::not_supported(name);
    }
}
