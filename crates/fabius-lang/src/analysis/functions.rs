//! Functions: their declarations. Calls are expressions.

use super::checker::{Binding, Checker, Function};
use super::declare::{Declarations, unique_in};
use crate::diagnostic::Diagnostic;
use crate::syntax::ast;
use std::collections::HashMap;
use std::rc::Rc;

impl Declarations<'_> {
    pub(super) fn functions(&mut self, file: &ast::File, diagnostics: &mut Vec<Diagnostic>) {
        for item in &file.items {
            let ast::ItemKind::Function { name, params, result, value } = &item.node else { continue };
            let names: Vec<ast::Name> = params.iter().map(|p| p.name.clone()).collect();
            unique_in(&names, "parameter", diagnostics);
            let mut checker = Checker::of_constants(&self.cx, diagnostics);
            let typed = |c: &mut Checker<'_>, p: &ast::Param| (p.name.clone(), p.ty.as_ref().and_then(|t| c.ty(t)));
            let params = params.iter().map(|p| typed(&mut checker, p)).collect();
            let result = checker.ty(result);
            let function = Function { params, result, value: value.clone(), span: name.span };
            self.cx.functions.entry(name.node.clone()).or_insert(Some(Rc::new(function)));
        }
    }

    /// Looks at each function by itself. Calls of one that is wrong say nothing about it again.
    pub(super) fn check_functions(&mut self, file: &ast::File, diagnostics: &mut Vec<Diagnostic>) {
        let names = file.items.iter().filter_map(|item| match &item.node {
            ast::ItemKind::Function { name, .. } => Some(&name.node),
            _ => None,
        });
        let wrong: Vec<&String> = names.filter(|name| !self.is_right(name, diagnostics)).collect();
        wrong.into_iter().for_each(|name| drop(self.cx.functions.insert(name.clone(), None)));
    }

    fn is_right(&self, name: &str, diagnostics: &mut Vec<Diagnostic>) -> bool {
        let Some(Some(function)) = self.cx.functions.get(name) else { return true };
        let mut checker = Checker::new(&self.cx, diagnostics);
        checker.one_step = true;
        checker.scopes.push(HashMap::new());
        checker.applied.push(name.into());
        for (param, ty) in &function.params {
            match ty {
                Some(ty) => drop(checker.declare(param, ty.clone(), false)),
                None => checker.bind(param, Binding::Error),
            }
        }
        match &function.result {
            Some(ty) => checker.expr_of(&function.value, ty).is_some(),
            None => checker.expr(&function.value, None).is_some(),
        }
    }
}
