//! What the end of `main` starts, by the syntax tree, if it does nothing but start threads without an end.
//!
//! Functions of the program that start a thread for others are looked into. To create a thread does not fail: what is done where it
//! has failed is not looked at.

use super::strip_casts;
use crate::expressions::Ex;
use crate::lower::Item;
use lang_c::ast::{
    ArraySize, BinaryOperator, BlockItem, Constant, Declaration, DeclarationSpecifier, Declarator, DeclaratorKind,
    DerivedDeclarator, Expression, ForInitializer, FunctionDefinition, Initializer, Label, ParameterDeclaration,
    Statement, TypeSpecifier, UnaryOperator,
};
use lang_c::span::{Node, Span};

/// So many calls of functions of the program in each other are looked into.
const DEPTH: usize = 8;
/// What returns at once, and gives way at most.
const WAITS: [&str; 3] = ["sleep", "usleep", "sched_yield"];
/// What says how a thread is created.
const ATTRIBUTES: [&str; 4] =
    ["pthread_attr_init", "pthread_attr_destroy", "pthread_attr_setdetachstate", "pthread_attr_setstacksize"];
/// What only prints, if it is given constants.
const PRINTS: [&str; 6] = ["printf", "fprintf", "puts", "fputs", "perror", "fflush"];

/// A variable of type `pthread_t`.
#[derive(Clone, Copy)]
pub(super) enum Handle<'a> {
    /// One that is declared by what starts threads, which nothing else can name.
    Own,
    /// One of `main` or of the file, or the first element of an array, and where it is named.
    Outer { name: &'a str, is_array: bool, at: Span },
}

/// A call of `pthread_create`.
#[derive(Clone, Copy)]
pub(super) struct Created<'a> {
    pub function: &'a Ex,
    pub argument: &'a Ex,
    pub span: Span,
}

/// What statements start, and where they name a handle.
#[derive(Default)]
pub(super) struct Started<'a> {
    pub created: Vec<Created<'a>>,
    pub handles: Vec<Handle<'a>>,
    /// Variables of `main` that results of `pthread_create` are written to.
    pub results: Vec<&'a str>,
}

/// When a loop is over.
#[derive(Clone, Copy)]
pub(super) enum Over<'a> {
    Never,
    /// Never, if this constant is not zero.
    Unless(&'a Ex),
    AtAnyTime,
}

/// How `main` ends.
pub(super) struct Ending<'a> {
    pub once: Started<'a>,
    pub again: Started<'a>,
    pub over: Over<'a>,
}

/// What is known of the program around.
pub(super) struct Program<'a, 'p> {
    pub function: &'p dyn Fn(&str) -> Option<&'a FunctionDefinition>,
    /// Whether a name stands for the same in `main` as outside of all functions.
    pub is_of_the_file: &'p dyn Fn(&str) -> bool,
}

/// What these last items of `main` start, if they do nothing else and go on without an end.
pub(super) fn ending<'a>(items: &'a [Item], program: &Program<'a, '_>) -> Option<Ending<'a>> {
    let mut first = Reader::new(program, Choices::None);
    let mut at = 0;
    loop {
        let own = first.scopes[0].own.clone();
        let item = items.get(at)?;
        if let Some((over, again, behind)) = endless(&items[at..], program, &own) {
            let is_over = behind.iter().all(super::tasks::returns);
            let ends = matches!(over, Over::AtAnyTime);
            return (is_over || !ends).then_some(Ending { once: first.all, again, over });
        }
        first.item(item).then_some(())?;
        at += 1;
    }
}

/// A loop, and what stands behind it.
fn endless<'a>(
    items: &'a [Item],
    program: &Program<'a, '_>,
    own: &[Own<'a>],
) -> Option<(Over<'a>, Started<'a>, &'a [Item])> {
    let BlockItem::Statement(s) = &items.first()?.node else { return None };
    let mut reader = Reader::new(program, Choices::Any);
    reader.scopes[0].own = own.to_vec();
    let mut behind = &items[1..];
    let over = match &s.node {
        Statement::While(w) => reader.goes_on(&w.node.expression).filter(|_| reader.statement(&w.node.statement)),
        Statement::DoWhile(d) => {
            let does = reader.statement(&d.node.statement);
            reader.goes_on(&d.node.expression).filter(|_| does)
        }
        Statement::For(f) => match (&f.node.initializer.node, &f.node.condition, &f.node.step) {
            (ForInitializer::Empty, None, None) => Some(Over::Never).filter(|_| reader.statement(&f.node.statement)),
            (ForInitializer::Empty, Some(e), None) => reader.goes_on(e).filter(|_| reader.statement(&f.node.statement)),
            _ => None,
        },
        Statement::Labeled(l) => {
            let Label::Identifier(label) = &l.node.label.node else { return None };
            let mut does = reader.statement(&l.node.statement);
            let (n, over) = behind.iter().enumerate().find_map(|(n, item)| match back(item, &label.node.name) {
                Some(over) => Some((n, over)),
                None => {
                    does = does && reader.item(item);
                    None
                }
            })?;
            behind = &behind[n + 1..];
            Some(over).filter(|_| does)
        }
        _ => None,
    }?;
    (!reader.all.created.is_empty()).then_some((over, reader.all, behind))
}

/// Whether an item jumps back to a label.
fn back<'a>(item: &'a Item, label: &str) -> Option<Over<'a>> {
    let BlockItem::Statement(s) = &item.node else { return None };
    let jumps = |s: &Node<Statement>| matches!(&s.node, Statement::Goto(to) if to.node.name == label);
    match &s.node {
        _ if jumps(s) => Some(Over::Never),
        Statement::If(i) if is_any(&i.node.condition) && i.node.else_statement.is_none() => {
            jumps(&i.node.then_statement).then_some(Over::AtAnyTime)
        }
        _ => None,
    }
}

/// Whether there may be branches that depend on any value.
#[derive(Clone, Copy, PartialEq)]
enum Choices {
    None,
    Any,
}

/// A variable that is declared by what starts threads.
#[derive(Clone, Copy)]
struct Own<'a> {
    name: &'a str,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Handle,
    Handles,
    Attributes,
    /// A number, and whether it is known to be 0, as the result of `pthread_create` is.
    Number(bool),
}

/// What a function is given.
#[derive(Clone, Copy)]
enum Given<'a> {
    Handle(Handle<'a>),
    Value(&'a Ex),
}

/// A function that is looked into.
#[derive(Clone, Default)]
struct Scope<'a> {
    given: Vec<(&'a str, Given<'a>)>,
    own: Vec<Own<'a>>,
}

/// Reads statements; each function says whether they do nothing but start threads.
struct Reader<'a, 'p> {
    program: &'p Program<'a, 'p>,
    choices: Choices,
    scopes: Vec<Scope<'a>>,
    all: Started<'a>,
}

impl<'a, 'p> Reader<'a, 'p> {
    fn new(program: &'p Program<'a, 'p>, choices: Choices) -> Self {
        Reader { program, choices, scopes: vec![Scope::default()], all: Started::default() }
    }

    fn scope(&mut self) -> &mut Scope<'a> {
        self.scopes.last_mut().expect("there is that of `main`")
    }

    fn own(&self, name: &str) -> Option<Own<'a>> {
        let scope = self.scopes.last().expect("there is that of `main`");
        scope.own.iter().rev().find(|own| own.name == name).copied()
    }

    /// Whether a name is that of something of this function, which has another meaning in `main`.
    fn is_hidden(&self, name: &str) -> bool {
        let scope = self.scopes.last().expect("there is that of `main`");
        self.own(name).is_some()
            || scope.given.iter().any(|(given, _)| *given == name)
            || self.scopes.len() > 1 && !(self.program.is_of_the_file)(name)
    }

    fn items(&mut self, items: &'a [Item]) -> bool {
        let outer = self.scope().own.clone();
        let does = items.iter().all(|item| self.item(item));
        // What was written to numbers around may have been written in some of the branches alone.
        self.scope().own = outer;
        does
    }

    fn item(&mut self, item: &'a Item) -> bool {
        match &item.node {
            BlockItem::Statement(s) => self.statement(s),
            BlockItem::Declaration(d) => self.declares(&d.node),
            BlockItem::StaticAssert(_) => true,
        }
    }

    fn statement(&mut self, s: &'a Node<Statement>) -> bool {
        match &s.node {
            Statement::Compound(items) => self.items(items),
            Statement::If(i) => {
                let (yes, no) = (Some(&*i.node.then_statement), i.node.else_statement.as_deref());
                let sides = match &i.node.condition {
                    e if is_any(e) => (self.choices == Choices::Any).then(|| vec![yes, no]),
                    e => self.truth(e).map(|truth| vec![if truth { yes } else { no }]),
                };
                sides.is_some_and(|sides| sides.into_iter().flatten().all(|s| self.side(s)))
            }
            Statement::Expression(None) => true,
            Statement::Expression(Some(e)) => self.expression(e),
            _ => false,
        }
    }

    /// One side of a branch.
    fn side(&mut self, s: &'a Node<Statement>) -> bool {
        let outer = self.scope().own.clone();
        let does = !matches!(s.node, Statement::Return(_)) && self.statement(s);
        self.scope().own = outer;
        does
    }

    /// Handles without a value, and numbers.
    fn declares(&mut self, d: &'a Declaration) -> bool {
        let [Node { node: DeclarationSpecifier::TypeSpecifier(ty), .. }] = d.specifiers.as_slice() else {
            return false;
        };
        let kind = match &ty.node {
            TypeSpecifier::TypedefName(name) if name.node.name == "pthread_t" => Kind::Handle,
            TypeSpecifier::TypedefName(name) if name.node.name == "pthread_attr_t" => Kind::Attributes,
            TypeSpecifier::Int => Kind::Number(false),
            _ => return false,
        };
        d.declarators.iter().all(|d| {
            let Declarator { kind: named, derived, .. } = &d.node.declarator.node;
            let DeclaratorKind::Identifier(name) = &named.node else { return false };
            let kind = match (kind, derived.as_slice(), &d.node.initializer) {
                (kind, [], None) => kind,
                (Kind::Number(_), [], Some(Node { node: Initializer::Expression(e), .. })) => match self.result(e) {
                    Some(zero) => Kind::Number(zero),
                    None => return false,
                },
                (Kind::Handle, [derived], None) if has_elements(&derived.node) => Kind::Handles,
                _ => return false,
            };
            self.scope().own.push(Own { name: &name.node.name, kind });
            true
        })
    }

    fn expression(&mut self, e: &'a Ex) -> bool {
        let e = strip_casts(e);
        match &e.node {
            // `assert(r == 0)`.
            Expression::Comma(all) => all.iter().all(|e| self.expression(e)),
            Expression::SizeOfVal(_) | Expression::SizeOfTy(_) | Expression::Constant(_) => true,
            Expression::Statement(s) => self.statement(s),
            Expression::UnaryOperator(u) if u.node.operator.node == UnaryOperator::Plus => {
                self.expression(&u.node.operand)
            }
            _ if self.result(e).is_some() => true,
            _ => self.call(e),
        }
    }

    /// Whether a number is zero that is constant or the result of `pthread_create`.
    fn result(&mut self, e: &'a Ex) -> Option<bool> {
        let e = strip_casts(e);
        match &e.node {
            Expression::Constant(c) => matches!(c.node, Constant::Integer(_)).then(|| is_zero(e)),
            Expression::Identifier(name) => match self.own(&name.node.name)?.kind {
                Kind::Number(true) => Some(true),
                _ => None,
            },
            Expression::BinaryOperator(b) if b.node.operator.node == BinaryOperator::Assign => {
                let Expression::Identifier(to) = &strip_casts(&b.node.lhs).node else { return None };
                let to = to.node.name.as_str();
                // What is written again in each round is always zero.
                self.result(&b.node.rhs)?.then_some(())?;
                match self.own(to) {
                    Some(Own { kind: Kind::Number(_), .. }) => {
                        let own = self.scope().own.iter_mut().rev().find(|own| own.name == to)?;
                        own.kind = Kind::Number(true);
                    }
                    None if self.scopes.len() == 1 => {
                        self.all.results.push(to);
                        // In front of all that is declared here.
                        self.scope().own.insert(0, Own { name: to, kind: Kind::Number(true) });
                    }
                    _ => return None,
                }
                Some(true)
            }
            _ => self.creates(e).then_some(true),
        }
    }

    /// Whether a condition holds.
    fn truth(&mut self, e: &'a Ex) -> Option<bool> {
        use BinaryOperator::{Equals, Greater, GreaterOrEqual, Less, LessOrEqual, NotEquals};
        let e = strip_casts(e);
        match &e.node {
            Expression::BinaryOperator(b)
                if matches!(
                    b.node.operator.node,
                    Equals | NotEquals | Less | LessOrEqual | Greater | GreaterOrEqual
                ) =>
            {
                let other = match (is_zero(&b.node.lhs), is_zero(&b.node.rhs)) {
                    (_, true) => &b.node.lhs,
                    (true, false) => &b.node.rhs,
                    _ => return None,
                };
                self.result(other)?.then_some(())?;
                Some(matches!(b.node.operator.node, Equals | LessOrEqual | GreaterOrEqual))
            }
            Expression::UnaryOperator(u) if u.node.operator.node == UnaryOperator::Negate => {
                self.truth(&u.node.operand).map(|truth| !truth)
            }
            _ => self.result(e).map(|zero| !zero),
        }
    }

    /// Whether a loop goes on whose condition this is.
    fn goes_on(&mut self, e: &'a Ex) -> Option<Over<'a>> {
        match self.truth(e) {
            _ if is_any(e) => Some(Over::AtAnyTime),
            Some(true) => Some(Over::Never),
            Some(false) => None,
            None => matches!(strip_casts(e).node, Expression::Identifier(_)).then_some(Over::Unless(e)),
        }
    }

    /// Whether an expression is a call of `pthread_create`.
    fn creates(&mut self, e: &'a Ex) -> bool {
        let Some(("pthread_create", [handle, attributes, function, argument])) = called(e) else { return false };
        let Some(handle) = self.handle(handle) else { return false };
        let (Some(function), Some(argument)) = (self.meant(function), self.meant(argument)) else { return false };
        if !is_plain(attributes) {
            return false;
        }
        self.all.handles.push(handle);
        self.all.created.push(Created { function, argument, span: e.span });
        true
    }

    /// The handle that an expression points to.
    fn handle(&self, e: &'a Ex) -> Option<Handle<'a>> {
        let e = strip_casts(e);
        if let Expression::Identifier(name) = &e.node {
            let scope = self.scopes.last().expect("there is that of `main`");
            return scope.given.iter().find_map(|(given, value)| match value {
                Given::Handle(handle) if *given == name.node.name => Some(*handle),
                _ => None,
            });
        }
        let Expression::UnaryOperator(u) = &e.node else { return None };
        (u.node.operator.node == UnaryOperator::Address).then_some(())?;
        self.named(&u.node.operand)
    }

    /// The handle that an expression is.
    fn named(&self, e: &'a Ex) -> Option<Handle<'a>> {
        let (name, is_array) = match &e.node {
            Expression::BinaryOperator(b) if b.node.operator.node == BinaryOperator::Index && is_zero(&b.node.rhs) => {
                (&*b.node.lhs, true)
            }
            _ => (e, false),
        };
        let Expression::Identifier(id) = &name.node else { return None };
        let expected = if is_array { Kind::Handles } else { Kind::Handle };
        match self.own(&id.node.name) {
            Some(own) => (own.kind == expected).then_some(Handle::Own),
            None if self.is_hidden(&id.node.name) => None,
            None => Some(Handle::Outer { name: &id.node.name, is_array, at: name.span }),
        }
    }

    /// An expression that means the same in `main`.
    fn meant(&self, e: &'a Ex) -> Option<&'a Ex> {
        let inner = strip_casts(e);
        let inner = match &inner.node {
            Expression::UnaryOperator(u) if u.node.operator.node == UnaryOperator::Address => &*u.node.operand,
            _ => inner,
        };
        match &inner.node {
            Expression::Constant(_) => Some(e),
            Expression::Identifier(name) => {
                let name = name.node.name.as_str();
                let scope = self.scopes.last().expect("there is that of `main`");
                let given = scope.given.iter().find(|(given, _)| *given == name && self.own(name).is_none());
                match given {
                    Some((_, Given::Value(value))) if std::ptr::eq(inner, strip_pointer_casts(e)) => Some(value),
                    Some(_) => None,
                    None => (!self.is_hidden(name)).then_some(e),
                }
            }
            // In `main` itself all is as it stands there.
            _ if self.scopes.len() == 1 => self.scopes[0].own.is_empty().then_some(e),
            _ => None,
        }
    }

    /// A call that starts threads, or does nothing that anybody sees.
    fn call(&mut self, e: &'a Ex) -> bool {
        let Some((name, arguments)) = called(e) else { return false };
        match name {
            "pthread_detach" => {
                let handle = arguments.first().and_then(|handle| self.named(handle));
                self.all.handles.extend(handle);
                handle.is_some()
            }
            _ if ATTRIBUTES.contains(&name) => arguments.iter().all(is_plain),
            _ if WAITS.contains(&name) || PRINTS.contains(&name) => {
                let is_stream = |e: &Ex| matches!(&strip_casts(e).node, Expression::Identifier(n) if matches!(n.node.name.as_str(), "stdout" | "stderr"));
                arguments.iter().all(|e| is_constant(e) || is_stream(e))
            }
            _ => self.looks_into(name, arguments),
        }
    }

    /// What a function of the program starts.
    fn looks_into(&mut self, name: &str, arguments: &'a [Ex]) -> bool {
        let Some(f) = (self.program.function)(name) else { return false };
        if self.scopes.len() > DEPTH || self.is_hidden(name) {
            return false;
        }
        let parameters = f.declarator.node.derived.iter().find_map(|derived| match &derived.node {
            DerivedDeclarator::Function(d) => Some(&d.node.parameters),
            _ => None,
        });
        let Some(parameters) = parameters else { return false };
        let named: Vec<(&'a str, Takes)> = parameters.iter().filter_map(|p| taken(&p.node)).collect();
        if named.len() != arguments.len() {
            return false;
        }
        let mut given = Vec::new();
        for ((parameter, takes), e) in named.into_iter().zip(arguments) {
            let is_function = || matches!(&strip_casts(e).node, Expression::Identifier(n) if (self.program.function)(&n.node.name).is_some());
            let value = match takes {
                Takes::Handle => self.handle(e).map(Given::Handle),
                Takes::Pointer => self.meant(e).map(Given::Value),
                Takes::Other => self.meant(e).filter(|_| is_function()).map(Given::Value),
            };
            let Some(value) = value else { return false };
            given.push((parameter, value));
        }
        self.scopes.push(Scope { given, own: Vec::new() });
        let body = &f.statement;
        let does = match &body.node {
            Statement::Compound(items) => {
                let all = match items.split_last() {
                    Some((last, others)) if super::tasks::returns(last) => others,
                    _ => items,
                };
                all.iter().all(|item| self.item(item))
            }
            _ => false,
        };
        self.scopes.pop();
        does
    }
}

/// What a parameter is.
#[derive(Clone, Copy)]
enum Takes {
    /// A pointer to a `pthread_t`.
    Handle,
    Pointer,
    /// Something of which only the name of a function is known to be passed on as it is.
    Other,
}

/// The name of a parameter, and what it is.
fn taken(p: &ParameterDeclaration) -> Option<(&str, Takes)> {
    let is_handle = |s: &Node<DeclarationSpecifier>| {
        matches!(&s.node, DeclarationSpecifier::TypeSpecifier(ty)
            if matches!(&ty.node, TypeSpecifier::TypedefName(name) if name.node.name == "pthread_t"))
    };
    let Declarator { kind, derived, .. } = &p.declarator.as_ref()?.node;
    match &kind.node {
        DeclaratorKind::Identifier(name) => {
            let takes = match (derived.is_empty(), p.specifiers.iter().any(is_handle)) {
                (true, _) => Takes::Other,
                (false, true) => Takes::Handle,
                (false, false) => Takes::Pointer,
            };
            Some((&name.node.name, takes))
        }
        // `void *(*f)(void *)`.
        DeclaratorKind::Declarator(inner) => match &inner.node.kind.node {
            DeclaratorKind::Identifier(name) => Some((&name.node.name, Takes::Pointer)),
            _ => None,
        },
        DeclaratorKind::Abstract => None,
    }
}

fn called(e: &Ex) -> Option<(&str, &[Ex])> {
    let Expression::Call(c) = &strip_casts(e).node else { return None };
    let Expression::Identifier(name) = &c.node.callee.node else { return None };
    Some((&name.node.name, c.node.arguments.as_slice()))
}

/// Without the casts to pointers around.
fn strip_pointer_casts(mut e: &Ex) -> &Ex {
    while let Expression::Cast(c) = &e.node
        && c.node.type_name.node.declarator.as_ref().is_some_and(|d| !d.node.derived.is_empty())
    {
        e = &c.node.expression;
    }
    e
}

/// Whether an array has a first element.
fn has_elements(derived: &DerivedDeclarator) -> bool {
    match derived {
        DerivedDeclarator::Array(array) => match &array.node.size {
            ArraySize::VariableExpression(n) => is_constant(n) && !is_zero(n),
            _ => false,
        },
        _ => false,
    }
}

fn is_zero(e: &Ex) -> bool {
    match &strip_casts(e).node {
        Expression::Constant(c) => {
            matches!(&c.node, Constant::Integer(n) if n.number.chars().all(|digit| digit == '0'))
        }
        _ => false,
    }
}

fn is_constant(e: &Ex) -> bool {
    matches!(strip_casts(e).node, Expression::Constant(_) | Expression::StringLiteral(_))
}

/// Whether to evaluate an expression does nothing: a constant, a variable, an address of one.
fn is_plain(e: &Ex) -> bool {
    match &strip_casts(e).node {
        Expression::Constant(_) | Expression::Identifier(_) => true,
        Expression::UnaryOperator(u) => u.node.operator.node == UnaryOperator::Address && is_plain(&u.node.operand),
        _ => false,
    }
}

/// Whether an expression may be anything: zero or not.
fn is_any(e: &Ex) -> bool {
    match &strip_casts(e).node {
        Expression::Call(c) if c.node.arguments.is_empty() => {
            matches!(&c.node.callee.node, Expression::Identifier(n) if n.node.name.starts_with("__VERIFIER_nondet_"))
        }
        _ => false,
    }
}
