//! Values as trees, and the values of types.

use fabius_lang::program::{Program, Record, Type, Value as Constant};
use std::collections::BTreeSet;

/// Identity of a heap object: the least number that was free when it was made.
pub type ObjectId = u32;

/// Identity of a task; see [`fabius_explore::system::TaskId`].
pub type TaskId = u32;

/// A value. It says by itself what it refers to, so that nobody needs types to walk through it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// A Boolean (0, 1), a number, or the position of an enum's name. `u64` by its bit pattern.
    Number(i64),
    /// A reference to a heap object, or `null`.
    Reference(Option<ObjectId>),
    /// A handle of a thread or task, or `null`.
    Handle(Option<TaskId>),
    /// A set of threads.
    Set(BTreeSet<TaskId>),
    /// A record (fields in order) or an array (elements in order).
    Tuple(Vec<Value>),
}

impl Value {
    /// A Boolean.
    pub fn bool(b: bool) -> Value {
        Value::Number(i64::from(b))
    }

    /// The number of a scalar that is one; the type checker sees to it that it is.
    pub fn number(&self) -> i64 {
        match self {
            Value::Number(n) => *n,
            other => panic!("a number is needed where the value is {other:?}"),
        }
    }

    /// Whether this is the Boolean `true`.
    pub fn is_true(&self) -> bool {
        self.number() != 0
    }

    /// The value that a constant of the program denotes at a type.
    pub fn of_constant(program: &Program, ty: &Type, constant: &Constant) -> Value {
        match (ty, constant) {
            (Type::Ref(_), _) => Value::Reference(None),
            (Type::Thread, Constant::Int(n)) => Value::Handle(TaskId::try_from(n - 1).ok()),
            (Type::Thread, _) => Value::Handle(None),
            (Type::ThreadSet, _) => Value::Set(BTreeSet::new()),
            (Type::Record(r), Constant::Tuple(parts)) => Value::Tuple(
                program.records[*r]
                    .fields
                    .iter()
                    .zip(parts)
                    .map(|(f, v)| Value::of_constant(program, &f.ty, v))
                    .collect(),
            ),
            (Type::Array { element, .. }, Constant::Tuple(parts)) => {
                Value::Tuple(parts.iter().map(|v| Value::of_constant(program, element, v)).collect())
            }
            (_, Constant::Int(n)) => Value::Number(*n),
            (_, Constant::Tuple(_)) => panic!("a scalar type cannot have the value {constant:?}"),
        }
    }

    /// The value of a variable of this type that nobody has set.
    pub fn default_of(program: &Program, ty: &Type) -> Value {
        Value::of_constant(program, ty, &ty.default_value(&program.records))
    }

    /// Calls `f` for every reference and handle inside.
    pub fn each_identity(&self, f: &mut dyn FnMut(Identity)) {
        match self {
            Value::Number(_) | Value::Reference(None) | Value::Handle(None) => {}
            Value::Reference(Some(o)) => f(Identity::Object(*o)),
            Value::Handle(Some(t)) => f(Identity::Task(*t)),
            Value::Set(ts) => ts.iter().for_each(|t| f(Identity::Task(*t))),
            Value::Tuple(parts) => parts.iter().for_each(|p| p.each_identity(f)),
        }
    }

    /// Whether the value may be stored in a place of this type: every part of a range type lies in its range.
    pub fn fits(&self, ty: &Type, records: &[Record]) -> bool {
        match (ty, self) {
            (Type::Range(lo, hi), Value::Number(n)) => (lo..=hi).contains(&n),
            (Type::Record(r), Value::Tuple(parts)) => {
                parts.iter().zip(&records[*r].fields).all(|(p, f)| p.fits(&f.ty, records))
            }
            (Type::Array { element, .. }, Value::Tuple(parts)) => parts.iter().all(|p| p.fits(element, records)),
            _ => true,
        }
    }
}

/// What a value can refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A heap object.
    Object(ObjectId),
    /// A thread or task.
    Task(TaskId),
}

/// How many scalars a value of the type has.
pub fn scalars(program: &Program, ty: &Type) -> u64 {
    match ty {
        Type::Record(r) => program.records[*r].fields.iter().map(|f| scalars(program, &f.ty)).sum(),
        Type::Array { len, element, .. } => u64::from(*len) * scalars(program, element),
        _ => 1,
    }
}
