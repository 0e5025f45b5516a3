//! The whole program: declarations, processes and formulas.

use crate::ast::{Decl, Expr as Tree, File, Init, Lvalue, Name, Proctype, Stmt as Statement, StmtKind as Form, Ty};
use crate::emit::{Emit, globals_of};
use crate::graph::{END, Graph};
use crate::lower::*;
use crate::meetings::Party;
use crate::refusal::{Result, unsupported, wrong};
use crate::remotes::Labels;
use fabius_lang::build::*;
use fabius_lang::program::*;
use fabius_trace::Span;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Most processes, as for SPIN.
const MOST_ACTIVE: i64 = 255;
/// Processes that `run` starts in a program with channels without room.
const MOST_RUN: u32 = 8;
/// Channels of processes that are started by `run`, for each declaration.
const MADE_BY_RUN: u32 = 8;

/// A process type whose body has been lowered.
struct Lowered {
    locals: Vec<Local>,
    params: usize,
    /// Gives variables their first values.
    first: Block,
    graph: Graph,
    /// The groups of its own channels, in the order of their parameters.
    channels: Vec<usize>,
    labels: Labels,
}

/// What a program asks about the numbers of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Nothing.
    Unused,
    /// Which number one has.
    Used,
    /// How many there are, too: `_nr_pr`.
    Counted,
}

/// The core program of a file. `timeout`: where the first one is read.
///
/// # Errors
/// What of it is wrong or not taken.
pub fn lower(file: &File, source: &str, numbers: Numbers, timeout: Option<Span>) -> Result<Program> {
    let mut lower = Lower {
        records: Vec::new(),
        enums: Vec::new(),
        globals: Vec::new(),
        mtypes: HashMap::new(),
        kinds: HashMap::new(),
        typedefs: HashMap::new(),
        names: HashMap::new(),
        groups: Vec::new(),
        proctypes: Vec::new(),
        own_channels: HashMap::new(),
        count: None,
        meeting: None,
        idle: None,
        remotes: Vec::new(),
        running: HashMap::new(),
        is_run: HashSet::new(),
        body: Body::default(),
    };
    lower.declare(file)?;
    lower.running(file)?;
    let hands_over = lower.groups.iter().any(|g| g.hands_over);
    if numbers != Numbers::Unused || hands_over {
        lower.count_processes(file, hands_over)?;
    }
    let mut lowered = Vec::new();
    lower.idle = timeout.map(|span| lower.hidden_flag("$timeout", span));
    for proctype in &file.proctypes {
        lowered.push(lower.proctype(proctype)?);
    }
    let leaves = match numbers {
        Numbers::Unused => false,
        Numbers::Used => are_numbers_used_again(file, &lowered),
        Numbers::Counted => true,
    };
    let mut places = vec![HashMap::new(); lowered.len()];
    if let Some(meeting) = lower.meeting.clone() {
        let mut all = Vec::new();
        for (proctype, one) in file.proctypes.iter().zip(&mut lowered) {
            let active = lower.given_at_first(proctype, one)?;
            all.push(Party {
                graph: &mut one.graph,
                locals: &mut one.locals,
                pid: proctype.params.len(),
                params: one.params,
                first: &one.first,
                active,
            });
        }
        places = lower.hand_over(&meeting, &mut all)?;
    }
    let formulas = lower.formulas(file)?;
    for ((proctype, one), places) in file.proctypes.iter().zip(&lowered).zip(&mut places) {
        lower.say_where(proctype, &one.labels, places)?;
    }
    let mut program = Program {
        source: source.into(),
        records: Vec::new(),
        enums: Vec::new(),
        levels: vec!["NORMAL".into()],
        interleave: Interleave::Implicit,
        globals: Vec::new(),
        procs: Vec::new(),
        init: None,
        buffers: Vec::new(),
        processes: Vec::new(),
        conditions: formulas.conditions,
        properties: formulas.properties,
        rests: Vec::new(),
        circles_give_way: false,
        idle: lower.idle,
        tried: Default::default(),
        orders: Default::default(),
        may_be_vacuous: false,
        loops_end: false,
        shown: Default::default(),
    };
    let mut waits = Vec::new();
    for ((proctype, one), places) in file.proctypes.iter().zip(&mut lowered).zip(&places) {
        let emit = Emit {
            graph: &one.graph,
            places,
            locals: &mut one.locals,
            invariants: &formulas.invariants,
            ways: HashMap::new(),
            waits: &mut waits,
            leaves: match (leaves, lower.count) {
                (true, Some(count)) => Some((count, proctype.params.len(), proctype.name.span)),
                _ => None,
            },
            forgets: lower.forgets(&proctype.name),
            counts_steps: !file.claims.is_empty(),
        };
        let body = one.first.iter().cloned().chain(emit.body()).collect();
        program.procs.push(Proc {
            name: proctype.name.text.clone(),
            locals: one.locals.clone(),
            params: one.params,
            results: Vec::new(),
            body,
            span: proctype.name.span,
        });
    }
    program.rests = rests(&waits)?;
    lower.start(file, &lowered, &mut program)?;
    let first = program.processes.first().map(|p| p.proc);
    if let Some(first) = first {
        let at_first = formulas.invariants.iter().map(|(s, _)| s.clone());
        program.procs[first].body.splice(0..0, at_first);
    }
    (program.records, program.enums, program.globals) = (lower.records, lower.enums, lower.globals);
    let diagnostics = fabius_lang::finish(&mut program);
    match diagnostics.into_iter().next() {
        Some(d) => Err(unsupported(d.span, d.message)),
        None => Ok(program),
    }
}

/// Where processes may wait for ever, at labels `end`.
fn rests(waits: &[(Span, bool)]) -> Result<Vec<Span>> {
    let mut rests: Vec<Span> = Vec::new();
    for (span, _) in waits.iter().filter(|(_, end)| *end) {
        if waits.iter().any(|(other, end)| other == span && !end) {
            return Err(unsupported(*span, "a label `end` in front of one of several waits of a macro")
                .help("write what the macro stands for"));
        }
        if !rests.contains(span) {
            rests.push(*span);
        }
    }
    Ok(rests)
}

/// Whether a process may get the number of one that has ended.
fn are_numbers_used_again(file: &File, lowered: &[Lowered]) -> bool {
    let ends = |graph: &Graph| graph.nodes.iter().any(|n| n.edges.iter().any(|e| e.to == END));
    let mut runs = Vec::new();
    for (proctype, one) in file.proctypes.iter().zip(lowered) {
        for edge in one.graph.nodes.iter().flat_map(|n| &n.edges) {
            let starts = edge.effect.iter().filter(|s| matches!(s.kind, StmtKind::Spawn(..)));
            runs.extend(starts.map(|_| (edge.atomic, &proctype.name.text)));
        }
    }
    let at_once = runs.iter().all(|(atomic, name)| *atomic && *name == "init")
        && file
            .proctypes
            .iter()
            .zip(lowered)
            .all(|(p, one)| p.name.text == "init" || p.active.is_none() || !ends(&one.graph));
    !runs.is_empty() && !at_once && lowered.iter().any(|one| ends(&one.graph))
}

/// The declarations that a body begins with, and the rest.
fn beginning(body: &[Statement]) -> (Vec<&Decl>, &[Statement]) {
    let is_leading = |s: &Statement| matches!(s.kind, Form::Declare(_)) && s.labels.is_empty();
    let end = body.iter().position(|s| !is_leading(s)).unwrap_or(body.len());
    let decls = body[..end].iter().flat_map(|s| match &s.kind {
        Form::Declare(decls) => decls.as_slice(),
        _ => &[],
    });
    (decls.collect(), &body[end..])
}

impl Lower {
    fn declare(&mut self, file: &File) -> Result<()> {
        self.declare_mtypes(file)?;
        for typedef in &file.typedefs {
            let mut fields = Vec::new();
            let mut core = Vec::new();
            for decl in &typedef.fields {
                let len = self.length(decl)?;
                let ty = self.core_of(&decl.ty, len, decl.name.span)?;
                let init = match &decl.init {
                    Some(Init::Channel(..)) => {
                        return Err(
                            unsupported(decl.name.span, "a channel in a `typedef`").help("declare it as a global one")
                        );
                    }
                    init => self.first_value(init.as_ref(), &decl.ty, len, &ty, decl.name.span)?,
                };
                core.push(Field { name: decl.name.text.clone(), ty, init, class: Class::Sync });
                fields.push(FieldOf { name: decl.name.text.clone(), ty: decl.ty.clone(), len });
            }
            self.records.push(Record { name: typedef.name.text.clone(), fields: core, kind: RecordKind::Plain });
            let known = (self.records.len() - 1, fields);
            if self.typedefs.insert(typedef.name.text.clone(), known).is_some() {
                return Err(wrong(typedef.name.span, format!("`{}` is declared twice", typedef.name.text)));
            }
        }
        for decl in &file.globals {
            self.global(decl)?;
        }
        for proctype in &file.proctypes {
            let known = Known { params: proctype.params.clone() };
            if self.proctypes.iter().any(|(name, _)| *name == proctype.name.text) {
                return Err(wrong(proctype.name.span, format!("`{}` is declared twice", proctype.name.text)));
            }
            self.proctypes.push((proctype.name.text.clone(), known));
            self.declare_own(proctype)?;
        }
        Ok(())
    }

    /// The names of `mtype`, those of each kind with numbers of their own.
    fn declare_mtypes(&mut self, file: &File) -> Result<()> {
        let all = || file.mtypes.iter().flat_map(|(_, names)| names);
        let mut none = "none".to_string();
        let kinds: BTreeSet<&str> = file.mtypes.iter().map(|(kind, _)| kind.as_str()).chain([""]).collect();
        for kind in kinds {
            while all().any(|name| name.text == none) {
                none.push('_');
            }
            let mut names = vec![none.clone()];
            none.push('_');
            // The last name of a declaration has the least number; 0 is none.
            for name in file.mtypes.iter().filter(|(of, _)| of == kind).flat_map(|(_, names)| names.iter().rev()) {
                if self.mtypes.insert(name.text.clone(), (self.enums.len(), names.len() as i64)).is_some() {
                    return Err(wrong(name.span, format!("`{}` is declared twice", name.text)));
                }
                if names.len() == 256 {
                    return Err(wrong(name.span, "more than 255 names of `mtype`"));
                }
                names.push(name.text.clone());
            }
            // Of no names it is only the type of variables that nothing is assigned to.
            self.kinds.insert(kind.into(), self.enums.len());
            let name = if kind.is_empty() { "mtype".into() } else { format!("mtype_{kind}") };
            self.enums.push(Enum { name, names });
        }
        Ok(())
    }

    /// The value that a variable has before anything is done.
    fn first_value(&mut self, init: Option<&Init>, of: &Ty, len: Option<u32>, ty: &Type, span: Span) -> Result<Value> {
        let value = |lower: &mut Self, e: &Tree| {
            let value = lower.expr(e)?;
            match lower.fitted(value, of, len.is_some())?.kind {
                ExprKind::Const(value) => Ok(value),
                _ => Err(unsupported(e.span, "a first value that is not constant").help("assign it in `init`")),
            }
        };
        Ok(match (init, len) {
            (None | Some(Init::Channel(..)), _) => ty.default_value(&self.records),
            (Some(Init::Value(e)), None) => value(self, e)?,
            (Some(Init::Value(e)), Some(len)) => Value::Tuple(vec![value(self, e)?; len as usize]),
            (Some(Init::List(list)), Some(len)) if list.len() == len as usize => {
                Value::Tuple(list.iter().map(|e| value(self, e)).collect::<Result<_>>()?)
            }
            (Some(Init::List(_)), _) => return Err(wrong(span, "the list has another length than the array")),
        })
    }

    fn global(&mut self, decl: &Decl) -> Result<()> {
        let span = decl.name.span;
        let len = self.length(decl)?;
        let var = match &decl.init {
            Some(Init::Channel(room, fields)) => {
                let room = self.constant(room)?;
                let own =
                    self.declare_channels(&decl.name.text, len.unwrap_or(1), len.is_some(), room, fields, span)?;
                Var { base: Base::Global(self.groups[own].global), ty: Ty::Chan, len, own: Some(own) }
            }
            init => {
                let ty = self.core_of(&decl.ty, len, span)?;
                let init = self.first_value(init.as_ref(), &decl.ty, len, &ty, span)?;
                self.globals.push(Global {
                    name: decl.name.text.clone(),
                    ty,
                    init,
                    class: Class::Sync,
                    per_thread: false,
                    span,
                });
                Var { base: Base::Global(self.globals.len() - 1), ty: decl.ty.clone(), len, own: None }
            }
        };
        self.declare_name(&decl.name, var)
    }

    /// How many run of a process type at the beginning.
    pub(crate) fn active(&mut self, proctype: &Proctype) -> Result<i64> {
        let Some(count) = &proctype.active else { return Ok(0) };
        match self.constant(count)? {
            n @ 0..=MOST_ACTIVE => Ok(n),
            _ => Err(wrong(count.span, format!("0 to {MOST_ACTIVE} processes run at the beginning"))),
        }
    }

    fn count_processes(&mut self, file: &File, hands_over: bool) -> Result<()> {
        let mut active = 0;
        for proctype in &file.proctypes {
            active += self.active(proctype)?;
        }
        self.count = Some(self.hidden("$processes", active));
        if hands_over {
            self.meet(active as u32 + MOST_RUN);
        }
        Ok(())
    }

    fn proctype(&mut self, proctype: &Proctype) -> Result<Lowered> {
        self.body = Body { of: proctype.name.text.clone(), scopes: vec![HashMap::new()], ..Body::default() };
        for decl in &proctype.params {
            if decl.len.is_some() || decl.init.is_some() || matches!(decl.ty, Ty::Named(_)) {
                return Err(wrong(
                    decl.name.span,
                    "a parameter is a number, a Boolean, a name of `mtype` or a channel",
                ));
            }
            let ty = self.core(&decl.ty, decl.name.span)?;
            let id = self.local(&decl.name.text, ty);
            self.declare_name(&decl.name, Var { base: Base::Local(id), ty: decl.ty.clone(), len: None, own: None })?;
        }
        if self.count.is_some() {
            self.body.pid = Some(self.local("_pid", BYTE));
        }
        let parameters = std::mem::replace(&mut self.body.scopes, vec![HashMap::new()]);
        let provided = proctype.provided.as_ref().map(|e| self.provided(e)).transpose()?;
        self.body.scopes = parameters;
        // Declarations at the beginning are no steps; channels get their numbers from whoever starts the process.
        let (leading, statements) = beginning(&proctype.body);
        let channels: Vec<usize> = self.own_channels[&proctype.name.text].iter().map(|own| own.group).collect();
        for (decl, own) in leading.iter().filter(|d| matches!(d.init, Some(Init::Channel(..)))).zip(&channels) {
            let id = self.local(&decl.name.text, BYTE);
            let var = Var { base: Base::Local(id), ty: Ty::Chan, len: None, own: Some(*own) };
            self.declare_name(&decl.name, var)?;
        }
        let params = self.body.locals.len();
        let mut first = Block::new();
        for decl in leading {
            if matches!(decl.init, Some(Init::Channel(..))) {
                continue;
            }
            let values = self.declare_local(decl)?;
            if decl.init.is_none() {
                continue;
            }
            let reads = values.iter().flat_map(fabius_lang::walk::expressions);
            if reads.into_iter().any(|e| !globals_of(e).is_empty()) {
                return Err(unsupported(decl.name.span, "a first value that is read from a global variable")
                    .help("assign it in a statement of its own"));
            }
            first.extend(values);
        }
        let graph = self.graph(statements, provided)?;
        let labels = self.labels(&graph)?;
        let locals = std::mem::take(&mut self.body.locals);
        Ok(Lowered { locals, params, first, graph, channels, labels })
    }

    /// The channels of the processes of a type.
    fn declare_own(&mut self, proctype: &Proctype) -> Result<()> {
        let active = self.active(proctype)?;
        let by_run = if proctype.name.text == "init" { 0 } else { MADE_BY_RUN };
        let mut all = Vec::new();
        for decl in beginning(&proctype.body).0 {
            let Some(Init::Channel(room, fields)) = &decl.init else { continue };
            let span = decl.name.span;
            if decl.len.is_some() {
                return Err(unsupported(span, "an array of channels of a process").help("declare it as a global one"));
            }
            let room = self.constant(room)?;
            let group = self.declare_channels(&decl.name.text, active as u32 + by_run, true, room, fields, span)?;
            let made = self.hidden(&format!("$made {}", decl.name.text), 0);
            all.push(Own { group, made, active });
        }
        self.own_channels.insert(proctype.name.text.clone(), all);
        Ok(())
    }

    /// A counter that no text has.
    fn hidden(&mut self, name: &str, init: i64) -> GlobalId {
        let (init, span) = (Value::Int(init), Span::default());
        self.globals.push(Global { name: name.into(), ty: BYTE, init, class: Class::Sync, per_thread: false, span });
        self.globals.len() - 1
    }

    /// A Boolean that no text has.
    fn hidden_flag(&mut self, name: &str, span: Span) -> GlobalId {
        let (init, ty) = (Value::Int(0), Type::Bool);
        self.globals.push(Global { name: name.into(), ty, init, class: Class::Sync, per_thread: false, span });
        self.globals.len() - 1
    }

    /// `run P(e)`, whose result may be wanted.
    pub fn run(&mut self, name: &Name, args: &[Tree], result: Option<&Lvalue>, span: Span) -> Result<Block> {
        let Some(id) = self.proctypes.iter().position(|(known, _)| *known == name.text) else {
            return Err(wrong(name.span, format!("there is no process type `{}`", name.text)));
        };
        self.is_run.insert(name.text.clone());
        let params = self.proctypes[id].1.params.clone();
        if params.len() != args.len() {
            return Err(wrong(span, format!("`{}` has {} parameters", name.text, params.len())));
        }
        let mut values = Vec::new();
        for (arg, param) in args.iter().zip(&params) {
            let value = self.expr(arg)?;
            values.push(self.fitted(value, &param.ty, false)?);
        }
        let mut out = Block::new();
        if let Some(count) = self.count {
            let (most, said) = match &self.meeting {
                Some(meeting) => (
                    meeting.processes.into(),
                    format!("more than {MOST_RUN} processes started by `run`, with channels without room"),
                ),
                None => (MOST_ACTIVE, format!("more than {MOST_ACTIVE} processes")),
            };
            let room = binary(BinaryOp::Lt, read(global(count, BYTE, span)), constant(most, BYTE, span));
            out.push(stmt(StmtKind::Assert(room, Check::Bound, Some(said)), span));
            values.push(read(global(count, BYTE, span)));
        }
        let hidden = |id| global(id, BYTE, Span::default());
        let counted = |id| {
            let more = binary(BinaryOp::Add, read(hidden(id)), constant(1, BYTE, Span::default()));
            assign(hidden(id), more, Span::default())
        };
        let own = self.own_channels.get(&name.text).cloned().unwrap_or_default();
        for own in &own {
            let at = |n: i64| constant(n, BYTE, span);
            let room = binary(BinaryOp::Lt, read(hidden(own.made)), at(MADE_BY_RUN.into()));
            let said = format!("more than {MADE_BY_RUN} processes with a channel of their own");
            out.push(stmt(StmtKind::Assert(room, Check::Bound, Some(said)), span));
            let first = at(self.groups[own.group].first + own.active);
            values.push(binary(BinaryOp::Add, read(hidden(own.made)), first));
        }
        out.push(stmt(StmtKind::Spawn(None, id, values), span));
        out.extend(own.iter().map(|own| counted(own.made)));
        if let Some(count) = self.count {
            if let Some(place) = result {
                let to = self.place(place)?;
                out.push(assign(to.place, self.fitted(read(hidden(count)), &to.ty, to.element)?, span));
            }
            out.push(counted(count));
        }
        Ok(out)
    }

    /// The parameters of the processes of a type that run at the beginning.
    fn given_at_first(&self, proctype: &Proctype, one: &Lowered) -> Result<Vec<HashMap<LocalId, Expr>>> {
        let Running { first, count } = self.running[&proctype.name.text];
        let given = |instance: i64| {
            let value = |id: LocalId, n: i64| (id, constant(n, one.locals[id].ty.clone(), Span::default()));
            let mut at = proctype.params.len();
            let mut given: HashMap<LocalId, Expr> = (0..at).map(|id| value(id, 0)).collect();
            if self.count.is_some() {
                given.extend([value(at, first + instance)]);
                at += 1;
            }
            given.extend(
                one.channels.iter().enumerate().map(|(n, own)| value(at + n, self.groups[*own].first + instance)),
            );
            given
        };
        Ok((0..count).map(given).collect())
    }

    /// The processes that run at the beginning.
    fn start(&mut self, file: &File, lowered: &[Lowered], program: &mut Program) -> Result<()> {
        let mut number = 0;
        for (id, (proctype, one)) in file.proctypes.iter().zip(lowered).enumerate() {
            let count = self.active(proctype)?;
            if one.params == 0 {
                if count == 0 {
                    continue;
                }
                let count = Some(count as u32);
                program.processes.push(Process { name: proctype.name.text.clone(), proc: id, count, number: None });
                continue;
            }
            for instance in 0..count {
                let mut proc = program.procs[id].clone();
                proc.params = 0;
                let set = |id: LocalId, n: i64| {
                    let ty = one.locals[id].ty.clone();
                    assign(local(id, ty.clone(), Span::default()), constant(n, ty, Span::default()), Span::default())
                };
                let mut first = Block::new();
                let mut at = proctype.params.len();
                if self.count.is_some() {
                    first.push(set(at, number));
                    at += 1;
                }
                for (n, own) in one.channels.iter().enumerate() {
                    first.push(set(at + n, self.groups[*own].first + instance));
                }
                proc.body.splice(0..0, first);
                let name = proctype.name.text.clone();
                program.processes.push(Process { name, proc: program.procs.len(), count: Some(1), number: None });
                program.procs.push(proc);
                number += 1;
            }
        }
        if program.processes.is_empty() {
            return Err(
                wrong(Span::default(), "nothing starts").help("add `init { .. }` or `active` in front of `proctype`")
            );
        }
        Ok(())
    }
}
