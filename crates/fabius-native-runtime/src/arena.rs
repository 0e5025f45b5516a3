//! Memory of the explorer's own, apart from what the program sees: never the interposed `malloc`, and at addresses that
//! restoring the program leaves alone.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::ptr::null_mut;

/// Where everything of ours is in memory; see `image.rs`.
pub const OURS: std::ops::Range<usize> = 0x6000_0000_0000..0x6800_0000_0000;

/// Where the allocator's memory begins.
const BASE: usize = OURS.start;

/// The most that it can grow to.
const LIMIT: usize = 1 << 38;

/// How much is asked of the system at once.
const CHUNK: usize = 16 << 20;

/// Blocks of powers of two, given back to lists by size. Only the thread that explores allocates.
pub struct Arena(UnsafeCell<Blocks>);

struct Blocks {
    free: [*mut u8; 48],
    next: usize,
    mapped: usize,
}

// SAFETY: one thread allocates: what runs on the program's other threads, before `main` or without control, never does.
unsafe impl Sync for Arena {}

impl Arena {
    /// Without any memory yet.
    pub const fn new() -> Arena {
        Arena(UnsafeCell::new(Blocks { free: [null_mut(); 48], next: BASE, mapped: BASE }))
    }
}

fn class_of(layout: Layout) -> usize {
    layout.size().max(layout.align()).max(16).next_power_of_two().trailing_zeros() as usize
}

// SAFETY: blocks are as large and as aligned as their power of two, and handed out once.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let class = class_of(layout);
        // SAFETY: nobody else uses the lists, see above; a free block holds the address of the next.
        unsafe {
            let blocks = &mut *self.0.get();
            let head = blocks.free[class];
            if !head.is_null() {
                blocks.free[class] = *head.cast::<*mut u8>();
                return head;
            }
            let size = 1usize << class;
            let at = blocks.next.next_multiple_of(size.min(4096));
            let end = at + size;
            if end > BASE + LIMIT {
                return null_mut();
            }
            while end > blocks.mapped {
                let bytes = (end - blocks.mapped).next_multiple_of(CHUNK);
                if map_at(blocks.mapped, bytes).is_none() {
                    return null_mut();
                }
                blocks.mapped += bytes;
            }
            blocks.next = end;
            at as *mut u8
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let class = class_of(layout);
        // SAFETY: as above.
        unsafe {
            let blocks = &mut *self.0.get();
            *block.cast::<*mut u8>() = blocks.free[class];
            blocks.free[class] = block;
        }
    }
}

/// Fresh memory at an address; it takes room when it is used.
pub fn map_at(at: usize, bytes: usize) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: a fresh mapping that replaces none; the call goes to the kernel, not to what the program calls.
    let got =
        unsafe { libc::syscall(libc::SYS_mmap, at, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0usize) };
    (got as usize == at).then_some(at)
}
