//! A way out of a cycle of choices, looked for by going on in it.
//!
//! A step that comes back to where it has been need not be followed: whatever it may do from there is made by others. That is so
//! only if some way leads to the end of the step. A search that stores states knows that when it has made all outcomes of a step
//! (`passed.rs`); one that makes each execution from its beginning never has them all together. It goes on, and takes at each
//! point the way that it has not taken for the longest time.
//!
//! Paper: Eulerian Walkers as a Model of Self-Organized Criticality (Priezzhev, Dhar, Dhar, Krishnamurthy, Phys. Rev. Lett. 1996):
//! such a walk goes all ways from each point that it comes to again and again. So it ends, unless it has come to points that no way
//! leads out of; then the step runs for too long, which is the limit that it should be.
//!
//! Deviation: ways are sequences of choices; each choice has its turn for itself, after the same ones before it.

use std::collections::HashMap;

/// An outcome that has come back, and how it goes on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    /// How many choices have led to where it came back, which is a point.
    began: Option<(usize, Option<usize>)>,
    /// The last point, and what was chosen since.
    here: (Option<usize>, Vec<u32>),
    /// What is chosen there next.
    next: HashMap<(Option<usize>, Vec<u32>), u32>,
}

impl Rounds {
    /// It has come back to a point after so many choices, and is followed from there; or once more from where it came back at first.
    /// How many choices lead there.
    pub fn begin(&mut self, choices: usize, point: Option<usize>) -> usize {
        let (choices, point) = *self.began.get_or_insert((choices, point));
        self.here = (point, Vec::new());
        choices
    }

    /// It is at a point. Says whether it is followed.
    pub fn is_at(&mut self, point: Option<usize>) -> bool {
        self.here = (point, Vec::new());
        self.began.is_some()
    }

    /// What is chosen; the first alternative where nothing is followed.
    pub fn choose(&mut self, alternatives: u32) -> u32 {
        if self.began.is_none() {
            return 0;
        }
        let next = self.next.entry(self.here.clone()).or_default();
        let chosen = *next % alternatives;
        *next = chosen + 1;
        self.here.1.push(chosen);
        chosen
    }

    /// The step is over: after how many choices it had come back, if it has.
    pub fn end(&mut self) -> Option<usize> {
        self.next.clear();
        self.began.take().map(|(choices, _)| choices)
    }
}
