//! Programs with loops as Rust text: a function to check, which is given the logs at its end.

use super::program::{After, Cond, Op, Orderings, Place, Program, Stmt, ops};
use std::fmt::{Display, Formatter, Result, Write};

const BEGIN: &str = "\
use fabius::sync::atomic::{AtomicU8, Ordering::*};
use fabius::sync::{mpsc, Condvar, Mutex};
use fabius::{hint::spin_loop, thread::{self, park_timeout, sleep, yield_now}, time::Duration};
use std::collections::{BTreeMap, HashMap};
use std::{cell::Cell, rc::Rc, sync::Arc};
type Logs = Arc<std::sync::Mutex<Vec<Vec<u8>>>>;
fn log(logs: &Logs, thread: usize, value: u8) {
    logs.lock().unwrap()[thread].push(value);
}
fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
";

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(BEGIN)?;
        for (i, counter) in self.counters.iter().enumerate() {
            match counter.place {
                Place::Static => {
                    let atomic = "std::sync::atomic::AtomicU8";
                    writeln!(f, "static C{i}: {atomic} = {atomic}::new(0);")?;
                }
                Place::ThreadLocal => {
                    writeln!(f, "fabius::thread_local! {{ static C{i}: Cell<u8> = const {{ Cell::new(0) }}; }}")?;
                }
                _ => {}
            }
        }
        writeln!(f, "pub fn program(at_end: &dyn Fn(&Vec<Vec<u8>>)) {{")?;
        for (i, _) in self.counters.iter().enumerate().filter(|(_, c)| c.place == Place::Static) {
            writeln!(f, "    C{i}.store(0, SeqCst);")?;
        }
        if self.counters.iter().any(|c| c.place == Place::Foreign) {
            writeln!(f, "    let cells: [Cell<u8>; {}] = std::array::from_fn(|_| Cell::new(0));", self.counters.len())?;
            writeln!(f, "    let foreign = std::hint::black_box(&cells).as_ptr() as usize;")?;
        }
        writeln!(f, "    let logs: Logs = Arc::new(std::sync::Mutex::new(vec![Vec::new(); {}]));", self.threads.len())?;
        let mut shared = vec!["logs".to_owned()];
        let mut share = |name: String, value: &str| {
            let line = format!("    let {name} = Arc::new({value});");
            shared.push(name);
            line
        };
        for a in 0..self.atomics {
            writeln!(f, "{}", share(format!("a{a}"), "AtomicU8::new(0)"))?;
        }
        for m in 0..self.mutexes {
            if self.has(|op| matches!(op, Op::Lock(of) | Op::TryLock(of) if of == m)) {
                writeln!(f, "{}", share(format!("m{m}"), "Mutex::new(())"))?;
            }
        }
        if self.has(|op| matches!(op, Op::Unpark(_))) {
            let none = format!("std::sync::Mutex::new(vec![None::<thread::Thread>; {}])", self.threads.len());
            writeln!(f, "{}", share("threads".into(), &none))?;
        }
        if self.has(|op| matches!(op, Op::Wait(_) | Op::NotifyOne | Op::NotifyAll)) {
            writeln!(f, "{}", share("condvar".into(), "Condvar::new()"))?;
        }
        for (i, counter) in self.counters.iter().enumerate().filter(|(_, c)| c.owner.is_none()) {
            match counter.place {
                Place::Arc => writeln!(f, "{}", share(format!("c{i}"), "std::sync::atomic::AtomicU8::new(0)"))?,
                Place::Guarded => writeln!(f, "{}", share(format!("c{i}"), "std::sync::Mutex::new(0u8)"))?,
                _ => {}
            }
        }
        if self.has(|op| matches!(op, Op::Send(_) | Op::TryRecv)) {
            writeln!(f, "    let (tx, rx) = mpsc::channel::<u8>();")?;
            writeln!(f, "    let (tx, rx) = (std::mem::ManuallyDrop::new(tx), std::mem::ManuallyDrop::new(rx));")?;
        }
        let mut text = String::new();
        Text { program: self, shared: &shared, out: &mut text, loops: 0 }.thread(0, 1)?;
        writeln!(f, "{text}    let logs = logs.lock().unwrap().clone();\n    at_end(&logs);\n}}")
    }
}

struct Text<'a> {
    program: &'a Program,
    shared: &'a [String],
    out: &'a mut String,
    loops: usize,
}

impl Text<'_> {
    fn line(&mut self, depth: usize, text: &str) -> Result {
        writeln!(self.out, "{:1$}{text}", "", 4 * depth)
    }

    fn thread(&mut self, thread: u8, depth: usize) -> Result {
        let program = self.program;
        let stmts = &program.threads[usize::from(thread)];
        for (i, counter) in program.counters.iter().enumerate().filter(|(_, c)| c.owner == Some(thread)) {
            let new = match counter.place {
                Place::Boxed => "Box::new(Cell::new(0u8))",
                Place::Shared => "Rc::new(Cell::new(0u8))",
                Place::Vec | Place::Fresh => "Vec::<u64>::new()",
                Place::Map => "HashMap::<u8, u8>::new()",
                Place::Keys => "BTreeMap::<u8, u8>::new()",
                Place::Copied => "([7u64; 3], 0u8, 9u32)",
                Place::Pointer => "0u8",
                Place::Foreign => {
                    self.line(depth, &format!("let c{i} = unsafe {{ &*(foreign as *const Cell<u8>).add({i}) }};"))?;
                    self.line(depth, &format!("c{i}.set(0);"))?;
                    continue;
                }
                Place::Static => {
                    self.line(depth, &format!("C{i}.store(0, SeqCst);"))?;
                    continue;
                }
                Place::Tracked => "fabius::cell::UnsafeCell::new(0u8)",
                Place::ThreadLocal => continue,
                _ => "0u8",
            };
            if counter.place == Place::Pointer {
                self.line(depth, &format!("let boxes{i}: [Box<u8>; 8] = std::array::from_fn(|i| Box::new(i as u8));"))?;
                self.line(depth, &format!("let mut c{i}: *const u8 = &*boxes{i}[0];"))?;
            } else {
                self.line(depth, &format!("let mut c{i} = {new};"))?;
            }
        }
        self.line(depth, "let mut found = 0u8;")?;
        if program.has(|op| matches!(op, Op::Unpark(_))) {
            self.line(depth, &format!("threads.lock().unwrap()[{thread}] = Some(thread::current());"))?;
        }
        let mut spawned: Vec<u8> =
            ops(stmts).into_iter().filter_map(|op| if let Op::Spawn(t) = op { Some(t) } else { None }).collect();
        spawned.sort_unstable();
        spawned.dedup();
        for t in spawned {
            self.line(depth, &format!("let mut t{t} = None;"))?;
        }
        for m in 0..program.mutexes {
            if ops(stmts).into_iter().any(|op| matches!(op, Op::Lock(of) | Op::TryLock(of) if of == m)) {
                self.line(depth, &format!("let mut g{m} = None;"))?;
            }
        }
        self.block(thread, stmts, depth, None)?;
        for m in 0..program.mutexes {
            if ops(stmts).into_iter().any(|op| matches!(op, Op::Lock(of) | Op::TryLock(of) if of == m)) {
                self.line(depth, &format!("std::mem::forget(g{m});"))?;
            }
        }
        Ok(())
    }

    fn block(&mut self, thread: u8, stmts: &[Stmt], depth: usize, around: Option<usize>) -> Result {
        for stmt in stmts {
            match stmt {
                Stmt::Do(op) => self.operation(*op, depth)?,
                Stmt::Bump(c) => {
                    let counter = self.program.counters[usize::from(*c)];
                    let (get, last) = (self.get(*c), counter.last);
                    let next = match counter.after {
                        After::Wraps => format!("if {get} < {last} {{ {get} + 1 }} else {{ 0 }}"),
                        After::Stays => format!("if {get} < {last} {{ {get} + 1 }} else {{ {last} }}"),
                    };
                    self.set(*c, &next, depth)?;
                }
                Stmt::Clear(c) => self.set(*c, "0", depth)?,
                Stmt::Take(c) => {
                    let last = self.program.counters[usize::from(*c)].last;
                    self.set(*c, &format!("found.min({last})"), depth)?;
                }
                Stmt::Next(n) => self.line(depth, &format!("found = (found % {n} + 1) % {n};"))?,
                Stmt::LogFound => self.line(depth, &format!("log(&logs, {thread}, found);"))?,
                Stmt::Log(c) => {
                    let get = self.get(*c);
                    self.line(depth, &format!("log(&logs, {thread}, {get});"))?;
                }
                Stmt::If(cond, yes, no) => {
                    let cond = match cond {
                        Cond::Found(v) => format!("found == {v}"),
                        Cond::FoundIn(c) => format!("found == {}", self.get(*c)),
                        Cond::Is(c, v) => format!("{} == {v}", self.get(*c)),
                        Cond::Odd(c) => format!("{} % 2 == 1", self.get(*c)),
                    };
                    self.line(depth, &format!("if {cond} {{"))?;
                    self.block(thread, yes, depth + 1, around)?;
                    if !no.is_empty() {
                        self.line(depth, "} else {")?;
                        self.block(thread, no, depth + 1, around)?;
                    }
                    self.line(depth, "}")?;
                }
                Stmt::Loop(body) => {
                    self.loops += 1;
                    let label = self.loops;
                    self.line(depth, &format!("'l{label}: loop {{"))?;
                    self.block(thread, body, depth + 1, Some(label))?;
                    self.line(depth, "}")?;
                }
                Stmt::Break => {
                    let label = around.expect("a loop is around it");
                    self.line(depth, &format!("break 'l{label};"))?;
                }
            }
        }
        Ok(())
    }

    fn get(&self, c: u8) -> String {
        match self.program.counters[usize::from(c)].place {
            Place::Local => format!("c{c}"),
            Place::Boxed | Place::Shared => format!("c{c}.get()"),
            Place::Foreign => format!("(unsafe {{ (*(foreign as *const Cell<u8>).add({c})).get() }})"),
            Place::Tracked => format!("c{c}.with(|c| unsafe {{ *c }})"),
            Place::Vec | Place::Fresh | Place::Keys => format!("(c{c}.len() as u8)"),
            Place::Map => format!("c{c}.get(&0).copied().unwrap_or(0)"),
            Place::Copied => format!("c{c}.1"),
            Place::Pointer => {
                format!("(boxes{c}.iter().position(|b| std::ptr::eq(&raw const **b, c{c})).unwrap() as u8)")
            }
            Place::ThreadLocal => format!("C{c}.with(Cell::get)"),
            Place::Static => format!("C{c}.load(SeqCst)"),
            Place::Arc => format!("c{c}.load(std::sync::atomic::Ordering::SeqCst)"),
            Place::Guarded => format!("(*c{c}.lock().unwrap())"),
        }
    }

    fn set(&mut self, c: u8, value: &str, depth: usize) -> Result {
        self.line(depth, &format!("let value: u8 = {value};"))?;
        let set = match self.program.counters[usize::from(c)].place {
            Place::Local => format!("c{c} = value;"),
            Place::Boxed | Place::Shared => format!("c{c}.set(value);"),
            Place::Foreign => format!("unsafe {{ (*(foreign as *const Cell<u8>).add({c})).set(value) }};"),
            Place::Tracked => format!("c{c}.with_mut(|c| unsafe {{ *c = value }});"),
            Place::Vec => format!("c{c}.resize(value.into(), 3);"),
            Place::Fresh => format!("c{c} = vec![1; value.into()];"),
            Place::Keys => format!("c{c} = (0..value).map(|key| (key, 0)).collect();"),
            Place::Map => format!("if value == 0 {{ c{c}.remove(&0); }} else {{ c{c}.insert(0, value); }}"),
            Place::Copied => format!("c{c} = (c{c}.0, value, c{c}.2);"),
            Place::Pointer => format!("c{c} = &*boxes{c}[usize::from(value)];"),
            Place::ThreadLocal => format!("C{c}.with(|c| c.set(value));"),
            Place::Static => format!("C{c}.store(value, SeqCst);"),
            Place::Arc => format!("c{c}.store(value, std::sync::atomic::Ordering::SeqCst);"),
            Place::Guarded => format!("*c{c}.lock().unwrap() = value;"),
        };
        self.line(depth, &set)
    }

    fn operation(&mut self, op: Op, depth: usize) -> Result {
        let o = if self.program.orderings == Orderings::Weak { "Relaxed" } else { "SeqCst" };
        let text = match op {
            Op::Load(a) => format!("found = a{a}.load({o});"),
            Op::Store(a, v) => format!("a{a}.store({v}, {o});"),
            Op::StoreFound(a) => format!("a{a}.store(found, {o});"),
            Op::Swap(a, v) => format!("found = a{a}.swap({v}, {o});"),
            Op::Add(a, v) => format!("found = a{a}.fetch_add({v}, {o});"),
            Op::Sub(a, v) => format!("found = a{a}.fetch_sub({v}, {o});"),
            Op::Toggle(a) => format!("found = a{a}.fetch_xor(1, {o});"),
            Op::Keep(a) => format!("found = a{a}.fetch_add(0, {o});"),
            Op::Cas(a, e, n) => format!("found = a{a}.compare_exchange({e}, {n}, {o}, {o}).is_ok().into();"),
            Op::CasWeak(a, e, n) => format!("found = a{a}.compare_exchange_weak({e}, {n}, {o}, {o}).is_ok().into();"),
            Op::Lock(m) => format!("if g{m}.is_none() {{ g{m} = Some(m{m}.lock().unwrap()); }}"),
            Op::TryLock(m) => {
                self.line(depth, &format!("let guard = m{m}.try_lock().ok();"))?;
                format!("found = guard.is_some().into(); if guard.is_some() {{ g{m} = guard; }}")
            }
            Op::Unlock(m) => format!("g{m} = None;"),
            Op::Wait(m) => format!("if let Some(g) = g{m}.take() {{ g{m} = Some(condvar.wait(g).unwrap()); }}"),
            Op::NotifyOne => "condvar.notify_one();".into(),
            Op::NotifyAll => "condvar.notify_all();".into(),
            Op::Send(v) => format!("tx.send({v}).unwrap();"),
            Op::TryRecv => "found = rx.try_recv().unwrap_or(200);".into(),
            Op::ParkTimeout(n) => format!("park_timeout(ms({n}));"),
            Op::Unpark(t) => {
                self.line(depth, &format!("let other = threads.lock().unwrap()[{t}].clone();"))?;
                "if let Some(other) = other { other.unpark(); }".into()
            }
            Op::Spawn(t) => {
                self.line(depth, &format!("if t{t}.is_none() {{"))?;
                let stmts = &self.program.threads[usize::from(t)];
                for name in self.shared {
                    self.line(depth + 1, &format!("let {name} = {name}.clone();"))?;
                }
                if ops(stmts).into_iter().any(|op| matches!(op, Op::Send(_))) {
                    self.line(depth + 1, "let tx = tx.clone();")?;
                }
                self.line(depth + 1, &format!("t{t} = Some(thread::spawn(move || {{"))?;
                self.thread(t, depth + 2)?;
                self.line(depth + 1, "}));")?;
                "}".into()
            }
            Op::Join(t) if !self.program.has(|op| matches!(op, Op::Unpark(_))) => {
                format!("if let Some(t) = t{t}.take() {{ t.join().unwrap(); }}")
            }
            Op::Join(t) => {
                format!("if let Some(t) = t{t}.take() {{ t.join().unwrap(); threads.lock().unwrap()[{t}] = None; }}")
            }
            Op::IsFinished(t) => format!("if let Some(t) = &t{t} {{ found = t.is_finished().into(); }}"),
            Op::End => unreachable!("no statement"),
            Op::Yield => "yield_now();".into(),
            Op::Spin => "spin_loop();".into(),
            Op::Sleep(n) => format!("sleep(ms({n}));"),
        };
        self.line(depth, &text)
    }
}
