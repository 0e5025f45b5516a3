//! Points inside of a step, between choices: which ones there were, how many outcomes there are from each on, and from which ones no
//! way leads out of a loop.

use hashbrown::HashMap;
use hashbrown::hash_map::EntryRef;
use std::collections::BTreeMap;
use xxhash_rust::xxh3::Xxh3DefaultBuilder;

/// What a point takes besides its words: its entry in a table, and what is known of it.
const BYTES: u64 = 128;
/// So many points are kept only if outcomes meet there.
const MANY: usize = 1 << 20;

/// The points of a step's outcomes so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passed {
    points: HashMap<Box<[i64]>, usize, Xxh3DefaultBuilder>,
    known: Vec<Point>,
    /// Those that not all outcomes have been made from, in the order in which they are passed.
    open: Vec<usize>,
    /// How many outcomes came to a point that others had been at, since points were forgotten.
    met: usize,
    /// How many outcomes the last one stands for, beyond itself; and all before it.
    others: u64,
    counted: u64,
    bytes: u64,
    /// From which point to which outcomes have gone.
    ways: Vec<(usize, usize)>,
    /// The choices of outcomes that came back in a cycle, by the point that they came to.
    rounds: BTreeMap<usize, Vec<u32>>,
    /// Whether this outcome comes to no end: it came to where others have been, or is dropped.
    pub has_no_end: bool,
    /// Whether it goes round for ever, as all do that come there.
    pub is_endless: bool,
    /// Where this outcome was last, and before that.
    here: Option<usize>,
    before: Option<usize>,
    /// The words of the point that is looked for.
    words: Vec<i64>,
}

/// A point inside of a step.
#[derive(Clone, Debug)]
struct Point {
    /// How many choices lead to it.
    choices: usize,
    /// The last outcome that has passed it.
    outcome: u32,
    /// How many outcomes were counted when it was first passed; afterwards how many there are from it on.
    count: u64,
    is_open: bool,
    /// Whether an outcome came to its end behind it, without another point.
    ends: bool,
}

/// A point that has been passed before.
pub(crate) struct Arrival {
    pub point: usize,
    /// Whether by the same outcome.
    pub twice: bool,
}

impl Passed {
    /// An outcome, by its number, is at a point, which so many choices lead to.
    pub fn arrive(&mut self, describe: &mut dyn FnMut(&mut Vec<i64>), choices: usize, outcome: u32) -> Option<Arrival> {
        self.words.clear();
        describe(&mut self.words);
        let words = self.words.as_slice();
        self.before = self.here;
        match self.points.entry_ref(words) {
            EntryRef::Occupied(known) => {
                let point = *known.get();
                self.here = Some(point);
                let before = std::mem::replace(&mut self.known[point].outcome, outcome);
                Some(Arrival { point, twice: before == outcome })
            }
            EntryRef::Vacant(free) => {
                self.here = Some(self.known.len());
                free.insert(self.known.len());
                self.bytes += size_of_val(words) as u64 + BYTES;
                self.open.push(self.known.len());
                self.known.push(Point { choices, outcome, count: self.counted, is_open: true, ends: false });
                None
            }
        }
    }

    /// No outcome before has gone this way, from the point before to the one that it is at.
    pub fn is_new_way(&mut self) {
        self.ways.extend(self.before.zip(self.here));
    }

    /// The outcome is over, and another one begins.
    pub fn ends(&mut self) {
        let has_end = !std::mem::take(&mut self.has_no_end);
        if let Some(here) = self.here.filter(|_| has_end) {
            self.known[here].ends = true;
        }
        (self.here, self.before) = (None, None);
    }

    /// The outcome, with these choices, comes back in a cycle.
    pub fn comes_back(&mut self, point: usize, choices: &mut dyn Iterator<Item = u32>) {
        self.has_no_end = true;
        let bytes = &mut self.bytes;
        self.rounds.entry(point).or_insert_with(|| {
            let choices: Vec<u32> = choices.collect();
            *bytes += size_of_val(choices.as_slice()) as u64 + BYTES;
            choices
        });
    }

    /// The choices of an outcome that goes round for ever, as all do that come there. When all outcomes have been made.
    pub fn endless(&self) -> Option<&[u32]> {
        let leading_out = self.leading_out();
        self.rounds.iter().find(|(point, _)| !leading_out[**point]).map(|(_, choices)| choices.as_slice())
    }

    /// From which points some way leads to an end.
    fn leading_out(&self) -> Vec<bool> {
        let mut behind: HashMap<usize, Vec<usize>, Xxh3DefaultBuilder> = HashMap::default();
        self.ways.iter().for_each(|(from, to)| behind.entry(*to).or_default().push(*from));
        let mut work: Vec<usize> = (0..self.known.len()).filter(|point| self.known[*point].ends).collect();
        let mut leading = vec![false; self.known.len()];
        while let Some(point) = work.pop() {
            if !std::mem::replace(&mut leading[point], true) {
                work.extend(behind.get(&point).into_iter().flatten());
            }
        }
        leading
    }

    /// Leaves what follows to those that have been at the point, if all outcomes have been made from there.
    pub fn leave_to(&mut self, point: usize) -> bool {
        let Point { is_open, count, .. } = self.known[point];
        if !is_open {
            self.others = count.saturating_sub(1);
            self.met += 1;
        }
        !is_open
    }

    /// How many outcomes the last one stands for.
    pub fn weight(&self) -> u64 {
        self.others.saturating_add(1)
    }

    /// Bytes in use, about.
    pub fn memory(&self) -> u64 {
        self.bytes + (size_of_val(self.words.as_slice()) + size_of_val(self.ways.as_slice())) as u64
    }

    /// Makes room if there is no more, or if there are many points and hardly any outcome has met another: what is forgotten is made
    /// again from there.
    pub fn make_room(&mut self, room: Option<u64>) {
        let is_idle = self.known.len() > MANY && self.met < self.known.len() / 16;
        if !is_idle && room.is_none_or(|room| self.memory() <= room) || self.open.len() > self.known.len() / 2 {
            return;
        }
        let open = std::mem::take(&mut self.open);
        self.points.retain(|_, point| {
            let place = open.binary_search(point);
            *point = place.unwrap_or_default();
            place.is_ok()
        });
        self.points.shrink_to_fit();
        self.bytes = self.points.keys().map(|words| size_of_val(words.as_ref()) as u64 + BYTES).sum();
        // Where there has been no cycle, all outcomes from what is forgotten came to an end, or were dropped.
        let place = |point: usize| open.binary_search(&point).ok();
        let leading_out = self.leading_out();
        for (from, to) in &self.ways {
            self.known[*from].ends |= place(*to).is_none() && leading_out[*to];
        }
        let kept = self.ways.iter().filter_map(|(from, to)| place(*from).zip(place(*to)));
        self.ways = kept.collect();
        (self.here, self.before) = (self.here.and_then(place), self.before.and_then(place));
        self.known = open.iter().map(|point| self.known[*point].clone()).collect();
        self.open = (0..open.len()).collect();
        self.met = 0;
    }

    /// An outcome has been made; the next one differs in the last of so many choices.
    pub fn close(&mut self, choices: usize) {
        self.counted = self.counted.saturating_add(self.others).saturating_add(1);
        self.others = 0;
        while let Some(last) = self.open.last()
            && self.known[*last].choices >= choices
        {
            let point = &mut self.known[*last];
            point.count = self.counted.saturating_sub(point.count);
            point.is_open = false;
            self.open.pop();
        }
    }
}
