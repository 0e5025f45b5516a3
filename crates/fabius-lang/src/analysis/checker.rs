//! What the analysis knows while it looks at one piece of a program: the declarations, the scopes, the diagnostics.

use super::constant::{self, NoValue};
use super::names::nearest;
use crate::diagnostic::Diagnostic;
use crate::program::*;
use crate::syntax::{ast, idioms};
use fabius_trace::Span;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Largest number of scalars in one variable.
pub(super) const MAX_SCALARS: u64 = 1 << 16;

/// All declarations of a program. `None` stands for one that is wrong: its uses are not reported again.
#[derive(Default)]
pub(super) struct Context {
    pub(super) records: Vec<Record>,
    /// How many of `records` are the library's; they come first.
    pub(super) library_records: usize,
    pub(super) enums: Vec<Enum>,
    pub(super) types: HashMap<String, Option<Type>>,
    pub(super) consts: HashMap<String, Option<Constant>>,
    /// Names of all constants, also of those that have no value yet.
    pub(super) const_names: HashSet<String>,
    pub(super) globals: Vec<Global>,
    pub(super) global_ids: HashMap<String, Option<GlobalId>>,
    pub(super) procs: HashMap<String, Signature>,
    pub(super) functions: HashMap<String, Option<Rc<Function>>>,
    /// The records that channels are.
    pub(super) channels: HashMap<RecordId, Channel>,
    /// The records that collections are, and the places of their types in the source.
    pub(super) collections: HashMap<RecordId, Collection>,
    pub(super) collections_at: HashMap<Span, Option<RecordId>>,
    pub(super) levels: Vec<String>,
    pub(super) inlines: HashMap<String, Inline>,
    pub(super) choices: super::Choices,
}

/// A named constant.
#[derive(Clone)]
pub(super) struct Constant {
    pub(super) value: Value,
    /// As in expressions: `int` for a range.
    pub(super) ty: Type,
    /// Without a declared type a number is as good as a literal.
    pub(super) literal: bool,
}

/// What callers know of a procedure.
pub(super) struct Signature {
    pub(super) id: ProcId,
    pub(super) params: Vec<(String, Option<Type>)>,
    pub(super) results: Vec<Option<Type>>,
    pub(super) span: Span,
}

/// A function, which is put in the place of its calls.
pub(super) struct Function {
    pub(super) params: Vec<(ast::Name, Option<Type>)>,
    pub(super) result: Option<Type>,
    pub(super) value: ast::Expr,
    pub(super) span: Span,
}

/// What is known of a channel besides its record.
pub(super) struct Channel {
    pub(super) element: Type,
    /// For how many messages there is room; 0 for one that hands over.
    pub(super) room: u32,
    pub(super) kinds: Vec<ast::ChannelKind>,
}

/// What is known of a collection besides its record.
#[derive(Clone, PartialEq)]
pub(super) struct Collection {
    pub(super) kind: ast::Collection,
    pub(super) element: Type,
    /// Least value and number of values of elements of sets and bags; 0 and the greatest length of sequences.
    pub(super) lo: i64,
    pub(super) len: u32,
    /// How many elements there may be.
    pub(super) room: i64,
}

/// A procedure of the library, expanded where it is called.
#[derive(Clone)]
pub(super) struct Inline {
    pub(super) params: Vec<ast::Param>,
    pub(super) results: Vec<ast::Type>,
    pub(super) body: ast::Block,
}

/// What a local name stands for.
#[derive(Clone)]
pub(super) enum Binding {
    /// A local variable.
    Local(LocalId),
    /// A place that an expansion was given.
    Place(Place),
    /// A value that an expansion was given.
    Value(Expr),
    /// A number that is as good as a literal.
    Number(i64),
    /// Something wrong that has been reported.
    Error,
}

/// What encloses a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame {
    /// A loop.
    Loop,
    /// `atomic`.
    Atomic,
    /// One side of an `if` or `choose`.
    Branch,
}

/// What is known of the ways out of an atomic block.
pub(super) struct Leaving {
    /// The local that says how it is left.
    pub(super) how: LocalId,
    /// Where it is returned from, with the locals that hold the results.
    pub(super) returns: Option<(Span, Vec<LocalId>)>,
    pub(super) breaks: Option<Span>,
    pub(super) continues: Option<Span>,
}

/// Looks at constants, types and bodies in the light of a [`Context`].
pub(super) struct Checker<'a> {
    pub(super) cx: &'a Context,
    pub(super) diagnostics: &'a mut Vec<Diagnostic>,
    /// Only constants are allowed.
    pub(super) constant: bool,
    pub(super) locals: Vec<Local>,
    /// For each local whether it may be assigned again.
    pub(super) mutable: Vec<bool>,
    pub(super) scopes: Vec<HashMap<String, Binding>>,
    pub(super) frames: Vec<Frame>,
    /// For each enclosing loop what `continue` does first.
    pub(super) on_continue: Vec<Block>,
    /// The ways out of the atomic block at work.
    pub(super) leaving: Option<Leaving>,
    /// Statements of the block at work.
    pub(super) out: Block,
    pub(super) results: Vec<Option<Type>>,
    pub(super) temporaries: Temporaries,
    /// Inside an expansion: the call, which all spans become.
    pub(super) expansion: Option<Span>,
    /// Inside an expansion: the type called `same`.
    pub(super) same: Option<Type>,
    /// Inside an expansion: its results.
    pub(super) returned: Option<Vec<Expr>>,
    /// What is looked at is evaluated in one step, whatever it reads.
    pub(super) one_step: bool,
    /// How often shared state is read by what is evaluated before what is looked at, in the same statement.
    pub(super) before: usize,
    /// How many operators around decide whether what is looked at is evaluated at all.
    pub(super) conditional: u32,
    /// Functions that are being put in the place of their calls, innermost last.
    pub(super) applied: Vec<String>,
}

/// Locals made by the front end; used again after the statement that needed them.
#[derive(Default)]
pub(super) struct Temporaries {
    made: usize,
    free: Vec<LocalId>,
    used: Vec<LocalId>,
}

impl Temporaries {
    /// A local of this type that nobody else uses now.
    pub(super) fn take(&mut self, locals: &mut Vec<Local>, ty: &Type) -> LocalId {
        let id = match self.free.iter().position(|id| locals[*id].ty == *ty) {
            Some(i) => self.free.remove(i),
            None => {
                self.made += 1;
                locals.push(Local { name: format!("${}", self.made), ty: ty.clone() });
                locals.len() - 1
            }
        };
        self.used.push(id);
        id
    }

    /// To be handed to [`Temporaries::release`].
    pub(super) fn mark(&self) -> usize {
        self.used.len()
    }

    /// What was taken since the mark.
    pub(super) fn since(&self, mark: usize) -> Vec<LocalId> {
        self.used[mark..].to_vec()
    }

    /// Gives back what was taken since the mark.
    pub(super) fn release(&mut self, mark: usize) {
        let mut given = self.used.split_off(mark);
        given.append(&mut self.free);
        given.sort_unstable();
        self.free = given;
    }
}

impl<'a> Checker<'a> {
    pub(super) fn new(cx: &'a Context, diagnostics: &'a mut Vec<Diagnostic>) -> Checker<'a> {
        Checker {
            cx,
            diagnostics,
            constant: false,
            locals: Vec::new(),
            mutable: Vec::new(),
            scopes: Vec::new(),
            frames: Vec::new(),
            on_continue: Vec::new(),
            leaving: None,
            out: Vec::new(),
            results: Vec::new(),
            temporaries: Temporaries::default(),
            expansion: None,
            same: None,
            returned: None,
            one_step: false,
            before: 0,
            conditional: 0,
            applied: Vec::new(),
        }
    }

    /// One that accepts only constants.
    pub(super) fn of_constants(cx: &'a Context, diagnostics: &'a mut Vec<Diagnostic>) -> Checker<'a> {
        Checker { constant: true, ..Checker::new(cx, diagnostics) }
    }

    /// The span to show for a span of the tree: inside an expansion that of the call.
    pub(super) fn at(&self, span: Span) -> Span {
        self.expansion.unwrap_or(span)
    }

    /// Reports an error.
    pub(super) fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> &mut Diagnostic {
        let span = self.at(span);
        report(self.diagnostics, code, span, message, label)
    }

    pub(super) fn in_atomic(&self) -> bool {
        self.frames.contains(&Frame::Atomic)
    }

    /// A type as people write it.
    pub(super) fn show(&self, ty: &Type) -> String {
        show_type(ty, &self.cx.records, &self.cx.enums)
    }

    /// The names that a variable, constant or enum value could have meant here.
    pub(super) fn known_values(&self) -> Vec<&str> {
        let locals = self.scopes.iter().flat_map(|s| s.keys());
        locals.chain(self.cx.global_ids.keys()).chain(self.cx.consts.keys()).map(String::as_str).collect()
    }

    /// A type that occurs in the source, with its size checked.
    pub(super) fn ty(&mut self, t: &ast::Type) -> Option<Type> {
        let ty = self.unsized_ty(t)?;
        self.check_size(&ty, t.span).then_some(ty)
    }

    /// Whether a variable of the type is small enough; reports it if not.
    pub(super) fn check_size(&mut self, ty: &Type, span: Span) -> bool {
        let size = size_of(ty, &self.cx.records);
        if size > MAX_SCALARS {
            self.error("E0307", span, format!("a value of this type has more than {MAX_SCALARS} parts"), "too large")
                .help = Some("make the arrays smaller; most errors show in small instances".into());
        }
        size <= MAX_SCALARS
    }

    /// The type of a shared variable, which may be a map of so many threads.
    pub(super) fn shared_ty(&mut self, t: &ast::Type, threads: u32) -> Option<Type> {
        let ast::TypeKind::Map(key, element) = &t.node else { return self.ty(t) };
        if !matches!(&key.node, ast::TypeKind::Named(name) if name == "thread") {
            return self.ty(t);
        }
        let element = self.unsized_ty(element)?;
        if has_library_object(&element, self.cx) {
            let shown = self.show(&element);
            let message = format!("a map of threads cannot have a `{shown}` for each");
            self.error("E0408", t.span, message, "only its operations may be called").help =
                Some("give each thread a number, and take an array: `process p[i in 0..2] { .. }`".into());
            return None;
        }
        let ty = Type::Array { index: Type::Thread.into(), lo: 1, len: threads, element: element.into() };
        self.check_size(&ty, t.span).then_some(ty)
    }

    /// A type that occurs in the source.
    pub(super) fn unsized_ty(&mut self, t: &ast::Type) -> Option<Type> {
        match &t.node {
            ast::TypeKind::Named(name) => self.named_type(name, t.span),
            ast::TypeKind::Range(lo, hi) => {
                let (lo, hi) = (self.integer(lo), self.integer(hi));
                let (lo, hi) = (lo?, hi?);
                if lo > hi {
                    self.error("E0307", t.span, format!("the range {lo}..{hi} has no values"), "empty range").help =
                        Some("a range `lo..hi` contains both ends; write the smaller one first".into());
                    return None;
                }
                Some(Type::Range(lo, hi))
            }
            ast::TypeKind::Array(element, len) => {
                let (element, n) = (self.unsized_ty(element), self.integer(len));
                let (element, n) = (element?, n?);
                if n < 1 || n as u64 > MAX_SCALARS {
                    self.error(
                        "E0307",
                        len.span,
                        format!("an array cannot have {n} elements"),
                        format!("between 1 and {MAX_SCALARS}"),
                    );
                    return None;
                }
                Some(Type::Array { index: Type::Int.into(), lo: 0, len: n as u32, element: element.into() })
            }
            ast::TypeKind::Map(key, element) => {
                let (index, element) = (self.unsized_ty(key), self.unsized_ty(element));
                let (index, element) = (index?, element?);
                if index == Type::Thread {
                    self.error(
                        "E0307",
                        t.span,
                        "a map of threads that is no shared variable",
                        "only a whole variable",
                    )
                    .help = Some("declare it outside of bodies: `var m: map[thread] int;`".into());
                    return None;
                }
                match index.finite_range(&self.cx.enums) {
                    Some((lo, hi)) if (hi as i128 - lo as i128) < MAX_SCALARS as i128 => {
                        let len = (hi - lo + 1) as u32;
                        Some(Type::Array { index: index.into(), lo, len, element: element.into() })
                    }
                    _ => {
                        let shown = self.show(&index);
                        self.error(
                            "E0307",
                            key.span,
                            format!("`{shown}` cannot be the key of a map"),
                            "needs a small finite type",
                        )
                        .help = Some("keys are `bool`, a range, an enum, or of 8 or 16 bits".into());
                        None
                    }
                }
            }
            ast::TypeKind::Collection(..) => self.collection_type(t),
            ast::TypeKind::Ref(name) => match self.named_type(&name.node, name.span)? {
                Type::Record(r) => Some(Type::Ref(r)),
                other => {
                    let shown = self.show(&other);
                    self.error("E0301", name.span, format!("`{shown}` is not a record"), "references point to records");
                    None
                }
            },
            ast::TypeKind::Error => None,
        }
    }

    fn named_type(&mut self, name: &str, span: Span) -> Option<Type> {
        if let Some(ty) = builtin_type(name) {
            return Some(ty);
        }
        if name == "same" && self.expansion.is_some() {
            return self.same.clone();
        }
        if let Some(known) = self.cx.types.get(name) {
            return known.clone();
        }
        let known = self.cx.types.keys().map(String::as_str).chain(BUILTIN_TYPES.iter().copied());
        let guess = match idioms::type_name(name) {
            Some(help) => Some(help.into()),
            None => nearest(name, known).map(|n| format!("did you mean `{n}`?")),
        };
        self.error("E0203", span, format!("there is no type `{name}`"), "unknown type").help = guess;
        None
    }

    /// The value of a constant expression of an integer type.
    pub(super) fn integer(&mut self, e: &ast::Expr) -> Option<i64> {
        let (value, ty) = self.constant_value(e, Some(&Type::Int))?;
        match value {
            Value::Int(n) if constant::is_integer(&ty) => {
                let n = constant::decode(n, &ty);
                i64::try_from(n).ok().or_else(|| {
                    self.error("E0306", e.span, format!("{n} does not fit into 64 bits"), "too large");
                    None
                })
            }
            _ => {
                let shown = self.show(&ty);
                self.error("E0301", e.span, "expected a number", format!("this is of type `{shown}`"));
                None
            }
        }
    }

    /// The value of a constant expression, and its type.
    pub(super) fn constant_value(&mut self, e: &ast::Expr, hint: Option<&Type>) -> Option<(Value, Type)> {
        let before = std::mem::replace(&mut self.constant, true);
        let typed = self.expr(e, hint);
        self.constant = before;
        let typed = typed?;
        match constant::evaluate(&typed) {
            Ok(value) => Some((value, typed.ty)),
            Err(NoValue::NotConstant(span)) => {
                self.not_constant(span);
                None
            }
            Err(NoValue::Wrong(span, why)) => {
                self.error("E0306", span, format!("this constant {why}"), why);
                None
            }
        }
    }

    pub(super) fn not_constant(&mut self, span: Span) {
        self.error("E0305", span, "this must be known before the program runs", "not a constant").help =
            Some("use numbers and names of constants (`const N = 3;`)".into());
    }

    /// The value of a constant expression for a variable of this type.
    pub(super) fn initial_value(&mut self, e: &ast::Expr, ty: &Type) -> Option<Value> {
        let before = std::mem::replace(&mut self.constant, true);
        let typed = self.expr_of(e, ty);
        self.constant = before;
        let typed = typed?;
        match constant::evaluate(&typed) {
            Ok(value) => {
                if let Some((n, lo, hi)) = outside(&value, ty, &self.cx.records) {
                    self.error("E0306", e.span, format!("{n} is not in {lo}..{hi}"), "outside the range of the type");
                    return None;
                }
                Some(value)
            }
            Err(NoValue::NotConstant(span)) => {
                self.not_constant(span);
                None
            }
            Err(NoValue::Wrong(span, why)) => {
                self.error("E0306", span, format!("this constant {why}"), why);
                None
            }
        }
    }
}

/// Adds an error to the list.
pub(super) fn report<'a>(
    diagnostics: &'a mut Vec<Diagnostic>,
    code: &'static str,
    span: Span,
    message: impl Into<String>,
    label: impl Into<String>,
) -> &'a mut Diagnostic {
    diagnostics.push(Diagnostic {
        code,
        message: message.into(),
        span,
        label: label.into(),
        related: Vec::new(),
        help: None,
    });
    diagnostics.last_mut().expect("one was just pushed")
}

/// Names of the types that need no declaration.
pub(super) const BUILTIN_TYPES: &[&str] =
    &["bool", "int", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "thread", "thread_set"];

/// A type that needs no declaration.
pub(super) fn builtin_type(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "int" => Type::Int,
        "thread" => Type::Thread,
        "thread_set" => Type::ThreadSet,
        _ => {
            let (signed, bits) = match name.split_at_checked(1)? {
                ("i", bits) => (true, bits),
                ("u", bits) => (false, bits),
                _ => return None,
            };
            let bits = match bits {
                "8" => 8,
                "16" => 16,
                "32" => 32,
                "64" => 64,
                _ => return None,
            };
            Type::Fixed { bits, signed }
        }
    })
}

/// A type as people write it.
pub fn show_type(ty: &Type, records: &[Record], enums: &[Enum]) -> String {
    match ty {
        Type::Bool => "bool".into(),
        Type::Int => "int".into(),
        Type::Range(lo, hi) => format!("{lo}..{hi}"),
        Type::Fixed { bits, signed } => format!("{}{bits}", if *signed { 'i' } else { 'u' }),
        Type::Enum(e) => enums[*e].name.clone(),
        Type::Record(r) => records[*r].name.clone(),
        Type::Array { index, len, element, .. } => {
            let element = show_type(element, records, enums);
            match **index {
                Type::Int => format!("[{element}; {len}]"),
                _ => format!("map[{}] {element}", show_type(index, records, enums)),
            }
        }
        Type::Ref(r) => format!("ref {}", records[*r].name),
        Type::Thread => "thread".into(),
        Type::ThreadSet => "thread_set".into(),
    }
}

/// How many scalars a value of the type has.
pub(super) fn size_of(ty: &Type, records: &[Record]) -> u64 {
    match ty {
        Type::Record(r) => records[*r].fields.iter().fold(1, |n: u64, f| n.saturating_add(size_of(&f.ty, records))),
        Type::Array { len, element, .. } => (*len as u64).saturating_mul(size_of(element, records)),
        _ => 1,
    }
}

/// Whether the type has an object of the library in it (not merely a reference to one).
pub(super) fn has_library_object(ty: &Type, cx: &Context) -> bool {
    match ty {
        Type::Record(r) => {
            *r < cx.library_records
                || cx.channels.contains_key(r)
                || cx.records[*r].fields.iter().any(|f| has_library_object(&f.ty, cx))
        }
        Type::Array { element, .. } => has_library_object(element, cx),
        _ => false,
    }
}

/// A number in the value that the type's ranges do not allow, with the range.
fn outside(value: &Value, ty: &Type, records: &[Record]) -> Option<(i64, i64, i64)> {
    match (value, ty) {
        (Value::Int(n), Type::Range(lo, hi)) => (n < lo || n > hi).then_some((*n, *lo, *hi)),
        (Value::Tuple(parts), Type::Array { element, .. }) => parts.iter().find_map(|v| outside(v, element, records)),
        (Value::Tuple(parts), Type::Record(r)) => {
            parts.iter().zip(&records[*r].fields).find_map(|(v, f)| outside(v, &f.ty, records))
        }
        _ => None,
    }
}
