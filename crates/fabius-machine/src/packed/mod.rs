//! States in few bits, and steps on them.
//!
//! A state is the number of its shape and, for each word, as many bits as its type has values. A cursor holds the words of one
//! state; a step changes some of them, and only these are written into a copy of its bits. Whatever changes the shape takes the
//! interpreter of whole states.

pub(crate) mod code;
pub(crate) mod packing;
mod run;
mod shape;
mod slot;
mod straight;

use crate::ample::{Ample, Stand, place};
use crate::state::{State, Task};
use crate::symmetry;
use crate::system::Machine;
use code::PackedCode;
use fabius_explore::system::{Choose, End, Fault, Packed, Snapshot, StepLog, System, TaskId};
use run::{Call, Run};
use shape::Shape;
use slot::PADDING;
use std::sync::Arc;

/// A state that is looked at, and what the last step made of it.
#[derive(Debug)]
pub struct Cursor {
    shape: Arc<Shape>,
    shapes: Vec<Arc<Shape>>,
    /// Constants, temporaries, shared variables, where tasks stand, words of tasks, own variables, heap objects, and the
    /// frames of calls within a step.
    words: Vec<i64>,
    packed: Vec<u8>,
    /// What the last step changed, and what that was before.
    changes: Vec<(u32, i64)>,
    calls: Vec<Call>,
    /// The state as a whole, if it was asked for, or is stored so.
    state: State,
    is_whole: bool,
    has_no_shape: bool,
    /// What the last step made, packed; and as a whole, if it was made so.
    result: Vec<u8>,
    next: State,
    next_is_whole: bool,
    /// Tasks whose guards take the interpreter of whole states; so do their steps, since a task goes on, too, where its guard fails.
    declined: Vec<usize>,
    spare: Vec<i64>,
}

impl Cursor {
    /// Takes the last step back.
    #[inline]
    fn undo(&mut self) {
        for (at, old) in self.changes.iter().rev() {
            self.words[*at as usize] = *old;
        }
        self.changes.clear();
    }
}

impl Machine<'_> {
    pub(crate) fn packed_code(&self) -> &PackedCode {
        self.packing.code.get_or_init(|| {
            let mut code = PackedCode::of(&self.program, &self.source);
            straight::straighten(&mut code, &self.program);
            code
        })
    }

    /// How steps are made on the words of a cursor.
    #[inline(always)]
    fn run<'a>(&'a self, cursor: &'a mut Cursor) -> Run<'a> {
        let Cursor { shape, words, changes, calls, .. } = cursor;
        Run { program: &self.program, code: self.packed_code(), shape, words, changes, calls, bases: [0; 4] }
    }

    /// Whether a task that cannot go on may stay where it is.
    fn may_stay(&self, cursor: &Cursor, index: usize) -> bool {
        let place = &self.packed_code().places[cursor.shape.units[index].place(&cursor.words)];
        place.number.is_some_and(|guard| self.program.code.guards[guard as usize].rests)
    }

    /// Writes what a step has changed into a copy of the bits; false if they do not fit.
    fn write_changes(&self, cursor: &mut Cursor) -> bool {
        let Cursor { shape, words, changes, packed, result, .. } = cursor;
        let code = self.packed_code();
        let ahead = code.ahead;
        result.clear();
        result.extend_from_slice(packed);
        let mut width_may_change = false;
        for (at, old) in changes {
            let at = *at as usize;
            if at >= shape.words || words[at] == *old {
                continue;
            }
            if shape.collects && shape.identities[at - ahead] {
                return false;
            }
            let number = shape.slot_of[at - ahead] as usize;
            let slot = &shape.slots[number];
            let without_least = |word: i64| word.wrapping_sub(slot.lo);
            if number < shape.first_number {
                slot.set_small(words[at], result);
            } else if shape.slack.allows(without_least(*old), without_least(words[at])) {
                slot.set(words[at], result);
            } else {
                width_may_change = true;
            }
        }
        if !width_may_change {
            return true;
        }
        let width = shape.width_of(words);
        let other = || self.packing.shapes.of(&self.program, code, &shape.template, width);
        let to = if width == shape.width { Some(shape.clone()) } else { shape.with(width, other) };
        to.inspect(|to| to.pack(words, result)).is_some()
    }

    /// Packs `next`.
    fn pack_next(&self, cursor: &mut Cursor) {
        let Cursor { next, spare, result, .. } = cursor;
        let code = self.packed_code();
        spare.clear();
        spare.resize(code.ahead, 0);
        let all_stand = shape::words_of(&self.program, code, next, spare);
        let width = shape::width_of(&self.program, code, next);
        match all_stand.then(|| self.packing.shapes.of(&self.program, code, next, width)).flatten() {
            Some(shape) => shape.pack(spare, result),
            None => {
                result.clear();
                result.extend([0; 6]);
                self.encode(next, result);
                let length = (result.len() - 6) as u32;
                result[2..6].copy_from_slice(&length.to_le_bytes());
                result.resize(result.len().next_multiple_of(4) + PADDING, 0);
            }
        }
        cursor.next_is_whole = true;
    }

    /// Where a thread of a state stands, if it stands where threads should.
    fn stand(&self, ample: &Ample, state: &State, task: &Task) -> Option<Stand> {
        let sites = state.frames(task).filter_map(|(_, site, _)| site.map(|site| site as u32));
        let proc = self.program.code.proc_of[task.pc as usize] as usize;
        let starts = !state.started && task.id == 0;
        Some(ample.stand(proc, place(self.packed_code(), task.pc)?, sites, starts))
    }

    /// Whether the next step of a thread that can go on touches nothing that others may still touch.
    pub(crate) fn goes_alone(&self, state: &State, task: TaskId) -> bool {
        let (Some(ample), Some(index)) = (self.ample(), state.index(task)) else { return false };
        let Some(mut thread) = self.stand(ample, state, &state.tasks[index]) else { return false };
        thread.is_ready = true;
        let others = state.tasks.iter().filter(|other| other.id != task);
        ample.is_alone(&self.program, &thread, others.map(|other| self.stand(ample, state, other)))
    }

    /// Turns the words into a state, if that has not been done.
    fn make_whole(&self, cursor: &mut Cursor) {
        if !cursor.is_whole {
            cursor.shape.state(&self.program, self.packed_code(), &cursor.words, &mut cursor.state);
            cursor.is_whole = true;
        }
    }
}

impl Packed for Machine<'_> {
    type Cursor = Cursor;

    fn cursor(&self) -> Cursor {
        let mut words = self.packed_code().consts.clone();
        words.resize(self.packed_code().ahead, 0);
        Cursor {
            shape: Arc::default(),
            shapes: Vec::new(),
            words,
            packed: Vec::new(),
            changes: Vec::new(),
            calls: Vec::new(),
            state: State::default(),
            is_whole: false,
            has_no_shape: true,
            result: Vec::new(),
            next: State::default(),
            next_is_whole: false,
            declined: Vec::new(),
            spare: Vec::new(),
        }
    }

    fn pack(&self, state: &State, cursor: &mut Cursor) {
        cursor.next.clone_from(state);
        self.pack_next(cursor);
    }

    fn unpack(&self, packed: &[u8], cursor: &mut Cursor) -> State {
        self.load(packed, cursor);
        self.make_whole(cursor);
        cursor.state.clone()
    }

    fn load(&self, packed: &[u8], cursor: &mut Cursor) {
        let kind = u16::from_le_bytes([packed[0], packed[1]]);
        cursor.is_whole = false;
        if kind != 0 && !cursor.has_no_shape && cursor.shape.kind == kind {
            cursor.undo();
            cursor.shape.unpack_changes(&mut cursor.packed, packed, &mut cursor.words);
            return;
        }
        cursor.changes.clear();
        cursor.packed.clear();
        cursor.packed.extend_from_slice(packed);
        cursor.packed.extend([0; PADDING]);
        cursor.has_no_shape = kind == 0;
        if cursor.has_no_shape {
            self.decode(&packed[6..], &mut cursor.state);
            cursor.is_whole = true;
            return;
        }
        let known = cursor.shapes.len();
        if usize::from(kind) > known {
            cursor.shapes.extend(self.packing.shapes.from(known));
        }
        cursor.shape = cursor.shapes[usize::from(kind) - 1].clone();
        let ahead = self.packed_code().ahead;
        cursor.words.truncate(ahead);
        cursor.words.extend_from_slice(&cursor.shape.template_words[ahead..]);
        cursor.shape.unpack(&cursor.packed, &mut cursor.words);
    }

    fn tasks(&self, cursor: &Cursor) -> usize {
        if cursor.has_no_shape { cursor.state.tasks.len() } else { cursor.shape.units.len() }
    }

    fn task(&self, cursor: &Cursor, index: usize) -> TaskId {
        if cursor.has_no_shape { cursor.state.tasks[index].id } else { cursor.shape.units[index].id }
    }

    fn ready_tasks(&self, cursor: &mut Cursor, ready: &mut Vec<usize>) {
        if cursor.has_no_shape {
            let tasks = cursor.state.tasks.iter().enumerate();
            return ready.extend(tasks.filter(|(_, task)| self.ready(&cursor.state, task.id)).map(|(index, _)| index));
        }
        cursor.undo();
        let mut declined = std::mem::take(&mut cursor.declined);
        declined.clear();
        let mut run = self.run(cursor);
        for (index, unit) in run.shape.units.iter().enumerate() {
            let goes_on = run.can_go_on(unit);
            if goes_on != Some(false) {
                ready.push(index);
            }
            if goes_on.is_none() {
                declined.push(index);
            }
        }
        if !declined.is_empty() {
            self.make_whole(cursor);
            let Cursor { shape, state, .. } = cursor;
            ready.retain(|index| !declined.contains(index) || self.ready(state, shape.units[*index].id));
        }
        cursor.declined = declined;
    }

    #[inline]
    fn quick_step_at(&self, cursor: &mut Cursor, index: usize, choose: &mut dyn Choose) -> Option<End> {
        if cursor.has_no_shape {
            return None;
        }
        cursor.undo();
        if cursor.declined.contains(&index) {
            return None;
        }
        let mut run = self.run(cursor);
        let end = run.step(&run.shape.units[index], choose);
        if end == Some(End::Dropped) {
            return end;
        }
        if end.is_none() || !self.write_changes(cursor) {
            cursor.undo();
            return None;
        }
        cursor.next_is_whole = false;
        end
    }

    fn step_at(
        &self,
        cursor: &mut Cursor,
        index: usize,
        choose: &mut dyn Choose,
        log: &mut StepLog,
    ) -> Result<End, Fault> {
        cursor.undo();
        self.make_whole(cursor);
        let task = cursor.state.tasks[index].id;
        cursor.next.clone_from(&cursor.state);
        let end = self.step(&mut cursor.next, task, choose, log)?;
        if end != End::Dropped {
            self.pack_next(cursor);
        }
        Ok(end)
    }

    fn packed<'a>(&self, cursor: &'a Cursor) -> &'a [u8] {
        &cursor.result[..cursor.result.len() - PADDING]
    }

    fn repeats_at(&self, cursor: &mut Cursor, index: usize) -> bool {
        if !self.renames_threads {
            return false;
        }
        cursor.undo();
        if cursor.has_no_shape {
            return symmetry::repeats(&self.program, &cursor.state, index);
        }
        let Some(before) = index.checked_sub(1) else { return false };
        let (shape, words) = (&cursor.shape, &cursor.words);
        let [a, b] = [&shape.units[before], &shape.units[index]];
        let own = |unit: &shape::Unit| &words[unit.own as usize..][..shape.own_words];
        let of = |unit: &shape::Unit| &words[unit.first as usize..unit.end as usize];
        words[a.stands as usize] == words[b.stands as usize]
            && of(a) == of(b)
            && own(a) == own(b)
            && (shape.template.started || a.id != 0)
            && !shape.has_handle_of(words, a.id)
            && !shape.has_handle_of(words, b.id)
    }

    fn ample(&self, cursor: &Cursor, ready: &[usize], chosen: &mut Vec<usize>) -> bool {
        let Some(ample) = Machine::ample(self).filter(|_| ready.len() > 1) else { return false };
        let mut stands: Vec<Stand> = if cursor.has_no_shape {
            let of = |task| self.stand(ample, &cursor.state, task);
            match cursor.state.tasks.iter().map(of).collect() {
                Some(stands) => stands,
                None => return false,
            }
        } else {
            let shape = &cursor.shape;
            let stand = |(unit, calls): (&shape::Unit, &Vec<u32>)| {
                let starts = !shape.template.started && unit.id == 0;
                let stand = cursor.words[unit.stands as usize] as u32;
                ample.stand(unit.proc as usize, stand, calls.iter().copied(), starts)
            };
            shape.units.iter().zip(&shape.calls).map(stand).collect()
        };
        ready.iter().for_each(|index| stands[*index].is_ready = true);
        ample.choose(&self.program, &stands, chosen)
    }

    fn name_threads(&self, cursor: &mut Cursor) {
        if !cursor.next_is_whole {
            let Cursor { shape, words, next, .. } = cursor;
            shape.state(&self.program, self.packed_code(), words, next);
        }
        let mut names = Vec::new();
        if self.canonical_names(&cursor.next, &mut names) {
            self.rename(&mut cursor.next, &names);
            self.pack_next(cursor);
        }
    }

    fn rests(&self, cursor: &Cursor) -> bool {
        if cursor.has_no_shape {
            return cursor.state.tasks.iter().all(|task| self.may_rest(&cursor.state, task.id));
        }
        (0..cursor.shape.units.len()).all(|index| self.may_stay(cursor, index))
    }
}

#[cfg(test)]
mod tests;
