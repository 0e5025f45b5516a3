//! From a file to a program: what is static, what begins by itself, methods.

use crate::ast::{Expr, ExprKind, File, Method, Name, Stmt, StmtKind as Said};
use crate::lower::{Body, Bound, Context, Version};
use crate::refusal::{Result, unsupported, wrong};
use crate::types::{Ty, Types};
use fabius_lang::program::{Class, Global, Interleave, Proc, Process, Program, StmtKind, Value};
use fabius_trace::Span;
use std::collections::{HashMap, HashSet};

/// What channels, sets and arrays have room for, if nothing is said.
const ROOM: u32 = 8;

/// What channels, sets and arrays have room for.
///
/// # Errors
/// What else is said.
pub fn room(consts: &[(String, String)]) -> Result<u32> {
    let mut room = ROOM;
    for (name, value) in consts {
        let none = Span::default();
        if name != "ROOM" {
            return Err(wrong(none, format!("`{name}` is nothing that can be set"))
                .help("`ROOM` says for how much channels, sets and arrays have room"));
        }
        room = value
            .parse()
            .ok()
            .filter(|n| (1..=256).contains(n))
            .ok_or_else(|| wrong(none, format!("`{value}` is no room")).help("`ROOM` is 1 to 256"))?;
    }
    Ok(room)
}

/// The program of a file.
///
/// # Errors
/// What of it is wrong or not taken.
pub fn lower(file: &File, source: &str, room: u32) -> Result<Program> {
    let mut seen = HashSet::new();
    for method in file.classes.iter().flat_map(|c| c.methods.iter().map(move |m| (c, m))) {
        let (class, method) = method;
        if !seen.insert((&class.name.text, &method.name.text)) {
            return Err(unsupported(method.name.span, "two methods of one name").help("give them two names"));
        }
    }
    let types = Types::of(file, room)?;
    let mut cx = Context {
        file,
        types,
        exceptions: crate::raised::of_file(file),
        statics: HashMap::new(),
        globals: Vec::new(),
        versions: HashMap::new(),
        wanted: Vec::new(),
        procs: 0,
        rests: Vec::new(),
    };
    let made = statics(&mut cx)?;
    let mut processes = Vec::new();
    for (class, c) in file.classes.iter().enumerate() {
        for (method, m) in c.methods.iter().enumerate().filter(|(_, m)| m.activate) {
            if m.result.is_some() {
                return Err(wrong(m.name.span, "what begins by itself is `void`"));
            }
            let is_bottom = cx.exceptions.leave.contains(&m.name.text);
            let proc = cx.version(Version { class, method, in_atomic: false, is_bottom });
            processes.push(Process { name: name_of(file, class, m), proc, count: Some(1), number: None });
        }
    }
    if processes.is_empty() {
        return Err(wrong(Span::new(source.len(), source.len()), "nothing begins by itself")
            .help("add `activate static void main() { .. }` to a class"));
    }
    let mut procs: Vec<Option<Proc>> = Vec::new();
    // What is wrong in a method that nobody calls is wrong, too.
    for (class, c) in file.classes.iter().enumerate() {
        for method in 0..c.methods.len() {
            let version = Version { class, method, in_atomic: false, is_bottom: false };
            if !cx.versions.contains_key(&version) {
                let (wanted, count) = (cx.wanted.len(), cx.procs);
                let before = cx.versions.clone();
                body(&mut cx, version)?;
                cx.wanted.truncate(wanted);
                (cx.versions, cx.procs) = (before, count);
            }
        }
    }
    while let Some((version, id)) = cx.wanted.pop() {
        let proc = body(&mut cx, version)?;
        procs.resize(cx.procs.max(procs.len()), None);
        procs[id] = Some(proc);
    }
    let init = first(&mut cx, made)?.map(|proc| {
        procs.push(Some(proc));
        procs.len() - 1
    });
    let mut program = Program {
        source: source.into(),
        records: cx.types.records,
        enums: cx.types.enums,
        levels: vec!["NORMAL".into()],
        interleave: Interleave::Implicit,
        globals: cx.globals,
        procs: procs.into_iter().map(|p| p.expect("what is wanted is made")).collect(),
        init,
        buffers: Vec::new(),
        processes,
        conditions: Vec::new(),
        properties: Vec::new(),
        rests: cx.rests,
        circles_give_way: false,
        idle: None,
        tried: Default::default(),
        orders: Default::default(),
        may_be_vacuous: false,
        loops_end: false,
        shown: Default::default(),
    };
    let diagnostics = fabius_lang::finish(&mut program);
    match diagnostics.into_iter().next() {
        Some(d) => Err(unsupported(d.span, d.message)),
        None => Ok(program),
    }
}

/// The name of a method; with its class, if another class has one of the same name.
fn name_of(file: &File, class: usize, method: &Method) -> String {
    let same = |m: &&Method| m.name.text == method.name.text;
    let alone = file.classes.iter().flat_map(|c| &c.methods).filter(same).count() == 1;
    if alone { method.name.text.clone() } else { format!("{}_{}", file.classes[class].name.text, method.name.text) }
}

/// Makes globals of the static fields; what is made for them at the beginning.
fn statics<'a>(cx: &mut Context<'a>) -> Result<Vec<(usize, &'a Name, &'a Expr)>> {
    let file: &'a File = cx.file;
    let mut made = Vec::new();
    for (class, c) in file.classes.iter().enumerate() {
        for f in c.fields.iter().filter(|f| f.is_static) {
            let ty = cx.types.named(&f.ty)?;
            let core = cx.types.core(&ty);
            let mut init = core.default_value(&cx.types.records);
            if let Some(e) = &f.init {
                match cx.types.initial(e, &ty)? {
                    Some(n) => init = Value::Int(n),
                    None => made.push((class, &f.name, e)),
                }
            }
            let alone =
                file.classes.iter().flat_map(|c| &c.fields).filter(|g| g.is_static && g.name == f.name).count() == 1;
            let name = if alone { f.name.text.clone() } else { format!("{}_{}", c.name.text, f.name.text) };
            let span = f.name.span;
            cx.globals.push(Global { name, ty: core, init, class: Class::Sync, per_thread: false, span });
            let global = cx.globals.len() - 1;
            if cx.statics.insert((class, f.name.text.clone()), (global, ty)).is_some() {
                return Err(wrong(span, format!("`{}` is declared twice", f.name.text)));
            }
        }
    }
    Ok(made)
}

/// What static fields begin as, in one step before everything.
fn first(cx: &mut Context<'_>, made: Vec<(usize, &Name, &Expr)>) -> Result<Option<Proc>> {
    if made.is_empty() {
        return Ok(None);
    }
    let span = made[0].1.span;
    let mut body = Body::new(cx, made[0].0, true);
    for (class, name, e) in made {
        if let ExprKind::Call(..) | ExprKind::Choose(_) = e.kind {
            return Err(
                unsupported(e.span, "a call or a choice for a static field").help("assign it where the program begins")
            );
        }
        body.class = class;
        let target = Expr { kind: ExprKind::Name(name.text.clone()), span: name.span };
        let assign = Stmt { kind: Said::Assign(vec![target], e.clone()), span: name.span };
        body.statements(std::slice::from_ref(&assign))?;
    }
    let block = std::mem::take(&mut body.out);
    body.in_atomic = false;
    body.push(StmtKind::Atomic(block), span);
    let (locals, body) = (body.locals, body.out);
    Ok(Some(Proc { name: "init".into(), locals, params: 0, results: Vec::new(), body, span }))
}

/// A method as a procedure.
fn body(cx: &mut Context<'_>, version: Version) -> Result<Proc> {
    let Version { class, method, in_atomic, is_bottom } = version;
    let m: &Method = cx.method(class, method);
    let file = cx.file;
    let result = m.result.as_ref().map(|ty| cx.types.named(ty)).transpose()?;
    let object = cx.types.find(&file.classes[class].name.text).cloned();
    let mut body = Body::new(cx, class, in_atomic);
    body.result = result.clone();
    if !m.is_static {
        let Some(ty @ Ty::Object(_)) = object else { unreachable!("a class is a type of objects") };
        let this = Name { text: "this".into(), span: m.name.span };
        let id = body.declare(&this, ty.clone())?;
        body.scopes[0].insert("this".into(), Bound::Local(id, ty));
    }
    for param in m.params.iter().filter(|p| !p.is_out) {
        let ty = body.cx.types.named(&param.ty)?;
        body.declare(&param.name, ty)?;
    }
    let params = body.locals.len();
    for param in m.params.iter().filter(|p| p.is_out) {
        let ty = body.cx.types.named(&param.ty)?;
        let id = body.declare(&param.name, ty)?;
        body.outs.push(id);
    }
    let raises = body.cx.exceptions.leave.contains(&m.name.text);
    (body.is_bottom, body.gives_exception) = (is_bottom, raises && !is_bottom);
    let mut results: Vec<_> = body.outs.iter().map(|id| body.locals[*id].ty.clone()).collect();
    results.extend(result.iter().map(|ty| body.cx.types.core(ty)));
    if body.gives_exception {
        results.push(body.exception_type());
    }
    body.labels = crate::jumps::labels(&m.body)?;
    if m.is_atomic && !in_atomic {
        body.atomic(&m.body, m.name.span)?;
    } else {
        body.statements(&m.body)?;
    }
    if !body.outs.is_empty() && result.is_none() {
        let values = body.returned(None, m.name.span);
        body.push(StmtKind::Return(values), m.name.span);
    }
    let (locals, out) = (body.locals, body.out);
    let name = name_of(file, class, m);
    let name = match (in_atomic, is_bottom) {
        (true, _) => format!("{name}_atomic"),
        (_, true) => format!("{name}_process"),
        _ => name,
    };
    Ok(Proc { name, locals, params, results, body: out, span: m.name.span })
}
