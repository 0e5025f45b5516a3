//! What an execution knows of itself: who can go on, what the last step did, what has gone wrong.

use super::ahead::Waiting;
use super::fiber::Idle;
use super::here::mix;
use super::history::Word;
use super::livelock::Patience;
use super::loops::{Loops, Round};
use super::old_values::OldValues;
use super::proofs::{Now, Proof, Start};
use super::trial::{self, End, Outcome, Trial};
use super::{Edges, Failure, Here, LeavesOut, LeftOut, Object, Op, Recorder, Refine, Rt, Settings, States, Thread};
use crate::rt::clocks::{Clocks, Race};
use crate::rt::fair::Fair;
use fabius_explore::ahead::Ahead;
use fabius_explore::system::{Access, Born, FoundStore, TaskId};
use fabius_trace::{BugKind, Span};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::panic::Location;
use std::rc::Rc;
use std::time::Duration;

/// How often a thread may give way in a row before the search looks at others.
const IDLE: u32 = 1000;

/// Rounds of a loop that does not repeat itself, after which the thread waits for those that have been left behind.
const PATIENCE: u32 = 16;

impl Rt {
    pub(super) fn reset(&mut self) {
        self.clocks.clear(self.objects as usize);
        self.threads.clear();
        self.current = 0;
        self.waiting.clear();
        self.dirty = false;
        self.ahead.clear();
        self.hands_over = false;
        self.hurries = false;
        self.objects = 0;
        self.now = Duration::ZERO;
        self.steps = 0;
        self.patience = Patience::default();
        self.recent.clear();
        self.circle = None;
        self.has_deadlines = false;
        self.beginnings = 0;
        self.straight_on = None;
        self.abandoned = false;
        self.accesses.clear();
        self.born.clear();
        self.observed = Refine::default();
        self.panics.clear();
        self.failure = None;
        self.limit = None;
        self.recorder = Recorder::default();
        self.orders = None;
        if self.fair.is_watching() {
            self.fair = Fair::default();
        }
        self.states.clear();
        self.deviations = 0;
        (self.kept_from_deviating, self.is_weaker) = (false, false);
        self.has_been_here = false;
        self.oldest.clear();
        self.usual_round = None;
        self.old_values.clear();
        self.forgets_stores = false;
        self.race = None;
        self.lasting.clear();
        self.alone = false;
        self.astray = false;
        self.left_out.set(None);
        self.outlive.clear();
        self.held_on = 0;
        self.owned.clear();
        self.next_owned = 0;
        self.last_drops = 0;
    }

    /// From now on, it is written down what comes before what.
    pub fn record_orders(&mut self) {
        self.orders = Some(Box::default());
        self.ahead.steps = 0;
    }

    #[inline]
    pub(super) fn put_in_order(&mut self, op: &Op) {
        if let Some(orders) = &mut self.orders {
            orders.operation(self.current, op);
        }
    }

    /// Whether the thread's operation can be done.
    #[inline]
    pub fn can_go_on(&self, id: usize) -> bool {
        let thread = &self.threads[id];
        let Some(op) = thread.op() else { return false };
        match op.ready {
            None => op.deadline.is_none() || thread.timed_out,
            // SAFETY: the object outlives the announced operation.
            Some((ready, object)) => thread.timed_out || unsafe { ready(object, self, id) },
        }
    }

    /// The object that stands for a thread: for its park token, and for its end where that is looked at.
    pub fn token_of(&mut self, id: usize) -> u32 {
        let object: *const Object = &self.threads[id].object;
        // SAFETY: giving it a number does not move it.
        unsafe { (*object).id_in(self) }
    }

    /// Whether the scheduler may pick the thread.
    #[inline]
    pub fn ready(&self, id: usize) -> bool {
        if let Some(next) = self.straight_on {
            return id == next;
        }
        (self.waiting.can_surely_go_on(id) || self.can_go_on(id))
            && (!self.settings.refine.contains(Refine::YIELDS) || self.may_go_on(id))
    }

    /// Whether the thread, whose operation can be done, need not leave it to others to go on.
    #[inline(never)]
    fn may_go_on(&self, id: usize) -> bool {
        if self.repeats(id) {
            let goes_on = !(0..self.threads.len()).any(|other| self.is_able(other)) && self.is_its_turn(id);
            if !goes_on && self.states.reads_clock {
                self.left_out.set(self.threads[id].op().map(|op| LeftOut::Clock(op.at)));
            }
            return goes_on;
        }
        if self.leaves_it_to_others(id) {
            return false;
        }
        if !self.fair.allows(self, id) {
            self.left_out.set(self.threads[id].op().map(|op| LeftOut::Fairness(op.at)));
            return false;
        }
        true
    }

    /// Whether the thread would do what it has done before, while nothing has changed.
    fn repeats(&self, id: usize) -> bool {
        self.threads[id].gave_way && self.states.repeats(id, self.now)
    }

    /// Whether the thread can go on and does not only repeat itself.
    pub(super) fn is_able(&self, id: usize) -> bool {
        self.can_go_on(id) && !self.repeats(id)
    }

    /// The thread does an operation: what that means for repetition, and for what comes before what.
    #[inline(always)]
    pub(super) fn does(&mut self, me: usize, op: &Op) {
        let refine = self.settings.refine;
        if refine.0 & (Refine::YIELDS.0 | Refine::RACES.0) == 0 {
            return;
        }
        self.does_before_others(me, op);
    }

    fn does_before_others(&mut self, me: usize, op: &Op) {
        let refine = self.settings.refine;
        if refine.contains(Refine::YIELDS) {
            trial::aside(|| self.states.operation(me, op));
        }
        if !refine.contains(Refine::RACES) || op.edges != Edges::All {
            return;
        }
        match op.joins {
            Some(ended) => self.clocks.joined(me, ended),
            None if op.variable != Op::NOTHING => self.clocks.touches(me, op.variable as usize, op.write),
            None => {}
        }
    }

    /// Two accesses race.
    #[cold]
    pub(super) fn has_raced(&mut self, race: Race, message: &str, at: &'static Location<'static>) {
        self.fail(BugKind::DataRace, message.into(), Some(at));
        self.race.get_or_insert(race);
    }

    /// The test looks at something.
    pub(super) fn sees(&mut self, what: Refine) {
        if self.settings.refine.contains(what) {
            return;
        }
        self.observed = self.observed.with(what);
        self.has_news_for_the_explorer();
    }

    /// The test asks which thread it is: whoever drops the last owner of a value can tell that another one did not.
    pub fn asks_who(&mut self) {
        if self.last_drops > 0 {
            self.sees(Refine::COUNTS);
        }
    }

    /// Whether the last step did anything that the explorer must know, but for its announced operation.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.dirty || !self.born.is_empty() || self.left_out.get().is_some()
    }

    /// The explorer knows of it.
    pub fn is_seen(&mut self) {
        self.dirty = false;
    }

    /// The thread makes a step after it gave way.
    pub(super) fn goes_on(&mut self, id: usize) {
        if self.repeats(id) {
            self.has_been_here = true;
            self.begins_or_ends_circle(id);
        }
        self.states.goes_on(id, self.now);
        let thread = &mut self.threads[id];
        (thread.gave_way, thread.idle, thread.went_on) = (false, 0, self.steps);
    }

    /// Where the running thread gives way without having made a step since it last did: nobody can see that it does, and
    /// it goes on. Says whether that is so. A trial ends where it is not, or where the thread is back.
    pub(super) fn gives_way_again(&mut self, op: &Op, here: Here) -> bool {
        let (me, top) = (self.current, self.top());
        let thread = &mut self.threads[me];
        if let Some(trial) = trial::current() {
            thread.idle += 1;
            if trial.points > 0 || trial::aside(|| here.number(top) == self.tried_from) {
                trial::aside(|| {
                    trial.comes_back(&here);
                    self.states.operation(me, op);
                });
                trial::ends(End::Round);
            }
            if thread.idle >= IDLE {
                trial::ends(End::Other);
            }
            return true;
        }
        let idle = thread.gave_way && thread.idle < IDLE;
        if idle {
            thread.idle += 1;
        }
        idle
    }

    /// The running thread has given way. If it must be tried out what it does next, says from where.
    pub(super) fn gives_way(&mut self, at: &'static Location<'static>, here: Here) -> Option<Start> {
        if !self.settings.refine.contains(Refine::YIELDS) {
            return None;
        }
        let (me, top) = (self.current, self.top());
        let thread = &mut self.threads[me];
        (thread.gave_way, thread.idle) = (true, 0);
        if self.settings.leaves_out != LeavesOut::Nothing {
            thread.times_gave_way += 1;
            self.clocks.gives_way(me);
        }
        self.old_values.gives_way(me, at);
        self.states.gives_way(me, here, top, self.settings.refine);
        // What a destructor does while a panic unwinds its stack is not tried out.
        let registers = here.registers.filter(|_| !std::thread::panicking() && !self.hurries);
        let (Some(registers), None) = (registers, &self.orders) else {
            self.begins_round(at, Round::Changes, None);
            return None;
        };
        let refine = self.settings.refine.without(Refine::REMAINS);
        let how = mix(refine.0.into(), self.now.as_nanos() as u64);
        let place = mix(mix(me as u64, (top - here.frame) as u64), how);
        let start = Start { place, stack: self.stack().start, top, frame: here.frame, registers };
        match self.loops.round(at, &start, self.rounds_before(at), self) {
            Round::Unknown if trial::work(self.stack(), top) => return Some(start),
            Round::NoLoop if !self.settings.record && self.states.repeats_nearly(me, self.now) => {
                self.loops.add(at);
                self.begins_anew();
                self.begins_round(at, Round::NoLoop, None);
            }
            round => return self.is_usual(at, start, round),
        }
        None
    }

    /// So much is known of the round that is about to begin, if it finds the newest stores. If it may find older ones and
    /// it must be tried out what it does then, says from where.
    fn is_usual(&mut self, at: &'static Location<'static>, start: Start, usual: Round) -> Option<Start> {
        if self.settings.refine.contains(Refine::WEAK) && !matches!(usual, Round::NoLoop) && !self.has_been_here {
            self.oldest.extend(self.clocks.oldest(self.current));
            self.oldest.sort_unstable_by_key(|(atomic, _)| *atomic);
        }
        if self.oldest.is_empty() {
            self.begins_round(at, usual, None);
            return None;
        }
        let number = |place, (atomic, word): &(usize, Word)| mix(mix(place, *atomic as u64), word.number());
        let start = Start { place: self.oldest.iter().fold(start.place, number), ..start };
        let rounds = self.rounds_before(at);
        match self.loops.round(at, &start, rounds, self) {
            Round::Unknown if trial::work(self.stack(), self.top()) => {
                self.usual_round = Some(usual);
                return Some(start);
            }
            round => self.begins_round(at, usual, Some(round)),
        }
        None
    }

    /// A trial of the running thread begins: what it may change, because it is put back.
    pub(super) fn tries_out(&mut self, trial: &mut Trial) {
        let mut allow = |address, size| trial.allow(address, size);
        allow(std::ptr::from_ref(self) as usize, size_of::<Rt>());
        allow(self.threads.as_ptr() as usize, self.threads.capacity() * size_of::<Thread>());
        self.states.lend(&mut allow);
        allow(self.oldest.as_ptr() as usize, self.oldest.capacity() * size_of::<(usize, Word)>());
        self.lasting.reserve(4);
        allow(self.lasting.as_ptr() as usize, self.lasting.capacity() * size_of::<(u32, u32, u32)>());
        self.before_trial = self.settings;
        self.alone = true;
        // Nobody is told.
        self.settings.record = false;
        self.settings.refine.0 &= !Refine::RACES.0;
    }

    /// A trial has come to its end. If there must be another one, says from where.
    pub(super) fn has_tried_out(
        &mut self,
        at: &'static Location<'static>,
        start: Start,
        outcome: Outcome,
    ) -> Option<Start> {
        self.alone = false;
        self.has_tried = true;
        self.settings = self.before_trial;
        let (round, is_news) = match outcome.end {
            End::Clock => (Round::TellsTime, self.loops.tells_time(at)),
            End::Round | End::Other => {
                let instructions = outcome.instructions;
                let rounds = self.rounds_before(at);
                self.loops.learn(at, Proof::new(start, outcome, self), rounds, instructions, self)
            }
        };
        if is_news {
            self.begins_anew();
        }
        let Some(usual) = self.usual_round.take() else { return self.is_usual(at, start, round) };
        self.begins_round(at, usual, Some(round));
        None
    }

    /// How many rounds the running thread has begun at this line.
    fn rounds_before(&self, at: &'static Location<'static>) -> u32 {
        let rounds = &self.threads[self.current].rounds_at;
        rounds.iter().find(|(line, _)| std::ptr::eq(*line, at)).map_or(0, |(_, rounds)| *rounds)
    }

    /// The running thread has given way and goes on with a round of which so much is known: if it finds the newest stores,
    /// and if it finds the oldest ones that it can.
    fn begins_round(&mut self, at: &'static Location<'static>, usual: Round, with_oldest: Option<Round>) {
        let me = self.current;
        self.oldest.clear();
        let came = self.states.begins(me, std::iter::once(usual).chain(with_oldest));
        let looks = !self.settings.refine.contains(Refine::REMAINS) && !self.settings.record;
        if let Some(came) = came.filter(|_| looks)
            && self.loops.leave_other_remains(at, came)
        {
            self.sees(Refine::REMAINS);
        }
        let waits = self.states.repeats(me, self.now);
        self.must_be_as_before(at, waits);
        let thread = &mut self.threads[me];
        match thread.rounds_at.iter_mut().find(|(line, _)| std::ptr::eq(*line, at)) {
            Some((_, rounds)) => *rounds += 1,
            None => thread.rounds_at.push((at, 1)),
        }
        if waits {
            thread.rounds = 0;
        } else {
            thread.rounds += 1;
        }
        if thread.rounds > 0 && thread.rounds.is_multiple_of(PATIENCE) {
            self.fair.yields(me);
        }
    }

    /// The check has learnt something of its loops that it should have known from the beginning.
    pub(super) fn begins_anew(&mut self) {
        if !self.settings.record {
            self.astray = true;
            self.has_news_for_the_explorer();
        }
    }

    /// The stack of the running thread.
    pub(super) fn stack(&self) -> Range<usize> {
        self.threads[self.current].fiber.as_ref().map_or(0..0, |fiber| fiber.stack())
    }

    /// Where the part of it begins that the thread uses.
    pub(super) fn top(&self) -> usize {
        self.threads[self.current].top
    }

    /// Makes the next operation of a trial. Says whether it gives up waiting, because its time is up at once.
    #[cold]
    pub(super) fn tries(&mut self, op: &Op) -> bool {
        trial::aside(|| self.tries_aside(op))
    }

    fn tries_aside(&mut self, op: &Op) -> bool {
        let me = self.current;
        let is_up = op.deadline.is_some_and(|deadline| deadline <= self.now);
        // SAFETY: the object outlives the operation.
        let ready = match op.ready {
            Some((ready, object)) => unsafe { ready(object, self, me) },
            None => op.deadline.is_none(),
        };
        let is_made = ready && op.deadline.is_none() || is_up;
        // A thread is joined once: who does has left the loop. What the other has done, of which there are many kinds, does not matter.
        let Some(trial) = trial::current().filter(|_| op.joins.is_none()) else { trial::ends(End::Other) };
        trial.points += 1;
        // Where it would wait that is because of what it finds, and tells nothing of rounds that find something else.
        self.states.operation(me, op);
        if !is_made {
            trial::ends(End::Other);
        }
        !ready
    }

    /// The running thread does what nobody does who only waits.
    pub(super) fn leaves_the_loop(&mut self) {
        if self.alone {
            trial::ends(End::Other);
        }
    }

    /// What the last step did.
    pub fn take_log(&mut self, accesses: &mut Vec<Access>, born: &mut Vec<Born>, finished: &mut Vec<TaskId>) {
        if self.want_accesses {
            std::mem::swap(&mut self.accesses, accesses);
        }
        // A thread that had nothing to do counts: threads are numbered as they are made.
        finished.extend(self.born.iter().map(|b| b.task).filter(|t| self.threads[*t as usize].finished));
        born.append(&mut self.born);
    }

    pub(super) fn log(&mut self, variable: u64, write: bool, sync: bool) {
        self.has_news_for_the_explorer();
        self.accesses.push(Access { variable, write, sync, span: Span::default() });
    }

    /// An operation was done while stacks are unwound.
    pub(super) fn did(&mut self, op: &Op) {
        if self.want_accesses && op.variable != Op::NOTHING {
            self.log(op.variable, op.changes(self), true);
        }
        if !self.abandoned {
            self.does(self.current, op);
        }
        self.put_in_order(op);
    }

    /// The execution fails; the first failure counts.
    pub fn fail(&mut self, kind: fabius_trace::BugKind, message: String, at: Option<&'static Location<'static>>) {
        self.fail_at(kind, message, at.map(|l| (l.file().to_string(), l.line(), l.column())));
    }

    /// The same with a place in the source that may not be static.
    pub fn fail_at(&mut self, kind: fabius_trace::BugKind, message: String, at: Option<(String, u32, u32)>) {
        self.has_news_for_the_explorer();
        let thread = self.current;
        self.failure.get_or_insert(Failure { kind, message, at, thread });
    }

    /// The execution is over: what is still owned is a leak.
    pub fn find_leaks(&mut self) {
        let mut left: Vec<_> = self.owned.values().copied().collect();
        left.sort_by_key(|(what, at)| (at.file(), at.line(), at.column(), *what));
        let Some((what, at)) = left.first().copied() else { return };
        let more = left.len() - 1;
        let more = if more == 0 { String::new() } else { format!(", and {more} more") };
        let message = format!("leak: `{what}` made at {}:{} is never dropped{more}", at.file(), at.line());
        self.fail(fabius_trace::BugKind::Leak, message, Some(at));
    }

    /// Whether the execution cannot go on: it has failed, or come to a limit.
    pub fn is_given_up(&self) -> bool {
        self.failure.is_some() || self.limit.is_some()
    }

    /// Whether it holds locks that outlive it, though it goes on no more, and can be unwound: all wait at points.
    pub(super) fn must_give_back(&self) -> bool {
        let waits = |thread: &Thread| thread.finished || !thread.op.is_null();
        self.held_on > 0 && self.limit.is_none() && self.threads.iter().all(waits)
    }

    /// A thread for people.
    pub fn name_of(&self, thread: usize) -> String {
        match (thread, self.threads.get(thread).and_then(|t| t.name.as_ref())) {
            (0, _) => "main".into(),
            (_, Some(name)) => format!("thread {thread} ({name})"),
            _ => format!("thread {thread}"),
        }
    }

    /// Whether all threads have finished.
    pub fn is_over(&self) -> bool {
        self.threads.iter().all(|t| t.finished)
    }
}

impl Now for Rt {
    fn execution(&self) -> u64 {
        self.epoch
    }

    fn state(&self, variable: usize) -> u64 {
        self.states.variable(variable)
    }

    fn local(&self, key: usize) -> usize {
        let locals = &self.threads[self.current].locals;
        locals.iter().find(|(k, _)| *k == key).map_or(0, |(_, value)| Rc::as_ptr(value).addr())
    }

    fn execution_is_at(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn is_elsewhere(&self, address: usize) -> bool {
        let stacks = self.threads.iter().map(|thread| thread.fiber.as_ref().map(|fiber| fiber.stack()));
        stacks.enumerate().any(|(id, stack)| id != self.current && stack.is_some_and(|stack| stack.contains(&address)))
    }
}

impl Default for Rt {
    fn default() -> Rt {
        Rt {
            threads: Vec::new(),
            idle: Idle::default(),
            current: 0,
            waiting: Waiting::default(),
            dirty: false,
            ahead: Ahead::default(),
            hands_over: false,
            straight_on: None,
            has_tried: false,
            hurries: false,
            epoch: 0,
            objects: 0,
            now: Duration::ZERO,
            steps: 0,
            patience: Patience::default(),
            recent: BTreeSet::new(),
            circle: None,
            has_deadlines: false,
            decisions: 0,
            beginnings: 0,
            abandoned: false,
            settings: Settings::default(),
            want_accesses: false,
            accesses: Vec::new(),
            born: Vec::new(),
            choose: None,
            observed: Refine::default(),
            panics: Vec::new(),
            failure: None,
            limit: None,
            recorder: Recorder::default(),
            orders: None,
            statics: HashMap::new(),
            clocks: Clocks::default(),
            deviations: 0,
            kept_from_deviating: false,
            found: FoundStore::default(),
            is_weaker: false,
            has_been_here: false,
            oldest: Vec::new(),
            usual_round: None,
            tried_from: None,
            old_values: OldValues::default(),
            forgets_stores: false,
            race: None,
            lasting: Vec::new(),
            states: States::default(),
            loops: Loops::default(),
            alone: false,
            before_trial: Settings::default(),
            astray: false,
            fair: Fair::default(),
            left_out: Cell::new(None),
            outlive: Vec::new(),
            held_on: 0,
            owned: BTreeMap::new(),
            next_owned: 0,
            last_drops: 0,
        }
    }
}
