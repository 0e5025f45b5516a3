//! Evaluation of expressions and places, left to right. The function `eval(e, g, l)` of the papers; nondeterminism is
//! not here but in the statements that contain it.

use crate::arithmetic;
use crate::config::{Config, Frame};
use crate::layout::Layout;
use crate::value::{ObjectId, TaskId, Value, scalars};
use fabius_explore::system::{Access, BufferId, Fault, Limit};
use fabius_lang::program::{
    Base, BinaryOp, Class, Expr, ExprKind, GlobalId, LocalId, Place, Program, Projection, Type,
};
use fabius_trace::{BugKind, Span};

/// What an expression is evaluated in: the valuations `g` and `l`, and a log of what is read of `g`.
pub struct Scope<'a> {
    /// The program.
    pub program: &'a Program,
    /// Numbers of its variables.
    pub layout: &'a Layout,
    /// The configuration.
    pub config: &'a Config,
    /// The buffer, for its per-thread variables.
    pub buffer: BufferId,
    /// The task.
    pub task: TaskId,
    /// The frame, for its locals.
    pub frame: &'a Frame,
    /// Accesses to shared variables so far.
    pub accesses: Vec<Access>,
}

/// A place whose indexes and reference have been evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The variable or object.
    pub root: Root,
    /// Positions of parts, from the outside.
    pub path: Vec<usize>,
    /// The shared variables that it consists of; none for a local place.
    shared: Option<Shared>,
}

/// Where a location begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A shared global.
    Global(GlobalId),
    /// The buffer's copy of a per-thread global.
    Own(GlobalId),
    /// A local variable.
    Local(LocalId),
    /// A heap object.
    Heap(ObjectId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shared {
    first: u64,
    count: u64,
    sync: bool,
    span: Span,
}

impl Scope<'_> {
    /// The value of an expression.
    pub fn eval(&mut self, e: &Expr) -> Result<Value, Fault> {
        Ok(match &e.kind {
            ExprKind::Const(c) => Value::of_constant(self.program, &e.ty, c),
            ExprKind::Read(place) => {
                let location = self.locate(place)?;
                self.access(&location, false);
                self.read(&location)
            }
            ExprKind::Unary(op, a) => arithmetic::unary(*op, &self.eval(a)?, &e.ty, e.span)?,
            ExprKind::Binary(BinaryOp::And, a, b) => Value::bool(self.eval(a)?.is_true() && self.eval(b)?.is_true()),
            ExprKind::Binary(BinaryOp::Or, a, b) => Value::bool(self.eval(a)?.is_true() || self.eval(b)?.is_true()),
            ExprKind::Binary(op, a, b) => {
                let (x, y) = (self.eval(a)?, self.eval(b)?);
                arithmetic::binary(*op, &x, &y, &arithmetic::operands(a, b), e.span)?
            }
            ExprKind::IfElse(c, a, b) => {
                let chosen = if self.eval(c)?.is_true() { a } else { b };
                self.eval(chosen)?
            }
            ExprKind::Tuple(parts) => Value::Tuple(self.eval_all(parts)?),
            ExprKind::Cast(a) => arithmetic::cast(&self.eval(a)?, &a.ty, &e.ty, e.span)?,
            ExprKind::SelfHandle => Value::Handle(Some(self.task)),
            ExprKind::SetContains(set, member) => {
                let (set, member) = (self.eval(set)?, self.eval(member)?);
                Value::bool(matches!((set, member), (Value::Set(s), Value::Handle(Some(t))) if s.contains(&t)))
            }
            ExprKind::SetIsEmpty(set) => Value::bool(matches!(self.eval(set)?, Value::Set(s) if s.is_empty())),
        })
    }

    /// The values of several expressions.
    pub fn eval_all(&mut self, es: &[Expr]) -> Result<Vec<Value>, Fault> {
        es.iter().map(|e| self.eval(e)).collect()
    }

    /// Evaluates the reference and the indexes of a place.
    pub fn locate(&mut self, place: &Place) -> Result<Location, Fault> {
        let program = self.program;
        let (root, mut ty, mut shared) = match &place.base {
            Base::Local(l) => (Root::Local(*l), program.procs[self.frame.proc].locals[*l].ty.clone(), None),
            Base::Global(g) => {
                let global = &program.globals[*g];
                if global.per_thread {
                    (Root::Own(*g), global.ty.clone(), None)
                } else {
                    (Root::Global(*g), global.ty.clone(), Some((self.layout.first[*g], global.class)))
                }
            }
            Base::Heap(reference, record) => match self.eval(reference)? {
                Value::Reference(Some(o)) => {
                    (Root::Heap(o), Type::Record(*record), Some((Layout::of_object(o), Class::Data)))
                }
                _ => return Err(Fault::Bug(BugKind::NullDereference, place.span)),
            },
        };
        let mut path = Vec::new();
        for step in &place.path {
            let skipped;
            (skipped, ty) = match (step, &ty) {
                (Projection::Field(f), Type::Record(r)) => {
                    let fields = &program.records[*r].fields;
                    if let (Root::Heap(_), true, Some((_, class))) = (root, path.is_empty(), &mut shared) {
                        *class = fields[*f].class;
                    }
                    path.push(*f);
                    (fields[..*f].iter().map(|x| scalars(program, &x.ty)).sum(), fields[*f].ty.clone())
                }
                (Projection::Index { index, lo, len }, Type::Array { element, .. }) => {
                    let i = match self.eval(index)? {
                        // A thread whose number is beyond those of the map.
                        Value::Handle(Some(id)) if id >= *len => return Err(Fault::Limit(Limit::Threads, place.span)),
                        Value::Handle(id) => id.map_or(-1, i128::from),
                        other => arithmetic::meaning(other.number(), &index.ty) - i128::from(*lo),
                    };
                    if !(0..i128::from(*len)).contains(&i) {
                        return Err(Fault::Bug(BugKind::IndexOutOfBounds, place.span));
                    }
                    path.push(i as usize);
                    (i as u64 * scalars(program, element), (**element).clone())
                }
                other => panic!("the type checker does not let {other:?} pass"),
            };
            if let Some((first, _)) = &mut shared {
                *first += skipped;
            }
        }
        let shared = shared.map(|(first, class)| Shared {
            first,
            count: scalars(program, &ty),
            sync: class == Class::Sync,
            span: place.span,
        });
        Ok(Location { root, path, shared })
    }

    /// Notes an access to a location, scalar by scalar.
    pub fn access(&mut self, location: &Location, write: bool) {
        if let Some(Shared { first, count, sync, span }) = location.shared {
            self.accesses.extend((first..first + count).map(|variable| Access { variable, write, sync, span }));
        }
    }

    /// The value at a location.
    pub fn read(&self, location: &Location) -> Value {
        let mut value = match location.root {
            Root::Global(g) => &self.config.globals[g],
            Root::Own(g) => &self.config.buffers[&self.buffer].own[g],
            Root::Local(l) => &self.frame.locals[l],
            Root::Heap(o) => &self.config.heap[&o].value,
        };
        for part in &location.path {
            match value {
                Value::Tuple(parts) => value = &parts[*part],
                other => panic!("{other:?} has no parts"),
            }
        }
        value.clone()
    }
}

/// Puts a value at a location; locals are those of the running frame of buffer `n`.
pub fn store(config: &mut Config, n: BufferId, location: &Location, new: Value) {
    let mut value = match location.root {
        Root::Global(g) => &mut config.globals[g],
        Root::Own(g) => &mut config.buffers.get_mut(&n).expect("the buffer has a running task").own[g],
        Root::Local(l) => &mut config.frame_mut(n).locals[l],
        Root::Heap(o) => &mut config.heap.get_mut(&o).expect("a reference leads to an object").value,
    };
    for part in &location.path {
        match value {
            Value::Tuple(parts) => value = &mut parts[*part],
            other => panic!("{other:?} has no parts"),
        }
    }
    *value = new;
}
