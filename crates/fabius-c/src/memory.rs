//! Objects, their parts as core variables, and their addresses.
//!
//! Every scalar part of a variable is a core variable of its own (`queue.head`), an array of them where there is an array on
//! the way. An address is a number: each object whose address is taken has a place in one address space, with gaps between.

use crate::types::{CType, Leaf, Types};
use fabius_lang::program::{Expr, GlobalId, LocalId};
use std::collections::{BTreeMap, BTreeSet};

/// Index of an object.
pub type ObjectId = usize;

/// A variable, or a pool of heap objects of one type.
#[derive(Clone, Debug)]
pub struct Object {
    /// Unique and the same in each pass.
    pub key: String,
    pub name: String,
    pub ty: CType,
    /// The first global or local of each leaf.
    pub parts: Parts,
    pub leaves: Vec<Leaf>,
    /// Which leaves may hold what nothing was written to.
    pub open: Vec<bool>,
    /// Address of the first byte; 0 for locals of the core.
    pub base: i64,
    /// For a pool: how many there are, and how far apart.
    pub pool: Option<Pool>,
}

/// Where the parts of an object are.
#[derive(Clone, Debug)]
pub enum Parts {
    Globals(Vec<GlobalId>),
    Locals(Vec<LocalId>),
}

/// Many objects of one type.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    /// How many.
    pub slots: u32,
    /// Bytes from one to the next.
    pub stride: i64,
    /// For the heap: how many elements each slot has.
    pub elements: Option<u32>,
    /// For the heap: how many elements are allocated in each slot; 0 if none.
    pub allocated: Option<GlobalId>,
    /// For the heap: whether each slot is from `alloca`, and is not to be freed.
    pub in_frame: Option<GlobalId>,
    /// For the heap: how many elements the flexible array of each slot has.
    pub lengths: Option<GlobalId>,
}

/// A step of a path into an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Field(usize),
    Index(Expr),
    /// The run of bit-fields that this field leads.
    Run(usize),
    /// A cell of a union.
    Cell(u32),
    /// A byte of an integer.
    Byte(u8),
}

/// A place in a known object.
#[derive(Clone, Debug)]
pub(crate) struct Direct {
    pub object: ObjectId,
    /// In a pool: which, and which element of it.
    pub slot: Option<Expr>,
    pub element: Option<Expr>,
    pub parts: Vec<Part>,
}

/// A step of a path that is known from the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    Field(usize),
    /// Any element.
    Element,
}

/// The way of a path.
pub(crate) fn ways(parts: &[Part]) -> Vec<Way> {
    parts.iter().map(|p| if let Part::Field(i) = p { Way::Field(*i) } else { Way::Element }).collect()
}

/// What a pass over the program has found out for the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Of which objects the address of which part is taken.
    pub escaped: BTreeSet<(String, Vec<Way>)>,
    /// Of what a pointer points to, which parts have their address taken.
    pub derived: BTreeSet<(CType, Vec<Way>)>,
    /// What is allocated: type of the elements, and the most elements.
    pub heap: BTreeMap<CType, Heap>,
    /// Whether anything is freed.
    pub frees: bool,
    /// Functions whose address is taken.
    pub functions: BTreeSet<String>,
    /// Variables that are accessed by atomic functions, as object and fields.
    pub sync: BTreeSet<(String, Vec<usize>)>,
    /// Whether the result of a thread is asked for.
    pub results: bool,
    /// Whether threads need numbers.
    pub numbers: bool,
    /// Functions that threads run.
    pub roots: BTreeSet<String>,
    /// Those that any number of threads run, which have no numbers.
    pub any_number: BTreeSet<String>,
    /// Those of tasks that are posted: several of one thread may be under way.
    pub posted: BTreeSet<String>,
    /// How many threads there may be, as far as seen from the text.
    pub threads: u32,
    /// Labels that are jumped to from outside of their blocks, with their functions.
    pub entered: BTreeSet<(String, String)>,
    /// Whether thread-specific values have destructors.
    pub destructors: bool,
    /// Whether threads are cancelled.
    pub cancels: bool,
    /// Whether a mutex may be recursive, so that it counts how often it is held.
    pub recursive: bool,
    /// Whether functions are registered for the end of the process.
    pub handlers: bool,
    /// Whether the program knows offsets of fields, so that it may come from a field to its struct.
    pub offsets: bool,
    /// Whether there is memory that nothing is written to at first.
    pub unset: bool,
    /// Whether pointers are among it.
    pub unset_pointers: bool,
    /// What such values are copied to, as object and fields.
    pub open: BTreeSet<(String, Vec<usize>)>,
    /// Parts of locals that are written before they are read on every way.
    pub written: BTreeSet<(String, Vec<usize>)>,
    /// Types whose bytes may be looked at, as `void *` or as pointers to characters.
    pub viewed: BTreeSet<CType>,
    /// Whether bytes are looked at where there may be something else.
    pub bytes: bool,
    /// Whether the environment is looked at.
    pub environment: bool,
    /// Whether functions look at arguments that have no parameters.
    pub varargs: bool,
    /// Functions whose value a caller looks at.
    pub looked_at: BTreeSet<String>,
    /// Local arrays of which some lengths are known only when the program runs: which, from the outermost.
    pub lengths: BTreeMap<String, Vec<bool>>,
    /// What functions that return `void *` are given the sizes of, and whether of several.
    pub asked: BTreeMap<String, BTreeSet<(CType, bool)>>,
    /// Whether something is allocated without a word of its type.
    pub untyped: bool,
    /// Variables that are `const`.
    pub constants: BTreeSet<String>,
}

impl Facts {
    /// Knows what another one knows, too.
    pub fn absorb(&mut self, other: Facts) {
        self.escaped.extend(other.escaped);
        self.derived.extend(other.derived);
        for (ty, heap) in other.heap {
            let known = self.heap.entry(ty).or_insert(Heap { elements: 0, single: true, in_frame: false });
            known.elements = known.elements.max(heap.elements);
            known.single &= heap.single;
            known.in_frame |= heap.in_frame;
        }
        self.frees |= other.frees;
        self.functions.extend(other.functions);
        self.sync.extend(other.sync);
        self.results |= other.results;
        self.numbers |= other.numbers;
        self.roots.extend(other.roots);
        self.any_number.extend(other.any_number);
        self.posted.extend(other.posted);
        self.threads += other.threads;
        self.entered.extend(other.entered);
        self.destructors |= other.destructors;
        self.cancels |= other.cancels;
        self.recursive |= other.recursive;
        self.handlers |= other.handlers;
        self.offsets |= other.offsets;
        self.unset |= other.unset;
        self.unset_pointers |= other.unset_pointers;
        self.open.extend(other.open);
        self.written.extend(other.written);
        self.varargs |= other.varargs;
        self.environment |= other.environment;
        self.viewed.extend(other.viewed);
        self.bytes |= other.bytes;
        self.looked_at.extend(other.looked_at);
        self.lengths.extend(other.lengths);
        for (function, asked) in other.asked {
            self.asked.entry(function).or_default().extend(asked);
        }
        self.untyped |= other.untyped;
        self.constants.extend(other.constants);
    }
}

/// What is known of allocations of one type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    pub elements: u32,
    /// Whether only single elements are allocated.
    pub single: bool,
    /// Whether some are from `alloca`.
    pub in_frame: bool,
}

/// The first address that data has. Below lie null and the functions.
pub const FIRST: i64 = 0x10000;
/// Bytes that nobody has, between objects.
pub const GAP: i64 = 64;
/// The address of what the environment holds, of which nothing is known.
pub const ENVIRONMENT: i64 = 0xf000;
/// The address of the first function.
pub const FUNCTIONS: i64 = 0x1000;

impl Object {
    /// Bytes of one object of a pool, or of the object.
    pub fn size(&self, types: &Types) -> i64 {
        let one = types.room(&self.ty).unwrap_or(1).max(1);
        one * i64::from(self.pool.and_then(|p| p.elements).unwrap_or(1))
    }

    /// The leaf with these fields on the way.
    pub fn leaf(&self, fields: &[usize]) -> Option<usize> {
        self.leaves.iter().position(|l| l.fields == fields)
    }
}
