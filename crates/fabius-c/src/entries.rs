//! Jumps into statements: by `goto` from outside of a block, and to the `case` labels in what a `switch` encloses.
//!
//! The variable that holds the jump under way says where it goes. What stands in front of the label is passed over as long as it
//! does: guards are not evaluated, and the parts of a list that do not have the label are left out.

use crate::core::*;
use crate::lower::*;
use crate::refusal::Result;
use fabius_lang::program::{BinaryOp, Block, Expr, Guard, StmtKind};
use fabius_trace::Span;
use lang_c::ast;
use lang_c::ast::{BlockItem, Label, Statement};
use lang_c::span::Node;

/// A part of a list of statements, from a label to the next.
pub(crate) struct Segment<'a> {
    /// The numbers of the labels in front of it.
    pub direct: Vec<i64>,
    /// Of those in its first statement that are jumped to from outside.
    pub inside: Vec<i64>,
    pub items: &'a [Node<BlockItem>],
}

impl<'a> Lower<'a, '_> {
    /// What a label is called in its function, if jumps to it are followed: a `case` only where it is inside of something.
    fn key(&self, label: &Node<Label>) -> Option<String> {
        match &label.node {
            Label::Identifier(name) => Some(name.node.name.clone()),
            _ => self.body.cases.contains(&label.span.start).then(|| case_key(label)),
        }
    }

    /// The number of a jump to a label.
    pub fn label_number(&mut self, key: &str) -> i64 {
        if let Some(n) = self.body.numbers.get(key) {
            return *n;
        }
        self.body.jumps += 1;
        self.body.numbers.insert(key.into(), self.body.jumps);
        self.body.jumps
    }

    /// The labels in front of a statement.
    pub fn labels(&self, s: &'a Node<Statement>) -> (Vec<String>, &'a Node<Statement>) {
        let (mut keys, mut s) = (Vec::new(), s);
        while let Statement::Labeled(l) = &s.node {
            let Some(key) = self.key(&l.node.label) else { break };
            keys.push(key);
            s = &l.node.statement;
        }
        (keys, s)
    }

    /// The labels in a statement that are jumped to from outside.
    pub fn entries(&self, s: &'a Node<Statement>) -> Vec<String> {
        let mut all = Vec::new();
        labels_in(s, &mut all);
        let is_entered = |key: &String| {
            let of_function = (self.body.function.clone(), key.clone());
            key.starts_with(CASE) || self.session.facts.entered.contains(&of_function)
        };
        all.into_iter().filter_map(|label| self.key(label)).filter(is_entered).collect()
    }

    /// The numbers of the jumps into a statement.
    pub fn entry_numbers(&mut self, s: &'a Node<Statement>) -> Vec<i64> {
        self.entries(s).iter().map(|key| self.label_number(key)).collect()
    }

    /// Whether one of these jumps is under way.
    pub fn jumps_to_any(&mut self, numbers: &[i64], span: Span) -> Expr {
        let tests: Vec<Expr> = numbers.iter().map(|n| self.jumps_to(*n, span)).collect();
        tests.into_iter().reduce(|a, b| binary(BinaryOp::Or, a, b)).unwrap_or_else(|| boolean(false, span))
    }

    /// Does what a jump passes over.
    pub fn unless_jumping(&mut self, block: Block, span: Span) {
        if !block.is_empty() {
            let here = self.jumps_to(0, span);
            self.push(StmtKind::If(Guard::Expr(here), block, Vec::new()), span);
        }
    }

    /// A label: a jump to it has come to its end.
    pub fn arrive(&mut self, numbers: &[i64], span: Span) -> Result<()> {
        if numbers.is_empty() {
            return Ok(());
        }
        let here = self.jumps_to_any(numbers, span);
        let (block, ()) = self.block(|l| {
            l.set_jump(0, span);
            Ok(())
        })?;
        self.push(StmtKind::If(Guard::Expr(here), block, Vec::new()), span);
        Ok(())
    }

    /// A list of statements in parts, and what its labels are called: `name\0number`.
    pub fn segments(&mut self, items: &'a [Node<BlockItem>]) -> (Vec<Segment<'a>>, Vec<String>) {
        let mut segments = vec![Segment { direct: Vec::new(), inside: Vec::new(), items: &items[..0] }];
        let (mut names, mut first) = (Vec::new(), 0);
        for (i, item) in items.iter().enumerate() {
            let BlockItem::Statement(s) = &item.node else { continue };
            let (direct, rest) = self.labels(s);
            let inside = self.entries(rest);
            if direct.is_empty() && inside.is_empty() {
                continue;
            }
            let mut number = |keys: Vec<String>| -> Vec<i64> {
                keys.iter()
                    .map(|key| {
                        let n = self.label_number(key);
                        names.push(format!("{key}\0{n}"));
                        n
                    })
                    .collect()
            };
            let (direct, inside) = (number(direct), number(inside));
            segments.last_mut().expect("there is one").items = &items[first..i];
            segments.push(Segment { direct, inside, items: &items[..0] });
            first = i;
        }
        segments.last_mut().expect("there is one").items = &items[first..];
        (segments, names)
    }
}

const CASE: &str = "case@";

pub(crate) fn case_key(label: &Node<Label>) -> String {
    format!("{CASE}{}", label.span.start)
}

/// The labels in a statement, but for those in a `switch` in it.
pub(crate) fn labels_in<'a>(s: &'a Node<Statement>, out: &mut Vec<&'a Node<Label>>) {
    match &s.node {
        Statement::Labeled(l) => {
            out.push(&l.node.label);
            labels_in(&l.node.statement, out);
        }
        Statement::Compound(items) => {
            for item in items {
                if let BlockItem::Statement(s) = &item.node {
                    labels_in(s, out);
                }
            }
        }
        Statement::If(i) => {
            labels_in(&i.node.then_statement, out);
            i.node.else_statement.iter().for_each(|s| labels_in(s, out));
        }
        Statement::While(w) => labels_in(&w.node.statement, out),
        Statement::DoWhile(d) => labels_in(&d.node.statement, out),
        Statement::For(f) => labels_in(&f.node.statement, out),
        _ => {}
    }
}

/// The `case` labels of a `switch`, and whether each heads a statement of its list.
pub(crate) fn cases(s: &ast::SwitchStatement) -> Vec<(&Node<Label>, bool)> {
    let mut all = Vec::new();
    labels_in(&s.statement, &mut all);
    let mut heads = Vec::new();
    if let Statement::Compound(items) = &s.statement.node {
        for item in items {
            let BlockItem::Statement(s) = &item.node else { continue };
            let mut s: &Node<Statement> = s;
            while let Statement::Labeled(l) = &s.node {
                heads.push(l.node.label.span.start);
                s = &l.node.statement;
            }
        }
    }
    let is_case = |l: &&Node<Label>| !matches!(l.node, Label::Identifier(_));
    all.into_iter().filter(is_case).map(|l| (l, heads.contains(&l.span.start))).collect()
}

/// What begins and ends an atomic section of the user.
pub(crate) const BEGINS: [&str; 2] = ["__VERIFIER_atomic_begin", "fabius_atomic_begin"];
pub(crate) const ENDS: [&str; 2] = ["__VERIFIER_atomic_end", "fabius_atomic_end"];

/// Whether an item is a call of one of these functions, perhaps behind labels.
pub(crate) fn calls(item: &Item, names: &[&str]) -> bool {
    let BlockItem::Statement(s) = &item.node else { return false };
    let mut s = s;
    while let Statement::Labeled(l) = &s.node {
        s = &l.node.statement;
    }
    let Statement::Expression(Some(e)) = &s.node else { return false };
    let ast::Expression::Call(c) = &e.node else { return false };
    matches!(&c.node.callee.node, ast::Expression::Identifier(n) if names.contains(&n.node.name.as_str()))
}
