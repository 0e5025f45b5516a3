//! The program as the explorer sees it: a [`System`] whose state is the process.

use crate::rt::rt;
use crate::threads::spawn;
use fabius_explore::system::{Access, Choose, End, Fault, Limit, Plan, StepLog, System, TaskId};
use fabius_native_protocol::START;
use fabius_trace::Span;
use std::sync::atomic::Ordering::Relaxed;

/// The program.
pub struct Program;

impl System for Program {
    type State = ();

    fn initial(&self, _: &mut dyn Choose, log: &mut StepLog) -> Result<(), Fault> {
        let rt = rt();
        rt.restore();
        rt.weaker.begins();
        if rt.header.stop.load(Relaxed) != 0 {
            rt.header.halt.store(true, Relaxed);
        }
        rt.worker().executions.fetch_add(1, Relaxed);
        rt.worker().decisions.store(0, Relaxed);
        rt.decided(START);
        spawn(0, 0, true);
        log.born.append(&mut rt.born);
        Ok(())
    }

    fn has_buffers(&self) -> bool {
        false
    }

    #[inline]
    fn ready(&self, (): &(), task: TaskId) -> bool {
        rt().is_ready(task as usize)
    }

    #[inline]
    fn next_access(&self, (): &(), task: TaskId) -> Option<Access> {
        let op = &rt().threads[task as usize].op;
        let (variable, write) = (op.object as u64, op.write);
        (variable != 0).then_some(Access { variable, write, sync: true, span: Span::default() })
    }

    fn announces(&self) -> bool {
        true
    }

    fn plans_ahead(&self, (): &()) -> bool {
        true
    }

    fn plan_ahead(&self, (): &mut (), steps: u32, plan: Plan<'_>) {
        let rt = rt();
        rt.ahead.plan(if rt.goes_ahead_at_all() { steps } else { 0 }, plan);
    }

    #[inline]
    fn last_of_step(&self, (): &()) -> Option<TaskId> {
        Some(rt().current as TaskId)
    }

    fn possible(&self, (): &(), task: TaskId) -> bool {
        rt().is_possible(task as usize)
    }

    fn gave_way(&self, (): &(), task: TaskId) -> bool {
        rt().may_be_left(task as usize)
    }

    #[inline(always)]
    fn step(&self, (): &mut (), task: TaskId, choose: &mut dyn Choose, log: &mut StepLog) -> Result<End, Fault> {
        let rt = rt();
        let me = task as usize;
        rt.begins_step(me);
        let choose: *mut (dyn Choose + '_) = choose;
        // SAFETY: only the lifetime changes, and the pointer is forgotten before it ends.
        rt.choose = Some(unsafe { std::mem::transmute::<*mut (dyn Choose + '_), *mut (dyn Choose + 'static)>(choose) });
        rt.fibers[me].enter();
        while let Some(next) = crate::rt::rt().next_behind_end() {
            crate::rt::rt().fibers[next].enter();
        }
        let rt = crate::rt::rt();
        // It may have handed on.
        let me = rt.current;
        rt.choose = None;
        rt.ahead.take(log);
        log.born.append(&mut rt.born);
        if let Some(failure) = &rt.failure {
            return Err(Fault::Bug(failure.kind, Span::default()));
        }
        if let Some(limit) = rt.limit.take() {
            rt.limits.insert(limit);
            return Err(Fault::Limit(Limit::EndlessStep, Span::default()));
        }
        if rt.over {
            // What other threads would have done does not happen.
            rt.finishes(me);
            let all = rt.threads.iter().all(|t| t.finished);
            return Ok(if all { End::Finished } else { End::Dropped });
        }
        if !rt.children.is_empty() && !crate::hooks::children::have_done_all() {
            rt.limits.insert("threads wait for what a child of `fork` does".into());
            return Err(Fault::Limit(Limit::EndlessStep, Span::default()));
        }
        if rt.threads[me].finished {
            rt.lets_look_again();
            return Ok(End::Finished);
        }
        rt.look_for_repetition();
        rt.lets_look_again();
        if rt.cycles.are_looked_for() && rt.comes_back() || rt.hinder_each_other() {
            return Ok(End::Dropped);
        }
        Ok(End::Point)
    }
}
