//! Statements. The core has `while`, `break` and `continue`; what C jumps beyond becomes a number that says where to go on.
//!
//! Length: one function for each kind of statement, and what they share about jumps.

use crate::birth::{Birth, UNSET, cell_type};
use crate::core::*;
use crate::declare::{Specifiers, old_names};
use crate::entries::{BEGINS, Segment, calls, case_key, cases, labels_in};
use crate::expressions::{Ex, string_bytes};
use crate::library::strip_casts;
use crate::lower::*;
use crate::memory::*;
use crate::places::{At, Lvalue, Value};
use crate::property::Property;
use crate::refusal::{Refusal, Result, unsupported, wrong};
use crate::types::CType;
use crate::unset::{self, Unset};
use fabius_lang::program::{
    Base, BinaryOp, Block, Check, Class, Expr, ExprKind, Guard, LocalId, Place, Stmt, StmtKind,
};
use fabius_lang::walk::{each, expressions, statements};
use fabius_trace::Span;
use lang_c::ast;
use lang_c::ast::{BlockItem, Statement};
use lang_c::span::Node;

/// A jump to no label of a `switch`.
const NOWHERE: i64 = -1;

impl<'a> Lower<'a, '_> {
    /// A statement.
    pub fn statement(&mut self, s: &'a Node<Statement>) -> Result<()> {
        let span = self.span(s.span);
        match &s.node {
            Statement::Compound(items) => self.block_scope(span, |l| l.items(items)),
            Statement::Expression(None) => Ok(()),
            Statement::Expression(Some(e)) => self.full(span, |l| l.effect(e)),
            Statement::If(i) => self.if_(&i.node, span),
            Statement::While(w) => self.loop_(Some(&w.node.expression), Again::Nothing, &w.node.statement, span),
            Statement::DoWhile(d) => self.loop_(None, Again::Condition(&d.node.expression), &d.node.statement, span),
            Statement::For(f) => self.block_scope(span, |l| l.for_(&f.node, span)),
            Statement::Switch(w) => self.switch(&w.node, span),
            Statement::Break => {
                let is_target = |k: &FrameKind<'_>| matches!(k, FrameKind::Loop(_) | FrameKind::Switch);
                match self.body.frames.iter().rposition(|f| is_target(&f.kind)) {
                    Some(d) => self.jump(Jump::Break(d), span),
                    None => wrong(span, "there is nothing to break out of"),
                }
            }
            Statement::Continue => match self.body.frames.iter().rposition(|f| matches!(f.kind, FrameKind::Loop(_))) {
                Some(d) => self.jump(Jump::Continue(d), span),
                None => wrong(span, "there is no loop to continue"),
            },
            Statement::Return(e) => self.return_(e.as_deref(), span),
            Statement::Goto(label) => self.goto(&label.node.name, span),
            Statement::Labeled(l) => {
                let (direct, inner) = self.labels(s);
                if direct.is_empty() {
                    return wrong(self.span(l.node.label.span), "this label is in no `switch`");
                }
                let entered = self.entries(s);
                let numbers: Vec<i64> =
                    direct.iter().filter(|key| entered.contains(key)).map(|key| self.label_number(key)).collect();
                self.arrive(&numbers, span)?;
                self.statement(inner)
            }
            Statement::Asm(a) => self.assembly(&a.node, span),
        }
    }

    /// What orders memory does nothing here, where all is in order; what lets a loop wait lets others go on.
    fn assembly(&mut self, a: &'a ast::AsmStatement, span: Span) -> Result<()> {
        let template = match a {
            ast::AsmStatement::GnuBasic(text) => text,
            ast::AsmStatement::GnuExtended(a) if a.outputs.is_empty() && a.inputs.is_empty() => &a.template,
            ast::AsmStatement::GnuExtended(_) => return unsupported(span, "assembly that has operands is not taken"),
        };
        self.instructions(&template.node, span)
    }

    /// Instructions without operands.
    pub fn instructions(&mut self, template: &[String], span: Span) -> Result<()> {
        let bytes = string_bytes(template);
        match String::from_utf8_lossy(&bytes).trim_matches(['\0', ' ', '\n', '\t', ';']) {
            "" | "nop" | "mfence" | "lfence" | "sfence" => Ok(()),
            "pause" | "rep; nop" | "rep;nop" => {
                self.give_way(span);
                Ok(())
            }
            other => unsupported(span, format!("assembly is not taken: `{other}`"))
                .map_err(|e: Refusal| e.help("write what it does in C; under `#ifdef __FABIUS__`, if only here")),
        }
    }

    /// An expression whose value nobody looks at.
    fn effect(&mut self, e: &'a Ex) -> Result<()> {
        if let ast::Expression::Call(c) = &strip_casts(e).node {
            self.body.dropped = Some(&c.node);
        }
        let (mut block, value) = self.block(|l| l.value(e))?;
        let chosen = |s: &Stmt| matches!(s.kind, StmtKind::Any(..));
        // What a function without a body returns is then not chosen.
        if self.is_havocked(e) && block.last().is_some_and(chosen) {
            block.pop();
        }
        self.body.out.extend(block);
        drop(value);
        Ok(())
    }

    /// Temporaries that `work` takes end with it.
    fn full<T>(&mut self, span: Span, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let mark = self.body.used.len();
        let result = work(self)?;
        self.release(mark, span);
        Ok(result)
    }

    fn scoped<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.scopes.push(Scope::default());
        let result = work(self);
        self.scopes.pop();
        result
    }

    /// A scope whose variables end with it.
    fn block_scope(&mut self, span: Span, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let alive = self.body.alive.len();
        self.scoped(work)?;
        self.ends_from(alive, span);
        Ok(())
    }

    fn if_(&mut self, i: &'a ast::IfStatement, span: Span) -> Result<()> {
        let mark = self.body.used.len();
        let into_yes = self.entry_numbers(&i.then_statement);
        let into_no = i.else_statement.as_ref().map_or(Vec::new(), |no| self.entry_numbers(no));
        let test = if into_yes.is_empty() && into_no.is_empty() {
            self.condition(&i.condition)?
        } else {
            let holds = self.zeroed(fabius_lang::program::Type::Bool, span);
            let (block, ()) = self.block(|l| {
                let test = l.condition(&i.condition)?;
                l.set_local(holds, test, span);
                Ok(())
            })?;
            self.unless_jumping(block, span);
            let enters = self.jumps_to_any(&into_yes, span);
            binary(BinaryOp::Or, enters, self.read_local(holds, span))
        };
        let at = Span { start: span.start, end: self.span(i.condition.span).end.max(span.start) };
        let given = self.body.used.split_off(mark);
        if let Some(n) = value_of(&test) {
            self.body.free.extend(given);
            return match (&i.then_statement, &i.else_statement) {
                (yes, _) if n != 0 => self.statement(yes),
                (_, Some(no)) => self.statement(no),
                _ => Ok(()),
            };
        }
        let (yes, ()) = self.block(|l| {
            l.reset(&given, at);
            l.body.free.extend(&given);
            l.scoped(|l| l.statement(&i.then_statement))
        })?;
        let (no, ()) = self.block(|l| {
            l.reset(&given, at);
            match &i.else_statement {
                Some(no) => l.scoped(|l| l.statement(no)),
                None => Ok(()),
            }
        })?;
        self.push(StmtKind::If(Guard::Expr(test), yes, no), at);
        Ok(())
    }

    fn for_(&mut self, f: &'a ast::ForStatement, span: Span) -> Result<()> {
        match &f.initializer.node {
            ast::ForInitializer::Empty => {}
            ast::ForInitializer::StaticAssert(a) => self.static_assertion(a)?,
            ast::ForInitializer::Expression(e) => {
                let at = self.span(e.span);
                let (block, ()) = self.block(|l| l.full(at, |l| l.value(e).map(drop)))?;
                self.first(block, &f.statement, at);
            }
            ast::ForInitializer::Declaration(d) => {
                let (block, ()) = self.block(|l| l.declare_local(d))?;
                self.first(block, &f.statement, span);
            }
        }
        let again = f.step.as_deref().map_or(Again::Nothing, Again::Step);
        self.loop_(f.condition.as_deref(), again, &f.statement, span)
    }

    /// What a loop does first, unless a jump goes into its body.
    fn first(&mut self, block: Block, body: &'a Node<Statement>, span: Span) {
        match self.entries(body).is_empty() {
            true => self.body.out.extend(block),
            false => self.unless_jumping(block, span),
        }
    }

    /// A loop, tested in front of its body.
    fn loop_(&mut self, test: Option<&'a Ex>, again: Again<'a>, body: &'a Node<Statement>, span: Span) -> Result<()> {
        let alive = self.body.alive.len();
        self.body.frames.push(Frame { kind: FrameKind::Loop(again), crossing: Vec::new() });
        self.body.loops += 1;
        let mut guard = None;
        let result = self.block(|l| {
            match test {
                Some(test) if !l.entries(body).is_empty() => {
                    let (block, _) = l.block(|l| l.leave_unless(test, false))?;
                    l.unless_jumping(block, span);
                }
                Some(test) => guard = l.leave_unless(test, true)?,
                None => {}
            }
            l.scoped(|l| l.statement(body))?;
            l.again(again)
        });
        self.body.loops -= 1;
        let frame = self.body.frames.pop().expect("it was pushed");
        let (mut block, ()) = result?;
        let at = test.map_or(span, |t| self.span(t.span));
        if self.only_waits(&block) {
            let (gives_way, ()) = self.block(|l| {
                l.give_way(at);
                Ok(())
            })?;
            block.extend(gives_way);
        }
        let guard = guard.unwrap_or_else(|| boolean(true, at));
        self.push(StmtKind::While(Guard::Expr(guard), block), at);
        self.ends_from(alive, span);
        self.cross(frame, span)
    }

    /// Whether a loop does nothing but wait for data that others write. Where threads are switched at synchronization alone, it would
    /// wait for ever.
    fn only_waits(&self, block: &Block) -> bool {
        let switches_rarely = self.options.property.is_none_or(|p| p == Property::NoDataRace);
        if !switches_rarely || self.body.atomic > 0 {
            return false;
        }
        let (mut waits, mut looks) = (true, false);
        statements(block, &mut |s| {
            waits &= match &s.kind {
                StmtKind::Assign(place, _) => match place.base {
                    Base::Local(id) => self.body.locals[id].name.starts_with('$'),
                    _ => false,
                },
                StmtKind::Skip | StmtKind::Break | StmtKind::If(..) | StmtKind::Atomic(_) | StmtKind::Assert(..) => {
                    true
                }
                _ => false,
            };
            expressions(s).into_iter().for_each(|e| {
                each(e, &mut |e| {
                    if let ExprKind::Read(Place { base: Base::Global(id), .. }) = &e.kind {
                        waits &= self.globals[*id].class == Class::Data;
                        looks |= !self.globals[*id].per_thread;
                    }
                });
            });
        });
        waits && looks
    }

    /// Leaves the loop unless the condition holds; or says what is to be its guard, if that needs no statements.
    fn leave_unless(&mut self, test: &'a Ex, at_head: bool) -> Result<Option<Expr>> {
        let span = self.span(test.span);
        let mark = self.body.used.len();
        let (block, e) = self.block(|l| l.condition(test))?;
        if block.is_empty() && at_head {
            return Ok(Some(e));
        }
        self.body.out.extend(block);
        let given = self.body.used.split_off(mark);
        if value_of(&e) != Some(1) {
            let (mut leave, ()) = self.block(|l| {
                l.reset(&given, span);
                Ok(())
            })?;
            leave.push(stmt(StmtKind::Break, span));
            self.push(StmtKind::If(Guard::Expr(not(e)), leave, Vec::new()), span);
        }
        self.reset(&given, span);
        self.body.free.extend(given);
        Ok(None)
    }

    /// What a loop does behind its body.
    fn again(&mut self, again: Again<'a>) -> Result<()> {
        match again {
            Again::Nothing => Ok(()),
            Again::Step(e) => {
                let span = self.span(e.span);
                self.full(span, |l| l.value(e).map(drop))
            }
            Again::Condition(e) => self.leave_unless(e, false).map(drop),
        }
    }

    /// A jump from here.
    pub fn jump(&mut self, jump: Jump, span: Span) -> Result<()> {
        let innermost = self.body.frames.len() - 1;
        let (Jump::Break(d) | Jump::Continue(d) | Jump::Label(d, _)) = jump;
        if self.body.atomic > 0 && d < self.body.floor {
            return unsupported(span, "a jump out of an atomic section is not taken");
        }
        if d == innermost {
            match jump {
                Jump::Break(_) => self.push(StmtKind::Break, span),
                Jump::Continue(_) => {
                    if let FrameKind::Loop(again) = self.body.frames[d].kind.clone() {
                        self.again(again)?;
                    }
                    self.push(StmtKind::Continue, span);
                }
                Jump::Label(_, n) => {
                    self.set_jump(n, span);
                    self.push(StmtKind::Continue, span);
                }
            }
            return Ok(());
        }
        let crossing = &self.body.frames[innermost].crossing;
        let n = match crossing.iter().find(|(_, j)| *j == jump) {
            Some((n, _)) => *n,
            None => {
                self.body.jumps += 1;
                let n = self.body.jumps;
                self.body.frames[innermost].crossing.push((n, jump));
                n
            }
        };
        self.set_jump(n, span);
        self.push(StmtKind::Break, span);
        Ok(())
    }

    pub fn jump_variable(&mut self) -> LocalId {
        if let Some(id) = self.body.jump {
            return id;
        }
        self.body.locals.push(fabius_lang::program::Local { name: "$jump".into(), ty: INT });
        self.body.jump = Some(self.body.locals.len() - 1);
        self.body.locals.len() - 1
    }

    pub fn set_jump(&mut self, n: i64, span: Span) {
        let id = self.jump_variable();
        self.set_local(id, constant(n, INT, span), span);
    }

    pub fn jumps_to(&mut self, n: i64, span: Span) -> Expr {
        let id = self.jump_variable();
        let now = self.read_local(id, span);
        binary(BinaryOp::Eq, now, constant(n, INT, span))
    }

    /// Behind a `while` that jumps go through: on to where they go.
    fn cross(&mut self, frame: Frame<'a>, span: Span) -> Result<()> {
        for (n, jump) in frame.crossing {
            let test = self.jumps_to(n, span);
            let (block, ()) = self.block(|l| {
                l.set_jump(0, span);
                l.jump(jump, span)
            })?;
            self.push(StmtKind::If(Guard::Expr(test), block, Vec::new()), span);
        }
        Ok(())
    }

    fn goto(&mut self, label: &str, span: Span) -> Result<()> {
        for d in (0..self.body.frames.len()).rev() {
            if let FrameKind::Labels(names, scopes) = &self.body.frames[d].kind
                && let Some(entry) = names.iter().find_map(|n| n.strip_prefix(&format!("{label}\0")))
            {
                let (n, scopes) = (entry.parse().expect("it is a number"), *scopes);
                self.ends_in_scopes(scopes, span);
                return self.jump(Jump::Label(d, n), span);
            }
        }
        let entered = (self.body.function.clone(), label.to_string());
        if self.session.facts.entered.contains(&entered) {
            return unsupported(
                span,
                format!("a jump to `{label}` is not taken: it is in a `switch`, or in an expression"),
            );
        }
        // The next pass knows.
        self.found.entered.insert(entered);
        Ok(())
    }

    fn return_(&mut self, e: Option<&'a Ex>, span: Span) -> Result<()> {
        if self.body.atomic > 0 {
            return unsupported(span, "a `return` inside of an atomic section is not taken");
        }
        let result = self.body.result.clone().unwrap_or(CType::Void);
        let values = match e {
            Some(e) => {
                let v = match self.allocation(e, Some(&result))? {
                    Some(v) => v,
                    None => self.value(e)?,
                };
                self.convert(v, &result, span)?.parts
            }
            None => return self.return_nothing(span),
        };
        self.push(StmtKind::Return(values), span);
        Ok(())
    }

    /// Whether somebody looks at what the function returns: who calls it, or waits for a thread that runs it.
    fn is_looked_at_by_callers(&self) -> bool {
        let (facts, name) = (&self.session.facts, &self.body.function);
        facts.looked_at.contains(name) || facts.results && facts.roots.contains(name)
    }

    /// A function ends without a value: where a caller looks at it, an integer may be anything, a pointer is no object, and all
    /// else is not followed.
    fn return_nothing(&mut self, span: Span) -> Result<()> {
        let result = self.body.result.clone().unwrap_or(CType::Void);
        let types = self.part_types(&result, span)?;
        let is_looked_at = self.is_looked_at_by_callers();
        let values = match result.plain() {
            CType::Int { .. } | CType::Bool if is_looked_at => self.any_of(result.plain(), span)?.parts,
            CType::Pointer(_) if is_looked_at => {
                self.found.unset_pointers = true;
                vec![constant(UNSET, ADDRESS, span)]
            }
            _ => {
                if is_looked_at && !types.is_empty() {
                    let words = "what a function returns without a value is used";
                    self.check(boolean(false, span), Check::Bound, words, span);
                }
                types.into_iter().map(|ty| constant(0, ty, span)).collect()
            }
        };
        self.push(StmtKind::Return(values), span);
        Ok(())
    }

    /// The statements of a block.
    pub fn items(&mut self, items: &'a [Item]) -> Result<()> {
        let (segments, names) = self.segments(items);
        if names.is_empty() {
            return self.run(items);
        }
        let span = items.first().map_or(Span::default(), |i| self.span(i.span));
        self.jump_variable();
        self.body.frames.push(Frame { kind: FrameKind::Labels(names, self.scopes.len()), crossing: Vec::new() });
        let result = self.block(|l| {
            for Segment { direct, inside, items } in segments {
                let numbers: Vec<i64> = [0].iter().chain(&direct).chain(&inside).copied().collect();
                let test = l.jumps_to_any(&numbers, span);
                let (block, ()) = l.block(|l| {
                    match inside.is_empty() {
                        true if !direct.is_empty() => l.set_jump(0, span),
                        _ => l.arrive(&direct, span)?,
                    }
                    l.run(items)
                })?;
                l.push(StmtKind::If(Guard::Expr(test), block, Vec::new()), span);
            }
            l.push(StmtKind::Break, span);
            Ok(())
        });
        let frame = self.body.frames.pop().expect("it was pushed");
        let (block, ()) = result?;
        self.push(StmtKind::While(Guard::Expr(boolean(true, span)), block), span);
        self.cross(frame, span)
    }

    pub fn run(&mut self, items: &'a [Item]) -> Result<()> {
        let mut i = 0;
        while i < items.len() {
            if calls(&items[i], &BEGINS) {
                i += self.section(&items[i..])?;
                continue;
            }
            if self.ends_early(&items[i]) {
                return self.end_early(items, i);
            }
            if self.starts_threads_without_end(&items[i..])? {
                return Ok(());
            }
            match &items[i].node {
                BlockItem::Declaration(d) => self.declare_local(d)?,
                BlockItem::StaticAssert(a) => self.static_assertion(a)?,
                BlockItem::Statement(s) => {
                    let (_, inner) = self.labels(s);
                    self.statement(inner)?;
                }
            }
            i += 1;
        }
        Ok(())
    }

    fn switch(&mut self, s: &'a ast::SwitchStatement, span: Span) -> Result<()> {
        let labels = cases(s);
        let items = match &s.statement.node {
            Statement::Compound(items) if labels.iter().all(|(_, heads)| *heads) && !items.iter().any(is_entered) => {
                items
            }
            _ => return self.switch_into(s, &labels, span),
        };
        let (mark, alive) = (self.body.used.len(), self.body.alive.len());
        let at = self.span(s.expression.span);
        let v = self.value(&s.expression)?;
        let v = self.promoted(v, &s.expression)?;
        let value = self.simple(v.parts[0].clone());
        let chosen = self.temp(INT);
        let mut segments: Vec<(usize, Option<&'a Node<Statement>>)> = Vec::new();
        let mut tests: Vec<(Expr, i64)> = Vec::new();
        let mut default = None;
        for (i, item) in items.iter().enumerate() {
            let BlockItem::Statement(inner) = &item.node else { continue };
            let mut inner: &'a Node<Statement> = inner;
            let mut any = false;
            while let Statement::Labeled(l) = &inner.node {
                let number = segments.len() as i64 + 1;
                match (&l.node.label.node, self.case_test(&l.node.label, &value, &v.ty)?) {
                    (ast::Label::Identifier(_), _) => break,
                    (_, None) => default = Some(number),
                    (_, Some(test)) => tests.push((test, number)),
                }
                any = true;
                inner = &l.node.statement;
            }
            if any {
                segments.push((i, Some(inner)));
            }
        }
        let none = segments.len() as i64 + 1;
        let number = |n: i64| constant(n, INT, at);
        let target = self.local(chosen, at);
        let set = |n: i64| vec![stmt(StmtKind::Assign(target.clone(), number(n)), at)];
        let mut choice: Block = set(default.unwrap_or(none));
        for (test, n) in tests.into_iter().rev() {
            choice = vec![stmt(StmtKind::If(Guard::Expr(test), set(n), choice), at)];
        }
        self.body.out.extend(choice);
        self.scopes.push(Scope::default());
        self.body.frames.push(Frame { kind: FrameKind::Switch, crossing: Vec::new() });
        let result = self.block(|l| {
            let first = segments.first().map_or(items.len(), |(i, _)| *i);
            for item in &items[..first] {
                if let BlockItem::Declaration(d) = &item.node {
                    l.declare_local(d)?;
                }
            }
            for (k, (i, inner)) in segments.iter().enumerate() {
                let until = segments.get(k + 1).map_or(items.len(), |(j, _)| *j);
                let (block, ()) = l.block(|l| {
                    if let Some(inner) = inner {
                        l.statement(inner)?;
                    }
                    l.items(&items[i + 1..until])
                })?;
                let chosen = l.read_local(chosen, at);
                let test = binary(BinaryOp::Le, chosen, number(k as i64 + 1));
                l.push(StmtKind::If(Guard::Expr(test), block, Vec::new()), at);
            }
            l.push(StmtKind::Break, at);
            Ok(())
        });
        self.scopes.pop();
        let frame = self.body.frames.pop().expect("it was pushed");
        let (block, ()) = result?;
        self.push(StmtKind::While(Guard::Expr(boolean(true, at)), block), at);
        self.release(mark, at);
        self.ends_from(alive, span);
        self.cross(frame, span)
    }

    /// A `switch` with labels inside of statements: jumps to them.
    fn switch_into(
        &mut self,
        s: &'a ast::SwitchStatement,
        labels: &[(&'a Node<ast::Label>, bool)],
        span: Span,
    ) -> Result<()> {
        let (mark, alive) = (self.body.used.len(), self.body.alive.len());
        let at = self.span(s.expression.span);
        let v = self.value(&s.expression)?;
        let v = self.promoted(v, &s.expression)?;
        let value = self.simple(v.parts[0].clone());
        self.body.cases.extend(labels.iter().map(|(label, _)| label.span.start));
        let jump = self.jump_variable();
        let target = self.local(jump, at);
        let set = |n: i64| vec![stmt(StmtKind::Assign(target.clone(), constant(n, INT, at)), at)];
        let mut choice = set(NOWHERE);
        for (label, _) in labels.iter().rev() {
            let n = self.number_of(label);
            if matches!(label.node, ast::Label::Default) {
                choice = set(n);
            }
        }
        for (label, _) in labels.iter().rev() {
            let n = self.number_of(label);
            if let Some(test) = self.case_test(label, &value, &v.ty)? {
                choice = vec![stmt(StmtKind::If(Guard::Expr(test), set(n), choice), at)];
            }
        }
        self.body.out.extend(choice);
        self.body.frames.push(Frame { kind: FrameKind::Switch, crossing: Vec::new() });
        let result = self.block(|l| {
            let nowhere = l.jumps_to(NOWHERE, at);
            let (mut leave, ()) = l.block(|l| {
                l.set_jump(0, at);
                Ok(())
            })?;
            leave.push(stmt(StmtKind::Break, at));
            l.push(StmtKind::If(Guard::Expr(nowhere), leave, Vec::new()), at);
            l.statement(&s.statement)?;
            l.push(StmtKind::Break, at);
            Ok(())
        });
        let frame = self.body.frames.pop().expect("it was pushed");
        let (block, ()) = result?;
        self.push(StmtKind::While(Guard::Expr(boolean(true, at)), block), at);
        self.release(mark, at);
        self.ends_from(alive, span);
        self.cross(frame, span)
    }

    fn number_of(&mut self, label: &Node<ast::Label>) -> i64 {
        let key = case_key(label);
        self.label_number(&key)
    }

    /// Whether a value goes to a `case`; `None` of `default`.
    fn case_test(&mut self, label: &'a Node<ast::Label>, value: &Expr, ty: &CType) -> Result<Option<Expr>> {
        Ok(match &label.node {
            ast::Label::Identifier(_) | ast::Label::Default => None,
            ast::Label::Case(e) => Some(binary(BinaryOp::Eq, value.clone(), self.case(e, ty)?)),
            ast::Label::CaseRange(r) => {
                let (lo, hi) = (self.case(&r.node.low, ty)?, self.case(&r.node.high, ty)?);
                let above = binary(BinaryOp::Le, lo, value.clone());
                Some(and(above, binary(BinaryOp::Le, value.clone(), hi)))
            }
        })
    }

    fn case(&mut self, e: &'a Ex, ty: &CType) -> Result<Expr> {
        let span = self.span(e.span);
        let v = self.constant_value(e)?;
        Ok(self.convert(v, ty, span)?.parts[0].clone())
    }

    /// A declaration in a function.
    fn declare_local(&mut self, d: &'a Node<ast::Declaration>) -> Result<()> {
        let specifiers = Specifiers::of(&d.node.specifiers);
        if d.node.declarators.is_empty() {
            self.hide_tags(&specifiers);
        }
        let base = self.base_type(&specifiers)?;
        for each in &d.node.declarators {
            let span = self.span(each.span);
            let read = |l: &mut Self| l.declarator(&each.node.declarator, base.clone());
            let (name, mut ty, lengths) = self.lengths_of(span, read)?;
            let init = each.node.initializer.as_ref();
            if !lengths.is_empty() && (specifiers.typedef || specifiers.is_static || specifiers.is_extern) {
                return crate::lengths::elsewhere(span);
            }
            if specifiers.typedef {
                let named = self.named_type(&name, ty, d);
                self.bind(&name, named);
                continue;
            }
            if let CType::Function(_) = ty {
                continue;
            }
            if specifiers.is_extern {
                // What is defined nowhere matters only if it is used.
                let index = self.add_global(name.clone(), ty, None, &specifiers, span);
                self.bind(&name, Entity::Global(index));
                continue;
            }
            self.body.declared += 1;
            let key = format!("{}.{name}#{}", self.body.function, self.body.declared);
            if specifiers.defines_a_constant(&each.node.declarator.node) {
                self.found.constants.insert(key.clone());
            }
            if specifiers.is_static {
                let shown = format!("{}.{name}", self.body.function);
                let body = std::mem::take(&mut self.body);
                let made = match specifiers.per_thread {
                    true => self.make_per_thread(&key, &shown, &mut ty, init, span),
                    false => self.make_static(&key, &shown, &mut ty, init, span),
                };
                self.body = body;
                self.bind(&name, Entity::Object(made?));
                continue;
            }
            if let (CType::Array(of, None), Some(init)) = (&ty, init) {
                let n = self.length_of_initializer(of, init)?;
                ty = CType::Array(of.clone(), Some(n));
            }
            if self.types().size(&ty).is_none() {
                return wrong(span, format!("the size of `{}` is not known", self.types().show(&ty)));
            }
            // A jump may pass over first values.
            let is_set = init.is_some() && self.body.jump.is_none();
            let birth = if is_set { Birth::Set } else { Birth::Unset };
            let id = self.local_object(&key, &name, &ty, birth, span)?;
            self.has_lengths(id, lengths, span);
            self.bind(&name, Entity::Object(id));
            let lv = self.whole(id, span);
            let unset = self.single_scalar(id);
            let before = self.body.out.len();
            match init {
                Some(init) => self.full(span, |l| l.initialize_local(&lv, init, span))?,
                None => self.begins_unwritten(id, span),
            }
            if birth == Birth::Unset {
                self.look_at_parts(id, span);
            }
            let Some(unset) = unset else { continue };
            // As in `int x = x;`
            let is_unset = init.is_none() || unset::is_read(&self.body.out[before..], unset.local);
            if is_unset {
                let at = if init.is_none() { self.body.out.len() } else { before };
                self.body.out.insert(at, unset::declaration(unset.local, span));
            }
            // A jump may pass over a first value.
            if is_unset || self.body.jump.is_some() {
                self.body.unset.push(unset);
            }
        }
        Ok(())
    }

    fn bind(&mut self, name: &str, entity: Entity) {
        self.scopes.last_mut().expect("there is a scope").names.insert(name.into(), entity);
    }

    /// A local: in memory if its address is taken.
    fn local_object(&mut self, key: &str, name: &str, ty: &CType, birth: Birth, span: Span) -> Result<ObjectId> {
        let function = self.body.function.clone();
        let kind = Kind::Frame(function.clone());
        self.found_known.insert(key.into(), Known { name: name.into(), ty: ty.clone(), kind, birth });
        if self.session.facts.escaped.iter().any(|(k, _)| k == key) {
            let id = self.make_frame_object(key, name, ty, &function, birth, span)?;
            self.begins(id, span);
            return Ok(id);
        }
        self.make_local(key, name, ty, birth, span)
    }

    /// The local that is all of an integer variable, or of a pointer.
    fn single_scalar(&self, id: ObjectId) -> Option<Unset> {
        let object = &self.objects[id];
        match &object.parts {
            Parts::Locals(ids) => unset::unset(*ids.first()?, &object.ty),
            _ => None,
        }
    }

    fn clear_local(&mut self, id: ObjectId, span: Span) {
        let Object { parts: Parts::Locals(ids), leaves, open, .. } = self.objects[id].clone() else { return };
        for ((id, leaf), open) in ids.into_iter().zip(leaves).zip(open) {
            self.clear(id, &leaf.dims, cell_type(&leaf, open), span);
        }
    }

    /// A variable is declared without a value. In a loop, or where its function is called again, it is a new one each time.
    fn begins_unwritten(&mut self, id: ObjectId, span: Span) {
        let again = self.body.loops > 0 || self.body.jump.is_some();
        let is_local = matches!(self.objects[id].parts, Parts::Locals(_));
        if is_local && again {
            self.clear_local(id, span);
        }
        if !is_local && !again && self.runs_once(&self.body.function.clone()) {
            return;
        }
        let At::Direct(Direct { slot, .. }) = self.whole(id, span).at else { return };
        let block = self.whole_parts(id, slot, Birth::Unset, span);
        match is_local || block.len() < 2 {
            true => self.body.out.extend(block),
            false => self.push(StmtKind::Atomic(block), span),
        }
        let Object { ty, parts: Parts::Locals(ids), leaves, .. } = self.objects[id].clone() else { return };
        if !ty.is_scalar() {
            let single = ids.into_iter().zip(leaves).filter(|(_, leaf)| leaf.dims.is_empty());
            self.body.out.extend(single.map(|(local, _)| unset::declaration(local, span)));
        }
    }

    /// Of the parts of a local it is looked at whether they are read before they are written.
    fn look_at_parts(&mut self, id: ObjectId, span: Span) {
        let Object { key, ty, parts: Parts::Locals(ids), leaves, .. } = self.objects[id].clone() else { return };
        if ty.is_scalar() {
            return;
        }
        if self.body.jump.is_some() {
            let block = self.whole_parts(id, None, Birth::Unset, span);
            self.body.first.extend(block);
        }
        for (local, leaf) in ids.into_iter().zip(leaves).filter(|(_, leaf)| leaf.dims.is_empty()) {
            self.body.unset.push(Unset { local, kind: unset::Kind::Part });
            self.body.parts.push((local, (key.clone(), leaf.fields)));
        }
    }

    fn clear(&mut self, id: LocalId, dims: &[u32], ty: fabius_lang::program::Type, span: Span) {
        let (ty, value) = array_of(ty, fabius_lang::program::Value::Int(0), dims);
        let zero = Expr { kind: fabius_lang::program::ExprKind::Const(value), ty, span };
        self.set_local(id, zero, span);
    }

    /// All parts of a variable become 0.
    pub fn clear_place(&mut self, lv: &Lvalue, span: Span) -> Result<()> {
        if let At::Direct(Direct { object, parts, .. }) = &lv.at
            && parts.is_empty()
            && let Parts::Locals(_) = self.objects[*object].parts
        {
            self.clear_local(*object, span);
            return Ok(());
        }
        let scalars = self.scalars(&lv.ty, span)?;
        let zeros = scalars.iter().map(|(_, ty)| constant(0, ty.core(), span)).collect();
        self.store(lv, &Value { parts: zeros, ty: lv.ty.clone() }, span)
    }

    /// The body of a function.
    pub fn function(&mut self, name: &str) -> Result<()> {
        let Function { signature, definition: Some(definition), proc: Some(proc), .. } = &self.functions[name] else {
            return Ok(());
        };
        let (signature, definition, proc) = (signature.clone(), *definition, *proc);
        let span = self.span(definition.node.declarator.span);
        self.body = Body { function: name.into(), result: Some(signature.result.clone()), ..Body::default() };
        self.scopes.push(Scope::default());
        let before = self.objects.len();
        let result = self.function_body(name, &signature, definition, span);
        self.scopes.pop();
        self.note_shown(before, |local| fabius_lang::program::Variable::Local(proc, local));
        let params = match result {
            Ok(params) => params,
            Err(e) => {
                self.errors.push(e);
                0
            }
        };
        let whole = std::mem::take(&mut self.body.out);
        let ended = self.ending(whole, span);
        let mut body = std::mem::take(&mut self.body);
        let chosen = unset::choose(ended, &mut body.locals, &body.unset, body.jump);
        self.found.unset_pointers |= chosen.pointers;
        let written = |(local, _): &&(LocalId, _)| chosen.written.contains(local);
        self.found.written.extend(body.parts.iter().filter(written).map(|(_, part)| part.clone()));
        let results = self.part_types(&signature.result, span)?;
        self.procs[proc] = Some(fabius_lang::program::Proc {
            // How numbers are computed with is no part of a trace.
            name: if crate::expressions::computes_with_floats(name) { format!("${name}") } else { name.into() },
            locals: body.locals,
            params,
            results,
            body: body.first.into_iter().chain(chosen.block).collect(),
            span,
        });
        Ok(())
    }

    fn function_body(
        &mut self,
        name: &str,
        signature: &crate::types::Signature,
        definition: &'a Node<ast::FunctionDefinition>,
        span: Span,
    ) -> Result<usize> {
        let names = self.parameter_names(&definition.node.declarator)?;
        let mut given = Vec::new();
        for (i, ty) in signature.params.iter().enumerate() {
            let shown = names.get(i).filter(|n| !n.is_empty()).cloned().unwrap_or_else(|| format!("$p{i}"));
            let mut ids = Vec::new();
            for (k, part) in self.part_types(ty, span)?.into_iter().enumerate() {
                let name = if ty.is_scalar() { shown.clone() } else { format!("${shown}.{k}") };
                self.body.locals.push(fabius_lang::program::Local { name, ty: part });
                ids.push(self.body.locals.len() - 1);
            }
            given.push((shown, ids));
        }
        let params = self.body.locals.len();
        for ((shown, ids), ty) in given.into_iter().zip(&signature.params) {
            self.body.declared += 1;
            let key = format!("{name}.{shown}#{}", self.body.declared);
            let escaped = self.session.facts.escaped.iter().any(|(k, _)| *k == key);
            let id = if ty.is_scalar() && !escaped {
                let kind = Kind::Frame(name.into());
                self.found_known
                    .insert(key.clone(), Known { name: shown.clone(), ty: ty.clone(), kind, birth: Birth::Set });
                let leaves = self.types().leaves(ty);
                let parts = Parts::Locals(ids);
                self.objects.push(Object {
                    key,
                    name: shown.clone(),
                    ty: ty.clone(),
                    parts,
                    leaves,
                    open: vec![false],
                    base: 0,
                    pool: None,
                });
                self.objects.len() - 1
            } else {
                let id = self.local_object(&key, &shown, ty, Birth::Set, span)?;
                let lv = self.whole(id, span);
                let parts = ids.into_iter().map(|id| self.read_local(id, span)).collect();
                self.store(&lv, &Value { parts, ty: ty.clone() }, span)?;
                id
            };
            self.bind(&shown, Entity::Object(id));
        }
        let Statement::Compound(items) = &definition.node.statement.node else {
            return wrong(span, "a function has a block");
        };
        let work = |l: &mut Self| l.scoped(|l| l.items(items));
        work(self)?;
        let ends = |s: &Stmt| matches!(s.kind, StmtKind::Return(_));
        if name == "main" && !self.body.out.last().is_some_and(ends) {
            let zero = constant(0, INT, span);
            self.push(StmtKind::Return(vec![zero]), span);
        } else if self.is_looked_at_by_callers() && may_end(&self.body.out) {
            self.return_nothing(span)?;
        }
        Ok(params)
    }

    fn parameter_names(&mut self, d: &'a Node<ast::Declarator>) -> Result<Vec<String>> {
        if let Some(names) = old_names(&d.node) {
            return Ok(names.iter().map(|name| name.node.name.clone()).collect());
        }
        // In `int (*f(char c))(int)` those that stand next to the name.
        if let ast::DeclaratorKind::Declarator(inner) = &d.node.kind.node
            && inner.node.derived.iter().any(|each| matches!(each.node, ast::DerivedDeclarator::Function(_)))
        {
            return self.parameter_names(inner);
        }
        for each in &d.node.derived {
            if let ast::DerivedDeclarator::Function(f) = &each.node {
                return f.node.parameters.iter().map(|p| Ok(self.parameter(p)?.0)).collect();
            }
        }
        match &d.node.kind.node {
            ast::DeclaratorKind::Declarator(inner) => self.parameter_names(inner),
            _ => Ok(Vec::new()),
        }
    }
}

/// Whether some way may come to the end of a block.
fn may_end(block: &[Stmt]) -> bool {
    match block.last().map(|s| &s.kind) {
        Some(StmtKind::Return(_)) => false,
        Some(StmtKind::If(_, a, b)) => may_end(a) || may_end(b),
        _ => true,
    }
}

/// Whether an item of a `switch` is jumped to by name, or begins an atomic section behind a `case`.
fn is_entered(item: &Item) -> bool {
    let BlockItem::Statement(s) = &item.node else { return false };
    let mut labels = Vec::new();
    labels_in(s, &mut labels);
    labels.iter().any(|l| matches!(l.node, ast::Label::Identifier(_))) || !labels.is_empty() && calls(item, &BEGINS)
}
