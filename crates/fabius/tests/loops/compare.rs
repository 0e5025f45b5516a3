//! What a check of `fabius` must say of a program with loops, by the model.

use fabius::{BugKind, Config, Verdict};
use std::collections::BTreeMap;
use std::sync::Arc;
use stdmodel::cost::{Measure, least};
use stdmodel::graph::Outcome;
pub use stdmodel::loops::graph::Endless;
use stdmodel::loops::graph::Looping;
use stdmodel::loops::program::{Op, Orderings, Place, Program, Stmt, ops};

/// What each thread has logged.
pub type Logs = Vec<Vec<u8>>;
/// Runs a program once, inside of a check; what it is given is told all logs at the end.
pub type Run = Arc<dyn Fn(&dyn Fn(&Logs)) + Send + Sync>;

/// What a check said.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    /// A bug, with its cost.
    Bug(Outcome, u32),
    /// The whole space was explored.
    Verified,
    /// No bug within so much.
    NotWithin(u32),
    /// Something was left out.
    Cut(String),
    /// An execution that goes on for ever, under a fair scheduler.
    Endless,
    /// Anything else.
    Other(String),
}

/// What a check must say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// A bug of a cost.
    Least(Measure, u32),
    /// A bug, of at least so many preemptions.
    AtLeast(u32),
    /// A bug.
    Bug,
    /// There is none.
    None,
}

/// A way of checking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Finds what there is at the least cost, and nothing within less.
    Least(Measure),
    /// With the fewest preemptions.
    Iterative,
    /// The default: finds what there is with the fewest preemptions.
    Default,
    /// Finds what there is.
    Exhaustive,
}

/// A program and what the model says of it.
pub struct Case {
    program: Program,
    run: Run,
    pub endless: Endless,
    costs: [(Measure, BTreeMap<Outcome, u32>); 4],
}

/// How a question was answered.
pub enum Answer {
    /// As by the model.
    Right,
    /// That something was left out.
    LeftOut,
    /// That it may go on for ever, which is so.
    Endless,
    /// Otherwise.
    Wrong(String),
}

impl Answer {
    /// What is wrong, if it is.
    pub fn difference(self) -> Option<String> {
        if let Answer::Wrong(difference) = self { Some(difference) } else { None }
    }
}

impl Case {
    /// What the model says, if the program has no more than so many states.
    pub fn new(program: &Program, run: Run, states: usize) -> Option<Case> {
        let looping = Looping::of(program, states)?;
        let all = [Measure::Preemptions, Measure::RoundRobin, Measure::DepthFirst, Measure::Steps];
        // How soon a loop counts as repetition is no promise of a scheduler.
        let costs = all.map(|measure| {
            let exact = measure == Measure::Preemptions || looping.endless == Endless::No;
            (measure, if exact { least(&looping.graph, measure) } else { BTreeMap::new() })
        });
        Some(Case { program: program.clone(), run, endless: looping.endless, costs })
    }

    /// What can happen.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.costs[0].1.keys()
    }

    /// Whether it deadlocks or goes on for ever without any preemption.
    pub fn fails_at_once(&self) -> bool {
        self.costs[0].1.iter().any(|(outcome, cost)| *cost == 0 && !matches!(outcome, Outcome::Ended(_)))
    }

    fn cost(&self, measure: Measure, outcome: &Outcome) -> Option<u32> {
        let (_, costs) = self.costs.iter().find(|(m, _)| *m == measure).expect("all measures");
        costs.get(outcome).copied()
    }

    /// Whether threads are spawned in rounds.
    fn spawns_again(&self) -> bool {
        let in_loop =
            |stmt: &Stmt| matches!(stmt, Stmt::Loop(body) if ops(body).iter().any(|op| matches!(op, Op::Spawn(_))));
        self.program.threads.iter().flatten().any(in_loop)
    }

    /// The ways in which it can be asked about.
    pub fn ways(&self, config: &Config) -> Vec<(Way, Config)> {
        let mut ways = vec![Way::Least(Measure::Preemptions), Way::Iterative, Way::Default, Way::Exhaustive];
        if self.endless == Endless::No {
            // The model has no order for threads that come again.
            if !self.spawns_again() {
                ways.extend([Measure::RoundRobin, Measure::DepthFirst].map(Way::Least));
            }
            // Where anybody looks, some operations are more steps.
            if !self.program.has(|op| matches!(op, Op::TryRecv | Op::TryLock(_) | Op::IsFinished(_))) {
                ways.push(Way::Least(Measure::Steps));
            }
        }
        // Two ways to say that no load is stale.
        let (config, plain) = match self.program.orderings {
            Orderings::Strong => (config.clone(), config.clone()),
            Orderings::Weak => (config.clone().stale(0), config.clone().sequentially_consistent()),
        };
        let mut configs = vec![plain.without_reduction()];
        // Operations that commute are not known to if others see what is between them.
        if !self.program.is_common() {
            configs.push(config.clone());
            if self.program.counters.iter().all(|c| c.place != Place::Static) {
                configs.push(config.jobs(2));
            }
        }
        configs.iter().flat_map(|config| ways.iter().map(move |way| (*way, config.clone()))).collect()
    }

    /// Asks for one outcome (or, with `None`, for any that the model says is impossible) in one way.
    pub fn ask(&self, target: Option<&Outcome>, way: Way, config: &Config) -> Answer {
        // Deadlocks and livelocks are bugs whatever the closure asserts.
        let bugs: Vec<&Outcome> =
            self.outcomes().filter(|o| Some(*o) == target || !matches!(o, Outcome::Ended(_))).collect();
        let mut answer = Answer::Right;
        for (config, expected) in self.questions(&bugs, way, config) {
            let said = self.said(target, &config);
            let right = match (&said, &expected) {
                (Said::Cut(_), _) => {
                    answer = Answer::LeftOut;
                    true
                }
                (Said::Bug(outcome, cost), Expected::Least(measure, least)) => {
                    bugs.contains(&outcome) && cost == least && self.cost(*measure, outcome) == Some(*least)
                }
                (Said::Bug(outcome, _), Expected::Bug) => bugs.contains(&outcome),
                // When its budget is used up, it goes on at random.
                (Said::Bug(outcome, cost), Expected::AtLeast(least)) => bugs.contains(&outcome) && cost >= least,
                (Said::Verified, Expected::None) => bugs.is_empty(),
                // With few steps at most, a loop counts as endless before it is believed that it only waits.
                (Said::Endless, _) if self.endless > Endless::No => {
                    answer = Answer::Endless;
                    true
                }
                (Said::NotWithin(_), Expected::None) => true,
                (Said::NotWithin(within), Expected::Least(_, least) | Expected::AtLeast(least)) if within < least => {
                    answer = Answer::LeftOut;
                    true
                }
                _ => false,
            };
            if !right {
                let costs = |o: &Outcome| self.costs.each_ref().map(|(m, costs)| (*m, costs.get(o).copied()));
                let costs: Vec<String> = bugs.iter().map(|o| format!("{o:?}: {:?}", costs(o))).collect();
                return Answer::Wrong(format!(
                    "{config:?}\nasked for {target:?}\nmodel ({:?}): {expected:?} of {costs:#?}\nfabius: {said:?}\n",
                    self.endless
                ));
            }
        }
        answer
    }

    /// The checks to make in one way, and what they must say if these are the bugs.
    fn questions(&self, bugs: &[&Outcome], way: Way, config: &Config) -> Vec<(Config, Expected)> {
        let least = |measure| bugs.iter().filter_map(|o| self.cost(measure, o)).min();
        let all =
            least(Measure::Preemptions).map_or(Expected::None, |least| Expected::Least(Measure::Preemptions, least));
        let config = config.clone();
        match way {
            Way::Least(measure) => {
                let within = |max| match measure {
                    Measure::Preemptions => config.clone().preemptions(max),
                    Measure::RoundRobin => config.clone().delays(max),
                    Measure::DepthFirst => config.clone().delays_depth_first(max),
                    Measure::Steps => config.clone().depth(max),
                };
                // The number of executions grows by a factor with each of them, also where nothing is left to be found.
                let limit = if measure == Measure::Steps { u32::MAX } else { 3 };
                let most = self.outcomes().filter_map(|o| self.cost(measure, o)).max().map_or(limit, |m| m.min(limit));
                match least(measure) {
                    Some(least) if least <= most => {
                        let less = least.checked_sub(1).map(|less| (within(less), Expected::None));
                        [(within(least), Expected::Least(measure, least))].into_iter().chain(less).collect()
                    }
                    _ => vec![(within(most), Expected::None)],
                }
            }
            Way::Iterative => vec![(config.iterative_preemptions(), all)],
            Way::Default => vec![(config, least(Measure::Preemptions).map_or(Expected::None, Expected::AtLeast))],
            Way::Exhaustive if bugs.is_empty() => vec![(config.exhaustive(), Expected::None)],
            Way::Exhaustive => vec![(config.exhaustive(), Expected::Bug)],
        }
    }

    fn said(&self, target: Option<&Outcome>, config: &Config) -> Said {
        let report = config.explore(|| {
            (self.run)(&|logs| {
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
            Verdict::NoBugWithinBounds { bounds } if !bounds.limits.is_empty() => Said::Cut(bounds.limits.join("; ")),
            Verdict::NoBugWithinBounds { bounds } => match bounds.completed {
                Some(within) => Said::NotWithin(within),
                None => Said::Cut("nothing was completed".into()),
            },
            Verdict::Unknown { reason, .. } => Said::Cut(format!("{reason:?} {report}")),
            Verdict::Bug { trace } => match (trace.kind, logs(&trace.message)) {
                (BugKind::Deadlock, _) => Said::Bug(Outcome::Deadlock, trace.cost),
                (BugKind::Livelock, _) if trace.message.contains("under a fair scheduler") => Said::Endless,
                (BugKind::Livelock, _) => Said::Bug(Outcome::Livelock, trace.cost),
                (_, Some(logs)) => Said::Bug(Outcome::Ended(logs), trace.cost),
                _ => Said::Other(report.failure().unwrap_or_default()),
            },
        }
    }
}

/// Reads the outcome that a message names.
fn logs(message: &str) -> Option<Logs> {
    let (_, list) = message.split_once("outcome [[")?;
    let (list, _) = list.split_once("]]")?;
    let number = |n: &str| n.trim().parse().ok();
    list.split("], [").map(|log| log.split(',').filter(|n| !n.trim().is_empty()).map(number).collect()).collect()
}
