//! Whether words of a round may be other addresses than those that were tried out.
//!
//! A round does the same with other addresses as long as it cannot tell them apart: it may compare them with each other,
//! with what it makes of them, and with places that do not move; and look at their lowest bits.

use std::ops::Range;
use std::sync::OnceLock;

/// Words that lie so close together may be addresses of the same memory, which moves as a whole.
const CLOSE: usize = 4096;

/// What is allocated lies at a multiple of this. Programs keep marks in the bits below.
const ALIGNED: usize = 16;

/// The words of a round, as they were and as they are.
#[derive(Debug, Default)]
pub(super) struct Moved(Vec<(usize, usize)>);

impl Moved {
    pub fn add(&mut self, was: u64, is: u64) {
        let pair = (was as usize, is as usize);
        if !self.0.contains(&pair) {
            self.0.push(pair);
        }
    }

    /// Where memory is that may have been reached through these, at most so far behind one of them.
    pub fn places(&self, address: usize, reach: usize) -> Vec<usize> {
        let through = self.0.iter().filter(|(was, _)| address.wrapping_sub(*was) < reach);
        let mut places: Vec<usize> = through.map(|(was, is)| is.wrapping_add(address.wrapping_sub(*was))).collect();
        if places.is_empty() {
            places.push(address);
        }
        places
    }

    /// Whether the round, on this stack, cannot tell.
    pub fn cannot_be_told(&self, stack: &Range<usize>) -> bool {
        let moved = |(was, is): &&(usize, usize)| was != is;
        self.0.iter().filter(moved).all(|&(was, is)| {
            let by = is.wrapping_sub(was);
            let is_close = |a: usize, b: usize| a.abs_diff(b) < CLOSE;
            let fits = |&(a, b): &(usize, usize)| b.wrapping_sub(a) == by || !is_close(a, was) && !is_close(b, is);
            by.is_multiple_of(ALIGNED) && !stays(was, stack) && !stays(is, stack) && self.0.iter().all(fits)
        })
    }
}

/// Whether it is an address in the program itself, or on the stack: the code of the round knows such by heart.
fn stays(address: usize, stack: &Range<usize>) -> bool {
    stack.contains(&address) || is_static(address)
}

/// Whether it is an address in the program itself.
pub(super) fn is_static(address: usize) -> bool {
    static PROGRAM: OnceLock<Vec<Range<usize>>> = OnceLock::new();
    PROGRAM.get_or_init(program).iter().any(|part| part.contains(&address))
}

/// Where the program is in memory, with its libraries.
#[cfg(target_os = "linux")]
fn program() -> Vec<Range<usize>> {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, parts: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the linker hands out what is loaded, and what it was called with.
        let (info, parts) = unsafe { (&*info, &mut *parts.cast::<Vec<Range<usize>>>()) };
        for number in 0..usize::from(info.dlpi_phnum) {
            // SAFETY: there are so many.
            let header = unsafe { &*info.dlpi_phdr.add(number) };
            if header.p_type == libc::PT_LOAD {
                let from = (info.dlpi_addr + header.p_vaddr) as usize;
                parts.push(from..from + header.p_memsz as usize);
            }
        }
        0
    }
    let mut parts: Vec<Range<usize>> = Vec::new();
    // SAFETY: the function is called only during the call, with the list.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut parts).cast()) };
    parts
}

/// Elsewhere nothing is tried out.
#[cfg(not(target_os = "linux"))]
fn program() -> Vec<Range<usize>> {
    Vec::new()
}
