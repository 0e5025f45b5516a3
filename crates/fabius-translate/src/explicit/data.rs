//! Handles and references as numbers, sets of threads as arrays, objects as columns of arrays.

use super::{Body, Maker};
use crate::build::*;
use fabius_lang::program::*;

pub(super) fn retype(ty: &mut Type, handle: &Type, objects: u32) {
    match ty {
        Type::Thread => *ty = handle.clone(),
        Type::ThreadSet => {
            let Type::Range(_, most) = handle else { unreachable!("handles are numbers") };
            *ty = array(Type::Bool, *most as u32 + 1);
        }
        Type::Ref(_) => *ty = reference(objects),
        Type::Array { index, len, element, .. } if **index == Type::Thread => {
            let Type::Range(_, most) = handle else { unreachable!("handles are numbers") };
            *len = (*len).max(*most as u32);
            **index = Type::Range(1, i64::from(*len));
            retype(element, handle, objects);
        }
        Type::Array { element, .. } => retype(element, handle, objects),
        _ => {}
    }
}

fn refers(ty: &Type) -> bool {
    match ty {
        Type::Ref(_) => true,
        Type::Array { element, .. } => refers(element),
        _ => false,
    }
}

/// References are numbers; 0 is `null`.
pub(super) fn reference(objects: u32) -> Type {
    Type::Range(0, i64::from(objects))
}

/// The objects: for each field of each record, the values by the number of the object. There is none with number 0, so that
/// to follow `null` is an index out of bounds.
pub(super) struct Heap {
    /// Objects of each record at most.
    pub(super) objects: u32,
    /// How many objects of each record there are.
    pub(super) made: Vec<Place>,
    pub(super) fields: Vec<Vec<Place>>,
}

impl Heap {
    pub(super) fn new(program: &mut Program, source: &Program, most: u32) -> Heap {
        let mut heap = Heap { objects: most, made: Vec::new(), fields: Vec::new() };
        let locals = source.procs.iter().flat_map(|p| p.locals.iter().map(|l| &l.ty));
        let fields = source.records.iter().flat_map(|r| r.fields.iter().map(|f| &f.ty));
        if !source.globals.iter().map(|g| &g.ty).chain(locals).chain(fields).any(refers) {
            return heap;
        }
        let records = program.records[..source.records.len()].to_vec();
        for record in &records {
            heap.made.push(new_global(program, &format!("{}_made", record.name.to_lowercase()), reference(most)));
            let column = |field: &Field| {
                let name = format!("{}_{}", record.name.to_lowercase(), field.name);
                let objects = Type::Range(1, i64::from(most));
                let ty =
                    Type::Array { index: Box::new(objects), lo: 1, len: most, element: Box::new(field.ty.clone()) };
                new_global(program, &name, ty)
            };
            heap.fields.push(record.fields.iter().map(column).collect());
        }
        heap
    }
}

/// A value in a changed type: sets of threads are empty.
pub(super) fn resized(records: &[Record], value: &Value, ty: &Type) -> Value {
    match (value, ty) {
        (Value::Int(0), Type::Array { len, .. }) => Value::Tuple(vec![Value::Int(0); *len as usize]),
        (Value::Tuple(parts), Type::Array { element, len, .. }) => {
            let mut parts: Vec<Value> = parts.iter().map(|v| resized(records, v, element)).collect();
            // More threads than the map had entries for; all begin alike.
            while parts.len() < *len as usize {
                parts.push(parts[0].clone());
            }
            Value::Tuple(parts)
        }
        (Value::Tuple(parts), Type::Record(r)) => {
            let fields = parts.iter().zip(&records[*r].fields);
            Value::Tuple(fields.map(|(v, f)| resized(records, v, &f.ty)).collect())
        }
        _ => value.clone(),
    }
}

/// The parts of a procedure of the source in the version that is made.
impl Maker<'_> {
    pub(super) fn place(&self, p: &Place, body: &Body) -> Place {
        let base = match &p.base {
            Base::Local(l) => Base::Local(body.local(*l)),
            other => other.clone(),
        };
        let step = |s: &Projection| match s {
            Projection::Index { index, lo, len } => {
                let len = match (&index.ty, &self.handles) {
                    (Type::Thread, Some((born, _))) => match born.ty {
                        Type::Range(_, most) => (*len).max(most as u32),
                        _ => unreachable!("handles are numbers"),
                    },
                    _ => *len,
                };
                Projection::Index { index: Box::new(self.expr(index, body)), lo: *lo, len }
            }
            field => field.clone(),
        };
        let mut path: Vec<Projection> = p.path.iter().map(step).collect();
        let mut moved = base;
        if let (Base::Heap(object, r), Some(Projection::Field(f))) = (&p.base, p.path.first()) {
            moved = self.heap.fields[*r][*f].base.clone();
            path[0] = Projection::Index { index: Box::new(self.expr(object, body)), lo: 1, len: self.heap.objects };
        }
        Place { base: moved, path, ty: self.ty(&p.ty), span: p.span }
    }

    pub(super) fn expr(&self, e: &Expr, body: &Body) -> Expr {
        let boxed = |e: &Expr| Box::new(self.expr(e, body));
        let kind = match &e.kind {
            ExprKind::Const(v) => ExprKind::Const(resized(&self.program.records, v, &self.ty(&e.ty))),
            ExprKind::Read(p) => ExprKind::Read(self.place(p, body)),
            ExprKind::Unary(op, a) => ExprKind::Unary(*op, boxed(a)),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, boxed(a), boxed(b)),
            ExprKind::IfElse(a, b, c) => ExprKind::IfElse(boxed(a), boxed(b), boxed(c)),
            ExprKind::Tuple(parts) => ExprKind::Tuple(parts.iter().map(|p| self.expr(p, body)).collect()),
            ExprKind::Cast(a) => ExprKind::Cast(boxed(a)),
            ExprKind::SelfHandle => match &body.me {
                Some(me) => return Expr { span: e.span, ..read(me) },
                None => unreachable!("`self` is a handle"),
            },
            ExprKind::SetContains(set, member) => {
                let ExprKind::Read(p) = &set.kind else { unreachable!("sets are variables") };
                let member = self.expr(member, body);
                return Expr { span: e.span, ..read(&element(self.place(p, body), member)) };
            }
            ExprKind::SetIsEmpty(set) => {
                let ExprKind::Read(p) = &set.kind else { unreachable!("sets are variables") };
                let p = self.place(p, body);
                let Type::Array { len, .. } = p.ty else { unreachable!("a set is an array") };
                let contains = |i: i64| read(&element(p.clone(), number(i)));
                return (1..i64::from(len)).fold(boolean(true), |none, i| and(none, not(contains(i))));
            }
        };
        let ty = match self.ty(&e.ty) {
            // Handles are compared as numbers.
            Type::Range(..) if matches!(e.ty, Type::Thread | Type::Ref(_)) => Type::Int,
            ty => ty,
        };
        Expr { kind, ty, span: e.span }
    }
}
