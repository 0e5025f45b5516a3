//! The pushdown system of each thread: what a statement does when only the top of the thread's stack is known.
//!
//! A control state is all that is not on a stack: shared and per-thread variables, who is alive, and who is in the middle of a
//! step. A symbol is the frame of an active procedure. What a frame does but return does not depend on what is beneath it, so
//! that it is found out by the reference semantics on a stack of this frame alone; a return is made with the caller beneath.
//!
//! Two things of what is beneath are known to a frame. Whether some caller is inside of `atomic` is part of its symbol (a frame
//! that is inside of one then stands beneath, for whoever asks). And whether there is a caller is known to who asks for a return.

use fabius_explore::system::{Choose, Fault, StepLog};
use fabius_explore::ways::Ways;
use fabius_lang::program::{Program, StmtKind};
use fabius_lang::walk::is_nothing;
use fabius_semantics::config::{Buffer, Config, Frame, Task};
use fabius_semantics::forget::Alive;
use fabius_semantics::layout::Layout;
use fabius_semantics::rules::{Effect, Small, initial_values};
use fabius_semantics::run::{chooses, ends_prefix, is_ready, next_statement, thread_stops};
use fabius_semantics::value::{TaskId, Value, scalars};
use fabius_trace::Points;
use std::collections::HashMap;
use std::hash::Hash;
use std::rc::Rc;

/// Number of a control state.
pub type Control = u32;
/// Number of a frame.
pub type Symbol = u32;

/// Who runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Nobody: any thread that is ready may be next.
    Rest,
    /// A thread is in a step, and has begun it with more than nothing or not.
    Step(TaskId, bool),
    /// A new thread does what comes before its first access; those after it are next.
    Prefix(TaskId),
}

/// What is not on a stack.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Shared {
    globals: Vec<Value>,
    /// Threads that have not finished, with their own variables.
    alive: Vec<(TaskId, Vec<Value>)>,
    started: bool,
    phase: Phase,
}

/// A frame, and whether one beneath it is inside of `atomic`.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Top {
    frame: Frame,
    within: bool,
}

/// What becomes of a step of the top of a stack.
#[derive(Clone, Debug)]
pub enum Next {
    /// These symbols stand where the top was, the new top last.
    Goes {
        /// The control state.
        control: Control,
        /// None if the thread has finished.
        frames: Vec<Symbol>,
        /// Threads that have begun, each with its only frame.
        born: Vec<(TaskId, Symbol)>,
        /// What was chosen.
        choices: Vec<u32>,
    },
    /// A bug, or a limit, after these choices.
    Fault(Fault, Vec<u32>),
}

/// What the top of a stack does.
#[derive(Clone)]
pub enum Move {
    /// This, whatever is beneath.
    Goes(Rc<[Next]>),
    /// It returns.
    Returns,
}

/// One way, and what it chooses.
struct Way<'a> {
    ways: &'a mut Ways,
    choices: Vec<u32>,
}

impl Choose for Way<'_> {
    fn choose(&mut self, alternatives: u32) -> u32 {
        let chosen = self.ways.choose(alternatives);
        self.choices.push(chosen);
        chosen
    }
}

/// Numbers for things.
struct Numbers<T> {
    of: HashMap<Rc<T>, u32>,
    all: Vec<Rc<T>>,
}

impl<T: Hash + Eq> Numbers<T> {
    fn new() -> Numbers<T> {
        Numbers { of: HashMap::new(), all: Vec::new() }
    }

    fn of(&mut self, thing: T) -> u32 {
        if let Some(n) = self.of.get(&thing) {
            return *n;
        }
        let (n, thing) = (self.all.len() as u32, Rc::new(thing));
        self.all.push(Rc::clone(&thing));
        self.of.insert(thing, n);
        n
    }
}

/// Values that all that has a number may hold together: about 200 MB.
const MOST: usize = 4_000_000;

/// The steps of a program.
pub struct Steps<'p> {
    program: &'p Program,
    layout: Layout,
    alive: Alive,
    controls: Numbers<Shared>,
    tops: Numbers<Top>,
    /// A frame that is inside of `atomic`, as it stands when it calls.
    within: Option<Frame>,
    moves: HashMap<(Control, Symbol), Move>,
    returns: HashMap<(Control, Symbol, Option<Symbol>), Rc<[Next]>>,
    ready: HashMap<(Control, TaskId, Symbol), bool>,
    /// Values of a control state, for each thread.
    size: usize,
}

impl<'p> Steps<'p> {
    /// Of a program whose threads are known, without tasks and objects.
    pub fn new(program: &'p Program) -> Steps<'p> {
        Steps {
            program,
            layout: Layout::of(program, Points::All),
            alive: Alive::of(program),
            controls: Numbers::new(),
            tops: Numbers::new(),
            within: None,
            moves: HashMap::new(),
            returns: HashMap::new(),
            ready: HashMap::new(),
            size: program.globals.iter().map(|g| scalars(program, &g.ty) as usize + 2).sum::<usize>() + 4,
        }
    }

    /// Whether there is more than anybody should remember.
    pub fn is_full(&self) -> bool {
        let locals = self.program.procs.iter().map(|p| p.locals.len()).max().unwrap_or(0);
        let threads = self.controls.all.last().map_or(1, |shared| shared.alive.len() + 1);
        let of_controls = self.controls.all.len().saturating_mul(self.size.saturating_mul(threads));
        let of_tops = self.tops.all.len().saturating_mul(locals + 8);
        let of_steps = (self.moves.len() + self.returns.len() + self.ready.len()).saturating_mul(4);
        of_controls.saturating_add(of_tops).saturating_add(of_steps) > MOST
    }

    /// Where executions begin, each with the only frames of the threads that there are.
    pub fn first(&mut self) -> (Control, Vec<(TaskId, Symbol)>) {
        let mut config = Config { globals: initial_values(self.program), ..Config::default() };
        let (mut ways, mut log) = (Ways::default(), StepLog::default());
        let program = self.program;
        let mut small = Small {
            program,
            layout: &self.layout,
            config: &mut config,
            n: 0,
            choose: &mut ways,
            log: &mut log,
            note: None,
        };
        match program.init {
            Some(init) => {
                let frame = small.fresh_frame(init);
                small.birth_of_thread(frame);
            }
            None => small.start(),
        }
        let born: Vec<TaskId> = log.born.iter().map(|b| b.task).collect();
        let phase = born.first().map_or(Phase::Rest, |first| Phase::Prefix(*first));
        let born = self.take_born(&mut config, &born);
        (self.control(&config, phase), born)
    }

    /// Who runs in a control state.
    pub fn phase(&self, control: Control) -> Phase {
        self.controls.all[control as usize].phase
    }

    /// The threads that have not finished.
    pub fn alive(&self, control: Control) -> impl Iterator<Item = TaskId> + use<> {
        let shared = Rc::clone(&self.controls.all[control as usize]);
        (0..shared.alive.len()).map(move |n| shared.alive[n].0)
    }

    /// The control state in which a thread begins a step.
    pub fn begun(&mut self, control: Control, thread: TaskId) -> Control {
        let shared = Shared { phase: Phase::Step(thread, false), ..(*self.controls.all[control as usize]).clone() };
        self.controls.of(shared)
    }

    /// Whether a thread may go on.
    pub fn is_ready(&mut self, control: Control, thread: TaskId, top: Symbol) -> bool {
        if let Some(is) = self.ready.get(&(control, thread, top)) {
            return *is;
        }
        let config = self.config(control, thread, None, top);
        let task = config.buffers[&thread].innermost().expect("it has not finished");
        let is = is_ready(self.program, &self.layout, &config, thread, task);
        self.ready.insert((control, thread, top), is);
        is
    }

    /// What the running thread does, whose top this is.
    pub fn step(&mut self, control: Control, top: Symbol) -> Move {
        if let Some(known) = self.moves.get(&(control, top)) {
            return known.clone();
        }
        let thread = self.running(control);
        let config = self.config(control, thread, None, top);
        let made = match self.stops(&config, control, thread) {
            Some(phase) => {
                let control = self.control(&config, phase);
                Move::Goes([Next::Goes { control, frames: vec![top], born: Vec::new(), choices: Vec::new() }].into())
            }
            None if self.returns_next(&config, thread) => Move::Returns,
            None => Move::Goes(self.ways(control, thread, config, 0)),
        };
        self.moves.insert((control, top), made.clone());
        made
    }

    /// What it does if it returns to this caller; without, it finishes.
    pub fn back(&mut self, control: Control, top: Symbol, caller: Option<Symbol>) -> Rc<[Next]> {
        if let Some(known) = self.returns.get(&(control, top, caller)) {
            return Rc::clone(known);
        }
        let thread = self.running(control);
        let config = self.config(control, thread, caller, top);
        let made = self.ways(control, thread, config, usize::from(caller.is_some()));
        self.returns.insert((control, top, caller), Rc::clone(&made));
        made
    }

    fn running(&self, control: Control) -> TaskId {
        match self.phase(control) {
            Phase::Step(thread, _) | Phase::Prefix(thread) => thread,
            Phase::Rest => unreachable!("somebody is asked to run"),
        }
    }

    /// Who is next, if the running thread goes no further.
    fn stops(&self, config: &Config, control: Control, thread: TaskId) -> Option<Phase> {
        let task = config.buffers[&thread].innermost().expect("it has not finished");
        match self.phase(control) {
            Phase::Step(_, has_begun) => {
                (has_begun && thread_stops(self.program, &self.layout, config, task)).then_some(Phase::Rest)
            }
            Phase::Prefix(_) => ends_prefix(self.program, task).then(|| behind(config, thread)),
            Phase::Rest => None,
        }
    }

    fn returns_next(&self, config: &Config, thread: TaskId) -> bool {
        let task = config.buffers[&thread].innermost().expect("it has not finished");
        next_statement(self.program, task).is_none_or(|s| matches!(s.kind, StmtKind::Return(_)))
    }

    /// All outcomes of the next statement and those behind it that have no choice, no call and no loop. `beneath` is how many
    /// frames below the top are known.
    fn ways(&mut self, control: Control, thread: TaskId, config: Config, beneath: usize) -> Rc<[Next]> {
        let mut ways = Ways::default();
        let mut all = Vec::new();
        loop {
            let mut way = Way { ways: &mut ways, choices: Vec::new() };
            let next = self.way(control, thread, config.clone(), beneath, &mut way);
            let chosen = way.choices;
            match next {
                Ok(Some(Next::Goes { control, frames, born, .. })) => {
                    all.push(Next::Goes { control, frames, born, choices: chosen });
                }
                Ok(_) => {}
                Err(fault) => all.push(Next::Fault(fault, chosen)),
            }
            if !ways.advance() {
                return all.into();
            }
        }
    }

    fn way(
        &mut self,
        control: Control,
        thread: TaskId,
        mut config: Config,
        beneath: usize,
        choose: &mut Way<'_>,
    ) -> Result<Option<Next>, Fault> {
        let program = self.program;
        let depth = config.buffers[&thread].stack[0].frames.len() - 1 - beneath;
        let mut phase = self.phase(control);
        loop {
            let task = config.buffers[&thread].innermost().expect("it has not finished");
            let next = next_statement(program, task);
            if let Phase::Step(_, has_begun) = &mut phase {
                *has_begun |= !next.is_some_and(is_nothing);
            }
            let mut log = StepLog::default();
            let mut small = Small {
                program,
                layout: &self.layout,
                config: &mut config,
                n: thread,
                choose,
                log: &mut log,
                note: None,
            };
            match small.statement()? {
                Effect::Went => {}
                Effect::Finished => {
                    let born: Vec<TaskId> = log.born.iter().map(|b| b.task).collect();
                    let phase = match (phase, born.first()) {
                        (_, Some(first)) => Phase::Prefix(*first),
                        (Phase::Prefix(_), None) => behind(&config, thread),
                        (_, None) => Phase::Rest,
                    };
                    let born = self.take_born(&mut config, &born);
                    let (control, frames) = (self.control(&config, phase), Vec::new());
                    return Ok(Some(Next::Goes { control, frames, born, choices: Vec::new() }));
                }
                Effect::Zielded => {
                    phase = Phase::Rest;
                    break;
                }
                Effect::Dropped | Effect::Blocked => return Ok(None),
                Effect::Yielded => unreachable!("threads alone do not yield"),
            }
            let task = config.buffers[&thread].innermost().expect("it goes on");
            let stops = match phase {
                Phase::Step(_, has_begun) => {
                    (has_begun && thread_stops(program, &self.layout, &config, task)).then_some(Phase::Rest)
                }
                Phase::Prefix(_) => ends_prefix(program, task).then(|| behind(&config, thread)),
                Phase::Rest => None,
            };
            if let Some(stops) = stops {
                phase = stops;
                break;
            }
            let ends = |kind: &StmtKind| {
                chooses(kind) || matches!(kind, StmtKind::While(..) | StmtKind::Call(..) | StmtKind::Return(_))
            };
            if next_statement(program, task).is_none_or(|s| ends(&s.kind)) {
                break;
            }
        }
        self.alive.forget(program, &mut config);
        let buffer = config.buffers.get_mut(&thread).expect("it goes on");
        let stack = std::mem::take(&mut buffer.stack[0].frames);
        let mut within = depth > 0;
        let mut frames = Vec::new();
        for frame in stack.into_iter().skip(depth) {
            let is_inside = frame.control.inside_atomic(&program.procs[frame.proc]);
            if is_inside && self.within.is_none() {
                self.within = Some(frame.clone());
            }
            frames.push(self.tops.of(Top { frame, within }));
            within |= is_inside;
        }
        Ok(Some(Next::Goes { control: self.control(&config, phase), frames, born: Vec::new(), choices: Vec::new() }))
    }

    /// A configuration of which only this is known of the stacks.
    fn config(&self, control: Control, thread: TaskId, caller: Option<Symbol>, top: Symbol) -> Config {
        let shared = &self.controls.all[control as usize];
        let buffer = |(id, own): &(TaskId, Vec<Value>)| {
            let task = Task { id: *id, level: 0, frames: Vec::new() };
            (*id, Buffer { own: own.clone(), stack: vec![task], pending: Vec::new() })
        };
        let mut config = Config {
            globals: shared.globals.clone(),
            buffers: shared.alive.iter().map(buffer).collect(),
            started: shared.started,
            ..Config::default()
        };
        let known = [caller, Some(top)].into_iter().flatten().map(|s| &self.tops.all[s as usize]);
        let mut frames: Vec<Frame> = known.clone().map(|t| t.frame.clone()).collect();
        if known.clone().next().is_some_and(|lowest| lowest.within) {
            frames.insert(0, self.within.clone().expect("somebody has called from inside of one"));
        }
        config.buffers.get_mut(&thread).expect("it has not finished").stack[0].frames = frames;
        config
    }

    fn control(&mut self, config: &Config, phase: Phase) -> Control {
        let alive = config.buffers.iter().map(|(id, buffer)| (*id, buffer.own.clone())).collect();
        self.controls.of(Shared { globals: config.globals.clone(), alive, started: config.started, phase })
    }

    fn take_born(&mut self, config: &mut Config, born: &[TaskId]) -> Vec<(TaskId, Symbol)> {
        let take = |id: &TaskId| {
            let buffer = config.buffers.get_mut(id).expect("it was just born");
            let frame = buffer.stack[0].frames.pop().expect("it has a frame");
            (*id, self.tops.of(Top { frame, within: false }))
        };
        born.iter().map(take).collect()
    }
}

/// Who is next when the prefix of a thread is over.
fn behind(config: &Config, thread: TaskId) -> Phase {
    config.buffers.keys().find(|id| **id > thread).map_or(Phase::Rest, |next| Phase::Prefix(*next))
}
