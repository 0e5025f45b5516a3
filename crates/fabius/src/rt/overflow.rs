//! A stack that overflows is a failure of the test, with the name of the thread.
//!
//! Below each stack lies a page that nobody may touch. The handler of the signal that comes of touching it runs on a stack
//! of its own, sees that the page is that of the fiber which runs, and has the fiber go on in [`report`], at the beginning
//! of its stack: what was on it is leaked, and the execution has failed and is not continued.
//!
//! That is sound where the thread can as well be imagined as standing still for ever: in code of the test. In the middle
//! of a function of std, of this crate or of C, which might hold what others need (the lock of an allocator), and while a
//! panic unwinds the stack, the process ends with a message instead.

use super::fiber::{self, Bounds};
use super::places::{self, Owner};
use fabius_trace::BugKind;
use libc::{c_int, c_void, siginfo_t};
use std::cell::UnsafeCell;
use std::mem::{MaybeUninit, zeroed};
use std::ptr;
use std::sync::Once;

/// What was done with the signal before.
struct Before(UnsafeCell<MaybeUninit<libc::sigaction>>);

// SAFETY: it is written once, before the handler that reads it is installed.
unsafe impl Sync for Before {}

static BEFORE: Before = Before(UnsafeCell::new(MaybeUninit::uninit()));

/// Stacks that overflow are recognized from now on.
pub(super) fn recognize() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler does only what a handler may; see there.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigaction(libc::SIGSEGV, ptr::null(), (*BEFORE.0.get()).as_mut_ptr());
            libc::sigaction(libc::SIGSEGV, &action, ptr::null_mut());
        }
    });
}

/// The stack that handlers of an operating system thread run on: std gives one to each of its threads.
pub(super) struct HandlerStack(*mut c_void);

const HANDLER_STACK: usize = 64 << 10;

impl HandlerStack {
    /// One for the current operating system thread, if it has none.
    pub fn needed() -> Option<HandlerStack> {
        // SAFETY: plain calls; the memory is given back when nobody runs on it any more.
        unsafe {
            let mut now: libc::stack_t = zeroed();
            if libc::sigaltstack(ptr::null(), &mut now) != 0 || now.ss_flags & libc::SS_DISABLE == 0 {
                return None;
            }
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let memory = libc::mmap(ptr::null_mut(), HANDLER_STACK, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            if memory == libc::MAP_FAILED {
                return None;
            }
            let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: HANDLER_STACK };
            libc::sigaltstack(&stack, ptr::null_mut());
            Some(HandlerStack(memory))
        }
    }
}

impl Drop for HandlerStack {
    fn drop(&mut self) {
        // SAFETY: it is that of the current thread, which runs no handler.
        unsafe {
            let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
            libc::sigaltstack(&none, ptr::null_mut());
            libc::munmap(self.0, HANDLER_STACK);
        }
    }
}

/// The address that a signal has interrupted.
pub(super) fn interrupted(context: *const c_void) -> usize {
    // SAFETY: the kernel hands it to the handler.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    #[cfg(target_arch = "x86_64")]
    return context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
    #[cfg(target_arch = "aarch64")]
    return context.uc_mcontext.pc as usize;
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return {
        let _ = context;
        0
    };
}

unsafe extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel hands out valid pointers. What is read is that of the thread that was interrupted, which runs in
    // the fiber and not in here.
    unsafe {
        if super::trial::has_probed(context) {
            return;
        }
        let address = (*info).si_addr() as usize;
        let running = fiber::running().filter(|bounds| bounds.guard().contains(&address));
        let Some(bounds) = running else {
            // Not ours: as if there were no handler, the instruction is run again.
            libc::sigaction(signal, (*BEFORE.0.get()).as_ptr(), ptr::null_mut());
            return;
        };
        let at = interrupted(context);
        if !is_of_this_program(at) || !leave(&bounds, at, context) {
            let text = "fabius: a thread of a check has overflowed its stack in a function of a library, which is not known to \
                        be sound to leave; the process ends. `fabius::thread::Builder::stack_size` gives more, or \
                        RUST_MIN_STACK to all\n";
            libc::write(2, text.as_ptr().cast(), text.len());
            libc::abort();
        }
    }
}

/// Whether an address belongs to the same program or library as this function: not to C's library.
fn is_of_this_program(address: usize) -> bool {
    let base = |address: *const c_void| {
        // SAFETY: it only looks.
        unsafe {
            let mut info: libc::Dl_info = zeroed();
            (libc::dladdr(address, &mut info) != 0).then_some(info.dli_fbase)
        }
    };
    base(address as *const c_void).is_some_and(|b| Some(b) == base(is_of_this_program as *const c_void))
}

/// The fiber goes on with [`report`] when the handler returns. Says whether that is possible on this machine.
unsafe fn leave(bounds: &Bounds, at: usize, context: *mut c_void) -> bool {
    // SAFETY: the stack pointer was in the fiber, and the registers are set as asked for.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    unsafe {
        let stack = bounds.size;
        let registers = bounds.trap.setup_trap_handler(move || report(at, stack));
        let context = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext;
        #[cfg(target_arch = "x86_64")]
        {
            let corosensei::trap::TrapHandlerRegs { rip, rsp, rbp, rdi, rsi } = registers;
            let set = [(libc::REG_RIP, rip), (libc::REG_RSP, rsp), (libc::REG_RBP, rbp), (libc::REG_RDI, rdi)];
            for (register, value) in set.into_iter().chain([(libc::REG_RSI, rsi)]) {
                context.gregs[register as usize] = value as i64;
            }
        }
        #[cfg(target_arch = "aarch64")]
        {
            let corosensei::trap::TrapHandlerRegs { pc, sp, x0, x1, x29, lr } = registers;
            (context.pc, context.sp) = (pc, sp);
            (context.regs[0], context.regs[1], context.regs[29], context.regs[30]) = (x0, x1, x29, lr);
        }
        true
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = (bounds, at, context);
        false
    }
}

/// Runs on the stack that has overflowed, from its beginning.
fn report(at: usize, stack: usize) {
    // The instruction itself, not the one before.
    let frames = places::frames_at(at + 1);
    let is_tests = !frames.is_empty() && frames.iter().all(|f| f.owner() != Owner::Library);
    let place = places::place_of(&frames);
    let inside = place.as_ref().map_or(String::new(), |(file, line, _)| format!(", at {file}:{line}"));
    let reported = super::with(|rt| {
        let message = format!(
            "stack overflow: {} needs more than its {stack} bytes of stack{inside}; `fabius::thread::Builder::stack_size` \
             gives it more, and RUST_MIN_STACK gives more to all",
            rt.name_of(rt.current)
        );
        if is_tests && !std::thread::panicking() {
            rt.fail_at(BugKind::Panic, message, place);
            None
        } else {
            Some(message)
        }
    });
    if let Some(message) = reported.flatten() {
        eprintln!(
            "fabius: {message}. It happened inside of a library, which is not known to be sound to leave: the process ends"
        );
        std::process::abort();
    }
}
