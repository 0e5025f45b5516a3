//! The functions that the program calls and that are ours: the compiler's instrumentation, threads, locks, time, memory,
//! and the end of the process. A file for each family.
//!
//! An entry keeps the registers in which the program left its state, adds the place of the call as a last argument, and goes
//! on to a function of the same name. Outside of the program (before `main`, in the explorer, without control, in a child of
//! `fork`) everything goes to where it would without us.

pub mod annotations;
pub mod atomics;
pub mod barrier;
pub mod c11;
pub mod cancel;
pub mod cancelled_waits;
pub mod children;
pub mod cond;
pub mod containers;
pub mod exceptions;
pub mod files;
pub mod fortified;
pub mod futex;
pub mod keys;
pub mod library;
pub mod memory;
pub mod mutex;
pub mod named_files;
pub mod once;
pub mod polls;
pub mod process;
pub mod queues;
pub mod results;
pub mod rwlock;
pub mod semaphore;
pub mod semaphore_sets;
pub mod signals;
pub mod sockets;
pub mod streams;
pub mod strings;
pub mod syscalls;
pub mod text;
pub mod thread;
pub mod time;
pub mod timer_files;
pub mod timers;
pub mod tsan;
pub mod unsupported;
pub mod wide;

/// Leaves the registers in which the program has its state where `place.rs` finds them: instructions with `registers` in braces.
macro_rules! keep_registers {
    () => {
        "mov [rip + {registers}], rsp
        mov [rip + {registers} + 8], rbx
        mov [rip + {registers} + 16], rbp
        mov [rip + {registers} + 24], r12
        mov [rip + {registers} + 32], r13
        mov [rip + {registers} + 40], r14
        mov [rip + {registers} + 48], r15"
    };
}
pub(crate) use keep_registers;

/// A function that the program calls: keeps its registers, does these instructions, and goes on to what handles it.
macro_rules! entry {
    ($name:ident: [$($instruction:expr),*] => $target:path) => {
        #[doc = concat!("`", stringify!($name), "`, as the program calls it.")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            std::arch::naked_asm!(
                $crate::hooks::keep_registers!(),
                $($instruction,)*
                "jmp {target}",
                registers = sym $crate::place::REGISTERS,
                target = sym $target,
            )
        }
    };
}
pub(crate) use entry;

/// Entries: the name of the function, the register of its last argument and one more, and what handles it.
macro_rules! entries {
    ($($name:ident: $register:literal => $target:path;)*) => {
        $( $crate::hooks::entry! { $name: [concat!("mov ", $register, ", [rsp]")] => $target } )*
    };
}
pub(crate) use entries;
