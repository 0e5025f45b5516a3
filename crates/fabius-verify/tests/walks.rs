//! What random strategies find in random programs is a schedule that costs what is said of it, and no less than the least.

use fabius_trace::{Bound, Verdict};
use fabius_verify::{Plan, Strategy, check, program_id, replay};
use std::sync::atomic::AtomicBool;
use testkit::generate::{Shape, random};

const STRATEGIES: [Strategy; 5] = [Strategy::Random, Strategy::Pct(3), Strategy::Pos, Strategy::Urw, Strategy::Surw];
const BOUNDS: [Bound; 4] = [Bound::Contexts, Bound::Preemptions, Bound::Rounds, Bound::Depth];

/// The cost of what a plan finds, which is paid by the schedule as the machine runs it again.
fn cost(source: &str, plan: &Plan) -> Option<u32> {
    let program = fabius_lang::compile(source, &Default::default()).expect("random programs compile");
    let id = program_id("random.fab", source, &[], &[]);
    let report = check(&program, &id, plan, &AtomicBool::new(false), &|_| {});
    match report.unwrap_or_else(|e| panic!("{plan:?}: {e:?}\n{source}")).verdict {
        Verdict::Bug { trace } => {
            let again = replay(&program, &id, &trace);
            assert!(again.is_ok(), "{plan:?}: {again:?}\n{source}");
            Some(trace.cost)
        }
        _ => None,
    }
}

#[test]
fn what_random_strategies_find_costs_what_they_say() {
    let mut dear = [0; BOUNDS.len()];
    for (shape, seeds) in [(Shape::Threads, 0..30), (Shape::Spawned, 0..30), (Shape::Tasks, 0..10)] {
        for seed in seeds {
            let source = random(seed, shape).source();
            for (bound, dear) in BOUNDS.into_iter().zip(&mut dear) {
                // Rounds are those of threads.
                if bound == Bound::Rounds && shape == Shape::Tasks {
                    continue;
                }
                let plan = Plan { bound, ..Plan::default() };
                let least = cost(&source, &plan);
                for strategy in STRATEGIES {
                    let plan = Plan { strategy, executions: Some(30), seed, ..plan.clone() };
                    let found = cost(&source, &plan);
                    assert!(found.is_none() || least.is_some_and(|least| Some(least) <= found), "{plan:?}\n{source}");
                    *dear += u32::from(found > Some(0));
                }
            }
        }
    }
    assert!(dear.iter().all(|dear| *dear >= 10), "of each bound there are bugs that cost something: {dear:?}");
}
