//! Which questions are asked about a random program.

use crate::compare::{Answer, Case, Endless, Way};
use fabius::Config;
use fastrand::Rng;
use stdmodel::graph::Outcome;

/// How many answers were as the model says, left something out, or said that it may go on for ever, which is so.
#[derive(Default, Debug)]
pub struct Answers {
    pub right: u32,
    pub left_out: u32,
    pub endless: u32,
}

/// How much is asked of each program.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Executions of a check.
    pub executions: u64,
    pub outcomes: usize,
    pub ways: usize,
}

/// An answer that is not the model's.
pub struct Difference {
    pub way: Way,
    pub config: Config,
    pub text: String,
}

impl Answers {
    /// Asks for some outcomes, and for any that is impossible, in some ways. What is wrong is given to `differs`.
    pub fn ask(&mut self, case: &Case, rng: &mut Rng, effort: Effort, differs: impl Fn(&Difference)) {
        let mut targets: Vec<Option<&Outcome>> = case.outcomes().map(Some).collect();
        rng.shuffle(&mut targets);
        targets.truncate(effort.outcomes);
        targets.push(None);
        let config = Config::new().max_steps(200).executions(effort.executions).save_no_trace();
        let mut ways = case.ways(&config);
        rng.shuffle(&mut ways);
        ways.truncate(effort.ways);
        // Where it fails at once, whatever is asked, it is asked once.
        if case.fails_at_once() {
            targets.truncate(1);
            ways.truncate(1);
        }
        for target in targets {
            for (way, config) in &ways {
                match case.ask(target, *way, config) {
                    Answer::Right => self.right += 1,
                    Answer::LeftOut => self.left_out += 1,
                    Answer::Endless => self.endless += 1,
                    Answer::Wrong(text) => differs(&Difference { way: *way, config: config.clone(), text }),
                }
            }
        }
    }
}

/// Whether a program is worth many executions: most that go on for ever do so at once.
pub fn is_rare(case: &Case) -> bool {
    case.endless != Endless::No && !case.fails_at_once() && case.outcomes().count() > 1
}
