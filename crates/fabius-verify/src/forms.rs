//! The translations, one after the other, and what they make as text.

use crate::in_time::{Budget, within_what_is_left};
use crate::proof::{ProofError, ProofPlan, Sequentialization};
use fabius_lang::program::{Expr, ExprKind, Formula, Interleave, Program, Type, Value};
use fabius_lang::walk;
use fabius_sequential::export::promela::{Refused, Sizes, promela};
use fabius_trace::Span;
use fabius_translate::explicit::{Switches, Trace, explicit};
use fabius_translate::linear_interface::{Deadlocks, lazy::lazy, parameterized};
use fabius_translate::relay::relay;
use fabius_translate::round_robin::round_robin;
use fabius_translate::rounds::{Asked, asking};
use fabius_translate::strict;
use fabius_translate::yields::Begin;
use fabius_translate::{Caps, Explicit, Prioritized, Translated, Unsupported};

/// The sequential program that a plan asks about.
///
/// # Errors
/// [`ProofError::Unsupported`].
pub fn translate(program: &Program, plan: &ProofPlan, trace: Trace) -> Result<Translated, ProofError> {
    let (what, caps) = (plan.sequentialization, plan.caps());
    if let Sequentialization::AnyThreads(k) = what {
        return Ok(lazy(&parameterized(program, trace, caps, Deadlocks::Ignored).map_err(ProofError::Unsupported)?, k));
    }
    let source = needed(program, what, trace, caps, plan.deadlock).map_err(ProofError::Unsupported)?;
    sequential(source, what, plan.deadlocks()).map_err(ProofError::Unsupported)
}

/// The same with more executions than there are: a task that waits lets other buffers go on, also where another task of its own
/// goes on before that. `None` if there is no difference.
///
/// # Errors
/// [`ProofError::Unsupported`].
pub fn wider(program: &Program, plan: &ProofPlan) -> Result<Option<Translated>, ProofError> {
    let Sequentialization::Buffers { zields, yields } = plan.sequentialization else { return Ok(None) };
    let wider = || {
        let Some(mut source) = where_company_waits(program, plan)? else { return Ok(None) };
        source.forget_deadlocks();
        source.slice();
        buffers(source, zields, yields).map(Some)
    };
    wider().map_err(ProofError::Unsupported)
}

/// The source of [`wider`].
fn where_company_waits(program: &Program, plan: &ProofPlan) -> Result<Option<Explicit>, Unsupported> {
    let source = explicit(program, Trace::On, Switches::WhereverOneWaits, plan.caps())?;
    Ok(source.company_waits.then_some(source))
}

/// Asks of so many rounds over threads whether nothing fails in them, nothing is left out, and there are no executions of more.
///
/// # Errors
/// [`ProofError::Unsupported`].
pub fn asking_for_more(program: &Program, plan: &ProofPlan, rounds: u32) -> Result<Translated, ProofError> {
    let source = needed(&strict(program), plan.sequentialization, Trace::Off, plan.caps(), plan.deadlock);
    asking(&source.map_err(ProofError::Unsupported)?, rounds, Asked::Enough).map_err(ProofError::Unsupported)
}

/// What of a program is asked about. Rounds of threads alone can leave scheduling points out. Rounds over buffers do not look for
/// deadlocks; to the round-robin scheduler it matters who waits even if that is no bug.
fn needed(
    program: &Program,
    what: Sequentialization,
    trace: Trace,
    caps: Caps,
    deadlock: bool,
) -> Result<Explicit, Unsupported> {
    let is_rounds = matches!(what, Sequentialization::Rounds(_));
    let switches = if is_rounds { Switches::WhereTheyMatter(&[]) } else { Switches::Everywhere };
    let mut source = explicit(program, trace, switches, caps)?;
    let is_needed = match what {
        Sequentialization::RoundRobin { .. } => true,
        Sequentialization::Rounds(_) | Sequentialization::Delays(_) => deadlock,
        Sequentialization::Buffers { .. } | Sequentialization::AnyThreads(_) => false,
    };
    if !is_needed {
        source.forget_deadlocks();
    }
    source.slice();
    Ok(source)
}

fn sequential(source: Explicit, what: Sequentialization, deadlocks: Deadlocks) -> Result<Translated, Unsupported> {
    match what {
        Sequentialization::RoundRobin { delays, rounds } => round_robin(&source, delays, rounds, deadlocks),
        Sequentialization::Delays(k) => fabius_translate::depth_first::depth_first(&source, k),
        Sequentialization::Rounds(k) | Sequentialization::AnyThreads(k) => fabius_translate::rounds::rounds(&source, k),
        Sequentialization::Buffers { zields, yields } => buffers(source, zields, yields),
    }
}

/// First the buffers, then the yields, then the levels.
fn buffers(mut source: Explicit, zields: u32, yields: u32) -> Result<Translated, Unsupported> {
    relay(&mut source.program)?;
    let failing = fabius_translate::buffers::failing(&source, zields);
    fabius_translate::levels::levels(&yield_free(&failing, yields)?)
}

/// Asks of rounds over task buffers whether all that have not finished wait for ever: of more executions than there are, as
/// [`wider`] does, if these are others, and of those that there are. Nothing if none waits, or that is not asked of this program.
///
/// # Errors
/// [`ProofError::Unsupported`].
pub fn asking_who_waits(program: &Program, plan: &ProofPlan) -> Result<Vec<Translated>, ProofError> {
    let Sequentialization::Buffers { zields, yields } = plan.sequentialization else { return Ok(Vec::new()) };
    // Where no access is a point, who begins to wait and who stands in front of a wait are told apart by no event.
    if program.interleave == Interleave::Explicit && !program.has_single_buffer() {
        return Ok(Vec::new());
    }
    let stuck = |mut source: Explicit| {
        source.slice();
        relay(&mut source.program)?;
        let Some(stuck) = fabius_translate::buffers::stuck(&source, zields)? else { return Ok(None) };
        fabius_translate::levels::levels(&yield_free(&stuck, yields)?).map(Some)
    };
    let both = || {
        let wider = where_company_waits(program, plan)?;
        let all = wider.into_iter().chain([explicit(program, Trace::On, Switches::Everywhere, plan.caps())?]);
        all.filter_map(|source| stuck(source).transpose()).collect::<Result<Vec<Translated>, Unsupported>>()
    };
    both().map_err(ProofError::Unsupported)
}

fn yield_free(one_buffer: &Prioritized, yields: u32) -> Result<Prioritized, Unsupported> {
    fabius_translate::yields::yields(one_buffer, yields, Begin::InAnyRound)
}

fn single_buffer(mut source: Explicit, zields: u32) -> Result<Prioritized, Unsupported> {
    relay(&mut source.program)?;
    Ok(fabius_translate::buffers::buffers(&source, zields))
}

/// How far a program is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Scheduling points, waiting and faults are statements.
    Explicit,
    /// There is one task buffer.
    SingleBuffer,
    /// There is one task buffer of one level: others are in shared memory.
    SharedMemory,
    /// There is one task buffer, and no `yield`.
    YieldFree,
    /// There are no tasks; whether deadlocks are looked for is written into it.
    Sequential(Deadlocks),
    /// A program of threads for SPIN, whole.
    Promela,
    /// The program itself.
    Fab,
}

/// The translated program as source text.
///
/// # Errors
/// [`ProofError::Unsupported`], [`ProofError::GaveUp`].
pub fn text_of(
    program: &Program,
    what: Sequentialization,
    form: Form,
    caps: Caps,
    budget: Budget<'_>,
) -> Result<String, ProofError> {
    let program = program.clone();
    within_what_is_left(budget, move || text_in(&program, what, form, caps))?
}

fn text_in(program: &Program, what: Sequentialization, form: Form, caps: Caps) -> Result<String, ProofError> {
    let off = Trace::Off;
    let (zields, yields) = match what {
        Sequentialization::Buffers { zields, yields } => (zields, yields),
        Sequentialization::Rounds(k) | Sequentialization::AnyThreads(k) => (k, 2),
        Sequentialization::Delays(_) | Sequentialization::RoundRobin { .. } => (2, 2),
    };
    if form == Form::Promela {
        let sizes = Sizes { threads: caps.tasks, objects: caps.objects };
        let refused = |r: Refused| ProofError::Unsupported(Unsupported { what: r.what, span: r.span, help: r.help });
        return promela(program, sizes).map_err(refused);
    }
    if form == Form::Fab {
        return unparsed(program);
    }
    crate::properties::refuse(program, "translate the program without it, or for SPIN: `--to promela`")?;
    let source = || explicit(program, off, Switches::Everywhere, caps);
    let translated = match form {
        Form::Explicit => source().map(|e| e.into_program()),
        Form::SharedMemory => source().and_then(|e| fabius_translate::synce::synce(&e)),
        Form::SingleBuffer => source().and_then(|e| single_buffer(e, zields)).map(|p| p.into_program()),
        Form::YieldFree => {
            let one_buffer = source().and_then(|e| single_buffer(e, zields));
            one_buffer.and_then(|p| yield_free(&p, yields)).map(|p| p.into_program())
        }
        Form::Promela | Form::Fab => unreachable!("these keep the program"),
        Form::Sequential(deadlocks) => match what {
            Sequentialization::AnyThreads(k) => {
                parameterized(program, off, caps, Deadlocks::Ignored).map(|p| lazy(&p, k))
            }
            _ => needed(program, what, off, caps, deadlocks == Deadlocks::AreBugs)
                .and_then(|e| sequential(e, what, deadlocks)),
        }
        .map(|t| t.program),
    };
    unparsed(&translated.map_err(ProofError::Unsupported)?)
}

/// A program as source text.
pub(crate) fn unparsed(program: &Program) -> Result<String, ProofError> {
    if let Some(rest) = program.rests.first() {
        let what = "a wait that may last for ever without a deadlock".into();
        let help = "`fabius check` explores such programs".into();
        return Err(ProofError::Unsupported(Unsupported { what, span: *rest, help }));
    }
    if let Some(idle) = program.idle {
        let (what, span) = ("a wait until nobody else can go on".into(), program.globals[idle].span);
        let help = "`fabius check` explores such programs".into();
        return Err(ProofError::Unsupported(Unsupported { what, span, help }));
    }
    if let Some(p) = program.properties.iter().find(|p| matches!(p.formula, Formula::Never(_))) {
        let what = "a formula that no property has the form of".into();
        let help = "`fabius check` decides it; or write it as `[] e`, `<> e`, `[] <> e`, `<> [] e` or `[] (e -> <> f)`";
        return Err(ProofError::Unsupported(Unsupported { what, span: p.span, help: help.into() }));
    }
    if let Some(span) = question_to_all_entries(program) {
        let what = "a question to all entries of a `map[thread]`".into();
        let help = "`fabius check` explores such programs; `--to sequential`, `explicit` and `promela` write them for so many threads";
        return Err(ProofError::Unsupported(Unsupported { what, span, help: help.into() }));
    }
    fabius_lang::unparse(program).map_err(ProofError::Internal)
}

/// Where all entries of a map of threads are asked, by numbers that nobody can write.
fn question_to_all_entries(program: &Program) -> Option<Span> {
    let mut found = None;
    let mut look = |e: &Expr| {
        let is_number = e.ty == Type::Thread && matches!(e.kind, ExprKind::Const(Value::Int(n)) if n != 0);
        found = found.or(is_number.then_some(e.span));
    };
    program.conditions.iter().for_each(|e| walk::each(e, &mut look));
    for p in &program.procs {
        walk::statements(&p.body, &mut |s| walk::expressions(s).into_iter().for_each(|e| walk::each(e, &mut look)));
    }
    found
}
