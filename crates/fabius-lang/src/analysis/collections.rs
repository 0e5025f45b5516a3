//! Sets, bags and sequences: records that say how many elements there are and which, and what is done to them.
//!
//! A set has a Boolean for each value, a bag a count, a sequence its elements in order and defaults behind them: equal
//! contents are equal values. What an operation does is one step, and what it takes is known before.

use super::channels::{add, compare, number, part, read, set};
use super::checker::{Checker, Collection, has_library_object, report};
use super::constant::{constant, evaluate};
use super::declare::Declarations;
use super::names::count;
use crate::diagnostic::Diagnostic;
use crate::program::*;
use crate::syntax::ast::{self, Collection as Kind};
use fabius_trace::Span;

/// Most values that elements of sets and bags may have, and most elements of bags and sequences.
const MOST: i64 = 1 << 10;

/// Fields: what says which elements there are, and how many.
pub(super) const ITEMS: usize = 0;
pub(super) const SIZE: usize = 1;

impl Collection {
    pub(super) fn items(&self) -> Type {
        let (index, element) = match self.kind {
            Kind::Set => (self.element.clone(), Type::Bool),
            Kind::Bag => (self.element.clone(), Type::Range(0, self.room)),
            Kind::Sequence => (Type::Int, self.element.clone()),
        };
        Type::Array { index: index.into(), lo: self.lo, len: self.len, element: element.into() }
    }

    pub(super) fn size(&self) -> Type {
        Type::Range(0, self.room)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = i64> + use<> {
        self.lo..self.lo + i64::from(self.len)
    }

    fn record_kind(&self) -> RecordKind {
        match self.kind {
            Kind::Set => RecordKind::Set,
            Kind::Bag => RecordKind::Bag,
            Kind::Sequence => RecordKind::Sequence,
        }
    }
}

impl Declarations<'_> {
    /// Makes a record for each type of collection. The first values of their fields are not known yet.
    pub(super) fn collections(&mut self, file: &ast::File, diagnostics: &mut Vec<Diagnostic>) {
        for ty in &file.collections {
            let made = self.collection(ty, diagnostics).map(|(name, made)| {
                let known = self.cx.collections.iter().find(|(_, known)| **known == made).map(|(id, _)| *id);
                known.unwrap_or_else(|| {
                    let field =
                        |name: &str, ty| Field { name: name.into(), ty, init: Value::Int(0), class: Class::Data };
                    let fields = vec![field("items", made.items()), field("size", made.size())];
                    let id = self.cx.records.len();
                    self.cx.records.push(Record { name, fields, kind: made.record_kind() });
                    self.cx.collections.insert(id, made);
                    id
                })
            });
            self.cx.collections_at.insert(ty.span, made);
        }
    }

    fn collection(&self, ty: &ast::Type, diagnostics: &mut Vec<Diagnostic>) -> Option<(String, Collection)> {
        let ast::TypeKind::Collection(kind, element, room) = &ty.node else { return None };
        let mut checker = Checker::of_constants(&self.cx, diagnostics);
        let of = checker.unsized_ty(element);
        let most = room.as_ref().map(|e| (e.span, checker.integer(e)));
        let of = of?;
        let shown = format!("{}[{}", kind.word(), checker.show(&of));
        let room = match most {
            None => None,
            Some((span, n)) => match n? {
                n @ 1..=MOST => Some(n),
                _ => {
                    let message = format!("a {} has room for 1 to {MOST} elements", kind.word());
                    report(diagnostics, "E0307", span, message, "out of bounds");
                    return None;
                }
            },
        };
        if *kind == Kind::Sequence {
            if has_library_object(&of, &self.cx) {
                let message = format!("a `{}` cannot be copied", checker.show(&of));
                checker.error("E0408", element.span, message, "only its operations may be called").help =
                    Some("take an array of them".into());
                return None;
            }
            let room = room?;
            let made = Collection { kind: *kind, element: of, lo: 0, len: room as u32, room };
            return Some((format!("{shown}; {room}]"), made));
        }
        match of.finite_range(&self.cx.enums) {
            Some((lo, hi)) if hi.saturating_sub(lo) < MOST => {
                let len = hi - lo + 1;
                let name = room.map_or(format!("{shown}]"), |room| format!("{shown}; {room}]"));
                Some((name, Collection { kind: *kind, element: of, lo, len: len as u32, room: room.unwrap_or(len) }))
            }
            _ => {
                let found = checker.show(&of);
                let message = format!("`{found}` cannot be the type of what is in a {}", kind.word());
                checker.error("E0307", element.span, message, "needs a small finite type").help = Some(
                    "elements are `bool`, a range, an enum, or of 8 bits; threads are in a `thread_set`, others in a `seq[T; n]`"
                        .into(),
                );
                None
            }
        }
    }
}

/// One value for each element that there may be: when there is one, and how often.
pub(super) struct Member {
    pub(super) value: MemberValue,
    pub(super) is_there: Expr,
    /// `None`: once.
    pub(super) times: Option<Expr>,
}

/// What a member is.
pub(super) enum MemberValue {
    Is(Expr),
    At(Place),
}

impl Checker<'_> {
    /// What is known of a type, if it is one of collections.
    pub(super) fn collection_of(&self, ty: &Type) -> Option<&Collection> {
        match ty {
            Type::Record(r) => self.cx.collections.get(r),
            _ => None,
        }
    }

    /// A type of collections that occurs in the source.
    pub(super) fn collection_type(&mut self, t: &ast::Type) -> Option<Type> {
        match self.cx.collections_at.get(&t.span) {
            Some(known) => known.map(Type::Record),
            None => {
                self.error("E0203", t.span, "this type is not known yet", "has a record, or stands above one");
                None
            }
        }
    }

    /// `[a, b]` as a value of a collection.
    pub(super) fn collection_value(&mut self, items: &[ast::Expr], ty: &Type, span: Span) -> Option<Expr> {
        let known = self.collection_of(ty)?.clone();
        let at = self.at(span);
        let typed: Vec<_> = items.iter().map(|e| self.expr_of(e, &known.element)).collect();
        let typed: Vec<Expr> = typed.into_iter().collect::<Option<_>>()?;
        let mut size = typed.len() as i64;
        if size > known.room && known.kind != Kind::Set {
            let shown = self.show(ty);
            self.error("E0301", span, format!("a `{shown}` has room for {}", known.room), format!("{size} elements"));
            return None;
        }
        let mut parts = match known.items().default_value(&self.cx.records) {
            Value::Tuple(parts) => parts,
            Value::Int(_) => Vec::new(),
        };
        let values: Option<Vec<Value>> = typed.iter().map(|e| evaluate(e).ok()).collect();
        let Some(values) = values else {
            if known.kind != Kind::Sequence || self.constant {
                self.error(
                    "E0305",
                    span,
                    "the elements of this must be known before the program runs",
                    "not constant",
                )
                .help = Some("begin with `[]` and `insert` them".into());
                return None;
            }
            let rest = parts.split_off(typed.len()).into_iter().map(|v| constant(v, &known.element, at));
            let items = ExprKind::Tuple(typed.into_iter().chain(rest).collect());
            let items = Expr { kind: items, ty: known.items(), span: at };
            let kind = ExprKind::Tuple(vec![items, number(size, at)]);
            return Some(Expr { kind, ty: ty.clone(), span: at });
        };
        for (i, (value, item)) in values.into_iter().zip(items).enumerate() {
            let (Kind::Set | Kind::Bag, Value::Int(n)) = (known.kind, &value) else {
                parts[i] = value;
                continue;
            };
            let slot = usize::try_from(n - known.lo).ok().and_then(|n| parts.get_mut(n));
            let Some(Value::Int(times)) = slot else {
                let shown = self.show(&known.element);
                self.error("E0306", item.span, format!("{n} is not in {shown}"), "outside the range of the type");
                return None;
            };
            if known.kind == Kind::Set && *times == 1 {
                size -= 1;
            } else {
                *times += 1;
            }
        }
        let value = Value::Tuple(vec![Value::Tuple(parts), Value::Int(size)]);
        Some(constant(value, ty, at))
    }

    /// `len(s)`.
    pub(super) fn len_of_collection(&self, e: &Expr, at: Span) -> Option<Expr> {
        let known = self.collection_of(&e.ty)?;
        match &e.kind {
            ExprKind::Read(place) => Some(read(part(place, SIZE, known.size()), at)),
            ExprKind::Const(Value::Tuple(parts)) => {
                Some(Expr { kind: ExprKind::Const(parts[SIZE].clone()), ..number(0, at) })
            }
            _ => None,
        }
    }

    /// A collection that lives somewhere: what is none gets a temporary.
    fn stored(&mut self, e: Expr, span: Span) -> Option<Place> {
        match e.kind {
            ExprKind::Read(place) => Some(place),
            _ if self.constant || self.one_step && !matches!(e.kind, ExprKind::Const(_)) => {
                self.error("E0304", span, "this value is not stored anywhere", "not a variable").help =
                    Some("bind it first: `let t = ..;`".into());
                None
            }
            _ => match self.hold_whole(e, span).kind {
                ExprKind::Read(place) => Some(place),
                _ => None,
            },
        }
    }

    /// The value in a temporary.
    pub(super) fn hold_whole(&mut self, value: Expr, span: Span) -> Expr {
        let id = self.temporary(&value.ty);
        let place = self.local_place(id, self.at(span));
        self.store(place, value, span);
        self.read_local(id, self.at(span))
    }

    /// `s.contains(e)`, `s.is_empty()`, `b.count(e)`.
    pub(super) fn collection_query(
        &mut self,
        of: Expr,
        name: &ast::Name,
        args: &[ast::Expr],
        span: Span,
    ) -> Option<Expr> {
        let known = self.collection_of(&of.ty)?.clone();
        let at = self.at(span);
        let wanted = usize::from(name.node != "is_empty");
        if name.node == "count" && known.kind != Kind::Bag {
            return self.no_operation(&of.ty, name, known.kind);
        }
        let before = self.before;
        let typed: Vec<_> = args.iter().map(|a| self.expr_of(a, &known.element)).collect();
        if args.len() != wanted {
            let message = format!("`{}` wants {}", name.node, count(wanted, "argument"));
            self.error("E0303", name.span, message, format!("{} given", args.len()));
            return None;
        }
        if name.node == "is_empty" {
            let size = self.len_of_collection(&of, at)?;
            return Some(compare(BinaryOp::Eq, size, 0, at));
        }
        let asked = args.first().map_or(span, |a| a.span);
        let e = self.read_first(typed.into_iter().next()??, before, asked)?;
        self.before = before;
        let place = self.stored(of, span)?;
        if known.kind == Kind::Sequence {
            let place = self.looked_at(place, span)?;
            let items = part(&place, ITEMS, known.items());
            let unseen = unseen(at);
            let found = known.keys().map(|i| {
                let there = compare(BinaryOp::Gt, read(part(&place, SIZE, known.size()), unseen), i, at);
                let element = read(known.at(&items, number(i, at)), unseen);
                let same = binary(BinaryOp::Eq, element, e.clone(), Type::Bool, at);
                binary(BinaryOp::And, there, same, Type::Bool, at)
            });
            return found.reduce(|a, b| binary(BinaryOp::Or, a, b, Type::Bool, at));
        }
        let counted = name.node == "count";
        let seen = if known.kind == Kind::Bag && !counted { unseen(at) } else { at };
        let entry = read(known.at(&part(&place, ITEMS, known.items()), e.clone()), seen);
        let holds = match known.kind {
            Kind::Bag if !counted => compare(BinaryOp::Gt, entry, 0, at),
            _ => entry,
        };
        let Some(inside) = known.is_inside(&e, at) else { return Some(holds) };
        if counted {
            let kind = ExprKind::IfElse(inside.into(), holds.into(), number(0, at).into());
            return Some(Expr { kind, ty: Type::Int, span: at });
        }
        Some(binary(BinaryOp::And, inside, holds, Type::Bool, at))
    }

    /// The collection as it is in one step: outside of one, a copy.
    fn looked_at(&mut self, place: Place, span: Span) -> Option<Place> {
        let before = self.before;
        match self.read_first(read(place, self.at(span)), before, span)?.kind {
            ExprKind::Read(place) => Some(place),
            _ => None,
        }
    }

    /// `q[i]`.
    pub(super) fn element_of_sequence(&mut self, of: Expr, index: &ast::Expr, span: Span) -> Option<Expr> {
        let known = self.collection_of(&of.ty)?.clone();
        if known.kind != Kind::Sequence {
            let shown = self.show(&of.ty);
            let message = format!("the elements of a `{shown}` have no order");
            self.error("E0310", span, message, "not a sequence").help =
                Some("ask `s.contains(e)`, or take any of them: `let e = s.pick();`".into());
            return None;
        }
        let (at, before) = (self.at(span), self.before);
        let index = self.expr_of(index, &Type::Int)?;
        let index = self.read_first(index, before, span)?;
        self.before = before;
        let place = self.stored(of, span)?;
        let place = self.looked_at(place, span)?;
        let checked = known.checked(&place, index, at);
        Some(read(known.at(&part(&place, ITEMS, known.items()), checked), at))
    }

    /// The members that there may be.
    pub(super) fn members(&mut self, of: Expr, span: Span) -> Option<Vec<Member>> {
        let known = self.collection_of(&of.ty)?.clone();
        let place = self.stored(of, span)?;
        let place = self.looked_at(place, span)?;
        let at = unseen(self.at(span));
        let (items, size) = (part(&place, ITEMS, known.items()), part(&place, SIZE, known.size()));
        let one = |key: i64| match known.kind {
            Kind::Sequence => Member {
                value: MemberValue::At(known.at(&items, number(key, at))),
                is_there: compare(BinaryOp::Gt, read(size.clone(), at), key, at),
                times: None,
            },
            kind => {
                let value = known.value(key, at);
                let times = (kind == Kind::Bag).then(|| read(known.at(&items, value.clone()), at));
                Member { is_there: known.has(&items, &value, at), value: MemberValue::Is(value), times }
            }
        };
        Some(known.keys().map(one).collect())
    }
}

impl Collection {
    /// An element of the items.
    pub(super) fn at(&self, items: &Place, index: Expr) -> Place {
        let Type::Array { element, .. } = self.items() else { unreachable!("items are an array") };
        let mut place = Place { ty: *element, ..items.clone() };
        place.path.push(Projection::Index { index: index.into(), lo: self.lo, len: self.len });
        place
    }

    /// A value of elements.
    pub(super) fn value(&self, n: i64, at: Span) -> Expr {
        constant(Value::Int(n), &self.element, at)
    }

    /// Whether there is such an element.
    pub(super) fn has(&self, items: &Place, e: &Expr, at: Span) -> Expr {
        let entry = read(self.at(items, e.clone()), at);
        if self.kind == Kind::Bag { compare(BinaryOp::Gt, entry, 0, at) } else { entry }
    }

    /// Takes out one that is there.
    pub(super) fn taken_from(&self, items: &Place, e: &Expr, at: Span) -> Stmt {
        let entry = self.at(items, e.clone());
        let less = match self.kind {
            Kind::Bag => add(read(entry.clone(), at), -1, at),
            _ => boolean(0, at),
        };
        set(entry, less, at)
    }

    /// Whether a number may be an element; `None` if it is known to.
    pub(super) fn is_inside(&self, e: &Expr, at: Span) -> Option<Expr> {
        let (lo, hi) = (self.lo, self.lo + i64::from(self.len) - 1);
        match (&e.kind, &e.ty) {
            (ExprKind::Const(Value::Int(n)), _) if (lo..=hi).contains(n) => None,
            (_, Type::Range(a, b)) if *a >= lo && *b <= hi => None,
            (_, Type::Int | Type::Range(..)) => {
                let (least, most) =
                    (compare(BinaryOp::Ge, e.clone(), lo, at), compare(BinaryOp::Le, e.clone(), hi, at));
                Some(binary(BinaryOp::And, least, most, Type::Bool, at))
            }
            _ => None,
        }
    }

    /// An index of a sequence, or one that is out of bounds where there is no such element.
    pub(super) fn checked(&self, place: &Place, index: Expr, at: Span) -> Expr {
        let size = read(part(place, SIZE, self.size()), unseen(at));
        let inside = binary(BinaryOp::Lt, index.clone(), size, Type::Bool, at);
        let kind = ExprKind::IfElse(inside.into(), index.into(), number(-1, at).into());
        Expr { kind, ty: Type::Int, span: at }
    }
}

/// The place of what is read behind an expression: traces do not show it beside the text of that.
pub(super) fn unseen(at: Span) -> Span {
    Span { end: at.start, ..at }
}

pub(super) fn boolean(n: i64, at: Span) -> Expr {
    constant(Value::Int(n), &Type::Bool, at)
}

pub(super) fn stmt(kind: StmtKind, span: Span) -> Stmt {
    Stmt { kind, access: Access::Local, span }
}

pub(super) fn binary(op: BinaryOp, left: Expr, right: Expr, ty: Type, span: Span) -> Expr {
    Expr { kind: ExprKind::Binary(op, left.into(), right.into()), ty, span }
}

pub(super) fn not(e: Expr, at: Span) -> Expr {
    Expr { kind: ExprKind::Unary(UnaryOp::Not, e.into()), ty: Type::Bool, span: at }
}
