//! From statements to clauses.
//!
//! Paper: Horn Clause Solvers for Program Verification (Fields of Logic and Computation II, 2015), section 3: a predicate
//! for each loop, and two for a procedure: what it is entered with, and what it then does. Between them a clause is as
//! large as it can be: Software Model Checking via Large-Block Encoding (FMCAD 2009), section 3.
//!
//! Deviations:
//! 1. Only recursive procedures have predicates (and whatever is called in very large programs); others are executed where
//!    they are called, and a loop in them has the variables of the callers among its arguments.
//! 2. Where paths meet that come from different predicates, there is a predicate of its own: a clause has one body.
//! 3. A loop whose guard is known is executed as long as it is.
//! 4. Ranges of types are not invariants to be found. A clause says that no predicate is given a value beyond them (which
//!    is a fault of the language), and so each may take them for granted.

use super::touched::{self, Touched};
use super::{Atom, Clause, Clauses, Predicate};
use crate::bmc::layout::{Leaf, size};
use crate::bmc::{Effects, Evaluator, NotSequential, State};
use fabius_lang::program::{Block, Expr, ExprKind, Guard, LocalId, ProcId, Program, Stmt, StmtKind, Type};
use fabius_smt::{Sort, Term, Terms};
use fabius_trace::Span;

/// Iterations of a loop with a known guard.
const COUNTED: u32 = 32;
/// Behind so many statements every call is one of a procedure with predicates.
const LARGE: u64 = 100_000;

/// All paths to here from the predicates of one body.
#[derive(Clone)]
struct Point {
    /// The body, an index into [`Encoder::bodies`].
    body: usize,
    /// Globals, then the locals (or the results) of the procedure.
    state: State,
    /// What callers hold: the values at the entry of the procedure that has predicates, then the locals of each caller.
    below: Vec<Term>,
}

/// What the variables behind the globals are.
#[derive(Clone, Copy)]
enum Shape {
    Inside(ProcId),
    Behind(ProcId),
}

/// A point where a clause ends and others begin.
struct Cut {
    predicate: usize,
    /// Which of the values, `state` before `below`, are arguments.
    positions: Vec<usize>,
    point: Point,
}

#[derive(Default)]
struct LoopExits {
    breaks: Vec<Point>,
    continues: Vec<Point>,
}

/// A call under way.
struct Scope {
    proc: ProcId,
    loops: Vec<LoopExits>,
    returns: Vec<Point>,
}

/// The predicates of a procedure.
#[derive(Clone, Copy)]
struct Summary {
    enter: usize,
    leave: usize,
}

struct Encoder<'p> {
    ev: Evaluator<'p>,
    program: &'p Program,
    effects: Vec<Effects>,
    touched: Vec<Touched>,
    summaries: Vec<Option<Summary>>,
    /// Procedures with predicates whose clauses are still to be made.
    pending: Vec<ProcId>,
    /// What `below` consists of.
    frames: Vec<Leaf>,
    bodies: Vec<Vec<Atom>>,
    /// Conditions under which something is wrong, for each body.
    wrong: Vec<Vec<Term>>,
    predicates: Vec<Predicate>,
    clauses: Vec<Clause>,
    statements: u64,
}

type Ran = Result<Option<Point>, NotSequential>;

/// The clauses of a program, with all variables as arguments.
pub fn encode(program: &Program) -> Result<Clauses, NotSequential> {
    let init = crate::entry(program)?;
    let mut encoder = Encoder {
        ev: Evaluator::new(program),
        program,
        effects: crate::bmc::effects_of_procedures(program),
        touched: touched::of_procedures(program),
        summaries: vec![None; program.procs.len()],
        pending: Vec::new(),
        frames: Vec::new(),
        bodies: vec![Vec::new()],
        wrong: vec![Vec::new()],
        predicates: Vec::new(),
        clauses: Vec::new(),
        statements: 0,
    };
    let mut vars = Vec::new();
    for global in &program.globals {
        vars.extend(encoder.ev.constant(&global.init, &global.ty));
    }
    vars.extend(encoder.defaults(init, 0));
    let begin = Point { body: 0, state: State { guard: Terms::TRUE, vars }, below: Vec::new() };
    encoder.execute(init, begin)?;
    while let Some(proc) = encoder.pending.pop() {
        encoder.procedure(proc)?;
    }
    Ok(encoder.finish())
}

impl<'p> Encoder<'p> {
    fn finish(mut self) -> Clauses {
        for (body, wrong) in self.bodies.into_iter().zip(self.wrong) {
            let guard = self.ev.terms.any(wrong);
            if guard != Terms::FALSE {
                self.clauses.push(Clause { body, guard, head: None });
            }
        }
        Clauses { terms: self.ev.terms, predicates: self.predicates, clauses: self.clauses }
    }

    /// The locals from one on, as they are at the beginning.
    fn defaults(&mut self, proc: ProcId, from: usize) -> Vec<Term> {
        let program = self.program;
        program.procs[proc].locals[from..].iter().flat_map(|l| self.ev.default_of(&l.ty)).collect()
    }

    /// The clauses of a procedure that has predicates.
    fn procedure(&mut self, proc: ProcId) -> Result<(), NotSequential> {
        let summary = self.summaries[proc].expect("it was called");
        let params = self.ev.parameters(proc);
        let entered = self.entry_leaves(proc);
        let positions = self.entry_positions(proc);
        let mut vars = Vec::new();
        for (i, leaf) in self.ev.globals.leaves.clone().into_iter().enumerate() {
            vars.push(match leaf.sort {
                Sort::Order => self.ev.terms.variable(Sort::Order),
                _ if positions.contains(&i) => leaf.variable(&mut self.ev.terms),
                // Neither read nor written.
                sort => self.ev.terms.constant(0, sort),
            });
        }
        let Evaluator { locals, terms, .. } = &mut self.ev;
        vars.extend(locals[proc].leaves[..params].iter().map(|leaf| leaf.variable(terms)));
        let below: Vec<Term> = positions.iter().map(|i| vars[*i]).collect();
        vars.extend(self.defaults(proc, self.program.procs[proc].params));
        let body = self.body(vec![Atom { predicate: summary.enter, arguments: below.clone() }]);
        self.frames = entered;
        let end = self.execute(proc, Point { body, state: State { guard: Terms::TRUE, vars }, below })?;
        self.frames.clear();
        if let Some(end) = end {
            let mut arguments = end.below.clone();
            arguments.extend(self.changed_positions(proc).iter().map(|i| end.state.vars[*i]));
            self.imply(&end, summary.leave, arguments);
        }
        Ok(())
    }

    /// Runs a procedure to where it returns: globals, then results.
    fn execute(&mut self, proc: ProcId, begin: Point) -> Ran {
        let mut scope = Scope { proc, loops: Vec::new(), returns: Vec::new() };
        let program = self.program;
        if let Some(mut end) = self.block(&program.procs[proc].body, begin, &mut scope)? {
            let values: Vec<Term> = program.procs[proc].results.iter().flat_map(|ty| self.ev.default_of(ty)).collect();
            end.state.vars.truncate(self.ev.globals.leaves.len());
            end.state.vars.extend(values);
            scope.returns.push(end);
        }
        Ok(self.join(scope.returns, Shape::Behind(proc)))
    }

    fn block(&mut self, block: &'p Block, mut point: Point, scope: &mut Scope) -> Ran {
        for stmt in block {
            match self.stmt(stmt, point, scope)? {
                Some(next) if next.state.guard != Terms::FALSE => point = next,
                _ => return Ok(None),
            }
        }
        Ok(Some(point))
    }

    fn stmt(&mut self, stmt: &'p Stmt, mut point: Point, scope: &mut Scope) -> Ran {
        self.statements += 1;
        let proc = scope.proc;
        let not = |what| Err(NotSequential { what, span: stmt.span });
        match &stmt.kind {
            StmtKind::Skip | StmtKind::Progress | StmtKind::Yield | StmtKind::Zield | StmtKind::Print(_) => {}
            StmtKind::Assign(place, e) => {
                let value = self.ev.eval(&point.state, proc, e)?;
                self.ev.store(&mut point.state, proc, place, &value)?;
            }
            StmtKind::Any(place, lo, hi) => {
                let sort = self.ev.leaf_sort(&point.state, proc, place)?;
                let (value, allowed) = self.ev.any(&point.state, proc, &place.ty, sort, lo, hi)?;
                self.ev.store(&mut point.state, proc, place, &[value])?;
                self.assume(&mut point, allowed);
            }
            StmtKind::If(guard, then, otherwise) => {
                let c = self.ev.guard(&point.state, proc, guard)?;
                let not_c = self.ev.terms.not(c);
                let mut no = point.clone();
                self.assume(&mut point, c);
                self.assume(&mut no, not_c);
                let mut ends = Vec::new();
                for (block, point) in [(then, point), (otherwise, no)] {
                    if point.state.guard != Terms::FALSE {
                        ends.extend(self.block(block, point, scope)?);
                    }
                }
                return Ok(self.join(ends, Shape::Inside(proc)));
            }
            StmtKind::While(guard, body) => return self.iterate(stmt, guard, body, point, scope),
            StmtKind::Break | StmtKind::Continue => {
                let innermost = scope.loops.last_mut().expect("only inside of a loop");
                let list = if stmt.kind == StmtKind::Break { &mut innermost.breaks } else { &mut innermost.continues };
                list.push(point);
                return Ok(None);
            }
            StmtKind::Call(results, callee, arguments) => {
                return self.call(results, *callee, arguments, point, scope);
            }
            StmtKind::Return(es) => {
                let mut values = Vec::new();
                for (e, ty) in es.iter().zip(&self.program.procs[proc].results) {
                    let value = self.ev.eval(&point.state, proc, e)?;
                    values.extend(self.ev.in_sorts_of(value, ty));
                }
                point.state.vars.truncate(self.ev.globals.leaves.len());
                point.state.vars.extend(values);
                scope.returns.push(point);
                return Ok(None);
            }
            StmtKind::Atomic(block) => return self.block(block, point, scope),
            StmtKind::Assume(e) | StmtKind::Await(e) => {
                let holds = self.ev.scalar(&point.state, proc, e)?;
                self.assume(&mut point, holds);
            }
            StmtKind::Assert(e, ..) => {
                let holds = self.ev.scalar(&point.state, proc, e)?;
                let fails = self.ev.terms.not(holds);
                self.never(&point, fails);
                self.assume(&mut point, holds);
            }
            StmtKind::New(..) => return not("the heap"),
            StmtKind::Spawn(..) | StmtKind::Post(..) | StmtKind::Join(_) => return not("a thread or task"),
            StmtKind::SetInsert(..) | StmtKind::SetRemove(..) | StmtKind::SetRemoveAny(_) | StmtKind::SetClear(_) => {
                return not("a set of threads");
            }
        }
        Ok(Some(point))
    }

    fn assume(&mut self, point: &mut Point, holds: Term) {
        point.state.guard = self.ev.terms.and(point.state.guard, holds);
    }

    /// Something is wrong if this holds.
    fn never(&mut self, point: &Point, fails: Term) {
        let wrong = self.ev.terms.and(point.state.guard, fails);
        if wrong != Terms::FALSE {
            self.wrong[point.body].push(wrong);
        }
    }

    fn iterate(
        &mut self,
        stmt: &'p Stmt,
        guard: &'p Guard,
        body: &'p Block,
        mut point: Point,
        scope: &mut Scope,
    ) -> Ran {
        let inside = Shape::Inside(scope.proc);
        let mut exits = Vec::new();
        if matches!(guard, Guard::Expr(e) if !matches!(e.kind, ExprKind::Const(_))) {
            for _ in 0..COUNTED {
                match self.ev.guard(&point.state, scope.proc, guard)? {
                    Terms::TRUE => {}
                    Terms::FALSE => {
                        exits.push(point);
                        return Ok(self.join(exits, inside));
                    }
                    _ => break,
                }
                let (next, breaks) = self.iteration(body, point, scope)?;
                exits.extend(breaks);
                match self.join(next, inside) {
                    Some(next) => point = next,
                    None => return Ok(self.join(exits, inside)),
                }
            }
        }
        let mut changes = Effects::default();
        crate::bmc::effects_of_stmt(stmt, &self.effects, &mut changes);
        let changed = self.ev.globals.select(&changes.globals).into_iter();
        let changed = changed.chain(self.ev.locals[scope.proc].select(&changes.locals));
        let changed: Vec<bool> = changed.map(|leaf| leaf.is_some()).collect();
        let of = self.describe("the loop", scope.proc, stmt.span);
        let cut = self.cut("loop", of, vec![point], inside, &changed);
        let c = self.ev.guard(&cut.point.state, scope.proc, guard)?;
        let not_c = self.ev.terms.not(c);
        let (mut stays, mut leaves) = (cut.point.clone(), cut.point.clone());
        self.assume(&mut stays, c);
        self.assume(&mut leaves, not_c);
        exits.push(leaves);
        if stays.state.guard != Terms::FALSE {
            let (next, breaks) = self.iteration(body, stays, scope)?;
            for point in self.one_for_each_body(next) {
                self.reach(&point, &cut);
            }
            exits.extend(breaks);
        }
        Ok(self.join(exits, inside))
    }

    /// Runs the body of a loop once: where it goes on with the next iteration, and where it leaves the loop.
    fn iteration(
        &mut self,
        body: &'p Block,
        point: Point,
        scope: &mut Scope,
    ) -> Result<(Vec<Point>, Vec<Point>), NotSequential> {
        scope.loops.push(LoopExits::default());
        let end = self.block(body, point, scope)?;
        let LoopExits { breaks, mut continues } = scope.loops.pop().expect("it was just pushed");
        continues.extend(end);
        Ok((continues, breaks))
    }

    fn call(
        &mut self,
        results: &[Option<LocalId>],
        callee: ProcId,
        arguments: &[Expr],
        mut point: Point,
        scope: &Scope,
    ) -> Ran {
        let program = self.program;
        let globals = self.ev.globals.leaves.len();
        let mut vars = point.state.vars[..globals].to_vec();
        for (e, local) in arguments.iter().zip(&program.procs[callee].locals) {
            let value = self.ev.eval(&point.state, scope.proc, e)?;
            vars.extend(self.ev.in_sorts_of(value, &local.ty));
        }
        let locals = point.state.vars.split_off(globals);
        let after = if self.touched[callee].calls.contains(&callee) || self.statements > LARGE {
            point.state.vars = vars;
            point.below.extend(locals);
            Some(self.call_of_summary(callee, point))
        } else {
            vars.extend(self.defaults(callee, program.procs[callee].params));
            point.state.vars = vars;
            point.below.extend(locals);
            let frames = self.frames.len();
            self.frames.extend_from_slice(&self.ev.locals[scope.proc].leaves);
            let after = self.execute(callee, point)?;
            self.frames.truncate(frames);
            after
        };
        let Some(mut after) = after else { return Ok(None) };
        let values = after.state.vars.split_off(globals);
        let locals = after.below.split_off(after.below.len() - self.ev.locals[scope.proc].leaves.len());
        after.state.vars.extend(locals);
        let mut at = 0;
        for (result, ty) in results.iter().zip(&program.procs[callee].results) {
            let length = size(program, ty);
            if let Some(local) = result {
                let offset = globals + self.ev.locals[scope.proc].offsets[*local];
                after.state.vars[offset..offset + length].copy_from_slice(&values[at..at + length]);
            }
            at += length;
        }
        Ok(Some(after))
    }

    /// Calls a procedure that has predicates: its state before, with its parameters; then behind it, with its results.
    fn call_of_summary(&mut self, callee: ProcId, mut point: Point) -> Point {
        let summary = self.summary(callee);
        let entered: Vec<Term> = self.entry_positions(callee).iter().map(|i| point.state.vars[*i]).collect();
        self.imply(&point, summary.enter, entered.clone());
        point.state.vars.truncate(self.ev.globals.leaves.len());
        point.state.vars.extend(self.leaves_of(Shape::Behind(callee)).iter().map(|_| Terms::FALSE));
        let mut arguments = entered;
        let leaves = self.values(Shape::Behind(callee));
        for i in self.written(callee) {
            point.state.vars[i] = leaves[i].variable(&mut self.ev.terms);
        }
        arguments.extend(self.changed_positions(callee).iter().map(|i| point.state.vars[*i]));
        let mut body = self.bodies[point.body].clone();
        body.push(Atom { predicate: summary.leave, arguments });
        point.body = self.body(body);
        point
    }

    fn summary(&mut self, proc: ProcId) -> Summary {
        if let Some(known) = self.summaries[proc] {
            return known;
        }
        let name = self.program.procs[proc].name.clone();
        let span = self.program.procs[proc].span;
        let entered = self.entry_leaves(proc);
        let values = self.values(Shape::Behind(proc));
        let mut all = entered.clone();
        all.extend(self.changed_positions(proc).iter().map(|i| values[*i]));
        let of = self.describe("what enters the procedure", proc, span);
        let enter = self.predicate(&format!("enter_{name}"), of, entered);
        let of = self.describe("what enters the procedure, and then what leaves it,", proc, span);
        let leave = self.predicate(&format!("leave_{name}"), of, all);
        let summary = Summary { enter, leave };
        self.summaries[proc] = Some(summary);
        self.pending.push(proc);
        summary
    }

    /// Of globals and parameters: those that the procedure may look at.
    fn entry_positions(&self, proc: ProcId) -> Vec<usize> {
        let globals = self.ev.globals.select(&self.touched[proc].globals).into_iter();
        let params = self.ev.locals[proc].leaves[..self.ev.parameters(proc)].iter().copied().map(Some);
        positions(globals.chain(params))
    }

    fn entry_leaves(&self, proc: ProcId) -> Vec<Leaf> {
        let all = self.values(Shape::Inside(proc));
        self.entry_positions(proc).into_iter().map(|i| all[i]).collect()
    }

    /// Of globals and results: those that the procedure writes.
    fn written(&self, proc: ProcId) -> Vec<usize> {
        let globals = self.ev.globals.select(&self.effects[proc].globals);
        let first = globals.len();
        let results = first..first + self.leaves_of(Shape::Behind(proc)).len();
        globals.iter().enumerate().filter(|(_, leaf)| leaf.is_some()).map(|(i, _)| i).chain(results).collect()
    }

    /// Of those, the ones that a predicate can speak of.
    fn changed_positions(&self, proc: ProcId) -> Vec<usize> {
        let all = self.values(Shape::Behind(proc));
        self.written(proc).into_iter().filter(|i| all[*i].sort != Sort::Order).collect()
    }

    fn leaves_of(&self, shape: Shape) -> Vec<Leaf> {
        match shape {
            Shape::Inside(proc) => self.ev.locals[proc].leaves.clone(),
            Shape::Behind(proc) => {
                self.program.procs[proc].results.iter().flat_map(|ty: &Type| self.ev.leaves(ty)).collect()
            }
        }
    }

    /// The leaves of a state.
    fn values(&self, shape: Shape) -> Vec<Leaf> {
        let mut all = self.ev.globals.leaves.clone();
        all.extend(self.leaves_of(shape));
        all
    }

    fn describe(&self, what: &str, proc: ProcId, span: Span) -> String {
        let at = span.line_col(&self.program.source);
        format!("{what} at {}:{} in `{}`", at.line, at.column, self.program.procs[proc].name)
    }

    fn predicate(&mut self, kind: &str, of: String, arguments: Vec<Leaf>) -> usize {
        let number = self.predicates.len();
        let plain: String = kind.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        self.predicates.push(Predicate { name: format!("{plain}_{number}"), of, arguments });
        number
    }

    fn body(&mut self, body: Vec<Atom>) -> usize {
        self.bodies.push(body);
        self.wrong.push(Vec::new());
        self.bodies.len() - 1
    }

    /// What holds at the point implies a predicate. Values beyond their ranges are wrong.
    fn imply(&mut self, point: &Point, predicate: usize, arguments: Vec<Term>) {
        for (i, t) in arguments.iter().enumerate() {
            let Leaf { sort: Sort::Int, range: Some((lo, hi)) } = self.predicates[predicate].arguments[i] else {
                continue;
            };
            let (lo, hi) = (i128::from(lo), i128::from(hi));
            if self.ev.terms.range(*t).is_some_and(|(least, most)| lo <= least && most <= hi) {
                continue;
            }
            let (lo, hi) = (self.ev.terms.constant(lo, Sort::Int), self.ev.terms.constant(hi, Sort::Int));
            let (below, above) = (self.ev.terms.lt(*t, lo), self.ev.terms.lt(hi, *t));
            let outside = self.ev.terms.or(below, above);
            self.never(point, outside);
        }
        if point.state.guard != Terms::FALSE {
            let head = Some(Atom { predicate, arguments });
            self.clauses.push(Clause { body: self.bodies[point.body].clone(), guard: point.state.guard, head });
        }
    }

    /// The point implies the predicate of the cut.
    fn reach(&mut self, point: &Point, cut: &Cut) {
        let all: Vec<Term> = point.state.vars.iter().chain(&point.below).copied().collect();
        self.imply(point, cut.predicate, cut.positions.iter().map(|i| all[*i]).collect());
    }

    /// Ends clauses here, and begins anew. A value that is the same number wherever control comes from, and is not
    /// changed later, stays this number.
    fn cut(&mut self, kind: &str, of: String, points: Vec<Point>, shape: Shape, changed: &[bool]) -> Cut {
        let mut leaves = self.values(shape);
        let own = leaves.len();
        leaves.extend(self.frames.iter().copied());
        let (mut positions, mut arguments, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (i, leaf) in leaves.into_iter().enumerate() {
            let first = points[0].value(i);
            let stays = !changed.get(i).copied().unwrap_or(false) && points.iter().all(|p| p.value(i) == first);
            if stays && self.ev.terms.value_of(first).is_some() {
                values.push(first);
                continue;
            }
            values.push(leaf.variable(&mut self.ev.terms));
            if leaf.sort != Sort::Order {
                positions.push(i);
                arguments.push(leaf);
            }
        }
        let predicate = self.predicate(kind, of, arguments);
        let atom = Atom { predicate, arguments: positions.iter().map(|i| values[*i]).collect() };
        let body = self.body(vec![atom]);
        let below = values.split_off(own);
        let cut = Cut {
            predicate,
            positions,
            point: Point { body, state: State { guard: Terms::TRUE, vars: values }, below },
        };
        for point in &points {
            self.reach(point, &cut);
        }
        cut
    }

    /// One point for many whose guards exclude each other.
    fn join(&mut self, points: Vec<Point>, shape: Shape) -> Option<Point> {
        let mut points = self.one_for_each_body(points);
        if points.len() < 2 {
            return points.pop();
        }
        let (Shape::Inside(proc) | Shape::Behind(proc)) = shape;
        let of = self.describe("where paths meet, in the procedure", proc, self.program.procs[proc].span);
        Some(self.cut("join", of, points, shape, &[]).point)
    }

    fn one_for_each_body(&mut self, points: Vec<Point>) -> Vec<Point> {
        let mut all: Vec<Point> = Vec::new();
        for point in points.into_iter().filter(|p| p.state.guard != Terms::FALSE) {
            match all.iter_mut().find(|p| p.body == point.body) {
                Some(known) => {
                    let c = point.state.guard;
                    known.state.guard = self.ev.terms.or(known.state.guard, c);
                    let before = known.state.vars.iter_mut().chain(&mut known.below);
                    for (old, new) in before.zip(point.state.vars.iter().chain(&point.below)) {
                        *old = self.ev.terms.ite(c, *new, *old);
                    }
                }
                None => all.push(point),
            }
        }
        all
    }
}

impl Point {
    fn value(&self, i: usize) -> Term {
        let own = self.state.vars.len();
        if i < own { self.state.vars[i] } else { self.below[i - own] }
    }
}

/// Where there is a leaf that a predicate can speak of.
fn positions(leaves: impl Iterator<Item = Option<Leaf>>) -> Vec<usize> {
    leaves.enumerate().filter(|(_, leaf)| leaf.is_some_and(|l| l.sort != Sort::Order)).map(|(i, _)| i).collect()
}
