use crate::{Bound, BugKind, LevelStats, Reason};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
#[cfg(feature = "documents")]
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How strategies get on with programs: what `fabius compare --json` prints, and what `fabius::compare` saves of a Rust test.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Comparison {
    /// Version of this format; readers refuse others.
    #[cfg_attr(feature = "schema", schemars(extend("const" = COMPARISON_VERSION)))]
    pub version: u32,
    /// The programs, in the order of the command line.
    pub programs: Vec<Compared>,
}

/// Version of the format of comparisons. `docs/schema/comparison.json` describes it.
pub const COMPARISON_VERSION: u32 = 1;

/// A program, and how strategies get on with it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Compared {
    /// The file as the user gave it, or the name of the test.
    pub name: String,
    /// What is counted.
    pub counted: Counted,
    /// The strategies, in the order in which they were asked for.
    pub strategies: Vec<Measured>,
}

/// What is counted to tell how much of a program has been seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "documents", serde(rename_all = "snake_case"))]
pub enum Counted {
    /// Distinct states.
    States,
    /// Distinct happens-before relations of complete executions: where states cannot be stored.
    Classes,
}

/// What one strategy did.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Measured {
    /// As on the command line: `icb`, `delay:round-robin`, `pct:3`.
    pub strategy: String,
    /// What the strategy counts, if it goes from the least cost to higher ones.
    pub bound: Bound,
    /// If it does: what is within each bound.
    #[cfg_attr(feature = "documents", serde(default, skip_serializing_if = "Option::is_none"))]
    pub coverage: Option<Coverage>,
    /// One execution after the other from the beginning; once, or for each seed.
    pub runs: Vec<Run>,
}

/// What is within each bound.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Coverage {
    /// What was seen at each value of the bound. Counts include the levels below; the last level may be unfinished.
    pub levels: Vec<LevelStats>,
    /// The largest value of the bound that was finished.
    pub completed: Option<u32>,
    /// Whether nothing is beyond the last level: its count is that of all there is.
    pub exhausted: bool,
    /// If a bug ended the search: its cost, which is the least.
    pub bug_cost: Option<u32>,
    /// What cut the search short, if anything did.
    pub cut: Option<Reason>,
}

/// Executions, one after the other.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Run {
    /// Seed of a random strategy.
    pub seed: Option<u64>,
    /// How many there were. If there is a bug, the last of them shows it.
    pub executions: u64,
    /// How much had been seen after so many; some points of the curve, and its end.
    pub growth: Vec<Grown>,
    /// What ended the run, if that was a bug.
    pub bug: Option<BugKind>,
    /// Whether there are no other executions within what the strategy may do.
    pub exhausted: bool,
    /// What ended the run, if that was a limit.
    pub cut: Option<Reason>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "documents", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Grown {
    /// After so many executions ..
    pub executions: u64,
    /// .. so many different states or classes had been seen.
    pub distinct: u64,
}

/// The middle of several numbers, and how far they are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The least.
    pub least: u64,
    /// The middle one; of two, the lower.
    pub median: u64,
    /// The largest.
    pub most: u64,
}

impl Spread {
    /// Of these numbers; `None` if there are none.
    pub fn of(numbers: impl Iterator<Item = u64>) -> Option<Spread> {
        let mut all: Vec<u64> = numbers.collect();
        all.sort_unstable();
        let (least, most) = (*all.first()?, *all.last()?);
        Some(Spread { least, median: all[(all.len() - 1) / 2], most })
    }
}

impl Compared {
    /// How many states or classes there are, as each strategy counts them that has seen them all. More than one number
    /// where a deterministic scheduler tells states apart that others do not.
    pub fn totals(&self) -> BTreeSet<u64> {
        let coverages = self.strategies.iter().filter_map(|s| s.coverage.as_ref()).filter(|c| c.exhausted);
        coverages.filter_map(|c| c.levels.last()).map(|level| level.states).collect()
    }

    /// How many states or classes there are, if that is known and every strategy counts them alike.
    pub fn total(&self) -> Option<u64> {
        let totals = self.totals();
        totals.first().copied().filter(|_| totals.len() == 1)
    }
}

impl Measured {
    /// How much had been seen after so many executions of each run.
    pub fn distinct_after(&self, executions: u64) -> Option<Spread> {
        Spread::of(self.runs.iter().map(|run| run.distinct_after(executions)))
    }

    /// Executions up to the first bug: the median of the runs, of which those without a bug count as longer than all others;
    /// `None` if the median is one of those.
    pub fn first_bug(&self) -> Option<u64> {
        let found = |run: &Run| run.bug.map_or(u64::MAX, |_| run.executions);
        Spread::of(self.runs.iter().map(found)).map(|s| s.median).filter(|n| *n < u64::MAX)
    }
}

impl Coverage {
    /// The levels that were finished, and the one that a bug ended.
    pub fn finished(&self) -> impl Iterator<Item = &LevelStats> {
        let is_in = |level: &&LevelStats| Some(level.bound) <= self.completed || self.bug_cost == Some(level.bound);
        self.levels.iter().filter(is_in)
    }
}

impl Run {
    /// How much had been seen after so many executions. Between two points of the curve it is the lower one; what has been
    /// seen stays seen after the end.
    pub fn distinct_after(&self, executions: u64) -> u64 {
        let before = self.growth.iter().take_while(|g| g.executions <= executions);
        before.last().map_or(0, |g| g.distinct)
    }
}
