//! What is known of the program while it is lowered, and of the process that is being lowered.

use crate::ast::{Decl, Lvalue, Name, Ty};
use crate::graph::{Node, NodeId};
use crate::refusal::{Result, unsupported, wrong};
use fabius_lang::build::*;
use fabius_lang::program::*;
use fabius_trace::Span;
use std::collections::{HashMap, HashSet};

/// What expressions are computed in.
pub const INT: Type = Type::Fixed { bits: 32, signed: true };
/// `byte`.
pub const BYTE: Type = Type::Fixed { bits: 8, signed: false };
/// `short`.
pub const SHORT: Type = Type::Fixed { bits: 16, signed: true };
/// Holds `unsigned x : n`, which is cut to its bits when it is assigned.
pub const WIDE: Type = Type::Fixed { bits: 32, signed: false };

/// Channels that were declared together.
#[derive(Clone, Debug)]
pub struct Group {
    pub global: GlobalId,
    /// The number of the first: what a variable of type `chan` holds.
    pub first: i64,
    pub count: u32,
    /// Whether the global is an array of them.
    pub several: bool,
    /// Without room there is a place for the message that is handed over.
    pub room: u32,
    pub hands_over: bool,
    pub fields: Vec<Ty>,
    /// The same as types of the core.
    pub types: Vec<Type>,
    pub message: Type,
    pub record: RecordId,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Var {
    pub base: Base,
    pub ty: Ty,
    pub len: Option<u32>,
    /// The channels that it was declared with.
    pub own: Option<usize>,
}

/// A field of a `typedef`.
#[derive(Clone, Debug)]
pub struct FieldOf {
    pub name: String,
    pub ty: Ty,
    pub len: Option<u32>,
}

/// A place and its type.
#[derive(Clone, Debug)]
pub struct Typed {
    pub place: Place,
    pub ty: Ty,
    /// It is an element of an array, which SPIN stores in bytes if it is one of bits.
    pub element: bool,
}

/// A process type, before its body is lowered.
#[derive(Clone, Debug)]
pub struct Known {
    pub params: Vec<Decl>,
}

/// A channel of each process of a type.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    pub group: usize,
    /// Counts those made by `run`.
    pub made: GlobalId,
    /// How many processes have one from the beginning.
    pub active: i64,
}

/// What all know of who waits for what.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// The number of the process that a message is handed to, plus 1; 0: none is.
    pub to: GlobalId,
    /// Which of the statements that receive takes it.
    pub way: GlobalId,
    /// Where each process stands, if it waits for a message there.
    pub at: GlobalId,
    /// The number of the channel that it waits for there, by the statement.
    pub on: GlobalId,
    /// How many processes there may be.
    pub processes: u32,
}

/// A label that is asked for.
#[derive(Clone, Debug)]
pub struct Remote {
    pub proctype: String,
    pub label: Name,
    /// An array: whether each process of the type stands there.
    pub global: GlobalId,
    pub len: u32,
}

/// The processes of a type that run from the beginning.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    /// The number of the first.
    pub first: i64,
    pub count: i64,
}

/// The process that is being lowered.
#[derive(Default)]
pub struct Body {
    /// The name of its type.
    pub of: String,
    /// It is a claim, and no process.
    pub claims: bool,
    pub locals: Vec<Local>,
    pub scopes: Vec<HashMap<String, Var>>,
    pub nodes: Vec<Node>,
    /// Nodes that are others.
    pub same: HashMap<NodeId, NodeId>,
    /// Those of them in front of jumps.
    pub passed: HashSet<NodeId>,
    /// Nodes of labels, and where these are written if they have been met.
    pub labels: HashMap<String, (NodeId, Option<Span>)>,
    /// Labels in front of the first statement of an option, where nobody stands who is in front of all options.
    pub first_labels: Vec<String>,
    /// Jumps, for labels that are nowhere.
    pub jumps: Vec<(Name, NodeId)>,
    /// Where `break` leads to.
    pub breaks: Vec<NodeId>,
    pub atomic: usize,
    pub d_step: usize,
    /// Where what each `unless` is left for begins.
    pub escapes: Vec<NodeId>,
    /// The numbers of the `unless` in whose main parts control is.
    pub within: Vec<usize>,
    /// Its number, if numbers of processes matter.
    pub pid: Option<LocalId>,
}

/// The program that is being lowered.
pub struct Lower {
    pub records: Vec<Record>,
    pub enums: Vec<Enum>,
    pub globals: Vec<Global>,
    /// Names of `mtype`, by the kind that they are of.
    pub mtypes: HashMap<String, (EnumId, i64)>,
    /// The kinds of `mtype`, the one without a name among them.
    pub kinds: HashMap<String, EnumId>,
    pub typedefs: HashMap<String, (RecordId, Vec<FieldOf>)>,
    pub names: HashMap<String, Var>,
    pub groups: Vec<Group>,
    pub proctypes: Vec<(String, Known)>,
    /// The channels that the processes of a type have of their own.
    pub own_channels: HashMap<String, Vec<Own>>,
    /// How many processes there have been, if their numbers matter.
    pub count: Option<GlobalId>,
    /// What all know of who waits for what, if there are channels without room.
    pub meeting: Option<Meeting>,
    /// True for who goes on because nobody else can, if `timeout` is read.
    pub idle: Option<GlobalId>,
    /// What all know of who stands at which labels.
    pub remotes: Vec<Remote>,
    /// The processes that run from the beginning, by their types.
    pub running: HashMap<String, Running>,
    /// Types of which `run` starts some.
    pub is_run: HashSet<String>,
    pub body: Body,
}

impl Lower {
    /// The core type of a variable that is no array.
    pub fn core(&self, ty: &Ty, span: Span) -> Result<Type> {
        Ok(match ty {
            Ty::Bit => Type::Bool,
            Ty::Byte | Ty::Chan => BYTE,
            Ty::Short => SHORT,
            Ty::Int => INT,
            Ty::Unsigned(_) => WIDE,
            Ty::Mtype(kind) => match self.kinds.get(kind) {
                Some(id) => Type::Enum(*id),
                None => return Err(wrong(span, format!("there are no names of `mtype:{kind}`"))),
            },
            Ty::Named(name) => match self.typedefs.get(name) {
                Some((record, _)) => Type::Record(*record),
                None => return Err(wrong(span, format!("there is no type `{name}`"))),
            },
        })
    }

    /// That of a variable.
    pub fn core_of(&self, ty: &Ty, len: Option<u32>, span: Span) -> Result<Type> {
        let element = self.core(ty, span)?;
        Ok(match len {
            None => element,
            Some(len) => array(element, len),
        })
    }

    /// The variable of a name.
    pub fn variable(&self, name: &Name) -> Result<Var> {
        let local = self.body.scopes.iter().rev().find_map(|scope| scope.get(&name.text));
        local.or_else(|| self.names.get(&name.text)).cloned().ok_or_else(|| {
            let refused = wrong(name.span, format!("there is no variable `{}`", name.text));
            match name.text.as_str() {
                "_pid" | "_nr_pr" => unsupported(name.span, format!("`{}` is only read", name.text)),
                _ => refused,
            }
        })
    }

    /// The place that is meant.
    pub fn place(&mut self, lvalue: &Lvalue) -> Result<Typed> {
        let ((first, index), rest) = lvalue.parts.split_first().expect("a place has a name");
        let var = self.variable(first)?;
        if var.own.is_some() {
            return Err(unsupported(lvalue.span, "a channel that is declared with its messages is no variable")
                .help("declare `chan c` without `[n] of { .. }` for one that changes"));
        }
        let ty = self.core_of(&var.ty, var.len, first.span)?;
        let place = Place { base: var.base, path: Vec::new(), ty, span: lvalue.span };
        let mut at = self.indexed(place, var.ty, var.len, index.as_ref(), first)?;
        for (name, index) in rest {
            let Ty::Named(record) = &at.ty else {
                return Err(wrong(name.span, format!("what stands in front of `.{}` has no fields", name.text)));
            };
            let (_, fields) = &self.typedefs[record];
            let Some(n) = fields.iter().position(|f| f.name == name.text) else {
                return Err(wrong(name.span, format!("`{record}` has no field `{}`", name.text)));
            };
            let field = fields[n].clone();
            let mut place = at.place;
            place.path.push(Projection::Field(n));
            place.ty = self.core_of(&field.ty, field.len, name.span)?;
            at = self.indexed(place, field.ty, field.len, index.as_ref(), name)?;
        }
        Ok(at)
    }

    fn indexed(
        &mut self,
        mut place: Place,
        ty: Ty,
        len: Option<u32>,
        index: Option<&crate::ast::Expr>,
        name: &Name,
    ) -> Result<Typed> {
        match (len, index) {
            (None, None) => Ok(Typed { place, ty, element: false }),
            (Some(len), Some(index)) => {
                let index = self.expr(index)?;
                let index = if matches!(index.ty, Type::Fixed { .. }) { index } else { self.as_number(index) };
                place.path.push(element(index, len));
                place.ty = self.core(&ty, name.span)?;
                Ok(Typed { place, ty, element: true })
            }
            (None, Some(_)) => Err(wrong(name.span, format!("`{}` is no array", name.text))),
            (Some(_), None) => {
                Err(unsupported(name.span, format!("`{}` is an array: one element is meant", name.text))
                    .help(format!("write `{}[0]`", name.text)))
            }
        }
    }

    /// A local variable of the process.
    pub fn local(&mut self, name: &str, ty: Type) -> LocalId {
        self.body.locals.push(Local { name: name.into(), ty });
        self.body.locals.len() - 1
    }

    /// The number of something that is constant.
    pub fn constant(&mut self, e: &crate::ast::Expr) -> Result<i64> {
        let value = self.number(e)?;
        value_of(&value).ok_or_else(|| wrong(e.span, "a constant number should stand here"))
    }
}

/// An array of the core.
pub fn array(element: Type, len: u32) -> Type {
    Type::Array { index: Type::Int.into(), lo: 0, len, element: element.into() }
}

/// An element of an array.
pub fn element(index: Expr, len: u32) -> Projection {
    Projection::Index { index: cast(index, &Type::Int).into(), lo: 0, len }
}

/// A global as a place.
pub fn global(id: GlobalId, ty: Type, span: Span) -> Place {
    Place { base: Base::Global(id), path: Vec::new(), ty, span }
}

/// A local as a place.
pub fn local(id: LocalId, ty: Type, span: Span) -> Place {
    Place { base: Base::Local(id), path: Vec::new(), ty, span }
}

/// A part of a place.
pub fn part(place: &Place, step: Projection, ty: Type) -> Place {
    let mut place = place.clone();
    place.path.push(step);
    place.ty = ty;
    place
}

/// An assignment.
pub fn assign(place: Place, value: Expr, span: Span) -> Stmt {
    stmt(StmtKind::Assign(place, value), span)
}
