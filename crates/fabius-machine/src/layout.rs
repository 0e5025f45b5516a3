//! How types become words, and how words are packed in encodings.

use fabius_lang::program::{Program, Type, Value};

/// How a word is written in an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pack {
    /// `word - lo` in so many bits.
    Bits { lo: i64, bits: u8 },
    /// A number of any size, small ones in few bits.
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
    /// Offsets of references.
    pub(crate) refs: Vec<u32>,
    /// Offsets of thread handles.
    pub(crate) handles: Vec<u32>,
    /// Offsets of sets of threads.
    pub(crate) sets: Vec<u32>,
    /// The words of fresh variables.
    pub(crate) initial: Vec<i64>,
}

impl Layout {
    /// Adds a variable; returns its offset.
    pub(crate) fn add(&mut self, program: &Program, ty: &Type, initial: &Value) -> u32 {
        let offset = self.words;
        self.add_words(program, ty);
        flatten(initial, &mut self.initial);
        offset
    }

    fn add_words(&mut self, program: &Program, ty: &Type) {
        match ty {
            Type::Record(r) => program.records[*r].fields.iter().for_each(|f| self.add_words(program, &f.ty)),
            Type::Array { len, element, .. } => (0..*len).for_each(|_| self.add_words(program, element)),
            _ => {
                match ty {
                    Type::Ref(_) => self.refs.push(self.words),
                    Type::Thread => self.handles.push(self.words),
                    Type::ThreadSet => self.sets.push(self.words),
                    _ => {}
                }
                let pack = pack(program, ty);
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
        Some((lo, hi)) if hi.checked_sub(lo).is_some_and(|d| d < 1 << 8) => {
            Pack::Bits { lo, bits: bits_for((hi - lo) as u64 + 1) }
        }
        _ => Pack::Number,
    }
}

/// How many bits distinguish so many things.
pub(crate) fn bits_for(things: u64) -> u8 {
    (64 - things.saturating_sub(1).leading_zeros()) as u8
}

/// Appends the words of a value.
pub(crate) fn flatten(value: &Value, out: &mut Vec<i64>) {
    match value {
        Value::Int(n) => out.push(*n),
        Value::Tuple(parts) => parts.iter().for_each(|p| flatten(p, out)),
    }
}

/// The value of a type whose words these are; the inverse of [`flatten`].
pub(crate) fn unflatten(program: &Program, ty: &Type, words: &mut impl Iterator<Item = i64>) -> Value {
    match ty {
        Type::Record(r) => {
            Value::Tuple(program.records[*r].fields.iter().map(|f| unflatten(program, &f.ty, words)).collect())
        }
        Type::Array { len, element, .. } => {
            Value::Tuple((0..*len).map(|_| unflatten(program, element, words)).collect())
        }
        _ => Value::Int(words.next().unwrap_or(0)),
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
