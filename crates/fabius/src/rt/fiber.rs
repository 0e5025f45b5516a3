//! Fibers: the stacks that the threads of a test run on. A fiber runs one job after another, so that neither stacks nor
//! fibers are made anew for every execution.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use std::cell::RefCell;

/// What a fiber runs: the body of a thread, which catches its own panics.
pub(crate) type Job = Box<dyn FnOnce()>;

/// Where a running fiber gives control back.
pub(crate) type Exit = *const Yielder<(), ()>;

/// A fiber; it stays where it is in memory.
pub(crate) struct Fiber {
    coroutine: Coroutine<(), (), ()>,
    slot: Box<Slot>,
}

struct Slot {
    job: Option<Job>,
    exit: Exit,
    /// The address at which what jobs leave on the stack begins.
    top: usize,
}

thread_local! {
    #[allow(clippy::vec_box, reason = "a fiber that runs must not move")]
    static IDLE: RefCell<Vec<Box<Fiber>>> = const { RefCell::new(Vec::new()) };
}

/// Stack of a fiber in bytes; only what is used of it takes memory.
const STACK: usize = 2 << 20;

/// Idle fibers that are kept.
const KEPT: usize = 256;

impl Fiber {
    /// A fiber that will run the job when it is resumed, and where the job gives control back.
    pub fn start(job: Job) -> (Box<Fiber>, Exit) {
        let mut fiber = IDLE.with(|idle| idle.borrow_mut().pop()).unwrap_or_else(Fiber::new);
        fiber.slot.job = Some(job);
        let exit = fiber.slot.exit;
        (fiber, exit)
    }

    fn new() -> Box<Fiber> {
        let mut slot = Box::new(Slot { job: None, exit: std::ptr::null(), top: 0 });
        let shared: *mut Slot = &mut *slot;
        let stack = DefaultStack::new(STACK).expect("there is memory for the stack of a thread");
        let mut coroutine = Coroutine::with_stack(stack, move |exit: &Yielder<(), ()>, ()| {
            loop {
                // SAFETY: the slot lives as long as the fiber, and nobody else uses it while the fiber runs.
                let job = unsafe {
                    (*shared).exit = exit;
                    (*shared).top = std::ptr::from_ref(&exit) as usize;
                    (*shared).job.take()
                };
                if let Some(job) = job {
                    job();
                }
                exit.suspend(());
            }
        });
        // Runs to its first exit, which makes the exit known.
        coroutine.resume(());
        Box::new(Fiber { coroutine, slot })
    }

    /// Where the part of the stack begins that jobs use.
    pub fn top(&self) -> usize {
        self.slot.top
    }

    /// Runs the job until it gives control back or ends.
    pub fn resume(&mut self) {
        self.coroutine.resume(());
    }

    /// Takes back a fiber whose job has ended.
    pub fn retire(self: Box<Self>) {
        IDLE.with(|idle| {
            let mut idle = idle.borrow_mut();
            if idle.len() < KEPT {
                idle.push(self);
            }
        });
    }
}
