//! What is known of the loops of a test, by the lines at which threads give way: the rounds that were tried out (`proofs.rs`), and how
//! many may be.

use super::again::Again;
use super::here::mix;
use super::proofs::{Inputs, Now, Proof, Start};
use super::remains::{Came, Ends};
use std::collections::HashMap;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Instructions of all trials at one line. A loop with more rounds that differ is not followed any more.
const INSTRUCTIONS: u64 = 4_000_000;

/// Of these, so many may be spent at first, and so many more for each round of which a trial has told: where
/// hardly any is of use, as of a loop that counts, all of them would take seconds.
const AT_FIRST: u64 = 400_000;
const FOR_EACH_USE: u64 = 100;

/// Proofs of rounds that begin at the same place.
const OF_A_PLACE: usize = 64;

/// Of the rounds of a thread, so many are not tried out if others like them have changed something.
const FEW: u32 = 3;

/// A line at which threads give way.
#[derive(Debug, Default)]
struct Line {
    instructions: u64,
    /// How often a proof told of a round.
    uses: u64,
    is_given_up: bool,
    tells_time: bool,
    ends: Ends,
    /// By places, in the order in which they were found.
    proofs: HashMap<u64, Vec<Arc<Proof>>>,
}

/// What is known of the loops of a test, by the lines at which they give way; shared by all executions of a check.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loops {
    learnt: Arc<Learnt>,
    /// The search whose executions go by it.
    search: u32,
}

#[derive(Debug, Default)]
struct Learnt {
    lines: Mutex<HashMap<usize, Line>>,
    /// Whether one went on for as long as an execution may last while another thread slept.
    outlasts_sleep: AtomicBool,
    /// How much was learnt that makes executions of the same schedule others than before.
    news: AtomicU32,
    searches: AtomicU32,
    again: Again,
}

/// What is known of a round that is about to begin.
#[derive(Debug)]
pub(super) enum Round {
    /// Threads do not seem to repeat themselves there.
    NoLoop,
    /// It must be tried out.
    Unknown,
    /// It changes something, or might.
    Changes,
    /// It changes nothing as long as what it reads is still there.
    ChangesNothing(Arc<Proof>, Inputs),
    /// It reads the clock of the machine.
    TellsTime,
}

impl Loops {
    /// The same, for another search, in which the same schedule is always the same execution.
    pub(crate) fn of_another_search(self) -> Loops {
        let search = self.learnt.searches.fetch_add(1, Ordering::Relaxed) + 1;
        Loops { search, ..self }
    }

    /// Whether it is what is known of the same test, in the same search.
    pub(super) fn is(&self, other: &Loops) -> bool {
        Arc::ptr_eq(&self.learnt, &other.learnt) && self.search == other.search
    }

    fn with<R>(&self, at: &'static Location<'static>, f: impl FnOnce(Option<&mut Line>) -> R) -> R {
        let mut lines = self.learnt.lines.lock().unwrap_or_else(PoisonError::into_inner);
        f(lines.get_mut(&(std::ptr::from_ref(at) as usize)))
    }

    /// Whether a loop went on for as long as an execution may last while another thread slept.
    pub(super) fn outlasts_sleep(&self) -> bool {
        self.learnt.outlasts_sleep.load(Ordering::Relaxed)
    }

    /// One did. Says whether that is new.
    pub(super) fn has_outlasted_sleep(&self) -> bool {
        self.is_news(!self.learnt.outlasts_sleep.swap(true, Ordering::Relaxed))
    }

    /// How much was learnt that makes executions of the same schedule others than before: what is run again may learn it.
    pub fn news(&self) -> u32 {
        self.learnt.news.load(Ordering::Relaxed)
    }

    fn is_news(&self, is_new: bool) -> bool {
        self.learnt.news.fetch_add(u32::from(is_new), Ordering::Relaxed);
        is_new
    }

    /// Threads seem to repeat themselves there.
    pub(super) fn add(&self, at: &'static Location<'static>) {
        let mut lines = self.learnt.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.entry(std::ptr::from_ref(at) as usize).or_default();
        self.is_news(true);
    }

    /// The round that begins there, where variables have these states, after so many of the same thread.
    pub(super) fn round(&self, at: &'static Location<'static>, start: &Start, before: u32, now: &impl Now) -> Round {
        self.with(at, |line| {
            let Some(line) = line else { return Round::NoLoop };
            if line.tells_time {
                return Round::TellsTime;
            }
            if line.is_given_up {
                return Round::Changes;
            }
            let Some(proofs) = line.proofs.get(&start.place) else { return Round::Unknown };
            let Some(round) = told(proofs, start, before, now) else { return Round::Unknown };
            line.uses += 1;
            round
        })
    }

    /// A thread has come to the end of a round that it could make again. Says whether what rounds leave is not always the same.
    pub(super) fn leave_other_remains(&self, at: &'static Location<'static>, came: Came) -> bool {
        self.with(at, |line| line.is_some_and(|line| line.ends.differ(came)))
    }

    /// The number of this search, with which that of what a scheduler decides begins.
    pub(super) fn search(&self) -> u64 {
        self.search.into()
    }

    /// Behind these decisions of the scheduler a thread repeats itself or not. Says whether that was otherwise before.
    pub(super) fn differ(&self, decisions: u64, repeats: bool) -> bool {
        // Who has learnt something since does something else.
        self.learnt.again.differs(mix(decisions, self.news().into()), repeats)
    }

    /// The loop is not followed any more. Says whether that is new.
    pub(super) fn give_up(&self, at: &'static Location<'static>) -> bool {
        let is_new = self.with(at, |line| line.is_some_and(|line| !std::mem::replace(&mut line.is_given_up, true)));
        self.is_news(is_new)
    }

    /// A round would have read the clock of the machine. Says whether that is new.
    pub(super) fn tells_time(&self, at: &'static Location<'static>) -> bool {
        let is_new = self.with(at, |line| line.is_some_and(|line| !std::mem::replace(&mut line.tells_time, true)));
        self.is_news(is_new)
    }

    /// A round was tried out, after so many of the same thread. Says what is known of it, and whether that was the last trial that
    /// may be.
    pub(super) fn learn(
        &self,
        at: &'static Location<'static>,
        proof: Proof,
        before: u32,
        instructions: u32,
        now: &impl Now,
    ) -> (Round, bool) {
        let proof = Arc::new(proof);
        let own = told_by(&proof, proof.inputs());
        self.with(at, |line| {
            let Some(line) = line else { return (own, false) };
            let proofs = line.proofs.entry(proof.start.place).or_default();
            if proofs.len() == OF_A_PLACE {
                // What tells of one execution alone is of no use to the others.
                let of_no_use = |proof: &Arc<Proof>| proof.is_of_one_execution() && !leaves(proof);
                proofs.remove(proofs.iter().position(of_no_use).unwrap_or(0));
            }
            proofs.push(proof.clone());
            // Another job may have tried out the same meanwhile.
            let round = told(proofs, &proof.start, before, now).unwrap_or(own);
            line.instructions += u64::from(instructions);
            let most = (AT_FIRST + FOR_EACH_USE * line.uses).min(INSTRUCTIONS);
            let was = line.is_given_up;
            line.is_given_up |= line.instructions >= most;
            (round, self.is_news(!was && line.is_given_up))
        })
    }
}

/// What the first proof that was found tells of a round, of those that tell anything: where a thread is seen to be depends on it
/// (`remains.rs`), and must not depend on what else was explored meanwhile. (It may where some were forgotten, because there are too many.)
fn told(proofs: &[Arc<Proof>], start: &Start, before: u32, now: &impl Now) -> Option<Round> {
    let finds_the_same = |proof: &Proof| proof.found.iter().all(|(variable, was)| now.state(*variable) == *was);
    // A round that found the same and changed something tells enough, though it does not hold: most leave the loop. If this one does not,
    // it is tried out later.
    let tells = |proof: &Arc<Proof>| match proof.holds(start, now) {
        Some(inputs) => Some(told_by(proof, inputs)),
        None => (before < FEW && leaves(proof)).then_some(Round::Changes),
    };
    proofs.iter().filter(|proof| finds_the_same(proof)).find_map(tells)
}

fn told_by(proof: &Arc<Proof>, inputs: Inputs) -> Round {
    if proof.changes_nothing { Round::ChangesNothing(proof.clone(), inputs) } else { Round::Changes }
}

/// Whether the round has changed something, with variables that it has found.
fn leaves(proof: &Proof) -> bool {
    !proof.changes_nothing && !proof.found.is_empty()
}
