//! Properties: what every fair execution must satisfy, infinite ones included, and to which threads it is fair.

use super::checker::{Checker, Context, report};
use super::declare::{Body, BodyKind, Number};
use super::invariants::of_states;
use crate::diagnostic::Diagnostic;
use crate::program::{Expr, FairThreads, Fairness, Formula, Proc, ProcId, Property, Stmt, StmtKind};
use crate::syntax::ast;
use crate::walk::statements;

/// What properties may speak of besides states.
pub(super) struct Threads<'a> {
    pub(super) cx: &'a Context,
    pub(super) bodies: &'a [Body<'a>],
    pub(super) procs: &'a [Proc],
}

/// The properties of a file, and the conditions that they are about.
pub(super) fn of(
    file: &ast::File,
    threads: &Threads<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Vec<Expr>, Vec<Property>) {
    let (mut conditions, mut properties) = (Vec::new(), Vec::new());
    for item in &file.items {
        let ast::ItemKind::Property { name, formula, fairness } = &item.node else { continue };
        let first = conditions.len();
        let parts = formula.conditions();
        conditions.extend(parts.iter().filter_map(|e| of_states(e, "a property", threads.cx, diagnostics)));
        let fairness = threads.fairness(fairness, diagnostics);
        if conditions.len() < first + parts.len() {
            continue;
        }
        let formula = match formula {
            ast::Formula::Eventually(_) => Formula::Eventually(first),
            ast::Formula::AlwaysEventually(_) => Formula::AlwaysEventually(first),
            ast::Formula::EventuallyAlways(_) => Formula::EventuallyAlways(first),
            ast::Formula::LeadsTo(..) => Formula::LeadsTo(first, first + 1),
        };
        properties.push(Property { name: name.node.clone(), formula, fairness, span: name.span });
    }
    (conditions, properties)
}

impl Threads<'_> {
    /// Of which executions a property is asked.
    fn fairness(&self, said: &[ast::Spanned<ast::FairTo>], diagnostics: &mut Vec<Diagnostic>) -> FairThreads {
        if said.is_empty() {
            return FairThreads::default();
        }
        let (mut fair, mut of_all) = (FairThreads::from(Fairness::None), false);
        for ast::Spanned { node: to, span } in said {
            if to.of.is_empty() {
                if std::mem::replace(&mut of_all, true) {
                    report(diagnostics, "E0317", *span, "fairness to all is said twice", "again");
                }
                fair.others = to.fairness;
            }
            for (name, number) in &to.of {
                for origin in self.origins(name, number.as_ref(), diagnostics) {
                    if fair.of.iter().any(|(known, _)| *known == origin) {
                        let message = format!("how fair executions are to `{}` is said twice", name.node);
                        report(diagnostics, "E0317", name.span, message, "again");
                    }
                    fair.of.push((origin, to.fairness));
                }
            }
        }
        fair
    }

    /// What the threads begin as that have this name.
    fn origins(&self, name: &ast::Name, number: Option<&ast::Expr>, diagnostics: &mut Vec<Diagnostic>) -> Vec<ProcId> {
        let is_named = |body: &Body<'_>, what: fn(BodyKind) -> bool| body.name.node == name.node && what(body.what);
        let is_process = |body: &Body<'_>| is_named(body, |what| matches!(what, BodyKind::Process(_)));
        let (mut spawned, mut posts) =
            (Vec::new(), self.bodies.iter().any(|body| matches!(body.what, BodyKind::Buffer(_))));
        let mut look = |s: &Stmt| match s.kind {
            StmtKind::Spawn(_, proc, _) => spawned.push(proc),
            StmtKind::Post(..) => posts = true,
            _ => {}
        };
        self.procs.iter().for_each(|proc| statements(&proc.body, &mut look));
        let numbered = |body: &Body<'_>| body.number.map(|(_, number)| number);
        let number = match number {
            Some(e) => match Checker::of_constants(self.cx, diagnostics).integer(e) {
                Some(n) => Some(n),
                None => return Vec::new(),
            },
            None => None,
        };
        let all = || self.bodies.iter().enumerate();
        let mut found: Vec<ProcId> = all().filter(|(_, body)| is_process(body)).map(|(proc, _)| proc).collect();
        if let Some(n) = number {
            found.retain(|proc| numbered(&self.bodies[*proc]) == Some(Number::Is(n)));
        } else if found.is_empty() {
            let is_started = |(proc, body): &(ProcId, &Body<'_>)| {
                is_named(body, |what| what == BodyKind::Proc) && spawned.contains(proc)
            };
            found.extend(all().filter(is_started).map(|(proc, _)| proc));
        }
        let help = "name a `process`, one of `process p[i in 0..2]` as `p[0]`, or a procedure that `spawn` starts";
        if found.is_empty() {
            let written = number.map_or(name.node.clone(), |n| format!("{}[{n}]", name.node));
            let message = format!("no thread begins as `{written}`");
            report(diagnostics, "E0317", name.span, message, "no thread").help = Some(help.into());
        } else if posts {
            let message = "fairness to some threads, in a program with tasks";
            report(diagnostics, "E0317", name.span, message, "tasks have no name here").help =
                Some("ask for fairness to all: `under weak fairness`".into());
        }
        found
    }
}
