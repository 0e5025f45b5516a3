//! Priority levels as a sequential program.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), figure 7.
//!
//! A posted task is called at once, with a guess of the state that it leaves behind. `N[m]` is the state in which the next
//! task of level m will begin.
//!
//! Deviations:
//! 1. Arguments are evaluated before the state is exchanged; the printed rule evaluates them after it.
//! 2. The level of the running task is known from the text, where the paper has a parameter.
//! 3. `done` is not needed: `init` ends where it is set.
//! 4. What a task that posts nothing leaves behind is not guessed: nobody asks for it before it is known.

use crate::build::*;
use crate::{Nesting, Prioritized, Translated, Unsupported};
use fabius_lang::program::*;

/// The shared variables, and where the next tasks of each level find them.
type Vars = Vec<(Place, Place)>;

/// The executions in which, at each level, tasks run in preorder of the tree of posts.
///
/// # Errors
/// A procedure that runs at more than one level. (Posts over more than one level are no concern here: see
/// [`crate::relay`].)
pub fn levels(source: &Prioritized) -> Result<Translated, Unsupported> {
    let mut program = source.program.clone();
    let levels = program.levels.len() as u32;
    let mut vars = Vars::new();
    for g in &source.shared() {
        let x = global(&program, *g);
        let name = format!("next_{}", program.globals[*g].name);
        vars.push((x.clone(), new_global(&mut program, &name, array(x.ty.clone(), levels))));
    }
    let parameters = parameters(&program);
    let runs_at = levels_of(&program)?;
    let quiet = without(&program, |s| matches!(s, StmtKind::Post(..)));
    for (id, level) in runs_at.iter().copied().enumerate() {
        let mut locals = std::mem::take(&mut program.procs[id].locals);
        let body = std::mem::take(&mut program.procs[id].body);
        program.procs[id].body = replace(body, &mut |s| match s.kind {
            StmtKind::Post(_, m, p, args) => {
                let (mut out, values) = keep(args, &parameters[p], &mut locals);
                let results = vec![None; program.procs[p].results.len()];
                let call = Stmt { span: s.span, ..stmt(StmtKind::Call(results, p, values)) };
                let (from, to) = (level, m.unwrap_or(level));
                out.extend(match (from < to, quiet[p]) {
                    (true, true) => vec![call],
                    (true, false) => post_above(&program, &vars, to, call, &mut locals),
                    (false, true) => post_quiet(&vars, to, call, &mut locals),
                    (false, false) => post(&program, &vars, from, to, call, &mut locals),
                });
                out
            }
            _ => vec![s],
        });
        program.procs[id].locals = locals;
    }
    let main = program.init.expect("an explicit program begins with `init`");
    let mut locals = Vec::new();
    let mut body = source.before.clone();
    let mut ends = Vec::new();
    for (x, next) in &vars {
        let end = new_local(&mut locals, "end", x.ty.clone());
        guess(&program, &end, &mut body);
        body.push(set(&element(next.clone(), number(0)), read(&end)));
        ends.push(end);
    }
    body.push(stmt(StmtKind::Call(Vec::new(), main, Vec::new())));
    for ((x, next), end) in vars.iter().zip(&ends) {
        body.push(assume(eq(read(end), read(x))));
        body.push(set(x, read(&element(next.clone(), number(0)))));
    }
    body.extend(source.after.clone());
    body.push(crate::explicit::verdict(&program, source.failed));
    program.procs.push(Proc {
        name: "all_tasks".into(),
        locals,
        params: 0,
        results: Vec::new(),
        body,
        span: Default::default(),
    });
    program.init = Some(program.procs.len() - 1);
    crate::explicit::make_sequential(&mut program);
    Ok(Translated { program, nesting: Nesting::Inside, limits: source.limits.clone(), sliced: source.sliced })
}

/// A post to the same level or below, of a task that posts nothing.
fn post_quiet(vars: &Vars, to: Level, call: Stmt, locals: &mut Vec<Local>) -> Block {
    let (mut out, mut back) = (Vec::new(), Vec::new());
    for (x, next) in vars {
        let saved = new_local(locals, "saved", x.ty.clone());
        let its_next = element(next.clone(), number(i64::from(to)));
        out.push(set(&saved, read(x)));
        out.push(set(x, read(&its_next)));
        back.extend([set(&its_next, read(x)), set(x, read(&saved))]);
    }
    out.push(call);
    out.extend(back);
    out
}

/// A post to the level above: the task runs now, and so do those that it posts there.
fn post_above(program: &Program, vars: &Vars, to: Level, call: Stmt, locals: &mut Vec<Local>) -> Block {
    let (mut out, mut confirm) = (Vec::new(), Vec::new());
    for (x, next) in vars {
        let its_next = element(next.clone(), number(i64::from(to)));
        let end = new_local(locals, "end", x.ty.clone());
        guess(program, &end, &mut out);
        out.push(set(&its_next, read(&end)));
        confirm.extend([assume(eq(read(x), read(&end))), set(x, read(&its_next))]);
    }
    out.push(call);
    out.extend(confirm);
    out
}

/// A post to the same level or below: the task runs in the state that those before it leave behind.
fn post(program: &Program, vars: &Vars, from: Level, to: Level, call: Stmt, locals: &mut Vec<Local>) -> Block {
    let (mut out, mut behind) = (Vec::new(), Vec::new());
    for (x, next) in vars {
        let its_next = element(next.clone(), number(i64::from(to)));
        let (saved, end) = (new_local(locals, "saved", x.ty.clone()), new_local(locals, "end", x.ty.clone()));
        out.push(set(&saved, read(x)));
        for level in to + 1..=from {
            let next = element(next.clone(), number(i64::from(level)));
            let saved = new_local(locals, "saved_next", x.ty.clone());
            out.push(set(&saved, read(&next)));
            behind.push(set(&next, read(&saved)));
        }
        guess(program, &end, &mut out);
        out.extend([set(x, read(&its_next)), set(&its_next, read(&end))]);
        behind.insert(0, assume(eq(read(x), read(&end))));
        behind.push(set(x, read(&saved)));
    }
    out.push(call);
    out.extend(behind);
    out
}
