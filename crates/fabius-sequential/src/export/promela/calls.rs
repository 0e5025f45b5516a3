//! Procedures: written out where they are called, and begun by threads.

use super::layout::{self, Leaf, Scalar};
use super::{Refused, Within, Writer, refused};
use fabius_lang::program::*;
use fabius_trace::Span;

/// A procedure that is being written out.
pub struct Call {
    pub proc: ProcId,
    pub locals: Vec<Vec<Leaf>>,
    /// Where its results go.
    pub results: Vec<Vec<Leaf>>,
    /// What stands behind it.
    pub end: String,
    /// For each loop around: where it begins, and what stands behind it.
    pub loops: Vec<(String, String)>,
}

impl Writer<'_> {
    /// Begins to write out a procedure.
    pub fn enter(&mut self, id: ProcId, span: Span) -> Result<Vec<Vec<Leaf>>, Refused> {
        let program = self.program;
        if self.calls.iter().any(|call| call.proc == id) {
            return refused("recursion in Promela", span, "write a loop");
        }
        let proc = &program.procs[id];
        let mut locals = Vec::new();
        for local in &proc.locals {
            let leaves = layout::leaves(program, &mut self.names, &local.name, &local.ty, None);
            self.declare(&leaves, &local.ty, span)?;
            locals.push(leaves);
        }
        let mut results = Vec::new();
        for ty in &proc.results {
            let leaves = layout::leaves(program, &mut self.names, "result", ty, None);
            self.declare(&leaves, ty, span)?;
            results.push(leaves);
        }
        let end = self.label("return");
        self.calls.push(Call { proc: id, locals: locals.clone(), results, end, loops: Vec::new() });
        Ok(locals)
    }

    /// A call: the arguments are one step with the statement, the body follows.
    pub fn written_out(
        &mut self,
        results: &[Option<LocalId>],
        id: ProcId,
        args: &[Expr],
        (here, within): (Within, Within),
        span: Span,
    ) -> Result<(), Refused> {
        let program = self.program;
        let proc = &program.procs[id];
        let args = args.iter().map(|e| self.expr(e)).collect::<Result<Vec<_>, _>>()?;
        let locals = self.enter(id, span)?;
        self.step(here, None);
        for arg in &args {
            self.sound(&arg.sound);
        }
        let types = proc.locals.iter().map(|local| &local.ty);
        let (mut to, mut values) = (Vec::new(), Vec::new());
        for (n, (leaves, ty)) in locals.iter().zip(types).enumerate() {
            to.extend(layout::scalars(program, leaves, None, ty));
            match args.get(n) {
                Some(arg) => values.extend(arg.scalars.clone()),
                None => values.extend(self.constant(&ty.default_value(&program.records))),
            }
        }
        let returned = self.call().results.clone();
        for (leaves, ty) in returned.iter().zip(&proc.results) {
            to.extend(layout::scalars(program, leaves, None, ty));
            values.extend(self.constant(&ty.default_value(&program.records)));
        }
        self.put_apart(&to, &values)?;
        self.made()?;
        self.block(&proc.body, within)?;
        let call = self.calls.pop().expect("it was entered");
        self.line(&format!("{}: skip;", call.end));
        let caller = self.call();
        let mut stored = (Vec::new(), Vec::new());
        for ((result, leaves), ty) in results.iter().zip(&call.results).zip(&proc.results) {
            let Some(local) = result else { continue };
            let to = &program.procs[caller.proc].locals[*local].ty;
            stored.0.extend(layout::scalars(program, &caller.locals[*local], None, to));
            let from = layout::scalars(program, leaves, None, ty);
            stored.1.extend(from.into_iter().map(|scalar| scalar.text));
        }
        self.step(Within::Atomic, None);
        self.put_apart(&stored.0, &stored.1)?;
        self.made()?;
        Ok(())
    }

    /// Assigns scalars that no value reads.
    fn put_apart(&mut self, to: &[Scalar], values: &[String]) -> Result<(), Refused> {
        for (scalar, value) in to.iter().zip(values) {
            self.sound(&self.fits(value, &scalar.ty).into_iter().collect::<Vec<_>>());
            self.line(&format!("{} = {value};", scalar.text));
        }
        self.line("skip");
        Ok(())
    }

    pub fn return_(&mut self, values: &[Expr], here: Within) -> Result<(), Refused> {
        let program = self.program;
        let values = values.iter().map(|e| self.expr(e)).collect::<Result<Vec<_>, _>>()?;
        self.step(here, None);
        let call = self.call();
        let end = call.end.clone();
        let mut to = Vec::new();
        for (leaves, ty) in call.results.iter().zip(&program.procs[call.proc].results) {
            to.extend(layout::scalars(program, leaves, None, ty));
        }
        for value in &values {
            self.sound(&value.sound);
        }
        let values: Vec<String> = values.into_iter().flat_map(|value| value.scalars).collect();
        self.put_apart(&to, &values)?;
        self.made()?;
        self.line(&format!("goto {end};"));
        Ok(())
    }

    pub fn spawn(&mut self, result: Option<LocalId>, id: ProcId, args: &[Expr], here: Within) -> Result<(), Refused> {
        let program = self.program;
        self.step(here, None);
        let mut given = vec!["_threads".to_string()];
        for (arg, local) in args.iter().zip(&program.procs[id].locals) {
            let arg = self.expr(arg)?;
            self.sound(&arg.sound);
            let leaves = layout::leaves(program, &mut self.names, "_", &local.ty, None);
            for (scalar, value) in layout::scalars(program, &leaves, None, &local.ty).iter().zip(&arg.scalars) {
                self.sound(&self.fits(value, &scalar.ty).into_iter().collect::<Vec<_>>());
            }
            given.extend(arg.scalars);
        }
        self.line("assert(_threads < _THREADS || _enough_threads);");
        self.line("_threads++;");
        if self.drops {
            self.line("_running++;");
        }
        let entry = self.entry_name(id);
        self.line(&format!("run {entry}({});", given.join(", ")));
        if let Some(local) = result {
            let call = self.call();
            let name = call.locals[local][0].name.clone();
            self.line(&format!("{name} = _threads;"));
        }
        self.made()?;
        Ok(())
    }
}
