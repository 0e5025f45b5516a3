//! Numbers that are only copied, chosen and found equal or not: which of them is which makes no difference.
//!
//! Paper: Better Verification Through Symmetry (Ip and Dill, Formal Methods in System Design 1996), sections 3 and 4: such numbers
//! are a scalarset. And: Expressing Interesting Properties of Programs in Propositional Temporal Logic (Wolper, POPL 1986): a program
//! that only copies its data is independent of them.
//!
//! Deviations:
//! 1. No type says so: it is found out. Words between which values go, or that are compared, are of one *sort*. What else is done
//!    with a value of a sort (an order, arithmetic, an index) makes it a number again.
//! 2. Constants keep their names: they are no members of the scalarset.
//! 3. All choices of a sort are from the same numbers, of which any other check admits all.

use crate::code::{Area, Arg, Cmp, Copy, Instr, Loc};
use crate::compile::Compiled;
use crate::layout::Layout;
use fabius_lang::program::Program;
use std::collections::HashMap;
use std::ops::Range;

/// Words of a sort, by their offset, among shared variables, own ones, locals of each procedure, fields of each record.
#[derive(Debug)]
pub(crate) struct Sorts {
    pub(crate) sorts: Vec<Sort>,
    pub(crate) globals: Vec<(u32, usize)>,
    pub(crate) own: Vec<(u32, usize)>,
    pub(crate) locals: Vec<Vec<(u32, usize)>>,
    pub(crate) records: Vec<Vec<(u32, usize)>>,
}

/// Numbers that are alike: those of a range, but for some.
#[derive(Debug, PartialEq)]
pub(crate) struct Sort {
    lo: i64,
    hi: i64,
    /// In increasing order.
    constants: Vec<i64>,
}

impl Sort {
    pub(crate) fn has(&self, value: i64) -> bool {
        (self.lo..=self.hi).contains(&value) && self.constants.binary_search(&value).is_err()
    }

    /// The n-th of them, from 0.
    pub(crate) fn nth(&self, n: usize) -> i64 {
        let inside = self.constants.iter().filter(|constant| (self.lo..=self.hi).contains(constant));
        inside.fold(self.lo + n as i64, |at, constant| if *constant <= at { at + 1 } else { at })
    }

    /// Whether there are two of them, at least.
    fn has_two(&self) -> bool {
        let inside = self.constants.iter().filter(|constant| (self.lo..=self.hi).contains(constant));
        self.hi.abs_diff(self.lo) > inside.count() as u64
    }
}

/// The sorts of a program, if there are any.
pub(crate) fn sorts(program: &Compiled, source: &Program) -> Option<Sorts> {
    let is_constant = |arg: Arg| arg.area() == Area::Const;
    let chooses = |instr: &Instr| matches!(instr, Instr::Choose { a, b, .. } if is_constant(*a) && is_constant(*b));
    // Where some values stand for all, they do not for each other.
    if !program.code.instrs.iter().any(chooses) || !source.tried.is_empty() {
        return None;
    }
    let mut flow = Flow::of(program);
    (0..program.code.instrs.len()).for_each(|pc| flow.instruction(pc));
    if let Some(idle) = program.idle {
        flow.number(Arg::new(Area::Global, idle as u32), 0);
    }
    flow.sorts()
}

/// What is known of the values of a word.
#[derive(Clone, Copy, Debug)]
enum Fact {
    IsNumber,
    /// It may be this one.
    Constant(i64),
    /// It may be any of these, which were chosen.
    Chosen(i64, i64),
    /// It is one of these.
    Within(i64, i64),
}

/// Where values go. Words of the program and temporaries of each statement are numbered.
struct Flow<'a> {
    program: &'a Compiled,
    /// Where the words of own variables, procedures, records, and results of procedures begin; those of shared variables are first.
    own: usize,
    locals: Vec<usize>,
    records: Vec<usize>,
    results: Vec<Range<usize>>,
    temps: HashMap<(u32, usize), usize>,
    /// For each word one of the same sort, or itself.
    same: Vec<usize>,
    facts: Vec<(usize, Fact)>,
}

impl<'a> Flow<'a> {
    fn of(program: &'a Compiled) -> Flow<'a> {
        let mut count = 0;
        let mut next = |words: usize| {
            count += words;
            count - words
        };
        next(program.globals.words as usize);
        let own = next(program.own.words as usize);
        let locals = program.locals.iter().map(|layout| next(layout.words as usize)).collect();
        let records = program.records.iter().map(|(layout, _)| next(layout.words as usize)).collect();
        let mut longest = vec![0; program.locals.len()];
        for (instr, proc) in program.code.instrs.iter().zip(&program.code.proc_of) {
            if let Instr::Return { words, .. } = instr {
                longest[*proc as usize] = longest[*proc as usize].max(*words as usize);
            }
        }
        let results = longest.into_iter().map(|words| {
            let first = next(words);
            first..first + words
        });
        let results = results.collect();
        let temps = HashMap::new();
        let same = (0..count).collect();
        let mut flow = Flow { program, own, locals, records, results, temps, same, facts: Vec::new() };
        flow.layout(&program.globals, 0);
        flow.layout(&program.own, own);
        (0..program.locals.len()).for_each(|proc| flow.layout(&program.locals[proc], flow.locals[proc]));
        (0..program.records.len()).for_each(|record| flow.layout(&program.records[record].0, flow.records[record]));
        flow
    }

    /// What variables begin as, and what their types say.
    fn layout(&mut self, layout: &Layout, first: usize) {
        for (word, initial) in layout.initial.iter().enumerate() {
            self.facts.push((first + word, Fact::Constant(*initial)));
        }
        for (word, (lo, bits)) in layout.fields.iter().enumerate() {
            if let Some(bits) = bits {
                self.facts.push((first + word, Fact::Within(*lo, lo.saturating_add((1 << bits) - 1))));
            }
        }
        for word in layout.refs.iter().chain(&layout.handles).chain(&layout.sets) {
            self.facts.push((first + *word as usize, Fact::IsNumber));
        }
    }

    /// The number of a word, as an instruction calls it; none for a constant.
    fn word(&mut self, arg: Arg, pc: usize) -> Option<usize> {
        match arg.area() {
            Area::Local => Some(self.locals[self.program.code.proc_of[pc] as usize] + arg.index()),
            Area::Global => Some(arg.index()),
            Area::Own => Some(self.own + arg.index()),
            Area::Const => None,
            Area::Temp => {
                let new = self.same.len();
                let word = *self.temps.entry((self.program.code.statement_of[pc], arg.index())).or_insert(new);
                if word == new {
                    self.same.push(new);
                }
                Some(word)
            }
        }
    }

    fn first_of(&mut self, mut word: usize) -> usize {
        while self.same[word] != word {
            self.same[word] = self.same[self.same[word]];
            word = self.same[word];
        }
        word
    }

    fn join(&mut self, a: usize, b: usize) {
        let [a, b] = [a, b].map(|word| self.first_of(word));
        self.same[a.max(b)] = a.min(b);
    }

    fn fact(&mut self, arg: Arg, pc: usize, fact: Fact) {
        if let Some(word) = self.word(arg, pc) {
            self.facts.push((word, fact));
        }
    }

    fn number(&mut self, arg: Arg, pc: usize) {
        self.fact(arg, pc, Fact::IsNumber);
    }

    fn join_with(&mut self, word: usize, arg: Arg, pc: usize) {
        match self.word(arg, pc) {
            Some(other) => self.join(word, other),
            None => self.facts.push((word, Fact::Constant(self.program.code.consts[arg.index()]))),
        }
    }

    /// Values go from one to the other, or they are compared.
    fn are_alike(&mut self, a: Arg, b: Arg, pc: usize) {
        match (self.word(a, pc), self.word(b, pc)) {
            (Some(word), _) => self.join_with(word, b, pc),
            (None, Some(word)) => self.join_with(word, a, pc),
            (None, None) => {}
        }
    }

    fn compare(&mut self, cmp: Cmp, a: Arg, b: Arg, pc: usize) {
        match cmp {
            Cmp::Eq | Cmp::Ne => self.are_alike(a, b, pc),
            _ => [a, b].into_iter().for_each(|arg| self.number(arg, pc)),
        }
    }

    /// What was found equal or not is a number, or nothing but that.
    fn truth(&mut self, dst: Arg, pc: usize) {
        [0, 1].into_iter().for_each(|value| self.fact(dst, pc, Fact::Constant(value)));
    }

    /// All words where the `i`-th of an aggregate may be.
    fn places(&mut self, loc: Loc, i: u32, pc: usize) -> Vec<usize> {
        match loc {
            Loc::Fixed(arg) => self.word(arg.plus(i), pc).into_iter().collect(),
            Loc::At { base, off } => {
                self.number(off, pc);
                let end = self.end_of(base, pc);
                (base.index() as u32..end).filter_map(|at| self.word(Arg::new(base.area(), at), pc)).collect()
            }
            Loc::Element { base, index, shape } => {
                self.number(index, pc);
                let shape = self.program.code.shapes[shape as usize];
                let elements = (0..shape.len).map(|element| element * shape.stride + i);
                elements.filter_map(|at| self.word(base.plus(at), pc)).collect()
            }
            Loc::Heap { obj, off } => {
                [obj, off].into_iter().for_each(|arg| self.number(arg, pc));
                let words =
                    |(first, (layout, _)): (&usize, &(Layout, Vec<bool>))| *first..first + layout.words as usize;
                self.records.iter().zip(&self.program.records).flat_map(words).collect()
            }
        }
    }

    /// Where the words end among which one is found by an offset from here on.
    fn end_of(&self, base: Arg, pc: usize) -> u32 {
        match base.area() {
            Area::Global => {
                let starts = &self.program.starts;
                let next = starts.get(starts.partition_point(|start| *start as usize <= base.index()));
                next.copied().unwrap_or(self.program.globals.words)
            }
            Area::Own => self.program.own.words,
            Area::Local => self.program.locals[self.program.code.proc_of[pc] as usize].words,
            Area::Const => self.program.code.consts.len() as u32,
            Area::Temp => self.program.code.temps,
        }
    }

    fn copy(&mut self, dst: Loc, src: Loc, n: u32, pc: usize) {
        let [whole_dst, whole_src] = [dst, src].map(|loc| self.whole(loc, pc));
        for i in 0..n {
            let to = whole_dst.map_or_else(|| self.places(dst, i, pc), |word| vec![word]);
            if let Loc::Fixed(arg) = src {
                to.iter().for_each(|word| self.join_with(*word, arg.plus(i), pc));
                continue;
            }
            let from = whole_src.map_or_else(|| self.places(src, i, pc), |word| vec![word]);
            let mut all = from.iter().chain(&to);
            if let Some(first) = all.next() {
                all.for_each(|word| self.join(*first, *word));
            }
            // Elements of constants.
            if let Loc::At { base, .. } | Loc::Element { base, .. } = src
                && base.area() == Area::Const
            {
                to.iter().for_each(|word| self.facts.push((*word, Fact::IsNumber)));
            }
        }
    }

    /// One of the words where all of an aggregate may be, if that is not known better: then all these are of one sort.
    fn whole(&mut self, loc: Loc, pc: usize) -> Option<usize> {
        let (Loc::At { .. } | Loc::Heap { .. }) = loc else { return None };
        let all = self.places(loc, 0, pc);
        let first = *all.first()?;
        all.into_iter().for_each(|word| self.join(first, word));
        Some(first)
    }

    fn arguments(&mut self, callee: usize, args: &[(Arg, u32)], pc: usize) {
        let words = args.iter().flat_map(|(arg, n)| (0..*n).map(|i| arg.plus(i)));
        let first = self.locals[callee];
        words.enumerate().for_each(|(i, arg)| self.join_with(first + i, arg, pc));
    }

    fn instruction(&mut self, pc: usize) {
        let code = &self.program.code;
        match code.instrs[pc] {
            Instr::Move { dst, a } => self.copy(Loc::Fixed(dst), Loc::Fixed(a), 1, pc),
            Instr::Load { dst, base, off } => self.copy(Loc::Fixed(dst), Loc::At { base, off }, 1, pc),
            Instr::Store { base, off, src } => self.copy(Loc::At { base, off }, Loc::Fixed(src), 1, pc),
            Instr::LoadElement { dst, base, index, shape } => {
                self.copy(Loc::Fixed(dst), Loc::Element { base, index, shape }, 1, pc);
            }
            Instr::StoreElement { base, index, src, shape } => {
                self.copy(Loc::Element { base, index, shape }, Loc::Fixed(src), 1, pc);
            }
            Instr::LoadHeap { dst, obj, off } => self.copy(Loc::Fixed(dst), Loc::Heap { obj, off }, 1, pc),
            Instr::StoreHeap { obj, off, src } => self.copy(Loc::Heap { obj, off }, Loc::Fixed(src), 1, pc),
            Instr::Copy { copy } => {
                let Copy { dst, src, n } = code.copies[copy as usize];
                self.copy(dst, src, n, pc);
            }
            Instr::Compare { cmp, dst, a, b } => {
                self.compare(cmp, a, b, pc);
                self.truth(dst, pc);
            }
            Instr::Unless { cmp, a, b, .. } | Instr::Assume { cmp, a, b } | Instr::Assert { cmp, a, b, .. } => {
                self.compare(cmp, a, b, pc);
            }
            Instr::EqWords { dst, a, b, n } => {
                (0..n).for_each(|i| self.are_alike(a.plus(i), b.plus(i), pc));
                self.truth(dst, pc);
            }
            Instr::Check { a, range } => {
                let (lo, hi) = code.ranges[range as usize];
                self.fact(a, pc, Fact::Within(lo, hi));
            }
            Instr::Choose { dst, a, b } if a.area() == Area::Const && b.area() == Area::Const => {
                self.fact(dst, pc, Fact::Chosen(code.consts[a.index()], code.consts[b.index()]));
            }
            Instr::New { dst, record, fields } => {
                self.number(dst, pc);
                let (first, words) = (self.records[record as usize], self.program.records[record as usize].0.words);
                (0..words).for_each(|i| self.join_with(first + i as usize, fields.plus(i), pc));
            }
            Instr::Call { site } => {
                let site = &code.sites[site as usize];
                self.arguments(site.callee, &site.args, pc);
                // Behind the call the results are in the first temporaries.
                for (i, result) in self.results[site.callee].clone().enumerate() {
                    self.join_with(result, Arg::new(Area::Temp, i as u32), site.back as usize);
                }
            }
            Instr::Return { values, words } => {
                let first = self.results[code.proc_of[pc] as usize].start;
                (0..words).for_each(|i| self.join_with(first + i as usize, values.plus(i), pc));
            }
            Instr::Fork { fork } => {
                let fork = &code.forks[fork as usize];
                self.arguments(fork.callee, &fork.args, pc);
                fork.handle.into_iter().for_each(|handle| self.number(handle, pc));
            }
            Instr::Add { dst, a, b }
            | Instr::Sub { dst, a, b }
            | Instr::Arith { dst, a, b, .. }
            | Instr::Index { dst, prev: a, index: b, .. }
            | Instr::Choose { dst, a, b } => [dst, a, b].into_iter().for_each(|arg| self.number(arg, pc)),
            Instr::Convert { dst, a, .. } | Instr::Pick { dst, a } => {
                [dst, a].into_iter().for_each(|arg| self.number(arg, pc));
            }
            Instr::NotNull { a } | Instr::Value { a } => self.number(a, pc),
            Instr::SelfHandle { dst } => self.number(dst, pc),
            Instr::Touch { .. }
            | Instr::Point
            | Instr::Mark
            | Instr::Meet
            | Instr::Jump { .. }
            | Instr::Loop { .. }
            | Instr::Star { .. }
            | Instr::Yield
            | Instr::Zield
            | Instr::Await { .. }
            | Instr::Progress
            | Instr::Interruptible => {}
        }
    }

    fn sorts(mut self) -> Option<Sorts> {
        let mut facts: HashMap<usize, Vec<Fact>> = HashMap::new();
        for (word, fact) in std::mem::take(&mut self.facts) {
            facts.entry(self.first_of(word)).or_default().push(fact);
        }
        let mut sorts = Vec::new();
        let known: HashMap<usize, usize> = (0..self.same.len())
            .filter_map(|word| {
                let sort = facts.get(&word).and_then(|facts| sort(facts))?;
                sorts.push(sort);
                Some((word, sorts.len() - 1))
            })
            .collect();
        let all: Vec<usize> = (0..self.same.len()).map(|word| self.first_of(word)).collect();
        let of = |first: usize, layout: &Layout| -> Vec<(u32, usize)> {
            (0..layout.words).filter_map(|i| Some((i, *known.get(&all[first + i as usize])?))).collect()
        };
        let program = self.program;
        let globals = of(0, &program.globals);
        let own = of(self.own, &program.own);
        let locals = self.locals.iter().zip(&program.locals).map(|(first, layout)| of(*first, layout)).collect();
        let records = self.records.iter().zip(&program.records).map(|(first, record)| of(*first, &record.0)).collect();
        (!sorts.is_empty()).then_some(Sorts { sorts, globals, own, locals, records })
    }
}

/// The sort of words of which this is known.
fn sort(facts: &[Fact]) -> Option<Sort> {
    let (mut chosen, mut constants) = (None, Vec::new());
    for fact in facts {
        match fact {
            Fact::IsNumber => return None,
            Fact::Constant(value) => constants.push(*value),
            Fact::Chosen(lo, hi) if chosen.is_none_or(|range| range == (*lo, *hi)) => chosen = Some((*lo, *hi)),
            Fact::Chosen(..) => return None,
            Fact::Within(..) => {}
        }
    }
    let (lo, hi) = chosen?;
    constants.sort_unstable();
    constants.dedup();
    let admits = |fact: &Fact| !matches!(fact, Fact::Within(least, most) if *least > lo || *most < hi);
    let sort = Sort { lo, hi, constants };
    (facts.iter().all(admits) && lo <= hi && sort.has_two()).then_some(sort)
}
