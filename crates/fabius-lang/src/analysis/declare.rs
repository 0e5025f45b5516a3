//! Declarations: names, constants, types, variables, signatures.

use super::access::Declared;
use super::checker::{Binding, Checker, Constant, Context, Inline, Signature, has_library_object, report, size_of};
use super::constant::widen;
use super::{Options, names::nearest};
use crate::diagnostic::Diagnostic;
use crate::program::*;
use crate::syntax::ast;
use fabius_trace::Span;
use std::collections::{HashMap, HashSet};

/// A body that is still to be lowered, with the procedure that it becomes.
pub(super) struct Body<'a> {
    pub(super) name: &'a ast::Name,
    pub(super) params: &'a [ast::Param],
    pub(super) block: &'a ast::Block,
    pub(super) what: BodyKind,
    /// The number that it knows by a name.
    pub(super) number: Option<(&'a ast::Name, Number)>,
}

/// What a body is of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyKind {
    Proc,
    Init,
    Buffer(BufferKind),
    Process(Option<u32>),
}

/// For how many threads a map has entries that anybody may begin; and at most.
const USUAL: i64 = 64;
const MOST_IN_MAP: i64 = 1024;

/// The library, then the program.
pub(super) struct Declarations<'a> {
    pub(super) cx: Context,
    pub(super) declared: Declared,
    pub(super) interleave: Interleave,
    pub(super) bodies: Vec<Body<'a>>,
}

/// Takes in everything but the bodies of procedures.
pub(super) fn declare<'a>(
    prelude: &'a ast::File,
    file: &'a ast::File,
    options: &Options,
    diagnostics: &mut Vec<Diagnostic>,
) -> Declarations<'a> {
    let mut d = Declarations {
        cx: Context { levels: vec!["0".into()], choices: options.choices, ..Context::default() },
        declared: Declared::default(),
        interleave: Interleave::Implicit,
        bodies: Vec::new(),
    };
    d.records(prelude, diagnostics);
    d.cx.library_records = d.cx.records.len();
    for item in &prelude.items {
        if let ast::ItemKind::Proc { name, params, results, body, .. } = &item.node {
            let inline = Inline { params: params.clone(), results: results.clone(), body: body.clone() };
            d.cx.inlines.insert(name.node.clone(), inline);
        }
    }
    unique_names(&d.cx, file, diagnostics);
    d.enums(file, diagnostics);
    let of_records = d.constants(file, options, diagnostics);
    d.records(file, diagnostics);
    for (item, given) in of_records {
        d.constant(item, given, diagnostics);
    }
    d.single(file, diagnostics);
    d.functions(file, diagnostics);
    d.globals(file, diagnostics);
    d.procs(file, diagnostics);
    d.check_functions(file, diagnostics);
    d
}

/// The name that an item gives to something.
fn name_of(item: &ast::Item) -> Option<&ast::Name> {
    match &item.node {
        ast::ItemKind::Const { name, .. }
        | ast::ItemKind::Enum { name, .. }
        | ast::ItemKind::Record { name, .. }
        | ast::ItemKind::Var { name, .. }
        | ast::ItemKind::Proc { name, .. }
        | ast::ItemKind::Function { name, .. }
        | ast::ItemKind::Invariant { name, .. }
        | ast::ItemKind::Property { name, .. }
        | ast::ItemKind::Channel { name, .. }
        | ast::ItemKind::Buffer { name, .. }
        | ast::ItemKind::Process { name, .. } => Some(name),
        ast::ItemKind::Levels(_)
        | ast::ItemKind::InterleaveExplicit
        | ast::ItemKind::Init(_)
        | ast::ItemKind::Error => None,
    }
}

fn unique_names(cx: &Context, file: &ast::File, diagnostics: &mut Vec<Diagnostic>) {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    for name in file.items.iter().filter_map(name_of) {
        if cx.types.contains_key(&name.node) || cx.inlines.contains_key(&name.node) {
            let message = format!("`{}` is a name of the library", name.node);
            report(diagnostics, "E0201", name.span, message, "taken").help = Some("choose another name".into());
        }
        if let Some(first) = seen.insert(&name.node, name.span) {
            let message = format!("`{}` is declared twice", name.node);
            report(diagnostics, "E0201", name.span, message, "again").related.push((first, "first here".into()));
        }
    }
}

pub(super) fn unique_in(names: &[ast::Name], what: &str, diagnostics: &mut Vec<Diagnostic>) {
    let mut seen = HashMap::new();
    for name in names {
        if let Some(first) = seen.insert(name.node.as_str(), name.span) {
            let message = format!("{what} `{}` is declared twice", name.node);
            report(diagnostics, "E0201", name.span, message, "again").related.push((first, "first here".into()));
        }
    }
}

impl<'a> Declarations<'a> {
    /// All constants but those that take a record, which may take constants themselves: these are given back, with what was
    /// set from outside.
    fn constants<'o>(
        &mut self,
        file: &'a ast::File,
        options: &'o Options,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<(&'a ast::Item, Option<&'o str>)> {
        for item in &file.items {
            if let ast::ItemKind::Const { name, .. } = &item.node {
                self.cx.const_names.insert(name.node.clone());
            }
        }
        for (name, _) in &options.consts {
            if !self.cx.const_names.contains(name) {
                let known = self.cx.const_names.iter().map(String::as_str);
                let help = nearest(name, known).map(|n| format!("did you mean `{n}`?"));
                let message = format!("there is no constant `{name}` to set");
                report(diagnostics, "E0210", Span::default(), message, "in this program").help = help;
            }
        }
        let has_records = !file.collections.is_empty()
            || file.items.iter().any(|item| matches!(item.node, ast::ItemKind::Record { .. }));
        let mut of_records = Vec::new();
        for item in &file.items {
            let ast::ItemKind::Const { name, .. } = &item.node else { continue };
            let given = options.consts.iter().rev().find(|(n, _)| *n == name.node).map(|(_, v)| v.as_str());
            let mut wrong = Vec::new();
            self.constant(item, given, &mut wrong);
            // A type that is not known yet, or a constant above that has one.
            let waits = |d: &Diagnostic| d.code == "E0203" || d.code == "E0209" && !of_records.is_empty();
            if has_records && wrong.iter().any(waits) {
                self.cx.consts.remove(&name.node);
                of_records.push((item, given));
            } else {
                diagnostics.append(&mut wrong);
            }
        }
        of_records
    }

    fn constant(&mut self, item: &ast::Item, given: Option<&str>, diagnostics: &mut Vec<Diagnostic>) {
        let ast::ItemKind::Const { name, ty, value } = &item.node else { return };
        let constant = self.constant_of(name, ty.as_ref(), value, given, diagnostics);
        self.cx.consts.insert(name.node.clone(), constant);
    }

    fn constant_of(
        &mut self,
        name: &ast::Name,
        ty: Option<&ast::Type>,
        value: &ast::Expr,
        given: Option<&str>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Constant> {
        let mut checker = Checker::of_constants(&self.cx, diagnostics);
        let declared = match ty {
            Some(t) => Some(checker.ty(t)?),
            None => None,
        };
        let own = match &declared {
            Some(ty) => checker.initial_value(value, ty).map(|v| (v, widen(ty), false)),
            None => match checker.constant_value(value, None) {
                // Its fields have ranges.
                Some((Value::Tuple(_), ty)) => checker.initial_value(value, &ty).map(|v| (v, ty, false)),
                found => found.map(|(v, ty)| (v, ty.clone(), ty == Type::Int)),
            },
        };
        let (mut value, ty, literal) = own?;
        if let Some(text) = given {
            let wanted = declared.unwrap_or_else(|| ty.clone());
            let before = checker.diagnostics.len();
            let parsed = parse_value(text, name.span).and_then(|e| checker.initial_value(&e, &wanted));
            // Whatever does not fit is the fault of the one who set it, not of the source.
            checker.diagnostics.truncate(before);
            let Some(parsed) = parsed else {
                let shown = checker.show(&wanted);
                let message = format!("`{text}` is no value for constant `{}`", name.node);
                checker.error("E0210", name.span, message, format!("of type `{shown}`, set from outside")).help =
                    Some("give a number that fits, `true` or `false`".into());
                return None;
            };
            value = parsed;
        }
        if has_no_values(&ty, &checker.cx.records) || has_library_object(&ty, checker.cx) {
            let shown = checker.show(&ty);
            let message = format!("a constant cannot be of type `{shown}`");
            checker
                .error("E0305", name.span, message, "numbers, Booleans, values of enums, arrays and records of them")
                .help = Some("use a `var`".into());
            return None;
        }
        Some(Constant { value, ty, literal })
    }

    fn enums(&mut self, file: &ast::File, diagnostics: &mut Vec<Diagnostic>) {
        for item in &file.items {
            if let ast::ItemKind::Enum { name, names } = &item.node {
                unique_in(names, "value", diagnostics);
                if names.is_empty() {
                    let message = format!("enum `{}` has no values", name.node);
                    report(diagnostics, "E0307", name.span, message, "at least one is needed");
                }
                let id = self.cx.enums.len();
                let names = names.iter().map(|n| n.node.clone()).collect();
                self.cx.enums.push(Enum { name: name.node.clone(), names });
                self.cx.types.insert(name.node.clone(), Some(Type::Enum(id)));
            }
        }
    }

    /// Names first, so that records may refer to each other; then fields; then initial values.
    fn records(&mut self, file: &ast::File, diagnostics: &mut Vec<Diagnostic>) {
        let records = || {
            file.items.iter().filter_map(|item| match &item.node {
                ast::ItemKind::Record { name, fields } => Some((name, fields)),
                _ => None,
            })
        };
        let first = self.cx.records.len();
        for (name, _) in records() {
            let id = self.cx.records.len();
            self.cx.records.push(Record { name: name.node.clone(), fields: Vec::new(), kind: RecordKind::Plain });
            self.cx.types.insert(name.node.clone(), Some(Type::Record(id)));
        }
        let named = self.cx.records.len();
        self.collections(file, diagnostics);
        let mut sources = Vec::new();
        for (i, (_, fields)) in records().enumerate() {
            let names: Vec<ast::Name> = fields.iter().map(|f| f.name.clone()).collect();
            unique_in(&names, "field", diagnostics);
            let mut typed = Vec::new();
            let mut kept = Vec::new();
            for field in fields {
                if let Some(ty) = Checker::of_constants(&self.cx, diagnostics).unsized_ty(&field.ty) {
                    let class = if field.kind == ast::VarKind::Sync { Class::Sync } else { Class::Data };
                    typed.push(Field { name: field.name.node.clone(), ty, init: Value::Int(0), class });
                    kept.push(field);
                }
            }
            self.cx.records[first + i].fields = typed;
            sources.push(kept);
        }
        for (i, (name, _)) in records().enumerate() {
            if self.contains_itself(first + i) {
                let message = format!("record `{}` contains itself", name.node);
                report(diagnostics, "E0308", name.span, message, "has no finite size").help =
                    Some(format!("refer to it: `ref {}`", name.node));
                // Without fields nothing that follows goes on for ever.
                self.cx.records[first + i].fields.clear();
                sources[i].clear();
            }
        }
        // Collections say nothing of first values.
        sources.resize(self.cx.records.len() - first, Vec::new());
        // Records that others contain first: their defaults are needed.
        let mut done = HashSet::new();
        while done.len() < sources.len() {
            for (i, fields) in sources.iter().enumerate() {
                let ready = |f: &Field| self.parts(&f.ty).iter().all(|r| *r < first || done.contains(&(r - first)));
                if done.contains(&i) || !self.cx.records[first + i].fields.iter().all(ready) {
                    continue;
                }
                // Sizes of those that it contains are known, and small.
                let size = size_of(&Type::Record(first + i), &self.cx.records);
                if size > super::checker::MAX_SCALARS {
                    match records().nth(i) {
                        Some((name, _)) => too_large(&name.node, name.span, diagnostics),
                        None => {
                            let of = self.cx.collections_at.iter().filter(|(_, id)| **id == Some(first + i));
                            let span = of.map(|(span, _)| *span).min_by_key(|span| span.start).unwrap_or_default();
                            too_large(&self.cx.records[first + i].name, span, diagnostics);
                        }
                    }
                    self.cx.records[first + i].fields.clear();
                    done.insert(i);
                    continue;
                }
                if first + i >= named {
                    for f in 0..self.cx.records[first + i].fields.len() {
                        let init = self.cx.records[first + i].fields[f].ty.default_value(&self.cx.records);
                        self.cx.records[first + i].fields[f].init = init;
                    }
                    done.insert(i);
                    continue;
                }
                for (f, source) in fields.iter().enumerate() {
                    let ty = self.cx.records[first + i].fields[f].ty.clone();
                    let mut checker = Checker::of_constants(&self.cx, diagnostics);
                    let value = source.init.as_ref().and_then(|e| checker.initial_value(e, &ty));
                    let value = value.unwrap_or_else(|| ty.default_value(&self.cx.records));
                    let library = has_library_object(&ty, &self.cx);
                    let field = &mut self.cx.records[first + i].fields[f];
                    field.init = value;
                    if library {
                        field.class = Class::Sync;
                    }
                    if library || source.kind != ast::VarKind::Inferred {
                        self.declared.fields.insert((first + i, f));
                    }
                }
                done.insert(i);
            }
        }
    }

    /// The records that are parts of values of a type, each once.
    fn parts(&self, ty: &Type) -> Vec<RecordId> {
        match ty {
            Type::Record(r) => vec![*r],
            Type::Array { element, .. } => self.parts(element),
            _ => Vec::new(),
        }
    }

    fn contains_itself(&self, record: RecordId) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![record];
        while let Some(r) = open.pop() {
            for part in self.cx.records[r].fields.iter().flat_map(|f| self.parts(&f.ty)) {
                if part == record {
                    return true;
                }
                if seen.insert(part) {
                    open.push(part);
                }
            }
        }
        false
    }

    /// What there is at most one of.
    fn single(&mut self, file: &ast::File, diagnostics: &mut Vec<Diagnostic>) {
        let mut first: HashMap<&str, Span> = HashMap::new();
        for item in &file.items {
            let what = match &item.node {
                ast::ItemKind::Levels(names) => {
                    unique_in(names, "level", diagnostics);
                    if names.len() > 16 {
                        report(diagnostics, "E0307", item.span, "more than 16 priority levels", "too many");
                    }
                    self.cx.levels = names.iter().take(16).map(|n| n.node.clone()).collect();
                    "level"
                }
                ast::ItemKind::InterleaveExplicit => {
                    self.interleave = Interleave::Explicit;
                    continue;
                }
                ast::ItemKind::Init(_) => "init",
                _ => continue,
            };
            if let Some(before) = first.insert(what, item.span) {
                let message = format!("`{what}` is declared twice");
                report(diagnostics, "E0201", item.span, message, "again").related.push((before, "first here".into()));
            }
        }
    }

    /// How many threads a map has entries for: as many as there can be, where nothing but processes begins, else a usual number.
    fn most_threads(&self, file: &ast::File) -> u32 {
        let (mut all, mut usual) = (0, 1);
        for item in &file.items {
            let mut ignored = Vec::new();
            let mut checker = Checker::of_constants(&self.cx, &mut ignored);
            all += match &item.node {
                ast::ItemKind::Process { copies: ast::Copies::Count(e), .. } => checker.integer(e).unwrap_or(0),
                ast::ItemKind::Process { copies: ast::Copies::Numbered { lo, hi, .. }, .. } => {
                    let (lo, hi) = (checker.integer(lo).unwrap_or(0), checker.integer(hi).unwrap_or(0));
                    hi.saturating_sub(lo).saturating_add(1).max(0)
                }
                ast::ItemKind::Process { .. } | ast::ItemKind::Proc { .. } | ast::ItemKind::Buffer { .. } => {
                    usual = USUAL;
                    0
                }
                ast::ItemKind::Init(_) => 1,
                _ => 0,
            };
            all = all.min(MOST_IN_MAP);
        }
        all.max(usual) as u32
    }

    fn globals(&mut self, file: &ast::File, diagnostics: &mut Vec<Diagnostic>) {
        for item in &file.items {
            if let ast::ItemKind::Channel { name, count, element, places, kinds } = &item.node {
                let id = self.channel(count.as_ref(), element, places, kinds, diagnostics).map(|ty| {
                    let init = ty.default_value(&self.cx.records);
                    let id = self.cx.globals.len();
                    self.declared.globals.insert(id);
                    let (name, span) = (name.node.clone(), name.span);
                    self.cx.globals.push(Global { name, ty, init, class: Class::Sync, per_thread: false, span });
                    id
                });
                self.cx.global_ids.insert(name.node.clone(), id);
                continue;
            }
            let ast::ItemKind::Var { kind, name, ty, init } = &item.node else { continue };
            let threads = self.most_threads(file);
            let mut checker = Checker::of_constants(&self.cx, diagnostics);
            let typed = match kind {
                ast::VarKind::PerThread => checker.ty(ty),
                _ => checker.shared_ty(ty, threads),
            };
            if let (Some(e), Some(_)) = (init, typed.as_ref().and_then(Type::of_threads)) {
                checker.error("E0305", e.span, "a map of threads begins with defaults", "not known yet").help =
                    Some("leave it out; an entry can be set where its thread is known".into());
                self.cx.global_ids.insert(name.node.clone(), None);
                continue;
            }
            let value = match (init, &typed) {
                (Some(e), Some(ty)) => checker.initial_value(e, ty).map(|v| (v, ty.clone())),
                (None, Some(ty)) => Some((ty.default_value(&self.cx.records), ty.clone())),
                (_, None) => None,
            };
            let id = value.map(|(init, ty)| {
                let library = has_library_object(&ty, &self.cx);
                let id = self.cx.globals.len();
                let class = if library || *kind == ast::VarKind::Sync { Class::Sync } else { Class::Data };
                let per_thread = *kind == ast::VarKind::PerThread;
                if library || *kind != ast::VarKind::Inferred {
                    self.declared.globals.insert(id);
                }
                self.cx.globals.push(Global { name: name.node.clone(), ty, init, class, per_thread, span: name.span });
                id
            });
            self.cx.global_ids.insert(name.node.clone(), id);
        }
        let total: u64 = self.cx.globals.iter().map(|g| size_of(&g.ty, &self.cx.records)).sum();
        if total > super::checker::MAX_SCALARS
            && let Some(last) = self.cx.globals.last()
        {
            report(diagnostics, "E0307", last.span, "the global variables have too many parts", "too large together");
        }
    }

    fn procs(&mut self, file: &'a ast::File, diagnostics: &mut Vec<Diagnostic>) {
        for item in &file.items {
            match &item.node {
                ast::ItemKind::Proc { name, params, results, body, .. } => {
                    let names: Vec<ast::Name> = params.iter().map(|p| p.name.clone()).collect();
                    unique_in(&names, "parameter", diagnostics);
                    let mut checker = Checker::of_constants(&self.cx, diagnostics);
                    let typed = |c: &mut Checker<'_>, p: &ast::Param| {
                        (p.name.node.clone(), p.ty.as_ref().and_then(|t| c.ty(t)))
                    };
                    let params_typed = params.iter().map(|p| typed(&mut checker, p)).collect();
                    let results = results.iter().map(|t| checker.ty(t)).collect();
                    let id = self.bodies.len();
                    let signature = Signature { id, params: params_typed, results, span: name.span };
                    self.cx.procs.entry(name.node.clone()).or_insert(signature);
                    self.bodies.push(Body { name, params, block: body, what: BodyKind::Proc, number: None });
                }
                ast::ItemKind::Process { name, copies, body } => self.process(name, copies, body, diagnostics),
                ast::ItemKind::Buffer { name, kind, body } => {
                    let what = BodyKind::Buffer(*kind);
                    self.bodies.push(Body { name, params: &[], block: body, what, number: None });
                }
                _ => {}
            }
        }
    }
}

/// Whether no constant can be of the type: what is made while the program runs, and records, whose sizes may depend on constants.
fn has_no_values(ty: &Type, records: &[Record]) -> bool {
    match ty {
        Type::Ref(_) | Type::Thread | Type::ThreadSet => true,
        Type::Array { element, .. } => has_no_values(element, records),
        Type::Record(r) => records[*r].fields.iter().any(|f| has_no_values(&f.ty, records)),
        _ => false,
    }
}

/// A value given from outside.
fn parse_value(text: &str, span: Span) -> Option<ast::Expr> {
    let digits = text.trim().replace('_', "");
    let (sign, magnitude) = match digits.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, digits.as_str()),
    };
    let number = match magnitude.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok(),
        None if magnitude.chars().all(|c| c.is_ascii_digit()) => magnitude.parse::<i128>().ok(),
        None => None,
    };
    let node = match (text.trim(), number) {
        ("true", _) => ast::ExprKind::Bool(true),
        ("false", _) => ast::ExprKind::Bool(false),
        (_, Some(n)) if n <= u64::MAX.into() => ast::ExprKind::Int(sign * n),
        _ => return None,
    };
    Some(ast::Expr { node, span })
}

/// The number of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// This one.
    Is(i64),
    /// Its own, of any number of threads.
    OfThread,
}

impl Body<'_> {
    /// What its thread or procedure is called.
    pub(super) fn shown(&self) -> String {
        match self.number {
            Some((_, Number::Is(n))) => format!("{}[{n}]", self.name.node),
            _ => self.name.node.clone(),
        }
    }

    /// Lowers it.
    pub(super) fn lower(&self, cx: &Context, diagnostics: &mut Vec<Diagnostic>) -> Proc {
        let mut checker = Checker::new(cx, diagnostics);
        checker.scopes.push(HashMap::new());
        let signature = match self.what {
            BodyKind::Proc => cx.procs.get(&self.name.node),
            _ => None,
        };
        for (i, param) in self.params.iter().enumerate() {
            match signature.and_then(|s| s.params.get(i)).and_then(|(_, ty)| ty.clone()) {
                Some(ty) => {
                    checker.declare(&param.name, ty, true);
                }
                None => {
                    checker.locals.push(Local { name: param.name.node.clone(), ty: Type::Int });
                    checker.mutable.push(true);
                    checker.bind(&param.name, Binding::Error);
                }
            }
        }
        match self.number {
            Some((name, Number::Is(n))) => checker.bind(name, Binding::Number(n)),
            // The first local, as there are no parameters.
            Some((name, Number::OfThread)) => {
                checker.declare(name, Type::Int, false);
            }
            None => {}
        }
        checker.results = signature.map(|s| s.results.clone()).unwrap_or_default();
        let body = checker.block_of(|c| c.statements(self.block));
        let results = checker.results.iter().map(|t| t.clone().unwrap_or(Type::Int)).collect();
        Proc {
            name: self.shown(),
            locals: checker.locals,
            params: self.params.len(),
            results,
            body,
            span: self.name.span,
        }
    }

    /// How many locals are declared without a value in front of all else: they begin with these values anyway.
    pub(super) fn declared_in_front(&self) -> usize {
        let declares = |s: &&ast::Stmt| matches!(s.node, ast::StmtKind::Local { init: None, .. });
        self.block.node.iter().take_while(declares).count()
    }
}

fn too_large(name: &str, span: Span, diagnostics: &mut Vec<Diagnostic>) {
    let message = format!("a record `{name}` has more than {} parts", super::checker::MAX_SCALARS);
    report(diagnostics, "E0307", span, message, "too large").help =
        Some("make the arrays smaller; most errors show in small instances".into());
}
