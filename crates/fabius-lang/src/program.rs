//! The core program: what the front end makes of a source text, and all that the engines know of the language.
//!
//! A `Program` is resolved, typed and free of sugar. Its one non-obvious property is the *granularity rule*: outside
//! `atomic`, every statement makes **at most one access to shared state** (the front end introduces temporaries), and
//! [`Stmt::access`] says which kind. A thread may be preempted before every statement whose `access` is not
//! [`Access::Local`], and nowhere else. `assume`, `await`, `assert` and `print` evaluate their expressions in one step.
//!
//! Scalars are coded as integers in [`Value::Int`]: `bool` 0/1, an enum by the position of its name, a reference by
//! its object (0 is `null`), a thread handle by its thread (0 is `null`). Records and arrays are [`Value::Tuple`]s.
//!
//! Length: all that engines know of the language.

pub use fabius_trace::{ConditionId, FairThreads, Fairness, Formula};
use fabius_trace::{MemoryOrder, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Index of a record in [`Program::records`].
pub type RecordId = usize;
/// Index of an enum in [`Program::enums`].
pub type EnumId = usize;
/// Index of a global in [`Program::globals`].
pub type GlobalId = usize;
/// Index of a local (parameters first) in [`Proc::locals`].
pub type LocalId = usize;
/// Index of a procedure in [`Program::procs`].
pub type ProcId = usize;
/// Priority level, 0 the lowest.
pub type Level = u8;

/// The longest circle of a thread's own steps in which it gives way ([`Program::circles_give_way`]).
pub const CIRCLE: usize = 8;

/// A resolved, typed program without sugar.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The source text that all spans point into.
    pub source: Arc<str>,
    /// Record types.
    pub records: Vec<Record>,
    /// Enum types.
    pub enums: Vec<Enum>,
    /// Names of the priority levels, lowest first. At least one.
    pub levels: Vec<String>,
    /// Whether accesses to shared state are scheduling points by themselves.
    pub interleave: Interleave,
    /// Global variables, shared ones and per-thread ones.
    pub globals: Vec<Global>,
    /// Procedures, including the bodies of `init`, buffers and processes.
    pub procs: Vec<Proc>,
    /// Body of `init`, if there is one. It runs first, as thread 0; buffers and processes start when it has finished.
    /// Without it they start at once.
    pub init: Option<ProcId>,
    /// Static task buffers (each a lane whose first task is `proc` at level 0).
    pub buffers: Vec<Entry>,
    /// Static threads.
    pub processes: Vec<Process>,
    /// Conditions on states that properties are about: over shared variables, without locals.
    pub conditions: Vec<Expr>,
    /// What every fair execution must satisfy.
    pub properties: Vec<Property>,
    /// The places of waits that may last for ever: whoever is left there is no deadlock. No other wait has one of these places.
    pub rests: Vec<Span>,
    /// A Boolean variable that is true in the steps that can be made only because nobody could go on otherwise, and false
    /// in all configurations between steps: Promela's `timeout`.
    pub idle: Option<GlobalId>,
    /// Choices at places, between two numbers, of which a search need not try all values, and those that it tries: none of the
    /// front end's.
    pub tried: BTreeMap<(Span, i64, i64), Vec<i64>>,
    /// Whether a thread that comes back to where it was by at most [`CIRCLE`] steps of its own, without a choice and without giving
    /// way, gives way wherever it is on that circle: as in real programs, a loop that only waits costs no preemption to leave.
    pub circles_give_way: bool,
    /// Whether it says something, too, that no execution completes: what is asked is then true.
    pub may_be_vacuous: bool,
    /// Whether loops whose guards are no constants are taken to end, as C does.
    pub loops_end: bool,
    /// What the atomic operations at these places order, for who looks for data races: less than accesses to synchronization
    /// variables do. None of the front end's.
    pub orders: Arc<BTreeMap<Span, MemoryOrder>>,
    /// What variables of 64 bits hold, for who shows values. None of the front end's.
    pub shown: Arc<BTreeMap<Variable, Shown>>,
}

/// A variable of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variable {
    /// A global one.
    Global(GlobalId),
    /// A local one of a procedure.
    Local(ProcId, LocalId),
}

/// What the 64 bits of a variable stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A floating-point number, of whose digits as many mean something as 32 bits have.
    Single,
    /// One of 64 bits.
    Double,
    /// An integer of 64 bits, all of them the program's: it has a value or none.
    Integer,
}

/// `property name: formula;`
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Name.
    pub name: String,
    /// What is asked; conditions are indexes in [`Program::conditions`].
    pub formula: Formula,
    /// Of which executions. Threads begin as procedures.
    pub fairness: FairThreads,
    /// Where its name stands.
    pub span: Span,
}

/// Whether accesses to shared state are scheduling points by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interleave {
    /// A scheduling point before every access to shared state outside `atomic`.
    Implicit,
    /// `interleave explicit;`: only at `zield`, `yield`, `await`, `join`.
    Explicit,
}

/// The name of the record whose one field counts events: only the order of its values matters, so a symbolic engine need not
/// solve for them. No record of a source text has this name.
pub const CLOCK: &str = "$clock";

/// The name of a Boolean variable that is never true, in a program whose process may end while threads run (C): an execution that
/// `assume` of it drops has not been dropped, but come to its end. No variable of a source text has this name.
pub const ENDS: &str = "$ends";

/// What memory holds that nothing was written to, in a program that knows such memory (C), where that is a number of 64 bits.
pub const UNSET: i64 = 0x6E6F_7468_696E_6700;

/// The same in a copy of such memory: if the original gets a value, it is the same.
pub const UNSET_COPY: i64 = UNSET + 1;

/// The same of an integer of at most 32 bits of which some bytes were written: its bits are the lowest 32, the four above them
/// say which bytes were not.
pub const UNSET_BYTES: std::ops::Range<i64> = 0x6E70_0000_0000_0000..0x6E70_0010_0000_0000;

/// A record type.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Name.
    pub name: String,
    /// Fields in order.
    pub fields: Vec<Field>,
    /// What its values stand for.
    pub kind: RecordKind,
}

/// What a record stands for. What engines do with it does not depend on that; people are shown what it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordKind {
    /// Its fields.
    #[default]
    Plain,
    /// A set: whether each value is in it, and how many are.
    Set,
    /// A bag: how often each value is in it, and how many are.
    Bag,
    /// A sequence: its elements, with defaults behind them, and how many there are.
    Sequence,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: Type,
    /// Value in a fresh variable or object.
    pub init: Value,
    /// Synchronization or data, when the record lives on the heap.
    pub class: Class,
}

/// An enum type.
#[derive(Clone, Debug, PartialEq)]
pub struct Enum {
    /// Name.
    pub name: String,
    /// Its values.
    pub names: Vec<String>,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `bool`.
    Bool,
    /// Mathematical integers. Explicit engines hold them in 64 bits and say so when that is not enough.
    Int,
    /// `lo..hi`, both inclusive. A store outside is a fault.
    Range(i64, i64),
    /// `i8` to `u64`: wraps as in C.
    Fixed {
        /// Width: 8, 16, 32 or 64.
        bits: u8,
        /// Two's complement or unsigned. `u64` values are coded by their two's complement bit pattern.
        signed: bool,
    },
    /// An enum.
    Enum(EnumId),
    /// A record by value.
    Record(RecordId),
    /// `[T; n]` or `map[K] T`. Valid indexes are `lo .. lo + len - 1` in the coding of the index type.
    Array {
        /// Type of the index: `Int` for `[T; n]`, otherwise the finite key type of a map. `Thread` for a map of all threads: only
        /// shared globals are such maps, as a whole, and their entries begin as the default. An entry with another value keeps
        /// its thread's number in use, as a handle does; that there are more than `len` threads is a limit where one is asked for.
        index: Box<Type>,
        /// Least index.
        lo: i64,
        /// Number of elements.
        len: u32,
        /// Type of the elements.
        element: Box<Type>,
    },
    /// Reference to a heap record, or null.
    Ref(RecordId),
    /// Handle of a thread or task, or null. Obtained from `spawn`, `post` and `self`.
    Thread,
    /// A set of threads (the waiters of a condition variable).
    ThreadSet,
}

/// A constant value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// A scalar, coded as said at the top of this module. A [`Type::ThreadSet`] is a bit mask by thread number.
    Int(i64),
    /// A record (fields in order) or an array (elements in order).
    Tuple(Vec<Value>),
}

/// Synchronization or data (iterative context bounding, PLDI 2007, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Ordinary data: unordered accesses are data races.
    Data,
    /// Accesses synchronize.
    Sync,
}

/// A global variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Global {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: Type,
    /// Initial value.
    pub init: Value,
    /// Synchronization or data; declared, or inferred.
    pub class: Class,
    /// True for `thread var`: every thread has its own copy, and accesses to it are local. Tasks share the copy of
    /// the buffer they run on. (The "process-global variables" of linear interfaces.)
    pub per_thread: bool,
    /// Where it is declared.
    pub span: Span,
}

/// A procedure.
#[derive(Clone, Debug, PartialEq)]
pub struct Proc {
    /// Name.
    pub name: String,
    /// Parameters first, then all other local variables and temporaries.
    pub locals: Vec<Local>,
    /// How many of `locals` are parameters.
    pub params: usize,
    /// Types of the results.
    pub results: Vec<Type>,
    /// Body. Reaching its end returns the default value of each result type.
    pub body: Block,
    /// Where its name stands.
    pub span: Span,
}

/// A local variable. Locals start with [`Type::default_value`].
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// Name; temporaries of the front end begin with `$`.
    pub name: String,
    /// Type.
    pub ty: Type,
}

/// In which order the pending tasks of a level of a buffer run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BufferKind {
    /// In any.
    #[default]
    Bag,
    /// In that in which they were posted, or have yielded.
    Fifo,
}

/// A named entry procedure without parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Name of the buffer.
    pub name: String,
    /// What holds its pending tasks.
    pub kind: BufferKind,
    /// Its body.
    pub proc: ProcId,
}

/// `process p[3]` or `process p[*]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Name.
    pub name: String,
    /// Its body, without parameters.
    pub proc: ProcId,
    /// How many copies; `None` for `[*]`.
    pub count: Option<u32>,
    /// Of `[i: *]`: the local that is a thread's number, which no statement changes. [`numbered`](crate::numbered) puts the number in its place.
    pub number: Option<LocalId>,
}

impl Type {
    /// The type of an entry, if this is a map of all threads, and of how many.
    pub fn of_threads(&self) -> Option<(&Type, u32)> {
        match self {
            Type::Array { index, len, element, .. } if **index == Type::Thread => Some((element, *len)),
            _ => None,
        }
    }
}

impl Program {
    /// How a process of any number is written.
    pub fn head_of_any(&self, process: &Process) -> String {
        match process.number {
            Some(number) => format!("process {}[{}: *]", process.name, self.procs[process.proc].locals[number].name),
            None => format!("process {}[*]", process.name),
        }
    }
}

/// Statements in order.
pub type Block = Vec<Stmt>;

/// What a statement touches. Ordered: `Local < Data < Sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Only locals and per-thread variables: never a scheduling point.
    Local,
    /// A shared data variable or heap field.
    Data,
    /// A synchronization variable, or an operation that synchronizes by itself.
    Sync,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// What its own step touches (for `if` and `while`: its guard; for `atomic`: the most that anything inside touches,
    /// procedures that it calls included; for a call: its arguments; for `spawn`, `post`: `Sync`; `join`, `await`: `Sync`).
    /// Statements inside `atomic` carry theirs too, but are not scheduling points. `Sync` too: data that an `await` or
    /// `join` reads, data whose step may end with a dropped execution, and stores to data that an invariant reads.
    pub access: Access,
    /// Where it stands in the source. Statements made by the front end carry the span of what they came from.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// Nothing.
    Skip,
    /// `place = value;`
    Assign(Place, Expr),
    /// `place = any lo..hi;`: any value of a finite scalar type between two bounds (both evaluated first; no value at
    /// all if `lo > hi`: the execution is dropped). `any T` and `*` are written with constant bounds.
    Any(Place, Expr, Expr),
    /// `place = new R { .. };` with one value for every field.
    New(Place, RecordId, Vec<Expr>),
    /// `if`.
    If(Guard, Block, Block),
    /// `while`.
    While(Guard, Block),
    /// Leaves the innermost `while`.
    Break,
    /// Next iteration of the innermost `while`.
    Continue,
    /// A synchronous call. Results are stored left to right when the callee returns; `None` drops one.
    /// Results go to locals only (the front end adds the store to a shared place as its own statement).
    Call(Vec<Option<LocalId>>, ProcId, Vec<Expr>),
    /// Returns.
    Return(Vec<Expr>),
    /// Starts a thread; its handle goes to the local.
    Spawn(Option<LocalId>, ProcId, Vec<Expr>),
    /// Posts a task to this buffer; `None` is the level of the poster. Its handle goes to the local.
    Post(Option<LocalId>, Option<Level>, ProcId, Vec<Expr>),
    /// Waits until the thread or task has finished. `join null` is a null dereference.
    Join(Expr),
    /// Hands control to a task of the same level of the same buffer (possibly itself).
    Yield,
    /// Hands control to any buffer or thread (possibly itself).
    Zield,
    /// Cannot be left in the middle. It is enabled if some way through it comes to no `await` or `join` that is not open;
    /// only such ways are steps.
    Atomic(Block),
    /// Drops the execution unless the expression holds.
    Assume(Expr),
    /// Disables the task until the expression holds; test and continuation are one step.
    Await(Expr),
    /// A bug unless the expression holds. `SyncMisuse` for the checks of the synchronization library.
    Assert(Expr, Check, Option<String>),
    /// Shows values; no effect on the state.
    Print(Vec<Expr>),
    /// Marks progress, for livelock checking.
    Progress,
    /// `set.insert(self)` and the like on a place of type [`Type::ThreadSet`].
    SetInsert(Place, Expr),
    /// Removes one thread from the set.
    SetRemove(Place, Expr),
    /// Removes a thread of the set, any of them, if it is not empty.
    SetRemoveAny(Place),
    /// Empties the set.
    SetClear(Place),
}

/// Whose failure an `Assert` reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The user's `assert`.
    Assertion,
    /// An `invariant`, behind a statement that writes what it reads and in the same step: whatever it reads, its own
    /// [`Stmt::access`] is `Local`, and its reads are no accesses that could race.
    Invariant,
    /// A precondition of the synchronization library.
    SyncMisuse,
    /// A pointer that is null (C).
    Null,
    /// Beyond the end of an object (C).
    OutOfBounds,
    /// Memory that is freed, or was never there (C).
    Memory,
    /// A result that its signed type cannot hold (C).
    Overflow,
    /// Memory that nobody has freed at the end (C).
    Leak,
    /// Not a bug of the program, but more than is followed: a limit.
    Bound,
}

/// A guard.
#[derive(Clone, Debug, PartialEq)]
pub enum Guard {
    /// `*`: either. Alternative 0 is true, alternative 1 is false.
    Star,
    /// A Boolean expression.
    Expr(Expr),
}

/// A place: a variable or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Where it begins.
    pub base: Base,
    /// How it goes on from there.
    pub path: Vec<Projection>,
    /// Type of the place.
    pub ty: Type,
    /// Source.
    pub span: Span,
}

/// Where a place begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Base {
    /// A global variable.
    Global(GlobalId),
    /// A local variable of the running procedure.
    Local(LocalId),
    /// The heap record that a reference points to.
    Heap(Box<Expr>, RecordId),
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum Projection {
    /// A field of a record.
    Field(usize),
    /// An element of an array with these valid indexes: `lo .. lo + len - 1`.
    Index {
        /// The index.
        index: Box<Expr>,
        /// Least valid index.
        lo: i64,
        /// Number of elements.
        len: u32,
    },
}

/// An expression: no side effects, no nondeterminism, no calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its type. Operations on ranges have type `Int`.
    pub ty: Type,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A constant.
    Const(Value),
    /// The value of a place.
    Read(Place),
    /// An operator with one operand.
    Unary(UnaryOp, Box<Expr>),
    /// An operator with two. `And` and `Or` evaluate the right side only when it decides.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `if c { a } else { b }` as a value; evaluates one side only.
    IfElse(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A record or an array from its parts.
    Tuple(Vec<Expr>),
    /// `e as T` between integer types: truncates for fixed widths, checks for ranges (a `RangeOverflow` fault).
    Cast(Box<Expr>),
    /// Handle of the running thread; inside a task, of the task.
    SelfHandle,
    /// Whether a set of threads contains a thread.
    SetContains(Box<Expr>, Box<Expr>),
    /// Whether a set of threads is empty.
    SetIsEmpty(Box<Expr>),
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `!` on `bool`.
    Not,
    /// `-`.
    Neg,
    /// `~` on fixed-width integers.
    BitNot,
}

/// Operators with two operands.
///
/// On `Int` the exact result is meant; on fixed widths the result wraps. Division and remainder truncate towards zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    /// Bitwise; on fixed widths and on non-negative integers.
    BitAnd,
    BitOr,
    BitXor,
    /// Shifts are on fixed widths only; the amount is taken modulo the width.
    Shl,
    Shr,
    /// Equality, on every type but thread sets; structural on records and arrays.
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
}

impl BinaryOp {
    /// How the operator is written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
        }
    }
}

impl Program {
    /// Whether tasks are posted to buffers, or wait in them: a program without `post`, `yield` and `buffer` is one of
    /// threads only.
    pub fn has_buffers(&self) -> bool {
        !self.buffers.is_empty() || self.any_stmt(|s| matches!(s.kind, StmtKind::Post(..) | StmtKind::Yield))
    }

    /// Whether there is never more than one buffer: then shared accesses are no scheduling points.
    pub fn has_single_buffer(&self) -> bool {
        self.processes.is_empty()
            && self.buffers.len() + usize::from(self.init.is_some()) <= 1
            && !self.any_stmt(|s| matches!(s.kind, StmtKind::Spawn(..)))
    }

    /// Whether a value is chosen from all integers, so that choices cannot be tried one by one.
    pub fn has_unbounded_choice(&self) -> bool {
        let is = |e: &Expr, n: i64| e.kind == ExprKind::Const(Value::Int(n));
        self.any_stmt(|s| matches!(&s.kind, StmtKind::Any(_, lo, hi) if is(lo, i64::MIN) && is(hi, i64::MAX)))
    }

    /// Whether a choice between two numbers has more values than are tried one by one.
    pub fn is_wide(lo: i64, hi: i64) -> bool {
        lo < hi && hi.wrapping_sub(lo) as u64 >= 1 << 16
    }

    /// Whether some statement of some procedure, nested ones included, satisfies `test`.
    pub fn any_stmt(&self, test: impl Fn(&Stmt) -> bool) -> bool {
        fn any(block: &Block, test: &dyn Fn(&Stmt) -> bool) -> bool {
            block.iter().any(|s| {
                test(s)
                    || match &s.kind {
                        StmtKind::If(_, a, b) => any(a, test) || any(b, test),
                        StmtKind::While(_, b) | StmtKind::Atomic(b) => any(b, test),
                        _ => false,
                    }
            })
        }
        self.procs.iter().any(|p| any(&p.body, &test))
    }
}

impl Type {
    /// Whether values are single numbers (everything but records and arrays).
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Type::Record(_) | Type::Array { .. })
    }

    /// Smallest and largest code of a finite scalar type; `None` for `int`, references, handles and aggregates.
    pub fn finite_range(&self, enums: &[Enum]) -> Option<(i64, i64)> {
        match self {
            Type::Bool => Some((0, 1)),
            Type::Range(lo, hi) => Some((*lo, *hi)),
            Type::Enum(e) => Some((0, enums[*e].names.len() as i64 - 1)),
            Type::Fixed { bits: 64, .. } => None,
            Type::Fixed { bits, signed: false } => Some((0, (1i64 << bits) - 1)),
            Type::Fixed { bits, signed: true } => Some((-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1)),
            _ => None,
        }
    }

    /// The value of a variable that nobody has set: 0, `false`, `null`, the first name of an enum, the value of a range
    /// that is nearest to 0; for records the fields' own initial values.
    pub fn default_value(&self, records: &[Record]) -> Value {
        match self {
            Type::Range(lo, hi) => Value::Int(0.clamp(*lo, *hi)),
            Type::Record(r) => Value::Tuple(records[*r].fields.iter().map(|f| f.init.clone()).collect()),
            Type::Array { len, element, .. } => Value::Tuple(vec![element.default_value(records); *len as usize]),
            _ => Value::Int(0),
        }
    }
}
