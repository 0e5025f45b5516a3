//! Stateless search runs beginnings of executions again. A system that behaves differently then is another one, which is noticed:
//! otherwise a schedule would count as explored that has not been run.

use fabius_explore::search::{Bug, Cut, Monitor, Options, Outcome};
use fabius_explore::stateless;
use fabius_explore::system::{
    ANONYMOUS, Access, Born, BufferId, Choose, DECLARED_BUFFER, End, FIFO_BUFFER, Fault, StepLog, System, TaskId,
};
use fabius_trace::{Bound, BugKind, SchedulerKind, Span};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Tasks of one step each. In one execution the first of them leaves it to another to begin.
struct Toy {
    tasks: [(BufferId, TaskId); 3],
    executions: AtomicUsize,
    differs: Option<usize>,
    /// They must not run in this order.
    wrong: [usize; 3],
}

struct State {
    differs: bool,
    order: Vec<TaskId>,
}

const THREADS: [(BufferId, TaskId); 3] = [(0, 0), (1, 1), (2, 2)];

const TASKS: [(BufferId, TaskId); 3] = [
    (DECLARED_BUFFER, ANONYMOUS),
    (DECLARED_BUFFER, ANONYMOUS | 1),
    (DECLARED_BUFFER | FIFO_BUFFER | 1, ANONYMOUS | 2),
];

impl Toy {
    fn new(tasks: [(BufferId, TaskId); 3], differs: Option<usize>, wrong: [usize; 3]) -> Toy {
        Toy { tasks, executions: AtomicUsize::new(0), differs, wrong }
    }
}

impl System for Toy {
    type State = State;

    fn initial(&self, _: &mut dyn Choose, log: &mut StepLog) -> Result<State, Fault> {
        let execution = self.executions.fetch_add(1, Ordering::Relaxed);
        log.born.extend(self.tasks.map(|(buffer, task)| Born { task, buffer, level: 0 }));
        Ok(State { differs: self.differs == Some(execution), order: Vec::new() })
    }

    fn has_buffers(&self) -> bool {
        self.tasks.iter().any(|(buffer, task)| buffer != task)
    }

    fn ready(&self, state: &State, task: TaskId) -> bool {
        !(state.differs && state.order.is_empty() && task == self.tasks[0].1)
    }

    fn next_access(&self, _: &State, _: TaskId) -> Option<Access> {
        None
    }

    fn step(&self, state: &mut State, task: TaskId, _: &mut dyn Choose, _: &mut StepLog) -> Result<End, Fault> {
        state.order.push(task);
        let is_wrong = state.order == self.wrong.map(|number| self.tasks[number].1);
        if is_wrong { Err(Fault::Bug(BugKind::Assertion, Span::default())) } else { Ok(End::Finished) }
    }
}

/// What is found, and in which orders the tasks have run to the end.
fn search(toy: &Toy, scheduler: SchedulerKind, max: u32) -> (Outcome, BTreeSet<Vec<TaskId>>) {
    let options = Options { bound: Bound::Delays, max: Some(max), scheduler, ..Options::default() };
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    let orders = Mutex::new(BTreeSet::new());
    let outcome = stateless::search(toy, &options, &monitor, &|complete| {
        orders.lock().expect("no worker has panicked").insert(complete.state.order.clone());
    });
    (outcome, orders.into_inner().expect("no worker has panicked"))
}

const BOTH: [SchedulerKind; 2] = [SchedulerKind::RoundRobin, SchedulerKind::DepthFirst];

#[test]
fn a_schedule_that_was_another_one_when_it_was_run_is_not_explored() {
    for scheduler in BOTH {
        let wrong = [0, 2, 1];
        let found = search(&Toy::new(THREADS, None, wrong), scheduler, 1).0.bug.expect("one delay is enough");
        assert!(found.cost == 1 && matches!(found.what, Bug::Fault(BugKind::Assertion, _)), "{found:?}");
        // The second execution would be that one.
        let (outcome, _) = search(&Toy::new(THREADS, Some(1), wrong), scheduler, 1);
        assert_eq!((outcome.bug, outcome.cut), (None, Some(Cut::Nondeterminism)), "{scheduler:?}");
    }
}

/// The depth-first scheduler delays who waits as well: then the same follows.
#[test]
fn whichever_execution_is_another_it_is_noticed_or_nothing_is_left_out() {
    let mut noticed = 0;
    for tasks in [THREADS, TASKS] {
        for scheduler in BOTH {
            let never = [0, 0, 0];
            let (whole, orders) = search(&Toy::new(tasks, None, never), scheduler, 2);
            assert_eq!((whole.cut, whole.completed), (None, Some(2)));
            let executions = whole.levels.last().map_or(0, |level| level.executions) as usize;
            for differs in 1..executions {
                let (outcome, some) = search(&Toy::new(tasks, Some(differs), never), scheduler, 2);
                assert!(
                    outcome.cut == Some(Cut::Nondeterminism) || some == orders,
                    "{scheduler:?} {tasks:?}: execution {differs}: {some:?} of {orders:?}"
                );
                noticed += usize::from(outcome.cut.is_some());
            }
        }
    }
    assert_eq!(noticed, 9);
}
