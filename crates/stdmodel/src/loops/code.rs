//! Statements as a list of instructions.

use super::program::{Cond, Op, Stmt};

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instr {
    /// An operation.
    Do(Op),
    /// As the statements.
    Bump(u8),
    /// As the statement.
    Clear(u8),
    /// As the statement.
    Take(u8),
    /// As the statement.
    Next(u8),
    /// As the statement.
    LogFound,
    /// As the statement.
    Log(u8),
    /// Goes on elsewhere unless it holds.
    Unless(Cond, u16),
    /// Goes on elsewhere.
    Jump(u16),
}

/// The instructions of a thread, which ends behind the last one; `end` is that.
pub fn of(stmts: &[Stmt], end: Option<Op>) -> Vec<Instr> {
    let mut code = Vec::new();
    add(&mut code, stmts, &mut Vec::new());
    code.extend(end.map(Instr::Do));
    code
}

fn add(code: &mut Vec<Instr>, stmts: &[Stmt], breaks: &mut Vec<usize>) {
    for stmt in stmts {
        match stmt {
            Stmt::Do(op) => code.push(Instr::Do(*op)),
            Stmt::Bump(c) => code.push(Instr::Bump(*c)),
            Stmt::Clear(c) => code.push(Instr::Clear(*c)),
            Stmt::Take(c) => code.push(Instr::Take(*c)),
            Stmt::Next(n) => code.push(Instr::Next(*n)),
            Stmt::LogFound => code.push(Instr::LogFound),
            Stmt::Log(c) => code.push(Instr::Log(*c)),
            Stmt::If(cond, yes, no) => {
                let test = code.len();
                code.push(Instr::Jump(0));
                add(code, yes, breaks);
                let over = code.len();
                code.push(Instr::Jump(0));
                code[test] = Instr::Unless(*cond, code.len() as u16);
                add(code, no, breaks);
                code[over] = Instr::Jump(code.len() as u16);
            }
            Stmt::Loop(body) => {
                let begin = code.len();
                let mut inner = Vec::new();
                add(code, body, &mut inner);
                code.push(Instr::Jump(begin as u16));
                for at in inner {
                    code[at] = Instr::Jump(code.len() as u16);
                }
            }
            Stmt::Break => {
                breaks.push(code.len());
                code.push(Instr::Jump(0));
            }
        }
    }
}
