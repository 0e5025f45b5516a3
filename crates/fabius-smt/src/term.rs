//! Terms: a graph in which equal terms are the same node.

use hashbrown::HashMap;

/// A term of one [`Terms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term(pub(crate) u32);

/// What a term stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sort {
    /// Truth values.
    Bool,
    /// Mathematical integers.
    Int,
    /// Bit vectors; `signed` says how order, division, shifts and conversions read them.
    Bits {
        /// 1 to 64.
        width: u8,
        /// Two's complement.
        signed: bool,
    },
    /// Points of a discrete order: `Order` variables and their successors. Solvers never see them.
    Order,
}

/// A constant. Bit vectors are held as numbers in their range; truth values as 0 and 1.
pub type Value = i128;

/// Operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Op {
    Not,
    And,
    /// If, then, else.
    Ite,
    Eq,
    Lt,
    Add,
    Sub,
    Mul,
    /// Truncates towards zero. What division by zero gives is not specified.
    Div,
    /// With the sign of the dividend.
    Rem,
    BitAnd,
    BitOr,
    BitXor,
    /// By the amount modulo the width.
    Shl,
    Shr,
    /// To another sort of numbers.
    Cast,
    /// The next point of an order.
    Next,
}

/// A node of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A constant.
    Const(Value),
    /// A variable, by number.
    Var(u32),
    /// An operator on one to three terms.
    App(Op, [Term; 3]),
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub kind: Kind,
    pub sort: Sort,
    /// For integers: the least and the greatest value, where they are known.
    pub range: Option<(Value, Value)>,
}

/// The values that a number takes, and when.
pub(crate) type Cases = std::rc::Rc<[(Value, Term)]>;

/// Makes terms.
#[derive(Clone, Debug)]
pub struct Terms {
    pub(crate) nodes: Vec<Node>,
    known: HashMap<(Kind, Sort), Term>,
    /// Variables, in order of their numbers.
    variables: Vec<Term>,
    /// For terms with few values: each value and when it is taken.
    pub(crate) cases: HashMap<Term, Option<Cases>>,
}

/// Stands in unused places of [`Kind::App`].
pub(crate) const NONE: Term = Term(0);

impl Default for Terms {
    fn default() -> Terms {
        let mut terms =
            Terms { nodes: Vec::new(), known: HashMap::new(), variables: Vec::new(), cases: HashMap::new() };
        assert_eq!(terms.constant(0, Sort::Bool), Terms::FALSE);
        assert_eq!(terms.constant(1, Sort::Bool), Terms::TRUE);
        terms
    }
}

impl Terms {
    /// False.
    pub const FALSE: Term = Term(0);
    /// True.
    pub const TRUE: Term = Term(1);

    /// The node of a term.
    pub fn kind(&self, t: Term) -> &Kind {
        &self.nodes[t.0 as usize].kind
    }

    /// The sort of a term.
    pub fn sort(&self, t: Term) -> Sort {
        self.nodes[t.0 as usize].sort
    }

    /// The least and the greatest value of a number, where they are known.
    pub fn range(&self, t: Term) -> Option<(Value, Value)> {
        self.nodes[t.0 as usize].range
    }

    /// How many terms there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Never: the two truth values are always there.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All variables.
    pub fn variables(&self) -> &[Term] {
        &self.variables
    }

    /// All terms that are integers.
    pub fn integers(&self) -> impl Iterator<Item = Term> {
        let all = self.nodes.iter().enumerate().filter(|(_, node)| node.sort == Sort::Int);
        all.map(|(i, _)| Term(i as u32))
    }

    /// The value of a constant.
    pub fn value_of(&self, t: Term) -> Option<Value> {
        match self.kind(t) {
            Kind::Const(v) => Some(*v),
            _ => None,
        }
    }

    pub(crate) fn node(&mut self, kind: Kind, sort: Sort) -> Term {
        if let Some(t) = self.known.get(&(kind.clone(), sort)) {
            return *t;
        }
        let t = Term(u32::try_from(self.nodes.len()).expect("fewer than 2^32 terms fit into memory"));
        let range = self.range_of(&kind, sort);
        self.known.insert((kind.clone(), sort), t);
        self.nodes.push(Node { kind, sort, range });
        t
    }

    /// A constant. Bit vectors wrap.
    pub fn constant(&mut self, value: Value, sort: Sort) -> Term {
        self.node(Kind::Const(wrap(value, sort)), sort)
    }

    /// A truth value.
    pub fn boolean(&self, value: bool) -> Term {
        if value { Terms::TRUE } else { Terms::FALSE }
    }

    /// A new variable.
    pub fn variable(&mut self, sort: Sort) -> Term {
        let number = self.variables.len() as u32;
        let t = self.node(Kind::Var(number), sort);
        self.variables.push(t);
        t
    }

    /// A new integer variable between two bounds. The solvers keep to them.
    pub fn variable_between(&mut self, lo: Value, hi: Value) -> Term {
        let t = self.variable(Sort::Int);
        self.nodes[t.0 as usize].range = Some((lo, hi));
        t
    }

    /// The operands of a node.
    pub fn operands(&self, t: Term) -> &[Term] {
        match self.kind(t) {
            Kind::Const(_) | Kind::Var(_) => &[],
            Kind::App(op, operands) => &operands[..op.arity()],
        }
    }

    fn range_of(&self, kind: &Kind, sort: Sort) -> Option<(Value, Value)> {
        match sort {
            Sort::Bool => return Some((0, 1)),
            Sort::Bits { width, signed } => return Some(limits(width, signed)),
            Sort::Order => return None,
            Sort::Int => {}
        }
        const FAR: Value = 1 << 100;
        let near = |(lo, hi): (Value, Value)| (lo > -FAR && hi < FAR).then_some((lo, hi));
        let (op, [a, b, c]) = match kind {
            Kind::Const(v) => return Some((*v, *v)),
            Kind::Var(_) => return None,
            Kind::App(op, operands) => (*op, *operands),
        };
        let (of_a, of_b) = (self.range(a), self.range(b));
        match op {
            Op::Cast => of_a,
            Op::Ite => {
                let ((lo, hi), (lo2, hi2)) = (of_b?, self.range(c)?);
                Some((lo.min(lo2), hi.max(hi2)))
            }
            Op::Add => near((of_a?.0.checked_add(of_b?.0)?, of_a?.1.checked_add(of_b?.1)?)),
            Op::Sub => near((of_a?.0.checked_sub(of_b?.1)?, of_a?.1.checked_sub(of_b?.0)?)),
            Op::Mul => {
                let ((a, b), (c, d)) = (of_a?, of_b?);
                let all = [a.checked_mul(c)?, a.checked_mul(d)?, b.checked_mul(c)?, b.checked_mul(d)?];
                near((*all.iter().min()?, *all.iter().max()?))
            }
            Op::Div => {
                let far = of_a?.0.abs().max(of_a?.1.abs());
                near((-far, far))
            }
            Op::Rem => {
                let (lo, hi) = of_a?;
                let most = match of_b {
                    Some((lo, hi)) => (lo.abs().max(hi.abs()) - 1).max(0),
                    None => FAR,
                };
                Some((lo.clamp(-most, 0), hi.clamp(0, most)))
            }
            Op::BitAnd | Op::BitOr | Op::BitXor => {
                // As many bits as the longer one has.
                let far = [of_a?.0, of_a?.1, of_b?.0, of_b?.1].into_iter().map(|v| if v < 0 { !v } else { v }).max()?;
                let all = (1 << (128 - far.leading_zeros())) - 1;
                let least = if of_a?.0 < 0 || of_b?.0 < 0 { !all } else { 0 };
                Some((least, all))
            }
            _ => None,
        }
    }
}

impl Op {
    /// How many operands it has.
    pub fn arity(self) -> usize {
        match self {
            Op::Not | Op::Cast | Op::Next => 1,
            Op::Ite => 3,
            _ => 2,
        }
    }
}

/// The least and the greatest value of a bit vector.
pub(crate) fn limits(width: u8, signed: bool) -> (Value, Value) {
    if signed { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) }
}

/// The value as a value of the sort.
pub(crate) fn wrap(value: Value, sort: Sort) -> Value {
    match sort {
        Sort::Bool => value & 1,
        Sort::Int | Sort::Order => value,
        Sort::Bits { width, signed } => {
            let low = value & ((1 << width) - 1);
            if signed && low >> (width - 1) == 1 { low - (1 << width) } else { low }
        }
    }
}

/// What an operator gives for constants; `None` for a division by zero.
pub(crate) fn apply(op: Op, sort: Sort, [a, b, c]: [Value; 3]) -> Option<Value> {
    let shift = |sort: Sort| match sort {
        Sort::Bits { width, .. } => (b.rem_euclid(Value::from(width))) as u32,
        _ => 0,
    };
    let value = match op {
        Op::Not => 1 - a,
        Op::And => a & b,
        Op::Ite => {
            if a == 1 {
                b
            } else {
                c
            }
        }
        Op::Eq => Value::from(a == b),
        Op::Lt => Value::from(a < b),
        Op::Add => a.checked_add(b)?,
        Op::Sub => a.checked_sub(b)?,
        Op::Mul => a.checked_mul(b)?,
        Op::Div => a.checked_div(b)?,
        Op::Rem => a.checked_rem(b)?,
        Op::BitAnd => a & b,
        Op::BitOr => a | b,
        Op::BitXor => a ^ b,
        Op::Shl => a << shift(sort),
        Op::Shr => a >> shift(sort),
        Op::Cast => a,
        Op::Next => a + 1,
    };
    Some(wrap(value, sort))
}
