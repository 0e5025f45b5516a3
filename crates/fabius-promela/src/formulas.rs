//! `ltl` formulas: those that properties and invariants are.

use crate::ast::{File, Ltl, Name};
use crate::emit::globals_of;
use crate::lower::Lower;
use crate::refusal::{Result, unsupported};
use fabius_lang::build::*;
use fabius_lang::program::*;
use std::collections::BTreeSet;

/// What the formulas of a file ask.
#[derive(Default)]
pub struct Formulas {
    /// What holds in all states, as assertions, and the globals that they read.
    pub invariants: Vec<(Stmt, BTreeSet<GlobalId>)>,
    pub conditions: Vec<Expr>,
    pub properties: Vec<Property>,
}

/// A formula with `!` in front of states alone.
enum Form {
    State(Expr),
    And(Box<Form>, Box<Form>),
    Or(Box<Form>, Box<Form>),
    Always(Box<Form>),
    Eventually(Box<Form>),
}

impl Lower {
    /// The formulas of a file.
    pub fn formulas(&mut self, file: &File) -> Result<Formulas> {
        self.body = crate::lower::Body::default();
        let mut out = Formulas::default();
        for (name, formula) in &file.formulas {
            let form = self.form(formula, false)?;
            out.all_of(form, name)?;
        }
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
            Ltl::Other(span, what) => {
                return Err(unsupported(*span, format!("{what} in a formula")).help(FORMS));
            }
        })
    }
}

const FORMS: &str = "taken are `[] e`, `<> e`, `[] <> e`, `<> [] e` and `[] (e -> <> f)`";

impl Formulas {
    fn all_of(&mut self, form: Form, name: &Name) -> Result<()> {
        match form {
            Form::And(a, b) => {
                self.all_of(*a, name)?;
                self.all_of(*b, name)
            }
            Form::Always(inner) => match *inner {
                Form::State(e) => {
                    let reads = globals_of(&e);
                    let kind = StmtKind::Assert(e, Check::Invariant, Some(name.text.clone()));
                    self.invariants.push((stmt(kind, name.span), reads));
                    Ok(())
                }
                Form::Always(inner) => self.all_of(Form::Always(inner), name),
                Form::And(a, b) => {
                    self.all_of(Form::Always(a), name)?;
                    self.all_of(Form::Always(b), name)
                }
                Form::Eventually(inner) => match *inner {
                    Form::State(e) => {
                        self.property(vec![e], Formula::AlwaysEventually, name);
                        Ok(())
                    }
                    _ => refused(name),
                },
                Form::Or(a, b) => match (*a, *b) {
                    (Form::State(e), Form::Eventually(f)) | (Form::Eventually(f), Form::State(e)) => match *f {
                        Form::State(f) => {
                            self.property(vec![not(e), f], |first| Formula::LeadsTo(first, first + 1), name);
                            Ok(())
                        }
                        _ => refused(name),
                    },
                    _ => refused(name),
                },
            },
            Form::Eventually(inner) => match *inner {
                Form::State(e) => {
                    self.property(vec![e], Formula::Eventually, name);
                    Ok(())
                }
                Form::Eventually(inner) => self.all_of(Form::Eventually(inner), name),
                Form::Always(inner) => match *inner {
                    Form::State(e) => {
                        self.property(vec![e], Formula::EventuallyAlways, name);
                        Ok(())
                    }
                    _ => refused(name),
                },
                _ => refused(name),
            },
            _ => refused(name),
        }
    }

    fn property(&mut self, conditions: Vec<Expr>, formula: impl Fn(ConditionId) -> Formula, name: &Name) {
        let first = self.conditions.len();
        self.conditions.extend(conditions);
        // SPIN asks of all executions, if it is told nothing else.
        let (name, span) = (name.text.clone(), name.span);
        self.properties.push(Property { name, formula: formula(first), fairness: Fairness::None, span });
    }
}

fn refused(name: &Name) -> Result<()> {
    Err(unsupported(name.span, "a formula of another form").help(FORMS))
}
