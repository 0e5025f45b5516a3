//! A plain model of what crossbeam-channel documents, and of the order in which it serves who waits: all interleavings of a
//! program, state by state. It shares nothing with what is tested.

use super::program::{Arm, Log, Message, Op, Program, Seen, TIME};
use std::collections::{BTreeSet, HashSet};

/// What stands for a message whose place went with the last receiver.
const GONE: Message = (TIME, TIME);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Begins,
    Waits {
        until: u64,
        time_is_up: bool,
    },
    /// A selection is to send by that arm, and has a place.
    Sends(usize),
    /// Somebody has chosen that arm of who waits.
    Chosen(usize),
    /// It waits for the message of a selection.
    Promised(usize),
    Ends,
    Over,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Thread {
    next: usize,
    phase: Phase,
    senders: [bool; 2],
    receivers: [bool; 2],
    log: Log,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Entry {
    Message(Message),
    /// A thread will put its message here.
    Reserved(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct Channel {
    queue: Vec<Entry>,
    senders: usize,
    receivers: usize,
    /// Who waits where there is no queue, longest first: the thread and its arm.
    sending: Vec<(usize, usize)>,
    receiving: Vec<(usize, usize)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    now: u64,
    channels: [Channel; 2],
    /// When `after` and `tick` send next.
    after: Option<u64>,
    tick: u64,
    threads: Vec<Thread>,
    /// Where there is no queue: who sends to whom what is still to be sent.
    promises: Vec<(usize, usize)>,
    /// What somebody has been handed.
    handed: Vec<(usize, Message)>,
}

/// The outcomes of a program.
pub fn outcomes(program: &Program) -> BTreeSet<Vec<Log>> {
    let threads = program.threads.iter().map(|thread| Thread {
        next: 0,
        phase: Phase::Begins,
        senders: thread.senders,
        receivers: thread.receivers,
        log: Vec::new(),
    });
    let channels = [0, 1].map(|c| Channel {
        senders: program.threads.iter().filter(|thread| thread.senders[c]).count(),
        receivers: program.threads.iter().filter(|thread| thread.receivers[c]).count(),
        ..Channel::default()
    });
    let first = State {
        now: 0,
        channels,
        after: Some(1),
        tick: 1,
        threads: threads.collect(),
        promises: Vec::new(),
        handed: Vec::new(),
    };
    let (mut seen, mut work, mut outcomes) = (HashSet::from([first.clone()]), vec![first], BTreeSet::new());
    while let Some(state) = work.pop() {
        let mut follow: Vec<State> =
            (0..state.threads.len()).flat_map(|thread| Step { program, thread }.from(&state)).collect();
        if follow.is_empty() {
            match state.time_passes(program) {
                Some(later) => follow.push(later),
                None => {
                    assert!(state.threads.iter().all(|t| t.phase == Phase::Over), "every wait has a limit: {state:?}");
                    outcomes.insert(state.threads.iter().map(|thread| thread.log.clone()).collect());
                }
            }
        }
        for state in follow {
            if seen.insert(state.clone()) {
                work.push(state);
            }
        }
    }
    outcomes
}

impl State {
    /// Nobody can go on: the next instant at which somebody can.
    fn time_passes(&self, program: &Program) -> Option<State> {
        let mut later = self.clone();
        let instants = self.threads.iter().zip(&program.threads).filter_map(|(thread, of)| match thread.phase {
            Phase::Waits { until, time_is_up: false } => {
                let timers = match &of.ops[thread.next] {
                    Op::Wait(arms, _) | Op::Ready(arms, _) => arms.iter().filter_map(|arm| self.due(*arm)).min(),
                    _ => None,
                };
                timers.into_iter().chain([until]).min()
            }
            _ => None,
        });
        later.now = instants.min()?;
        for thread in &mut later.threads {
            if let Phase::Waits { until, time_is_up } = &mut thread.phase {
                *time_is_up = *until <= later.now;
            }
        }
        Some(later)
    }

    /// When time sends.
    fn due(&self, arm: Arm) -> Option<u64> {
        match arm {
            Arm::After => self.after,
            Arm::Tick => Some(self.tick),
            _ => None,
        }
    }
}

/// What a thread can do.
struct Step<'a> {
    program: &'a Program,
    thread: usize,
}

impl Step<'_> {
    fn from(&self, state: &State) -> Vec<State> {
        let me = &state.threads[self.thread];
        match me.phase {
            Phase::Over => vec![],
            Phase::Begins if me.next == self.program.threads[self.thread].ops.len() => {
                let mut state = state.clone();
                state.threads[self.thread].phase = Phase::Ends;
                self.from(&state)
            }
            Phase::Begins => self.begins(state),
            Phase::Waits { until, time_is_up } => self.waits(state, until, time_is_up),
            Phase::Sends(arm) => vec![self.sends(state.clone(), arm)],
            Phase::Chosen(arm) => vec![self.chosen(state.clone(), arm)],
            Phase::Promised(arm) => match state.handed.iter().any(|(to, _)| *to == self.thread) {
                true => vec![self.handed(state.clone(), arm)],
                false => vec![],
            },
            Phase::Ends => vec![self.drops_next(state.clone())],
        }
    }

    fn op(&self, state: &State) -> &Op {
        &self.program.threads[self.thread].ops[state.threads[self.thread].next]
    }

    fn arm(&self, state: &State, arm: usize) -> Arm {
        match self.op(state) {
            Op::Wait(arms, _) | Op::Try(arms) | Op::Ready(arms, _) => arms[arm],
            _ => unreachable!("it has no arms"),
        }
    }

    fn has_queue(&self, channel: usize) -> bool {
        self.program.capacities[channel] != Some(0)
    }

    /// Whether the arm can be done now.
    fn can(&self, state: &State, arm: Arm) -> bool {
        let free = |waiting: &[(usize, usize)]| waiting.iter().any(|w| self.is_free(state, w.0));
        match arm {
            Arm::Send(c) => {
                let channel = &state.channels[c];
                let has_place = match self.program.capacities[c] {
                    None => true,
                    Some(0) => free(&channel.receiving),
                    Some(capacity) => channel.queue.len() < capacity,
                };
                channel.receivers == 0 || has_place
            }
            Arm::Receive(c) => {
                let channel = &state.channels[c];
                channel.senders == 0
                    || matches!(channel.queue.first(), Some(Entry::Message(_)))
                    || free(&channel.sending)
            }
            timer => state.due(timer).is_some_and(|due| due <= state.now),
        }
    }

    fn is_free(&self, state: &State, other: usize) -> bool {
        other != self.thread && matches!(state.threads[other].phase, Phase::Waits { .. })
    }

    fn arms_that_can(&self, state: &State, arms: &[Arm]) -> Vec<usize> {
        (0..arms.len()).filter(|arm| self.can(state, arms[*arm])).collect()
    }

    fn begins(&self, state: &State) -> Vec<State> {
        let now = state.now;
        let wait = |limit: u64| {
            let mut state = state.clone();
            state.threads[self.thread].phase = Phase::Waits { until: now + limit, time_is_up: false };
            state
        };
        match self.op(state) {
            Op::Sleep(time) => vec![wait(*time)],
            Op::Len(c) => {
                let mut state = state.clone();
                let len = state.channels[*c].queue.len();
                self.ends(&mut state, Some(Seen::Len(len)));
                vec![state]
            }
            Op::DropSender(c) => {
                let mut state = state.clone();
                self.drops(&mut state, *c, true);
                self.ends(&mut state, None);
                vec![state]
            }
            Op::DropReceiver(c) => {
                let mut state = state.clone();
                self.drops(&mut state, *c, false);
                self.ends(&mut state, None);
                vec![state]
            }
            Op::Try(arms) => {
                let can = self.arms_that_can(state, arms);
                let is_coming = arms.iter().any(|arm| match arm {
                    Arm::Receive(c) => matches!(state.channels[*c].queue.first(), Some(Entry::Reserved(_))),
                    _ => false,
                });
                match (can.is_empty(), is_coming) {
                    (true, true) => vec![],
                    (true, false) => {
                        let mut state = state.clone();
                        self.ends(&mut state, Some(Seen::Refused));
                        vec![state]
                    }
                    _ => can.into_iter().map(|arm| self.does(state.clone(), arm)).collect(),
                }
            }
            Op::Ready(_, limit) => {
                let waiting = wait(*limit);
                let now = self.waits(&waiting, now + limit, false);
                if now.is_empty() { vec![waiting] } else { now }
            }
            Op::Wait(arms, limit) => {
                let can = self.arms_that_can(state, arms);
                if !can.is_empty() {
                    return can.into_iter().map(|arm| self.does(state.clone(), arm)).collect();
                }
                let mut state = wait(*limit);
                for (number, arm) in arms.iter().enumerate() {
                    match arm {
                        Arm::Send(c) if !self.has_queue(*c) => {
                            state.channels[*c].sending.push((self.thread, number));
                        }
                        Arm::Receive(c) if !self.has_queue(*c) => {
                            state.channels[*c].receiving.push((self.thread, number));
                        }
                        _ => {}
                    }
                }
                vec![state]
            }
        }
    }

    fn waits(&self, state: &State, until: u64, time_is_up: bool) -> Vec<State> {
        let is_over = time_is_up || until <= state.now;
        let seen = |seen: Option<Seen>| {
            let mut state = state.clone();
            self.leaves(&mut state);
            self.ends(&mut state, seen);
            state
        };
        match self.op(state) {
            Op::Sleep(_) if is_over => vec![seen(None)],
            Op::Sleep(_) => vec![],
            Op::Ready(arms, _) => {
                let can = self.arms_that_can(state, arms);
                match can.is_empty() {
                    true if is_over => vec![seen(Some(Seen::TimeUp))],
                    true => vec![],
                    false => can.into_iter().map(|arm| seen(Some(Seen::Ready(arm)))).collect(),
                }
            }
            Op::Wait(arms, _) => {
                let can = self.arms_that_can(state, arms);
                match can.is_empty() {
                    true if is_over => vec![seen(Some(Seen::TimeUp))],
                    true => vec![],
                    false => can
                        .into_iter()
                        .map(|arm| {
                            let mut state = state.clone();
                            self.leaves(&mut state);
                            self.does(state, arm)
                        })
                        .collect(),
                }
            }
            op => unreachable!("{op:?} does not wait"),
        }
    }

    fn leaves(&self, state: &mut State) {
        for channel in &mut state.channels {
            channel.sending.retain(|(thread, _)| *thread != self.thread);
            channel.receiving.retain(|(thread, _)| *thread != self.thread);
        }
    }

    /// A selection first gets what it needs, and then sends; one operation alone does both at once.
    fn is_selection(&self, state: &State) -> bool {
        matches!(self.op(state), Op::Wait(arms, _) | Op::Try(arms) if arms.len() > 1)
    }

    fn message(&self, state: &State) -> Message {
        (self.thread, state.threads[self.thread].next)
    }

    /// Does what can be done.
    fn does(&self, mut state: State, number: usize) -> State {
        let mine = self.message(&state);
        let selects = self.is_selection(&state);
        match self.arm(&state, number) {
            Arm::Send(c) if state.channels[c].receivers == 0 => match selects {
                // It finds out when it sends.
                true => state.threads[self.thread].phase = Phase::Sends(number),
                false => self.ends(&mut state, Some(Seen::Disconnected(number))),
            },
            Arm::Send(c) if self.has_queue(c) => match selects {
                true => {
                    state.channels[c].queue.push(Entry::Reserved(self.thread));
                    state.threads[self.thread].phase = Phase::Sends(number);
                }
                false => {
                    state.channels[c].queue.push(Entry::Message(mine));
                    self.ends(&mut state, Some(Seen::Sent(number)));
                }
            },
            Arm::Send(c) => {
                let receiver = self.chooses(&mut state, c, false);
                state.threads[receiver.0].phase = Phase::Promised(receiver.1);
                match selects {
                    true => {
                        state.promises.push((self.thread, receiver.0));
                        state.threads[self.thread].phase = Phase::Sends(number);
                    }
                    false => {
                        state.handed.push((receiver.0, mine));
                        self.ends(&mut state, Some(Seen::Sent(number)));
                    }
                }
            }
            Arm::Receive(c) => {
                if let Some(Entry::Message(message)) = state.channels[c].queue.first().copied() {
                    state.channels[c].queue.remove(0);
                    self.ends(&mut state, Some(Seen::Received(number, message)));
                } else if state.channels[c].sending.iter().any(|w| self.is_free(&state, w.0)) {
                    let sender = self.chooses(&mut state, c, true);
                    let other = Step { program: self.program, thread: sender.0 };
                    if other.is_selection(&state) {
                        state.promises.push((sender.0, self.thread));
                        state.threads[sender.0].phase = Phase::Sends(sender.1);
                        state.threads[self.thread].phase = Phase::Promised(number);
                    } else {
                        let message = other.message(&state);
                        state.threads[sender.0].phase = Phase::Chosen(sender.1);
                        self.ends(&mut state, Some(Seen::Received(number, message)));
                    }
                } else {
                    self.ends(&mut state, Some(Seen::Disconnected(number)));
                }
            }
            Arm::After => {
                let due = state.after.take().expect("it is due");
                self.ends(&mut state, Some(Seen::Received(number, (TIME, due as usize))));
            }
            Arm::Tick => {
                let due = std::mem::replace(&mut state.tick, state.now + 1);
                self.ends(&mut state, Some(Seen::Received(number, (TIME, due as usize))));
            }
        }
        state
    }

    /// The first that waits; it waits no more.
    fn chooses(&self, state: &mut State, channel: usize, to_send: bool) -> (usize, usize) {
        let waiting = if to_send { &state.channels[channel].sending } else { &state.channels[channel].receiving };
        let chosen = *waiting.iter().find(|w| self.is_free(state, w.0)).expect("somebody waits");
        Step { program: self.program, thread: chosen.0 }.leaves(state);
        chosen
    }

    /// A selection sends.
    fn sends(&self, mut state: State, number: usize) -> State {
        let Arm::Send(c) = self.arm(&state, number) else { unreachable!("it sends") };
        let mine = self.message(&state);
        let mut sent = true;
        if let Some(promise) = state.promises.iter().position(|(from, _)| *from == self.thread) {
            let (_, to) = state.promises.remove(promise);
            state.handed.push((to, mine));
        } else if let Some(entry) =
            state.channels[c].queue.iter_mut().find(|entry| **entry == Entry::Reserved(self.thread))
        {
            *entry = Entry::Message(mine);
        } else {
            // The place went with the last receiver, or nobody received when it was selected.
            sent = state.handed.contains(&(self.thread, GONE));
        }
        self.ends(&mut state, Some(if sent { Seen::Sent(number) } else { Seen::Disconnected(number) }));
        state
    }

    /// Somebody has received the message.
    fn chosen(&self, mut state: State, number: usize) -> State {
        self.ends(&mut state, Some(Seen::Sent(number)));
        state
    }

    fn handed(&self, mut state: State, number: usize) -> State {
        let at = state.handed.iter().position(|(to, _)| *to == self.thread).expect("it has one");
        let (_, message) = state.handed.remove(at);
        self.ends(&mut state, Some(Seen::Received(number, message)));
        state
    }

    fn drops(&self, state: &mut State, c: usize, sender: bool) {
        let (me, channel) = (&mut state.threads[self.thread], &mut state.channels[c]);
        if sender {
            me.senders[c] = false;
            channel.senders -= 1;
        } else {
            me.receivers[c] = false;
            channel.receivers -= 1;
            if channel.receivers == 0 {
                // Messages go with the last receiver. A place that was reserved is remembered for who has reserved it.
                for entry in channel.queue.drain(..) {
                    if let Entry::Reserved(thread) = entry {
                        state.handed.push((thread, GONE));
                    }
                }
            }
        }
    }

    /// At its end it drops what it has, in order.
    fn drops_next(&self, mut state: State) -> State {
        let me = &state.threads[self.thread];
        match (0..2).find(|c| me.senders[*c] || me.receivers[*c]) {
            Some(c) => {
                let sender = me.senders[c];
                self.drops(&mut state, c, sender);
            }
            None => state.threads[self.thread].phase = Phase::Over,
        }
        state
    }

    fn ends(&self, state: &mut State, seen: Option<Seen>) {
        state.handed.retain(|handed| *handed != (self.thread, GONE));
        let me = &mut state.threads[self.thread];
        me.log.extend(seen);
        me.next += 1;
        me.phase = Phase::Begins;
    }
}
