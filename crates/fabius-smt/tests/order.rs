//! The order theory says what a solver of numbers says.

mod sat_solvers;

use fabius_smt::{Answer, Embedded, Limits, SatSolver, Solver, Sort, Term, Terms};
use std::sync::Arc;

fn check(solver: &mut Embedded, terms: &Terms, assumptions: &[Term]) -> Answer {
    let stop = Arc::default();
    solver.check(terms, assumptions, &Limits { deadline: None, stop: &stop }).expect("no other solver is asked")
}

/// Random edges and clauses, once with points and once with numbers.
#[test]
fn the_theory_agrees_with_numbers() {
    sat_solvers::all().into_iter().for_each(the_theory_agrees_with_numbers_for);
}

fn the_theory_agrees_with_numbers_for(sat_solver: SatSolver) {
    let mut rng = fastrand::Rng::with_seed(5);
    let mut answers = [0; 2];
    for _ in 0..150 {
        let mut terms = Terms::default();
        let points: Vec<Term> = (0..6).map(|_| terms.variable(Sort::Int)).collect();
        let numbers: Vec<Term> = (0..6).map(|_| terms.variable_between(0, 5)).collect();
        let conditions: Vec<Term> = (0..10).map(|_| terms.variable(Sort::Bool)).collect();
        let (mut by_order, mut by_numbers) = (Embedded::with(sat_solver), Embedded::with(sat_solver));
        for condition in conditions.iter().chain(&[Terms::TRUE, Terms::TRUE]) {
            let (a, b) = (rng.usize(..6), rng.usize(..6));
            by_order.before(&terms, *condition, points[a], points[b]);
            let less = terms.lt(numbers[a], numbers[b]);
            let fact = terms.implies(*condition, less);
            by_numbers.assert(&terms, fact);
        }
        // Asked again and again while more is asserted, and with assumptions.
        for _ in 0..6 {
            let mut literal = || {
                let t = conditions[rng.usize(..10)];
                if rng.u8(..4) == 0 { terms.not(t) } else { t }
            };
            let clause = [literal(), literal()];
            let assumption = [literal()];
            if rng.u8(..4) == 0 {
                // More edges between the questions, also on what was not named for long.
                let (condition, a, b) = (conditions[rng.usize(..10)], rng.usize(..6), rng.usize(..6));
                by_order.before(&terms, condition, points[a], points[b]);
                let less = terms.lt(numbers[a], numbers[b]);
                let fact = terms.implies(condition, less);
                by_numbers.assert(&terms, fact);
            }
            by_order.assert_any(&terms, &clause);
            by_numbers.assert_any(&terms, &clause);
            for assumptions in [&assumption[..], &[]] {
                let answer = check(&mut by_order, &terms, assumptions);
                assert_eq!(answer, check(&mut by_numbers, &terms, assumptions));
                answers[usize::from(answer == Answer::Sat)] += 1;
            }
        }
    }
    assert!(answers.iter().all(|n| *n > 100), "{answers:?}");
}
