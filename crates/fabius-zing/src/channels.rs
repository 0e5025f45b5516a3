//! Channels: messages in a row, oldest first. ZING's have room for any number; more than ours have is a limit, and no bug.

use crate::ast::Expr;
use crate::lower::Body;
use crate::refusal::{Result, wrong};
use crate::types::{ITEMS, SIZE, Ty};
use fabius_lang::build::*;
use fabius_lang::program as core;
use fabius_lang::program::{BinaryOp, Check, Place, Projection, RecordId, StmtKind, Type};
use fabius_trace::Span;

/// A channel: a reference to it, its record, what messages are, and how many it holds.
pub struct Channel {
    object: core::Expr,
    record: RecordId,
    pub message: Ty,
    room: u32,
}

impl Body<'_, '_> {
    pub fn channel(&mut self, e: &Expr) -> Result<Channel> {
        let (object, ty) = self.value(e)?;
        let Ty::Chan(record) = ty else {
            return Err(wrong(e.span, format!("a channel is expected, and this is `{}`", self.cx.types.show(&ty))));
        };
        let (message, room) = self.cx.types.elements[&record].clone();
        Ok(Channel { object, record, message, room })
    }

    /// The channel in a local, so that what happens next does not change which one it is.
    fn held(&mut self, channel: Channel, span: Span) -> Channel {
        let id = self.temporary("channel", channel.object.ty.clone());
        let place = self.local(id, span);
        self.set(place.clone(), channel.object, span);
        Channel { object: read(place), ..channel }
    }

    fn size_of(&self, channel: &Channel, span: Span) -> Place {
        self.field_of(channel.object.clone(), channel.record, SIZE, span)
    }

    fn nth(&self, channel: &Channel, n: core::Expr, span: Span) -> Place {
        let mut place = self.field_of(channel.object.clone(), channel.record, ITEMS, span);
        place.ty = self.cx.types.core(&channel.message);
        place.path.push(Projection::Index { index: n.into(), lo: 0, len: channel.room });
        place
    }

    /// Whether there is a message, behind those that are taken from other channels before, which may be the same.
    pub fn has_message<'c>(
        &self,
        channel: &Channel,
        before: impl Iterator<Item = &'c Channel>,
        span: Span,
    ) -> core::Expr {
        let number = |n| constant(n, Type::Int, span);
        let taken = before.filter(|other| other.record == channel.record).map(|other| {
            let same = binary(BinaryOp::Eq, other.object.clone(), channel.object.clone());
            if_else(same, number(1), number(0))
        });
        let taken = taken.reduce(|a, b| binary(BinaryOp::Add, a, b)).unwrap_or(number(0));
        let size = read(self.size_of(channel, span));
        core::Expr { span, ..binary(BinaryOp::Gt, cast(size, &Type::Int), taken) }
    }

    /// `send(c, e);`.
    pub fn send(&mut self, channel: &Expr, message: &Expr, span: Span) -> Result<()> {
        self.step(span, |b| {
            let channel = b.channel(channel)?;
            let message = b.value_of(message, &channel.message.clone())?;
            let held = b.temporary("message", b.cx.types.core(&channel.message));
            let place = b.local(held, span);
            b.set(place.clone(), message, span);
            let channel = b.held(channel, span);
            let size = b.size_of(&channel, span);
            let now = cast(read(size.clone()), &Type::Int);
            let room = constant(i64::from(channel.room), Type::Int, span);
            let said = format!("more than {} messages in a channel (`-DROOM=N`)", channel.room);
            b.push(StmtKind::Assert(binary(BinaryOp::Lt, now.clone(), room), Check::Bound, Some(said)), span);
            let last = b.nth(&channel, now.clone(), span);
            b.set(last, read(place), span);
            b.set(size, binary(BinaryOp::Add, now, constant(1, Type::Int, span)), span);
            Ok(())
        })
    }

    /// Takes the oldest message, which is there.
    pub fn take(&mut self, channel: Channel, to: Place, span: Span) {
        let channel = self.held(channel, span);
        let oldest = self.nth(&channel, constant(0, Type::Int, span), span);
        let held = self.temporary("message", oldest.ty.clone());
        let place = self.local(held, span);
        self.set(place.clone(), read(oldest), span);
        let items = self.field_of(channel.object.clone(), channel.record, ITEMS, span);
        let none = self.cx.types.core(&channel.message).default_value(&self.cx.types.records);
        let message = self.cx.types.core(&channel.message);
        let none = core::Expr { kind: core::ExprKind::Const(none), ty: message, span };
        let mut rest: Vec<core::Expr> = (1..channel.room)
            .map(|n| read(self.nth(&channel, constant(i64::from(n), Type::Int, span), span)))
            .collect();
        rest.push(none);
        let rest = core::Expr { kind: core::ExprKind::Tuple(rest), ty: items.ty.clone(), span };
        self.set(items, rest, span);
        let size = self.size_of(&channel, span);
        let less = binary(BinaryOp::Sub, cast(read(size.clone()), &Type::Int), constant(1, Type::Int, span));
        self.set(size, less, span);
        self.set(to, read(place), span);
    }
}
