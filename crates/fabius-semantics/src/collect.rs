//! Forgetting what nobody can refer to any more: heap objects, and finished tasks.

use crate::config::Config;
use crate::value::{Identity, ObjectId, Value};
use std::collections::BTreeSet;

impl Config {
    /// Calls `f` for every value that a variable of the configuration has (heap objects excepted).
    pub fn each_root(&self, f: &mut dyn FnMut(&Value)) {
        self.globals.iter().for_each(&mut *f);
        for buffer in self.buffers.values() {
            buffer.own.iter().for_each(&mut *f);
            for task in buffer.stack.iter().chain(&buffer.pending) {
                task.frames.iter().for_each(|frame| frame.locals.iter().for_each(&mut *f));
            }
        }
    }

    /// Drops unreachable heap objects and finished tasks of which no handle is left.
    pub fn collect(&mut self) {
        let mut objects: Vec<ObjectId> = Vec::new();
        let mut reached = BTreeSet::new();
        let mut handles = BTreeSet::new();
        let mut note = |identity: Identity, objects: &mut Vec<ObjectId>| match identity {
            Identity::Object(o) if reached.insert(o) => objects.push(o),
            Identity::Object(_) => {}
            Identity::Task(t) => {
                handles.insert(t);
            }
        };
        self.each_root(&mut |v| v.each_identity(&mut |i| note(i, &mut objects)));
        while let Some(o) = objects.pop() {
            self.heap[&o].value.each_identity(&mut |i| note(i, &mut objects));
        }
        self.heap.retain(|o, _| reached.contains(o));
        self.finished.retain(|t| handles.contains(t));
    }
}
