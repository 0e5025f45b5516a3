//! Whether what some rounds reach is all that is reachable: an invariant over any two threads of any number.
//!
//! Paper: Abdulla, Haziza, Holík: All for the price of few: parameterized verification through view abstraction
//! (VMCAI 2013). Sequentializing Parameterized Programs (2011/12) bounds rounds and says nothing of when they suffice.
//!
//! A *view* is the shared state, where the threads of a declared number are, and where two of those of any number are. The
//! least set of views that contains the initial ones, and with all views of three threads those that a step of one of them
//! leads to, contains the views of every reachable state, for any number of threads and rounds (theorem 1 there, for
//! views of two). So if no view in the set lets an assertion fail, none fails.
//!
//! Deviations:
//! 1. Steps of threads of a declared number are taken as they are: each view holds all of them.
//! 2. Sets of views are decision diagrams. Procedures are taken in place, so recursion is refused.

use super::diagram::{Done, Renaming, and_exists};
use super::reach::{Reach, Stopped};
use super::steps::{Moves, Own, Steps, Template, pairs, with_steps};
use super::{GaveUp, NotSequential, Set, Statistics};
use fabius_smt::Limits;
use oxidd::{BooleanFunction, BooleanFunctionQuant};

/// What is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// No assertion fails, whatever the number of threads and of rounds.
    Holds,
    /// Nothing: some view lets an assertion fail, which need not be reachable.
    Open,
    /// Nothing: a procedure is recursive.
    Recursive,
}

/// Looks for an invariant of all reachable views, with so many nodes of diagrams.
///
/// # Errors
/// [`NotSequential`].
pub fn invariant(
    template: &Template<'_>,
    nodes: usize,
    limits: &Limits<'_>,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<(Result<Invariant, GaveUp>, Statistics), NotSequential> {
    let own = 2 * template.declared.len();
    let answer = with_steps(template, nodes, own, |steps, reach| holds(steps, reach, limits, progress))?;
    let Some((holds, statistics)) = answer else {
        return Ok((Ok(Invariant::Recursive), Statistics::default()));
    };
    Ok((holds.map(|holds| if holds { Invariant::Holds } else { Invariant::Open }), statistics))
}

fn holds(
    steps: &Steps<'_, '_>,
    reach: &mut Reach<'_>,
    limits: &Limits<'_>,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<bool, Stopped> {
    let starts = reach.program_ends(limits, progress)?;
    if reach.has_failed() {
        return Ok(false);
    }
    let Moves { shared: [now, then], threads: [one, two, next, three], step, bad, .. } =
        steps.moves(reach, limits, progress)?;
    reach.narrow()?;
    let (d, layout) = (reach.diagrams(), reach.layout());
    let renaming = |all: &[Vec<(u32, u32)>]| d.renaming(all.concat());
    // Steps of the threads of a declared number, on variables of their own.
    let first = layout.bits * 4 + 4 * steps.bits as u32;
    let size = one.len() as u32;
    let block =
        |i: usize, after: u32| -> Own { (0..size).map(|v| first + (2 * i as u32 + after) * size + v).collect() };
    let declared: Vec<(Set, Set, Renaming, Set)> = (0..steps.template.declared.len())
        .map(|i| {
            let (here, there) = (block(i, 0), block(i, 1));
            let to = renaming(&[pairs(&one, &here), pairs(&next, &there)])?;
            let back = renaming(&[pairs(&then, &now), pairs(&there, &here)])?;
            Ok((to.of(&step)?, to.of(&bad)?, back, d.cube(here.into_iter().chain(now.iter().copied()))?))
        })
        .collect::<Done<_>>()?;
    let of_third = renaming(&[pairs(&one, &three)])?.of(&step.exists(&d.cube(next.iter().copied())?)?)?;
    let swap = renaming(&[pairs(&one, &two), pairs(&two, &one)])?;
    let with_third = renaming(&[pairs(&two, &three)])?;
    let second_with_third = renaming(&[pairs(&one, &two), pairs(&two, &three)])?;
    let forward = renaming(&[pairs(&then, &now), pairs(&next, &one)])?;
    let only_shared = renaming(&[pairs(&then, &now)])?;
    let gone = d.cube(now.iter().chain(&one).copied())?;
    let gone_third = d.cube(now.iter().chain(&three).copied())?;

    let mut views = begin(steps, reach, &starts, &swap, &|i| block(i, 0), &one)?;
    loop {
        if limits.are_hit() {
            return Err(Stopped::Limit);
        }
        if views.and(&bad)?.satisfiable() {
            return Ok(false);
        }
        let before = views.clone();
        for (step, bad, back, gone) in &declared {
            if views.and(bad)?.satisfiable() {
                return Ok(false);
            }
            views = views.or(&back.of(&and_exists(&views, step, gone)?)?)?;
        }
        let moved = forward.of(&and_exists(&views, &step, &gone)?)?;
        views = views.or(&moved)?.or(&swap.of(&moved)?)?;
        let three = views.and(&with_third.of(&views)?)?.and(&second_with_third.of(&views)?)?;
        views = views.or(&only_shared.of(&and_exists(&three, &of_third, &gone_third)?)?)?;
        progress(&reach.statistics);
        if views == before {
            return Ok(true);
        }
    }
}

/// The views of all threads at their entries, behind `init`.
fn begin(
    steps: &Steps<'_, '_>,
    reach: &mut Reach<'_>,
    starts: &Set,
    swap: &Renaming,
    block: &dyn Fn(usize) -> Own,
    one: &[u32],
) -> Result<Set, Stopped> {
    let (shared, threads) = steps.begin(reach, starts, one)?;
    let (declared, any) = threads.split_at(steps.template.declared.len());
    let d = reach.diagrams();
    let some = any.iter().try_fold(d.none.clone(), |all, one| all.or(one))?;
    let mut views = shared.and(&some)?.and(&swap.of(&some)?)?;
    for (i, thread) in declared.iter().enumerate() {
        let to = d.renaming(one.iter().copied().zip(block(i)))?;
        views = views.and(&to.of(thread)?)?;
    }
    Ok(views)
}
