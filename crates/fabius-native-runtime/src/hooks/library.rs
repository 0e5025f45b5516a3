//! Functions of the C library that keep what all threads share: numbers at random, the rest of a string that is taken apart,
//! the environment, streams. The library is not instrumented, so who calls them in which order is not seen otherwise: each
//! call is a scheduling point, and goes on to the library then.
//!
//! The streams that the program begins with are left out: nobody in the program reads what goes to its output, and its input
//! is empty.

use crate::op::{Op, REGULAR, Wait, of_library};
use crate::rt::rt;
use crate::threads::point;

/// A call of a function that uses something shared. Returns where the function is.
macro_rules! shared {
    ($($object:literal => $act:path: $($name:ident)*;)*) => { $( $(
        #[doc = concat!("`", stringify!($name), "`, as the program calls it.")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        #[allow(non_snake_case)]
        pub unsafe extern "C-unwind" fn $name() {
            extern "C-unwind" fn before(object: usize, pc: usize) -> usize {
                static NEXT: crate::real::Next = crate::real::Next::new(
                    match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => unreachable!(),
                    },
                );
                if crate::control::in_program() {
                    $act(stringify!($name), object, pc);
                }
                NEXT.address()
            }
            // All registers that hold arguments are kept: these functions take any number of them.
            std::arch::naked_asm!(
                super::keep_registers!(),
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                "sub rsp, 128",
                "movups [rsp], xmm0", "movups [rsp + 16], xmm1", "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
                "movups [rsp + 64], xmm4", "movups [rsp + 80], xmm5", "movups [rsp + 96], xmm6",
                "movups [rsp + 112], xmm7",
                concat!("mov rdi, ", $object),
                "mov rsi, [rsp + 184]",
                "call {before}",
                "mov r11, rax",
                "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]", "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
                "movups xmm4, [rsp + 64]", "movups xmm5, [rsp + 80]", "movups xmm6, [rsp + 96]",
                "movups xmm7, [rsp + 112]",
                "add rsp, 128",
                "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "jmp r11",
                registers = sym crate::place::REGISTERS,
                before = sym before,
            )
        }
    )* )* };
}
pub(crate) use shared;

shared! {
    "1" => changes:
        rand srand random srandom initstate setstate drand48 lrand48 mrand48 srand48 seed48 lcong48;
    "2" => changes:
        strtok;
    "3" => changes:
        setenv unsetenv putenv clearenv;
    "3" => looks_at:
        getenv secure_getenv;
    "rdi" => only_uses_stream:
        fflush fclose fgetc getc _IO_getc fscanf vfscanf
        __isoc99_fscanf __isoc99_vfscanf __isoc23_fscanf __isoc23_vfscanf fwprintf vfwprintf fwscanf fgetwc getwc fseek fseeko fseeko64 ftell ftello ftello64 rewind fgetpos fsetpos
        feof ferror clearerr setvbuf setbuf fgetc_unlocked getc_unlocked;
    "rsi" => only_uses_stream:
        fputc putc _IO_putc fputwc putwc fputws ungetc ungetwc fputc_unlocked putc_unlocked;
    "rdx" => only_uses_stream:
        fgets fgetws getline fgets_unlocked;
    "rcx" => only_uses_stream:
        fread fread_unlocked getdelim __getdelim __fgets_chk __fgets_unlocked_chk;
    "r8" => only_uses_stream:
        __fread_chk __fread_unlocked_chk;
    "0" => changes_files:
        fopen fopen64 freopen freopen64 tmpfile tmpfile64 mkstemp mkstemp64 mkostemp mkostemp64 mkdtemp copy_file_range sendfile
        sendfile64 fallocate fallocate64 posix_fallocate posix_fallocate64 chmod fchmod fchmodat preadv2 pwritev2;
    "0" => looks_at_files:
        stat stat64 lstat lstat64 fstat fstat64 fstatat fstatat64 statx __xstat __xstat64 __lxstat __lxstat64 __fxstat __fxstat64
        __fxstatat __fxstatat64 faccessat euidaccess readlink readlinkat realpath opendir fdopendir scandir scandir64 readdir
        readdir64 nftw ftw glob;
}

/// Whether there is no other thread that could come in between.
pub fn is_alone() -> bool {
    let rt = rt();
    rt.threads.iter().enumerate().all(|(number, thread)| number == rt.current || thread.finished)
}

fn changes(name: &'static str, what: usize, pc: usize) {
    if !is_alone() {
        point(Op::new(name, pc).on(of_library(what)));
    }
}

fn looks_at(name: &'static str, what: usize, pc: usize) {
    if !is_alone() {
        point(Op::new(name, pc).reads(of_library(what)));
    }
}

/// What it does other threads see by a file's name, or in it. It counts as a change even if it fails.
fn changes_files(name: &'static str, _: usize, pc: usize) {
    if !is_alone() {
        point(Op::new(name, pc).on(REGULAR));
    }
    rt().moved += 1;
}

fn looks_at_files(name: &'static str, _: usize, pc: usize) {
    if !is_alone() {
        point(Op::new(name, pc).reads(REGULAR));
    }
    rt().uses_files = true;
}

/// A stream as an object of operations: what goes through that of a regular file others see in the file.
pub fn object_of(stream: usize) -> usize {
    // SAFETY: the program gives a stream; one without a file has the number -1.
    let file = unsafe { libc::fileno(stream as *mut libc::FILE) };
    if file >= 0 && crate::connections::is_regular(file, &rt().connections) { REGULAR } else { stream }
}

unsafe extern "C" {
    static stdin: usize;
    static stdout: usize;
    static stderr: usize;
}

/// Where the C library has the buffers of the standard streams: it takes them when the program first writes, and keeps them.
pub fn buffers() -> [usize; 3] {
    /// `_IO_buf_base` of glibc's `struct _IO_FILE`, which is part of its binary interface.
    const BUFFER: usize = 56;
    // SAFETY: variables of the C library, which point to streams.
    unsafe { [stdin, stdout, stderr] }.map(|stream| match stream {
        0 => 0,
        stream => unsafe { *((stream + BUFFER) as *const usize) },
    })
}

fn only_uses_stream(name: &'static str, stream: usize, pc: usize) {
    uses_stream(name, stream, pc, || {});
}

/// A call uses a stream, and meanwhile does this.
pub fn uses_stream(name: &'static str, stream: usize, pc: usize, meanwhile: impl FnOnce()) {
    // SAFETY: variables of the C library.
    if stream == 0 || unsafe { [stdin, stdout, stderr] }.contains(&stream) {
        rt().uses_files |= name == "fclose";
        return meanwhile();
    }
    rt().uses_files = true;
    // Who has ended may have left the stream locked.
    if !is_alone() || rt().streams.contains_key(&stream) {
        point(Op::new(name, pc).on(object_of(stream)).when(Wait::Stream(stream)));
    }
    // The library locks the stream during the call.
    rt().clocks.acquire(rt().current, stream);
    meanwhile();
    rt().clocks.release(rt().current, stream);
}
