//! `P:x`: variables of other processes. One that is looked at becomes a global, which is called `P:x`; when its process leaves it is 0.

use crate::ast::*;
use crate::lower::{Lower, assign, global};
use crate::refusal::{Result, unsupported, wrong};
use fabius_lang::program::{Block, Expr as Core, ExprKind as CoreKind};
use fabius_trace::Span;

/// What is found in statements and expressions.
enum Found<'a> {
    Place(&'a mut Lvalue),
    Run(&'a Name),
    Declared(&'a [Decl]),
}

/// Makes globals of what is looked at. Says whether there is such.
pub fn made_global(file: &mut File) -> Result<bool> {
    let (mut looks, mut run) = (Vec::<Name>::new(), Vec::new());
    in_file(file, &mut |found| match found {
        Found::Place(place) if place.parts[0].0.text.contains(':') => looks.push(place.parts[0].0.clone()),
        Found::Run(name) => run.push(name.text.clone()),
        _ => {}
    });
    let mut names = Vec::new();
    for look in &looks {
        let (process, variable) = look.text.split_once(':').unwrap_or_default();
        let (process, number) = process.split_once('[').map_or((process, None), |(p, n)| (p, n.strip_suffix(']')));
        is_one(file, process, number, &run, look.span)?;
        let name = format!("{process}:{variable}");
        if !names.contains(&name) {
            names.push(name.clone());
            move_out(file, process, variable, &name, look.span)?;
        }
    }
    let whole = |text: &str| text.split_once('[').zip(text.split_once(':')).map(|((p, _), (_, v))| format!("{p}:{v}"));
    in_file(file, &mut |found| {
        if let Found::Place(place) = found
            && let Some(name) = whole(&place.parts[0].0.text)
        {
            place.parts[0].0.text = name;
        }
    });
    Ok(!looks.is_empty())
}

/// A process that is looked into runs from the beginning, and is the only one of its type.
fn is_one(file: &File, process: &str, number: Option<&str>, run: &[String], span: Span) -> Result<()> {
    let help = "make a global variable of what is looked at";
    let mut first = 0;
    for proctype in &file.proctypes {
        let count = match &proctype.active {
            None => 0,
            Some(Expr { kind: ExprKind::Number(n), .. }) => *n,
            Some(e) => return Err(unsupported(e.span, "how many run is no number here").help("write the number")),
        };
        if proctype.name.text == process {
            if count != 1 || run.iter().any(|name| name == process) {
                return Err(
                    unsupported(span, "a look into one of several processes, or one that `run` starts").help(help)
                );
            }
            if number.is_some_and(|n| n != first.to_string()) {
                return Err(wrong(span, format!("the number of `{process}` is {first}")));
            }
            return Ok(());
        }
        first += count;
    }
    Err(wrong(span, format!("there is no process type `{process}`")))
}

/// The declaration at the beginning of a process becomes one of a global.
fn move_out(file: &mut File, process: &str, variable: &str, name: &str, span: Span) -> Result<()> {
    let Some(proctype) = file.proctypes.iter_mut().find(|p| p.name.text == process) else { return Ok(()) };
    let mut count = proctype.params.iter().filter(|p| p.name.text == variable).count();
    in_statements(&mut proctype.body, &mut |found| {
        if let Found::Declared(decls) = found {
            count += decls.iter().filter(|d| d.name.text == variable).count();
        }
    });
    let mut moved = None;
    for s in &mut proctype.body {
        let StmtKind::Declare(decls) = &mut s.kind else { break };
        if let Some(at) = decls.iter().position(|d| d.name.text == variable && d.ty != Ty::Chan) {
            moved = Some(decls.remove(at));
            break;
        }
    }
    let Some(mut decl) = moved.filter(|_| count == 1) else {
        return Err(unsupported(span, format!("a look at what is no variable that `{process}` begins with"))
            .help("declare it once, at the beginning of the process"));
    };
    in_statements(&mut proctype.body, &mut |found| {
        if let Found::Place(place) = found
            && place.parts[0].0.text == variable
        {
            place.parts[0].0.text = name.into();
        }
    });
    decl.name.text = name.into();
    file.globals.push(decl);
    Ok(())
}

impl Lower {
    /// What is looked at of a process that leaves is 0.
    pub fn forgets(&self, process: &Name) -> Block {
        let own = format!("{}:", process.text);
        let looked_at = self.globals.iter().enumerate().filter(|(_, g)| g.name.starts_with(&own));
        looked_at
            .map(|(id, g)| {
                let nothing = CoreKind::Const(g.ty.default_value(&self.records));
                let nothing = Core { kind: nothing, ty: g.ty.clone(), span: Span::default() };
                assign(global(id, g.ty.clone(), Span::default()), nothing, Span::default())
            })
            .collect()
    }
}

fn in_file(file: &mut File, f: &mut dyn FnMut(Found<'_>)) {
    for proctype in &mut file.proctypes {
        proctype.provided.iter_mut().for_each(|e| in_expr(e, f));
        in_statements(&mut proctype.body, f);
    }
    file.formulas.iter_mut().for_each(|formula| in_formula(&mut formula.formula, f));
    file.claims.iter_mut().for_each(|claim| in_statements(&mut claim.body, f));
}

fn in_formula(formula: &mut Ltl, f: &mut dyn FnMut(Found<'_>)) {
    match formula {
        Ltl::State(e) => in_expr(e, f),
        Ltl::Not(a) | Ltl::Always(a) | Ltl::Eventually(a) => in_formula(a, f),
        Ltl::And(a, b) | Ltl::Or(a, b) | Ltl::Until(a, b) | Ltl::Release(a, b) => {
            in_formula(a, f);
            in_formula(b, f);
        }
    }
}

fn in_statements(statements: &mut [Stmt], f: &mut dyn FnMut(Found<'_>)) {
    for s in statements {
        match &mut s.kind {
            StmtKind::Declare(decls) => {
                f(Found::Declared(decls));
                for decl in decls {
                    match &mut decl.init {
                        Some(Init::Value(e)) => in_expr(e, f),
                        Some(Init::List(all)) => all.iter_mut().for_each(|e| in_expr(e, f)),
                        _ => {}
                    }
                }
            }
            StmtKind::Expr(e) | StmtKind::Assert(e) => in_expr(e, f),
            StmtKind::Assign(place, e) => {
                in_place(place, f);
                in_expr(e, f);
            }
            StmtKind::If(options) | StmtKind::Do(options) => options.iter_mut().for_each(|o| in_statements(o, f)),
            StmtKind::Atomic(body) | StmtKind::DStep(body) | StmtKind::Block(body) => in_statements(body, f),
            StmtKind::Else | StmtKind::Goto(_) | StmtKind::Break => {}
            StmtKind::Send(place, _, args) | StmtKind::Receive(place, _, args) => {
                in_place(place, f);
                args.iter_mut().for_each(|e| in_expr(e, f));
            }
            StmtKind::Print(args) => args.iter_mut().for_each(|e| in_expr(e, f)),
            StmtKind::Select(place, lo, hi) => {
                in_place(place, f);
                in_expr(lo, f);
                in_expr(hi, f);
            }
            StmtKind::For(place, lo, hi, body) => {
                in_place(place, f);
                in_expr(lo, f);
                in_expr(hi, f);
                in_statements(body, f);
            }
            StmtKind::ForIn(place, of, body) => {
                in_place(place, f);
                let mut array = Lvalue { parts: vec![(of.clone(), None)], span: of.span };
                in_place(&mut array, f);
                *of = array.parts.remove(0).0;
                in_statements(body, f);
            }
            StmtKind::Unless(main, escape) => {
                in_statements(std::slice::from_mut(main), f);
                in_statements(std::slice::from_mut(escape), f);
            }
        }
    }
}

fn in_place(place: &mut Lvalue, f: &mut dyn FnMut(Found<'_>)) {
    place.parts.iter_mut().filter_map(|(_, index)| index.as_mut()).for_each(|e| in_expr(e, f));
    f(Found::Place(place));
}

fn in_expr(e: &mut Expr, f: &mut dyn FnMut(Found<'_>)) {
    match &mut e.kind {
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Other(_) | ExprKind::At(_, None, _) => {}
        ExprKind::Read(place) | ExprKind::OfChannel(_, place) => in_place(place, f),
        ExprKind::Unary(_, a) | ExprKind::At(_, Some(a), _) => in_expr(a, f),
        ExprKind::Binary(_, a, b) => {
            in_expr(a, f);
            in_expr(b, f);
        }
        ExprKind::Conditional(c, a, b) => {
            in_expr(c, f);
            in_expr(a, f);
            in_expr(b, f);
        }
        ExprKind::Poll(place, _, args) => {
            in_place(place, f);
            args.iter_mut().for_each(|e| in_expr(e, f));
        }
        ExprKind::Run(name, args) => {
            f(Found::Run(name));
            args.iter_mut().for_each(|e| in_expr(e, f));
        }
    }
}
