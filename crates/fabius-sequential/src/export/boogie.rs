//! Sequential programs in Boogie, version 2.4 and later.
//!
//! Boogie has no records that this version knows, so a variable becomes one for each field, a map where there is an array
//! on the way. Fixed-width integers are bit vectors, `int` is `int`.

use super::names::Names;
use fabius_lang::program::*;
use fabius_smt::smtlib::bits_function;
use std::collections::BTreeSet;
use std::fmt::Write;

const RESERVED: &str = "assert assume axiom bool break call complete const ensures exists extends finite forall free function \
    goto havoc if implementation int invariant lambda modifies old procedure real requires return returns then else true false \
    type unique var where while div mod choice";

/// A part of a variable that Boogie can hold: the fields that lead there, and how many indexes.
struct Leaf {
    fields: Vec<usize>,
    indexes: usize,
    ty: Type,
}

struct Writer<'a> {
    program: &'a Program,
    globals: Vec<String>,
    procs: Vec<String>,
    /// Locals of the procedure that is being written that the source does not have.
    temporaries: Vec<String>,
    functions: BTreeSet<String>,
    labels: usize,
    /// Where `continue` of the loops around goes.
    continues: Vec<Option<String>>,
    out: String,
    depth: usize,
}

/// The program as one Boogie file, whose entry is `main`; procedures are to be inlined so many times.
pub fn boogie(program: &Program, recursion: u32) -> String {
    let mut names = Names::without(RESERVED);
    let globals = program.globals.iter().map(|g| names.pick(&format!("g_{}", g.name))).collect();
    let procs = program.procs.iter().map(|p| names.pick(&format!("p_{}", p.name))).collect();
    let mut w = Writer {
        program,
        globals,
        procs,
        temporaries: Vec::new(),
        functions: BTreeSet::new(),
        labels: 0,
        continues: Vec::new(),
        out: String::new(),
        depth: 0,
    };
    w.file(recursion)
}

impl Writer<'_> {
    fn file(&mut self, recursion: u32) -> String {
        let mut head = String::from("// A sequential program. Check it with: boogie /loopUnroll:N FILE\n\n");
        let mut all = Vec::new();
        for (global, name) in self.program.globals.iter().zip(&self.globals) {
            for leaf in leaves(self.program, &global.ty) {
                let name = part(name, &leaf.fields);
                let _ = writeln!(head, "var {name}: {};", map_type(leaf.indexes, &leaf.ty));
                all.push(name);
            }
        }
        let modifies = if all.is_empty() { String::new() } else { format!("  modifies {};\n", all.join(", ")) };
        for id in 0..self.program.procs.len() {
            self.procedure(id, recursion, &modifies);
        }
        self.line(&format!("procedure {{:entrypoint}} main()\n{modifies}{{"));
        self.depth = 1;
        for id in 0..self.program.globals.len() {
            let global = &self.program.globals[id];
            self.initial(&self.globals[id].clone(), &global.init, &global.ty);
        }
        if let Some(init) = self.program.init {
            self.line(&format!("call {}();", self.procs[init]));
        }
        self.depth = 0;
        self.line("}");
        let functions: String = self.functions.iter().map(|f| format!("{f}\n")).collect();
        format!("{head}\n{functions}\n{}", self.out)
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}{text}", "  ".repeat(self.depth));
    }

    /// Assigns a constant, part by part.
    fn initial(&mut self, name: &str, value: &Value, ty: &Type) {
        for (fields, indexes, ty, v) in scalars_of(self.program, value, ty) {
            let indexes: String = indexes.iter().map(|i| format!("[{}]", number(*i))).collect();
            self.line(&format!("{}{indexes} := {};", part(name, &fields), constant(v, &ty)));
        }
    }

    fn procedure(&mut self, id: ProcId, recursion: u32, modifies: &str) {
        let proc = &self.program.procs[id];
        let list = |prefix: &str, types: &mut dyn Iterator<Item = &Type>| -> String {
            let mut all = Vec::new();
            for (n, ty) in types.enumerate() {
                for leaf in leaves(self.program, ty) {
                    let name = part(&format!("{prefix}{n}"), &leaf.fields);
                    all.push(format!("{name}: {}", map_type(leaf.indexes, &leaf.ty)));
                }
            }
            all.join(", ")
        };
        let ins = list("in", &mut proc.locals[..proc.params].iter().map(|l| &l.ty));
        let outs = list("out", &mut proc.results.iter());
        let returns = if outs.is_empty() { String::new() } else { format!(" returns ({outs})") };
        let head = format!("procedure {{:inline {recursion}}} {}({ins}){returns}\n{modifies}{{", self.procs[id]);
        let before = std::mem::take(&mut self.out);
        self.temporaries.clear();
        self.depth = 1;
        for l in 0..proc.locals.len() {
            let (name, ty) = (format!("v{l}"), &proc.locals[l].ty);
            if l < proc.params {
                for leaf in leaves(self.program, ty) {
                    self.line(&format!("{} := {};", part(&name, &leaf.fields), part(&format!("in{l}"), &leaf.fields)));
                }
            } else {
                self.initial(&name, &ty.default_value(&self.program.records), ty);
            }
        }
        for n in 0..proc.results.len() {
            let ty = &proc.results[n];
            self.initial(&format!("out{n}"), &ty.default_value(&self.program.records), ty);
        }
        self.block(&proc.body);
        self.depth = 0;
        let body = std::mem::replace(&mut self.out, before);
        self.line(&head);
        for (l, local) in proc.locals.iter().enumerate() {
            for leaf in leaves(self.program, &local.ty) {
                let name = part(&format!("v{l}"), &leaf.fields);
                self.line(&format!("  var {name}: {}; // {}", map_type(leaf.indexes, &leaf.ty), local.name));
            }
        }
        for t in std::mem::take(&mut self.temporaries) {
            self.line(&format!("  var {t};"));
        }
        self.out += &body;
        self.line("}\n");
    }

    fn temporary(&mut self, ty: &Type) -> String {
        let name = format!("t{}", self.temporaries.len());
        self.temporaries.push(format!("{name}: {}", scalar_type(ty)));
        name
    }

    fn block(&mut self, block: &Block) {
        for s in block {
            self.stmt(s);
        }
    }

    fn inner(&mut self, block: &Block) {
        self.depth += 1;
        self.block(block);
        self.depth -= 1;
    }

    fn guard(&mut self, guard: &Guard) -> String {
        match guard {
            Guard::Star => "*".into(),
            Guard::Expr(e) => self.expr(e),
        }
    }

    fn stmt(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::Assign(p, e) => self.assign(p, e),
            StmtKind::Any(p, lo, hi) => {
                let value = self.temporary(&p.ty);
                let (at, lo, hi) = (self.place(p), self.ordered(lo), self.ordered(hi));
                self.line(&format!("havoc {value};"));
                let (least, most) = match &p.ty {
                    Type::Bool => {
                        (format!("{lo} <= (if {value} then 1 else 0)"), format!("(if {value} then 1 else 0) <= {hi}"))
                    }
                    Type::Fixed { .. } => {
                        (self.compare("le", &p.ty, &lo, &value), self.compare("le", &p.ty, &value, &hi))
                    }
                    _ => (format!("{lo} <= {value}"), format!("{value} <= {hi}")),
                };
                self.line(&format!("assume {least} && {most};"));
                self.line(&format!("{at} := {value};"));
            }
            StmtKind::If(guard, a, b) => {
                let guard = self.guard(guard);
                self.line(&format!("if ({guard}) {{"));
                self.inner(a);
                if !b.is_empty() {
                    self.line("} else {");
                    self.inner(b);
                }
                self.line("}");
            }
            StmtKind::While(guard, b) => {
                let guard = self.guard(guard);
                self.line(&format!("while ({guard}) {{"));
                self.continues.push(None);
                self.inner(b);
                if let Some(label) = self.continues.pop().flatten() {
                    self.line(&format!("{label}:"));
                }
                self.line("}");
            }
            StmtKind::Break => self.line("break;"),
            StmtKind::Continue => {
                let next = format!("continue_{}", self.labels);
                let innermost = self.continues.last_mut().expect("only inside of a loop");
                if innermost.is_none() {
                    self.labels += 1;
                }
                let label = innermost.get_or_insert(next).clone();
                self.line(&format!("goto {label};"));
            }
            StmtKind::Call(results, p, es) => self.call(results, *p, es),
            StmtKind::Return(es) => {
                let mut values = Vec::new();
                for e in es {
                    values.extend(self.whole(e));
                }
                let mut outs = Vec::new();
                for (n, e) in es.iter().enumerate() {
                    for leaf in leaves(self.program, &e.ty) {
                        outs.push(part(&format!("out{n}"), &leaf.fields));
                    }
                }
                for (out, value) in outs.iter().zip(values) {
                    self.line(&format!("{out} := {value};"));
                }
                self.line("return;");
            }
            StmtKind::Atomic(b) => self.block(b),
            StmtKind::Assume(e) | StmtKind::Await(e) => {
                let e = self.expr(e);
                self.line(&format!("assume {e};"));
            }
            StmtKind::Assert(e, ..) => {
                let e = self.expr(e);
                self.line(&format!("assert {e};"));
            }
            // Observations only, and what no sequential program has.
            _ => {}
        }
    }

    fn assign(&mut self, p: &Place, e: &Expr) {
        if p.ty.is_scalar() {
            let (p, e) = (self.place(p), self.expr(e));
            return self.line(&format!("{p} := {e};"));
        }
        let values = self.whole(e);
        for (leaf, value) in leaves(self.program, &p.ty).iter().zip(values) {
            let at = self.part_of(p, &leaf.fields);
            self.line(&format!("{at} := {value};"));
        }
    }

    fn call(&mut self, results: &[Option<LocalId>], p: ProcId, es: &[Expr]) {
        let mut args = Vec::new();
        for e in es {
            args.extend(self.whole(e));
        }
        let mut outs = Vec::new();
        for (result, ty) in results.iter().zip(&self.program.procs[p].results) {
            for leaf in leaves(self.program, ty) {
                match result {
                    Some(l) => outs.push(part(&format!("v{l}"), &leaf.fields)),
                    None => {
                        let name = format!("t{}", self.temporaries.len());
                        self.temporaries.push(format!("{name}: {}", map_type(leaf.indexes, &leaf.ty)));
                        outs.push(name);
                    }
                }
            }
        }
        let outs = if outs.is_empty() { String::new() } else { format!("{} := ", outs.join(", ")) };
        self.line(&format!("call {outs}{}({});", self.procs[p], args.join(", ")));
    }

    /// The parts of a value, in the order of the leaves of its type.
    fn whole(&mut self, e: &Expr) -> Vec<String> {
        match &e.kind {
            _ if e.ty.is_scalar() => vec![self.expr(e)],
            ExprKind::Read(p) => leaves(self.program, &p.ty).iter().map(|leaf| self.part_of(p, &leaf.fields)).collect(),
            _ => {
                // Put together part by part in variables of their own.
                let name = format!("t{}", self.temporaries.len());
                let all = leaves(self.program, &e.ty);
                for leaf in &all {
                    let ty = map_type(leaf.indexes, &leaf.ty);
                    self.temporaries.push(format!("{}: {ty}", part(&name, &leaf.fields)));
                }
                for (fields, indexes, scalar) in scalars(self.program, &e.ty, e) {
                    let value = self.expr(&scalar);
                    let indexes: String = indexes.iter().map(|i| format!("[{}]", number(*i))).collect();
                    self.line(&format!("{}{indexes} := {value};", part(&name, &fields)));
                }
                all.iter().map(|leaf| part(&name, &leaf.fields)).collect()
            }
        }
    }

    fn place(&mut self, p: &Place) -> String {
        self.part_of(p, &[])
    }

    /// The variable that holds some field of a place, with the indexes on the way.
    fn part_of(&mut self, p: &Place, more: &[usize]) -> String {
        let base = match p.base {
            Base::Global(g) => self.globals[g].clone(),
            Base::Local(l) => format!("v{l}"),
            Base::Heap(..) => unreachable!("sequential programs have no heap"),
        };
        let (mut fields, mut indexes) = (Vec::new(), String::new());
        for step in &p.path {
            match step {
                Projection::Field(f) => fields.push(*f),
                Projection::Index { index, .. } => {
                    let _ = write!(indexes, "[{}]", self.ordered_int(index));
                }
            }
        }
        fields.extend(more);
        format!("{}{indexes}", part(&base, &fields))
    }

    /// An index as an `int`.
    fn ordered_int(&mut self, e: &Expr) -> String {
        let text = self.expr(e);
        match e.ty {
            Type::Bool => format!("(if {text} then 1 else 0)"),
            Type::Fixed { .. } => self.cast(&e.ty, &Type::Int, text),
            _ => text,
        }
    }

    /// A bound of a choice: a Boolean one as an `int`.
    fn ordered(&mut self, e: &Expr) -> String {
        let text = self.expr(e);
        if e.ty == Type::Bool { format!("(if {text} then 1 else 0)") } else { text }
    }

    fn expr(&mut self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Const(Value::Int(v)) => constant(*v, &e.ty),
            ExprKind::Read(p) => self.place(p),
            ExprKind::Unary(op, a) => {
                let text = self.expr(a);
                match (op, &e.ty) {
                    (UnaryOp::Not, _) => format!("!({text})"),
                    (UnaryOp::Neg, Type::Fixed { bits, .. }) => self.bits("bvneg", *bits, &[text]),
                    (UnaryOp::Neg, _) => format!("(-({text}))"),
                    (UnaryOp::BitNot, Type::Fixed { bits, .. }) => self.bits("bvnot", *bits, &[text]),
                    (UnaryOp::BitNot, _) => format!("(-({text}) - 1)"),
                }
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b),
            ExprKind::IfElse(c, a, b) => {
                format!("(if {} then {} else {})", self.expr(c), self.expr(a), self.expr(b))
            }
            ExprKind::Cast(a) => {
                let text = self.expr(a);
                self.cast(&a.ty, &e.ty, text)
            }
            ExprKind::Const(_) | ExprKind::Tuple(_) => unreachable!("parts are written one by one"),
            ExprKind::SelfHandle | ExprKind::SetContains(..) | ExprKind::SetIsEmpty(_) => {
                unreachable!("sequential programs know no threads")
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> String {
        if !a.ty.is_scalar() {
            let (left, right) = (scalars(self.program, &a.ty, a), scalars(self.program, &b.ty, b));
            let parts: Vec<String> =
                left.iter().zip(&right).map(|(a, b)| format!("{} == {}", self.expr(&a.2), self.expr(&b.2))).collect();
            let all = if parts.is_empty() { "true".into() } else { parts.join(" && ") };
            return if op == BinaryOp::Eq { format!("({all})") } else { format!("!({all})") };
        }
        let ty = a.ty.clone();
        let (x, y) = (self.expr(a), self.expr(b));
        match (op, &ty) {
            (BinaryOp::Eq | BinaryOp::Ne | BinaryOp::And | BinaryOp::Or, _) => format!("({x} {} {y})", op.symbol()),
            (BinaryOp::Le, Type::Fixed { .. }) => self.compare("le", &ty, &x, &y),
            (BinaryOp::Lt, Type::Fixed { .. }) => self.compare("lt", &ty, &x, &y),
            (BinaryOp::Ge, Type::Fixed { .. }) => self.compare("le", &ty, &y, &x),
            (BinaryOp::Gt, Type::Fixed { .. }) => self.compare("lt", &ty, &y, &x),
            (_, Type::Fixed { bits, signed }) => {
                let f = bits_function(crate::arithmetic(op).expect("comparisons are above"), *signed);
                let y = match op {
                    BinaryOp::Shl | BinaryOp::Shr => {
                        let amount = self.cast(&b.ty, &ty, y);
                        self.bits("bvand", *bits, &[amount, format!("{}bv{bits}", bits - 1)])
                    }
                    _ => y,
                };
                self.bits(f, *bits, &[x, y])
            }
            (BinaryOp::Div, _) => {
                self.functions.insert(
                    "function {:inline} divided(a: int, b: int): int { if a >= 0 then a div b else -((-a) div b) }"
                        .into(),
                );
                format!("divided({x}, {y})")
            }
            (BinaryOp::Rem, _) => {
                self.functions.insert(
                    "function {:inline} rest(a: int, b: int): int { if a >= 0 then a mod b else -((-a) mod b) }".into(),
                );
                format!("rest({x}, {y})")
            }
            (BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor, _) => {
                // Through bit vectors that are wide enough for what programs hold in 64 bits.
                let wide = Type::Fixed { bits: 64, signed: true };
                let (x, y) = (self.cast(&Type::Int, &wide, x), self.cast(&Type::Int, &wide, y));
                let f = bits_function(crate::arithmetic(op).expect("these give numbers"), true);
                let both = self.bits(f, 64, &[x, y]);
                self.cast(&wide, &Type::Int, both)
            }
            _ => format!("({x} {} {y})", op.symbol()),
        }
    }

    fn compare(&mut self, relation: &str, ty: &Type, x: &str, y: &str) -> String {
        let Type::Fixed { bits, signed } = ty else { return format!("{x} {relation} {y}") };
        let f = format!("bv{}{relation}", if *signed { "s" } else { "u" });
        self.functions.insert(format!("function {{:bvbuiltin \"{f}\"}} {f}{bits}(bv{bits}, bv{bits}) returns (bool);"));
        format!("{f}{bits}({x}, {y})")
    }

    fn bits(&mut self, f: &str, bits: u8, args: &[String]) -> String {
        let params = vec![format!("bv{bits}"); args.len()].join(", ");
        self.functions.insert(format!("function {{:bvbuiltin \"{f}\"}} {f}{bits}({params}) returns (bv{bits});"));
        format!("{f}{bits}({})", args.join(", "))
    }

    fn cast(&mut self, from: &Type, to: &Type, x: String) -> String {
        match (from, to) {
            (Type::Fixed { bits: m, signed }, Type::Fixed { bits: n, .. }) if n > m => {
                let f = if *signed { "sign_extend" } else { "zero_extend" };
                let by = n - m;
                self.functions
                    .insert(format!("function {{:bvbuiltin \"(_ {f} {by})\"}} {f}_{m}_{n}(bv{m}) returns (bv{n});"));
                format!("{f}_{m}_{n}({x})")
            }
            (Type::Fixed { bits: m, .. }, Type::Fixed { bits: n, .. }) if n < m => format!("({x})[{n}:0]"),
            (Type::Fixed { .. }, Type::Fixed { .. }) => x,
            (Type::Fixed { bits, signed }, _) => {
                self.functions
                    .insert(format!("function {{:bvbuiltin \"bv2nat\"}} natural{bits}(bv{bits}) returns (int);"));
                if !*signed {
                    return format!("natural{bits}({x})");
                }
                let half = 1u64 << (bits - 1);
                let raised = self.bits("bvadd", *bits, &[x, format!("{half}bv{bits}")]);
                format!("(natural{bits}({raised}) - {half})")
            }
            (_, Type::Fixed { bits, .. }) => {
                self.functions.insert(format!(
                    "function {{:bvbuiltin \"(_ int2bv {bits})\"}} vector{bits}(int) returns (bv{bits});"
                ));
                format!("vector{bits}({x})")
            }
            _ => x,
        }
    }
}

/// A variable for the field that these lead to.
fn part(name: &str, fields: &[usize]) -> String {
    fields.iter().fold(name.to_string(), |name, f| format!("{name}__{f}"))
}

fn leaves(program: &Program, ty: &Type) -> Vec<Leaf> {
    match ty {
        Type::Record(r) => {
            let mut all = Vec::new();
            for (f, field) in program.records[*r].fields.iter().enumerate() {
                for mut leaf in leaves(program, &field.ty) {
                    leaf.fields.insert(0, f);
                    all.push(leaf);
                }
            }
            all
        }
        Type::Array { element, .. } => {
            let deeper = |leaf: Leaf| Leaf { indexes: leaf.indexes + 1, ..leaf };
            leaves(program, element).into_iter().map(deeper).collect()
        }
        scalar => vec![Leaf { fields: Vec::new(), indexes: 0, ty: scalar.clone() }],
    }
}

/// The scalars that an expression is made of: fields, indexes, and the expression of the part.
fn scalars(program: &Program, ty: &Type, e: &Expr) -> Vec<(Vec<usize>, Vec<i64>, Expr)> {
    let mut all = Vec::new();
    match ty {
        Type::Record(r) => {
            for (f, field) in program.records[*r].fields.iter().enumerate() {
                let component = component(e, f, Projection::Field(f), &field.ty);
                for (mut fields, indexes, scalar) in scalars(program, &field.ty, &component) {
                    fields.insert(0, f);
                    all.push((fields, indexes, scalar));
                }
            }
        }
        Type::Array { lo, len, element, .. } => {
            for i in 0..*len as usize {
                let at = lo + i as i64;
                let index = Expr { kind: ExprKind::Const(Value::Int(at)), ty: Type::Int, span: Default::default() };
                let step = Projection::Index { index: Box::new(index), lo: *lo, len: *len };
                let component = component(e, i, step, element);
                for (fields, mut indexes, scalar) in scalars(program, element, &component) {
                    indexes.insert(0, at);
                    all.push((fields, indexes, scalar));
                }
            }
        }
        _ => all.push((Vec::new(), Vec::new(), e.clone())),
    }
    all
}

/// One part of an expression.
fn component(e: &Expr, n: usize, step: Projection, ty: &Type) -> Expr {
    let kind = match &e.kind {
        ExprKind::Const(Value::Tuple(parts)) => ExprKind::Const(parts[n].clone()),
        ExprKind::Tuple(parts) => return parts[n].clone(),
        ExprKind::Read(p) => {
            let mut p = p.clone();
            p.path.push(step);
            p.ty = ty.clone();
            ExprKind::Read(p)
        }
        ExprKind::IfElse(c, a, b) => {
            let inner = |e: &Expr| Box::new(component(e, n, step.clone(), ty));
            ExprKind::IfElse(c.clone(), inner(a), inner(b))
        }
        _ => unreachable!("no other expression has parts"),
    };
    Expr { kind, ty: ty.clone(), span: e.span }
}

type Scalar = (Vec<usize>, Vec<i64>, Type, i64);

fn scalars_of(program: &Program, value: &Value, ty: &Type) -> Vec<Scalar> {
    let whole = Expr { kind: ExprKind::Const(value.clone()), ty: ty.clone(), span: Default::default() };
    let number = |e: &Expr| match e.kind {
        ExprKind::Const(Value::Int(v)) => v,
        _ => unreachable!("parts of constants are constants"),
    };
    scalars(program, ty, &whole).into_iter().map(|(f, i, e)| (f, i, e.ty.clone(), number(&e))).collect()
}

fn scalar_type(ty: &Type) -> String {
    match ty {
        Type::Bool => "bool".into(),
        Type::Fixed { bits, .. } => format!("bv{bits}"),
        _ => "int".into(),
    }
}

fn map_type(indexes: usize, ty: &Type) -> String {
    format!("{}{}", "[int]".repeat(indexes), scalar_type(ty))
}

fn number(v: i64) -> String {
    if v < 0 { format!("(-{})", v.unsigned_abs()) } else { v.to_string() }
}

fn constant(v: i64, ty: &Type) -> String {
    match ty {
        Type::Bool => (if v == 1 { "true" } else { "false" }).into(),
        Type::Fixed { bits: 64, .. } => format!("{}bv64", v as u64),
        Type::Fixed { bits, .. } => format!("{}bv{bits}", (v as u64) & ((1 << bits) - 1)),
        _ => number(v),
    }
}
