//! Which statements touch what other threads touch meanwhile.

use super::callees;
use super::locks::{Locks, Op, is_part_of, step, unreliable};
use fabius_lang::program::*;
use fabius_lang::walk;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A variable, or a field of it, or of all objects of a record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    base: Of,
    fields: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    Global(GlobalId),
    Objects(RecordId),
}

impl Spot {
    fn overlaps(&self, other: &Spot) -> bool {
        self.base == other.base && self.fields.iter().zip(&other.fields).all(|(a, b)| a == b)
    }
}

#[derive(Clone, Debug)]
struct Touch {
    spot: Spot,
    writes: bool,
    /// A part of the lock that the statement is a step on.
    of_its_lock: bool,
}

/// What a statement of a step does.
struct Does {
    accesses: Vec<Touch>,
    /// What it does with a lock that is always taken and given back as it must be.
    op: Option<Op>,
    /// The threads that come to it.
    threads: BTreeSet<usize>,
    held: BTreeSet<super::locks::Lock>,
}

/// The accesses of all statements that are scheduling points.
pub(super) struct Accesses {
    all: Vec<Does>,
    at: HashMap<*const Stmt, usize>,
    by_base: BTreeMap<Of, Vec<usize>>,
    /// Whether there may be more than one thread of each kind.
    several: Vec<bool>,
}

impl Accesses {
    pub(super) fn of(program: &Program, any: &[ProcId], idle: &BTreeSet<GlobalId>) -> Accesses {
        let kinds = kinds(program, any);
        let callees = callees(program);
        let come_to = |p: ProcId| {
            let comes = |(_, (root, _)): &(usize, &(ProcId, bool))| *root == p || callees[*root].contains(&p);
            kinds.iter().enumerate().filter(comes).map(|(kind, _)| kind).collect::<BTreeSet<usize>>()
        };
        let locks = Locks::of(program, kinds.iter().map(|(root, _)| *root));
        let several = kinds.iter().map(|(_, several)| *several).collect();
        let mut accesses = Accesses { all: Vec::new(), at: HashMap::new(), by_base: BTreeMap::new(), several };
        let unreliable = unreliable(program);
        for (p, proc) in program.procs.iter().enumerate() {
            let threads = come_to(p);
            steps(&proc.body, &mut |s| {
                if s.access == Access::Local && !reads_shared(program, s) {
                    return;
                }
                let Some(held) = locks.at(s).cloned() else { return };
                let mut own = Vec::new();
                let step = step(s).filter(|(_, holder)| match holder.base {
                    Base::Global(g) => !unreliable.contains(&g),
                    _ => false,
                });
                collect(program, s, step.map(|(_, holder)| holder), &mut BTreeSet::new(), &mut own);
                own.retain(|a| !matches!(a.spot.base, Of::Global(g) if idle.contains(&g)));
                let n = accesses.all.len();
                for a in &own {
                    let of = accesses.by_base.entry(a.spot.base).or_default();
                    if of.last() != Some(&n) {
                        of.push(n);
                    }
                }
                accesses.at.insert(std::ptr::from_ref(s), n);
                let op = step.map(|(op, _)| op);
                accesses.all.push(Does { accesses: own, op, threads: threads.clone(), held });
            });
        }
        accesses
    }

    /// Whether another thread may do something, while a thread stands in front of the statement, that makes a difference to
    /// it.
    pub(super) fn is_contended(&self, s: &Stmt) -> bool {
        let Some(n) = self.at.get(&std::ptr::from_ref(s)) else { return false };
        let this = &self.all[*n];
        let gives = this.op == Some(Op::Give) && this.accesses.iter().all(|a| a.of_its_lock);
        this.accesses.iter().any(|a| {
            let others = self.by_base.get(&a.spot.base).into_iter().flatten().map(|n| &self.all[*n]);
            let mut others = others.filter(|other| self.at_once(this, other));
            others.any(|other| {
                // Who takes the lock waits meanwhile, and who gives it back fails sooner or later.
                let takes_turns = gives && matches!(other.op, Some(Op::Take | Op::Give));
                other
                    .accesses
                    .iter()
                    .any(|b| (a.writes || b.writes) && a.spot.overlaps(&b.spot) && !(takes_turns && b.of_its_lock))
            })
        })
    }

    /// Whether a thread may come to the one statement while another one stands in front of the other.
    fn at_once(&self, a: &Does, b: &Does) -> bool {
        let two = |a: &usize, b: &usize| a != b || self.several[*a];
        a.threads.iter().any(|x| b.threads.iter().any(|y| two(x, y))) && a.held.is_disjoint(&b.held)
    }
}

/// The procedures that threads begin with, and whether there may be several of each. Nobody runs beside an `init` that makes
/// no threads.
fn kinds(program: &Program, any: &[ProcId]) -> Vec<(ProcId, bool)> {
    let mut all: Vec<(ProcId, bool)> = program
        .processes
        .iter()
        .map(|p| (p.proc, any.contains(&p.proc) || p.count.is_none_or(|count| count > 1)))
        .collect();
    let (mut spawned, mut once) = (BTreeMap::<ProcId, u32>::new(), BTreeSet::new());
    for proc in &program.procs {
        walk::statements(&proc.body, &mut |s| {
            if let StmtKind::Spawn(_, p, _) = s.kind {
                *spawned.entry(p).or_default() += 1;
            }
        });
    }
    if let Some(init) = program.init {
        made_once(&program.procs[init].body, &mut once);
        let called = callees(program).iter().any(|all| all.contains(&init)) || spawned.contains_key(&init);
        if called {
            once.clear();
        }
        if !spawned.is_empty() {
            all.push((init, false));
        }
    }
    all.extend(spawned.iter().map(|(p, sites)| (*p, *sites > 1 || !once.contains(p))));
    let mut merged: BTreeMap<ProcId, bool> = BTreeMap::new();
    for (p, several) in all {
        merged.entry(p).and_modify(|s| *s = true).or_insert(several);
    }
    merged.into_iter().collect()
}

/// Calls `f` with every statement that is a step of its own, or begins one.
fn steps<'p>(block: &'p Block, f: &mut dyn FnMut(&'p Stmt)) {
    for s in block {
        f(s);
        match &s.kind {
            StmtKind::If(_, a, b) => {
                steps(a, f);
                steps(b, f);
            }
            StmtKind::While(_, b) => steps(b, f),
            _ => {}
        }
    }
}

/// What a block spawns outside of loops.
fn made_once(block: &Block, out: &mut BTreeSet<ProcId>) {
    for s in block {
        match &s.kind {
            StmtKind::Spawn(_, p, _) => drop(out.insert(*p)),
            StmtKind::If(_, a, b) => {
                made_once(a, out);
                made_once(b, out);
            }
            StmtKind::Atomic(b) => made_once(b, out),
            _ => {}
        }
    }
}

fn spot(program: &Program, p: &Place) -> Option<Spot> {
    let base = match p.base {
        Base::Local(_) => return None,
        Base::Global(g) if program.globals[g].per_thread => return None,
        Base::Global(g) => Of::Global(g),
        Base::Heap(_, r) => Of::Objects(r),
    };
    let field = |step: &Projection| match step {
        Projection::Field(f) => Some(*f),
        Projection::Index { .. } => None,
    };
    Some(Spot { base, fields: p.path.iter().map_while(field).collect() })
}

/// Whether a statement that is no scheduling point touches shared variables all the same, as an invariant does.
fn reads_shared(program: &Program, s: &Stmt) -> bool {
    let mut own = Vec::new();
    of_one(program, s, None, &mut own);
    !own.is_empty()
}

fn of_one(program: &Program, s: &Stmt, lock: Option<&Place>, out: &mut Vec<Touch>) {
    let mut add = |p: &Place, writes: bool| {
        if let Some(spot) = spot(program, p) {
            let of_its_lock = lock.is_some_and(|holder| is_part_of(p, holder));
            out.push(Touch { spot, writes, of_its_lock });
        }
    };
    walk::written(s).into_iter().for_each(|p| add(p, true));
    for e in walk::expressions(s) {
        walk::each(e, &mut |e| {
            if let ExprKind::Read(p) = &e.kind {
                add(p, false);
            }
        });
    }
}

/// What a statement touches in its step: one that cannot be left in the middle with all that is in it.
fn collect(program: &Program, s: &Stmt, lock: Option<&Place>, seen: &mut BTreeSet<ProcId>, out: &mut Vec<Touch>) {
    of_one(program, s, lock, out);
    let StmtKind::Atomic(block) = &s.kind else { return };
    whole(program, block, lock, seen, out);
}

fn whole(program: &Program, block: &Block, lock: Option<&Place>, seen: &mut BTreeSet<ProcId>, out: &mut Vec<Touch>) {
    walk::statements(block, &mut |s| {
        of_one(program, s, lock, out);
        if let StmtKind::Call(_, p, _) = s.kind
            && seen.insert(p)
        {
            whole(program, &program.procs[p].body, None, seen, out);
        }
    });
}
