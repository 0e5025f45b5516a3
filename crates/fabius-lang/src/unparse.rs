//! From the core program back to source text, for programs that passes have made.
//!
//! The text compiles to a program that behaves the same. Names are kept where they can be: what the front end made up,
//! or what would be declared twice, gets a number behind it.

use crate::program::*;
use crate::syntax::parser::KEYWORDS;
use std::collections::HashSet;
use std::fmt::Write;
use std::sync::LazyLock;

/// The program as source text, in the one style.
///
/// # Errors
/// What of it cannot be written: a set of threads that is not empty, a question to all entries of a map of threads, a wait that may last for ever or until nobody else can go on, a formula that no property has the form of.
pub fn unparse(program: &Program) -> Result<String, String> {
    if let Some(rest) = program.rests.first() {
        let at = rest.line_col(&program.source);
        return Err(format!("a wait that may last for ever without a deadlock, at {}:{}", at.line, at.column));
    }
    if let Some(idle) = program.idle {
        let at = program.globals[idle].span.line_col(&program.source);
        return Err(format!("a wait until nobody else can go on, at {}:{}", at.line, at.column));
    }
    if let Some(p) = program.properties.iter().find(|p| matches!(p.formula, Formula::Never(_))) {
        let at = p.span.line_col(&program.source);
        return Err(format!("a formula that no property has the form of, at {}:{}", at.line, at.column));
    }
    let mut names = Names::default();
    let mut pick = |wanted: &str| names.pick(wanted);
    let records: Vec<String> = program.records.iter().map(|r| pick(&r.name)).collect();
    let enums: Vec<String> = program.enums.iter().map(|e| pick(&e.name)).collect();
    let globals: Vec<String> = program.globals.iter().map(|g| pick(&g.name)).collect();
    let procs: Vec<String> = program.procs.iter().map(|p| pick(&p.name)).collect();
    let levels: Vec<String> = program.levels.iter().map(|l| pick(l)).collect();
    let mut writer = Writer {
        program,
        records,
        enums,
        globals,
        procs,
        levels,
        names,
        of_threads: !program.has_buffers(),
        locals: Vec::new(),
        local_types: Vec::new(),
        wrong: Default::default(),
    };
    let text = writer.program();
    if let Some(wrong) = writer.wrong.take() {
        return Err(wrong);
    }
    crate::format(&text).map_err(|diagnostics| {
        format!("the text of a program does not parse: {:?}\n{text}", diagnostics.first().map(|d| &d.message))
    })
}

/// Names that are taken.
#[derive(Default)]
struct Names(HashSet<String>);

const RESERVED: &str = include_str!("prelude.fab");

impl Names {
    fn pick(&mut self, wanted: &str) -> String {
        let clean: String = wanted.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '_' }).collect();
        let clean = clean.trim_matches('_');
        let clean = if clean.starts_with(|c: char| c.is_alphabetic()) { clean.into() } else { format!("t{clean}") };
        let mut name = clean.clone();
        let mut number = 2;
        while is_reserved(&name) || !self.0.insert(name.clone()) {
            name = format!("{clean}_{number}");
            number += 1;
        }
        name
    }
}

fn is_reserved(name: &str) -> bool {
    static LIBRARY: LazyLock<HashSet<&str>> = LazyLock::new(|| RESERVED.lines().filter_map(declared).collect());
    KEYWORDS.contains(&name)
        || ["cas", "exchange", "fetch_add", "place", "same"].contains(&name)
        || LIBRARY.contains(name)
}

/// The name that a line of the library declares.
fn declared(line: &str) -> Option<&str> {
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty());
    match words.next() {
        Some("record") => words.next(),
        Some("inline") => words.nth(1),
        _ => None,
    }
}

/// A field or a value of an enum, which a program of another language may call by a word of this one.
fn member(name: &str) -> String {
    if KEYWORDS.contains(&name) { format!("{name}_") } else { name.into() }
}

struct Writer<'a> {
    program: &'a Program,
    records: Vec<String>,
    enums: Vec<String>,
    globals: Vec<String>,
    procs: Vec<String>,
    levels: Vec<String>,
    names: Names,
    /// Whether no step of a task begins with a statement that could be left out.
    of_threads: bool,
    /// Of the procedure that is being written.
    locals: Vec<String>,
    local_types: Vec<Type>,
    wrong: std::cell::OnceCell<String>,
}

/// How tightly an expression holds together; more is tighter.
fn precedence(e: &Expr) -> u8 {
    match &e.kind {
        ExprKind::Binary(op, ..) => match op {
            BinaryOp::Or => 1,
            BinaryOp::And => 2,
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => 3,
            BinaryOp::BitOr => 4,
            BinaryOp::BitXor => 5,
            BinaryOp::BitAnd => 6,
            BinaryOp::Shl | BinaryOp::Shr => 7,
            BinaryOp::Add | BinaryOp::Sub => 8,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 9,
        },
        ExprKind::Cast(_) => 10,
        ExprKind::Unary(..) => 11,
        ExprKind::Const(Value::Int(v)) if *v < 0 => 11,
        ExprKind::IfElse(..) => 0,
        _ => 12,
    }
}

impl Writer<'_> {
    fn program(&mut self) -> String {
        let mut out = String::new();
        let p = self.program;
        if p.interleave == Interleave::Explicit {
            out.push_str("interleave explicit;\n");
        }
        if p.levels.len() > 1 {
            let _ = writeln!(out, "level {};", self.levels.join(" < "));
        }
        for (e, name) in p.enums.iter().zip(&self.enums) {
            let names: Vec<String> = e.names.iter().map(|name| member(name)).collect();
            let _ = writeln!(out, "enum {name} {{ {} }}", names.join(", "));
        }
        for (i, r) in p.records.iter().enumerate() {
            if !self.is_used(i) {
                continue;
            }
            let mut fields = Vec::new();
            for f in &r.fields {
                let init = self.initial(&f.ty, &f.init);
                fields.push(format!("{}: {}{init}", member(&f.name), self.ty(&f.ty)));
            }
            let _ = writeln!(out, "record {} {{ {} }}", self.records[i], fields.join(", "));
        }
        for (i, g) in p.globals.iter().enumerate() {
            let init = self.initial(&g.ty, &g.init);
            let kind = if g.per_thread { "thread " } else { "" };
            let _ = writeln!(out, "{kind}var {}: {}{init};", self.globals[i], self.ty(&g.ty));
        }
        for id in (0..p.procs.len()).filter(|id| !self.begins(*id)).collect::<Vec<_>>() {
            let proc = &p.procs[id];
            self.enter(proc);
            let params: Vec<String> =
                (0..proc.params).map(|i| format!("{}: {}", self.locals[i], self.ty(&proc.locals[i].ty))).collect();
            let results: Vec<String> = proc.results.iter().map(|t| self.ty(t)).collect();
            let results = match results.as_slice() {
                [] => String::new(),
                [one] => format!(" -> {one}"),
                many => format!(" -> ({})", many.join(", ")),
            };
            let body = self.body(proc, None);
            let _ = writeln!(out, "proc {}({}){results} {body}", self.procs[id], params.join(", "));
        }
        for buffer in &p.buffers {
            self.enter(&p.procs[buffer.proc]);
            let body = self.body(&p.procs[buffer.proc], None);
            let kind = if buffer.kind == BufferKind::Fifo { "fifo " } else { "" };
            let _ = writeln!(out, "buffer {} {kind}{body}", buffer.name);
        }
        for process in &p.processes {
            self.enter(&p.procs[process.proc]);
            let count = match (process.count, process.number) {
                (Some(n), _) => n.to_string(),
                (None, Some(number)) => format!("{}: *", self.locals[number]),
                (None, None) => "*".into(),
            };
            let body = self.body(&p.procs[process.proc], process.number);
            let name = self.name_of(process);
            let _ = writeln!(out, "process {name}[{count}] {body}");
        }
        if let Some(id) = p.init {
            self.enter(&p.procs[id]);
            let body = self.body(&p.procs[id], None);
            let _ = writeln!(out, "init {body}");
        }
        for property in &p.properties {
            let e = |c: ConditionId| format!("({})", self.expr(&p.conditions[c]));
            let formula = match property.formula {
                Formula::Eventually(c) => format!("eventually {}", e(c)),
                Formula::AlwaysEventually(c) => format!("always eventually {}", e(c)),
                Formula::EventuallyAlways(c) => format!("eventually always {}", e(c)),
                Formula::LeadsTo(from, to) => format!("{} leads to {}", e(from), e(to)),
                Formula::Never(_) => unreachable!("refused before"),
            };
            let name = self.names.pick(&property.name);
            let _ = writeln!(out, "property {name}: {formula} {};", self.fairness(&property.fairness));
        }
        out
    }

    fn fairness(&self, fair: &FairThreads) -> String {
        let mut parts = vec![fair.others.words().to_string()];
        for strength in Fairness::ALL {
            let of = fair.of.iter().filter(|(_, is)| *is == strength && strength != fair.others);
            let names: Vec<&str> = of.map(|(proc, _)| self.thread(*proc)).collect();
            match (strength, names.as_slice()) {
                (_, []) => {}
                // Nothing says so of some when it is otherwise of the rest.
                (Fairness::None, _) => drop(self.wrong.set("no fairness to some threads, but to others".into())),
                _ if fair.others == Fairness::None && parts[0].starts_with("without") => {
                    parts = vec![format!("{} of {}", strength.words(), names.join(", "))];
                }
                _ => parts.push(format!("{} of {}", &strength.words()["under ".len()..], names.join(", "))),
            }
        }
        parts.join(" and ")
    }

    /// What a thread that begins as this procedure is called.
    fn thread(&self, proc: ProcId) -> &str {
        let process = self.program.processes.iter().find(|process| process.proc == proc);
        process.map_or(self.procs[proc].as_str(), |process| self.name_of(process))
    }

    /// The name of a process, if it is that of nothing else. The number of a numbered thread is no part of a name, and a process
    /// of another language may begin more than once, or be started by others as well.
    fn name_of<'b>(&'b self, process: &'b Process) -> &'b str {
        let (p, name) = (self.program, &process.name);
        let is_shared = p.processes.iter().filter(|other| other.name == *name).count() > 1
            || self.procs.iter().enumerate().any(|(id, proc)| proc == name && !self.begins(id));
        if name.contains('[') || is_shared { &self.procs[process.proc] } else { name }
    }

    /// Whether a procedure is the body of something that begins by itself.
    fn begins(&self, id: ProcId) -> bool {
        let p = self.program;
        let mut bodies = p.buffers.iter().map(|b| b.proc).chain(p.processes.iter().map(|q| q.proc));
        p.init == Some(id) || bodies.any(|proc| proc == id)
    }

    fn enter(&mut self, proc: &Proc) {
        self.locals = proc.locals.iter().map(|l| self.names.pick(&l.name)).collect();
        for name in &self.locals {
            self.names.0.remove(name);
        }
        self.local_types = proc.locals.iter().map(|l| l.ty.clone()).collect();
    }

    /// Whether a record type occurs in a type of the program.
    fn is_used(&self, record: RecordId) -> bool {
        fn occurs(p: &Program, ty: &Type, record: RecordId) -> bool {
            match ty {
                Type::Record(r) => *r == record || p.records[*r].fields.iter().any(|f| occurs(p, &f.ty, record)),
                Type::Ref(r) => *r == record,
                Type::Array { element, .. } => occurs(p, element, record),
                _ => false,
            }
        }
        let p = self.program;
        let user = p.records[record].fields.iter().any(|f| matches!(f.ty, Type::Ref(_)));
        user || p.globals.iter().any(|g| occurs(p, &g.ty, record))
            || p.procs.iter().any(|q| {
                q.locals.iter().any(|l| occurs(p, &l.ty, record)) || q.results.iter().any(|t| occurs(p, t, record))
            })
            || p.records
                .iter()
                .enumerate()
                .any(|(i, r)| i != record && r.fields.iter().any(|f| matches!(&f.ty, Type::Ref(to) if *to == record)))
    }

    fn initial(&self, ty: &Type, init: &Value) -> String {
        if *init == ty.default_value(&self.program.records) {
            return String::new();
        }
        format!(" = {}", self.value(init, ty))
    }

    fn ty(&self, ty: &Type) -> String {
        match ty {
            Type::Bool => "bool".into(),
            Type::Int => "int".into(),
            Type::Range(lo, hi) => format!("{lo}..{hi}"),
            Type::Fixed { bits, signed } => format!("{}{bits}", if *signed { "i" } else { "u" }),
            Type::Enum(e) => self.enums[*e].clone(),
            Type::Record(r) => self.records[*r].clone(),
            Type::Array { index, len, element, .. } if **index == Type::Int => {
                format!("[{}; {len}]", self.ty(element))
            }
            Type::Array { index, element, .. } => format!("map[{}] {}", self.ty(index), self.ty(element)),
            Type::Ref(r) => format!("ref {}", self.records[*r]),
            Type::Thread => "thread".into(),
            Type::ThreadSet => "thread_set".into(),
        }
    }

    fn value(&self, value: &Value, ty: &Type) -> String {
        match (value, ty) {
            (Value::Int(v), Type::Bool) => (if *v == 0 { "false" } else { "true" }).into(),
            (Value::Int(v), Type::Enum(e)) => {
                format!("{}.{}", self.enums[*e], member(&self.program.enums[*e].names[*v as usize]))
            }
            (Value::Int(0), Type::Ref(_) | Type::Thread) => "null".into(),
            (Value::Int(_), Type::Thread) => {
                let _ = self.wrong.set("a question to all threads of a `map[thread]`".into());
                String::new()
            }
            (Value::Int(v), Type::Fixed { bits: 64, signed: false }) => (*v as u64).to_string(),
            (Value::Int(v), Type::Int | Type::Range(..) | Type::Fixed { .. }) => v.to_string(),
            (Value::Tuple(parts), Type::Record(r)) => {
                let fields = &self.program.records[*r].fields;
                let parts: Vec<String> = parts
                    .iter()
                    .zip(fields)
                    .map(|(v, f)| format!("{}: {}", member(&f.name), self.value(v, &f.ty)))
                    .collect();
                format!("{} {{ {} }}", self.records[*r], parts.join(", "))
            }
            (Value::Tuple(parts), Type::Array { index, element, .. }) if **index != Type::Thread => {
                if parts.windows(2).all(|w| w[0] == w[1]) {
                    return format!("[{}; {}]", self.value(&parts[0], element), parts.len());
                }
                let parts: Vec<String> = parts.iter().map(|v| self.value(v, element)).collect();
                format!("[{}]", parts.join(", "))
            }
            (value, ty) => {
                self.wrong.get_or_init(|| format!("the value {value:?} of the type {ty:?} cannot be written"));
                "0".into()
            }
        }
    }

    /// The body of a procedure, or of threads that know a number by a local.
    fn body(&self, proc: &Proc, number: Option<LocalId>) -> String {
        let mut out = String::from("{\n");
        for id in (proc.params..proc.locals.len()).filter(|id| Some(*id) != number) {
            let _ = writeln!(out, "var {}: {};", self.locals[id], self.ty(&proc.locals[id].ty));
        }
        // Locals begin with these values anyway. But the step of a task may begin with such a statement.
        let is_initial = |s: &Stmt| match &s.kind {
            StmtKind::Assign(Place { base: Base::Local(l), path, .. }, Expr { kind: ExprKind::Const(v), .. }) => {
                path.is_empty() && *l >= proc.params && *v == proc.locals[*l].ty.default_value(&self.program.records)
            }
            _ => false,
        };
        let begin = proc.body.iter().take_while(|s| self.of_threads && is_initial(s)).count();
        self.statements(&proc.body[begin..], &mut out);
        out.push('}');
        out
    }

    fn block(&self, block: &Block) -> String {
        let mut out = String::from("{\n");
        self.statements(block, &mut out);
        out.push('}');
        out
    }

    fn guard(&self, guard: &Guard) -> String {
        match guard {
            Guard::Star => "*".into(),
            Guard::Expr(e) => self.head(e),
        }
    }

    /// What stands before a block: braces of its own are in parentheses.
    fn head(&self, e: &Expr) -> String {
        let text = self.expr(e);
        if text.contains('{') { format!("({text})") } else { text }
    }

    fn exprs(&self, es: &[Expr]) -> String {
        es.iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(", ")
    }

    fn statements(&self, block: &[Stmt], out: &mut String) {
        for s in block {
            let line = self.statement(s);
            out.push_str(&line);
            out.push('\n');
        }
    }

    fn statement(&self, s: &Stmt) -> String {
        match &s.kind {
            StmtKind::Skip => "skip;".into(),
            StmtKind::Assign(p, e) => format!("{} = {};", self.place(p), self.expr(e)),
            StmtKind::Any(p, lo, hi) => format!("{} = {};", self.place(p), self.any(&p.ty, lo, hi)),
            StmtKind::New(p, r, es) => {
                let fields = self.program.records[*r].fields.clone();
                let parts: Vec<String> =
                    es.iter().zip(&fields).map(|(e, f)| format!("{}: {}", member(&f.name), self.expr(e))).collect();
                format!("{} = new {} {{ {} }};", self.place(p), self.records[*r], parts.join(", "))
            }
            StmtKind::If(g, a, b) => {
                let head = format!("if {} {}", self.guard(g), self.block(a));
                if b.is_empty() { head } else { format!("{head} else {}", self.block(b)) }
            }
            StmtKind::While(g, b) => format!("while {} {}", self.guard(g), self.block(b)),
            StmtKind::Break => "break;".into(),
            StmtKind::Continue => "continue;".into(),
            StmtKind::Call(results, p, es) => {
                let call = format!("{}({});", self.procs[*p], self.exprs(es));
                let target = |r: &Option<LocalId>| r.map_or("_".to_string(), |l| self.locals[l].clone());
                match results.as_slice() {
                    all if all.iter().all(Option::is_none) => call,
                    [one] => format!("{} = {call}", target(one)),
                    many => format!("({}) = {call}", many.iter().map(target).collect::<Vec<_>>().join(", ")),
                }
            }
            StmtKind::Return(es) if es.len() > 1 => format!("return ({});", self.exprs(es)),
            StmtKind::Return(es) if es.is_empty() => "return;".into(),
            StmtKind::Return(es) => format!("return {};", self.exprs(es)),
            StmtKind::Spawn(r, p, es) => format!("{}spawn {}({});", self.result(*r), self.procs[*p], self.exprs(es)),
            StmtKind::Post(r, level, p, es) => {
                let level = level.map_or(String::new(), |l| format!("@{} ", self.levels[usize::from(l)]));
                let level = if self.program.levels.len() > 1 { level } else { String::new() };
                format!("{}post {level}{}({});", self.result(*r), self.procs[*p], self.exprs(es))
            }
            StmtKind::Join(e) => format!("join {};", self.expr(e)),
            StmtKind::Yield => "yield;".into(),
            StmtKind::Zield => "zield;".into(),
            StmtKind::Atomic(b) => format!("atomic {}", self.block(b)),
            StmtKind::Assume(e) => format!("assume {};", self.expr(e)),
            StmtKind::Await(e) => format!("await {};", self.expr(e)),
            StmtKind::Assert(e, _, message) => match message {
                Some(m) => format!("assert {}, {m:?};", self.expr(e)),
                None => format!("assert {};", self.expr(e)),
            },
            StmtKind::Print(es) => format!("print({});", self.exprs(es)),
            StmtKind::Progress => "progress;".into(),
            StmtKind::SetInsert(p, e) => format!("{}.insert({});", self.place(p), self.expr(e)),
            StmtKind::SetRemove(p, e) => format!("{}.remove({});", self.place(p), self.expr(e)),
            StmtKind::SetRemoveAny(p) => format!("{}.remove_any();", self.place(p)),
            StmtKind::SetClear(p) => format!("{}.clear();", self.place(p)),
        }
    }

    fn result(&self, local: Option<LocalId>) -> String {
        local.map_or(String::new(), |l| format!("{} = ", self.locals[l]))
    }

    fn any(&self, ty: &Type, lo: &Expr, hi: &Expr) -> String {
        if let (ExprKind::Const(Value::Int(l)), ExprKind::Const(Value::Int(h))) = (&lo.kind, &hi.kind) {
            let whole = ty.finite_range(&self.program.enums).unwrap_or((i64::MIN, i64::MAX));
            if *ty == Type::Bool && (*l, *h) == (0, 1) {
                return "*".into();
            }
            if (*l, *h) == whole {
                return format!("any {}", self.ty(ty));
            }
        }
        let (lo, hi) = (self.operand(lo, 8), self.operand(hi, 8));
        format!("any {lo}..{hi}")
    }

    fn place(&self, p: &Place) -> String {
        let (mut text, mut ty) = match &p.base {
            Base::Global(g) => (self.globals[*g].clone(), self.program.globals[*g].ty.clone()),
            Base::Local(l) => (self.locals[*l].clone(), self.local_types[*l].clone()),
            Base::Heap(e, r) => (self.operand(e, 12), Type::Record(*r)),
        };
        for step in &p.path {
            match (step, ty) {
                (Projection::Field(f), Type::Record(r)) => {
                    let field = &self.program.records[r].fields[*f];
                    let _ = write!(text, ".{}", member(&field.name));
                    ty = field.ty.clone();
                }
                (Projection::Index { index, .. }, Type::Array { element, .. }) => {
                    let index = self.expr(index);
                    let _ = write!(text, "[{index}]");
                    ty = *element;
                }
                _ => unreachable!("paths fit their types"),
            }
        }
        text
    }

    fn operand(&self, e: &Expr, least: u8) -> String {
        let text = self.expr(e);
        if precedence(e) < least { format!("({text})") } else { text }
    }

    fn expr(&self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Const(v) => self.value(v, &e.ty),
            ExprKind::Read(p) => self.place(p),
            ExprKind::Unary(op, a) => {
                let sign = match op {
                    UnaryOp::Not => "!",
                    UnaryOp::Neg => "-",
                    UnaryOp::BitNot => "~",
                };
                format!("{sign}{}", self.operand(a, 12))
            }
            ExprKind::Binary(op, a, b) => {
                let here = precedence(e);
                // Comparisons do not chain.
                let left = if here == 3 { 4 } else { here };
                format!("{} {} {}", self.operand(a, left), op.symbol(), self.operand(b, here + 1))
            }
            ExprKind::IfElse(c, a, b) => {
                format!("if {} {{ {} }} else {{ {} }}", self.head(c), self.expr(a), self.expr(b))
            }
            ExprKind::Tuple(parts) => match &e.ty {
                Type::Record(r) => {
                    let fields = self.program.records[*r].fields.clone();
                    let parts: Vec<String> = parts
                        .iter()
                        .zip(&fields)
                        .map(|(e, f)| format!("{}: {}", member(&f.name), self.expr(e)))
                        .collect();
                    format!("{} {{ {} }}", self.records[*r], parts.join(", "))
                }
                _ => format!("[{}]", self.exprs(parts)),
            },
            ExprKind::Cast(a) => format!("{} as {}", self.operand(a, 10), self.ty(&e.ty)),
            ExprKind::SelfHandle => "self".into(),
            ExprKind::SetContains(set, e) => format!("{}.contains({})", self.operand(set, 12), self.expr(e)),
            ExprKind::SetIsEmpty(set) => format!("{}.is_empty()", self.operand(set, 12)),
        }
    }
}
