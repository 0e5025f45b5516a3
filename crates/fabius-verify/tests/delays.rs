//! Executions within delays, run one by one, say what the search that stores states says: of tasks that nobody can name and of buffers,
//! and of random programs.

use fabius_explore::search::{Cut, Monitor, Options, Outcome};
use fabius_explore::system::{Snapshot, System};
use fabius_explore::{stateful, stateless};
use fabius_lang::program::Program;
use fabius_machine::{Alike, Machine};
use fabius_trace::{Bound, Points, SchedulerKind};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use testkit::generate::{Model, Shape, random};

const SCHEDULERS: [SchedulerKind; 2] = [SchedulerKind::RoundRobin, SchedulerKind::DepthFirst];

/// States in which everybody has finished.
type Finals = BTreeSet<Vec<u8>>;

fn compiled(source: &str) -> Program {
    fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"))
}

/// What is found with states, and without.
fn both(program: &Program, options: &Options) -> [(Outcome, Finals); 2] {
    let machine = Machine::new(program, Points::All).telling_apart(Alike::Threads).telling_apart(Alike::Values);
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    let finals = Mutex::new(Finals::new());
    let add = |state: &<Machine<'_> as System>::State| {
        let mut bytes = Vec::new();
        machine.encode(state, &mut bytes);
        finals.lock().expect("no worker has panicked").insert(bytes);
    };
    let taken = || std::mem::take(&mut *finals.lock().expect("no worker has panicked"));
    let stored = stateful::search(&machine, options, &monitor, &|visit| {
        if visit.is_complete {
            add(visit.state);
        }
    });
    let of_states = taken();
    let run = stateless::search(&machine, options, &monitor, &|complete| {
        if complete.is_complete {
            add(complete.state);
        }
    });
    [(stored, of_states), (run, taken())]
}

/// The least cost of a bug, and where executions end if there is none.
fn said((outcome, finals): &(Outcome, Finals)) -> (Option<u32>, Option<&Finals>) {
    let bug = outcome.bug.as_ref().map(|bug| bug.cost);
    (bug, bug.is_none().then_some(finals))
}

#[test]
fn tasks_that_nobody_can_name_are_not_taken_for_buffers() {
    // The first task of the first buffer and that buffer differ by the kind of their names alone. Both may be delayed where both tasks
    // of the buffer wait, and the other buffer has opened: that the buffer is delayed does not break the assertion.
    let tasks = "var x: int; var open: bool; var other: bool; \
                 proc look() { await open; assert x != 0 || other; } \
                 buffer b0 { post look(); yield; await open; x = 1; } \
                 buffer b1 { open = true; other = true; }";
    let more = "var x: int; var open: bool; var other: bool; \
                proc look() { await open; assert x != 0 || other; } \
                proc note(n: int) { await open; x = n; } \
                proc more() { x = x + 1; } \
                buffer b0 { post look(); post note(1); yield; await open; x = 1; } \
                buffer f fifo { post note(1); post note(2); yield; spawn more(); } \
                buffer b1 { open = true; post note(3); yield; other = true; }";
    let cases: [(&str, u32, [&[u64]; 2]); 2] =
        [(tasks, 2, [&[1, 4, 12], &[1, 3, 8]]), (more, 3, [&[1, 16, 137, 840], &[1, 4, 16, 87]])];
    for (source, least, executions) in cases {
        for (scheduler, executions) in SCHEDULERS.into_iter().zip(executions) {
            let options = Options { bound: Bound::Delays, scheduler, max: Some(least), ..Options::default() };
            let [stored, run] = both(&compiled(source), &options);
            assert_eq!((said(&stored).0, said(&run).0), (Some(least), Some(least)), "{scheduler:?}\n{source}");
            let counted: Vec<u64> = run.0.levels.iter().map(|level| level.executions).collect();
            assert_eq!(counted, executions, "{scheduler:?}\n{source}");
        }
    }
}

/// Programs with more executions are left out.
const EXECUTIONS: u64 = 1000;

/// The least cost of a bug if there is one, and whether there is; `None` if a random program was left out.
fn compare(program: &Program, scheduler: SchedulerKind) -> Result<Option<Option<u32>>, String> {
    let options = Options {
        bound: Bound::Delays,
        scheduler,
        max: Some(2),
        executions: Some(EXECUTIONS),
        merges: false,
        ..Options::default()
    };
    let [stored, run] = both(program, &options);
    if run.0.cut == Some(Cut::Executions) {
        return Ok(None);
    }
    if said(&stored) == said(&run) && stored.0.cut.is_some() == run.0.cut.is_some() {
        return Ok(Some(said(&run).0));
    }
    Err(format!("{scheduler:?}: {:?} {:?} | {:?} {:?}", said(&stored), stored.0.cut, said(&run), run.0.cut))
}

#[test]
fn random_programs_have_the_answers_of_the_search_that_stores_states() {
    for shape in [Shape::Threads, Shape::Spawned, Shape::Tasks, Shape::Buffers, Shape::Queues] {
        let (mut compared, mut behind_delays) = (0, 0);
        for seed in 0..240 {
            let scheduler = SCHEDULERS[seed as usize % 2];
            let model = random(seed, shape);
            let differs = |model: &Model| {
                let program = fabius_lang::compile(&model.source(), &Default::default());
                program.is_ok_and(|program| compare(&program, scheduler).is_err())
            };
            match compare(&compiled(&model.source()), scheduler) {
                Ok(found) => {
                    compared += u32::from(found.is_some());
                    behind_delays += u32::from(found.flatten().is_some_and(|cost| cost > 0));
                }
                Err(_) => {
                    let small = model.shrink(differs).source();
                    panic!("{shape:?} {seed}: {:?}\n{small}", compare(&compiled(&small), scheduler));
                }
            }
        }
        assert!(
            compared > 230 && behind_delays > 0,
            "{shape:?}: {compared} compared, {behind_delays} bugs behind delays"
        );
    }
}
