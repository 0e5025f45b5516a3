//! Properties as formulas of linear time.
//!
//! SPIN looks at states within `atomic`, too, where a property of ours does not. So each condition is a variable, which is set
//! at the end of a step, all of them at once; before the first step of all none holds, which no formula here can tell.

use super::expr::Text;
use super::{Refused, Writer, refused};
use fabius_lang::program::{Fairness, Formula, Program};

/// Refuses properties that SPIN cannot be asked about.
pub fn refuse_what_is_not_there(program: &Program, drops: bool) -> Result<(), Refused> {
    let Some(first) = program.properties.first() else { return Ok(()) };
    if drops {
        let help = "write `await` for `assume`, and choices of constants, which are never empty";
        return refused("a property of executions, some of which are dropped, in Promela", first.span, help);
    }
    if let Some(p) = program.properties.iter().find(|p| matches!(p.formula, Formula::Never(_))) {
        return refused("a formula of this form in Promela", p.span, "`fabius check` decides it");
    }
    if let Some(p) = program.properties.iter().find(|p| !p.fairness.of.is_empty()) {
        return refused("fairness to some threads in Promela", p.span, "ask under weak fairness of all or without");
    }
    match program.properties.iter().find(|p| p.fairness.others == Fairness::Strong) {
        Some(p) => refused("strong fairness in Promela", p.span, "ask under weak fairness or without"),
        None => Ok(()),
    }
}

fn condition(number: usize) -> String {
    format!("_c{number}")
}

impl Writer<'_> {
    /// The variables that the conditions are. An execution that ends stays where it is, which SPIN under weak fairness (6.5)
    /// does not see by itself.
    pub fn declare_conditions(&mut self) {
        if !self.program.properties.is_empty() {
            self.line("active proctype _stay() { end: do :: timeout -> skip od }");
        }
        for number in 0..self.program.conditions.len() {
            self.line(&format!("bool {};", condition(number)));
        }
    }

    /// Sets them at the end of a step.
    pub fn look(&mut self) -> Result<(), Refused> {
        if self.program.conditions.is_empty() {
            return Ok(());
        }
        let conditions = self.program.conditions.iter().map(|e| self.expr(e)).collect::<Result<Vec<Text>, _>>()?;
        let sound: Vec<String> = conditions.iter().flat_map(|c| c.sound.clone()).collect();
        self.line("; d_step {");
        self.depth += 1;
        self.sound(&sound);
        let sets = conditions.iter().enumerate().map(|(n, c)| format!("{} = {}", condition(n), c.one()));
        let sets: Vec<String> = sets.collect();
        self.line(&sets.join("; "));
        self.depth -= 1;
        self.line("}");
        Ok(())
    }

    /// The formulas, behind all else.
    pub fn formulas(&mut self) {
        for property in &self.program.properties {
            let c = condition;
            let formula = match property.formula {
                Formula::Eventually(e) => format!("<> ({})", c(e)),
                Formula::AlwaysEventually(e) => format!("[] <> ({})", c(e)),
                Formula::EventuallyAlways(e) => format!("<> [] ({})", c(e)),
                Formula::LeadsTo(e, f) => format!("[] (({}) -> <> ({}))", c(e), c(f)),
                Formula::Never(_) => unreachable!("refused before"),
            };
            let options = if property.fairness.others == Fairness::None { "-a" } else { "-a -f" };
            let name = self.names.pick(&format!("{}_", property.name));
            self.line(&format!("/* {}: ./pan {options} -N {name} */", property.fairness.others.words()));
            self.line(&format!("ltl {name} {{ {formula} }}"));
        }
    }
}
