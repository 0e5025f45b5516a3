//! Guards: what tasks wait for, and the conditions of properties.

use super::{Compiler, Val};
use crate::code::{Area, Guard, Info, Instr, Stands};
use fabius_lang::program::{Block, Expr, Stmt};

impl<'p> Compiler<'p> {
    /// The guard that a condition of a property is.
    pub(super) fn condition(&mut self, e: &'p Expr) -> u32 {
        let guard = self.code.guards.len() as u32;
        let entry = self.here();
        self.guard(e, false);
        self.code.guards.push(Guard {
            entry,
            join: false,
            group: None,
            stands: Stands::InFront,
            rests: false,
            quick: None,
        });
        let end = self.code.instrs.len();
        self.code.proc_of.resize(end, 0);
        self.code.dead_at.resize(end, 0);
        guard
    }

    /// The code of a guard, which ends with its value.
    fn guard(&mut self, e: &'p Expr, join: bool) {
        self.forget_temps();
        let value = if join {
            self.value(e, None)
        } else {
            let mut no = Vec::new();
            let dst = self.temp(1);
            let (one, zero) = (self.constant(1), self.constant(0));
            self.branch(e, true, &mut no);
            self.emit(Instr::Move { dst, a: one }, Info::default());
            let end = self.jump();
            self.land(&no);
            self.emit(Instr::Move { dst, a: zero }, Info::default());
            self.land(&[end]);
            Val { arg: dst, span: e.span }
        };
        self.emit(Instr::Value { a: value.arg }, Info { at: e.span, a: value.span, ..Info::default() });
    }

    /// In front of an atomic block, if it waits elsewhere than at its beginning.
    pub(super) fn wait_for_any_way(&mut self, block: &'p Block, s: &'p Stmt) {
        self.midway = self.waits.midway(block).is_some();
        if self.midway {
            let guard = self.code.guards.len() as u32;
            self.emit(Instr::Await { guard }, Info { at: s.span, ..Info::default() });
            self.code.guards.push(Guard {
                entry: 0,
                join: false,
                group: None,
                stands: Stands::AnyWay,
                rests: false,
                quick: None,
            });
        }
    }

    pub(super) fn wait(&mut self, e: &'p Expr, join: bool, s: &'p Stmt) {
        let guard = self.code.guards.len() as u32;
        let await_at = self.emit(Instr::Await { guard }, Info { at: s.span, a: e.span, ..Info::default() });
        let stands = if self.in_atomic && self.midway { Stands::Midway } else { Stands::InFront };
        let group = self.gathered.iter().position(|group| !self.in_atomic && group.has(s)).map(|number| number as u32);
        self.code.guards.push(Guard { entry: 0, join, group, stands, rests: false, quick: None });
        // The code of the guard stands behind, and is jumped over.
        let over = self.jump();
        let entry = self.here();
        self.guard(e, join);
        self.land(&[over]);
        let code = &mut self.code;
        let quick = match code.instrs[entry as usize] {
            // Constants may leave one comparison whose two ways lead to the same place: `x == 0 || true`.
            Instr::Unless { cmp, a, b, to }
                if !join
                    && code.instrs.len() - entry as usize == 5
                    && to == entry + 3
                    && a.area() != Area::Temp
                    && b.area() != Area::Temp =>
            {
                Some((cmp, a, b))
            }
            _ => None,
        };
        let rests = self.program.rests.contains(&s.span);
        code.guards[guard as usize] = Guard { entry, join, group, stands, rests, quick };
        debug_assert!(matches!(code.instrs[await_at], Instr::Await { .. }));
    }
}
