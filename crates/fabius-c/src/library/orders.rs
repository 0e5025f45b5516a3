//! What atomic operations order: their `memory_order` arguments.
//!
//! Paper: Robustness against Release/Acquire Semantics (PLDI 2019), section 1.
//!
//! Steps are sequentially consistent whatever is written there. Data races are judged by the orders (C11 5.1.2.4, without
//! `consume`, which is taken for `acquire`, and without what a release still heads behind a plain store of its thread, as in C++20). What threads may see besides, where operations are weaker than sequentially
//! consistent, is nothing if there is one atomic variable: without races all that is left of an execution, in any of the axiomatic
//! models of C11, is the order of its values (coherence). Where there are several, or a lock is not taken at once (which orders nothing and tells
//! what another variable was), nothing is claimed.

use crate::expressions::Ex;
use crate::lower::Lower;
use crate::memory::{Object, Parts};
use crate::orders::{Orders, Weaker};
use crate::places::Lvalue;
use crate::types::{CType, Types};
use fabius_trace::{MemoryOrder, Span};
use std::collections::BTreeMap;

const SEQUENTIALLY_CONSISTENT: i64 = 5;

/// Who takes a lock or a unit of a semaphore knows what those knew who gave it back; the other way round nothing is ordered.
const TAKES: MemoryOrder = MemoryOrder { releases: false, ..MemoryOrder::BOTH };
const GIVES: MemoryOrder = MemoryOrder { releases: true, ..MemoryOrder::NEITHER };

/// What operations of the library order, if that is less than that each comes after all before it. (Of a mutex it is not.)
fn of_library(name: &str) -> Option<MemoryOrder> {
    match name.strip_prefix("pthread_").unwrap_or(name) {
        "sem_wait" | "sem_trywait" | "sem_timedwait" | "sem_clockwait" => Some(TAKES),
        "sem_post" | "rwlock_unlock" => Some(GIVES),
        name if name.starts_with("rwlock_") && name.ends_with("lock") => Some(TAKES),
        // Who is woken knows what was known to those who had the mutex before.
        "cond_signal" | "cond_broadcast" | "key_create" => Some(MemoryOrder::NEITHER),
        _ => None,
    }
}

impl<'a> Lower<'a, '_> {
    /// Notes what an operation orders, and says which place it has.
    pub(super) fn look_at_orders(&mut self, name: &str, args: &'a [Ex], span: Span) -> Span {
        let Some((order, is_weak)) = self.order_of(name, args) else { return span };
        self.orders.weak |= is_weak;
        self.place_of(args.first().map(|e| e.span.start), order, span)
    }

    /// The place of how readers of a read-write lock count themselves, which orders nothing.
    pub(super) fn readers_place(&mut self, args: &'a [Ex], span: Span) -> Span {
        // No other operation has arguments that begin inside of this one's.
        self.place_of(args.first().map(|e| e.span.start + 1), MemoryOrder::NEITHER, span)
    }

    /// The place of how who may be refused looks at an object of the library: who is refused is ordered with no one (C11 7.26.4.5,
    /// POSIX 4.12).
    pub(super) fn test_place(&mut self, args: &'a [Ex], span: Span) -> Span {
        // Not the operation's own place, where those who get what they want synchronize, nor that of any other.
        let behind = Span { start: span.end, ..span };
        let place = self.place_of(args.first().map(|e| e.span.start + 2), MemoryOrder::NOTHING, behind);
        self.orders.tests.insert(place);
        place
    }

    /// A place of its own for an operation with this order, whose arguments begin there.
    fn place_of(&mut self, at: Option<usize>, order: MemoryOrder, span: Span) -> Span {
        if let Some(known) = at.and_then(|at| self.orders.places.get(&at)) {
            return *known;
        }
        let mut place = span;
        while self.orders.asked.get(&place).is_some_and(|other| *other != order) && place.end > place.start + 1 {
            place.end -= 1;
        }
        at.and_then(|at| self.orders.places.insert(at, place));
        let known = self.orders.asked.insert(place, order);
        self.orders.unknown |= known.is_some_and(|known| known != order);
        place
    }

    /// The order of an operation, and whether it is weaker than sequentially consistent.
    fn order_of(&mut self, name: &str, args: &'a [Ex]) -> Option<(MemoryOrder, bool)> {
        if let Some(order) = of_library(name) {
            return Some((order, false));
        }
        if !name.starts_with("__atomic_") && !name.starts_with("__sync_") {
            return None;
        }
        let is_fence = matches!(name, "__sync_synchronize" | "__atomic_thread_fence");
        // What comes first are places and values.
        let first = match name {
            "__sync_synchronize" => return Some((MemoryOrder { is_fence, ..MemoryOrder::BOTH }, false)),
            "__atomic_thread_fence" => 0,
            _ if name.starts_with("__atomic_compare_exchange") => 4,
            "__atomic_load_n" | "__atomic_clear" | "__atomic_test_and_set" => 1,
            "__atomic_exchange" => 3,
            _ if name.starts_with("__atomic_") => 2,
            // Those of `__sync_*` are full, but for these.
            _ if name.starts_with("__sync_lock_test_and_set") => {
                return Some((MemoryOrder { releases: false, ..MemoryOrder::BOTH }, true));
            }
            _ if name.starts_with("__sync_lock_release") => {
                return Some((MemoryOrder { acquires: false, ..MemoryOrder::BOTH }, true));
            }
            _ => return Some((MemoryOrder::BOTH, false)),
        };
        let mut order = |n: usize| args.get(n).map(|e| self.unevaluated(|s| s.integer(e)).unwrap_or(-1));
        let (main, vain) = (order(first).unwrap_or(-1), order(first + 1));
        let acquires = |n: i64| matches!(n, 1 | 2 | 4 | 5);
        self.orders.unknown |= main < 0 || vain.is_some_and(|n| n < 0);
        let vain = vain.unwrap_or(main);
        // Where all operations are sequentially consistent, fences add nothing.
        let is_weak = !is_fence && (main != SEQUENTIALLY_CONSISTENT || vain != SEQUENTIALLY_CONSISTENT);
        let (acquires, acquires_in_vain) = (acquires(main), acquires(vain));
        let order = MemoryOrder { acquires, releases: matches!(main, 3..=5), acquires_in_vain, is_fence };
        Some((order, is_weak))
    }

    /// An atomic variable is used at a place.
    pub(crate) fn is_used_atomically(&mut self, lv: &Lvalue, span: Span) {
        if matches!(lv.ty, CType::Atomic(_)) {
            self.orders.plain.insert(span);
        }
    }

    /// Another operation synchronizes at a place, or gives up: then it says that somebody has a lock, and orders nothing.
    pub(super) fn synchronizes_at(&mut self, name: &str, span: Span) {
        if of_library(name).is_none() {
            self.orders.others.insert(span);
        }
        self.orders.looks |= ["trylock", "tryrdlock", "trywrlock", "trywait", "timed", "clock", "getvalue"]
            .iter()
            .any(|word| name.contains(word));
    }

    /// Whether an operation at a place has one.
    pub(super) fn has_an_order(&self, span: Span) -> bool {
        self.orders.asked.contains_key(&span)
    }

    /// A use that has an order.
    pub(super) fn with_its_order<T>(&mut self, span: Span, work: impl FnOnce(&mut Self) -> T) -> T {
        let had_none = self.orders.plain.contains(&span);
        let result = work(self);
        if !had_none {
            self.orders.plain.remove(&span);
        }
        result
    }

    /// What the operations at their places order, if that is less than what they are taken for; and what is not looked at.
    pub(crate) fn ordered(&self, is_mixed: bool) -> (BTreeMap<Span, MemoryOrder>, Weaker) {
        let Orders { asked, tests, plain, others, looks, weak, unknown, .. } = &self.orders;
        let is_elsewhere = |span: &Span| plain.contains(span) || others.contains(span);
        let is_known = !unknown && !is_mixed && !asked.keys().any(is_elsewhere);
        let count: u64 = self.objects.iter().map(|o| self.atomics(o)).sum();
        let shows_more = *weak && (count > 1 || *looks);
        if is_known {
            let mut all: BTreeMap<Span, MemoryOrder> = plain.iter().map(|span| (*span, MemoryOrder::BOTH)).collect();
            all.extend(asked);
            return (all, Weaker { hides_races: false, shows_more });
        }
        // Each comes after all before it then, but for those who are refused.
        let is_else = |span: &Span| is_elsewhere(span) || asked.get(span) != Some(&MemoryOrder::NOTHING);
        let hides_races = *weak || tests.iter().any(is_else);
        let nothing =
            if *weak { BTreeMap::new() } else { tests.iter().map(|span| (*span, MemoryOrder::NOTHING)).collect() };
        (nothing, Weaker { hides_races, shows_more })
    }

    /// How many atomic variables an object has that threads may share.
    fn atomics(&self, o: &Object) -> u64 {
        let Parts::Globals(_) = o.parts else { return 0 };
        let typed = atomics(self.types(), &o.ty);
        let used = self.session.facts.sync.iter().filter(|(key, _)| *key == o.key);
        let used: u64 = used
            .filter_map(|(_, fields)| o.leaf(fields))
            .map(|leaf| o.leaves[leaf].dims.iter().map(|n| u64::from(*n)).product::<u64>())
            .sum();
        let each = o.pool.map_or(1, |p| u64::from(p.slots) * u64::from(p.elements.unwrap_or(1)));
        typed.max(used) * each
    }
}

fn atomics(types: &Types, ty: &CType) -> u64 {
    match ty {
        CType::Atomic(_) => 1,
        CType::Array(of, n) => atomics(types, of) * u64::from(n.unwrap_or(types.flexible)),
        CType::Struct(id) => types.structs[*id].fields.iter().flatten().map(|f| atomics(types, &f.ty)).sum(),
        _ => 0,
    }
}
