//! What a check of `fabius` must say of a program, by the model. Outcomes are asserted inside of the closure: what a
//! closure collects over executions contains runs that no search counts.

use crate::run::{Logs, run};
use fabius::{BugKind, Config, Verdict};
use std::collections::BTreeMap;
use std::sync::Arc;
use stdmodel::cost::{Measure, least};
use stdmodel::graph::{Ending, Graph, Outcome};
use stdmodel::program::{Op, Program, Start};

/// How many random executions there are.
const WALKS: u64 = 30;

/// What a check said.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// A bug, with its cost.
    Bug(Outcome, u32),
    /// The whole space was explored.
    Verified,
    /// No bug within the bound.
    NotWithin,
    /// All random executions were run.
    Walked,
    /// Anything else.
    Other(String),
}

/// What a check must say.
#[derive(Debug)]
enum Expected {
    /// A bug of a cost.
    Least(Measure, u32),
    /// A bug.
    Bug,
    /// There is none.
    Verified,
    /// There is none within a bound.
    Nothing,
    /// None but those that there are.
    Only,
}

/// A way of checking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Finds what there is at the least cost, and nothing within less.
    Least(Measure),
    /// The default: finds what there is with the fewest preemptions.
    Default,
    /// Finds what there is.
    Exhaustive,
    /// Finds only what there is.
    Walks(Walk),
}

/// A random strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    Random,
    Pct,
    Pos,
    Urw,
    Surw,
}

/// A program and what the model says of it.
pub struct Case {
    program: Arc<Program>,
    /// Whether the number of steps depends on whether anybody has looked.
    looks: bool,
    /// The least costs of each outcome.
    costs: [(Measure, BTreeMap<Outcome, u32>); 4],
}

impl Case {
    /// What the model says, if the program has no more than so many states.
    pub fn new(program: &Program, states: usize) -> Option<Case> {
        let ending = Ending::of(program);
        let graph = Graph::of(program, ending, states)?;
        let looks = is_refined(program) || ending == Ending::OwnStep;
        let all = [Measure::Preemptions, Measure::RoundRobin, Measure::DepthFirst, Measure::Steps];
        let costs = all.map(|measure| (measure, least(&graph, measure)));
        Some(Case { program: Arc::new(program.clone()), looks, costs })
    }

    /// What can happen.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.costs[0].1.keys()
    }

    fn cost(&self, measure: Measure, outcome: &Outcome) -> Option<u32> {
        let (_, costs) = self.costs.iter().find(|(m, _)| *m == measure).expect("all measures");
        costs.get(outcome).copied()
    }

    /// Asks for one outcome (or, with `None`, for any that the model says is impossible) in one way; says what is wrong.
    pub fn differs(&self, target: Option<&Outcome>, way: Way, config: &Config) -> Option<String> {
        // Deadlocks and livelocks are bugs whatever the closure asserts.
        let bugs: Vec<&Outcome> =
            self.outcomes().filter(|o| Some(*o) == target || !matches!(o, Outcome::Ended(_))).collect();
        self.questions(&bugs, way, config).into_iter().find_map(|(config, expected)| {
            let said = self.said(target, &config);
            let right = match (&said, &expected) {
                (Said::Bug(outcome, cost), Expected::Least(measure, least)) => {
                    bugs.contains(&outcome) && cost == least && self.cost(*measure, outcome) == Some(*least)
                }
                (Said::Bug(outcome, _), Expected::Bug | Expected::Only) => bugs.contains(&outcome),
                (Said::Verified, Expected::Verified) => true,
                (Said::Verified, Expected::Nothing) => bugs.is_empty(),
                (Said::NotWithin, Expected::Nothing) => true,
                (Said::Walked, Expected::Only) => true,
                _ => false,
            };
            (!right).then(|| {
                let costs = |o: &Outcome| self.costs.each_ref().map(|(m, costs)| (*m, costs.get(o).copied()));
                let costs: Vec<String> = bugs.iter().map(|o| format!("{o:?}: {:?}", costs(o))).collect();
                format!("{config:?}\nasked for {target:?}\nmodel: {expected:?} of {costs:#?}\nfabius: {said:?}\n")
            })
        })
    }

    /// The checks to make in one way, and what they must say if these are the bugs.
    fn questions(&self, bugs: &[&Outcome], way: Way, config: &Config) -> Vec<(Config, Expected)> {
        let least = |measure| bugs.iter().filter_map(|o| self.cost(measure, o)).min();
        let all = least(Measure::Preemptions)
            .map_or(Expected::Verified, |least| Expected::Least(Measure::Preemptions, least));
        let config = config.clone();
        match way {
            // How soon a loop counts as endless, so that others go on, is no promise of a scheduler.
            // Nor how many steps a task makes that polls and waits.
            Way::Least(Measure::DepthFirst) if self.program.start == Start::Tasks => Vec::new(),
            Way::Least(Measure::RoundRobin | Measure::DepthFirst | Measure::Steps) if self.program.loops_for_ever() => {
                Vec::new()
            }
            Way::Least(Measure::Steps) if self.looks => Vec::new(),
            Way::Least(measure) => {
                let within = |max| match measure {
                    Measure::Preemptions => config.clone().preemptions(max),
                    Measure::RoundRobin => config.clone().delays(max),
                    Measure::DepthFirst => config.clone().delays_depth_first(max),
                    Measure::Steps => config.clone().depth(max),
                };
                // The number of executions grows by a factor with each delay, also where nothing is left to be found.
                let limit = match measure {
                    Measure::Preemptions => 9,
                    Measure::RoundRobin | Measure::DepthFirst => 3,
                    Measure::Steps => u32::MAX,
                };
                let most = self.outcomes().filter_map(|o| self.cost(measure, o)).max().map_or(limit, |m| m.min(limit));
                let mut questions = Vec::new();
                match least(measure) {
                    Some(least) if least <= most => {
                        questions.push((within(least), Expected::Least(measure, least)));
                        if let Some(less) = least.checked_sub(1) {
                            questions.push((within(less), Expected::Nothing));
                        }
                    }
                    _ => questions.push((within(most), Expected::Nothing)),
                }
                if measure == Measure::Preemptions {
                    questions.push((config.iterative_preemptions(), all));
                }
                questions
            }
            // When its budget is used up, it says what it has explored.
            Way::Default if bugs.is_empty() => vec![(config, Expected::Nothing)],
            Way::Default => vec![(config, all)],
            Way::Exhaustive if bugs.is_empty() => vec![(config.exhaustive(), Expected::Verified)],
            Way::Exhaustive => vec![(config.exhaustive(), Expected::Bug)],
            Way::Walks(walk) => {
                let config = match walk {
                    Walk::Random => config.random(WALKS),
                    Walk::Pct => config.pct(3, WALKS),
                    Walk::Pos => config.pos(WALKS),
                    Walk::Urw => config.urw(WALKS),
                    Walk::Surw => config.surw(WALKS),
                };
                vec![(config, Expected::Only)]
            }
        }
    }

    fn said(&self, target: Option<&Outcome>, config: &Config) -> Said {
        let report = config.explore(|| {
            run(&self.program, |logs| {
                let bad = match target {
                    Some(Outcome::Ended(asked)) => logs == asked,
                    Some(_) => false,
                    None => !self.costs[0].1.contains_key(&Outcome::Ended(logs.clone())),
                };
                assert!(!bad, "outcome {logs:?}");
            });
        });
        match &report.verdict {
            Verdict::Verified => Said::Verified,
            Verdict::NoBugWithinBounds { .. } => Said::NotWithin,
            Verdict::Unknown { .. } if report.walks == WALKS => Said::Walked,
            Verdict::Unknown { .. } => Said::Other(report.to_string()),
            Verdict::Bug { trace } => match (trace.kind, logs(&trace.message)) {
                (BugKind::Deadlock, _) => Said::Bug(Outcome::Deadlock, trace.cost),
                (BugKind::Livelock, _) => Said::Bug(Outcome::Livelock, trace.cost),
                (_, Some(logs)) => Said::Bug(Outcome::Ended(logs), trace.cost),
                _ => Said::Other(report.failure().unwrap_or_default()),
            },
        }
    }
}

/// Whether steps depend on more than operations: those of a task are the executor's affair, and that a receiver begins to wait for what is handed over is a step where anybody has looked.
fn is_refined(program: &Program) -> bool {
    let looks = |op: &Op| {
        matches!(
            op,
            Op::TrySend(..)
                | Op::TryRecv(_)
                | Op::TryLock(_)
                | Op::RetryLock(..)
                | Op::IsCompleted(_)
                | Op::TryRead(_)
                | Op::TryWrite(_)
        )
    };
    program.start == Start::Tasks || program.channels.contains(&Some(0)) && program.threads.iter().flatten().any(looks)
}

/// Reads the outcome that a message names.
fn logs(message: &str) -> Option<Logs> {
    let (_, list) = message.split_once("outcome [[")?;
    let (list, _) = list.split_once("]]")?;
    let number = |n: &str| n.trim().parse().ok();
    list.split("], [").map(|log| log.split(',').filter(|n| !n.trim().is_empty()).map(number).collect()).collect()
}
