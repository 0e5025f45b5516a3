//! `pthread_cancel`: a thread that is cancelled ends where it asks (`pthread_testcancel`) or lets others go on (`sleep`), unless it has
//! said that it is not to be disturbed.
//!
//! Who waits for others (`pthread_cond_wait`, `sem_wait`, `pthread_join`) would have to be woken, and what `pthread_cleanup_push` was
//! given would have to run: both are refused in programs that cancel threads.

use super::assign;
use super::pthread::is_null;
use crate::core::*;
use crate::expressions::Ex;
use crate::lower::Lower;
use crate::places::Value;
use crate::refusal::{Refusal, Result, unsupported};
use crate::types::{CType, INT as C_INT};
use fabius_lang::program::{BinaryOp, Check, Class, Guard, Place, StmtKind, Type, Value as Constant};
use fabius_trace::Span;

/// What is joined of a thread that was cancelled.
const CANCELED: i64 = -1;

/// Functions that only let others go on, in which a thread may be cancelled.
const POINTS: [&str; 4] = ["pthread_testcancel", "sleep", "usleep", "nanosleep"];

/// Functions in which a thread waits, or talks to the world outside, and may be cancelled.
const WAITS: [&str; 14] = [
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_clockwait",
    "pthread_join",
    "thrd_join",
    "sem_wait",
    "sem_timedwait",
    "sem_clockwait",
    "thrd_sleep",
    "cnd_wait",
    "cnd_timedwait",
    "write",
    "read",
    "close",
];

impl<'a> Lower<'a, '_> {
    /// A call that cancels a thread, or in which one may end that is cancelled.
    pub(super) fn cancel_call(&mut self, name: &str, args: &'a [Ex], span: Span) -> Result<Option<Value>> {
        if name == "pthread_cancel" {
            return self.cancel(args, span).map(Some);
        }
        if !self.session.facts.cancels {
            return Ok(None);
        }
        let is_in_thread = self.body.function != "main" && self.runs_in_threads(&self.body.function);
        match name {
            "pthread_setcanceltype" => {
                let kind = self.number(args, 0, &C_INT, span)?;
                if value_of(&kind) != Some(0) {
                    return unsupported(span, "a thread that may be cancelled anywhere is not taken").map_err(
                        |e: Refusal| e.help("`PTHREAD_CANCEL_DEFERRED`, and `pthread_testcancel` where it may end"),
                    );
                }
                Ok(None)
            }
            "pthread_setcancelstate" => {
                let state = self.number(args, 0, &C_INT, span)?;
                let off = self.undisturbed(span);
                let before = self.keep(if_else(read(off.clone()), constant(1, INT, span), constant(0, INT, span)));
                let is_off = binary(BinaryOp::Ne, state, constant(0, INT, span));
                self.body.out.push(assign(&off, is_off, span));
                if args.get(1).is_some_and(|to| !is_null(to)) {
                    let to = self.pointed(self.argument(args, 1, span)?, span)?;
                    self.store(&to, &Value::scalar(before, C_INT), span)?;
                }
                Ok(Some(self.zero(span)))
            }
            _ if POINTS.contains(&name) && is_in_thread => {
                self.evaluate_all(args)?;
                if name != "pthread_testcancel" {
                    self.give_way(span);
                }
                self.ends_if_cancelled(span)?;
                Ok(Some(self.zero(span)))
            }
            _ if WAITS.contains(&name) && is_in_thread => {
                unsupported(span, format!("`{name}` is not taken in a thread, where threads are cancelled")).map_err(
                    |e: Refusal| e.help("let the thread ask whether it is to end: a flag beside what it waits for"),
                )
            }
            _ => Ok(None),
        }
    }

    fn cancel(&mut self, args: &'a [Ex], span: Span) -> Result<Value> {
        (self.found.cancels, self.found.results, self.found.numbers) = (true, true, true);
        let v = self.value(self.argument(args, 0, span)?)?;
        let handle = self.simple(v.parts[0].clone());
        if v.ty != CType::Thread {
            return crate::refusal::wrong(span, "the argument is a `pthread_t`");
        }
        let known = self.zeroed(Type::Bool, span);
        let known = self.local(known, span);
        if self.session.facts.results {
            let mut block = Vec::new();
            for n in 1..self.threads() {
                let number = constant(i64::from(n), INT, span);
                let of = self.of_threads("$handle", Type::Thread, number.clone(), span);
                let asked = self.of_threads("$cancelled", Type::Bool, number, span);
                // Who has not begun has no handle, nor has a variable that nobody has written to.
                let is_one = binary(BinaryOp::Ne, handle.clone(), constant(0, Type::Thread, span));
                let here = binary(BinaryOp::And, is_one, binary(BinaryOp::Eq, read(of), handle.clone()));
                let yes = || boolean(true, span);
                let take = vec![assign(&asked, yes(), span), assign(&known, yes(), span)];
                block.push(stmt(StmtKind::If(Guard::Expr(here), take, Vec::new()), span));
            }
            self.push(StmtKind::Atomic(block), span);
        }
        self.check(read(known), Check::Bound, "a thread is cancelled that was not started by `pthread_create`", span);
        Ok(self.zero(span))
    }

    /// Whether the running thread has said that it is not to be cancelled now.
    fn undisturbed(&mut self, span: Span) -> Place {
        let id = self.hidden("$undisturbed", Type::Bool, Constant::Int(0), Class::Data, true);
        self.global(id, span)
    }

    fn ends_if_cancelled(&mut self, span: Span) -> Result<()> {
        let me = self.thread_number(span);
        let asked = self.of_threads("$cancelled", Type::Bool, me, span);
        let asked = self.keep(read(asked));
        let off = read(self.undisturbed(span));
        let (block, ()) = self.block(|s| {
            let nothing = Value::scalar(constant(CANCELED, ADDRESS, span), CType::Void.pointer());
            s.exit_with(nothing, span).map(drop)
        })?;
        self.push(StmtKind::If(Guard::Expr(and(asked, not(off))), block, Vec::new()), span);
        Ok(())
    }
}
