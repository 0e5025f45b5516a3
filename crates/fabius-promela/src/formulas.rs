//! `ltl` formulas: those that properties and invariants are, and automata for all others.

use crate::ast::{File, Formula as Written, Ltl, Name};
use crate::automata::{self, Form};
use crate::emit::globals_of;
use crate::lower::*;
use crate::refusal::{Result, unsupported};
use fabius_lang::build::*;
use fabius_lang::program::*;
use fabius_trace::{AutomatonState, Span};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the formulas of a file ask.
#[derive(Default)]
pub struct Formulas {
    /// What holds in all states, as assertions, and the globals that they read.
    pub invariants: Vec<(Stmt, BTreeSet<GlobalId>)>,
    pub conditions: Vec<Expr>,
    pub properties: Vec<Property>,
    /// That a message is being handed over: between the two steps of that nobody looks.
    pub between: Option<Expr>,
}

impl Lower {
    /// The formulas of a file.
    pub fn formulas(&mut self, file: &File) -> Result<Formulas> {
        self.body = crate::lower::Body::default();
        let nowhere = Span::default();
        let between = self.meeting.as_ref().map(|meeting| {
            let to = read(global(meeting.to, BYTE, nowhere));
            binary(BinaryOp::Ne, to, constant(0, BYTE, nowhere))
        });
        let mut out = Formulas { between, ..Formulas::default() };
        for written in &file.formulas {
            let form = self.form(&written.formula, false)?;
            out.all_of(form, written)?;
        }
        for claim in &file.claims {
            let states = self.claim(claim, &mut out.conditions)?;
            out.never(states, &claim.name, claim.name.span);
        }
        self.accepting(file, &mut out)?;
        Ok(out)
    }

    fn form(&mut self, formula: &Ltl, negated: bool) -> Result<Form> {
        let mut two = |a: &Ltl, b: &Ltl, and: bool| -> Result<Form> {
            let (a, b) = (self.form(a, negated)?, self.form(b, negated)?);
            Ok(match (a, b, and) {
                (Form::State(a), Form::State(b), true) => Form::State(self::and(a, b)),
                (Form::State(a), Form::State(b), false) => Form::State(or(a, b)),
                (a, b, true) => Form::And(a.into(), b.into()),
                (a, b, false) => Form::Or(a.into(), b.into()),
            })
        };
        Ok(match formula {
            Ltl::State(e) => {
                let condition = self.condition(e)?;
                Form::State(if negated { not(condition) } else { condition })
            }
            Ltl::Not(a) => self.form(a, !negated)?,
            Ltl::And(a, b) => two(a, b, !negated)?,
            Ltl::Or(a, b) => two(a, b, negated)?,
            Ltl::Always(a) if !negated => Form::Always(self.form(a, negated)?.into()),
            Ltl::Eventually(a) if negated => Form::Always(self.form(a, negated)?.into()),
            Ltl::Always(a) | Ltl::Eventually(a) => Form::Eventually(self.form(a, negated)?.into()),
            Ltl::Until(a, b) | Ltl::Release(a, b) => {
                let (a, b) = (self.form(a, negated)?.into(), self.form(b, negated)?.into());
                match matches!(formula, Ltl::Until(..)) == negated {
                    true => Form::Release(a, b),
                    false => Form::Until(a, b),
                }
            }
        })
    }
}

/// What has a form of its own, which traces tell more of.
enum Special {
    Invariant(Expr),
    Property(Vec<Expr>, fn(ConditionId) -> Formula),
}

impl Formulas {
    fn all_of(&mut self, form: Form, written: &Written) -> Result<()> {
        match form {
            Form::And(a, b) => {
                self.all_of(*a, written)?;
                return self.all_of(*b, written);
            }
            Form::Always(inner) if matches!(*inner, Form::Always(_)) => return self.all_of(*inner, written),
            Form::Eventually(inner) if matches!(*inner, Form::Eventually(_)) => return self.all_of(*inner, written),
            Form::Always(inner) if matches!(*inner, Form::And(..)) => {
                if let Form::And(a, b) = *inner {
                    self.all_of(Form::Always(a), written)?;
                    self.all_of(Form::Always(b), written)?;
                }
                return Ok(());
            }
            _ => {}
        }
        match special(&form) {
            Some(Special::Invariant(e)) => self.invariant(e, written),
            Some(Special::Property(conditions, formula)) if self.between.is_none() => {
                let first = self.conditions.len();
                self.conditions.extend(conditions);
                self.property(formula(first), &written.name);
            }
            _ => self.in_general(&form, written)?,
        }
        Ok(())
    }

    fn invariant(&mut self, e: Expr, written: &Written) {
        let (span, mut reads) = (e.span, globals_of(&e));
        let looked_at = match &self.between {
            Some(between) => {
                reads.extend(globals_of(between));
                or(between.clone(), e)
            }
            None => e,
        };
        let looked_at = Expr { span, ..looked_at };
        let kind = StmtKind::Assert(looked_at, Check::Invariant, Some(written.name.text.clone()));
        self.invariants.push((stmt(kind, written.name.span), reads));
    }

    /// The automaton of the executions that violate it.
    fn in_general(&mut self, form: &Form, written: &Written) -> Result<()> {
        let refused = || unsupported(written.span, "a formula of so many parts").help("make several formulas of it");
        let states = automata::of_negation(form, &mut self.conditions).ok_or_else(refused)?;
        self.never(states, &written.name, written.span);
        Ok(())
    }

    /// No execution is such that this automaton accepts it.
    fn never(&mut self, mut states: Vec<AutomatonState>, name: &Name, span: Span) {
        if let Some(between) = self.between.clone() {
            let (between, is) = automata::condition(&between, &mut self.conditions);
            automata::pass_over(&mut states, (between, is));
        }
        let automaton = Arc::new(fabius_trace::Automaton { states, span });
        self.property(Formula::Never(automaton), name);
    }

    fn property(&mut self, formula: Formula, name: &Name) {
        // SPIN asks of all executions, if it is told nothing else.
        let (name, span) = (name.text.clone(), name.span);
        self.properties.push(Property { name, formula, fairness: Fairness::None.into(), span });
    }
}

fn special(form: &Form) -> Option<Special> {
    use Form::{Always, Eventually, Or, State};
    Some(match form {
        Always(inner) => match &**inner {
            State(e) => Special::Invariant(e.clone()),
            Eventually(e) => Special::Property(vec![state(e)?], Formula::AlwaysEventually),
            Or(a, b) => match (&**a, &**b) {
                (State(e), Eventually(f)) | (Eventually(f), State(e)) => {
                    Special::Property(vec![not(e.clone()), state(f)?], |first| Formula::LeadsTo(first, first + 1))
                }
                _ => return None,
            },
            _ => return None,
        },
        Eventually(inner) => match &**inner {
            State(e) => Special::Property(vec![e.clone()], Formula::Eventually),
            Always(e) => Special::Property(vec![state(e)?], Formula::EventuallyAlways),
            _ => return None,
        },
        _ => return None,
    })
}

fn state(form: &Form) -> Option<Expr> {
    match form {
        Form::State(e) => Some(e.clone()),
        _ => None,
    }
}
