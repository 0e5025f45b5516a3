//! Sets of views: a finite set of cells, each with what holds in it.
//!
//! Paper: Graf, Saïdi: Construction of abstract state graphs with PVS (CAV 1997): predicates; Reps, Sagiv, Yorsh: Symbolic
//! implementation of the best transformer (VMCAI 2004), section 3: a set grows by the models of what is not in it yet.
//!
//! A view is the shared state with two threads. A cell is made of all views that agree in the values of small variables, in where the threads are, and
//! in the truth of the comparisons that the program makes. In a cell, those of finitely many simple facts hold
//! (one number at most another one, and the like) that hold of all views that were put there.

use super::steps::{Layout, Maker};
use fabius_lang::program::{Expr, ProcId};
use fabius_smt::{Op, Sort, Term, Terms, Value};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A thread in a formula.
#[derive(Clone, Debug)]
pub struct Thread {
    pub at: At,
    /// Its memory, with the shared variables.
    pub memory: Vec<Term>,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug)]
pub enum At {
    Place(usize),
    /// At that place of [`Layout::places`].
    Number(Term),
}

/// A thread of which everything is known.
#[derive(Clone, Debug)]
pub struct Known {
    pub at: usize,
    pub memory: Vec<Value>,
    /// The truth of the comparisons.
    pub holds: Vec<bool>,
}

/// A comparison that the program makes, of shared variables and those of one thread.
pub struct Comparison<'p> {
    pub proc: ProcId,
    pub expr: &'p Expr,
    /// What it reads of a thread's own; nothing if it is about shared variables alone.
    pub own: Vec<usize>,
}

/// A number in a view: of the first thread (or shared), or of the second.
type Number = (usize, usize);

/// A fact about numbers.
#[derive(Clone, Copy, Debug)]
enum Fact {
    AtMost(Number, Value),
    AtLeast(Number, Value),
    /// The difference of the first and the second is at most that.
    Within(Number, Number, Value),
    Differ(Number, Number),
}

/// What all views of a cell agree in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    shared: Vec<Value>,
    two: [(usize, Vec<Value>); 2],
}

struct Cell {
    facts: Rc<Vec<Fact>>,
    holds: Vec<bool>,
}

/// What is looked at of a thread at a place.
struct Place {
    /// Leaves with few values, and others.
    small: Vec<usize>,
    wide: Vec<usize>,
    comparisons: Vec<usize>,
}

/// A set of views.
pub struct Views<'p> {
    comparisons: Vec<Comparison<'p>>,
    places: Vec<Place>,
    /// Of the shared variables.
    shared: Place,
    sorts: Vec<Sort>,
    constants: Vec<Value>,
    cells: BTreeMap<Key, Cell>,
    facts: BTreeMap<[usize; 2], Rc<Vec<Fact>>>,
    /// How often the set has grown.
    pub grown: u64,
}

/// Numbers in one view at most.
const MOST_NUMBERS: usize = 20;

/// Differences that are told apart.
const NEAR: [Value; 3] = [-1, 0, 1];

impl<'p> Views<'p> {
    pub fn new(layout: &Layout, comparisons: Vec<Comparison<'p>>, constants: Vec<Value>) -> Views<'p> {
        let place = |leaves: &[usize], wanted: Vec<usize>| {
            let (small, wide): (Vec<usize>, Vec<usize>) = leaves.iter().partition(|leaf| layout.is_finite(**leaf));
            let wide = wide.into_iter().filter(|leaf| layout.leaves[*leaf].sort != Sort::Order).collect();
            Place { small, wide, comparisons: wanted }
        };
        let of = |live: &[usize]| -> Vec<usize> {
            let all = comparisons.iter().enumerate();
            let here = all.filter(|(_, c)| !c.own.is_empty() && c.own.iter().all(|leaf| live.contains(leaf)));
            here.map(|(i, _)| i).collect()
        };
        let about_shared = comparisons.iter().enumerate().filter(|(_, c)| c.own.is_empty()).map(|(i, _)| i).collect();
        let places = layout.live.iter().map(|live| place(live, of(live))).collect();
        let shared = place(&layout.shared, about_shared);
        Views {
            comparisons,
            places,
            shared,
            sorts: layout.leaves.iter().map(|leaf| leaf.sort).collect(),
            constants,
            cells: BTreeMap::new(),
            facts: BTreeMap::new(),
            grown: 0,
        }
    }

    /// Whether there are few enough numbers in each view.
    pub fn is_narrow(&self) -> bool {
        let most = self.places.iter().map(|place| place.wide.len()).max().unwrap_or(0);
        self.shared.wide.len() + 2 * most <= MOST_NUMBERS
    }

    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// The values of small variables of a thread at a place, of its own.
    pub fn small(&self, at: usize) -> &[usize] {
        &self.places[at].small
    }

    /// Adds a view, and the same with the threads in the other order; says which cells have grown.
    pub fn add(&mut self, one: &Known, two: &Known) -> Vec<Key> {
        [(one, two), (two, one)].into_iter().filter_map(|(one, two)| self.add_in_order(one, two)).collect()
    }

    fn add_in_order(&mut self, one: &Known, two: &Known) -> Option<Key> {
        let values = |of: &Known, place: &Place| -> Vec<Value> {
            let small = place.small.iter().map(|leaf| of.memory[*leaf]);
            small.chain(place.comparisons.iter().map(|c| Value::from(of.holds[*c]))).collect()
        };
        let of_thread = |thread: &Known| (thread.at, values(thread, &self.places[thread.at]));
        let key = Key { shared: values(one, &self.shared), two: [of_thread(one), of_thread(two)] };
        let facts = self.facts_at([one.at, two.at]);
        let number = |(thread, leaf): Number| if thread == 0 { one.memory[leaf] } else { two.memory[leaf] };
        let is = |fact: &Fact| match *fact {
            Fact::AtMost(a, c) => number(a) <= c,
            Fact::AtLeast(a, c) => number(a) >= c,
            Fact::Within(a, b, c) => number(a) - number(b) <= c,
            Fact::Differ(a, b) => number(a) != number(b),
        };
        match self.cells.get_mut(&key) {
            Some(cell) => {
                let before = self.grown;
                for (holds, fact) in cell.holds.iter_mut().zip(facts.iter()) {
                    if *holds && !is(fact) {
                        *holds = false;
                        self.grown += 1;
                    }
                }
                (self.grown > before).then_some(key)
            }
            None => {
                let holds = facts.iter().map(is).collect();
                self.cells.insert(key.clone(), Cell { facts, holds });
                self.grown += 1;
                Some(key)
            }
        }
    }

    fn facts_at(&mut self, places: [usize; 2]) -> Rc<Vec<Fact>> {
        if let Some(known) = self.facts.get(&places) {
            return Rc::clone(known);
        }
        let mut numbers: Vec<Number> = self.shared.wide.iter().map(|leaf| (0, *leaf)).collect();
        for (thread, place) in places.iter().enumerate() {
            numbers.extend(self.places[*place].wide.iter().map(|leaf| (thread, *leaf)));
        }
        let mut all = Vec::new();
        for (i, a) in numbers.iter().enumerate() {
            // From the strongest to the weakest: so formulas are short.
            all.extend(self.constants.iter().map(|c| Fact::AtMost(*a, *c)));
            all.extend(self.constants.iter().rev().map(|c| Fact::AtLeast(*a, *c)));
            for b in numbers[..i].iter().filter(|b| self.sorts[b.1] == self.sorts[a.1]) {
                let near: &[Value] = if self.sorts[a.1] == Sort::Int { &NEAR } else { &NEAR[..2] };
                all.extend(near.iter().map(|c| Fact::Within(*a, *b, *c)));
                all.extend(near.iter().map(|c| Fact::Within(*b, *a, *c)));
                all.push(Fact::Differ(*a, *b));
            }
        }
        let facts = Rc::new(all);
        self.facts.insert(places, Rc::clone(&facts));
        facts
    }

    /// The truth of the comparisons, in a memory.
    pub fn comparisons(&self, maker: &mut Maker<'_, '_>, memory: &[Term]) -> Vec<Term> {
        self.comparisons.iter().map(|c| maker.holds(c.proc, c.expr, memory)).collect()
    }

    /// Whether two threads are in one of the views.
    pub fn contains(&self, maker: &mut Maker<'_, '_>, one: &Thread, two: &Thread) -> Term {
        let all: Vec<Term> = self.each(maker, self.cells.keys(), one, two);
        maker.ev.terms.any(all)
    }

    /// The same for each of these cells.
    pub fn each<'k>(
        &self,
        maker: &mut Maker<'_, '_>,
        keys: impl Iterator<Item = &'k Key>,
        one: &Thread,
        two: &Thread,
    ) -> Vec<Term> {
        let truths = [one, two].map(|thread| self.comparisons(maker, &thread.memory));
        let (terms, layout) = (&mut maker.ev.terms, maker.layout);
        let of_cell = |key: &Key| {
            let [(at, of_one), (other, of_two)] = &key.two;
            let mut all = vec![is_at(terms, layout, one.at, *at), is_at(terms, layout, two.at, *other)];
            if all.contains(&Terms::FALSE) {
                return Terms::FALSE;
            }
            let parts = [
                (one, &truths[0], &self.shared, &key.shared),
                (one, &truths[0], &self.places[*at], of_one),
                (two, &truths[1], &self.places[*other], of_two),
            ];
            for (thread, comparisons, place, values) in parts {
                let (small, truths) = values.split_at(place.small.len());
                for (leaf, value) in place.small.iter().zip(small) {
                    let constant = terms.constant(*value, self.sorts[*leaf]);
                    all.push(terms.eq(thread.memory[*leaf], constant));
                }
                for (c, holds) in place.comparisons.iter().zip(truths) {
                    all.push(if *holds == 1 { comparisons[*c] } else { terms.not(comparisons[*c]) });
                }
            }
            if all.contains(&Terms::FALSE) {
                return Terms::FALSE;
            }
            self.facts_of(terms, &self.cells[key], one, two, &mut all);
            terms.all(all)
        };
        keys.map(of_cell).collect()
    }

    /// The facts of a cell, but for those that follow from stronger ones.
    fn facts_of(&self, terms: &mut Terms, cell: &Cell, one: &Thread, two: &Thread, into: &mut Vec<Term>) {
        let number = |(thread, leaf): Number| if thread == 0 { one.memory[leaf] } else { two.memory[leaf] };
        let sort = |a: Number| self.sorts[a.1];
        let mut before: Option<Fact> = None;
        for (fact, _) in cell.facts.iter().zip(&cell.holds).filter(|(_, holds)| **holds) {
            let follows = match (before, *fact) {
                (Some(Fact::AtMost(a, _)), Fact::AtMost(b, _)) | (Some(Fact::AtLeast(a, _)), Fact::AtLeast(b, _)) => {
                    a == b
                }
                (Some(Fact::Within(a, b, _)), Fact::Within(c, d, _)) => (a, b) == (c, d),
                _ => false,
            };
            before = Some(*fact);
            if follows {
                continue;
            }
            into.push(match *fact {
                Fact::AtMost(a, c) => {
                    let c = terms.constant(c, sort(a));
                    terms.le(number(a), c)
                }
                Fact::AtLeast(a, c) => {
                    let c = terms.constant(c, sort(a));
                    terms.le(c, number(a))
                }
                Fact::Within(a, b, 0) => terms.le(number(a), number(b)),
                Fact::Within(a, b, -1) => terms.lt(number(a), number(b)),
                Fact::Within(a, b, c) => {
                    let c = terms.constant(c, sort(a));
                    let most = terms.arithmetic(Op::Add, number(b), c);
                    terms.le(number(a), most)
                }
                Fact::Differ(a, b) => {
                    let same = terms.eq(number(a), number(b));
                    terms.not(same)
                }
            });
        }
    }
}

/// Whether a thread is at a place.
pub fn is_at(terms: &mut Terms, layout: &Layout, at: At, place: usize) -> Term {
    match at {
        At::Place(p) => terms.boolean(p == place),
        At::Number(n) => {
            let ordinal = layout.places.binary_search(&place).expect("it is a place");
            let number = terms.constant(ordinal as Value, Sort::Int);
            terms.eq(n, number)
        }
    }
}
