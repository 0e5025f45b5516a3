//! Bit-blasting: terms as circuits.
//!
//! A mathematical integer is a two's complement number of as many bits as its range asks for. If that is not known, or too
//! many, it has [`Blast::width`] bits, and one bit more that says that it is *lost*: it does not fit. Nothing is known of a
//! number that is lost, except that it differs from every one that would fit. So the clauses allow at least the true behaviours: what they exclude is excluded for
//! integers of any size, unless the assumption was needed that all numbers fit.

use crate::gates::Gates;
use crate::sat::SatSolver;
use crate::small::Small;
use crate::term::{Kind, Op, Sort, Term, Terms, Value};
use batsat::Lit;
use hashbrown::HashMap;

/// Integers of known range may have so many bits.
const WIDEST: usize = 65;

/// A number: bits from the least significant to the sign (unsigned bit vectors have none).
#[derive(Clone, Debug)]
struct Number {
    bits: Vec<Lit>,
    /// It does not fit.
    lost: Lit,
}

#[derive(Clone, Debug)]
enum Circuit {
    Truth(Lit),
    Number(Number),
    Small(Small),
}

/// Terms that have become circuits.
pub(crate) struct Blast {
    pub gates: Gates,
    /// Most bits of an integer.
    width: usize,
    circuits: HashMap<Term, Circuit>,
    /// Small numbers that were wanted in binary.
    binary: HashMap<Term, Number>,
    /// Variables that are points in time.
    points: HashMap<Term, u32>,
    /// Truth values to try first.
    preferred: hashbrown::HashSet<Term>,
    /// Implies that all numbers fit, if any number may not.
    all_fit: Option<Lit>,
}

impl Blast {
    pub fn new(width: usize, sat_solver: SatSolver) -> Blast {
        Blast {
            gates: Gates::new(sat_solver),
            width,
            circuits: HashMap::new(),
            binary: HashMap::new(),
            points: HashMap::new(),
            preferred: Default::default(),
            all_fit: None,
        }
    }

    /// The terms that have become circuits.
    pub fn terms(&self) -> impl Iterator<Item = Term> {
        self.circuits.keys().copied()
    }

    /// Says that all numbers fit; `None` if they do anyway.
    pub fn all_fit(&self) -> Option<Lit> {
        self.all_fit
    }

    /// A number may be lost, but not if all fit.
    fn may_be_lost(&mut self, lost: Lit) {
        let all_fit = *self.all_fit.get_or_insert_with(|| self.gates.fresh());
        self.gates.clause(&[!all_fit, !lost]);
    }

    /// The literal of a truth value.
    pub fn truth(&mut self, terms: &Terms, t: Term) -> Lit {
        self.build(terms, t);
        match self.circuits[&t] {
            Circuit::Truth(l) => l,
            _ => unreachable!("a truth value is no number"),
        }
    }

    /// The solver tries to make the variable true first.
    pub fn prefer(&mut self, variable: Term) {
        self.preferred.insert(variable);
    }

    /// One of the terms holds.
    pub fn any(&mut self, terms: &Terms, alternatives: &[Term]) {
        let literals: Vec<Lit> = alternatives.iter().map(|t| self.truth(terms, *t)).collect();
        self.gates.clause(&literals);
    }

    /// When the condition holds, one point is before the other.
    pub fn before(&mut self, terms: &Terms, condition: Term, from: Term, to: Term) {
        let condition = self.truth(terms, condition);
        let [from, to] = [from, to].map(|t| *self.points.entry(t).or_insert_with(|| self.gates.point()));
        self.gates.before(condition, from, to);
    }

    /// The value in the model that was found last; `None` if it does not matter.
    pub fn value(&self, terms: &Terms, t: Term) -> Option<Value> {
        match self.circuits.get(&t)? {
            Circuit::Truth(l) => self.gates.value(*l).map(Value::from),
            Circuit::Small(n) => Some(n.value(&self.gates)),
            Circuit::Number(n) => {
                let bit = |l: &Lit| Value::from(self.gates.value(*l).unwrap_or(false));
                let magnitude: Value = n.bits.iter().enumerate().map(|(i, l)| bit(l) << i).sum();
                let signed = !matches!(terms.sort(t), Sort::Bits { signed: false, .. });
                let negative = signed && n.bits.last().is_some_and(|l| bit(l) == 1);
                Some(if negative { magnitude - (1 << n.bits.len()) } else { magnitude })
            }
        }
    }

    fn build(&mut self, terms: &Terms, t: Term) {
        let mut stack = vec![t];
        while let Some(&t) = stack.last() {
            if self.circuits.contains_key(&t) {
                stack.pop();
                continue;
            }
            let before = stack.len();
            stack.extend(terms.operands(t).iter().copied().filter(|o| !self.circuits.contains_key(o)));
            if stack.len() == before {
                let circuit = self.circuit(terms, t);
                self.circuits.insert(t, circuit);
                stack.pop();
            }
        }
    }

    fn lit(&self, t: Term) -> Lit {
        match self.circuits[&t] {
            Circuit::Truth(l) => l,
            _ => unreachable!("operands have the sorts that their operator asks for"),
        }
    }

    fn number(&mut self, t: Term) -> Number {
        match &self.circuits[&t] {
            Circuit::Number(n) => n.clone(),
            Circuit::Small(small) => {
                if let Some(known) = self.binary.get(&t) {
                    return known.clone();
                }
                let (lo, hi) = small.range();
                let bits = small.clone().bits(&mut self.gates, signed_bits(lo).max(signed_bits(hi)));
                let n = Number { bits, lost: self.gates.constant(false) };
                self.binary.insert(t, n.clone());
                n
            }
            Circuit::Truth(_) => unreachable!("operands have the sorts that their operator asks for"),
        }
    }

    /// Two numbers, if both are small.
    fn both_small(&self, a: Term, b: Term) -> Option<(Small, Small)> {
        match (&self.circuits[&a], &self.circuits[&b]) {
            (Circuit::Small(x), Circuit::Small(y)) => Some((x.clone(), y.clone())),
            _ => None,
        }
    }

    /// What can be done with small numbers without leaving them.
    fn small(&mut self, terms: &Terms, t: Term) -> Option<Circuit> {
        let (sort, range) = (terms.sort(t), terms.range(t));
        let gates = &mut self.gates;
        match *terms.kind(t) {
            Kind::Const(v) if sort == Sort::Int => Some(Circuit::Small(Small::constant(v))),
            Kind::Var(_) if sort == Sort::Int && Small::fits(range) => {
                let (lo, hi) = range.expect("what is small has a range");
                Some(Circuit::Small(Small::variable(gates, lo, hi)))
            }
            Kind::App(op, [a, b, c]) => {
                if op == Op::Ite && sort == Sort::Int {
                    let (x, y) = self.both_small(b, c)?;
                    let condition = self.lit(a);
                    return Small::mux(&mut self.gates, condition, &x, &y).map(Circuit::Small);
                }
                if !matches!(op, Op::Eq | Op::Lt | Op::Add | Op::Sub) || terms.sort(a) != Sort::Int {
                    return None;
                }
                let (x, y) = self.both_small(a, b)?;
                let gates = &mut self.gates;
                match op {
                    Op::Eq => Some(Circuit::Truth(Small::equal(gates, &x, &y))),
                    Op::Lt => Some(Circuit::Truth(Small::less(gates, &x, &y))),
                    Op::Add => Small::add(gates, &x, &y).map(|n| Circuit::Small(n.within(gates, range))),
                    _ => Small::add(gates, &x, &y.negated()).map(|n| Circuit::Small(n.within(gates, range))),
                }
            }
            _ => None,
        }
    }

    fn circuit(&mut self, terms: &Terms, t: Term) -> Circuit {
        if let Some(small) = self.small(terms, t) {
            return small;
        }
        let sort = terms.sort(t);
        match *terms.kind(t) {
            Kind::Const(v) if sort == Sort::Bool => Circuit::Truth(self.gates.constant(v == 1)),
            Kind::Const(v) => Circuit::Number(self.constant(v, sort)),
            Kind::Var(_) if sort == Sort::Bool && self.preferred.contains(&t) => Circuit::Truth(self.gates.preferred()),
            Kind::Var(_) if sort == Sort::Bool => Circuit::Truth(self.gates.fresh()),
            Kind::Var(_) => Circuit::Number(self.variable(terms.range(t), sort)),
            Kind::App(op, [a, b, c]) => match (op, terms.sort(a)) {
                (Op::Not, _) => Circuit::Truth(!self.lit(a)),
                (Op::And, _) => {
                    let (a, b) = (self.lit(a), self.lit(b));
                    Circuit::Truth(self.gates.and(a, b))
                }
                (Op::Ite, _) if sort == Sort::Bool => {
                    let (c, x, y) = (self.lit(a), self.lit(b), self.lit(c));
                    Circuit::Truth(self.gates.mux(c, x, y))
                }
                (Op::Ite, _) => {
                    let (x, y) = (self.number(b), self.number(c));
                    Circuit::Number(self.mux(self.lit(a), &x, &y))
                }
                (Op::Eq, operands) => {
                    let (x, y) = (self.number(a), self.number(b));
                    Circuit::Truth(self.equal(&x, &y, is_signed(operands)))
                }
                (Op::Lt, operands) => {
                    let (x, y) = (self.number(a), self.number(b));
                    Circuit::Truth(self.less(&x, &y, is_signed(operands)))
                }
                (Op::Cast, from) => {
                    let x = self.number(a);
                    Circuit::Number(self.cast(&x, from, sort))
                }
                (Op::Next, _) => unreachable!("points of an order are not solved for"),
                (op, _) => {
                    let (x, y) = (self.number(a), self.number(b));
                    let result = self.arithmetic(op, &x, &y, is_signed(sort));
                    let result = self.fitted(result, terms.range(t), sort);
                    let lost = self.gates.or(x.lost, y.lost);
                    if self.gates.is_constant(lost) == Some(false) {
                        return Circuit::Number(result);
                    }
                    // What comes of numbers that do not fit may fit again: it is anything.
                    let any = self.variable(terms.range(t), sort);
                    Circuit::Number(self.mux(lost, &any, &result))
                }
            },
        }
    }

    fn constant(&mut self, value: Value, sort: Sort) -> Number {
        let length = match sort {
            Sort::Bits { width, .. } => usize::from(width),
            _ => signed_bits(value),
        };
        let bits = (0..length).map(|i| self.gates.constant(value >> i & 1 == 1)).collect();
        Number { bits, lost: self.gates.constant(false) }
    }

    fn variable(&mut self, range: Option<(Value, Value)>, sort: Sort) -> Number {
        let no = self.gates.constant(false);
        if let Sort::Bits { width, .. } = sort {
            return Number { bits: (0..width).map(|_| self.gates.fresh()).collect(), lost: no };
        }
        let Some((lo, hi)) = range else {
            let bits = (0..self.width).map(|_| self.gates.fresh()).collect();
            let lost = self.gates.fresh();
            self.may_be_lost(lost);
            return Number { bits, lost };
        };
        let length = signed_bits(lo).max(signed_bits(hi));
        let mut bits: Vec<Lit> = (0..length).map(|_| self.gates.fresh()).collect();
        if lo >= 0 {
            bits[length - 1] = no;
        }
        let n = Number { bits, lost: no };
        let (lo, hi) = (self.constant(lo, Sort::Int), self.constant(hi, Sort::Int));
        let (below, above) = (self.less(&n, &lo, true), self.less(&hi, &n, true));
        self.gates.clause(&[!below]);
        self.gates.clause(&[!above]);
        n
    }

    /// The number in `length` bits.
    fn extended(&self, n: &Number, length: usize, signed: bool) -> Vec<Lit> {
        let fill = match n.bits.last() {
            Some(sign) if signed => *sign,
            _ => self.gates.constant(false),
        };
        let mut bits = n.bits.clone();
        bits.resize(length.max(bits.len()), fill);
        bits
    }

    fn equalized(&self, x: &Number, y: &Number, signed: bool) -> (Vec<Lit>, Vec<Lit>) {
        let length = x.bits.len().max(y.bits.len());
        (self.extended(x, length, signed), self.extended(y, length, signed))
    }

    fn mux(&mut self, c: Lit, x: &Number, y: &Number) -> Number {
        // Integers of different lengths are signed; bit vectors have the same length.
        let (a, b) = self.equalized(x, y, true);
        let bits = a.iter().zip(&b).map(|(a, b)| self.gates.mux(c, *a, *b)).collect();
        Number { bits, lost: self.gates.mux(c, x.lost, y.lost) }
    }

    fn equal(&mut self, x: &Number, y: &Number, signed: bool) -> Lit {
        let (a, b) = self.equalized(x, y, signed);
        let bits: Vec<Lit> = a.iter().zip(&b).map(|(a, b)| self.gates.same(*a, *b)).collect();
        let alike = self.gates.all(&bits);
        let neither = self.gates.and(!x.lost, !y.lost);
        let known = self.gates.and(neither, alike);
        // One that is lost has none of the values that fit.
        let (far_x, far_y) = (self.is_far(x), self.is_far(y));
        let perhaps = self.gates.all(&[!neither, far_x, far_y]);
        if self.gates.is_constant(perhaps) == Some(false) {
            return known;
        }
        let any = self.gates.fresh();
        let perhaps = self.gates.and(perhaps, any);
        self.gates.or(known, perhaps)
    }

    /// Whether a number has a value that does not fit, lost or not.
    fn is_far(&mut self, n: &Number) -> Lit {
        if n.bits.len() <= self.width {
            return n.lost;
        }
        let sign = n.bits[self.width - 1];
        let agree: Vec<Lit> = n.bits[self.width..].iter().map(|l| self.gates.same(*l, sign)).collect();
        let fits = self.gates.all(&agree);
        self.gates.or(n.lost, !fits)
    }

    fn less(&mut self, x: &Number, y: &Number, signed: bool) -> Lit {
        let (mut a, mut b) = self.equalized(x, y, signed);
        if signed && let (Some(s), Some(t)) = (a.last_mut(), b.last_mut()) {
            (*s, *t) = (*t, *s);
        }
        let less = self.below(&a, &b);
        let lost = self.gates.or(x.lost, y.lost);
        if self.gates.is_constant(lost) == Some(false) {
            return less;
        }
        let perhaps = self.gates.fresh();
        self.gates.mux(lost, perhaps, less)
    }

    /// Unsigned comparison of numbers of the same length.
    fn below(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let mut less = self.gates.constant(false);
        for (a, b) in a.iter().zip(b) {
            let differ = self.gates.xor(*a, *b);
            less = self.gates.mux(differ, *b, less);
        }
        less
    }

    fn cast(&mut self, x: &Number, from: Sort, to: Sort) -> Number {
        match to {
            Sort::Bits { width, .. } => {
                let mut bits = self.extended(x, usize::from(width), is_signed(from));
                bits.truncate(usize::from(width));
                if self.gates.is_constant(x.lost) != Some(false) {
                    // Any value may come of what is not known.
                    let lost = x.lost;
                    for bit in &mut bits {
                        let any = self.gates.fresh();
                        *bit = self.gates.mux(lost, any, *bit);
                    }
                }
                Number { bits, lost: self.gates.constant(false) }
            }
            _ => {
                let length = x.bits.len() + usize::from(!is_signed(from));
                Number { bits: self.extended(x, length, is_signed(from)), lost: x.lost }
            }
        }
    }

    /// The exact result of an operator on integers that are not lost, or the low bits of one on bit vectors of one length.
    fn arithmetic(&mut self, op: Op, x: &Number, y: &Number, signed: bool) -> Number {
        let longest = x.bits.len().max(y.bits.len());
        let no = self.gates.constant(false);
        let bits = match op {
            Op::Add | Op::Sub => {
                let mut a = self.extended(x, longest + 1, signed);
                let mut b = self.extended(y, longest + 1, signed);
                let carry = self.gates.constant(op == Op::Sub);
                if op == Op::Sub {
                    b.iter_mut().for_each(|l| *l = !*l);
                }
                self.add(&mut a, &b, carry);
                a
            }
            Op::Mul => {
                let length = x.bits.len() + y.bits.len();
                let (a, b) = (self.extended(x, length, signed), self.extended(y, length, signed));
                let mut sum = vec![no; length];
                for (i, bit) in b.iter().enumerate() {
                    if self.gates.is_constant(*bit) == Some(false) {
                        continue;
                    }
                    let row: Vec<Lit> = a[..length - i].iter().map(|l| self.gates.and(*l, *bit)).collect();
                    self.add(&mut sum[i..], &row, no);
                }
                sum
            }
            Op::Div | Op::Rem => {
                let (a, b) = (self.extended(x, longest + 1, signed), self.extended(y, longest + 1, signed));
                let (negative_a, negative_b) = (a[longest], b[longest]);
                let (a, b) = (self.negated_if(negative_a, &a), self.negated_if(negative_b, &b));
                let (quotient, rest) = self.divide(&a, &b);
                if op == Op::Div {
                    let negative = self.gates.xor(negative_a, negative_b);
                    self.negated_if(negative, &quotient)
                } else {
                    self.negated_if(negative_a, &rest)
                }
            }
            Op::BitAnd | Op::BitOr | Op::BitXor => {
                let (a, b) = self.equalized(x, y, signed);
                let mut gate = |a, b| match op {
                    Op::BitAnd => self.gates.and(a, b),
                    Op::BitOr => self.gates.or(a, b),
                    _ => self.gates.xor(a, b),
                };
                a.iter().zip(&b).map(|(a, b)| gate(*a, *b)).collect()
            }
            Op::Shl | Op::Shr => {
                let mut bits = x.bits.clone();
                let fill = if op == Op::Shr && signed { bits[longest - 1] } else { no };
                // The width is 8, 16, 32 or 64: the amount modulo it is its low bits.
                for (i, by) in y.bits.iter().enumerate().take(longest.trailing_zeros() as usize) {
                    let far = 1 << i;
                    let shifted = |j: usize| match op {
                        Op::Shl => j.checked_sub(far).map(|j| bits[j]),
                        _ => bits.get(j + far).copied(),
                    };
                    let moved: Vec<Lit> = (0..longest).map(|j| shifted(j).unwrap_or(fill)).collect();
                    bits = moved.iter().zip(&bits).map(|(m, b)| self.gates.mux(*by, *m, *b)).collect();
                }
                bits
            }
            _ => unreachable!("{op:?} is no arithmetic"),
        };
        Number { bits, lost: no }
    }

    /// Adds, keeping the length.
    fn add(&mut self, a: &mut [Lit], b: &[Lit], mut carry: Lit) {
        for (a, b) in a.iter_mut().zip(b) {
            (*a, carry) = self.gates.full_adder(*a, *b, carry);
        }
    }

    fn negated_if(&mut self, c: Lit, a: &[Lit]) -> Vec<Lit> {
        let mut result: Vec<Lit> = a.iter().map(|l| self.gates.xor(*l, c)).collect();
        let zero = vec![self.gates.constant(false); a.len()];
        self.add(&mut result, &zero, c);
        result
    }

    /// Quotient and rest of unsigned numbers, bit by bit.
    fn divide(&mut self, a: &[Lit], b: &[Lit]) -> (Vec<Lit>, Vec<Lit>) {
        let no = self.gates.constant(false);
        let mut divisor = b.to_vec();
        divisor.push(no);
        let mut rest = vec![no; divisor.len()];
        let mut quotient = vec![no; a.len()];
        for i in (0..a.len()).rev() {
            rest.pop();
            rest.insert(0, a[i]);
            let fits = !self.below(&rest, &divisor);
            let mut less = rest.clone();
            let inverted: Vec<Lit> = divisor.iter().map(|l| !*l).collect();
            let yes = self.gates.constant(true);
            self.add(&mut less, &inverted, yes);
            rest = less.iter().zip(&rest).map(|(l, r)| self.gates.mux(fits, *l, *r)).collect();
            quotient[i] = fits;
        }
        rest.pop();
        (quotient, rest)
    }

    /// The result in the length that its sort and range ask for.
    fn fitted(&mut self, mut n: Number, range: Option<(Value, Value)>, sort: Sort) -> Number {
        if let Sort::Bits { width, .. } = sort {
            n.bits.truncate(usize::from(width));
            return n;
        }
        let length = range.map_or(usize::MAX, |(lo, hi)| signed_bits(lo).max(signed_bits(hi)));
        n.bits.truncate(length);
        if length <= WIDEST {
            return n;
        }
        self.shortened(n)
    }

    /// An integer of at most `width` bits; it is lost if it has more.
    fn shortened(&mut self, mut n: Number) -> Number {
        if n.bits.len() > self.width {
            n.lost = self.is_far(&n);
            n.bits.truncate(self.width);
            self.may_be_lost(n.lost);
        }
        n
    }
}

/// How many bits a number takes with its sign.
fn signed_bits(value: Value) -> usize {
    let magnitude = if value < 0 { !value } else { value };
    129 - magnitude.leading_zeros() as usize
}

fn is_signed(sort: Sort) -> bool {
    !matches!(sort, Sort::Bits { signed: false, .. })
}
