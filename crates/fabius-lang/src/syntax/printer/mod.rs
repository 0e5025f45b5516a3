//! The syntax tree as text, in the one style that `fabius fmt` knows, with the comments of the source.

mod expressions;
mod matching;

use super::ast::*;
use super::lexer::{Token, TokenKind};
use fabius_trace::Span;

/// Longest line of declarations that are written on one line.
const LINE: usize = 100;

/// Prints a tree that was parsed from `source`; `comments` are its comments in order.
pub(super) fn print(source: &str, file: &File, comments: &[Token]) -> String {
    let mut p = Printer { source, comments, out: String::new(), indent: 0, last_end: 0, opened: true, said: false };
    for item in &file.items {
        p.begin(item.span.start as usize);
        p.item(item);
        p.last_end = item.span.end as usize;
    }
    p.flush(source.len());
    let mut out = p.out.trim_start_matches('\n').trim_end().to_string();
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

struct Printer<'a> {
    source: &'a str,
    /// Those not yet printed.
    comments: &'a [Token],
    out: String,
    indent: usize,
    /// Where in the source the last thing printed ends.
    last_end: usize,
    /// Whether a block was just opened: no blank line follows.
    opened: bool,
    /// Whether the line ends in a line comment.
    said: bool,
}

impl Printer<'_> {
    /// Prints the comments before `at`, then begins a new line for what stands there.
    fn begin(&mut self, at: usize) {
        self.flush(at);
        self.new_line(at);
    }

    fn new_line(&mut self, at: usize) {
        let between = self.source.get(self.last_end..at).unwrap_or("");
        self.out.push('\n');
        if !self.opened && between.matches('\n').count() > 1 {
            self.out.push('\n');
        }
        self.out.extend(std::iter::repeat_n("    ", self.indent));
        self.opened = false;
        self.said = false;
    }

    fn flush(&mut self, before: usize) {
        while let Some((comment, rest)) = self.comments.split_first() {
            let start = comment.span.start as usize;
            if start >= before {
                return;
            }
            self.comments = rest;
            let gap = self.source.get(self.last_end..start).unwrap_or("");
            let beside = !gap.contains('\n') && !self.said && !self.out.is_empty();
            if beside {
                self.out.push(' ');
            } else {
                self.new_line(start);
            }
            self.out += comment.span.text(self.source).trim_end();
            self.said = comment.kind == TokenKind::LineComment;
            self.last_end = self.last_end.max(comment.span.end as usize);
            self.opened = false;
        }
    }

    fn put(&mut self, text: &str) {
        self.out += text;
    }

    fn list<T>(&mut self, items: &[T], mut one: impl FnMut(&mut Self, &T)) {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            one(self, item);
        }
    }

    fn names(&mut self, names: &[Name], between: &str) {
        let names: Vec<&str> = names.iter().map(|n| n.node.as_str()).collect();
        self.put(&names.join(between));
    }

    fn item(&mut self, item: &Item) {
        match &item.node {
            ItemKind::Const { name, ty, value } => {
                self.put(&format!("const {}", name.node));
                self.typed(ty.as_ref());
                self.put(" = ");
                self.expr(value);
                self.put(";");
            }
            ItemKind::Enum { name, names } => {
                self.put(&format!("enum {} ", name.node));
                let parts = names.iter().map(|n| (n.span, n.node.clone())).collect();
                self.parts(parts, item.span);
            }
            ItemKind::Record { name, fields } => {
                self.put(&format!("record {} ", name.node));
                let parts = fields.iter().map(|f| (field_span(f), self.field_text(f))).collect();
                self.parts(parts, item.span);
            }
            ItemKind::Var { kind, name, ty, init } => {
                self.put(prefix(*kind));
                self.put(&format!("var {}: ", name.node));
                self.ty(ty);
                self.initial(init.as_ref());
                self.put(";");
            }
            ItemKind::Levels(names) => {
                self.put("level ");
                self.names(names, " < ");
                self.put(";");
            }
            ItemKind::InterleaveExplicit => self.put("interleave explicit;"),
            ItemKind::Proc { inline, name, params, results, body } => {
                self.put(if *inline { "inline proc " } else { "proc " });
                self.put(&name.node);
                self.put("(");
                self.params(params);
                self.put(") ");
                match results.as_slice() {
                    [] => {}
                    [one] => {
                        self.put("-> ");
                        self.ty(one);
                        self.put(" ");
                    }
                    many => {
                        self.put("-> (");
                        self.list(many, |p, t| p.ty(t));
                        self.put(") ");
                    }
                }
                self.block(body);
            }
            ItemKind::Init(body) => {
                self.put("init ");
                self.block(body);
            }
            ItemKind::Buffer { name, kind, body } => {
                let kind = if *kind == BufferKind::Fifo { "fifo " } else { "" };
                self.put(&format!("buffer {} {kind}", name.node));
                self.block(body);
            }
            ItemKind::Process { name, copies, body } => {
                self.put(&format!("process {}[", name.node));
                match copies {
                    Copies::Any => self.put("*"),
                    Copies::Count(count) => self.expr(count),
                    Copies::Numbered { name, lo, hi } => {
                        self.put(&format!("{} in ", name.node));
                        self.range(lo, hi);
                    }
                    Copies::AnyNumbered { name } => self.put(&format!("{}: *", name.node)),
                }
                self.put("] ");
                self.block(body);
            }
            ItemKind::Channel { name, count, element, places, kinds } => {
                self.put(&format!("channel {}", name.node));
                if let Some(count) = count {
                    self.put("[");
                    self.expr(count);
                    self.put("]");
                }
                self.put(": ");
                self.ty(element);
                self.put("[");
                self.expr(places);
                self.put("]");
                kinds.iter().for_each(|kind| self.put(&format!(" {}", kind.word())));
                self.put(";");
            }
            ItemKind::Invariant { name, condition } => {
                self.put(&format!("invariant {}: ", name.node));
                self.expr(condition);
                self.put(";");
            }
            ItemKind::Property { name, formula, fairness } => {
                self.put(&format!("property {}: ", name.node));
                match formula {
                    Formula::Eventually(_) => self.put("eventually "),
                    Formula::AlwaysEventually(_) => self.put("always eventually "),
                    Formula::EventuallyAlways(_) => self.put("eventually always "),
                    Formula::LeadsTo(..) => {}
                }
                for (i, e) in formula.conditions().into_iter().enumerate() {
                    if i > 0 {
                        self.put(" leads to ");
                    }
                    self.expr(e);
                }
                for (i, to) in fairness.iter().map(|to| &to.node).enumerate() {
                    let words = to.fairness.words();
                    let words = if i == 0 { words } else { words.strip_prefix("under ").unwrap_or(words) };
                    self.put(if i == 0 { " " } else { " and " });
                    self.put(words);
                    for (i, (name, number)) in to.of.iter().enumerate() {
                        self.put(if i == 0 { " of " } else { ", " });
                        self.put(&name.node);
                        if let Some(number) = number {
                            self.put("[");
                            self.expr(number);
                            self.put("]");
                        }
                    }
                }
                self.put(";");
            }
            ItemKind::Function { name, params, result, value } => {
                self.put(&format!("fn {}(", name.node));
                self.params(params);
                self.put(") -> ");
                self.ty(result);
                self.put(" {");
                self.last_end = result.span.end as usize;
                self.opened = true;
                self.indent += 1;
                self.begin(value.span.start as usize);
                self.expr(value);
                self.last_end = value.span.end as usize;
                self.flush((item.span.end as usize).saturating_sub(1));
                self.indent -= 1;
                self.opened = true;
                self.new_line(self.last_end);
                self.opened = false;
                self.put("}");
            }
            ItemKind::Error => {}
        }
    }

    fn params(&mut self, params: &[Param]) {
        self.list(params, |p, param| {
            p.put(if param.place { "place " } else { "" });
            p.put(&param.name.node);
            p.typed(param.ty.as_ref());
        });
    }

    fn range(&mut self, lo: &Expr, hi: &Expr) {
        self.expr(lo);
        self.put("..");
        self.expr(hi);
    }

    /// `{ a, b }`, on one line if it fits and has no comments inside.
    fn parts(&mut self, parts: Vec<(Span, String)>, whole: Span) {
        let texts: Vec<&str> = parts.iter().map(|(_, t)| t.as_str()).collect();
        let line = format!("{{ {} }}", texts.join(", "));
        let commented = self.comments.first().is_some_and(|c| c.span.start < whole.end);
        let column = self.out.len() - self.out.rfind('\n').map_or(0, |i| i + 1);
        if !commented && column + line.len() <= LINE {
            return self.put(if parts.is_empty() { "{}" } else { &line });
        }
        self.put("{");
        self.opened = true;
        self.last_end = parts.first().map_or(whole.end, |(s, _)| s.start) as usize;
        self.indent += 1;
        for (span, text) in parts {
            self.begin(span.start as usize);
            self.put(&text);
            self.put(",");
            self.last_end = span.end as usize;
        }
        self.flush(whole.end as usize);
        self.indent -= 1;
        self.opened = true;
        self.new_line(self.last_end);
        self.put("}");
    }

    fn field_text(&self, field: &Field) -> String {
        let mut p = Printer {
            source: self.source,
            comments: &[],
            out: String::new(),
            indent: 0,
            last_end: 0,
            opened: false,
            said: false,
        };
        p.put(prefix(field.kind));
        p.put(&format!("{}: ", field.name.node));
        p.ty(&field.ty);
        p.initial(field.init.as_ref());
        p.out
    }

    fn typed(&mut self, ty: Option<&Type>) {
        if let Some(ty) = ty {
            self.put(": ");
            self.ty(ty);
        }
    }

    fn initial(&mut self, init: Option<&Expr>) {
        if let Some(init) = init {
            self.put(" = ");
            self.expr(init);
        }
    }

    fn block(&mut self, block: &Block) {
        self.put("{");
        self.opened = true;
        self.last_end = block.span.start as usize + 1;
        let before = self.out.len();
        self.indent += 1;
        for stmt in &block.node {
            self.begin(stmt.span.start as usize);
            self.stmt(stmt);
            self.last_end = stmt.span.end as usize;
        }
        self.flush((block.span.end as usize).saturating_sub(1));
        self.indent -= 1;
        if self.out.len() > before {
            self.opened = true;
            self.new_line(self.last_end);
        }
        self.opened = false;
        self.put("}");
        self.last_end = block.span.end as usize;
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.node {
            StmtKind::Local { mutable, names, ty, init } => {
                self.put(if *mutable { "var " } else { "let " });
                match names.as_slice() {
                    [one] => self.put(&one.node),
                    many => {
                        self.put("(");
                        self.names(many, ", ");
                        self.put(")");
                    }
                }
                self.typed(ty.as_ref());
                self.initial(init.as_ref());
                self.put(";");
            }
            StmtKind::Assign { targets, op, value } => {
                match targets.as_slice() {
                    [one] => self.expr(one),
                    many => {
                        self.put("(");
                        self.list(many, |p, e| p.expr(e));
                        self.put(")");
                    }
                }
                self.put(&format!(" {}= ", op.map_or("", BinaryOp::symbol)));
                self.expr(value);
                self.put(";");
            }
            StmtKind::AssignAll { targets, values } => {
                self.list(targets, |p, e| p.expr(e));
                self.put(" = ");
                self.list(values, |p, e| p.expr(e));
                self.put(";");
            }
            StmtKind::Expr(e) => {
                self.expr(e);
                self.put(";");
            }
            StmtKind::Return(values) => {
                self.put("return");
                match values.as_slice() {
                    [] => {}
                    [one] => {
                        self.put(" ");
                        self.expr(one);
                    }
                    many => {
                        self.put(" (");
                        self.list(many, |p, e| p.expr(e));
                        self.put(")");
                    }
                }
                self.put(";");
            }
            StmtKind::If { guard, then, otherwise, else_if } => {
                self.put("if ");
                self.expr(guard);
                self.put(" ");
                self.block(then);
                match otherwise {
                    Some(block) if *else_if && block.node.len() == 1 => {
                        self.put(" else ");
                        self.stmt(&block.node[0]);
                    }
                    Some(block) => {
                        self.put(" else ");
                        self.block(block);
                    }
                    None => {}
                }
            }
            StmtKind::Match { value, arms, otherwise } => self.matching(stmt, value, arms, otherwise.as_ref()),
            StmtKind::While { guard, body } => {
                self.put("while ");
                self.expr(guard);
                self.put(" ");
                self.block(body);
            }
            StmtKind::Loop(body) => {
                self.put("loop ");
                self.block(body);
            }
            StmtKind::For { name, lo, hi, body } => {
                self.put(&format!("for {} in ", name.node));
                self.range(lo, hi);
                self.put(" ");
                self.block(body);
            }
            StmtKind::Choose(blocks) => {
                for (i, block) in blocks.iter().enumerate() {
                    self.put(if i == 0 { "choose " } else { " or " });
                    self.block(block);
                }
            }
            StmtKind::Select { branches, otherwise } => self.select(stmt, branches, otherwise.as_ref()),
            StmtKind::Atomic(body) => {
                self.put("atomic ");
                self.block(body);
            }
            StmtKind::Block(body) => self.block(body),
            StmtKind::Break => self.put("break;"),
            StmtKind::Continue => self.put("continue;"),
            StmtKind::Yield => self.put("yield;"),
            StmtKind::Zield => self.put("zield;"),
            StmtKind::Progress => self.put("progress;"),
            StmtKind::Label(name) => self.put(&format!("label {};", name.node)),
            StmtKind::Skip => self.put("skip;"),
            StmtKind::Join(e) => self.with("join", e),
            StmtKind::Assume(e) => self.with("assume", e),
            StmtKind::Await(e) => self.with("await", e),
            StmtKind::Assert(e, message) => {
                self.put("assert ");
                self.expr(e);
                if let Some(message) = message {
                    self.put(", ");
                    self.put(message.span.text(self.source));
                }
                self.put(";");
            }
            StmtKind::Print(es) => {
                self.put("print(");
                self.list(es, |p, e| p.expr(e));
                self.put(");");
            }
            StmtKind::Error => {}
        }
    }

    fn select(&mut self, stmt: &Stmt, branches: &[(When, Block)], otherwise: Option<&Block>) {
        self.put("select {");
        self.opened = true;
        self.last_end = stmt.span.start as usize + "select".len();
        self.indent += 1;
        for (i, (when, block)) in branches.iter().enumerate() {
            if i == 0 {
                self.begin(when_span(when).start as usize);
            }
            self.put(if i == 0 { "when " } else { " or when " });
            match when {
                When::Expr(e) => self.expr(e),
                When::Let { mutable, name, value } => {
                    self.put(if *mutable { "var " } else { "let " });
                    self.put(&format!("{} = ", name.node));
                    self.expr(value);
                }
                When::Assign { target, value } => {
                    self.expr(target);
                    self.put(" = ");
                    self.expr(value);
                }
            }
            self.put(" ");
            self.block(block);
        }
        if let Some(block) = otherwise {
            self.put(" else ");
            self.block(block);
        }
        self.flush((stmt.span.end as usize).saturating_sub(1));
        self.indent -= 1;
        self.opened = true;
        self.new_line(self.last_end);
        self.opened = false;
        self.put("}");
    }

    fn with(&mut self, word: &str, e: &Expr) {
        self.put(word);
        self.put(" ");
        self.expr(e);
        self.put(";");
    }
}

fn when_span(when: &When) -> Span {
    match when {
        When::Expr(e) | When::Assign { target: e, .. } => e.span,
        When::Let { name, .. } => name.span,
    }
}

fn field_span(field: &Field) -> Span {
    let end = field.init.as_ref().map_or(field.ty.span, |e| e.span);
    field.name.span.to(end)
}

fn prefix(kind: VarKind) -> &'static str {
    match kind {
        VarKind::Inferred => "",
        VarKind::Sync => "sync ",
        VarKind::Data => "data ",
        VarKind::PerThread => "thread ",
    }
}
