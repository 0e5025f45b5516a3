//! Variables as lists of leaves: records and arrays are laid out element by element.

use fabius_lang::program::{CLOCK, Program, Type, Value};
use fabius_smt::{Sort, Term, Terms};

/// A leaf: its sort, and for integers the least and the greatest value, where the type says them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The sort.
    pub sort: Sort,
    /// The range.
    pub range: Option<(i64, i64)>,
}

impl Leaf {
    /// A new variable for it.
    pub fn variable(self, terms: &mut Terms) -> Term {
        match (self.sort, self.range) {
            (Sort::Int, Some((lo, hi))) => terms.variable_between(i128::from(lo), i128::from(hi)),
            (sort, _) => terms.variable(sort),
        }
    }
}

/// The sort of a scalar.
pub fn sort_of(ty: &Type) -> Sort {
    match ty {
        Type::Bool => Sort::Bool,
        Type::Fixed { bits, signed } => Sort::Bits { width: *bits, signed: *signed },
        _ => Sort::Int,
    }
}

/// Appends the leaves of a type. The field of the record [`CLOCK`] is a point of an order: see [`super::Witness`].
pub fn leaves(program: &Program, ty: &Type, out: &mut Vec<Leaf>) {
    match ty {
        Type::Record(r) if program.records[*r].name == CLOCK => out.push(Leaf { sort: Sort::Order, range: None }),
        Type::Record(r) => program.records[*r].fields.iter().for_each(|f| leaves(program, &f.ty, out)),
        Type::Array { len, element, .. } => (0..*len).for_each(|_| leaves(program, element, out)),
        scalar => out.push(Leaf { sort: sort_of(scalar), range: scalar.finite_range(&program.enums) }),
    }
}

/// How many leaves a type has.
pub fn size(program: &Program, ty: &Type) -> usize {
    match ty {
        Type::Record(r) => program.records[*r].fields.iter().map(|f| size(program, &f.ty)).sum(),
        Type::Array { len, element, .. } => *len as usize * size(program, element),
        _ => 1,
    }
}

/// Appends the leaves of a value.
pub fn flatten(value: &Value, out: &mut Vec<i64>) {
    match value {
        Value::Int(v) => out.push(*v),
        Value::Tuple(parts) => parts.iter().for_each(|p| flatten(p, out)),
    }
}

/// Where the variables of a list begin, and all their leaves.
pub struct Layout {
    /// Offset of each variable.
    pub offsets: Vec<usize>,
    /// All leaves.
    pub leaves: Vec<Leaf>,
}

impl Layout {
    /// Lays variables out one behind the other.
    pub fn of<'a>(program: &Program, types: impl Iterator<Item = &'a Type>) -> Layout {
        let mut layout = Layout { offsets: Vec::new(), leaves: Vec::new() };
        for ty in types {
            layout.offsets.push(layout.leaves.len());
            leaves(program, ty, &mut layout.leaves);
        }
        layout
    }
}

impl Layout {
    /// The leaves of some of the variables, at their places.
    pub fn select(&self, variables: &std::collections::BTreeSet<usize>) -> Vec<Option<Leaf>> {
        let mut all = vec![None; self.leaves.len()];
        for v in variables {
            let end = self.offsets.get(v + 1).copied().unwrap_or(self.leaves.len());
            for (i, leaf) in all.iter_mut().enumerate().take(end).skip(self.offsets[*v]) {
                *leaf = Some(self.leaves[i]);
            }
        }
        all
    }
}
