//! Memory of the explorer's own, apart from what the program sees: never the interposed `malloc`, and at addresses that
//! restoring the program leaves alone. It is shared with the processes that come from this one: those that explore beside it
//! (`crew.rs`), and the next one where each execution has its own (`isolate.rs`).

use fabius_native_protocol::MOST_WORKERS;
use std::alloc::{GlobalAlloc, Layout};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Where everything of ours is in memory; see `image.rs`.
pub const OURS: std::ops::Range<usize> = 0x6000_0000_0000..0x6800_0000_0000;

/// Where the allocator's memory begins: lists for each worker, and then the memory of each.
const BASE: usize = OURS.start;

/// Bytes of the lists.
const LISTS: usize = 64 << 10;

/// How large it may be: as much as can be had of these. It takes room when it is used.
const SIZES: [usize; 3] = [1 << 40, 1 << 36, 1 << 32];

/// How large it is; 0 before it is there.
static SIZE: AtomicUsize = AtomicUsize::new(0);

/// Which worker this process is.
static WORKER: AtomicUsize = AtomicUsize::new(0);

/// Blocks of powers of two, given back to lists by size. All processes that explore share the memory; each takes from a part
/// of its own, and gives back to lists of its own.
pub struct Arena;

struct Blocks {
    free: [*mut u8; 48],
    /// Where what was never used begins, and where it ends; 0 before the first use.
    next: usize,
    end: usize,
}

/// This process is that worker from now on.
pub fn set_worker(number: usize) {
    WORKER.store(number, Relaxed);
}

/// Which worker this process is.
pub fn worker() -> usize {
    WORKER.load(Relaxed)
}

fn class_of(layout: Layout) -> usize {
    layout.size().max(layout.align()).max(16).next_power_of_two().trailing_zeros() as usize
}

/// The part of a worker: the first has half of everything.
fn part(worker: usize, size: usize) -> (usize, usize) {
    let share = size / 2 / MOST_WORKERS;
    match worker {
        0 => (BASE + LISTS, BASE + size / 2),
        _ => (BASE + size / 2 + (worker - 1) * share, BASE + size / 2 + worker * share),
    }
}

#[cold]
fn map() -> usize {
    let size = SIZES.into_iter().find(|size| map_shared_at(BASE, *size).is_some());
    let Some(size) = size else { crate::say::fatal(&[b"no memory for the explorer"]) };
    SIZE.store(size, Relaxed);
    size
}

/// The lists of this process.
fn blocks() -> &'static mut Blocks {
    let size = match SIZE.load(Relaxed) {
        0 => map(),
        size => size,
    };
    let worker = worker();
    // SAFETY: the lists are mapped and zero at first; one thread of one process uses those of a worker.
    let blocks = unsafe { &mut *(BASE as *mut Blocks).add(worker) };
    if blocks.end == 0 {
        (blocks.next, blocks.end) = part(worker, size);
    }
    blocks
}

// SAFETY: blocks are as large and as aligned as their power of two, and handed out once. One thread of a process allocates:
// what runs on the program's other threads, before `main` or without control, never does.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let class = class_of(layout);
        let blocks = blocks();
        // SAFETY: a free block holds the address of the next.
        unsafe {
            let head = blocks.free[class];
            if !head.is_null() {
                blocks.free[class] = *head.cast::<*mut u8>();
                return head;
            }
            let size = 1usize << class;
            let at = blocks.next.next_multiple_of(size.min(4096));
            if at + size > blocks.end {
                return null_mut();
            }
            blocks.next = at + size;
            at as *mut u8
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let class = class_of(layout);
        let blocks = blocks();
        // SAFETY: the block is nobody's any more.
        unsafe {
            *block.cast::<*mut u8>() = blocks.free[class];
            blocks.free[class] = block;
        }
    }
}

/// Fresh memory at an address; it takes room when it is used.
pub fn map_at(at: usize, bytes: usize) -> Option<usize> {
    map_as(at, bytes, libc::MAP_PRIVATE)
}

/// The same, for all processes that come from this one.
pub fn map_shared_at(at: usize, bytes: usize) -> Option<usize> {
    map_as(at, bytes, libc::MAP_SHARED)
}

fn map_as(at: usize, bytes: usize, kind: i32) -> Option<usize> {
    let flags = kind | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: a fresh mapping that replaces none; the call goes to the kernel, not to what the program calls.
    let got = unsafe {
        crate::kernel::syscall(libc::SYS_mmap, at, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0usize)
    };
    (got as usize == at).then_some(at)
}
