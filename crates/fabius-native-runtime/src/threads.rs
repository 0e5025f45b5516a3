//! The threads of an execution: their beginnings, scheduling points and ends.

use crate::op::{Op, Wait};
use crate::rt::{Failure, Rt, Thread, rt};
use crate::state::Place;
use crate::{heap, real::next};
use fabius_explore::system::Born;
use fabius_native_protocol::Event;
use fabius_trace::BugKind;

/// What the first function of a fiber is to call: a function and three arguments.
#[repr(C)]
pub struct Call([usize; 4]);

/// The arguments of `main`, and `main`.
pub static mut MAIN: (usize, usize, usize, usize) = (0, 0, 0, 0);

/// A fiber runs for the first time.
pub extern "C-unwind" fn begin(call: &mut Call) {
    // SAFETY: sets up tables of the C library for this thread.
    unsafe { next!(fn __ctype_init())() };
    let rt = rt();
    let me = rt.current;
    let thread = &rt.threads[me];
    // SAFETY: written before the program runs.
    let main = unsafe { MAIN };
    *call = if me == 0 { Call([main.0, main.1, main.2, main.3]) } else { Call([thread.function, thread.argument, 0, 0]) };
}

/// The function of a fiber has returned.
pub extern "C-unwind" fn returned(result: usize) {
    let rt = rt();
    if rt.current == 0 {
        crate::hooks::process::exit_here(result as i32, 0);
    }
    rt.me().result = result;
}

/// A thread ends, whether its function has returned or not.
pub extern "C-unwind" fn end() {
    // SAFETY: runs destructors of thread-local variables of C++.
    unsafe { next!(fn __call_tls_dtors())() };
    crate::hooks::keys::run_destructors();
    let me = rt().current;
    if me == 0 {
        // `pthread_exit` in the first thread: the process ends with the last one.
        rt().me().detached = true;
        point(Op::new("pthread_exit", 0).when(Wait::Others));
        crate::hooks::process::exit_here(0, 0);
    }
    rt().threads[me].finished = true;
    rt().fibers[me].leave();
    crate::say::fatal(&[b"a thread that has ended was run"]);
}

/// Makes a thread that will call the function; its number, or `None` if there are too many.
pub fn spawn(function: usize, argument: usize, detached: bool) -> Option<usize> {
    let rt = rt();
    let number = rt.threads.len();
    if number >= crate::fiber::MOST {
        return None;
    }
    if rt.fibers.len() <= number {
        // What the linker allocates for it outlives the execution.
        let before = crate::control::in_program();
        crate::control::set_in_program(false);
        let fiber = crate::fiber::Fiber::new(&rt.shape, number);
        crate::control::set_in_program(before);
        let fiber = fiber?;
        rt.fibers.push(fiber);
    }
    rt.fibers[number].reset(&rt.shape);
    let parent = (number > 0).then_some(rt.current);
    rt.clocks.born(parent, number);
    rt.threads.push(Thread {
        op: Op::new("begin", function),
        finished: false,
        detached,
        joined: false,
        cancelled: false,
        cancellable: true,
        result: 0,
        gave_way: false,
        woken: false,
        waits_for: 0,
        waits_since: 0,
        repeats: None,
        alone: 0,
        yields: 0,
        spins: false,
        place: Place::default(),
        function,
        argument,
        values: if number == 0 { rt.before.values.iter().copied().collect() } else { Default::default() },
        signals: Vec::new(),
        calls: Vec::new(),
    });
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
}

/// A scheduling point: announces the operation, and comes back when it is to be done.
pub fn point(op: Op) -> Waited {
    let rt = rt();
    let me = rt.current;
    let place = Place::here();
    // Where nobody called us, as at the end of a thread, there is no place.
    let place = if rt.fibers[me].holds(place.stack()) { place } else { Place::default() };
    let thread = &mut rt.threads[me];
    thread.op = op;
    thread.place = place;
    thread.gave_way |= op.deadline.is_some();
    let fiber = &mut rt.fibers[me];
    if place.stack() != 0 {
        fiber.lowest = fiber.lowest.min(place.stack());
    }
    fiber.leave();
    let rt = crate::rt::rt();
    let waited = match op.deadline {
        Some(deadline) if !rt.is_so(me, &op) => {
            rt.now = rt.now.max(deadline);
            Waited::TimedOut
        }
        _ => Waited::Done,
    };
    if rt.record {
        rt.event(Event {
            name: op.name.into(),
            address: op.object as u64,
            note: (waited == Waited::TimedOut).then(|| "times out".into()),
            ..rt.event_at(op.pc)
        });
    }
    while let Some(signal) = rt.me().signals.pop() {
        // SAFETY: the handler runs here, on the stack of the thread that was to get the signal.
        unsafe { next!(fn raise(i32) -> i32)(signal) };
    }
    waited
}

/// The thread gives way: others may go on for free.
pub fn give_way(name: &'static str, nanoseconds: u64, pc: usize) {
    let rt = rt();
    rt.now += nanoseconds;
    rt.me().gave_way = true;
    point(Op::new(name, pc));
}

/// The execution has failed; nothing of it runs any more.
pub fn fail(kind: BugKind, message: impl Into<String>, pc: usize) -> ! {
    let rt = rt();
    let at = rt.calls(pc);
    rt.failure.get_or_insert(Failure { kind, message: message.into(), at, line: None });
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

impl Rt {
    /// Whether what an operation waits for is so.
    pub fn is_so(&self, thread: usize, op: &Op) -> bool {
        use crate::hooks::{mutex, once, rwlock, semaphore};
        match op.wait {
            Wait::Not => true,
            Wait::Mutex => mutex::is_free(op.object, thread),
            Wait::Read => rwlock::is_free(op.object, false),
            Wait::Write => rwlock::is_free(op.object, true),
            Wait::Spin => rwlock::spin_is_free(op.object),
            Wait::Semaphore => semaphore::is_up(op.object),
            Wait::Woken => self.threads[thread].woken,
            Wait::End(other) => self.threads[other].finished,
            Wait::Once => once::is_free(op.object),
            Wait::Stream => self.streams.get(&op.object).is_none_or(|(owner, _)| *owner == thread),
            Wait::Guard => once::guard_is_free(op.object),
            Wait::File(file, events) => crate::hooks::files::is_ready(file, events),
            Wait::Others => self.threads.iter().enumerate().all(|(other, t)| other == thread || t.finished),
        }
    }

    /// Whether the thread's next step is possible.
    pub fn is_possible(&self, thread: usize) -> bool {
        let t = &self.threads[thread];
        !t.finished && (t.op.deadline.is_some() || self.is_so(thread, &t.op))
    }

    /// The same, but for one who repeats himself.
    pub fn is_ready(&self, thread: usize) -> bool {
        self.threads[thread].repeats != Some(self.steps) && self.is_possible(thread)
    }

    /// Who holds what an operation waits for.
    pub fn holder(&self, op: &Op) -> Option<usize> {
        match op.wait {
            Wait::Mutex => crate::hooks::mutex::owner(op.object),
            Wait::End(other) => Some(other),
            Wait::Stream => self.streams.get(&op.object).map(|(owner, _)| *owner),
            Wait::Read | Wait::Write => crate::hooks::rwlock::writer(op.object),
            _ => None,
        }
    }

    /// Whether all blocks of the heap were freed.
    pub fn leak(&self) -> Option<String> {
        let (blocks, bytes) = heap::left();
        let s = if blocks == 1 { "" } else { "s" };
        (self.settings.leaks && blocks > 0).then(|| format!("{blocks} block{s} of {bytes} bytes left at the end"))
    }
}
