//! Priority levels as a sequential program.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), figure 7.
//!
//! A posted task is called at once, with a guess of the state that it leaves behind. `N[m]` is the state in which the next
//! task of level m will begin.
//!
//! Deviations:
//! 1. Arguments are evaluated before the state is exchanged; the printed rule evaluates them after it.
//! 2. The level of the running task is a global that a post saves and restores, where the paper has a parameter.
//! 3. `done` is not needed: `init` ends where it is set.
//! 4. What a task that posts nothing leaves behind is not guessed: nobody asks for it before it is known.

use crate::build::*;
use crate::{Nesting, Prioritized, Translated, Unsupported};
use fabius_lang::program::*;

struct Vars {
    /// The shared variables, and where the next tasks of each level find them.
    now: Vec<(Place, Place)>,
    level: Place,
    levels: i64,
}

/// The executions in which, at each level, tasks run in preorder of the tree of posts.
///
/// # Errors
/// Tasks that post over more than one level are no concern here: see [`crate::relay`].
pub fn levels(source: &Prioritized) -> Result<Translated, Unsupported> {
    let mut program = source.program.clone();
    let levels = program.levels.len() as i64;
    let shared = source.shared();
    let mut now = Vec::new();
    for g in &shared {
        let x = global(&program, *g);
        let name = format!("next_{}", program.globals[*g].name);
        now.push((x.clone(), new_global(&mut program, &name, array(x.ty.clone(), levels as u32))));
    }
    let vars = Vars { now, level: new_global(&mut program, "running_level", Type::Range(0, levels - 1)), levels };
    let parameters = parameters(&program);
    let quiet = without(&program, |s| matches!(s, StmtKind::Post(..)));
    for id in 0..program.procs.len() {
        let mut locals = std::mem::take(&mut program.procs[id].locals);
        let body = std::mem::take(&mut program.procs[id].body);
        program.procs[id].body = replace(body, &mut |s| match s.kind {
            StmtKind::Post(_, m, p, args) => {
                let (mut out, values) = keep(args, &parameters[p], &mut locals);
                let results = vec![None; program.procs[p].results.len()];
                let call = Stmt { span: s.span, ..stmt(StmtKind::Call(results, p, values)) };
                let post = if quiet[p] { post_quiet } else { post };
                out.extend(post(&program, &vars, m, &call, &mut locals));
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
    for (x, next) in &vars.now {
        let end = new_local(&mut locals, "end", x.ty.clone());
        guess(&program, &end, &mut body);
        body.push(set(&element(next.clone(), number(0)), read(&end)));
        ends.push(end);
    }
    body.push(stmt(StmtKind::Call(Vec::new(), main, Vec::new())));
    for ((x, next), end) in vars.now.iter().zip(&ends) {
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
    Ok(Translated { program, nesting: Nesting::Inside, limits: source.limits.clone() })
}

/// A post of a task that posts nothing.
fn post_quiet(_: &Program, vars: &Vars, m: Option<Level>, call: &Stmt, locals: &mut Vec<Local>) -> Block {
    let my_level = new_local(locals, "my_level", vars.level.ty.clone());
    let its_level = new_local(locals, "its_level", vars.level.ty.clone());
    let (mut leave, mut enter, mut back) = (Vec::new(), Vec::new(), Vec::new());
    for (x, next) in &vars.now {
        let now = new_local(locals, "saved", x.ty.clone());
        let its_next = element(next.clone(), read(&its_level));
        leave.push(set(&now, read(x)));
        enter.push(set(x, read(&its_next)));
        back.extend([set(&its_next, read(x)), set(x, read(&now))]);
    }
    let not_above = le(read(&its_level), read(&my_level));
    leave.extend(enter);
    vec![
        set(&my_level, read(&vars.level)),
        set(&its_level, m.map_or_else(|| read(&vars.level), |m| number(i64::from(m)))),
        when(not_above.clone(), leave),
        set(&vars.level, read(&its_level)),
        call.clone(),
        set(&vars.level, read(&my_level)),
        when(not_above, back),
    ]
}

/// A post, given the call that runs the task.
fn post(program: &Program, vars: &Vars, m: Option<Level>, call: &Stmt, locals: &mut Vec<Local>) -> Block {
    let mut out = Vec::new();
    let my_level = new_local(locals, "my_level", vars.level.ty.clone());
    let its_level = new_local(locals, "its_level", vars.level.ty.clone());
    out.push(set(&my_level, read(&vars.level)));
    out.push(set(&its_level, m.map_or_else(|| read(&vars.level), |m| number(i64::from(m)))));
    let run = |out: &mut Block| {
        out.push(set(&vars.level, read(&its_level)));
        out.push(call.clone());
        out.push(set(&vars.level, read(&my_level)));
    };
    let (mut above, mut others) = (Vec::new(), Vec::new());
    let mut confirm = Vec::new();
    let (mut saved_now, mut saved_next) = (Vec::new(), Vec::new());
    for (x, next) in &vars.now {
        let its_next = element(next.clone(), read(&its_level));
        let end = new_local(locals, "end", x.ty.clone());
        guess(program, &end, &mut above);
        above.push(set(&its_next, read(&end)));
        let (now, nexts) = (new_local(locals, "saved", x.ty.clone()), new_local(locals, "saved_next", next.ty.clone()));
        others.push(set(&nexts, read(next)));
        others.push(set(&now, read(x)));
        guess(program, &end, &mut others);
        others.push(set(x, read(&its_next)));
        others.push(set(&its_next, read(&end)));
        confirm.push(assume(eq(read(x), read(&end))));
        saved_now.push((x.clone(), now));
        saved_next.push((next.clone(), nexts));
    }
    run(&mut above);
    above.extend(confirm.clone());
    for (x, next) in &vars.now {
        above.push(set(x, read(&element(next.clone(), read(&its_level)))));
    }
    run(&mut others);
    others.extend(confirm);
    for j in 1..vars.levels {
        let between = and(lt(read(&its_level), number(j)), le(number(j), read(&my_level)));
        let back = saved_next
            .iter()
            .map(|(next, saved)| set(&element(next.clone(), number(j)), read(&element(saved.clone(), number(j)))));
        others.push(when(between, back.collect()));
    }
    others.extend(saved_now.iter().map(|(x, saved)| set(x, read(saved))));
    out.push(either(lt(read(&my_level), read(&its_level)), above, others));
    out
}
