//! Decision diagrams, as far as reachability needs them.

use oxidd::bcdd::{BCDDFunction, BCDDManagerRef, new_manager};
use oxidd::util::{AllocResult, OutOfMemory};
use oxidd::{
    BooleanFunction, BooleanFunctionQuant, BooleanOperator, Function, FunctionSubst, HasLevel, Manager, ManagerRef,
    Node, Subst,
};

/// A set of valuations.
pub type Set = BCDDFunction;

/// What an operation gives, if memory suffices.
pub type Done<T> = AllocResult<T>;

/// There is no memory left for diagrams.
pub type Full = OutOfMemory;

const CACHE: usize = 1 << 20;

/// Bytes that the library reserves at once: for a node, for an entry of its cache, and for the stack of its thread.
const NODE: usize = 24;
const ENTRY: usize = 64;
const STACK: usize = 1 << 30;

/// All diagrams of one analysis. One thread: more are slower.
pub struct Diagrams {
    manager: BCDDManagerRef,
    most: usize,
    /// All valuations.
    pub all: Set,
    /// None.
    pub none: Set,
}

impl Diagrams {
    /// With so many variables, the first on top, and so many nodes at most. `None` if there is no memory for so many: the
    /// library would panic.
    pub fn new(variables: u32, most: usize) -> Option<Diagrams> {
        let room = most.saturating_mul(NODE).saturating_add(CACHE.min(most) * ENTRY);
        Vec::<u8>::new().try_reserve_exact(room.saturating_add(STACK)).ok()?;
        let manager = new_manager(most, CACHE.min(most), 1);
        let (all, none) = manager.with_manager_exclusive(|m| {
            m.add_vars(variables);
            (Set::t(m), Set::f(m))
        });
        Some(Diagrams { manager, most, all, none })
    }

    /// Those in which a variable is true.
    pub fn var(&self, v: u32) -> Done<Set> {
        self.manager.with_manager_shared(|m| Set::var(m, v))
    }

    pub fn constant(&self, value: bool) -> Set {
        if value { self.all.clone() } else { self.none.clone() }
    }

    /// The conjunction of variables, to quantify over them.
    pub fn cube(&self, variables: impl IntoIterator<Item = u32>) -> Done<Set> {
        let mut variables: Vec<u32> = variables.into_iter().collect();
        variables.sort_unstable_by(|a, b| b.cmp(a));
        variables.into_iter().try_fold(self.all.clone(), |cube, v| cube.and(&self.var(v)?))
    }

    /// A renaming: each first variable becomes the second.
    pub fn renaming(&self, pairs: impl IntoIterator<Item = (u32, u32)>) -> Done<Renaming> {
        let (from, to): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
        let to = to.into_iter().map(|v| self.var(v)).collect::<Done<Vec<Set>>>()?;
        Ok(Renaming(Subst::new(from, to)))
    }

    /// Frees what nobody holds any more, if a quarter of all nodes is in use.
    pub fn collect_garbage(&self) {
        if self.nodes() > self.most / 4 {
            self.manager.with_manager_shared(|m| m.gc());
        }
    }

    /// Nodes that are in use.
    pub fn nodes(&self) -> usize {
        self.manager.with_manager_shared(|m| m.num_inner_nodes())
    }
}

/// See [`Diagrams::renaming`].
pub struct Renaming(Subst<Set>);

impl Renaming {
    pub fn of(&self, set: &Set) -> Done<Set> {
        set.substitute(&self.0)
    }
}

/// Those in both, without what the variables of the cube are.
pub fn and_exists(a: &Set, b: &Set, cube: &Set) -> Done<Set> {
    a.apply_exists(BooleanOperator::And, b, cube)
}

/// Those in the first and not in the second.
pub fn without(a: &Set, b: &Set) -> Done<Set> {
    a.and(&b.not()?)
}

/// The valuations in a set, as the values of these variables, of which alone it depends; `None` if there are more than so
/// many.
pub fn members(set: &Set, variables: &[u32], most: usize) -> Option<Vec<Vec<bool>>> {
    let mut order: Vec<usize> = (0..variables.len()).collect();
    order.sort_unstable_by_key(|i| variables[*i]);
    let (mut all, mut open) = (Vec::new(), vec![(set.clone(), 0, vec![false; variables.len()])]);
    while let Some((set, depth, mut values)) = open.pop() {
        if !set.satisfiable() {
            continue;
        }
        let Some(i) = order.get(depth).copied() else {
            debug_assert!(set.valid(), "the set depends on other variables");
            if all.len() == most {
                return None;
            }
            all.push(values);
            continue;
        };
        let (yes, no) = match set.cofactors() {
            Some(both) if top(&set) == Some(variables[i]) => both,
            _ => (set.clone(), set),
        };
        open.push((no, depth + 1, values.clone()));
        values[i] = true;
        open.push((yes, depth + 1, values));
    }
    Some(all)
}

/// The first variable that a set depends on. (The order of variables never changes.)
fn top(set: &Set) -> Option<u32> {
    set.with_manager_shared(|m, edge| match m.get_node(edge) {
        Node::Inner(node) => Some(node.level()),
        Node::Terminal(_) => None,
    })
}
