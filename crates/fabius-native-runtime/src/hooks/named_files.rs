//! Regular files: their names, and reads and writes that name a place in them. What a thread does there another one sees, so
//! each call is a scheduling point, of one object for all regular files.

use super::files::{error, regular};
use super::library::is_alone;
use crate::control::in_program;
use crate::op::{Op, REGULAR};
use crate::real::next;
use crate::rt::rt;
use crate::threads::point;
use std::ffi::c_char;

type Path = *const c_char;

super::entries! {
    open: "rcx" => open_here;
    open64: "rcx" => open_here;
    openat: "r8" => openat_here;
    openat64: "r8" => openat_here;
    creat: "rdx" => creat_here;
    creat64: "rdx" => creat_here;
    rename: "rdx" => rename_here;
    link: "rdx" => link_here;
    symlink: "rdx" => symlink_here;
    unlink: "rsi" => unlink_here;
    remove: "rsi" => remove_here;
    rmdir: "rsi" => rmdir_here;
    mkdir: "rdx" => mkdir_here;
    access: "rdx" => access_here;
    truncate: "rdx" => truncate_here;
    truncate64: "rdx" => truncate_here;
    ftruncate: "rdx" => ftruncate_here;
    ftruncate64: "rdx" => ftruncate_here;
    lseek: "rcx" => lseek_here;
    lseek64: "rcx" => lseek_here;
    pread: "r8" => pread_here;
    pread64: "r8" => pread_here;
    pwrite: "r8" => pwrite_here;
    pwrite64: "r8" => pwrite_here;
    preadv: "r8" => preadv_here;
    preadv64: "r8" => preadv_here;
    pwritev: "r8" => pwritev_here;
    pwritev64: "r8" => pwritev_here;
    renameat: "r8" => renameat_here;
    renameat2: "r9" => renameat2_here;
    linkat: "r9" => linkat_here;
    symlinkat: "rcx" => symlinkat_here;
    unlinkat: "rcx" => unlinkat_here;
    mkdirat: "rcx" => mkdirat_here;
}

/// Does something that other threads see by a file's name.
fn acts<T: Into<i64> + Copy>(name: &'static str, pc: usize, call: impl FnOnce() -> T) -> T {
    if in_program() && !is_alone() {
        point(Op::new(name, pc).on(REGULAR));
    }
    counted(call())
}

/// What a call has returned; whoever repeats himself has not succeeded.
fn counted<T: Into<i64> + Copy>(got: T) -> T {
    if in_program() && got.into() >= 0 {
        rt().moved += 1;
    }
    got
}

/// Who opens a named pipe waits in the kernel for who opens its other end.
fn refuse_pipe(folder: i32, path: Path, flags: i32) {
    let waits = flags & (libc::O_NONBLOCK | libc::O_PATH) == 0 && flags & libc::O_ACCMODE != libc::O_RDWR;
    if !in_program() || !waits {
        return;
    }
    let before = error();
    // SAFETY: asks the kernel about a name that the program gives; it refuses what is none. `errno` is put back.
    let is_pipe = unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        let known = crate::kernel::syscall(libc::SYS_newfstatat, folder, path, &raw mut about, 0) == 0;
        *libc::__errno_location() = before;
        known && about.st_mode & libc::S_IFMT == libc::S_IFIFO
    };
    if is_pipe {
        crate::threads::not_supported("open of a named pipe");
    }
}

pub(super) extern "C-unwind" fn open_here(path: Path, flags: i32, mode: u32, pc: usize) -> i32 {
    acts("open", pc, || {
        refuse_pipe(libc::AT_FDCWD, path, flags);
        // SAFETY: as the program calls it.
        unsafe { next!(fn open(Path, i32, u32) -> i32)(path, flags, mode) }
    })
}

pub(super) extern "C-unwind" fn openat_here(folder: i32, path: Path, flags: i32, mode: u32, pc: usize) -> i32 {
    acts("openat", pc, || {
        refuse_pipe(folder, path, flags);
        // SAFETY: as the program calls it.
        unsafe { next!(fn openat(i32, Path, i32, u32) -> i32)(folder, path, flags, mode) }
    })
}

extern "C-unwind" fn creat_here(path: Path, mode: u32, pc: usize) -> i32 {
    open_here(path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode, pc)
}

extern "C-unwind" fn rename_here(from: Path, to: Path, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    acts("rename", pc, || unsafe { next!(fn rename(Path, Path) -> i32)(from, to) })
}

extern "C-unwind" fn link_here(from: Path, to: Path, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    acts("link", pc, || unsafe { next!(fn link(Path, Path) -> i32)(from, to) })
}

extern "C-unwind" fn symlink_here(from: Path, to: Path, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    acts("symlink", pc, || unsafe { next!(fn symlink(Path, Path) -> i32)(from, to) })
}

extern "C-unwind" fn unlink_here(path: Path, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    acts("unlink", pc, || unsafe { next!(fn unlink(Path) -> i32)(path) })
}

extern "C-unwind" fn remove_here(path: Path, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    acts("remove", pc, || unsafe { next!(fn remove(Path) -> i32)(path) })
}

extern "C-unwind" fn rmdir_here(path: Path, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    acts("rmdir", pc, || unsafe { next!(fn rmdir(Path) -> i32)(path) })
}

extern "C-unwind" fn mkdir_here(path: Path, mode: u32, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    acts("mkdir", pc, || unsafe { next!(fn mkdir(Path, u32) -> i32)(path, mode) })
}

extern "C-unwind" fn renameat_here(folder: i32, from: Path, other: i32, to: Path, pc: usize) -> i32 {
    renameat2_here(folder, from, other, to, 0, pc)
}

extern "C-unwind" fn renameat2_here(folder: i32, from: Path, other: i32, to: Path, flags: u32, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    acts("renameat", pc, || unsafe {
        next!(fn renameat2(i32, Path, i32, Path, u32) -> i32)(folder, from, other, to, flags)
    })
}

extern "C-unwind" fn linkat_here(folder: i32, from: Path, other: i32, to: Path, flags: i32, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    acts("linkat", pc, || unsafe { next!(fn linkat(i32, Path, i32, Path, i32) -> i32)(folder, from, other, to, flags) })
}

extern "C-unwind" fn symlinkat_here(from: Path, folder: i32, to: Path, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    acts("symlinkat", pc, || unsafe { next!(fn symlinkat(Path, i32, Path) -> i32)(from, folder, to) })
}

extern "C-unwind" fn unlinkat_here(folder: i32, path: Path, flags: i32, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    acts("unlinkat", pc, || unsafe { next!(fn unlinkat(i32, Path, i32) -> i32)(folder, path, flags) })
}

extern "C-unwind" fn mkdirat_here(folder: i32, path: Path, mode: u32, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    acts("mkdirat", pc, || unsafe { next!(fn mkdirat(i32, Path, u32) -> i32)(folder, path, mode) })
}

/// Changes nothing: who asks again and again repeats himself.
extern "C-unwind" fn access_here(path: Path, mode: i32, pc: usize) -> i32 {
    if in_program() && !is_alone() {
        point(Op::new("access", pc).reads(REGULAR));
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn access(Path, i32) -> i32)(path, mode) }
}

extern "C-unwind" fn truncate_here(path: Path, size: i64, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    acts("truncate", pc, || unsafe { next!(fn truncate(Path, i64) -> i32)(path, size) })
}

extern "C-unwind" fn ftruncate_here(file: i32, size: i64, pc: usize) -> i32 {
    regular("ftruncate", file, pc);
    // SAFETY: as the program calls it.
    counted(unsafe { next!(fn ftruncate(i32, i64) -> i32)(file, size) })
}

extern "C-unwind" fn lseek_here(file: i32, place: i64, from: i32, pc: usize) -> i64 {
    regular("lseek", file, pc);
    // SAFETY: as the program calls it.
    counted(unsafe { next!(fn lseek(i32, i64, i32) -> i64)(file, place, from) })
}

/// Moves nothing in the file: what is read is in the program's memory.
pub(super) extern "C-unwind" fn pread_here(file: i32, buffer: usize, size: usize, place: i64, pc: usize) -> i64 {
    regular("pread", file, pc);
    // SAFETY: as the program calls it.
    unsafe { next!(fn pread(i32, usize, usize, i64) -> i64)(file, buffer, size, place) }
}

extern "C-unwind" fn pwrite_here(file: i32, buffer: usize, size: usize, place: i64, pc: usize) -> i64 {
    regular("pwrite", file, pc);
    // SAFETY: as the program calls it.
    counted(unsafe { next!(fn pwrite(i32, usize, usize, i64) -> i64)(file, buffer, size, place) })
}

type Parts = *const libc::iovec;

extern "C-unwind" fn preadv_here(file: i32, parts: Parts, count: i32, place: i64, pc: usize) -> i64 {
    regular("preadv", file, pc);
    // SAFETY: as the program calls it.
    unsafe { next!(fn preadv(i32, Parts, i32, i64) -> i64)(file, parts, count, place) }
}

extern "C-unwind" fn pwritev_here(file: i32, parts: Parts, count: i32, place: i64, pc: usize) -> i64 {
    regular("pwritev", file, pc);
    // SAFETY: as the program calls it.
    counted(unsafe { next!(fn pwritev(i32, Parts, i32, i64) -> i64)(file, parts, count, place) })
}
