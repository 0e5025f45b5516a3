//! The core program to instructions: statements.
//!
//! Every procedure that is called inside `atomic` has a second version, without scheduling points.
//!
//! Length: what a compiled program consists of, and one arm for each kind of statement.

mod dead;
mod expr;
mod gathered;
mod scan;
mod waiting;

use crate::code::{Area, Arg, Code, Fix, Fork, Info, Instr, Loc, Op, Site};
use crate::layout::{Layout, words_of};
use dead::Dead;
use expr::Val;
use fabius_lang::program::{
    Access, Block, Class, Expr, Guard as Test, Interleave, Place, ProcId, Program, Stmt, StmtKind, Type, Value,
};
use fabius_lang::waits::Waits;
use fabius_lang::walk::is_nothing;
use fabius_trace::{Points, Span};
use gathered::{Gathered, gathered};
use std::collections::HashMap;

/// A program as the machine runs it.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) code: Code,
    /// Shared globals.
    pub(crate) globals: Layout,
    /// The word of the shared global that is true for who goes on because nobody else can.
    pub(crate) idle: Option<usize>,
    /// Where the shared globals begin, in increasing order.
    pub(crate) starts: Vec<u32>,
    /// For each word of the shared globals: its number among all scalars, and whether it synchronizes.
    pub(crate) variables: Vec<(u64, bool)>,
    /// Per-thread globals.
    pub(crate) own: Layout,
    /// Locals, by procedure.
    pub(crate) locals: Vec<Layout>,
    /// Fields, by record, and for each word whether it synchronizes.
    pub(crate) records: Vec<(Layout, Vec<bool>)>,
    /// Where the code of each procedure begins, outside and inside `atomic`.
    pub(crate) entries: Vec<[Option<u32>; 2]>,
    /// Whether each procedure asks for the handle of the running task.
    pub(crate) uses_self: Vec<bool>,
    /// Guards that stand for the conditions of properties.
    pub(crate) conditions: Vec<u32>,
    /// Whether two threads may do the same.
    pub(crate) has_alike_threads: bool,
    /// Whether threads are put into sets, and whether variables of procedures hold any threads.
    pub(crate) fills_sets: bool,
    pub(crate) has_local_handles: bool,
    /// The words of a procedure's frame in which handles are whose order does not matter, by group.
    pub(crate) groups: Vec<(ProcId, Vec<u32>)>,
}

/// Whom a thread waits for that joins others in a row, of whose handles there is no other use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joins {
    /// One after the other.
    Apart,
    /// All of them at once, so that their order does not matter.
    Together,
}

/// Compiles.
pub(crate) fn compile(program: &Program, points: Points, joins: Joins) -> Compiled {
    let mut globals = Layout::default();
    let mut own = Layout::default();
    let mut variables = Vec::new();
    let mut scalars = 0;
    let mut places = Vec::new();
    let mut globals_at = Vec::new();
    let mut starts = Vec::new();
    for g in &program.globals {
        let words = words_of(program, &g.ty);
        let layout = if g.per_thread { &mut own } else { &mut globals };
        let at = layout.add(program, &g.ty, &g.init);
        places.push(Arg::new(if g.per_thread { Area::Own } else { Area::Global }, at));
        globals_at.push(at as usize);
        if !g.per_thread {
            starts.push(at);
            variables.extend((scalars..scalars + words).map(|v| (v, g.class == Class::Sync)));
        }
        scalars += words;
    }
    let mut locals = Vec::new();
    let mut offsets = Vec::new();
    for proc in &program.procs {
        let mut layout = Layout::default();
        let add = |l: &fabius_lang::program::Local| layout.add(program, &l.ty, &l.ty.default_value(&program.records));
        offsets.push(proc.locals.iter().map(add).collect());
        locals.push(layout);
    }
    let records = program.records.iter().map(|record| {
        let mut layout = Layout::default();
        let mut sync = Vec::new();
        for field in &record.fields {
            layout.add(program, &field.ty, &field.init);
            sync.resize(layout.words as usize, field.class == Class::Sync);
        }
        (layout, sync)
    });
    let records: Vec<(Layout, Vec<bool>)> = records.collect();
    let has_local_handles = locals.iter().any(|layout| !layout.handles.is_empty() || !layout.sets.is_empty());
    let single = program.has_single_buffer();
    let mut c = Compiler {
        program,
        code: Code { dead: vec![Vec::new()], ..Code::default() },
        point: match (program.interleave, points) {
            _ if single => None,
            (Interleave::Explicit, _) => None,
            (Interleave::Implicit, Points::All) => Some(Access::Data),
            (Interleave::Implicit, Points::Sync) => Some(Access::Sync),
        },
        single,
        has_buffers: program.has_buffers(),
        globals: places,
        locals: offsets,
        constants: HashMap::new(),
        uses_self: scan::procs_that_use_self(program),
        proc: 0,
        in_atomic: false,
        waits: Waits::of(program),
        midway: false,
        hidden: false,
        next_temp: 0,
        statement: 0,
        target: None,
        loops: Vec::new(),
        dead: Dead::of(program),
        entries: vec![[None, None]; program.procs.len()],
        wanted: Vec::new(),
        gathered: if joins == Joins::Together { gathered(program) } else { Vec::new() },
    };
    let begin = program.buffers.iter().map(|b| b.proc).chain(program.processes.iter().map(|p| p.proc));
    let begin: Vec<ProcId> = begin.chain(program.init).collect();
    begin.into_iter().for_each(|p| c.want(p, false));
    while let Some((proc, in_atomic)) = c.wanted.pop() {
        c.procedure(proc, in_atomic);
    }
    let conditions = program.conditions.iter().map(|e| c.condition(e)).collect();
    c.settle();
    let is_filled = |instr: &Instr| matches!(instr, Instr::Arith { op: Op::SetWith, .. });
    let groups: Vec<_> = c.gathered.iter().map(|group| group.words(program, &c.locals[group.proc])).collect();
    for (proc, words) in &groups {
        locals[*proc].gather(words);
        c.code.forget_together(*proc, words);
    }
    Compiled {
        groups,
        idle: program.idle.map(|id| globals_at[id]),
        fills_sets: c.code.instrs.iter().any(is_filled),
        conditions,
        entries: c.entries,
        uses_self: c.uses_self,
        code: c.code,
        globals,
        starts,
        variables,
        own,
        locals,
        records,
        has_alike_threads: scan::has_alike_threads(program),
        has_local_handles,
    }
}

/// Compiles one program.
pub(crate) struct Compiler<'p> {
    program: &'p Program,
    code: Code,
    /// From which access on a statement is a scheduling point.
    point: Option<Access>,
    single: bool,
    has_buffers: bool,
    globals: Vec<Arg>,
    locals: Vec<Vec<u32>>,
    constants: HashMap<i64, Arg>,
    uses_self: Vec<bool>,
    proc: ProcId,
    in_atomic: bool,
    /// What waits, and whether the atomic block at work does elsewhere than at its beginning.
    waits: Waits,
    midway: bool,
    /// Whether what is compiled belongs to an invariant.
    hidden: bool,
    next_temp: u32,
    /// The number of the statement at work.
    statement: u32,
    /// The place that the instructions being emitted store to.
    target: Option<Span>,
    /// Heads of the enclosing loops, and the jumps that leave them.
    loops: Vec<(u32, Vec<usize>)>,
    /// What is dead where.
    dead: Dead,
    entries: Vec<[Option<u32>; 2]>,
    /// Versions of procedures whose code is needed.
    wanted: Vec<(ProcId, bool)>,
    /// Handles that are joined in a row.
    gathered: Vec<Gathered>,
}

impl<'p> Compiler<'p> {
    fn want(&mut self, proc: ProcId, in_atomic: bool) {
        let entry = &mut self.entries[proc][usize::from(in_atomic)];
        if entry.is_none() {
            // The real address comes with the code.
            *entry = Some(u32::MAX);
            self.wanted.push((proc, in_atomic));
        }
    }

    fn procedure(&mut self, proc: ProcId, in_atomic: bool) {
        let program = self.program;
        let p = &program.procs[proc];
        (self.proc, self.in_atomic, self.midway) = (proc, in_atomic, in_atomic);
        self.entries[proc][usize::from(in_atomic)] = Some(self.here());
        self.dead.begin(p);
        self.block(&p.body);
        self.stands_at_end();
        // The end of the body returns the default of every result.
        self.forget_temps();
        let mut words = Vec::new();
        for ty in &p.results {
            let value = ty.default_value(&program.records);
            let n = self.words(ty);
            words.push((self.constant_words(&value), n));
        }
        self.give_back(&words, p.span);
        let end = self.code.instrs.len();
        self.code.proc_of.resize(end, proc as u32);
        self.code.dead_at.resize(end, 0);
    }

    /// Where a task goes on that stops: behind what does nothing, and in front of the next point but one.
    fn settle(&mut self) {
        let instrs = &self.code.instrs;
        let settled = |mut pc: usize, mut points: u32| {
            for _ in 0..instrs.len() {
                pc = match instrs[pc] {
                    Instr::Jump { to } | Instr::Loop { to, .. } => to as usize,
                    Instr::Interruptible => pc + 1,
                    Instr::Point | Instr::Mark if points > 0 => {
                        points -= 1;
                        pc + 1
                    }
                    _ => break,
                };
            }
            pc as u32
        };
        self.code.settled = (0..instrs.len()).map(|pc| settled(pc, 1)).collect();
        self.code.behind = (0..instrs.len()).map(|pc| settled(pc, 0)).collect();
    }

    pub(super) fn emit(&mut self, instr: Instr, mut info: Info) -> usize {
        info.hidden = self.hidden;
        self.code.instrs.push(instr);
        self.code.infos.push(info);
        self.code.statement_of.push(self.statement);
        self.code.instrs.len() - 1
    }

    /// Nobody needs the temporaries any more.
    fn forget_temps(&mut self) {
        self.next_temp = 0;
        self.statement += 1;
    }

    fn here(&self) -> u32 {
        self.code.instrs.len() as u32
    }

    pub(super) fn jump(&mut self) -> usize {
        self.emit(Instr::Jump { to: 0 }, Info::default())
    }

    /// Lets these jumps lead here.
    pub(super) fn land(&mut self, jumps: &[usize]) {
        let here = self.here();
        for j in jumps {
            match &mut self.code.instrs[*j] {
                Instr::Jump { to } | Instr::Unless { to, .. } | Instr::Star { to } => *to = here,
                other => unreachable!("{other:?} does not jump"),
            }
        }
    }

    fn block(&mut self, block: &'p Block) {
        block.iter().for_each(|s| self.statement(s));
    }

    fn statement(&mut self, s: &'p Stmt) {
        self.forget_temps();
        self.dead.next_statement();
        let info = Info { at: s.span, ..Info::default() };
        if !matches!(s.kind, StmtKind::While(..)) {
            self.point_before(s);
        }
        let first = self.code.instrs.len();
        match &s.kind {
            StmtKind::Skip => {}
            StmtKind::Assign(place, e) => self.assign(place, e, s.span),
            StmtKind::Any(place, lo, hi) => {
                let a = self.value(lo, None);
                let a = self.read_once(a);
                let b = self.value(hi, None);
                let chosen = self.temp(1);
                self.emit(
                    Instr::Choose { dst: chosen, a: a.arg, b: b.arg },
                    Info { at: s.span, a: a.span, b: b.span, ..Info::default() },
                );
                self.store(place, chosen, Some(s.span), s.span);
            }
            StmtKind::New(place, record, parts) => {
                let types: Vec<Type> = self.program.records[*record].fields.iter().map(|f| f.ty.clone()).collect();
                let words: u32 = types.iter().map(|t| self.words(t)).sum();
                let fields = self.temp(words.max(1));
                let mut offset = 0;
                for (part, ty) in parts.iter().zip(&types) {
                    self.value(part, Some(fields.plus(offset)));
                    offset += self.words(ty);
                }
                self.check_words(fields, &Type::Record(*record), s.span, s.span);
                let object = self.temp(1);
                self.emit(Instr::New { dst: object, record: *record as u32, fields }, info);
                self.store(place, object, None, s.span);
            }
            StmtKind::If(test, yes, no) => self.if_else(test, yes, no, s),
            StmtKind::While(test, body) => self.while_loop(test, body, s),
            StmtKind::Break => {
                let jump = self.jump();
                self.loops.last_mut().expect("the front end checks that there is a loop").1.push(jump);
            }
            StmtKind::Continue => {
                let to = self.loops.last().expect("the front end checks that there is a loop").0;
                self.emit(Instr::Loop { to, fuel: 16 }, info);
            }
            StmtKind::Call(results, callee, args) => self.call(results, *callee, args, s),
            StmtKind::Return(values) => {
                let results = &self.program.procs[self.proc].results;
                let mut words = Vec::new();
                for (value, ty) in values.iter().zip(results) {
                    let n = self.words(ty);
                    let temp = self.temp(n);
                    self.value(value, Some(temp));
                    words.push((temp, n));
                }
                for (((arg, _), ty), value) in words.iter().zip(results).zip(values) {
                    if !self.surely_fits(value, ty) {
                        self.check_words(*arg, ty, value.span, s.span);
                    }
                }
                self.give_back(&words, s.span);
            }
            StmtKind::Spawn(handle, callee, args) => self.fork(*handle, *callee, args, Born::Thread, s),
            StmtKind::Post(handle, level, callee, args) => self.fork(*handle, *callee, args, Born::Task(*level), s),
            StmtKind::Join(e) => self.wait(e, true, s),
            StmtKind::Await(e) => self.wait(e, false, s),
            StmtKind::Yield => {
                self.emit(Instr::Yield, info);
            }
            StmtKind::Zield => {
                if !self.single {
                    self.emit(Instr::Zield, info);
                }
            }
            StmtKind::Atomic(body) => {
                if !self.in_atomic {
                    self.wait_for_any_way(body, s);
                }
                let outer = std::mem::replace(&mut self.in_atomic, true);
                self.block(body);
                self.in_atomic = outer;
                if !outer {
                    self.emit(Instr::Interruptible, info);
                }
            }
            StmtKind::Assume(e) => {
                let (cmp, a, b) = self.test(e);
                let info = Info { at: s.span, a: a.span, b: b.span, ..Info::default() };
                self.emit(Instr::Assume { cmp, a: a.arg, b: b.arg }, info);
            }
            StmtKind::Assert(e, check, _) => self.assert(e, *check, s.span),
            StmtKind::Print(es) => {
                for e in es {
                    let value = self.value(e, None);
                    for word in 0..self.words(&e.ty) {
                        let info = Info { at: s.span, a: value.span, ..Info::default() };
                        self.emit(Instr::Touch { a: value.arg.plus(word) }, info);
                    }
                }
            }
            StmtKind::Progress => {
                self.emit(Instr::Progress, info);
            }
            StmtKind::SetInsert(place, e) => {
                let who = self.value(e, None);
                let who = self.read_once(who);
                self.emit(Instr::NotNull { a: who.arg }, Info { at: e.span, a: who.span, ..Info::default() });
                self.change_set(place, Some((Op::SetWith, who)), s.span);
            }
            StmtKind::SetRemove(place, e) => {
                let who = self.value(e, None);
                let who = self.read_once(who);
                self.change_set(place, Some((Op::SetWithout, who)), s.span);
            }
            StmtKind::SetRemoveAny(place) => self.change_set(place, None, s.span),
            StmtKind::SetClear(place) => {
                let zero = self.constant(0);
                self.store(place, zero, None, s.span);
            }
        }
        // The step of a task begins with it, though there be nothing to do (`t = t`).
        let does_nothing = self.code.instrs[first..].iter().all(|i| matches!(i, Instr::Interruptible));
        if does_nothing && !is_nothing(s) && self.has_buffers {
            let (dst, a) = (self.temp(1), self.constant(0));
            self.emit(Instr::Move { dst, a }, info);
        }
    }

    /// Whether others may run before the statement, or see it.
    fn point_before(&mut self, s: &Stmt) {
        self.stands();
        self.point_if_any(s);
        self.stands();
        let chooses = match &s.kind {
            StmtKind::If(test, ..) | StmtKind::While(test, _) => matches!(test, Test::Star),
            StmtKind::Any(..) | StmtKind::SetRemoveAny(_) => true,
            _ => false,
        };
        if chooses {
            self.emit(Instr::Meet, Info { at: s.span, ..Info::default() });
        }
    }

    fn point_if_any(&mut self, s: &Stmt) {
        if self.in_atomic {
            return;
        }
        let visible = s.access > Access::Local || matches!(s.kind, StmtKind::Yield | StmtKind::Zield);
        let instr = match self.point {
            Some(least) if s.access >= least => Instr::Point,
            _ if visible => Instr::Mark,
            _ => return,
        };
        self.emit(instr, Info { at: s.span, ..Info::default() });
    }

    fn assign(&mut self, place: &'p Place, e: &'p Expr, span: Span) {
        self.target = Some(place.span);
        let fits = self.surely_fits(e, &place.ty);
        if fits && is_fixed(place) {
            let Loc::Fixed(dst) = self.locate(place) else { unreachable!("the place is fixed") };
            self.value(e, Some(dst));
        } else {
            self.target = None;
            let value = self.value(e, None);
            let words = self.words(&e.ty);
            let value = match value.arg.area() {
                Area::Global | Area::Local | Area::Own if !fits || !is_fixed(place) => {
                    let temp = self.temp(words);
                    Val { arg: self.copied(value.arg, words, Some(temp), value.span), span: value.span }
                }
                _ => value,
            };
            self.target = Some(place.span);
            self.store(place, value.arg, (!fits).then_some(value.span), span);
        }
        self.target = None;
    }

    /// Stores words that are not shared. `unchecked` is where the value came from if its ranges have to be checked.
    fn store(&mut self, place: &'p Place, value: Arg, unchecked: Option<Span>, span: Span) {
        let target = self.target.take();
        let loc = self.locate(place);
        let loc = match unchecked {
            Some(from) if self.ranges_in(&place.ty) > 0 => {
                // That it is a place is checked before that the value fits.
                let there = self.certain(loc, place.span);
                self.check_words(value, &place.ty, from, span);
                there
            }
            _ => loc,
        };
        self.target = target;
        let words = self.words(&place.ty);
        let info = Info { at: place.span, a: span, b: span, place: place.span, ..Info::default() };
        self.copy(loc, Loc::Fixed(value), words, info);
    }

    fn change_set(&mut self, place: &'p Place, change: Option<(Op, Val)>, span: Span) {
        let loc = self.locate(place);
        let old = self.temp(1);
        let info = Info { at: place.span, a: place.span, b: place.span, place: place.span, ..Info::default() };
        // Reading the set and writing it back is one access, the write.
        let (new, info_quiet) = (self.temp(1), Info { a: Span::new(u32::MAX as usize, 0), ..info });
        self.copy(Loc::Fixed(old), loc, 1, info_quiet);
        match change {
            Some((op, who)) => {
                let info = Info { at: span, b: who.span, ..Info::default() };
                self.emit(Instr::Arith { op, fix: Fix::No, dst: new, a: old, b: who.arg }, info);
            }
            None => {
                self.emit(Instr::Pick { dst: new, a: old }, Info { at: span, ..Info::default() });
            }
        }
        self.copy(loc, Loc::Fixed(new), 1, info);
    }

    fn test_or_star(&mut self, test: &'p Test, at: Span) -> Vec<usize> {
        match test {
            Test::Star => vec![self.emit(Instr::Star { to: 0 }, Info { at, ..Info::default() })],
            Test::Expr(e) => {
                let mut out = Vec::new();
                self.branch(e, true, &mut out);
                out
            }
        }
    }

    fn if_else(&mut self, test: &'p Test, yes: &'p Block, no: &'p Block, s: &'p Stmt) {
        let otherwise = self.test_or_star(test, s.span);
        self.block(yes);
        if no.is_empty() {
            return self.land(&otherwise);
        }
        let end = self.jump();
        self.land(&otherwise);
        self.block(no);
        self.land(&[end]);
    }

    fn while_loop(&mut self, test: &'p Test, body: &'p Block, s: &'p Stmt) {
        let head = self.here();
        self.point_before(s);
        let out = self.test_or_star(test, s.span);
        self.loops.push((head, out));
        self.block(body);
        let fuel = scan::weight(body).saturating_add(1);
        self.emit(Instr::Loop { to: head, fuel }, Info { at: s.span, ..Info::default() });
        let (_, out) = self.loops.pop().expect("it was just pushed");
        self.land(&out);
    }

    /// The values of arguments, checked after all of them have been computed.
    fn arguments(&mut self, callee: ProcId, args: &'p [Expr], at: Span) -> Vec<(Arg, u32)> {
        let program = self.program;
        let types: Vec<&Type> = program.procs[callee].locals.iter().map(|l| &l.ty).collect();
        let mut out = Vec::new();
        for (arg, ty) in args.iter().zip(&types) {
            let words = self.words(ty);
            let temp = self.temp(words);
            self.value(arg, Some(temp));
            out.push((temp, words));
        }
        for (((arg, _), ty), value) in out.iter().zip(types).zip(args) {
            if !self.surely_fits(value, ty) {
                self.check_words(*arg, ty, value.span, at);
            }
        }
        out
    }

    fn call(&mut self, results: &'p [Option<usize>], callee: ProcId, args: &'p [Expr], s: &'p Stmt) {
        let args = self.arguments(callee, args, s.span);
        self.want(callee, self.in_atomic);
        let site = self.code.sites.len() as u32;
        let dead = self.dead_during_call();
        let at = self.emit(Instr::Call { site }, Info { at: s.span, ..Info::default() });
        self.forget_temps();
        let (caller, in_atomic) = (self.proc, self.in_atomic);
        self.code.sites.push(Site { callee, in_atomic, args, back: at as u32 + 1, caller, dead });
        // Behind the call the results are in the first temporaries.
        let program = self.program;
        let mut from = Arg::new(Area::Temp, 0);
        let types = &program.procs[callee].results;
        let total: u32 = types.iter().map(|t| self.words(t)).sum();
        self.code.temps = self.code.temps.max(total + 1);
        for (result, ty) in results.iter().zip(types) {
            let words = self.words(ty);
            if let Some(local) = result {
                let to = &program.procs[self.proc].locals[*local].ty;
                if ty != to {
                    self.check_words(from, to, s.span, s.span);
                }
                let dst = Arg::new(Area::Local, self.locals[self.proc][*local]);
                let info = Info { at: s.span, ..Info::default() };
                self.copy(Loc::Fixed(dst), Loc::Fixed(from), words, info);
            }
            from = from.plus(words);
        }
    }

    /// Returns words, gathered in the first temporaries.
    fn give_back(&mut self, values: &[(Arg, u32)], at: Span) {
        let total: u32 = values.iter().map(|(_, n)| n).sum();
        let gathered = self.temp(total);
        let mut to = gathered;
        for (from, n) in values {
            self.copy(Loc::Fixed(to), Loc::Fixed(*from), *n, Info { at, ..Info::default() });
            to = to.plus(*n);
        }
        self.emit(Instr::Return { values: gathered, words: total }, Info { at, ..Info::default() });
    }

    fn fork(&mut self, handle: Option<usize>, callee: ProcId, args: &'p [Expr], born: Born, s: &'p Stmt) {
        let args = self.arguments(callee, args, s.span);
        self.want(callee, false);
        let fork = self.code.forks.len() as u32;
        let anonymous = handle.is_none() && !self.uses_self[callee];
        let handle = handle.map(|l| Arg::new(Area::Local, self.locals[self.proc][l]));
        let (thread, level) = match born {
            Born::Thread => (true, None),
            Born::Task(level) => (false, level),
        };
        let anonymous = anonymous && !thread;
        self.code.forks.push(Fork { thread, level, callee, args, handle, anonymous });
        self.emit(Instr::Fork { fork }, Info { at: s.span, ..Info::default() });
        if !thread && !self.in_atomic {
            self.emit(Instr::Interruptible, Info::default());
        }
    }
}

/// What `spawn` and `post` make.
enum Born {
    Thread,
    Task(Option<u8>),
}

/// Whether finding the place takes no code.
fn is_fixed(place: &Place) -> bool {
    use fabius_lang::program::{Base, ExprKind, Projection};
    !matches!(place.base, Base::Heap(..))
        && place.path.iter().all(|step| match step {
            Projection::Field(_) => true,
            Projection::Index { index, lo, len } => {
                matches!(index.kind, ExprKind::Const(Value::Int(i)) if i >= *lo && i - lo < i64::from(*len))
            }
        })
}
