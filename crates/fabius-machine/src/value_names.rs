//! What values are called that are alike: in the order in which a state has them. See `sorts.rs`.

use crate::sorts::Sorts;
use crate::state::State;
use fabius_explore::system::TaskId;
use std::collections::HashMap;

/// A word of a sort.
#[derive(Clone, Copy, Debug)]
struct Spot {
    sort: usize,
    /// The thread that it is a variable of.
    holder: Option<TaskId>,
    /// Which variable it is, of a thread or of all.
    name: u64,
    at: At,
}

#[derive(Clone, Copy, Debug)]
enum At {
    Words(usize),
    Own(usize, usize),
    Heap(usize, usize),
}

fn word(state: &mut State, at: At) -> &mut i64 {
    match at {
        At::Words(index) => &mut state.words[index],
        At::Own(of, index) => &mut state.own[of].1[index],
        At::Heap(of, index) => &mut state.heap[of].words[index],
    }
}

/// All words of a sort, in an order that depends on what threads are called.
fn spots(sorts: &Sorts, state: &State) -> Vec<Spot> {
    let mut spots = Vec::new();
    let mut add = |words: &[(u32, usize)], holder, first: u64, at: &dyn Fn(usize) -> At| {
        let spot = |(word, sort): &(u32, usize)| Spot {
            sort: *sort,
            holder,
            name: first + u64::from(*word),
            at: at(*word as usize),
        };
        spots.extend(words.iter().map(spot));
    };
    add(&sorts.globals, None, 0, &At::Words);
    for task in &state.tasks {
        for (depth, (proc, _, base)) in (1..).zip(state.frames(task)) {
            let holder = Some(task.id);
            add(&sorts.locals[proc], holder, depth << 32, &|word| At::Words(base + word));
        }
    }
    for (of, (buffer, _)) in state.own.iter().enumerate() {
        add(&sorts.own, Some(*buffer), 1 << 60, &|word| At::Own(of, word));
    }
    for (of, object) in state.heap.iter().enumerate() {
        let first = u64::from(object.number) << 32;
        add(&sorts.records[object.record as usize], None, first, &|word| At::Heap(of, word));
    }
    spots
}

/// Gives values the names that stand for all; says whether they had others.
pub(crate) fn name_values(sorts: &Sorts, state: &mut State) -> bool {
    let mut names: HashMap<(usize, i64), i64> = HashMap::new();
    let mut known = vec![0; sorts.sorts.len()];
    let mut changes = false;
    for spot in spots(sorts, state) {
        let sort = &sorts.sorts[spot.sort];
        let value = word(state, spot.at);
        if sort.has(*value) {
            let new = *names.entry((spot.sort, *value)).or_insert_with(|| {
                known[spot.sort] += 1;
                sort.nth(known[spot.sort] - 1)
            });
            changes |= new != *value;
            *value = new;
        }
    }
    changes
}

/// The same state where alike values are told apart only by who has them where, for threads to be told apart by. `colours` says
/// what each known thread of a state looks like.
pub(crate) fn without_names(
    sorts: &Sorts,
    state: &State,
    known: &[TaskId],
    colours: impl Fn(&State) -> Option<Vec<u64>>,
) -> Option<State> {
    let mut blind = state.clone();
    let mut alike: Vec<(Spot, i64)> = Vec::new();
    for spot in spots(sorts, state) {
        let value = std::mem::replace(word(&mut blind, spot.at), i64::MIN);
        if sorts.sorts[spot.sort].has(value) {
            alike.push((spot, value));
        } else {
            *word(&mut blind, spot.at) = value;
        }
    }
    let colours = colours(&blind)?;
    let of_holder =
        |holder: Option<TaskId>| holder.and_then(|id| known.binary_search(&id).ok()).map_or(0, |i| colours[i]);
    let mut of_values: HashMap<(usize, i64), u64> = HashMap::new();
    for (spot, value) in &alike {
        let colour = of_values.entry((spot.sort, *value)).or_default();
        *colour = colour.wrapping_add(mix(spot.name, of_holder(spot.holder)));
    }
    for (spot, value) in alike {
        *word(&mut blind, spot.at) = of_values[&(spot.sort, value)] as i64;
    }
    Some(blind)
}

/// One number of two.
pub(crate) fn mix(colour: u64, by: u64) -> u64 {
    let folded = u128::from(colour ^ by.wrapping_mul(0xa076_1d64_78bd_642f)) * 0xe703_7ed1_a0b4_28db;
    (folded as u64 ^ (folded >> 64) as u64).wrapping_add(0x9e37_79b9_7f4a_7c15)
}
