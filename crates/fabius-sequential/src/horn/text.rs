//! Clauses as SMT-LIB text over truth values and integers.
//!
//! Integers of fixed width are integers between two bounds, and what wraps does so in as many words. Solvers of Horn
//! clauses find invariants in linear arithmetic; of bit vectors they enumerate values. Only the bitwise operators on two
//! unknown values go through bit vectors.

use super::{Atom, Clause, Clauses, NoClauses};
use fabius_smt::{Kind, Op, Sort, Term, Terms, Value};
use hashbrown::{HashMap, HashSet};
use std::fmt::Write;

/// Terms that are nested deeper than this get names.
const HEIGHT: u32 = 6;
/// A divisor with fewer values than this is split into cases.
const MOST_CASES: Value = 32;

/// Whether there are words for all operations.
///
/// # Errors
/// Bitwise operators on integers without bounds.
pub fn expressible(system: &Clauses) -> Result<(), NoClauses> {
    let terms = &system.terms;
    for clause in &system.clauses {
        for t in order(terms, roots(clause)) {
            if let Kind::App(Op::BitAnd | Op::BitOr | Op::BitXor, _) = terms.kind(t)
                && width_of(terms, t).is_none()
            {
                return Err(NoClauses::Inexpressible("a bitwise operation on integers of any size"));
            }
        }
    }
    Ok(())
}

/// The whole file.
pub fn script(system: &Clauses) -> String {
    let mut text = String::from(
        "; Constrained Horn clauses of a sequential program.\n; sat: no assertion can fail. unsat: one can.\n(set-logic HORN)\n",
    );
    for p in &system.predicates {
        let sorts: Vec<&str> = p.arguments.iter().map(|a| sort_name(a.sort)).collect();
        let _ = writeln!(text, "; {}\n(declare-fun {} ({}) Bool)", p.of, p.name, sorts.join(" "));
    }
    for clause in &system.clauses {
        let words = Words::of(system, clause);
        let head = clause.head.as_ref().map_or("false".into(), |head| words.atom(system, head));
        let implication = words.within(&format!("(=> {} {head})", words.premise));
        let _ = match words.variables.is_empty() {
            true => writeln!(text, "(assert {implication})"),
            false => writeln!(text, "(assert (forall ({}) {implication}))", words.variables.join(" ")),
        };
    }
    text + "(check-sat)\n"
}

/// Asks whether the clause is violated: unsatisfiable if it is valid. The predicates are taken to be defined.
pub fn violation(system: &Clauses, clause: &Clause) -> String {
    let words = Words::of(system, clause);
    let mut text = String::from("(push 1)\n");
    for v in &words.variables {
        let (name, sort) = v.split_once(' ').expect("a name and a sort");
        let _ = writeln!(text, "(declare-fun {} () {sort}", &name[1..]);
    }
    let not_head = clause.head.as_ref().map_or("true".into(), |head| format!("(not {})", words.atom(system, head)));
    let _ = writeln!(text, "(assert {})", words.within(&format!("(and {} {not_head})", words.premise)));
    text + "(check-sat)\n(pop 1)\n"
}

pub fn sort_name(sort: Sort) -> &'static str {
    if sort == Sort::Bool { "Bool" } else { "Int" }
}

fn roots(clause: &Clause) -> Vec<Term> {
    let atoms = clause.body.iter().chain(&clause.head);
    std::iter::once(clause.guard).chain(atoms.flat_map(|a| a.arguments.iter().copied())).collect()
}

/// All that terms are made of, operands first.
fn order(terms: &Terms, roots: Vec<Term>) -> Vec<Term> {
    let (mut done, mut all) = (HashSet::new(), Vec::new());
    let mut stack = roots;
    stack.reverse();
    while let Some(&t) = stack.last() {
        let before = stack.len();
        if !done.contains(&t) {
            stack.extend(terms.operands(t).iter().copied().filter(|o| !done.contains(o)));
        }
        if stack.len() == before {
            stack.pop();
            if done.insert(t) {
                all.push(t);
            }
        }
    }
    all
}

/// The terms of a clause, in words.
struct Words {
    /// Each with its sort, in parentheses.
    variables: Vec<String>,
    /// Names for terms, in order.
    lets: Vec<(String, String)>,
    /// What each term is written as.
    known: HashMap<Term, String>,
    /// The body, the ranges of variables, and the guard.
    premise: String,
}

impl Words {
    fn of(system: &Clauses, clause: &Clause) -> Words {
        let terms = &system.terms;
        let roots = roots(clause);
        let mut uses: HashMap<Term, u32> = HashMap::new();
        roots.iter().for_each(|t| *uses.entry(*t).or_default() += 1);
        let all = order(terms, roots);
        all.iter().flat_map(|t| terms.operands(*t)).for_each(|o| *uses.entry(*o).or_default() += 1);
        let mut words =
            Words { variables: Vec::new(), lets: Vec::new(), known: HashMap::new(), premise: String::new() };
        let mut ranges = Vec::new();
        let mut heights: HashMap<Term, u32> = HashMap::new();
        for t in all {
            let text = match *terms.kind(t) {
                Kind::Const(v) => constant(v, terms.sort(t)),
                Kind::Var(n) => {
                    let v = format!("v{n}");
                    words.variables.push(format!("({v} {})", sort_name(terms.sort(t))));
                    if let (true, Some((lo, hi))) = (terms.sort(t) != Sort::Bool, terms.range(t)) {
                        ranges.push(format!("(<= {} {v} {})", number(lo), number(hi)));
                    }
                    v
                }
                Kind::App(op, _) => {
                    let operands: Vec<&str> = terms.operands(t).iter().map(|o| words.known[o].as_str()).collect();
                    let text = application(terms, t, op, &operands);
                    let height = terms.operands(t).iter().filter_map(|o| heights.get(o)).max().map_or(1, |h| h + 1);
                    if uses[&t] > 1 || height > HEIGHT {
                        let name = format!("t{}", words.lets.len());
                        words.lets.push((name.clone(), text));
                        name
                    } else {
                        heights.insert(t, height);
                        text
                    }
                }
            };
            words.known.insert(t, text);
        }
        let mut premise: Vec<String> = clause.body.iter().map(|a| words.atom(system, a)).collect();
        premise.extend(ranges);
        if clause.guard != Terms::TRUE {
            premise.push(words.known[&clause.guard].clone());
        }
        words.premise = match premise.as_slice() {
            [] => "true".into(),
            [only] => only.clone(),
            all => format!("(and {})", all.join(" ")),
        };
        words
    }

    fn atom(&self, system: &Clauses, atom: &Atom) -> String {
        let name = &system.predicates[atom.predicate].name;
        if atom.arguments.is_empty() {
            return name.clone();
        }
        let arguments: Vec<&str> = atom.arguments.iter().map(|t| self.known[t].as_str()).collect();
        format!("({name} {})", arguments.join(" "))
    }

    /// A formula with the names that it uses.
    fn within(&self, formula: &str) -> String {
        let mut text = String::new();
        for (name, what) in &self.lets {
            let _ = write!(text, "(let (({name} {what})) ");
        }
        text.push_str(formula);
        text.extend(std::iter::repeat_n(')', self.lets.len()));
        text
    }
}

fn number(v: Value) -> String {
    if v < 0 { format!("(- {})", v.unsigned_abs()) } else { v.to_string() }
}

fn constant(v: Value, sort: Sort) -> String {
    match (sort, v) {
        (Sort::Bool, 0) => "false".into(),
        (Sort::Bool, _) => "true".into(),
        _ => number(v),
    }
}

fn application(terms: &Terms, t: Term, op: Op, operands: &[&str]) -> String {
    let a = terms.operands(t)[0];
    let sort = terms.sort(t);
    match (op, operands) {
        (Op::Not, [x]) => format!("(not {x})"),
        (Op::And, [x, y]) => format!("(and {x} {y})"),
        (Op::Ite, [c, x, y]) => format!("(ite {c} {x} {y})"),
        (Op::Eq, [x, y]) => format!("(= {x} {y})"),
        (Op::Lt, [x, y]) => format!("(< {x} {y})"),
        (Op::Next, [x]) => format!("(+ {x} 1)"),
        (Op::Cast, [x]) => match (terms.range(a), limits(sort)) {
            _ if terms.sort(a) == Sort::Bool => format!("(ite {x} 1 0)"),
            (Some((lo, hi)), Some((least, most))) if least <= lo && hi <= most => (*x).into(),
            _ => wrapped((*x).into(), sort),
        },
        (Op::Add | Op::Sub, [x, y]) => {
            let (of_a, of_b) = (terms.range(a), terms.range(terms.operands(t)[1]));
            let between = of_a.zip(of_b).map(|((lo, hi), (lo2, hi2))| match op {
                Op::Add => (lo + lo2, hi + hi2),
                _ => (lo - hi2, hi - lo2),
            });
            let f = if op == Op::Add { "+" } else { "-" };
            wrapped_once(format!("({f} {x} {y})"), between, sort)
        }
        (Op::Mul, [x, y]) => wrapped(format!("(* {x} {y})"), sort),
        (Op::Div | Op::Rem, [x, y]) => division(terms, t, op, x, y),
        (Op::BitAnd | Op::BitOr | Op::BitXor, [x, y]) => bitwise(terms, t, op, x, y),
        (Op::Shl | Op::Shr, [x, y]) => shift(terms, t, op, x, y),
        _ => unreachable!("{op:?} has other operands"),
    }
}

/// Truncating division; by zero it gives 0. Solvers of Horn clauses know only divisors that are numbers, so where the
/// divisor has few values each has a case of its own.
fn division(terms: &Terms, t: Term, op: Op, x: &str, y: &str) -> String {
    let [a, b] = [0, 1].map(|i| terms.operands(t)[i]);
    let f = if op == Op::Div { "div" } else { "mod" };
    let by = |y: &str| match terms.range(a) {
        Some((0.., _)) => format!("({f} {x} {y})"),
        // SMT-LIB rounds so that the rest is not negative.
        _ => format!("(ite (>= {x} 0) ({f} {x} {y}) (- ({f} (- {x}) {y})))"),
    };
    let text = match terms.range(b) {
        Some((lo, hi)) if hi - lo < MOST_CASES => {
            let one = |v: Value| if v == 0 { "0".into() } else { by(&number(v)) };
            by_cases(y, lo, hi, one)
        }
        _ => format!("(ite (= {y} 0) 0 {})", by(y)),
    };
    // Only the least number by -1 wraps.
    let wraps = op == Op::Div && terms.range(b).is_none_or(|(lo, _)| lo < 0);
    if wraps { wrapped_once(text, None, terms.sort(t)) } else { text }
}

/// What is written for each value of a number between two others.
fn by_cases(y: &str, lo: Value, hi: Value, one: impl Fn(Value) -> String) -> String {
    let mut text = one(hi);
    for v in (lo..hi).rev() {
        text = format!("(ite (= {y} {}) {} {text})", number(v), one(v));
    }
    text
}

/// The least and the greatest number of a fixed width.
fn limits(sort: Sort) -> Option<(Value, Value)> {
    match sort {
        Sort::Bits { width, signed: true } => Some((-(1 << (width - 1)), (1 << (width - 1)) - 1)),
        Sort::Bits { width, signed: false } => Some((0, (1 << width) - 1)),
        _ => None,
    }
}

/// Any number, as one of the sort.
fn wrapped(text: String, sort: Sort) -> String {
    match limits(sort) {
        None => text,
        Some((0, hi)) => format!("(mod {text} {})", hi + 1),
        Some((lo, hi)) => format!("(- (mod (+ {text} {}) {}) {})", -lo, hi - lo + 1, -lo),
    }
}

/// A number that is less than twice too large, as one of the sort; it is known to lie between two others.
fn wrapped_once(text: String, between: Option<(Value, Value)>, sort: Sort) -> String {
    let Some((lo, hi)) = limits(sort) else { return text };
    let (all, (least, most)) = (hi - lo + 1, between.unwrap_or((Value::MIN, Value::MAX)));
    let mut result = String::from("s");
    if least < lo {
        result = format!("(ite (< s {}) (+ s {all}) {result})", number(lo));
    }
    if most > hi {
        result = format!("(ite (> s {hi}) (- s {all}) {result})");
    }
    if result == "s" { text } else { format!("(let ((s {text})) {result})") }
}

/// How many bits hold both operands, with the sign where there is one.
fn width_of(terms: &Terms, t: Term) -> Option<u8> {
    if let Sort::Bits { width, .. } = terms.sort(t) {
        return Some(width);
    }
    let [a, b] = [0, 1].map(|i| terms.range(terms.operands(t)[i]));
    let ((lo, hi), (lo2, hi2)) = (a?, b?);
    let bits = |v: Value| 129 - (if v < 0 { !v } else { v }).leading_zeros();
    let width = [lo, hi, lo2, hi2].into_iter().map(bits).max()?;
    (width <= 100).then_some(width as u8)
}

/// A function of bit vectors on two numbers.
fn through_bits(f: &str, width: u8, signed: bool, x: &str, y: &str) -> String {
    let text = format!("(bv2nat ({f} ((_ int2bv {width}) {x}) ((_ int2bv {width}) {y})))");
    let (half, all): (Value, Value) = (1 << (width - 1), 1 << width);
    if signed { format!("(let ((s {text})) (ite (>= s {half}) (- s {all}) s))") } else { text }
}

fn bitwise(terms: &Terms, t: Term, op: Op, x: &str, y: &str) -> String {
    let [a, b] = [0, 1].map(|i| terms.operands(t)[i]);
    let sort = terms.sort(t);
    for (x, mask) in [(x, b), (y, a)] {
        match (op, terms.value_of(mask), limits(sort)) {
            (Op::BitAnd, Some(mask), _) if mask >= 0 && mask & (mask + 1) == 0 => {
                return format!("(mod {x} {})", mask + 1);
            }
            (Op::BitXor, Some(-1), _) => return format!("(- (- {x}) 1)"),
            (Op::BitXor, Some(ones), Some((0, hi))) if ones == hi => return format!("(- {hi} {x})"),
            _ => {}
        }
    }
    let width = width_of(terms, t).expect("it was found expressible");
    let signed = !matches!(sort, Sort::Bits { signed: false, .. });
    through_bits(fabius_smt::smtlib::bits_function(op, signed), width, signed, x, y)
}

fn shift(terms: &Terms, t: Term, op: Op, x: &str, y: &str) -> String {
    let sort = terms.sort(t);
    let Sort::Bits { width, .. } = sort else { unreachable!("only fixed widths are shifted") };
    let width = Value::from(width);
    let one = |amount: Value| {
        let by: Value = 1 << amount;
        if op == Op::Shl { wrapped(format!("(* {x} {by})"), sort) } else { format!("(div {x} {by})") }
    };
    match terms.value_of(terms.operands(t)[1]) {
        Some(amount) => one(amount.rem_euclid(width)),
        None => by_cases(&format!("(mod {y} {width})"), 0, width - 1, one),
    }
}
