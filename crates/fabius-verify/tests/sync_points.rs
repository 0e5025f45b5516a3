//! Scheduling points before synchronization accesses only lose nothing: Iterative Context Bounding (PLDI 2007),
//! Theorems 2 and 3, on random programs.

use fabius_explore::race::Conflict;
use fabius_explore::search::{Bug, Monitor, Options};
use fabius_explore::stateful;
use fabius_machine::Machine;
use fabius_trace::Points;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// Threads of two or three short blocks, with locks often enough that about half of the programs have no race.
fn random_program(seed: u64) -> String {
    const BLOCKS: [&str; 12] = [
        "l.acquire(); d = d + 1; l.release();",
        "l.acquire(); d = d * 2; e = d; l.release();",
        "l.acquire(); e = 1; l.release(); l.acquire(); d = e; l.release();",
        "s.acquire();",
        "s.release();",
        "v = 1;",
        "await v == 1; l.acquire(); e = e + d; l.release();",
        "{ let old = fetch_add(v, 1); }",
        "mine = mine + 1; l.acquire(); d = mine; l.release();",
        "k.acquire(); l.acquire(); d = 7; l.release(); k.release();",
        "d = d + 1; e = d;",
        "v = 2; e = d;",
    ];
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut out = String::from(
        "sync var v: int;\nvar d: int;\nvar e: int;\nthread var mine: int;\nvar l: lock;\nvar k: lock;\n\
         var s: semaphore = semaphore { count: 1 };\n",
    );
    // The last two blocks are what races.
    let kinds = if rng.bool() { BLOCKS.len() } else { BLOCKS.len() - 2 };
    for t in 0..rng.usize(2..=3) {
        let body: String = (0..rng.usize(1..=3)).map(|_| format!("    {}\n", BLOCKS[rng.usize(..kinds)])).collect();
        writeln!(out, "process p{t}[1] {{\n{body}}}").expect("text grows");
    }
    out
}

/// The least cost of a race if there is one, otherwise the least cost of each final state.
fn explore(source: &str, points: Points) -> Result<BTreeMap<Vec<i64>, u32>, u32> {
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"));
    let machine = Machine::new(&program, points);
    let options = Options { races: Some(Conflict::All), deadlock: false, ..Options::default() };
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    let finals = Mutex::new(BTreeMap::new());
    let outcome = stateful::search(&machine, &options, &monitor, &|visit| {
        if visit.is_final {
            let mut finals = finals.lock().expect("no worker has panicked");
            let least: &mut u32 = finals.entry(machine.globals(visit.state).to_vec()).or_insert(visit.cost);
            *least = visit.cost.min(*least);
        }
    });
    assert!(outcome.cut.is_none(), "{:?}\n{source}", outcome.cut);
    match outcome.bug {
        Some(found) => {
            assert!(matches!(found.what, Bug::Race(_)), "{:?}\n{source}", found.what);
            Err(found.cost)
        }
        None => Ok(finals.into_inner().expect("no worker has panicked")),
    }
}

#[test]
fn the_same_races_and_final_states_at_the_same_number_of_preemptions() {
    let mut free_of_races = 0;
    for seed in 0..300 {
        let source = random_program(seed);
        let all = explore(&source, Points::All);
        assert_eq!(all, explore(&source, Points::Sync), "{seed}:\n{source}");
        free_of_races += u32::from(all.is_ok());
    }
    assert!((100..250).contains(&free_of_races), "both kinds must occur often: {free_of_races}");
}
