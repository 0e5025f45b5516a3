//! Sets of stacks, as deterministic automata that read a stack from its top: one for each set, so that equal sets are found to be.
//!
//! Paper: Context-Bounded Model Checking of Concurrent Software (TACAS 2005), section 3: regular sets of stacks, one automaton
//! for each thread; the least automaton is found by refining a partition (Moore, Gedanken-experiments on sequential machines, 1956).

use super::steps::Symbol;
use std::collections::{BTreeMap, HashMap};

/// A set of stacks. State 0 is in front of the top.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stacks(pub Vec<State>);

/// Whether a stack may end here, and what may be next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    pub ends: bool,
    pub next: Vec<(Symbol, u32)>,
}

/// Subsets that are looked at; whatever has more is given up.
const MOST: usize = 20_000;

/// The stack of one frame.
pub fn single(top: Symbol) -> Stacks {
    let end = State { ends: true, next: Vec::new() };
    Stacks(vec![State { ends: false, next: vec![(top, 1)] }, end])
}

/// The stacks with one of these tops, each with what the node behind it says is beneath; `None` if that is too much.
pub fn of(tops: &[(Symbol, u32)], nodes: &[State]) -> Option<Stacks> {
    let mut numbers: HashMap<Vec<u32>, u32> = HashMap::new();
    let mut sets: Vec<Vec<u32>> = vec![Vec::new()];
    let mut states: Vec<State> = Vec::new();
    while states.len() < sets.len() {
        let at = states.len();
        let mut by_symbol: BTreeMap<Symbol, Vec<u32>> = BTreeMap::new();
        let of_nodes = sets[at].iter().flat_map(|n| &nodes[*n as usize].next);
        for (symbol, to) in if at == 0 { tops } else { &[] }.iter().chain(of_nodes) {
            by_symbol.entry(*symbol).or_default().push(*to);
        }
        let ends = sets[at].iter().any(|n| nodes[*n as usize].ends);
        let mut next = Vec::new();
        for (symbol, mut set) in by_symbol {
            set.sort_unstable();
            set.dedup();
            let number = *numbers.entry(set).or_insert_with_key(|set| {
                sets.push(set.clone());
                sets.len() as u32 - 1
            });
            next.push((symbol, number));
        }
        states.push(State { ends, next });
        if sets.len() > MOST {
            return None;
        }
    }
    Some(least(&states))
}

/// The least automaton of the same stacks, numbered in the order in which its states are met.
fn least(states: &[State]) -> Stacks {
    let mut class: Vec<u32> = states.iter().map(|s| u32::from(s.ends)).collect();
    let mut count = 0;
    loop {
        let mut numbers: HashMap<(u32, Vec<(Symbol, u32)>), u32> = HashMap::new();
        let signature = |(at, s): (usize, &State)| {
            (class[at], s.next.iter().map(|(symbol, to)| (*symbol, class[*to as usize])).collect())
        };
        let mut new = Vec::with_capacity(states.len());
        for of in states.iter().enumerate().map(signature) {
            let number = numbers.len() as u32;
            new.push(*numbers.entry(of).or_insert(number));
        }
        class = new;
        if numbers.len() == count {
            break;
        }
        count = numbers.len();
    }
    let mut number = vec![u32::MAX; count];
    let mut one_of = vec![0];
    number[class[0] as usize] = 0;
    let mut out = Vec::new();
    while out.len() < one_of.len() {
        let state: &State = &states[one_of[out.len()]];
        let mut next = Vec::new();
        for (symbol, to) in &state.next {
            let of = &mut number[class[*to as usize] as usize];
            if *of == u32::MAX {
                *of = one_of.len() as u32;
                one_of.push(*to as usize);
            }
            next.push((*symbol, *of));
        }
        out.push(State { ends: state.ends, next });
    }
    Stacks(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(ends: bool, next: &[(Symbol, u32)]) -> State {
        State { ends, next: next.to_vec() }
    }

    #[test]
    fn equal_sets_are_equal() {
        // 7 any number of times, written in two ways, and once more.
        let one = of(&[(7, 0)], &[node(true, &[(7, 0)])]);
        let two = of(&[(7, 0)], &[node(true, &[(7, 1)]), node(true, &[(7, 0), (7, 1)])]);
        let other = of(&[(7, 0)], &[node(false, &[(7, 1)]), node(true, &[(7, 1)])]);
        assert_eq!(one, two);
        assert_ne!(one, other);
        assert_eq!(of(&[(3, 0)], &[node(true, &[])]), Some(single(3)));
    }

    #[test]
    fn what_may_be_beneath_one_top_is_all_kept() {
        // Beneath 7 is 8 or 9, said by two nodes or by one.
        let two = of(&[(7, 0), (7, 1)], &[node(false, &[(8, 2)]), node(false, &[(9, 2)]), node(true, &[])]);
        let one = of(&[(7, 0)], &[node(false, &[(8, 1), (9, 1)]), node(true, &[])]);
        assert_eq!(two, one);
        // The same below the top.
        let two = of(&[(7, 0)], &[node(false, &[(8, 1), (8, 2)]), node(true, &[]), node(false, &[(9, 1)])]);
        let one = of(&[(7, 0)], &[node(false, &[(8, 1)]), node(true, &[(9, 2)]), node(true, &[])]);
        assert_eq!(two, one);
    }
}
