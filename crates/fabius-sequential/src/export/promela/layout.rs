//! Variables of any type as variables of Promela: one for each scalar, an array of them where there is an array around.

use super::{Names, Refused, refused};
use fabius_lang::program::*;
use fabius_trace::Span;

/// A scalar of a variable, or an array of such scalars in a row.
#[derive(Clone, Debug)]
pub struct Leaf {
    pub name: String,
    pub ty: Type,
    /// The lengths of the arrays that it is in, the outermost first.
    pub lengths: Vec<u32>,
}

/// One scalar, as text that can be read and assigned.
#[derive(Clone, Debug)]
pub struct Scalar {
    pub text: String,
    pub ty: Type,
}

/// The scalars of a variable in order; `outer` is the length of an array around all of it.
pub fn leaves(program: &Program, names: &mut Names, name: &str, ty: &Type, outer: Option<u32>) -> Vec<Leaf> {
    let mut all = Vec::new();
    let mut lengths: Vec<u32> = outer.into_iter().collect();
    gather(program, names, name, ty, &mut lengths, &mut all);
    all
}

fn gather(program: &Program, names: &mut Names, name: &str, ty: &Type, lengths: &mut Vec<u32>, all: &mut Vec<Leaf>) {
    match ty {
        Type::Record(r) => {
            for field in &program.records[*r].fields {
                gather(program, names, &format!("{name}_{}", field.name), &field.ty, lengths, all);
            }
        }
        Type::Array { len, element, .. } => {
            lengths.push(*len);
            gather(program, names, name, element, lengths, all);
            lengths.pop();
        }
        scalar => {
            all.push(Leaf { name: names.pick(&format!("{name}_")), ty: scalar.clone(), lengths: lengths.clone() })
        }
    }
}

/// The word for a type of scalars.
pub fn word(ty: &Type, program: &Program, span: Span) -> Result<&'static str, Refused> {
    Ok(match ty {
        Type::Bool => "bool",
        Type::Thread | Type::Ref(_) => "byte",
        Type::Fixed { bits: 32, signed: false } | Type::Fixed { bits: 64, .. } => {
            return refused("a number of 64 bits, or of 32 without a sign, in Promela", span, "take `i32`, or a range");
        }
        Type::Int | Type::ThreadSet => "int",
        other => match other.finite_range(&program.enums) {
            Some((0.., ..=255)) => "byte",
            Some((-32768.., ..=32767)) => "short",
            Some((lo, hi)) if i32::try_from(lo).is_ok() && i32::try_from(hi).is_ok() => "int",
            _ => return refused("a range beyond 32 bits in Promela", span, "take smaller numbers"),
        },
    })
}

/// How many leaves a type has.
pub fn width(program: &Program, ty: &Type) -> usize {
    match ty {
        Type::Record(r) => program.records[*r].fields.iter().map(|field| width(program, &field.ty)).sum(),
        Type::Array { element, .. } => width(program, element),
        _ => 1,
    }
}

/// The scalars of a place in the order of its values: `leaves` are those of its type, `index` is where it lies in them.
pub fn scalars(program: &Program, leaves: &[Leaf], index: Option<&str>, ty: &Type) -> Vec<Scalar> {
    let mut all = Vec::new();
    spread(program, leaves, index, ty, (0, 1), &mut all);
    all
}

/// `within` is the element of the arrays around it, and how many there are.
fn spread(
    program: &Program,
    leaves: &[Leaf],
    index: Option<&str>,
    ty: &Type,
    within: (u64, u64),
    all: &mut Vec<Scalar>,
) {
    match ty {
        Type::Record(r) => {
            let mut rest = leaves;
            for field in &program.records[*r].fields {
                let (mine, others) = rest.split_at(width(program, &field.ty));
                spread(program, mine, index, &field.ty, within, all);
                rest = others;
            }
        }
        Type::Array { len, element, .. } => {
            for i in 0..u64::from(*len) {
                let within = (within.0 * u64::from(*len) + i, within.1 * u64::from(*len));
                spread(program, leaves, index, element, within, all);
            }
        }
        scalar => {
            let leaf = &leaves[0];
            let text = match (index, leaf.lengths.is_empty()) {
                (_, true) => leaf.name.clone(),
                (None, false) => format!("{}[{}]", leaf.name, within.0),
                (Some(index), false) if within.1 == 1 => format!("{}[{index}]", leaf.name),
                (Some(index), false) => format!("{}[({index}) * {} + {}]", leaf.name, within.1, within.0),
            };
            all.push(Scalar { text, ty: scalar.clone() });
        }
    }
}

/// For each scalar of a value, in order, which leaf it is in.
pub fn leaf_of_each(program: &Program, ty: &Type, next: &mut usize, all: &mut Vec<usize>) {
    match ty {
        Type::Record(r) => {
            program.records[*r].fields.iter().for_each(|field| leaf_of_each(program, &field.ty, next, all));
        }
        Type::Array { len, element, .. } => {
            let first = *next;
            for _ in 0..*len {
                *next = first;
                leaf_of_each(program, element, next, all);
            }
        }
        _ => {
            all.push(*next);
            *next += 1;
        }
    }
}
