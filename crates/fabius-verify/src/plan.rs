//! How to check a program, and which combinations of options make sense.

use crate::Strategy;
use fabius_explore::search::MAX_STEPS;
use fabius_lang::program::Program;
use fabius_machine::{Alike, Machine};
use fabius_trace::{Bound, Points, SchedulerKind};
use std::time::Duration;

/// How to check a program. The default is that of the command line: iterative preemption bounding, as far as it goes.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is bounded.
    pub bound: Bound,
    /// The largest bound; `None`: until the space is exhausted or a limit stops the search.
    pub max: Option<u32>,
    /// The scheduler.
    pub scheduler: SchedulerKind,
    /// How the choices are walked.
    pub strategy: Strategy,
    /// Where threads may be preempted.
    pub points: Points,
    /// Enumerate executions instead of states.
    pub stateless: bool,
    /// Check every execution for data races (always on with [`Points::Sync`]).
    pub races: bool,
    /// Whether a deadlock is a bug.
    pub deadlock: bool,
    /// Whether a fair cycle without progress is a bug.
    pub livelock: bool,
    /// Whether the program's properties are looked at.
    pub properties: bool,
    /// Which states are looked at as one, where that changes no answer.
    pub symmetry: Symmetry,
    /// Whether steps are left out that can be made later just as well, or joined to those before them, where that changes no answer.
    pub reduction: bool,
    /// Whether outcomes of choices that lead to the same place inside of a step are made once from there on, where that changes no
    /// answer.
    pub merging: bool,
    /// Worker threads, at least 1.
    pub jobs: usize,
    /// Bytes for states.
    pub memory: Option<u64>,
    /// Time for the search.
    pub time: Option<Duration>,
    /// Number of executions of the random strategies; the default is 10,000.
    pub executions: Option<u64>,
    /// Seed of the random strategies.
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            bound: Bound::Preemptions,
            max: None,
            scheduler: SchedulerKind::Bag,
            strategy: Strategy::Iterative,
            points: Points::All,
            stateless: false,
            races: false,
            deadlock: true,
            livelock: false,
            properties: true,
            symmetry: Symmetry::ON,
            reduction: true,
            merging: true,
            jobs: 1,
            memory: None,
            time: None,
            executions: None,
            seed: 0,
        }
    }
}

/// States that differ only in which of several things that are alike is which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symmetry {
    /// Threads that do the same.
    pub threads: bool,
    /// Values that are only chosen, copied, and found equal or not.
    pub values: bool,
    /// Threads whose handles are kept for nothing but to join them in a row. (Without `threads` they are told apart, too.)
    pub joined: bool,
}

impl Symmetry {
    /// All of them.
    pub const ON: Symmetry = Symmetry { threads: true, values: true, joined: true };
    /// None.
    pub const OFF: Symmetry = Symmetry { threads: false, values: false, joined: false };

    /// A machine that tells apart what is not among these.
    pub(crate) fn of(self, mut machine: Machine<'_>) -> Machine<'_> {
        if !self.threads {
            machine = machine.telling_apart(Alike::Threads);
        }
        if !self.values {
            machine = machine.telling_apart(Alike::Values);
        }
        machine
    }
}

/// Why a plan makes no sense, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// What contradicts what.
    pub message: String,
    /// What to do.
    pub help: String,
}

fn refuse(message: &str, help: &str) -> Result<(), PlanError> {
    Err(PlanError { message: message.into(), help: help.into() })
}

impl Plan {
    /// Whether the plan makes sense for the program.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn validate(&self, program: &Program) -> Result<(), PlanError> {
        let deterministic = fabius_explore::scheduler::is_deterministic(self.scheduler);
        let random = crate::is_random(self.strategy);
        if self.jobs == 0 {
            return refuse("zero jobs do no work", "give `--jobs` at least 1");
        }
        if self.scheduler == SchedulerKind::BoundedBag(0) {
            return refuse("a bounded bag of 0 keeps no task", "give it at least 1: `--scheduler bounded-bag:1`");
        }
        if self.bound == Bound::Delays && !deterministic {
            return refuse(
                "delays are counted relative to a deterministic scheduler",
                "add `--scheduler round-robin` or `--scheduler depth-first`",
            );
        }
        if matches!(self.bound, Bound::Contexts | Bound::Preemptions) && deterministic {
            return refuse(
                "contexts and preemptions are counted where any thread may be next",
                "leave out `--scheduler`, or count delays: `--bound delays`",
            );
        }
        if self.bound == Bound::None && self.max.is_some() {
            return refuse(
                "nothing is bounded, so there is no largest bound",
                "leave out `--max`, or choose a `--bound`",
            );
        }
        if random && self.max.is_some() {
            return refuse(
                "random strategies do not limit the cost of a schedule",
                "leave out `--max`; `--executions` and `--time` limit the search",
            );
        }
        if !random && self.executions.is_some() {
            return refuse(
                "only random strategies stop after a number of executions",
                "leave out `--executions`, or add `--strategy random`",
            );
        }
        if random && self.stateless {
            return refuse("random walks store no states anyway", "leave out `--stateless`");
        }
        if random && self.livelock {
            return refuse("livelocks are found in the graph of all states", "leave out `--strategy`");
        }
        if self.strategy == Strategy::Pct(0) {
            return refuse("`pct:0` has no bug depth", "give at least 1: `--strategy pct:3`");
        }
        if let Strategy::Pct(depth) = self.strategy
            && depth > MAX_STEPS
        {
            let why = format!(
                "`pct:{depth}` has more points of change than an execution steps, which is cut after {MAX_STEPS}"
            );
            return refuse(&why, "bugs have a small depth: `--strategy pct:3`");
        }
        if random && self.scheduler != SchedulerKind::Bag {
            return refuse("random strategies are schedulers of their own", "leave out `--scheduler`");
        }
        if self.strategy == Strategy::DepthFirst && self.bound == Bound::Depth && self.max.is_none() {
            return refuse("a depth-first search of bounded depth wants the bound", "add `--max N`");
        }
        if self.stateless && self.livelock {
            return refuse("livelocks are found in the graph of all states", "leave out `--stateless`");
        }
        if self.livelock && self.strategy == Strategy::DepthFirst {
            return refuse("livelocks are found by the iterative strategy", "leave out `--strategy dfs`");
        }
        if !self.asked(program).is_empty() {
            self.may_look_at_properties()?;
        }
        if self.stateless && self.bound == Bound::Delays && self.max.is_none() {
            return refuse("without states delays can go on for ever", "add `--max N`, or leave out `--stateless`");
        }
        if (self.stateless || random) && matches!(self.scheduler, SchedulerKind::BoundedBag(_)) {
            return refuse("a bounded bag compares states", "leave out `--stateless`");
        }
        if let Some(process) = program.processes.iter().find(|p| p.count.is_none()) {
            return Err(PlanError {
                message: format!("`{}` stands for any number of threads", program.head_of_any(process)),
                help: format!("explore some number of them: `--instances {}=2`", process.name),
            });
        }
        Ok(())
    }

    /// Properties are judged on the graph of all states, where any thread may be next.
    fn may_look_at_properties(&self) -> Result<(), PlanError> {
        let without = |option: &str| format!("leave out `{option}`; or the properties: `--no-properties`");
        if crate::is_random(self.strategy) || self.strategy == Strategy::DepthFirst {
            return refuse(
                "the properties of the program are judged on the graph of all states, by the iterative strategy",
                &without("--strategy"),
            );
        }
        if self.stateless {
            return refuse(
                "the properties of the program are judged on the graph of all states",
                &without("--stateless"),
            );
        }
        if self.scheduler != SchedulerKind::Bag {
            return refuse(
                "the properties of the program are about executions in which any thread may be next",
                &without("--scheduler"),
            );
        }
        if self.points == Points::Sync {
            return refuse(
                "the properties of the program speak of states that `--points sync` passes over",
                &without("--points"),
            );
        }
        Ok(())
    }
}
