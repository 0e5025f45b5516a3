//! Variables as bits, and the order of the bits.
//!
//! Each scalar part of a variable (a *leaf*) has four copies, next to each other: its value now, its value when the procedure
//! was entered, its value after the next step, and its value as an argument.
//!
//! Paper: Aloul, Markov, Sakallah: FORCE, a fast and easy-to-implement variable-ordering heuristic (GLSVLSI 2003), for the
//! order of leaves.
//!
//! Deviations:
//! 1. The bits of one leaf stay together; what is ordered are leaves.

use super::graph::{Action, Graph};
use fabius_lang::program::*;

/// Index of a scalar part of a variable.
pub type Leaf = usize;

/// Which value of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copy {
    Now,
    Entry,
    Next,
    Argument,
}

/// How the values of a leaf are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    pub bits: usize,
    pub signed: bool,
    /// Of type `int`: what does not fit needs more bits.
    pub is_int: bool,
}

/// Where every variable is.
#[derive(Debug)]
pub struct Layout {
    /// First leaf of each global; `None` for those that never change.
    globals: Vec<Option<Leaf>>,
    globals_end: Leaf,
    /// First leaf of each local of each procedure.
    locals: Vec<Vec<Leaf>>,
    /// First leaf of each result.
    results: Vec<Vec<Leaf>>,
    pub widths: Vec<Width>,
    /// A name for each leaf.
    pub names: Vec<String>,
    /// Where the bits of each leaf begin.
    places: Vec<u32>,
    pub bits: u32,
}

/// The scalar types in a type, in order.
pub fn leaves(program: &Program, ty: &Type, out: &mut Vec<Type>) {
    match ty {
        Type::Record(r) => program.records[*r].fields.iter().for_each(|f| leaves(program, &f.ty, out)),
        Type::Array { len, element, .. } => (0..*len).for_each(|_| leaves(program, element, out)),
        scalar => out.push(scalar.clone()),
    }
}

pub fn count(program: &Program, ty: &Type) -> usize {
    match ty {
        Type::Record(r) => program.records[*r].fields.iter().map(|f| count(program, &f.ty)).sum(),
        Type::Array { len, element, .. } => *len as usize * count(program, element),
        _ => 1,
    }
}

/// The scalars in a value, in order.
pub fn scalars(value: &Value, out: &mut Vec<i64>) {
    match value {
        Value::Int(v) => out.push(*v),
        Value::Tuple(parts) => parts.iter().for_each(|p| scalars(p, out)),
    }
}

fn bits_of(lo: i64, hi: i64) -> (usize, bool) {
    let signed = lo < 0;
    let most = i128::from(hi).max(-1 - i128::from(lo)).max(0);
    ((128 - most.leading_zeros()) as usize + usize::from(signed), signed)
}

impl Layout {
    /// Integers without a size get these widths, by leaf; those not named get the least.
    pub fn new(program: &Program, graphs: &[Graph<'_>], ints: &std::collections::BTreeMap<Leaf, usize>) -> Layout {
        let mut layout = Layout {
            globals: Vec::new(),
            globals_end: 0,
            locals: Vec::new(),
            results: Vec::new(),
            widths: Vec::new(),
            names: Vec::new(),
            places: Vec::new(),
            bits: 0,
        };
        let changed = changed(graphs, program.globals.len());
        for (g, changes) in program.globals.iter().zip(changed) {
            let first = layout.widths.len();
            layout.globals.push(changes.then_some(first));
            if changes {
                layout.add(program, &g.ty, &g.name, ints);
            }
        }
        layout.globals_end = layout.widths.len();
        for proc in &program.procs {
            let mut add = |ty: &Type, name: &str| {
                let first = layout.widths.len();
                layout.add(program, ty, name, ints);
                first
            };
            let locals = proc.locals.iter().map(|l| add(&l.ty, &l.name)).collect();
            let results = proc.results.iter().map(|ty| add(ty, "result")).collect();
            layout.locals.push(locals);
            layout.results.push(results);
        }
        layout.place(&layout.edges(program, graphs));
        layout
    }

    fn add(&mut self, program: &Program, ty: &Type, name: &str, ints: &std::collections::BTreeMap<Leaf, usize>) {
        let mut types = Vec::new();
        leaves(program, ty, &mut types);
        for ty in types {
            let is_int = ty == Type::Int;
            let (bits, signed) = match ty {
                Type::Fixed { bits, signed } => (usize::from(bits), signed),
                _ => match ty.finite_range(&program.enums) {
                    Some((lo, hi)) => bits_of(lo, hi),
                    None => (ints.get(&self.widths.len()).copied().unwrap_or(LEAST), true),
                },
            };
            self.widths.push(Width { bits, signed, is_int });
            self.names.push(name.into());
        }
    }

    /// The name of a variable that is too wide for decision diagrams.
    pub fn too_wide(&self) -> Option<&str> {
        let wide = self.widths.iter().position(|w| w.bits > MOST_BITS);
        wide.map(|leaf| self.names[leaf].as_str())
    }

    /// The first leaf that is not of a global.
    pub fn first_local(&self) -> Leaf {
        self.globals_end
    }

    /// The first leaf of a global, if it ever changes.
    pub fn global(&self, g: GlobalId) -> Option<Leaf> {
        self.globals[g]
    }

    pub fn local(&self, p: ProcId, l: LocalId) -> Leaf {
        self.locals[p][l]
    }

    pub fn result(&self, p: ProcId, i: usize) -> Leaf {
        self.results[p][i]
    }

    /// The variables of a leaf, lowest bit first.
    pub fn variables(&self, leaf: Leaf, copy: Copy) -> impl Iterator<Item = u32> {
        let first = self.places[leaf];
        (0..self.widths[leaf].bits as u32).map(move |bit| (first + bit) * 4 + copy as u32)
    }

    /// The leaves that an expression may read, for each leaf of its value.
    pub fn read_by(&self, program: &Program, p: ProcId, e: &Expr) -> Vec<Vec<Leaf>> {
        match &e.kind {
            ExprKind::Tuple(parts) => parts.iter().flat_map(|e| self.read_by(program, p, e)).collect(),
            ExprKind::Read(place) => {
                let mut indexes = Vec::new();
                let mut all = self.of_place(program, p, place, &mut indexes);
                all.iter_mut().for_each(|leaves| leaves.extend(&indexes));
                all
            }
            ExprKind::IfElse(c, a, b) => {
                let condition = self.read_by(program, p, c).concat();
                let (a, b) = (self.read_by(program, p, a), self.read_by(program, p, b));
                a.into_iter().zip(b).map(|(a, b)| [a, b, condition.clone()].concat()).collect()
            }
            ExprKind::Unary(_, a) | ExprKind::Cast(a) => vec![self.read_by(program, p, a).concat()],
            ExprKind::Binary(_, a, b) => {
                vec![[self.read_by(program, p, a), self.read_by(program, p, b)].concat().concat()]
            }
            _ => vec![Vec::new(); count(program, &e.ty)],
        }
    }

    /// The leaves that each leaf of a place may be, and those that its indexes read.
    pub fn of_place(&self, program: &Program, p: ProcId, place: &Place, indexes: &mut Vec<Leaf>) -> Vec<Vec<Leaf>> {
        let (first, mut ty) = match &place.base {
            Base::Global(g) => match self.globals[*g] {
                Some(first) => (first, &program.globals[*g].ty),
                None => return vec![Vec::new(); count(program, &place.ty)],
            },
            Base::Local(l) => (self.local(p, *l), &program.procs[p].locals[*l].ty),
            Base::Heap(..) => return vec![Vec::new(); count(program, &place.ty)],
        };
        let mut firsts = vec![first];
        for step in &place.path {
            match (step, ty) {
                (Projection::Field(f), Type::Record(r)) => {
                    let fields = &program.records[*r].fields;
                    let skip: usize = fields[..*f].iter().map(|f| count(program, &f.ty)).sum();
                    firsts.iter_mut().for_each(|first| *first += skip);
                    ty = &fields[*f].ty;
                }
                (Projection::Index { index, lo, len }, Type::Array { element, .. }) => {
                    let size = count(program, element);
                    let known = match &index.kind {
                        ExprKind::Const(Value::Int(i)) => Some(*i),
                        _ => None,
                    };
                    indexes.extend(self.read_by(program, p, index).concat());
                    let entries = (0..*len as usize).filter(|i| known.is_none_or(|k| k == lo + *i as i64));
                    firsts = entries.flat_map(|i| firsts.iter().map(move |f| f + i * size)).collect();
                    ty = element;
                }
                _ => unreachable!("the program has types"),
            }
        }
        (0..count(program, ty)).map(|i| firsts.iter().map(|f| f + i).collect()).collect()
    }

    /// Leaves that occur together.
    fn edges(&self, program: &Program, graphs: &[Graph<'_>]) -> Vec<Vec<Leaf>> {
        let mut all = Vec::new();
        for (p, graph) in graphs.iter().enumerate() {
            let assigned = |place: &Place, values: Vec<Vec<Leaf>>, all: &mut Vec<Vec<Leaf>>| {
                let mut indexes = Vec::new();
                let to = self.of_place(program, p, place, &mut indexes);
                all.extend(to.into_iter().zip(values).map(|(to, from)| [to, from, indexes.clone()].concat()));
            };
            for edge in graph.edges.iter().flatten() {
                match &edge.action {
                    Action::Assign(place, e) => assigned(place, self.read_by(program, p, e), &mut all),
                    Action::Any(place, lo, hi) => {
                        let bounds = [self.read_by(program, p, lo), self.read_by(program, p, hi)].concat().concat();
                        assigned(place, vec![bounds], &mut all);
                    }
                    Action::Where(e, true) => all.push(self.read_by(program, p, e).concat()),
                    Action::Call(results, q, args) => {
                        let parameters = args.iter().enumerate().flat_map(|(i, e)| {
                            let first = self.local(*q, i);
                            let from = self.read_by(program, p, e).into_iter().enumerate();
                            from.map(move |(n, leaves)| [vec![first + n], leaves].concat())
                        });
                        all.extend(parameters);
                        for (i, l) in results.iter().enumerate().filter_map(|(i, r)| r.map(|l| (i, l))) {
                            let size = count(program, &program.procs[p].locals[l].ty);
                            let both = |n| vec![self.local(p, l) + n, self.result(*q, i) + n];
                            all.extend((0..size).map(both));
                        }
                    }
                    _ => {}
                }
            }
        }
        all
    }

    /// Gives each leaf its place: those that occur together near each other.
    fn place(&mut self, edges: &[Vec<Leaf>]) {
        let leaves = self.widths.len();
        let mut at: Vec<f64> = (0..leaves).map(|l| l as f64).collect();
        let mut best = (f64::INFINITY, at.clone());
        for _ in 0..ROUNDS {
            let span = |at: &[f64]| -> f64 {
                let of = |edge: &Vec<Leaf>| {
                    let ends = edge.iter().map(|l| at[*l]).fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)));
                    if edge.is_empty() { 0.0 } else { ends.1 - ends.0 }
                };
                edges.iter().map(of).sum()
            };
            let now = span(&at);
            if now < best.0 {
                best = (now, at.clone());
            }
            let mut centers = vec![(0.0, 0u32); leaves];
            for edge in edges.iter().filter(|e| !e.is_empty()) {
                let center = edge.iter().map(|l| at[*l]).sum::<f64>() / edge.len() as f64;
                for l in edge {
                    centers[*l].0 += center;
                    centers[*l].1 += 1;
                }
            }
            let wanted: Vec<f64> = (0..leaves)
                .map(|l| if centers[l].1 == 0 { at[l] } else { centers[l].0 / f64::from(centers[l].1) })
                .collect();
            let mut order: Vec<Leaf> = (0..leaves).collect();
            order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]).then(a.cmp(b)));
            order.iter().enumerate().for_each(|(place, l)| at[*l] = place as f64);
        }
        let mut order: Vec<Leaf> = (0..leaves).collect();
        order.sort_by(|a, b| best.1[*a].total_cmp(&best.1[*b]));
        self.places = vec![0; leaves];
        for leaf in order {
            self.places[leaf] = self.bits;
            self.bits += self.widths[leaf].bits as u32;
        }
    }
}

/// Bits of an integer without a size, at first.
pub const LEAST: usize = 3;

/// Bits of a variable at most: products and sums of more have diagrams beyond all bounds.
const MOST_BITS: usize = 16;

/// Iterations of the ordering.
const ROUNDS: usize = 60;

/// Which globals some statement changes.
fn changed(graphs: &[Graph<'_>], globals: usize) -> Vec<bool> {
    let mut changed = vec![false; globals];
    for edge in graphs.iter().flat_map(|g| &g.edges).flatten() {
        if let Action::Assign(p, _) | Action::Any(p, ..) = &edge.action
            && let Base::Global(g) = p.base
        {
            changed[g] = true;
        }
    }
    changed
}
