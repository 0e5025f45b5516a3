//! Circuits as clauses: each gate is a fresh variable and the clauses that define it (Tseitin), made only once.

use crate::Limits;
use crate::sat::{First, Sat, SatSolver};
use batsat::Lit;
use hashbrown::HashMap;

/// A circuit under construction, and the solver that it is given to.
pub(crate) struct Gates {
    sat: Sat,
    yes: Lit,
    ands: HashMap<(Lit, Lit), Lit>,
    xors: HashMap<(Lit, Lit), Lit>,
    muxes: HashMap<(Lit, Lit, Lit), Lit>,
}

impl Gates {
    pub fn new(sat_solver: SatSolver) -> Gates {
        let mut sat = Sat::new(sat_solver);
        let yes = sat.variable(First::False);
        sat.clause(&mut vec![yes]);
        Gates { sat, yes, ands: HashMap::new(), xors: HashMap::new(), muxes: HashMap::new() }
    }

    /// A literal that is always this.
    pub fn constant(&self, value: bool) -> Lit {
        if value { self.yes } else { !self.yes }
    }

    /// Whether a literal is always true or always false.
    pub fn is_constant(&self, a: Lit) -> Option<bool> {
        (a.var() == self.yes.var()).then(|| a == self.yes)
    }

    pub fn fresh(&mut self) -> Lit {
        self.sat.variable(First::False)
    }

    /// A new literal that the solver tries to make true first.
    pub fn preferred(&mut self) -> Lit {
        self.sat.variable(First::True)
    }

    pub fn clause(&mut self, literals: &[Lit]) {
        let mut clause: Vec<Lit> = literals.iter().copied().filter(|l| *l != !self.yes).collect();
        if !clause.contains(&self.yes) {
            self.sat.clause(&mut clause);
        }
    }

    pub fn and(&mut self, a: Lit, b: Lit) -> Lit {
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        match (self.is_constant(a), self.is_constant(b)) {
            (Some(true), _) => return b,
            (_, Some(true)) => return a,
            (Some(false), _) | (_, Some(false)) => return !self.yes,
            _ if a == b => return a,
            _ if a == !b => return !self.yes,
            _ => {}
        }
        if let Some(known) = self.ands.get(&(a, b)) {
            return *known;
        }
        let out = self.fresh();
        self.clause(&[!out, a]);
        self.clause(&[!out, b]);
        self.clause(&[out, !a, !b]);
        self.ands.insert((a, b), out);
        out
    }

    pub fn or(&mut self, a: Lit, b: Lit) -> Lit {
        !self.and(!a, !b)
    }

    pub fn all(&mut self, literals: &[Lit]) -> Lit {
        let mut list: Vec<Lit> = literals.iter().copied().filter(|l| *l != self.yes).collect();
        list.sort_unstable();
        list.dedup();
        if list.contains(&!self.yes) || list.iter().any(|l| list.binary_search(&!*l).is_ok()) {
            return !self.yes;
        }
        match list.as_slice() {
            [] => self.yes,
            [a] => *a,
            [a, b] => self.and(*a, *b),
            many => {
                let out = self.fresh();
                for l in many {
                    self.clause(&[!out, *l]);
                }
                let mut long: Vec<Lit> = many.iter().map(|l| !*l).collect();
                long.push(out);
                self.clause(&long);
                out
            }
        }
    }

    pub fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        match (self.is_constant(a), self.is_constant(b)) {
            (Some(value), _) => return if value { !b } else { b },
            (_, Some(value)) => return if value { !a } else { a },
            _ if a == b => return !self.yes,
            _ if a == !b => return self.yes,
            _ => {}
        }
        // Signs move to the output.
        let flip = !a.sign() ^ !b.sign();
        let (p, q) = (Lit::new(a.var(), true), Lit::new(b.var(), true));
        let (p, q) = if p <= q { (p, q) } else { (q, p) };
        let out = match self.xors.get(&(p, q)) {
            Some(known) => *known,
            None => {
                let out = self.fresh();
                self.clause(&[!out, p, q]);
                self.clause(&[!out, !p, !q]);
                self.clause(&[out, !p, q]);
                self.clause(&[out, p, !q]);
                self.xors.insert((p, q), out);
                out
            }
        };
        if flip { !out } else { out }
    }

    pub fn same(&mut self, a: Lit, b: Lit) -> Lit {
        !self.xor(a, b)
    }

    /// `if c then a else b`.
    pub fn mux(&mut self, c: Lit, a: Lit, b: Lit) -> Lit {
        match self.is_constant(c) {
            Some(true) => return a,
            Some(false) => return b,
            None => {}
        }
        if a == b {
            return a;
        }
        match (self.is_constant(a), self.is_constant(b)) {
            (Some(true), _) => return self.or(c, b),
            (Some(false), _) => return self.and(!c, b),
            (_, Some(true)) => return self.or(!c, a),
            (_, Some(false)) => return self.and(c, a),
            _ if a == !b => return self.same(c, a),
            _ => {}
        }
        if !c.sign() {
            return self.mux(!c, b, a);
        }
        if let Some(known) = self.muxes.get(&(c, a, b)) {
            return *known;
        }
        let out = self.fresh();
        self.clause(&[!c, !a, out]);
        self.clause(&[!c, a, !out]);
        self.clause(&[c, !b, out]);
        self.clause(&[c, b, !out]);
        // What both sides agree on does not depend on the condition.
        self.clause(&[!a, !b, out]);
        self.clause(&[a, b, !out]);
        self.muxes.insert((c, a, b), out);
        out
    }

    /// Sum and carry of three bits.
    pub fn full_adder(&mut self, a: Lit, b: Lit, c: Lit) -> (Lit, Lit) {
        let half = self.xor(a, b);
        let sum = self.xor(half, c);
        let both = self.and(a, b);
        let through = self.and(half, c);
        (sum, self.or(both, through))
    }

    /// A new point in time.
    pub fn point(&mut self) -> u32 {
        self.sat.point()
    }

    /// When the literal holds, one point is before the other.
    pub fn before(&mut self, condition: Lit, from: u32, to: u32) {
        self.sat.before(condition, from, to);
    }

    /// `None`: gave up.
    pub fn solve(&mut self, assumptions: &[Lit], limits: &Limits<'_>) -> Option<bool> {
        if limits.are_hit() { None } else { self.sat.solve(assumptions, limits) }
    }

    /// The value of a literal in the model that was found last; `None` if it does not matter.
    pub fn value(&self, a: Lit) -> Option<bool> {
        self.sat.value(a)
    }

    /// Whether the last contradiction needs this assumption.
    pub fn is_needed(&mut self, a: Lit) -> bool {
        self.sat.is_needed(a)
    }

    pub fn statistics(&self) -> Vec<(&'static str, u64)> {
        self.sat.statistics()
    }
}
