//! Labels `accept` in processes: no execution passes states in which a process stands at one again and again.
//!
//! Where processes stand is known as for `P@label`. Beside a formula or a claim SPIN asks for both together, which is refused.

use crate::ast::{Expr as Tree, ExprKind as Kind, File, Name, Stmt as Written, StmtKind as Form};
use crate::formulas::Formulas;
use crate::lower::*;
use crate::refusal::{Result, unsupported};
use fabius_lang::build::*;
use fabius_lang::program::*;

/// The sequence in whose middle a statement stands: no other process sees it there.
fn within(body: &[Written], wanted: &Written) -> Option<&'static str> {
    let mut found = None;
    for s in body {
        s.each(&mut |s| {
            let (word, inner) = match &s.kind {
                Form::Atomic(inner) => ("atomic", inner),
                Form::DStep(inner) => ("d_step", inner),
                _ => return,
            };
            for s in inner.iter().skip(1) {
                s.each(&mut |s| found = found.or(std::ptr::eq(s, wanted).then_some(word)));
            }
        });
    }
    found
}

impl Lower {
    /// The property that the labels `accept` of processes are.
    pub fn accepting(&mut self, file: &File, out: &mut Formulas) -> Result<()> {
        let (mut stands, mut first): (Vec<Expr>, Option<Name>) = (Vec::new(), None);
        for proctype in &file.proctypes {
            let mut labels: Vec<(&Name, &Written)> = Vec::new();
            for s in &proctype.body {
                s.each(&mut |s| labels.extend(s.labels.iter().map(|label| (label, s))));
            }
            for (label, s) in labels.into_iter().filter(|(label, _)| label.text.starts_with("accept")) {
                if let Some(whole) = within(&proctype.body, s) {
                    return Err(unsupported(label.span, format!("a label `accept` in the middle of `{whole}`")).help(
                        "SPIN looks at some of them and not at others; begin the sequence with it, or write it outside",
                    ));
                }
                if let Some(other) = s.labels.iter().find(|other| other.text.starts_with("end")) {
                    return Err(unsupported(other.span, "a label `end` at a statement with a label `accept`")
                        .help("put `skip` between them"));
                }
                let Running { first: number, count } = self.running[&proctype.name.text];
                if count == 0 {
                    return Err(unsupported(label.span, "a label `accept` in a process that `run` starts")
                        .help("start it by `active`, or write a formula: `ltl p { <> [] !e }`"));
                }
                for n in number..number + count {
                    let n = Tree { kind: Kind::Number(n), span: label.span };
                    stands.push(self.stands_at(&proctype.name, Some(&n), label, label.span)?);
                }
                first.get_or_insert_with(|| label.clone());
            }
        }
        let (Some(label), Some(any)) = (first, stands.into_iter().reduce(or)) else { return Ok(()) };
        if !file.formulas.is_empty() || !file.claims.is_empty() {
            return Err(unsupported(label.span, "a label `accept` in a process, beside a formula or a claim")
                .help("ask for one of them at a time"));
        }
        // Where a message is being handed over nobody looks.
        let any = match &out.between {
            Some(between) => and(not(between.clone()), any),
            None => any,
        };
        let condition = Expr { span: label.span, ..not(any) };
        out.conditions.push(condition);
        let formula = Formula::EventuallyAlways(out.conditions.len() - 1);
        let fairness = Fairness::None.into();
        out.properties.push(Property { name: label.text.clone(), formula, fairness, span: label.span });
        Ok(())
    }
}
