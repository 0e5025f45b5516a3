//! Fibers: stacks with a block of thread-local storage each, between which the one real thread switches.
//!
//! Such a block is made by the dynamic linker, as for any thread; the C library's own part is a copy of the first thread's,
//! with its own identity. So `errno`, the exceptions under way of C++ and all `thread_local` are the fiber's own.

use crate::arena::{map_at, map_shared_at};
use crate::control::set_in_program;
use crate::real::next;
use crate::rooms::{BASE, MOST, STACK, STRIDE, stack_number};
use fabius_native_protocol::MOST_WORKERS;
use std::arch::global_asm;

/// So much is cleared beyond the deepest place that was seen of a stack that is not watched: the C library calls more deeply
/// between points.
const BEYOND: usize = 16 << 10;

/// What a fiber consists of. The first runs on the real thread's own storage.
#[derive(Clone)]
pub struct Fiber {
    /// The address of its thread control block: what `pthread_self` says.
    pub block: usize,
    /// First address above its stack.
    top: usize,
    /// Where it waits.
    pub at: usize,
    /// The lowest place of the stack that was seen in use.
    pub lowest: usize,
    is_first: bool,
}

/// What is the same for all fibers.
pub struct Shape {
    /// Bytes of thread-local storage below the block, with room for libraries that are loaded later.
    below: usize,
    /// Those of them that are in use.
    used: usize,
    /// Bytes of the block itself.
    block: usize,
    /// What both look like in a new thread.
    fresh: Vec<u8>,
    /// The real thread's block.
    pub first: usize,
}

/// Where the explorer waits while the program runs, and its block.
static mut EXPLORER: (usize, usize) = (0, 0);

global_asm!(
    // The first function of every fiber. What ends a thread from inside (`pthread_exit`) unwinds to here.
    ".global fabius_fiber_entry",
    ".type fabius_fiber_entry,@function",
    "fabius_fiber_entry:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    // What is left in registers must not differ between executions.
    "xor ebp, ebp",
    "xor ebx, ebx",
    "xor r12d, r12d",
    "xor r13d, r13d",
    "xor r14d, r14d",
    "xor r15d, r15d",
    "sub rsp, 288",
    "mov rdi, rsp",
    "xor esi, esi",
    "call __sigsetjmp@PLT",
    "test eax, eax",
    "jne 5f",
    "mov rdi, rsp",
    "call __pthread_register_cancel@PLT",
    "lea rdi, [rsp + 256]",
    "call fabius_thread_begin",
    "mov rax, [rsp + 256]",
    "mov rdi, [rsp + 264]",
    "mov rsi, [rsp + 272]",
    "mov rdx, [rsp + 280]",
    "call rax",
    "mov rdi, rax",
    "call fabius_thread_returned",
    "5:",
    "call fabius_thread_end",
    "ud2",
    ".cfi_endproc",
);

/// Goes on on another stack with another block; comes back when somebody goes on on this one. A jump and no return: the
/// processor guesses where it leads, and would guess wrong of a return to where nobody was called from.
macro_rules! switch {
    ($save:expr, $to:expr, $block:expr) => {
        std::arch::asm!(
            "push rbp",
            "push rbx",
            "lea rax, [rip + 5f]",
            "push rax",
            "push 0",
            "stmxcsr [rsp]",
            "fnstcw [rsp + 4]",
            "mov r8d, [rsp]",
            "movzx r9d, word ptr [rsp + 4]",
            "mov [rdi], rsp",
            "mov rsp, rsi",
            "cmp byte ptr [rip + {has_wrfsbase}], 0",
            "je 3f",
            "wrfsbase rdx",
            "jmp 4f",
            "3:",
            "mov eax, 158",
            "mov edi, 0x1002",
            "mov rsi, rdx",
            "syscall",
            "4:",
            "cmp r8d, [rsp]",
            "je 6f",
            "ldmxcsr [rsp]",
            "6:",
            "cmp r9w, [rsp + 4]",
            "je 7f",
            "fldcw [rsp + 4]",
            "7:",
            "add rsp, 8",
            "pop rax",
            "jmp rax",
            "5:",
            "pop rbx",
            "pop rbp",
            has_wrfsbase = sym HAS_WRFSBASE,
            inout("rdi") $save => _,
            inout("rsi") $to => _,
            inout("rdx") $block => _,
            out("r12") _, out("r13") _, out("r14") _, out("r15") _,
            clobber_abi("C"),
        )
    };
}

static mut HAS_WRFSBASE: u8 = 0;

unsafe extern "C-unwind" {
    fn fabius_fiber_entry();
}

/// The address of the storage of the thread that runs.
pub fn thread_pointer() -> usize {
    let block: usize;
    // SAFETY: the block's first word is its own address.
    unsafe { std::arch::asm!("mov {}, fs:[0]", out(reg) block, options(nostack, pure, readonly)) };
    block
}

fn set_thread_pointer(block: usize) {
    // SAFETY: a valid block; what the compiler has read through the register is the same in both.
    unsafe {
        crate::kernel::syscall(libc::SYS_arch_prctl, 0x1002, block);
        EXPLORER.1 = block;
    }
}

impl Shape {
    /// Learns what storage of threads looks like, and moves the explorer, which calls this on the real thread, to a block of
    /// its own.
    pub fn learn() -> Shape {
        // SAFETY: reads what the kernel says of the processor.
        unsafe { HAS_WRFSBASE = u8::from(libc::getauxval(26) & 2 != 0) };
        let (mut size, mut align) = (0usize, 0usize);
        // SAFETY: writes two numbers.
        unsafe { next!(fn _dl_get_tls_static_info(*mut usize, *mut usize))(&mut size, &mut align) };
        // SAFETY: a constant of the C library for debuggers.
        let block = unsafe { *(crate::real::next_address(c"_thread_db_sizeof_pthread") as *const u32) } as usize;
        let first = thread_pointer();
        let below = size - block;
        let used = used(first - below..first);
        let mut shape = Shape { below, used, block, fresh: Vec::new(), first };
        let mine = shape.make_block(MOST, map_shared_at);
        // SAFETY: what was just made.
        shape.fresh = unsafe { std::slice::from_raw_parts((mine - used) as *const u8, used + block).to_vec() };
        set_thread_pointer(mine);
        shape
    }

    /// The bytes of thread-local storage of a block.
    pub fn storage(&self, block: usize) -> std::ops::Range<usize> {
        block - self.used..block
    }

    /// What is there in a new thread.
    pub fn fresh_storage(&self) -> &[u8] {
        &self.fresh[..self.used]
    }

    fn room(&self) -> usize {
        (self.below + self.block + 8192).next_multiple_of(4096)
    }

    fn make_block(&self, number: usize, map: fn(usize, usize) -> Option<usize>) -> usize {
        let room = self.room();
        let at = BASE + number * STRIDE + 4096 + STACK;
        if map(at, room).is_none() {
            crate::say::fatal(&[b"no memory for thread-local storage"]);
        }
        let block = (at + room - self.block) & !63;
        // SAFETY: there is room for the storage below and the block above; the C library's part is copied.
        unsafe {
            std::ptr::copy_nonoverlapping(self.first as *const u8, block as *mut u8, self.block);
            next!(fn _dl_allocate_tls(*mut u8) -> *mut u8)(block as *mut u8);
            *(block as *mut usize) = block;
            *((block + 16) as *mut usize) = block;
        }
        block
    }
}

/// How many bytes at the end of the storage of this thread are of the program and its libraries.
fn used(storage: std::ops::Range<usize>) -> usize {
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, data: *mut std::ffi::c_void) -> i32 {
        // SAFETY: the linker gives a valid description; the other pointer is ours.
        let (at, (storage, lowest)) =
            unsafe { ((*info).dlpi_tls_data as usize, &mut *data.cast::<(std::ops::Range<usize>, usize)>()) };
        if storage.contains(&at) {
            *lowest = (*lowest).min(at);
        }
        0
    }
    let mut data = (storage.clone(), storage.end);
    // SAFETY: the callback is called with the pointer that is given.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut data).cast()) };
    (storage.end - data.1).next_multiple_of(64).min(storage.len())
}

/// The explorer's stack, which all processes share that explore one after the other; the address above it.
pub fn explorer_stack() -> usize {
    let bottom = BASE + MOST * STRIDE + 4096;
    if map_shared_at(bottom, STACK).is_none() {
        crate::say::fatal(&[b"no memory for the explorer's stack"]);
    }
    bottom + STACK
}

/// Memory for the stack on which this process handles signals.
pub fn signal_stack(bytes: usize) -> Option<usize> {
    map_at(BASE + (MOST + MOST_WORKERS + crate::arena::worker()) * STRIDE, bytes)
}

/// A stack and thread-local storage for an explorer in a process of its own.
pub struct Berth {
    /// First address above the stack.
    pub top: usize,
    block: usize,
    room: usize,
}

impl Berth {
    /// That of the worker with this number.
    pub fn new(shape: &Shape, number: usize) -> Berth {
        let bottom = BASE + (MOST + number) * STRIDE + 4096;
        if map_at(bottom, STACK).is_none() {
            crate::say::fatal(&[b"no memory for a worker's stack"]);
        }
        Berth { top: bottom + STACK, block: shape.make_block(MOST + number, map_at), room: shape.room() }
    }

    /// From here on the storage is that of this process.
    pub fn enter(&self) {
        set_thread_pointer(self.block);
    }

    /// Gives the memory back.
    pub fn leave(self) {
        // SAFETY: nobody uses it any more.
        unsafe { crate::kernel::syscall(libc::SYS_munmap, self.top - STACK, STACK + self.room) };
    }
}

impl Fiber {
    /// Memory for the fiber with this number; number 0 uses the real thread's storage.
    pub fn new(shape: &Shape, number: usize) -> Option<Fiber> {
        let stack = stack_number(number);
        let bottom = stack.start;
        map_at(bottom, STACK)?;
        crate::watched::protect_stack(number, stack);
        let is_first = number == 0;
        let block = if is_first { shape.first } else { shape.make_block(number, map_at) };
        Some(Fiber { block, top: bottom + STACK, at: 0, lowest: bottom + STACK, is_first })
    }

    /// Makes it as if it had never run.
    pub fn reset(&mut self, shape: &Shape) {
        let bottom = self.top - STACK;
        let from = crate::watched::lowest((bottom - BASE) / STRIDE)
            .unwrap_or_else(|| self.lowest.min(self.at.max(bottom)).saturating_sub(BEYOND).max(bottom));
        // SAFETY: the stack is the fiber's, which does not run.
        unsafe {
            if self.top - from > 256 << 10 {
                crate::kernel::syscall(libc::SYS_madvise, bottom, STACK, libc::MADV_DONTNEED);
            } else {
                std::ptr::write_bytes(from as *mut u8, 0, self.top - from);
            }
        }
        self.lowest = self.top;
        if !self.is_first {
            let dtv = (self.block + 8) as *mut usize;
            // SAFETY: the block has this size; all words that are a block's own are put back.
            unsafe {
                let own = *dtv;
                let start = (self.block - shape.used) as *mut u8;
                std::ptr::copy_nonoverlapping(shape.fresh.as_ptr(), start, shape.fresh.len());
                *(self.block as *mut usize) = self.block;
                *dtv = own;
                *((self.block + 16) as *mut usize) = self.block;
            }
        }
        // What a switch takes from the stack: control words, and where to go on.
        let at = self.top - 192;
        // SAFETY: on the fiber's stack.
        unsafe {
            let words = at as *mut usize;
            *words = 0x0000_037f_0000_1f80;
            *words.add(1) = fabius_fiber_entry as *const () as usize;
        }
        self.at = at;
    }

    /// Lets the fiber run until it leaves.
    #[inline(always)]
    pub fn enter(&mut self) {
        set_in_program(true);
        // SAFETY: the fiber waits where it left, or at its beginning.
        unsafe { switch!(&raw mut EXPLORER.0, self.at, self.block) };
        set_in_program(false);
    }

    /// Gives control to the explorer. Called on the fiber itself.
    #[inline(always)]
    pub fn leave(&mut self) {
        // SAFETY: the explorer waits in `enter`.
        unsafe { switch!(&raw mut self.at, EXPLORER.0, EXPLORER.1) };
        set_in_program(true);
    }

    /// Where it waits, and its block.
    #[inline(always)]
    pub fn waits(&self) -> (usize, usize) {
        (self.at, self.block)
    }

    /// Lets another fiber, which waits there with this block, go on; comes back when somebody goes on on this one. Called on the
    /// fiber itself.
    #[inline(always)]
    pub fn hand_on(&mut self, at: usize, block: usize) {
        // SAFETY: the other fiber waits where it left, or at its beginning.
        unsafe { switch!(&raw mut self.at, at, block) };
    }

    /// What is in use of the stack of a fiber that waits: all that ever was, if it waits on a stack of the program's own.
    pub fn in_use(&self) -> std::ops::Range<usize> {
        if self.holds(self.at) { self.at..self.top } else { self.lowest..self.top }
    }

    /// Its stack.
    pub fn stack(&self) -> std::ops::Range<usize> {
        self.top - STACK..self.top
    }

    /// Whether an address is of its stack.
    pub fn holds(&self, address: usize) -> bool {
        self.stack().contains(&address)
    }

    /// Whether an address is in the page below the stack or not far below that.
    pub fn is_below(&self, address: usize) -> bool {
        let bottom = self.top - STACK;
        (bottom - 4096..bottom).contains(&address)
    }
}
