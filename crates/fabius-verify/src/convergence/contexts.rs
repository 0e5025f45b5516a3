//! What is reachable within a context, within two, and so on: exactly, whatever the height of the stacks.
//!
//! Paper: Context-Bounded Model Checking of Concurrent Software (TACAS 2005), section 4: what is reachable within `k` contexts is a
//! finite union of control states with a regular set of stacks for each thread, and one context of a thread is `post*` of its
//! pushdown system. CUBA (PLDI 2018), section 4: when `k` contexts reach no more than `k - 1` do, no number of contexts does.
//!
//! Deviations:
//! 1. CUBA asks that when it compares explicit sets, where each context reaches finitely many. Here the members of the union are
//!    compared, which have equal sets of stacks if these are equal as sets ([`super::stacks`]). When a context leads to no new
//!    member, no further one does, because what follows a member depends on it alone. Where the union goes on growing though what
//!    it covers does not, this does not end; [`super::cover`] may know then.
//!
//! Sound: the automata of `post*` are exact (Schwoon, Model-Checking Pushdown Systems, 2002, section 3.1), with returns that look at
//! the caller, too ([`super::steps`]): a return is a rule that takes two symbols, and is made for each pair of a top and what the
//! automaton has beneath it, whichever of both came first. So the least number of contexts of a bug is exact, too.

use super::cover::Failure;
use super::stacks::{self, Stacks, State};
use super::steps::{Control, Move, Next, Phase, Steps, Symbol};
use fabius_explore::system::TaskId;
use fabius_smt::Limits;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// What was found out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reached {
    /// All contexts, and none of them fails.
    All,
    /// It fails in so many contexts, and not in fewer.
    Fails(u32, Failure),
    /// It does not fail in so many contexts; more were not looked at.
    TooMuch(u32),
    /// A limit was hit when so many contexts were looked at.
    Stopped(u32),
}

/// Members of the union, and tops of automata, that are looked at.
const MOST: usize = 3_000_000;

/// Who has finished has no stacks.
const NONE: u32 = u32::MAX;

/// A control state, and the number of each thread's set of stacks.
type Member = Rc<[u32]>;

/// What a context of a thread leads to.
struct Led {
    control: Control,
    stacks: u32,
    born: Vec<(TaskId, Symbol)>,
}

struct Contexts<'a, 'p> {
    steps: &'a mut Steps<'p>,
    limits: &'a Limits<'a>,
    sets: Vec<Rc<Stacks>>,
    number: HashMap<Rc<Stacks>, u32>,
    led: HashMap<(Control, u32), Rc<[Led]>>,
    known: HashSet<Member>,
    work: usize,
    failure: Option<Failure>,
}

/// Why it ends.
enum End {
    Stopped,
    TooMuch,
}

/// Reaches what more and more contexts reach. `deadlock`: whether that nobody can go on is a bug.
pub fn reach(steps: &mut Steps<'_>, deadlock: bool, limits: &Limits<'_>) -> Reached {
    let (control, born) = steps.first();
    let mut contexts = Contexts {
        steps,
        limits,
        sets: Vec::new(),
        number: HashMap::new(),
        led: HashMap::new(),
        known: HashSet::new(),
        work: 0,
        failure: None,
    };
    let mut level = Vec::new();
    let first = contexts.with(Vec::new(), control, &born);
    let mut ended = contexts.settle(first, deadlock, &mut level);
    for count in 0.. {
        if let Some(failure) = contexts.failure {
            return Reached::Fails(count, failure);
        }
        match ended {
            Err(End::Stopped) => return Reached::Stopped(count),
            Err(End::TooMuch) => return Reached::TooMuch(count),
            Ok(()) if level.is_empty() => return Reached::All,
            Ok(()) => {}
        }
        let before = std::mem::take(&mut level);
        ended = before.iter().try_for_each(|member| match contexts.failure {
            Some(_) => Ok(()),
            None => contexts.context(member, deadlock, &mut level),
        });
    }
    unreachable!("there is no last number of contexts")
}

/// Where the stacks of a thread are in a member.
fn place(thread: TaskId) -> usize {
    1 + thread as usize
}

impl Contexts<'_, '_> {
    /// One more context of each thread. Whoever has run may run on: that leads to nothing new.
    fn context(&mut self, member: &Member, deadlock: bool, level: &mut Vec<Member>) -> Result<(), End> {
        for thread in self.steps.alive(member[0]) {
            let control = self.steps.begun(member[0], thread);
            for led in self.lead(control, thread, member[place(thread)])?.iter() {
                self.follow(member, thread, led, deadlock, level)?;
            }
        }
        Ok(())
    }

    fn follow(
        &mut self,
        member: &Member,
        thread: TaskId,
        led: &Led,
        deadlock: bool,
        level: &mut Vec<Member>,
    ) -> Result<(), End> {
        let mut new = member.to_vec();
        new[place(thread)] = led.stacks;
        let new = self.with(new, led.control, &led.born);
        self.settle(new, deadlock, level)
    }

    /// New threads do what comes before their first access; then it is a member.
    fn settle(&mut self, member: Member, deadlock: bool, level: &mut Vec<Member>) -> Result<(), End> {
        if !self.known.insert(Rc::clone(&member)) {
            return Ok(());
        }
        let Phase::Prefix(thread) = self.steps.phase(member[0]) else {
            if deadlock && self.may_be_stuck(&member) {
                self.failure = self.failure.or(Some(Failure::Deadlock));
            }
            level.push(member);
            return Ok(());
        };
        for led in self.lead(member[0], thread, member[place(thread)])?.iter() {
            self.follow(&member, thread, led, deadlock, level)?;
        }
        Ok(())
    }

    /// Whether each thread has a top with which it cannot go on.
    fn may_be_stuck(&mut self, member: &Member) -> bool {
        let mut somebody = false;
        for thread in self.steps.alive(member[0]) {
            let stacks = Rc::clone(&self.sets[member[place(thread)] as usize]);
            if stacks.0[0].next.iter().all(|(top, _)| self.steps.is_ready(member[0], thread, *top)) {
                return false;
            }
            somebody = true;
        }
        somebody
    }

    fn with(&mut self, mut member: Vec<u32>, control: Control, born: &[(TaskId, Symbol)]) -> Member {
        let most = born.iter().map(|(thread, _)| place(*thread) + 1).max().unwrap_or(0);
        member.resize(member.len().max(most).max(1), NONE);
        member[0] = control;
        for (thread, top) in born {
            member[place(*thread)] = self.number_of(stacks::single(*top));
        }
        member.into()
    }

    fn number_of(&mut self, stacks: Stacks) -> u32 {
        if let Some(number) = self.number.get(&stacks) {
            return *number;
        }
        let (number, stacks) = (self.sets.len() as u32, Rc::new(stacks));
        self.sets.push(Rc::clone(&stacks));
        self.number.insert(stacks, number);
        number
    }

    /// What the thread that has just begun a step, or does what is before its first access, leads to in this context.
    fn lead(&mut self, control: Control, thread: TaskId, set: u32) -> Result<Rc<[Led]>, End> {
        if let Some(led) = self.led.get(&(control, set)) {
            return Ok(Rc::clone(led));
        }
        let stacks = Rc::clone(&self.sets[set as usize]);
        let mut post = Post::new(self.steps, thread, &stacks, control);
        while let Some((control, top, node)) = post.open.pop() {
            self.work += 1;
            if self.work.is_multiple_of(1024) && self.limits.are_hit() {
                return Err(End::Stopped);
            }
            if self.work > MOST || post.steps.is_full() {
                return Err(End::TooMuch);
            }
            post.follow(control, top, node);
        }
        let Post { rests, nodes, ended, failure, .. } = post;
        self.failure = self.failure.or(failure);
        let mut led: Vec<Led> = Vec::new();
        for (control, tops) in rests {
            let stacks = stacks::of(&tops, &nodes).ok_or(End::TooMuch)?;
            led.push(Led { control, stacks: self.number_of(stacks), born: Vec::new() });
        }
        led.extend(ended.into_iter().map(|(control, born)| Led { control, stacks: NONE, born }));
        let led: Rc<[Led]> = led.into();
        self.led.insert((control, set), Rc::clone(&led));
        Ok(led)
    }
}

/// `post*` of one thread.
struct Post<'a, 'p> {
    steps: &'a mut Steps<'p>,
    thread: TaskId,
    /// Whether it goes on where anybody might: not where a prefix ends.
    goes_on: bool,
    known: HashSet<(Control, Symbol, u32)>,
    open: Vec<(Control, Symbol, u32)>,
    /// What is beneath a top: those of the set of stacks, then one for each call.
    nodes: Vec<State>,
    called: HashMap<(Control, Symbol), u32>,
    /// By node: who returns to it.
    returning: Vec<Vec<(Control, Symbol)>>,
    /// The tops that are there when the thread may be left.
    rests: HashMap<Control, Vec<(Symbol, u32)>>,
    /// It has finished.
    ended: HashSet<(Control, Vec<(TaskId, Symbol)>)>,
    failure: Option<Failure>,
}

impl<'a, 'p> Post<'a, 'p> {
    fn new(steps: &'a mut Steps<'p>, thread: TaskId, stacks: &Stacks, control: Control) -> Post<'a, 'p> {
        let goes_on = matches!(steps.phase(control), Phase::Step(..));
        let nodes = stacks.0.clone();
        let mut post = Post {
            steps,
            thread,
            goes_on,
            known: HashSet::new(),
            open: Vec::new(),
            returning: vec![Vec::new(); nodes.len()],
            nodes,
            called: HashMap::new(),
            rests: HashMap::new(),
            ended: HashSet::new(),
            failure: None,
        };
        let rest = control;
        for (top, node) in &stacks.0[0].next {
            // Who waits does not begin.
            if !goes_on || post.steps.is_ready(rest, thread, *top) {
                post.add(control, *top, *node);
            }
        }
        post
    }

    fn add(&mut self, control: Control, top: Symbol, node: u32) {
        if self.known.insert((control, top, node)) {
            self.open.push((control, top, node));
        }
    }

    fn follow(&mut self, control: Control, top: Symbol, node: u32) {
        match self.steps.phase(control) {
            Phase::Rest => {
                self.rests.entry(control).or_default().push((top, node));
                if self.goes_on && self.steps.is_ready(control, self.thread, top) {
                    let control = self.steps.begun(control, self.thread);
                    self.add(control, top, node);
                }
                return;
            }
            Phase::Prefix(other) if other != self.thread => {
                self.rests.entry(control).or_default().push((top, node));
                return;
            }
            Phase::Prefix(_) | Phase::Step(..) => {}
        }
        match self.steps.step(control, top) {
            Move::Goes(all) => self.all(&all, node),
            Move::Returns => {
                self.returning[node as usize].push((control, top));
                if self.nodes[node as usize].ends {
                    let all = self.steps.back(control, top, None);
                    self.all(&all, node);
                }
                for (caller, beneath) in self.nodes[node as usize].next.clone() {
                    let all = self.steps.back(control, top, Some(caller));
                    self.all(&all, beneath);
                }
            }
        }
    }

    /// Adds what follows, where this node is beneath the lowest of the frames.
    fn all(&mut self, all: &[Next], node: u32) {
        for next in all {
            match next {
                Next::Fault(fault, _) => self.failure = self.failure.or(Some(Failure::Fault(*fault))),
                Next::Goes { control, frames, born, .. } => match frames.as_slice() {
                    [] => drop(self.ended.insert((*control, born.clone()))),
                    [top] => self.add(*control, *top, node),
                    [caller, top] => self.call(*control, *caller, *top, node),
                    _ => unreachable!("a statement calls once"),
                },
            }
        }
    }

    fn call(&mut self, control: Control, caller: Symbol, top: Symbol, beneath: u32) {
        let new = self.nodes.len() as u32;
        let node = *self.called.entry((control, top)).or_insert(new);
        if node == new {
            self.nodes.push(State::default());
            self.returning.push(Vec::new());
        }
        if !self.nodes[node as usize].next.contains(&(caller, beneath)) {
            self.nodes[node as usize].next.push((caller, beneath));
            for (control, top) in self.returning[node as usize].clone() {
                let all = self.steps.back(control, top, Some(caller));
                self.all(&all, beneath);
            }
        }
        self.add(control, top, node);
    }
}
