//! Labels and `goto`. A block with labels is done again and again, from the label that control is on its way to, until it is on its way
//! to none of them; what stands between is passed over, as it is behind a `return` inside of `atomic`.

use crate::ast::{Name, Stmt, StmtKind as Said};
use crate::lower::{Behind, Body, Marks};
use crate::refusal::{Result, unsupported, wrong};
use fabius_lang::build::*;
use fabius_lang::program as core;
use fabius_lang::program::{BinaryOp, Block, Guard, LocalId, StmtKind, Type};
use fabius_trace::Span;

/// The labels of a method that some `goto` leads to.
pub fn labels(body: &[Stmt]) -> Result<Vec<String>> {
    let (mut labels, mut goals) = (Vec::<Name>::new(), Vec::new());
    crate::raised::each(body, &mut |s| match &s.kind {
        Said::Labeled(label, _) => labels.push(label.clone()),
        Said::Goto(label) => goals.push(label.text.clone()),
        _ => {}
    });
    labels.sort_by_key(|label| label.span.start);
    for (n, label) in labels.iter().enumerate() {
        if labels[..n].iter().any(|before| before.text == label.text) {
            return Err(wrong(label.span, format!("two labels `{}` in one method", label.text)));
        }
    }
    Ok(labels.into_iter().map(|label| label.text).filter(|label| goals.contains(label)).collect())
}

/// What stands behind labels in front of a statement.
fn without_label(s: &Stmt) -> &Stmt {
    match &s.kind {
        Said::Labeled(_, inner) => without_label(inner),
        Said::Block(block) | Said::Atomic(block) => block.first().map_or(s, without_label),
        _ => s,
    }
}

impl Body<'_, '_> {
    /// The labels in front of a statement that some `goto` leads to.
    fn labels_of<'s>(&self, s: &'s Stmt) -> Vec<&'s Name> {
        let Said::Labeled(label, inner) = &s.kind else { return Vec::new() };
        let mut labels = self.labels_of(inner);
        labels.extend(self.labels.contains(&label.text).then_some(label));
        labels
    }

    pub fn has_labels(&self, block: &[Stmt]) -> bool {
        block.iter().any(|s| !self.labels_of(s).is_empty())
    }

    fn goes(&mut self) -> LocalId {
        if let Some(id) = self.goes {
            return id;
        }
        let id = self.temporary("goes", Type::Range(0, self.labels.len() as i64));
        *self.goes.insert(id)
    }

    fn number_of(&self, label: &str) -> i64 {
        self.labels.iter().position(|l| l == label).map_or(0, |at| at as i64 + 1)
    }

    fn equals(&self, id: LocalId, n: i64, span: Span) -> core::Expr {
        let value = cast(read(self.local(id, span)), &Type::Int);
        binary(BinaryOp::Eq, value, constant(n, Type::Int, span))
    }

    /// Whether a `goto` is on its way.
    pub fn is_on_its_way(&mut self, span: Span) -> core::Expr {
        let id = self.goes();
        not(self.equals(id, 0, span))
    }

    pub fn goto(&mut self, label: &Name) -> Result<()> {
        if !self.labels.contains(&label.text) {
            return Err(wrong(label.span, format!("there is no label `{}` in this method", label.text)));
        }
        if !self.open_labels.contains(&label.text) {
            return Err(unsupported(label.span, "a `goto` into a block")
                .help("let the label stand in a block around the `goto`"));
        }
        let (id, n) = (self.goes(), self.number_of(&label.text));
        self.set_number(id, n, label.span);
        self.marks.jumped = true;
        self.push(StmtKind::Return(Vec::new()), label.span);
        Ok(())
    }

    /// Behind what a `goto` may have left: it goes on.
    pub fn jumps_on(&mut self, marks: Marks, span: Span) -> Result<()> {
        if marks.jumped {
            self.marks.jumped = true;
            let is_on_its_way = self.is_on_its_way(span);
            let leave = vec![stmt(StmtKind::Return(Vec::new()), span)];
            self.push(StmtKind::If(Guard::Expr(is_on_its_way), leave, Block::new()), span);
        }
        Ok(())
    }

    /// A block in which labels stand that a `goto` leads to.
    pub fn with_labels(&mut self, block: &[Stmt]) -> Result<()> {
        let starts: Vec<usize> = (0..block.len()).filter(|n| !self.labels_of(&block[*n]).is_empty()).collect();
        let sections = starts.iter().enumerate();
        let names: Vec<(usize, Name)> = sections
            .flat_map(|(n, at)| self.labels_of(&block[*at]).into_iter().map(move |name| (n + 1, name.clone())))
            .collect();
        let span = names[0].1.span;
        if self.behind != Behind::Nothing && starts[0] == 0 {
            return Err(unsupported(span, "a label as the first of `try` or `foreach`")
                .help("begin with another statement, as `;`"));
        }
        self.has_passed_try |= block.iter().any(crate::raised::has_try);
        let outer = self.open_labels.len();
        self.open_labels.extend(names.iter().map(|(_, name)| name.text.clone()));
        let at = self.temporary("at", Type::Range(0, starts.len() as i64));
        self.set_number(at, 0, span);
        let mut may_go_out = false;
        let all = self.block_of(|b| {
            let mut from = 0;
            for (n, to) in starts.iter().copied().chain([block.len()]).enumerate() {
                let marks = b.section(&block[from..to], at, n as i64, span)?;
                may_go_out |= marks.jumped;
                from = to;
            }
            b.again(&names, at, span);
            Ok(())
        });
        self.open_labels.truncate(outer);
        self.push(StmtKind::While(Guard::Expr(boolean(true, span)), all?), span);
        let marks = Marks { jumped: may_go_out && outer > 0, ..Marks::default() };
        self.jumps_on(marks, span)
    }

    /// The statements between the label with this number and the next one.
    fn section(&mut self, section: &[Stmt], at: LocalId, n: i64, span: Span) -> Result<Marks> {
        if section.is_empty() {
            return Ok(Marks::default());
        }
        if n > 0 && self.in_atomic && std::mem::take(&mut self.at_beginning) {
            let first = without_label(&section[0]);
            if let Said::Select(_) = first.kind {
                return Err(unsupported(first.span, "a `select` behind a label at the beginning of `atomic`")
                    .help("put the label in front of `atomic`"));
            }
        }
        let (id, here) = (self.goes(), cast(read(self.local(at, span)), &Type::Int));
        let comes_here = binary(BinaryOp::Le, here, constant(n, Type::Int, span));
        let goes_on = and(self.equals(id, 0, span), comes_here);
        let make = |b: &mut Self| section.iter().try_for_each(|s| b.statement(s));
        let wrap = |b: &mut Self, body: Block, _: Marks| {
            if !body.is_empty() {
                b.push(StmtKind::If(Guard::Expr(goes_on), body, Block::new()), span);
            }
        };
        let marks = self.region(span, make, wrap)?;
        if marks.raised {
            self.passes_on(span)?;
        }
        Ok(marks)
    }

    /// Who is on the way to one of these labels, in front of their sections, goes around once more.
    fn again(&mut self, names: &[(usize, Name)], at: LocalId, span: Span) {
        let goes = self.goes();
        let mut last = vec![stmt(StmtKind::Break, span)];
        for (section, name) in names {
            let is = self.equals(goes, self.number_of(&name.text), span);
            let again = self.block_of(|b| {
                b.set_number(at, *section as i64, span);
                b.set_number(goes, 0, span);
                Ok(())
            });
            last = vec![stmt(StmtKind::If(Guard::Expr(is), again.unwrap_or_default(), last), span)];
        }
        self.out.extend(last);
    }
}
