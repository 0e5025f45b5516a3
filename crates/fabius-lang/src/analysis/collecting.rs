//! What is done to sets, bags and sequences.

use super::channels::{Operation, add, compare, number, part, read, set};
use super::checker::{Checker, Collection};
use super::collections::{ITEMS, SIZE, binary, boolean, not, stmt};
use super::constant::{constant, is_integer};
use super::names::count;
use crate::program::*;
use crate::syntax::ast::{self, Collection as Kind};
use fabius_trace::Span;

impl Checker<'_> {
    /// An operation as a statement or on a right-hand side: its results.
    pub(super) fn collection_operation(
        &mut self,
        place: Place,
        name: &ast::Name,
        args: &[ast::Expr],
        span: Span,
    ) -> Option<Vec<Expr>> {
        let place = self.reduce_place(place);
        if matches!(name.node.as_str(), "pick" | "take") {
            let operation = self.collection_wait(&place, name, args, span)?;
            self.when_it_holds(operation.condition, operation.effect, span);
            return Some(operation.values);
        }
        let known = self.collection_of(&place.ty)?.clone();
        let (int, element) = (Type::Int, known.element.clone());
        let wanted: &[&Type] = match (known.kind, name.node.as_str()) {
            (_, "clear") | (Kind::Sequence, "pop" | "pop_front") => &[],
            (Kind::Set | Kind::Bag, "insert" | "remove") | (Kind::Sequence, "push" | "push_front") => &[&element],
            (Kind::Sequence, "set") => &[&int, &element],
            (Kind::Sequence, "remove_at") => &[&int],
            _ => return self.no_operation(&place.ty, name, known.kind),
        };
        if args.len() != wanted.len() {
            let message = format!("`{}` wants {}", name.node, count(wanted.len(), "argument"));
            self.error("E0303", name.span, message, format!("{} given", args.len()));
            return None;
        }
        let typed: Vec<_> = args.iter().zip(wanted).map(|(a, ty)| self.expr_of(a, ty)).collect();
        let typed: Vec<Expr> = typed.into_iter().collect::<Option<_>>()?;
        let held: Vec<Expr> = typed.into_iter().zip(wanted).map(|(e, ty)| self.hold_as(e, ty, span)).collect();
        let at = self.at(span);
        let (effect, values) = self.effect_on(&known, &place, &name.node, held, at);
        self.in_one_go(effect, span);
        Some(values)
    }

    /// The value as it is now, in a variable of the type.
    fn hold_as(&mut self, value: Expr, ty: &Type, span: Span) -> Expr {
        // What does not fit is refused where it would be put in.
        let wide = if is_integer(&value.ty) && is_integer(ty) { value.ty.clone() } else { ty.clone() };
        match value.kind {
            ExprKind::Const(_) => value,
            _ => self.hold_whole(Expr { ty: wide, ..value }, span),
        }
    }

    /// What an operation that does not wait does, in one step, and its results.
    fn effect_on(
        &mut self,
        known: &Collection,
        place: &Place,
        name: &str,
        args: Vec<Expr>,
        at: Span,
    ) -> (Block, Vec<Expr>) {
        let (items, size) = (part(place, ITEMS, known.items()), part(place, SIZE, known.size()));
        let how_many = || read(size.clone(), at);
        let resize = |by: i64| set(size.clone(), add(how_many(), by, at), at);
        let entry = |index: Expr| known.at(&items, index);
        let none = || constant(known.element.default_value(&self.cx.records), &known.element, at);
        // A sequence changes as a whole.
        let all = |parts: Vec<Expr>, by: i64| {
            let items = Expr { kind: ExprKind::Tuple(parts), ty: known.items(), span: at };
            let kind = ExprKind::Tuple(vec![items, add(how_many(), by, at)]);
            set(place.clone(), Expr { kind, ty: place.ty.clone(), span: at }, at)
        };
        let perhaps = |condition: Expr, then: Block| stmt(StmtKind::If(Guard::Expr(condition), then, Block::new()), at);
        let mut args = args.into_iter();
        let first = args.next();
        let effect = match (known.kind, name, first) {
            (_, "clear", _) => {
                let nothing = place.ty.default_value(&self.cx.records);
                vec![set(place.clone(), constant(nothing, &place.ty, at), at)]
            }
            (Kind::Set, "insert", Some(e)) => {
                let absent = not(read(entry(e.clone()), at), at);
                vec![perhaps(absent, vec![set(entry(e), boolean(1, at), at), resize(1)])]
            }
            (Kind::Bag, "insert", Some(e)) => {
                let more = add(read(entry(e.clone()), at), 1, at);
                vec![resize(1), set(entry(e), more, at)]
            }
            (Kind::Set | Kind::Bag, _, Some(e)) => {
                let there = known.has(&items, &e, at);
                let less = known.taken_from(&items, &e, at);
                let found = match known.is_inside(&e, at) {
                    Some(inside) => binary(BinaryOp::And, inside, there, Type::Bool, at),
                    None => there,
                };
                vec![perhaps(found, vec![less, resize(-1)])]
            }
            (_, "push", Some(e)) => {
                let with = known.keys().map(|n| {
                    let is_new = compare(BinaryOp::Eq, how_many(), n, at);
                    let kind = ExprKind::IfElse(is_new.into(), e.clone().into(), read(entry(number(n, at)), at).into());
                    Expr { kind, ty: known.element.clone(), span: at }
                });
                vec![all(with.collect(), 1)]
            }
            (_, "push_front", Some(e)) => {
                let later = (0..known.room - 1).map(|i| read(entry(number(i, at)), at));
                vec![all(std::iter::once(e).chain(later).collect(), 1)]
            }
            (_, "set", Some(i)) => {
                let e = args.next().unwrap_or_else(none);
                vec![set(entry(known.checked(place, i, at)), e, at)]
            }
            (_, "remove_at" | "pop_front" | "pop", i) => {
                let last = add(how_many(), -1, at);
                let i = match (name, i) {
                    ("pop", _) => last,
                    (_, i) => known.checked(place, i.unwrap_or_else(|| number(0, at)), at),
                };
                let (kept, which) = (self.temporary(&known.element), self.temporary(&Type::Int));
                let (kept, which) = (self.local_place(kept, at), self.local_place(which, at));
                let which_now = || read(which.clone(), at);
                let moved = known.keys().map(|n| {
                    let next = match n + 1 < known.room {
                        true => read(entry(number(n + 1, at)), at),
                        false => constant(known.element.default_value(&self.cx.records), &known.element, at),
                    };
                    let stays = compare(BinaryOp::Gt, which_now(), n, at);
                    let kind = ExprKind::IfElse(stays.into(), read(entry(number(n, at)), at).into(), next.into());
                    Expr { kind, ty: known.element.clone(), span: at }
                });
                let effect = vec![
                    set(which.clone(), i, at),
                    set(kept.clone(), read(entry(which_now()), at), at),
                    all(moved.collect(), -1),
                ];
                let values = if name == "remove_at" { Vec::new() } else { vec![read(kept, at)] };
                return (effect, values);
            }
            _ => Block::new(),
        };
        (effect, Vec::new())
    }

    /// What `pick` and `take` wait for, and what they do then.
    pub(super) fn collection_wait(
        &mut self,
        place: &Place,
        name: &ast::Name,
        args: &[ast::Expr],
        span: Span,
    ) -> Option<Operation> {
        let known = self.collection_of(&place.ty)?.clone();
        if known.kind == Kind::Sequence {
            return self.no_operation(&place.ty, name, known.kind);
        }
        if !args.is_empty() {
            let message = format!("`{}` wants no argument", name.node);
            self.error("E0303", name.span, message, format!("{} given", args.len()));
            return None;
        }
        let at = self.at(span);
        let (items, size) = (part(place, ITEMS, known.items()), part(place, SIZE, known.size()));
        let number_of = Type::Range(-1, i64::from(known.len));
        let ids = (self.temporary(&known.element), self.temporary(&number_of), self.temporary(&number_of));
        let [kept, left, different] = [ids.0, ids.1, ids.2].map(|id| self.local_place(id, at));
        let has = |key: i64| known.has(&items, &known.value(key, at), at);
        let one = |condition, then| stmt(StmtKind::If(Guard::Expr(condition), then, Block::new()), at);
        let change = |place: &Place, by: i64| set(place.clone(), add(read(place.clone(), at), by, at), at);
        // How many different ones there are, one of them, and which that is.
        let mut effect = vec![set(different.clone(), number(0, at), at)];
        effect.extend(known.keys().map(|key| one(has(key), vec![change(&different, 1)])));
        let most = add(read(different, at), -1, at);
        effect.push(stmt(StmtKind::Any(left.clone(), number(0, at), most), at));
        for key in known.keys() {
            let is_it = compare(BinaryOp::Eq, read(left.clone(), at), 0, at);
            let mut then = vec![set(kept.clone(), known.value(key, at), at)];
            if name.node == "take" {
                let less = add(read(size.clone(), at), -1, at);
                then.extend([known.taken_from(&items, &known.value(key, at), at), set(size.clone(), less, at)]);
            }
            // Behind it nothing is counted any more.
            let counts = compare(BinaryOp::Ge, read(left.clone(), at), 0, at);
            let passed = binary(BinaryOp::And, counts, has(key), Type::Bool, at);
            effect.push(one(passed, vec![one(is_it, then), change(&left, -1)]));
        }
        let condition = compare(BinaryOp::Gt, read(size, at), 0, at);
        Some(Operation { condition, effect, values: vec![read(kept, at)] })
    }

    pub(super) fn no_operation<T>(&mut self, ty: &Type, name: &ast::Name, kind: Kind) -> Option<T> {
        let shown = self.show(ty);
        let known = match kind {
            Kind::Set => "`insert`, `remove`, `clear`, `pick`, `take`, `contains`, `is_empty`",
            Kind::Bag => "`insert`, `remove`, `clear`, `pick`, `take`, `count`, `contains`, `is_empty`",
            Kind::Sequence => {
                "`push`, `pop`, `push_front`, `pop_front`, `set`, `remove_at`, `clear`, `contains`, `is_empty`"
            }
        };
        let instead = match name.node.as_str() {
            "add" if kind != Kind::Sequence => "write `insert`; ",
            "append" | "add" | "insert" | "send" => "write `push`; ",
            "pick" | "take" | "receive" if kind == Kind::Sequence => {
                "write `pop_front`, behind `await len(q) > 0` to wait; "
            }
            "delete" => "write `remove`; ",
            "remove_any" | "receive" => "write `take`; ",
            "len" | "size" => "write `len(s)`; ",
            _ => "",
        };
        self.error("E0206", name.span, format!("a `{shown}` has no operation `{}`", name.node), "unknown operation")
            .help = Some(format!("{instead}its operations are {known}; `len(s)` says how many there are"));
        None
    }
}
