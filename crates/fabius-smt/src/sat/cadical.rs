//! CaDiCaL, with an order of points in time as its external propagator.

use super::First;
use crate::Limits;
use crate::order::Order;
use batsat::{Lit, Var};
use cadical_sys::{CaDiCal, ExternalPropagator, Status, Terminator};
use hashbrown::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// What was said before CaDiCaL gets the question.
#[derive(Default)]
pub struct Kept {
    pub clauses: Vec<Lit>,
    /// Where each clause ends.
    pub ends: Vec<usize>,
    pub preferred: Vec<Lit>,
}

/// CaDiCaL and the order.
pub struct Cadical {
    sat: CaDiCal,
    order: Order,
    /// There are edges that CaDiCaL does not know of yet.
    is_order_new: bool,
    has_solved: bool,
    clauses: u64,
    /// Variables that are true in the last model, and how many variables there were.
    model: Vec<bool>,
    /// The assumptions that the last contradiction needs.
    needed: HashSet<Lit>,
}

impl Cadical {
    pub fn new() -> Cadical {
        let mut sat = CaDiCal::new();
        // The order follows the levels of the solver, which it only can if each literal is on the level of its reasons.
        sat.set("chrono", 0);
        // As batsat does: most gates of a program are false on most paths.
        sat.set("phase", 0);
        Cadical {
            sat,
            order: Order::default(),
            is_order_new: false,
            has_solved: false,
            clauses: 0,
            model: Vec::new(),
            needed: HashSet::new(),
        }
    }

    /// Goes on where another solver gave up.
    pub fn taking_over(kept: Kept, order: &Order) -> Cadical {
        let mut all = Cadical::new();
        let mut start = 0;
        for end in kept.ends {
            all.clause(&kept.clauses[start..end]);
            start = end;
        }
        kept.preferred.into_iter().for_each(|l| all.variable(l, First::True));
        all.order = order.anew();
        all.is_order_new = !order.is_empty();
        all
    }

    pub fn variable(&mut self, literal: Lit, first: First) {
        if first == First::True {
            self.sat.phase(number(literal));
        }
    }

    pub fn clause(&mut self, literals: &[Lit]) {
        self.clauses += 1;
        literals.iter().for_each(|l| self.sat.add(number(*l)));
        self.sat.add(0);
    }

    pub fn point(&mut self) -> u32 {
        self.order.point()
    }

    /// Whether variables may be gone that no clause or assumption has named since.
    pub fn has_solved(&self) -> bool {
        self.has_solved
    }

    /// The edge depends on the fresh literal, if there is one, which the condition implies.
    pub fn before(&mut self, condition: Lit, fresh: Option<Lit>, from: u32, to: u32) {
        if let Some(fresh) = fresh {
            self.clause(&[!condition, fresh]);
        }
        // What held is not known any more.
        self.order = self.order.anew();
        self.order.edge_if(fresh.unwrap_or(condition), from, to);
        self.is_order_new = true;
    }

    pub fn solve(&mut self, assumptions: &[Lit], limits: &Limits<'_>) -> Option<bool> {
        if std::mem::take(&mut self.is_order_new) {
            self.sat.connect_external_propagator(Listener::new(self.order.anew()));
            self.order.conditions().for_each(|l| self.sat.add_observed_var(number(l).abs()));
        }
        self.sat.connect_terminator(Stop { deadline: limits.deadline, stop: Arc::clone(limits.stop) });
        assumptions.iter().for_each(|l| self.sat.assume(number(*l)));
        self.has_solved = true;
        let status = self.sat.solve();
        self.sat.disconnect_terminator();
        self.needed.clear();
        match status {
            Status::SATISFIABLE => {
                let last = self.sat.vars();
                self.model = (1..=last).map(|v| self.sat.val(v) > 0).collect();
                Some(true)
            }
            Status::UNSATISFIABLE => {
                self.needed.extend(assumptions.iter().copied().filter(|l| self.sat.failed(number(*l))));
                Some(false)
            }
            Status::UNKNOWN => None,
        }
    }

    pub fn value(&self, a: Lit) -> Option<bool> {
        self.model.get(a.var().idx() as usize).map(|value| *value == a.sign())
    }

    pub fn is_needed(&self, a: Lit) -> bool {
        self.needed.contains(&a)
    }

    pub fn statistics(&self) -> Vec<(&'static str, u64)> {
        let of = |name| u64::try_from(self.sat.get_statistic_value(name)).unwrap_or(0);
        vec![("clauses", self.clauses), ("conflicts", of("conflicts")), ("propagations", of("propagations"))]
    }
}

/// A literal as CaDiCaL has it.
fn number(a: Lit) -> i32 {
    let variable = a.var().idx() as i32 + 1;
    if a.sign() { variable } else { -variable }
}

fn literal(number: i32) -> Lit {
    Lit::new(Var::unsafe_from_idx(number.unsigned_abs() - 1), number > 0)
}

struct Stop {
    deadline: Option<Instant>,
    stop: Arc<AtomicBool>,
}

impl Terminator for Stop {
    fn terminated(&mut self) -> bool {
        Limits { deadline: self.deadline, stop: &self.stop }.are_hit()
    }
}

/// Follows CaDiCaL's trail.
struct Listener {
    order: Order,
    trail: Vec<Lit>,
    /// How much of the trail has become edges.
    seen: usize,
    /// For each level: how long the trail was.
    levels: Vec<usize>,
    /// A clause to be told, backwards.
    clause: Option<Vec<i32>>,
}

impl Listener {
    fn new(order: Order) -> Listener {
        Listener { order, trail: Vec::new(), seen: 0, levels: Vec::new(), clause: None }
    }

    /// Adds edges, up to the first that closes a cycle.
    fn follow(&mut self) {
        while self.clause.is_none()
            && let Some(literal) = self.trail.get(self.seen).copied()
        {
            match self.order.hold(literal) {
                Ok(()) => self.seen += 1,
                Err(cycle) => self.clause = Some(denied(&cycle)),
            }
        }
    }
}

/// Not all of them hold.
fn denied(literals: &[Lit]) -> Vec<i32> {
    let mut clause: Vec<i32> = literals.iter().map(|l| -number(*l)).collect();
    clause.sort_unstable();
    clause.dedup();
    clause
}

impl ExternalPropagator for Listener {
    fn notify_assignment(&mut self, literals: &[i32]) {
        self.trail.extend(literals.iter().map(|l| literal(*l)));
        self.follow();
    }

    fn notify_new_decision_level(&mut self) {
        self.levels.push(self.trail.len());
        self.order.begin_level();
    }

    fn notify_backtrack(&mut self, level: usize) {
        let Some(length) = self.levels.get(level).copied() else { return };
        self.levels.truncate(level);
        self.trail.truncate(length);
        self.seen = self.seen.min(length);
        self.order.back_to(level);
        self.follow();
    }

    /// Looks at the whole model once more, whatever was followed.
    fn cb_check_found_model(&mut self, model: &[i32]) -> bool {
        let mut order = self.order.anew();
        let cycle = model.iter().find_map(|l| order.hold(literal(*l)).err());
        if let Some(cycle) = &cycle {
            self.clause = Some(denied(cycle));
        }
        cycle.is_none()
    }

    fn cb_has_external_clause(&mut self, is_forgettable: &mut bool) -> bool {
        // What is forgotten is found again.
        *is_forgettable = true;
        self.follow();
        self.clause.is_some()
    }

    fn cb_add_external_clause_lit(&mut self) -> i32 {
        match self.clause.as_mut().map(Vec::pop) {
            Some(Some(literal)) => literal,
            _ => {
                self.clause = None;
                0
            }
        }
    }
}
