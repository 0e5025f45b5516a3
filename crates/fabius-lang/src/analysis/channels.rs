//! Channels: records with a place for each message, and what is done to them.
//!
//! Messages stand in order from the first place on, and behind the last one are defaults, so that equal contents are equal
//! states. A channel without room has one place for what is offered, and says how far the handing over has come.

use super::checker::{Channel, Checker, has_library_object, report};
use super::constant::constant;
use super::declare::Declarations;
use super::names::count;
use crate::diagnostic::Diagnostic;
use crate::program::*;
use crate::syntax::ast::{self, ChannelKind};
use fabius_trace::Span;

/// Most messages that a channel has room for: the state has all of them.
const MOST_PLACES: u32 = 1000;

/// Fields of a channel: the messages, and how many there are (without room: how far the handing over has come).
const ITEMS: usize = 0;
const SIZE: usize = 1;

/// How far the handing over has come.
const NOTHING: i64 = 0;
const OFFERED: i64 = 1;
const TAKEN: i64 = 2;

fn fields(element: &Type, room: u32, records: &[Record]) -> Vec<Field> {
    let field = |name: &str, ty: Type| {
        let init = ty.default_value(records);
        Field { name: name.into(), ty, init, class: Class::Sync }
    };
    let array = |len| Type::Array { index: Type::Int.into(), lo: 0, len, element: element.clone().into() };
    match room {
        0 => vec![field("offer", element.clone()), field("stage", Type::Range(NOTHING, TAKEN))],
        _ => vec![field("items", array(room)), field("size", Type::Range(0, room.into()))],
    }
}

/// A channel operation that may have to wait: the condition, and what is done when it holds, in the same step.
pub(super) struct Operation {
    pub(super) condition: Expr,
    pub(super) effect: Block,
    /// What it results in.
    pub(super) values: Vec<Expr>,
}

impl Declarations<'_> {
    /// The type of a channel, or of an array of them.
    pub(super) fn channel(
        &mut self,
        count: Option<&ast::Expr>,
        element: &ast::Type,
        places: &ast::Expr,
        kinds: &[ChannelKind],
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Type> {
        let mut checker = Checker::of_constants(&self.cx, diagnostics);
        let typed = checker.ty(element);
        let n = checker.integer(places);
        let copies = count.map(|e| (e, checker.integer(e)));
        let (typed, n) = (typed?, n?);
        if has_library_object(&typed, &self.cx) {
            let shown = checker.show(&typed);
            let message = format!("a `{shown}` cannot be sent");
            checker.error("E0408", element.span, message, "only its operations may be called");
            return None;
        }
        let room = u32::try_from(n).ok().filter(|n| *n <= MOST_PLACES);
        let Some(room) = room else {
            let message = format!("a channel has room for 0 to {MOST_PLACES} messages");
            report(diagnostics, "E0307", places.span, message, "out of bounds");
            return None;
        };
        if let (0, Some(kind)) = (room, kinds.first()) {
            let message = format!("a channel without room cannot be {}", kind.word());
            report(diagnostics, "E0307", places.span, message, "hands over").help =
                Some("give it room for some messages: `channel c: int[2] lossy;`".into());
            return None;
        }
        let fields = fields(&typed, room, &self.cx.records);
        let id = self.cx.records.len();
        self.cx.records.push(Record { name: "channel".into(), fields, kind: RecordKind::Plain });
        self.cx.channels.insert(id, Channel { element: typed, room, kinds: kinds.to_vec() });
        let ty = match copies {
            None => Type::Record(id),
            Some((e, n)) => match n? {
                len @ 1..=1000 => {
                    Type::Array { index: Type::Int.into(), lo: 0, len: len as u32, element: Type::Record(id).into() }
                }
                _ => {
                    report(diagnostics, "E0307", e.span, "between 1 and 1000 channels", "out of bounds");
                    return None;
                }
            },
        };
        Checker::of_constants(&self.cx, diagnostics).check_size(&ty, element.span).then_some(ty)
    }
}

impl Checker<'_> {
    fn channel(&self, place: &Place) -> (Type, u32) {
        let Type::Record(r) = place.ty else { unreachable!("a channel is a record") };
        let channel = &self.cx.channels[&r];
        (channel.element.clone(), channel.room)
    }

    fn is(&self, place: &Place, kind: ChannelKind) -> bool {
        matches!(place.ty, Type::Record(r) if self.cx.channels[&r].kinds.contains(&kind))
    }

    /// The message that is received next; of none the default.
    pub(super) fn first_message(&mut self, place: &Place, span: Span, at: Span) -> Option<Expr> {
        let (element, room) = self.channel(place);
        if self.is(place, ChannelKind::Unordered) {
            self.error("E0206", span, "no message of an unordered channel is the first", "any may be next");
            return None;
        }
        let items = part(place, ITEMS, self.items_type(&element, room));
        Some(match room {
            0 => {
                let stage = read(part(place, SIZE, self.size_type(room)), at);
                let none = constant(element.default_value(&self.cx.records), &element, at);
                let offered = compare(BinaryOp::Eq, stage, OFFERED, at);
                let kind = ExprKind::IfElse(offered.into(), read(items, at).into(), none.into());
                Expr { kind, ty: element, span: at }
            }
            // Behind the last message are defaults.
            _ => read(element_of(&items, number(0, at), room, &element), at),
        })
    }

    /// How many messages there are.
    pub(super) fn messages(&self, place: &Place, at: Span) -> Expr {
        let (_, room) = self.channel(place);
        let size = read(part(place, SIZE, self.size_type(room)), at);
        match room {
            0 => {
                let one = |n| Box::new(number(n, at));
                let offered = compare(BinaryOp::Eq, size, OFFERED, at);
                Expr { kind: ExprKind::IfElse(offered.into(), one(1), one(0)), ty: Type::Int, span: at }
            }
            _ => size,
        }
    }

    fn size_type(&self, room: u32) -> Type {
        Type::Range(0, if room == 0 { TAKEN } else { room.into() })
    }

    /// An operation as a statement or on a right-hand side: its results.
    pub(super) fn channel_operation(
        &mut self,
        place: Place,
        name: &ast::Name,
        args: &[ast::Expr],
        span: Span,
    ) -> Option<Vec<Expr>> {
        let place = self.reduce_place(place);
        let (element, room) = self.channel(&place);
        let at = self.at(span);
        match name.node.as_str() {
            "send" | "receive" => {
                let operation = self.channel_wait(&place, name, args, span)?;
                if name.node == "send" && self.is(&place, ChannelKind::Lossy) {
                    self.in_one_go(operation.effect, span);
                    return Some(operation.values);
                }
                if name.node == "send" && room == 0 {
                    self.needs_others("`send` to a channel without room", span);
                }
                self.when_it_holds(operation.condition, operation.effect, span);
                if name.node == "send" && room == 0 {
                    // Until somebody has taken it.
                    let stage = part(&place, SIZE, self.size_type(0));
                    let taken = compare(BinaryOp::Eq, read(stage.clone(), at), TAKEN, at);
                    self.when_it_holds(taken, vec![set(stage, number(NOTHING, at), at)], span);
                }
                Some(operation.values)
            }
            "try_send" if self.is(&place, ChannelKind::Lossy) => {
                let message = "sending to a lossy channel never waits";
                self.error("E0206", name.span, message, "always succeeds").help = Some("write `send`".into());
                None
            }
            "try_send" | "try_receive" if !(room == 0 && name.node == "try_send") => {
                let waits = ast::Name { node: name.node["try_".len()..].into(), span: name.span };
                let ok = self.temporary(&Type::Bool);
                let mut operation = self.channel_wait(&place, &waits, args, span)?;
                let done = set(self.local_place(ok, at), constant(Value::Int(1), &Type::Bool, at), at);
                operation.effect.insert(0, done);
                let perhaps = StmtKind::If(Guard::Expr(operation.condition), operation.effect, Block::new());
                let perhaps = Stmt { kind: perhaps, access: Access::Local, span: at };
                let not_yet = set(self.local_place(ok, at), constant(Value::Int(0), &Type::Bool, at), at);
                self.out.push(not_yet);
                if self.in_atomic() {
                    self.out.push(perhaps);
                } else {
                    self.push(StmtKind::Atomic(vec![perhaps]), span);
                }
                let mut values = vec![self.read_local(ok, at)];
                values.extend(operation.values);
                Some(values)
            }
            _ => {
                let shown = self.show(&element);
                let message = format!("a channel of `{shown}` has no operation `{}`", name.node);
                let known = match room {
                    0 => "`send`, `receive`, `try_receive`; with room for a message `try_send`, too",
                    _ => "`send`, `receive`, `try_send`, `try_receive`",
                };
                self.error("E0206", name.span, message, "unknown operation").help =
                    Some(format!("its operations are {known}; `len(c)` says how many messages there are"));
                None
            }
        }
    }

    /// What `send` and `receive` wait for, and what they do then. What is sent is known from now on.
    pub(super) fn channel_wait(
        &mut self,
        place: &Place,
        name: &ast::Name,
        args: &[ast::Expr],
        span: Span,
    ) -> Option<Operation> {
        let (element, room) = self.channel(place);
        let at = self.at(span);
        let wanted = usize::from(name.node == "send");
        let typed: Vec<_> = args.iter().map(|a| self.expr_of(a, &element)).collect();
        if args.len() != wanted {
            let message = format!("`{}` wants {}", name.node, count(wanted, "argument"));
            self.error("E0303", name.span, message, format!("{} given", args.len()));
            return None;
        }
        let (ty, size_ty) = (self.items_type(&element, room), self.size_type(room));
        let items = part(place, ITEMS, ty.clone());
        let size = part(place, SIZE, size_ty);
        let how_many = || read(size.clone(), at);
        let Some(message) = typed.into_iter().next() else {
            let id = self.temporary(&element);
            let kept = self.local_place(id, at);
            let (condition, effect) = match room {
                0 => {
                    let none = Expr { kind: ExprKind::Const(element.default_value(&self.cx.records)), ty, span: at };
                    let take = set(kept, read(items.clone(), at), at);
                    let effect = vec![take, set(items, none, at), set(size.clone(), number(TAKEN, at), at)];
                    (compare(BinaryOp::Eq, how_many(), OFFERED, at), effect)
                }
                _ => {
                    let nth = |n: i64| element_of(&items, number(n, at), room, &element);
                    let none = Expr {
                        kind: ExprKind::Const(element.default_value(&self.cx.records)),
                        ty: element.clone(),
                        span: at,
                    };
                    let next = |n: i64| if n == i64::from(room) { none.clone() } else { read(nth(n), at) };
                    let less = add(how_many(), -1, at);
                    let (mut effect, mut first) = (Block::new(), number(0, at));
                    let mut moved: Vec<Expr> = (1..=i64::from(room)).map(next).collect();
                    if self.is(place, ChannelKind::Unordered) {
                        let which = self.temporary(&Type::Range(0, i64::from(room) - 1));
                        let choice = StmtKind::Any(self.local_place(which, at), number(0, at), less.clone());
                        effect.push(Stmt { kind: choice, access: Access::Local, span: at });
                        first = self.read_local(which, at);
                        // Those in front of it stay.
                        moved = (0..)
                            .zip(moved)
                            .map(|(n, later)| {
                                let stays = compare(BinaryOp::Gt, first.clone(), n, at);
                                let kind = ExprKind::IfElse(stays.into(), read(nth(n), at).into(), later.into());
                                Expr { kind, ty: element.clone(), span: at }
                            })
                            .collect();
                    }
                    let moved = Expr { kind: ExprKind::Tuple(moved), ty, span: at };
                    let taken = element_of(&items, first, room, &element);
                    effect.extend([
                        set(kept, read(taken, at), at),
                        set(items.clone(), moved, at),
                        set(size.clone(), less, at),
                    ]);
                    (compare(BinaryOp::Gt, how_many(), 0, at), effect)
                }
            };
            return Some(Operation { condition, effect, values: vec![self.read_local(id, at)] });
        };
        let message = message?;
        let lossy = self.is(place, ChannelKind::Lossy);
        // What is lost is evaluated, too.
        let message = if self.in_atomic() && !lossy { message } else { self.hold(message, span) };
        Some(match room {
            0 => Operation {
                condition: compare(BinaryOp::Eq, how_many(), NOTHING, at),
                effect: vec![set(items, message, at), set(size.clone(), number(OFFERED, at), at)],
                values: Vec::new(),
            },
            _ => {
                let has_room = compare(BinaryOp::Lt, how_many(), room.into(), at);
                let effect = vec![
                    set(element_of(&items, how_many(), room, &element), message, at),
                    set(size.clone(), add(how_many(), 1, at), at),
                ];
                if !lossy {
                    return Some(Operation { condition: has_room, effect, values: Vec::new() });
                }
                let stmt = |kind| Stmt { kind, access: Access::Local, span: at };
                let kept = stmt(StmtKind::If(Guard::Star, effect, Block::new()));
                let effect = vec![stmt(StmtKind::If(Guard::Expr(has_room), vec![kept], Block::new()))];
                let condition = constant(Value::Int(1), &Type::Bool, at);
                Operation { condition, effect, values: Vec::new() }
            }
        })
    }

    fn items_type(&self, element: &Type, room: u32) -> Type {
        match room {
            0 => element.clone(),
            len => Type::Array { index: Type::Int.into(), lo: 0, len, element: element.clone().into() },
        }
    }

    /// Waits for a condition and does something, in one step.
    pub(super) fn when_it_holds(&mut self, condition: Expr, effect: Block, span: Span) {
        let wait = Stmt { kind: StmtKind::Await(condition), access: Access::Local, span: self.at(span) };
        self.in_one_go(std::iter::once(wait).chain(effect).collect(), span);
    }

    pub(super) fn in_one_go(&mut self, block: Block, span: Span) {
        if self.in_atomic() {
            self.out.extend(block);
        } else {
            self.push(StmtKind::Atomic(block), span);
        }
    }
}

pub(super) fn number(n: i64, at: Span) -> Expr {
    constant(Value::Int(n), &Type::Int, at)
}

pub(super) fn read(place: Place, span: Span) -> Expr {
    Expr { ty: place.ty.clone(), kind: ExprKind::Read(Place { span, ..place }), span }
}

pub(super) fn set(place: Place, value: Expr, span: Span) -> Stmt {
    Stmt { kind: StmtKind::Assign(place, value), access: Access::Local, span }
}

pub(super) fn compare(op: BinaryOp, left: Expr, right: i64, at: Span) -> Expr {
    Expr { kind: ExprKind::Binary(op, left.into(), number(right, at).into()), ty: Type::Bool, span: at }
}

pub(super) fn add(left: Expr, right: i64, at: Span) -> Expr {
    Expr { kind: ExprKind::Binary(BinaryOp::Add, left.into(), number(right, at).into()), ty: Type::Int, span: at }
}

pub(super) fn part(place: &Place, field: usize, ty: Type) -> Place {
    let mut place = Place { ty, ..place.clone() };
    place.path.push(Projection::Field(field));
    place
}

fn element_of(items: &Place, index: Expr, room: u32, element: &Type) -> Place {
    let mut place = Place { ty: element.clone(), ..items.clone() };
    place.path.push(Projection::Index { index: index.into(), lo: 0, len: room });
    place
}
