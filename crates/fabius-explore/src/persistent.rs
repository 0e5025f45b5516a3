//! Persistent sets within a bound on preemptions: who has to be tried at a point of an execution, found out from what conflicts
//! in all executions.
//!
//! Paper: Bounded Partial-Order Reduction (Coons, Musuvathi, McKinley, OOPSLA 2013), section 5: persistent sets for preemptions,
//! with blocks (`ext`) in place of steps; Dynamic Partial-Order Reduction (POPL 2005): sets that grow when a conflict is seen.
//!
//! At a point `E` a set `P` of threads is tried: whoever ran last if it can go on (to leave it costs 1), otherwise the first
//! that can. Let `w` be any execution from there to its end, `w = u r v`, `u` by threads outside of `P` and `r` the first run (steps
//! without another thread between) of somebody `p` of `P`. A thread *conflicts* with a step if it makes a step that does not commute
//! with it, or is left where it waits to make one: for whoever waits is left for nothing, and must wait still when the step comes
//! before.
//!
//! *If nothing in `u` conflicts with the steps that `p` makes from `E` until it waits*, `r` moves to the front, and `r u v` costs no more.
//! What is paid: to enter `u` (1 if somebody could go on at `E`), in `u`, to leave the last `x` of `u` for `p` (1 if `x` can go on), to leave
//! `p`. Behind: to enter `r` (no more than `u`; 0 if `p` ran last), to leave `p` for `u` (as before, since `p` can go on behind
//! `r` if it could behind `u r`), in `u` the same, to leave `x` for `v` (no more than for `p`). Where `r` goes on behind what `p` waits
//! for at `E`, it is parted there: `p` is left for nothing, and comes back at the price that it came for. *If `p` ran last and can
//! go on, it is enough that nothing in `u` conflicts with its next step*: to leave it behind that costs what it costs now.
//!
//! *If something conflicts*, let `d` be the first in `u`, by `x`. The steps of `p` and what is in `u` before `d` are within the bound,
//! too, in this order; no step of `u` comes after one of `p` in it. Some execution of this class is run (points further on are
//! complete by induction), and whatever `x` does next conflicts with a step of `p` that nothing orders before it: it is seen
//! (`conflicts.rs`). Then `x` is added to `P`; if `E` does not know it, whoever made it; if that one waits at `E`, all are. None of them
//! is in `u`. What a conflict is known of is a past of `p`, whose number is the same in all executions of all orders, so that the cache
//! of classes (`reached.rs`) hides none: of two executions that come to one class, the conflicts of either are the other's.
//!
//! Deviations:
//! 1. Of somebody who is tried and was not last, all later steps count, not those until it waits.
//! 2. Who waits to `join` a thread does not conflict with the end of that if it has only joined since `E`: a run that only joins and then
//!    waits can be made at the beginning of the next run of its thread, for nothing.
//! 3. Where a step may be possible because no other is (limits of time), where steps deviate, or where a step waits for something
//!    unknown, and where memory is short, all is tried at all points, also those passed before.
//!
//! Sleep sets add nothing to this where there is a cache of classes that is asked before a step: both come to each class of beginnings
//! once. It is the beginnings that must become fewer.

use crate::conflicts::{Conflict, History, Thread};
use crate::others::Entry;
use crate::prefixes::{Item, and_then};
use crate::reached::{Class, Given};
use crate::system::TaskId;
use hashbrown::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

/// What is left at all points.
#[derive(Default)]
pub(crate) struct Persistent {
    inner: Mutex<Inner>,
    /// Whether nothing is left at points any more.
    has_given_up: AtomicBool,
}

#[derive(Default)]
struct Inner {
    /// Threads by their names, and who made them.
    names: HashMap<u128, u32, BuildHasherDefault<Given>>,
    parents: Vec<Option<u32>>,
    pasts: HashMap<u128, Past, BuildHasherDefault<Given>>,
    points: Vec<Point>,
    bytes: usize,
}

/// What is known of a thread that has done something: who conflicts with its next step and with any later one, at most so
/// many steps on, and the points that must know of it.
#[derive(Default)]
struct Past {
    next: Vec<(u32, u32)>,
    later: Vec<(u32, u32)>,
    of_next: Vec<u32>,
    of_later: Vec<u32>,
}

/// A point where others than those that are tried could go on.
struct Point {
    path: Box<[Entry]>,
    threads: Vec<Here>,
    left: Vec<Left>,
}

/// A thread at a point, and how many steps besides joins it has made.
struct Here {
    task: TaskId,
    id: u32,
    steps: u32,
    is: Is,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    Over,
    Tried,
    Left,
    Waiting,
}

/// Somebody who may be tried at a point.
pub(crate) struct Left {
    pub task: TaskId,
    /// What it has done before.
    pub past: u128,
    pub cost: u32,
    pub comes_to: Option<Class>,
}

impl Left {
    fn item(self, path: &[Entry]) -> Item {
        Item::new(and_then(path, (self.task, 1)), self.cost, self.comes_to)
    }
}

/// Bytes for points and what they wait for, about.
const MOST: usize = 1 << 29;

impl Persistent {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no worker has panicked")
    }

    /// Whether nothing is left any more.
    pub fn has_given_up(&self) -> bool {
        self.has_given_up.load(Ordering::Relaxed)
    }

    /// At a point that this path leads to, one is tried; `goes_on` says whether to leave it costs something. Appends what must be
    /// tried, too, by what is known.
    pub fn at(
        &self,
        path: &[Entry],
        history: &mut History,
        (tried, goes_on): (TaskId, bool),
        left: Vec<Left>,
        out: &mut Vec<Item>,
    ) {
        let mut inner = self.inner();
        if self.has_given_up() {
            return out.extend(left.into_iter().map(|left| left.item(path)));
        }
        inner.name_all(history);
        let threads = history.threads.iter().enumerate().filter(|(_, thread)| thread.is_born);
        let threads: Vec<Here> = threads
            .map(|(task, thread)| {
                let is = match task as TaskId {
                    _ if thread.has_finished => Is::Over,
                    task if task == tried => Is::Tried,
                    task if left.iter().any(|left| left.task == task) => Is::Left,
                    _ => Is::Waiting,
                };
                Here { task: task as TaskId, id: thread.id.expect("all have names"), steps: thread.steps, is }
            })
            .collect();
        inner.bytes += 200 + path.len() * 8 + threads.len() * 16 + left.len() * 80;
        let number = inner.points.len() as u32;
        inner.points.push(Point { path: path.into(), threads, left });
        inner.waits(number, history.past_of(tried), goes_on, out);
        if inner.bytes > MOST {
            self.gives_up(&mut inner, out);
        }
    }

    /// Learns of conflicts that were found. Appends what must be tried because of them.
    pub fn learn(&self, history: &mut History, out: &mut Vec<Item>) {
        if history.found.is_empty() && !history.is_unknown {
            return;
        }
        let mut inner = self.inner();
        if history.is_unknown {
            self.gives_up(&mut inner, out);
        }
        if self.has_given_up() {
            return history.found.clear();
        }
        inner.name_all(history);
        for conflict in std::mem::take(&mut history.found) {
            inner.conflict(history, conflict, out);
        }
    }

    /// Leaves nothing: all is tried, also where it was left.
    pub fn give_up(&self, out: &mut Vec<Item>) {
        self.gives_up(&mut self.inner(), out);
    }

    /// The same; nobody adds a point in the meantime.
    fn gives_up(&self, inner: &mut Inner, out: &mut Vec<Item>) {
        self.has_given_up.store(true, Ordering::Relaxed);
        for Point { path, left, .. } in inner.points.drain(..) {
            out.extend(left.into_iter().map(|left| left.item(&path)));
        }
        *inner = Inner::default();
    }
}

impl Inner {
    fn name_all(&mut self, history: &mut History) {
        for task in 0..history.threads.len() {
            let Thread { name, parent, id, is_born, .. } = history.threads[task];
            if !is_born || id.is_some() {
                continue;
            }
            // Who makes others has a lower number.
            let parent = parent.and_then(|parent| history.threads[parent as usize].id);
            let new = self.parents.len() as u32;
            let id = *self.names.entry(name).or_insert(new);
            if id == new {
                self.parents.push(parent);
            }
            history.threads[task].id = Some(id);
        }
    }

    /// A point must know who conflicts with the next step, or with any later one, of somebody who is tried there.
    fn waits(&mut self, point: u32, past: u128, next: bool, out: &mut Vec<Item>) {
        let mut open = vec![(past, next)];
        while let Some((past, next)) = open.pop() {
            self.bytes += 8;
            let known = self.pasts.entry(past).or_default();
            let (waiting, with) =
                if next { (&mut known.of_next, &known.next) } else { (&mut known.of_later, &known.later) };
            waiting.push(point);
            for (with, steps) in with.clone() {
                self.must_try(point, with, steps, &mut open, out);
            }
        }
    }

    fn conflict(&mut self, history: &History, conflict: Conflict, out: &mut Vec<Item>) {
        let with = history.threads[conflict.with as usize].id.expect("all have names");
        let pasts = &history.threads[conflict.of as usize].keys[..conflict.step as usize];
        let Some((last, _)) = pasts.split_last() else { return };
        let known = self.pasts.entry(*last).or_default();
        if is_more(&mut known.next, with, conflict.steps) {
            self.bytes += 8;
            let waiting = known.of_next.clone();
            self.tell(&waiting, with, conflict.steps, out);
        }
        for past in pasts.iter().rev() {
            let known = self.pasts.entry(*past).or_default();
            if !is_more(&mut known.later, with, conflict.steps) {
                // So it is for all before.
                break;
            }
            self.bytes += 8;
            let waiting = known.of_later.clone();
            self.tell(&waiting, with, conflict.steps, out);
        }
    }

    fn tell(&mut self, points: &[u32], with: u32, steps: u32, out: &mut Vec<Item>) {
        for point in points {
            let mut open = Vec::new();
            self.must_try(*point, with, steps, &mut open, out);
            for (past, next) in open {
                self.waits(*point, past, next, out);
            }
        }
    }

    /// Somebody conflicts with one who is tried at a point: is tried as well, or all are. What the point must know of then is
    /// appended to `open`.
    fn must_try(&mut self, number: u32, with: u32, steps: u32, open: &mut Vec<(u128, bool)>, out: &mut Vec<Item>) {
        let point = &mut self.points[number as usize];
        if point.left.is_empty() {
            return;
        }
        let mut who = with;
        let one = loop {
            if let Some(here) = point.threads.iter().find(|here| here.id == who) {
                if who == with && steps <= here.steps || matches!(here.is, Is::Over | Is::Tried) {
                    return;
                }
                break (here.is == Is::Left).then_some(here.task);
            }
            let Some(parent) = self.parents[who as usize] else { break None };
            who = parent;
        };
        let Point { path, threads, left } = point;
        let all = std::mem::take(left);
        for one_left in all {
            if one.is_some_and(|one| one != one_left.task) {
                left.push(one_left);
                continue;
            }
            threads.iter_mut().filter(|here| here.task == one_left.task).for_each(|here| here.is = Is::Tried);
            open.push((one_left.past, false));
            out.push(one_left.item(path));
        }
        if left.is_empty() {
            *path = Box::default();
            threads.clear();
            open.clear();
        }
    }
}

/// Notes that a thread conflicts up to so many steps on. Says whether that was not known.
fn is_more(known: &mut Vec<(u32, u32)>, with: u32, steps: u32) -> bool {
    match known.iter_mut().find(|(who, _)| *who == with) {
        Some((_, most)) if *most >= steps => false,
        Some((_, most)) => {
            *most = steps;
            true
        }
        None => {
            known.push((with, steps));
            true
        }
    }
}
