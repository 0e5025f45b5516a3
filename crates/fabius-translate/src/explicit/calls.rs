//! Calls, births of tasks, births of objects.

use super::data::reference;
use super::{At, Body, Maker, Mode, Origin, code};
use crate::build::*;
use crate::faults;
use fabius_lang::program::*;
use fabius_trace::Span;

impl Maker<'_> {
    pub(super) fn call(
        &mut self,
        s: &Stmt,
        (results, p, es): (&[Option<LocalId>], ProcId, &[Expr]),
        body: &mut Body,
        out: &mut Block,
    ) {
        let mut es = self.evaluated(es, s, body, out);
        self.check_arguments(p, &es, s.span, out);
        let callee = self.version(p, body.mode, body.level);
        es.extend(body.me.as_ref().map(read));
        // A range result that does not fit the local is a fault of the store.
        let mut stores = Vec::new();
        let mut kept = Vec::new();
        for (r, ty) in results.iter().zip(&self.source.procs[p].results) {
            let to = r.map(|l| body.local(l));
            match to.map(|l| local(l, body.locals[l].ty.clone())) {
                Some(place) if matches!(place.ty, Type::Range(..)) && place.ty != self.ty(ty) => {
                    let temporary = new_local(&mut body.locals, "result", self.ty(ty));
                    kept.push(Some(local_id(&temporary)));
                    stores.push((place, read(&temporary)));
                }
                _ => kept.push(to),
            }
        }
        out.push(Stmt { span: s.span, ..stmt(StmtKind::Call(kept, callee, es)) });
        for (to, e) in stores {
            self.checked_store(to, e, s.span, out);
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn spawn(
        &mut self,
        result: Option<LocalId>,
        p: ProcId,
        mut args: Vec<Expr>,
        level: Option<Level>,
        origin: Origin,
        span: Span,
        body: &mut Body,
        out: &mut Block,
    ) {
        if let Some((born, _)) = self.handles.clone() {
            let Type::Range(_, most) = born.ty else { unreachable!("handles are numbers") };
            out.push(assume(lt(read(&born), number(most))));
            out.push(set(&born, add(read(&born), number(1))));
            let id = new_local(&mut body.locals, "id", born.ty.clone());
            out.push(set(&id, read(&born)));
            args.push(read(&id));
            if let Some(l) = result {
                out.push(set(&local(l, body.locals[l].ty.clone()), read(&id)));
            }
        }
        if origin == Origin::Spawned {
            return self.make_thread(p, args, span, body, out);
        }
        let its_level = level.unwrap_or(body.level);
        let wrapper = self.wrapper(p, origin, its_level);
        self.tell(code::POST, number(level.map_or(-1, i64::from)), out);
        out.push(Stmt { span, ..stmt(StmtKind::Post(None, level, wrapper, args)) });
        if its_level > body.level {
            if body.mode == Mode::Atomic {
                let help = "post behind the `atomic` block";
                self.refuse("a post to a higher level inside of `atomic`", span, help);
            }
            body.at = At::Point;
        }
    }

    pub(super) fn new_object(
        &mut self,
        p: Place,
        r: RecordId,
        es: Vec<Expr>,
        span: Span,
        body: &mut Body,
        out: &mut Block,
    ) {
        self.check_exprs(&es, span, out);
        let mut conditions = Vec::new();
        es.iter().zip(&self.program.records[r].fields).for_each(|(e, f)| faults::of_store(e, &f.ty, &mut conditions));
        self.hold(conditions, span, out);
        let made = self.heap.made[r].clone();
        let object = new_local(&mut body.locals, "object", reference(self.heap.objects));
        out.push(assume(lt(read(&made), number(i64::from(self.heap.objects)))));
        out.extend([set(&made, add(read(&made), number(1))), set(&object, read(&made))]);
        for (column, e) in self.heap.fields[r].clone().into_iter().zip(es) {
            out.push(set(&element(column, read(&object)), e));
        }
        self.checked_store(p, read(&object), span, out);
    }
}
