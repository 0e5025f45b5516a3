//! From files to the core program.

use crate::attributes::{ALIGNMENT, Asks, Attribute};
use crate::characters::with_calls;
use crate::core::*;
use crate::expressions::floats_for_files;
use crate::library::{Ending, declares_c11_threads, named_functions, string_functions};
use crate::lines::{Lines, of_user};
use crate::lower::*;
use crate::memory::Facts;
use crate::omitted::with_operands;
use crate::orders::Weaker;
use crate::parse::parse;
use crate::preprocess::preprocess;
use crate::refusal::{Refusal, Result, unsupported};
use crate::types::Types;
use fabius_lang::program::*;
use fabius_lang::walk::statements;
use fabius_trace::{Diagnostic, Span};
use lang_c::ast::{DeclarationSpecifier, Expression, ExternalDeclaration, TranslationUnit, TypeSpecifier};
use lang_c::span::Node;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// A program that was read.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The user's text: that of the file, or of several one after the other.
    pub source: String,
    /// The program.
    pub program: Program,
    /// Functions without a body whose results are any value.
    pub havocked: Vec<String>,
    /// What its atomic operations may do that is not looked at.
    pub weaker: Weaker,
    /// Whether `main` ends with a loop without an end that starts threads: [`Creation`](crate::Creation) says how they are counted.
    pub starts_without_end: bool,
}

/// Why C files are no program.
#[derive(Clone, Debug)]
pub enum Failure {
    /// They cannot be read or preprocessed.
    Plain(String),
    /// Places in the files, in the order of these: the program's own, then headers.
    Source(Vec<Wrong>),
}

/// What is wrong in a file.
#[derive(Clone, Debug)]
pub struct Wrong {
    /// Its name.
    pub file: String,
    /// Its text.
    pub source: String,
    /// Places in that text.
    pub diagnostics: Vec<Diagnostic>,
}

/// How often the program is lowered at most; what is found out grows with each pass.
const PASSES: usize = 12;

/// Reads C files, which are one program.
///
/// # Errors
/// What cannot be read, is wrong or is not taken.
pub fn load(files: &[PathBuf], options: &Options) -> std::result::Result<Loaded, Failure> {
    let own = files.iter().map(|f| {
        let text =
            std::fs::read_to_string(f).map_err(|e| Failure::Plain(format!("cannot read `{}`: {e}", f.display())))?;
        Ok((f.display().to_string(), text))
    });
    let mut own: Vec<(String, String)> = own.collect::<std::result::Result<_, _>>()?;
    let mut text = preprocess(files, &options.preprocessor).map_err(Failure::Plain)?;
    // What is included asks for functions, too.
    let asking = [own.as_slice(), &[(String::new(), of_user(&text))]].concat();
    let ours = [string_functions(&asking), named_functions(&asking), floats_for_files(&asking)];
    for (name, functions) in ours.into_iter().flatten() {
        text += &format!("\n# 1 \"{name}\"\n{functions}");
        own.push((name, functions));
    }
    let mut text = with_calls(&with_operands(&text)).into_owned();
    let mut lines = Lines::new(&text, &own);
    let taken = crate::attributes::take(&mut text, &lines);
    lines.set_text(&text);
    let lines = lines;
    let refuse = |refusals: Vec<Refusal>| {
        let mut diagnostics: Vec<Diagnostic> = refusals.into_iter().map(Refusal::diagnostic).collect();
        diagnostics.sort_by_key(|d| d.span.start);
        diagnostics.dedup();
        Failure::Source(by_file(&lines, diagnostics))
    };
    let layouts = taken.map_err(|refusal| refuse(vec![refusal]))?;
    let parsed = parse(text, &lines).map_err(|refusal| refuse(vec![refusal]))?;
    let types = Types { model: options.model, flexible: options.limits.elements, ..Types::default() };
    let c11_threads = declares_c11_threads(lines.text());
    let mut session = Session { types, layouts, c11_threads, ..Session::default() };
    for _ in 0..PASSES {
        match pass(&lines, &parsed, &mut session, options) {
            Ok(Some(loaded)) => return Ok(loaded),
            Ok(None) => {}
            Err(refusals) => return Err(refuse(refusals)),
        }
    }
    let message = "what pointers mean is not found out".to_string();
    Err(refuse(vec![Refusal { code: "E0703", span: Span::default(), message, help: None }]))
}

/// Places in the whole text as places in its files.
fn by_file(lines: &Lines, diagnostics: Vec<Diagnostic>) -> Vec<Wrong> {
    let mut wrong: Vec<Wrong> = lines
        .files
        .iter()
        .map(|(file, part)| Wrong {
            file: file.clone(),
            source: lines.source[part.clone()].to_string(),
            diagnostics: Vec::new(),
        })
        .collect();
    for mut d in diagnostics {
        // What is nowhere is said of the program's first file.
        let n = lines.files.iter().position(|(_, part)| part.contains(&(d.span.start as usize))).unwrap_or(0);
        let first = lines.files.get(n).map_or(0, |(_, part)| part.start) as u32;
        let moved = |span: Span| Span { start: span.start.saturating_sub(first), end: span.end.saturating_sub(first) };
        d.span = moved(d.span);
        d.related.iter_mut().for_each(|(span, _)| *span = moved(*span));
        if let Some(wrong) = wrong.get_mut(n) {
            wrong.diagnostics.push(d);
        }
    }
    wrong.retain(|wrong| !wrong.diagnostics.is_empty());
    wrong
}

/// The constants that say an alignment, by the places of the attributes.
fn alignments(unit: &TranslationUnit) -> HashMap<usize, &Node<Expression>> {
    let mut found = HashMap::new();
    for each in &unit.0 {
        let ExternalDeclaration::Declaration(d) = &each.node else { continue };
        for specifier in &d.node.specifiers {
            if let DeclarationSpecifier::TypeSpecifier(t) = &specifier.node
                && let TypeSpecifier::Enum(e) = &t.node
                && let [one] = e.node.enumerators.as_slice()
                && let Some(at) = one.node.identifier.node.name.strip_prefix(ALIGNMENT)
                && let (Ok(at), Some(e)) = (at.parse(), &one.node.expression)
            {
                found.insert(at, &**e);
            }
        }
    }
    found
}

/// Lowers the program once; `None` if something new was found out.
fn pass(
    lines: &Lines,
    unit: &TranslationUnit,
    session: &mut Session,
    options: &Options,
) -> std::result::Result<Option<Loaded>, Vec<Refusal>> {
    // Who has jumped into a statement does so in the next pass, where that is no question any more.
    let found = Facts { entered: session.facts.entered.clone(), ..Facts::default() };
    let mut lower = Lower {
        lines,
        session,
        found,
        found_in_statics: Default::default(),
        found_known: Default::default(),
        lengths: Default::default(),
        found_calls: Default::default(),
        options,
        scopes: vec![Scope::default()],
        declared: Vec::new(),
        alignments: alignments(unit),
        functions: Default::default(),
        objects: Vec::new(),
        by_key: Default::default(),
        strings: Default::default(),
        next_address: crate::memory::FIRST,
        globals: Vec::new(),
        global_names: Default::default(),
        procs: Vec::new(),
        wanted: Vec::new(),
        processes: Vec::new(),
        wrappers: Default::default(),
        levels: 1,
        shown: Default::default(),
        mixed: Vec::new(),
        havocked: Default::default(),
        orders: Default::default(),
        lives: Default::default(),
        of_tasks: Default::default(),
        body: Body::default(),
        starts_without_end: false,
        errors: Vec::new(),
    };
    lower.declare_file(unit);
    lower.make_known();
    let init = match lower.start() {
        Ok(init) => init,
        Err(e) => {
            lower.errors.push(e);
            return Err(lower.errors);
        }
    };
    let statics = std::mem::take(&mut lower.found_in_statics);
    lower.found.absorb(statics);
    let mode = |a: &&Attribute| matches!(a.asks, Asks::Mode(_)) && a.used.is_none();
    if let Some(a) = lower.session.layouts.attributes.iter().find(mode) {
        let span = lower.lines.span(a.at, a.at + 1);
        lower.errors.extend(unsupported::<()>(span, "the attribute `mode` is taken of a `typedef` only").err());
    }
    let same = lower.found == lower.session.facts && lower.found_calls == lower.session.calls;
    let mixed = std::mem::take(&mut lower.mixed);
    let program = lower.finish(init);
    let errors = std::mem::take(&mut lower.errors);
    lower.session.facts = std::mem::take(&mut lower.found);
    lower.session.calls = std::mem::take(&mut lower.found_calls);
    lower.session.known = std::mem::take(&mut lower.found_known);
    if !errors.is_empty() {
        return Err(errors);
    }
    if !same {
        return Ok(None);
    }
    let mut program = program;
    if program.processes.iter().any(|p| p.count.is_none()) {
        crate::library::forget_handles(&mut program);
    }
    if let Some(property) = options.property {
        crate::property::restrict(&mut program, property);
    }
    let is_mixed = !mixed.is_empty() && crate::mixed::order(&mut program, &mixed);
    let (orders, weaker) = lower.ordered(is_mixed);
    program.orders = orders.into();
    program.may_be_vacuous = options.property.is_some();
    crate::sections::separate(&mut program);
    let diagnostics = fabius_lang::finish(&mut program);
    if !diagnostics.is_empty() {
        let refusal = |d: Diagnostic| Refusal { code: "E0703", span: d.span, message: d.message, help: d.help };
        return Err(diagnostics.into_iter().map(refusal).collect());
    }
    crate::narrow::narrow(&mut program);
    if program.processes.iter().any(|p| p.count.is_none()) {
        // Who proves for any number of threads needs data of a finite size.
        crate::widths::narrow(&mut program);
    }
    program.tried = wide_choices(&program);
    let havocked = lower.havocked.into_iter().collect();
    let starts_without_end = lower.starts_without_end;
    Ok(Some(Loaded { source: lines.source.clone(), program, havocked, weaker, starts_without_end }))
}

/// Choices among more values than are tried one by one: a search may try a few.
fn wide_choices(program: &Program) -> BTreeMap<(Span, i64, i64), Vec<i64>> {
    let mut wide = BTreeMap::new();
    for proc in &program.procs {
        statements(&proc.body, &mut |s| {
            if let StmtKind::Any(_, lo, hi) = &s.kind
                && let (Some(lo), Some(hi)) = (value_of(lo), value_of(hi))
                && Program::is_wide(lo, hi)
            {
                wide.insert((s.span, lo, hi), Vec::new());
            }
        });
    }
    wide
}

impl<'a> Lower<'a, '_> {
    /// `main`, and all that it needs.
    fn start(&mut self) -> Result<ProcId> {
        let no_main = || Refusal {
            code: "E0702",
            span: Span::default(),
            message: "the program has no `main`".into(),
            help: Some("give all files of the program: `fabius check main.c --with queue.c`".into()),
        };
        let Some(main) = self.functions.get("main") else { return Err(no_main()) };
        let Some(definition) = main.definition else { return Err(no_main()) };
        let signature = main.signature.clone();
        let span = self.span(definition.node.declarator.span);
        let constructors = self.constructors()?;
        let proc = self.proc_of("main");
        // Those that `main` is given: one argument, the program's name, which nobody looks at.
        let values: Vec<Expr> =
            signature.params.iter().enumerate().map(|(i, ty)| constant(i64::from(i == 0), ty.core(), span)).collect();
        self.lower_wanted()?;
        self.body = Body::default();
        for (proc, results) in constructors {
            self.push(StmtKind::Call(vec![None; results], proc, Vec::new()), Span::default());
        }
        let results = signature.result.is_scalar().then_some(None);
        let at = Span::default();
        self.push(StmtKind::Call(results.into_iter().collect(), proc, values), at);
        self.main_returns(span)?;
        // The process ends with `main`: threads that still run are stopped.
        if let Some(children) = self.global_names.get(CHILDREN).copied() {
            let left = binary(BinaryOp::Ne, read(self.global(children, span)), constant(0, INT, span));
            let left = match self.global_names.get("$unjoined").copied() {
                Some(unjoined) => binary(BinaryOp::Or, left, read(self.global(unjoined, span))),
                None => left,
            };
            let (stop, ()) = self.block(|l| {
                l.end(at);
                Ok(())
            })?;
            self.push(StmtKind::If(Guard::Expr(left), stop, Vec::new()), at);
        }
        let body = std::mem::take(&mut self.body);
        self.lower_wanted()?;
        self.procs.push(Some(Proc {
            name: "main".into(),
            locals: body.locals,
            params: 0,
            results: Vec::new(),
            body: body.out,
            span,
        }));
        Ok(self.procs.len() - 1)
    }

    /// What is done at the end of `main`. Where any number of threads begin there, it does not return.
    fn main_returns(&mut self, span: Span) -> Result<()> {
        let at = Span::default();
        if self.processes.is_empty() {
            self.run_handlers(at)?;
            self.look_for_leaks(Ending::MainReturns, span);
            return Ok(());
        }
        let Some(returns) = self.ends_before_threads_begin(at) else { return Ok(()) };
        let (block, ()) = self.block(|l| {
            l.run_handlers(at)?;
            l.look_for_leaks(Ending::MainReturns, span);
            l.end(at);
            Ok(())
        })?;
        self.push(StmtKind::If(Guard::Expr(returns), block, Vec::new()), at);
        Ok(())
    }

    /// What runs before `main`, and how many results it has.
    fn constructors(&mut self) -> Result<Vec<(ProcId, usize)>> {
        let mut all = Vec::new();
        for (name, span) in self.session.layouts.constructors.clone() {
            let plain = self.functions.get(&name).filter(|f| f.definition.is_some() && f.signature.params.is_empty());
            let Some(result) = plain.map(|f| f.signature.result.clone()) else {
                return unsupported(span, "this attribute `constructor` is not taken")
                    .map_err(|e: Refusal| e.help("write it in front of a function without parameters"));
            };
            all.push((self.proc_of(&name), usize::from(result.is_scalar())));
        }
        Ok(all)
    }

    /// Functions that are called and not lowered yet.
    fn lower_wanted(&mut self) -> Result<()> {
        while let Some(name) = self.wanted.pop() {
            self.function(&name)?;
        }
        Ok(())
    }

    /// What was made, as a program.
    fn finish(&mut self, init: ProcId) -> Program {
        let empty = || Proc {
            name: "nothing".into(),
            locals: Vec::new(),
            params: 0,
            results: Vec::new(),
            body: Vec::new(),
            span: Span::default(),
        };
        self.note_shown(0, Variable::Global);
        let levels = (0..self.levels.max(1)).map(|n| format!("level{n}")).collect();
        Program {
            conditions: Vec::new(),
            properties: Vec::new(),
            rests: Vec::new(),
            idle: None,
            circles_give_way: true,
            source: self.lines.source.as_str().into(),
            records: Vec::new(),
            enums: Vec::new(),
            levels,
            interleave: Interleave::Implicit,
            globals: std::mem::take(&mut self.globals),
            procs: std::mem::take(&mut self.procs).into_iter().map(|p| p.unwrap_or_else(empty)).collect(),
            init: Some(init),
            buffers: Vec::new(),
            processes: std::mem::take(&mut self.processes),
            tried: Default::default(),
            orders: Default::default(),
            may_be_vacuous: false,
            loops_end: true,
            shown: std::mem::take(&mut self.shown).into(),
        }
    }
}
