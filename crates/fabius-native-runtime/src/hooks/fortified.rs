//! What compilers make of reads into buffers whose sizes they know (`_FORTIFY_SOURCE`): the function itself, if there is room.

use super::{files, named_files, polls, sockets};
use crate::control::in_program;
use crate::real::next;
use crate::threads::fail;
use fabius_trace::BugKind;
use std::ffi::{c_char, c_void};

super::entries! {
    __read_chk: "r8" => read_here;
    __pread_chk: "r9" => pread_here;
    __pread64_chk: "r9" => pread_here;
    __recv_chk: "r9" => recv_here;
    __poll_chk: "r8" => poll_here;
    __open_2: "rdx" => open_here;
    __open64_2: "rdx" => open_here;
    __openat_2: "rcx" => openat_here;
    __openat64_2: "rcx" => openat_here;
}

/// There must be room for what may be read.
fn fits(size: usize, room: usize, pc: usize) {
    if size <= room {
        return;
    }
    if in_program() {
        fail(BugKind::Memory, format!("up to {size} bytes are read into {room}"), pc);
    }
    // SAFETY: ends the process.
    unsafe { next!(fn __chk_fail())() };
}

extern "C-unwind" fn read_here(file: i32, buffer: usize, size: usize, room: usize, pc: usize) -> isize {
    fits(size, room, pc);
    files::read_here(file, buffer, size, pc)
}

extern "C-unwind" fn pread_here(file: i32, buffer: usize, size: usize, place: i64, room: usize, pc: usize) -> i64 {
    fits(size, room, pc);
    named_files::pread_here(file, buffer, size, place, pc)
}

extern "C-unwind" fn recv_here(file: i32, buffer: usize, size: usize, room: usize, flags: i32, pc: usize) -> isize {
    fits(size, room, pc);
    sockets::recv_here(file, buffer as *mut c_void, size, flags, pc)
}

extern "C-unwind" fn poll_here(list: *mut libc::pollfd, count: usize, time: i32, room: usize, pc: usize) -> i32 {
    fits(count.saturating_mul(size_of::<libc::pollfd>()), room, pc);
    polls::poll_here(list, count, time, pc)
}

/// Makes no file, so that it needs no mode.
extern "C-unwind" fn open_here(path: *const c_char, flags: i32, pc: usize) -> i32 {
    named_files::open_here(path, flags, 0, pc)
}

extern "C-unwind" fn openat_here(folder: i32, path: *const c_char, flags: i32, pc: usize) -> i32 {
    named_files::openat_here(folder, path, flags, 0, pc)
}
