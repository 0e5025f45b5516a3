//! The properties that Delay-Bounded Scheduling (POPL 2011), section 3, asks of schedulers, on random operations.

use fabius_explore::scheduler::{Buffers, Delayed, Given, Levels, Pick, Queue, View, is_deterministic, is_lossless};
use fabius_explore::system::{DECLARED_BUFFER, End, FIFO_BUFFER, TaskId};
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

const LOSSLESS: [SchedulerKind; 3] = [Bag, RoundRobin, DepthFirst];

#[test]
fn levels_lose_nothing_and_offer_the_highest_only() {
    for kind in LOSSLESS {
        for seed in 0..300 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let world = World { waiting: Vec::new(), kinds: TaskId::MAX };
            let (mut levels, mut model) = (Levels::new(Queue::new(kind)), Vec::<(TaskId, u8)>::new());
            for task in 0..40 {
                let mut offered = Vec::new();
                levels.options(&world, &mut offered);
                if rng.bool() || offered.is_empty() {
                    let level = rng.u8(..3);
                    levels.give(task, level, Given::Posted, &world);
                    model.push((task, level));
                } else {
                    let task = offered[rng.usize(..offered.len())];
                    let level = levels.take(task, &world);
                    assert!(model.contains(&(task, level)), "{kind:?}");
                    match rng.u8(..4) {
                        0 => levels.interrupt(task, level),
                        1 => levels.give(task, level, Given::Yielded, &world),
                        2 => levels.delay(task, level),
                        _ => model.retain(|(t, _)| *t != task),
                    }
                }
                let mut pending = Vec::new();
                levels.tasks(&mut pending);
                pending.sort_unstable();
                let mut expected: Vec<TaskId> = model.iter().map(|(t, _)| *t).collect();
                expected.sort_unstable();
                assert_eq!(pending, expected, "{kind:?}");
                let highest = model.iter().map(|(_, level)| *level).max();
                offered.clear();
                levels.options(&world, &mut offered);
                assert!(offered.iter().all(|t| highest.is_some_and(|h| model.contains(&(*t, h)))), "{kind:?}");
                assert_eq!(offered.is_empty(), model.is_empty(), "{kind:?}");
                assert!(!is_deterministic(kind) || offered.len() <= 1, "{kind:?}");
            }
        }
    }
}

#[test]
fn buffers_lose_nothing_and_every_buffer_is_reached_by_delays() {
    for kind in LOSSLESS {
        for seed in 0..300 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let world = World { waiting: Vec::new(), kinds: TaskId::MAX };
            let (mut buffers, mut model) = (Buffers::new(kind), Vec::<Pick>::new());
            for task in 0..30 {
                let mut offered = Vec::new();
                buffers.options(&world, &mut offered);
                assert_eq!(offered.is_empty(), model.is_empty(), "{kind:?}");
                assert!(offered.iter().all(|pick| model.contains(pick)), "{kind:?}");
                assert!(!is_deterministic(kind) || offered.len() <= 1, "{kind:?}");
                if rng.bool() || offered.is_empty() {
                    let pick = Pick { buffer: DECLARED_BUFFER + rng.u32(..3), task };
                    buffers.post(pick, 0, None, &world);
                    model.push(pick);
                } else {
                    let pick = offered[rng.usize(..offered.len())];
                    let level = buffers.take(pick, &world);
                    let end = [End::Point, End::Yield, End::Finished][rng.usize(..3)];
                    if end == End::Finished {
                        model.retain(|p| *p != pick);
                    }
                    buffers.give_back(pick, level, end, &world);
                }
                let goals: Vec<u32> = model.iter().map(|p| p.buffer).collect();
                for wanted in goals.into_iter().filter(|_| is_deterministic(kind)) {
                    let mut buffers = buffers.clone();
                    let mut delays = 0;
                    loop {
                        let (mut offered, mut delayed) = (Vec::new(), Vec::new());
                        buffers.options(&world, &mut offered);
                        buffers.delays(&world, &mut delayed);
                        let other = delayed.iter().find(|d| matches!(d, Delayed::Buffer(_)));
                        let Some(other) = other.filter(|_| offered[0].buffer != wanted) else {
                            // A buffer whose task has finished or yielded goes on alone.
                            assert!(offered[0].buffer == wanted || other.is_none(), "{kind:?}");
                            break;
                        };
                        buffers.delay(*other, &world);
                        delays += 1;
                        assert!(delays <= 6, "{kind:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_queue_offers_who_came_first_and_nothing_in_it_is_delayed() {
    let buffer = DECLARED_BUFFER | FIFO_BUFFER;
    for kind in LOSSLESS.into_iter().chain([SchedulerKind::BoundedBag(1)]) {
        let mut buffers = Buffers::new(kind);
        // All are alike, and the second waits.
        let world = World { waiting: vec![7], kinds: 1 };
        for task in [9, 7, 8, 5] {
            buffers.post(Pick { buffer, task }, 0, None, &world);
        }
        let mut taken = Vec::new();
        for end in [End::Yield, End::Finished, End::Wait, End::Finished, End::Finished] {
            let (mut offered, mut delayed) = (Vec::new(), Vec::new());
            buffers.options(&world, &mut offered);
            buffers.delays(&world, &mut delayed);
            assert!(delayed.is_empty(), "{kind:?}");
            let [pick] = offered[..] else { panic!("{kind:?}: {offered:?}") };
            let level = buffers.take(pick, &world);
            buffers.give_back(pick, level, end, &world);
            taken.push(pick.task);
        }
        assert_eq!(taken, [9, 8, 5, 9, 5], "{kind:?}");
        let free = World { waiting: Vec::new(), kinds: 1 };
        let mut offered = Vec::new();
        buffers.options(&free, &mut offered);
        assert_eq!(offered, [Pick { buffer, task: 7 }], "{kind:?}");
    }
}
