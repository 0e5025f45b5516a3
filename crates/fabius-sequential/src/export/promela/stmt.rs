//! Statements: one step of Promela for each access to shared state, gotos for loops and calls.

use super::calls::Call;
use super::expr::{Text, all};
use super::layout::{self, Leaf, Scalar, word};
use super::{Refused, Within, Writer, refused};
use fabius_lang::program::*;
use fabius_trace::Span;

/// Statements of a program at most: procedures are written out at each call.
const MOST: usize = 100_000;

impl Writer<'_> {
    pub fn call(&self) -> &Call {
        self.calls.last().expect("statements stand in procedures")
    }

    fn inner(&mut self) -> &mut Call {
        self.calls.last_mut().expect("statements stand in procedures")
    }

    pub fn label(&mut self, what: &str) -> String {
        self.labels += 1;
        format!("_{what}{}", self.labels)
    }

    /// The lines that declare a variable.
    pub fn declarations(&self, leaves: &[Leaf], ty: &Type, init: &Value, span: Span) -> Result<Vec<String>, Refused> {
        let (program, values) = (self.program, self.constant(init));
        let mut lines = Vec::new();
        let mut by_leaf: Vec<Vec<&String>> = vec![Vec::new(); leaves.len()];
        let mut numbers = Vec::new();
        layout::leaf_of_each(program, ty, &mut 0, &mut numbers);
        numbers.iter().zip(&values).for_each(|(leaf, value)| by_leaf[*leaf].push(value));
        for (leaf, values) in leaves.iter().zip(by_leaf) {
            let word = word(&leaf.ty, program, span)?;
            let count: u64 = leaf.lengths.iter().map(|len| u64::from(*len)).product();
            let same = values.windows(2).all(|pair| pair[0] == pair[1]);
            match (leaf.lengths.is_empty(), same, values.first()) {
                (true, _, Some(value)) => lines.push(format!("{word} {} = {value};", leaf.name)),
                (false, true, Some(value)) => lines.push(format!("{word} {}[{count}] = {value};", leaf.name)),
                (false, false, _) => {
                    let values: Vec<&str> = values.iter().map(|value| value.as_str()).collect();
                    lines.push(format!("{word} {}[{count}] = {{ {} }};", leaf.name, values.join(", ")));
                }
                (_, _, None) => {}
            }
        }
        Ok(lines)
    }

    /// What a thread does that begins with this procedure, and the scalars of its locals. The process declares them, and
    /// what is there once for each thread.
    pub fn body(&mut self, id: ProcId, span: Span) -> Result<(String, Vec<Vec<Leaf>>), Refused> {
        let program = self.program;
        for (g, global) in program.globals.iter().enumerate().filter(|(_, g)| g.per_thread) {
            let lines = self.declarations(&self.globals[g], &global.ty, &global.init, global.span)?;
            lines.iter().for_each(|line| self.declared += &format!("    {line}\n"));
        }
        let text = std::mem::take(&mut self.out);
        self.depth += 1;
        let locals = self.enter(id, span)?;
        self.block(&program.procs[id].body, Within::Thread)?;
        let call = self.calls.pop().expect("it was entered");
        self.line(&format!("{}: skip;", call.end));
        self.depth -= 1;
        Ok((std::mem::replace(&mut self.out, text), locals))
    }

    pub fn declare(&mut self, leaves: &[Leaf], ty: &Type, span: Span) -> Result<(), Refused> {
        let init = ty.default_value(&self.program.records);
        let lines = self.declarations(leaves, ty, &init, span)?;
        lines.iter().for_each(|line| self.declared += &format!("    {line}\n"));
        Ok(())
    }

    /// A local of the process that a statement needs for itself.
    fn temporary(&mut self, ty: &Type, span: Span) -> Result<String, Refused> {
        let name = self.names.pick("t");
        let word = word(ty, self.program, span)?;
        self.declared += &format!("    {word} {name};\n");
        Ok(name)
    }

    pub fn block(&mut self, block: &Block, within: Within) -> Result<(), Refused> {
        block.iter().try_for_each(|s| self.stmt(s, within))
    }

    /// The block, or something that does nothing.
    fn branch(&mut self, block: &Block, within: Within) -> Result<(), Refused> {
        self.depth += 1;
        if block.is_empty() {
            self.line("skip");
        }
        self.block(block, within)?;
        self.depth -= 1;
        Ok(())
    }

    /// Begins a step: `enabled` says when it can be made. Between this and [`Writer::made`] stands what it does.
    pub fn step(&mut self, within: Within, enabled: Option<&str>) {
        let waits = within == Within::Thread && self.drops;
        if waits {
            self.line("_running--;");
        }
        self.line("atomic {");
        self.depth += 1;
        self.steps.push(within);
        match (waits, enabled) {
            (true, None) => self.line("_running == 0 -> _running++;"),
            (true, Some(enabled)) => self.line(&format!("_running == 0 && ({enabled}) -> _running++;")),
            (false, Some(enabled)) => self.line(&format!("({enabled});")),
            (false, None) => {}
        }
    }

    pub fn made(&mut self) -> Result<(), Refused> {
        // What touches nothing shared changes no condition.
        if self.steps.pop() == Some(Within::Thread) {
            self.look()?;
        }
        self.depth -= 1;
        self.line("};");
        Ok(())
    }

    /// What must hold here, or else it is a bug.
    pub fn sound(&mut self, conditions: &[String]) {
        all(conditions).into_iter().for_each(|condition| self.line(&format!("assert({condition});")));
    }

    /// Where a statement stands with regard to steps: one that touches nothing shared belongs to the step before it.
    fn place_of(stmt: &Stmt, within: Within) -> Within {
        if stmt.access == Access::Local { Within::Atomic } else { within }
    }

    fn stmt(&mut self, stmt: &Stmt, within: Within) -> Result<(), Refused> {
        self.statements += 1;
        if self.statements > MOST {
            return refused("a program that calls so many procedures in Promela", stmt.span, "call less");
        }
        let here = Self::place_of(stmt, within);
        match &stmt.kind {
            StmtKind::Skip | StmtKind::Progress => {}
            StmtKind::Zield | StmtKind::Yield => self.point(within)?,
            StmtKind::Assign(place, e) => {
                self.step(here, None);
                let value = self.expr(e)?;
                self.store(place, &value, stmt.span)?;
                self.made()?;
            }
            StmtKind::Any(place, lo, hi) => self.any(place, lo, hi, here, stmt.span)?,
            StmtKind::New(place, record, fields) => self.new_object(place, *record, fields, here, stmt.span)?,
            StmtKind::If(guard, yes, no) => {
                let guard = self.guard(guard, here, stmt.span)?;
                self.line("if");
                self.line(&format!(":: {} ->", guard.as_deref().unwrap_or("true")));
                self.branch(yes, within)?;
                self.line(&format!(":: {} ->", if guard.is_some() { "else" } else { "true" }));
                self.branch(no, within)?;
                self.line("fi;");
            }
            StmtKind::While(guard, body) => {
                let (again, behind) = (self.label("again"), self.label("behind"));
                self.line(&format!("{again}: skip;"));
                let guard = self.guard(guard, here, stmt.span)?;
                self.line("if");
                self.line(&format!(":: {} ->", guard.as_deref().unwrap_or("true")));
                self.inner().loops.push((again.clone(), behind.clone()));
                self.branch(body, within)?;
                self.inner().loops.pop();
                self.line(&format!("    goto {again}"));
                self.line(&format!(":: {} -> skip", if guard.is_some() { "else" } else { "true" }));
                self.line("fi;");
                self.line(&format!("{behind}: skip;"));
            }
            StmtKind::Break => {
                let to = self.call().loops.last().expect("in a loop").1.clone();
                self.line(&format!("goto {to};"));
            }
            StmtKind::Continue => {
                let to = self.call().loops.last().expect("in a loop").0.clone();
                self.line(&format!("goto {to};"));
            }
            StmtKind::Call(results, proc, args) => self.written_out(results, *proc, args, (here, within), stmt.span)?,
            StmtKind::Return(values) => self.return_(values, here)?,
            StmtKind::Spawn(result, proc, args) => self.spawn(*result, *proc, args, here)?,
            StmtKind::Post(..) => return refused("task buffers in Promela", stmt.span, "write threads: `spawn`"),
            StmtKind::Join(e) => {
                if within == Within::Atomic {
                    return refused(
                        "a wait that is not the first of its `atomic` in Promela",
                        stmt.span,
                        "put it first",
                    );
                }
                let (enabled, sound) = self.joined(e)?;
                self.step(Within::Thread, Some(&enabled));
                self.sound(&sound);
                self.made()?;
            }
            StmtKind::Await(e) => {
                if within == Within::Atomic {
                    return refused(
                        "a wait that is not the first of its `atomic` in Promela",
                        stmt.span,
                        "put it first",
                    );
                }
                let (enabled, sound) = self.awaited(e)?;
                self.step(Within::Thread, Some(&enabled));
                self.sound(&sound);
                self.line("skip");
                self.made()?;
            }
            StmtKind::Atomic(block) => self.atomic(block, within)?,
            StmtKind::Assume(e) => {
                self.step(here, None);
                let e = self.expr(e)?;
                self.sound(&e.sound);
                self.line(&format!("if :: {} -> skip :: else -> _dropped = 1 fi", e.one()));
                self.made()?;
            }
            StmtKind::Assert(e, check, _) => {
                self.step(here, None);
                let e = self.expr(e)?;
                self.sound(&e.sound);
                // More than is followed is no bug.
                let or = if *check == Check::Bound { " || _enough_objects" } else { "" };
                self.line(&format!("assert({}{or})", e.one()));
                self.made()?;
            }
            StmtKind::Print(all) => {
                self.step(here, None);
                for e in all {
                    let e = self.expr(e)?;
                    self.sound(&e.sound);
                }
                self.line("skip");
                self.made()?;
            }
            StmtKind::SetInsert(place, member) => {
                self.changed_set(place, Some(member), here, |set, member| format!("{set} = {set} | (1 << {member})"))?;
            }
            StmtKind::SetRemove(place, member) => {
                self.changed_set(place, Some(member), here, |set, member| format!("{set} = {set} & ~(1 << {member})"))?;
            }
            StmtKind::SetClear(place) => self.changed_set(place, None, here, |set, _| format!("{set} = 0"))?,
            StmtKind::SetRemoveAny(place) => {
                let any = self.temporary(&Type::Thread, stmt.span)?;
                // Up to some member while there is one above, or this one.
                self.changed_set(place, None, here, |set, _| {
                    format!(
                        "{any} = 0; if :: {set} == 0 -> skip :: else -> do :: ({set} >> ({any} + 1)) != 0 -> {any}++ \
                         :: (({set} >> {any}) & 1) != 0 -> {set} = {set} & ~(1 << {any}); break od fi"
                    )
                })?;
            }
        }
        Ok(())
    }

    /// A scheduling point by itself.
    fn point(&mut self, within: Within) -> Result<(), Refused> {
        if within == Within::Thread {
            self.step(within, None);
            self.line("skip");
            self.made()?;
        }
        Ok(())
    }

    /// Puts a value in a place, if it fits.
    pub fn store(&mut self, place: &Place, value: &Text, span: Span) -> Result<(), Refused> {
        let (scalars, sound) = self.place(place)?;
        self.sound(&[value.sound.clone(), sound].concat());
        self.put(&scalars, &value.scalars, span)
    }

    /// Assigns scalars at once: none is written before all are read.
    fn put(&mut self, to: &[Scalar], values: &[String], span: Span) -> Result<(), Refused> {
        for (scalar, value) in to.iter().zip(values) {
            self.sound(&self.fits(value, &scalar.ty).into_iter().collect::<Vec<_>>());
        }
        if let ([to], [value]) = (to, values) {
            self.line(&format!("{} = {value};", to.text));
            return Ok(());
        }
        let mut kept = Vec::new();
        for (scalar, value) in to.iter().zip(values) {
            let name = self.temporary(&scalar.ty, span)?;
            self.line(&format!("{name} = {value};"));
            kept.push(name);
        }
        to.iter().zip(&kept).for_each(|(scalar, name)| self.line(&format!("{} = {name};", scalar.text)));
        // Nobody reads them again: they would only tell states apart.
        kept.iter().for_each(|name| self.line(&format!("{name} = 0;")));
        if to.is_empty() {
            self.line("skip");
        }
        Ok(())
    }

    fn any(&mut self, place: &Place, lo: &Expr, hi: &Expr, here: Within, span: Span) -> Result<(), Refused> {
        let (lo, hi) = (self.expr(lo)?, self.expr(hi)?);
        let (from, to) = (self.temporary(&Type::Int, span)?, self.temporary(&Type::Int, span)?);
        self.step(here, None);
        self.sound(&[lo.sound.clone(), hi.sound.clone()].concat());
        self.line(&format!("{from} = {}; {to} = {};", lo.one(), hi.one()));
        let store = |writer: &mut Self| {
            writer.line(&format!("do :: {from} < {to} -> {from}++ :: break od;"));
            writer.store(place, &Text { scalars: vec![from.clone()], sound: Vec::new() }, span)?;
            writer.line(&format!("{from} = 0; {to} = 0"));
            Ok::<(), Refused>(())
        };
        let is_never_empty = matches!((number(&lo), number(&hi)), (Some(lo), Some(hi)) if lo <= hi);
        if is_never_empty {
            store(self)?;
        } else {
            self.line(&format!("if :: {from} > {to} -> _dropped = 1 :: else ->"));
            self.depth += 1;
            store(self)?;
            self.depth -= 1;
            self.line("fi");
        }
        self.made()?;
        Ok(())
    }

    fn new_object(
        &mut self,
        place: &Place,
        record: RecordId,
        fields: &[Expr],
        here: Within,
        span: Span,
    ) -> Result<(), Refused> {
        let count = self.count_of(record);
        self.step(here, None);
        let mut values = Text::default();
        for field in fields {
            let value = self.expr(field)?;
            values.scalars.extend(value.scalars);
            values.sound.extend(value.sound);
        }
        self.sound(&values.sound);
        self.line(&format!("assert({count} < _OBJECTS || _enough_objects);"));
        let ty = Type::Record(record);
        let scalars = layout::scalars(self.program, &self.heap[record], Some(&count), &ty);
        self.put(&scalars, &values.scalars, span)?;
        self.line(&format!("{count}++;"));
        self.store(place, &Text { scalars: vec![count], sound: Vec::new() }, span)?;
        self.made()?;
        Ok(())
    }

    /// The guard of a branch, as text that touches nothing shared; `None` for either.
    fn guard(&mut self, guard: &Guard, here: Within, span: Span) -> Result<Option<String>, Refused> {
        let Guard::Expr(e) = guard else {
            // That it is chosen is a step if the statement is one.
            return Ok(None);
        };
        let text = self.expr(e)?;
        if here == Within::Atomic && text.sound.is_empty() {
            return Ok(Some(format!("({})", text.one())));
        }
        let kept = self.temporary(&Type::Bool, span)?;
        self.step(here, None);
        self.sound(&text.sound);
        self.line(&format!("{kept} = {};", text.one()));
        self.made()?;
        Ok(Some(kept))
    }

    /// When a thread that waits for this can go on, and what must hold then. A fault is a step, too.
    fn awaited(&self, e: &Expr) -> Result<(String, Vec<String>), Refused> {
        let text = self.expr(e)?;
        let holds = text.one().to_string();
        Ok(match all(&text.sound) {
            None => (holds, Vec::new()),
            Some(sound) => (format!("(!({sound}) -> true : {holds})"), text.sound),
        })
    }

    fn joined(&self, e: &Expr) -> Result<(String, Vec<String>), Refused> {
        let handle = self.expr(e)?;
        let text = handle.one().to_string();
        let sound = [handle.sound, vec![format!("{text} != 0")]].concat();
        let holds = all(&sound).expect("there is one");
        Ok((format!("(!({holds}) -> true : _finished[{text}])"), sound))
    }

    fn atomic(&mut self, block: &Block, within: Within) -> Result<(), Refused> {
        let mut rest = block.as_slice();
        // What the block waits for is the first statement of all.
        let mut first = rest.first();
        while let Some(Stmt { kind: StmtKind::Atomic(inner), .. }) = first {
            first = inner.first();
        }
        let waits = match first.map(|s| &s.kind) {
            Some(StmtKind::Await(e)) => Some(self.awaited(e)?),
            Some(StmtKind::Join(e)) => Some(self.joined(e)?),
            _ => None,
        };
        if waits.is_some() && within == Within::Atomic {
            let span = first.map_or(Span::default(), |s| s.span);
            return refused("a wait that is not the first of its `atomic` in Promela", span, "put it first");
        }
        self.step(within, waits.as_ref().map(|(enabled, _)| enabled.as_str()));
        if let Some((_, sound)) = &waits {
            self.sound(sound);
            // Blocks whose first statement is a block come to the wait in the innermost one.
            let mut inner = rest;
            let mut outer = Vec::new();
            while let [Stmt { kind: StmtKind::Atomic(block), .. }, behind @ ..] = inner {
                outer.push(behind);
                inner = block;
            }
            inner[1..].iter().try_for_each(|s| self.stmt(s, Within::Atomic))?;
            outer.iter().rev().try_for_each(|rest| rest.iter().try_for_each(|s| self.stmt(s, Within::Atomic)))?;
            rest = &[];
        }
        rest.iter().try_for_each(|s| self.stmt(s, Within::Atomic))?;
        self.line("skip");
        self.made()?;
        Ok(())
    }

    fn changed_set(
        &mut self,
        place: &Place,
        member: Option<&Expr>,
        here: Within,
        change: impl Fn(&str, &str) -> String,
    ) -> Result<(), Refused> {
        if self.sizes.threads > 30 {
            return refused("sets of more than 30 threads in Promela", place.span, "`--tasks 30`, or fewer");
        }
        self.step(here, None);
        let (scalars, sound) = self.place(place)?;
        self.sound(&sound);
        let member = member.map(|e| self.expr(e)).transpose()?;
        if let Some(member) = &member {
            self.sound(&member.sound);
        }
        let text = change(&scalars[0].text, member.as_ref().map_or("0", |m| m.one()));
        self.line(&text);
        self.made()?;
        Ok(())
    }
}

/// A constant that was written as text.
fn number(text: &Text) -> Option<i64> {
    text.one().trim_matches(['(', ')']).parse().ok()
}
