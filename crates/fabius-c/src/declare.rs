//! Declarations: from specifiers and declarators to types and names.
//!
//! Length: one function for each thing that is declared.

use crate::birth::Birth;
use crate::core::{ADDRESS, binary, constant};
use crate::lower::*;
use crate::memory::*;
use crate::refusal::{Result, unsupported, wrong};
use crate::types::{self, CHAR, CType, INT, Member, Signature};
use fabius_lang::program::{BinaryOp, Check, Class, Value};
use fabius_trace::Span;
use lang_c::ast;
use lang_c::ast::{
    DeclarationSpecifier, DerivedDeclarator, SpecifierQualifier, StorageClassSpecifier, TypeQualifier, TypeSpecifier,
};
use lang_c::span::Node;
use std::rc::Rc;

/// Elements of a local array whose length is known only when the program runs.
pub(crate) const MOST_ELEMENTS: u32 = 128;

/// What an array is whose declarator says so first: of a parameter, a pointer, whatever its length.
#[derive(Clone, Copy, PartialEq)]
enum Outermost {
    Array,
    Pointer,
}

/// What stands in front of a declarator.
#[derive(Default)]
pub(crate) struct Specifiers<'a> {
    pub types: Vec<&'a Node<TypeSpecifier>>,
    atomic: bool,
    pub typedef: bool,
    pub is_extern: bool,
    pub is_static: bool,
    pub per_thread: bool,
    is_const: bool,
}

fn is_qualified(pointer: &[Node<ast::PointerQualifier>], by: &TypeQualifier) -> bool {
    pointer.iter().any(|q| matches!(&q.node, ast::PointerQualifier::TypeQualifier(q) if q.node == *by))
}

impl<'a> Specifiers<'a> {
    pub fn of(all: &'a [Node<DeclarationSpecifier>]) -> Specifiers<'a> {
        let mut s = Specifiers::default();
        for each in all {
            match &each.node {
                DeclarationSpecifier::TypeSpecifier(t) => s.types.push(t),
                DeclarationSpecifier::TypeQualifier(q) => {
                    s.atomic |= q.node == TypeQualifier::Atomic;
                    s.is_const |= q.node == TypeQualifier::Const;
                }
                DeclarationSpecifier::StorageClass(c) => match c.node {
                    StorageClassSpecifier::Typedef => s.typedef = true,
                    StorageClassSpecifier::Extern => s.is_extern = true,
                    StorageClassSpecifier::Static => s.is_static = true,
                    StorageClassSpecifier::ThreadLocal => s.per_thread = true,
                    StorageClassSpecifier::Auto | StorageClassSpecifier::Register => {}
                },
                _ => {}
            }
        }
        s
    }

    /// Whether the variable that is declared is `const` itself, and not only what it points to.
    pub fn defines_a_constant(&self, d: &ast::Declarator) -> bool {
        let pointers = d.derived.iter().rev().find_map(|each| match &each.node {
            DerivedDeclarator::Pointer(qualifiers) => Some(is_qualified(qualifiers, &TypeQualifier::Const)),
            _ => None,
        });
        matches!(d.kind.node, ast::DeclaratorKind::Identifier(_)) && pointers.unwrap_or(self.is_const)
    }

    pub fn of_qualifiers(all: &'a [Node<SpecifierQualifier>]) -> Specifiers<'a> {
        let mut s = Specifiers::default();
        for each in all {
            match &each.node {
                SpecifierQualifier::TypeSpecifier(t) => s.types.push(t),
                SpecifierQualifier::TypeQualifier(q) => s.atomic |= q.node == TypeQualifier::Atomic,
                SpecifierQualifier::Extension(_) => {}
            }
        }
        s
    }
}

impl<'a> Lower<'a, '_> {
    /// The type that specifiers name.
    pub fn base_type(&mut self, s: &Specifiers<'a>) -> Result<CType> {
        let ty = self.unqualified(s)?;
        if s.atomic && self.is_flag(s, &ty) {
            return Ok(ty);
        }
        Ok(if s.atomic { CType::Atomic(Rc::new(ty)) } else { ty })
    }

    /// Whether this is how gcc declares `atomic_flag`: `_Atomic struct { _Bool __val; }`, which nobody else has a name for. It is
    /// a struct with an atomic variable then.
    fn is_flag(&mut self, s: &Specifiers<'a>, ty: &CType) -> bool {
        let ([TypeSpecifier::Struct(of)], CType::Struct(id)) =
            (&s.types.iter().map(|t| &t.node).collect::<Vec<_>>()[..], ty)
        else {
            return false;
        };
        if of.node.identifier.is_some() {
            return false;
        }
        match &mut self.session.types.structs[*id].fields.as_deref_mut() {
            Some([field]) if matches!(field.ty, CType::Bool) && field.bits.is_none() => {
                field.ty = CType::Atomic(Rc::new(CType::Bool));
                true
            }
            Some([field]) => *field.ty.plain() == CType::Bool && field.bits.is_none(),
            _ => false,
        }
    }

    fn unqualified(&mut self, s: &Specifiers<'a>) -> Result<CType> {
        let (mut signed, mut long, mut short, mut char, mut int, mut double) = (None, 0, false, false, false, false);
        for t in &s.types {
            match &t.node {
                TypeSpecifier::Void => return Ok(CType::Void),
                TypeSpecifier::Bool => return Ok(CType::Bool),
                TypeSpecifier::Char => char = true,
                TypeSpecifier::Short => short = true,
                TypeSpecifier::Int => int = true,
                TypeSpecifier::Long => long += 1,
                TypeSpecifier::Signed => signed = Some(true),
                TypeSpecifier::Unsigned => signed = Some(false),
                TypeSpecifier::Float => return Ok(CType::Float(4)),
                TypeSpecifier::Double => double = true,
                TypeSpecifier::Complex => return Ok(CType::Float(16)),
                TypeSpecifier::TS18661Float(f) => return Ok(CType::Float((f.width / 8).min(16) as u8)),
                TypeSpecifier::Atomic(name) => return Ok(CType::Atomic(Rc::new(self.type_name(&name.node)?))),
                TypeSpecifier::Struct(s) => return self.struct_type(s),
                TypeSpecifier::Enum(e) => return self.enum_type(e),
                TypeSpecifier::TypedefName(name) => return self.typedef(&name.node.name, self.span(name.span)),
                TypeSpecifier::TypeOf(of) => {
                    return match &of.node {
                        ast::TypeOf::Type(name) => self.type_name(&name.node),
                        ast::TypeOf::Expression(e) => self.type_of(e),
                    };
                }
            }
        }
        if double {
            return Ok(CType::Float(if long > 0 { 16 } else { 8 }));
        }
        if s.types.is_empty() {
            return Ok(INT);
        }
        let _ = int;
        let bits = if char {
            8
        } else if short {
            16
        } else if long == 1 {
            self.types().word()
        } else if long > 1 {
            64
        } else {
            32
        };
        Ok(CType::Int { bits, signed: signed.unwrap_or(true) })
    }

    fn typedef(&mut self, name: &str, span: Span) -> Result<CType> {
        if let Some(ty) = self.library_type(name) {
            return Ok(ty);
        }
        match self.entity(name) {
            Some(Entity::Type(ty)) => Ok(ty),
            Some(Entity::Aligned) => {
                unsupported(span, format!("the name `{name}` of a type has an alignment of its own"))
                    .map_err(|e: crate::refusal::Refusal| e.help("align the struct, or the variable"))
            }
            _ if name == "__builtin_va_list" => Ok(CType::Void.pointer()),
            _ => wrong(span, format!("there is no type `{name}`")),
        }
    }

    /// A type that the library defines, whatever the headers say.
    pub fn library_type(&mut self, name: &str) -> Option<CType> {
        let name = if self.session.c11_threads { types::posix_type(name) } else { name };
        if name == "pthread_t" {
            return Some(CType::Thread);
        }
        let (_, parts) = types::library_objects().into_iter().find(|(n, _)| *n == name)?;
        let (id, new) = self.struct_id(0, name, false);
        if new {
            let member = |(n, ty): (&str, CType)| Member { name: n.to_string(), ty, width: None, align: None };
            let fields = parts.into_iter().map(member).collect();
            self.session.types.define(id, fields, i64::MAX, 1).expect("there are no bit-fields");
            self.session.types.structs[id].sync = true;
            self.session.types.structs[id].size = self.session.types.structs[id].size.max(8);
        }
        Some(CType::Struct(id))
    }

    /// `sizeof (T)`, casts and the like.
    pub fn type_name(&mut self, name: &'a ast::TypeName) -> Result<CType> {
        let base = self.base_type(&Specifiers::of_qualifiers(&name.specifiers))?;
        match &name.declarator {
            Some(d) => Ok(self.declarator(d, base)?.1),
            None => Ok(base),
        }
    }

    /// Name and type of a declarator.
    pub fn declarator(&mut self, d: &'a Node<ast::Declarator>, base: CType) -> Result<(String, CType)> {
        self.declarator_with(d, base, Outermost::Array)
    }

    fn declarator_with(
        &mut self,
        d: &'a Node<ast::Declarator>,
        base: CType,
        outermost: Outermost,
    ) -> Result<(String, CType)> {
        let mut ty = base;
        let derived = &d.node.derived;
        let is_pointer = |each: &Node<DerivedDeclarator>| matches!(each.node, DerivedDeclarator::Pointer(_));
        let first = derived.iter().position(|each| !is_pointer(each));
        let is_named = matches!(d.node.kind.node, ast::DeclaratorKind::Identifier(_) | ast::DeclaratorKind::Abstract);
        for each in derived {
            if let DerivedDeclarator::Pointer(qualifiers) = &each.node {
                ty = ty.pointer();
                if is_qualified(qualifiers, &TypeQualifier::Atomic) {
                    ty = CType::Atomic(Rc::new(ty));
                }
            }
        }
        for (i, each) in derived.iter().enumerate().rev() {
            let becomes_pointer = outermost == Outermost::Pointer && is_named && first == Some(i);
            ty = match &each.node {
                DerivedDeclarator::Array(_) if becomes_pointer => ty.pointer(),
                DerivedDeclarator::Pointer(_) => ty,
                DerivedDeclarator::Block(_) => return unsupported(self.span(each.span), "a block is not taken"),
                DerivedDeclarator::Array(a) => {
                    let n = match &a.node.size {
                        ast::ArraySize::Unknown | ast::ArraySize::VariableUnknown => {
                            if let Some(lengths) = &mut self.body.lengths {
                                lengths.push(None);
                            }
                            None
                        }
                        ast::ArraySize::VariableExpression(e) | ast::ArraySize::StaticExpression(e) => {
                            Some(self.array_length(e)?)
                        }
                    };
                    CType::Array(Rc::new(ty), n)
                }
                DerivedDeclarator::Function(f) => {
                    let mut params = Vec::new();
                    for p in &f.node.parameters {
                        params.push(self.parameter(p)?.1);
                    }
                    let open = params.is_empty();
                    if params == [CType::Void] {
                        params.clear();
                    }
                    let variadic = f.node.ellipsis == ast::Ellipsis::Some;
                    CType::Function(Rc::new(Signature { result: ty, params, variadic, open }))
                }
                DerivedDeclarator::KRFunction(_) => {
                    CType::Function(Rc::new(Signature { result: ty, params: Vec::new(), variadic: false, open: true }))
                }
            };
        }
        match &d.node.kind.node {
            ast::DeclaratorKind::Abstract => Ok((String::new(), ty)),
            ast::DeclaratorKind::Identifier(name) => Ok((name.node.name.clone(), ty)),
            ast::DeclaratorKind::Declarator(inner) => self.declarator_with(inner, ty, outermost),
        }
    }

    fn array_length(&mut self, e: &'a Node<ast::Expression>) -> Result<u32> {
        let n = match self.integer(e) {
            Ok(n) => {
                if let Some(lengths) = &mut self.body.lengths {
                    lengths.push(None);
                }
                n
            }
            Err(refusal) if self.body.function.is_empty() => {
                return Err(refusal.help("the length of an array is a constant here"));
            }
            Err(_) => self.bounded_length(e)?,
        };
        u32::try_from(n).or_else(|_| wrong(self.span(e.span), format!("an array cannot have {n} elements")))
    }

    /// The length of an array that is known only when the program runs: room for as many as are followed.
    fn bounded_length(&mut self, e: &'a Node<ast::Expression>) -> Result<i64> {
        let span = self.span(e.span);
        if self.body.lengths.is_none() {
            return crate::lengths::elsewhere(span);
        }
        let outer = self.body.lengths.take();
        let v = self.value(e);
        self.body.lengths = outer;
        let v = self.convert(v?, &types::LONG, span)?;
        let n = self.keep(v.parts[0].clone());
        let most = i64::from(MOST_ELEMENTS);
        self.body.variable_lengths = true;
        let fits = binary(BinaryOp::Le, n.clone(), constant(most, ADDRESS, span));
        self.check(fits, Check::Bound, &format!("more than {most} elements of an array"), span);
        if let Some(lengths) = &mut self.body.lengths {
            lengths.push(Some(n));
        }
        Ok(most)
    }

    /// Name and type of a parameter; arrays and functions are pointers.
    pub fn parameter(&mut self, p: &'a Node<ast::ParameterDeclaration>) -> Result<(String, CType)> {
        let base = self.base_type(&Specifiers::of(&p.node.specifiers))?;
        let (name, ty) = match &p.node.declarator {
            Some(d) => self.declarator_with(d, base, Outermost::Pointer)?,
            None => (String::new(), base),
        };
        Ok(match ty {
            CType::Array(of, _) => (name, CType::Pointer(of)),
            f @ CType::Function(_) => (name, f.pointer()),
            other => (name, other),
        })
    }

    /// All declarations of the file.
    pub fn declare_file(&mut self, unit: &'a ast::TranslationUnit) {
        for each in &unit.0 {
            let result = match &each.node {
                ast::ExternalDeclaration::Declaration(d) => self.declare_global(d),
                ast::ExternalDeclaration::FunctionDefinition(f) => self.declare_function(f),
                ast::ExternalDeclaration::StaticAssert(a) => self.static_assertion(a),
            };
            if let Err(e) = result {
                // What headers of the system contain matters only if it is used.
                if !self.lines.is_system(each.span.start) {
                    self.errors.push(e);
                }
            }
        }
    }

    /// `_Static_assert`
    pub fn static_assertion(&mut self, a: &'a Node<ast::StaticAssert>) -> Result<()> {
        match self.integer(&a.node.expression)? {
            0 => {
                let text = a.node.message.node.concat().replace("\"\"", "");
                wrong(self.span(a.span), format!("this static assertion fails: {text}"))
            }
            _ => Ok(()),
        }
    }

    fn declare_function(&mut self, f: &'a Node<ast::FunctionDefinition>) -> Result<()> {
        let base = self.base_type(&Specifiers::of(&f.node.specifiers))?;
        let (name, ty) = self.declarator(&f.node.declarator, base)?;
        let CType::Function(signature) = ty else { return wrong(self.span(f.span), "this is no function") };
        let signature = match old_names(&f.node.declarator.node) {
            Some(names) => Rc::new(self.old_parameters(&signature, names, f)?),
            None => signature,
        };
        if self.functions.get(&name).is_some_and(|known| known.definition.is_some()) {
            return wrong(self.span(f.node.declarator.span), format!("`{name}` is defined twice"));
        }
        self.add_function(&name, &signature, Some(f));
        Ok(())
    }

    /// The types of parameters that are declared behind the parentheses; those that are not are `int`.
    fn old_parameters(
        &mut self,
        signature: &Signature,
        names: &[Node<ast::Identifier>],
        f: &'a Node<ast::FunctionDefinition>,
    ) -> Result<Signature> {
        let mut params = vec![INT; names.len()];
        for d in &f.node.declarations {
            let base = self.base_type(&Specifiers::of(&d.node.specifiers))?;
            for each in &d.node.declarators {
                let (name, ty) = self.declarator_with(&each.node.declarator, base.clone(), Outermost::Pointer)?;
                let Some(n) = names.iter().position(|known| known.node.name == name) else {
                    return wrong(self.span(each.span), format!("`{name}` is no parameter"));
                };
                params[n] = match ty {
                    CType::Array(of, _) => CType::Pointer(of),
                    f @ CType::Function(_) => f.pointer(),
                    other => other,
                };
            }
        }
        Ok(Signature { params, open: false, ..signature.clone() })
    }

    fn add_function(
        &mut self,
        name: &str,
        signature: &Signature,
        definition: Option<&'a Node<ast::FunctionDefinition>>,
    ) {
        let number = self.functions.len() as i64;
        let known = self.functions.entry(name.to_string()).or_insert_with(|| Function {
            signature: signature.clone(),
            definition: None,
            proc: None,
            number,
        });
        if definition.is_some() {
            known.definition = definition;
            known.signature = signature.clone();
        }
        self.scopes[0].names.insert(name.into(), Entity::Function(name.into()));
    }

    fn declare_global(&mut self, d: &'a Node<ast::Declaration>) -> Result<()> {
        let specifiers = Specifiers::of(&d.node.specifiers);
        let base = self.base_type(&specifiers)?;
        for each in &d.node.declarators {
            let (name, ty) = self.declarator(&each.node.declarator, base.clone())?;
            if specifiers.typedef {
                let named = self.named_type(&name, ty, d);
                self.scopes[0].names.insert(name, named);
                continue;
            }
            if let CType::Function(signature) = &ty {
                self.add_function(&name, signature, None);
                continue;
            }
            let init = each.node.initializer.as_ref();
            if specifiers.defines_a_constant(&each.node.declarator.node) {
                self.found.constants.insert(name.clone());
            }
            self.add_global(name, ty, init, &specifiers, self.span(each.node.declarator.span));
        }
        Ok(())
    }

    pub fn add_global(
        &mut self,
        name: String,
        ty: CType,
        init: Option<&'a Node<ast::Initializer>>,
        specifiers: &Specifiers<'a>,
        span: Span,
    ) -> usize {
        let defined = !specifiers.is_extern || init.is_some();
        if let Some(known) = self.declared.iter_mut().find(|d| d.name == name) {
            known.defined |= defined;
            known.init = known.init.or(init);
            if defined {
                known.span = span;
            }
            if !matches!(ty, CType::Array(_, None)) {
                known.ty = ty;
            }
        } else {
            let per_thread = specifiers.per_thread;
            self.declared.push(Declared { name: name.clone(), ty, init, span, defined, per_thread, object: None });
        }
        let index = self.declared.iter().position(|d| d.name == name).expect("it was just added");
        self.scopes[0].names.insert(name, Entity::Global(index));
        index
    }

    /// The object of a declared global.
    pub fn materialize(&mut self, index: usize, used: Span) -> Result<ObjectId> {
        if let Some(id) = self.declared[index].object {
            return Ok(id);
        }
        let Declared { name, ty, init, span, defined, per_thread, .. } = &self.declared[index];
        let (name, mut ty, init, span, defined, per_thread) =
            (name.clone(), ty.clone(), *init, *span, *defined, *per_thread);
        if !defined {
            return unsupported(used, format!("`{name}` is declared, but defined nowhere"));
        }
        // What is evaluated for it is no part of the function that uses it first.
        let outer = std::mem::take(&mut self.body);
        let scopes: Vec<_> = self.scopes.drain(1..).collect();
        let made = match per_thread {
            true => self.make_per_thread(&name, &name, &mut ty, init, span),
            false => self.make_static(&name, &name, &mut ty, init, span),
        };
        self.scopes.extend(scopes);
        self.body = outer;
        let id = made?;
        self.declared[index].object = Some(id);
        Ok(id)
    }

    /// An object with static lifetime.
    pub fn make_static(
        &mut self,
        key: &str,
        name: &str,
        ty: &mut CType,
        init: Option<&'a Node<ast::Initializer>>,
        span: Span,
    ) -> Result<ObjectId> {
        if let (CType::Array(of, None), Some(init)) = (&ty, init) {
            let n = self.length_of_initializer(of, init)?;
            *ty = CType::Array(of.clone(), Some(n));
        }
        let id = self.make_object(key, name, ty, None, Birth::Set, span)?;
        let known = Known { name: name.into(), ty: ty.clone(), kind: Kind::Static, birth: Birth::Set };
        self.found_known.insert(key.into(), known);
        if let Some(id) = self.by_key.get(key).copied()
            && let Some(declared) = self.declared.iter_mut().find(|d| d.name == key)
        {
            declared.object = Some(id);
        }
        if let Some(init) = init {
            let ty = ty.clone();
            let outer = std::mem::take(&mut self.found);
            let result = self.initialize_static(id, &ty, init);
            let shown = std::mem::replace(&mut self.found, outer);
            self.found_in_statics.absorb(shown);
            result?;
        }
        Ok(id)
    }

    /// What the first object of a pool is at first, the others are as well.
    fn same_in_all_slots(&mut self, id: ObjectId) {
        let Parts::Globals(ids) = &self.objects[id].parts else { return };
        for g in ids {
            if let Value::Tuple(slots) = &mut self.globals[*g].init
                && let Some(first) = slots.first().cloned()
            {
                slots.fill(first);
            }
        }
    }

    /// `_Thread_local`: where its address is taken, each thread has one in memory, by its number.
    pub fn make_per_thread(
        &mut self,
        key: &str,
        name: &str,
        ty: &mut CType,
        init: Option<&'a Node<ast::Initializer>>,
        span: Span,
    ) -> Result<ObjectId> {
        let in_memory = self.session.facts.escaped.iter().any(|(escaped, _)| escaped == key);
        if in_memory {
            self.make_for_threads(key, name, ty, span)?;
        }
        let id = self.make_static(key, name, ty, init, span)?;
        if let Some(known) = self.found_known.get_mut(key) {
            known.kind = Kind::Thread;
        }
        if in_memory {
            self.same_in_all_slots(id);
            return Ok(id);
        }
        let Parts::Globals(ids) = &self.objects[id].parts else { return Ok(id) };
        for g in ids {
            self.globals[*g].per_thread = true;
            self.globals[*g].class = Class::Data;
        }
        Ok(id)
    }

    /// A static variable of which each thread has one in memory.
    pub fn make_for_threads(&mut self, key: &str, name: &str, ty: &CType, span: Span) -> Result<ObjectId> {
        if !self.session.facts.any_number.is_empty() {
            let words =
                format!("the address of `{name}`, which each of any number of threads has one of, is not taken");
            return unsupported(span, words);
        }
        let pool =
            Pool { slots: self.threads(), stride: 0, elements: None, allocated: None, in_frame: None, lengths: None };
        let id = self.make_object(key, name, ty, Some(pool), Birth::Set, span)?;
        self.follow_thread(id);
        Ok(id)
    }

    /// A string literal as an array.
    pub fn string_object(&mut self, bytes: Vec<u8>, span: Span) -> Result<ObjectId> {
        if let Some(id) = self.strings.get(&bytes) {
            return Ok(*id);
        }
        let n = self.strings.len();
        let key = format!("\"{n} {}", String::from_utf8_lossy(&bytes));
        let ty = CType::Array(Rc::new(CHAR), Some(bytes.len() as u32));
        let id = self.make_object(&key, &format!("string{n}"), &ty, None, Birth::Set, span)?;
        let known = Known { name: format!("string{n}"), ty, kind: Kind::Static, birth: Birth::Set };
        self.found_known.insert(key, known);
        if let Parts::Globals(ids) = &self.objects[id].parts {
            self.globals[ids[0]].init = Value::Tuple(bytes.iter().map(|b| Value::Int(i64::from(*b as i8))).collect());
        }
        self.strings.insert(bytes, id);
        Ok(id)
    }
}

/// The names in the parentheses of a definition that declares its parameters behind them.
pub(crate) fn old_names(d: &ast::Declarator) -> Option<&[Node<ast::Identifier>]> {
    let own = d.derived.iter().find_map(|each| match &each.node {
        DerivedDeclarator::KRFunction(names) if !names.is_empty() => Some(names.as_slice()),
        _ => None,
    });
    match &d.kind.node {
        ast::DeclaratorKind::Declarator(inner) => own.or_else(|| old_names(&inner.node)),
        _ => own,
    }
}
