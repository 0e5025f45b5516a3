//! The detector and the signature against the happens-before relation written out pair by pair.

use super::*;
use crate::system::{Born, FoundStore, Orders, end_of, with_history};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An event of a random execution, as it was made up: not cut out of a step.
struct Event {
    thread: u32,
    accesses: Vec<Access>,
}

/// What one task does at once.
struct Step {
    thread: u32,
    accesses: Vec<Access>,
    spawns: Option<u32>,
    finishes: bool,
    /// Events of the execution up to and including this step.
    events: usize,
}

struct Execution {
    initial: u32,
    steps: Vec<Step>,
    events: Vec<Event>,
    /// For every spawned thread the event of its `spawn`.
    spawned_by: HashMap<u32, usize>,
}

fn access(rng: &mut fastrand::Rng, sync: bool) -> Access {
    let variable = rng.u64(0..2) + if sync { 10 } else { 0 };
    Access { variable, write: rng.bool(), sync, span: Span::new(rng.usize(0..100), 100) }
}

fn end_access(thread: u32, write: bool) -> Access {
    Access { variable: end_of(thread), write, sync: true, span: Span::default() }
}

fn execution(rng: &mut fastrand::Rng, initial: u32, length: usize) -> Execution {
    let mut e = Execution { initial, steps: Vec::new(), events: Vec::new(), spawned_by: HashMap::new() };
    let (mut live, mut done, mut next): (Vec<u32>, Vec<u32>, u32) = ((0..initial).collect(), Vec::new(), initial);
    while e.steps.len() < length && !live.is_empty() {
        let thread = live[rng.usize(..live.len())];
        let mut spawns = None;
        let event: Vec<Access> = match rng.u32(..8) {
            0 | 1 => Vec::new(),
            2..=4 => vec![access(rng, true)],
            5 if next < 4 => {
                spawns = Some(next);
                e.spawned_by.insert(next, e.events.len());
                live.push(next);
                next += 1;
                vec![end_access(next - 1, true)]
            }
            6 if !done.is_empty() => vec![end_access(done[rng.usize(..done.len())], false)],
            _ => {
                let mut atomic: Vec<Access> = Vec::new();
                for _ in 0..rng.usize(1..4) {
                    let sync = rng.bool();
                    atomic.push(access(rng, sync));
                }
                atomic.push(access(rng, true));
                atomic
            }
        };
        let mut accesses = event.clone();
        if !event.is_empty() {
            e.events.push(Event { thread, accesses: event });
        }
        for _ in 0..rng.usize(..3) {
            let data = access(rng, false);
            accesses.push(data);
            e.events.push(Event { thread, accesses: vec![data] });
        }
        let finishes = rng.u32(..8) == 0;
        if finishes {
            live.retain(|t| *t != thread);
            done.push(thread);
        }
        e.steps.push(Step { thread, accesses, spawns, finishes, events: e.events.len() });
    }
    e
}

fn conflict(mode: Conflict, a: &Access, b: &Access) -> bool {
    a.variable == b.variable && (mode == Conflict::All || a.write || b.write)
}

/// For every event the set of those before it.
fn before(e: &Execution, mode: Conflict) -> Vec<BTreeSet<usize>> {
    let mut before: Vec<BTreeSet<usize>> = Vec::new();
    for (i, event) in e.events.iter().enumerate() {
        let mut mine = BTreeSet::new();
        for (j, earlier) in e.events[..i].iter().enumerate() {
            let synchronize = |a: &Access| earlier.accesses.iter().any(|b| a.sync && conflict(mode, a, b));
            let joins = event.accesses.iter().any(|a| !a.write && a.variable == end_of(earlier.thread));
            let spawned = e.spawned_by.get(&event.thread) == Some(&j);
            if event.thread == earlier.thread || event.accesses.iter().any(synchronize) || joins || spawned {
                mine.insert(j);
                mine.extend(&before[j]);
            }
        }
        before.push(mine);
    }
    before
}

/// The first step with a race.
fn first_race(e: &Execution, mode: Conflict) -> Option<usize> {
    let before = before(e, mode);
    let races = |i: usize| {
        let unordered = (0..i).filter(|j| !before[i].contains(j));
        let data = |a: &&Access| !a.sync;
        unordered.into_iter().any(|j| {
            let earlier = &e.events[j].accesses;
            e.events[i].accesses.iter().filter(data).any(|a| earlier.iter().any(|b| conflict(mode, a, b)))
        })
    };
    let event = (0..e.events.len()).find(|i| races(*i))?;
    e.steps.iter().position(|s| event < s.events)
}

fn runner(thread: u32) -> Runner {
    Runner { task: thread, buffer: thread }
}

fn thread(thread: u32) -> Born {
    Born { task: thread, buffer: thread, level: 0 }
}

/// The first step in which the detector finds a race, which it must name rightly.
fn detect(e: &Execution, mode: Conflict, coded: bool) -> Option<usize> {
    let mut detector = Detector::new(mode, &Orders::default());
    (0..e.initial).for_each(|t| detector.born(None, &thread(t)));
    for (i, step) in e.steps.iter().enumerate() {
        if let Err(race) = detector.step(runner(step.thread), &step.accesses) {
            let here = |p: Party, a: &Access| a.variable == race.variable && a.span == p.span && !a.sync;
            assert!(step.accesses.iter().any(|a| here(race.second, a)));
            assert_eq!(race.second.thread, step.thread);
            if let Some(first) = race.first {
                let of = |s: &&Step| s.thread == first.thread;
                assert!(e.steps[..=i].iter().filter(of).any(|s| s.accesses.iter().any(|a| here(first, a))));
                assert_ne!(first.thread, step.thread);
            }
            return Some(i);
        }
        if let Some(child) = step.spawns {
            detector.born(Some(runner(step.thread)), &thread(child));
        }
        if step.finishes {
            detector.finished(runner(step.thread));
            detector.gone(step.thread);
        }
        if coded {
            let mut bytes = Vec::new();
            detector.encode(&mut bytes);
            bytes.push(77);
            let mut copy = Detector::new(mode, &Orders::default());
            assert_eq!(copy.decode(&bytes), [77]);
            let mut again = Vec::new();
            copy.encode(&mut again);
            assert_eq!(again, bytes[..bytes.len() - 1]);
            detector = copy;
        }
    }
    None
}

#[test]
fn detector_finds_the_first_race() {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut racy = [0; 2];
    for _ in 0..4000 {
        let (initial, length) = (rng.u32(1..3), rng.usize(2..14));
        let e = execution(&mut rng, initial, length);
        for (n, mode) in [Conflict::All, Conflict::ReadWrite].into_iter().enumerate() {
            let expected = first_race(&e, mode);
            assert_eq!(detect(&e, mode, false), expected);
            assert_eq!(detect(&e, mode, true), expected);
            racy[n] += usize::from(expected.is_some());
        }
    }
    assert!(racy.iter().all(|n| (400..3600).contains(n)), "both kinds must occur often: {racy:?}");
}

/// The relation itself, over events named by thread and position.
fn canonical(e: &Execution, mode: Conflict) -> BTreeSet<[(u32, usize); 2]> {
    let mut count = BTreeMap::new();
    let mut names = Vec::new();
    for event in &e.events {
        let n = count.entry(event.thread).or_insert(0);
        names.push((event.thread, *n));
        *n += 1;
    }
    let before = before(e, mode);
    let mut pairs: BTreeSet<_> = names.iter().map(|n| [*n, *n]).collect();
    pairs.extend((0..names.len()).flat_map(|i| before[i].iter().map(|j| [names[*j], names[i]]).collect::<Vec<_>>()));
    pairs
}

fn signature(e: &Execution, mode: Conflict) -> u128 {
    let mut hb = HappensBefore::new(mode);
    (0..e.initial).for_each(|t| hb.born(None, &thread(t)));
    for step in &e.steps {
        hb.step(runner(step.thread), &step.accesses, std::iter::empty());
        if let Some(child) = step.spawns {
            hb.born(Some(runner(step.thread)), &thread(child));
        }
        if step.finishes {
            hb.finished(runner(step.thread));
        }
    }
    hb.signature()
}

#[test]
fn signature_is_that_of_the_relation() {
    let mut rng = fastrand::Rng::with_seed(2);
    for mode in [Conflict::All, Conflict::ReadWrite] {
        let mut relations = HashMap::new();
        let mut signatures = HashMap::new();
        let mut met_again = 0;
        for _ in 0..6000 {
            let length = rng.usize(1..5);
            let e = execution(&mut rng, 2, length);
            // Threads are named by their parents: the same number must mean the same thread.
            if e.spawned_by.values().any(|j| e.events[*j].thread != 0) {
                continue;
            }
            let key = canonical(&e, mode);
            let number = signature(&e, mode);
            met_again += usize::from(relations.insert(key.clone(), number).is_some_and(|old| {
                assert_eq!(old, number, "one relation, two signatures");
                true
            }));
            if let Some(old) = signatures.insert(number, key.clone()) {
                assert_eq!(old, key, "one signature, two relations");
            }
        }
        assert!(met_again > 300 && relations.len() > 300, "{met_again} {}", relations.len());
    }
}

#[test]
fn threads_started_by_the_end_of_another_know_what_it_knew() {
    let data = |n: usize| Access { variable: 1, write: true, sync: false, span: Span::new(n, n + 1) };
    let lock = Access { variable: 10, write: true, sync: true, span: Span::default() };
    let mut d = Detector::new(Conflict::ReadWrite, &Orders::default());
    d.born(None, &thread(0));
    d.step(runner(0), &[lock, data(1)]).expect("the first access");
    d.born(Some(runner(0)), &thread(1));
    d.born(Some(runner(0)), &thread(2));
    d.finished(runner(0));
    d.step(runner(1), &[data(2)]).expect("thread 1 began after the first access");
    let race = d.step(runner(2), &[data(3)]).expect_err("nothing orders threads 1 and 2");
    assert_eq!(race.first, Some(Party { thread: 1, span: Span::new(2, 3) }));
    assert_eq!(race.second, Party { thread: 2, span: Span::new(3, 4) });
}

#[test]
fn what_follows_a_spawn_in_its_step_is_not_known_to_the_thread() {
    let data = Access { variable: 1, write: true, sync: false, span: Span::default() };
    let mut d = Detector::new(Conflict::ReadWrite, &Orders::default());
    d.born(None, &thread(0));
    d.step(runner(0), &[end_access(1, true), data]).expect("the first access");
    d.born(Some(runner(0)), &thread(1));
    assert!(d.step(runner(1), &[data]).is_err());
}

#[test]
fn tasks_of_one_buffer_are_ordered_and_choices_and_tasks_count() {
    let data = Access { variable: 1, write: true, sync: false, span: Span::default() };
    let [a, b] = [0, 1].map(|task| Runner { task, buffer: 9 });
    let mut d = Detector::new(Conflict::All, &Orders::default());
    d.step(a, &[data]).expect("the first access");
    d.step(b, &[data]).expect("the same buffer");
    let run = |order: [(Runner, u32); 2]| {
        let mut hb = HappensBefore::new(Conflict::All);
        [a, b].iter().for_each(|r| hb.born(None, &Born { task: r.task, buffer: 9, level: 0 }));
        order.iter().for_each(|(r, choice)| hb.step(*r, &[data], std::iter::once(*choice)));
        hb.signature()
    };
    let all: BTreeSet<u128> =
        [run([(a, 0), (b, 0)]), run([(b, 0), (a, 0)]), run([(a, 1), (b, 0)]), run([(a, 0), (b, 1)])].into();
    assert_eq!(all.len(), 4);
}

#[test]
fn anonymous_threads_keep_what_they_know_under_new_numbers() {
    use crate::system::ANONYMOUS;
    let data = Access { variable: 1, write: true, sync: false, span: Span::default() };
    let accessed_by_second = || {
        let mut d = Detector::new(Conflict::ReadWrite, &Orders::default());
        (0..3).for_each(|t| d.born(None, &thread(ANONYMOUS | t)));
        d.step(runner(ANONYMOUS | 1), &[data]).expect("the first access");
        d.reorder_anonymous(&[ANONYMOUS | 2, ANONYMOUS | 1, ANONYMOUS]);
        d.reorder_anonymous(&[ANONYMOUS | 1, ANONYMOUS]);
        d
    };
    assert!(accessed_by_second().step(runner(ANONYMOUS), &[data]).is_ok());
    assert!(accessed_by_second().step(runner(ANONYMOUS | 1), &[data]).is_err());
}

/// Which store each event has found or come behind: another event, or none; and the stores of each variable.
type Graph = (BTreeSet<((u32, usize), Option<(u32, usize)>)>, Vec<Vec<(u32, usize)>>);

/// A random execution of threads that load, store and change two variables with histories, as its number and as its graph; and whether
/// a store comes late.
fn weak_execution(rng: &mut fastrand::Rng, program: &[Vec<(u64, bool)>]) -> (u128, Graph, bool) {
    let mut classes = Classes::default();
    let mut stores: Vec<Vec<(u32, usize)>> = vec![Vec::new(); 2];
    let (mut found, mut is_late) = (BTreeSet::new(), false);
    (0..program.len()).for_each(|thread| classes.born(None, thread, thread as u32));
    let mut next = vec![0; program.len()];
    loop {
        let left: Vec<usize> = (0..program.len()).filter(|thread| next[*thread] < program[*thread].len()).collect();
        let Some(thread) = rng.choice(left) else { return (classes.number(), (found, stores), is_late) };
        let (variable, write) = program[thread][next[thread]];
        let event = (thread as u32, next[thread]);
        next[thread] += 1;
        let of = &mut stores[variable as usize];
        let newer = if rng.bool() { 0 } else { rng.u32(0..=of.len() as u32) };
        let at = of.len() - newer as usize;
        found.insert((event, at.checked_sub(1).map(|at| of[at])));
        let variable = with_history(variable);
        let access = Access { variable, write, sync: true, span: Span::default() };
        let mut usual = classes.clone();
        usual.announced(event.0, Some(access), None);
        if newer == 0 {
            classes = usual;
        } else {
            classes.found(event.0, variable, FoundStore { newer, stores: write }, std::iter::empty());
            let foretold = usual.where_it_finds(event.0, variable, newer).unwrap();
            assert!(write || foretold == (classes.number(), classes.last_step_of(event.0)));
        }
        if write {
            of.insert(at, event);
            is_late |= newer > 0;
        }
    }
}

#[test]
fn what_is_found_in_histories_makes_the_class() {
    let rng = &mut fastrand::Rng::with_seed(1);
    let mut same = 0;
    for _ in 0..60 {
        let program: Vec<Vec<(u64, bool)>> =
            (0..3).map(|_| (0..rng.usize(1..=3)).map(|_| (rng.u64(0..2), rng.bool())).collect()).collect();
        let (mut graphs, mut numbers) = (HashMap::new(), HashMap::new());
        for _ in 0..400 {
            let (number, graph, is_late) = weak_execution(rng, &program);
            let of_number = graphs.entry(number).or_insert_with(|| graph.clone());
            assert_eq!(*of_number, graph, "{program:?}");
            // Stores that come late at another time are told apart.
            if !is_late {
                same += usize::from(numbers.contains_key(&graph));
                assert_eq!(*numbers.entry(graph).or_insert(number), number, "{program:?}");
            }
        }
    }
    assert!(same > 1_000, "{same}");
}
