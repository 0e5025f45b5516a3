//! Atomic sections of the user: from a call that begins one to those that end it, where one may end on several ways.

use crate::core::*;
use crate::entries::{ENDS, calls};
use crate::lower::*;
use crate::refusal::{Refusal, Result, unsupported};
use fabius_lang::program::{BinaryOp, Block, Guard, LocalId, StmtKind};
use fabius_trace::Span;
use lang_c::ast::{BlockItem, Statement};
use lang_c::span::Node;

impl<'a> Lower<'a, '_> {
    /// The section that begins with the first of these items, and how many items it has.
    pub fn section(&mut self, items: &'a [Item]) -> Result<usize> {
        let span = self.span(items[0].span);
        let end = items.iter().position(|item| calls(item, &ENDS));
        // Without an end in its block it goes as far as to the last statement with one.
        let last = || items.iter().rposition(ends_inside).map_or(1, |n| n + 1);
        let inside = &items[1..end.unwrap_or_else(last).max(1)];
        let mut last = Vec::new();
        if end.is_none() {
            ends_in(inside, &mut last);
        }
        let way = self.zeroed(INT, span);
        let frame = self.body.frames.len();
        let floor = std::mem::replace(&mut self.body.floor, frame);
        self.body.frames.push(Frame { kind: FrameKind::Section, crossing: Vec::new() });
        self.body.sections.push(Section { frame, way, early: Vec::new(), last });
        self.body.atomic += 1;
        let inner = self.block(|l| l.run(inside));
        self.body.atomic -= 1;
        self.body.floor = floor;
        self.body.frames.pop();
        let early = self.body.sections.pop().expect("it was pushed").early;
        let (mut block, ()) = inner?;
        if end.is_none() && (early.is_empty() || falls_through(&block)) {
            return no_end(span);
        }
        if early.is_empty() {
            self.atomic_section(block, span);
            return Ok(inside.len() + 2);
        }
        block.push(stmt(StmtKind::Break, span));
        self.atomic_section(vec![stmt(StmtKind::While(Guard::Expr(boolean(true, span)), block), span)], span);
        for (n, each) in early.into_iter().enumerate() {
            self.behind(way, n, each)?;
        }
        Ok(inside.len() + 1 + usize::from(end.is_some()))
    }

    /// What is done behind an early end.
    fn behind(&mut self, way: LocalId, n: usize, early: Early<'a>) -> Result<()> {
        let Early { items, scopes, goes_on, span } = early;
        let scopes = std::mem::replace(&mut self.scopes, scopes);
        let done = self.block(|l| l.run(items));
        self.scopes = scopes;
        let (block, ()) = done?;
        if !goes_on && falls_through(&block) {
            return no_end(span);
        }
        let here = binary(BinaryOp::Eq, self.read_local(way, span), constant(n as i64 + 1, INT, span));
        self.push(StmtKind::If(Guard::Expr(here), block, Vec::new()), span);
        Ok(())
    }

    /// Whether an item ends the section that it is inside of.
    pub fn ends_early(&self, item: &Item) -> bool {
        self.body.atomic > 0 && !self.body.sections.is_empty() && calls(item, &ENDS)
    }

    /// The section ends with the first of these items, which are the rest of their block.
    pub fn end_early(&mut self, block: &'a [Item], at: usize) -> Result<()> {
        let span = self.span(block[at].span);
        let Some(section) = self.body.sections.last() else { return no_end(span) };
        let (frame, way, n) = (section.frame, section.way, section.early.len() as i64 + 1);
        let items = &block[at + 1..];
        // What is left of a loop in the section is not left from outside.
        if self.body.frames.len() > frame + 1 && !returns(items) {
            return no_end(span);
        }
        let goes_on = section.last.contains(&block.as_ptr());
        let scopes = self.scopes.iter().map(Scope::copy).collect();
        let section = self.body.sections.last_mut().expect("it was just seen");
        section.early.push(Early { items, scopes, goes_on, span });
        self.set_local(way, constant(n, INT, span), span);
        self.jump(Jump::Break(frame), span)
    }
}

fn no_end<T>(span: Span) -> Result<T> {
    unsupported(
        span,
        "an atomic section that does not end in the block that it begins in, or behind that, is not taken",
    )
    .map_err(|e: Refusal| {
        e.help("begin and end it in one block; it may end earlier in front of a `return` or another jump")
    })
}

/// The blocks that end where these items end.
fn ends_in(items: &[Item], out: &mut Vec<*const Item>) {
    let Some(Node { node: BlockItem::Statement(s), .. }) = items.last() else { return };
    let mut all = vec![s];
    while let Some(s) = all.pop() {
        match &s.node {
            Statement::Compound(items) => {
                out.push(items.as_ptr());
                ends_in(items, out);
            }
            Statement::If(i) => {
                all.push(&i.node.then_statement);
                all.extend(i.node.else_statement.as_deref());
            }
            _ => {}
        }
    }
}

/// Whether a section ends inside of an item.
fn ends_inside(item: &Item) -> bool {
    let BlockItem::Statement(s) = &item.node else { return false };
    let mut all = vec![s];
    while let Some(s) = all.pop() {
        match &s.node {
            Statement::Compound(items) if items.iter().any(|item| calls(item, &ENDS) || ends_inside(item)) => {
                return true;
            }
            Statement::If(i) => {
                all.push(&i.node.then_statement);
                all.extend(i.node.else_statement.as_deref());
            }
            Statement::Labeled(l) => all.push(&l.node.statement),
            Statement::While(w) => all.push(&w.node.statement),
            Statement::DoWhile(d) => all.push(&d.node.statement),
            Statement::For(f) => all.push(&f.node.statement),
            Statement::Switch(s) => all.push(&s.node.statement),
            _ => {}
        }
    }
    false
}

/// Whether items do something simple and return.
fn returns(items: &[Item]) -> bool {
    let statement = |item: &Item| match &item.node {
        BlockItem::Statement(s) => Some(matches!(s.node, Statement::Return(_))),
        _ => None,
    };
    let is_simple = |item: &Item| match &item.node {
        BlockItem::Statement(s) => matches!(s.node, Statement::Expression(_) | Statement::Return(_)),
        BlockItem::Declaration(_) => true,
        BlockItem::StaticAssert(_) => true,
    };
    items.iter().all(is_simple) && items.last().and_then(statement) == Some(true)
}

/// Whether some way comes to the end of a block.
fn falls_through(block: &Block) -> bool {
    match block.last().map(|s| &s.kind) {
        Some(StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue) => false,
        Some(StmtKind::If(_, a, b)) => falls_through(a) || falls_through(b),
        _ => true,
    }
}
