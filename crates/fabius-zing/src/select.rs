//! `select`: which branch is open is found out, one is chosen, and what it receives is taken, in one step. What a branch does then
//! comes behind, as any other statement.

use crate::ast::{Join, Select};
use crate::channels::Channel;
use crate::lower::{Behind, Body};
use crate::refusal::{Result, unsupported};
use fabius_lang::build::*;
use fabius_lang::program::{BinaryOp, Block, Check, Expr, Guard, LocalId, Place, StmtKind, Type};
use fabius_trace::Span;

/// What a branch waits for, and the messages that it takes.
struct Branch {
    /// `None`: it is open if no other is.
    open: Option<Expr>,
    takes: Vec<(Channel, Place, Span)>,
}

impl Body<'_, '_> {
    pub fn select(&mut self, select: &Select, behind: Behind, whole: Span) -> Result<()> {
        let span = Span { start: whole.start, end: whole.start + "select".len() as u32 };
        if select.branches.is_empty() {
            return Err(
                unsupported(whole, "`select` without branches").help("`select { wait(false) -> ; }` waits for ever")
            );
        }
        let waits = behind == Behind::Nothing && (!self.in_atomic || self.at_beginning);
        let count = select.branches.len();
        let chosen = self.temporary("branch", Type::Range(0, count as i64));
        self.step(span, |b| {
            let branches = b.branches(select)?;
            b.choose(select.first, branches, chosen, waits, span);
            Ok(())
        })?;
        if select.end && !self.cx.rests.contains(&span) {
            self.cx.rests.push(span);
        }
        self.bodies(select, chosen, span)
    }

    fn branches(&mut self, select: &Select) -> Result<Vec<Branch>> {
        let mut branches = Vec::new();
        for branch in &select.branches {
            let mut open: Option<Expr> = None;
            let mut takes: Vec<(Channel, Place, Span)> = Vec::new();
            let mut channels = Vec::new();
            for join in &branch.joins {
                let condition = match join {
                    Join::Timeout if branch.joins.len() > 1 => {
                        return Err(
                            unsupported(branch.span, "`timeout` with something else").help("`timeout -> ..` alone")
                        );
                    }
                    Join::Timeout => continue,
                    Join::Event => boolean(true, branch.span),
                    Join::Wait(e) => {
                        let outer = std::mem::replace(&mut self.applies, true);
                        let condition = self.condition(e);
                        self.applies = outer;
                        condition?
                    }
                    Join::Receive(channel, to) => {
                        if channels.contains(&&channel.kind) {
                            return Err(unsupported(channel.span, "two messages of one channel at once")
                                .help("receive one after the other"));
                        }
                        channels.push(&channel.kind);
                        let channel = self.channel(channel)?;
                        let (place, ty) = self.place(to)?;
                        if ty != channel.message {
                            let (ty, message) = (self.cx.types.show(&ty), self.cx.types.show(&channel.message));
                            let said = format!("messages are `{message}`, and this is `{ty}`");
                            return Err(crate::refusal::wrong(to.span, said));
                        }
                        let condition = self.has_message(&channel, takes.iter().map(|(taken, ..)| taken), branch.span);
                        takes.push((channel, place, branch.span));
                        condition
                    }
                };
                open = Some(match open {
                    Some(before) => and(before, condition),
                    None => condition,
                });
            }
            branches.push(Branch { open, takes });
        }
        Ok(branches)
    }

    /// Says in a local which branch is taken.
    fn choose(&mut self, first: bool, branches: Vec<Branch>, chosen: LocalId, waits: bool, span: Span) {
        let conditions: Vec<Expr> = branches.iter().filter_map(|b| b.open.clone()).collect();
        let any = |conditions: &[Expr]| conditions.iter().cloned().reduce(or).unwrap_or(boolean(false, span));
        let others = any(&conditions);
        let has_timeout = conditions.len() < branches.len();
        if !has_timeout && waits {
            self.push(StmtKind::Await(others.clone()), span);
        } else if !has_timeout {
            let said =
                "a `select` that has to wait inside of `atomic`, or as the first of `try` or `foreach`".to_string();
            self.push(StmtKind::Assert(others.clone(), Check::Assertion, Some(said)), span);
        }
        let opens: Vec<Expr> = branches.iter().map(|b| b.open.clone().unwrap_or(not(others.clone()))).collect();
        let none_yet = branches.len() as i64;
        let is = |b: &Self, n: i64| {
            let place = b.local(chosen, span);
            binary(BinaryOp::Eq, cast(read(place), &Type::Int), constant(n, Type::Int, span))
        };
        if branches.len() == 1 {
            self.set_number(chosen, 0, span);
        } else {
            self.set_number(chosen, none_yet, span);
            for (n, open) in opens.iter().enumerate() {
                let take = self.block_of(|b| {
                    b.set_number(chosen, n as i64, span);
                    Ok(())
                });
                let take = take.expect("numbers are set");
                // Of the branches that are still open any may be taken; what is chosen is never dropped.
                let body = match opens[n + 1..].iter().cloned().reduce(or) {
                    Some(later) if !first => {
                        let perhaps = vec![stmt(StmtKind::If(Guard::Star, take.clone(), Block::new()), span)];
                        vec![stmt(StmtKind::If(Guard::Expr(later), perhaps, take), span)]
                    }
                    _ => take,
                };
                let guard = Guard::Expr(and(is(self, none_yet), open.clone()));
                self.push(StmtKind::If(guard, body, Block::new()), span);
            }
        }
        for (n, branch) in branches.into_iter().enumerate() {
            if branch.takes.is_empty() {
                continue;
            }
            let takes = self.block_of(|b| {
                branch.takes.into_iter().for_each(|(channel, to, span)| b.take(channel, to, span));
                Ok(())
            });
            let takes = takes.expect("messages are taken");
            if none_yet == 1 {
                self.out.extend(takes);
            } else {
                let guard = Guard::Expr(is(self, n as i64));
                self.push(StmtKind::If(guard, takes, Block::new()), span);
            }
        }
    }

    /// What the branches do.
    fn bodies(&mut self, select: &Select, chosen: LocalId, span: Span) -> Result<()> {
        let mut bodies = Vec::new();
        for branch in &select.branches {
            bodies.push(self.nested(&branch.body)?);
        }
        self.at_beginning = false;
        let mut last = bodies.pop().unwrap_or_default();
        for (n, body) in bodies.into_iter().enumerate().rev() {
            let which = cast(read(self.local(chosen, span)), &Type::Int);
            let guard = Guard::Expr(binary(BinaryOp::Eq, which, constant(n as i64, Type::Int, span)));
            if body.is_empty() && last.is_empty() {
                continue;
            }
            last = vec![stmt(StmtKind::If(guard, body, last), span)];
        }
        self.out.extend(last);
        Ok(())
    }
}
