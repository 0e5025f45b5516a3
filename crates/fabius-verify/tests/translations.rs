//! Translated programs have the facts of the programs that they come from, computed by the definitions; and readings of the
//! rules that are wrong do not.

use crate::direct::{Facts, bounded_by_rounds, finals, options};
use fabius_lang::program::*;
use fabius_machine::Machine;
use fabius_semantics::Reference;
use fabius_sequential::bmc::{Bmc, Depth, Outcome};
use fabius_smt::{Embedded, Limits};
use fabius_trace::Points;
use fabius_translate::explicit::{Switches, Trace, explicit};
use fabius_translate::linear_interface::Deadlocks;
use fabius_translate::round_robin::round_robin;
use fabius_translate::yields::Begin;
use fabius_translate::{Explicit, Prioritized, Unsupported};
use fabius_translate::{buffers::buffers, depth_first::depth_first, levels::levels, synce::synce, yields::yields};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use testkit::asynchronous::{Kind, Tasks, random};
use testkit::oracle::async_cases;

/// A statement that touches nothing shared.
fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, access: Access::Local, span: Default::default() }
}

fn expr(kind: ExprKind, ty: Type) -> Expr {
    Expr { kind, ty, span: Default::default() }
}

fn number(v: i64) -> Expr {
    expr(ExprKind::Const(Value::Int(v)), Type::Int)
}

/// The final value of a variable: of a vector, the last element.
fn value_of(program: &Program, g: GlobalId) -> Expr {
    let mut place =
        Place { base: Base::Global(g), path: Vec::new(), ty: program.globals[g].ty.clone(), span: Default::default() };
    while let Type::Array { lo, len, element, .. } = place.ty {
        place.path.push(Projection::Index { index: Box::new(number(lo + i64::from(len) - 1)), lo, len });
        place.ty = *element;
    }
    expr(ExprKind::Read(place), Type::Int)
}

/// The final values of the first globals of a sequential program, found one by one by the solver.
fn facts_of(mut program: Program, globals: usize) -> Facts {
    let init = program.init.expect("a sequential program begins somewhere");
    let mut facts = Facts::new();
    // In place of the last assertion: some fact that is known.
    program.procs[init].body.pop();
    loop {
        let known = facts.iter().fold(expr(ExprKind::Const(Value::Int(0)), Type::Bool), |known, fact: &Vec<i64>| {
            let one = fact.iter().enumerate().fold(expr(ExprKind::Const(Value::Int(1)), Type::Bool), |all, (g, v)| {
                let same = ExprKind::Binary(BinaryOp::Eq, Box::new(value_of(&program, g)), Box::new(number(*v)));
                expr(ExprKind::Binary(BinaryOp::And, Box::new(all), Box::new(expr(same, Type::Bool))), Type::Bool)
            });
            expr(ExprKind::Binary(BinaryOp::Or, Box::new(known), Box::new(one)), Type::Bool)
        });
        let mut asked = program.clone();
        asked.procs[init].body.push(stmt(StmtKind::Print((0..globals).map(|g| value_of(&program, g)).collect())));
        asked.procs[init].body.push(stmt(StmtKind::Assert(known, Check::Assertion, None)));
        let depth = Depth { unwind: 20, recursion: 20 };
        let mut bmc = Bmc::new(&asked, Box::new(Embedded::default()));
        let stop = Arc::new(AtomicBool::new(false));
        match bmc.check(depth, &Limits { deadline: None, stop: &stop }, &mut |_| {}).expect("the solver is there") {
            Outcome::Bug(witness) => {
                let last = witness.prints.last().expect("the end is printed");
                let fact = last.values.iter().map(|v| *v as i64).collect();
                assert!(facts.insert(fact), "the solver found what was excluded: {:?}", last.values);
            }
            Outcome::Safe { cuts, within_64_bits } => {
                // Loops may go on for ever without a new fact.
                assert!(cuts.iter().all(|c| c.is_loop) && !within_64_bits, "{cuts:?} {within_64_bits}");
                return facts;
            }
            Outcome::Unknown => panic!("nothing limits the solver"),
        }
    }
}

/// The final values of vectors in their last rounds, explored.
fn explored(translated: Prioritized, globals: usize) -> Facts {
    let program = translated.into_program();
    // As text and back: what is printed is what is tested.
    let text = fabius_lang::unparse(&program).expect("what is translated can be written");
    let program = fabius_lang::compile(&text, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{text}"));
    let machine = Machine::new(&program, Points::All);
    let options = options("bag").expect("a kind");
    let all = finals(&machine, &options, |s| machine.globals(s).to_vec());
    // Globals are laid out one after the other, vectors with all of their elements.
    let mut last = Vec::new();
    for global in &program.globals[..globals] {
        let before = last.last().map_or(0, |at| at + 1);
        last.push(before + if let Type::Array { len, .. } = global.ty { len as usize - 1 } else { 0 });
    }
    all.into_iter().map(|f| last.iter().map(|at| f[*at]).collect()).collect()
}

fn compiled(source: &str) -> Program {
    fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"))
}

fn explicit_of(source: &str) -> Explicit {
    explicit(&compiled(source), Trace::Off, Switches::Everywhere, fabius_translate::Caps::default())
        .expect("these can be translated")
}

fn one_buffer(source: &str, rounds: u32) -> Prioritized {
    buffers(&explicit_of(source), rounds)
}

/// What a kind of facts is by a translation, if there is one. Rounds over buffers leave one buffer, which is explored.
fn translated(source: &str, kind: &str, globals: usize) -> Option<Result<Facts, Unsupported>> {
    if let Some(k) = kind.strip_prefix("dfs_") {
        let k = k.parse().expect("a number");
        return Some(depth_first(&explicit_of(source), k).map(|t| facts_of(t.program, globals)));
    }
    if let Some(k) = kind.strip_prefix("rounds_M_") {
        let k = k.parse().expect("a number");
        return Some(Ok(explored(one_buffer(source, k), globals)));
    }
    if let Some(k) = kind.strip_prefix("rr_") {
        let k: u32 = k.parse().expect("a number");
        let translated = round_robin(&explicit_of(source), k, k + 1, Deadlocks::Ignored);
        return Some(translated.map(|t| facts_of(t.program, globals)));
    }
    let (k, order) = kind.strip_prefix("levels_Y_")?.split_once('_')?;
    let k = k.parse().expect("a number");
    let prioritized = yields(&one_buffer(source, 1), k, Begin::InThatRound).expect("each procedure has one level");
    Some(match order {
        "pre" => levels(&prioritized).map(|t| facts_of(t.program, globals)),
        _ => return None,
    })
}

#[test]
fn facts_computed_elsewhere_are_those_of_translations() {
    let cases = async_cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let mut compared = 0;
    for (n, case) in cases.iter().enumerate() {
        for (kind, expected) in &case.expected {
            let globals = expected.first().map_or(0, Vec::len);
            if let Some(found) = translated(&case.source, kind, globals) {
                assert_eq!(found.as_ref(), Ok(expected), "{n} {kind}\n{}", case.source);
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 606);
}

/// Compares a translation with the definition on random programs.
fn compare(seeds: std::ops::Range<u64>, kind: Kind, agree: impl Fn(&Tasks) -> Result<(), String>) {
    for seed in seeds {
        let tasks = random(seed, kind);
        if agree(&tasks).is_err() {
            let least = tasks.shrink(|t| agree(t).is_err());
            panic!("{seed} {kind:?}: {}\n{}", agree(&least).expect_err("it was shrunk"), least.source());
        }
    }
}

fn same(what: &str, expected: &Facts, found: &Facts) -> Result<(), String> {
    if expected == found { Ok(()) } else { Err(format!("{what}: expected {expected:?}, found {found:?}")) }
}

fn explored_directly(source: &str, kind: &str) -> Facts {
    let program = compiled(source);
    let machine = Machine::new(&program, Points::All);
    finals(&machine, &options(kind).expect("a kind"), |s| machine.globals(s).to_vec())
}

fn delays_agree(tasks: &Tasks) -> Result<(), String> {
    let source = tasks.source();
    for (scheduler, k) in [("dfs", 0), ("dfs", 1), ("dfs", 2), ("rr", 0), ("rr", 1), ("rr", 2)] {
        let kind = format!("{scheduler}_{k}");
        let found = translated(&source, &kind, 2).expect("a translation").expect("one buffer, one level");
        same(&kind, &explored_directly(&source, &kind), &found)?;
    }
    Ok(())
}

fn yields_agree(tasks: &Tasks) -> Result<(), String> {
    let source = tasks.source();
    let program = compiled(&source);
    let reference = Reference::new(&program, Points::All);
    for k in 1..4 {
        let kind = format!("levels_Y_{k}_pre");
        let found = translated(&source, &kind, 2).expect("a translation").expect("each procedure has one level");
        same(&kind, &bounded_by_rounds(&reference, k, true), &found)?;
    }
    Ok(())
}

/// All executions of all buffers and levels, in shared memory.
fn shared_memory_agrees(tasks: &Tasks) -> Result<(), String> {
    let source = tasks.source();
    let program = synce(&explicit_of(&source)).expect("there is no `init`");
    let text = fabius_lang::unparse(&program).expect("what is translated can be written");
    same(
        "synce",
        &explored_directly(&source, "direct"),
        &explored_directly(&text, "bag").into_iter().map(|f| f[..2].to_vec()).collect(),
    )
}

fn rounds_agree(tasks: &Tasks) -> Result<(), String> {
    let source = tasks.source();
    for k in 1..3 {
        let kind = format!("rounds_M_{k}");
        let found = translated(&source, &kind, 2).expect("a translation").expect("nothing is spawned");
        same(&kind, &explored_directly(&source, &kind), &found)?;
    }
    all_three_are_possible(tasks)
}

/// All three together: nothing that cannot happen.
fn all_three_are_possible(tasks: &Tasks) -> Result<(), String> {
    let source = tasks.source();
    let program =
        levels(&yields(&one_buffer(&source, 2), 2, Begin::InAnyRound).expect("levels")).expect("levels").program;
    let (all, found) = (explored_directly(&source, "direct"), facts_of(program, 2));
    if found.is_subset(&all) { Ok(()) } else { Err(format!("all three: {found:?} are not all among {all:?}")) }
}

/// A queue is a bag in which who has drawn a later ticket may not be first.
fn queues_agree(tasks: &Tasks) -> Result<(), String> {
    let source = tasks.source();
    let expected = explored_directly(&source, "direct");
    let in_bags = explicit_of(&source).into_program();
    assert!(in_bags.buffers.iter().all(|b| b.kind == BufferKind::Bag));
    let text = fabius_lang::unparse(&in_bags).expect("what is translated can be written");
    let found = explored_directly(&text, "direct").into_iter().map(|f| f[..2].to_vec()).collect();
    same("tickets", &expected, &found)?;
    shared_memory_agrees(tasks)
}

fn compare_all(programs: u64) {
    let kind = |levels, buffers, yields| Kind { levels, buffers, yields, of: BufferKind::Bag };
    compare(0..programs, kind(1, 1, false), delays_agree);
    compare(0..programs, kind(1, 1, true), delays_agree);
    for levels in 1..=3 {
        compare(0..programs, kind(levels, 1, true), yields_agree);
        compare(0..programs, kind(levels, 1, false), yields_agree);
    }
    for (levels, buffers) in [(1, 1), (3, 1), (1, 2), (2, 2), (2, 3)] {
        compare(0..programs, kind(levels, buffers, true), shared_memory_agrees);
    }
    for (levels, buffers, yields) in [(1, 1, false), (2, 1, true), (2, 2, true), (1, 3, false)] {
        let kind = Kind { of: BufferKind::Fifo, ..kind(levels, buffers, yields) };
        compare(0..programs, kind, queues_agree);
        compare(0..programs, kind, all_three_are_possible);
    }
    for buffers in 2..=3 {
        compare(0..programs, kind(1, buffers, false), rounds_agree);
        compare(0..programs, kind(2, buffers, true), rounds_agree);
    }
}

#[test]
fn random_programs_and_their_translations_have_the_same_facts() {
    compare_all(12);
}

#[test]
#[ignore = "minutes; for every change of a translation"]
fn many_random_programs_and_their_translations_have_the_same_facts() {
    compare_all(1000);
}

/// A reading of the rules that is known to be wrong (SPEC, section G), as a change of the translated program.
#[derive(Clone, Copy, Debug)]
enum Mutant {
    /// Arguments are evaluated when the state has been exchanged.
    LateArguments,
    /// A call gives the round back in which it was made.
    RoundNotReturned,
    /// A result is stored in the round in which the call was made.
    ResultInOldRound,
    /// A task that is posted down may begin before the one that waits there.
    InterruptedIgnored,
    /// The states that wait at the levels between are not restored.
    NothingRestored,
    /// All but that of the own level.
    OwnLevelNotRestored,
    /// Every buffer begins in round 0.
    LiteralStart,
}

impl Mutant {
    fn apply(self, program: &mut Program) {
        for id in 0..program.procs.len() {
            let mut body = std::mem::take(&mut program.procs[id].body);
            self.block(program, id, &mut body);
            program.procs[id].body = body;
        }
    }

    fn block(self, program: &mut Program, id: ProcId, block: &mut Block) {
        for s in block.iter_mut() {
            match &mut s.kind {
                StmtKind::If(_, a, b) => {
                    self.block(program, id, a);
                    self.block(program, id, b);
                }
                StmtKind::While(_, b) | StmtKind::Atomic(b) => self.block(program, id, b),
                _ => {}
            }
        }
        let local = |program: &Program, l: LocalId| program.procs[id].locals[l].name.clone();
        match self {
            Mutant::LateArguments => {
                let mut early: Vec<(LocalId, Expr)> = Vec::new();
                for s in block.iter_mut() {
                    match &mut s.kind {
                        StmtKind::Assign(Place { base: Base::Local(l), .. }, e) if local(program, *l) == "argument" => {
                            early.push((*l, e.clone()));
                        }
                        StmtKind::Call(_, _, es) => {
                            for e in es {
                                if let Some((_, late)) = early.iter().find(|(l, _)| reads_local(e) == Some(*l)) {
                                    *e = late.clone();
                                }
                            }
                        }
                        _ => {}
                    }
                }
            }
            Mutant::RoundNotReturned | Mutant::ResultInOldRound => self.around_calls(program, id, block),
            Mutant::InterruptedIgnored => {
                for s in block.iter_mut() {
                    let StmtKind::Assign(_, e) = &mut s.kind else { continue };
                    let ExprKind::Read(Place { base: Base::Global(g), .. }) = e.kind else { continue };
                    if program.globals[g].name == "interrupted" {
                        *e = number(0);
                    }
                }
            }
            Mutant::NothingRestored | Mutant::OwnLevelNotRestored => {
                let restores = |s: &Stmt| match &s.kind {
                    StmtKind::Assign(to, e) if reads_local(e).is_some_and(|l| local(program, l) == "saved_next") => {
                        match to.path.first() {
                            Some(Projection::Index { index, .. }) => match index.kind {
                                ExprKind::Const(Value::Int(level)) => Some(level),
                                _ => None,
                            },
                            _ => None,
                        }
                    }
                    _ => None,
                };
                let highest = block.iter().filter_map(restores).max();
                block.retain(|s| match (self, restores(s)) {
                    (_, None) => true,
                    (Mutant::NothingRestored, _) => false,
                    (_, level) => level != highest,
                });
            }
            Mutant::LiteralStart => {
                for s in block.iter_mut() {
                    if let StmtKind::Any(Place { base: Base::Local(l), .. }, lo, hi) = &mut s.kind
                        && local(program, *l) == "first"
                    {
                        (*lo, *hi) = (number(0), number(0));
                    }
                }
            }
        }
    }

    /// Keeps the round from before each call that is not a post.
    fn around_calls(self, program: &mut Program, id: ProcId, block: &mut Block) {
        let round = |g: &Global| g.name == "round" || g.name == "level_round";
        let Some(g) = program.globals.iter().position(round) else { return };
        let ty = program.globals[g].ty.clone();
        let round = Place { base: Base::Global(g), path: Vec::new(), ty: ty.clone(), span: Default::default() };
        let read = |p: &Place| expr(ExprKind::Read(p.clone()), Type::Int);
        let mut at = 0;
        while at < block.len() {
            let StmtKind::Call(results, p, _) = &block[at].kind else {
                at += 1;
                continue;
            };
            if program.procs[*p].name != "h" {
                at += 1;
                continue;
            }
            let result = results.first().copied().flatten();
            let locals = &mut program.procs[id].locals;
            locals.push(Local { name: "old_round".into(), ty: ty.clone() });
            let old = Place { base: Base::Local(locals.len() - 1), ..round.clone() };
            block.insert(at, stmt(StmtKind::Assign(old.clone(), read(&round))));
            at += 2;
            if matches!(self, Mutant::RoundNotReturned) {
                block.insert(at, stmt(StmtKind::Assign(round.clone(), read(&old))));
                continue;
            }
            let stores = |s: &&mut Stmt| matches!(&s.kind, StmtKind::Assign(Place { base: Base::Global(_), .. }, e) if reads_local(e) == result);
            if let Some(Stmt { kind: StmtKind::Assign(to, _), .. }) = block[at..].iter_mut().find(stores) {
                for step in &mut to.path {
                    if let Projection::Index { index, .. } = step
                        && matches!(&index.kind, ExprKind::Read(p) if p.base == Base::Global(g))
                    {
                        **index = read(&old);
                    }
                }
            }
        }
    }
}

/// Reads variables in the arguments of posts, where the front end has put what it read before into temporaries.
fn read_in_arguments(block: &mut Block) {
    for i in 0..block.len() {
        match &mut block[i].kind {
            StmtKind::If(_, a, b) => {
                read_in_arguments(a);
                read_in_arguments(b);
            }
            StmtKind::While(_, b) | StmtKind::Atomic(b) => read_in_arguments(b),
            _ => {}
        }
        let mut before = i;
        while before > 0 && matches!(block[i].kind, StmtKind::Post(..)) {
            before -= 1;
            let StmtKind::Assign(Place { base: Base::Local(l), path, .. }, e) = block[before].kind.clone() else {
                break;
            };
            let StmtKind::Post(_, _, _, es) = &mut block[i].kind else { break };
            if path.is_empty() {
                es.iter_mut().for_each(|arg| substitute(arg, l, &e));
            }
        }
    }
}

/// Puts an expression in the place of a local.
fn substitute(e: &mut Expr, l: LocalId, by: &Expr) {
    if reads_local(e) == Some(l) {
        *e = by.clone();
        return;
    }
    match &mut e.kind {
        ExprKind::Unary(_, a) | ExprKind::Cast(a) => substitute(a, l, by),
        ExprKind::Binary(_, a, b) => {
            substitute(a, l, by);
            substitute(b, l, by);
        }
        _ => {}
    }
}

fn reads_local(e: &Expr) -> Option<LocalId> {
    match &e.kind {
        ExprKind::Read(Place { base: Base::Local(l), path, .. }) if path.is_empty() => Some(*l),
        _ => None,
    }
}

/// Whether a random program has other facts with the mutant than without it.
fn is_caught(mutant: Mutant, kind: Kind, rounds: u32, seed: u64) -> bool {
    let source = random(seed, kind).source();
    let mut before = explicit_of(&source);
    before.program.procs.iter_mut().for_each(|p| read_in_arguments(&mut p.body));
    let facts = |mutate: &dyn Fn(&mut Program)| match mutant {
        Mutant::LiteralStart => {
            let mut one = buffers(&before, rounds);
            mutate(&mut one.program);
            explored(one, 2)
        }
        _ if kind.levels == 1 => {
            let mut t = depth_first(&before, rounds - 1).expect("one buffer, one level");
            mutate(&mut t.program);
            facts_of(t.program, 2)
        }
        _ => {
            let one = buffers(&before, 1);
            let y = yields(&one, rounds, Begin::InThatRound).expect("levels");
            let mut t = levels(&y).expect("levels");
            mutate(&mut t.program);
            facts_of(t.program, 2)
        }
    };
    facts(&|_| {}) != facts(&|p| mutant.apply(p))
}

/// The facts of a program of one buffer, with so many rounds in each activation of a level.
fn facts_by_rounds(source: &str, rounds: u32, begin: Begin) -> Facts {
    let prioritized = yields(&one_buffer(source, 1), rounds, begin).expect("each procedure has one level");
    facts_of(levels(&prioritized).expect("each procedure has one level").program, 2)
}

#[test]
fn arguments_are_those_of_the_moment_of_the_post() {
    let source = "interleave explicit;\nlevel L0 < L1;\nvar x: 0..1;\nvar y: 0..1;\nproc q() {\n    skip;\n}\n\
                  proc p(a: int) {\n    y = a;\n    x = 0;\n}\n\
                  buffer main {\n    post @L0 q();\n    x = 1;\n    yield;\n    post @L1 p(x);\n}\n";
    assert_eq!(facts_by_rounds(source, 2, Begin::InThatRound), Facts::from([vec![0, 1]]));
}

/// Counterexample of the specification (C.5): main posts t5, t2, t3 and ends; t5 = e; yield; F, t2 = C; yield; D, t3 = E.
/// The order e C F D E needs t3 to begin later than in the round in which it is posted.
#[test]
fn tasks_that_begin_in_their_round_miss_an_order() {
    let digit = |n: u8| format!("    if x == {} {{\n        x = {n};\n    }}\n", n - 1);
    let source = format!(
        "interleave explicit;\nvar x: 0..5;\nvar y: 0..1;\nproc t5() {{\n{}    yield;\n{}}}\nproc t2() {{\n{}    yield;\n{}}}\n\
         proc t3() {{\n{}}}\nbuffer main {{\n    post t5();\n    post t2();\n    post t3();\n}}\n",
        digit(1),
        digit(3),
        digit(2),
        digit(4),
        digit(5)
    );
    assert!(explored_directly(&source, "direct").contains(&vec![5, 0]));
    for rounds in 1..=4 {
        assert!(!facts_by_rounds(&source, rounds, Begin::InThatRound).contains(&vec![5, 0]), "{rounds}");
    }
    assert!(facts_by_rounds(&source, 2, Begin::InAnyRound).contains(&vec![5, 0]));
}

/// Examples 1 and 2, Figures 9 and 10: the least bounds that are enough.
#[test]
fn the_papers_examples_need_their_bounds() {
    let find = |name: &str, consts: &[(&str, i64)], zields: u32, rounds: u32| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let source = std::fs::read_to_string(root.join(name)).expect("the file is part of the project");
        let consts = consts.iter().map(|(n, v)| ((*n).to_string(), v.to_string())).collect();
        let program =
            fabius_lang::compile(&source, &fabius_lang::Options { consts, ..Default::default() }).expect(name);
        let one = buffers(
            &explicit(&program, Trace::Off, Switches::Everywhere, fabius_translate::Caps::default()).expect(name),
            zields,
        );
        let sequential = levels(&yields(&one, rounds, Begin::InThatRound).expect(name)).expect(name).program;
        let depth = Depth { unwind: 8, recursion: 8 };
        let mut bmc = Bmc::new(&sequential, Box::new(Embedded::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let limits = Limits { deadline: None, stop: &stop };
        matches!(bmc.check(depth, &limits, &mut |_| {}).expect("the solver is there"), Outcome::Bug(_))
    };
    for n in 1..=4 {
        assert!(find("examples/fig9.fab", &[("N", n)], 1, 1), "Figure 9, {n}");
        assert!(find("examples/fig10.fab", &[("N", n)], n as u32, 1), "Figure 10, {n}");
        assert!(n == 1 || !find("examples/fig10.fab", &[("N", n)], n as u32 - 1, 1), "Figure 10, {n}");
    }
    for n in 2..=4 {
        let (bug, least) = ("corpus/tasks/bug/example2.fab", n as u32);
        assert!(find(bug, &[("N", n)], 1, least), "Example 2, {n}");
        assert!(!find(bug, &[("N", n)], 1, least - 1), "Example 2, {n}");
        let bug = "corpus/buffers/bug/example1.fab";
        assert!(find(bug, &[("N", n)], least, 1), "Example 1, {n}");
        assert!(!find(bug, &[("N", n)], least - 1, 1), "Example 1, {n}");
    }
}

#[test]
fn wrong_readings_of_the_rules_are_caught() {
    let kind = |levels, buffers, yields| Kind { levels, buffers, yields, of: BufferKind::Bag };
    let all = [
        (Mutant::LateArguments, kind(1, 1, false), 1, 33),
        (Mutant::LateArguments, kind(2, 1, true), 2, 1284),
        (Mutant::RoundNotReturned, kind(1, 1, true), 2, 33),
        (Mutant::RoundNotReturned, kind(2, 1, true), 2, 15),
        (Mutant::ResultInOldRound, kind(2, 1, true), 2, 15),
        (Mutant::InterruptedIgnored, kind(2, 1, true), 2, 46),
        (Mutant::NothingRestored, kind(3, 1, false), 1, 1250),
        (Mutant::OwnLevelNotRestored, kind(3, 1, false), 1, 1250),
        (Mutant::LiteralStart, kind(1, 3, false), 2, 5),
    ];
    // The seeds are where the first of 2,000 programs catches each; change them with the generator.
    for (mutant, kind, rounds, seed) in all {
        assert!(is_caught(mutant, kind, rounds, seed), "{mutant:?} {kind:?}");
    }
}
