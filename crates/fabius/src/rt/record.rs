//! What the threads did, written down for people. Only the execution that is shown is recorded.

use super::Op;
use std::panic::Location;

/// An operation that was done.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub thread: usize,
    pub at: &'static Location<'static>,
    /// For instance `load`.
    pub name: &'static str,
    /// What came of it, for instance `3`.
    pub value: Option<String>,
    /// The step that it belongs to.
    pub step: usize,
}

#[derive(Default)]
pub(crate) struct Recorder {
    pub records: Vec<Record>,
    pub step: usize,
}

impl Recorder {
    pub fn operation(&mut self, thread: usize, op: &Op) {
        let (at, name) = (op.at, op.name);
        self.records.push(Record { thread, at, name, value: None, step: self.step });
    }

    pub fn note(&mut self, thread: usize, text: String) {
        if let Some(last) = self.records.iter_mut().rev().find(|r| r.thread == thread) {
            last.value = Some(text);
        }
    }
}
