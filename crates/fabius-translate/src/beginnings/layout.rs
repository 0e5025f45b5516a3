//! Values as lists of numbers, records and arrays element by element.

use fabius_lang::program::{Program, Type, Value};
use std::ops::Range;

/// Where variables begin in a list of all their numbers.
pub struct Layout {
    /// The types of those that have parts.
    pub types: Vec<Option<Type>>,
    pub offsets: Vec<usize>,
    pub len: usize,
    /// What they hold if nobody has set them.
    pub defaults: Vec<i64>,
}

impl Layout {
    /// One variable behind the other.
    pub fn of<'a>(program: &Program, types: impl Iterator<Item = &'a Type>) -> Layout {
        let mut layout = Layout { types: Vec::new(), offsets: Vec::new(), len: 0, defaults: Vec::new() };
        for ty in types {
            layout.types.push((!ty.is_scalar()).then(|| ty.clone()));
            layout.offsets.push(layout.len);
            layout.len += size(program, ty);
            flatten(&ty.default_value(&program.records), &mut layout.defaults);
        }
        layout
    }

    /// The numbers of one variable.
    pub fn of_one(&self, variable: usize) -> Range<usize> {
        self.offsets[variable]..self.offsets.get(variable + 1).copied().unwrap_or(self.len)
    }
}

/// How many numbers a value of the type is.
pub fn size(program: &Program, ty: &Type) -> usize {
    match ty {
        Type::Record(r) => program.records[*r].fields.iter().map(|f| size(program, &f.ty)).sum(),
        Type::Array { len, element, .. } => *len as usize * size(program, element),
        _ => 1,
    }
}

/// Appends the numbers of a value.
pub fn flatten(value: &Value, out: &mut Vec<i64>) {
    match value {
        Value::Int(v) => out.push(*v),
        Value::Tuple(parts) => parts.iter().for_each(|p| flatten(p, out)),
    }
}
