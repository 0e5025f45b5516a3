//! What `new` makes, and choices among the members of an array or set.

use crate::ast::{DeclaredKind, Expr, Name};
use crate::lower::Body;
use crate::refusal::{Result, wrong};
use crate::types::{SIZE, Ty};
use fabius_lang::build::*;
use fabius_lang::program as core;
use fabius_lang::program::{BinaryOp, Check, Place, RecordId, StmtKind, Type};
use fabius_trace::Span;

impl Body<'_, '_> {
    /// An object, array, set or channel as it is at first.
    pub fn make(&mut self, place: Place, record: RecordId, span: Span) {
        let fields = self.cx.types.records[record].fields.iter();
        let fresh = fields.map(|f| core::Expr { kind: core::ExprKind::Const(f.init.clone()), ty: f.ty.clone(), span });
        let fresh = fresh.collect();
        self.push(StmtKind::New(place, record, fresh), span);
    }

    /// `new A[n]`.
    pub fn make_array(&mut self, place: Place, name: &Name, len: &Expr, span: Span) -> Result<()> {
        let says =
            |d: &crate::ast::Declared| d.name.text == name.text && matches!(d.kind, DeclaredKind::Array(None, _));
        let Some(Ty::Array(record)) = self.cx.types.find(&name.text).cloned() else {
            return Err(wrong(name.span, format!("`{}` is no array", name.text)));
        };
        if !self.cx.file.types.iter().any(says) {
            return Err(wrong(
                len.span,
                format!("how many elements a `{}` has is said where it is declared", name.text),
            )
            .help(format!("write `new {}`", name.text)));
        }
        let len = self.integer(len)?;
        if !self.cx.types.is_counted(record) {
            self.make(place, record, span);
            return Ok(());
        }
        let held = self.temporary("length", Type::Int);
        let held = self.local(held, span);
        self.set(held.clone(), len, span);
        let room = self.cx.types.elements[&record].1;
        let number = |n: u32| constant(i64::from(n), Type::Int, span);
        let some = binary(BinaryOp::Ge, read(held.clone()), number(0));
        let said = "an array of less than 0 elements".to_string();
        self.push(StmtKind::Assert(some, Check::Assertion, Some(said)), span);
        let fits = binary(BinaryOp::Le, read(held.clone()), number(room));
        let said = format!("more than {room} elements in an array (`-DROOM=N`)");
        self.push(StmtKind::Assert(fits, Check::Bound, Some(said)), span);
        let made = self.temporary("array", Type::Ref(record));
        let made = self.local(made, span);
        self.make(made.clone(), record, span);
        self.set(self.field_of(read(made.clone()), record, SIZE, span), read(held), span);
        self.set(place, read(made), span);
        Ok(())
    }

    /// `choose(a)`: any of the members; to choose from none is an error of the program.
    pub fn choose_member(&mut self, place: Place, wanted: &Ty, of: &Expr, span: Span) -> Result<()> {
        let (object, ty) = self.value(of)?;
        let (Ty::Array(record) | Ty::Set(record)) = ty else {
            return Err(wrong(of.span, format!("nothing can be chosen from `{}`", self.cx.types.show(&ty))));
        };
        let (element, room) = self.cx.types.elements[&record].clone();
        let held = self.temporary("members", object.ty.clone());
        let held = self.local(held, span);
        self.set(held.clone(), object, span);
        let number = |n: u32| constant(i64::from(n), Type::Int, span);
        let count = if self.cx.types.is_counted(record) {
            cast(read(self.field_of(read(held.clone()), record, SIZE, span)), &Type::Int)
        } else {
            number(room)
        };
        let some = binary(BinaryOp::Gt, count.clone(), number(0));
        let said = "a choice among nothing".to_string();
        self.push(StmtKind::Assert(some, Check::Assertion, Some(said)), span);
        let at = self.temporary("choice", Type::Range(0, i64::from(room)));
        let at = self.local(at, span);
        self.push(StmtKind::Any(at.clone(), number(0), binary(BinaryOp::Sub, count, number(1))), span);
        let chosen = read(self.slot(&read(held), record, cast(read(at), &Type::Int), span));
        let value = self.fit(chosen, &element, wanted, of.span)?;
        self.set(place, value, span);
        Ok(())
    }
}
