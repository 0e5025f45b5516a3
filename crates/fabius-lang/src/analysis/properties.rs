//! Properties: what every fair execution must satisfy, infinite ones included.

use super::checker::Context;
use super::invariants::of_states;
use crate::diagnostic::Diagnostic;
use crate::program::{Expr, Formula, Property};
use crate::syntax::ast;

/// The properties of a file, and the conditions that they are about.
pub(super) fn of(file: &ast::File, cx: &Context, diagnostics: &mut Vec<Diagnostic>) -> (Vec<Expr>, Vec<Property>) {
    let (mut conditions, mut properties) = (Vec::new(), Vec::new());
    for item in &file.items {
        let ast::ItemKind::Property { name, formula, fairness } = &item.node else { continue };
        let first = conditions.len();
        let parts = formula.conditions();
        conditions.extend(parts.iter().filter_map(|e| of_states(e, "a property", cx, diagnostics)));
        if conditions.len() < first + parts.len() {
            continue;
        }
        let formula = match formula {
            ast::Formula::Eventually(_) => Formula::Eventually(first),
            ast::Formula::AlwaysEventually(_) => Formula::AlwaysEventually(first),
            ast::Formula::EventuallyAlways(_) => Formula::EventuallyAlways(first),
            ast::Formula::LeadsTo(..) => Formula::LeadsTo(first, first + 1),
        };
        let fairness = fairness.unwrap_or_default();
        properties.push(Property { name: name.node.clone(), formula, fairness, span: name.span });
    }
    (conditions, properties)
}
