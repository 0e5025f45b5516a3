//! Stateless search whose first level is all that the bound allows: it makes the executions of a search level by level, and who ran
//! last goes on before anybody is preempted.

use fabius_explore::search::{Monitor, Options};
use fabius_explore::stateless;
use fabius_explore::system::{Access, Born, Choose, End, Fault, StepLog, System, TaskId};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// Threads that make so many steps each.
struct Steps([usize; 3]);

impl System for Steps {
    type State = Vec<TaskId>;

    fn initial(&self, _: &mut dyn Choose, log: &mut StepLog) -> Result<Vec<TaskId>, Fault> {
        log.born.extend((0..3).map(|task| Born { task, buffer: task, level: 0 }));
        Ok(Vec::new())
    }

    fn has_buffers(&self) -> bool {
        false
    }

    fn ready(&self, _: &Vec<TaskId>, _: TaskId) -> bool {
        true
    }

    fn next_access(&self, _: &Vec<TaskId>, _: TaskId) -> Option<Access> {
        None
    }

    fn step(&self, order: &mut Vec<TaskId>, task: TaskId, _: &mut dyn Choose, _: &mut StepLog) -> Result<End, Fault> {
        order.push(task);
        let made = order.iter().filter(|other| **other == task).count();
        Ok(if made == self.0[task as usize] { End::Finished } else { End::Point })
    }
}

/// All executions with at most two preemptions, in the order in which they are made, with what they cost.
fn executions(first_level: u32) -> Vec<(Vec<TaskId>, u32)> {
    let options = Options { max: Some(2), first_level, ..Options::default() };
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    let all = Mutex::new(Vec::new());
    let outcome = stateless::search(&Steps([3, 2, 3]), &options, &monitor, &|complete| {
        all.lock().expect("no worker has panicked").push((complete.state.clone(), complete.cost));
    });
    assert_eq!((outcome.bug, outcome.cut, outcome.completed), (None, None, Some(2)));
    all.into_inner().expect("no worker has panicked")
}

#[test]
fn nobody_is_preempted_before_who_ran_last_has_gone_on() {
    let (whole, by_level) = (executions(2), executions(0));
    assert_eq!(whole[0], (vec![0, 0, 0, 1, 1, 2, 2, 2], 0));
    assert!(whole[1].1 <= 1, "only the end of the second is another: {whole:?}");
    let sorted = |mut all: Vec<(Vec<TaskId>, u32)>| {
        all.sort();
        all
    };
    assert_eq!(sorted(whole), sorted(by_level));
}
