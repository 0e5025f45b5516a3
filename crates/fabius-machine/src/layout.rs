//! How types become words, and how words are packed in encodings.

use fabius_explore::system::TaskId;
use fabius_lang::program::{Program, Type, Value};
use std::ops::Range;

/// How a word is written in an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pack {
    /// `word - lo`, which is below 256.
    Byte { lo: i64 },
    /// A number of any size, small ones in few bytes.
    Number,
}

/// Words of the same packing in a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) pack: Pack,
    pub(crate) count: u32,
}

/// What one must know of a sequence of words besides their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub(crate) words: u32,
    pub(crate) runs: Vec<Run>,
    /// For each word its least value and how many bits tell its values apart; no bits: a number of any size.
    pub(crate) fields: Vec<(i64, Option<u32>)>,
    /// Offsets of references.
    pub(crate) refs: Vec<u32>,
    /// Offsets of thread handles.
    pub(crate) handles: Vec<u32>,
    /// What each of them counts as: itself, or the first of those whose order does not matter.
    pub(crate) counts_as: Vec<u32>,
    /// Handles whose order does not matter.
    pub(crate) gathered: Vec<Vec<u32>>,
    /// Offsets of sets of threads.
    pub(crate) sets: Vec<u32>,
    /// Maps of threads.
    pub(crate) maps: Vec<ThreadMap>,
    /// The words of fresh variables.
    pub(crate) initial: Vec<i64>,
}

/// A map of threads: an entry for each, as many as there may be.
#[derive(Clone, Debug)]
pub(crate) struct ThreadMap {
    /// Offset of the first entry.
    pub(crate) first: u32,
    /// What an entry begins as.
    pub(crate) initial: Vec<i64>,
    /// What is known of its words.
    pub(crate) layout: Layout,
    /// How many there are.
    pub(crate) len: u32,
}

impl ThreadMap {
    /// Where all entries are.
    pub(crate) fn words(&self) -> Range<u32> {
        self.first..self.first + self.len * self.layout.words
    }

    /// Where the entry of a thread is, if it has one.
    pub(crate) fn entry(&self, id: TaskId) -> Range<usize> {
        let (first, stride) = (self.first as usize, self.initial.len());
        let at = first + stride * id.min(self.len) as usize;
        at..at + if id < self.len { stride } else { 0 }
    }

    /// Whether the entry of a thread is not what it begins as; `words` are those of the variables.
    pub(crate) fn has(&self, words: &[i64], id: TaskId) -> bool {
        id < self.len && words[self.entry(id)] != self.initial
    }
}

impl Layout {
    /// Adds a variable; returns its offset.
    pub(crate) fn add(&mut self, program: &Program, ty: &Type, initial: &Value) -> u32 {
        let offset = self.words;
        self.add_words(program, ty);
        if let Some((element, len)) = ty.of_threads() {
            let mut layout = Layout::default();
            layout.add(program, element, &element.default_value(&program.records));
            let initial = layout.initial.clone();
            self.maps.push(ThreadMap { first: offset, initial, layout, len });
        }
        flatten(initial, &mut self.initial);
        offset
    }

    /// The order of these handles does not matter.
    pub(crate) fn gather(&mut self, words: &[u32]) {
        for (handle, counts_as) in self.handles.iter().zip(&mut self.counts_as) {
            if words.contains(handle) {
                *counts_as = words[0];
            }
        }
        self.gathered.push(words.to_vec());
    }

    /// Puts handles whose order does not matter into the order of names; says whether they were not.
    pub(crate) fn sort(&self, words: &mut [i64]) -> bool {
        let mut changes = false;
        for places in &self.gathered {
            let mut handles: Vec<i64> = places.iter().map(|at| words[*at as usize]).filter(|word| *word != 0).collect();
            handles.sort_unstable();
            let held = places.iter().filter(|at| words[**at as usize] != 0).copied().collect::<Vec<_>>();
            for (at, handle) in held.into_iter().zip(handles) {
                changes |= words[at as usize] != handle;
                words[at as usize] = handle;
            }
        }
        changes
    }

    fn add_words(&mut self, program: &Program, ty: &Type) {
        match ty {
            Type::Record(r) => program.records[*r].fields.iter().for_each(|f| self.add_words(program, &f.ty)),
            Type::Array { len, element, .. } => (0..*len).for_each(|_| self.add_words(program, element)),
            _ => {
                match ty {
                    Type::Ref(_) => self.refs.push(self.words),
                    Type::Thread => {
                        self.handles.push(self.words);
                        self.counts_as.push(self.words);
                    }
                    Type::ThreadSet => self.sets.push(self.words),
                    _ => {}
                }
                let pack = pack(program, ty);
                self.fields.push(match ty.finite_range(&program.enums) {
                    Some((lo, hi)) if pack != Pack::Number => (lo, Some(64 - hi.abs_diff(lo).leading_zeros())),
                    _ => (0, None),
                });
                match self.runs.last_mut() {
                    Some(run) if run.pack == pack => run.count += 1,
                    _ => self.runs.push(Run { pack, count: 1 }),
                }
                self.words += 1;
            }
        }
    }
}

fn pack(program: &Program, ty: &Type) -> Pack {
    match ty.finite_range(&program.enums) {
        Some((lo, hi)) if hi.checked_sub(lo).is_some_and(|d| d < 256) => Pack::Byte { lo },
        _ => Pack::Number,
    }
}

/// Appends the words of a value.
pub(crate) fn flatten(value: &Value, out: &mut Vec<i64>) {
    match value {
        Value::Int(n) => out.push(*n),
        Value::Tuple(parts) => parts.iter().for_each(|p| flatten(p, out)),
    }
}

/// How many words a value of the type has, if that is not absurd.
pub(crate) fn words_of(program: &Program, ty: &Type) -> u64 {
    match ty {
        Type::Record(r) => {
            program.records[*r].fields.iter().fold(0, |n: u64, f| n.saturating_add(words_of(program, &f.ty)))
        }
        Type::Array { len, element, .. } => words_of(program, element).saturating_mul(u64::from(*len)),
        _ => 1,
    }
}
