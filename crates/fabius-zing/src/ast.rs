//! The syntax tree.

use fabius_trace::Span;

/// A name and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub text: String,
    pub span: Span,
}

/// A whole file.
#[derive(Clone, Debug, Default)]
pub struct File {
    pub types: Vec<Declared>,
    pub classes: Vec<Class>,
}

/// A declared type that is no class.
#[derive(Clone, Debug)]
pub struct Declared {
    pub name: Name,
    pub kind: DeclaredKind,
}

#[derive(Clone, Debug)]
pub enum DeclaredKind {
    Enum(Vec<Name>),
    Range(Expr, Expr),
    Struct(Vec<Field>),
    /// `array A[n] T`.
    Array(Expr, Name),
    Chan(Name),
}

/// `class C { .. }`.
#[derive(Clone, Debug)]
pub struct Class {
    pub name: Name,
    pub fields: Vec<Field>,
    pub methods: Vec<Method>,
}

/// A field of a class or struct, or a local variable.
#[derive(Clone, Debug)]
pub struct Field {
    pub ty: Name,
    pub name: Name,
    pub is_static: bool,
    pub init: Option<Expr>,
}

/// A method.
#[derive(Clone, Debug)]
pub struct Method {
    pub name: Name,
    pub is_static: bool,
    pub is_atomic: bool,
    /// It begins by itself.
    pub activate: bool,
    /// `None`: `void`.
    pub result: Option<Name>,
    pub params: Vec<Field>,
    pub body: Vec<Stmt>,
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
    Null,
    This,
    Name(String),
    Member(Box<Expr>, Name),
    Index(Box<Expr>, Box<Expr>),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// What is called, and the arguments.
    Call(Box<Expr>, Vec<Expr>),
    New(Name),
    Choose(Name),
    Sizeof(Box<Expr>),
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum StmtKind {
    /// Nothing, or what only traces show.
    Empty,
    Block(Vec<Stmt>),
    Local(Field),
    /// `a = b = e;`.
    Assign(Vec<Expr>, Expr),
    Call(Expr),
    Async(Expr),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    While(Expr, Box<Stmt>),
    Return(Option<Expr>),
    Assert(Expr, Option<String>),
    Assume(Expr),
    Send(Expr, Expr),
    Select(Select),
    Atomic(Vec<Stmt>),
}

/// `select { .. }`.
#[derive(Clone, Debug)]
pub struct Select {
    /// Of several branches that are open the first one is taken.
    pub first: bool,
    /// To wait here for ever is no deadlock.
    pub end: bool,
    pub branches: Vec<Branch>,
}

#[derive(Clone, Debug)]
pub struct Branch {
    /// All of them must be open.
    pub joins: Vec<Join>,
    pub body: Stmt,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum Join {
    Wait(Expr),
    /// A channel, and where the message goes.
    Receive(Expr, Expr),
    /// No other branch is open.
    Timeout,
}
