//! The syntax tree: what the user wrote, with sugar and names, as the parser sees it and the formatter prints it.
//!
//! Comparing trees with `==` ignores positions ([`Spanned`] and [`Name`] compare by content), so that
//! "the printed program parses back to the same program" is one comparison.

pub use crate::program::BufferKind;
use fabius_trace::Span;

/// Something with its place in the source. Compares by content only.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    /// The thing.
    pub node: T,
    /// Its place.
    pub span: Span,
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

/// An identifier.
pub type Name = Spanned<String>;
/// A declaration.
pub type Item = Spanned<ItemKind>;
/// A statement.
pub type Stmt = Spanned<StmtKind>;
/// An expression (or right-hand side; the analysis says which are allowed where).
pub type Expr = Spanned<ExprKind>;
/// A type.
pub type Type = Spanned<TypeKind>;
/// A block with its braces.
pub type Block = Spanned<Vec<Stmt>>;

/// A source file.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// Its declarations, in order.
    pub items: Vec<Item>,
    /// The types of collections that occur in them, inner ones first.
    pub collections: Vec<Type>,
}

/// The kinds of declarations.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum ItemKind {
    Const {
        name: Name,
        ty: Option<Type>,
        value: Expr,
    },
    Enum {
        name: Name,
        names: Vec<Name>,
    },
    Record {
        name: Name,
        fields: Vec<Field>,
    },
    /// `var`, with `sync`, `data` or `thread` in front.
    Var {
        kind: VarKind,
        name: Name,
        ty: Type,
        init: Option<Expr>,
    },
    Levels(Vec<Name>),
    InterleaveExplicit,
    Proc {
        inline: bool,
        name: Name,
        params: Vec<Param>,
        results: Vec<Type>,
        body: Block,
    },
    Init(Block),
    /// `buffer b { .. }`, `buffer b fifo { .. }`.
    Buffer {
        name: Name,
        kind: BufferKind,
        body: Block,
    },
    Process {
        name: Name,
        copies: Copies,
        body: Block,
    },
    /// `channel c: T[n];`, `channel c[m]: T[n] lossy unordered;`.
    Channel {
        name: Name,
        count: Option<Expr>,
        element: Type,
        places: Expr,
        kinds: Vec<ChannelKind>,
    },
    /// `invariant name: e;`
    Invariant {
        name: Name,
        condition: Expr,
    },
    /// `property name: e leads to f under strong fairness;`
    Property {
        name: Name,
        formula: Formula,
        /// Empty: nothing is said.
        fairness: Vec<Spanned<FairTo>>,
    },
    /// `fn f(a: T) -> R { e }`.
    Function {
        name: Name,
        params: Vec<Param>,
        result: Type,
        value: Expr,
    },
    /// What the parser could not make sense of; a diagnostic has been given.
    Error,
}

/// What a property asks of executions.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// `eventually e`.
    Eventually(Expr),
    /// `always eventually e`.
    AlwaysEventually(Expr),
    /// `eventually always e`.
    EventuallyAlways(Expr),
    /// `e leads to f`.
    LeadsTo(Expr, Expr),
}

impl Formula {
    /// Its conditions.
    pub fn conditions(&self) -> Vec<&Expr> {
        match self {
            Formula::Eventually(e) | Formula::AlwaysEventually(e) | Formula::EventuallyAlways(e) => vec![e],
            Formula::LeadsTo(e, f) => vec![e, f],
        }
    }
}

/// `strong fairness of p, q[0]`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FairTo {
    pub fairness: Fairness,
    /// The threads that are meant, some with their number; empty: all.
    pub of: Vec<(Name, Option<Expr>)>,
}

/// How many threads a process is.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Copies {
    /// `[*]`.
    Any,
    /// `[3]`.
    Count(Expr),
    /// `[i in 0..2]`: one for each number, which it knows.
    Numbered { name: Name, lo: Expr, hi: Expr },
    /// `[i: *]`: any number, each of which knows its own.
    AnyNumbered { name: Name },
}

/// What stands in front of `var`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarKind {
    /// Nothing: the class is inferred.
    Inferred,
    /// `sync`.
    Sync,
    /// `data`.
    Data,
    /// `thread`.
    PerThread,
}

/// A field of a record: `[sync|data] name: T = constant`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Field {
    pub kind: VarKind,
    pub name: Name,
    pub ty: Type,
    pub init: Option<Expr>,
}

/// A parameter. `place` only in the prelude's inline procedures: the argument is a place, not a value.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Param {
    pub place: bool,
    pub name: Name,
    /// `None` for a place parameter of any type.
    pub ty: Option<Type>,
}

/// The kinds of types.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum TypeKind {
    /// `bool`, `int`, `u8`, `thread`, `lock`, a record, an enum ..
    Named(String),
    /// `lo..hi`.
    Range(Box<Expr>, Box<Expr>),
    /// `[T; n]`.
    Array(Box<Type>, Box<Expr>),
    /// `map[K] T`.
    Map(Box<Type>, Box<Type>),
    /// `set[T]`, `bag[T; n]`, `seq[T; n]`.
    Collection(Collection, Box<Type>, Option<Box<Expr>>),
    /// `ref R`.
    Ref(Name),
    Error,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum StmtKind {
    /// `let t: T = e;` (`mutable` false), `var t: T = e;` (true). `let (a, b) = p();` has several names; `_` is "_".
    Local {
        mutable: bool,
        names: Vec<Name>,
        ty: Option<Type>,
        init: Option<Expr>,
    },
    /// `x = e;`, `x += e;` (`op` is `Some`), `(a, b) = p();`. Targets are expressions that must be places; `_` is `Name("_")`.
    Assign {
        targets: Vec<Expr>,
        op: Option<BinaryOp>,
        value: Expr,
    },
    /// `x, y = e, f;`: all values before the first store.
    AssignAll {
        targets: Vec<Expr>,
        values: Vec<Expr>,
    },
    /// A call, `spawn`, `post`, `cas` .. for its effect.
    Expr(Expr),
    Return(Vec<Expr>),
    /// Else-branch: `Some(block)`; `else if` is a block with one `If` statement and `else_if` set.
    If {
        guard: Expr,
        then: Block,
        otherwise: Option<Block>,
        else_if: bool,
    },
    /// `match e { A { .. } B, C { .. } else { .. } }`.
    Match {
        value: Expr,
        arms: Vec<(Vec<Pattern>, Block)>,
        otherwise: Option<Block>,
    },
    While {
        guard: Expr,
        body: Block,
    },
    Loop(Block),
    For {
        name: Name,
        lo: Expr,
        hi: Expr,
        body: Block,
    },
    Break,
    Continue,
    Choose(Vec<Block>),
    /// `select { when e { .. } or when let x = c.receive() { .. } else { .. } }`.
    Select {
        branches: Vec<(When, Block)>,
        otherwise: Option<Block>,
    },
    Join(Expr),
    Yield,
    Zield,
    Atomic(Block),
    Assume(Expr),
    Await(Expr),
    Assert(Expr, Option<Spanned<String>>),
    Print(Vec<Expr>),
    Progress,
    /// `label name;`.
    Label(Name),
    Skip,
    /// A bare block.
    Block(Block),
    Error,
}

/// The kinds of collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collection {
    /// Of each value one or none.
    Set,
    /// Of each value any number.
    Bag,
    /// In an order.
    Sequence,
}

impl Collection {
    /// All of them.
    pub const ALL: [Collection; 3] = [Collection::Set, Collection::Bag, Collection::Sequence];

    /// How it is written.
    pub fn word(self) -> &'static str {
        match self {
            Collection::Set => "set",
            Collection::Bag => "bag",
            Collection::Sequence => "seq",
        }
    }
}

/// What is said of a channel behind its room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// Messages may be lost when they are sent.
    Lossy,
    /// Any message may be received first.
    Unordered,
}

impl ChannelKind {
    /// All of them.
    pub const ALL: [ChannelKind; 2] = [ChannelKind::Lossy, ChannelKind::Unordered];

    /// How it is written.
    pub fn word(self) -> &'static str {
        match self {
            ChannelKind::Lossy => "lossy",
            ChannelKind::Unordered => "unordered",
        }
    }
}

/// What a value is compared with: a constant, or the constants from one to another, both included.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Pattern {
    pub lo: Expr,
    pub hi: Option<Expr>,
}

/// What a branch of `select` waits for.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum When {
    /// A condition, or an operation of a channel without a result that is kept.
    Expr(Expr),
    /// `let x = c.receive()`, `var x = c.receive()`.
    Let { mutable: bool, name: Name, value: Expr },
    /// `x = c.receive()`.
    Assign { target: Expr, value: Expr },
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum ExprKind {
    /// A literal; large enough for every `u64` and `i64`.
    Int(i128),
    Bool(bool),
    Null,
    SelfHandle,
    Name(String),
    Field(Box<Expr>, Name),
    Index(Box<Expr>, Box<Expr>),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    IfElse(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `match e { A { 1 } B, C { 2 } else { 3 } }`.
    Match {
        value: Box<Expr>,
        arms: Vec<(Vec<Pattern>, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    Cast(Box<Expr>, Type),
    /// `R { f: e, .. }`.
    Record(Name, Vec<(Name, Expr)>),
    /// `[a, b, c]`.
    Array(Vec<Expr>),
    /// `[e; n]`.
    Repeat(Box<Expr>, Box<Expr>),
    /// `*`.
    Star,
    /// `any T`; `any lo..hi` where a bound is not constant parses as `AnyRange`.
    Any(Type),
    AnyRange(Box<Expr>, Box<Expr>),
    /// `p(e)`, also `cas(x, a, b)`.
    Call(Name, Vec<Expr>),
    /// `m.acquire()`.
    Method(Box<Expr>, Name, Vec<Expr>),
    New(Name, Vec<(Name, Expr)>),
    Spawn(Name, Vec<Expr>),
    Post(Option<Name>, Name, Vec<Expr>),
    Paren(Box<Expr>),
    /// `forall i in 0..3: e`, `sum v in a: e` ..
    Quantified {
        what: Quantifier,
        name: Name,
        over: Box<Over>,
        body: Box<Expr>,
    },
    Error,
}

/// What is asked of many values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// Whether it holds for all.
    Forall,
    /// Whether it holds for one.
    Exists,
    /// For how many it holds.
    Count,
    /// What they come to together.
    Sum,
}

impl Quantifier {
    /// All of them.
    pub const ALL: [Quantifier; 4] = [Quantifier::Forall, Quantifier::Exists, Quantifier::Count, Quantifier::Sum];

    /// How it is written.
    pub fn word(self) -> &'static str {
        match self {
            Quantifier::Forall => "forall",
            Quantifier::Exists => "exists",
            Quantifier::Count => "count",
            Quantifier::Sum => "sum",
        }
    }
}

/// What a quantifier goes over.
#[derive(Clone, Debug, PartialEq)]
pub enum Over {
    /// The numbers from one to another, both included.
    Range(Expr, Expr),
    /// The elements of an array, or the values of an enum.
    Elements(Expr),
}

pub use crate::program::{BinaryOp, Fairness, UnaryOp};
