//! Trials: what a thread that has given way would do by itself until it gives way again, found out without doing it.
//!
//! The thread goes on, instruction by instruction: the processor traps after the first one, and the handler of that signal
//! looks at the next one before it is run, and then makes it, and those behind it, as long as it knows how
//! (`trial/emulated.rs`); another one the processor makes, and traps again. It may write to the thread's own stack; to what this crate keeps of the execution
//! and to variables that it knows, which is written down; and elsewhere if in the end all is there as it was before, as after
//! a value was borrowed, or memory taken and given back (`trial/touched.rs`). It may not call the kernel, nor do what other
//! operating system threads see at once, but for counts, which are kept apart (`trial/private.rs`): what it writes to without that
//! nobody else uses. What this crate does for an
//! operation is not looked at ([`aside`]): it is known to write to what it keeps alone, all of which is copied beforehand. If
//! the thread is about to do anything else, or comes to the next give-way, the trial is over: what was written is put back,
//! and so are the stack and the registers, and the thread is where it was. So a trial has no effect.
//!
//! What words are made of is followed (`flow.rs`, `trial/origins.rs`), so that what was found out holds where memory lies
//! elsewhere, and on another stack (`moved.rs`).
//!
//! Only on Linux on x86-64. Elsewhere, or where traps do not come, nothing can be tried out, and no repetition is seen.

mod emulated;
mod handler_stack;
mod marks;
mod of;
mod origins;
mod outcome;
mod private;
mod probe;
#[cfg(test)]
mod processor;
mod touched;
mod traps;

use super::flow::Does;
use super::instruction::{Access, Instructions, Known};
use super::moved::{NONE, Origin};
use super::remains::Leaves;
use emulated::To;
use libc::greg_t;
pub(crate) use marks::{aside, counting};
use marks::{comes_to_a_local, comes_to_an_end, fabius_trial_aside, fabius_trial_begins};
pub(super) use marks::{ends, goes_on_with_local};
use origins::{NO_LANES, Origins};
pub(super) use outcome::{End, Outcome, Read};
use private::Private;
pub(super) use probe::{has_probed, probe};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::ptr;
use touched::Pieces;
pub(super) use traps::work;

/// Instructions of one trial. With five times as many, loops are decided whose rounds take longer; but a round that leaves its loop is
/// followed as far, depends on more, and is tried out anew for more of what others do: a test with three such threads took twice as
/// long, and its loop was given up.
const INSTRUCTIONS: u32 = 20_000;
/// Operations of one trial.
const OPERATIONS: usize = 64;
/// Pieces of memory that a trial may read, and may write to.
const ALL_READS: usize = 4000;
const WRITES: usize = 2000;
/// Places of a table of what it reads.
const INDEX: usize = 1 << 13;
const RANGES: usize = 48;
/// Local values of the thread that it may look up.
const ALL_LOCALS: usize = 16;
/// Words of the stack that are put back, at most.
const WORDS: usize = 1 << 16;

/// Where a trial begins: what a call preserves, the stack pointer, and how many words of the stack were copied.
#[repr(C)]
#[derive(Default)]
struct Start {
    rbx: u64,
    rbp: u64,
    r12: u64,
    r13: u64,
    r14: u64,
    r15: u64,
    rsp: u64,
    words: u64,
}

pub(super) struct Trial {
    start: Start,
    copy: Vec<u64>,
    /// The part of the thread's stack that it uses or may use.
    stack: Range<usize>,
    ranges: [(usize, usize); RANGES],
    ranges_used: usize,
    /// What was in those of the ranges that are put back whole, one behind the other.
    kept: Vec<u8>,
    /// The first of them.
    kept_from: usize,
    /// Whether traps are off, because this crate does something.
    is_aside: bool,
    reads: Vec<Read>,
    index: Box<[u16; INDEX]>,
    writes: Vec<Read>,
    /// What was where it has written to memory that must be as before in the end; and what was there then.
    borrowed: Vec<Read>,
    given_back: Vec<Read>,
    /// What it has written as other operating system threads would see at once, and since.
    private: Private,
    /// What the next instruction does to that.
    next: Next,
    /// Whether this crate counts references.
    counts: bool,
    /// Before which operations what was written to is not as before, as bits.
    lent: u64,
    origins: Origins,
    /// For each word of the stack that is put back, which bytes it has written.
    written: Vec<u8>,
    /// Those above the place where it has come to the next give-way, and on what the registers depend there.
    leaves: Vec<Leaves>,
    leaves_registers: [Origin; 6],
    left: u32,
    local: u64,
    instructions: Instructions,
    end: End,
    /// The operations: the numbers of the thread after each, and what they found for the first time.
    numbers: [u64; OPERATIONS],
    unusual: [u64; OPERATIONS],
    numbers_used: usize,
    found: [(usize, u64); OPERATIONS],
    found_used: usize,
    /// Keys of the thread's local values that it has looked up, and where they are.
    locals: [(usize, usize); ALL_LOCALS],
    locals_used: usize,
    /// How many of the operations were points.
    pub points: u32,
}

/// Whether an instruction is locked, touches what is kept apart, and where it writes to.
#[derive(Clone, Copy)]
struct Next {
    locks: bool,
    touches: bool,
    to: To,
}

impl Next {
    const OTHER: Next = Next { locks: false, touches: false, to: To::Memory };
}

thread_local! {
    static TRIAL: RefCell<Option<Box<Trial>>> = const { RefCell::new(None) };
    /// The trial under way.
    static UNDER_WAY: Cell<*mut Trial> = const { Cell::new(ptr::null_mut()) };
}

/// The flag that asks for a trap after the next instruction.
const TRAP: greg_t = 0x100;

/// The trial that the caller is part of.
pub(super) fn current() -> Option<&'static mut Trial> {
    // SAFETY: it lives until the thread ends, and the handler uses it only between two instructions.
    unsafe { UNDER_WAY.get().as_mut() }
}

impl Trial {
    fn new() -> Box<Trial> {
        Box::new(Trial {
            start: Start::default(),
            copy: Vec::new(),
            stack: 0..0,
            ranges: [(0, 0); RANGES],
            ranges_used: 0,
            kept: Vec::new(),
            kept_from: 0,
            is_aside: false,
            reads: Vec::with_capacity(ALL_READS),
            index: Box::new([0; INDEX]),
            writes: Vec::with_capacity(WRITES),
            borrowed: Vec::with_capacity(WRITES),
            given_back: Vec::with_capacity(WRITES),
            private: Private::default(),
            next: Next::OTHER,
            counts: false,
            lent: 0,
            origins: Origins::new(),
            written: Vec::new(),
            leaves: Vec::new(),
            leaves_registers: [NONE; 6],
            left: 0,
            local: 0,
            instructions: Instructions::new(),
            end: End::Other,
            numbers: [0; OPERATIONS],
            unusual: [0; OPERATIONS],
            numbers_used: 0,
            found: [(0, 0); OPERATIONS],
            found_used: 0,
            locals: [(0, 0); ALL_LOCALS],
            locals_used: 0,
            points: 0,
        })
    }

    /// What lies here may be written to: it belongs to the crate. Within a trial, only before anything is.
    pub fn allow(&mut self, address: usize, size: usize) {
        if self.ranges_used < RANGES {
            self.ranges[self.ranges_used] = (address, size);
            self.ranges_used += 1;
            if self.is_aside {
                self.keep(address, size);
            }
        } else if self.is_aside {
            ends(End::Other);
        }
    }

    fn keep(&mut self, address: usize, size: usize) {
        // SAFETY: who allows it says that it is there.
        self.kept.extend_from_slice(unsafe { std::slice::from_raw_parts(address as *const u8, size) });
    }

    /// An operation was made, which has found a variable.
    pub fn operation(&mut self, number: u64, found: Option<(usize, u64)>) {
        if self.numbers_used == OPERATIONS {
            ends(End::Other);
        }
        // SAFETY: what was written to is there.
        let is_back = |w: &Read| unsafe { Read::now(w.address, w.size) }.value == w.value;
        let is_lent = self.private.has_changed() || !self.borrowed.iter().all(is_back);
        self.lent |= u64::from(is_lent) << self.numbers_used;
        self.numbers[self.numbers_used] = number;
        self.unusual[self.numbers_used] = 0;
        self.numbers_used += 1;
        if let Some((variable, value)) = found
            && !self.found[..self.found_used].iter().any(|(v, _)| *v == variable)
        {
            self.found[self.found_used] = (variable, value);
            self.found_used += 1;
        }
    }

    /// The local value of the thread that has this key is there: null if it has none.
    pub fn finds_local(&mut self, key: usize, address: usize) {
        if self.locals[..self.locals_used].contains(&(key, address)) {
            return;
        }
        if self.locals_used == ALL_LOCALS {
            ends(End::Other);
        }
        self.locals[self.locals_used] = (key, address);
        self.locals_used += 1;
    }

    /// The round goes on with this place in the register of a first argument.
    fn has_local(&mut self, address: usize) {
        if let Some(number) = self.locals[..self.locals_used].iter().position(|(_, place)| *place == address) {
            self.origins.is_local(libc::REG_RDI, number);
        }
    }

    /// What the last operation has found, see [`super::States::finds`].
    pub fn finds(&mut self, unusual: u64) {
        if let Some(last) = self.numbers_used.checked_sub(1) {
            self.unusual[last] = unusual;
        }
    }

    /// Before an instruction: whether the trial goes on with it.
    ///
    /// # Safety
    /// The instruction is about to be run, with these registers; the others are in `saved`.
    unsafe fn goes_on(&mut self, registers: &[greg_t], saved: *const u8) -> bool {
        let known: Known = self.instructions.get(registers[libc::REG_RIP as usize] as usize);
        if known.is_more || self.left == 0 || !self.is_on_the_stack(registers[libc::REG_RSP as usize] as usize, 8) {
            return false;
        }
        self.left -= 1;
        // What one that is locked finds does not make it another one: only who counts references exchanges.
        self.next = Next { locks: known.locks, ..Next::OTHER };
        if known.repeats {
            // It tells how often.
            self.origins.looks_at(libc::REG_RCX);
            if registers[libc::REG_RCX as usize] == 0 {
                return true;
            }
        }
        let how = if known.flow.does == Does::Other || known.masked.is_some() { Pieces::Whole } else { Pieces::Words };
        let (mut read, mut write) = ((0, NO_LANES), None);
        for place in known.places() {
            let address = place.address(registers, self.local);
            // SAFETY: as asked for.
            let size = known.masked.map_or(Some(place.size), |masked| unsafe { self.instructions.size(masked, saved) });
            let Some(size) = size else { return false };
            if size == 0 {
                continue;
            }
            let through = self.origins.reaches(place, registers);
            self.next.touches |= self.private.overlaps(address, size);
            // SAFETY: the instruction would access this memory as well.
            if known.locks && !unsafe { self.may_lock(address, size, &known) } {
                return false;
            }
            if place.access != Access::Write {
                // SAFETY: the instruction would access this memory as well.
                match unsafe { self.reads_from(address, size, through, how) } {
                    Some(lanes) => read = (address, lanes),
                    None => return false,
                }
            }
            if place.access != Access::Read {
                // SAFETY: as above.
                if !unsafe { self.writes_to(address, size, through, how) } {
                    return false;
                }
                write = Some((address, size));
            }
        }
        self.origins.flows(&known, registers, read, write);
        true
    }

    /// Looks at what is next. Says whether it was done, too; else the processor goes on.
    ///
    /// # Safety
    /// The handler runs, on a stack of its own, and these are the registers that it goes back to; the others are in `saved`.
    unsafe fn comes_to(trial: *mut Trial, registers: &mut [greg_t], saved: *const u8) -> bool {
        // SAFETY: as the caller says. The reference is not used any more where an instruction is made, which may write to the trial.
        let this = unsafe { &mut *trial };
        this.origins.settle(registers);
        let next = registers[libc::REG_RIP as usize] as usize;
        if next == comes_to_a_local as *const () as usize {
            this.has_local(registers[libc::REG_RDI as usize] as usize);
        }
        if next == fabius_trial_aside as *const () as usize {
            this.is_aside = true;
            this.origins.looks_away(registers);
            registers[libc::REG_EFL as usize] &= !TRAP;
            return false;
        }
        let end = if next == comes_to_an_end as *const () as usize {
            Some(if registers[libc::REG_RDI as usize] == 1 { End::Round } else { End::Other })
        // SAFETY: as the caller says.
        } else if unsafe { this.goes_on(registers, saved) } {
            None
        } else {
            Some(this.ends_before(registers))
        };
        // SAFETY: as the caller says.
        unsafe {
            match end {
                Some(end) => {
                    this.is_over(registers, end);
                    false
                }
                None => {
                    let (instruction, local) = (this.instructions.get(next).instruction, this.local);
                    let Next { touches, to, .. } = this.next;
                    let is_made = emulated::makes(&instruction, registers, local, &mut (*trial).private, to);
                    if !is_made && (touches || to == To::Private) {
                        // The processor would do it to memory itself.
                        (*trial).is_over(registers, End::Other);
                    }
                    is_made
                }
            }
        }
    }

    /// How a trial ends that does not go on with the instruction. Where the processor's clock cannot be read, the kernel is asked.
    fn ends_before(&mut self, registers: &[greg_t]) -> End {
        let known = self.instructions.get(registers[libc::REG_RIP as usize] as usize);
        let asks = known.is_call && registers[libc::REG_RAX as usize] == libc::SYS_clock_gettime;
        if known.tells_time || asks { End::Clock } else { End::Other }
    }

    /// Everything is as it was when the trial began, and the thread goes on there.
    ///
    /// # Safety
    /// The handler runs, on a stack of its own, and the registers are those that it goes back to.
    unsafe fn is_over(&mut self, registers: &mut [greg_t], end: End) {
        self.end = end;
        self.gives_back();
        // SAFETY: what was written to is there.
        self.given_back.extend(self.borrowed.iter().map(|w| unsafe { Read::now(w.address, w.size) }));
        let Start { rbx, rbp, r12, r13, r14, r15, rsp, words } = self.start;
        // SAFETY: what was written to or copied is still there: nobody has given memory back, which would be to write.
        unsafe {
            for before in self.writes.drain(..).rev() {
                ptr::copy_nonoverlapping(before.value.as_ptr(), before.address as *mut u8, before.size);
            }
            // What was kept first is put back last.
            let mut end = self.kept.len();
            for &(address, size) in self.ranges[self.kept_from..self.ranges_used].iter().rev() {
                end -= size;
                ptr::copy_nonoverlapping(self.kept.as_ptr().add(end), address as *mut u8, size);
            }
            for before in self.borrowed.iter().rev().filter(|w| !self.private.overlaps(w.address, w.size)) {
                ptr::copy_nonoverlapping(before.value.as_ptr(), before.address as *mut u8, before.size);
            }
            ptr::copy_nonoverlapping(self.copy.as_ptr(), rsp as *mut u64, words as usize);
            let changed = self.given_back.iter().any(|w| Read::now(w.address, w.size).value != w.value);
            if (changed || self.private.has_changed()) && self.end == End::Round {
                self.end = End::Other;
            }
        }
        let back = self.copy[0];
        let set = [
            (libc::REG_RBX, rbx),
            (libc::REG_RBP, rbp),
            (libc::REG_R12, r12),
            (libc::REG_R13, r13),
            (libc::REG_R14, r14),
            (libc::REG_R15, r15),
            (libc::REG_RSP, rsp + 8),
            (libc::REG_RIP, back),
            (libc::REG_RAX, 1),
        ];
        for (register, value) in set {
            registers[register as usize] = value as greg_t;
        }
        // No trap, and copies go upwards, as calls expect.
        registers[libc::REG_EFL as usize] &= !(TRAP | 0x400);
        UNDER_WAY.set(ptr::null_mut());
    }
}

/// Begins a trial of the thread that has this stack, which has its top there. Returns twice: first as a part of the trial,
/// without an outcome; and then, when all is as it was, with one.
///
/// # Safety
/// The caller runs on the stack. `allow` says what belongs to this crate and may be written to.
#[inline(never)]
pub(super) unsafe fn begins(stack: Range<usize>, top: usize, allow: impl FnOnce(&mut Trial)) -> Option<Outcome> {
    let trial: *mut Trial = TRIAL.with(|trial| &raw mut **trial.borrow_mut().get_or_insert_with(Trial::new));
    // SAFETY: the trial lives until the thread ends. Between the two returns nobody else refers to it.
    unsafe {
        {
            let this = &mut *trial;
            this.stack = stack.start..top;
            this.reads.clear();
            this.writes.clear();
            this.borrowed.clear();
            this.given_back.clear();
            this.private.clear();
            (this.counts, this.lent) = (false, 0);
            this.leaves.clear();
            this.leaves_registers = [NONE; 6];
            this.index.fill(u16::MAX);
            this.origins.begin();
            (this.ranges_used, this.numbers_used, this.found_used, this.locals_used) = (0, 0, 0, 0);
            (this.left, this.points, this.end) = (INSTRUCTIONS, 0, End::Other);
            std::arch::asm!("mov {}, fs:[0]", out(reg) this.local, options(nostack, readonly));
            let words = (top - ptr::from_ref(&trial) as usize) / 8 + 512;
            if words > WORDS {
                return Some(this.outcome());
            }
            if this.copy.len() < words {
                this.copy.resize(words, 0);
            }
            this.written.clear();
            this.written.resize(words, 0);
            this.leaves.reserve(words);
            this.allow(UNDER_WAY.with(Cell::as_ptr) as usize, size_of::<usize>());
            this.allow(trial as usize, size_of::<Trial>());
            (this.kept_from, this.is_aside) = (this.ranges_used, false);
            allow(this);
            this.kept.clear();
            for number in this.kept_from..this.ranges_used {
                let (address, size) = this.ranges[number];
                this.keep(address, size);
            }
        }
        let before = handler_stack::install();
        let (start, copy) = (&raw mut (*trial).start, (*trial).copy.as_mut_ptr());
        UNDER_WAY.set(trial);
        if fabius_trial_begins(start, copy, top) == 0 {
            return None;
        }
        libc::sigaltstack(&before, ptr::null_mut());
        Some((*trial).outcome())
    }
}
