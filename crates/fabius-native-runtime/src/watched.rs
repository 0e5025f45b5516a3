//! Memory that nobody has written to yet: pages of the system's libraries, and stacks below the deepest page that was ever in
//! use. They are protected from the beginning; the first write to one fails, its page is opened for good, and from then on it
//! is put back after every execution. So what is put back is what programs do write, for one fault a page.
//!
//! The kernel does not fail there but refuses, so memory that a program may give to it is never protected: neither its own
//! variables nor its heap. What it gives of a stack is above the frame of the call, which has been written before.
//!
//! All of this is of the process that explores: in one that is made of it, what is written there is known there.

use crate::arena::OURS;
use std::ffi::CStr;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

const PAGE: usize = 4096;

/// Libraries that give the kernel none of their variables, by how their names begin. (The buffer of one byte that an unbuffered
/// standard input has is in a structure that is written before.)
const LIBRARIES: [&str; 5] = ["libc.so.", "ld-linux-x86-64.so.", "libm.so.", "libgcc_s.so.", "libstdc++.so."];

/// The most parts and pages of them.
const PARTS: usize = 32;
const PAGES: usize = 1024;

/// Below a stack pointer a function may use so many bytes without saying so.
const RED_ZONE: usize = 128;

struct Watch {
    /// What is watched, and where a copy is.
    parts: [(usize, usize, *const u8); PARTS],
    count: usize,
    /// Pages of it that were written, and their copies.
    written: [(usize, *const u8); PAGES],
    len: usize,
}

static mut WATCH: Watch =
    Watch { parts: [(0, 0, std::ptr::null()); PARTS], count: 0, written: [(0, std::ptr::null()); PAGES], len: 0 };

/// For every stack the lowest page that is open; 0: all are.
static LOWEST: [AtomicUsize; crate::rooms::MOST] = [const { AtomicUsize::new(0) }; crate::rooms::MOST];

static IS_ON: AtomicBool = AtomicBool::new(false);

fn watch() -> &'static mut Watch {
    let watch = &raw mut WATCH;
    // SAFETY: one thread; what handles a fault changes it only while the program, or a function of the C library, writes.
    unsafe { &mut *watch }
}

/// From now on memory is watched.
pub fn begin() {
    IS_ON.store(true, Relaxed);
}

fn allow(pages: Range<usize>, protection: i32) -> bool {
    // SAFETY: pages of libraries or of stacks, which can be read in any case.
    unsafe { crate::kernel::syscall(libc::SYS_mprotect, pages.start, pages.len(), protection) == 0 }
}

/// Protects a part of which there is a copy, for good. `false` if it is none of those that are watched.
pub fn protect(part: &Range<usize>, copy: *const u8) -> bool {
    let watch = watch();
    let pages: usize = watch.parts[..watch.count].iter().map(|(start, end, _)| (end - start) / PAGE).sum();
    let is_whole = part.start.is_multiple_of(PAGE) && part.end.is_multiple_of(PAGE);
    let has_room = watch.count < PARTS && pages + part.len() / PAGE <= PAGES;
    if !IS_ON.load(Relaxed) || !is_whole || !has_room || !is_of_library(part) {
        return false;
    }
    watch.parts[watch.count] = (part.start, part.end, copy);
    watch.count += 1;
    allow(part.clone(), libc::PROT_READ)
}

/// Whether all of these pages are variables of such a library.
fn is_of_library(part: &Range<usize>) -> bool {
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, data: *mut std::ffi::c_void) -> i32 {
        // SAFETY: the linker gives a valid description; the other pointer is ours.
        unsafe {
            let (info, (part, found)) = (&*info, &mut *data.cast::<(Range<usize>, bool)>());
            let path = CStr::from_ptr(info.dlpi_name).to_string_lossy();
            let name = path.rsplit('/').next().unwrap_or_default();
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            for header in headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_W != 0) {
                let start = info.dlpi_addr as usize + header.p_vaddr as usize;
                let pages = start & !(PAGE - 1)..(start + header.p_memsz as usize).next_multiple_of(PAGE);
                let is_within = pages.start <= part.start && part.end <= pages.end;
                *found |= is_within && LIBRARIES.iter().any(|library| name.starts_with(library));
            }
        }
        0
    }
    let mut data = (part.clone(), false);
    // SAFETY: the callback is called with the pointer that is given.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut data).cast()) };
    data.1
}

/// Whether the fault there was the first write to memory that is watched. It is opened then.
pub fn is_first_write(address: usize) -> bool {
    if !IS_ON.load(Relaxed) {
        return false;
    }
    if OURS.contains(&address) {
        return grows(address);
    }
    let watch = watch();
    let page = address & !(PAGE - 1);
    let parts = &watch.parts[..watch.count];
    let Some((start, _, copy)) = parts.iter().find(|(start, end, _)| (*start..*end).contains(&page)) else {
        return false;
    };
    if watch.written[..watch.len].iter().any(|(written, _)| *written == page) || watch.len == PAGES {
        return false;
    }
    watch.written[watch.len] = (page, copy.wrapping_add(page - start));
    watch.len += 1;
    allow(page..page + PAGE, libc::PROT_READ | libc::PROT_WRITE)
}

/// A stack is used more deeply than ever.
fn grows(address: usize) -> bool {
    let Some((number, stack)) = crate::rooms::stack_of(address) else { return false };
    let lowest = LOWEST[number].load(Relaxed);
    if !(stack.start..lowest).contains(&address) {
        return false;
    }
    let from = (address - RED_ZONE).max(stack.start) & !(PAGE - 1);
    LOWEST[number].store(from, Relaxed);
    allow(from..lowest, libc::PROT_READ | libc::PROT_WRITE)
}

/// The stack of this fiber is fresh.
pub fn protect_stack(number: usize, stack: Range<usize>) {
    let lowest = stack.end - PAGE;
    if IS_ON.load(Relaxed) && allow(stack.start..lowest, libc::PROT_READ) {
        LOWEST[number].store(lowest, Relaxed);
    }
}

/// The lowest page of a stack that was ever written, if it is watched.
pub fn lowest(number: usize) -> Option<usize> {
    match LOWEST[number].load(Relaxed) {
        0 => None,
        lowest => Some(lowest),
    }
}

/// Everything may be written from now on: the program itself handles faults, or blocks them.
pub fn end() {
    if !IS_ON.swap(false, Relaxed) {
        return;
    }
    let watch = watch();
    for (start, end, copy) in &watch.parts[..watch.count] {
        allow(*start..*end, libc::PROT_READ | libc::PROT_WRITE);
        for page in (*start..*end).step_by(PAGE) {
            if !watch.written[..watch.len].iter().any(|(written, _)| *written == page) {
                watch.written[watch.len] = (page, copy.wrapping_add(page - start));
                watch.len += 1;
            }
        }
    }
    for (number, lowest) in LOWEST.iter().enumerate() {
        let lowest = lowest.swap(0, Relaxed);
        if lowest != 0 {
            allow(crate::rooms::stack_number(number).start..lowest, libc::PROT_READ | libc::PROT_WRITE);
        }
    }
}

/// Whether somebody else than we would change who may use memory that is watched.
pub fn contains(part: &Range<usize>) -> bool {
    let watch = watch();
    let overlaps = |start: usize, end: usize| start < part.end && part.start < end;
    overlaps(OURS.start, OURS.end) || watch.parts[..watch.count].iter().any(|(start, end, _)| overlaps(*start, *end))
}

/// Pages that were written, and what was there.
pub fn written() -> impl Iterator<Item = (usize, &'static [u8])> {
    let watch = watch();
    // SAFETY: copies are there for good.
    watch.written[..watch.len].iter().map(|(page, copy)| (*page, unsafe { std::slice::from_raw_parts(*copy, PAGE) }))
}
