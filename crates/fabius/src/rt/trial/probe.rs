//! Looks at memory, also where it may not be there any more: by a copy whose fault is caught.

use super::Read;
use crate::rt::moved::NONE;
use libc::{c_void, greg_t};
use std::ptr;

impl Read {
    /// # Safety
    /// The memory is there.
    pub(super) unsafe fn now(address: usize, size: usize) -> Read {
        let mut value = [0; 64];
        // SAFETY: as asked for; a size is at most 64.
        unsafe { ptr::copy_nonoverlapping(address as *const u8, value.as_mut_ptr(), size) };
        Read { address, size, value, through: NONE, is_ours: false, rewritten: false }
    }
}

// Copies memory that may not be there any more.
std::arch::global_asm!(
    ".globl fabius_probe",
    ".globl fabius_probe_copies",
    ".globl fabius_probe_fails",
    ".hidden fabius_probe",
    ".hidden fabius_probe_copies",
    ".hidden fabius_probe_fails",
    "fabius_probe:",
    "mov rcx, rdx",
    "fabius_probe_copies:",
    "rep movsb",
    "mov eax, 1",
    "ret",
    "fabius_probe_fails:",
    "xor eax, eax",
    "ret",
);

unsafe extern "C" {
    fn fabius_probe(to: *mut u8, from: usize, size: usize) -> u64;
    fn fabius_probe_copies();
    fn fabius_probe_fails();
}

/// What is found in memory; `None` if there is none.
pub(in crate::rt) fn probe(address: usize, size: usize) -> Option<Read> {
    let mut value = [0; 64];
    // SAFETY: a size is at most 64, and what is not there is not read.
    (unsafe { fabius_probe(value.as_mut_ptr(), address, size) } == 1).then_some(Read {
        address,
        size,
        value,
        through: NONE,
        is_ours: false,
        rewritten: false,
    })
}

/// Memory was touched that is not there: whether that was [`probe`], which goes on.
///
/// # Safety
/// The handler of that fault runs, with this context.
pub(in crate::rt) unsafe fn has_probed(context: *mut c_void) -> bool {
    // SAFETY: the kernel hands out a valid context.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let is_probe = registers[libc::REG_RIP as usize] as usize == fabius_probe_copies as *const () as usize;
    if is_probe {
        registers[libc::REG_RIP as usize] = fabius_probe_fails as *const () as greg_t;
    }
    is_probe
}
