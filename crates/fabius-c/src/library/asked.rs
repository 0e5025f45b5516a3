//! Functions of the program that allocate for others: `void *get(size_t n) { void *p = malloc(n); .. return p; }`.
//!
//! What is allocated there is one of the types that callers say with `sizeof` (`get(sizeof(struct s))`), also callers of callers that
//! pass a size on; which one, the size decides. Of two types of one size it may be the wrong one: then accesses are not followed.

use super::{assign, strip_casts};
use crate::birth::Birth;
use crate::core::*;
use crate::expressions::Ex;
use crate::lower::Lower;
use crate::refusal::Result;
use crate::types::{CType, LONG};
use fabius_lang::program::*;
use fabius_trace::Span;
use lang_c::ast::Expression;
use std::collections::BTreeSet;

/// What is said where no caller has asked for so many bytes.
const UNKNOWN: &str = "what is allocated here is not known";

impl<'a> Lower<'a, '_> {
    /// A call of a function of the program: what the arguments say with `sizeof` may be allocated there.
    pub fn asks(&mut self, function: &str, args: &'a [Ex]) -> Result<()> {
        if *self.functions[function].signature.result.plain() != CType::Void.pointer() {
            return Ok(());
        }
        let mut asked = BTreeSet::new();
        for e in args {
            let is_one = matches!(strip_casts(e).node, Expression::SizeOfTy(_) | Expression::SizeOfVal(_));
            asked.extend(self.sized_type(e)?.map(|ty| (ty, !is_one)));
        }
        if asked.is_empty() {
            asked = self.asked_here();
        }
        if !asked.is_empty() {
            self.found.asked.entry(function.into()).or_default().extend(asked);
        }
        Ok(())
    }

    /// The types that callers of the running function ask for, and whether for several.
    fn asked_here(&self) -> BTreeSet<(CType, bool)> {
        self.session.facts.asked.get(&self.body.function).cloned().unwrap_or_default()
    }

    /// The address of what is allocated without a word of its type, if callers may have said it: `sizes` are the arguments that say
    /// how much.
    pub(super) fn asked_for(&mut self, sizes: &[&'a Ex], birth: Birth, span: Span) -> Result<Option<Expr>> {
        let was_seen = self.session.facts.untyped;
        self.found.untyped = true;
        if !was_seen {
            // The pass after this one knows who calls.
            return Ok(Some(constant(crate::memory::FIRST, ADDRESS, span)));
        }
        if self.session.facts.asked.is_empty() {
            return Ok(None);
        }
        let number = |n: i64| constant(n, ADDRESS, span);
        let (mut bytes, mut each) = (number(1), None);
        for e in sizes {
            let v = self.value(e)?;
            let v = self.convert(v, &LONG, span)?;
            let v = self.keep(v.parts[0].clone());
            bytes = binary(BinaryOp::Mul, bytes, v.clone());
            each = (sizes.len() > 1).then_some(v);
        }
        // `calloc` says how many itself.
        let is_counted = each.is_some();
        let bytes = self.keep(bytes);
        let address = self.zeroed(ADDRESS, span);
        let address = self.local(address, span);
        let asked = self.asked_here();
        let kinds = asked.iter().filter_map(|(ty, many)| Some((ty, *many, self.types().size(ty).filter(|n| *n > 0)?)));
        let kinds: Vec<_> = kinds.map(|(ty, many, size)| (ty.clone(), many || is_counted, size)).collect();
        let (mut rest, ()) = self.block(|s| {
            s.check(boolean(false, span), Check::Bound, UNKNOWN, span);
            Ok(())
        })?;
        // One comes before several.
        let in_order = |several: bool| kinds.iter().filter(move |(_, many, _)| *many == several);
        for (ty, many, size) in in_order(true).chain(in_order(false)) {
            let (block, ()) = self.block(|s| {
                let count = many.then(|| s.keep(binary(BinaryOp::Div, bytes.clone(), number(*size))));
                let new = s.allocate_some(ty.clone(), count, birth, span)?;
                s.body.out.push(assign(&address, new, span));
                Ok(())
            })?;
            let is = |e: &Expr, n: i64| binary(BinaryOp::Eq, e.clone(), number(n));
            let is_it = match (many, &each) {
                (true, Some(each)) => is(each, *size),
                (true, None) => is(&binary(BinaryOp::Rem, bytes.clone(), number(*size)), 0),
                (false, _) => is(&bytes, *size),
            };
            rest = vec![stmt(StmtKind::If(Guard::Expr(is_it), block, rest), span)];
        }
        self.body.out.extend(rest);
        Ok(Some(read(address)))
    }
}
