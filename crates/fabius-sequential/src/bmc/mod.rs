//! Bounded model checking of sequential programs with procedures, loops and recursion.
//!
//! The program becomes one term for "an assertion fails". Loops and recursive calls are at first left open: what they do
//! is unknown. If no assertion can fail even so, the answer is found; otherwise those that the counterexample goes
//! through are opened, and the question is asked again. Nothing is encoded twice: terms and clauses only grow.

mod changes;
mod expr;
pub mod layout;
mod run;
mod state;
mod witness;

use changes::Changes;
pub(crate) use changes::{Effects, of_procedures as effects_of_procedures, of_stmt as effects_of_stmt};
pub(crate) use expr::Evaluator;
use fabius_lang::program::{ProcId, Program, Stmt};
use fabius_smt::{Answer, Limits, Model, Solver, Sort, Term, Terms, evaluate};
use fabius_trace::Span;
use run::{Callers, Scope};
use state::Halt;
pub use state::NotSequential;
pub(crate) use state::State;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
pub use witness::{Print, Witness};

/// How far loops and calls are followed.
#[derive(Clone, Copy, Debug)]
pub struct Depth {
    /// Iterations of each loop.
    pub unwind: u32,
    /// Calls of a procedure that are active at the same time.
    pub recursion: u32,
}

/// What was found out.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// An assertion fails.
    Bug(Witness),
    /// No assertion fails.
    Safe {
        /// Loops and calls that were not followed any further, though they could have gone on. Nothing is said of what
        /// lies behind them.
        cuts: Vec<CutOff>,
        /// Integers beyond 64 bits were left out.
        within_64_bits: bool,
    },
    /// The solver gave up, for the limits.
    Unknown,
}

/// A loop or a recursive call that was not followed any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CutOff {
    /// Where it stands.
    pub span: Span,
    /// Whether it is a loop.
    pub is_loop: bool,
    /// After so many iterations, or so many active calls.
    pub after: u32,
}

/// Why there is no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BmcError {
    /// The program is not sequential.
    NotSequential(NotSequential),
    /// The solver failed.
    Solver(String),
}

/// Where the time went.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    /// Statements executed symbolically.
    pub statements: u64,
    /// Terms made.
    pub terms: u64,
    /// Questions asked.
    pub queries: u64,
    /// Loops and calls that were opened on demand.
    pub opened: u64,
    /// Time for symbolic execution.
    pub encoding: Duration,
    /// Time in the solver.
    pub solving: Duration,
}

impl Statistics {
    /// The work of both.
    pub fn and(&self, other: &Statistics) -> Statistics {
        Statistics {
            statements: self.statements + other.statements,
            terms: self.terms + other.terms,
            queries: self.queries + other.queries,
            opened: self.opened + other.opened,
            encoding: self.encoding + other.encoding,
            solving: self.solving + other.solving,
        }
    }
}

/// What a procedure printed, in order, and what is not known yet.
#[derive(Clone, Debug)]
enum Event {
    Printed { guard: Term, values: Vec<Term> },
    Open(usize),
}

/// A call, or the rest of a loop, that has variables for its effects.
struct Open<'p> {
    kind: OpenKind<'p>,
    span: Span,
    /// The procedure that is called, or that the loop is in.
    proc: ProcId,
    callers: Rc<Callers>,
    changes: Changes,
    input: State,
    behind: Option<State>,
    returned: Option<(State, Vec<Term>)>,
    /// Once it has been opened.
    told: Option<Vec<Event>>,
}

/// So many loops and calls are opened before integers get more bits, even if a model with few bits does not go through them.
const FEW: usize = 8;

/// How many bits integers have where a question is asked.
#[derive(Clone, Copy)]
enum Bits {
    /// As many as now.
    Few,
    /// As many as it takes to answer.
    Enough,
}

#[derive(Clone, Copy)]
enum OpenKind<'p> {
    Loop { stmt: &'p Stmt, done: u32 },
    Call,
}

/// A program under check. May be asked again with more depth, and then goes on from where it was.
pub struct Bmc<'p> {
    program: &'p Program,
    solver: Box<dyn Solver>,
    ev: Evaluator<'p>,
    effects: Vec<Effects>,
    unwind: u32,
    /// Conditions under which an assertion fails.
    wrong: Vec<Term>,
    /// What relates the new variables, in order; so many of them are known to the solver.
    facts: Vec<Term>,
    told_facts: usize,
    open: Vec<Open<'p>>,
    root: Vec<Event>,
    statements: u64,
    begun: bool,
    /// When execution stops.
    deadline: Option<Instant>,
    stop: Arc<AtomicBool>,
    /// Where the time went.
    pub statistics: Statistics,
}

impl<'p> Bmc<'p> {
    /// Nothing is executed yet.
    pub fn new(program: &'p Program, solver: Box<dyn Solver>) -> Bmc<'p> {
        Bmc {
            program,
            solver,
            ev: Evaluator::new(program),
            effects: changes::of_procedures(program),
            unwind: 0,
            wrong: Vec::new(),
            facts: Vec::new(),
            told_facts: 0,
            open: Vec::new(),
            root: Vec::new(),
            statements: 0,
            begun: false,
            deadline: None,
            stop: Arc::default(),
            statistics: Statistics::default(),
        }
    }

    /// Executes the program, leaving loops and recursion open.
    fn begin(&mut self) -> Result<(), Halt> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let program = self.program;
        let init = crate::entry(program)?;
        let mut vars = Vec::new();
        for global in &program.globals {
            vars.extend(self.ev.constant(&global.init, &global.ty));
        }
        for local in &program.procs[init].locals {
            vars.extend(self.ev.default_of(&local.ty));
        }
        let mut scope = Scope::new(init, Rc::new(Callers { proc: init, next: None }));
        self.block(&program.procs[init].body, State { guard: Terms::TRUE, vars }, &mut scope)?;
        self.root = scope.told;
        Ok(())
    }

    /// All terms, what relates them, and what is asked, for those who want to ask another solver. Everything is opened
    /// as far as the depth says; what is then still open is taken to be unreachable.
    ///
    /// # Errors
    /// [`BmcError::NotSequential`].
    pub fn question(&mut self, depth: Depth) -> Result<(&Terms, Vec<Term>), BmcError> {
        self.unwind = depth.unwind;
        let never = "nothing limits the time for the question";
        self.begin().map_err(|halt| halt.error().expect(never))?;
        while let Some(next) = self.open.iter().position(|o| o.told.is_none() && !o.at_limit(depth)) {
            self.open_one(next).map_err(|halt| halt.error().expect(never))?;
        }
        let mut all = self.facts.clone();
        let closed: Vec<Term> = self.unopened().map(|o| o.input.guard).collect();
        for guard in closed {
            let never = self.ev.terms.not(guard);
            all.push(never);
        }
        let wrong = self.wrong.clone();
        all.push(self.ev.terms.any(wrong));
        Ok((&self.ev.terms, all))
    }

    /// Whether an assertion can fail within this depth. The depth must not be less than in the last call. `progress` is
    /// called before each question.
    ///
    /// # Errors
    /// [`BmcError`].
    pub fn check(
        &mut self,
        depth: Depth,
        limits: &Limits<'_>,
        progress: &mut dyn FnMut(&Statistics),
    ) -> Result<Outcome, BmcError> {
        self.unwind = depth.unwind;
        (self.deadline, self.stop) = (limits.deadline, Arc::clone(limits.stop));
        let began = Instant::now();
        let begun = self.begin();
        self.statistics.encoding += began.elapsed();
        if let Err(halt) = begun {
            return halt.error().map_or(Ok(Outcome::Unknown), Err);
        }
        let mut bits = Bits::Few;
        loop {
            progress(&self.statistics);
            let wrong = self.wrong.clone();
            let wrong = self.ev.terms.any(wrong);
            // What is open is not entered: then a counterexample is one.
            let mut closed = vec![wrong];
            for guard in self.unopened().map(|o| o.input.guard).collect::<Vec<_>>() {
                closed.push(self.ev.terms.not(guard));
            }
            let is_whole = closed.len() == 1;
            if is_whole {
                // Nothing else will be asked: a fact simplifies what an assumption does not.
                self.facts.append(&mut closed);
                bits = Bits::Enough;
            }
            match self.ask(&closed, bits, limits)? {
                Some(Answer::Sat) => {
                    let model = self.smallest_model(&closed, limits)?;
                    return Ok(Outcome::Bug(self.witness(&model)));
                }
                Some(Answer::Unknown) => return Ok(Outcome::Unknown),
                answer if is_whole => {
                    let within_64_bits = answer == Some(Answer::UnsatWithin64Bits);
                    return Ok(Outcome::Safe { cuts: Vec::new(), within_64_bits });
                }
                _ => {}
            }
            // What is open may do anything, but for what is at the limit.
            let may_fail: Vec<Term> = self.unopened().filter(|o| o.changes.asserts).map(|o| o.input.guard).collect();
            let somewhere = self.ev.terms.any(may_fail);
            let somewhere = self.ev.terms.or(wrong, somewhere);
            let mut assumptions = vec![somewhere];
            for guard in self.unopened().filter(|o| o.at_limit(depth)).map(|o| o.input.guard).collect::<Vec<_>>() {
                assumptions.push(self.ev.terms.not(guard));
            }
            match self.ask(&assumptions, bits, limits)? {
                Some(Answer::Unknown) => return Ok(Outcome::Unknown),
                // Of integers that do not fit into few bits nothing is known, as of what is open: more of that may decide.
                answer @ (Some(Answer::Sat) | None) => {
                    let open = self.to_open(depth);
                    let mut through = self.entered(&open)?;
                    assert!(answer.is_none() || !through.is_empty(), "a counterexample through nothing open is one");
                    if through.is_empty() && open.len() <= FEW {
                        through = open;
                    }
                    if through.is_empty() {
                        bits = Bits::Enough;
                        continue;
                    }
                    bits = Bits::Few;
                    let began = Instant::now();
                    for i in through {
                        if let Err(halt) = self.open_one(i) {
                            return halt.error().map_or(Ok(Outcome::Unknown), Err);
                        }
                    }
                    self.statistics.encoding += began.elapsed();
                }
                Some(answer) => {
                    let within_64_bits = answer == Answer::UnsatWithin64Bits;
                    let cuts = if assumptions.len() == 1 { Vec::new() } else { self.cuts(somewhere, depth, limits)? };
                    return Ok(Outcome::Safe { cuts, within_64_bits });
                }
            }
        }
    }

    /// What is open and not at the limit.
    fn to_open(&self, depth: Depth) -> Vec<usize> {
        let all = self.open.iter().enumerate();
        all.filter(|(_, o)| o.told.is_none() && !o.at_limit(depth)).map(|(i, _)| i).collect()
    }

    /// What of these the model that was found goes through.
    fn entered(&mut self, open: &[usize]) -> Result<Vec<usize>, BmcError> {
        let model = self.model()?;
        let mut known = Default::default();
        let mut is_entered = |i: &usize| evaluate(&self.ev.terms, &model, self.open[*i].input.guard, &mut known) == 1;
        Ok(open.iter().copied().filter(|i| is_entered(i)).collect())
    }

    fn limits_are_hit(&self) -> bool {
        Limits { deadline: self.deadline, stop: &self.stop }.are_hit()
    }

    fn unopened(&self) -> impl Iterator<Item = &Open<'p>> {
        self.open.iter().filter(|o| o.told.is_none())
    }

    /// What was cut off, if that could matter. What is open and not at the limit may do anything, and does no harm.
    fn cuts(&mut self, somewhere: Term, depth: Depth, limits: &Limits<'_>) -> Result<Vec<CutOff>, BmcError> {
        if let Some(Answer::Unsat | Answer::UnsatWithin64Bits) = self.ask(&[somewhere], Bits::Enough, limits)? {
            return Ok(Vec::new());
        }
        let mut cuts: Vec<CutOff> = self.unopened().filter(|o| o.at_limit(depth)).map(Open::cut).collect();
        cuts.sort_unstable();
        cuts.dedup_by_key(|c| c.span);
        Ok(cuts)
    }

    fn ask(&mut self, assumptions: &[Term], bits: Bits, limits: &Limits<'_>) -> Result<Option<Answer>, BmcError> {
        self.statistics.queries += 1;
        self.statistics.statements = self.statements;
        self.statistics.terms = self.ev.terms.len() as u64;
        let began = Instant::now();
        for fact in &self.facts[self.told_facts..] {
            self.solver.assert(&self.ev.terms, *fact);
        }
        self.told_facts = self.facts.len();
        let answer = match bits {
            Bits::Few => self.solver.check_with_few_bits(&self.ev.terms, assumptions, limits),
            Bits::Enough => self.solver.check(&self.ev.terms, assumptions, limits).map(Some),
        };
        self.statistics.solving += began.elapsed();
        answer.map_err(BmcError::Solver)
    }

    /// The model that was found, or one for the same assumptions in which every integer fits into 64 bits, if there is one:
    /// others can hardly be run.
    fn smallest_model(&mut self, assumptions: &[Term], limits: &Limits<'_>) -> Result<Model, BmcError> {
        let model = self.model()?;
        let (least, most) = (i128::from(i64::MIN), i128::from(i64::MAX));
        let fits = |lo: i128, hi: i128| lo >= least && hi <= most;
        let large: Vec<Term> = self
            .ev
            .terms
            .integers()
            .filter(|t| !self.ev.terms.range(*t).is_some_and(|(lo, hi)| fits(lo, hi)))
            .collect();
        let mut known = Default::default();
        let value = |t: &Term| evaluate(&self.ev.terms, &model, *t, &mut known);
        if large.iter().map(value).all(|v| fits(v, v)) {
            return Ok(model);
        }
        let (least, most) = (self.ev.terms.constant(least, Sort::Int), self.ev.terms.constant(most, Sort::Int));
        let mut all = assumptions.to_vec();
        for t in large {
            let (above, below) = (self.ev.terms.le(least, t), self.ev.terms.le(t, most));
            all.push(self.ev.terms.and(above, below));
        }
        match self.ask(&all, Bits::Enough, limits)? {
            Some(Answer::Sat) => self.model(),
            _ => Ok(model),
        }
    }

    fn model(&mut self) -> Result<Model, BmcError> {
        let mut model = Model::new();
        for v in self.ev.terms.variables() {
            if self.ev.terms.sort(*v) != Sort::Order
                && let Some(value) = self.solver.value(&self.ev.terms, *v).map_err(BmcError::Solver)?
            {
                model.insert(*v, value);
            }
        }
        Ok(model)
    }

    /// Executes what was left open, and says that its variables are what comes out.
    fn open_one(&mut self, i: usize) -> Result<(), Halt> {
        self.statistics.opened += 1;
        let program = self.program;
        let open = &self.open[i];
        let (kind, proc, input) = (open.kind, open.proc, open.input.clone());
        let mut scope = Scope::new(proc, Rc::clone(&open.callers));
        let (behind, returned) = match kind {
            OpenKind::Loop { stmt, done } => {
                let behind = self.reenter(stmt, done, input, &mut scope)?;
                (behind, self.finish_call(None, &mut scope))
            }
            OpenKind::Call => {
                let end = self.block(&program.procs[proc].body, input, &mut scope)?;
                (None, self.finish_call(end, &mut scope))
            }
        };
        let open = &self.open[i];
        let promised = [open.behind.clone(), open.returned.clone().map(|(s, values)| with_results(s, values))];
        let found = [behind, returned.map(|(s, values)| with_results(s, values))];
        for (promised, found) in promised.into_iter().zip(found) {
            let Some(promised) = promised else { continue };
            let Some(found) = found else {
                let never = self.ev.terms.not(promised.guard);
                self.facts.push(never);
                continue;
            };
            let same = self.ev.terms.eq(promised.guard, found.guard);
            self.facts.push(same);
            for (p, f) in promised.vars.into_iter().zip(found.vars) {
                let (p, f) = self.ev.alike(p, f);
                if self.ev.terms.sort(p) == Sort::Order {
                    self.ev.orders.push((promised.guard, p, f));
                } else {
                    let eq = self.ev.terms.eq(p, f);
                    let fact = self.ev.terms.implies(promised.guard, eq);
                    self.facts.push(fact);
                }
            }
        }
        self.open[i].told = Some(scope.told);
        Ok(())
    }

    /// What the solver says of its work.
    pub fn solver_statistics(&self) -> Vec<(&'static str, u64)> {
        self.solver.statistics()
    }
}

impl Halt {
    /// The error, if it is one.
    fn error(self) -> Option<BmcError> {
        match self {
            Halt::NotSequential(wrong) => Some(BmcError::NotSequential(wrong)),
            Halt::Limits => None,
        }
    }
}

fn with_results(mut state: State, values: Vec<Term>) -> State {
    state.vars.extend(values);
    state
}

impl Open<'_> {
    fn at_limit(&self, depth: Depth) -> bool {
        match self.kind {
            OpenKind::Loop { done, .. } => done >= depth.unwind,
            OpenKind::Call => self.callers.count(self.proc) > depth.recursion,
        }
    }

    fn cut(&self) -> CutOff {
        let (is_loop, after) = match self.kind {
            OpenKind::Loop { done, .. } => (true, done),
            OpenKind::Call => (false, self.callers.count(self.proc) - 1),
        };
        CutOff { span: self.span, is_loop, after }
    }
}
