//! Turns: which are left out, what that costs, and where a thread stands among others.
//!
//! Paper: Delay-Bounded Scheduling (POPL 2011), section 3 (delay and take of the round-robin scheduler).

use crate::Explicit;
use crate::build::*;
use crate::stuck::Stuck;
use fabius_lang::program::*;

/// The variables.
pub struct Vars {
    pub round: Place,
    /// The round in which execution ends.
    pub end: Place,
    /// The thread in whose turn it ends.
    pub ends_in: Place,
    /// How many turns the running thread may have: the number of the round behind them.
    pub turns: Place,
    pub delays: Place,
    pub most: i64,
    pub last: i64,
    /// The running thread, whether it had a turn, and where the next thread that it makes may stand at the earliest.
    pub current: Place,
    pub begun: Place,
    pub next_made: Place,
    /// Of each thread but the first.
    pub made: Place,
    pub which: Place,
    pub starts: Place,
    pub by: Place,
    pub stop: Place,
    /// A thread was stopped though it could go on.
    pub dropped: Place,
}

/// Who makes threads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Makers {
    /// The first one alone: the order is known.
    First,
    Several,
}

impl Vars {
    /// Declares them.
    pub fn new(
        program: &mut Program,
        source: &Explicit,
        (most, last): (i64, i64),
        entries: &[ProcId],
        table: u32,
        stuck: &Option<Stuck>,
    ) -> Vars {
        let (slots, threads) = (table.max(1), i64::from(table));
        let mut new = |name: &str, ty: Type| new_global(program, name, ty);
        let dropped = match stuck {
            Some(stuck) => stuck.dropped.clone(),
            None => new("a_thread_is_dropped", Type::Bool),
        };
        Vars {
            round: new("round", Type::Range(0, last)),
            end: new("last_round", Type::Range(0, last)),
            ends_in: new("last_thread", Type::Range(0, threads)),
            turns: new("turns", Type::Range(0, last + 1)),
            delays: new("delays", Type::Range(0, most)),
            current: new("thread", Type::Range(0, threads)),
            begun: new("had_turn", Type::Bool),
            next_made: new("next_made", Type::Range(0, threads)),
            made: new("is_made", array(Type::Bool, slots)),
            which: new("thread_is", array(Type::Range(0, entries.len().max(1) as i64 - 1), slots)),
            starts: new("thread_begins", array(Type::Range(0, last), slots)),
            by: new("made_by", array(Type::Range(0, threads), slots)),
            most,
            last,
            stop: global(program, source.stop),
            dropped,
        }
    }

    /// Pays so many delays.
    pub fn spend(&self, delays: Expr) -> Block {
        let now = add(read(&self.delays), delays);
        vec![assume(le(now.clone(), number(self.most))), set(&self.delays, now)]
    }

    /// Perhaps to a later turn, or to none: then `drop` is done. `cost` is paid for the turns that are not used up.
    pub fn leave(&self, next: &Place, cost: Block, drop: Block) -> Block {
        let mut out = vec![set(&self.begun, boolean(true)), any_between(next, read(&self.round), read(&self.turns))];
        out.extend(cost);
        let drop = [vec![set(&self.stop, boolean(true))], drop].concat();
        out.push(either(lt(read(next), read(&self.turns)), vec![set(&self.round, read(next))], drop));
        out
    }

    /// Makes a thread, at some place in the order of creation.
    pub fn make(&self, slot: &Place, entry: usize, table: u32, makers: Makers) -> Block {
        let at = |table: &Place| element(table.clone(), read(slot));
        let mut out = vec![assume(lt(read(&self.next_made), number(i64::from(table))))];
        if makers == Makers::Several {
            out.push(any_between(slot, read(&self.next_made), number(i64::from(table) - 1)));
            out.push(assume(not(read(&at(&self.made)))));
        } else {
            out.push(set(slot, read(&self.next_made)));
        }
        out.extend([
            set(&self.next_made, add(read(slot), number(1))),
            set(&at(&self.made), boolean(true)),
            set(&at(&self.which), number(entry as i64)),
            set(&at(&self.starts), read(&self.round)),
            set(&at(&self.by), read(&self.current)),
        ]);
        out
    }

    /// Before a thread.
    pub fn begin(&self, thread: i64) -> Block {
        let all = set(&self.turns, add(read(&self.end), number(1)));
        let but_one = set(&self.turns, read(&self.end));
        vec![
            set(&self.current, number(thread)),
            set(&self.next_made, number(thread)),
            set(&self.begun, boolean(false)),
            either(le(number(thread), read(&self.ends_in)), vec![all], vec![but_one]),
        ]
    }

    /// Behind a thread: if it has failed, that is where execution ends. What it does before its first turn is done by who made it.
    pub fn ended(&self, failed: &Place, seen: &Place, by: Expr) -> Stmt {
        let own = and(read(&self.begun), eq(read(&self.ends_in), read(&self.current)));
        let of_other = and(not(read(&self.begun)), eq(read(&self.ends_in), by));
        let is_here = and(eq(read(&self.round), read(&self.end)), or(own, of_other));
        when(and(read(failed), not(read(seen))), vec![assume(is_here), set(seen, boolean(true))])
    }

    /// A thread was made behind the one before it in the order.
    pub fn is_made_behind(&self, i: i64) -> Stmt {
        let of = |table: &Place, i: i64| read(&element(table.clone(), number(i)));
        let (starts, by) = (|i| of(&self.starts, i), |i| of(&self.by, i));
        let in_turn = and(eq(starts(i - 1), starts(i)), le(by(i - 1), by(i)));
        let in_order = or(lt(starts(i - 1), starts(i)), in_turn);
        assume(or(not(of(&self.made, i)), and(of(&self.made, i - 1), in_order)))
    }
}
