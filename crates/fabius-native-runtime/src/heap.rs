//! The program's heap. Each thread has a region of its own, so that an address depends on what the thread has done alone. No
//! address is used twice in an execution, and every 16 bytes have a state, so that a use of what was freed is seen.

use crate::arena::{OURS, map_at};
use crate::control::{in_program, is_running};
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the first thread's region begins: low, for programs that keep addresses in 32 bits.
const LOW: usize = 0x2000_0000;

/// Where the other regions begin, and how large they are.
const HIGH: usize = 1 << 32;
const REGION: usize = 1 << 32;

/// How many regions there are besides the first one; threads beyond share them.
const REGIONS: usize = 63;

/// The region of what is allocated for the explorer by the C library: it is never restored.
const HOST: usize = REGIONS + 1;

/// Where the states are of the heap's 16 bytes.
const STATES: usize = OURS.start + (2 << 40);

/// Bytes before every block: its size and where it begins.
const HEADER: usize = 16;

/// What fresh memory holds, and what was freed.
const FRESH: u8 = 0xbe;
const FREED: u8 = 0xdf;

const NONE: u8 = 0;
const LIVE: u8 = 1;
const GONE: u8 = 2;
/// So many of the first bytes are in use: 0 to 15 more than this.
const PART: u8 = 16;

fn is_live(state: u8) -> bool {
    state == LIVE || state >= PART
}

/// Bytes of 16 that are in use.
fn bytes_of(state: u8) -> usize {
    if state == LIVE { 16 } else { state.saturating_sub(PART) as usize }
}

#[derive(Clone, Copy)]
struct Region {
    next: usize,
    /// What is behind this is given back before the next execution.
    kept: usize,
}

struct Heap {
    regions: [Region; HOST + 1],
    lock: AtomicBool,
    /// Bytes taken since the program began, and how many may be.
    used: usize,
    most: usize,
}

static mut HEAP: Heap =
    Heap { regions: [Region { next: 0, kept: 0 }; HOST + 1], lock: AtomicBool::new(false), used: 0, most: usize::MAX };

fn heap() -> &'static mut Heap {
    let heap = &raw mut HEAP;
    // SAFETY: before `main` the lock is held around every use; afterwards there is one thread.
    unsafe { &mut *heap }
}

fn begins(region: usize) -> usize {
    if region == 0 { LOW } else { HIGH + (region - 1) * REGION }
}

fn ends(region: usize) -> usize {
    if region == 0 { HIGH - (16 << 20) } else { begins(region) + REGION }
}

/// Whether an address is of the program's heap.
#[inline(always)]
pub fn contains(address: usize) -> bool {
    (LOW..HIGH + REGIONS * REGION).contains(&address)
}

fn is_ours(address: usize) -> bool {
    (LOW..HIGH + HOST * REGION).contains(&address)
}

#[inline(always)]
fn state_of(address: usize) -> *mut u8 {
    (STATES + (address >> 4)) as *mut u8
}

/// What is wrong with a use of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// It was freed.
    Freed,
    /// It is between blocks.
    Outside,
    /// It is not the beginning of a block.
    NoBlock,
}

/// Whether these bytes may be used.
#[inline(always)]
pub fn check(address: usize, size: usize) -> Option<Misuse> {
    // SAFETY: the states of addresses of the heap are mapped with it; see `map`.
    unsafe {
        let (first, last) = (*state_of(address), *state_of(address + size.max(1) - 1));
        match (first, last) {
            (LIVE, LIVE) => None,
            (GONE, _) | (_, GONE) => Some(Misuse::Freed),
            _ if is_live(first) && address % 16 + size <= bytes_of(first) => None,
            (LIVE, last) if is_live(last) && (address + size - 1) % 16 < bytes_of(last) => None,
            _ => Some(Misuse::Outside),
        }
    }
}

/// A lock for the time before `main`, when the program may have threads that nobody controls.
fn locked<R>(f: impl FnOnce(&mut Heap) -> R) -> R {
    let heap = heap();
    while heap.lock.swap(true, Ordering::Acquire) {
        std::hint::spin_loop();
    }
    let result = f(heap);
    heap.lock.store(false, Ordering::Release);
    result
}

fn map(region: usize) -> bool {
    let (begin, end) = (begins(region), ends(region));
    let states = (STATES + (begin >> 4), (end - begin) >> 4);
    map_at(begin, end - begin).is_some() && map_at(states.0, states.1).is_some()
}

/// A block for the thread, or null. Its bytes are not zero.
pub fn allocate(thread: usize, size: usize, align: usize, zero: bool) -> *mut u8 {
    let region = match () {
        () if in_program() => {
            if thread == 0 {
                0
            } else {
                (thread - 1) % REGIONS + 1
            }
        }
        () if is_running() => HOST,
        () => 0,
    };
    let at = locked(|heap| {
        if heap.regions[region].next == 0 {
            if !map(region) {
                return 0;
            }
            heap.regions[region] = Region { next: begins(region), kept: begins(region) };
        }
        let align = align.max(16);
        let next = heap.regions[region].next;
        let at = (next + HEADER).next_multiple_of(align);
        let Some(end) = at.checked_add(size).and_then(|end| end.checked_add(31)).map(|end| end & !15) else { return 0 };
        if end > ends(region) || region != HOST && heap.used + (end - next) > heap.most {
            return 0;
        }
        heap.used += end - next;
        heap.regions[region].next = end;
        at
    });
    if at == 0 {
        return std::ptr::null_mut();
    }
    // SAFETY: the block and its states are mapped and nobody else's.
    unsafe {
        *((at - HEADER) as *mut usize) = size;
        std::ptr::write_bytes(at as *mut u8, if zero { 0 } else { FRESH }, size);
        std::ptr::write_bytes(state_of(at), LIVE, size / 16);
        // Of no bytes none is in use, and the block is known all the same.
        if size == 0 || !size.is_multiple_of(16) {
            *state_of(at + size) = PART + (size % 16) as u8;
        }
    }
    at as *mut u8
}

/// The size of a block that may be used.
pub fn size_of(block: *mut u8) -> Result<usize, Misuse> {
    let at = block as usize;
    if !is_ours(at) || !at.is_multiple_of(16) {
        return Err(Misuse::NoBlock);
    }
    // SAFETY: a block of the heap has its size before it and a state.
    unsafe {
        match (*state_of(at), *state_of(at - 16)) {
            (GONE, _) => Err(Misuse::Freed),
            (state, NONE) if is_live(state) => Ok(*((at - HEADER) as *const usize)),
            _ => Err(Misuse::NoBlock),
        }
    }
}

/// The most of 16 bytes before an address that are looked at for the beginning of its block.
const FARTHEST: usize = 1 << 16;

/// The block that an address is in, which may have been freed: where it begins, and its size.
pub fn block(address: usize) -> Option<(usize, usize)> {
    if !contains(address) {
        return None;
    }
    let mut begin = address & !15;
    // SAFETY: states of the heap; the first 16 bytes of a region are a header.
    unsafe {
        if *state_of(begin) == NONE {
            return None;
        }
        for _ in 0..FARTHEST {
            if *state_of(begin - 16) == NONE {
                return Some((begin, *((begin - HEADER) as *const usize)));
            }
            begin -= 16;
        }
    }
    None
}

/// Gives a block back.
pub fn free(block: *mut u8) -> Result<(), Misuse> {
    let size = size_of(block)?;
    // SAFETY: a block of this size.
    unsafe {
        std::ptr::write_bytes(state_of(block as usize), GONE, size.max(1).div_ceil(16));
        std::ptr::write_bytes(block, FREED, size.min(4096));
    }
    Ok(())
}

/// What there is now is part of the program's beginning. Returns the bytes to restore.
pub fn keep(most: usize) -> Vec<std::ops::Range<usize>> {
    let heap = heap();
    heap.used = 0;
    heap.most = most;
    let mut kept = Vec::new();
    for (number, region) in heap.regions.iter_mut().enumerate().take(HOST) {
        region.kept = region.next;
        if region.next != 0 {
            kept.push(begins(number)..region.next);
            let states = state_of(begins(number)) as usize;
            kept.push(states..state_of(region.next) as usize + 1);
        }
    }
    kept
}

/// Gives back what was allocated since.
pub fn reset() {
    let heap = heap();
    heap.used = 0;
    for region in heap.regions.iter_mut().take(HOST).filter(|r| r.next > r.kept) {
        let bytes = region.next - region.kept;
        // SAFETY: what is behind `kept` belongs to an execution that is over.
        unsafe {
            if bytes > 1 << 20 {
                let page = region.kept.next_multiple_of(4096);
                crate::kernel::syscall(libc::SYS_madvise, page, region.next - page, libc::MADV_DONTNEED);
            }
            std::ptr::write_bytes(state_of(region.kept), NONE, (bytes >> 4) + 1);
        }
        region.next = region.kept;
    }
}

/// What was allocated since the beginning, for a number of the state: the rest is part of the image.
pub fn added() -> impl Iterator<Item = std::ops::Range<usize>> {
    heap().regions.iter().take(HOST).filter(|r| r.next > r.kept).map(|r| r.kept..r.next)
}

/// What is in use.
pub fn in_use() -> impl Iterator<Item = std::ops::Range<usize>> {
    let regions = &heap().regions;
    (0..HOST).filter(|r| regions[*r].next != 0).map(|r| begins(r)..regions[r].next)
}

/// The blocks that were allocated since the beginning and are still there, but for those at these addresses.
pub fn left(but: &[usize]) -> (usize, usize) {
    let regions = &heap().regions;
    let (mut blocks, mut bytes) = (0, 0);
    for region in &regions[..HOST] {
        let (mut before, mut counts) = (NONE, true);
        for at in (region.kept..region.next).step_by(16) {
            // SAFETY: states of the heap.
            let state = unsafe { *state_of(at) };
            if is_live(state) && !is_live(before) {
                counts = !but.contains(&at);
                blocks += usize::from(counts);
            }
            bytes += if counts { bytes_of(state) } else { 0 };
            before = state;
        }
    }
    (blocks, bytes)
}
