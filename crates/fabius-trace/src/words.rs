//! Bounds, costs and marks in words, the same in every report.

use crate::{Bound, Bounds, ErrorTrace, Mark, Points, Reason, SchedulerKind};

impl Bound {
    /// `1 preemption`, `2 delays`.
    pub fn count(self, n: u32) -> String {
        let (one, many) = match self {
            Bound::None => ("deviation", "deviations"),
            Bound::Contexts => ("switch", "switches"),
            Bound::Preemptions => ("preemption", "preemptions"),
            Bound::Delays => ("delay", "delays"),
            Bound::Depth => ("step", "steps"),
            Bound::Rounds => ("new round", "new rounds"),
        };
        format!("{n} {}", if n == 1 { one } else { many })
    }
}

impl SchedulerKind {
    /// In a clause.
    pub fn words(self) -> String {
        match self {
            SchedulerKind::Bag => "any task may be next".into(),
            SchedulerKind::BoundedBag(k) => format!("at most {k} equal tasks are kept"),
            SchedulerKind::RoundRobin => "the round-robin scheduler".into(),
            SchedulerKind::DepthFirst => "the depth-first scheduler".into(),
        }
    }
}

impl Bounds {
    /// In one clause.
    pub fn words(&self) -> String {
        let mut text = match (self.bound, self.completed) {
            (Bound::None, Some(_)) => "every schedule".to_string(),
            (_, None) => "no bound was finished".to_string(),
            (bound, Some(n)) => format!("every schedule with at most {}", bound.count(n)),
        };
        if self.scheduler != SchedulerKind::Bag {
            text += &format!(", {}", self.scheduler.words());
        }
        if self.points == Points::Sync {
            text += ", preempted at synchronization only";
        }
        for (name, n) in &self.instances {
            text += &format!(", {n} x {name}");
        }
        for name in &self.any {
            text += &format!(", any number of {name}");
        }
        text
    }
}

impl Reason {
    /// In a clause.
    pub fn words(&self) -> String {
        match self {
            Reason::Time => "the time limit was reached".to_string(),
            Reason::Memory => "the memory limit was reached".to_string(),
            Reason::Interrupted => "interrupted".to_string(),
            Reason::Executions => "the executions asked for are done, and none of them has a bug".to_string(),
            Reason::Program { message } => format!("the program exceeds a limit: {message}"),
            Reason::Vacuous { message } | Reason::Solver { message } => message.clone(),
        }
    }
}

impl ErrorTrace {
    /// What the schedule costs: `1 preemption`, `0 preemptions, 2 stale reads`.
    pub fn price(&self) -> String {
        let counted = self.bound.count(self.cost.saturating_sub(self.stale));
        match self.stale {
            0 => counted,
            1 => format!("{counted}, 1 stale read"),
            many => format!("{counted}, {many} stale reads"),
        }
    }

    /// For each step, what stands in front of it, if anything: deviations are numbered.
    pub fn marks(&self) -> Vec<Option<String>> {
        let mut deviations = 0u32;
        let mut number = |name: &str, n: u32| {
            let first = deviations.saturating_add(1);
            deviations = deviations.saturating_add(n);
            match n {
                1 => format!("{name} {first}"),
                _ => format!("{name}s {first} to {deviations}"),
            }
        };
        let mark = |step: &crate::Step| match (step.mark?, self.bound) {
            (Mark::Preemption, Bound::Preemptions) => Some(number("preemption", 1)),
            (Mark::Preemption | Mark::Switch, Bound::Contexts) => Some(number("switch", 1)),
            (Mark::Delay(n), _) => Some(number("delay", n)),
            (Mark::Interrupt, _) => Some("interrupt".to_string()),
            (Mark::Preemption, _) => Some("switch".to_string()),
            (Mark::Switch | Mark::Message { .. }, _) => None,
        };
        self.steps.iter().map(mark).collect()
    }
}
