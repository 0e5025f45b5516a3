//! What threads are called: names that stand for all, and other ones; and along with them, what alike values are (`sorts.rs`).
//!
//! A thread is told from others by its procedures, where it stands, its variables, and who has a handle of it where. All that
//! becomes a colour of 64 bits; colours that are equal by chance only leave states apart that could be one.

use crate::compile::Compiled;
use crate::layout::{Layout, ThreadMap};
use crate::sorts::Sorts;
use crate::state::{State, Task};
use crate::value_names::{mix, name_values, without_names};
use fabius_explore::system::TaskId;

/// Sets hold threads with ids below.
const IN_SETS: TaskId = 64;

/// Where a handle stands; with the number of the word in the low bits.
const SHARED: u64 = 1 << 60;
const HEAP: u64 = 2 << 60;
const LOCAL: u64 = 3 << 60;
const OWN: u64 = 4 << 60;
/// The other end of one.
const KNOWN_BY: u64 = 5 << 60;
/// In the entry of a thread in a map.
const MAPS: u64 = 7 << 60;
/// One of several threads that nothing tells apart.
const CHOSEN: u64 = 6 << 60;

/// The threads that a state knows, in increasing order.
pub(crate) fn known(state: &State) -> Vec<TaskId> {
    let mut known: Vec<TaskId> = state.tasks.iter().map(|t| t.id).chain(state.finished.iter().copied()).collect();
    known.sort_unstable();
    known
}

/// Old names and new ones, by the old ones; false if they are the same, or must stay.
pub(crate) fn canonical_names(
    program: &Compiled,
    sorts: Option<&Sorts>,
    state: &State,
    names: &mut Vec<(TaskId, TaskId)>,
) -> bool {
    let renames_values = same_names(sorts, state, names);
    let known = known(state);
    let Some(order) = order_of_threads(program, sorts, state, &known) else { return renames_values };
    names.clear();
    names.extend(order.iter().zip(0..).map(|(index, new)| (known[*index], new)));
    names.sort_unstable();
    renames_values || names.iter().any(|(old, new)| old != new) || !is_sorted(program, state)
}

/// Names of threads that stay as they are; false if values are called as they are to be called, too.
pub(crate) fn same_names(sorts: Option<&Sorts>, state: &State, names: &mut Vec<(TaskId, TaskId)>) -> bool {
    names.clear();
    names.extend(known(state).iter().map(|id| (*id, *id)));
    sorts.is_some_and(|sorts| name_values(sorts, &mut state.clone()))
}

/// The known threads in the order of their new names, if they are not to keep the old ones.
fn order_of_threads(program: &Compiled, sorts: Option<&Sorts>, state: &State, known: &[TaskId]) -> Option<Vec<usize>> {
    let last = known.last().copied().unwrap_or(0);
    let has_room = !(program.fills_sets && last >= IN_SETS) && program.globals.maps.iter().all(|map| last < map.len);
    if !has_room {
        return None;
    }
    let colours = |state: &State| Colours::of(program, state, known);
    let blind = sorts.and_then(|sorts| without_names(sorts, state, known, |state| Some(colours(state)?.colours)));
    Some(colours(blind.as_ref().unwrap_or(state))?.order())
}

/// Whether handles whose order does not matter are in the order of names.
fn is_sorted(program: &Compiled, state: &State) -> bool {
    let in_order = |(proc, _, base): (usize, _, usize)| {
        let layout = &program.locals[proc];
        layout.gathered.is_empty() || !layout.sort(&mut state.words[base..base + layout.words as usize].to_vec())
    };
    program.groups.is_empty() || state.tasks.iter().all(|task| state.frames(task).all(in_order))
}

/// Calls threads by new names, and alike values as they are called then.
pub(crate) fn rename(program: &Compiled, sorts: Option<&Sorts>, state: &mut State, names: &[(TaskId, TaskId)]) {
    let new = |old: TaskId| names.binary_search_by_key(&old, |name| name.0).map_or(old, |at| names[at].1);
    let rename_words = |layout: &Layout, words: &mut [i64]| {
        for handle in &layout.handles {
            let word = &mut words[*handle as usize];
            if *word != 0 {
                *word = i64::from(new((*word - 1) as TaskId)) + 1;
            }
        }
        for set in &layout.sets {
            let word = &mut words[*set as usize];
            *word = members(*word).fold(0, |set, member| set | 1 << new(member));
        }
    };
    let globals = program.globals.words as usize;
    rename_words(&program.globals, &mut state.words[..globals]);
    for map in &program.globals.maps {
        let old = state.words[..globals].to_vec();
        // Entries of others are what they begin as, and there are as many new names as old ones. Who has no entry keeps its name.
        for (from, _) in names.iter().filter(|(from, _)| *from < map.len) {
            state.words[map.entry(*from)].copy_from_slice(&map.initial);
        }
        for (from, to) in names {
            state.words[map.entry(*to)].copy_from_slice(&old[map.entry(*from)]);
        }
    }
    if program.has_local_handles {
        for task in &state.tasks {
            let bases: Vec<(usize, usize)> = state.frames(task).map(|(proc, _, base)| (proc, base)).collect();
            for (proc, base) in bases {
                rename_words(&program.locals[proc], &mut state.words[base..]);
                program.locals[proc].sort(&mut state.words[base..]);
            }
        }
    }
    for (buffer, own) in &mut state.own {
        rename_words(&program.own, own);
        *buffer = new(*buffer);
    }
    state.own.sort_unstable_by_key(|(buffer, _)| *buffer);
    for object in &mut state.heap {
        rename_words(&program.records[object.record as usize].0, &mut object.words);
    }
    state.finished.iter_mut().for_each(|task| *task = new(*task));
    state.finished.sort_unstable();
    let old = state.words.split_off(globals);
    state.tasks.iter_mut().for_each(|task| task.id = new(task.id));
    state.tasks.sort_unstable_by_key(|task| task.id);
    for task in &mut state.tasks {
        let words = &old[task.start as usize - globals..task.end as usize - globals];
        let start = state.words.len() as u32;
        state.words.extend_from_slice(words);
        *task = Task {
            buffer: task.id,
            start,
            end: start + words.len() as u32,
            frame: task.frame - task.start + start,
            ..*task
        };
    }
    if let Some(sorts) = sorts {
        name_values(sorts, state);
    }
}

/// Whether nothing tells a task from the one before it.
pub(crate) fn repeats(program: &Compiled, state: &State, index: usize) -> bool {
    let Some(before) = index.checked_sub(1) else { return false };
    let [a, b] = [&state.tasks[before], &state.tasks[index]];
    let words = |task: &Task| &state.words[task.start as usize..task.end as usize];
    let starts = !state.started && a.id == 0;
    a.pc == b.pc
        && words(a) == words(b)
        && state.own_of(a.buffer) == state.own_of(b.buffer)
        && !starts
        && !is_known(program, state, [a.id, b.id])
}

/// Whether anybody has a handle of one of these, or one of them an entry in a map.
fn is_known(program: &Compiled, state: &State, ids: [TaskId; 2]) -> bool {
    let look = |layout: &Layout, words: &[i64]| {
        let is_one = |id: i64| ids.iter().any(|one| i64::from(*one) == id);
        layout.handles.iter().any(|handle| is_one(words[*handle as usize] - 1))
            || layout.sets.iter().any(|set| members(words[*set as usize]).any(|member| is_one(i64::from(member))))
    };
    let has_entry = |map: &ThreadMap| ids.iter().any(|id| map.has(&state.words, *id));
    let in_frames = |task| state.frames(task).any(|(proc, _, base)| look(&program.locals[proc], &state.words[base..]));
    look(&program.globals, &state.words)
        || program.globals.maps.iter().any(has_entry)
        || program.has_local_handles && state.tasks.iter().any(in_frames)
        || state.own.iter().any(|(_, own)| look(&program.own, own))
        || state.heap.iter().any(|object| look(&program.records[object.record as usize].0, &object.words))
}

/// The threads of a set.
fn members(set: i64) -> impl Iterator<Item = TaskId> {
    let mut left = set as u64;
    std::iter::from_fn(move || {
        let member = (left != 0).then(|| left.trailing_zeros())?;
        left &= left - 1;
        Some(member)
    })
}

/// What each known thread looks like.
struct Colours {
    colours: Vec<u64>,
    /// Threads of different procedures are of different kinds, and so are finished ones.
    kinds: Vec<u32>,
    /// The first place where somebody has a handle of it: whoever is known so gets names in that order, as at the beginning.
    places: Vec<u64>,
    /// Who has, at which place, a handle of whom.
    knows: Vec<(usize, u64, usize)>,
}

impl Colours {
    /// None if a handle is of a thread that is not known.
    fn of(program: &Compiled, state: &State, known: &[TaskId]) -> Option<Colours> {
        let index = |id: TaskId| known.binary_search(&id).ok();
        let mut colours = vec![0; known.len()];
        let mut kinds = vec![u32::MAX; known.len()];
        let mut places = vec![u64::MAX; known.len()];
        let mut knows = Vec::new();
        // Where others than threads have handles.
        let mut known_at = Vec::new();
        let mut look = |layout: &Layout, words: &[i64], place: u64| {
            let is_shared = |word: &&u32| !layout.maps.iter().any(|map| map.words().contains(word));
            for handle in layout.handles.iter().filter(is_shared).filter(|handle| words[**handle as usize] != 0) {
                known_at.push((place + u64::from(*handle), (words[*handle as usize] - 1) as TaskId));
            }
            for set in layout.sets.iter().filter(is_shared) {
                known_at.extend(members(words[*set as usize]).map(|member| (place + u64::from(*set), member)));
            }
        };
        look(&program.globals, &state.words, SHARED);
        for object in &state.heap {
            look(&program.records[object.record as usize].0, &object.words, HEAP + (u64::from(object.number) << 24));
        }
        for (place, id) in known_at {
            let at = index(id)?;
            colours[at] = u64::wrapping_add(colours[at], mix(place, 0));
            places[at] = places[at].min(place);
        }
        for task in &state.tasks {
            let me = index(task.id)?;
            let mut colour = mix(colours[me], u64::from(task.pc));
            let mut seen = Seen { id: task.id, colour: &mut colour, handles: Vec::new() };
            for (depth, (proc, site, base)) in (0..).zip(state.frames(task)) {
                let layout = &program.locals[proc];
                let words = &state.words[base..base + layout.words as usize];
                *seen.colour = mix(*seen.colour, (proc as u64) << 32 | site.map_or(0, |site| site as u64 + 1));
                seen.look(layout, words, LOCAL + (depth << 32));
            }
            if program.own.words > 0 {
                seen.look(&program.own, state.own_of(task.buffer), OWN);
            }
            // Who starts everything else when it finishes has a name of its own.
            let starts = !state.started && task.id == 0;
            kinds[me] = if starts { 0 } else { state.words[task.start as usize] as u32 + 1 };
            for (place, other) in seen.handles {
                let other = index(other)?;
                places[other] = places[other].min(place + (u64::from(kinds[me] & 0xffff) << 44));
                knows.push((me, place, other));
            }
            colours[me] = colour;
        }
        // What maps say of a thread is as if it were its own.
        for (number, map) in (0..).zip(&program.globals.maps) {
            for (me, id) in known.iter().enumerate() {
                let mut seen = Seen { id: *id, colour: &mut colours[me], handles: Vec::new() };
                seen.look(&map.layout, &state.words[map.entry(*id)], MAPS + (number << 32));
                for (place, other) in seen.handles {
                    let other = index(other)?;
                    places[other] = places[other].min(place + (u64::from(kinds[me] & 0xffff) << 44));
                    knows.push((me, place, other));
                }
            }
        }
        Some(Colours { colours, kinds, places, knows })
    }

    /// Makes the colours of threads differ that know others of different colours, or are known by them.
    fn refine(&mut self) {
        let count = |colours: &[u64]| {
            let mut sorted = colours.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            sorted.len()
        };
        let mut before = count(&self.colours);
        while before < self.colours.len() {
            let mut next: Vec<u64> = self.colours.iter().map(|colour| mix(*colour, 1)).collect();
            for (knower, place, other) in &self.knows {
                let outward = mix(*place, self.colours[*other]);
                let inward = mix(*place ^ KNOWN_BY, self.colours[*knower]);
                next[*knower] = next[*knower].wrapping_add(outward);
                next[*other] = next[*other].wrapping_add(inward);
            }
            let after = count(&next);
            if after <= before {
                return;
            }
            (self.colours, before) = (next, after);
        }
    }

    /// The threads in the order of their new names.
    fn order(&mut self) -> Vec<usize> {
        // Two that know nobody, and are known to the same ones at the same places, need not be told apart.
        let mut knows_somebody = vec![false; self.colours.len()];
        let mut known_to = vec![Vec::new(); self.colours.len()];
        for (knower, place, other) in &self.knows {
            knows_somebody[*knower] = true;
            known_to[*other].push((*knower, *place));
        }
        known_to.iter_mut().for_each(|known| known.sort_unstable());
        let are_twins = |a: usize, b: usize| !knows_somebody[a] && !knows_somebody[b] && known_to[a] == known_to[b];
        loop {
            if !self.knows.is_empty() {
                self.refine();
            }
            let mut order: Vec<usize> = (0..self.colours.len()).collect();
            order.sort_by_key(|i| (self.kinds[*i] != 0, self.places[*i], self.kinds[*i], self.colours[*i]));
            // Threads that look alike are, but for whom they know: one of them is told apart, and then those whom it knows are.
            let same = |pair: &&[usize]| self.colours[pair[0]] == self.colours[pair[1]] && !are_twins(pair[0], pair[1]);
            match order.windows(2).find(same) {
                Some(pair) => self.colours[pair[0]] = mix(self.colours[pair[0]], CHOSEN),
                None => return order,
            }
        }
    }
}

/// What a thread sees.
struct Seen<'a> {
    id: TaskId,
    colour: &'a mut u64,
    /// Where it has handles of other threads.
    handles: Vec<(u64, TaskId)>,
}

impl Seen<'_> {
    fn look(&mut self, layout: &Layout, words: &[i64], place: u64) {
        if layout.handles.is_empty() && layout.sets.is_empty() {
            *self.colour = words.iter().fold(*self.colour, |colour, word| mix(colour, *word as u64));
            return;
        }
        let mut words = words.to_vec();
        for (handle, counts_as) in layout.handles.iter().zip(&layout.counts_as) {
            let word = &mut words[*handle as usize];
            *word = self.handle(*word, place + u64::from(*counts_as));
        }
        for set in &layout.sets {
            let word = &mut words[*set as usize];
            *word = members(*word).map(|member| self.handle(i64::from(member) + 1, place + u64::from(*set))).sum();
        }
        *self.colour = words.iter().fold(*self.colour, |colour, word| mix(colour, *word as u64));
    }

    /// What a handle looks like, whoever it is of: of nobody 0, of the thread itself 1.
    fn handle(&mut self, word: i64, place: u64) -> i64 {
        match word - 1 {
            -1 => 0,
            id if id == i64::from(self.id) => 1,
            id => {
                self.handles.push((place, id as TaskId));
                1 << 32
            }
        }
    }
}
