//! Wakeup trees: which beginnings have to be tried from a dispatch point, so that no execution is begun in vain.
//!
//! Paper: Optimal Dynamic Partial Order Reduction (POPL 2014), sections 3 and 6 (weak initials, insertion).
//!
//! Deviations:
//! 1. A beginning may be cut: behind a step that makes choices, whose other outcomes are tried as well, and in front of a thread
//!    that was not there at the dispatch point, whose number may be another's in another order. All is tried behind its end.
//! 2. Variables that were not there at the dispatch point may have other numbers in another order, too: a step that accesses
//!    one counts as dependent where two orders are compared.

use crate::system::{Access, TaskId};

/// A step of a sequence that has to be tried.
pub(crate) struct Step<'a> {
    pub task: TaskId,
    pub access: Option<Access>,
    /// How many steps of each thread come before it, itself included.
    pub clock: &'a [u32],
    /// Whether a beginning can have it.
    pub is_certain: bool,
}

impl Step<'_> {
    /// Whether an earlier step of the sequence has to stay in front of it.
    fn is_after(&self, earlier: &Step<'_>) -> bool {
        at(self.clock, earlier.task) >= at(earlier.clock, earlier.task) || conflict(self.access, earlier.access)
    }
}

/// The part of a clock that counts the steps of a thread.
pub(crate) fn at(clock: &[u32], task: TaskId) -> u32 {
    clock.get(task as usize).copied().unwrap_or(0)
}

/// Whether the order of two accesses matters.
pub(crate) fn conflict(a: Option<Access>, b: Option<Access>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if a.variable == b.variable && (a.write || b.write))
}

/// How a step of a thread can be the first of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// It is in the sequence, there, and nothing has to stay in front of it.
    Of(usize),
    /// It is not, and nothing in the sequence depends on it.
    Besides,
}

/// Whether what begins with this step of a thread comes to the same as the sequence does, and how (a weak initial).
pub(crate) fn first(steps: &[Step<'_>], task: TaskId, access: Option<Access>) -> Option<First> {
    match steps.iter().position(|step| step.task == task) {
        Some(n) => steps[..n].iter().all(|earlier| !steps[n].is_after(earlier)).then_some(First::Of(n)),
        None => steps.iter().all(|step| !conflict(step.access, access)).then_some(First::Besides),
    }
}

/// The steps that nothing has to stay in front of (initials).
pub(crate) fn initials(steps: &[Step<'_>]) -> Vec<TaskId> {
    let is_first = |n: &usize| first(steps, steps[*n].task, None) == Some(First::Of(*n));
    (0..steps.len()).filter(is_first).map(|n| steps[n].task).collect()
}

/// What is known at a dispatch point.
pub(crate) trait Here {
    /// What a thread that can go on accesses next; `None` if it cannot.
    fn ready(&self, task: TaskId) -> Option<Option<Access>>;

    /// Whether a variable has been announced.
    fn knows(&self, variable: u64) -> bool;
}

/// What is to be tried: beginnings that share their first steps. Behind the last step of each all is tried.
#[derive(Debug, Default)]
pub(crate) struct Tree(Vec<Branch>);

#[derive(Debug)]
struct Branch {
    task: TaskId,
    access: Option<Access>,
    rest: Tree,
}

impl Tree {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes the first step, with what follows it.
    pub fn take_first(&mut self) -> Option<(TaskId, Tree)> {
        (!self.0.is_empty()).then(|| self.0.remove(0)).map(|branch| (branch.task, branch.rest))
    }

    /// Whether it is tried what begins with a step of the thread.
    pub fn begins_with(&self, task: TaskId) -> bool {
        self.0.iter().any(|branch| branch.task == task)
    }

    /// All that begins with a step of the thread is tried.
    pub fn add(&mut self, task: TaskId, access: Option<Access>) {
        match self.0.iter_mut().find(|branch| branch.task == task) {
            Some(branch) => branch.rest = Tree::default(),
            None => self.0.push(Branch { task, access, rest: Tree::default() }),
        }
    }

    /// A sequence has to be tried, unless what is there comes to the same. Says whether that can be: one of the threads that
    /// it can begin with must be ready.
    pub fn insert(&mut self, mut steps: Vec<Step<'_>>, here: &impl Here) -> bool {
        let mut tree = self;
        let mut is_root = true;
        while let Some((n, how)) = tree.find(&steps, is_root, here) {
            if let First::Of(n) = how {
                steps.remove(n);
            }
            tree = &mut tree.0[n].rest;
            is_root = false;
            if tree.0.is_empty() || steps.is_empty() {
                return true;
            }
        }
        if is_root {
            let ready = |n: &usize| {
                let is_first = first(&steps, steps[*n].task, None) == Some(First::Of(*n));
                is_first && here.ready(steps[*n].task).is_some()
            };
            let Some(n) = (0..steps.len()).find(ready) else { return false };
            let step = steps.remove(n);
            steps.insert(0, step);
        }
        let certain = steps.iter().take_while(|step| step.is_certain).count();
        if certain == 0 {
            // What is in front of it has to be tried with all that follows.
            tree.clear();
            return !is_root;
        }
        let branch = |rest: Option<Branch>, step: &Step<'_>| {
            Some(Branch { task: step.task, access: step.access, rest: Tree(rest.into_iter().collect()) })
        };
        tree.0.extend(steps[..certain].iter().rev().fold(None, branch));
        true
    }

    /// The first step here that comes to the same as the sequence does.
    fn find(&self, steps: &[Step<'_>], is_root: bool, here: &impl Here) -> Option<(usize, First)> {
        self.0.iter().enumerate().find_map(|(n, branch)| {
            let access = if is_root { here.ready(branch.task).flatten() } else { branch.access };
            let first = first(steps, branch.task, access)?;
            let is_known = is_root || access.is_none_or(|access| here.knows(access.variable));
            (first != First::Besides || is_known).then_some((n, first))
        })
    }
}
