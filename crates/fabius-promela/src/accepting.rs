//! Labels `accept` in processes: no execution passes states in which a process stands at one again and again.
//!
//! Where processes stand is known as for `P@label`. Beside a formula or a claim SPIN asks for both together, which is refused.

use crate::ast::{Expr as Tree, ExprKind as Kind, File, Name, Stmt as Written};
use crate::formulas::Formulas;
use crate::lower::*;
use crate::refusal::{Result, unsupported};
use fabius_lang::build::*;
use fabius_lang::program::*;

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
