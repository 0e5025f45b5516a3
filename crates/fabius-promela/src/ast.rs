//! The syntax tree.

use fabius_trace::Span;

/// A name and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    pub text: String,
    pub span: Span,
}

/// A whole file.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// The names of each `mtype = { .. }`, and the kind in `mtype:kind = { .. }`, empty if there is none.
    pub mtypes: Vec<(String, Vec<Name>)>,
    pub typedefs: Vec<Typedef>,
    pub globals: Vec<Decl>,
    pub proctypes: Vec<Proctype>,
    pub formulas: Vec<Formula>,
    pub claims: Vec<Claim>,
}

/// `never { .. }`: what no execution does.
#[derive(Clone, Debug)]
pub struct Claim {
    pub name: Name,
    pub body: Vec<Stmt>,
}

/// `typedef T { .. }`.
#[derive(Clone, Debug)]
pub struct Typedef {
    pub name: Name,
    pub fields: Vec<Decl>,
}

/// `proctype`, or `init`.
#[derive(Clone, Debug)]
pub struct Proctype {
    pub name: Name,
    /// How many run from the beginning.
    pub active: Option<Expr>,
    pub params: Vec<Decl>,
    /// `provided (e)`.
    pub provided: Option<Expr>,
    pub body: Vec<Stmt>,
}

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub enum Ty {
    Bit,
    /// Unsigned, of 8 bits: `byte` and `pid`.
    Byte,
    Short,
    Int,
    Unsigned(u8),
    /// `mtype`, or `mtype:kind`.
    Mtype(String),
    Chan,
    Named(String),
}

/// The declaration of one variable.
#[derive(Clone, Debug)]
pub struct Decl {
    pub ty: Ty,
    pub name: Name,
    /// How many elements.
    pub len: Option<Expr>,
    pub init: Option<Init>,
}

#[derive(Clone, Debug)]
pub enum Init {
    Value(Expr),
    List(Vec<Expr>),
    /// `[room] of { types }`.
    Channel(Expr, Vec<Ty>),
}

/// A variable, an element or a field.
#[derive(Clone, Debug, PartialEq)]
pub struct Lvalue {
    /// Names, each perhaps with an index.
    pub parts: Vec<(Name, Option<Expr>)>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Number(i64),
    Bool(bool),
    Read(Lvalue),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `len`, `empty`, `nempty`, `full`, `nfull`.
    OfChannel(String, Lvalue),
    /// `c?[..]`, `c??[..]`.
    Poll(Lvalue, bool, Vec<Expr>),
    Run(Name, Vec<Expr>),
    /// `P@label`, `P[number]@label`: whether the process stands there.
    At(Name, Option<Box<Expr>>, Name),
    /// A word that has no meaning here.
    Other(String),
}

/// How a message is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taking {
    /// `??`: the first that fits, wherever it stands.
    pub any: bool,
    /// `<..>`: it stays there.
    pub stays: bool,
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
    pub labels: Vec<Name>,
}

impl Stmt {
    /// Calls `f` for it and all statements inside of it.
    pub fn each<'a>(&'a self, f: &mut dyn FnMut(&'a Stmt)) {
        f(self);
        let inner: Vec<&Stmt> = match &self.kind {
            StmtKind::If(options) | StmtKind::Do(options) => options.iter().flatten().collect(),
            StmtKind::Atomic(body) | StmtKind::DStep(body) | StmtKind::Block(body) => body.iter().collect(),
            StmtKind::For(.., body) | StmtKind::ForIn(.., body) => body.iter().collect(),
            StmtKind::Unless(main, escape) => vec![main, escape],
            _ => Vec::new(),
        };
        inner.into_iter().for_each(|s| s.each(f));
    }
}

#[derive(Clone, Debug)]
pub enum StmtKind {
    Declare(Vec<Decl>),
    /// Waits until it is not zero.
    Expr(Expr),
    Assign(Lvalue, Expr),
    If(Vec<Vec<Stmt>>),
    Do(Vec<Vec<Stmt>>),
    Atomic(Vec<Stmt>),
    DStep(Vec<Stmt>),
    Block(Vec<Stmt>),
    Else,
    Goto(Name),
    Break,
    /// Sorted, for `!!`.
    Send(Lvalue, bool, Vec<Expr>),
    Receive(Lvalue, Taking, Vec<Expr>),
    Assert(Expr),
    Print(Vec<Expr>),
    /// `select (x : a .. b)`.
    Select(Lvalue, Expr, Expr),
    /// `for (x : a .. b) { .. }`.
    For(Lvalue, Expr, Expr, Vec<Stmt>),
    /// `for (x in array) { .. }`.
    ForIn(Lvalue, Name, Vec<Stmt>),
    /// `{ .. } unless { .. }`.
    Unless(Box<Stmt>, Box<Stmt>),
}

/// `ltl name { formula }`.
#[derive(Clone, Debug)]
pub struct Formula {
    pub name: Name,
    /// Where what stands between the braces is written.
    pub span: Span,
    pub formula: Ltl,
}

/// A formula of linear temporal logic.
#[derive(Clone, Debug)]
pub enum Ltl {
    State(Expr),
    Not(Box<Ltl>),
    And(Box<Ltl>, Box<Ltl>),
    Or(Box<Ltl>, Box<Ltl>),
    Always(Box<Ltl>),
    Eventually(Box<Ltl>),
    /// The second holds at some time, and the first up to then.
    Until(Box<Ltl>, Box<Ltl>),
    /// The second holds up to when both hold, or for ever.
    Release(Box<Ltl>, Box<Ltl>),
}
