//! The threads of an execution: how they are made, and their scheduling points.

use crate::control::count_call;
use crate::delivery;
use crate::looks;
use crate::op::{Op, Wait};
use crate::place::Place;
use crate::rt::{Failure, Thread, rt};
use fabius_explore::system::Born;
use fabius_native_protocol::Event;
use fabius_trace::BugKind;

/// Makes a thread that will call the function; its number, or `None` if there are too many.
pub fn spawn(function: usize, argument: usize, detached: bool) -> Option<usize> {
    let rt = rt();
    let number = rt.threads.len();
    if number >= crate::rooms::MOST {
        return None;
    }
    if rt.fibers.len() <= number {
        // What the linker allocates for it outlives the execution.
        let before = crate::control::in_program();
        crate::control::set_in_program(false);
        let fiber = crate::fiber::Fiber::new(rt.shape, number);
        crate::control::set_in_program(before);
        let fiber = fiber?;
        rt.fibers.push(fiber);
    }
    rt.fibers[number].reset(rt.shape);
    let parent = (number > 0).then_some(rt.current);
    rt.clocks.born(parent, number);
    rt.threads.push(Thread {
        op: Op::new("begin", function),
        finished: false,
        detached,
        is_timer: false,
        joined: false,
        cancelled: false,
        cancellable: true,
        asynchronous: false,
        result: 0,
        gave_way: false,
        woken: false,
        waits_for: 0,
        waits_since: 0,
        repeats: None,
        goes_round: None,
        look: None,
        looks_again: false,
        spins: false,
        place: Place::default(),
        function,
        argument,
        values: if number == 0 { rt.before.values.iter().copied().collect() } else { Default::default() },
        signals: Vec::new(),
        interrupted: Vec::new(),
        robust: Vec::new(),
        blocked: parent.map_or(0, |parent| rt.threads[parent].blocked),
        thrown: 0,
        calls: Vec::new(),
        left_at: 0,
        guests: Default::default(),
    });
    rt.free.push(true);
    rt.waiting.announces(number, &rt.threads[number].op);
    rt.streak.steps = 0;
    rt.born.push(Born { task: number as u32, buffer: number as u32, level: 0 });
    Some(number)
}

/// How an operation has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// What it waited for is so.
    Done,
    /// It gave up waiting.
    TimedOut,
    /// It was asked to end.
    Cancelled,
    /// A signal has come.
    Interrupted,
}

/// A scheduling point: announces the operation, and comes back when it is to be done. Signals that the thread is sent until then
/// are handled first, and the operation is announced again: what it waits for may not be so any more.
pub fn point(op: Op) -> Waited {
    let waits_for_signal = matches!(op.wait, Wait::Signal(_));
    let place = announce(op);
    while !waits_for_signal && !op.interrupted && delivery::is_asked(rt().current) {
        rt().is_interrupted();
        delivery::take();
        rt().goes_on_behind_handlers();
        if place.stack() != 0 {
            place.back();
        }
        announce(op);
    }
    crate::hooks::cancel::is_cancelled_before(&op);
    let rt = rt();
    let me = rt.current;
    let waited = match op.deadline {
        _ if rt.is_cancelled(me) && !rt.is_so(me, &op) => Waited::Cancelled,
        _ if op.interrupted && delivery::is_asked(me) && !rt.is_so(me, &op) => Waited::Interrupted,
        Some(deadline) if !rt.is_so(me, &op) => {
            rt.now = rt.now.max(deadline);
            Waited::TimedOut
        }
        _ => Waited::Done,
    };
    if rt.record {
        if place.stack() != 0 {
            place.back();
        }
        let (address, size) = op.place();
        rt.event(Event {
            name: op.name.into(),
            address,
            size,
            note: (waited == Waited::TimedOut).then(|| "times out".into()),
            ..rt.event_at(op.pc)
        });
    }
    if waits_for_signal {
        delivery::take_each();
    }
    waited
}

/// Tells what the thread does next, and lets the scheduler decide who goes on. Comes back when it is this thread.
#[inline(always)]
fn announce(op: Op) -> Place {
    count_call();
    let rt = rt();
    let me = rt.current;
    let place = Place::here();
    // Where nobody called us, as at the end of a thread, there is no place.
    let place = if rt.fibers[me].holds(place.stack()) { place } else { Place::default() };
    rt.free[me] = op.wait == Wait::Not;
    let thread = &mut rt.threads[me];
    thread.op = op;
    thread.place = place;
    thread.gave_way |= op.deadline.is_some();
    let fiber = &mut rt.fibers[me];
    if place.stack() != 0 {
        fiber.lowest = fiber.lowest.min(place.stack());
    }
    rt.waiting.announces(me, &op);
    if rt.threads[me].gave_way {
        rt.waiting.gives_way(me);
    }
    match rt.next_without_asking() {
        None => rt.fibers[me].leave(),
        Some(next) if next != me => {
            let (at, block) = rt.fibers[next].waits();
            rt.fibers[me].hand_on(at, block);
        }
        Some(_) => {}
    }
    place
}

/// The thread gives way: others may go on for free.
pub fn give_way(name: &'static str, nanoseconds: u64, pc: usize) {
    let only_looked = looks::has_only_looked();
    let rt = rt();
    rt.now += nanoseconds;
    rt.me().gave_way = true;
    point(Op::new(name, pc));
    if only_looked {
        looks::has_only_looked_still();
    }
}

/// Called where an execution fails: a debugger stops here. Its name is [`fabius_native_protocol::FAILS`].
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C-unwind" fn fabius_fails() {
    std::hint::black_box(());
}

/// The execution has failed; nothing of it runs any more.
pub fn fail(kind: BugKind, message: impl Into<String>, pc: usize) -> ! {
    let rt = rt();
    let at = rt.calls(pc);
    rt.failure.get_or_insert(Failure { kind, message: message.into(), at, line: None });
    fabius_fails();
    stop_here()
}

/// The execution cannot be followed further.
pub fn give_up(why: impl Into<String>) -> ! {
    rt().limit = Some(why.into());
    stop_here()
}

/// Something that cannot be done under control.
pub fn not_supported(name: &str) -> ! {
    give_up(format!("not supported: {name}"))
}

/// Leaves the fiber for good.
pub fn stop_here() -> ! {
    let rt = rt();
    let me = rt.current;
    rt.fibers[me].leave();
    crate::say::fatal(&[b"an execution that is over was continued"])
}
