//! The execution under way: one for the process.

use crate::clocks::Clocks;
use crate::connections::Connections;
use crate::cycles::{Cycles, Recent, Sight, Stacks, Unseen};
use crate::fiber::{Fiber, Shape};
use crate::image::Image;
use crate::interruptions::Interruptions;
use crate::op::{Op, Pending, Sent};
use crate::place::{Fixed, Place};
use crate::queues::Queues;
use crate::races::Races;
use crate::recorder::Recorder;
use crate::semaphores::Semaphores;
use crate::timer::Timer;
use crate::waiting::Waiting;
use crate::weaker::Weaker;
use fabius_explore::ahead::Ahead;
use fabius_explore::system::{Born, Choose};
use fabius_native_protocol::{Header, Isolation, MOST_DECISIONS, MOST_POINTS, Worker};
use fabius_trace::{Bound, BugKind, Points};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// How executions are run.
#[derive(Clone, Copy)]
pub struct Settings {
    /// Where threads may be switched.
    pub points: Points,
    /// What costs something.
    pub bound: Bound,
    /// Whether a data race ends the search.
    pub race_is_bug: bool,
    /// Whether memory that is left is a bug.
    pub leaks: bool,
    /// How an execution begins with what was there at the beginning.
    pub isolation: Isolation,
}

/// A thread of the program.
pub struct Thread {
    /// What it does next.
    pub op: Op,
    /// Whether it has ended.
    pub finished: bool,
    /// Whether nobody will join it.
    pub detached: bool,
    /// Whether it waits for the end of a timer: no thread of the program's.
    pub is_timer: bool,
    /// Whether somebody has.
    pub joined: bool,
    /// Whether it has been asked to end.
    pub cancelled: bool,
    /// Whether it may be asked to end.
    pub cancellable: bool,
    /// Whether it ends then wherever it is (`PTHREAD_CANCEL_ASYNCHRONOUS`).
    pub asynchronous: bool,
    /// What it returns.
    pub result: usize,
    /// It has given way, and has made no step since.
    pub gave_way: bool,
    /// It was woken.
    pub woken: bool,
    /// The condition or word that it waits for; 0: none.
    pub waits_for: usize,
    /// The step in which it began to wait for a condition: who waits longer is first in lists.
    pub waits_since: u64,
    /// It waits until another thread makes a step, because it repeats itself; the number of steps then.
    pub repeats: Option<u64>,
    /// It has come back to where it was by its own steps alone, and goes round once more; the number of steps then.
    pub goes_round: Option<u64>,
    /// What it has looked at last.
    pub look: Option<Sight>,
    /// It waits for no other value any more: to wait would lead to where nobody goes on.
    pub looks_again: bool,
    /// It was seen to repeat itself without giving way.
    pub spins: bool,
    /// Where it is.
    pub place: Place,
    /// What it runs.
    pub function: usize,
    /// With which argument.
    pub argument: usize,
    /// Values of its keys, with the generation of the key.
    pub values: HashMap<u32, usize, Fixed>,
    /// Signals that others sent it.
    pub signals: Vec<Sent>,
    /// Signals that it has blocked.
    pub blocked: u64,
    /// Where on its stack it was interrupted by handlers of signals that have not returned.
    pub interrupted: Vec<usize>,
    /// Robust mutexes that it holds.
    pub robust: Vec<usize>,
    /// Where it has thrown an exception last.
    pub thrown: usize,
    /// Calls that are under way and where on the stack, if they are written down.
    pub calls: Vec<(usize, usize)>,
    /// Where its function was left, if that is written down; 0: it is not known.
    pub left_at: usize,
    /// When others have used its stack or its thread-local variables last: who, and which eight bytes.
    pub guests: HashMap<(usize, usize), u64, Fixed>,
}

/// The steps that one thread has made since another one made one.
#[derive(Clone, Copy, Default)]
pub struct Streak {
    /// Who.
    pub thread: usize,
    /// How many; what cannot be done twice, as to make or join a thread, begins again.
    pub steps: u32,
    /// In how many of them it gave way.
    pub yields: u32,
    /// For so many steps more it is seen whether it comes back, because it may.
    pub watched: u32,
    /// How often that was so.
    pub doubts: u32,
}

/// A thread has gone on from a state.
#[derive(Clone, Copy)]
pub struct Left {
    /// In which step first.
    pub step: u64,
    /// In how many steps of its streak it had given way.
    pub yields: u32,
    /// Accesses until then to what may not be the thread's alone, if they are counted.
    pub shared: Option<u64>,
    /// How often it has come back since.
    pub rounds: u32,
}

/// What was set up before `main`.
#[derive(Clone, Default)]
pub struct Before {
    /// What is to be done when the process ends.
    pub at_exit: Vec<(usize, usize)>,
    /// Keys: destructors.
    pub keys: Vec<Option<usize>>,
    /// The first thread's values of them.
    pub values: Vec<(u32, usize)>,
}

/// Why an execution failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What kind.
    pub kind: BugKind,
    /// In words.
    pub message: String,
    /// Where: the calls it is in.
    pub at: Vec<u64>,
    /// The file and line of a failed assertion.
    pub line: Option<(String, u32)>,
}

/// Everything.
pub struct Rt {
    /// What fibers look like.
    pub shape: &'static Shape,
    /// The program's beginning.
    pub image: &'static Image,
    /// Fibers by number of thread; there may be more of them than threads.
    pub fibers: Vec<Fiber>,
    /// The threads of the execution.
    pub threads: Vec<Thread>,
    /// For each thread, whether it waits for nothing: nobody has to ask further.
    pub free: Vec<bool>,
    /// What the first threads have announced.
    pub waiting: Waiting,
    /// Steps that are made without asking.
    pub ahead: Ahead,
    /// Who runs.
    pub current: usize,
    /// The steps made last.
    pub streak: Streak,
    /// The step after which somebody was last seen to repeat himself; 0: never.
    pub repeated: u64,
    /// How to run.
    pub settings: Settings,
    /// Who decides choices within the step.
    pub choose: Option<*mut dyn Choose>,
    /// Threads born in the step.
    pub born: Vec<Born>,
    /// The process would have ended.
    pub over: bool,
    /// A bug.
    pub failure: Option<Failure>,
    /// Why the execution cannot be followed further, though it has no bug.
    pub limit: Option<String>,
    /// Everything that was not explored, and why.
    pub limits: HashSet<String, Fixed>,
    /// What atomic operations ask for.
    pub weaker: Weaker,
    /// Virtual time in nanoseconds since the beginning.
    pub now: u64,
    /// Whether the program has ever looked at the time.
    pub clock_read: bool,
    /// Steps of the execution.
    pub steps: u64,
    /// What happened before what.
    pub clocks: Clocks,
    /// Data races.
    pub races: Races,
    /// Accesses of handlers of signals, and of what they interrupt.
    pub interruptions: Interruptions,
    /// Locations were found that must be points: the search begins again.
    pub again: bool,
    /// Locations where races are seen become no points any more: a schedule is run that fits the points that there are.
    pub points_are_fixed: bool,
    /// The order of steps is seen otherwise than by what they announce: nothing may be left out.
    pub unannounced: bool,
    /// Whether what happens is written down.
    pub record: bool,
    /// What has happened.
    pub recorder: Recorder,
    /// What is to be done when the process ends, in order: functions, arguments.
    pub at_exit: Vec<(usize, usize)>,
    /// Keys of thread-specific values: destructors.
    pub keys: Vec<Option<usize>>,
    /// What both were before `main`.
    pub before: Before,
    /// Handlers of signals were changed.
    pub handlers: Vec<(i32, libc::sigaction)>,
    /// The program handles signals on a stack of its own.
    pub has_signal_stack: bool,
    /// Timers.
    pub timers: Vec<Timer>,
    /// Children of `fork`, as the kernel calls them.
    pub children: Vec<i32>,
    /// Signals sent to the process that no thread has taken yet.
    pub signals: Vec<Pending>,
    /// Random numbers that the program asked for.
    pub random: u64,
    /// States from which threads went on.
    pub left: HashMap<(usize, u64), Left, Fixed>,
    /// Where the running thread was.
    pub recent: Recent,
    /// By place what is known of loops that look, over all executions.
    pub unseen: HashMap<usize, Unseen, Fixed>,
    /// The step after which each thread's next step was possible last, since there are such states.
    pub possible: Vec<u64>,
    /// What is known where threads may go round.
    pub cycles: Cycles,
    /// Stacks that others use, and those that it matters of.
    pub stacks: Stacks,
    /// The state after the last step, if it was looked at.
    pub seen_state: Option<u64>,
    /// What the other process sees.
    pub header: &'static Header,
    /// Which worker this is.
    pub number: usize,
    /// The first process, which the others do not outlive.
    pub process: u32,
    /// Decisions of the execution under way, for the other process.
    pub decisions: *mut u32,
    /// And of data that are points.
    pub points: *mut u64,
    /// A thread had to wait for others that did not repeat itself: not everything was explored.
    pub unfair: bool,
    /// What the program has mapped.
    pub mapped: Vec<Range<usize>>,
    /// Of which pages it has changed who may use them.
    pub protected: Vec<Range<usize>>,
    /// What it must not read now.
    pub unreadable: Vec<Range<usize>>,
    /// It has mapped a file, behind whose end there is nothing to look at.
    pub maps_file: bool,
    /// Bytes that it has read from files and written to pipes, and how often it has changed who may use memory.
    pub moved: u64,
    /// Pipes, pairs of sockets and events that it has used.
    pub connections: Connections,
    /// Message queues.
    pub queues: Queues,
    /// Semaphores of System V.
    pub semaphores: Semaphores,
    /// Streams that are locked by `flockfile`: by whom, and how often.
    pub streams: HashMap<usize, (usize, u32), Fixed>,
    /// Whether what the program prints is shown.
    pub shows_output: bool,
    /// It may have opened and closed files.
    pub uses_files: bool,
    /// What happened that restoring memory does not undo.
    pub not_restored: Option<String>,
    /// Descriptors that were open before `main`, in order.
    pub open: Vec<u32>,
    /// Those of them that the program has closed.
    pub closed: HashSet<u32, Fixed>,
}

static RT: AtomicPtr<Rt> = AtomicPtr::new(std::ptr::null_mut());

/// The execution under way.
#[inline(always)]
pub fn rt() -> &'static mut Rt {
    // SAFETY: set before the program runs; there is one thread, and nobody keeps what this gives over a switch.
    unsafe { &mut *RT.load(Relaxed) }
}

/// The program begins to be run under control.
pub fn set(rt: *mut Rt) {
    RT.store(rt, Relaxed);
    crate::control::set_running();
}

impl Rt {
    /// The thread that runs.
    #[inline(always)]
    pub fn me(&mut self) -> &mut Thread {
        &mut self.threads[self.current]
    }

    /// The thread does nothing any more.
    pub fn finishes(&mut self, thread: usize) {
        self.threads[thread].finished = true;
        self.free[thread] = false;
        self.waiting.ends(thread);
        for pending in self.signals.iter_mut().filter(|pending| pending.told == Some(thread)) {
            pending.bystanders.clear();
        }
    }

    /// One of so many alternatives, as the search decides.
    pub fn choose(&mut self, alternatives: u32) -> u32 {
        match self.choose {
            // SAFETY: the pointer is valid during the step, and choices are made only in one.
            Some(choose) if alternatives > 1 => {
                let chosen = unsafe { (*choose).choose(alternatives) };
                // Of several steps only the last makes choices.
                self.ahead.steps = 0;
                self.decided(chosen | fabius_native_protocol::CHOICE);
                chosen
            }
            _ => 0,
        }
    }

    /// From now on accesses to these eight bytes are scheduling points. Whether that is news.
    pub fn mark(&mut self, address: usize) -> bool {
        let news = self.races.mark(address);
        if news {
            let number = self.header.data_points.fetch_add(1, Relaxed) as usize;
            if number < MOST_POINTS {
                // SAFETY: there is room for that many.
                unsafe { *self.points.add(number) = address as u64 };
            }
        }
        news
    }

    /// Threads may be switched elsewhere, too: the search ends, and begins again.
    pub fn search_again(&mut self) {
        self.again = true;
        self.header.halt.store(true, Relaxed);
    }

    /// What the other process sees of this worker.
    #[inline(always)]
    pub fn worker(&self) -> &'static Worker {
        &self.header.workers[self.number]
    }

    /// Tells the other process of a decision.
    pub fn decided(&mut self, decision: u32) {
        let at = self.worker().decisions.load(Relaxed) as usize;
        if at < MOST_DECISIONS {
            // SAFETY: there is room for that many.
            unsafe { *self.decisions.add(at) = decision };
            self.worker().decisions.store(at as u32 + 1, Relaxed);
        }
    }
}

impl Rt {
    /// The same for another worker, without what was found out so far but the data that are points.
    pub fn twin(&self, number: usize) -> Rt {
        let mut twin = Rt {
            fibers: self.fibers.clone(),
            number,
            decisions: self.decisions.wrapping_add(number * MOST_DECISIONS),
            before: self.before.clone(),
            open: self.open.clone(),
            clock_read: self.clock_read,
            // What the last execution has left is in the copy of the process, too.
            mapped: self.mapped.clone(),
            protected: self.protected.clone(),
            handlers: self.handlers.clone(),
            ..Rt::new(self.shape, self.image, self.settings, self.header)
        };
        (twin.process, twin.points, twin.shows_output) = (self.process, self.points, self.shows_output);
        for address in &self.races.marked {
            twin.races.mark(*address as usize);
        }
        twin.races.raced.clone_from(&self.races.raced);
        twin
    }

    /// Learns what another worker has found out.
    pub fn learn(&mut self, other: &Rt) {
        for address in &other.races.marked {
            self.races.mark(*address as usize);
        }
        other.races.raced.iter().for_each(|address| _ = self.races.races_at(*address as usize));
        self.again |= other.again;
        self.unannounced |= other.unannounced;
        self.unfair |= other.unfair;
        self.stacks.used |= other.stacks.used;
        self.stacks.relied_on |= other.stacks.relied_on;
        self.clock_read |= other.clock_read;
        self.limits.extend(other.limits.iter().cloned());
        self.weaker.learn(other.weaker);
        self.not_restored = self.not_restored.take().or_else(|| other.not_restored.clone());
    }

    /// Before the first execution.
    pub fn new(shape: &'static Shape, image: &'static Image, settings: Settings, header: &'static Header) -> Rt {
        Rt {
            shape,
            image,
            settings,
            header,
            fibers: Vec::new(),
            threads: Vec::new(),
            free: Vec::new(),
            waiting: Waiting::default(),
            ahead: Ahead::default(),
            current: 0,
            streak: Streak::default(),
            repeated: 0,
            choose: None,
            born: Vec::new(),
            over: false,
            failure: None,
            limit: None,
            limits: HashSet::default(),
            weaker: Weaker::default(),
            now: 0,
            clock_read: false,
            steps: 0,
            clocks: Clocks::default(),
            races: Races::new(),
            interruptions: Interruptions::default(),
            again: false,
            points_are_fixed: false,
            unannounced: false,
            record: false,
            recorder: Recorder::default(),
            at_exit: Vec::new(),
            keys: Vec::new(),
            before: Before::default(),
            handlers: Vec::new(),
            has_signal_stack: false,
            timers: Vec::new(),
            children: Vec::new(),
            signals: Vec::new(),
            random: 0,
            left: HashMap::default(),
            possible: Vec::new(),
            recent: Recent::default(),
            unseen: HashMap::default(),
            cycles: Cycles::default(),
            stacks: Stacks::default(),
            seen_state: None,
            number: 0,
            process: 0,
            decisions: std::ptr::null_mut(),
            points: std::ptr::null_mut(),
            unfair: false,
            mapped: Vec::new(),
            protected: Vec::new(),
            unreadable: Vec::new(),
            maps_file: false,
            moved: 0,
            connections: Connections::default(),
            queues: Queues::default(),
            semaphores: Semaphores::default(),
            streams: HashMap::default(),
            shows_output: false,
            uses_files: false,
            not_restored: None,
            open: Vec::new(),
            closed: HashSet::default(),
        }
    }
}
