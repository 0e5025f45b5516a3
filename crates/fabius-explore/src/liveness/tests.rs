use super::*;
use fabius_trace::{Automaton, AutomatonMove, AutomatonState};
use std::sync::Arc;

const THREADS: u32 = 3;

/// A graph with one initial state, which is node 1.
fn random(rng: &mut fastrand::Rng) -> Graph {
    let n = rng.usize(2..7);
    let node = |rng: &mut fastrand::Rng| {
        let ready: Vec<BufferId> = (0..THREADS).filter(|_| rng.u32(..3) < 2).collect();
        let steps = if ready.is_empty() { 0 } else { rng.usize(1..4) };
        let edge = |rng: &mut fastrand::Rng| Edge {
            to: rng.usize(1..n),
            thread: ready[rng.usize(..ready.len())],
            progress: rng.u32(..4) == 0,
        };
        let edges = (0..steps).map(|_| edge(rng)).collect();
        // Each thread began as what has its number.
        let origins = (0..THREADS).map(|t| (t, t as usize)).collect();
        let holds = vec![rng.u32(..3) == 0, rng.u32(..4) == 0];
        Node { ready: ready.iter().copied().collect(), origins, edges, holds }
    };
    let begin = Node { edges: vec![Edge { to: 1, thread: 0, progress: true }], ..Node::default() };
    Graph { nodes: std::iter::once(begin).chain((1..n).map(|_| node(rng))).collect() }
}

fn bits(threads: &BTreeSet<BufferId>) -> u32 {
    threads.iter().map(|t| 1 << t).sum()
}

/// What is known of a path: where it is, which threads have stepped, which were ready in all of its states, and which in one;
/// and whether it has passed a state in which the first condition does not hold.
type Path = (usize, u32, u32, u32, bool);

/// All that paths from a node can be like.
fn paths(graph: &Graph, from: usize, take: impl Fn(&Edge) -> bool) -> BTreeSet<Path> {
    let ready = bits(&graph.nodes[from].ready);
    let fails = |node: usize| !graph.nodes[node].holds.first().copied().unwrap_or(true);
    let (mut seen, mut todo) = (BTreeSet::new(), vec![(from, 0, ready, ready, fails(from))]);
    while let Some((node, steps, always, ever, failed)) = todo.pop() {
        for edge in graph.nodes[node].edges.iter().filter(|e| take(e)) {
            let ready = bits(&graph.nodes[edge.to].ready);
            let path = (edge.to, steps | 1 << edge.thread, always & ready, ever | ready, failed || fails(edge.to));
            if seen.insert(path) {
                todo.push(path);
            }
        }
    }
    seen
}

fn is_fair(fairness: &FairThreads, (_, steps, always, ever, _): Path) -> bool {
    (0..THREADS).all(|thread| {
        let is_in = |threads: u32| threads & 1 << thread != 0;
        match fairness.to(Some(thread as usize)) {
            Fairness::None => true,
            Fairness::Weak => !is_in(always) || is_in(steps),
            Fairness::Strong => !is_in(ever) || is_in(steps),
        }
    })
}

/// The kinds of fairness that are asked for: to all, and to some.
fn kinds() -> Vec<FairThreads> {
    let some = |of: &[(usize, Fairness)], others| FairThreads { of: of.to_vec(), others };
    let (none, weak, strong) = (Fairness::None, Fairness::Weak, Fairness::Strong);
    let some = [
        some(&[(0, weak)], none),
        some(&[(1, strong)], none),
        some(&[(0, weak), (2, strong)], none),
        some(&[(0, strong)], weak),
        some(&[(1, none)], strong),
    ];
    Fairness::ALL.into_iter().map(FairThreads::from).chain(some).collect()
}

fn reached(graph: &Graph, from: usize, take: impl Fn(&Edge) -> bool) -> BTreeSet<usize> {
    paths(graph, from, take).iter().map(|p| p.0).chain([from]).collect()
}

/// Whether there is a violation, by its definition: some state begins it, some state that is reached from there without
/// leaving the part is on a fair cycle inside of the part, or ends there.
fn expected(graph: &Graph, what: &Violation) -> bool {
    let holds = |node: usize, c: usize| graph.nodes[node].holds[c];
    let all = reached(graph, 1, |_| true);
    let on_cycle = |node: usize, inside: &dyn Fn(&Edge) -> bool, fairness: &FairThreads, must_fail: bool| {
        let cycles = paths(graph, node, inside).into_iter().filter(|p| p.0 == node);
        cycles.into_iter().any(|p| is_fair(fairness, p) && (!must_fail || p.4))
    };
    let stays = |from: usize, c: usize, fairness: &FairThreads| {
        let inside = |e: &Edge| !holds(e.to, c);
        let there = if holds(from, c) { BTreeSet::new() } else { reached(graph, from, inside) };
        there.into_iter().any(|n| graph.nodes[n].ready.is_empty() || on_cycle(n, &inside, fairness, false))
    };
    match *what {
        Violation::Livelock => all.into_iter().any(|n| on_cycle(n, &|e| !e.progress, &Fairness::Weak.into(), false)),
        Violation::Any(ref f) => {
            all.into_iter().any(|n| graph.nodes[n].ready.is_empty() || on_cycle(n, &|_| true, f, false))
        }
        Violation::Property(Formula::Eventually(c), ref f) => stays(1, c, f),
        Violation::Property(Formula::AlwaysEventually(c), ref f) => all.into_iter().any(|n| stays(n, c, f)),
        Violation::Property(Formula::LeadsTo(a, b), ref f) => all.into_iter().any(|n| holds(n, a) && stays(n, b, f)),
        Violation::Property(Formula::Never(ref automaton), ref f) => is_accepted(graph, automaton, f),
        Violation::Property(Formula::EventuallyAlways(_), ref f) => {
            all.into_iter().any(|n| graph.nodes[n].ready.is_empty() && !holds(n, 0) || on_cycle(n, &|_| true, f, true))
        }
    }
}

fn check(graph: &Graph, what: &Violation, lasso: &Lasso) {
    let mut at = 0;
    let mut states = Vec::new();
    let mut take = |(node, edge): EdgeId| {
        assert_eq!(node, at);
        at = graph.nodes[node].edges[edge].to;
        states.push(at);
        graph.nodes[node].edges[edge]
    };
    lasso.stem.iter().for_each(|id| {
        take(*id);
    });
    let taken: Vec<Edge> = lasso.cycle.iter().map(|id| take(*id)).collect();
    let repeats = lasso.stem.len() - 1;
    if taken.is_empty() {
        assert!(graph.nodes[at].ready.is_empty() && *what != Violation::Livelock);
    } else {
        assert_eq!(at, states[repeats], "the cycle must close");
        states.pop();
    }
    let ready = || states[repeats..].iter().map(|n| bits(&graph.nodes[*n].ready));
    let steps = taken.iter().fold(0, |all, e| all | 1 << e.thread);
    let path = (at, steps, ready().fold(u32::MAX, |all, r| all & r), ready().fold(0, |all, r| all | r), true);
    assert!(is_fair(&what.fairness(), path), "{graph:?} {lasso:?}");
    match what {
        Violation::Livelock => assert!(taken.iter().all(|e| !e.progress)),
        Violation::Any(_) => {}
        Violation::Property(formula, _) => {
            let holds: Vec<Vec<bool>> = states.iter().map(|n| graph.nodes[*n].holds.clone()).collect();
            assert!(formula.is_violated(&holds, repeats), "{graph:?} {lasso:?}");
        }
    }
}

#[test]
fn finds_a_violation_whenever_there_is_one() {
    let mut rng = fastrand::Rng::with_seed(3);
    let formulas =
        [Formula::Eventually(0), Formula::AlwaysEventually(0), Formula::EventuallyAlways(0), Formula::LeadsTo(0, 1)];
    let kinds = kinds();
    let properties =
        formulas.iter().flat_map(|f| kinds.iter().map(|fair| Violation::Property(f.clone(), fair.clone())));
    let any = kinds[1..].iter().filter(|fair| fair.others != Fairness::None).cloned().map(Violation::Any);
    let all: Vec<Violation> = properties.chain([Violation::Livelock]).chain(any).collect();
    let mut found = vec![0; all.len()];
    for _ in 0..2000 {
        let graph = random(&mut rng);
        for (what, found) in all.iter().zip(&mut found) {
            let lasso = find(&graph, what, &|| Ok(())).expect("nothing ends it");
            assert_eq!(lasso.is_some(), expected(&graph, what), "{what:?} {graph:?}");
            if let Some(lasso) = lasso {
                *found += 1;
                check(&graph, what, &lasso);
            }
        }
    }
    assert!(found.iter().all(|n| (100..1950).contains(n)), "both answers must occur often: {found:?}");
}

#[test]
fn who_says_that_it_is_over_ends_it() {
    let mut rng = fastrand::Rng::with_seed(3);
    for _ in 0..50 {
        let graph = random(&mut rng);
        let found = find(&graph, &Violation::Any(Fairness::None.into()), &|| Err(Cut::Time));
        assert_eq!(found, Err(Cut::Time));
    }
    // Within one component, too.
    let to = |to: usize| vec![Edge { to, thread: 0, progress: false }];
    let n = 10_000;
    let nodes = (0..n).map(|i| Node { edges: to(if i + 1 < n { i + 1 } else { 1 }), ..Node::default() });
    let (graph, asked) = (Graph { nodes: nodes.collect() }, std::cell::Cell::new(0));
    let over = || {
        asked.set(asked.get() + 1);
        if asked.get() > 1 { Err(Cut::Interrupted) } else { Ok(()) }
    };
    let part: Vec<usize> = (1..n).collect();
    assert!(components::fair(&graph, &Violation::Any(Fairness::None.into()), &part, &over).is_err());
}

fn random_automaton(rng: &mut fastrand::Rng) -> Automaton {
    let n = rng.usize(1..4);
    let state = |rng: &mut fastrand::Rng| {
        let moves = (0..rng.usize(..4)).map(|_| {
            let when = (0..2).filter_map(|c| [None, Some((c, true)), Some((c, false))][rng.usize(..3)]);
            AutomatonMove { when: when.collect(), to: rng.usize(..n) }
        });
        AutomatonState { moves: moves.collect(), accepts: rng.u32(..3) == 0 }
    };
    Automaton { states: (0..n).map(|_| state(rng)).collect(), span: fabius_trace::Span::default() }
}

/// Whether some fair path is accepted, by its definition.
fn is_accepted(graph: &Graph, automaton: &Automaton, fairness: &FairThreads) -> bool {
    let paths = |from: (usize, usize)| {
        let ready = bits(&graph.nodes[from.0].ready);
        let (mut seen, mut todo) = (BTreeSet::new(), vec![((from.0, 0, ready, ready, false), from.1)]);
        while let Some(((node, steps, always, ever, passed), at)) = todo.pop() {
            for next in automaton.next(at, &graph.nodes[node].holds) {
                // Who has ended stays where it is.
                let stays = Edge { to: node, thread: THREADS, progress: false };
                let edges = graph.nodes[node].edges.iter().chain(graph.nodes[node].ready.is_empty().then_some(&stays));
                for edge in edges {
                    let ready = bits(&graph.nodes[edge.to].ready);
                    let steps = steps | 1 << edge.thread;
                    let passed = passed || automaton.states[next].accepts;
                    let path = ((edge.to, steps, always & ready, ever | ready, passed), next);
                    if seen.insert(path) {
                        todo.push(path);
                    }
                }
            }
        }
        seen
    };
    let starts = paths((1, 0)).into_iter().map(|(path, at)| (path.0, at)).chain([(1, 0)]).collect::<BTreeSet<_>>();
    starts.into_iter().any(|from| {
        let mut cycles = paths(from).into_iter().filter(|(path, at)| (path.0, *at) == from);
        cycles.any(|(path, _)| path.4 && is_fair(fairness, path))
    })
}

#[test]
fn finds_what_an_automaton_accepts_whenever_there_is_such_a_path() {
    let mut rng = fastrand::Rng::with_seed(5);
    let mut found = 0;
    for _ in 0..2000 {
        let (graph, automaton) = (random(&mut rng), random_automaton(&mut rng));
        for fairness in kinds() {
            let what = Violation::Property(Formula::Never(Arc::new(automaton.clone())), fairness);
            let lasso = find(&graph, &what, &|| Ok(())).expect("nothing ends it");
            assert_eq!(lasso.is_some(), expected(&graph, &what), "{what:?} {graph:?}");
            if let Some(lasso) = lasso {
                found += 1;
                check(&graph, &what, &lasso);
            }
        }
    }
    assert!((1000..15_000).contains(&found), "both answers must occur often: {found}");
}
