//! Procedures as graphs: control points, and what happens between them.

use fabius_lang::program::*;
use fabius_trace::Span;

/// A control point of a procedure.
pub type Point = usize;

/// What happens between two control points.
#[derive(Clone, Debug)]
pub enum Action<'p> {
    Skip,
    Assign(&'p Place, &'p Expr),
    Any(&'p Place, &'p Expr, &'p Expr),
    /// Only where the expression has this value.
    Where(&'p Expr, bool),
    Call(&'p [Option<LocalId>], ProcId, &'p [Expr]),
    /// The results are what these are; control goes to the end.
    Return(&'p [Expr]),
    Print(usize, &'p [Expr]),
    /// Others may run here.
    Zield,
}

/// An edge.
#[derive(Clone, Debug)]
pub struct Edge<'p> {
    pub action: Action<'p>,
    pub to: Point,
}

/// An assertion at a control point.
#[derive(Clone, Debug)]
pub struct Check<'p> {
    pub at: Point,
    pub expr: &'p Expr,
    pub span: Span,
}

/// A procedure.
#[derive(Clone, Debug, Default)]
pub struct Graph<'p> {
    /// The edges that leave each point. The first point is the entry, the second the end.
    pub edges: Vec<Vec<Edge<'p>>>,
    pub checks: Vec<Check<'p>>,
    /// Where a thread may wait for ever, if this is false.
    pub waits: Vec<(Point, &'p Expr)>,
    /// The locals whose values matter at each point.
    pub live: Vec<Vec<bool>>,
}

pub const ENTRY: Point = 0;
pub const END: Point = 1;

/// The graph of a procedure; `prints` counts statements that print.
///
/// # Errors
/// A statement that is not sequential.
pub fn graph<'p>(proc: &'p Proc, prints: &mut Vec<Span>) -> Result<Graph<'p>, Span> {
    let mut graph = Graph { edges: vec![Vec::new(), Vec::new()], ..Graph::default() };
    let mut builder = Builder { graph: &mut graph, prints, loops: Vec::new() };
    let last = builder.block(&proc.body, ENTRY)?;
    builder.edge(last, Action::Return(&[]), END);
    graph.live = live(proc, &graph);
    Ok(graph)
}

struct Builder<'g, 'p> {
    graph: &'g mut Graph<'p>,
    prints: &'g mut Vec<Span>,
    /// Where `continue` goes, and who leaves by `break`.
    loops: Vec<(Point, Vec<Point>)>,
}

impl<'p> Builder<'_, 'p> {
    fn point(&mut self) -> Point {
        self.graph.edges.push(Vec::new());
        self.graph.edges.len() - 1
    }

    fn edge(&mut self, from: Point, action: Action<'p>, to: Point) {
        self.graph.edges[from].push(Edge { action, to });
    }

    fn then(&mut self, from: Point, action: Action<'p>) -> Point {
        let to = self.point();
        self.edge(from, action, to);
        to
    }

    fn block(&mut self, block: &'p [Stmt], from: Point) -> Result<Point, Span> {
        block.iter().try_fold(from, |at, s| self.stmt(s, at))
    }

    fn stmt(&mut self, s: &'p Stmt, at: Point) -> Result<Point, Span> {
        let span = s.span;
        Ok(match &s.kind {
            StmtKind::Skip | StmtKind::Progress => at,
            StmtKind::Assign(p, e) => self.then(at, Action::Assign(p, e)),
            StmtKind::Any(p, lo, hi) => self.then(at, Action::Any(p, lo, hi)),
            StmtKind::If(guard, a, b) => {
                let both = match guard {
                    Guard::Star => [Action::Skip, Action::Skip],
                    Guard::Expr(e) => [Action::Where(e, true), Action::Where(e, false)],
                };
                let [yes, no] = both.map(|action| self.then(at, action));
                let (yes, no) = (self.block(a, yes)?, self.block(b, no)?);
                self.edge(no, Action::Skip, yes);
                // What comes behind both is a point of its own, so that it is looked at once.
                self.then(yes, Action::Skip)
            }
            StmtKind::While(guard, block) => {
                let head = self.then(at, Action::Skip);
                let (stay, leave) = match guard {
                    Guard::Star => (Action::Skip, Action::Skip),
                    Guard::Expr(e) => (Action::Where(e, true), Action::Where(e, false)),
                };
                let inside = self.then(head, stay);
                self.loops.push((head, Vec::new()));
                let last = self.block(block, inside)?;
                self.edge(last, Action::Skip, head);
                let (_, breaks) = self.loops.pop().expect("it was pushed");
                // Numbered behind the loop, so that the loop is finished first.
                let end = self.then(head, leave);
                breaks.into_iter().for_each(|from| self.edge(from, Action::Skip, end));
                end
            }
            StmtKind::Break => {
                self.loops.last_mut().ok_or(span)?.1.push(at);
                self.point()
            }
            StmtKind::Continue => {
                let head = self.loops.last().ok_or(span)?.0;
                self.edge(at, Action::Skip, head);
                self.point()
            }
            StmtKind::Call(results, p, args) => self.then(at, Action::Call(results, *p, args)),
            StmtKind::Return(values) => {
                self.edge(at, Action::Return(values), END);
                self.point()
            }
            StmtKind::Atomic(block) => self.block(block, at)?,
            StmtKind::Assume(e) => self.then(at, Action::Where(e, true)),
            StmtKind::Assert(e, ..) => {
                self.graph.checks.push(Check { at, expr: e, span });
                self.then(at, Action::Where(e, true))
            }
            StmtKind::Print(values) => {
                self.prints.push(span);
                self.then(at, Action::Print(self.prints.len() - 1, values))
            }
            StmtKind::Zield => self.then(at, Action::Zield),
            StmtKind::Await(e) => {
                self.graph.waits.push((at, e));
                at
            }
            _ => return Err(span),
        })
    }
}

/// The locals that some path from a point reads before it sets them.
fn live(proc: &Proc, graph: &Graph<'_>) -> Vec<Vec<bool>> {
    let mut live = vec![vec![false; proc.locals.len()]; graph.edges.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..graph.edges.len()).rev() {
            let mut here = vec![false; proc.locals.len()];
            for check in graph.checks.iter().filter(|c| c.at == at) {
                reads(check.expr, &mut here);
            }
            graph.waits.iter().filter(|(point, _)| *point == at).for_each(|(_, e)| reads(e, &mut here));
            for edge in &graph.edges[at] {
                let mut before = live[edge.to].clone();
                match &edge.action {
                    Action::Skip | Action::Zield => {}
                    Action::Assign(p, e) => {
                        kill(p, &mut before);
                        reads(e, &mut before);
                    }
                    Action::Any(p, lo, hi) => {
                        kill(p, &mut before);
                        reads(lo, &mut before);
                        reads(hi, &mut before);
                    }
                    Action::Where(e, _) => reads(e, &mut before),
                    Action::Call(results, _, args) => {
                        results.iter().flatten().for_each(|l| before[*l] = false);
                        args.iter().for_each(|e| reads(e, &mut before));
                    }
                    Action::Return(values) | Action::Print(_, values) => {
                        values.iter().for_each(|e| reads(e, &mut before))
                    }
                }
                here.iter_mut().zip(before).for_each(|(h, b)| *h |= b);
            }
            if here != live[at] {
                live[at] = here;
                changed = true;
            }
        }
    }
    live
}

/// A variable that is set as a whole is not needed before; one that is set in part still is.
fn kill(p: &Place, live: &mut [bool]) {
    if let Base::Local(l) = p.base {
        live[l] &= !p.path.is_empty();
    }
    for step in &p.path {
        if let Projection::Index { index, .. } = step {
            reads(index, live);
        }
    }
}

fn reads(e: &Expr, live: &mut [bool]) {
    match &e.kind {
        ExprKind::Read(p) => {
            if let Base::Local(l) = p.base {
                live[l] = true;
            }
            for step in &p.path {
                if let Projection::Index { index, .. } = step {
                    reads(index, live);
                }
            }
        }
        ExprKind::Unary(_, a) | ExprKind::Cast(a) => reads(a, live),
        ExprKind::Binary(_, a, b) => [a, b].into_iter().for_each(|e| reads(e, live)),
        ExprKind::IfElse(a, b, c) => [a, b, c].into_iter().for_each(|e| reads(e, live)),
        ExprKind::Tuple(parts) => parts.iter().for_each(|e| reads(e, live)),
        _ => {}
    }
}
