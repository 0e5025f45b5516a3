//! Trace programs as formulas: what every encoding has in common.
//!
//! A model of the formula is a run: which receive gets which message, and, where deadlocks are looked for, how far each node
//! comes. Each encoding is a file of its own; `Frame` holds what they share: values, conditions, what is looked for.

mod counts;
mod cuts;
pub mod match_pair;
pub mod order;
mod points;
mod ranges;
pub mod sparse;
mod sums;
mod times;

use crate::Property;
use crate::ctp::{CommandKind, Ctp, EndpointId, Expr, MarkId, NodeId, Operator, ReceiveId, Request, SendId};
use crate::pairs::Pairs;
use crate::semantics::Buffering;
use crate::system::Goal;
use fabius_smt::{Clauses, Limits, Op, Solver, Sort, Term, Terms, smtlib};
use fabius_trace::Span;
use match_pair::{Asserts, Reading};
use sums::Sums;

/// Which encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// One variable for each match pair, and an order without numbers.
    #[default]
    Sparse,
    /// The paper's: times of commands are numbers, and so are matches. The default reading is the repaired one.
    MatchPair(Reading),
    /// That of earlier work: the order of arrivals decides who gets what.
    Order,
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Of which program.
    pub ctp: &'a Ctp,
    /// Under which network.
    pub buffering: Buffering,
    /// For which runs: those with a bug, or all that are complete and take this path.
    pub goal: Goal,
    /// Which messages a receive may get.
    pub pairs: &'a Pairs,
    /// Once one of these is hit, the formula is of no use, and comes out sooner and not whole.
    pub limits: &'a Limits<'a>,
}

/// A formula, and what its variables mean.
pub struct Encoded {
    /// Its terms.
    pub terms: Terms,
    /// What holds.
    pub facts: Facts,
    /// The pairs, each with the term that says that it is a match.
    pub matches: Vec<(ReceiveId, SendId, Term)>,
    /// For each node the commands that it may have to wait at, each with the term that says that it got past.
    pub passed: Vec<Vec<(usize, Term)>>,
    /// For endpoints of which only some receives have matches: which messages are among the first so many.
    pub cuts: Vec<(EndpointId, Vec<cuts::Cut>)>,
    /// The first command in which a number may leave 64 bits. A formula without models then says nothing of runs where it
    /// does.
    pub beyond: Option<Span>,
    /// How many constraints there are of each kind.
    pub count: Count,
}

/// What holds.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Terms that hold.
    pub terms: Vec<Term>,
    /// Lists of terms, one of which holds.
    pub clauses: Clauses,
    /// When the first holds, the second is before the third.
    pub orders: Vec<[Term; 3]>,
    /// Truth values of some run, to be tried first.
    pub preferred: Vec<Term>,
}

/// Constraints by kind. Definitions are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Commands of a node happen one after the other.
    pub program_order: u64,
    /// A receive gets a message.
    pub matches: u64,
    /// Two receives get different messages.
    pub distinct: u64,
    /// Messages of a channel do not overtake each other.
    pub fifo: u64,
    /// Assumptions.
    pub assumes: u64,
    /// Assertions.
    pub asserts: u64,
    /// Assignments.
    pub assignments: u64,
    /// How far the nodes come, and other outcomes of requests than their messages.
    pub progress: u64,
}

impl Count {
    /// All kinds with their names.
    pub fn kinds(&self) -> [(&'static str, u64); 8] {
        [
            ("program_order", self.program_order),
            ("matches", self.matches),
            ("distinct", self.distinct),
            ("fifo", self.fifo),
            ("assumes", self.assumes),
            ("asserts", self.asserts),
            ("assignments", self.assignments),
            ("progress", self.progress),
        ]
    }

    /// All together.
    pub fn total(&self) -> u64 {
        self.kinds().iter().map(|(_, n)| n).sum()
    }
}

/// Encodes a question.
pub fn encode(encoding: Encoding, question: Question<'_>) -> Encoded {
    match encoding {
        Encoding::Sparse => sparse::encode(question),
        Encoding::MatchPair(reading) => match_pair::encode(question, reading),
        Encoding::Order => order::encode(question),
    }
}

impl Facts {
    /// Tells a solver, as far as the limits allow.
    pub fn give(&self, terms: &Terms, solver: &mut dyn Solver, limits: &Limits<'_>) {
        let goes_on = || !limits.are_hit();
        self.preferred.iter().for_each(|t| solver.prefer(*t));
        for fact in self.terms.iter().take_while(|_| goes_on()) {
            solver.assert(terms, *fact);
        }
        for clause in self.clauses.iter().take_while(|_| goes_on()) {
            solver.assert_any(terms, clause);
        }
        for [condition, from, to] in self.orders.iter().take_while(|_| goes_on()) {
            solver.before(terms, *condition, *from, *to);
        }
    }

    /// A file for another solver.
    pub fn script(&self, terms: &Terms) -> String {
        let mut text = String::from("(set-logic ALL)\n");
        let mut writer = smtlib::Writer::default();
        for fact in &self.terms {
            writer.assert(terms, *fact, &mut text);
        }
        for clause in self.clauses.iter() {
            writer.assert_any(terms, clause, &mut text);
        }
        for [condition, from, to] in &self.orders {
            writer.assert_before(terms, *condition, *from, *to, &mut text);
        }
        text + "(check-sat)\n(get-model)\n"
    }
}

/// A formula under construction.
struct Frame<'a> {
    ctp: &'a Ctp,
    buffering: Buffering,
    goal: Goal,
    pairs: &'a Pairs,
    limits: &'a Limits<'a>,
    terms: Terms,
    facts: Facts,
    count: Count,
    variables: Vec<Term>,
    beyond: Option<Span>,
    passed: Vec<Vec<(usize, Term)>>,
    /// For each receive, whether its message arrives, as far as that matters.
    filled: Vec<Option<Term>>,
    /// For each endpoint, how many messages are sent to it, once somebody has asked.
    sent_to: Vec<Option<(i128, Term)>>,
    /// Sums that are the same in every run; none unless an encoding says where.
    sums: Sums<'a>,
}

impl<'a> Frame<'a> {
    fn new(question: Question<'a>) -> Frame<'a> {
        let Question { ctp, buffering, goal, pairs, limits } = question;
        let mut terms = Terms::default();
        let ranges::Numbers { variables, beyond } = ranges::numbers(ctp, pairs, limits, &mut terms);
        let mut frame = Frame {
            ctp,
            buffering,
            goal,
            pairs,
            limits,
            terms,
            facts: Facts::default(),
            count: Count::default(),
            variables,
            beyond,
            passed: vec![Vec::new(); ctp.nodes.len()],
            filled: Vec::new(),
            sent_to: vec![None; ctp.endpoints.len()],
            sums: Sums::default(),
        };
        if matches!(goal, Goal::Bug(Property::Deadlock) | Goal::Reach(_)) {
            frame.progress();
        }
        frame.filled = (0..ctp.receives.len()).map(|r| frame.is_filled(r)).collect();
        frame.close_filled();
        frame
    }

    fn fact(&mut self, fact: Term) {
        self.facts.terms.push(fact);
    }

    /// The requests that a command may have to wait for, if it may.
    fn waits_for(&self, node: NodeId, at: usize) -> Option<Vec<Request>> {
        let all = match self.ctp.command(node, at) {
            CommandKind::Wait(request) => vec![*request],
            CommandKind::WaitAny { requests, .. } => requests.clone(),
            _ => return None,
        };
        let at_once = |r: &Request| matches!(r, Request::Send(_)) && self.buffering == Buffering::Infinite;
        (!all.iter().any(at_once)).then_some(all)
    }

    /// Whether a node may have to wait at a command.
    fn may_wait(&self, node: NodeId, at: usize) -> bool {
        matches!(self.ctp.command(node, at), CommandKind::After(_)) || self.waits_for(node, at).is_some()
    }

    /// Whether a mark is passed.
    fn is_passed(&self, mark: MarkId) -> Term {
        let mark = &self.ctp.marks[mark];
        if self.ctp.is_there(mark) { self.executed(mark.node, mark.at) } else { Terms::FALSE }
    }

    /// Whether a node may end in front of a command: where it waits, or, if only another one must come to its end, also
    /// where the path is decided.
    fn may_stop(&self, node: NodeId, at: usize) -> bool {
        match self.goal {
            Goal::Reach(target) => {
                let decides = matches!(self.ctp.command(node, at), CommandKind::Assume(_) | CommandKind::Test { .. });
                node != target && (decides || self.may_wait(node, at))
            }
            _ => self.may_wait(node, at),
        }
    }

    /// How far each node comes.
    fn progress(&mut self) {
        for node in 0..self.ctp.nodes.len() {
            for at in 0..self.ctp.nodes[node].commands.len() {
                if !self.may_stop(node, at) {
                    continue;
                }
                let passes = self.terms.variable(Sort::Bool);
                if let Some((_, before)) = self.passed[node].last().copied() {
                    let follows = self.terms.implies(passes, before);
                    self.fact(follows);
                    self.count.progress += 1;
                }
                self.passed[node].push((at, passes));
            }
        }
    }

    /// Whether a command is executed.
    fn executed(&self, node: NodeId, at: usize) -> Term {
        let passed = &self.passed[node];
        match passed.partition_point(|(wait, _)| *wait <= at) {
            0 => Terms::TRUE,
            n => passed[n - 1].1,
        }
    }

    fn is_sent(&self, s: SendId) -> Term {
        self.executed(self.ctp.sends[s].node, self.ctp.sends[s].at)
    }

    /// Whether the message of a receive arrives; `None` if that does not matter to anybody.
    fn is_filled(&mut self, r: ReceiveId) -> Option<Term> {
        let receive = &self.ctp.receives[r];
        let completed = receive.done.map(|done| self.executed(receive.node, done));
        if self.buffering == Buffering::Infinite || completed == Some(Terms::TRUE) {
            return completed;
        }
        let posted = self.executed(receive.node, receive.at);
        let filled = self.terms.variable(Sort::Bool);
        let is_posted = self.terms.implies(filled, posted);
        self.fact(is_posted);
        if let Some(completed) = completed {
            let is_received = self.terms.implies(completed, filled);
            self.fact(is_received);
        }
        Some(filled)
    }

    /// With zero buffering: receives are filled in the order in which they are posted; in a deadlock, as many as can be.
    fn close_filled(&mut self) {
        if self.buffering == Buffering::Infinite {
            return;
        }
        for endpoint in &self.ctp.endpoints {
            for pair in endpoint.receives.windows(2) {
                if let (Some(first), Some(second)) = (self.filled[pair[0]], self.filled[pair[1]]) {
                    let follows = self.terms.implies(second, first);
                    self.fact(follows);
                }
            }
        }
        if self.goal != Goal::Bug(Property::Deadlock) {
            return;
        }
        for r in 0..self.ctp.receives.len() {
            let Some(filled) = self.filled[r] else { continue };
            let receive = &self.ctp.receives[r];
            let posted = self.executed(receive.node, receive.at);
            let enough = self.has_more_than(receive.endpoint, receive.rank);
            let may = self.terms.and(posted, enough);
            let is = self.terms.eq(filled, may);
            self.fact(is);
            self.count.progress += 1;
        }
    }

    /// Whether more than so many messages are sent to the endpoint.
    fn has_more_than(&mut self, endpoint: EndpointId, n: usize) -> Term {
        let (at_once, sum) = match self.sent_to[endpoint] {
            Some(known) => known,
            None => self.count_sent_to(endpoint),
        };
        let missing = self.terms.constant(n as i128 - at_once, Sort::Int);
        self.terms.lt(missing, sum)
    }

    /// How many messages are sent to the endpoint: those that always are, and a term that counts the others.
    fn count_sent_to(&mut self, endpoint: EndpointId) -> (i128, Term) {
        let mut at_once = 0;
        let mut sum = self.terms.constant(0, Sort::Int);
        for s in &self.ctp.endpoints[endpoint].incoming {
            match self.is_sent(*s) {
                Terms::TRUE => at_once += 1,
                sent => {
                    let [one, none] = [1, 0].map(|v| self.terms.constant(v, Sort::Int));
                    let counts = self.terms.ite(sent, one, none);
                    sum = self.terms.arithmetic(Op::Add, sum, counts);
                }
            }
        }
        self.sent_to[endpoint] = Some((at_once, sum));
        (at_once, sum)
    }

    /// Assumptions, assignments, and what is looked for. `matched` says whether a message has a receive.
    fn conditions(&mut self, matches: &[(ReceiveId, SendId, Term)], matched: &[Term], which: Asserts) {
        let mut violations = Vec::new();
        for node in 0..self.ctp.nodes.len() {
            for at in 0..self.ctp.nodes[node].commands.len() {
                match self.ctp.command(node, at) {
                    CommandKind::Assume(e) => {
                        let (executed, holds) = (self.executed(node, at), self.truth(e));
                        let fact = self.terms.implies(executed, holds);
                        self.fact(fact);
                        self.count.assumes += 1;
                    }
                    CommandKind::Assign(x, e) => {
                        let value = self.number(e);
                        let executed = self.executed(node, at);
                        let same = self.terms.eq(self.variables[*x], value);
                        let fact = self.terms.implies(executed, same);
                        self.fact(fact);
                        self.count.assignments += 1;
                    }
                    CommandKind::Assert(e, _) if self.goal == Goal::Bug(Property::Assert) => {
                        let holds = self.truth(e);
                        violations.push(self.terms.not(holds));
                        self.count.asserts += 1;
                    }
                    _ => {}
                }
            }
        }
        match self.goal {
            Goal::Bug(Property::Assert) if which == Asserts::All => violations.into_iter().for_each(|v| self.fact(v)),
            Goal::Bug(Property::Assert) => self.facts.clauses.push(&violations),
            Goal::Bug(Property::Unmatched) => {
                let mut received = vec![Terms::FALSE; self.ctp.sends.len()];
                for (r, s, pair) in matches {
                    if self.ctp.receives[*r].done.is_some() {
                        received[*s] = self.terms.or(received[*s], *pair);
                    }
                }
                let lost: Vec<Term> = received.iter().map(|m| self.terms.not(*m)).collect();
                self.facts.clauses.push(&lost);
                self.count.asserts += 1;
            }
            Goal::Bug(Property::Deadlock) => self.is_stuck(matched),
            Goal::Outcomes | Goal::Reach(_) => {}
        }
        self.outcomes_of_requests();
        self.after_marks();
        // A wait for a send waits until it is received.
        if self.buffering == Buffering::Zero {
            for (send, matched) in self.ctp.sends.iter().zip(matched) {
                if let Some(wait) = send.wait {
                    let executed = self.executed(send.node, wait);
                    let fact = self.terms.implies(executed, *matched);
                    self.fact(fact);
                    self.count.progress += 1;
                }
            }
        }
    }

    /// Whoever does not finish cannot go on, and somebody does not finish.
    fn is_stuck(&mut self, matched: &[Term]) {
        let mut unfinished = Vec::new();
        for node in 0..self.ctp.nodes.len() {
            let mut before = Terms::TRUE;
            for (at, passes) in self.passed[node].clone() {
                let stays = self.terms.not(passes);
                let stops = self.terms.and(before, stays);
                let mut blocked = Terms::TRUE;
                if let CommandKind::After(mark) = self.ctp.command(node, at) {
                    blocked = self.terms.not(self.is_passed(*mark));
                }
                for request in self.waits_for(node, at).unwrap_or_default() {
                    let complete = match request {
                        Request::Send(s) => matched[s],
                        Request::Receive(r) => {
                            let receive = &self.ctp.receives[r];
                            self.has_more_than(receive.endpoint, receive.rank)
                        }
                    };
                    let waits = self.terms.not(complete);
                    blocked = self.terms.and(blocked, waits);
                }
                let fact = self.terms.implies(stops, blocked);
                self.fact(fact);
                self.count.progress += 1;
                before = passes;
            }
            unfinished.push(self.terms.not(before));
        }
        self.facts.clauses.push(&unfinished);
        self.count.asserts += 1;
    }

    /// A request that is complete at once, or by an earlier wait, cannot have been found incomplete.
    fn outcomes_of_requests(&mut self) {
        for node in 0..self.ctp.nodes.len() {
            for at in 0..self.ctp.nodes[node].commands.len() {
                let CommandKind::Test { request, answer: false } = self.ctp.command(node, at) else { continue };
                let impossible = match request {
                    Request::Send(_) => self.buffering == Buffering::Infinite,
                    Request::Receive(r) => self.ctp.receives[*r].done.is_some_and(|done| done < at),
                };
                if impossible {
                    let executed = self.executed(node, at);
                    let fact = self.terms.not(executed);
                    self.fact(fact);
                }
                self.count.progress += 1;
            }
        }
    }

    /// What waits for a mark is executed only if that is.
    fn after_marks(&mut self) {
        for node in 0..self.ctp.nodes.len() {
            for at in 0..self.ctp.nodes[node].commands.len() {
                let CommandKind::After(mark) = self.ctp.command(node, at) else { continue };
                let (executed, passed) = (self.executed(node, at), self.is_passed(*mark));
                let fact = self.terms.implies(executed, passed);
                self.fact(fact);
                self.count.progress += 1;
            }
        }
    }

    fn number(&mut self, e: &Expr) -> Term {
        match e {
            Expr::Const(v) => self.terms.constant(i128::from(*v), Sort::Int),
            Expr::Variable(x) => self.variables[*x],
            // No run gets past this.
            Expr::Binary(..) if e.is_closed() && e.value(&|_| 0).is_err() => self.terms.variable(Sort::Int),
            Expr::Binary(operator @ (Operator::Add | Operator::Sub | Operator::Mul), a, b) => {
                let (a, b) = (self.number(a), self.number(b));
                let op = match operator {
                    Operator::Add => Op::Add,
                    Operator::Sub => Op::Sub,
                    _ => Op::Mul,
                };
                self.terms.arithmetic(op, a, b)
            }
            _ => {
                let truth = self.truth(e);
                let [one, none] = [1, 0].map(|v| self.terms.constant(v, Sort::Int));
                self.terms.ite(truth, one, none)
            }
        }
    }

    fn truth(&mut self, e: &Expr) -> Term {
        match e {
            Expr::Not(e) => {
                let e = self.truth(e);
                self.terms.not(e)
            }
            Expr::Binary(Operator::And, a, b) => {
                let (a, b) = (self.truth(a), self.truth(b));
                self.terms.and(a, b)
            }
            Expr::Binary(Operator::Or, a, b) => {
                let (a, b) = (self.truth(a), self.truth(b));
                self.terms.or(a, b)
            }
            Expr::Binary(operator @ (Operator::Eq | Operator::Ne), a, b) => {
                let (a, b) = self.compared(a, b);
                let same = self.terms.eq(a, b);
                if *operator == Operator::Eq { same } else { self.terms.not(same) }
            }
            Expr::Binary(Operator::Lt, a, b) | Expr::Binary(Operator::Gt, b, a) => {
                let (a, b) = self.compared(a, b);
                self.terms.lt(a, b)
            }
            Expr::Binary(Operator::Le, a, b) | Expr::Binary(Operator::Ge, b, a) => {
                let (a, b) = self.compared(a, b);
                self.terms.le(a, b)
            }
            _ => {
                let number = self.number(e);
                let none = self.terms.constant(0, Sort::Int);
                let is_none = self.terms.eq(number, none);
                self.terms.not(is_none)
            }
        }
    }

    /// Two numbers that compare as these do: themselves, or a sum of what is left of them and 0.
    fn compared(&mut self, a: &Expr, b: &Expr) -> (Term, Term) {
        let Some(sum) = self.sums.difference(a, b) else { return (self.number(a), self.number(b)) };
        let mut total = self.terms.constant(sum.number, Sort::Int);
        for (x, times) in sum.times {
            let times = self.terms.constant(times, Sort::Int);
            let part = self.terms.arithmetic(Op::Mul, times, self.variables[x]);
            total = self.terms.arithmetic(Op::Add, total, part);
        }
        (total, self.terms.constant(0, Sort::Int))
    }

    /// Between 0 and so many.
    fn time(&mut self, most: usize) -> Term {
        self.terms.variable_between(0, most as i128)
    }

    fn finish(self, matches: Vec<(ReceiveId, SendId, Term)>) -> Encoded {
        Encoded {
            terms: self.terms,
            facts: self.facts,
            matches,
            passed: self.passed,
            cuts: Vec::new(),
            beyond: self.beyond,
            count: self.count,
        }
    }
}
