//! What the lowering knows while it walks over a program, and how it puts the core program together.
//!
//! The program is lowered again until nothing new is found out: which variables have their address taken decides where they
//! live, and what a pointer can mean.
//!
//! Length: what all parts of the lowering share, in short functions.

use crate::attributes::Layouts;
use crate::birth::{Birth, cell_type, first_value};
use crate::core::*;
use crate::lines::Lines;
use crate::memory::*;
use crate::orders::Orders;
use crate::property::Property;
use crate::refusal::{Refusal, Result, unsupported};
use crate::types::{CType, DataModel, Leaf, Signature, StructId, Types};
use crate::unset::Unset;
use fabius_lang::program::*;
use fabius_trace::Span;
use lang_c::ast;
use lang_c::span::{Node, Span as CSpan};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Entity {
    Type(CType),
    /// The name of a type with an alignment that the type does not have.
    Aligned,
    Constant(i64),
    Object(ObjectId),
    /// Index of a declared global, which becomes an object when it is used.
    Global(usize),
    Function(String),
}

/// A scope: names, and tags of structs and enums.
#[derive(Default)]
pub(crate) struct Scope {
    pub names: HashMap<String, Entity>,
    pub tags: HashMap<String, CType>,
}

impl Scope {
    pub fn copy(&self) -> Scope {
        Scope { names: self.names.clone(), tags: self.tags.clone() }
    }
}

/// A global as it is declared.
pub(crate) struct Declared<'a> {
    pub name: String,
    pub ty: CType,
    pub init: Option<&'a Node<ast::Initializer>>,
    pub span: Span,
    pub defined: bool,
    pub per_thread: bool,
    pub object: Option<ObjectId>,
}

/// A function of the program.
pub(crate) struct Function<'a> {
    pub signature: Signature,
    pub definition: Option<&'a Node<ast::FunctionDefinition>>,
    pub proc: Option<ProcId>,
    /// For its address.
    pub number: i64,
}

/// A memory object as the pass before knew it.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub name: String,
    pub ty: CType,
    pub kind: Kind,
    pub birth: Birth,
}

/// What keeps a memory object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Static,
    /// Static; each thread has one.
    Thread,
    /// A local of this function.
    Frame(String),
}

/// What outlives a pass.
#[derive(Default)]
pub(crate) struct Session {
    pub types: Types,
    /// Structs by where they are defined.
    pub struct_keys: HashMap<(usize, String), StructId>,
    pub layouts: Layouts,
    /// Whether the system's `threads.h` is in the text.
    pub c11_threads: bool,
    pub known: BTreeMap<String, Known>,
    pub facts: Facts,
    /// Who calls whom, by name.
    pub calls: std::collections::BTreeSet<(String, String)>,
}

/// How C files are read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Options for the preprocessor: `-DN=4`, `-Iinclude`.
    pub preprocessor: Vec<String>,
    /// Bounds that the program does not say.
    pub limits: Limits,
    /// What is asked; if nothing is named, all that is wrong by itself.
    pub property: Option<Property>,
    /// Whether a signed result that does not fit is a bug. It wraps otherwise.
    pub overflow: bool,
    /// Whether memory that is still allocated at the end is a bug.
    pub leaks: bool,
    /// How wide `long` and pointers are.
    pub model: DataModel,
    /// Whether a function without a body returns any value and changes nothing. It is refused otherwise.
    pub havoc: bool,
    /// How many threads there are of those that `main` starts in a loop without an end.
    pub creation: Creation,
}

/// How threads are counted that `main` starts in a loop without an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Creation {
    /// One after the other, up to a limit.
    #[default]
    OneByOne,
    /// As processes of any number: for those who prove.
    AnyNumber,
}

/// Bounds that a program does not say itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Allocations of each type by each thread.
    pub allocations: u32,
    /// Elements of an allocation whose size is not known from the text.
    pub elements: u32,
    /// Threads of each call of `pthread_create` in a loop.
    pub threads: u32,
}

/// What the words of a limit end with that larger [`Limits`] raise.
pub const RAISED: &str = "(`--allocations` raises that)";

impl Limits {
    /// So many allocations, and as much more of everything else.
    pub fn of(allocations: u32) -> Limits {
        let least = Limits::default();
        let (threads, elements) = (least.threads.max(allocations), least.elements.max(allocations.saturating_mul(2)));
        Limits { allocations, elements, threads }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { allocations: 8, elements: 16, threads: 8 }
    }
}

/// The name of the variable that counts the threads that the running one has started and not waited for.
pub(crate) const CHILDREN: &str = "$children";

/// Who calls the function that a thread begins with.
pub(crate) const THREAD: &str = "$thread";

/// A statement or a declaration of a block.
pub(crate) type Item = Node<ast::BlockItem>;

/// An atomic section of the user under way.
pub(crate) struct Section<'a> {
    /// Its place among the frames.
    pub frame: usize,
    /// Says which way it has ended.
    pub way: LocalId,
    pub early: Vec<Early<'a>>,
    /// The blocks whose end is that of the section.
    pub last: Vec<*const Item>,
}

/// An end inside of a statement of the section: what is done behind it.
pub(crate) struct Early<'a> {
    pub items: &'a [Item],
    pub scopes: Vec<Scope>,
    /// Whether it may come to the end of its block.
    pub goes_on: bool,
    pub span: Span,
}

/// What encloses a statement, as far as jumps are concerned: each is a `while` of the core.
pub(crate) struct Frame<'a> {
    pub kind: FrameKind<'a>,
    /// Jumps that go through this `while` to one outside: number and target.
    pub crossing: Vec<(i64, Jump)>,
}

/// What the `while` stands for.
#[derive(Clone)]
pub(crate) enum FrameKind<'a> {
    /// A loop, with what `continue` does first.
    Loop(Again<'a>),
    Switch,
    /// An atomic section, which nothing jumps to but its ends.
    Section,
    /// A list of statements with labels, and how many scopes are around it.
    Labels(Vec<String>, usize),
}

/// What `continue` does before the next iteration.
#[derive(Clone, Copy)]
pub(crate) enum Again<'a> {
    Nothing,
    Step(&'a Node<ast::Expression>),
    Condition(&'a Node<ast::Expression>),
}

/// Where a jump goes: the frame's depth, and how it enters or leaves it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Jump {
    Break(usize),
    Continue(usize),
    Label(usize, i64),
}

/// A function under construction.
#[derive(Default)]
pub(crate) struct Body<'a> {
    pub function: String,
    pub result: Option<CType>,
    pub locals: Vec<Local>,
    pub out: Block,
    pub free: Vec<LocalId>,
    pub used: Vec<LocalId>,
    /// Temporaries that are not used again for something else.
    pub chosen: Vec<LocalId>,
    pub temporaries: usize,
    /// Numbers the declarations, for keys.
    pub declared: usize,
    pub frames: Vec<Frame<'a>>,
    pub loops: usize,
    /// Inside of an atomic block of the user, and the sections that are under way.
    pub atomic: usize,
    pub sections: Vec<Section<'a>>,
    /// The frames from here on are inside of the innermost of these.
    pub floor: usize,
    /// Holds the jump under way.
    pub jump: Option<LocalId>,
    pub jumps: i64,
    /// The numbers of the labels, by what they are called.
    pub numbers: HashMap<String, i64>,
    /// Where `case` labels stand that are inside of something.
    pub cases: std::collections::BTreeSet<usize>,
    /// Locals whose lifetime is followed, as they are declared.
    pub alive: Vec<ObjectId>,
    /// Variables that are declared without a value.
    pub unset: Vec<Unset>,
    /// The call whose value nobody looks at.
    pub dropped: Option<&'a ast::CallExpression>,
    /// What is done first of all.
    pub first: Block,
    /// Of which objects some of them are parts, with their fields.
    pub parts: Vec<(LocalId, (String, Vec<usize>))>,
    /// Pools that its `alloca` uses, and the first slot of each that is not used where it begins.
    pub allocas: Vec<(ObjectId, LocalId)>,
    /// Whether it has arrays whose length is not constant.
    pub variable_lengths: bool,
    /// The lengths of the declarator of a variable that is being read, from the innermost: those that are not constant.
    pub lengths: Option<Vec<Option<Expr>>>,
}

/// The lowering.
pub(crate) struct Lower<'a, 's> {
    pub lines: &'a Lines,
    pub session: &'s mut Session,
    pub found: Facts,
    /// What initial values of static variables have shown, which are made when they are used first.
    pub found_in_statics: Facts,
    pub found_known: BTreeMap<String, Known>,
    pub found_calls: std::collections::BTreeSet<(String, String)>,
    pub options: &'a Options,
    pub scopes: Vec<Scope>,
    pub declared: Vec<Declared<'a>>,
    /// What says how much is aligned, by the places of the attributes.
    pub alignments: HashMap<usize, &'a Node<ast::Expression>>,
    pub functions: BTreeMap<String, Function<'a>>,
    pub objects: Vec<Object>,
    pub by_key: HashMap<String, ObjectId>,
    pub strings: HashMap<Vec<u8>, ObjectId>,
    pub next_address: i64,
    pub globals: Vec<Global>,
    /// Those that are not atomic by their type, and that atomic operations are used on.
    pub mixed: Vec<GlobalId>,
    pub global_names: HashMap<String, GlobalId>,
    pub procs: Vec<Option<Proc>>,
    pub wanted: Vec<String>,
    pub processes: Vec<Process>,
    pub wrappers: HashMap<String, ProcId>,
    pub levels: u8,
    /// What variables of 64 bits hold.
    pub shown: BTreeMap<Variable, Shown>,
    /// Functions without a body whose results are any value.
    pub havocked: std::collections::BTreeSet<String>,
    /// What atomic operations order.
    pub orders: Orders,
    /// What says of a local whether it lives, where that is followed.
    pub lives: BTreeMap<ObjectId, GlobalId>,
    /// Locals of functions that tasks run which are posted.
    pub of_tasks: BTreeSet<ObjectId>,
    /// What says how long an array is whose length is not constant, from the outermost.
    pub lengths: BTreeMap<ObjectId, Vec<Option<Base>>>,
    pub body: Body<'a>,
    pub starts_without_end: bool,
    pub errors: Vec<Refusal>,
}

impl<'a> Lower<'a, '_> {
    pub fn span(&self, s: CSpan) -> Span {
        self.lines.span(s.start, s.end)
    }

    pub fn push(&mut self, kind: StmtKind, span: Span) {
        self.body.out.push(stmt(kind, span));
    }

    /// What `work` appends, as a block of its own.
    pub fn block<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<(Block, T)> {
        let outer = std::mem::take(&mut self.body.out);
        let result = work(self);
        let inner = std::mem::replace(&mut self.body.out, outer);
        Ok((inner, result?))
    }

    /// A local that the user does not see.
    pub fn temp(&mut self, ty: Type) -> LocalId {
        let body = &mut self.body;
        let fits = |id: &LocalId| body.locals[*id].ty == ty && !body.chosen.contains(id);
        let id = match body.free.iter().position(fits) {
            Some(i) => body.free.remove(i),
            None => {
                body.temporaries += 1;
                body.locals.push(Local { name: format!("${}", body.temporaries), ty });
                body.locals.len() - 1
            }
        };
        body.used.push(id);
        id
    }

    /// A temporary for what is chosen, and for nothing else: searches look at what becomes of it.
    pub fn chosen(&mut self, ty: Type) -> LocalId {
        let free = std::mem::take(&mut self.body.free);
        let id = self.temp(ty);
        self.body.free = free;
        self.body.chosen.push(id);
        id
    }

    /// A temporary that is 0, also where a jump has left it behind.
    pub fn zeroed(&mut self, ty: Type, span: Span) -> LocalId {
        let id = self.temp(ty.clone());
        self.set_local(id, constant(0, ty, span), span);
        id
    }

    pub fn local(&self, id: LocalId, span: Span) -> Place {
        Place { base: Base::Local(id), path: Vec::new(), ty: self.body.locals[id].ty.clone(), span }
    }

    pub fn read_local(&self, id: LocalId, span: Span) -> Expr {
        read(self.local(id, span))
    }

    pub fn set_local(&mut self, id: LocalId, e: Expr, span: Span) {
        let place = self.local(id, span);
        self.push(StmtKind::Assign(place, e), span);
    }

    /// The value in a temporary, so that nothing changes it.
    pub fn keep(&mut self, e: Expr) -> Expr {
        if value_of(&e).is_some() {
            return e;
        }
        let span = e.span;
        let id = self.temp(e.ty.clone());
        self.set_local(id, e, span);
        self.read_local(id, span)
    }

    /// The same if it is not simple, so that it can be used many times.
    pub fn simple(&mut self, e: Expr) -> Expr {
        match &e.kind {
            ExprKind::Const(_) => e,
            ExprKind::Read(Place { base: Base::Local(_), path, .. }) if path.is_empty() => e,
            _ => self.keep(e),
        }
    }

    pub fn global(&self, id: GlobalId, span: Span) -> Place {
        Place { base: Base::Global(id), path: Vec::new(), ty: self.globals[id].ty.clone(), span }
    }

    /// A variable that the user does not see; the same for the same name.
    pub fn hidden(&mut self, name: &str, ty: Type, init: Value, class: Class, per_thread: bool) -> GlobalId {
        if let Some(id) = self.global_names.get(name) {
            return *id;
        }
        self.globals.push(Global { name: name.into(), ty, init, class, per_thread, span: Span::default() });
        self.global_names.insert(name.into(), self.globals.len() - 1);
        self.globals.len() - 1
    }

    /// The running thread's number: 0 for the first.
    pub fn thread_number(&mut self, span: Span) -> Expr {
        self.found.numbers = true;
        let id = self.hidden("$thread", INT, Value::Int(0), Class::Data, true);
        read(self.global(id, span))
    }

    /// Drops the execution unless the condition holds; what came before is a step of its own, behind which others may act.
    pub fn assume(&mut self, e: Expr, span: Span) {
        if self.body.atomic == 0 {
            self.push(StmtKind::Await(boolean(true, span)), span);
        }
        self.push(StmtKind::Assume(e), span);
    }

    /// The process ends here, whoever else runs; what came before is a step of its own, behind which others may act.
    pub fn end(&mut self, span: Span) {
        let id = self.hidden(ENDS, Type::Bool, Value::Int(0), Class::Data, true);
        let never = read(self.global(id, span));
        self.assume(never, span);
    }

    /// How many threads there may be, the first one included.
    pub fn threads(&self) -> u32 {
        (1 + self.session.facts.threads).min(64)
    }

    /// Sets temporaries taken since the mark back to their defaults, so that states do not differ by what was read long ago.
    pub fn release(&mut self, mark: usize, span: Span) {
        let given = self.body.used.split_off(mark);
        self.reset(&given, span);
        self.body.free.extend(given);
        self.body.free.sort_unstable();
    }

    pub fn reset(&mut self, which: &[LocalId], span: Span) {
        let ends = |s: &Stmt| matches!(s.kind, StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue);
        if self.body.out.last().is_some_and(ends) {
            return;
        }
        for id in which {
            let ty = self.body.locals[*id].ty.clone();
            self.set_local(*id, constant(0, ty, span), span);
        }
    }

    /// Looks a name up.
    pub fn entity(&self, name: &str) -> Option<Entity> {
        self.scopes.iter().rev().find_map(|s| s.names.get(name)).cloned()
    }

    /// The functions that threads may run, by who calls whom.
    pub fn runs_in_threads(&self, function: &str) -> bool {
        let roots = &self.session.facts.roots;
        let mut seen: Vec<&str> = roots.iter().map(String::as_str).collect();
        let mut at = 0;
        while let Some(f) = seen.get(at).copied() {
            if f == function {
                return true;
            }
            for (_, callee) in self.session.calls.iter().filter(|(caller, _)| caller == f) {
                if !seen.contains(&callee.as_str()) {
                    seen.push(callee);
                }
            }
            at += 1;
        }
        false
    }

    /// Whether one of these functions is another one, or calls it, by others perhaps.
    fn is_run_by(&self, these: &BTreeSet<String>, function: &str) -> bool {
        these.iter().any(|f| f == function || self.comes_to(f, function))
    }

    /// Whether a thread runs a function once at most.
    pub fn runs_once(&self, function: &str) -> bool {
        let begins = |caller: &str| caller == THREAD || caller.is_empty() && function == "main";
        self.session.calls.iter().all(|(caller, callee)| callee != function || begins(caller))
    }

    /// Whether a function calls itself, by others perhaps.
    pub fn is_recursive(&self, function: &str) -> bool {
        self.comes_to(function, function)
    }

    /// Whether a function calls another one, by others perhaps.
    pub fn comes_to(&self, function: &str, other: &str) -> bool {
        let mut seen: Vec<&str> = Vec::new();
        let mut next = vec![function];
        while let Some(f) = next.pop() {
            for (_, callee) in self.session.calls.iter().filter(|(caller, _)| caller == f) {
                if callee == other {
                    return true;
                }
                if !seen.contains(&callee.as_str()) {
                    seen.push(callee);
                    next.push(callee);
                }
            }
        }
        false
    }

    /// Makes a memory object: globals for its parts, and an address.
    pub fn make_object(
        &mut self,
        key: &str,
        name: &str,
        ty: &CType,
        pool: Option<Pool>,
        birth: Birth,
        span: Span,
    ) -> Result<ObjectId> {
        if let Some(id) = self.by_key.get(key) {
            return Ok(*id);
        }
        let leaves = self.types().leaves(ty);
        self.check_leaves(ty, &leaves, span)?;
        let open = self.open_leaves(key, &leaves, birth);
        let mut ids = Vec::new();
        for (leaf, open) in leaves.iter().zip(&open) {
            let sync = leaf.sync || self.session.facts.sync.contains(&(key.to_string(), leaf.fields.clone()));
            let mut dims = Vec::new();
            if let Some(p) = pool {
                dims.push(p.slots);
                dims.extend(p.elements);
            }
            dims.extend(&leaf.dims);
            let (core, init) = array_of(cell_type(leaf, *open), first_value(leaf, *open, birth), &dims);
            let class = if sync { Class::Sync } else { Class::Data };
            if sync && !leaf.sync {
                self.mixed.push(self.globals.len());
            }
            let name = format!("{name}{}", leaf.name);
            self.globals.push(Global { name, ty: core, init, class, per_thread: false, span });
            ids.push(self.globals.len() - 1);
        }
        let mut object = Object {
            key: key.into(),
            name: name.into(),
            ty: ty.clone(),
            parts: Parts::Globals(ids),
            leaves,
            open,
            base: self.next_address,
            pool,
        };
        let size = object.size(self.types());
        let stride = (size + GAP + 15) / 16 * 16;
        if let Some(p) = &mut object.pool {
            p.stride = stride;
        }
        self.next_address += stride * i64::from(pool.map_or(1, |p| p.slots)) + GAP;
        self.next_address = (self.next_address + 15) / 16 * 16;
        self.objects.push(object);
        self.by_key.insert(key.into(), self.objects.len() - 1);
        Ok(self.objects.len() - 1)
    }

    fn check_leaves(&self, ty: &CType, leaves: &[Leaf], span: Span) -> Result<()> {
        let count: u64 = leaves.iter().map(|l| l.dims.iter().map(|d| u64::from(*d)).product::<u64>()).sum();
        if count > 1 << 16 {
            return unsupported(span, format!("a variable with {count} parts is too large"));
        }
        for leaf in leaves {
            if !leaf.ty.is_scalar() {
                return unsupported(span, format!("a variable of type `{}` is not taken", self.types().show(ty)));
            }
        }
        self.check_unions(ty, span)
    }

    /// What threads wait for, or what is one step, is no part of a union; an atomic struct is no single value.
    fn check_unions(&self, ty: &CType, span: Span) -> Result<()> {
        match ty {
            CType::Array(of, _) => self.check_unions(of, span),
            CType::Atomic(inner) if !inner.is_scalar() || inner.is_float() => {
                unsupported(span, format!("`{}` is not taken: it would be several values", self.types().show(ty)))
                    .map_err(|e: Refusal| e.help("guard it by a lock"))
            }
            CType::Struct(id) => {
                let s = &self.types().structs[*id];
                if s.union && s.fields.iter().flatten().any(|f| self.synchronizes_inside(&f.ty)) {
                    let which =
                        if s.name.is_empty() { "a union without a name".into() } else { format!("`union {}`", s.name) };
                    let words = format!("a lock or an atomic variable in {which} is not taken");
                    return unsupported(span, words).map_err(|e: Refusal| e.help("put it beside the union"));
                }
                s.fields.iter().flatten().try_for_each(|f| self.check_unions(&f.ty, span))
            }
            _ => Ok(()),
        }
    }

    fn synchronizes_inside(&self, ty: &CType) -> bool {
        match ty {
            CType::Array(of, _) => self.synchronizes_inside(of),
            CType::Struct(id) => {
                let s = &self.types().structs[*id];
                s.sync || s.fields.iter().flatten().any(|f| self.synchronizes_inside(&f.ty))
            }
            CType::Atomic(_) | CType::Thread | CType::Waiters => true,
            _ => false,
        }
    }

    pub fn types(&self) -> &Types {
        &self.session.types
    }

    /// Notes what parts of 64 bits of these objects, and of all behind them, hold: those in globals, or in locals.
    pub fn note_shown(&mut self, first: ObjectId, variable: impl Fn(usize) -> Variable) {
        let globals = matches!(variable(0), Variable::Global(_));
        for object in &self.objects[first..] {
            let ids = match &object.parts {
                Parts::Globals(ids) if globals => ids,
                Parts::Locals(ids) if !globals => ids,
                _ => continue,
            };
            for (id, leaf) in ids.iter().zip(&object.leaves) {
                let shown = match leaf.ty {
                    CType::Float(4) => Shown::Single,
                    CType::Float(_) => Shown::Double,
                    CType::Int { bits: 64, .. } => Shown::Integer,
                    _ => continue,
                };
                self.shown.insert(variable(*id), shown);
            }
        }
    }

    /// A variable of the running function that lives in the core's locals.
    pub fn make_local(&mut self, key: &str, name: &str, ty: &CType, birth: Birth, span: Span) -> Result<ObjectId> {
        let leaves = self.types().leaves(ty);
        self.check_leaves(ty, &leaves, span)?;
        // Of single scalars it is known from the text where they are read.
        let open = if ty.is_scalar() { vec![false] } else { self.open_leaves(key, &leaves, birth) };
        let mut ids = Vec::new();
        for (leaf, open) in leaves.iter().zip(&open) {
            let (core, _) = array_of(cell_type(leaf, *open), Value::Int(0), &leaf.dims);
            self.body.locals.push(Local { name: format!("{name}{}", leaf.name), ty: core });
            ids.push(self.body.locals.len() - 1);
        }
        self.objects.push(Object {
            key: key.into(),
            name: name.into(),
            ty: ty.clone(),
            parts: Parts::Locals(ids),
            leaves,
            open,
            base: 0,
            pool: None,
        });
        Ok(self.objects.len() - 1)
    }

    /// The memory object of a local whose address is taken: one for each thread that may run the function.
    pub fn make_frame_object(
        &mut self,
        key: &str,
        name: &str,
        ty: &CType,
        function: &str,
        birth: Birth,
        span: Span,
    ) -> Result<ObjectId> {
        let definition = self.functions.get(function).and_then(|f| f.definition);
        let span = definition.map_or(span, |f| self.span(f.node.declarator.span));
        if self.is_recursive(function) {
            return unsupported(span, format!("the address of `{name}` is taken in a recursive function"))
                .map_err(|e: Refusal| e.help("allocate it with `malloc`, or make it global"));
        }
        if self.is_run_by(&self.session.facts.any_number, function) {
            let words = format!("the address of `{name}` is taken in a function that any number of threads run");
            return unsupported(span, words).map_err(|e: Refusal| e.help("have functions take and return its value"));
        }
        let threads = self.runs_in_threads(function).then(|| self.threads());
        let pool = threads.map(|slots| Pool {
            slots,
            stride: 0,
            elements: None,
            allocated: None,
            in_frame: None,
            lengths: None,
        });
        let id = self.make_object(key, name, ty, pool, birth, span)?;
        match self.is_run_by(&self.session.facts.posted, function) {
            true => self.follow_tasks(id),
            false => self.follow_lifetime(id),
        }
        self.follow_lengths(id);
        Ok(id)
    }

    /// The pools and the objects that pointers may mean, as the pass before found them.
    pub fn make_known(&mut self) {
        for (ty, heap) in self.session.facts.heap.clone() {
            let threads = self.session.facts.numbers_in_heap(&self.session.calls, &ty);
            let slots = self.options.limits.allocations * if threads { self.threads() } else { 1 };
            let name = self.types().show(&ty).replace(' ', "_");
            let name = name.strip_prefix("struct_").unwrap_or(&name).to_string();
            let count = (self.session.facts.frees || !heap.single).then(|| {
                let (ty, init) = array_of(INT, Value::Int(0), &[slots]);
                self.hidden(&format!("allocated.{name}"), ty, init, Class::Data, false)
            });
            let in_frame = heap.in_frame.then(|| {
                let (ty, init) = array_of(Type::Bool, Value::Int(0), &[slots]);
                self.hidden(&format!("$alloca.{name}"), ty, init, Class::Data, false)
            });
            let lengths = self.types().flexible_array(&ty).is_some().then(|| {
                let (ty, init) = array_of(INT, Value::Int(0), &[slots]);
                self.hidden(&format!("$length.{name}"), ty, init, Class::Data, false)
            });
            let elements = (!heap.single).then_some(heap.elements.max(1));
            let pool = Pool { slots, stride: 0, elements, allocated: count, in_frame, lengths };
            let key = format!("heap {ty:?}");
            let name = format!("heap.{name}");
            if let Err(e) = self.make_object(&key, &name, &ty, Some(pool), Birth::Unset, Span::default()) {
                self.errors.push(e);
            }
        }
        for (key, _) in self.session.facts.escaped.clone() {
            let Some(Known { name, ty, kind, birth }) = self.session.known.get(&key).cloned() else { continue };
            let made = match kind {
                Kind::Frame(f) => self.make_frame_object(&key, &name, &ty, &f, birth, Span::default()),
                Kind::Thread if !self.declared.iter().any(|d| d.name == key) => {
                    self.make_for_threads(&key, &name, &ty, Span::default())
                }
                Kind::Static | Kind::Thread => match self.declared.iter().position(|d| d.name == key) {
                    Some(d) => self.materialize(d, Span::default()),
                    None => self.make_object(&key, &name, &ty, None, birth, Span::default()),
                },
            };
            if let Err(e) = made {
                self.errors.push(e);
            }
        }
    }

    /// A procedure number for a function, which is lowered later.
    pub fn proc_of(&mut self, name: &str) -> ProcId {
        let caller = self.body.function.clone();
        self.found_calls.insert((caller, name.to_string()));
        if let Some(id) = self.functions[name].proc {
            return id;
        }
        self.procs.push(None);
        let id = self.procs.len() - 1;
        self.functions.get_mut(name).expect("it is a function").proc = Some(id);
        self.wanted.push(name.to_string());
        id
    }
}

impl Facts {
    /// Whether threads other than the first may allocate objects of this type: then each has some of its own.
    fn numbers_in_heap(&self, _calls: &std::collections::BTreeSet<(String, String)>, _ty: &CType) -> bool {
        self.numbers
    }
}

/// An array of arrays of a type, with its initial value.
pub(crate) fn array_of(ty: Type, init: Value, dims: &[u32]) -> (Type, Value) {
    dims.iter().rev().fold((ty, init), |(element, value), n| {
        let ty = Type::Array { index: Type::Int.into(), lo: 0, len: *n, element: element.into() };
        (ty, Value::Tuple(vec![value; *n as usize]))
    })
}
