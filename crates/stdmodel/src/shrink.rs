//! Smaller programs that still show the same.

use crate::program::{Op, Program};

/// Removes threads, operations and loops of retries as long as `fails` holds.
pub fn shrink(program: &Program, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut smallest = program.clone();
    while let Some(smaller) = smaller(&smallest).into_iter().find(|p| fails(p)) {
        smallest = smaller;
    }
    smallest
}

fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    for thread in (1..program.threads.len()).rev() {
        all.push(without(program, thread));
    }
    for (thread, ops) in program.threads.iter().enumerate() {
        for (at, op) in ops.iter().enumerate() {
            let mut less = program.clone();
            less.threads[thread].remove(at);
            less.complete();
            if less != *program {
                all.push(less);
            }
            if let Op::Retry(a, v, tries, hint) = *op {
                let mut less = program.clone();
                less.threads[thread][at] = if tries > 1 { Op::Retry(a, v, tries - 1, hint) } else { Op::Load(a) };
                all.push(less);
            }
        }
    }
    all.retain(|less| weight(less) < weight(program));
    all
}

/// Shrinking makes this smaller, so it ends.
fn weight(program: &Program) -> (usize, usize, usize) {
    let ops = program.threads.iter().flatten();
    let tries = ops.clone().map(|op| if let Op::Retry(.., tries, _) = op { usize::from(*tries) + 1 } else { 0 }).sum();
    // An early join may become the late one that `complete` adds.
    let early = program.threads.iter().flat_map(|ops| {
        let last = ops.iter().rposition(|op| !matches!(op, Op::Join(_))).unwrap_or(0);
        ops.iter().take(last).filter(|op| matches!(op, Op::Join(_)))
    });
    (ops.count(), tries, early.count())
}

fn without(program: &Program, thread: usize) -> Program {
    let mut less = program.clone();
    let gone = thread as u8;
    less.threads.remove(thread);
    for ops in &mut less.threads {
        ops.retain(|op| !matches!(op, Op::Spawn(t) | Op::Join(t) | Op::IsFinished(t) | Op::Unpark(t) if *t == gone));
        for op in ops.iter_mut() {
            if let Op::Spawn(t) | Op::Join(t) | Op::IsFinished(t) | Op::Unpark(t) = op {
                *t -= u8::from(*t > gone);
            }
        }
    }
    less.complete();
    less
}
