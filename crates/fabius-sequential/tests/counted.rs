//! Threads that are counted, against exploring so many of them one by one.

use fabius_sequential::counted::{Counted, Pair};
use fabius_smt::Limits;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Whether a failure is reachable with so many threads of any number: all states, one by one.
fn explored(system: &Counted, threads: usize) -> bool {
    // Which of several places a thread begins at is chosen once.
    let mut starts: Vec<Vec<u32>> = vec![Vec::new()];
    let any = vec![system.any.clone(); threads];
    for places in system.declared.iter().chain(&any) {
        starts = starts.iter().flat_map(|one| places.iter().map(move |p| [&one[..], &[*p]].concat())).collect();
    }
    let mut seen: BTreeSet<(u32, Vec<u32>)> = BTreeSet::new();
    let mut todo: Vec<(u32, Vec<u32>)> = Vec::new();
    for shared in &system.begin {
        todo.extend(starts.iter().map(|threads| (*shared, threads.clone())));
    }
    while let Some((shared, threads)) = todo.pop() {
        if threads.iter().any(|place| system.bad.contains(&(shared, *place))) {
            return true;
        }
        if !seen.insert((shared, threads.clone())) {
            continue;
        }
        for i in 0..threads.len() {
            for [_, to] in system.steps.iter().filter(|[from, _]| *from == (shared, threads[i])) {
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

/// Places 0 to 3 are those of threads of any number, 4 to 6 and 7 to 9 those of two declared ones.
fn random(seed: u64) -> Counted {
    let mut numbers = Numbers(seed);
    let mut system =
        Counted { begin: vec![0], any: vec![0], declared: vec![vec![4], vec![7, 8]], ..Counted::default() };
    for (first, places, steps) in [(0, 4, 6), (4, 3, 4), (7, 3, 3)] {
        for _ in 0..steps {
            let mut pair = || -> Pair { (numbers.below(4), first + numbers.below(places)) };
            system.steps.push([pair(), pair()]);
        }
    }
    system.bad.push((numbers.below(4), [3, 5, 9][numbers.below(3) as usize]));
    system
}

fn fails(system: &Counted) -> bool {
    system.fails(&Limits { deadline: None, stop: &Arc::default() }).expect("it is small")
}

#[test]
fn counting_says_what_exploring_so_many_threads_says() {
    let (mut hold, mut alone, mut together) = (0, 0, 0);
    for seed in 0..3000 {
        let system = random(seed);
        let least = (0..=4).find(|threads| explored(&system, *threads));
        match (fails(&system), least) {
            (false, None) => hold += 1,
            (true, Some(0 | 1)) => alone += 1,
            (true, Some(_)) => together += 1,
            // More than four threads may be needed.
            (true, None) => assert!((5..=7).any(|n| explored(&system, n)), "seed {seed}: {system:?}"),
            (false, Some(n)) => panic!("seed {seed}: {n} threads fail: {system:?}"),
        }
    }
    assert!(hold > 500 && alone > 200 && together > 50, "{hold} hold, {alone} and {together} fail");
}

/// So many threads are needed as there are steps of the shared state.
#[test]
fn a_failure_may_take_any_number_of_threads() {
    for n in 1..=9 {
        let steps = (0..n).map(|i| [(i, 0), (i + 1, 1)]).collect();
        let system = Counted { steps, bad: vec![(n, 1)], begin: vec![0], any: vec![0], declared: Vec::new() };
        assert!(fails(&system));
        assert!(!explored(&system, n as usize - 1) && explored(&system, n as usize));
        let one = Counted { any: Vec::new(), declared: vec![vec![0]], ..system };
        assert_eq!(fails(&one), n == 1);
    }
}
