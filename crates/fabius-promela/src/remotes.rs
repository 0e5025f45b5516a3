//! `P@label`: where another process stands.
//!
//! What all know of that is a global variable for each label that is asked for. Who comes to wait there sets it, in the same step, and who
//! goes on unsets it. In the middle of `atomic` nobody can ask.

use crate::ast::{Expr as Tree, File, Name, Proctype};
use crate::graph::{Graph, NodeId};
use crate::lower::*;
use crate::refusal::{Refusal, Result, unsupported, wrong};
use fabius_lang::build::*;
use fabius_lang::program::*;
use fabius_trace::Span;
use std::collections::HashMap;

const NOWHERE: Span = Span { start: 0, end: 0 };

/// Where the labels of a process are.
pub struct Labels {
    entry: NodeId,
    at: HashMap<String, NodeId>,
    /// Those of first statements of options, at which nobody stands.
    first: Vec<String>,
    /// Those of jumps: who stands there is where these lead.
    jumps: Vec<String>,
    /// Those that such a jump leads to where there is `unless`: for SPIN one may stand in front of the jump then.
    led: Vec<String>,
}

impl Lower {
    /// Which processes of each type run from the beginning.
    pub fn running(&mut self, file: &File) -> Result<()> {
        let mut first = 0;
        for proctype in &file.proctypes {
            let count = self.active(proctype)?;
            self.running.insert(proctype.name.text.clone(), Running { first, count });
            first += count;
        }
        Ok(())
    }

    /// Where the labels of the process are that was just lowered.
    pub fn labels(&mut self, graph: &Graph) -> Result<Labels> {
        let all: Vec<(String, NodeId)> =
            self.body.labels.iter().map(|(name, (node, _))| (name.clone(), *node)).collect();
        let at: HashMap<_, _> =
            all.iter().map(|(name, node)| Ok((name.clone(), self.resolved(*node)?))).collect::<Result<_>>()?;
        let is_jump = |node: &NodeId| self.body.same.get(node).is_some_and(|at| self.body.passed.contains(at));
        let jumps: Vec<String> = all.iter().filter(|(_, node)| is_jump(node)).map(|(name, _)| name.clone()).collect();
        let is_led = |name: &&String| jumps.iter().any(|jump| jump != *name && at[jump] == at[*name]);
        let led = match self.body.escapes.is_empty() {
            true => Vec::new(),
            false => at.keys().filter(is_led).cloned().collect(),
        };
        Ok(Labels { entry: graph.entry, at, first: std::mem::take(&mut self.body.first_labels), jumps, led })
    }

    /// Whether a process stands at a label.
    pub fn stands_at(&mut self, process: &Name, number: Option<&Tree>, label: &Name, span: Span) -> Result<Expr> {
        let Some(Running { first, count }) = self.running.get(&process.text).copied() else {
            return Err(wrong(process.span, format!("there is no process type `{}`", process.text)));
        };
        if count == 0 {
            return Err(of_run(span));
        }
        if self.body.of == process.text {
            return Err(unsupported(span, "a look at processes of the same type, as for SPIN")
                .help("make a global variable of what is looked at"));
        }
        let index = match number {
            Some(number) => binary(BinaryOp::Sub, self.number(number)?, constant(first, INT, span)),
            None if count == 1 => constant(0, INT, span),
            None => {
                let said = format!("there are {count} processes `{}`", process.text);
                return Err(wrong(span, said).help(format!("write `{}[number]@{}`", process.text, label.text)));
            }
        };
        let known = self.remotes.iter().find(|r| r.proctype == process.text && r.label.text == label.text);
        let remote = match known {
            Some(known) => known.clone(),
            None => {
                let len = count as u32;
                let (init, ty) = (Value::Tuple(vec![Value::Int(0); len as usize]), array(Type::Bool, len));
                let name = format!("{}@{}", process.text, label.text);
                self.globals.push(Global { name, ty, init, class: Class::Sync, per_thread: false, span: label.span });
                let (proctype, global) = (process.text.clone(), self.globals.len() - 1);
                self.remotes.push(Remote { proctype, label: label.clone(), global, len });
                self.remotes[self.remotes.len() - 1].clone()
            }
        };
        Ok(read(whether(&remote, index, span)))
    }

    /// Has the processes of a type say where they stand.
    pub fn say_where(
        &mut self,
        proctype: &Proctype,
        labels: &Labels,
        places: &mut HashMap<NodeId, (Block, Block)>,
    ) -> Result<()> {
        let name = &proctype.name.text;
        for remote in self.remotes.iter().filter(|r| r.proctype == *name) {
            let label = &remote.label;
            let Some(node) = labels.at.get(&label.text) else {
                return Err(wrong(label.span, format!("there is no label `{}` in `{name}`", label.text)));
            };
            if self.is_run.contains(name) {
                return Err(of_run(label.span));
            }
            if labels.first.contains(&label.text) {
                return Err(unsupported(label.span, "a look at a label of the first statement of an option")
                    .help("put the label behind that statement, in front of `skip`"));
            }
            if labels.jumps.contains(&label.text) {
                return Err(unsupported(label.span, "a look at a label in front of `goto` or `break`")
                    .help("write `skip` between the two"));
            }
            if labels.led.contains(&label.text) {
                let what =
                    "a look at a label that another one leads to by `goto` or `break`, in a process with `unless`";
                return Err(unsupported(label.span, what).help("leave out the label in front of the jump"));
            }
            let first = self.running[name].first;
            let me = match self.count {
                Some(_) => {
                    let pid = read(local(proctype.params.len(), BYTE, NOWHERE));
                    binary(BinaryOp::Sub, cast(pid, &INT), constant(first, INT, NOWHERE))
                }
                None => constant(0, INT, NOWHERE),
            };
            let says = |is: bool| assign(whether(remote, me.clone(), NOWHERE), boolean(is, NOWHERE), NOWHERE);
            let (arrives, leaves) = places.entry(*node).or_default();
            arrives.push(says(true));
            leaves.push(says(false));
            if *node == labels.entry {
                self.globals[remote.global].init = Value::Tuple(vec![Value::Int(1); remote.len as usize]);
            }
        }
        Ok(())
    }
}

fn of_run(span: Span) -> Refusal {
    unsupported(span, "a look at a process that is started by `run`")
        .help("start it by `active`, or make a global variable of what is looked at")
}

fn whether(remote: &Remote, index: Expr, span: Span) -> Place {
    let whole = global(remote.global, array(Type::Bool, remote.len), span);
    part(&whole, element(index, remote.len), Type::Bool)
}
