//! The value of a term in a model.

use crate::term::{Kind, Sort, Term, Terms, Value, apply};
use hashbrown::HashMap;

/// Values of variables; those left out are 0 (or the value nearest to 0).
pub type Model = HashMap<Term, Value>;

/// The value of a term. Division by zero gives 0. Does not recurse, so terms may be as deep as they like; `known` keeps
/// what was found for the next call with the same model.
pub fn evaluate(terms: &Terms, model: &Model, t: Term, known: &mut HashMap<Term, Value>) -> Value {
    let mut stack = vec![t];
    while let Some(&t) = stack.last() {
        if known.contains_key(&t) {
            stack.pop();
            continue;
        }
        let value = match terms.kind(t) {
            Kind::Const(v) => Some(*v),
            Kind::Var(_) => Some(model.get(&t).copied().unwrap_or_else(|| {
                let (lo, hi) = if terms.sort(t) == Sort::Int { terms.range(t).unwrap_or((0, 0)) } else { (0, 0) };
                0.clamp(lo, hi)
            })),
            Kind::App(op, _) => {
                let operands = terms.operands(t);
                let before = stack.len();
                stack.extend(operands.iter().copied().filter(|o| !known.contains_key(o)));
                (stack.len() == before).then(|| {
                    let mut values = [0; 3];
                    for (v, o) in values.iter_mut().zip(operands) {
                        *v = known[o];
                    }
                    apply(*op, terms.sort(t), values).unwrap_or(0)
                })
            }
        };
        if let Some(value) = value {
            known.insert(t, value);
            stack.pop();
        }
    }
    known[&t]
}
