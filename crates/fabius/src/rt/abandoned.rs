//! Stacks of threads that go on no more, because their execution has failed or waits for ever.
//!
//! Nothing on such a stack was dropped, so somebody may still use it: a thread of `std::thread::scope`, which borrows from
//! it, or a list to which something was added that is pinned there. So it stays as it is, like that of a thread that is
//! never scheduled again. When there are many, those to which no memory refers are given back. That is found out as a
//! conservative garbage collector does: all words that the process can write to may be addresses, but for those on these
//! stacks; whatever a stack that stays refers to stays, too.
//!
//! What failed executions have leaked refers to stacks, too. So no more than [`MOST`] stay: those that were kept longest are
//! given back whoever refers to them.
//!
//! Not seen is an address that somebody has only in a register, or not as a word of its own; nor one that another operating
//! system thread moves to and fro meanwhile, nor one in memory that only the kernel can write to by now. Where memory cannot
//! be looked at (other systems than Linux, or another thread has given some back just then), all stay.

use super::fiber::Fiber;
use super::words::{self, Words};
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// As many as there may be before it is looked whether they are needed.
const MANY: usize = 64;

/// As many as may stay. Each takes two mappings, of which Linux allows a process 65,530.
const MOST: usize = 1000;

/// As many as may be added before it is looked again, however much memory there is.
const AT_ONCE: usize = 4000;

/// Bytes that may be looked at for each stack.
const EFFORT: usize = 128 << 10;

/// A fiber that is never resumed.
struct Still {
    fiber: Box<Fiber>,
    /// The word from which on its stack is the test's; what lies below belongs to this crate or to nobody.
    from: usize,
    /// How many were kept before.
    before: u64,
}

// SAFETY: nobody uses it but to give its memory back.
unsafe impl Send for Still {}

struct Kept {
    /// In the order of their addresses, but for those that were added last.
    stacks: Vec<Still>,
    /// So many may there be.
    limit: usize,
    /// How many there have been.
    all: u64,
}

static KEPT: Mutex<Kept> = Mutex::new(Kept { stacks: Vec::new(), limit: MANY, all: 0 });

fn kept() -> MutexGuard<'static, Kept> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the stacks of threads that go on no more, as long as anything refers to them. Frames of the test lie above the
/// address that comes with each; 0 if none is known.
pub(super) fn keep(fibers: Vec<(Box<Fiber>, usize)>) {
    let mut kept = kept();
    for (fiber, lowest) in fibers {
        let before = kept.all;
        kept.all += 1;
        kept.stacks.push(Still { fiber, from: words::number(lowest), before });
    }
    if kept.stacks.len() >= kept.limit {
        kept.give_back();
    }
}

/// Gives back what nobody refers to.
pub(super) fn give_back() {
    kept().give_back();
}

impl Still {
    /// All memory of it, its stack first.
    #[inline(never)]
    fn words(&self) -> [Range<usize>; 3] {
        self.fiber.memory().map(|range| words::number(range.start)..words::number(range.end))
    }

    /// What others may refer to.
    fn lent(&self) -> Range<usize> {
        let [stack, ..] = self.words();
        self.from.max(stack.start)..stack.end
    }
}

impl Kept {
    fn give_back(&mut self) {
        self.stacks.sort_unstable_by_key(|still| still.words()[0].start);
        let looked_at = match needed(&self.stacks) {
            Ok((needed, looked_at)) => {
                let mut needed = needed.into_iter();
                self.stacks.retain(|_| needed.next() == Some(true));
                looked_at
            }
            Err(_) => 0,
        };
        self.give_back_oldest();
        let stay = self.stacks.len();
        self.limit = stay + stay.max(MANY).max((looked_at / EFFORT).min(AT_ONCE));
    }

    /// What failed executions have leaked refers to stacks, too, so that some would stay for ever.
    fn give_back_oldest(&mut self) {
        if self.stacks.len() > MOST {
            let mut ages: Vec<u64> = self.stacks.iter().map(|still| still.before).collect();
            ages.sort_unstable();
            let first = ages[ages.len() - MOST];
            self.stacks.retain(|still| still.before >= first);
        }
    }
}

/// Which of the stacks, in the order of their addresses, anything refers to, and how many bytes were looked at. Numbers of
/// words stand for addresses, so that what is written down here is not taken for such.
///
/// # Errors
/// If memory cannot be looked at.
fn needed(stacks: &[Still]) -> io::Result<(Vec<bool>, usize)> {
    let mut words = Words::open()?;
    let mappings = Words::mappings()?;
    let ranges: Vec<Range<usize>> = stacks.iter().map(Still::lent).collect();
    let mut own: Vec<Range<usize>> = stacks.iter().flat_map(Still::words).collect();
    // What functions that have returned have left on this stack is nobody's.
    let here = words::here();
    own.extend(mappings.iter().find(|mapping| mapping.contains(&here)).map(|mapping| mapping.start..here));
    own.sort_unstable_by_key(|range| range.start);
    let mut needed = vec![false; stacks.len()];
    let mut next: Vec<Range<usize>> = mappings.into_iter().flat_map(|range| without(range, &own)).collect();
    let mut found = Vec::with_capacity(stacks.len());
    let all = ranges.first().map_or(0, |first| first.start)..ranges.last().map_or(0, |last| last.end);
    while let Some(range) = next.pop() {
        words.look(range, |word| {
            if !all.contains(&word) {
                return;
            }
            let at = ranges.partition_point(|range| range.end <= word);
            if ranges.get(at).is_some_and(|range| range.contains(&word)) && !std::mem::replace(&mut needed[at], true) {
                found.push(at);
            }
        })?;
        next.extend(found.drain(..).map(|at: usize| stacks[at].words()[0].clone()));
    }
    Ok((needed, words.looked_at))
}

/// What is left of a range without others, which are in order.
fn without(range: Range<usize>, others: &[Range<usize>]) -> Vec<Range<usize>> {
    let first = others.partition_point(|other| other.end <= range.start);
    let mut from = range.start;
    let mut left = Vec::new();
    for other in others[first..].iter().take_while(|other| other.start < range.end) {
        left.push(from..other.start.max(from));
        from = other.end;
    }
    left.push(from..range.end.max(from));
    left
}
