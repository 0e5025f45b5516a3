//! Claims about executions that go on for ever, or stay where they end.

use super::{Departure, Ending, Replay, Told, departs};
use crate::config::Config;
use crate::properties::{conditions, origin};
use crate::show::one_line;
use fabius_explore::system::BufferId;
use fabius_lang::program::{ConditionId, FairThreads, Fairness, Formula};
use fabius_trace::BugKind;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a cycle.
pub(super) struct Cycle {
    /// The encoded configuration that it begins with.
    begins: Vec<u8>,
    /// How many configurations were before that one.
    at: usize,
    /// The buffer that has control there.
    in_control: Option<BufferId>,
    /// Whether it passes a progress mark.
    pub(super) progress: bool,
    /// Buffers that make a step in it.
    pub(super) steps: BTreeSet<BufferId>,
    /// Buffers that could go on in each of its configurations, and to which it must be weakly fair.
    always_ready: BTreeSet<BufferId>,
    /// Buffers that could go on in one of them, and to which it must be strongly fair.
    ever_ready: BTreeSet<BufferId>,
}

impl Cycle {
    /// Tells it of a step and of who could have made one.
    pub(super) fn step(&mut self, n: BufferId, ready: &BTreeMap<BufferId, Fairness>, progress: bool) {
        self.progress |= progress;
        self.steps.insert(n);
        self.always_ready.retain(|n| ready.get(n) == Some(&Fairness::Weak));
        self.ever_ready.extend(ready.iter().filter(|(_, fairness)| **fairness == Fairness::Strong).map(|(n, _)| n));
    }
}

impl Ending {
    /// The turn at which a cycle is claimed to begin.
    pub(super) fn cycle(self) -> Option<usize> {
        match self {
            Ending::Livelock(turn) => Some(turn),
            Ending::Property { cycle, .. } => cycle,
            Ending::Fault | Ending::Deadlock | Ending::Race => None,
        }
    }
}

impl Replay<'_> {
    /// The cycle that begins in front of this turn, if one is claimed to.
    pub(super) fn cycle_at(&self, config: &Config, turn: usize) -> Option<Cycle> {
        (self.settings.ending.cycle() == Some(turn)).then(|| Cycle {
            begins: self.encoded(config),
            at: self.states.len().saturating_sub(1),
            in_control: self.in_control(config),
            progress: false,
            steps: BTreeSet::new(),
            always_ready: config.buffers.keys().copied().collect(),
            ever_ready: BTreeSet::new(),
        })
    }

    /// The buffers that could go on if none kept control, with how fair the claimed cycle must be to them, if it has begun: to
    /// keep control for ever is not fair.
    pub(super) fn ready_in_cycle(&self, config: &Config) -> BTreeMap<BufferId, Fairness> {
        let fair = match self.settings.ending {
            Ending::Property { number, .. } => self.program.properties.get(number).map(|p| p.fairness.clone()),
            _ => None,
        };
        let fair: FairThreads = fair.unwrap_or_default();
        let buffers = config.buffers.keys().copied().filter(|_| self.cycle.is_some());
        buffers.filter(|n| self.buffer_can_go(config, *n)).map(|n| (n, fair.to(origin(config, n)))).collect()
    }

    /// Asks a configuration which conditions hold, if a property is what it is about.
    pub(super) fn note_conditions(&mut self, config: &Config, turn: usize) -> Result<(), Departure> {
        if let Ending::Property { .. } = self.settings.ending {
            match conditions(self.program, &self.reference.layout, config) {
                Ok(holds) => self.states.push(holds),
                Err(_) => return departs(turn, "a condition of a property has no value".into()),
            }
        }
        Ok(())
    }

    /// The cycle, if it is one and fair.
    pub(super) fn closed(&self, config: &Config, turns: usize) -> Result<&Cycle, Departure> {
        let departs = |reason: &str| departs(turns, reason.into());
        let Some(cycle) = &self.cycle else { return departs("the schedule ends before its cycle begins") };
        if cycle.begins != self.encoded(config) || cycle.in_control != self.in_control(config) {
            return departs("the schedule does not end where its cycle begins");
        }
        for (must_step, could) in [(&cycle.always_ready, "always"), (&cycle.ever_ready, "again and again")] {
            if let Some(n) = must_step.difference(&cycle.steps).next() {
                return departs(&format!("the cycle is not fair: {} could {could} go on", self.names.of_buffer(*n)));
            }
        }
        Ok(cycle)
    }

    /// The claim that a property is violated.
    pub(super) fn property(&self, config: &Config, turns: usize, number: usize) -> Result<Told, Departure> {
        let Some(property) = self.program.properties.get(number) else {
            return departs(turns, "there is no such property".into());
        };
        let mut states = self.states.as_slice();
        let (repeats, tail) = match self.settings.ending.cycle() {
            Some(_) => {
                let cycle = self.closed(config, turns)?;
                // The last configuration is that in which the cycle begins.
                states = &states[..states.len() - 1];
                (cycle.at, self.go_on(cycle))
            }
            None => {
                if config.tasks().any(|(_, t)| self.may_not_run(config, t.id).is_none()) {
                    return departs(turns, "somebody can still go on".into());
                }
                let all = if config.buffers.is_empty() { "all have finished" } else { "nobody can go on" };
                (states.len() - 1, all.into())
            }
        };
        if !property.formula.is_violated(states, repeats) {
            return departs(turns, format!("the execution satisfies property `{}`", property.name));
        }
        let text = |c: ConditionId| one_line(self.program.conditions[c].span.text(&self.program.source));
        let what = match property.formula {
            Formula::Never(ref automaton) => {
                format!("`{}` does not hold", one_line(automaton.span.text(&self.program.source)))
            }
            Formula::Eventually(c) => format!("`{}` never holds", text(c)),
            Formula::AlwaysEventually(c) => format!("from some step on `{}` never holds", text(c)),
            Formula::EventuallyAlways(c) => format!("`{}` does not hold for good", text(c)),
            Formula::LeadsTo(from, to) => format!("`{}` holds, and `{}` never after it", text(from), text(to)),
        };
        let message = format!("property `{}` is violated: {what}; {tail}", property.name);
        Ok((BugKind::Liveness, message, property.span))
    }

    fn go_on(&self, cycle: &Cycle) -> String {
        let names: Vec<String> = cycle.steps.iter().map(|n| self.names.of_buffer(*n)).collect();
        let goes = if names.len() == 1 { "goes" } else { "go" };
        format!("{} {goes} on for ever", names.join(", "))
    }
}
