//! Deciding sequential programs.
//!
//! A sequential program is a [`Program`] whose `init` is all that runs: no threads, no
//! tasks, no heap (the translations turn objects into arrays). Its faults are assertions: expressions are total here, and
//! whoever wants a division by zero reported asserts that there is none.

pub mod bmc;
pub mod counted;
pub mod counters;
pub mod export;
pub mod horn;
pub mod invariants;
pub mod summaries;

use bmc::NotSequential;
use fabius_lang::program::{BinaryOp, ProcId, Program};
use fabius_smt::Op;

/// Where a sequential program begins.
fn entry(program: &Program) -> Result<ProcId, NotSequential> {
    let not = |what| NotSequential { what, span: fabius_trace::Span::default() };
    if !program.buffers.is_empty() || !program.processes.is_empty() {
        return Err(not("a process or a task buffer"));
    }
    program.init.ok_or(not("a program without `init`"))
}

/// The operator on numbers, if it gives one.
fn arithmetic(op: BinaryOp) -> Option<Op> {
    Some(match op {
        BinaryOp::Add => Op::Add,
        BinaryOp::Sub => Op::Sub,
        BinaryOp::Mul => Op::Mul,
        BinaryOp::Div => Op::Div,
        BinaryOp::Rem => Op::Rem,
        BinaryOp::BitAnd => Op::BitAnd,
        BinaryOp::BitOr => Op::BitOr,
        BinaryOp::BitXor => Op::BitXor,
        BinaryOp::Shl => Op::Shl,
        BinaryOp::Shr => Op::Shr,
        _ => return None,
    })
}
