//! From the syntax tree to the core program: names, types, granularity, classes of variables.

mod access;
mod channels;
mod checker;
mod collecting;
mod collections;
mod constant;
mod declare;
mod dropping;
mod expr;
mod functions;
mod hoist;
mod invariants;
mod leaving;
mod matching;
mod names;
mod processes;
mod properties;
mod rhs;
mod select;
mod statement;
mod walk;
mod yields;

use crate::diagnostic::Diagnostic;
use crate::program::*;
use crate::syntax::{ast, parse, parse_prelude};
use checker::report;
use declare::BodyKind;
use fabius_trace::Span;

pub use checker::show_type;
pub use leaving::without_returns;
pub use processes::MOST_NUMBERED;
pub use walk::{erase_spans, numbered, without_spans};

/// What a program is compiled with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Values of constants in place of those in the source: name and value.
    pub consts: Vec<(String, String)>,
    /// Which choices the engine can make.
    pub choices: Choices,
}

/// Which nondeterministic choices a program may make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choices {
    /// Those from finitely many values, which can be tried one by one.
    #[default]
    Finite,
    /// Also `any int` and `any u64`, for symbolic engines: a choice from all 64-bit codes stands for all values.
    Unbounded,
}

/// The library of synchronization objects, in the language itself: a record for each, its operations named after it.
pub const LIBRARY: &str = include_str!("../prelude.fab");

/// Compiles a program.
///
/// # Errors
/// All that is wrong with it, in the order of the source.
pub fn compile(source: &str, options: &Options) -> Result<Program, Vec<Diagnostic>> {
    let (file, mut diagnostics) = parse(source);
    if u32::try_from(source.len()).is_err() {
        report(&mut diagnostics, "E0307", Span::default(), "the source is larger than 4 GB", "too large");
        return Err(diagnostics);
    }
    let (prelude, wrong) = parse_prelude(LIBRARY);
    assert!(wrong.is_empty(), "the library parses: {wrong:?}");
    let program = lower(source, &prelude, &file, options, &mut diagnostics);
    if diagnostics.is_empty() {
        return Ok(program);
    }
    diagnostics.sort_by_key(|d| d.span.start);
    diagnostics.dedup();
    Err(diagnostics)
}

/// Says of every statement of a program what it touches, as [`Stmt::access`] wants it. The classes of variables are known.
/// For front ends that make core programs themselves.
///
/// # Errors
/// Calls inside `atomic` of procedures that wait.
pub fn finish_program(program: &mut Program) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    access::check_atomic(program, access::Inside::Nothing, &mut diagnostics);
    yields::give_way_to_threads(program);
    access::assign(program);
    dropping::assign(program);
    diagnostics
}

fn lower(
    source: &str,
    prelude: &ast::File,
    file: &ast::File,
    options: &Options,
    diagnostics: &mut Vec<Diagnostic>,
) -> Program {
    let mut declarations = declare::declare(prelude, file, options, diagnostics);
    let init_body = file.items.iter().find_map(|item| match &item.node {
        ast::ItemKind::Init(body) => Some((ast::Name { node: "init".into(), span: item.span }, body)),
        _ => None,
    });
    if let Some((name, block)) = &init_body {
        // Only for as long as this function runs: the name has no place of its own in the tree.
        declarations.bodies.push(declare::Body { name, params: &[], block, what: BodyKind::Init, number: None });
        return finish(source, file, declarations, diagnostics);
    }
    finish(source, file, declarations, diagnostics)
}

fn finish(
    source: &str,
    file: &ast::File,
    declarations: declare::Declarations<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Program {
    let declare::Declarations { cx, declared, interleave, bodies } = declarations;
    let mut procs: Vec<Proc> = Vec::new();
    let mut wrong = None;
    for body in &bodies {
        let known = diagnostics.len();
        // What is wrong in one thread of a process is not said again of the others.
        match procs.last().filter(|_| wrong == Some(body.name.span)) {
            Some(twin) => procs.push(twin.clone()),
            None => procs.push(body.lower(&cx, diagnostics)),
        }
        if diagnostics.len() > known {
            wrong = Some(body.name.span);
        }
    }
    let of_kind = |wanted: fn(BodyKind) -> bool| bodies.iter().enumerate().filter(move |(_, b)| wanted(b.what));
    let buffers = bodies.iter().enumerate().filter_map(|(proc, b)| match b.what {
        BodyKind::Buffer(kind) => Some(Entry { name: b.name.node.clone(), kind, proc }),
        _ => None,
    });
    let processes = bodies.iter().enumerate().filter_map(|(proc, b)| match b.what {
        BodyKind::Process(count) => {
            let number = b.number.filter(|(_, number)| *number == declare::Number::OfThread).map(|_| 0);
            Some(Process { name: b.shown(), proc, count, number })
        }
        _ => None,
    });
    let init = of_kind(|k| k == BodyKind::Init).map(|(proc, _)| proc).next();
    let invariants = invariants::of(file, &cx, diagnostics);
    let threads = properties::Threads { cx: &cx, bodies: &bodies, procs: &procs };
    let (conditions, properties) = properties::of(file, &threads, diagnostics);
    let mut program = Program {
        source: source.into(),
        buffers: buffers.collect(),
        processes: processes.collect(),
        init,
        procs,
        records: cx.records,
        enums: cx.enums,
        levels: cx.levels,
        interleave,
        globals: cx.globals,
        conditions,
        properties,
        rests: Vec::new(),
        circles_give_way: false,
        idle: None,
        tried: Default::default(),
        orders: Default::default(),
        may_be_vacuous: false,
        loops_end: false,
        shown: Default::default(),
    };
    let broken = file.items.iter().any(|i| i.node == ast::ItemKind::Error);
    if !broken && program.init.is_none() && program.buffers.is_empty() && program.processes.is_empty() {
        let end = source.trim_end().len();
        report(diagnostics, "E0208", Span::new(end, end), "nothing starts", "the program has no beginning").help =
            Some("add `init { .. }`, `process p[2] { .. }` or `buffer b { .. }`".into());
    }
    if diagnostics.is_empty() {
        access::check_atomic(&program, access::Inside::Waits, diagnostics);
        yields::give_way_to_threads(&mut program);
        // The step of a task begins with its first statement, which a declaration in front is not.
        if program.has_buffers() {
            for (proc, body) in program.procs.iter_mut().zip(&bodies) {
                proc.body.drain(..body.declared_in_front());
            }
        }
        access::infer_classes(&mut program, &declared);
        access::assign(&mut program);
        dropping::assign(&mut program);
        invariants::check_steps(&program, &invariants, diagnostics);
        invariants::insert(&mut program, &invariants);
    }
    program
}
