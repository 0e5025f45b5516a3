//! A node of a search: a dispatch point of an execution, and how a move leads from one to the next.
//!
//! Length: everything that happens to a node in one move.

use crate::dispatcher::{Compare, Dispatcher, Last, Move, Seen, cost, last, moves};
use crate::order::Order;
use crate::passed::{Arrival, Passed};
use crate::race::{Detector, Race, Runner};
use crate::scheduler::Pick;
use crate::search::{Bug, Cut, Options};
use crate::system::{ANONYMOUS, BufferId, Choose, End, Fault, Limit, Snapshot, StepLog, System, TaskId, Usual};
use fabius_trace::{Bound, WIDE_PARTS, wide_of_parts};

/// A dispatch point: no task is running.
#[derive(Debug)]
pub(crate) struct Node<T> {
    /// The state of the system.
    pub state: T,
    /// The scheduler.
    pub dispatcher: Dispatcher,
    /// The race detector, where races are asked for.
    pub detector: Option<Detector>,
    /// Which thread or buffer ran last; `None` at the beginning.
    pub ran: Option<BufferId>,
    /// In order of creation, where rounds are counted.
    pub order: Order,
}

impl<T: Clone> Clone for Node<T> {
    fn clone(&self) -> Node<T> {
        Node {
            state: self.state.clone(),
            dispatcher: self.dispatcher.clone(),
            detector: self.detector.clone(),
            ran: self.ran,
            order: self.order.clone(),
        }
    }

    fn clone_from(&mut self, from: &Node<T>) {
        self.state.clone_from(&from.state);
        self.dispatcher.clone_from(&from.dispatcher);
        self.detector.clone_from(&from.detector);
        self.ran = from.ran;
        self.order.clone_from(&from.order);
    }
}

/// What a search works with.
pub(crate) struct Context<'a, S: System> {
    pub system: &'a S,
    pub options: &'a Options,
    pub compare: Compare<S>,
    /// Whether states that differ only by the names of threads are one: see `symmetry.rs`.
    pub is_symmetric: bool,
    /// Whether steps that nobody else sees are joined to the one before: see `joined.rs`.
    pub joins: bool,
}

/// Why a move did not lead to another node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stop {
    /// A bug.
    Bug(Bug),
    /// A limit inside the program.
    Cut(Cut),
    /// An assumption failed.
    Dropped,
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        match fault {
            Fault::Bug(kind, span) => Stop::Bug(Bug::Fault(kind, span)),
            Fault::Limit(Limit::Time, _) => Stop::Cut(Cut::Time),
            Fault::Limit(Limit::Memory, _) => Stop::Cut(Cut::Memory),
            Fault::Limit(Limit::Interrupted, _) => Stop::Cut(Cut::Interrupted),
            Fault::Limit(limit, span) => Stop::Cut(Cut::Program(limit, span)),
        }
    }
}

impl From<Race> for Stop {
    fn from(race: Race) -> Stop {
        Stop::Bug(Bug::Race(race))
    }
}

impl<'a, S: System> Context<'a, S> {
    pub fn view<'b>(&'b self, state: &'b S::State) -> Seen<'b, S> {
        Seen { system: self.system, state, compare: self.compare }
    }

    /// A log as this search wants it filled.
    pub fn log(&self) -> StepLog {
        let races = self.options.races.is_some();
        StepLog { want_accesses: races, wants_races: races, ..StepLog::default() }
    }

    /// The first dispatch point.
    pub fn initial(&self, choose: &mut dyn Choose, log: &mut StepLog) -> Result<Node<S::State>, Stop> {
        self.initial_in(None, choose, log)
    }

    /// The same, in the memory of a dispatcher of this search in which nothing is pending.
    pub fn initial_in(
        &self,
        memory: Option<Dispatcher>,
        choose: &mut dyn Choose,
        log: &mut StepLog,
    ) -> Result<Node<S::State>, Stop> {
        log.clear();
        let state = self.system.initial(choose, log)?;
        let mut dispatcher =
            memory.unwrap_or_else(|| Dispatcher::new(self.options.scheduler, self.system.has_buffers()));
        match self.system.has_init() {
            true => dispatcher.start_behind(&log.born, &self.view(&state)),
            false => dispatcher.start(&log.born, &self.view(&state)),
        }
        let mut detector = self.options.races.map(|conflict| Detector::new(conflict, &self.system.orders()));
        for born in &log.born {
            detector.iter_mut().for_each(|d| d.born(None, born));
        }
        let mut order = Order::default();
        if self.counts_rounds() {
            order.born(&log.born);
        }
        Ok(Node { state, dispatcher, detector, ran: None, order })
    }

    /// Makes a move. Says how the step ended, if it was one.
    #[inline(always)]
    pub fn apply(
        &self,
        node: &mut Node<S::State>,
        mv: Move,
        choose: &mut dyn Choose,
        log: &mut StepLog,
    ) -> Result<Option<End>, Stop> {
        log.clear();
        match mv {
            Move::Run(pick) => self.run(node, pick, choose, log).map(Some),
            Move::Delay(delayed) => {
                node.dispatcher.delay(delayed, &self.view(&node.state));
                Ok(None)
            }
        }
    }

    #[inline(always)]
    fn run(
        &self,
        node: &mut Node<S::State>,
        pick: Pick,
        choose: &mut dyn Choose,
        log: &mut StepLog,
    ) -> Result<End, Stop> {
        // A bag of threads is the same before and after.
        let is_bag = node.dispatcher.is_bag();
        let level = if is_bag { 0 } else { node.dispatcher.take(pick, &self.view(&node.state)) };
        let end = self.system.step(&mut node.state, pick.task, choose, log);
        node.dispatcher.went_ahead(&log.lives, &self.view(&node.state));
        let end = end.map_err(|fault| self.stopped(node, pick, log, fault))?;
        let last = self.system.last_of_step(&node.state).filter(|_| is_bag);
        let pick = last.map_or(pick, |last| Pick { buffer: last, task: last });
        if is_bag
            && end == End::Point
            && log.born.is_empty()
            && log.finished.is_empty()
            && !self.counts_rounds()
            && node.detector.is_none()
        {
            node.ran = Some(pick.buffer);
            return Ok(end);
        }
        if end == End::Dropped {
            return Err(self.dropped(node, pick, log));
        }
        let view = self.view(&node.state);
        node.dispatcher.born(&log.born, Some(pick.buffer), &view);
        if !is_bag {
            node.dispatcher.give_back(pick, level, end, &view);
        } else if end == End::Finished {
            node.dispatcher.take(pick, &view);
        }
        for task in &log.finished {
            let other = Pick { buffer: *task, task: *task };
            node.dispatcher.remove(other);
        }
        node.ran = Some(pick.buffer);
        if self.counts_rounds() {
            node.order.ran(pick.buffer);
            log.finished.iter().for_each(|task| node.order.gone(*task));
            if end == End::Finished && !node.dispatcher.has_unit(pick.buffer) {
                node.order.gone(pick.buffer);
            }
            node.order.born(&log.born);
        }
        if let Some(detector) = &mut node.detector {
            let runner = Runner { task: pick.task, buffer: pick.buffer };
            log.fresh.iter().for_each(|variables| detector.forget_data(variables));
            detector.step(runner, &log.accesses)?;
            log.born.iter().for_each(|born| detector.born(Some(runner), born));
            if end == End::Finished {
                detector.finished(runner);
                if !node.dispatcher.has_unit(pick.buffer) {
                    detector.gone(pick.buffer);
                }
            }
        }
        Ok(end)
    }

    /// What is not followed any further may begin with a race, as an access to what another thread has freed does.
    #[cold]
    fn stopped(&self, node: &mut Node<S::State>, pick: Pick, log: &StepLog, fault: Fault) -> Stop {
        let stop = Stop::from(fault);
        let (Stop::Cut(Cut::Program(..)), Some(detector)) = (stop, &mut node.detector) else { return stop };
        let runner = Runner { task: pick.task, buffer: pick.buffer };
        log.fresh.iter().for_each(|variables| detector.forget_data(variables));
        detector.step(runner, &log.accesses).map_or_else(Stop::from, |()| stop)
    }

    /// The assumption that has failed depends on what was read, which was read in vain if that races. What was written was
    /// written by nobody.
    fn dropped(&self, node: &mut Node<S::State>, pick: Pick, log: &mut StepLog) -> Stop {
        let Some(detector) = &mut node.detector else { return Stop::Dropped };
        let runner = Runner { task: pick.task, buffer: pick.buffer };
        detector.dropped(runner, log).map_or_else(Stop::from, |()| Stop::Dropped)
    }

    /// All moves from here.
    pub fn moves(&self, node: &Node<S::State>, out: &mut Vec<Move>) {
        out.clear();
        moves(self.options.bound, self.options.scheduler, &node.dispatcher, &self.view(&node.state), out);
    }

    /// Who ran last, as far as it matters.
    pub fn last(&self, node: &Node<S::State>) -> Last {
        if self.counts_rounds() {
            return Last::At(node.order.at);
        }
        last(self.options.bound, node.ran, &node.dispatcher, &self.view(&node.state))
    }

    /// The same where all moves from here are known.
    #[inline]
    pub fn last_among(&self, node: &Node<S::State>, moves: &[Move]) -> Last {
        match node.ran {
            Some(ran) if self.options.bound == Bound::Preemptions && node.dispatcher.is_bag() => {
                let goes_on = moves.iter().any(|mv| matches!(mv, Move::Run(pick) if pick.task == ran));
                if goes_on && !self.system.gave_way(&node.state, ran) { Last::Ran(ran) } else { Last::Free }
            }
            _ => self.last(node),
        }
    }

    /// What a move costs.
    #[inline]
    pub fn price(&self, node: &Node<S::State>, last: Last, mv: &Move) -> u32 {
        match (last, mv) {
            (Last::At(at), Move::Run(pick)) => u32::from(node.order.position(pick.buffer) < at),
            _ => cost(self.options.bound, last, mv),
        }
    }

    /// Goes on as if this one had run last.
    pub fn resume(&self, node: &mut Node<S::State>, last: Last) {
        node.ran = None;
        match last {
            Last::Ran(unit) => node.ran = Some(unit),
            Last::At(at) => node.order.at = at,
            Last::Free | Last::Gone => {}
        }
    }

    /// What it costs that an operation deviates.
    pub fn price_of_deviation(&self) -> u32 {
        if self.options.bound == Bound::None { 0 } else { self.options.price_of_deviation }
    }

    fn counts_rounds(&self) -> bool {
        self.options.bound == Bound::Rounds
    }

    /// Whether nobody can go on.
    pub fn is_final(&self, node: &Node<S::State>) -> bool {
        !node.dispatcher.any_ready(&self.view(&node.state))
    }

    /// Whether somebody who cannot go on has not finished.
    pub fn is_deadlock(&self, node: &Node<S::State>) -> bool {
        self.is_final(node) && !self.is_complete(node)
    }

    /// Where nobody can go on: whether all have finished, or may stay where they are.
    pub fn is_complete(&self, node: &Node<S::State>) -> bool {
        let mut tasks = Vec::new();
        node.dispatcher.tasks(&mut tasks);
        tasks.iter().all(|task| self.system.may_rest(&node.state, *task))
    }
}

impl<S: Snapshot> Context<'_, S> {
    /// Brings the anonymous tasks into an order that depends on what they are. `renamed` is called with the old ids.
    pub fn canonicalize(&self, node: &mut Node<S::State>, renamed: impl FnOnce(&[TaskId])) {
        if self.system.anonymous_tasks(&node.state).is_empty() {
            return;
        }
        let view = Seen { system: self.system, state: &node.state, compare: self.compare };
        node.dispatcher.sort(&view);
        let mut order = Vec::new();
        node.dispatcher.tasks(&mut order);
        order.retain(|t| t & ANONYMOUS != 0);
        self.system.reorder_anonymous(&mut node.state, &order);
        let mut next = ANONYMOUS;
        node.dispatcher.rename(|task| {
            if *task & ANONYMOUS != 0 {
                *task = next;
                next += 1;
            }
        });
        node.detector.iter_mut().for_each(|d| d.reorder_anonymous(&order));
        renamed(&order);
    }

    /// Appends everything but who ran last; returns where the state of the system itself begins.
    pub fn encode(&self, node: &Node<S::State>, out: &mut Vec<u8>) -> usize {
        if self.counts_rounds() {
            node.order.encode(out);
        }
        node.dispatcher.encode(out);
        node.detector.iter().for_each(|d| d.encode(out));
        let begin = out.len();
        self.system.encode(&node.state, out);
        begin
    }

    /// Overwrites everything but who ran last.
    pub fn decode(&self, mut bytes: &[u8], node: &mut Node<S::State>) {
        if self.counts_rounds() {
            node.order.decode(&mut bytes);
        }
        node.dispatcher.decode(&mut bytes);
        node.detector.iter_mut().for_each(|d| bytes = d.decode(bytes));
        self.system.decode(bytes, &mut node.state);
    }
}

/// An outcome of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub chosen: u32,
    pub of: Of,
}

/// What the outcome is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// So many alternatives.
    Many(u32),
    /// Ways to deviate, as bits; the first is to do what is usual.
    Deviations(u64),
}

impl Chosen {
    /// The next outcome of the same choice, if there is one.
    fn next(self) -> Option<Chosen> {
        let chosen = match self.of {
            Of::Many(of) => Some(self.chosen + 1).filter(|next| *next < of),
            Of::Deviations(possible) => lowest(above(possible, self.chosen)),
        };
        chosen.map(|chosen| Chosen { chosen, ..self })
    }

    /// How many outcomes there are that cost the same; the ways to deviate do not count.
    pub fn alternatives(self) -> u32 {
        match self.of {
            Of::Many(of) => of,
            Of::Deviations(_) => self.chosen + 1,
        }
    }

    /// The ways to deviate that come after this one.
    pub fn other_ways(self) -> impl Iterator<Item = u32> {
        let mut left = match self.of {
            Of::Many(_) => 0,
            Of::Deviations(possible) => above(possible, self.chosen),
        };
        std::iter::from_fn(move || {
            let way = lowest(left)?;
            left &= left - 1;
            Some(way)
        })
    }

    /// Whether it is of ways to deviate, and of no outcomes.
    pub fn is_deviation(self) -> bool {
        matches!(self.of, Of::Deviations(_))
    }

    /// Whether it costs something.
    pub fn deviates(self) -> bool {
        matches!(self.of, Of::Deviations(_)) && self.chosen > 0
    }
}

/// The bits above one.
fn above(bits: u64, bit: u32) -> u64 {
    bits & !(u64::MAX >> (u64::BITS - 1 - bit))
}

/// The lowest bit, if there is one.
fn lowest(bits: u64) -> Option<u32> {
    (bits != 0).then(|| bits.trailing_zeros())
}

/// What becomes of outcomes that come back in a cycle of choices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Rounds {
    /// They are left out, if others have an end.
    #[default]
    LeftOut,
    /// They are a limit.
    Limit,
    /// It is asked each time whether a way leads out.
    Asked,
}

/// What is chosen where nothing is given.
#[derive(Clone, Debug, Default)]
enum Unsaid {
    /// The first, or what is usual, and the other outcomes are to be tried.
    #[default]
    First,
    /// The same, and what else there is is known.
    Known,
    Random(fastrand::Rng),
}

/// Goes through all outcomes of the nondeterministic choices in a step, one by one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    taken: Vec<Chosen>,
    at: usize,
    unsaid: Unsaid,
    /// Points inside of the step, if there are any.
    passed: Option<Box<Passed>>,
    /// How many outcomes there have been.
    outcomes: u32,
    /// Whether some outcome has passed a point twice.
    is_cyclic: bool,
    /// Whether outcomes that come to where others have been are left to those.
    merges: bool,
    /// Whether the last one was.
    has_met: bool,
    /// What becomes of a cycle of choices.
    rounds: Rounds,
    /// Bytes that points may take, if there is a limit.
    room: Option<u64>,
}

impl Script {
    /// Begins with the first outcome, for a search with these options: one for cycles does not leave out those of choices.
    pub fn of(options: &Options) -> Script {
        let rounds = if options.wants_cycles() { Rounds::Limit } else { Rounds::LeftOut };
        Script { rounds, room: options.memory, ..Script::default() }
    }

    /// The same for a search that stores states: outcomes that lead to the same place inside of a step are made once from there
    /// on, unless each counts for itself.
    pub fn merging(options: &Options) -> Script {
        let merges = options.merges && !options.wants_cycles() && options.races.is_none();
        Script { merges, ..Script::of(options) }
    }

    /// From here on it is asked at each cycle of choices if a way leads out of it, instead of being found out when all outcomes have
    /// been made: where each execution is made for itself.
    pub fn follow_rounds(&mut self) {
        self.rounds = Rounds::Asked;
    }

    /// Begins with the first outcome.
    pub fn restart(&mut self) {
        self.taken.clear();
        self.forget();
        self.at = 0;
        self.has_met = false;
    }

    /// Whether the step makes no choices, so that this was its only outcome.
    #[inline]
    pub fn has_no_choices(&self) -> bool {
        self.at == 0 && self.taken.is_empty() && self.passed.is_none()
    }

    /// Whether the last outcome was left to others that have been where it came to.
    pub fn has_met(&self) -> bool {
        self.has_met
    }

    /// How many outcomes the last one stands for.
    pub fn weight(&self) -> u64 {
        self.passed.as_ref().map_or(1, |passed| passed.weight())
    }

    #[inline]
    fn forget(&mut self) {
        if self.passed.is_some() {
            self.passed = None;
        }
        self.is_cyclic = false;
    }

    /// Bytes that its points and choices take.
    pub fn memory(&self) -> u64 {
        size_of_val(self.taken.as_slice()) as u64 + self.passed.as_ref().map_or(0, |passed| passed.memory())
    }

    /// From here on its points may take so many bytes.
    pub fn allow(&mut self, room: Option<u64>) {
        self.room = room;
    }

    /// One outcome, given.
    pub fn set(&mut self, choices: impl Iterator<Item = u32>) {
        self.taken.clear();
        self.forget();
        self.unsaid = Unsaid::First;
        self.taken.extend(choices.map(|chosen| Chosen { chosen, of: Of::Many(chosen + 1) }));
        self.at = 0;
    }

    /// The same of a step that has been made before, whose other outcomes are left to others.
    pub fn set_again(&mut self, choices: impl Iterator<Item = u32>) {
        self.set(choices);
        self.unsaid = Unsaid::Known;
    }

    /// From here on the outcomes are random.
    pub fn roll(&mut self, random: fastrand::Rng) {
        self.unsaid = Unsaid::Random(random);
    }

    /// What outcomes were drawn with, afterwards.
    pub fn take_random(&mut self) -> Option<fastrand::Rng> {
        match std::mem::take(&mut self.unsaid) {
            Unsaid::Random(random) => Some(random),
            Unsaid::First | Unsaid::Known => None,
        }
    }

    /// Goes on to the next outcome, if there is one.
    pub fn advance(&mut self) -> bool {
        if let Some(passed) = &mut self.passed {
            if std::mem::take(&mut passed.is_endless) {
                self.taken.clear();
                return false;
            }
            passed.ends();
        }
        self.taken.truncate(self.at);
        self.at = 0;
        self.outcomes = self.outcomes.wrapping_add(1);
        self.has_met = false;
        while let Some(last) = self.taken.pop() {
            if let Some(next) = last.next() {
                self.taken.push(next);
                break;
            }
        }
        if let Some(passed) = &mut self.passed {
            passed.close(self.taken.len());
        }
        !self.taken.is_empty() || self.goes_round()
    }

    /// When all outcomes have been made: one of those that go round for ever is made once more, as a step that does not end. What it
    /// has done before is seen by nobody otherwise.
    fn goes_round(&mut self) -> bool {
        let Some(passed) = self.passed.as_mut().filter(|_| self.is_cyclic) else { return false };
        if let Some(choices) = passed.endless() {
            // Of how many they were is found out again.
            self.taken.extend(choices.iter().map(|chosen| Chosen { chosen: *chosen, of: Of::Many(chosen + 1) }));
            passed.is_endless = true;
        }
        passed.is_endless
    }

    /// The same outcomes once more.
    pub fn rewind(&mut self) {
        self.at = 0;
    }

    /// What was chosen.
    pub fn taken(&self) -> &[Chosen] {
        &self.taken[..self.at]
    }

    /// The same without what would be chosen anyhow if nothing were said: the last operations do not deviate.
    #[inline(always)]
    pub fn telling(&self) -> &[Chosen] {
        if self.at == 0 { &[] } else { self.telling_of_some() }
    }

    #[inline(never)]
    fn telling_of_some(&self) -> &[Chosen] {
        let usual = |t: &&Chosen| matches!(t.of, Of::Deviations(_)) && t.chosen == 0;
        let silent = self.taken().iter().rev().take_while(usual).count();
        &self.taken[..self.at - silent]
    }

    /// How often the step deviated.
    pub fn deviations(&self) -> u32 {
        self.taken().iter().filter(|t| t.deviates()).count() as u32
    }

    /// What was chosen.
    pub fn choices(&self) -> Vec<u32> {
        self.taken().iter().map(|t| t.chosen).collect()
    }
}

/// Of so many operations that may deviate, about one does in a random execution.
const SELDOM: u32 = 8;

/// A way to deviate, picked at random, if there is one.
fn deviation(rng: &mut fastrand::Rng, possible: u64) -> u32 {
    let others = above(possible, 0);
    if others == 0 {
        return 0;
    }
    let ways: Vec<u32> = (1..u64::BITS).filter(|way| others >> way & 1 == 1).collect();
    ways[rng.usize(..ways.len())]
}

impl Choose for Script {
    fn choose(&mut self, alternatives: u32) -> u32 {
        if self.at == self.taken.len() {
            let chosen = match &mut self.unsaid {
                Unsaid::Random(rng) => rng.u32(..alternatives),
                Unsaid::First | Unsaid::Known => 0,
            };
            self.taken.push(Chosen { chosen, of: Of::Many(alternatives) });
        }
        // Given choices do not know of how many they were, and may be meant for others.
        let chosen = self.taken[self.at].chosen.min(alternatives - 1);
        self.taken[self.at] = Chosen { chosen, of: Of::Many(alternatives) };
        self.at += 1;
        chosen
    }

    #[inline]
    fn is_usual(&mut self) -> Usual {
        if self.at < self.taken.len() {
            return Usual::MayBeNot;
        }
        match &mut self.unsaid {
            Unsaid::First => Usual::MayBeNot,
            Unsaid::Known => Usual::Known,
            Unsaid::Random(rng) => {
                if rng.u32(..SELDOM) == 0 {
                    return Usual::MayBeNot;
                }
                self.taken.push(Chosen { chosen: 0, of: Of::Deviations(1) });
                self.at += 1;
                Usual::Chosen
            }
        }
    }

    fn deviate(&mut self, possible: u64) -> u32 {
        if self.at == self.taken.len() {
            let chosen = match &mut self.unsaid {
                Unsaid::Random(rng) => deviation(rng, possible),
                Unsaid::First | Unsaid::Known => 0,
            };
            self.taken.push(Chosen { chosen, of: Of::Deviations(possible) });
        }
        let given = self.taken[self.at].chosen;
        let chosen = if given < u64::BITS && possible >> given & 1 == 1 { given } else { 0 };
        self.taken[self.at] = Chosen { chosen, of: Of::Deviations(possible) };
        self.at += 1;
        chosen
    }

    fn choose_wide(&mut self, most: u64) -> Option<u64> {
        let parts: Vec<u32> = self.taken.get(self.at..self.at + WIDE_PARTS)?.iter().map(|t| t.chosen).collect();
        self.at += WIDE_PARTS;
        Some(wide_of_parts(&parts)).filter(|choice| *choice <= most)
    }

    fn minds_rounds(&self) -> bool {
        self.rounds == Rounds::Limit
    }

    fn goes_round(&self) -> bool {
        self.passed.as_ref().is_some_and(|passed| passed.is_endless)
    }

    fn follows_rounds(&self) -> bool {
        self.rounds == Rounds::Asked
    }

    fn drops(&mut self) {
        if let Some(passed) = &mut self.passed {
            passed.has_no_end = true;
        }
    }

    fn is_full(&self) -> bool {
        self.room.is_some_and(|room| self.memory() > room)
    }

    fn comes_back(&mut self, describe: &mut dyn FnMut(&mut Vec<i64>)) -> bool {
        if matches!(self.unsaid, Unsaid::Random(_)) {
            return false;
        }
        // Those that are given have been here before.
        let is_given = self.at < self.taken.len();
        let passed = self.passed.get_or_insert_default();
        let arrival = passed.arrive(describe, self.at, self.outcomes);
        if !is_given {
            passed.is_new_way();
        }
        let Some(Arrival { point, twice }) = arrival else {
            // In a cycle all points tell. Otherwise states get some of the room, too.
            if !self.is_cyclic {
                passed.make_room(self.room.map(|room| room / 2));
            }
            return false;
        };
        self.is_cyclic |= twice;
        if self.merges && !is_given && passed.leave_to(point) {
            (self.has_met, passed.has_no_end) = (true, true);
            return true;
        }
        // Without cycles all outcomes are few, and none is left out.
        let comes_back = self.is_cyclic && !is_given;
        if comes_back {
            passed.comes_back(point, &mut self.taken.iter().map(|taken| taken.chosen));
        }
        comes_back
    }
}
