//! Memory: the heap, mappings, and the functions that copy and compare, as far as the program itself calls them.

use super::entries;
use super::tsan::{plain, points, touch};
use crate::control::{in_program, is_controlled};
use crate::heap::{self, Misuse};
use crate::real::next;
use crate::rt::rt;
use crate::state::without;
use crate::threads::fail;
use fabius_trace::BugKind;
use std::ffi::c_void;
use std::ops::Range;

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut u8;
    fn __libc_free(block: *mut u8);
    fn __libc_calloc(count: usize, size: usize) -> *mut u8;
    fn __libc_realloc(block: *mut u8, size: usize) -> *mut u8;
    fn __libc_memalign(align: usize, size: usize) -> *mut u8;
}

entries! {
    malloc: "rsi" => malloc_here;
    free: "rsi" => free_here;
    calloc: "rdx" => calloc_here;
    realloc: "rdx" => realloc_here;
    reallocarray: "rcx" => reallocarray_here;
    memalign: "rdx" => memalign_here;
    aligned_alloc: "rdx" => memalign_here;
    posix_memalign: "rcx" => posix_memalign_here;
    valloc: "rsi" => valloc_here;
    pvalloc: "rsi" => valloc_here;
    malloc_usable_size: "rsi" => usable_size;
    mmap: "rax" => mmap_here;
    mmap64: "rax" => mmap_here;
    munmap: "rdx" => munmap_here;
    mprotect: "rcx" => mprotect_here;
    __tsan_memcpy: "rcx" => memcpy_here;
    __tsan_memmove: "rcx" => memcpy_here;
    __tsan_memset: "rcx" => memset_here;
    __wrap_memcpy: "rcx" => memcpy_here;
    __wrap_memmove: "rcx" => memcpy_here;
    __wrap_memset: "rcx" => memset_here;
    __wrap_memcmp: "rcx" => memcmp_here;
    __wrap_strlen: "rsi" => strlen_here;
    __wrap_strcpy: "rdx" => strcpy_here;
    __wrap_strncpy: "rcx" => strncpy_here;
    __wrap_strcat: "rdx" => strcat_here;
    __wrap_strcmp: "rdx" => strcmp_here;
    __wrap_strncmp: "rcx" => strncmp_here;
    __wrap_strchr: "rdx" => strchr_here;
    __wrap_strdup: "rsi" => strdup_here;
}

fn allocate(size: usize, align: usize, zero: bool) -> *mut u8 {
    let thread = if in_program() { rt().current } else { 0 };
    let block = heap::allocate(thread, size, align, zero);
    if block.is_null() {
        if in_program() {
            crate::threads::give_up("an execution uses more memory than its heap may have");
        }
        // SAFETY: the thread's own `errno`.
        unsafe { *libc::__errno_location() = libc::ENOMEM };
    }
    block
}

extern "C-unwind" fn malloc_here(size: usize, _: usize) -> *mut u8 {
    if !is_controlled() {
        // SAFETY: as the program calls it.
        return unsafe { __libc_malloc(size) };
    }
    allocate(size, 16, false)
}

extern "C-unwind" fn calloc_here(count: usize, size: usize, _: usize) -> *mut u8 {
    if !is_controlled() {
        // SAFETY: as the program calls it.
        return unsafe { __libc_calloc(count, size) };
    }
    match count.checked_mul(size) {
        Some(size) => allocate(size, 16, true),
        None => std::ptr::null_mut(),
    }
}

fn misused(misuse: Misuse, what: &str, pc: usize) -> ! {
    let message = match misuse {
        Misuse::Freed => format!("{what} of memory that was freed already"),
        Misuse::Outside | Misuse::NoBlock => format!("{what} of what is no block of the heap"),
    };
    fail(BugKind::Memory, message, pc)
}

extern "C-unwind" fn free_here(block: *mut u8, pc: usize) {
    if block.is_null() {
        return;
    }
    if !is_controlled() {
        // SAFETY: as the program calls it.
        return unsafe { __libc_free(block) };
    }
    if in_program()
        && let Ok(size) = heap::size_of(block)
    {
        // To free is to write: whoever uses the block must be ordered with it.
        let (at, size) = (block as usize, size.clamp(1, 4096));
        points("free", at, size, true, pc);
        touch("free", at, size, true, pc);
    }
    if let Err(misuse) = heap::free(block)
        && in_program()
    {
        misused(misuse, "free", pc);
    }
}

extern "C-unwind" fn realloc_here(block: *mut u8, size: usize, pc: usize) -> *mut u8 {
    if !is_controlled() {
        // SAFETY: as the program calls it.
        return unsafe { __libc_realloc(block, size) };
    }
    if block.is_null() {
        return allocate(size, 16, false);
    }
    let old = match heap::size_of(block) {
        Ok(old) => old,
        Err(misuse) if in_program() => misused(misuse, "realloc", pc),
        Err(_) => return std::ptr::null_mut(),
    };
    if size == 0 {
        free_here(block, pc);
        return std::ptr::null_mut();
    }
    let new = allocate(size, 16, false);
    if !new.is_null() {
        // SAFETY: both blocks have at least so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(block, new, old.min(size)) };
        free_here(block, pc);
    }
    new
}

extern "C-unwind" fn reallocarray_here(block: *mut u8, count: usize, size: usize, pc: usize) -> *mut u8 {
    match count.checked_mul(size) {
        Some(size) => realloc_here(block, size, pc),
        None => std::ptr::null_mut(),
    }
}

extern "C-unwind" fn memalign_here(align: usize, size: usize, _: usize) -> *mut u8 {
    if !is_controlled() {
        // SAFETY: as the program calls it.
        return unsafe { __libc_memalign(align, size) };
    }
    allocate(size, align.next_power_of_two(), false)
}

extern "C-unwind" fn posix_memalign_here(block: *mut *mut u8, align: usize, size: usize, pc: usize) -> i32 {
    if !align.is_power_of_two() || !align.is_multiple_of(8) {
        return libc::EINVAL;
    }
    let new = memalign_here(align, size, pc);
    if new.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the program wants the address there.
    unsafe { *block = new };
    0
}

extern "C-unwind" fn valloc_here(size: usize, pc: usize) -> *mut u8 {
    memalign_here(4096, size, pc)
}

extern "C-unwind" fn usable_size(block: *mut u8, _: usize) -> usize {
    if block.is_null() {
        return 0;
    }
    if !is_controlled() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn malloc_usable_size(*mut u8) -> usize)(block) };
    }
    heap::size_of(block).unwrap_or(0)
}

extern "C-unwind" fn mmap_here(at: usize, size: usize, protection: i32, flags: i32, file: i32, offset: i64) -> usize {
    // SAFETY: as the program calls it, straight to the kernel.
    let got = unsafe { crate::kernel::syscall(libc::SYS_mmap, at, size, protection, flags, file, offset) } as usize;
    if in_program() && got != usize::MAX {
        if flags & libc::MAP_SHARED != 0 && file >= 0 {
            rt().limits.insert("the program maps a file that is shared: what it writes there is not undone".into());
        }
        let part = got..got + size.next_multiple_of(4096);
        rt().mapped.push(part.clone());
        rt().maps_file |= flags & libc::MAP_ANONYMOUS == 0;
        protected(&part, protection);
    }
    got
}

extern "C-unwind" fn mprotect_here(at: usize, size: usize, protection: i32, _: usize) -> i32 {
    if in_program() && crate::watched::contains(&(at..at.saturating_add(size))) {
        crate::watched::end();
    }
    // SAFETY: as the program calls it, straight to the kernel.
    let got = unsafe { crate::kernel::syscall(libc::SYS_mprotect, at, size, protection) } as i32;
    if in_program() && got == 0 {
        let part = at..at + size.next_multiple_of(4096);
        rt().protected.push(part.clone());
        protected(&part, protection);
    }
    got
}

/// Who may use this memory has changed.
fn protected(part: &Range<usize>, protection: i32) {
    let rt = rt();
    rt.moved += 1;
    rt.unreadable = without(std::mem::take(&mut rt.unreadable), part);
    if protection & libc::PROT_READ == 0 {
        rt.unreadable.push(part.clone());
    }
}

extern "C-unwind" fn munmap_here(at: usize, size: usize, _: usize) -> i32 {
    // SAFETY: as the program calls it, straight to the kernel.
    let got = unsafe { crate::kernel::syscall(libc::SYS_munmap, at, size) } as i32;
    if in_program() && got == 0 {
        let gone = at..at + size.next_multiple_of(4096);
        let rt = rt();
        rt.mapped = without(std::mem::take(&mut rt.mapped), &gone);
        protected(&gone, libc::PROT_READ);
    }
    got
}

/// The program reads this memory.
pub(super) fn reads(address: usize, size: usize, pc: usize) {
    if in_program() && size > 0 {
        plain("read", address, size, false, pc);
    }
}

/// The program writes to this memory.
pub(super) fn writes(address: usize, size: usize, pc: usize) {
    if in_program() && size > 0 {
        plain("write", address, size, true, pc);
    }
}

/// The length of a string of the program.
pub(super) fn length(text: usize) -> usize {
    // SAFETY: the program gives a string.
    unsafe { libc::strlen(text as *const i8) }
}

extern "C-unwind" fn memcpy_here(to: usize, from: usize, size: usize, pc: usize) -> usize {
    reads(from, size, pc);
    writes(to, size, pc);
    // SAFETY: as the program calls it; this is right if they overlap, too.
    unsafe { libc::memmove(to as *mut c_void, from as *const c_void, size) as usize }
}

extern "C-unwind" fn memset_here(to: usize, byte: i32, size: usize, pc: usize) -> usize {
    writes(to, size, pc);
    // SAFETY: as the program calls it.
    unsafe { libc::memset(to as *mut c_void, byte, size) as usize }
}

extern "C-unwind" fn memcmp_here(a: usize, b: usize, size: usize, pc: usize) -> i32 {
    reads(a, size, pc);
    reads(b, size, pc);
    // SAFETY: as the program calls it.
    unsafe { libc::memcmp(a as *const c_void, b as *const c_void, size) }
}

extern "C-unwind" fn strlen_here(text: usize, pc: usize) -> usize {
    reads(text, length(text) + 1, pc);
    length(text)
}

extern "C-unwind" fn strcpy_here(to: usize, from: usize, pc: usize) -> usize {
    reads(from, length(from) + 1, pc);
    writes(to, length(from) + 1, pc);
    // SAFETY: as the program calls it.
    unsafe { libc::strcpy(to as *mut i8, from as *const i8) as usize }
}

extern "C-unwind" fn strncpy_here(to: usize, from: usize, size: usize, pc: usize) -> usize {
    // SAFETY: as the program calls it.
    let length = unsafe { libc::strnlen(from as *const i8, size) };
    reads(from, (length + 1).min(size), pc);
    writes(to, size, pc);
    // SAFETY: as the program calls it.
    unsafe { libc::strncpy(to as *mut i8, from as *const i8, size) as usize }
}

extern "C-unwind" fn strcat_here(to: usize, from: usize, pc: usize) -> usize {
    reads(from, length(from) + 1, pc);
    reads(to, length(to) + 1, pc);
    writes(to + length(to), length(from) + 1, pc);
    // SAFETY: as the program calls it.
    unsafe { libc::strcat(to as *mut i8, from as *const i8) as usize }
}

extern "C-unwind" fn strcmp_here(a: usize, b: usize, pc: usize) -> i32 {
    reads(a, length(a) + 1, pc);
    reads(b, length(b) + 1, pc);
    // SAFETY: as the program calls it.
    unsafe { libc::strcmp(a as *const i8, b as *const i8) }
}

extern "C-unwind" fn strncmp_here(a: usize, b: usize, size: usize, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    let lengths = unsafe { (libc::strnlen(a as *const i8, size), libc::strnlen(b as *const i8, size)) };
    reads(a, (lengths.0 + 1).min(size), pc);
    reads(b, (lengths.1 + 1).min(size), pc);
    // SAFETY: as the program calls it.
    unsafe { libc::strncmp(a as *const i8, b as *const i8, size) }
}

extern "C-unwind" fn strchr_here(text: usize, byte: i32, pc: usize) -> usize {
    reads(text, length(text) + 1, pc);
    // SAFETY: as the program calls it.
    unsafe { libc::strchr(text as *const i8, byte) as usize }
}

extern "C-unwind" fn strdup_here(text: usize, pc: usize) -> usize {
    reads(text, length(text) + 1, pc);
    // SAFETY: as the program calls it.
    unsafe { libc::strdup(text as *const i8) as usize }
}
