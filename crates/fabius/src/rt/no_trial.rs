//! Where nothing can be tried out: see `trial.rs`.

use super::Here;
use super::moved::{Origin, Origins};
use super::remains::Leaves;
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Round,
    Other,
    #[expect(dead_code, reason = "no trial comes to a clock")]
    Clock,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub address: usize,
    pub size: usize,
    pub value: [u8; 64],
    pub through: Origin,
    pub is_ours: bool,
    pub rewritten: bool,
}

/// There is none.
pub(super) struct Trial {
    pub points: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub end: End,
    pub reads: Vec<Read>,
    pub origins: Origins,
    pub registers: [u64; 6],
    pub numbers: Vec<u64>,
    pub unusual: Vec<u64>,
    pub found: Vec<(usize, u64)>,
    pub locals: Vec<(usize, usize)>,
    pub borrows: bool,
    pub lent: u64,
    pub leaves: Vec<Leaves>,
    pub leaves_registers: [Origin; 6],
    pub instructions: u32,
}

impl Trial {
    pub fn allow(&mut self, _: usize, _: usize) {}

    pub fn operation(&mut self, _: u64, _: Option<(usize, u64)>) {}

    pub fn finds(&mut self, _: u64) {}

    pub fn comes_back(&mut self, _: &Here) {}

    pub fn finds_local(&mut self, _: usize, _: usize) {}
}

pub(super) fn work(_: Range<usize>, _: usize) -> bool {
    false
}

pub(super) fn current() -> Option<&'static mut Trial> {
    None
}

pub(super) fn probe(_: usize, _: usize) -> Option<Read> {
    None
}

/// # Safety
/// None is needed.
#[cfg_attr(not(target_os = "linux"), expect(dead_code))]
pub(super) unsafe fn has_probed(_: *mut std::ffi::c_void) -> bool {
    false
}

pub(crate) fn aside<R>(what: impl FnOnce() -> R) -> R {
    what()
}

pub(crate) fn counting<R>(what: impl FnOnce() -> R) -> R {
    what()
}

pub(super) fn goes_on_with_local(address: usize) -> usize {
    address
}

pub(super) fn ends(end: End) -> ! {
    unreachable!("{end:?} of a trial that never began")
}

/// # Safety
/// None is needed.
pub(super) unsafe fn begins(_: Range<usize>, _: usize, _: impl FnOnce(&mut Trial)) -> Option<Outcome> {
    let (reads, origins, registers) = (Vec::new(), Origins::default(), [0; 6]);
    let (numbers, unusual, found, locals) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (end, borrows, lent, instructions) = (End::Other, false, 0, 0);
    let (leaves, leaves_registers) = (Vec::new(), [0; 6]);
    Some(Outcome {
        end,
        reads,
        origins,
        registers,
        numbers,
        unusual,
        found,
        locals,
        borrows,
        lent,
        leaves,
        leaves_registers,
        instructions,
    })
}
