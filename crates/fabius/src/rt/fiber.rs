//! Fibers: the stacks that the threads of a test run on. A fiber runs one job after another, so that neither stacks nor
//! fibers are made anew for every execution.
//!
//! The stack of a job that will never go on is kept as it is, without running destructors, as long as anything refers to
//! it: see `abandoned.rs`.

use super::count;
use corosensei::stack::{DefaultStack, Stack, StackPointer};
use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, Yielder};
use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// What a fiber runs: the body of a thread, which catches its own panics. It stays with whoever has made it until the fiber
/// runs for the first time, and is then moved to the fiber's stack: a box for each thread of each execution would cost more
/// than to switch to it.
pub(crate) struct Job<'a> {
    body: *mut (dyn FnMut() + 'static),
    lifetime: PhantomData<&'a mut ()>,
}

impl<'a> Job<'a> {
    /// This is called, once; it moves what it needs to where it runs.
    ///
    /// # Safety
    /// What it borrows while it runs outlives the thread.
    #[inline(always)]
    pub unsafe fn of(body: &'a mut (dyn FnMut() + 'a)) -> Job<'a> {
        // SAFETY: only the lifetime changes; `start` sees to it that it is called before that ends.
        let body = unsafe { std::mem::transmute::<*mut (dyn FnMut() + 'a), *mut (dyn FnMut() + 'static)>(body) };
        Job { body, lifetime: PhantomData }
    }
}

/// Where a running fiber gives control back.
pub(crate) type Exit = *const Yielder<(), ()>;

/// A fiber; it stays where it is in memory.
pub(crate) struct Fiber {
    coroutine: Coroutine<(), (), (), Shifted>,
    slot: Box<Slot>,
    stack: usize,
    /// How many panics unwind the stack; while it runs, that of who has resumed it.
    panics: usize,
}

/// A stack that does not begin at its highest address. All stacks are as large as a multiple of a page, so that what fibers
/// have on them would compete for the same lines of the processor's caches otherwise.
struct Shifted {
    base: StackPointer,
    stack: DefaultStack,
}

/// Where the next stack begins, whose highest address is given.
fn shifted(highest: StackPointer) -> StackPointer {
    let made = MADE.replace(MADE.get() + 1);
    StackPointer::new(highest.get() - made % SHIFTS * SHIFT).unwrap_or(highest)
}

/// Places where stacks begin, and bytes between them.
const SHIFTS: usize = 16;
const SHIFT: usize = 192;

// SAFETY: what lies below the base is part of the stack: it has more than a page.
unsafe impl Stack for Shifted {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.stack.limit()
    }

    #[cfg(windows)]
    fn teb_fields(&self) -> corosensei::stack::StackTebFields {
        self.stack.teb_fields()
    }

    #[cfg(windows)]
    fn update_teb_fields(&mut self, stack_limit: usize, guaranteed_stack_bytes: usize) {
        self.stack.update_teb_fields(stack_limit, guaranteed_stack_bytes);
    }
}

struct Slot {
    job: Option<*mut dyn FnMut()>,
    exit: Exit,
    /// The address at which what jobs leave on the stack begins.
    top: usize,
    bounds: Option<Bounds>,
}

/// Where the stack of a fiber lies.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// The lowest address, where the page begins that nobody may touch.
    lowest: usize,
    highest: usize,
    /// Bytes that can be used.
    pub size: usize,
    pub trap: CoroutineTrapHandler<()>,
}

#[cfg_attr(not(target_os = "linux"), expect(dead_code))]
impl Bounds {
    /// Whether a stack pointer points here.
    pub fn contains(&self, address: usize) -> bool {
        (self.lowest..=self.highest).contains(&address)
    }

    /// What is touched when the stack overflows.
    pub fn guard(&self) -> std::ops::Range<usize> {
        self.lowest..self.highest - self.size
    }
}

/// The fiber that runs on this operating system thread; not the one that has resumed it.
#[cfg_attr(not(target_os = "linux"), expect(dead_code))]
pub(super) fn running() -> Option<Bounds> {
    let slot = RUNNING.get();
    // SAFETY: a fiber that runs lives, and its bounds never change.
    if slot.is_null() { None } else { unsafe { (*slot).bounds } }
}

thread_local! {
    static RUNNING: Cell<*const Slot> = const { Cell::new(std::ptr::null()) };
    /// Fibers that were made.
    static MADE: Cell<usize> = const { Cell::new(0) };
}

/// Stack of a thread in bytes that does not say how much it needs, as in std; only what is used of it takes memory.
pub(crate) fn usual_stack() -> usize {
    static USUAL: OnceLock<usize> = OnceLock::new();
    *USUAL.get_or_init(|| {
        let given = std::env::var("RUST_MIN_STACK").ok().and_then(|bytes| bytes.parse().ok());
        given.unwrap_or(2 << 20)
    })
}

/// The largest stack that can be asked for.
const LARGEST: usize = isize::MAX as usize / 2;

/// Fibers whose jobs have ended, all with the usual stack, the highest of them last: so a thread has the same stack in as good as
/// every execution, whoever ended first in the one before. What is known of a round of a loop may hold on that stack alone. Each is
/// with where its stack begins, so that fibers that are not needed are not looked at.
#[derive(Default)]
pub(crate) struct Idle(Vec<(usize, Box<Fiber>)>);

/// As many as are kept.
const KEPT: usize = 1024;

impl Idle {
    /// Takes back a fiber whose job has ended.
    #[inline]
    pub fn add(&mut self, fiber: Box<Fiber>) {
        if self.0.len() < KEPT && fiber.stack == usual_stack() {
            let top = fiber.slot.top;
            let at = self.0.iter().rposition(|(other, _)| *other < top).map_or(0, |lower| lower + 1);
            self.0.insert(at, (top, fiber));
        }
    }
}

impl Fiber {
    /// A fiber that will run the job when it is resumed, with a stack of so many bytes, and where the job gives control
    /// back. Where memory is short, `free` gives back what others keep.
    ///
    /// # Errors
    /// If there is no memory or address space for the stack.
    ///
    /// # Safety
    /// The fiber is resumed before the lifetime of the job ends.
    #[inline]
    pub unsafe fn start(job: Job<'_>, stack: usize, idle: &mut Idle, free: fn()) -> io::Result<(Box<Fiber>, Exit)> {
        let known = if stack == usual_stack() { idle.0.pop() } else { None };
        let mut fiber = match known {
            Some((_, fiber)) => fiber,
            None => Fiber::new(stack, idle, free)?,
        };
        fiber.slot.job = Some(job.body);
        let exit = fiber.slot.exit;
        Ok((fiber, exit))
    }

    #[inline(never)]
    fn new(stack: usize, idle: &mut Idle, free: fn()) -> io::Result<Box<Fiber>> {
        let memory = DefaultStack::new(stack.min(LARGEST)).or_else(|_| {
            // What is kept for later is worth less than what is needed now.
            idle.0.clear();
            free();
            DefaultStack::new(stack.min(LARGEST))
        })?;
        let mut slot = Box::new(Slot { job: None, exit: std::ptr::null(), top: 0, bounds: None });
        let shared: *mut Slot = &mut *slot;
        let (lowest, highest) = (memory.limit().get(), memory.base().get());
        let memory = Shifted { base: shifted(memory.base()), stack: memory };
        let mut coroutine = Coroutine::with_stack(memory, move |exit: &Yielder<(), ()>, ()| {
            loop {
                // SAFETY: the slot lives as long as the fiber, and nobody else uses it while the fiber runs.
                let job = unsafe {
                    (*shared).exit = exit;
                    (*shared).top = std::ptr::from_ref(&exit) as usize;
                    (*shared).job.take()
                };
                if let Some(body) = job {
                    // SAFETY: by the contract of `start`, it is where it was then, and nobody else refers to it.
                    unsafe { (*body)() };
                }
                exit.suspend(());
            }
        });
        // Runs to its first exit, which makes the exit known.
        coroutine.resume(());
        slot.bounds = Some(Bounds { lowest, highest, size: stack, trap: coroutine.trap_handler() });
        Ok(Box::new(Fiber { coroutine, slot, stack, panics: 0 }))
    }

    /// Where the part of the stack begins that jobs use.
    pub fn top(&self) -> usize {
        self.slot.top
    }

    /// The addresses of the stack that can be used.
    pub fn stack(&self) -> std::ops::Range<usize> {
        self.slot.bounds.map_or(0..0, |bounds| bounds.guard().end..bounds.highest)
    }

    /// All memory that is the fiber's own.
    pub fn memory(&self) -> [std::ops::Range<usize>; 3] {
        let of = |address: usize, size: usize| address..address + size;
        let here = of(std::ptr::from_ref(self).addr(), size_of::<Fiber>());
        [self.stack(), here, of(std::ptr::from_ref(&*self.slot).addr(), size_of::<Slot>())]
    }

    /// Runs the job until it gives control back or ends. Inlined, because what returns behind a switch returns where the processor does
    /// not foretell.
    #[inline(always)]
    pub fn resume(&mut self, from: &Outside) {
        RUNNING.set(&raw const *self.slot);
        // SAFETY: it was asked on this operating system thread, which it does not leave.
        unsafe {
            // In between it is what the one has that resumes it.
            count::exchange(from.count, &mut self.panics);
            self.coroutine.resume(());
            count::exchange(from.count, &mut self.panics);
        }
    }
}

/// From where fibers are resumed, one or several, one after the other. That is not found out again for each of them.
pub(super) struct Outside {
    running: *const Slot,
    count: *mut usize,
}

impl Outside {
    /// Here.
    #[inline]
    pub fn here() -> Outside {
        Outside { running: RUNNING.get(), count: count::place() }
    }
}

impl Drop for Outside {
    #[inline]
    fn drop(&mut self) {
        RUNNING.set(self.running);
    }
}

impl Drop for Fiber {
    /// Gives the stack back. If its job has not ended, no destructor of what is on the stack runs: what that owns is
    /// leaked.
    fn drop(&mut self) {
        // SAFETY: its job has ended, or nobody refers to what is on the stack any more: `abandoned.rs` sees to that, to
        // whom all go whose job has not ended, but for the oldest of more than a thousand that stay: there a test must not
        // have lent out what was on it, which the documentation of the crate asks for. What has destructors is leaked.
        unsafe { self.coroutine.force_reset() };
        // The next stack may lie at the same place, and what is freed is not overwritten at once.
        // SAFETY: they are plain words.
        unsafe {
            (&raw mut self.slot.exit).write_volatile(std::ptr::null());
            (&raw mut self.slot.top).write_volatile(0);
            (&raw mut self.slot.bounds).write_volatile(None);
        }
    }
}
