//! Where control may be taken away, and which statement begins a step.
//!
//! A step begins with the first statement behind a scheduling point, so its event is written just before that statement. Where
//! paths meet of which only some come from a point, a variable says it.

use super::company::HandsOver;
use super::{At, Body, Maker, Mode, code};
use crate::build::*;
use crate::faults::is_false;
use fabius_lang::program::*;
use fabius_trace::Span;

impl Maker<'_> {
    /// A block inside of another one, and how it ends.
    pub(super) fn nested(&mut self, block: &Block, body: &mut Body) -> (Block, At) {
        let mut out = Vec::new();
        self.block(block, body, &mut out);
        (out, std::mem::replace(&mut body.at, At::Within))
    }

    /// Says by a variable whether control stands at a scheduling point.
    pub(super) fn remember(&self, at: At, body: &mut Body, out: &mut Block) {
        let fresh = fresh(body);
        if at == At::Point {
            out.push(set(&fresh, boolean(true)));
        }
    }

    /// The next statement belongs to a step.
    pub(super) fn begin(&mut self, body: &mut Body, out: &mut Block) {
        match std::mem::replace(&mut body.at, At::Within) {
            At::Within => {}
            At::Point => self.tell(code::STEP, number(0), out),
            At::Either => {
                let fresh = fresh(body);
                let mut begin = Vec::new();
                self.tell(code::STEP, number(0), &mut begin);
                begin.push(set(&fresh, boolean(false)));
                out.push(when(read(&fresh), begin));
            }
        }
    }

    /// A scheduling point, if the access asks for one, and the beginning of a step.
    pub(super) fn point(&mut self, s: &Stmt, body: &mut Body, out: &mut Block) {
        if !self.is_point(s.access, body) {
            return self.begin(body, out);
        }
        if self.needless.has(s) {
            self.pass_by(body, out);
        } else {
            self.arrive(body, out);
        }
        body.at = At::Point;
        self.begin(body, out);
    }

    pub(super) fn is_point(&self, access: Access, body: &Body) -> bool {
        self.implicit && body.mode == Mode::Free && access > Access::Local
    }

    /// Control may be taken away here, unless it has just been.
    pub(super) fn arrive(&mut self, body: &mut Body, out: &mut Block) {
        match body.at {
            At::Within => {
                self.note(code::SEEN, number(0), out);
                out.push(stmt(StmtKind::Zield));
            }
            At::Point => {}
            At::Either => {
                let fresh = fresh(body);
                let mut zield = Vec::new();
                self.note(code::SEEN, number(0), &mut zield);
                zield.push(stmt(StmtKind::Zield));
                out.push(when(not(read(&fresh)), zield));
                out.push(set(&fresh, boolean(false)));
            }
        }
    }

    /// A scheduling point at which control need not be taken away.
    fn pass_by(&mut self, body: &mut Body, out: &mut Block) {
        match body.at {
            At::Within => self.note(code::SEEN, number(0), out),
            At::Point => {}
            At::Either => {
                let fresh = fresh(body);
                let mut seen = Vec::new();
                self.note(code::SEEN, number(0), &mut seen);
                if !seen.is_empty() {
                    out.push(when(not(read(&fresh)), seen));
                }
                out.push(set(&fresh, boolean(false)));
            }
        }
    }

    /// Control is given away while the expression is false. Where it comes back is where one may be stuck.
    pub(super) fn pause(&mut self, e: &Expr, body: &mut Body, out: &mut Block) {
        if body.mode != Mode::Free {
            return;
        }
        // Who waits for ever is seen as well.
        self.note(code::SEEN, number(0), out);
        let stuck = stmt(StmtKind::Await(e.clone()));
        let no = is_false(&self.program, e);
        // Who waits hands over to other buffers first, and then to other tasks of its own.
        let to_own = when(no.clone(), vec![stmt(StmtKind::Yield)]);
        let to_others = |waits: Expr| when(waits, vec![stmt(StmtKind::Zield)]);
        if self.implicit {
            let stands = self.stands(body, out);
            self.arrive(body, out);
            out.push(stuck);
            body.at = At::Point;
            if self.tasks {
                out.extend(stands.map(|stands| to_others(and(stands, no.clone()))));
                out.push(to_own);
                out.extend((body.hands_over == HandsOver::Wherever).then(|| to_others(no)));
            }
        } else {
            // It is no scheduling point by itself.
            match body.at {
                At::Within => {}
                At::Point => out.push(stuck.clone()),
                At::Either => out.push(when(read(&fresh(body)), vec![stuck.clone()])),
            }
            let mut others = match body.at {
                At::Point if body.hands_over == HandsOver::Never => Vec::new(),
                At::Either if body.hands_over == HandsOver::Never => {
                    vec![when(not(read(&fresh(body))), vec![stmt(StmtKind::Zield)])]
                }
                _ => vec![stmt(StmtKind::Zield)],
            };
            others.push(stuck);
            if self.tasks {
                others.push(to_own);
                others.extend((body.hands_over == HandsOver::Wherever).then(|| to_others(no.clone())));
            }
            match body.at {
                At::Within => self.tell(code::STEP, number(0), &mut others),
                At::Point => {}
                At::Either => self.remember(At::Point, body, &mut others),
            }
            out.push(when(no, others));
        }
        self.begin(body, out);
    }

    /// Whether control stands at a point already, where who waits may hand over, too.
    fn stands(&self, body: &mut Body, out: &mut Block) -> Option<Expr> {
        if body.hands_over == HandsOver::Never {
            return None;
        }
        match body.at {
            At::Within => None,
            At::Point => Some(boolean(true)),
            At::Either => {
                let stands = new_local(&mut body.locals, "stands", Type::Bool);
                out.push(set(&stands, read(&fresh(body))));
                Some(read(&stands))
            }
        }
    }

    /// Whether a handle is null, and whether one may go on behind `join`.
    pub(super) fn has_ended(&self, handle: Expr) -> (Expr, Expr) {
        let Some((_, finished)) = self.handles.clone() else { unreachable!("`join` has a handle") };
        let null = eq(handle.clone(), number(0));
        (null.clone(), or(null, read(&element(finished, handle))))
    }

    pub(super) fn wait(&mut self, e: Expr, span: Span, body: &mut Body, out: &mut Block) {
        self.pause(&e, body, out);
        self.check_exprs(std::slice::from_ref(&e), span, out);
        out.push(Stmt { span, ..assume(e) });
    }
}

/// The variable that says whether control stands at a scheduling point.
pub(super) fn fresh(body: &mut Body) -> Place {
    let locals = &mut body.locals;
    body.fresh.get_or_insert_with(|| new_local(locals, "fresh", Type::Bool)).clone()
}
