//! The examples: the correct ones have no failing execution, each seeded bug is found, with the least number of
//! preemptions that it takes.

#![allow(dead_code, reason = "an example's main")]

use fabius::{BugKind, Config, Report};

#[path = "../examples/arc.rs"]
mod arc;
#[path = "../examples/async_mutex.rs"]
mod async_mutex;
#[path = "../examples/michael_scott_queue.rs"]
mod michael_scott_queue;
#[path = "../examples/one_shot_channel.rs"]
mod one_shot_channel;
#[path = "../examples/work_stealing_deque.rs"]
mod work_stealing_deque;

fn is_clean(report: &Report) {
    assert!(!report.is_bug(), "{}", report.failure().unwrap_or_default());
    assert!(!matches!(report.verdict, fabius::Verdict::Unknown { .. }), "{report}");
    println!("{report}");
}

#[track_caller]
fn fails(report: &Report, kind: BugKind, cost: u32) {
    println!("{}", report.failure().unwrap_or_default());
    let found = report.trace().map(|t| (t.kind, t.cost));
    assert_eq!(found, Some((kind, cost)), "{report}");
}

#[test]
fn the_work_stealing_deque() {
    use work_stealing_deque::{Bug, scenario};
    let run = |bug| Config::new().iterative_preemptions().explore(move || scenario(bug));
    is_clean(&run(Bug::None));
    fails(&run(Bug::LastItemUncontested), BugKind::Panic, 2);
    fails(&run(Bug::PublishedTooEarly), BugKind::DataRace, 1);
}

#[test]
fn the_michael_scott_queue() {
    use michael_scott_queue::{Bug, scenario};
    let run = |bug| Config::new().preemptions(2).explore(move || scenario(bug));
    is_clean(&run(Bug::None));
    fails(&run(Bug::LinkedByStore), BugKind::Panic, 1);
    let whole = Config::new().explore(|| scenario(Bug::None));
    assert_eq!(whole.verdict, fabius::Verdict::Verified, "{whole}");
    fails(&run(Bug::FreedTooEarly), BugKind::Panic, 1);
}

#[test]
fn the_reference_counted_pointer() {
    use arc::{Bug, config, scenario};
    let run = |bug| config().iterative_preemptions().explore(move || scenario(bug));
    is_clean(&run(Bug::None));
    fails(&run(Bug::CountedInTwoSteps), BugKind::Leak, 1);
    fails(&run(Bug::GetMutWithoutLooking), BugKind::DataRace, 0);
}

#[test]
fn the_one_shot_channel() {
    use one_shot_channel::{Bug, scenario};
    let run = |bug| Config::new().iterative_preemptions().explore(move || scenario(bug));
    is_clean(&run(Bug::None));
    fails(&run(Bug::ReadyTooEarly), BugKind::DataRace, 1);
    fails(&run(Bug::WaitsWithoutLooking), BugKind::Deadlock, 1);
}

#[test]
fn the_mutex_for_tasks() {
    use async_mutex::{Bug, scenario};
    // A waker that stays behind after a late success is found with 5 preemptions.
    let run = |bug| Config::new().iterative_preemptions().explore(move || scenario(bug));
    is_clean(&run(Bug::None));
    fails(&run(Bug::WakerTooLate), BugKind::Deadlock, 2);
    fails(&run(Bug::TestThenSet), BugKind::Panic, 2);
}
