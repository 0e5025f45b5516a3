//! Sequential programs in C, for CBMC and its relatives.
//!
//! Nondeterminism is a function without a body, as these tools want it; assumptions and assertions are theirs too.
//! `int` is `long long`: mathematical integers are not known there, so a program that leaves 64 bits should be given to
//! Boogie or SMT-LIB instead. Arrays are wrapped in structures, so that they can be assigned, passed and returned.

use super::names::Names;
use fabius_lang::program::*;
use std::fmt::Write;

/// Words of the language, and functions that compilers know.
const RESERVED: &str = "auto break case char const continue default do double else enum extern float for goto if inline int \
    long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main \
    assert assume nondet bool true false abort abs acos asin atan calloc ceil clog cos creal ctan div exit exp fabs floor fmod \
    fork free gamma index j0 j1 jn labs ldexp log malloc memcmp memcpy memset modf pow printf puts raise rand read realloc \
    remove rename rindex rint round scanf signal sin sinh sqrt strcat strcmp strcpy strlen tan time trunc write y0 y1 yn";

struct Writer<'a> {
    program: &'a Program,
    globals: Vec<String>,
    procs: Vec<String>,
    locals: Vec<String>,
    /// Structures made so far, with their names: arrays, records and results.
    types: Vec<(Type, String)>,
    records: Vec<Option<String>>,
    results: Vec<Option<String>>,
    names: Names,
    declarations: String,
    out: String,
    depth: usize,
}

/// The program as one C file, whose `main` is its `init`.
pub fn c(program: &Program) -> String {
    let mut names = Names::without(RESERVED);
    let globals = program.globals.iter().map(|g| names.pick(&g.name)).collect();
    let procs = program.procs.iter().map(|p| names.pick(&p.name)).collect();
    let mut w = Writer {
        program,
        globals,
        procs,
        locals: Vec::new(),
        types: Vec::new(),
        records: vec![None; program.records.len()],
        results: vec![None; program.procs.len()],
        names,
        declarations: String::new(),
        out: String::new(),
        depth: 0,
    };
    w.file()
}

impl Writer<'_> {
    fn file(&mut self) -> String {
        let mut variables = String::new();
        for (id, global) in self.program.globals.iter().enumerate() {
            let ty = self.ty(&global.ty);
            let init = self.initial(&global.init, &global.ty);
            let _ = writeln!(variables, "{ty} {} = {init};", self.globals[id]);
        }
        let mut heads = String::new();
        for id in 0..self.program.procs.len() {
            let head = self.head(id);
            let _ = writeln!(heads, "{head};");
        }
        for id in 0..self.program.procs.len() {
            self.procedure(id);
        }
        let main = self.program.init.map_or(String::new(), |init| format!("{}();", self.procs[init]));
        format!(
            "/* A sequential program. Check it with: cbmc --unwind N FILE */\n\
             extern long long nondet_long_long(void);\n\
             #ifndef __CPROVER__\n#include <assert.h>\n#include <stdlib.h>\n\
             #define __CPROVER_assume(c) do {{ if (!(c)) exit(0); }} while (0)\n\
             #define __CPROVER_assert(c, text) assert((c) && text)\n#endif\n\
             \n{}\n{variables}\n{heads}\n{}int main(void) {{\n    {main}\n    return 0;\n}}\n",
            self.declarations, self.out
        )
    }

    /// The type, declared if need be.
    fn ty(&mut self, ty: &Type) -> String {
        match ty {
            Type::Bool => "_Bool".into(),
            Type::Fixed { bits, signed } => {
                let base = match bits {
                    8 => "char",
                    16 => "short",
                    32 => "int",
                    _ => "long long",
                };
                format!("{} {base}", if *signed { "signed" } else { "unsigned" })
            }
            Type::Record(r) => {
                if let Some(name) = &self.records[*r] {
                    return name.clone();
                }
                let record = &self.program.records[*r];
                let fields: String = record
                    .fields
                    .iter()
                    .enumerate()
                    .map(|(f, field)| format!(" {} f{f};", self.ty(&field.ty)))
                    .collect();
                let name = format!("struct {}", self.names.pick(&record.name));
                let _ = writeln!(self.declarations, "{name} {{{fields} }};");
                self.equality(&name, &record.fields.iter().map(|f| f.ty.clone()).enumerate().collect::<Vec<_>>(), None);
                self.records[*r] = Some(name.clone());
                name
            }
            Type::Array { len, element, .. } => {
                if let Some((_, name)) = self.types.iter().find(|(t, _)| t == ty) {
                    return name.clone();
                }
                let inner = self.ty(element);
                let name = format!("struct {}", self.names.pick("array"));
                let _ = writeln!(self.declarations, "{name} {{ {inner} e[{}]; }};", (*len).max(1));
                self.equality(&name, &[(0, (**element).clone())], Some(*len));
                self.types.push((ty.clone(), name.clone()));
                name
            }
            _ => "long long".into(),
        }
    }

    /// The function that compares two structures.
    fn equality(&mut self, name: &str, fields: &[(usize, Type)], len: Option<u32>) {
        let plain = name.trim_start_matches("struct ");
        let mut parts = Vec::new();
        for (f, ty) in fields {
            match len {
                None => parts.push(self.equal(&format!("a.f{f}"), &format!("b.f{f}"), ty)),
                Some(len) => {
                    for i in 0..len {
                        parts.push(self.equal(&format!("a.e[{i}]"), &format!("b.e[{i}]"), ty));
                    }
                }
            }
        }
        let all = if parts.is_empty() { "1".into() } else { parts.join(" && ") };
        let _ = writeln!(self.declarations, "static _Bool equal_{plain}({name} a, {name} b) {{ return {all}; }}");
    }

    fn equal(&mut self, a: &str, b: &str, ty: &Type) -> String {
        if ty.is_scalar() {
            return format!("{a} == {b}");
        }
        let name = self.ty(ty);
        format!("equal_{}({a}, {b})", name.trim_start_matches("struct "))
    }

    fn initial(&mut self, value: &Value, ty: &Type) -> String {
        match (value, ty) {
            (Value::Int(v), _) => constant(*v),
            (Value::Tuple(parts), Type::Record(r)) => {
                let fields = self.program.records[*r].fields.iter().map(|f| f.ty.clone()).collect::<Vec<_>>();
                let parts: Vec<String> = parts.iter().zip(&fields).map(|(v, ty)| self.initial(v, ty)).collect();
                format!("{{ {} }}", parts.join(", "))
            }
            (Value::Tuple(parts), Type::Array { element, .. }) => {
                let parts: Vec<String> = parts.iter().map(|v| self.initial(v, element)).collect();
                format!("{{ {{ {} }} }}", if parts.is_empty() { "0".into() } else { parts.join(", ") })
            }
            _ => unreachable!("only records and arrays have parts"),
        }
    }

    fn head(&mut self, id: ProcId) -> String {
        let proc = &self.program.procs[id];
        let result = match proc.results.as_slice() {
            [] => "void".into(),
            [one] => self.ty(one),
            many => {
                if self.results[id].is_none() {
                    let fields: String =
                        many.iter().enumerate().map(|(n, ty)| format!(" {} r{n};", self.ty(ty))).collect();
                    let name = format!("struct {}", self.names.pick("results"));
                    let _ = writeln!(self.declarations, "{name} {{{fields} }};");
                    self.results[id] = Some(name);
                }
                self.results[id].clone().expect("it was just made")
            }
        };
        let params: Vec<String> = (0..proc.params).map(|l| format!("{} v{l}", self.ty(&proc.locals[l].ty))).collect();
        let params = if params.is_empty() { "void".into() } else { params.join(", ") };
        format!("{result} {}({params})", self.procs[id])
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}{text}", "    ".repeat(self.depth));
    }

    fn procedure(&mut self, id: ProcId) {
        let proc = &self.program.procs[id];
        let head = self.head(id);
        self.locals = (0..proc.locals.len()).map(|l| format!("v{l}")).collect();
        self.line(&format!("{head} {{"));
        self.depth = 1;
        for (l, local) in proc.locals.iter().enumerate().skip(proc.params) {
            let ty = self.ty(&local.ty);
            let init = self.initial(&local.ty.default_value(&self.program.records), &local.ty);
            self.line(&format!("{ty} v{l} = {init}; /* {} */", local.name));
        }
        self.block(&proc.body, id);
        let defaults: Vec<Expr> = proc
            .results
            .iter()
            .map(|ty| Expr {
                kind: ExprKind::Const(ty.default_value(&self.program.records)),
                ty: ty.clone(),
                span: Default::default(),
            })
            .collect();
        if !defaults.is_empty() {
            self.leave(&defaults, id);
        }
        self.depth = 0;
        self.line("}");
        self.line("");
    }

    fn leave(&mut self, es: &[Expr], id: ProcId) {
        let values: Vec<String> = es.iter().map(|e| self.expr(e)).collect();
        match (values.as_slice(), &self.results[id]) {
            ([], _) => self.line("return;"),
            (_, Some(name)) => self.line(&format!("return ({name}) {{ {} }};", values.join(", "))),
            (_, None) => self.line(&format!("return {};", values[0])),
        }
    }

    fn block(&mut self, block: &Block, id: ProcId) {
        for s in block {
            self.stmt(s, id);
        }
    }

    fn inner(&mut self, block: &Block, id: ProcId) {
        self.depth += 1;
        self.block(block, id);
        self.depth -= 1;
    }

    fn guard(&mut self, guard: &Guard) -> String {
        match guard {
            Guard::Star => "nondet_long_long() != 0".into(),
            Guard::Expr(e) => self.expr(e),
        }
    }

    fn stmt(&mut self, s: &Stmt, id: ProcId) {
        match &s.kind {
            StmtKind::Assign(p, e) => {
                let (p, e) = (self.place(p), self.expr(e));
                self.line(&format!("{p} = {e};"));
            }
            StmtKind::Any(p, lo, hi) => {
                let (at, lo, hi) = (self.place(p), self.expr(lo), self.expr(hi));
                let ty = self.ty(&p.ty);
                self.line(&format!("{{ {ty} least = {lo}, most = {hi};"));
                self.line(&format!("  {at} = ({ty}) nondet_long_long();"));
                self.line(&format!("  __CPROVER_assume(least <= {at} && {at} <= most); }}"));
            }
            StmtKind::If(guard, a, b) => {
                let guard = self.guard(guard);
                self.line(&format!("if ({guard}) {{"));
                self.inner(a, id);
                if !b.is_empty() {
                    self.line("} else {");
                    self.inner(b, id);
                }
                self.line("}");
            }
            StmtKind::While(guard, b) => {
                let guard = self.guard(guard);
                self.line(&format!("while ({guard}) {{"));
                self.inner(b, id);
                self.line("}");
            }
            StmtKind::Break => self.line("break;"),
            StmtKind::Continue => self.line("continue;"),
            StmtKind::Call(results, p, es) => {
                let args: Vec<String> = es.iter().map(|e| self.expr(e)).collect();
                let call = format!("{}({})", self.procs[*p], args.join(", "));
                let kept: Vec<(usize, LocalId)> =
                    results.iter().enumerate().filter_map(|(n, r)| r.map(|r| (n, r))).collect();
                match (kept.as_slice(), self.results[*p].clone()) {
                    ([], _) => self.line(&format!("{call};")),
                    (kept, Some(name)) => {
                        self.line(&format!("{{ {name} all = {call};"));
                        for (n, local) in kept {
                            self.line(&format!("  v{local} = all.r{n};"));
                        }
                        self.line("}");
                    }
                    ([(_, local), ..], None) => self.line(&format!("v{local} = {call};")),
                }
            }
            StmtKind::Return(es) => self.leave(es, id),
            StmtKind::Atomic(b) => self.block(b, id),
            StmtKind::Assume(e) | StmtKind::Await(e) => {
                let e = self.expr(e);
                self.line(&format!("__CPROVER_assume({e});"));
            }
            StmtKind::Assert(e, ..) => {
                let e = self.expr(e);
                self.line(&format!("__CPROVER_assert({e}, \"nothing has failed\");"));
            }
            // Observations only, and what no sequential program has.
            _ => {}
        }
    }

    fn place(&mut self, p: &Place) -> String {
        let mut text = match p.base {
            Base::Global(g) => self.globals[g].clone(),
            Base::Local(l) => self.locals[l].clone(),
            Base::Heap(..) => unreachable!("sequential programs have no heap"),
        };
        for step in &p.path {
            match step {
                Projection::Field(f) => {
                    let _ = write!(text, ".f{f}");
                }
                Projection::Index { index, lo, .. } => {
                    let index = self.expr(index);
                    let _ = if *lo == 0 {
                        write!(text, ".e[{index}]")
                    } else {
                        write!(text, ".e[{index} - {}]", constant(*lo))
                    };
                }
            }
        }
        text
    }

    fn expr(&mut self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Const(Value::Int(v)) => constant(*v),
            ExprKind::Const(value) => {
                let ty = self.ty(&e.ty);
                format!("({ty}) {}", self.initial(value, &e.ty))
            }
            ExprKind::Read(p) => self.place(p),
            ExprKind::Unary(op, a) => {
                let a = self.expr(a);
                match op {
                    UnaryOp::Not => format!("!({a})"),
                    UnaryOp::Neg => self.wrapped(&e.ty, format!("-({a})")),
                    UnaryOp::BitNot => self.wrapped(&e.ty, format!("~({a})")),
                }
            }
            ExprKind::Binary(op, a, b) => {
                let ty = a.ty.clone();
                let (a, b) = (self.expr(a), self.expr(b));
                match op {
                    BinaryOp::Eq | BinaryOp::Ne => {
                        let equal = self.equal(&a, &b, &ty);
                        if *op == BinaryOp::Eq { format!("({equal})") } else { format!("!({equal})") }
                    }
                    BinaryOp::Shl | BinaryOp::Shr => {
                        let width = if let Type::Fixed { bits, .. } = ty { bits } else { 64 };
                        self.wrapped(&e.ty, format!("({a} {} ({b} & {}))", op.symbol(), width - 1))
                    }
                    _ => self.wrapped(&e.ty, format!("({a} {} {b})", op.symbol())),
                }
            }
            ExprKind::IfElse(c, a, b) => format!("({} ? {} : {})", self.expr(c), self.expr(a), self.expr(b)),
            ExprKind::Tuple(parts) => {
                let ty = self.ty(&e.ty);
                let parts: Vec<String> = parts.iter().map(|p| self.expr(p)).collect();
                let is_array = matches!(e.ty, Type::Array { .. });
                let parts = parts.join(", ");
                if is_array { format!("({ty}) {{ {{ {parts} }} }}") } else { format!("({ty}) {{ {parts} }}") }
            }
            ExprKind::Cast(a) => {
                let ty = self.ty(&e.ty);
                format!("(({ty}) {})", self.expr(a))
            }
            ExprKind::SelfHandle | ExprKind::SetContains(..) | ExprKind::SetIsEmpty(_) => {
                unreachable!("sequential programs know no threads")
            }
        }
    }

    /// C computes narrow integers as `int`: back to their width.
    fn wrapped(&mut self, ty: &Type, text: String) -> String {
        match ty {
            Type::Fixed { .. } => format!("(({}) {text})", self.ty(ty)),
            _ => text,
        }
    }
}

fn constant(v: i64) -> String {
    match v {
        i64::MIN => "(-9223372036854775807LL - 1)".into(),
        v if v < 0 => format!("({v}LL)"),
        v if v > i64::from(i32::MAX) => format!("{v}LL"),
        v => v.to_string(),
    }
}
