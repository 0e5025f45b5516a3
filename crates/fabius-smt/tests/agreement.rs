//! Random terms: what the solver says is what evaluation says.

mod sat_solvers;

use fabius_smt::{
    Answer, Embedded, External, Limits, Model, Op, SatSolver, Solver, Sort, Term, Terms, evaluate, find_solver,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const BYTE: Sort = Sort::Bits { width: 8, signed: true };
const WORD: Sort = Sort::Bits { width: 16, signed: false };

const OPS: [Op; 10] =
    [Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Rem, Op::BitAnd, Op::BitOr, Op::BitXor, Op::Shl, Op::Shr];

fn check(solver: &mut dyn Solver, terms: &Terms, assumptions: &[Term]) -> Answer {
    let stop = Arc::new(AtomicBool::new(false));
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(2);
    solver.check(terms, assumptions, &Limits { deadline: Some(deadline), stop: &stop }).unwrap()
}

/// A pool of random terms over a few variables. Divisors are never 0.
fn pool(rng: &mut fastrand::Rng, terms: &mut Terms) -> (Vec<Term>, Vec<Term>) {
    let variables = vec![
        terms.variable(Sort::Bool),
        terms.variable(BYTE),
        terms.variable(BYTE),
        terms.variable(WORD),
        terms.variable_between(-3, 12),
        terms.variable_between(0, 5),
    ];
    let mut all = variables.clone();
    for sort in [BYTE, WORD, Sort::Int] {
        for v in [0, 1, 3, -2, 200] {
            let constant = terms.constant(v, sort);
            all.push(constant);
        }
    }
    for _ in 0..40 {
        let of = |rng: &mut fastrand::Rng, terms: &Terms, all: &[Term], sort: Sort| loop {
            let t = all[rng.usize(..all.len())];
            if terms.sort(t) == sort {
                return t;
            }
        };
        let sort = [BYTE, WORD, Sort::Int][rng.usize(..3)];
        let (a, b) = (of(rng, terms, &all, sort), of(rng, terms, &all, sort));
        let c = of(rng, terms, &all, Sort::Bool);
        let t = match rng.usize(..9) {
            0 => terms.eq(a, b),
            1 => terms.lt(a, b),
            2 => terms.ite(c, a, b),
            3 => {
                let d = of(rng, terms, &all, Sort::Bool);
                if rng.bool() { terms.and(c, d) } else { terms.eq(c, d) }
            }
            4 => terms.cast(a, [BYTE, WORD, Sort::Int][rng.usize(..3)]),
            _ => {
                let op = OPS[rng.usize(..if sort == Sort::Int { 8 } else { 10 })];
                let b = if matches!(op, Op::Div | Op::Rem) {
                    let zero = terms.constant(0, sort);
                    let one = terms.constant(1, sort);
                    let is_zero = terms.eq(b, zero);
                    terms.ite(is_zero, one, b)
                } else {
                    b
                };
                let small = terms.range(a).is_some_and(|(lo, hi)| lo > -1 << 40 && hi < 1 << 40);
                if op == Op::Mul && !small { continue } else { terms.arithmetic(op, a, b) }
            }
        };
        all.push(t);
    }
    (variables, all)
}

fn random_model(rng: &mut fastrand::Rng, terms: &Terms, variables: &[Term]) -> Model {
    let within = |t: &Term| match terms.sort(*t) {
        Sort::Bool => (0, 1),
        _ => terms.range(*t).unwrap(),
    };
    variables.iter().map(|v| (*v, rng.i128(within(v).0..=within(v).1))).collect()
}

/// Whether the solver had all answers.
fn agree(seed: u64, make: &mut dyn FnMut() -> Box<dyn Solver>) -> bool {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut terms = Terms::default();
    let (variables, all) = pool(&mut rng, &mut terms);
    let mut solver = make();
    // With all variables fixed, every term has the value that evaluation gives it.
    let model = random_model(&mut rng, &terms, &variables);
    let mut known = Default::default();
    let mut facts = Vec::new();
    for v in &variables {
        let value = terms.constant(model[v], terms.sort(*v));
        facts.push(terms.eq(*v, value));
    }
    for t in &all[variables.len()..] {
        let value = evaluate(&terms, &model, *t, &mut known);
        if terms.range(*t).is_none_or(|(lo, hi)| lo < -(1 << 60) || hi > 1 << 60) {
            continue;
        }
        let value = terms.constant(value, terms.sort(*t));
        facts.push(terms.eq(*t, value));
    }
    let everything = terms.all(facts);
    match check(&mut *solver, &terms, &[everything]) {
        Answer::Sat => {}
        Answer::Unknown => return false,
        other => panic!("{other:?}, seed {seed}"),
    }
    // A model of a truth value makes it true.
    let truths: Vec<Term> = all.iter().copied().filter(|t| terms.sort(*t) == Sort::Bool).collect();
    for t in truths.iter().rev().take(4) {
        match check(&mut *solver, &terms, &[*t]) {
            Answer::Sat => {
                let mut model: Model = HashMap::new().into_iter().collect();
                for v in &variables {
                    if let Some(value) = solver.value(&terms, *v).unwrap() {
                        model.insert(*v, value);
                    }
                }
                assert_eq!(evaluate(&terms, &model, *t, &mut Default::default()), 1, "seed {seed}");
            }
            Answer::Unsat => {
                for _ in 0..200 {
                    let model = random_model(&mut rng, &terms, &variables);
                    assert_eq!(evaluate(&terms, &model, *t, &mut Default::default()), 0, "seed {seed}");
                }
            }
            Answer::Unknown => return false,
            other => panic!("{other:?}, seed {seed}"),
        }
    }
    true
}

#[test]
fn the_embedded_solver_and_evaluation_agree() {
    for sat_solver in sat_solvers::all() {
        for seed in 0..300 {
            assert!(agree(seed, &mut || Box::new(Embedded::with(sat_solver))), "{sat_solver:?}, seed {seed}");
        }
    }
}

#[test]
fn an_external_solver_and_evaluation_agree() {
    let Some(path) = find_solver("z3").or_else(|| find_solver("cvc5")) else {
        eprintln!("skipped: neither z3 nor cvc5 is installed");
        return;
    };
    // Some of these mix integers with bit vectors, which is hard for it.
    let answered = (0..6).filter(|seed| agree(*seed, &mut || Box::new(External::start(&path).unwrap()))).count();
    assert!(answered > 0);
}

#[test]
fn integers_have_no_end() {
    sat_solvers::all().into_iter().for_each(integers_have_no_end_for);
}

fn integers_have_no_end_for(sat_solver: SatSolver) {
    let mut terms = Terms::default();
    let (x, y) = (terms.variable(Sort::Int), terms.variable(Sort::Int));
    let mut solver = Embedded::with(sat_solver);
    // x < y, and x + 1 is not below y + 1: for no size of integers, since a linear formula has a small solution if any.
    let less = terms.lt(x, y);
    let one = terms.constant(1, Sort::Int);
    let (x1, y1) = (terms.arithmetic(Op::Add, x, one), terms.arithmetic(Op::Add, y, one));
    let not_less = terms.le(y1, x1);
    let both = terms.and(less, not_less);
    assert_eq!(check(&mut solver, &terms, &[both]), Answer::Unsat);
    // What is computed from large numbers may be small.
    let thousand = terms.constant(1000, Sort::Int);
    let large = [terms.lt(thousand, x), terms.lt(thousand, y)];
    let two = terms.constant(2, Sort::Int);
    let zero = terms.constant(0, Sort::Int);
    let (difference, rest) = (terms.arithmetic(Op::Sub, x, y), terms.arithmetic(Op::Rem, x, two));
    let (is_one, is_even) = (terms.eq(difference, one), terms.eq(rest, zero));
    assert_eq!(check(&mut Embedded::with(sat_solver), &terms, &[large[0], large[1], is_one, is_even]), Answer::Sat);
    // The bits of any integer are no linear formula.
    let bits = terms.arithmetic(Op::BitAnd, x, y);
    let more = terms.lt(x, bits);
    let positive = terms.le(zero, x);
    let all = terms.and(more, positive);
    assert_eq!(check(&mut Embedded::with(sat_solver), &terms, &[all]), Answer::UnsatWithin64Bits);
    // x > 1000 needs more than eight bits.
    let thousand = terms.constant(1000, Sort::Int);
    let large = terms.lt(thousand, x);
    assert_eq!(check(&mut solver, &terms, &[large]), Answer::Sat);
    assert!(solver.value(&terms, x).unwrap().unwrap() > 1000);
    // A number that follows from small ones is known, whatever its sort could hold.
    let mut solver = Embedded::with(sat_solver);
    let guess = terms.variable(Sort::Int);
    let small = terms.variable_between(0, 3);
    let sum = terms.arithmetic(Op::Add, small, one);
    let confirmed = terms.eq(guess, sum);
    let five = terms.constant(5, Sort::Int);
    let wrong = terms.eq(guess, five);
    assert_eq!(check(&mut solver, &terms, &[confirmed, wrong]), Answer::Unsat);
}

/// So many pigeons, one hole less.
fn pigeons(terms: &mut Terms, holes: usize) -> Vec<Term> {
    let sits: Vec<Vec<Term>> = (0..=holes).map(|_| (0..holes).map(|_| terms.variable(Sort::Bool)).collect()).collect();
    let mut facts: Vec<Term> = sits.iter().map(|holes| terms.any(holes.clone())).collect();
    for (hole, one) in (0..holes).flat_map(|hole| (0..=holes).map(move |one| (hole, one))) {
        for other in 0..one {
            let both = terms.and(sits[one][hole], sits[other][hole]);
            facts.push(terms.not(both));
        }
    }
    facts
}

#[test]
fn with_little_effort_it_gives_up() {
    let mut terms = Terms::default();
    let facts = pigeons(&mut terms, 6);
    assert_eq!(check(&mut Embedded::with(SatSolver::Few(10)), &terms, &facts), Answer::Unknown);
    for sat_solver in sat_solvers::all() {
        assert_eq!(check(&mut Embedded::with(sat_solver), &terms, &facts), Answer::Unsat, "{sat_solver:?}");
    }
}

/// Too many pigeons for any of them.
#[test]
fn who_is_told_to_stop_stops() {
    let mut terms = Terms::default();
    let facts = pigeons(&mut terms, 24);
    for sat_solver in sat_solvers::all() {
        let mut solver = Embedded::with(sat_solver);
        let deadline = Some(Instant::now() + Duration::from_millis(200));
        let limits = Limits { deadline, stop: &Arc::default() };
        assert_eq!(solver.check(&terms, &facts, &limits).unwrap(), Answer::Unknown, "{sat_solver:?}");
        // It may be asked again, and stopped from elsewhere.
        let stop = Arc::new(AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                stop.store(true, Ordering::Relaxed);
            });
            let limits = Limits { deadline: None, stop: &stop };
            assert_eq!(solver.check(&terms, &facts, &limits).unwrap(), Answer::Unknown, "{sat_solver:?}");
        });
    }
}

/// What was said and learnt before somebody else decides is not lost.
#[test]
fn questions_go_on_where_another_solver_decides() {
    for sat_solver in sat_solvers::all() {
        let mut terms = Terms::default();
        let facts = pigeons(&mut terms, 5);
        let mut solver = Embedded::with(sat_solver);
        let (last, most) = facts.split_last().unwrap();
        solver.assert_any(&terms, most);
        for fact in most {
            assert_eq!(check(&mut solver, &terms, &[*fact]), Answer::Sat, "{sat_solver:?}");
            solver.assert(&terms, *fact);
        }
        assert_eq!(check(&mut solver, &terms, &[*last]), Answer::Unsat, "{sat_solver:?}");
        let other = terms.not(*last);
        assert_eq!(check(&mut solver, &terms, &[other]), Answer::Sat, "{sat_solver:?}");
        for fact in &facts {
            let mut model = Model::new();
            for v in terms.variables() {
                model.extend(solver.value(&terms, *v).unwrap().map(|value| (*v, value)));
            }
            assert_eq!(evaluate(&terms, &model, *fact, &mut Default::default()) == 1, fact != last, "{sat_solver:?}");
        }
    }
}
