//! How much of a program is translated: threads, objects, iterations, calls. What was cut off by a default that nobody asked
//! for leaves the answer open.

use crate::bounds::proof_bounds;
use crate::proof::{Proof, ProofPlan};
use crate::vacuous;
use fabius_explore::search::{Monitor, Options};
use fabius_explore::stateful;
use fabius_lang::program::{
    Access, Base, BinaryOp, Block, Check, Class, Expr, ExprKind, Global, Place, Program, Stmt, StmtKind, Type, Value,
};
use fabius_machine::{Machine, StepLimits};
use fabius_smt::Limits;
use fabius_trace::{Bound, Points, ProgramId, Reason, Span, Verdict};

/// Says what the answer leaves out: no cap that nothing exceeds; and nothing is known if a default cut something off, or if
/// there is nothing to be known.
pub(crate) fn tell(program: &Program, id: &ProgramId, plan: &ProofPlan, limits: &Limits<'_>, proof: &mut Proof) {
    let vacuous = || vacuous::surely(program, limits.deadline, limits.stop);
    let bounds = match &mut proof.report.verdict {
        Verdict::NoBugWithinBounds { bounds } => bounds,
        Verdict::Verified => {
            if let Some(reason) = vacuous() {
                let bounds = proof_bounds(plan.sequentialization, id);
                proof.report.verdict = Verdict::Unknown { reason, bounds };
            }
            return;
        }
        _ => return,
    };
    let caps = plan.caps();
    let mut cut = std::mem::take(&mut proof.cut);
    let kinds = [(Counted::Tasks, caps.tasks, plan.tasks), (Counted::Objects, caps.objects, plan.objects)];
    for (counted, most, given) in kinds {
        let words = match counted {
            Counted::Tasks => caps.words_of_tasks(),
            Counted::Objects => caps.words_of_objects(),
        };
        if !bounds.limits.contains(&words) {
            continue;
        }
        if is_never_exceeded(program, counted, most, limits) {
            bounds.limits.retain(|limit| *limit != words);
        } else if given.is_none() {
            cut.push(words);
        }
    }
    let reason = if let Some(reason) = vacuous() {
        reason
    } else if !cut.is_empty() {
        Reason::Program { message: cut.join("; ") }
    } else {
        return;
    };
    proof.report.verdict = Verdict::Unknown { reason, bounds: bounds.clone() };
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    Tasks,
    Objects,
}

/// Bytes of states that are looked at.
const FEW_BYTES: u64 = 32 << 20;

/// Whether exploration with little effort shows that no execution makes more than so many.
fn is_never_exceeded(program: &Program, what: Counted, most: u32, limits: &Limits<'_>) -> bool {
    if program.processes.iter().any(|p| p.count.is_none()) {
        return false;
    }
    let program = counting(program.clone(), what, most);
    let (deadline, memory) = (limits.deadline, Some(FEW_BYTES));
    let options = Options { bound: Bound::None, deadlock: false, memory, deadline, ..Options::default() };
    let monitor = Monitor { stop: limits.stop, progress: &|_| {} };
    let limits = StepLimits { deadline, memory, stop: Some(limits.stop) };
    stateful::search(&Machine::new(&program, Points::All).within(limits), &options, &monitor, &|_| {}).exhausted
}

/// The program that fails if it makes more than so many; its own assertions hold.
fn counting(mut program: Program, what: Counted, most: u32) -> Program {
    let counters = if what == Counted::Tasks { 1 } else { program.records.len() };
    let first = program.globals.len();
    for _ in 0..counters {
        let ty = Type::Int;
        let name = "$made".into();
        let (init, span) = (Value::Int(0), Span::default());
        program.globals.push(Global { name, ty, init, class: Class::Sync, per_thread: false, span });
    }
    let counted = |s: &Stmt| match (&s.kind, what) {
        (StmtKind::Spawn(..) | StmtKind::Post(..), Counted::Tasks) => Some(first),
        (StmtKind::New(_, record, _), Counted::Objects) => Some(first + record),
        _ => None,
    };
    for proc in &mut program.procs {
        count_in(&mut proc.body, &counted, i64::from(most));
    }
    program
}

fn count_in(block: &mut Block, counted: &dyn Fn(&Stmt) -> Option<usize>, most: i64) {
    for mut s in std::mem::take(block) {
        match &mut s.kind {
            StmtKind::If(_, a, b) => {
                count_in(a, counted, most);
                count_in(b, counted, most);
            }
            StmtKind::While(_, b) | StmtKind::Atomic(b) => count_in(b, counted, most),
            _ => {}
        }
        let counter = counted(&s);
        let is_assertion = matches!(s.kind, StmtKind::Assert(..));
        if !is_assertion {
            block.push(s);
        }
        // Behind the statement, so that both belong to its step.
        if let Some(global) = counter {
            block.extend(count_one(global, most));
        }
    }
}

fn count_one(global: usize, most: i64) -> [Stmt; 2] {
    let span = Span::default();
    let expr = |kind, ty| Expr { kind, ty, span };
    let place = || Place { base: Base::Global(global), path: Vec::new(), ty: Type::Int, span };
    let read = || Box::new(expr(ExprKind::Read(place()), Type::Int));
    let number = |n| Box::new(expr(ExprKind::Const(Value::Int(n)), Type::Int));
    let more = expr(ExprKind::Binary(BinaryOp::Add, read(), number(1)), Type::Int);
    let fits = expr(ExprKind::Binary(BinaryOp::Le, read(), number(most)), Type::Bool);
    let local = |kind| Stmt { kind, access: Access::Local, span };
    [local(StmtKind::Assign(place(), more)), local(StmtKind::Assert(fits, Check::Assertion, None))]
}
