//! Whether an answer says anything: if all executions are dropped, whatever is asserted holds.

use crate::dead_ends::{ends, stops_every_thread, with_assertions_at_ends, with_assumptions};
use crate::{Plan, with_instances};
use fabius_explore::complete::some_execution;
use fabius_explore::search::{Cut, Monitor, Options, Outcome};
use fabius_lang::program::{Block, ExprKind, Guard, Program, StmtKind, Value};
use fabius_machine::{Machine, StepLimits};
use fabius_trace::{Bound, Points, Reason, SchedulerKind, Span};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The reason that is given.
pub fn reason() -> Reason {
    let message = "no execution completes: each is dropped by an `assume` that fails or a choice of nothing, \
                   or does not leave a loop without scheduling points";
    Reason::Vacuous { message: message.into() }
}

/// The reason where any number of threads is asked about.
fn reason_of_few() -> Reason {
    let message = format!(
        "no execution of up to {FEW_THREADS} threads of each process completes: each is dropped by an `assume` that fails or \
         a choice of nothing, or does not leave a loop without scheduling points"
    );
    Reason::Vacuous { message }
}

/// The reason where executions go on for ever, and each leaves out a thread.
pub fn reason_of_fairness() -> Reason {
    let message = "no execution is fair: in each some thread could go on for ever and is left out, because its steps are \
                   dropped by an `assume` that fails or a choice of nothing, or another one never gives up control";
    Reason::Vacuous { message: message.into() }
}

/// The reason where a search was cut by a step that does not end, and no execution goes another way.
pub fn reason_of_loop(span: Span, program: &Program) -> Reason {
    let at = span.line_col(&program.source);
    let message = format!(
        "no execution completes: those that are not dropped stay in a loop without scheduling points, at {}:{}",
        at.line, at.column
    );
    Reason::Vacuous { message }
}

/// Whether the program has anything that drops executions.
fn may_drop(program: &Program) -> bool {
    !program.may_be_vacuous
        && program.any_stmt(|s| match &s.kind {
            StmtKind::Assume(e) => !ends(program, e),
            // Who goes round for ever by choices is dropped, too.
            StmtKind::While(test, body) => is_choice(test) || chooses(body),
            StmtKind::Any(_, lo, hi) => match (&lo.kind, &hi.kind) {
                (ExprKind::Const(Value::Int(lo)), ExprKind::Const(Value::Int(hi))) => lo > hi,
                _ => true,
            },
            _ => false,
        })
}

fn is_choice(test: &Guard) -> bool {
    matches!(test, Guard::Star)
}

/// Whether something is chosen in a block.
fn chooses(block: &Block) -> bool {
    block.iter().any(|s| match &s.kind {
        StmtKind::Any(..) | StmtKind::SetRemoveAny(_) | StmtKind::Call(..) => true,
        StmtKind::If(test, a, b) => is_choice(test) || chooses(a) || chooses(b),
        StmtKind::While(test, body) => is_choice(test) || chooses(body),
        StmtKind::Atomic(body) => chooses(body),
        _ => false,
    })
}

/// Whether to go on to an end may cost something: a scheduler may stay with a task that waits until it is delayed. Who does not
/// preempt gets there within the other bounds.
fn cuts_executions(bound: Bound) -> bool {
    match bound {
        Bound::Depth | Bound::Contexts | Bound::Rounds | Bound::Delays => true,
        Bound::None | Bound::Preemptions => false,
    }
}

/// Whether a search that found no bug met no execution but dropped ones.
///
/// # Errors
/// The limit that ended the look at executions that go on for ever.
pub fn is_vacuous(
    program: &Program,
    engine: &Machine<'_>,
    plan: &Plan,
    outcome: &Outcome,
    options: &Options,
    monitor: &Monitor<'_>,
) -> Result<bool, Cut> {
    if !may_drop(program) {
        return Ok(false);
    }
    // Executions that such a bound cuts off are none that are dropped, unless all are.
    if cuts_executions(plan.bound) && !outcome.exhausted {
        return Ok(is_surely_vacuous(program, options.deadline, monitor.stop));
    }
    let counts_executions = plan.stateless || crate::is_random(plan.strategy);
    let is_dropped = &|state: &_| engine.is_dropped(state);
    // One final state may be that of executions that are dropped before their first step. Executions that are counted may all
    // be such ones.
    if !counts_executions && outcome.finals > 1 {
        return Ok(false);
    }
    let few = || Some(options.memory.map_or(FEW_BYTES, |memory| memory.min(FEW_BYTES)));
    let memory = if counts_executions { few() } else { options.memory };
    let mut options = Options { memory, executions: None, ..options.clone() };
    if plan.bound == Bound::Delays && options.max.is_none() {
        // To delay in circles is no execution, and all executions are within some number of delays.
        (options.bound, options.scheduler) = (Bound::None, SchedulerKind::Bag);
    }
    let options = &options;
    let some = match with_assertions_at_ends(program) {
        None => some_execution(engine, options, monitor, is_dropped),
        Some(asserting) => {
            let limits = StepLimits { deadline: options.deadline, memory: plan.memory, stop: Some(monitor.stop) };
            let engine = plan.symmetry.of(Machine::new(&asserting, plan.points)).within(limits);
            some_execution(&engine, options, monitor, &|state| engine.is_dropped(state))
        }
    };
    some.map(|some| !some)
}

/// Bytes of states that are looked at on behalf of a symbolic engine, which does not know.
const FEW_BYTES: u64 = 32 << 20;

/// Outcomes of steps that are looked at then: what is guessed at the beginning may have more than anybody waits for.
const FEW_OUTCOMES: u64 = 200_000;

/// Whether no execution of a program is known to complete, with little effort.
pub fn is_surely_vacuous(program: &Program, deadline: Option<Instant>, stop: &AtomicBool) -> bool {
    surely(program, deadline, stop).is_some()
}

/// The reason, if no execution of a program is known to complete, with little effort. The loops that a step does not leave are
/// dead ends like assumptions that never hold.
pub fn surely(program: &Program, deadline: Option<Instant>, stop: &AtomicBool) -> Option<Reason> {
    let marked = with_assumptions(program.clone());
    if !may_drop(&marked) {
        return None;
    }
    let none = |program: &Program| none_completes(program, deadline, stop);
    if program.processes.iter().all(|p| p.count.is_some()) {
        return none(&marked).then(reason);
    }
    if stops_every_thread(&marked) {
        return Some(reason());
    }
    with_few_threads(&marked).all(|few| none(&few)).then(reason_of_few)
}

fn none_completes(marked: &Program, deadline: Option<Instant>, stop: &AtomicBool) -> bool {
    let memory = Some(FEW_BYTES);
    let executions = Some(FEW_OUTCOMES);
    let options = Options { bound: Bound::None, memory, executions, deadline, ..Options::default() };
    let monitor = Monitor { stop, progress: &|_| {} };
    let limits = StepLimits { deadline, memory, stop: Some(stop) };
    let asserting = with_assertions_at_ends(marked);
    let marked = asserting.as_ref().unwrap_or(marked);
    let engine = Machine::new(marked, Points::All).within(limits);
    some_execution(&engine, &options, &monitor, &|state| engine.is_dropped(state)) == Ok(false)
}

/// So many threads of each process of any number are tried. An execution that needs more is not found.
const FEW_THREADS: u32 = 4;

/// The program with few threads of its processes of any number: of all of them, and of each one alone, because others may be
/// what drops executions; and with none, where other processes are declared.
fn with_few_threads(program: &Program) -> impl Iterator<Item = Program> {
    let any: Vec<&String> = program.processes.iter().filter(|p| p.count.is_none()).map(|p| &p.name).collect();
    let alone = any.iter().map(|name| vec![*name]).filter(|_| any.len() > 1);
    let chosen: Vec<Vec<&String>> = std::iter::once(any.clone()).chain(alone).collect();
    let least = u32::from(any.len() == program.processes.len());
    (least..=FEW_THREADS).flat_map(move |count| {
        let of = |chosen: &Vec<&String>| {
            let count = |name: &&String| ((*name).clone(), if chosen.contains(name) { count } else { 0 });
            any.iter().map(count).collect::<Vec<_>>()
        };
        let of_each: Vec<Vec<(String, u32)>> = chosen.iter().map(of).collect();
        of_each.into_iter().filter_map(move |counts| with_instances(program.clone(), &counts).ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_effort_ends_however_many_outcomes_there_are() {
        let looked = |most: u32| {
            let source = format!("init {{ let a = any 0..{most}; let b = any 0..{most}; assume a + b > 5000; }}");
            let program = fabius_lang::compile(&source, &Default::default()).expect("it is a program");
            is_surely_vacuous(&program, None, &AtomicBool::new(false))
        };
        assert!(looked(99));
        assert!(!looked(999), "a million outcomes are more than it looks at");
    }
}
