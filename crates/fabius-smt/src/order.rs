//! A strict order of points in time beside the clauses: edges that hold when a literal does, and no cycle among them.
//!
//! Paper: A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs (JEA 2006), section 3.
//!
//! Deviations:
//! 1. Edges are taken back when the SAT solver backtracks. The positions of the points stay: a topological order of more
//!    edges is one of fewer.
//! 2. An edge that closes a cycle is refused with the literals of the cycle, which are the clause to learn.

use batsat::Lit;
use hashbrown::HashMap;

/// Points and the edges between them.
#[derive(Default)]
pub(crate) struct Order {
    /// Where each point stands: edges lead to greater positions.
    position: Vec<u32>,
    /// Edges out of and into each point, with what they depend on.
    after: Vec<Vec<(u32, Option<Lit>)>>,
    before: Vec<Vec<(u32, Option<Lit>)>>,
    /// The edges that hold when a literal does.
    conditional: HashMap<Lit, Vec<(u32, u32)>>,
    /// Edges in the order in which they were added; those of no level are never taken back.
    added: Vec<(u32, u32)>,
    /// For each level of the solver: how many edges there were.
    levels: Vec<usize>,
    /// Marks of the current search, and how each point was reached.
    reached: HashMap<u32, Option<(u32, Option<Lit>)>>,
}

impl Order {
    /// A new point.
    pub fn point(&mut self) -> u32 {
        let point = self.position.len() as u32;
        self.position.push(point);
        self.after.push(Vec::new());
        self.before.push(Vec::new());
        point
    }

    /// When the literal holds, one point is before the other.
    pub fn edge_if(&mut self, condition: Lit, from: u32, to: u32) {
        debug_assert!(self.levels.is_empty(), "edges come between the questions");
        self.conditional.entry(condition).or_default().push((from, to));
    }

    /// Whether nothing is before anything, whatever holds.
    pub fn is_empty(&self) -> bool {
        self.conditional.is_empty()
    }

    /// The same points and conditions, of which none is known to hold.
    #[cfg(feature = "cadical")]
    pub fn anew(&self) -> Order {
        let mut order = Order { conditional: self.conditional.clone(), ..Order::default() };
        self.position.iter().for_each(|_| _ = order.point());
        order
    }

    /// The literals that edges depend on.
    #[cfg(feature = "cadical")]
    pub fn conditions(&self) -> impl Iterator<Item = Lit> {
        self.conditional.keys().copied()
    }

    /// A literal holds: adds its edges, or gives the literals of the cycle that one of them closes. Once more does no harm.
    pub fn hold(&mut self, literal: Lit) -> Result<(), Vec<Lit>> {
        for i in 0..self.conditional.get(&literal).map_or(0, Vec::len) {
            let (from, to) = self.conditional[&literal][i];
            self.add(from, to, Some(literal))?;
        }
        Ok(())
    }

    /// The solver decides: edges from here on are taken back with the level.
    pub fn begin_level(&mut self) {
        self.levels.push(self.added.len());
    }

    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// The solver goes back to so many levels.
    pub fn back_to(&mut self, level: usize) {
        let Some(edges) = self.levels.get(level).copied() else { return };
        self.levels.truncate(level);
        for (from, to) in self.added.drain(edges..).rev() {
            self.after[from as usize].pop();
            self.before[to as usize].pop();
        }
    }

    /// Adds an edge, or gives the literals of the cycle that it closes.
    fn add(&mut self, from: u32, to: u32, because: Option<Lit>) -> Result<(), Vec<Lit>> {
        if from == to {
            return Err(because.into_iter().collect());
        }
        let (low, high) = (self.position[to as usize], self.position[from as usize]);
        if low < high {
            let ahead = self.reach(to, |point, position| position[point as usize] <= high, Direction::After);
            if self.reached.contains_key(&from) {
                return Err(self.way_back(from, because));
            }
            let behind = self.reach(from, |point, position| position[point as usize] >= low, Direction::Before);
            self.reorder(behind, ahead);
        }
        self.after[from as usize].push((to, because));
        self.before[to as usize].push((from, because));
        self.added.push((from, to));
        Ok(())
    }

    /// The points that are reached from one without leaving a range of positions.
    fn reach(&mut self, start: u32, inside: impl Fn(u32, &[u32]) -> bool, direction: Direction) -> Vec<u32> {
        self.reached.clear();
        self.reached.insert(start, None);
        let mut found = vec![start];
        let mut next = 0;
        let edges = if direction == Direction::After { &self.after } else { &self.before };
        while let Some(point) = found.get(next).copied() {
            next += 1;
            for (other, because) in &edges[point as usize] {
                if inside(*other, &self.position) && !self.reached.contains_key(other) {
                    self.reached.insert(*other, Some((point, *because)));
                    found.push(*other);
                }
            }
        }
        found
    }

    /// The literals on the way that the last search found.
    fn way_back(&self, mut point: u32, because: Option<Lit>) -> Vec<Lit> {
        let mut all: Vec<Lit> = because.into_iter().collect();
        while let Some(Some((before, because))) = self.reached.get(&point) {
            all.extend(because);
            point = *before;
        }
        all
    }

    /// Puts the points behind the new edge before those ahead of it, on the positions that they have together.
    fn reorder(&mut self, mut behind: Vec<u32>, mut ahead: Vec<u32>) {
        let position = &mut self.position;
        behind.sort_unstable_by_key(|p| position[*p as usize]);
        ahead.sort_unstable_by_key(|p| position[*p as usize]);
        behind.append(&mut ahead);
        let mut free: Vec<u32> = behind.iter().map(|p| position[*p as usize]).collect();
        free.sort_unstable();
        for (point, place) in behind.iter().zip(free) {
            position[*point as usize] = place;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    After,
    Before,
}
