//! What methods are lowered with: names, locals, steps.

use crate::ast::{File, Method, Name};
use crate::raised::Exceptions;
use crate::refusal::{Result, wrong};
use crate::types::{Ty, Types};
use fabius_lang::build::*;
use fabius_lang::program::*;
use fabius_lang::walk;
use fabius_trace::Span;
use std::collections::HashMap;

/// What names stand for in all methods.
pub struct Context<'a> {
    pub file: &'a File,
    pub types: Types,
    pub exceptions: Exceptions,
    /// Static fields by class and name.
    pub statics: HashMap<(usize, String), (GlobalId, Ty)>,
    pub globals: Vec<Global>,
    /// The procedures that methods have become so far, inside and outside of `atomic`.
    pub versions: HashMap<Version, ProcId>,
    /// Those whose bodies are to be made.
    pub wanted: Vec<(Version, ProcId)>,
    pub procs: usize,
    /// Where `select end` waits.
    pub rests: Vec<Span>,
}

/// A method of a class, whether it is called inside of `atomic`, and whether a process begins with it and exceptions may leave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    pub class: usize,
    pub method: usize,
    pub in_atomic: bool,
    pub is_bottom: bool,
}

impl<'a> Context<'a> {
    /// The procedure of a version.
    pub fn version(&mut self, version: Version) -> ProcId {
        if let Some(id) = self.versions.get(&version) {
            return *id;
        }
        let id = self.procs;
        self.procs += 1;
        self.versions.insert(version, id);
        self.wanted.push((version, id));
        id
    }

    pub fn method(&self, class: usize, method: usize) -> &'a Method {
        &self.file.classes[class].methods[method]
    }

    pub fn class_named(&self, name: &str) -> Option<usize> {
        self.file.classes.iter().position(|c| c.name.text == name)
    }

    /// The class of objects of a record.
    pub fn class_of(&self, record: RecordId) -> Option<usize> {
        self.class_named(&self.types.records[record].name)
    }
}

/// What a name of a method stands for.
#[derive(Clone, Debug)]
pub enum Bound {
    Local(LocalId, Ty),
    /// An argument of a method that is written out where it is called.
    Value(Expr, Ty),
}

/// A `return` inside of `atomic` or `try`: it passes over the rest.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// Says that the block has been left.
    pub left: LocalId,
    /// With what.
    pub value: Option<LocalId>,
}

/// How statements are left in the middle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    pub returned: bool,
    pub raised: bool,
    pub jumped: bool,
}

/// What stands directly before a statement and is one step with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    Nothing,
    Try,
    /// `foreach` looks at an element.
    Element,
}

/// A method that is being lowered.
pub struct Body<'c, 'a> {
    pub cx: &'c mut Context<'a>,
    pub class: usize,
    pub result: Option<Ty>,
    pub locals: Vec<Local>,
    pub scopes: Vec<HashMap<String, Bound>>,
    pub out: Block,
    pub in_atomic: bool,
    /// Nothing has happened in the atomic block yet.
    pub at_beginning: bool,
    /// A `return` here is inside of `atomic` or `try` of this method.
    pub leaves: bool,
    pub marks: Marks,
    pub leaving: Option<Leaving>,
    /// What is given back, and in which locals it is.
    pub outs: Vec<LocalId>,
    /// Which exception is on its way.
    pub exception: Option<LocalId>,
    /// Labels that a `goto` leads to.
    pub labels: Vec<String>,
    /// Those of the blocks around here.
    pub open_labels: Vec<String>,
    /// To which of them control is on its way; 0 if to none.
    pub goes: Option<LocalId>,
    /// The last result is an exception.
    pub gives_exception: bool,
    /// Nobody is there who could catch one.
    pub is_bottom: bool,
    /// A `try` before this has come to its end.
    pub has_passed_try: bool,
    pub behind: Behind,
    /// Methods that are written out around here.
    pub applied: Vec<Version>,
    /// Whether calls are written out.
    pub applies: bool,
}

impl Body<'_, '_> {
    pub fn new<'c, 'a>(cx: &'c mut Context<'a>, class: usize, in_atomic: bool) -> Body<'c, 'a> {
        Body {
            cx,
            class,
            result: None,
            locals: Vec::new(),
            scopes: vec![HashMap::new()],
            out: Block::new(),
            in_atomic,
            at_beginning: false,
            leaves: false,
            marks: Marks::default(),
            leaving: None,
            outs: Vec::new(),
            exception: None,
            labels: Vec::new(),
            open_labels: Vec::new(),
            goes: None,
            gives_exception: false,
            is_bottom: false,
            has_passed_try: false,
            behind: Behind::Nothing,
            applied: Vec::new(),
            applies: false,
        }
    }

    pub fn push(&mut self, kind: StmtKind, span: Span) {
        self.out.push(stmt(kind, span));
    }

    /// The statements that `f` makes.
    pub fn block_of(&mut self, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<Block> {
        let outer = std::mem::take(&mut self.out);
        let done = f(self);
        let block = std::mem::replace(&mut self.out, outer);
        done.map(|()| block)
    }

    /// The statements that `f` makes are one step.
    pub fn step(&mut self, span: Span, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let block = self.block_of(f)?;
        let accesses: usize = block.iter().map(|s| self.accesses(s)).sum();
        // These look at all that they read at once.
        let by_itself = |s: &Stmt| matches!(s.kind, StmtKind::Assume(_) | StmtKind::Await(_) | StmtKind::Assert(..));
        let is_one = accesses == 0 || block.len() == 1 && (accesses == 1 || by_itself(&block[0]));
        if self.in_atomic || is_one {
            self.out.extend(block);
        } else {
            self.push(StmtKind::Atomic(block), span);
        }
        self.at_beginning = false;
        Ok(())
    }

    /// How often a statement looks at what others see.
    pub fn accesses(&self, s: &Stmt) -> usize {
        let mut n = 0;
        let shared = |p: &Place| usize::from(!matches!(p.base, Base::Local(_)));
        walk::statements(&vec![s.clone()], &mut |s| {
            n += walk::written(s).map_or(0, shared) + usize::from(matches!(s.kind, StmtKind::Spawn(..)));
            for e in walk::expressions(s) {
                walk::each(e, &mut |e| {
                    if let ExprKind::Read(p) = &e.kind {
                        n += shared(p);
                    }
                });
            }
        });
        n
    }

    /// Whether a value looks at what others see.
    pub fn is_shared(&self, e: &Expr) -> bool {
        self.accesses(&stmt(StmtKind::Assume(e.clone()), e.span)) > 0
    }

    /// A local variable without a name.
    pub fn temporary(&mut self, name: &str, ty: Type) -> LocalId {
        self.locals.push(Local { name: format!("${name}"), ty });
        self.locals.len() - 1
    }

    pub fn declare(&mut self, name: &Name, ty: Ty) -> Result<LocalId> {
        let scope = self.scopes.last().expect("there is a scope");
        if scope.contains_key(&name.text) {
            return Err(wrong(name.span, format!("`{}` is declared twice", name.text)));
        }
        self.locals.push(Local { name: name.text.clone(), ty: self.cx.types.core(&ty) });
        let id = self.locals.len() - 1;
        self.scopes.last_mut().expect("there is a scope").insert(name.text.clone(), Bound::Local(id, ty));
        Ok(id)
    }

    pub fn local(&self, id: LocalId, span: Span) -> Place {
        Place { base: Base::Local(id), path: Vec::new(), ty: self.locals[id].ty.clone(), span }
    }

    pub fn set(&mut self, place: Place, value: Expr, span: Span) {
        self.push(StmtKind::Assign(place, value), span);
    }

    /// A number where it counts messages or says what is chosen.
    pub fn set_number(&mut self, id: LocalId, n: i64, span: Span) {
        let place = self.local(id, span);
        let value = constant(n, place.ty.clone(), span);
        self.set(place, value, span);
    }

    pub fn find(&self, name: &str) -> Option<Bound> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name).cloned())
    }
}
