//! Forgetting what nobody can refer to any more: heap objects, and finished tasks.

use crate::config::Config;
use crate::value::{Identity, ObjectId, TaskId, Value};
use fabius_lang::program::Program;
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

    /// The threads whose entry in some map of threads is not what entries begin as.
    fn keys<'a>(&'a self, program: &'a Program) -> impl Iterator<Item = TaskId> + 'a {
        let maps = program.globals.iter().zip(&self.globals).filter_map(|(global, value)| {
            let (element, _) = global.ty.of_threads()?;
            let Value::Tuple(entries) = value else { return None };
            Some((entries, Value::default_of(program, element)))
        });
        maps.flat_map(|(entries, first)| (0..).zip(entries).filter(move |(_, v)| **v != first).map(|(id, _)| id))
    }

    /// Drops unreachable heap objects, and finished tasks of which no handle is left and no entry in a map.
    pub fn collect(&mut self, program: &Program) {
        let mut objects: Vec<ObjectId> = Vec::new();
        let mut reached = BTreeSet::new();
        let mut handles: BTreeSet<TaskId> = self.keys(program).collect();
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
