//! The properties that Delay-Bounded Scheduling (POPL 2011), section 3, asks of schedulers, on random operations.

use fabius_explore::scheduler::{Given, Queue, View, is_deterministic, is_lossless};
use fabius_explore::system::TaskId;
use fabius_trace::SchedulerKind::{self, Bag, BoundedBag, DepthFirst, RoundRobin};

/// Which tasks wait, and which are equal: those with the same remainder.
struct World {
    waiting: Vec<TaskId>,
    kinds: TaskId,
}

impl View for World {
    fn ready(&self, task: TaskId) -> bool {
        !self.waiting.contains(&task)
    }

    fn same(&self, a: TaskId, b: TaskId) -> bool {
        a % self.kinds == b % self.kinds
    }
}

fn pending(queue: &Queue) -> Vec<TaskId> {
    let mut tasks = Vec::new();
    queue.pending(&mut tasks);
    tasks.sort_unstable();
    tasks
}

fn options(queue: &Queue, world: &World) -> Vec<TaskId> {
    let mut tasks = Vec::new();
    queue.options(world, &mut tasks);
    tasks
}

/// `check` sees the queue, the world and what should be pending after each operation.
fn on_random_operations(kind: SchedulerKind, check: impl Fn(&Queue, &World, &[TaskId])) {
    for seed in 0..300 {
        let mut rng = fastrand::Rng::with_seed(seed);
        // Different tasks, except for the lossy scheduler, which is about equal ones.
        let kinds = if is_lossless(kind) { TaskId::MAX } else { 3 };
        let mut world = World { waiting: Vec::new(), kinds };
        let (mut queue, mut model, mut next) = (Queue::new(kind), Vec::new(), 0);
        for _ in 0..40 {
            world.waiting = model.iter().copied().filter(|_| rng.u8(..4) == 0).collect();
            let offered: Vec<TaskId> = options(&queue, &world);
            match rng.u8(..5) {
                0 | 1 => {
                    queue.give(next, Given::Posted, &world);
                    model.push(next);
                    next += 1;
                }
                what if !offered.is_empty() => {
                    let task = offered[rng.usize(..offered.len())];
                    queue.take(task, &world);
                    model.retain(|t| *t != task);
                    if what == 3 {
                        queue.delay(task);
                        model.push(task);
                    } else if what == 4 {
                        queue.give(task, Given::Yielded, &world);
                        model.push(task);
                    }
                }
                _ => {}
            }
            if !is_lossless(kind) {
                // What a lossy scheduler has lost is gone.
                let kept = pending(&queue);
                model.retain(|t| kept.contains(t));
            }
            model.sort_unstable();
            check(&queue, &world, &model);
        }
    }
}

const ALL: [SchedulerKind; 4] = [Bag, BoundedBag(2), RoundRobin, DepthFirst];

#[test]
fn what_is_pending_is_what_was_given_and_not_taken() {
    for kind in ALL {
        on_random_operations(kind, |queue, world, model| {
            assert_eq!(pending(queue), model);
            assert!(options(queue, world).iter().all(|t| model.contains(t)));
        });
    }
}

#[test]
fn deterministic_schedulers_offer_one_task_and_the_bag_every_ready_one() {
    for kind in ALL {
        on_random_operations(kind, |queue, world, model| {
            let offered = options(queue, world);
            assert!(!is_deterministic(kind) || offered.len() <= 1);
            // Only the depth-first scheduler may offer a task that waits.
            assert!(kind == DepthFirst || offered.iter().all(|t| world.ready(*t)));
            if kind == Bag {
                assert_eq!(offered.len(), model.iter().filter(|t| world.ready(**t)).count());
            }
        });
    }
}

#[test]
fn every_ready_task_is_reached_by_delays() {
    for (kind, rounds) in [(RoundRobin, 1), (DepthFirst, 2)] {
        on_random_operations(kind, |queue, world, model| {
            for wanted in model.iter().filter(|t| world.ready(**t)) {
                let mut queue = queue.clone();
                let mut delays = 0;
                while options(&queue, world) != [*wanted] {
                    let task = options(&queue, world)[0];
                    queue.take(task, world);
                    queue.delay(task);
                    delays += 1;
                    assert!(delays <= rounds * model.len(), "{kind:?}");
                }
            }
        });
    }
}
