//! Statements: the graph of a process.

use crate::ast::{Decl, Expr as Tree, ExprKind as Kind, Init, Lvalue, Name, Stmt as Statement, StmtKind as Form};
use crate::channels::Operation;
use crate::emit::{any, globals_of};
use crate::graph::{END, Edge, Graph, Node, NodeId, Stands};
use crate::lower::*;
use crate::refusal::{Result, unsupported, wrong};
use fabius_lang::build::*;
use fabius_lang::program::*;
use fabius_trace::Span;
use std::collections::HashMap;

impl Lower {
    /// The graph of the statements of a process, which makes steps only where something is `provided`.
    pub fn graph(&mut self, statements: &[Statement], provided: Option<Expr>) -> Result<Graph> {
        self.body.nodes = vec![Node::default()];
        let entry = self.node(Span::default());
        self.sequence(statements, entry, END, Stands::Alone)?;
        for (name, (_, met)) in &self.body.labels {
            if met.is_none() {
                let jump = self.body.jumps.iter().find(|(jump, _)| jump.text == *name);
                let span = jump.map_or(Span::default(), |(jump, _)| jump.span);
                return Err(wrong(span, format!("there is no label `{name}`")));
            }
        }
        let mut nodes = std::mem::take(&mut self.body.nodes);
        for node in 0..nodes.len() {
            let to = self.resolved(node)?;
            // Nobody waits in front of a jump.
            nodes[to].end |= nodes[node].end && !self.body.passed.contains(&node);
            nodes[to].progress |= nodes[node].progress;
            if nodes[node].accepts && self.body.passed.contains(&node) {
                return Err(unsupported(nodes[node].span, "a label `accept` in front of `goto` or `break`")
                    .help("put `skip` between them"));
            }
            nodes[to].accepts |= nodes[node].accepts;
        }
        for node in &mut nodes {
            // Of all that can be done here, also if options stand inside of options, as for SPIN.
            let all: Vec<Edge> = node.edges.iter().filter(|e| !e.other).cloned().collect();
            let guard = not(any(&all));
            node.edges.iter_mut().filter(|e| e.other).for_each(|e| e.guard = Some(guard.clone()));
        }
        crate::unless::complete(&mut nodes, &self.body.escapes, provided)?;
        self.once_per_timeout(&mut nodes);
        for node in &mut nodes {
            for edge in &mut node.edges {
                edge.to = self.resolved(edge.to)?;
                if node.progress {
                    edge.effect.insert(0, stmt(StmtKind::Progress, node.span));
                }
            }
            if node.end {
                node.edges.retain(|e| e.guard.as_ref().and_then(value_of) != Some(0));
            }
        }
        let graph = Graph { entry: self.resolved(entry)?, nodes };
        Ok(graph)
    }

    /// Whoever has gone on because nobody else could has used that up: what follows in the same step does not.
    fn once_per_timeout(&self, nodes: &mut [Node]) {
        let Some(idle) = self.idle else { return };
        for edge in nodes.iter_mut().flat_map(|node| &mut node.edges) {
            if edge.guard.as_ref().is_some_and(|guard| globals_of(guard).contains(&idle)) {
                let place = global(idle, Type::Bool, Span::default());
                edge.effect.insert(0, assign(place, boolean(false, Span::default()), Span::default()));
            }
        }
    }

    pub(crate) fn node(&mut self, span: Span) -> NodeId {
        let (inside, d_step) = (self.body.atomic > 0, self.body.d_step > 0);
        self.body.nodes.push(Node { inside, d_step, span, ..Node::default() });
        self.body.nodes.len() - 1
    }

    /// The node that a node is.
    pub(crate) fn resolved(&self, node: NodeId) -> Result<NodeId> {
        let mut at = node;
        for _ in 0..=self.body.same.len() {
            match self.body.same.get(&at) {
                Some(next) => at = *next,
                None => return Ok(at),
            }
        }
        let jump = self.body.jumps.iter().find(|(_, n)| *n == node).or(self.body.jumps.first());
        Err(wrong(jump.map_or(Span::default(), |(name, _)| name.span), "jumps lead in a circle, and do nothing"))
    }

    fn edge(&mut self, at: NodeId, guard: Option<Expr>, effect: Block, to: NodeId, span: Span) {
        let guard = guard.filter(|g| value_of(g) != Some(1));
        let (atomic, within) = (self.body.atomic > 0, self.body.within.clone());
        self.body.nodes[at].edges.push(Edge { guard, effect, to, atomic, span, meet: None, other: false, within });
    }

    fn operation(&mut self, at: NodeId, operation: Operation, to: NodeId, span: Span) {
        let (guard, atomic) = (Some(operation.guard), self.body.atomic > 0);
        self.body.nodes[at].edges.push(Edge {
            guard,
            effect: operation.effect,
            to,
            atomic,
            span,
            meet: operation.meet,
            other: false,
            within: self.body.within.clone(),
        });
    }

    pub(crate) fn sequence(
        &mut self,
        statements: &[Statement],
        at: NodeId,
        next: NodeId,
        stands: Stands,
    ) -> Result<()> {
        self.body.scopes.push(HashMap::new());
        let (mut here, mut stands) = (at, stands);
        for (n, s) in statements.iter().enumerate() {
            let to = if n + 1 == statements.len() { next } else { self.node(statements[n + 1].span) };
            self.statement(s, here, to, stands)?;
            (here, stands) = (to, Stands::Alone);
        }
        if statements.is_empty() {
            self.passes(at, next, stands, Span::default());
        }
        self.body.scopes.pop();
        Ok(())
    }

    /// Nothing is done between two nodes.
    fn passes(&mut self, at: NodeId, to: NodeId, stands: Stands, span: Span) {
        match stands {
            // Other ways to where it leads are no progress.
            Stands::Alone if !self.body.nodes[at].progress => {
                self.body.same.insert(at, to);
                self.body.passed.insert(at);
            }
            _ => self.edge(at, None, Block::new(), to, span),
        }
    }

    fn label(&mut self, label: &Name, at: NodeId, stands: Stands) -> Result<()> {
        let node = self.labelled(&label.text);
        if let Some((_, met)) = self.body.labels.get_mut(&label.text)
            && met.replace(label.span).is_some()
        {
            return Err(wrong(label.span, format!("the label `{}` stands at two places", label.text))
                .help("in an inline macro that is called twice, write the loop with `do`"));
        }
        self.body.same.insert(node, at);
        let (ends, progress) = (label.text.starts_with("end"), label.text.starts_with("progress"));
        if stands == Stands::First && (ends || progress) {
            // SPIN says of one such label that the whole selection has it, and of another that nothing has.
            let what =
                format!("a label `{}` of the first statement of an option", if ends { "end" } else { "progress" });
            return Err(unsupported(label.span, what).help(match ends {
                true => "put it in front of the selection",
                false => "put it behind that statement, in front of `skip`",
            }));
        }
        if stands == Stands::First {
            self.body.first_labels.push(label.text.clone());
        }
        if ends {
            self.body.nodes[at].end = true;
        }
        if progress {
            self.body.nodes[at].progress = true;
        }
        if label.text.starts_with("accept") {
            // Whether a process is at one is asked as if it were looked at: see `accepting.rs`.
            if stands == Stands::First {
                return Err(unsupported(label.span, "a label `accept` of the first statement of an option")
                    .help("put it in front of the selection, or behind that statement"));
            }
            self.body.nodes[at].accepts = self.body.claims;
        }
        Ok(())
    }

    fn labelled(&mut self, name: &str) -> NodeId {
        if let Some((node, _)) = self.body.labels.get(name) {
            return *node;
        }
        let node = self.node(Span::default());
        self.body.labels.insert(name.into(), (node, None));
        node
    }

    fn statement(&mut self, s: &Statement, at: NodeId, next: NodeId, stands: Stands) -> Result<()> {
        let span = s.span;
        if self.body.nodes[at].span == Span::default() {
            self.body.nodes[at].span = span;
        }
        for label in &s.labels {
            self.label(label, at, stands)?;
        }
        match &s.kind {
            Form::Declare(decls) => return self.declared_late(decls, at, next, stands),
            Form::Expr(Tree { kind: Kind::Run(name, args), .. }) => {
                let effect = self.run(name, args, None, span)?;
                self.edge(at, None, effect, next, span);
            }
            Form::Expr(e) => {
                let guard = self.condition(e)?;
                self.edge(at, Some(guard), Block::new(), next, span);
            }
            Form::Assign(place, Tree { kind: Kind::Run(name, args), .. }) => {
                let effect = self.run(name, args, Some(place), span)?;
                self.edge(at, None, effect, next, span);
            }
            Form::Assign(place, e) if self.is_nothing(place) => {
                let value = self.number(e)?;
                let nothing = self.local("_", INT);
                self.edge(at, None, vec![assign(local(nothing, INT, place.span), value, span)], next, span);
            }
            Form::Assign(place, e) => {
                let effect = vec![self.assignment(place, e, span)?];
                self.edge(at, None, effect, next, span);
            }
            Form::If(options) => self.options(options, at, next)?,
            Form::Do(options) => {
                self.body.breaks.push(next);
                let head = self.node(span);
                self.options(options, head, head)?;
                self.body.breaks.pop();
                match stands {
                    Stands::Alone => drop(self.body.same.insert(at, head)),
                    Stands::First => self.copy(head, at),
                }
            }
            Form::Atomic(body) => self.atomic(body, at, next)?,
            Form::DStep(body) => {
                self.body.d_step += 1;
                self.atomic(body, at, next)?;
                self.body.d_step -= 1;
            }
            Form::Block(body) => self.sequence(body, at, next, stands)?,
            Form::Else => return Err(wrong(span, "`else` is the first statement of an option")),
            Form::Goto(label) => {
                let to = self.labelled(&label.text);
                self.body.jumps.push((label.clone(), at));
                self.passes(at, to, stands, span);
            }
            Form::Break => {
                let to = self.body.breaks.last().copied().ok_or_else(|| wrong(span, "`break` outside of `do`"))?;
                self.passes(at, to, stands, span);
            }
            Form::Send(channel, sorted, args) => {
                let operation = self.send(channel, *sorted, args, span)?;
                self.operation(at, operation, next, span);
            }
            Form::Receive(channel, taking, args) => {
                let operation = self.receive(channel, *taking, args, span)?;
                self.operation(at, operation, next, span);
            }
            Form::Assert(e) => {
                let condition = self.condition(e)?;
                let effect = vec![stmt(StmtKind::Assert(condition, Check::Assertion, None), span)];
                self.edge(at, None, effect, next, span);
            }
            Form::Print(args) => {
                let args = args.iter().map(|e| self.expr(e)).collect::<Result<Vec<Expr>>>()?;
                self.edge(at, None, vec![stmt(StmtKind::Print(args), span)], next, span);
            }
            Form::Select(place, low, high) => {
                let written = select_written(place, low, high, span);
                self.sequence(&written, at, next, stands)?;
            }
            Form::Unless(main, escape) => self.unless(main, escape, (at, next), stands, span)?,
            Form::ForIn(place, name, body) => {
                let var = self.variable(name)?;
                let (Some(len), None) = (var.len, var.own) else {
                    return Err(unsupported(name.span, "a loop over what is no array of variables")
                        .help("receive the messages, or write `for (i : 0 .. n - 1)`"));
                };
                let number = |n: u32| Tree { kind: Kind::Number(n.into()), span: name.span };
                let written = for_written(place, &number(0), &number(len - 1), body, span);
                self.sequence(&written, at, next, stands)?;
            }
            Form::For(place, low, high, body) => {
                let written = for_written(place, low, high, body, span);
                self.sequence(&written, at, next, stands)?;
            }
        }
        Ok(())
    }

    /// `_`, to which anything is assigned, and which nobody reads.
    fn is_nothing(&self, place: &Lvalue) -> bool {
        matches!(place.parts.as_slice(), [(name, None)] if name.text == "_" && self.variable(name).is_err())
    }

    fn assignment(&mut self, place: &Lvalue, e: &Tree, span: Span) -> Result<Stmt> {
        let to = self.place(place)?;
        let value = self.expr(e)?;
        Ok(assign(to.place, self.fitted(value, &to.ty, to.element)?, span))
    }

    /// The edges of a node are those of another, too.
    fn copy(&mut self, from: NodeId, to: NodeId) {
        let (edges, open) = (self.body.nodes[from].edges.clone(), self.body.nodes[from].open);
        self.body.nodes[to].edges.extend(edges);
        self.body.nodes[to].open |= open;
    }

    /// Who comes back to its first statement keeps control, but not who comes to `atomic` itself.
    fn atomic(&mut self, body: &[Statement], at: NodeId, next: NodeId) -> Result<()> {
        self.body.atomic += 1;
        let first = self.node(body.first().map_or(Span::default(), |s| s.span));
        self.sequence(body, first, next, Stands::First)?;
        self.body.atomic -= 1;
        self.copy(first, at);
        Ok(())
    }

    fn options(&mut self, options: &[Vec<Statement>], at: NodeId, next: NodeId) -> Result<()> {
        let from = self.body.nodes[at].edges.len();
        let is_else = |option: &&Vec<Statement>| matches!(option.first(), Some(Statement { kind: Form::Else, .. }));
        for option in options.iter().filter(|o| !is_else(o)) {
            self.sequence(option, at, next, Stands::First)?;
        }
        let mut elses = options.iter().filter(is_else);
        if let Some(option) = elses.next() {
            let first = &option[0];
            if let Some(second) = elses.next() {
                return Err(wrong(second[0].span, "a second `else`"));
            }
            for label in &first.labels {
                self.label(label, at, Stands::First)?;
            }
            if self.body.nodes[at].edges[from..].iter().any(|e| e.meet.is_some()) {
                return Err(unsupported(first.span, "`else` beside a channel without room"));
            }
            let guard = not(any(&self.body.nodes[at].edges[from..]));
            let to = if option.len() == 1 { next } else { self.node(option[1].span) };
            self.edge(at, Some(guard), Block::new(), to, first.span);
            let in_order = self.body.d_step > 0;
            self.body.nodes[at].edges.iter_mut().next_back().into_iter().for_each(|e| e.other = !in_order);
            self.body.nodes[at].open = true;
            if option.len() > 1 {
                self.sequence(&option[1..], to, next, Stands::Alone)?;
            }
        }
        if self.body.d_step > 0 {
            // The first that can be taken is.
            let guards: Vec<Option<Expr>> = self.body.nodes[at].edges[from..].iter().map(|e| e.guard.clone()).collect();
            let mut earlier = boolean(false, Span::default());
            for (n, guard) in guards.into_iter().enumerate() {
                let node = &mut self.body.nodes[at];
                let edge = &mut node.edges[from + n];
                let own = guard.unwrap_or_else(|| boolean(true, edge.span));
                let narrowed = and(own.clone(), not(earlier.clone()));
                node.open |= value_of(&own) == Some(1);
                edge.guard = Some(narrowed).filter(|g| value_of(g) != Some(1));
                earlier = or(earlier, own);
            }
        }
        Ok(())
    }

    /// A declaration that is no part of the beginning of a process: its value is assigned when it is come to.
    fn declared_late(&mut self, decls: &[Decl], at: NodeId, next: NodeId, stands: Stands) -> Result<()> {
        if decls.is_empty() {
            self.passes(at, next, stands, Span::default());
        }
        let mut here = (at, stands);
        for (n, decl) in decls.iter().enumerate() {
            let to = if n + 1 == decls.len() { next } else { self.node(decl.name.span) };
            let effect = self.declare_local(decl)?;
            match effect.is_empty() {
                true => self.passes(here.0, to, here.1, decl.name.span),
                false => self.edge(here.0, None, effect, to, decl.name.span),
            }
            here = (to, Stands::Alone);
        }
        Ok(())
    }

    /// A local variable in the innermost scope; what gives it its value.
    pub fn declare_local(&mut self, decl: &Decl) -> Result<Block> {
        let span = decl.name.span;
        let len = self.length(decl)?;
        let ty = self.core_of(&decl.ty, len, span)?;
        let mut effect = Block::new();
        let id = self.local(&decl.name.text, ty.clone());
        match &decl.init {
            Some(Init::Channel(..)) => {
                return Err(unsupported(span, "a channel that is made in the middle of a process")
                    .help("declare it at the beginning of the process, or as a global one"));
            }
            Some(Init::Value(e)) => {
                let value = self.expr(e)?;
                let value = self.fitted(value, &decl.ty, len.is_some())?;
                let places = (0..len.unwrap_or(1)).map(|n| match len {
                    None => local(id, ty.clone(), span),
                    Some(len) => {
                        let index = element(constant(n.into(), INT, span), len);
                        part(&local(id, ty.clone(), span), index, value.ty.clone())
                    }
                });
                effect.extend(places.map(|place| assign(place, value.clone(), span)));
            }
            Some(Init::List(list)) => {
                let Some(len) = len.filter(|len| *len as usize == list.len()) else {
                    return Err(wrong(span, "the list has another length than the array"));
                };
                for (n, e) in list.iter().enumerate() {
                    let value = self.expr(e)?;
                    let value = self.fitted(value, &decl.ty, true)?;
                    let index = element(constant(n as i64, INT, span), len);
                    effect.push(assign(part(&local(id, ty.clone(), span), index, value.ty.clone()), value, span));
                }
            }
            None => {
                let zero = Expr { kind: ExprKind::Const(ty.default_value(&self.records)), ty: ty.clone(), span };
                effect.push(assign(local(id, ty, span), zero, span));
            }
        }
        let var = Var { base: Base::Local(id), ty: decl.ty.clone(), len, own: None };
        self.declare_name(&decl.name, var)?;
        Ok(effect)
    }

    /// How many elements a declaration has.
    pub fn length(&mut self, decl: &Decl) -> Result<Option<u32>> {
        let Some(len) = &decl.len else { return Ok(None) };
        match self.constant(len)? {
            n @ 1..=65_535 => Ok(Some(n as u32)),
            _ => Err(wrong(len.span, "an array has 1 to 65535 elements")),
        }
    }

    /// A name in the innermost scope.
    pub fn declare_name(&mut self, name: &Name, var: Var) -> Result<()> {
        let scope = self.body.scopes.last_mut().unwrap_or(&mut self.names);
        match scope.insert(name.text.clone(), var) {
            None => Ok(()),
            Some(_) => Err(wrong(name.span, format!("`{}` is declared twice", name.text))),
        }
    }
}

fn plain(kind: Form, span: Span) -> Statement {
    Statement { kind, span, labels: Vec::new() }
}

fn read_of(place: &Lvalue) -> Tree {
    Tree { kind: Kind::Read(place.clone()), span: place.span }
}

fn compared(op: &'static str, a: Tree, b: &Tree, span: Span) -> Statement {
    plain(Form::Expr(Tree { kind: Kind::Binary(op, a.into(), b.clone().into()), span }), span)
}

fn counted_on(place: &Lvalue, span: Span) -> Statement {
    let one = Tree { kind: Kind::Number(1), span };
    let sum = Tree { kind: Kind::Binary("+", read_of(place).into(), one.into()), span };
    plain(Form::Assign(place.clone(), sum), span)
}

/// `select`, as SPIN writes it out.
fn select_written(place: &Lvalue, low: &Tree, high: &Tree, span: Span) -> Vec<Statement> {
    let more = vec![compared("<", read_of(place), high, span), counted_on(place, span)];
    let options = vec![more, vec![plain(Form::Break, span)]];
    vec![plain(Form::Assign(place.clone(), low.clone()), span), plain(Form::Do(options), span)]
}

/// `for`, as SPIN writes it out.
fn for_written(place: &Lvalue, low: &Tree, high: &Tree, body: &[Statement], span: Span) -> Vec<Statement> {
    let mut round = vec![compared("<=", read_of(place), high, span)];
    round.push(plain(Form::Block(body.to_vec()), span));
    round.push(counted_on(place, span));
    let options = vec![round, vec![plain(Form::Else, span), plain(Form::Break, span)]];
    vec![plain(Form::Assign(place.clone(), low.clone()), span), plain(Form::Do(options), span)]
}
