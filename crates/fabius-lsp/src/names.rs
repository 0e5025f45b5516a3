//! What the names of a program stand for: every declaration, and every place that speaks of one.
//!
//! Works on the syntax tree alone, so that it answers while a program is being written and is wrong in some other place. What
//! it cannot resolve (a field of something whose type is not known here) is not in it.
//!
//! Length: one walk over the whole tree.

use fabius_lang::syntax::ast::*;
use fabius_trace::Span;
use std::collections::HashMap;

/// Index of a declaration in [`Names::declared`].
pub type Id = usize;

/// What is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `const`.
    Constant,
    /// `enum`.
    Enum,
    /// A name of an enum.
    EnumValue,
    /// `record`.
    Record,
    /// A field of a record.
    Field,
    /// A global variable.
    Variable,
    /// `proc`.
    Procedure,
    /// `init`.
    Init,
    /// `buffer`.
    Buffer,
    /// `process`.
    Process,
    /// A level of priority.
    Level,
    /// `invariant` or `property`: nothing names it.
    Claim,
    /// A parameter or a local variable.
    Local,
}

/// A declaration.
#[derive(Clone, Debug)]
pub struct Declared {
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
    /// The whole declaration.
    pub whole: Span,
    /// Where it can be used; `None` for everywhere.
    pub scope: Option<Span>,
    /// The procedure of a local, the record of a field, the enum of a value.
    pub owner: Option<Id>,
    /// Its type, as far as it is known.
    pub ty: Option<TypeKind>,
    /// Whether it is a channel, or an array of them.
    pub is_channel: bool,
}

/// What a place does with what it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Declares it.
    Declares,
    /// Reads, calls, names it.
    Reads,
    /// Writes it, or a part of it.
    Writes,
}

/// A place that speaks of a declaration.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Where.
    pub span: Span,
    /// Of what.
    pub of: Id,
    /// What it does.
    pub access: Access,
    /// The procedure, process, buffer or `init` that it stands in.
    pub within: Option<Id>,
}

/// All names of a program.
#[derive(Debug, Default)]
pub struct Names {
    /// The declarations, in the order of the text but for locals, which come last.
    pub declared: Vec<Declared>,
    /// The places, in the order of the text.
    pub places: Vec<Place>,
}

impl Names {
    /// The names of a program.
    pub fn of(file: &File) -> Names {
        let mut walk = Walk::default();
        for item in &file.items {
            walk.declare(item);
        }
        for item in &file.items {
            walk.item(item);
        }
        walk.names.places.sort_by_key(|place| (place.span.start, place.span.end));
        walk.names
    }

    /// The place under an offset; the end of a name counts, because a cursor stands behind what was written.
    pub fn at(&self, offset: u32) -> Option<&Place> {
        self.places.iter().find(|place| place.span.start <= offset && offset <= place.span.end)
    }

    /// All places of a declaration.
    pub fn places_of(&self, id: Id) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(move |place| place.of == id)
    }

    /// What can be named at an offset without saying whose it is.
    pub fn visible(&self, offset: u32) -> impl Iterator<Item = (Id, &Declared)> {
        let is_visible = move |d: &Declared| match d.scope {
            Some(scope) => scope.start <= offset && offset <= scope.end,
            None => !matches!(d.kind, Kind::Field | Kind::Init | Kind::Claim),
        };
        self.declared.iter().enumerate().filter(move |(_, d)| is_visible(d))
    }

    /// The fields of a record, the values of an enum.
    pub fn members(&self, owner: Id) -> impl Iterator<Item = (Id, &Declared)> {
        let is_member = move |d: &Declared| d.owner == Some(owner) && matches!(d.kind, Kind::Field | Kind::EnumValue);
        self.declared.iter().enumerate().filter(move |(_, d)| is_member(d))
    }

    /// The declaration of a record or an enum.
    pub fn type_named(&self, name: &str) -> Option<Id> {
        self.declared.iter().position(|d| matches!(d.kind, Kind::Record | Kind::Enum) && d.name == name)
    }
}

/// The record that a type gives fields of: its own, or that which it refers to.
pub fn record_of(ty: &TypeKind) -> Option<&str> {
    match ty {
        TypeKind::Named(name) => Some(name),
        TypeKind::Ref(name) => Some(&name.node),
        _ => None,
    }
}

#[derive(Default)]
struct Walk {
    names: Names,
    /// Globals by name.
    globals: HashMap<String, Id>,
    /// Locals by name, the innermost block last.
    scopes: Vec<(HashMap<String, Id>, Span)>,
    within: Option<Id>,
    /// The results of procedures.
    results: HashMap<Id, Vec<TypeKind>>,
}

impl Walk {
    fn add(&mut self, declared: Declared) -> Id {
        let id = self.names.declared.len();
        let (span, within) = (declared.span, self.within);
        if declared.kind != Kind::Init {
            self.names.places.push(Place { span, of: id, access: Access::Declares, within });
        }
        self.names.declared.push(declared);
        id
    }

    /// A declaration outside of bodies, with what belongs to it.
    fn declare(&mut self, item: &Item) {
        let global = |kind, name: &Name, ty: Option<&Type>| Declared {
            kind,
            name: name.node.clone(),
            span: name.span,
            whole: item.span,
            scope: None,
            owner: None,
            ty: ty.map(|ty| ty.node.clone()),
            is_channel: false,
        };
        let declared = match &item.node {
            ItemKind::Const { name, ty, .. } => global(Kind::Constant, name, ty.as_ref()),
            ItemKind::Enum { name, .. } => global(Kind::Enum, name, None),
            ItemKind::Record { name, .. } => global(Kind::Record, name, None),
            ItemKind::Var { name, ty, .. } => global(Kind::Variable, name, Some(ty)),
            ItemKind::Channel { name, .. } => Declared { is_channel: true, ..global(Kind::Variable, name, None) },
            ItemKind::Proc { name, .. } | ItemKind::Function { name, .. } => global(Kind::Procedure, name, None),
            ItemKind::Buffer { name, .. } => global(Kind::Buffer, name, None),
            ItemKind::Process { name, .. } => global(Kind::Process, name, None),
            ItemKind::Init(_) => global(Kind::Init, &Name { node: "init".into(), span: item.span }, None),
            ItemKind::Levels(levels) => {
                for level in levels {
                    let id = self.add(global(Kind::Level, level, None));
                    self.globals.entry(level.node.clone()).or_insert(id);
                }
                return;
            }
            ItemKind::Invariant { name, .. } | ItemKind::Property { name, .. } => {
                self.add(global(Kind::Claim, name, None));
                return;
            }
            ItemKind::InterleaveExplicit | ItemKind::Error => return,
        };
        let name = declared.name.clone();
        let id = self.add(declared);
        self.globals.entry(name).or_insert(id);
        match &item.node {
            ItemKind::Enum { name: of, names } => {
                for name in names {
                    let ty = Some(TypeKind::Named(of.node.clone()));
                    let value = Declared { owner: Some(id), ty, ..global(Kind::EnumValue, name, None) };
                    let value = self.add(value);
                    self.globals.entry(name.node.clone()).or_insert(value);
                }
            }
            ItemKind::Record { fields, .. } => {
                for field in fields {
                    let whole = field.name.span.to(field.ty.span);
                    let declared = global(Kind::Field, &field.name, Some(&field.ty));
                    self.add(Declared { owner: Some(id), whole, ..declared });
                }
            }
            ItemKind::Proc { results, .. } => {
                self.results.insert(id, results.iter().map(|ty| ty.node.clone()).collect());
            }
            ItemKind::Function { result, .. } => {
                self.results.insert(id, vec![result.node.clone()]);
            }
            _ => {}
        }
    }

    fn item(&mut self, item: &Item) {
        let is_it = |d: &Declared| d.whole == item.span && d.owner.is_none();
        self.within = self.names.declared.iter().position(is_it);
        match &item.node {
            ItemKind::Const { ty, value, .. } => {
                ty.iter().for_each(|ty| self.ty(ty));
                self.expr(value);
            }
            ItemKind::Record { fields, .. } => {
                for field in fields {
                    self.ty(&field.ty);
                    field.init.iter().for_each(|e| self.expr(e));
                }
            }
            ItemKind::Var { ty, init, .. } => {
                self.ty(ty);
                init.iter().for_each(|e| self.expr(e));
            }
            ItemKind::Proc { params, results, body, .. } => {
                results.iter().for_each(|ty| self.ty(ty));
                self.scopes.push((HashMap::new(), item.span));
                for param in params {
                    param.ty.iter().for_each(|ty| self.ty(ty));
                    self.local(&param.name, param.ty.as_ref().map(|ty| ty.node.clone()), body.span, None);
                }
                self.block(body);
                self.scopes.pop();
            }
            ItemKind::Init(body) | ItemKind::Buffer { body, .. } => self.block(body),
            ItemKind::Process { copies, body, .. } => {
                self.scopes.push((HashMap::new(), item.span));
                match copies {
                    Copies::Any => {}
                    Copies::Count(count) => self.expr(count),
                    Copies::Numbered { name, lo, hi } => {
                        self.expr(lo);
                        self.expr(hi);
                        self.local(name, Some(TypeKind::Named("int".into())), body.span, None);
                    }
                    Copies::AnyNumbered { name } => {
                        self.local(name, Some(TypeKind::Named("int".into())), body.span, None);
                    }
                }
                self.block(body);
                self.scopes.pop();
            }
            ItemKind::Function { params, result, value, .. } => {
                self.ty(result);
                self.scopes.push((HashMap::new(), item.span));
                for param in params {
                    param.ty.iter().for_each(|ty| self.ty(ty));
                    self.local(&param.name, param.ty.as_ref().map(|ty| ty.node.clone()), value.span, None);
                }
                self.expr(value);
                self.scopes.pop();
            }
            ItemKind::Channel { count, element, places, .. } => {
                count.iter().for_each(|e| self.expr(e));
                self.ty(element);
                self.expr(places);
            }
            ItemKind::Invariant { condition, .. } => self.expr(condition),
            ItemKind::Property { formula, fairness, .. } => {
                formula.conditions().into_iter().for_each(|e| self.expr(e));
                for (name, number) in fairness.iter().flat_map(|to| &to.node.of) {
                    self.name(&name.node, name.span, Access::Reads);
                    number.iter().for_each(|e| self.expr(e));
                }
            }
            ItemKind::Enum { .. } | ItemKind::Levels(_) | ItemKind::InterleaveExplicit | ItemKind::Error => {}
        }
        self.within = None;
    }

    /// Declares a local; it can be used in `scope`, or else from the end of `statement` to the end of the block.
    fn local(&mut self, name: &Name, ty: Option<TypeKind>, scope: Span, statement: Option<Span>) {
        if name.node == "_" {
            return;
        }
        let whole = statement.unwrap_or(name.span);
        let id = self.add(Declared {
            kind: Kind::Local,
            name: name.node.clone(),
            span: name.span,
            whole,
            scope: Some(scope),
            owner: self.within,
            ty,
            is_channel: false,
        });
        if let Some((names, _)) = self.scopes.last_mut() {
            names.insert(name.node.clone(), id);
        }
    }

    fn block(&mut self, block: &Block) {
        self.scopes.push((HashMap::new(), block.span));
        block.node.iter().for_each(|s| self.stmt(s));
        self.scopes.pop();
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.node {
            StmtKind::Local { names, ty, init, .. } => {
                ty.iter().for_each(|ty| self.ty(ty));
                init.iter().for_each(|e| self.expr(e));
                let end = self.scopes.last().map_or(stmt.span.end, |(_, block)| block.end);
                let scope = Span { start: stmt.span.end, end };
                let types = init.as_ref().map_or(Vec::new(), |e| self.types_of(e));
                for (i, name) in names.iter().enumerate() {
                    let ty = ty.as_ref().map(|ty| ty.node.clone()).or_else(|| types.get(i).cloned());
                    self.local(name, ty, scope, Some(stmt.span));
                }
            }
            // `x += 1` reads, too, at the same place: that it writes says more.
            StmtKind::Assign { targets, value, .. } => {
                targets.iter().for_each(|target| self.written(target));
                self.expr(value);
            }
            StmtKind::AssignAll { targets, values } => {
                targets.iter().for_each(|target| self.written(target));
                values.iter().for_each(|e| self.expr(e));
            }
            StmtKind::Select { branches, otherwise } => {
                branches.iter().for_each(|(when, body)| self.branch(when, body));
                otherwise.iter().for_each(|block| self.block(block));
            }
            StmtKind::Expr(e) | StmtKind::Join(e) | StmtKind::Assume(e) | StmtKind::Await(e) => self.expr(e),
            StmtKind::Assert(e, _) => self.expr(e),
            StmtKind::Return(all) | StmtKind::Print(all) => all.iter().for_each(|e| self.expr(e)),
            StmtKind::If { guard, then, otherwise, .. } => {
                self.expr(guard);
                self.block(then);
                otherwise.iter().for_each(|block| self.block(block));
            }
            StmtKind::Match { value, arms, otherwise } => {
                self.expr(value);
                for (patterns, block) in arms {
                    patterns.iter().for_each(|p| self.pattern(p));
                    self.block(block);
                }
                otherwise.iter().for_each(|block| self.block(block));
            }
            StmtKind::While { guard, body } => {
                self.expr(guard);
                self.block(body);
            }
            StmtKind::For { name, lo, hi, body } => {
                self.expr(lo);
                self.expr(hi);
                self.scopes.push((HashMap::new(), body.span));
                self.local(name, Some(TypeKind::Named("int".into())), body.span, None);
                self.block(body);
                self.scopes.pop();
            }
            StmtKind::Loop(block) | StmtKind::Atomic(block) | StmtKind::Block(block) => self.block(block),
            StmtKind::Choose(blocks) => blocks.iter().for_each(|block| self.block(block)),
            StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Yield
            | StmtKind::Zield
            | StmtKind::Progress
            | StmtKind::Label(_)
            | StmtKind::Skip
            | StmtKind::Error => {}
        }
    }

    /// A branch of `select`; what it receives is known in its block.
    fn branch(&mut self, when: &When, body: &Block) {
        self.scopes.push((HashMap::new(), body.span));
        match when {
            When::Expr(e) => self.expr(e),
            When::Let { name, value, .. } => {
                self.expr(value);
                self.local(name, None, body.span, None);
            }
            When::Assign { target, value } => {
                self.written(target);
                self.expr(value);
            }
        }
        self.block(body);
        self.scopes.pop();
    }

    fn ty(&mut self, ty: &Type) {
        match &ty.node {
            TypeKind::Named(name) => {
                if let Some(id) = self.names.type_named(name) {
                    self.place(ty.span, id, Access::Reads);
                }
            }
            TypeKind::Ref(name) => {
                if let Some(id) = self.names.type_named(&name.node) {
                    self.place(name.span, id, Access::Reads);
                }
            }
            TypeKind::Range(lo, hi) => {
                self.expr(lo);
                self.expr(hi);
            }
            TypeKind::Array(element, len) => {
                self.ty(element);
                self.expr(len);
            }
            TypeKind::Map(key, element) => {
                self.ty(key);
                self.ty(element);
            }
            TypeKind::Collection(_, element, room) => {
                self.ty(element);
                room.iter().for_each(|e| self.expr(e));
            }
            TypeKind::Error => {}
        }
    }

    fn pattern(&mut self, pattern: &Pattern) {
        self.expr(&pattern.lo);
        pattern.hi.iter().for_each(|e| self.expr(e));
    }

    fn expr(&mut self, e: &Expr) {
        match &e.node {
            ExprKind::Name(name) => self.name(name, e.span, Access::Reads),
            ExprKind::Field(base, field) => {
                self.expr(base);
                self.field(base, field, Access::Reads);
            }
            ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) | ExprKind::Repeat(a, b) | ExprKind::AnyRange(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Unary(_, a) | ExprKind::Paren(a) => self.expr(a),
            ExprKind::IfElse(a, b, c) => [a, b, c].into_iter().for_each(|e| self.expr(e)),
            ExprKind::Match { value, arms, otherwise } => {
                self.expr(value);
                for (patterns, e) in arms {
                    patterns.iter().for_each(|p| self.pattern(p));
                    self.expr(e);
                }
                otherwise.iter().for_each(|e| self.expr(e));
            }
            ExprKind::Cast(a, ty) => {
                self.expr(a);
                self.ty(ty);
            }
            ExprKind::Record(name, fields) | ExprKind::New(name, fields) => {
                let record = self.names.type_named(&name.node);
                record.into_iter().for_each(|id| self.place(name.span, id, Access::Reads));
                for (field, value) in fields {
                    record.into_iter().for_each(|id| self.member(id, field, Access::Reads));
                    self.expr(value);
                }
            }
            ExprKind::Array(all) => all.iter().for_each(|e| self.expr(e)),
            ExprKind::Any(ty) => self.ty(ty),
            ExprKind::Quantified { name, over, body, .. } => {
                match &**over {
                    Over::Range(lo, hi) => {
                        self.expr(lo);
                        self.expr(hi);
                    }
                    Over::Elements(of) => self.expr(of),
                }
                self.scopes.push((HashMap::new(), body.span));
                self.local(name, None, body.span, None);
                self.expr(body);
                self.scopes.pop();
            }
            ExprKind::Call(name, args)
                if matches!(name.node.as_str(), "len" | "peek") && self.global(&name.node).is_none() =>
            {
                args.iter().for_each(|e| self.expr(e));
            }
            ExprKind::Call(name, args) if self.global(&name.node).is_none() => {
                // `cas(x, a, b)` and the like write their first argument.
                if let Some((target, rest)) = args.split_first() {
                    self.written(target);
                    rest.iter().for_each(|e| self.expr(e));
                }
            }
            ExprKind::Call(name, args) | ExprKind::Spawn(name, args) => {
                self.name(&name.node, name.span, Access::Reads);
                args.iter().for_each(|e| self.expr(e));
            }
            ExprKind::Post(level, name, args) => {
                level.iter().for_each(|level| self.name(&level.node, level.span, Access::Reads));
                self.name(&name.node, name.span, Access::Reads);
                args.iter().for_each(|e| self.expr(e));
            }
            ExprKind::Method(object, name, args) => {
                if matches!(name.node.as_str(), "contains" | "is_empty") {
                    self.expr(object)
                } else {
                    self.written(object)
                }
                // `c.wait(m)` gives up `m` and takes it again.
                args.iter().for_each(|e| self.expr(e));
            }
            ExprKind::Int(_)
            | ExprKind::Bool(_)
            | ExprKind::Null
            | ExprKind::SelfHandle
            | ExprKind::Star
            | ExprKind::Error => {}
        }
    }

    /// A place that is written: of `a[i].f` it is `f` and `a`, unless a reference is followed to it.
    fn written(&mut self, target: &Expr) {
        match &target.node {
            ExprKind::Name(name) => self.name(name, target.span, Access::Writes),
            ExprKind::Field(base, field) => {
                if matches!(self.type_of(base), Some(TypeKind::Ref(_))) {
                    self.expr(base)
                } else {
                    self.written(base)
                }
                self.field(base, field, Access::Writes);
            }
            ExprKind::Index(base, at) => {
                self.written(base);
                self.expr(at);
            }
            ExprKind::Paren(inner) => self.written(inner),
            _ => self.expr(target),
        }
    }

    fn field(&mut self, base: &Expr, field: &Name, access: Access) {
        let owner = match &base.node {
            // `Colour.Red`
            ExprKind::Name(name) if self.resolve(name).is_some_and(|id| self.names.declared[id].kind == Kind::Enum) => {
                self.resolve(name)
            }
            _ => self.type_of(base).and_then(|ty| self.names.type_named(record_of(&ty)?)),
        };
        owner.into_iter().for_each(|id| self.member(id, field, access));
    }

    fn member(&mut self, owner: Id, name: &Name, access: Access) {
        let found = self.names.members(owner).find(|(_, d)| d.name == name.node).map(|(id, _)| id);
        found.into_iter().for_each(|id| self.place(name.span, id, access));
    }

    fn name(&mut self, name: &str, span: Span, access: Access) {
        self.resolve(name).into_iter().for_each(|id| self.place(span, id, access));
    }

    fn place(&mut self, span: Span, of: Id, access: Access) {
        self.names.places.push(Place { span, of, access, within: self.within });
    }

    fn resolve(&self, name: &str) -> Option<Id> {
        let local = self.scopes.iter().rev().find_map(|(names, _)| names.get(name));
        local.copied().or_else(|| self.global(name))
    }

    fn global(&self, name: &str) -> Option<Id> {
        self.globals.get(name).copied()
    }

    fn types_of(&self, e: &Expr) -> Vec<TypeKind> {
        match &e.node {
            ExprKind::Call(name, _) => {
                self.global(&name.node).and_then(|id| self.results.get(&id)).cloned().unwrap_or_default()
            }
            _ => self.type_of(e).into_iter().collect(),
        }
    }

    /// The type of an expression, where it is needed: of what has fields, and of what is easily seen.
    fn type_of(&self, e: &Expr) -> Option<TypeKind> {
        let named = |name: &str| Some(TypeKind::Named(name.into()));
        match &e.node {
            ExprKind::Name(name) => self.names.declared[self.resolve(name)?].ty.clone(),
            ExprKind::Field(base, field) => {
                let owner = self.names.type_named(record_of(&self.type_of(base)?)?)?;
                self.names.members(owner).find(|(_, d)| d.name == field.node)?.1.ty.clone()
            }
            ExprKind::Index(base, _) => match self.type_of(base)? {
                TypeKind::Array(element, _)
                | TypeKind::Map(_, element)
                | TypeKind::Collection(Collection::Sequence, element, _) => Some(element.node),
                _ => None,
            },
            ExprKind::Paren(inner) => self.type_of(inner),
            ExprKind::New(name, _) => Some(TypeKind::Ref(name.clone())),
            ExprKind::Record(name, _) => named(&name.node),
            ExprKind::Cast(_, ty) | ExprKind::Any(ty) => Some(ty.node.clone()),
            ExprKind::Bool(_) => named("bool"),
            ExprKind::Int(_) => named("int"),
            ExprKind::SelfHandle | ExprKind::Spawn(..) | ExprKind::Post(..) => named("thread"),
            ExprKind::IfElse(_, yes, _) => self.type_of(yes),
            ExprKind::Match { arms, .. } => self.type_of(&arms.first()?.1),
            ExprKind::Call(..) => self.types_of(e).into_iter().next(),
            _ => None,
        }
    }
}
