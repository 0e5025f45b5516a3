//! What a step does, written down while it runs.

use crate::config::Config;
use crate::rules::Note;
use crate::run::Observer;
use crate::show::{Before, Names, Variables, one_line, values_in};
use fabius_explore::system::BufferId;
use fabius_lang::program::{Base, Check, ExprKind, Guard, Place, Program, Stmt, StmtKind, Type};
use fabius_trace::{Action, Span};

/// Writes down what a step does.
pub(super) struct Teller<'a> {
    program: &'a Program,
    pub(super) names: Names,
    pub(super) actions: Vec<Action>,
    /// The configuration in front of the last statement.
    before: Option<Before>,
    buffer: BufferId,
    /// What the last statement reads, with values.
    pub(super) values: Option<Vec<String>>,
    pub(super) condition: Option<String>,
    pub(super) said: Option<String>,
    /// Whether the last statement is an invariant.
    pub(super) invariant: bool,
    /// Types of what the last statement prints.
    printed: Vec<Type>,
    /// Whether the last statement is told.
    told: bool,
}

impl<'a> Teller<'a> {
    pub(super) fn new(program: &'a Program, names: Names) -> Self {
        Teller {
            program,
            names,
            actions: Vec::new(),
            before: None,
            buffer: 0,
            values: None,
            condition: None,
            said: None,
            invariant: false,
            printed: Vec::new(),
            told: false,
        }
    }
}

/// Statements that only the front end sees, or whose parts are told instead.
fn is_silent(program: &Program, proc: usize, stmt: &Stmt) -> bool {
    let is_temporary = |p: &Place| matches!(p.base, Base::Local(l) if p.path.is_empty() && program.procs[proc].locals[l].name.starts_with('$'));
    match &stmt.kind {
        // Front ends mark so what is in no source text.
        _ if stmt.span == Span::default() => true,
        // So is what procedures do that nobody has written.
        _ if program.procs[proc].name.starts_with('$') => true,
        StmtKind::Atomic(_) | StmtKind::Skip | StmtKind::Assert(_, Check::Invariant, _) => true,
        StmtKind::Assign(p, e) => is_temporary(p) && matches!(e.kind, ExprKind::Const(_)),
        StmtKind::While(Guard::Expr(e), _) => {
            matches!(e.kind, ExprKind::Const(_))
        }
        _ => false,
    }
}

impl Observer for Teller<'_> {
    fn before(&mut self, config: &Config, n: BufferId, stmt: Option<&Stmt>) {
        self.buffer = n;
        self.names.refresh(self.program, config);
        self.told = false;
        let Some(stmt) = stmt else { return };
        let buffer = &config.buffers[&n];
        let task = buffer.innermost().expect("a task is running");
        let proc = task.frames.last().expect("a task has a frame").proc;
        self.before = Some(Before::of(config, buffer, task));
        self.values = Some(values_in(self.program, config, n, stmt, &self.names));
        let source = &self.program.source;
        self.invariant = matches!(stmt.kind, StmtKind::Assert(_, Check::Invariant, _));
        (self.condition, self.said) = match &stmt.kind {
            StmtKind::Assert(e, _, said) => (Some(one_line(e.span.text(source))), said.clone()),
            _ => (None, None),
        };
        let text = stmt.span.text(source);
        let head = match &stmt.kind {
            StmtKind::If(..) | StmtKind::While(..) => text.split('{').next().unwrap_or(text),
            _ => text,
        };
        let stack = Action::stack_of(task.frames.iter().map(|f| self.program.procs[f.proc].name.as_str()));
        let action = Action {
            file: None,
            span: stmt.span,
            at: stmt.span.line_col(source),
            text: one_line(head).trim_end_matches(';').to_string(),
            stack,
            changes: Vec::new(),
            note: None,
        };
        self.printed = match &stmt.kind {
            StmtKind::Print(es) => es.iter().map(|e| e.ty.clone()).collect(),
            _ => Vec::new(),
        };
        self.told = !is_silent(self.program, proc, stmt);
        // The statements of an expansion of the library are those of one call.
        let same = |a: &Action| a.span == action.span && a.text == action.text;
        let picks = matches!(stmt.kind, StmtKind::Any(..));
        let again = self.actions.last().is_some_and(|a| same(a) && !(picks && a.note.is_some()));
        if self.told && !again {
            self.actions.push(action);
        }
    }

    fn after(&mut self, config: &Config, note: Option<Note>) {
        self.names.refresh(self.program, config);
        let Some(before) = self.before.take().filter(|_| self.told) else { return };
        let changed = Variables::of(self.program).changes(&before, config, self.buffer, &self.names);
        let note = note.map(|n| match n {
            Note::Chose(b) => format!("chose {b}"),
            Note::Picked(n) => format!("chose {n}"),
            Note::Printed(values) => {
                let variables = Variables::of(self.program);
                let parts = self.printed.iter().zip(&values);
                let shown: Vec<String> = parts.map(|(ty, v)| variables.show(ty, v, &self.names)).collect();
                format!("printed ({})", shown.join(", "))
            }
        });
        if let Some(action) = self.actions.last_mut() {
            action.changes.extend(changed);
            action.note = note.or(action.note.take());
        }
    }
}
