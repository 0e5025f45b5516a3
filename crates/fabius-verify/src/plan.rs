//! Which combinations of options make sense.

use crate::{Plan, Strategy};
use fabius_explore::search::MAX_STEPS;
use fabius_lang::program::Program;
use fabius_trace::{Bound, Points, SchedulerKind};

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
