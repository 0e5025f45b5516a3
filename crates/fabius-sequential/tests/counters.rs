//! Threads that are counted to a few and then as many, against exploring so many of them one by one.

use fabius_sequential::counted::{Counted, Pair};
use fabius_sequential::counters::{Threads, may_wait};
use fabius_smt::Limits;
use std::collections::BTreeSet;
use std::sync::Arc;

struct System {
    counted: Counted,
    waits: BTreeSet<Pair>,
    ends: BTreeSet<u32>,
}

/// Whether so many threads of any number come to where those that have not finished wait: all states, one by one.
fn explored(system: &System, threads: usize) -> bool {
    let Counted { steps, begin, any, declared, .. } = &system.counted;
    let mut starts: Vec<Vec<u32>> = vec![Vec::new()];
    for places in declared.iter().chain(&vec![any.clone(); threads]) {
        starts = starts.iter().flat_map(|one| places.iter().map(move |p| [&one[..], &[*p]].concat())).collect();
    }
    let mut seen: BTreeSet<(u32, Vec<u32>)> = BTreeSet::new();
    let mut todo: Vec<(u32, Vec<u32>)> = Vec::new();
    begin.iter().for_each(|shared| todo.extend(starts.iter().map(|threads| (*shared, threads.clone()))));
    while let Some((shared, mut threads)) = todo.pop() {
        threads.sort_unstable();
        if !seen.insert((shared, threads.clone())) {
            continue;
        }
        let mut left = threads.iter().filter(|place| !system.ends.contains(place)).peekable();
        if left.peek().is_some() && left.all(|place| system.waits.contains(&(shared, *place))) {
            return true;
        }
        for i in 0..threads.len() {
            for [_, to] in steps.iter().filter(|[from, _]| *from == (shared, threads[i])) {
                let mut next = threads.clone();
                next[i] = to.1;
                todo.push((to.0, next));
            }
        }
    }
    false
}

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(n)) as u32
    }
}

/// Places 0 to 3 are those of threads of any number, which end at 3, and 4 to 6 those of a declared one, which ends at 6. At two
/// places threads wait, mostly where they have no step.
fn random(seed: u64) -> System {
    let mut numbers = Numbers(seed);
    let mut counted = Counted { begin: vec![0], any: vec![0], declared: vec![vec![4]], ..Counted::default() };
    for (first, places, steps) in [(0, 4, 10), (4, 3, 4)] {
        for _ in 0..steps {
            let from = (numbers.below(3), first + numbers.below(places - 1));
            // Half of the steps leave the shared state as it is.
            let shared = if numbers.below(2) == 0 { from.0 } else { numbers.below(3) };
            counted.steps.push([from, (shared, first + numbers.below(places))]);
        }
    }
    let moves: BTreeSet<Pair> = counted.steps.iter().map(|[from, _]| *from).collect();
    let at = [numbers.below(3), 4 + numbers.below(2)];
    let all = at.into_iter().flat_map(|place| (0..3).map(move |shared| (shared, place)));
    let waits = all.filter(|pair| !moves.contains(pair) || numbers.below(8) == 0).collect();
    System { counted, waits, ends: BTreeSet::from([3, 6]) }
}

#[test]
fn what_is_shown_holds_for_so_many_threads() {
    let (mut never, mut open, mut waiting) = (0, 0, 0);
    for seed in 0..3000 {
        let system = random(seed);
        let threads = Threads { counted: &system.counted, waits: &system.waits, ends: &system.ends };
        let said = may_wait(&threads, &Limits { deadline: None, stop: &Arc::default() }).expect("it is small");
        match (said, (0..=4).find(|threads| explored(&system, *threads))) {
            (false, None) => never += 1,
            (true, Some(_)) => waiting += 1,
            (true, None) => open += 1,
            (false, Some(n)) => panic!("seed {seed}: {n} threads wait: {:?} {:?}", system.counted, system.waits),
        }
    }
    // What is open is seldom.
    assert!(never > 300 && waiting > 300 && open * 10 < never, "{never} never wait, {waiting} do, {open} are open");
}

/// A lock; and a counter up to `n`, which somebody waits for to be 0 again.
#[test]
fn what_is_held_by_so_many_is_counted_so_far() {
    for n in 1..=6 {
        // Threads go in where there is room (0 to 1), and out (1 to 2); one waits until nobody is in (3 to 2).
        let mut steps: Vec<[Pair; 2]> = (0..n).map(|i| [(i, 0), (i + 1, 1)]).collect();
        steps.extend((0..n).map(|i| [(i + 1, 1), (i, 2)]));
        steps.push([(0, 3), (0, 2)]);
        let counted = Counted { steps, begin: vec![0], any: vec![0], declared: vec![vec![3]], ..Counted::default() };
        let waits = (1..=n).map(|i| (i, 3)).chain([(n, 0)]).collect();
        let ends = BTreeSet::from([2]);
        let limits = Limits { deadline: None, stop: &Arc::default() };
        assert_eq!(may_wait(&Threads { counted: &counted, waits: &waits, ends: &ends }, &limits), Ok(false), "{n}");
    }
}
