//! How often a variable is named, by the syntax tree.

use lang_c::ast;
use lang_c::span::{Node, Span};
use lang_c::visit::{self, Visit};

/// Whoever looks for a variable, by its name.
struct Named<'n> {
    name: &'n str,
    /// For each scope around, whether the name is that of something else there.
    hidden: Vec<bool>,
    count: usize,
}

/// How often a function names a variable that is declared outside of it.
pub(crate) fn in_function(f: &ast::FunctionDefinition, name: &str) -> usize {
    let mut named = Named { name, hidden: vec![false], count: 0 };
    named.visit_function_definition(f, &Span::none());
    named.count
}

/// How often the body of a function names a variable that is declared in it, and in none of its blocks.
pub(crate) fn in_body(items: &[Node<ast::BlockItem>], name: &str) -> usize {
    let mut named = Named { name, hidden: vec![false], count: 0 };
    for item in items {
        named.visit_block_item(&item.node, &item.span);
        named.hidden[0] = false;
    }
    named.count
}

/// How many `return` a body has in front of those that it ends with.
pub(crate) fn returns_in(body: &Node<ast::Statement>) -> usize {
    struct Returns(usize);
    impl<'ast> Visit<'ast> for Returns {
        fn visit_statement(&mut self, s: &'ast ast::Statement, span: &'ast Span) {
            self.0 += usize::from(matches!(s, ast::Statement::Return(_)));
            visit::visit_statement(self, s, span);
        }
    }
    let is_return = |item: &&Node<ast::BlockItem>| matches!(&item.node, ast::BlockItem::Statement(s) if matches!(s.node, ast::Statement::Return(_)));
    let mut returns = Returns(0);
    returns.visit_statement(&body.node, &body.span);
    match &body.node {
        ast::Statement::Compound(items) => returns.0 - items.iter().rev().take_while(is_return).count(),
        _ => returns.0,
    }
}

/// How often an initial value names a variable.
pub(crate) fn in_value(value: &ast::Initializer, name: &str) -> usize {
    let mut named = Named { name, hidden: vec![false], count: 0 };
    named.visit_initializer(value, &Span::none());
    named.count
}

/// The name that a declarator gives.
fn given(d: &ast::Declarator) -> Option<&str> {
    match &d.kind.node {
        ast::DeclaratorKind::Abstract => None,
        ast::DeclaratorKind::Identifier(name) => Some(&name.node.name),
        ast::DeclaratorKind::Declarator(inner) => given(&inner.node),
    }
}

impl Named<'_> {
    fn hides(&mut self, d: &ast::Declarator) {
        if given(d) == Some(self.name) {
            *self.hidden.last_mut().expect("there is a scope") = true;
        }
    }

    fn scope(&mut self, inside: impl FnOnce(&mut Self)) {
        self.hidden.push(*self.hidden.last().expect("there is a scope"));
        inside(self);
        self.hidden.pop();
    }
}

impl<'ast> Visit<'ast> for Named<'_> {
    fn visit_expression(&mut self, e: &'ast ast::Expression, span: &'ast Span) {
        if let ast::Expression::Identifier(name) = e {
            let is_it = name.node.name == self.name && self.hidden.last() == Some(&false);
            self.count += usize::from(is_it);
        }
        visit::visit_expression(self, e, span);
    }

    fn visit_statement(&mut self, s: &'ast ast::Statement, span: &'ast Span) {
        self.scope(|named| visit::visit_statement(named, s, span));
    }

    fn visit_init_declarator(&mut self, d: &'ast ast::InitDeclarator, _: &'ast Span) {
        self.visit_declarator(&d.declarator.node, &d.declarator.span);
        // A name is known in its own first value.
        self.hides(&d.declarator.node);
        if let Some(value) = &d.initializer {
            self.visit_initializer(&value.node, &value.span);
        }
    }

    fn visit_declaration(&mut self, d: &'ast ast::Declaration, span: &'ast Span) {
        let is_extern = |s: &Node<ast::DeclarationSpecifier>| matches!(&s.node, ast::DeclarationSpecifier::StorageClass(c) if c.node == ast::StorageClassSpecifier::Extern);
        let before = *self.hidden.last().expect("there is a scope");
        visit::visit_declaration(self, d, span);
        if d.specifiers.iter().any(is_extern) {
            // It is the same variable, or one with that name.
            *self.hidden.last_mut().expect("there is a scope") = before;
        }
    }

    fn visit_function_declarator(&mut self, d: &'ast ast::FunctionDeclarator, span: &'ast Span) {
        self.scope(|named| visit::visit_function_declarator(named, d, span));
    }

    fn visit_function_definition(&mut self, f: &'ast ast::FunctionDefinition, _: &'ast Span) {
        self.scope(|named| {
            named.visit_declarator(&f.declarator.node, &f.declarator.span);
            for derived in &f.declarator.node.derived {
                if let ast::DerivedDeclarator::Function(d) = &derived.node {
                    let parameters = d.node.parameters.iter().filter_map(|p| p.node.declarator.as_ref());
                    parameters.for_each(|p| named.hides(&p.node));
                }
            }
            named.visit_statement(&f.statement.node, &f.statement.span);
        });
    }
}
