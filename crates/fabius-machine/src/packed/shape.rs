//! Shapes: everything of a state but its words and where its tasks stand.
//!
//! States of one shape have the same tasks with the same active procedures, the same heap objects, the same finished tasks that
//! somebody knows. A step that is made on the packed form leaves the shape as it is, but for the width of numbers, which is
//! a part of it: the least that holds all of a state, so that equal states have equal bytes.

use super::code::{NOWHERE, PackedCode};
use super::slot::{self, Field, PADDING, Places, Slack, Slot, WIDTHS, Width};
use crate::compile::Compiled;
use crate::layout::{Layout, ThreadMap};
use crate::state::{HEADER, State};
use fabius_explore::codec::put;
use fabius_explore::system::TaskId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// Most shapes, and most slots of all of them together: states of further shapes are stored as they are.
const MOST_SHAPES: usize = 4096;
const MOST_SLOTS: usize = 1 << 19;
/// Bytes of the number of the shape in front of a packed state.
const KIND: usize = 2;

/// A task of a shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub(super) id: TaskId,
    /// The word that says where it stands, and the first place of its running procedure.
    pub(super) stands: u32,
    pub(super) first_place: u32,
    /// Its running procedure, and the first of that one's locals.
    pub(super) proc: u32,
    pub(super) frame: u32,
    /// The first of its own variables.
    pub(super) own: u32,
    /// Its words.
    pub(super) first: u32,
    pub(super) end: u32,
}

impl Unit {
    /// The number of the place where it stands.
    #[inline(always)]
    pub(super) fn place(&self, words: &[i64]) -> usize {
        self.first_place as usize + words[self.stands as usize] as usize
    }

    /// What the operands of its instructions are relative to.
    #[inline(always)]
    pub(super) fn bases(&self) -> [usize; 4] {
        [0, self.frame as usize, self.own as usize, 0]
    }
}

/// A heap object of a shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) number: i64,
    pub(super) first: u32,
}

/// See above.
#[derive(Debug, Default)]
pub(super) struct Shape {
    pub(super) kind: u16,
    pub(super) width: Width,
    /// What numbers may become without another one.
    pub(super) slack: Slack,
    /// The same with other widths, as far as they were asked for; `None`: there was no room.
    siblings: [OnceLock<Option<Weak<Shape>>>; WIDTHS],
    pub(super) units: Vec<Unit>,
    /// For each task the sites of the calls that are under way, innermost first.
    pub(super) calls: Vec<Vec<u32>>,
    pub(super) objects: Vec<Place>,
    /// The slots: first those of what has few values, then those of numbers.
    pub(super) slots: Vec<Slot>,
    pub(super) first_number: usize,
    /// For each bit of a packed state, the slot that it is a part of; behind them for each byte, in slots of whole bytes.
    slot_at_bit: Vec<u32>,
    slot_at_byte: Vec<u32>,
    /// For each word from the shared variables on, its slot.
    pub(super) slot_of: Vec<u32>,
    /// Words, with constants and temporaries.
    pub(super) words: usize,
    /// Bytes of a packed state, with its kind.
    pub(super) bytes: usize,
    /// Whether a reference or a handle that is given up may leave something behind that nobody knows any more.
    pub(super) collects: bool,
    /// For each word from the shared variables on, whether it is a reference, a handle or a set of threads.
    pub(super) identities: Vec<bool>,
    /// Words that are handles, and those that are sets of threads.
    pub(super) handles: Vec<u32>,
    pub(super) sets: Vec<u32>,
    /// Maps of threads, and where the variables begin that they are.
    pub(super) maps: (Vec<ThreadMap>, usize),
    /// How many own variables a thread has.
    pub(super) own_words: usize,
    /// A state of the shape.
    pub(super) template: State,
    /// The words of such a state.
    pub(super) template_words: Vec<i64>,
}

/// The shapes that were met.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Kinds by structure and width.
    kinds: HashMap<Vec<u8>, u16>,
    shapes: Vec<Arc<Shape>>,
    slots: usize,
}

impl Shapes {
    /// The shape of a state with numbers of this width, if there is room for it.
    pub(super) fn of(&self, program: &Compiled, code: &PackedCode, state: &State, width: Width) -> Option<Arc<Shape>> {
        let mut key = vec![width];
        structure(state, &mut key);
        let mut known = self.known.lock().expect("no search has panicked");
        if let Some(kind) = known.kinds.get(&key) {
            return Some(known.shapes[usize::from(*kind) - 1].clone());
        }
        let has_room = known.shapes.len() < MOST_SHAPES && known.slots < MOST_SLOTS;
        if !has_room {
            return None;
        }
        let kind = known.shapes.len() as u16 + 1;
        let shape = Arc::new(Shape::new(program, code, state, width, kind));
        known.slots += shape.slot_of.len();
        known.shapes.push(shape.clone());
        known.kinds.insert(key, kind);
        Some(shape)
    }

    /// The shapes from this one on.
    pub(super) fn from(&self, first: usize) -> Vec<Arc<Shape>> {
        self.known.lock().expect("no search has panicked").shapes[first..].to_vec()
    }
}

/// Appends everything but the words and where tasks stand.
fn structure(state: &State, out: &mut Vec<u8>) {
    put(state.tasks.len() as u64, out);
    for task in &state.tasks {
        put(u64::from(task.id), out);
        for (proc, site, _) in state.frames(task) {
            put(proc as u64, out);
            put(site.map_or(0, |site| site as u64 + 1), out);
        }
    }
    put(state.own.len() as u64, out);
    state.own.iter().for_each(|(buffer, _)| put(u64::from(*buffer), out));
    put(state.heap.len() as u64, out);
    for object in &state.heap {
        put(u64::from(object.number), out);
        put(u64::from(object.record), out);
    }
    put((state.finished.len() as u64) << 1 | u64::from(state.started), out);
    state.finished.iter().for_each(|task| put(u64::from(*task), out));
}

/// Appends the words of a state, with where its tasks stand behind the shared variables; false if a task stands where none
/// should.
pub(super) fn words_of(program: &Compiled, code: &PackedCode, state: &State, out: &mut Vec<i64>) -> bool {
    let globals = program.globals.words as usize;
    out.extend_from_slice(&state.words[..globals]);
    let mut all_stand = true;
    for task in &state.tasks {
        let stand = code.stand_of[task.pc as usize];
        all_stand &= stand != NOWHERE;
        out.push(i64::from(stand));
    }
    out.extend_from_slice(&state.words[globals..]);
    state.own.iter().for_each(|(_, words)| out.extend_from_slice(words));
    state.heap.iter().for_each(|object| out.extend_from_slice(&object.words));
    all_stand
}

/// The width of the numbers of a state.
pub(super) fn width_of(program: &Compiled, code: &PackedCode, state: &State) -> Width {
    fn of<'a>(layout: &'a Layout, fixed: &'a [bool], words: &'a [i64]) -> impl Iterator<Item = i64> + 'a {
        slot::fields(layout, fixed).zip(words).filter_map(|(field, word)| match field {
            Field::Number(lo, _) => Some(word - lo),
            Field::Small(..) => None,
        })
    }
    let frames = state.tasks.iter().flat_map(|task| state.frames(task));
    let frames = frames.flat_map(|(proc, _, base)| of(&program.locals[proc], &code.idle[proc], &state.words[base..]));
    let own = state.own.iter().flat_map(|(_, words)| of(&program.own, &[], words));
    let heap = state.heap.iter().flat_map(|o| of(&program.records[o.record as usize].0, &[], &o.words));
    slot::width(of(&program.globals, &[], &state.words).chain(frames).chain(own).chain(heap))
}

impl Shape {
    fn new(program: &Compiled, code: &PackedCode, state: &State, width: Width, kind: u16) -> Shape {
        let ahead = code.ahead;
        let mut template_words = vec![0; ahead];
        words_of(program, code, state, &mut template_words);
        let words = template_words.len();
        let mut shape = Shape {
            kind,
            width,
            slack: Slack::of(width),
            siblings: Default::default(),
            units: Vec::new(),
            calls: Vec::new(),
            objects: Vec::new(),
            slots: Vec::new(),
            first_number: 0,
            slot_at_bit: Vec::new(),
            slot_at_byte: Vec::new(),
            slot_of: vec![u32::MAX; words - ahead],
            words,
            bytes: 0,
            collects: !state.heap.is_empty() || !state.finished.is_empty(),
            identities: vec![false; words - ahead],
            handles: Vec::new(),
            sets: Vec::new(),
            maps: (program.globals.maps.clone(), ahead),
            own_words: program.own.words as usize,
            template: state.clone(),
            template_words,
        };
        let mut places = Places::behind(KIND);
        let mut numbers: Vec<(u32, i64, Option<u32>)> = Vec::new();
        let mut lay = |shape: &mut Shape, places: &mut Places, layout: &Layout, fixed: &[bool], first: usize| {
            for (at, field) in (first as u32..).zip(slot::fields(layout, fixed)) {
                match field {
                    Field::Small(lo, bits) => shape.slots.push(places.slot(at, lo, bits)),
                    Field::Number(lo, most) => numbers.push((at, lo, most)),
                }
            }
            shape.handles.extend(layout.handles.iter().map(|word| first as u32 + word));
            shape.sets.extend(layout.sets.iter().map(|word| first as u32 + word));
            for word in layout.refs.iter().chain(&layout.handles).chain(&layout.sets) {
                shape.identities[first - ahead + *word as usize] = true;
            }
        };
        let globals = program.globals.words as usize;
        let stands = ahead + globals;
        for (i, task) in state.tasks.iter().enumerate() {
            let proc = code_proc(state, task.frame);
            let bits = usize::BITS - (code.stands[proc].len().max(1) - 1).leading_zeros();
            shape.slots.push(places.slot((stands + i) as u32, 0, bits));
        }
        lay(&mut shape, &mut places, &program.globals, &[], ahead);
        for map in &program.globals.maps {
            (0..map.len).flat_map(|id| map.entry(id)).for_each(|word| shape.identities[word] = true);
        }
        // Words of tasks begin behind where they stand.
        let moved = stands + state.tasks.len() - globals;
        let mut at = moved + state.words.len();
        let own: HashMap<u32, usize> = state.own.iter().enumerate().map(|(i, (b, _))| (*b, i)).collect();
        let own_words = program.own.words as usize;
        for (i, task) in state.tasks.iter().enumerate() {
            for (proc, _, base) in state.frames(task) {
                lay(&mut shape, &mut places, &program.locals[proc], &code.idle[proc], moved + base);
            }
            shape.calls.push(state.frames(task).filter_map(|(_, site, _)| site.map(|site| site as u32)).collect());
            shape.units.push(Unit {
                id: task.id,
                stands: (stands + i) as u32,
                first_place: code.first_place(code_proc(state, task.frame)),
                proc: code_proc(state, task.frame) as u32,
                frame: (moved + task.frame as usize) as u32,
                own: (at + own.get(&task.buffer).map_or(0, |i| i * own_words)) as u32,
                first: (moved + task.start as usize) as u32,
                end: (moved + task.end as usize) as u32,
            });
        }
        for _ in &state.own {
            lay(&mut shape, &mut places, &program.own, &[], at);
            at += own_words;
        }
        for object in &state.heap {
            shape.objects.push(Place { number: i64::from(object.number), first: at as u32 });
            lay(&mut shape, &mut places, &program.records[object.record as usize].0, &[], at);
            at += object.words.len();
        }
        shape.first_number = shape.slots.len();
        // Slots of whole bytes come last.
        let mut number = |(at, lo, most): (u32, i64, Option<u32>)| match most {
            Some(most) => places.slot(at, lo, most.min(slot::size(width))),
            None => places.number(at, width),
        };
        let (whole, parts): (Vec<_>, Vec<_>) =
            numbers.into_iter().partition(|(.., most)| most.unwrap_or(u32::MAX).min(slot::size(width)) >= 8);
        shape.slots.extend(parts.into_iter().map(&mut number));
        let bits = shape.slots.last().map_or(0, |slot| slot.bits().end).next_multiple_of(8);
        shape.slots.extend(whole.into_iter().map(&mut number));
        shape.slot_at_bit.resize(bits, 0);
        shape.slot_at_byte.resize(places.bytes().saturating_sub(bits / 8), 0);
        for (i, slot) in shape.slots.iter().enumerate() {
            let range = slot.bits();
            match range.start.checked_sub(bits) {
                Some(start) => shape.slot_at_byte[start / 8..(range.end - bits).div_ceil(8)].fill(i as u32),
                None => shape.slot_at_bit[range].fill(i as u32),
            }
            shape.slot_of[slot.at as usize - ahead] = i as u32;
        }
        shape.bytes = places.bytes().next_multiple_of(4);
        shape
    }

    /// Writes all words; `out` gets the packed state and room behind it.
    pub(super) fn pack(&self, words: &[i64], out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.kind.to_le_bytes());
        out.resize(self.bytes + PADDING, 0);
        self.slots.iter().for_each(|slot| slot.set(words[slot.at as usize], out));
    }

    /// The width of the numbers among words.
    pub(super) fn width_of(&self, words: &[i64]) -> Width {
        let numbers = self.slots[self.first_number..].iter();
        slot::width(numbers.map(|slot| words[slot.at as usize].wrapping_sub(slot.lo)))
    }

    /// The shape with another width, if there is room for it.
    pub(super) fn with(&self, width: Width, make: impl FnOnce() -> Option<Arc<Shape>>) -> Option<Arc<Shape>> {
        self.siblings[usize::from(width)].get_or_init(|| make().as_ref().map(Arc::downgrade)).as_ref()?.upgrade()
    }

    /// Reads all words that are not the same in every state of the shape.
    #[inline]
    pub(super) fn unpack(&self, packed: &[u8], words: &mut [i64]) {
        self.slots.iter().for_each(|slot| words[slot.at as usize] = slot.get(packed));
    }

    /// The same if there are the words of another state of the shape, which becomes this one: reads what differs.
    #[inline]
    pub(super) fn unpack_changes(&self, packed: &mut [u8], to: &[u8], words: &mut [i64]) {
        // A slot in two runs of four bytes is read behind the last of them that differs, when both are there.
        let mut last = None;
        for (i, new) in to.chunks_exact(4).enumerate() {
            let old = &mut packed[i * 4..][..4];
            let of = |bytes: &[u8]| u32::from_le_bytes(*bytes.first_chunk().expect("there are four bytes"));
            let mut differs = of(old) ^ of(new);
            old.copy_from_slice(new);
            while differs != 0 {
                let bit = i * 32 + differs.trailing_zeros() as usize;
                differs &= differs - 1;
                let slot = match self.slot_at_bit.get(bit) {
                    Some(slot) => *slot,
                    None => self.slot_at_byte[(bit - self.slot_at_bit.len()) / 8],
                };
                if last.replace((i, slot)) == Some((i, slot)) {
                    continue;
                }
                let slot = self.slots[slot as usize];
                words[slot.at as usize] = slot.get(packed);
            }
        }
    }

    /// Whether anybody has a handle of a thread.
    pub(super) fn has_handle_of(&self, words: &[i64], id: TaskId) -> bool {
        self.handles.iter().any(|at| words[*at as usize] == i64::from(id) + 1)
            || self.sets.iter().any(|at| words[*at as usize] as u64 >> id.min(63) & 1 != 0)
            || self.maps.0.iter().any(|map| map.has(&words[self.maps.1..], id))
    }

    /// Turns words into a state.
    pub(super) fn state(&self, program: &Compiled, code: &PackedCode, words: &[i64], state: &mut State) {
        state.clone_from(&self.template);
        let words = &words[code.ahead..self.words];
        let (globals, rest) = words.split_at(program.globals.words as usize);
        let (stands, rest) = rest.split_at(self.units.len());
        let (of_tasks, mut rest) = rest.split_at(state.words.len() - globals.len());
        state.words[..globals.len()].copy_from_slice(globals);
        state.words[globals.len()..].copy_from_slice(of_tasks);
        for ((task, unit), stand) in state.tasks.iter_mut().zip(&self.units).zip(stands) {
            task.pc = code.stands[unit.proc as usize][*stand as usize];
        }
        let parts = state.own.iter_mut().map(|(_, words)| words).chain(state.heap.iter_mut().map(|o| &mut o.words));
        for part in parts {
            let (these, others) = rest.split_at(part.len());
            part.copy_from_slice(these);
            rest = others;
        }
    }
}

fn code_proc(state: &State, frame: u32) -> usize {
    state.words[frame as usize - HEADER] as usize
}
