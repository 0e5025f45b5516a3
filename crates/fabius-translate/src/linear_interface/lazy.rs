//! Any number of threads, so that the sequential program is only ever in states that some execution reaches.
//!
//! Paper: Sequentializing Parameterized Programs (2011/12), section 3 and figure 3.
//!
//! Round after round, `linear_interface` is called with what the threads before it make of the shared state in each round
//! (`given`) and with what the round after each must begin with (`wanted`), and finds out how the next round ends. It runs
//! one thread from its beginning; where that hands over, the threads behind it are run the same way (`hand_over`).
//!
//! Deviations:
//! 1. The repairs of the specification, C.11: the shared state and the thread's own variables are set when a thread begins,
//!    own variables are restored when it goes on, and a thread may hand over behind its last statement. (Before its first one
//!    that touches shared state there is a scheduling point anyway.)
//! 2. The control code is a procedure: it needs nothing of the frame that it interrupts. What it saves are its locals.
//! 3. Only the entries of the vectors that count are handed on, so that fewer calls differ.
//! 4. Processes of a declared number are counted by `place`, as the first threads of each round.

use super::{Parameterized, numbered, run};
use crate::build::*;
use crate::{Nesting, Translated};
use fabius_lang::program::*;
use fabius_trace::Span;

struct Vars {
    stop: Place,
    /// The round in which the thread runs, and the last one of this call.
    round: Place,
    bound: Place,
    /// No thread runs behind this one.
    is_last: Place,
    /// How many threads run before this one, as far as that matters.
    place: Place,
    shared: Vec<Place>,
    given: Vec<Place>,
    wanted: Vec<Place>,
    /// Their types.
    vectors: Vec<Type>,
}

/// The executions of at most `rounds` rounds of any number of threads, each asserting where it does.
pub fn lazy(source: &Parameterized, rounds: u32) -> Translated {
    let explicit = &source.explicit;
    let mut program = explicit.program.clone();
    crate::stuck::forget(&mut program);
    crate::explicit::fail_in_place(&mut program, explicit.failed);
    let shared: Vec<GlobalId> = crate::explicit::shared(explicit).into_iter().filter(|g| *g != explicit.stop).collect();
    let name = |p: &Program, g: GlobalId, of: &str| format!("{of}_{}", p.globals[g].name);
    let vectors: Vec<Type> = shared.iter().map(|g| array(program.globals[*g].ty.clone(), rounds)).collect();
    let mut all = |of: &str| -> Vec<Place> {
        let one = |(g, ty): (&GlobalId, &Type)| {
            let name = name(&program, *g, of);
            let init = Value::Tuple(vec![program.globals[*g].init.clone(); rounds as usize]);
            new_global_with(&mut program, &name, ty.clone(), init)
        };
        shared.iter().zip(&vectors).map(one).collect()
    };
    let (given, wanted) = (all("given"), all("wanted"));
    let count = Type::Range(0, i64::from(rounds) - 1);
    let declared = explicit.starts.len() as i64;
    let vars = Vars {
        stop: global(&program, explicit.stop),
        round: new_global(&mut program, "round", count.clone()),
        bound: new_global(&mut program, "bound", count),
        is_last: new_global(&mut program, "is_last", Type::Bool),
        place: new_global(&mut program, "place", Type::Range(0, declared)),
        shared: shared.iter().map(|g| global(&program, *g)).collect(),
        given,
        wanted,
        vectors,
    };
    let main = program.init.expect("an explicit program begins with `init`");
    let (interface, hand_over) = (program.procs.len(), program.procs.len() + 1);
    for proc in &mut program.procs {
        let body = std::mem::take(&mut proc.body);
        proc.body = replace(body, &mut |s| match s.kind {
            StmtKind::Zield => vec![stmt(StmtKind::Call(Vec::new(), hand_over, Vec::new()))],
            _ => vec![s],
        });
    }
    let procs = [
        linear_interface(source, &vars, hand_over),
        hand_over_proc(source, &program, &vars, interface),
        rounds_proc(&program, &vars, main, interface, rounds),
    ];
    program.procs.extend(procs);
    program.init = Some(program.procs.len() - 1);
    crate::explicit::make_sequential(&mut program);
    Translated { program, nesting: Nesting::Queue, limits: explicit.limits.clone(), sliced: explicit.sliced }
}

fn proc(name: &str, params: usize, locals: Vec<Local>, body: Block) -> Proc {
    Proc { name: name.into(), locals, params, results: Vec::new(), body, span: Span::default() }
}

/// Runs one thread in the rounds up to `bound`, and those behind it.
fn linear_interface(source: &Parameterized, vars: &Vars, hand_over: ProcId) -> Proc {
    let mut locals = Vec::new();
    let mut body = Vec::new();
    let mut parameters = |of: &[Place], name: &str| {
        for (place, ty) in of.iter().zip(&vars.vectors) {
            let parameter = new_local(&mut locals, name, ty.clone());
            body.push(set(place, read(&parameter)));
        }
    };
    parameters(&vars.given, "its_given");
    parameters(&vars.wanted, "its_wanted");
    for place in [&vars.bound, &vars.place] {
        let parameter = new_local(&mut locals, "its", place.ty.clone());
        body.push(set(place, read(&parameter)));
    }
    let params = locals.len();
    body.extend([set(&vars.round, number(0)), set(&vars.stop, boolean(false))]);
    body.push(any_between(&vars.is_last, boolean(false), boolean(true)));
    let declared = source.explicit.starts.len() as i64;
    if declared > 0 {
        // Those of a declared number are all there.
        body.push(assume(or(not(read(&vars.is_last)), le(number(declared - 1), read(&vars.place)))));
    }
    for (x, given) in vars.shared.iter().zip(&vars.given) {
        body.push(set(x, read(&element(given.clone(), number(0)))));
    }
    body.extend(source.fresh());
    let hand = stmt(StmtKind::Call(Vec::new(), hand_over, Vec::new()));
    let mut threads: Vec<Block> = source.explicit.starts.iter().map(|start| vec![run(start)]).collect();
    threads.push(source.run_any(&mut locals));
    body.extend(numbered(&vars.place, 0, threads));
    body.push(when(not(read(&vars.stop)), vec![hand]));
    body.push(assume(read(&vars.stop)));
    proc("linear_interface", params, locals, body)
}

/// To a later round, any number of times; or for good.
fn hand_over_proc(source: &Parameterized, program: &Program, vars: &Vars, interface: ProcId) -> Proc {
    let mut locals = Vec::new();
    let more = new_local(&mut locals, "more", Type::Bool);
    let mut keep = |p: &Place| (p.clone(), new_local(&mut locals, "kept", p.ty.clone()));
    let own: Vec<_> = crate::explicit::per_thread(&source.explicit.program).iter().map(|(p, _)| keep(p)).collect();
    let control: Vec<_> = [&vars.round, &vars.bound, &vars.place].into_iter().map(&mut keep).collect();
    let vectors: Vec<_> = vars.given.iter().chain(&vars.wanted).map(&mut keep).collect();
    let here = read(&vars.round);
    let is_end = eq(here.clone(), read(&vars.bound));
    let store = |(to, from): &(Place, Place)| set(from, read(to));
    let restore = |(to, from): &(Place, Place)| set(to, read(from));
    // To the next round, if the threads behind leave it as it must begin.
    let next = || {
        let mut out = Vec::new();
        for (x, wanted) in vars.shared.iter().zip(&vars.wanted) {
            out.push(assume(eq(read(&element(wanted.clone(), here.clone())), read(x))));
        }
        out.push(set(&vars.round, add(here.clone(), number(1))));
        for (x, given) in vars.shared.iter().zip(&vars.given) {
            out.push(set(x, read(&element(given.clone(), here.clone()))));
        }
        out
    };
    let last = vec![either(is_end.clone(), vec![set(&vars.stop, boolean(true)), leave()], next())];
    let mut others = Vec::new();
    for (x, given) in vars.shared.iter().zip(&vars.given) {
        others.push(set(&element(given.clone(), here.clone()), read(x)));
    }
    others.extend(own.iter().chain(&control).chain(&vectors).map(store));
    let is_known = |i: i64| le(number(i), here.clone());
    let mut args: Vec<Expr> = Vec::new();
    for (n, (vector, _)) in vectors.iter().enumerate() {
        let Type::Array { len, ref element, .. } = vector.ty else { unreachable!("it is a vector") };
        let nothing = expr(ExprKind::Const(element.default_value(&program.records)), (**element).clone());
        // `given` counts up to this round, `wanted` up to the one before it.
        let from = i64::from(n >= vars.given.len());
        let entry = |i: i64| {
            let value = read(&crate::build::element(vector.clone(), number(i)));
            let choice = [is_known(i + from), value, nothing.clone()].map(Box::new);
            let [known, value, nothing] = choice;
            expr(ExprKind::IfElse(known, value, nothing), (**element).clone())
        };
        args.push(expr(ExprKind::Tuple((0..i64::from(len)).map(entry).collect()), vector.ty.clone()));
    }
    args.push(here.clone());
    let declared = source.explicit.starts.len() as i64;
    let further = add(read(&vars.place), number(1));
    let is_declared = Box::new(lt(read(&vars.place), number(declared)));
    args.push(expr(ExprKind::IfElse(is_declared, Box::new(further), Box::new(number(declared))), Type::Int));
    others.push(stmt(StmtKind::Call(Vec::new(), interface, args)));
    others.extend(control.iter().chain(&vectors).map(restore));
    others.push(set(&vars.is_last, boolean(false)));
    let mut again: Block = next();
    again.extend(own.iter().map(restore));
    again.push(set(&vars.stop, boolean(false)));
    others.push(either(is_end, vec![leave()], again));
    let choose = any_between(&more, boolean(false), boolean(true));
    let turn = vec![either(read(&vars.is_last), last, others), choose.clone()];
    let body = vec![choose, stmt(StmtKind::While(Guard::Expr(read(&more)), turn))];
    proc("hand_over", 0, locals, body)
}

fn leave() -> Stmt {
    stmt(StmtKind::Return(Vec::new()))
}

/// Finds the end of one round after the other.
fn rounds_proc(program: &Program, vars: &Vars, main: ProcId, interface: ProcId, rounds: u32) -> Proc {
    let mut locals = Vec::new();
    let mut keep = |ty: &Type| new_local(&mut locals, "begins", ty.clone());
    let begins: Vec<Place> = vars.vectors.iter().map(&mut keep).collect();
    // Nobody runs beside `init`: who is last in the only round hands nothing over.
    let mut body = vec![set(&vars.is_last, boolean(true)), stmt(StmtKind::Call(Vec::new(), main, Vec::new()))];
    body.push(assume(not(read(&vars.stop))));
    for i in 0..i64::from(rounds) {
        for (begin, x) in begins.iter().zip(&vars.shared) {
            body.push(set(&element(begin.clone(), number(i)), read(x)));
        }
        let mut args: Vec<Expr> = begins.iter().map(read).collect();
        for (begin, ty) in begins.iter().zip(&vars.vectors) {
            let Type::Array { element: of, .. } = ty else { unreachable!("it is a vector") };
            let nothing = || expr(ExprKind::Const(of.default_value(&program.records)), (**of).clone());
            let entry = |j: i64| {
                if j < i { read(&element(begin.clone(), number(j + 1))) } else { nothing() }
            };
            args.push(expr(ExprKind::Tuple((0..i64::from(rounds)).map(entry).collect()), ty.clone()));
        }
        args.extend([number(i), number(0)]);
        body.push(stmt(StmtKind::Call(Vec::new(), interface, args)));
    }
    proc("all_rounds", 0, locals, body)
}
