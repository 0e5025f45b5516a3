//! Where the words of a round may be other addresses than those that were tried out.
//!
//! A round does the same with other addresses as long as it cannot tell them apart. A trial says what the round does with each word
//! that it finds, its *origins* (`trial/origins.rs`): through which it reaches memory, with which it does more than that, and which it
//! compares. Here is what must hold of other addresses, and which memory is reached through them.

use std::cell::Cell;
use std::ops::Range;
use std::sync::OnceLock;

/// An origin, by number; [`NONE`] of what does not depend on addresses.
pub(super) type Origin = u16;

pub(super) const NONE: Origin = 0;
/// The registers that a call preserves have numbers from here on.
pub(super) const REGISTERS: Origin = 1;
/// Where this crate keeps the execution.
pub(super) const EXECUTION: Origin = 7;
/// The thread's stack: the stack pointer, and what is counted from there.
pub(super) const STACK: Origin = 8;
/// That of a register of which it is not known.
pub(super) const UNKNOWN: Origin = Origin::MAX;
/// The places of local values.
pub(super) const LOCALS: Origin = 9;
/// What is read.
pub(super) const READS: Origin = 32;

/// What was done with an origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// Memory was reached through it.
    pub reached: bool,
    /// More than to copy it.
    pub used: bool,
    /// Something of which another address makes another thing.
    pub fixed: bool,
}

/// Two origins that cannot be any other addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub origins: [Origin; 2],
    pub keeps: Keeps,
}

/// What two words must keep, of which one is so far behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeps {
    Distance,
    /// Which of them is the higher one.
    Order(u64),
    /// Whether they are the same.
    Sameness(u64),
}

/// What a trial has done with its origins.
#[derive(Clone, Debug, Default)]
pub(super) struct Origins {
    pub done: Vec<Done>,
    pub pairs: Vec<Pair>,
    /// It is not known of all of them: nothing may be another address.
    pub lost: bool,
}

/// What is allocated lies at a multiple of this. Programs keep marks in the bits below.
pub(super) const ALIGNED: u64 = 16;

/// No memory lies below.
pub(super) const LOWEST: u64 = 4096;
/// What lies elsewhere in other executions is not below this, and not above.
pub(super) const LOWEST_ADDRESS: u64 = 1 << 32;
pub(super) const END: u64 = 1 << 47;

/// Whose word it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The code of the round knows it.
    Rounds,
    /// This crate's: which one it is makes no difference.
    Ours,
}

/// The words of a round, as they were and as they are, by their origins; no further than the last one that was added.
#[derive(Debug, Default)]
pub(super) struct Moved(Vec<(u64, u64, Whose)>);

/// The thread's stack, as it was and as it is. All that lies there, and all that points there, has moved as far as its top.
#[derive(Clone, Debug)]
pub(super) struct Stack {
    pub was: Range<usize>,
    pub is: Range<usize>,
}

impl Stack {
    /// Whether the round finds the same part of the stack through a word, or does not come to the stack.
    pub fn is_same_for(&self, was: u64, is: u64) -> bool {
        let (before, now) = (self.was.contains(&(was as usize)), self.is.contains(&(is as usize)));
        before == now && (!before || is.wrapping_sub(was) == self.by())
    }

    /// How far it has moved.
    pub fn by(&self) -> u64 {
        self.is.end.wrapping_sub(self.was.end) as u64
    }
}

/// A piece of memory: where it was, where it is, its size, and whether the round writes there.
pub(super) type Piece = (usize, usize, usize, bool);

impl Moved {
    /// `None` if the round can tell, whatever else there is. Of a loop that counts it is the number that says so at once.
    pub fn add(&mut self, origin: Origin, was: u64, is: u64, whose: Whose) -> Option<()> {
        let stays = |word: u64| !(LOWEST_ADDRESS..END).contains(&word) || is_static(word as usize);
        if whose == Whose::Rounds && was != is {
            (is.wrapping_sub(was).is_multiple_of(ALIGNED) && !stays(was) && !stays(is)).then_some(())?;
        }
        let origin = usize::from(origin);
        self.0.resize(self.0.len().max(origin + 1), (0, 0, Whose::Ours));
        self.0[origin] = (was, is, whose);
        Some(())
    }

    /// How far a word has moved.
    fn by(&self, origin: Origin) -> u64 {
        self.0.get(usize::from(origin)).map_or(0, |(was, is, _)| is.wrapping_sub(*was))
    }

    /// Where memory is that was reached through a word.
    pub fn place(&self, address: usize, through: Origin) -> usize {
        address.wrapping_add(self.by(through) as usize)
    }

    /// Whether the round, on this stack, cannot tell, with these pieces of memory and words that were added.
    pub fn cannot_be_told(&self, stack: &Stack, pairs: &[Pair], pieces: &[Piece]) -> bool {
        let mut known = self.0.iter().filter(|(.., whose)| *whose == Whose::Rounds);
        let fits = |pair: &Pair| {
            let [a, b] = pair.origins;
            let by = self.by(a).wrapping_sub(self.by(b));
            let sign = |distance: u64| distance.cast_signed().signum();
            match pair.keeps {
                Keeps::Distance => by == 0,
                Keeps::Order(distance) => sign(distance) == sign(distance.wrapping_add(by)),
                Keeps::Sameness(distance) => (distance == 0) == (distance.wrapping_add(by) == 0),
            }
        };
        known.all(|&(was, is, _)| stack.is_same_for(was, is))
            && pairs.iter().all(fits)
            && pieces.iter().filter(|piece| piece.3).all(|a| pieces.iter().all(|b| overlap_as_before(a, b)))
    }
}

/// Whether two pieces of memory have the same bytes in common as before.
fn overlap_as_before(a: &Piece, b: &Piece) -> bool {
    let overlap = |a: usize, b: usize, (of_a, of_b): (usize, usize)| a < b + of_b && b < a + of_a;
    let sizes = (a.2, b.2);
    let (was, is) = (overlap(a.0, b.0, sizes), overlap(a.1, b.1, sizes));
    was == is && (!was || a.1.wrapping_sub(a.0) == b.1.wrapping_sub(b.0))
}

/// Whether it is an address in the program itself.
pub(super) fn is_static(address: usize) -> bool {
    thread_local! {
        /// Around what was asked about last: no part of the program lies there. Most objects are in one heap.
        static ELSEWHERE: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    }
    let (from, to) = ELSEWHERE.get();
    if (from..to).contains(&address) {
        return false;
    }
    static PROGRAM: OnceLock<Vec<Range<usize>>> = OnceLock::new();
    let parts = PROGRAM.get_or_init(program);
    let (before, after) = parts.split_at(parts.partition_point(|part| part.start <= address));
    if before.last().is_some_and(|part| part.contains(&address)) {
        return true;
    }
    let ends = before.iter().map(|part| part.end).max().unwrap_or(0);
    ELSEWHERE.set((ends, after.first().map_or(usize::MAX, |part| part.start)));
    false
}

/// Where the program is in memory, with its libraries: parts in the order of their addresses.
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
    parts.sort_by_key(|part| part.start);
    parts
}

/// Elsewhere nothing is tried out.
#[cfg(not(target_os = "linux"))]
fn program() -> Vec<Range<usize>> {
    Vec::new()
}
