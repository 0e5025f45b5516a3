//! More functions of the C library that read and write strings, as far as the program itself calls them.

use super::entries;
use super::memory::{length, reads, writes};
use libc::{c_char, c_void};

entries! {
    __wrap_strncat: "rcx" => strncat_here;
    __wrap_stpcpy: "rdx" => stpcpy_here;
    __wrap_strndup: "rdx" => strndup_here;
    __wrap_strnlen: "rdx" => strnlen_here;
    __wrap_strrchr: "rdx" => strrchr_here;
    __wrap_strstr: "rdx" => strstr_here;
    __wrap_strcasecmp: "rdx" => strcasecmp_here;
    __wrap_strncasecmp: "rcx" => strncasecmp_here;
    __wrap_memchr: "rcx" => memchr_here;
    __wrap_mempcpy: "rcx" => mempcpy_here;
    __wrap_bzero: "rdx" => bzero_here;
}

type Text = *const c_char;

/// How much is read of a string of which at most so many bytes are looked at.
fn looked_at(text: Text, most: usize) -> usize {
    // SAFETY: the program gives a string, or at least so many bytes.
    unsafe { libc::strnlen(text, most) }.saturating_add(1).min(most)
}

extern "C-unwind" fn strncat_here(to: *mut c_char, from: Text, most: usize, pc: usize) -> *mut c_char {
    // SAFETY: as above.
    let more = unsafe { libc::strnlen(from, most) };
    let had = length(to as usize);
    reads(from as usize, looked_at(from, most), pc);
    reads(to as usize, had + 1, pc);
    writes(to as usize + had, more + 1, pc);
    // SAFETY: as the program calls it.
    unsafe { libc::strncat(to, from, most) }
}

extern "C-unwind" fn stpcpy_here(to: *mut c_char, from: Text, pc: usize) -> *mut c_char {
    let size = length(from as usize) + 1;
    reads(from as usize, size, pc);
    writes(to as usize, size, pc);
    // SAFETY: as the program calls it.
    unsafe { libc::strcpy(to, from).add(size - 1) }
}

extern "C-unwind" fn strndup_here(text: Text, most: usize, pc: usize) -> *mut c_char {
    reads(text as usize, looked_at(text, most), pc);
    // SAFETY: as the program calls it.
    unsafe { libc::strndup(text, most) }
}

extern "C-unwind" fn strnlen_here(text: Text, most: usize, pc: usize) -> usize {
    reads(text as usize, looked_at(text, most), pc);
    // SAFETY: as the program calls it.
    unsafe { libc::strnlen(text, most) }
}

extern "C-unwind" fn strrchr_here(text: Text, byte: i32, pc: usize) -> *mut c_char {
    reads(text as usize, length(text as usize) + 1, pc);
    // SAFETY: as the program calls it.
    unsafe { libc::strrchr(text, byte) }
}

extern "C-unwind" fn strstr_here(text: Text, part: Text, pc: usize) -> *mut c_char {
    reads(text as usize, length(text as usize) + 1, pc);
    reads(part as usize, length(part as usize) + 1, pc);
    // SAFETY: as the program calls it.
    unsafe { libc::strstr(text, part) }
}

extern "C-unwind" fn strcasecmp_here(a: Text, b: Text, pc: usize) -> i32 {
    strncasecmp_here(a, b, usize::MAX, pc)
}

extern "C-unwind" fn strncasecmp_here(a: Text, b: Text, most: usize, pc: usize) -> i32 {
    reads(a as usize, looked_at(a, most), pc);
    reads(b as usize, looked_at(b, most), pc);
    // SAFETY: as the program calls it.
    unsafe { libc::strncasecmp(a, b, most) }
}

extern "C-unwind" fn memchr_here(memory: *const c_void, byte: i32, size: usize, pc: usize) -> *mut c_void {
    // SAFETY: as the program calls it.
    let found = unsafe { libc::memchr(memory, byte, size) };
    let size = if found.is_null() { size } else { found as usize - memory as usize + 1 };
    reads(memory as usize, size, pc);
    // SAFETY: as the program calls it; others may have gone on.
    unsafe { libc::memchr(memory, byte, size) }
}

extern "C-unwind" fn mempcpy_here(to: *mut c_void, from: *const c_void, size: usize, pc: usize) -> *mut c_void {
    reads(from as usize, size, pc);
    writes(to as usize, size, pc);
    // SAFETY: as the program calls it.
    unsafe { libc::memmove(to, from, size).add(size) }
}

extern "C-unwind" fn bzero_here(to: *mut c_void, size: usize, pc: usize) {
    writes(to as usize, size, pc);
    // SAFETY: as the program calls it.
    unsafe { libc::memset(to, 0, size) };
}
