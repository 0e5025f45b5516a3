//! The instruction set. Every variable is a sequence of words (`i64`); records and arrays are flattened. An operand is
//! a word in one of five areas; an address is a word plus an offset computed at run time.

use fabius_lang::program::Check;
use fabius_trace::Span;

/// Where an operand lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Area {
    /// Local variables of the running procedure.
    Local,
    /// Shared globals.
    Global,
    /// The constant pool.
    Const,
    /// Temporaries, which live no longer than one statement.
    Temp,
    /// Per-thread globals of the running task's buffer.
    Own,
}

/// An operand: area and index of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arg(u32);

/// Bits of an [`Arg`] that hold the index.
pub(crate) const INDEX_BITS: u32 = 29;

impl Arg {
    pub(crate) fn new(area: Area, index: u32) -> Arg {
        debug_assert!(index < 1 << INDEX_BITS);
        Arg((area as u32) << INDEX_BITS | index)
    }

    #[inline(always)]
    pub(crate) fn area(self) -> Area {
        match self.0 >> INDEX_BITS {
            0 => Area::Local,
            1 => Area::Global,
            2 => Area::Const,
            3 => Area::Temp,
            _ => Area::Own,
        }
    }

    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        (self.0 & ((1 << INDEX_BITS) - 1)) as usize
    }

    /// The word `by` words further on.
    #[inline(always)]
    pub(crate) fn plus(self, by: u32) -> Arg {
        Arg(self.0 + by)
    }
}

/// A comparison of two words; `U` compares the bit patterns of `u64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    ULt,
    ULe,
    UGt,
    UGe,
}

impl Cmp {
    #[inline(always)]
    pub(crate) fn holds(self, a: i64, b: i64) -> bool {
        match self {
            Cmp::Eq => a == b,
            Cmp::Ne => a != b,
            Cmp::Lt => a < b,
            Cmp::Le => a <= b,
            Cmp::Gt => a > b,
            Cmp::Ge => a >= b,
            Cmp::ULt => (a as u64) < b as u64,
            Cmp::ULe => a as u64 <= b as u64,
            Cmp::UGt => a as u64 > b as u64,
            Cmp::UGe => a as u64 >= b as u64,
        }
    }

    /// The comparison that holds exactly if this one does not.
    pub(crate) fn negated(self) -> Cmp {
        match self {
            Cmp::Eq => Cmp::Ne,
            Cmp::Ne => Cmp::Eq,
            Cmp::Lt => Cmp::Ge,
            Cmp::Le => Cmp::Gt,
            Cmp::Gt => Cmp::Le,
            Cmp::Ge => Cmp::Lt,
            Cmp::ULt => Cmp::UGe,
            Cmp::ULe => Cmp::UGt,
            Cmp::UGt => Cmp::ULe,
            Cmp::UGe => Cmp::ULt,
        }
    }
}

/// An operation that is not frequent enough for an instruction of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    MulInt,
    DivInt,
    RemInt,
    AddWrap,
    SubWrap,
    MulWrap,
    DivWrap,
    RemWrap,
    DivU64,
    RemU64,
    And,
    Or,
    Xor,
    /// The right side is the amount, already reduced modulo the width.
    Shl,
    Shr,
    ShrU64,
    /// Whether the set of threads `a` contains the thread `b`.
    SetHas,
    /// The set `a` with the thread `b`.
    SetWith,
    /// The set `a` without the thread `b`.
    SetWithout,
}

/// What brings the result of an operation back into a fixed width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fix {
    /// 64 bits, or not a fixed width.
    No,
    Signed(u8),
    Unsigned(u8),
    /// From `u64` to `int`: values above `i64::MAX` are a limit.
    Exact,
}

/// One instruction. `dst`, `a`, `b`, `src` are words; `to` is a program counter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instr {
    /// A scheduling point. A task that stops here resumes behind it.
    Point,
    /// In front of a statement that others may observe, but that is no scheduling point in this mode. Ends only the
    /// local prefix of a new thread.
    Mark,
    Move {
        dst: Arg,
        a: Arg,
    },
    /// Exact.
    Add {
        dst: Arg,
        a: Arg,
        b: Arg,
    },
    /// Exact.
    Sub {
        dst: Arg,
        a: Arg,
        b: Arg,
    },
    Arith {
        op: Op,
        fix: Fix,
        dst: Arg,
        a: Arg,
        b: Arg,
    },
    /// `dst = a cmp b`.
    Compare {
        cmp: Cmp,
        dst: Arg,
        a: Arg,
        b: Arg,
    },
    /// Brings a word into a fixed width.
    Convert {
        fix: Fix,
        dst: Arg,
        a: Arg,
    },
    /// The range check of a store: entry of [`Code::ranges`].
    Check {
        a: Arg,
        range: u32,
    },
    /// `dst = prev + offset of the element`: entry of [`Code::shapes`].
    Index {
        dst: Arg,
        prev: Arg,
        index: Arg,
        shape: u32,
    },
    /// `dst = base[off]`.
    Load {
        dst: Arg,
        base: Arg,
        off: Arg,
    },
    /// `base[off] = src`.
    Store {
        base: Arg,
        off: Arg,
        src: Arg,
    },
    /// One index only: `dst = base[index]`.
    LoadElement {
        dst: Arg,
        base: Arg,
        index: Arg,
        shape: u32,
    },
    StoreElement {
        base: Arg,
        index: Arg,
        src: Arg,
        shape: u32,
    },
    LoadHeap {
        dst: Arg,
        obj: Arg,
        off: Arg,
    },
    StoreHeap {
        obj: Arg,
        off: Arg,
        src: Arg,
    },
    /// Copies several words: entry of [`Code::copies`].
    Copy {
        copy: u32,
    },
    /// `dst` = whether `n` words are equal.
    EqWords {
        dst: Arg,
        a: Arg,
        b: Arg,
        n: u32,
    },
    /// Faults if the reference `a` is null.
    NotNull {
        a: Arg,
    },
    /// In front of a statement that chooses: outcomes of earlier choices that come here alike go on as one.
    Meet,
    Jump {
        to: u32,
    },
    /// A jump back, with the statements that the iteration had at most.
    Loop {
        to: u32,
        fuel: u32,
    },
    /// Jumps unless `a cmp b`.
    Unless {
        cmp: Cmp,
        a: Arg,
        b: Arg,
        to: u32,
    },
    /// Jumps if the choice is alternative 1.
    Star {
        to: u32,
    },
    /// `dst = any a..b`.
    Choose {
        dst: Arg,
        a: Arg,
        b: Arg,
    },
    /// `dst` = the set `a` without one of its members.
    Pick {
        dst: Arg,
        a: Arg,
    },
    /// A fresh object with the words from `fields` on.
    New {
        dst: Arg,
        record: u32,
        fields: Arg,
    },
    /// Entry of [`Code::sites`].
    Call {
        site: u32,
    },
    /// `values` begin the results, in temporaries; the caller's code moves them on.
    Return {
        values: Arg,
        words: u32,
    },
    /// `spawn` or `post`: entry of [`Code::forks`].
    Fork {
        fork: u32,
    },
    Yield,
    Zield,
    /// `await` or `join`: entry of [`Code::guards`].
    Await {
        guard: u32,
    },
    Assume {
        cmp: Cmp,
        a: Arg,
        b: Arg,
    },
    Assert {
        cmp: Cmp,
        a: Arg,
        b: Arg,
        check: Check,
    },
    Progress,
    /// A task of a higher level that was just posted, or was posted inside the atomic block that ends, interrupts here.
    Interruptible,
    /// End of the code of a guard; `a` is its value.
    Value {
        a: Arg,
    },
    /// Reports reads that have no other effect (`print`).
    Touch {
        a: Arg,
    },
    SelfHandle {
        dst: Arg,
    },
}

/// Where the words of an aggregate are, or one that takes an address computed at run time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loc {
    Fixed(Arg),
    At { base: Arg, off: Arg },
    Element { base: Arg, index: Arg, shape: u32 },
    Heap { obj: Arg, off: Arg },
}

/// Copies `n` words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) dst: Loc,
    pub(crate) src: Loc,
    pub(crate) n: u32,
}

/// What a greater index than there are is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Beyond {
    /// A bug.
    Outside,
    /// One of more threads than a map has entries for.
    Limit,
}

/// The valid indexes of an array, and how many words an element has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    pub(crate) beyond: Beyond,
    pub(crate) lo: i64,
    pub(crate) len: u32,
    pub(crate) stride: u32,
}

/// A call.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) callee: usize,
    /// Whether the callee's code is that for atomic blocks, without scheduling points.
    pub(crate) in_atomic: bool,
    /// Source and number of words of each argument.
    pub(crate) args: Vec<(Arg, u32)>,
    /// Where the caller goes on.
    pub(crate) back: u32,
    pub(crate) caller: usize,
    /// Locals of the caller that are dead while the call is under way: entry of [`Code::dead`].
    pub(crate) dead: u32,
}

/// `spawn` or `post`.
#[derive(Clone, Debug)]
pub(crate) struct Fork {
    pub(crate) thread: bool,
    /// Level of the posted task, if it is not the poster's.
    pub(crate) level: Option<u8>,
    pub(crate) callee: usize,
    pub(crate) args: Vec<(Arg, u32)>,
    pub(crate) handle: Option<Arg>,
    pub(crate) anonymous: bool,
}

/// Which wait a guard belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stands {
    /// One that the task stands in front of.
    InFront,
    /// One inside of an atomic block whose beginning has found that some way through it is open: this way is not.
    Midway,
    /// The beginning of such a block: it has no code.
    AnyWay,
}

/// The guard of an `await` or the operand of a `join`, as code of its own that ends in [`Instr::Value`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub(crate) entry: u32,
    pub(crate) join: bool,
    /// Of those that are joined in a row: entry of [`Compiled::groups`](crate::compile::Compiled::groups).
    pub(crate) group: Option<u32>,
    pub(crate) stands: Stands,
    /// Whether the wait may last for ever.
    pub(crate) rests: bool,
    /// The whole guard if it is one comparison of variables.
    pub(crate) quick: Option<(Cmp, Arg, Arg)>,
}

/// Where the parts of an instruction come from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Info {
    /// What a fault of the instruction points at.
    pub(crate) at: Span,
    pub(crate) a: Span,
    pub(crate) b: Span,
    /// The place written or the element read.
    pub(crate) place: Span,
    /// Whether what it reads is told to nobody: it belongs to an invariant.
    pub(crate) hidden: bool,
}

/// A compiled program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub(crate) instrs: Vec<Instr>,
    pub(crate) infos: Vec<Info>,
    pub(crate) consts: Vec<i64>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) ranges: Vec<(i64, i64)>,
    pub(crate) copies: Vec<Copy>,
    pub(crate) sites: Vec<Site>,
    pub(crate) forks: Vec<Fork>,
    pub(crate) guards: Vec<Guard>,
    /// For each program counter, where a task that rests there really stands: behind jumps, marks and points.
    pub(crate) settled: Vec<u32>,
    /// The same for a task that stands behind a point already.
    pub(crate) behind: Vec<u32>,
    /// For each program counter, whose code it is.
    pub(crate) proc_of: Vec<u32>,
    /// For each program counter, which statement it is a part of; temporaries live no longer.
    pub(crate) statement_of: Vec<u32>,
    /// How many temporaries there are.
    pub(crate) temps: u32,
    /// Sets of dead locals, as words of the frame from and to. The first is empty.
    pub(crate) dead: Vec<Vec<(u32, u32)>>,
    /// For each program counter, the locals that are dead for a task that stands there: entry of [`Code::dead`].
    pub(crate) dead_at: Vec<u32>,
}
