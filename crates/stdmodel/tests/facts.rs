//! Facts of the model that are counted by hand, or that the papers prove.

use fastrand::Rng;
use std::collections::BTreeMap;
use stdmodel::cost::{Measure, least};
use stdmodel::generate::{self, Size, Theme};
use stdmodel::graph::{Ending, Graph, Outcome};
use stdmodel::program::{Closure, Hint, NONE, Op, Program, Start};

fn program(mut program: Program, threads: &[&[Op]]) -> Program {
    program.threads = threads.iter().map(|ops| ops.to_vec()).collect();
    program.complete();
    program
}

fn costs(program: &Program, measure: Measure) -> BTreeMap<Outcome, u32> {
    least(&Graph::of(program, Ending::of(program), 100_000).expect("it is small"), measure)
}

/// The least cost of an outcome, by the logs of the threads beside main.
fn cost(program: &Program, measure: Measure, logs: &[&[u8]]) -> Option<u32> {
    let fits = |o: &Outcome| matches!(o, Outcome::Ended(all) if all[1..].iter().zip(logs).all(|(a, b)| a == b));
    costs(program, measure).iter().filter(|(o, _)| fits(o)).map(|(_, cost)| *cost).min()
}

#[test]
fn an_increment_is_lost_with_one_preemption() {
    let atomics = Program { atomics: 1, ..Program::default() };
    let increments = program(atomics, &[&[], &[Op::Load(0), Op::Store(0, 1)], &[Op::Load(0), Op::Store(0, 1)]]);
    assert_eq!(cost(&increments, Measure::Preemptions, &[&[0], &[1]]), Some(0));
    assert_eq!(cost(&increments, Measure::Preemptions, &[&[0], &[0]]), Some(1));
    assert_eq!(cost(&increments, Measure::Preemptions, &[&[1], &[1]]), None);
}

#[test]
fn what_the_last_thread_does_first_takes_a_delay_for_each_before_it() {
    let atomics = Program { atomics: 1, ..Program::default() };
    let swaps = program(atomics, &[&[], &[Op::Swap(0, 1)], &[Op::Swap(0, 2)], &[Op::Swap(0, 3)]]);
    // Main waits for the first one, so two are before the third.
    let last_first: [&[u8]; 3] = [&[3], &[1], &[0]];
    assert_eq!(cost(&swaps, Measure::Preemptions, &last_first), Some(0));
    assert_eq!(cost(&swaps, Measure::RoundRobin, &last_first), Some(2));
    let in_order: [&[u8]; 3] = [&[0], &[1], &[2]];
    assert_eq!(cost(&swaps, Measure::RoundRobin, &in_order), Some(0));
    assert_eq!(
        cost(&swaps, Measure::DepthFirst, &in_order),
        Some(0),
        "a thread runs before the one that spawned it goes on"
    );
}

#[test]
fn a_holder_that_is_preempted_is_left_for_nothing() {
    // Who waits for the lock gives way for free: the unlock is a point, and 2 is stored behind it.
    let objects = Program { atomics: 1, mutexes: 1, ..Program::default() };
    let holder = [Op::Lock(0), Op::Store(0, 1), Op::Unlock(0), Op::Store(0, 2)];
    let reader = [Op::Load(0), Op::Lock(0), Op::Load(0)];
    let both = program(objects, &[&[], &holder, &reader]);
    assert_eq!(cost(&both, Measure::Preemptions, &[&[0], &[1, 0, 2]]), Some(1));
}

#[test]
fn a_yield_makes_the_next_switch_free() {
    let atomics = || Program { atomics: 1, ..Program::default() };
    let reader = [Op::Load(0)];
    let plain = program(atomics(), &[&[], &[Op::Store(0, 1), Op::Store(0, 2)], &reader]);
    assert_eq!(cost(&plain, Measure::Preemptions, &[&[], &[1]]), Some(1));
    let yields = [Op::Store(0, 1), Op::Give(Hint::Yield), Op::Store(0, 2)];
    let yielding = program(atomics(), &[&[], &yields, &reader]);
    assert_eq!(cost(&yielding, Measure::Preemptions, &[&[], &[1]]), Some(0));
    assert_eq!(cost(&yielding, Measure::RoundRobin, &[&[], &[1]]), Some(1), "the scheduler goes on after a yield");
}

#[test]
fn any_waiting_thread_may_be_notified() {
    let objects = Program { atomics: 1, mutexes: 1, condvars: 1, ..Program::default() };
    let waiter = [Op::Lock(0), Op::Wait(0, 0), Op::Unlock(0), Op::Swap(0, 1)];
    let twice = program(objects, &[&[], &waiter, &waiter, &[Op::NotifyOne(0), Op::NotifyOne(0)]]);
    let outcomes = costs(&twice, Measure::Preemptions);
    let order = |first: u8, second: u8| Outcome::Ended(vec![vec![0; 3], vec![0, 0, first], vec![0, 0, second], vec![]]);
    assert_eq!(outcomes.keys().cloned().collect::<Vec<_>>(), [order(0, 1), order(1, 0), Outcome::Deadlock]);
}

#[test]
fn time_passes_when_nobody_can_go_on() {
    let atomics = Program { atomics: 1, ..Program::default() };
    let sleeper = [Op::Sleep(1), Op::Load(0)];
    let both = program(atomics, &[&[], &sleeper, &[Op::Store(0, 1), Op::Sleep(2), Op::Store(0, 2)]]);
    let outcomes = costs(&both, Measure::Preemptions);
    assert_eq!(outcomes.keys().cloned().collect::<Vec<_>>(), [Outcome::Ended(vec![vec![0; 2], vec![1], vec![]])]);
}

#[test]
fn a_lock_of_a_thread_that_panicked_is_poisoned() {
    let objects = Program { mutexes: 1, ..Program::default() };
    let panics = program(objects, &[&[Op::Spawn(1), Op::Join(1), Op::Lock(0)], &[Op::Lock(0), Op::Panic]]);
    let outcomes = costs(&panics, Measure::Preemptions);
    assert_eq!(outcomes.keys().cloned().collect::<Vec<_>>(), [Outcome::Ended(vec![vec![1, 1], vec![0]])]);
}

#[test]
fn steps_are_counted() {
    let atomics = Program { atomics: 1, ..Program::default() };
    let both = program(atomics, &[&[], &[Op::Store(0, 1), Op::Store(0, 2)], &[Op::Load(0)]]);
    // Two begin and are waited for, three operations.
    for seen in 0..=2 {
        assert_eq!(cost(&both, Measure::Steps, &[&[], &[seen]]), Some(7));
    }
    let objects = Program { mutexes: 2, ..Program::default() };
    let orders = [[Op::Lock(0), Op::Lock(1)], [Op::Lock(1), Op::Lock(0)]];
    let both = program(objects, &[&[], &orders[0], &orders[1]]);
    assert_eq!(costs(&both, Measure::Steps).get(&Outcome::Deadlock), Some(&4), "each has its first lock");
}

#[test]
fn who_waits_for_a_time_is_notified_or_not() {
    let objects = || Program { mutexes: 1, condvars: 1, ..Program::default() };
    let waiter = [Op::Lock(0), Op::WaitTimeout(0, 0, 1), Op::Unlock(0)];
    let alone = program(objects(), &[&[], &waiter]);
    let outcomes = costs(&alone, Measure::Preemptions);
    assert_eq!(outcomes.keys().cloned().collect::<Vec<_>>(), [Outcome::Ended(vec![vec![0], vec![0, 2]])]);
    // Time is up for both at once, and who has begun to wait can go on.
    let both = program(objects(), &[&[], &waiter, &[Op::Sleep(1), Op::NotifyOne(0)]]);
    assert_eq!(cost(&both, Measure::Preemptions, &[&[0, 0], &[]]), Some(1));
    assert_eq!(cost(&both, Measure::Preemptions, &[&[0, 2], &[]]), Some(0));
    let early = program(objects(), &[&[], &waiter, &[Op::NotifyOne(0)]]);
    assert_eq!(cost(&early, Measure::Preemptions, &[&[0, 0], &[]]), Some(0), "nobody waits for time");
}

#[test]
fn what_cannot_be_handed_over_is_not_sent() {
    let objects = Program { channels: vec![Some(0)], ..Program::default() };
    let tries = program(objects, &[&[], &[Op::Recv(0)], &[Op::TrySend(0, 1)]]);
    let gone = stdmodel::program::GONE;
    assert_eq!(cost(&tries, Measure::Preemptions, &[&[1], &[1]]), Some(0));
    assert_eq!(cost(&tries, Measure::Preemptions, &[&[gone], &[NONE]]), Some(0));
    assert_eq!(cost(&tries, Measure::Preemptions, &[&[gone], &[gone]]), None, "the receiver waits for the sender");
}

#[test]
fn a_cell_whose_closure_panicked_is_empty_and_a_once_is_poisoned() {
    let objects = || Program { atomics: 1, onces: 1, cells: 1, ..Program::default() };
    let [panics, returns] = [Closure::Panics, Closure::Returns].map(|closure| Op::GetOrInit(0, 0, 7, closure));
    let fills = program(objects(), &[&[Op::Spawn(1), Op::Join(1), Op::GetSet(0), returns], &[panics]]);
    let outcomes = costs(&fills, Measure::Preemptions);
    assert_eq!(outcomes.keys().cloned().collect::<Vec<_>>(), [Outcome::Ended(vec![vec![1, NONE, 1, 7], vec![0]])]);
    let [panics, returns] = [Closure::Panics, Closure::Returns].map(|closure| Op::CallOnce(0, 0, closure));
    let forces = Op::CallOnceForce(0, 0, Closure::Returns);
    let threads: [&[Op]; 3] = [&[Op::Spawn(1), Op::Join(1), Op::Spawn(2), Op::Join(2), forces], &[panics], &[returns]];
    let outcomes = costs(&program(objects(), &threads), Measure::Preemptions);
    let poisoned = Outcome::Ended(vec![vec![1, 1, 1, 1], vec![0], vec![]]);
    assert_eq!(outcomes.keys().cloned().collect::<Vec<_>>(), [poisoned]);
}

#[test]
fn a_scope_hands_on_what_nobody_has_joined() {
    let scoped = || Program { start: Start::Scoped, ..Program::default() };
    let ended = |logs: [&[u8]; 2]| Outcome::Ended(logs.iter().map(|log| log.to_vec()).collect());
    let left = program(scoped(), &[&[], &[Op::Panic]]);
    assert_eq!(costs(&left, Measure::Preemptions).into_keys().collect::<Vec<_>>(), [ended([&[1], &[]])]);
    let joined = program(scoped(), &[&[Op::Spawn(1), Op::Join(1)], &[Op::Panic]]);
    assert_eq!(costs(&joined, Measure::Preemptions).into_keys().collect::<Vec<_>>(), [ended([&[1, 0], &[]])]);
}

#[test]
fn a_task_is_woken_through_its_last_waker() {
    let objects = || Program { atomics: 1, wakers: 1, start: Start::Tasks, ..Program::default() };
    let wakes = program(objects(), &[&[], &[Op::Await(0, 0, 1)], &[Op::Store(0, 1), Op::Wake(0)]]);
    assert_eq!(costs(&wakes, Measure::Preemptions).into_keys().count(), 1, "it always ends");
    let too_early = program(objects(), &[&[], &[Op::Await(0, 0, 1)], &[Op::Wake(0), Op::Store(0, 1)]]);
    assert_eq!(costs(&too_early, Measure::Preemptions).get(&Outcome::Deadlock), Some(&1), "between the two");
}

#[test]
fn a_loop_that_nobody_ends_is_a_livelock() {
    let atomics = Program { atomics: 1, ..Program::default() };
    let spins = program(atomics, &[&[], &[Op::Retry(0, 1, 0, Hint::Spin)], &[Op::Store(0, 1), Op::Store(0, 0)]]);
    let ended = Outcome::Ended(vec![vec![0; 2], vec![], vec![]]);
    assert_eq!(costs(&spins, Measure::Preemptions), BTreeMap::from([(ended, 1), (Outcome::Livelock, 0)]));
}

/// Whether every thread makes a step before it ends, so that who joins it may have to wait in any case.
fn all_make_a_step(program: &Program) -> bool {
    let may_be_left_out = |op: &Op| {
        matches!(
            op,
            Op::Unlock(_)
                | Op::Put(..)
                | Op::Get(_)
                | Op::Release(_)
                | Op::Downgrade(_)
                | Op::Wait(..)
                | Op::WaitUntil(..)
                | Op::WaitTimeout(..)
                | Op::Join(_)
                | Op::IsFinished(_)
                | Op::Unpark(_)
        )
    };
    let makes_one = |ops: &Vec<Op>| ops.iter().take_while(|op| **op != Op::Panic).any(|op| !may_be_left_out(op));
    program.threads[1..].iter().all(makes_one)
}

#[test]
fn it_costs_nothing_that_the_end_of_a_thread_is_a_step_of_its_own() {
    for theme in Theme::ALL {
        for seed in 0..100 {
            let program = generate::program(&mut Rng::with_seed(seed), theme, Size { threads: 2, operations: 3 });
            if !all_make_a_step(&program) {
                continue;
            }
            let graphs = [Ending::WithLastStep, Ending::OwnStep].map(|ending| Graph::of(&program, ending, 5000));
            let ([Some(with), Some(own)], Ending::WithLastStep) = (graphs, Ending::of(&program)) else { continue };
            for measure in [Measure::Preemptions, Measure::RoundRobin, Measure::DepthFirst] {
                let [mut with, mut own] = [&with, &own].map(|graph| least(graph, measure));
                if measure != Measure::Preemptions {
                    // Whether only loops are left does depend on whether a thread without operations has ended.
                    with.remove(&Outcome::Livelock);
                    own.remove(&Outcome::Livelock);
                }
                assert_eq!(with, own, "{theme:?} {seed} {measure:?}\n{program}");
            }
        }
    }
}
