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
    /// Arrays that are made by `new A[n]`, and of how many elements.
    pub lengths: Vec<(String, Expr)>,
    /// The strings that are written down; `None` if there is no `string`.
    pub texts: Option<Vec<String>>,
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
    /// `array A[n] T`; without a number `new` says it.
    Array(Option<Expr>, Name),
    Set(Name),
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
    pub params: Vec<Param>,
    pub body: Vec<Stmt>,
}

/// A parameter of a method.
#[derive(Clone, Debug)]
pub struct Param {
    pub ty: Name,
    pub name: Name,
    /// It is given back.
    pub is_out: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

/// What stands behind a number: of how many bits it is at least, and whether it has a sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suffix {
    pub is_unsigned: bool,
    pub is_long: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A number, and what its suffix says of its type.
    Number(i64, Suffix),
    Text(String),
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
    /// `new A[n]`.
    NewArray(Name, Box<Expr>),
    /// Of a type or the members of an array or set.
    Choose(Box<Expr>),
    /// An argument that is given back.
    Out(Box<Expr>),
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
    /// `foreach (T x in e) ..`; without a type the variable is there already.
    Foreach(Option<Name>, Name, Expr, Box<Stmt>),
    Return(Option<Expr>),
    /// A body, and what is done about which exceptions.
    Try(Vec<Stmt>, Vec<Handler>),
    Raise(Name),
    Assert(Expr, Option<String>),
    Assume(Expr),
    Send(Expr, Expr),
    Select(Select),
    Atomic(Vec<Stmt>),
    Labeled(Name, Box<Stmt>),
    Goto(Name),
}

/// What is done about an exception.
#[derive(Clone, Debug)]
pub struct Handler {
    /// `None`: any.
    pub name: Option<Name>,
    pub body: Stmt,
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
    /// What only traces show: it is always open.
    Event,
    /// No other branch is open.
    Timeout,
}
