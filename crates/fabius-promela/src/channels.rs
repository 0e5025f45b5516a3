//! Channels: those that were declared together are one global, with the messages of each from the first place on. Behind the
//! last message are defaults, so that equal contents are equal states.
//!
//! A variable of type `chan` holds a number; what is done to it is written out for all channels that it may mean.

use crate::ast::{Expr as Tree, ExprKind as Kind, Lvalue, Taking, Ty};
use crate::graph::Meet;
use crate::lower::*;
use crate::refusal::{Result, unsupported, wrong};
use fabius_lang::build::*;
use fabius_lang::program::*;
use fabius_trace::Span;

/// Most messages that a channel has room for.
pub const MOST_ROOM: i64 = 255;

/// Fields of a channel.
const ITEMS: usize = 0;
const SIZE: usize = 1;

/// A channel that may be meant, and when it is.
pub struct Meant {
    pub when: Option<Expr>,
    pub place: Place,
    pub group: Group,
}

/// An operation of a channel: when it can be done, and what it does.
pub struct Operation {
    pub guard: Expr,
    pub effect: Block,
    pub meet: Option<Meet>,
}

/// One field of what is received.
enum Slot {
    Bind(Typed),
    Match(Expr),
    Drop,
}

impl Lower {
    /// Declares channels: the group, and the place of its number in the text.
    pub fn declare_channels(
        &mut self,
        name: &str,
        count: u32,
        several: bool,
        room: i64,
        fields: &[Ty],
        span: Span,
    ) -> Result<usize> {
        if !(0..=MOST_ROOM).contains(&room) {
            return Err(wrong(span, format!("a channel has room for 0 to {MOST_ROOM} messages")));
        }
        let fields = self.spread_fields(fields, span)?;
        let types = fields.iter().map(|ty| self.core(ty, span)).collect::<Result<Vec<Type>>>()?;
        let message = match types.as_slice() {
            [one] => one.clone(),
            _ => {
                let named = types.iter().enumerate().map(|(n, ty)| (format!("m{}", n + 1), ty.clone()));
                Type::Record(self.record("message", named.collect()))
            }
        };
        let (hands_over, room) = (room == 0, room.max(1) as u32);
        let items = ("items".to_string(), array(message.clone(), room));
        let size = ("size".to_string(), Type::Range(0, room.into()));
        let record = self.record("channel", vec![items, size]);
        let ty = if several { array(Type::Record(record), count) } else { Type::Record(record) };
        let init = ty.default_value(&self.records);
        let global = self.globals.len();
        self.globals.push(Global { name: name.into(), ty, init, class: Class::Sync, per_thread: false, span });
        let first = self.groups.last().map_or(1, |g| g.first + i64::from(g.count));
        if first + i64::from(count) > 256 {
            return Err(unsupported(span, "more than 255 channels"));
        }
        self.groups.push(Group { global, first, count, several, room, hands_over, fields, types, message, record });
        Ok(self.groups.len() - 1)
    }

    fn record(&mut self, name: &str, fields: Vec<(String, Type)>) -> RecordId {
        let field = |(name, ty): (String, Type)| {
            let init = ty.default_value(&self.records);
            Field { name, ty, init, class: Class::Sync }
        };
        let fields = fields.into_iter().map(field).collect();
        self.records.push(Record { name: name.into(), fields, kind: RecordKind::Plain });
        self.records.len() - 1
    }

    /// The number of a channel that was declared with its messages.
    pub fn channel_number(&mut self, channel: &Lvalue) -> Result<Expr> {
        let (name, index) = &channel.parts[0];
        let var = self.variable(name)?;
        let Some(own) = var.own else { return Err(wrong(channel.span, "no channel")) };
        let group = self.groups[own].clone();
        // One of the process itself has its number in a variable.
        if let Base::Local(id) = var.base {
            return Ok(read(local(id, BYTE, channel.span)));
        }
        let first = constant(group.first, INT, channel.span);
        match index {
            None if var.len.is_none() => Ok(cast(first, &BYTE)),
            Some(index) if var.len.is_some() => {
                let index = self.number(index)?;
                Ok(cast(binary(BinaryOp::Add, index, first), &BYTE))
            }
            _ => Err(wrong(channel.span, "one channel is meant: with an index if, and only if, it is an array")),
        }
    }

    /// The channels that may be meant; of messages of so many fields, if that is known.
    fn meant(&mut self, channel: &Lvalue, fields: Option<usize>) -> Result<Vec<Meant>> {
        let (name, index) = &channel.parts[0];
        let var = self.variable(name)?;
        let span = channel.span;
        let of_group = |group: &Group| global(group.global, Type::Record(group.record), span);
        if let (Some(own), Base::Global(_)) = (var.own, &var.base) {
            let group = self.groups[own].clone();
            let mut place = of_group(&group);
            match index {
                Some(index) if group.several => place.path.push(element(self.number(index)?, group.count)),
                None if !group.several => {}
                _ => return Err(wrong(span, "one channel is meant: with an index if, and only if, it is an array")),
            }
            if fields.is_some_and(|n| n != group.fields.len()) {
                return Err(wrong(span, format!("messages of `{}` have {} fields", name.text, group.fields.len())));
            }
            return Ok(vec![Meant { when: None, place, group }]);
        }
        let number = match var.own {
            Some(_) => self.channel_number(channel)?,
            None => {
                let at = self.place(channel)?;
                if at.ty != Ty::Chan {
                    return Err(wrong(span, "no channel"));
                }
                read(at.place)
            }
        };
        let number = self.as_number(number);
        let groups: Vec<Group> = match var.own {
            Some(own) => vec![self.groups[own].clone()],
            None => self.groups.iter().filter(|g| fields.is_none_or(|n| n == g.fields.len())).cloned().collect(),
        };
        if groups.is_empty() {
            return Err(wrong(span, "no channel has such messages"));
        }
        Ok(groups
            .into_iter()
            .map(|group| {
                let at = |n: i64| constant(n, INT, span);
                let lower = binary(BinaryOp::Ge, number.clone(), at(group.first));
                let upper = binary(BinaryOp::Lt, number.clone(), at(group.first + i64::from(group.count)));
                let mut place = of_group(&group);
                if group.several {
                    place.path.push(element(binary(BinaryOp::Sub, number.clone(), at(group.first)), group.count));
                }
                Meant { when: Some(and(lower, upper)), place, group }
            })
            .collect())
    }

    /// What is true of whichever channel is meant. An operation of none is let go on, into the error.
    fn of_meant(&self, meant: &[Meant], span: Span, f: impl Fn(&Meant) -> Expr) -> Expr {
        let none = |ty: &Type| if *ty == Type::Bool { boolean(true, span) } else { constant(0, ty.clone(), span) };
        meant
            .iter()
            .rev()
            .fold(None, |rest: Option<Expr>, m| {
                let this = f(m);
                Some(match (&m.when, rest) {
                    (None, _) => this,
                    (Some(when), rest) => {
                        let rest = rest.unwrap_or_else(|| none(&this.ty));
                        if_else(when.clone(), this, rest)
                    }
                })
            })
            .unwrap_or_else(|| boolean(true, span))
    }

    fn do_meant(&self, meant: &[Meant], span: Span, mut f: impl FnMut(&Meant) -> Block) -> Block {
        let said = Some("the channel has not been made".to_string());
        let mut rest = vec![stmt(StmtKind::Assert(boolean(false, span), Check::Assertion, said), span)];
        for m in meant.iter().rev() {
            rest = match &m.when {
                None => f(m),
                Some(when) => vec![stmt(StmtKind::If(Guard::Expr(when.clone()), f(m), rest), Span::default())],
            };
        }
        rest
    }

    /// `len`, `empty`, `nempty`, `full`, `nfull`.
    pub fn of_channel(&mut self, what: &str, channel: &Lvalue, span: Span) -> Result<Expr> {
        let meant = self.meant(channel, None)?;
        if meant.iter().any(|m| m.group.hands_over) {
            return Err(unsupported(span, "a look at a channel without room"));
        }
        let compare = |op, m: &Meant, n: u32| binary(op, size(m, span), constant(n.into(), size_type(m), span));
        Ok(self.of_meant(&meant, span, |m| match what {
            "len" => cast(size(m, span), &INT),
            "empty" => compare(BinaryOp::Eq, m, 0),
            "nempty" => compare(BinaryOp::Ne, m, 0),
            "full" => compare(BinaryOp::Eq, m, m.group.room),
            _ => compare(BinaryOp::Ne, m, m.group.room),
        }))
    }

    /// `c!a,b` and `c!!a,b`.
    pub fn send(&mut self, channel: &Lvalue, sorted: bool, args: &[Tree], span: Span) -> Result<Operation> {
        let args = &self.spread(args);
        let meant = self.meant(channel, Some(args.len()))?;
        let values = args.iter().map(|e| self.expr(e)).collect::<Result<Vec<Expr>>>()?;
        let guard = self.of_meant(&meant, span, |m| {
            binary(BinaryOp::Lt, size(m, span), constant(m.group.room.into(), size_type(m), span))
        });
        let mut effects = Vec::new();
        for m in &meant {
            effects.push(self.put(m, sorted, &values, span)?);
        }
        let mut effects = effects.into_iter().rev();
        let effect = self.do_meant(&meant, span, |_| effects.next().unwrap_or_default());
        let meet = match self.hands_over(&meant, span)? {
            true => {
                let fields = meant[0].group.fields.clone();
                let fitted = values.into_iter().zip(&fields).map(|(value, ty)| self.fitted(value, ty, false));
                let values = fitted.collect::<Result<Vec<Expr>>>()?;
                Some(Meet::Send { channel: self.number_of(channel)?, values })
            }
            false => None,
        };
        Ok(Operation { guard, effect, meet })
    }

    /// Whether messages are handed over, by all channels that may be meant.
    fn hands_over(&self, meant: &[Meant], span: Span) -> Result<bool> {
        let count = meant.iter().filter(|m| m.group.hands_over).count();
        if count > 0 && count < meant.len() {
            return Err(unsupported(span, "a channel that may be one with room or one without")
                .help("give channels with messages of the same number of fields room, or none"));
        }
        if count > 0 && self.body.d_step > 0 {
            return Err(unsupported(span, "a channel without room inside of `d_step`").help("write `atomic`"));
        }
        Ok(count > 0)
    }

    /// The number of the channel that is meant.
    fn number_of(&mut self, channel: &Lvalue) -> Result<Expr> {
        match self.variable(&channel.parts[0].0)?.own {
            Some(_) => self.channel_number(channel),
            None => Ok(read(self.place(channel)?.place)),
        }
    }

    fn put(&mut self, m: &Meant, sorted: bool, values: &[Expr], span: Span) -> Result<Block> {
        let mut fields = Vec::new();
        for (value, ty) in values.iter().zip(&m.group.fields) {
            fields.push(self.fitted(value.clone(), ty, false)?);
        }
        let message = m.group.message.clone();
        let size_now = size(m, span);
        let whole = match fields.as_slice() {
            [one] => one.clone(),
            _ => Expr { kind: ExprKind::Tuple(fields.clone()), ty: message, span },
        };
        let one = constant(1, Type::Int, span);
        let more = assign(size_place(m, span), binary(BinaryOp::Add, size_now.clone(), one), span);
        if !sorted {
            return Ok(vec![assign(item(m, size_now), whole, span), more]);
        }
        // What is greater moves on by one place, from the end.
        let slot = self.local("$slot", Type::Range(0, m.group.room.into()));
        let at = || read(local(slot, Type::Range(0, m.group.room.into()), span));
        let number = |n: i64| constant(n, at().ty, span);
        let before = binary(BinaryOp::Sub, at(), constant(1, Type::Int, span));
        let down = local(slot, at().ty, span);
        let moved =
            vec![assign(item(m, at()), read(item(m, before.clone())), span), assign(down.clone(), before, span)];
        let first_greater = and(binary(BinaryOp::Gt, at(), number(0)), self.some_greater(m, &fields, &at(), span));
        Ok(vec![
            assign(down, size_now, span),
            stmt(StmtKind::While(Guard::Expr(first_greater), moved), span),
            assign(item(m, at()), whole, span),
            more,
        ])
    }

    /// Whether a message in front of a place is greater than one of these fields: SPIN puts it in front of the first greater one.
    fn some_greater(&self, m: &Meant, fields: &[Expr], end: &Expr, span: Span) -> Expr {
        let mut any = boolean(false, span);
        for place in (0..m.group.room).rev() {
            let index = constant(place.into(), Type::Int, span);
            let mut greater = boolean(false, span);
            for (n, ours) in fields.iter().enumerate().rev() {
                let theirs = self.as_number(read(field_of(m, index.clone(), n)));
                let ours = self.as_number(ours.clone());
                let equal = binary(BinaryOp::Eq, theirs.clone(), ours.clone());
                greater = or(binary(BinaryOp::Gt, theirs, ours), and(equal, greater));
            }
            let in_front = binary(BinaryOp::Lt, index, cast(end.clone(), &Type::Int));
            any = or(and(in_front, greater), any);
        }
        any
    }

    fn slots(&mut self, args: &[Tree]) -> Result<Vec<Slot>> {
        args.iter()
            .map(|e| match &e.kind {
                Kind::Read(place) => {
                    let (name, _) = &place.parts[0];
                    let known = self.body.scopes.iter().any(|s| s.contains_key(&name.text))
                        || self.names.contains_key(&name.text);
                    match name.text.as_str() {
                        "_" => Ok(Slot::Drop),
                        other if !known && self.mtypes.contains_key(other) => Ok(Slot::Match(self.expr(e)?)),
                        _ => Ok(Slot::Bind(self.place(place)?)),
                    }
                }
                Kind::Unary("eval", inner) => Ok(Slot::Match(self.expr(inner)?)),
                _ => {
                    let value = self.expr(e)?;
                    if value_of(&value).is_none() {
                        return Err(wrong(e.span, "a variable, a constant or `eval(..)` is received"));
                    }
                    Ok(Slot::Match(value))
                }
            })
            .collect()
    }

    /// Whether the message at a place has what is asked for.
    fn fits(&self, m: &Meant, index: &Expr, slots: &[Slot], span: Span) -> Expr {
        slots.iter().enumerate().fold(boolean(true, span), |all, (n, slot)| match slot {
            Slot::Match(wanted) => {
                let is = read(field_of(m, index.clone(), n));
                let same = if is.ty == wanted.ty {
                    binary(BinaryOp::Eq, is, wanted.clone())
                } else {
                    binary(BinaryOp::Eq, self.as_number(is), self.as_number(wanted.clone()))
                };
                and(all, same)
            }
            _ => all,
        })
    }

    /// Whether a message can be taken.
    fn can_take(&self, meant: &[Meant], any: bool, slots: &[Slot], span: Span) -> Expr {
        self.of_meant(meant, span, |m| {
            let at = |n: u32| {
                let is_there = binary(BinaryOp::Gt, size(m, span), constant(n.into(), size_type(m), span));
                and(is_there, self.fits(m, &constant(n.into(), Type::Int, span), slots, span))
            };
            let places = if any { m.group.room } else { 1 };
            (0..places).map(at).reduce(or).unwrap_or_else(|| boolean(false, span))
        })
    }

    /// `c?[..]`, `c??[..]`.
    pub fn poll(&mut self, channel: &Lvalue, any: bool, args: &[Tree], span: Span) -> Result<Expr> {
        let args = &self.spread(args);
        let meant = self.meant(channel, Some(args.len()))?;
        let slots = self.slots(args)?;
        if self.hands_over(&meant, span)? {
            return Err(unsupported(span, "a look at a channel without room"));
        }
        Ok(self.can_take(&meant, any, &slots, span))
    }

    /// `c?x,y`, `c??x,y`, `c?<x,y>`.
    pub fn receive(&mut self, channel: &Lvalue, taking: Taking, args: &[Tree], span: Span) -> Result<Operation> {
        let args = &self.spread(args);
        let meant = self.meant(channel, Some(args.len()))?;
        let slots = self.slots(args)?;
        let guard = self.can_take(&meant, taking.any, &slots, span);
        let mut effects = Vec::new();
        for m in &meant {
            effects.push(self.taken(m, taking, &slots, span)?);
        }
        let mut effects = effects.into_iter().rev();
        let effect = self.do_meant(&meant, span, |_| effects.next().unwrap_or_default());
        let meet = match self.hands_over(&meant, span)? {
            true if taking != (Taking { any: false, stays: false }) => {
                return Err(unsupported(span, "a channel without room").help("receive with `c?x`"));
            }
            true => {
                let wanted = slots.iter().map(|slot| match slot {
                    Slot::Match(e) => Some(e.clone()),
                    _ => None,
                });
                Some(Meet::Receive { channel: self.number_of(channel)?, wanted: wanted.collect() })
            }
            false => None,
        };
        Ok(Operation { guard, effect, meet })
    }

    fn taken(&mut self, m: &Meant, taking: Taking, slots: &[Slot], span: Span) -> Result<Block> {
        let mut out = Block::new();
        let mut index = constant(0, Type::Int, span);
        if taking.any {
            // The first that fits.
            let ty = Type::Range(0, m.group.room.into());
            let slot = self.local("$slot", ty.clone());
            let number = |n: u32| constant(n.into(), ty.clone(), span);
            let first = (0..m.group.room - 1).rev().fold(number(m.group.room - 1), |rest, n| {
                if_else(self.fits(m, &constant(n.into(), Type::Int, span), slots, span), number(n), rest)
            });
            out.push(assign(local(slot, ty.clone(), span), first, span));
            index = read(local(slot, ty, span));
        }
        for (n, slot) in slots.iter().enumerate() {
            if let Slot::Bind(to) = slot {
                let value = read(field_of(m, index.clone(), n));
                let value = self.fitted(value, &to.ty, to.element)?;
                out.push(assign(to.place.clone(), value, span));
            }
        }
        if taking.stays {
            return Ok(out);
        }
        let (message, room) = (m.group.message.clone(), m.group.room);
        let behind = |n: u32| read(item(m, constant((n + 1).into(), Type::Int, span)));
        let default = message.default_value(&self.records);
        let default = Expr { kind: ExprKind::Const(default), ty: message.clone(), span };
        if !taking.any {
            let mut all: Vec<Expr> = (0..room - 1).map(behind).collect();
            all.push(default);
            let whole = Expr { kind: ExprKind::Tuple(all), ty: array(message, room), span };
            let items = part(&m.place, Projection::Field(ITEMS), whole.ty.clone());
            out.push(assign(items, whole, span));
        } else {
            for n in 0..room - 1 {
                let moves = binary(BinaryOp::Le, cast(index.clone(), &Type::Int), constant(n.into(), Type::Int, span));
                let moved = vec![assign(item(m, constant(n.into(), Type::Int, span)), behind(n), span)];
                out.push(stmt(StmtKind::If(Guard::Expr(moves), moved, Block::new()), Span::default()));
            }
            out.push(assign(item(m, constant((room - 1).into(), Type::Int, span)), default, span));
        }
        let less = binary(BinaryOp::Sub, size(m, span), constant(1, Type::Int, span));
        out.push(assign(size_place(m, span), less, span));
        Ok(out)
    }
}

fn size_type(m: &Meant) -> Type {
    Type::Range(0, m.group.room.into())
}

fn size_place(m: &Meant, span: Span) -> Place {
    let mut place = part(&m.place, Projection::Field(SIZE), size_type(m));
    place.span = span;
    place
}

fn size(m: &Meant, span: Span) -> Expr {
    read(size_place(m, span))
}

fn item(m: &Meant, index: Expr) -> Place {
    let message = m.group.message.clone();
    let items = part(&m.place, Projection::Field(ITEMS), array(message.clone(), m.group.room));
    part(&items, element(index, m.group.room), message)
}

fn field_of(m: &Meant, index: Expr, n: usize) -> Place {
    let item = item(m, index);
    match m.group.fields.len() {
        1 => item,
        _ => part(&item, Projection::Field(n), m.group.types[n].clone()),
    }
}
