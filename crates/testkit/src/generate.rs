//! Random small programs, and all programs of a small size. Everything ends: loops are bounded, nothing is unbounded.
//!
//! A program is a list of statements for each thread or task. It is written down as source text, and shrunk by leaving
//! out statements.
//!
//! Length: one generator; its shapes share statements, conditions and how they are written down and cut.

use std::fmt::Write;

/// A program as a tree that is easy to cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// What the bodies are of.
    pub shape: Shape,
    /// The bodies.
    pub bodies: Vec<Vec<Node>>,
}

/// What a program consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `process`es that start at once.
    Threads,
    /// `init` spawns all but the last, which is its own, and waits for them.
    Spawned,
    /// Tasks that the first one posts, at two levels.
    Tasks,
    /// Task buffers.
    Buffers,
    /// Task buffers whose tasks stand in queues, but for the last one.
    Queues,
    /// `init`, the last one, spawns the first several times; what is between are `process`es of two copies.
    Alike,
    /// Threads with phases of their own, of two that work together, and of all; an odd number of them are `process`es, an even one
    /// is spawned and waited for.
    Phased,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A line of source.
    Line(String),
    /// A head, nested statements, and what closes it.
    Nest(String, Vec<Node>),
}

const DECLARATIONS: &str = "\
level LOW < HIGH;
enum Colour { Red, Green, Blue }
record Cell { value: 0..3, next: ref Cell }
var x: 0..3;
var y: int;
var w: u8 = 250;
var a: [0..3; 2];
var c: Colour;
var m: map[bool] 0..3;
var p: ref Cell;
thread var mine: 0..3;
var l: lock;
var s: semaphore = semaphore { count: 1 };
var h: thread;
const NEXT = [1, 2, 0];
channel k: 0..3[1];
fn most(a: 0..3, b: 0..3) -> 0..3 { if a > b { a } else { b } }
fn near(n: 0..3) -> bool { n == x || n + 1 == x }
proc nothing() { }
proc perhaps(n: 0..3) {
    if n > 1 {
        x = n;
    }
}
proc assumes(n: 0..3) {
    let k = any 0..2;
    assume k != n;
}
proc waits(n: 0..3) -> 0..3 {
    y = y + 1;
    await y > n;
    return n;
}
proc add(n: 0..3) -> 0..3 {
    y = y + n;
    return (n + 1) % 4;
}
";

/// What programs of threads that do the same have in addition.
const OF_ALIKE: &str = "\
record Note { by: thread, of: thread_set, before: ref Note }
var hs: [thread; 2];
var ts: thread_set;
var note: ref Note;
";

/// And what those have that ask for entries of threads: they make states large.
const OF_ENTRIES: &str = "\
var marks: map[thread] 0..3;
var follows: map[thread] thread;
";

/// What programs of threads with phases have in addition. In a statement `@` is the number of its body, and `#` that of its pair.
const OF_PHASED: &str = "\
var own0: 0..3; var own1: 0..3; var own2: 0..3; var own3: 0..3; var own4: 0..3;
var duo0: 0..3; var duo1: 0..3; var duo2: 0..3;
var each: [0..3; 5];
var table: [0..3; 4] = [2, 0, 3, 1];
var lone0: lock; var lone1: lock; var lone2: lock; var lone3: lock; var lone4: lock;
var both0: lock; var both1: lock; var both2: lock;
var leaves: 0..3;
proc leaf(n: 0..3) { leaves = n; }
proc busy(n: 0..3) { var k: 0..3 = n; k = table[k]; each[4] = k; assert k != 3 || leaves != 2; }
proc turn(n: 0..3) -> 0..3 { var k: 0..3 = table[n]; if k > 1 { k = table[k]; } return k; }
";

/// A random program.
pub fn random(seed: u64, shape: Shape) -> Model {
    let mut rng = fastrand::Rng::with_seed(seed);
    let count = match shape {
        Shape::Alike => 2 + usize::from(rng.u8(..4) == 0),
        Shape::Phased => rng.usize(2..=4),
        _ => rng.usize(2..=3),
    };
    let mut bodies: Vec<Vec<Node>> = (0..count).map(|_| body(&mut rng, shape, rng_size(seed), 0)).collect();
    if let (Shape::Alike, Some(init)) = (shape, bodies.last_mut()) {
        init.truncate(1);
        for _ in 0..rng.usize(1..=2) {
            init.insert(rng.usize(..=init.len()), births(&mut rng));
        }
    }
    if let (Shape::Spawned, Some(init)) = (shape, bodies.last_mut()) {
        // Threads that others than `init` make late have other places in the rounds of `verify`.
        let at = rng.usize(..=init.len());
        init.insert(at, Node::Line(pick(&mut rng, &["h = spawn perhaps(t);", "spawn perhaps(2);", "skip;"]).into()));
    }
    Model { shape, bodies }
}

/// The same with atomic blocks that wait elsewhere than at their beginning.
pub fn random_with_waits_midway(seed: u64, shape: Shape) -> Model {
    let mut rng = fastrand::Rng::with_seed(seed ^ 0xa70);
    let mut model = random(seed, shape);
    for body in &mut model.bodies {
        for _ in 0..rng.usize(1..=2) {
            body.insert(rng.usize(..=body.len()), Node::Nest("atomic {".into(), waiting_midway(&mut rng)));
        }
    }
    model
}

/// What may stand inside of `atomic`: something, waits, and something more.
fn waiting_midway(rng: &mut fastrand::Rng) -> Vec<Node> {
    let before = [
        "x = (x + 1) % 4;",
        "t = any 0..2;",
        "x = any 0..t;",
        "choose { x = 1; } or { t = 2; } or { y = y + 1; }",
        "p = new Cell { value: x, next: p };",
        "a[x % 2] = t;",
        "y = y + x;",
        "await x != 2;",
        "assert t != 1 || x != 3;",
        "assume x != 3;",
        "for i in 0..2 { y = y + i; await y < 7; }",
        "mine = (mine + 1) % 4;",
        "t = add(1);",
    ];
    let waits = [
        "await x == t;",
        "await x == 1 || y > 2;",
        "await a[0] == x;",
        "s.acquire();",
        "l.acquire(); l.release();",
        "t = k.receive();",
        "k.send(x);",
        "k.send(x); t = k.receive();",
        "choose { await x == 1; t = 0; } or { await y > 0; t = 1; } or { s.acquire(); }",
        "select { when x == t { t = 1; } or when t = k.receive() { x = t; } }",
        "if x > 0 { await y > 0; } else { x = 1; }",
        "if h != null && h != self { join h; }",
        "t = waits(x);",
        "p = p.next; await p == null;",
        "await mine != x; mine = x;",
    ];
    let behind = ["y = y + 1;", "x = t;", "await y != 3;", "s.release();", "c = any Colour;", "a[1] = x;", "skip;"];
    let mut lines = Vec::new();
    for _ in 0..rng.usize(0..=2) {
        lines.push(pick(rng, &before));
    }
    lines.push(pick(rng, &waits));
    lines.push(pick(rng, &behind));
    if rng.u8(..3) == 0 {
        lines.push(pick(rng, &waits));
    }
    lines.into_iter().map(|line| Node::Line(line.into())).collect()
}

/// Makes threads that do the same.
fn births(rng: &mut fastrand::Rng) -> Node {
    let line = pick(
        rng,
        &[
            "spawn p0(1); spawn p0(1);",
            "for i in 0..1 { spawn p0(2); }",
            "for i in 0..1 { spawn p0(i); }",
            "for i in 0..1 { hs[i] = spawn p0(1); }",
            "h = spawn p0(0); spawn p0(0);",
            "{ let f = spawn p0(1); let g = spawn p0(1); join f; join g; }",
            "{ let f = spawn p0(1); let g = spawn p0(1); hs = [f, g]; x = 1; join g; }",
            "atomic { spawn p0(1); h = spawn perhaps(1); spawn p0(1); }",
            "atomic { hs = [null, null]; spawn nothing(); hs[1] = spawn nothing(); hs[0] = spawn nothing(); } spawn p0(2); spawn p0(2);",
            "{ var f: [thread; 2]; for i in 0..1 { f[i] = spawn p0(1); } for i in 0..1 { join f[i]; } }",
        ],
    );
    Node::Line(line.into())
}

/// What tells threads apart, and what does not.
fn of_alike(rng: &mut fastrand::Rng) -> Node {
    let line = pick(
        rng,
        &[
            "ts.insert(self);",
            "ts.remove_any();",
            "ts.remove_any(); if ts.contains(self) { x = 3; }",
            "atomic { ts.insert(self); x = 1; }",
            "await !ts.contains(self);",
            "assert !ts.contains(h) || x != 2;",
            "hs[x % 2] = self;",
            "hs[n % 2] = self;",
            "if hs[0] == self { x = n; }",
            "h = hs[1];",
            "if h != null && h != self { join h; }",
            "if hs[0] != null && hs[0] != self { join hs[0]; }",
            "{ let me = self; x = n; assert me != h || x != 1; }",
            "{ let other = h; y = y + 1; assert other == null || other == h; }",
            "{ let other = hs[0]; x = 1; if other != null && other != self { join other; } }",
            "note = new Note { by: self, before: note };",
            "if note != null { note.of.insert(self); x = n; }",
            "if note != null { let by = note.by; assert by != self || x != 2; }",
            "{ let mine = note; x = 1; assert mine == null || mine.by == self || x != 3; }",
            "if note != null { let by = note.by; if by != null && by != self { join by; } }",
            "hs[1] = spawn nothing();",
            "spawn perhaps(n);",
            "h = spawn perhaps(2);",
            "{ var mates: thread_set; mates.insert(self); if h != null { mates.insert(h); } x = 2; mates.remove_any(); assert !mates.contains(self) || x == 2; }",
            "mine = n;",
            "mine = (mine + 1) % 4; assert mine != 3;",
            "marks[self] = n;",
            "marks[self] = (marks[self] + 1) % 4;",
            "x = marks[self];",
            "if h != null { marks[h] = t; }",
            "if h != null { t = marks[h]; marks[h] = 0; }",
            "follows[self] = h;",
            "if follows[self] != null && follows[self] != self { join follows[self]; }",
            "if h != null { h = follows[h]; }",
            "assert (count v in marks: v == 2) < 2 || x != 1;",
            "atomic { marks[self] = 3; await x != 2; follows[self] = self; }",
        ],
    );
    Node::Line(line.into())
}

/// What is done alone, by two, or by all; and what may fail, wait for ever or have no end.
fn of_phased(rng: &mut fastrand::Rng) -> Node {
    let line = if rng.u8(..6) == 0 { pick(rng, &OF_PHASED_CHECKS) } else { pick(rng, &OF_PHASED_STEPS) };
    Node::Line(line.into())
}

const OF_PHASED_STEPS: [&str; 34] = [
    "own@ = t;",
    "own@ = x;",
    "t = own@;",
    "own@ = (own@ + 1) % 4; t = own@;",
    "own@ = 1; own@ = 2; own@ = 3;",
    "each[@] = t;",
    "t = each[@];",
    "each[t] = 1;",
    "t = table[t];",
    "t = turn(t);",
    "own@ = any 0..3;",
    "choose { own@ = 1; } or { t = 2; }",
    "if * { own@ = 2; } else { duo# = t; }",
    "atomic { own@ = x; }",
    "atomic { t = own@; own@ = t / 2; }",
    "atomic { t = table[t]; duo# = t; }",
    "atomic { await duo# == 0; duo# = 1; }",
    "lone@.acquire(); own@ = t; lone@.release();",
    "both#.acquire(); duo# = t; both#.release();",
    "l.acquire(); x = t; own@ = x; l.release();",
    "duo# = t;",
    "t = duo#;",
    "duo# = (duo# + 1) % 4;",
    "if cas(own@, 0, 1) { x = 1; }",
    "if cas(duo#, 0, 1) { t = 1; }",
    "while own@ < 2 { own@ = own@ + 1; }",
    "spawn leaf(t);",
    "spawn busy(t);",
    "{ let c = spawn leaf(t); join c; }",
    "{ let c = spawn busy(t); own@ = 1; join c; t = leaves; }",
    "h = spawn nothing();",
    "mine = t; own@ = mine;",
    "{ let n = new Cell { value: t }; own@ = n.value; }",
    "own@ = t; zield; t = own@;",
];

const OF_PHASED_CHECKS: [&str; 15] = [
    "assert own@ != 3;",
    "assert own@ + x != 5;",
    "assert duo# != 2 || own@ == 1;",
    "assume own@ != 2;",
    "assume own@ == 1 || x != 2;",
    "assume t == 1 && own@ == 3;",
    "t = 4 / own@ - 1;",
    "await own@ != 3;",
    "await duo# != 1;",
    "await x != 2;",
    "await x == 0 || own@ == 1;",
    "while own@ != 3 { own@ = (own@ + 2) % 4; }",
    "loop { own@ = (own@ + 1) % 2; if * { break; } }",
    "loop { own@ = 0; if x == 1 { break; } }",
    "loop { t = own@; }",
];

fn rng_size(seed: u64) -> usize {
    2 + (seed % 3) as usize
}

fn body(rng: &mut fastrand::Rng, shape: Shape, size: usize, depth: usize) -> Vec<Node> {
    (0..rng.usize(1..=size)).map(|_| node(rng, shape, depth)).collect()
}

fn pick<'a>(rng: &mut fastrand::Rng, from: &[&'a str]) -> &'a str {
    from[rng.usize(..from.len())]
}

fn value(rng: &mut fastrand::Rng) -> &'static str {
    pick(
        rng,
        &[
            "0",
            "1",
            "2",
            "x",
            "a[0]",
            "t",
            "(x + t) % 4",
            "mine",
            "m[x == 1]",
            "a[x % 2]",
            "if x == t { 1 } else { a[1] }",
            "most(x, t)",
            "most(a[1], most(t, 1))",
            "NEXT[t]",
            "(sum v in a: v) % 4",
            "count i in 0..1: a[i] == x",
        ],
    )
}

fn condition(rng: &mut fastrand::Rng) -> &'static str {
    pick(
        rng,
        &[
            "x == t",
            "x > 0 && a[0] == x",
            "y < 2 || x == 1",
            "c == Colour.Red",
            "p == null",
            "w > 3",
            "t != mine",
            "*",
            "near(t)",
            "forall v in a: v <= x",
            "exists i in 0..1: a[i] == t",
        ],
    )
}

fn node(rng: &mut fastrand::Rng, shape: Shape, depth: usize) -> Node {
    let line = |text: String| Node::Line(text);
    let tasks = matches!(shape, Shape::Tasks | Shape::Buffers | Shape::Queues);
    if shape == Shape::Alike && rng.u8(..4) == 0 {
        return of_alike(rng);
    }
    if shape == Shape::Queues && depth == 0 && rng.u8(..4) == 0 {
        return line(pick(rng, &["post follow(x);", "post follow(t);", "post @HIGH follow(2);", "yield;"]).into());
    }
    if shape == Shape::Phased && rng.u8(..5) != 0 {
        return of_phased(rng);
    }
    if !tasks && rng.u8(..8) == 0 {
        let made = ["h = spawn nothing();", "spawn nothing();", "spawn assumes(t);", "h = spawn assumes(2);"];
        let used = ["if h != null { join h; }", "assert h == null || h != self;", "h = self;", "print(self, h);"];
        let spawns = shape == Shape::Spawned && depth == 0 && rng.bool();
        return line(pick(rng, if spawns { &made } else { &used }).into());
    }
    match rng.usize(..if depth < 2 { 22 } else { 15 }) {
        0 | 1 => line(format!("x = {};", value(rng))),
        2 => line(format!("t = {};", value(rng))),
        3 => line(format!("a[{}] = {};", pick(rng, &["0", "1", "x % 2", "t % 2"]), value(rng))),
        4 => line(
            pick(rng, &["y = y + 1;", "y += x;", "y = x - y;", "w += 3;", "w = w * w;", "w = (x as u8) << w;"]).into(),
        ),
        5 => line(
            pick(
                rng,
                &[
                    "c = Colour.Green;",
                    "c = any Colour;",
                    "x = any 0..1;",
                    "t = any 0..x;",
                    "t = any t..2;",
                    "x = any 1..1;",
                    "m[true] = x;",
                    "if true { x = t; }",
                    "zield; skip;",
                    "if * { t = 1; } else { zield; }",
                ],
            )
            .into(),
        ),
        6 => line(format!("t = add({});", value(rng))),
        7 => line(
            pick(
                rng,
                &[
                    "p = new Cell { value: x };",
                    "p = new Cell { next: p };",
                    "p = null;",
                    "if p != null { x = p.value; }",
                    "if p != null { p = p.next; }",
                ],
            )
            .into(),
        ),
        8 => line(format!("mine = {};", value(rng))),
        9 => line(format!("assert {};", pick(rng, &["x < 3 || t < 3", "y < 7", "w != 253", "!(x == 1 && t == 2)"]))),
        10 => line(
            pick(
                rng,
                &[
                    "assume x != 3;",
                    "assume t < 3;",
                    "assume y == 1;",
                    "{ let v = y; assume v != 1; }",
                    "{ let k = any 1..y; }",
                    "print(x, y);",
                    "skip;",
                ],
            )
            .into(),
        ),
        11 => line(
            pick(rng, &["let done = cas(x, 0, 1);", "let old = fetch_add(y, 1);", "let old = exchange(x, t);"]).into(),
        ),
        12 if tasks => {
            line(pick(rng, &["yield;", "zield;", "post follow(x);", "post @HIGH follow(t);", "yield;"]).into())
        }
        12 | 13 => line(
            pick(
                rng,
                &[
                    "s.acquire();",
                    "s.release();",
                    "await x == t || y > 0;",
                    "let ok = s.try_acquire();",
                    "k.send(x);",
                    "t = k.receive();",
                    "k.try_send(t);",
                    "let (ok, v) = k.try_receive();",
                    "select { when x == t { t = 1; } or when t = k.receive() { x = t; } else { y = y + 1; } }",
                    "select { when y > 0 { x = 0; } or when k.send(t) { t = 2; } or when a[0] == x { t = 3; } }",
                ],
            )
            .into(),
        ),
        14 => line(
            pick(
                rng,
                &[
                    "x, t = t, x;",
                    "t, a[t % 2] = 1, x;",
                    "x = t;",
                    "t = x;",
                    "y = t;",
                    "x = x;",
                    "a = a;",
                    "atomic { x = x; }",
                ],
            )
            .into(),
        ),
        15 | 16 => Node::Nest("l.acquire(); {".into(), {
            let mut inner = body(rng, shape, 2, 3);
            inner.push(Node::Line("l.release();".into()));
            inner
        }),
        17 => Node::Nest("atomic {".into(), atomic(rng)),
        18 | 19 => Node::Nest(format!("if {} {{", condition(rng)), body(rng, shape, 2, depth + 1)),
        20 => Node::Nest("for i in 0..1 {".into(), body(rng, shape, 2, depth + 1)),
        _ => Node::Nest("choose { x = 0; } or {".into(), body(rng, shape, 2, depth + 1)),
    }
}

/// Statements that may stand inside `atomic`.
fn atomic(rng: &mut fastrand::Rng) -> Vec<Node> {
    let first = pick(rng, &["await x != 2;", "x = (x + 1) % 4;", "y = y + x;"]);
    let more = pick(rng, &["a[0] = x;", "t = add(1);", "if x == 0 { y = 0; }", "c = Colour.Blue;"]);
    vec![Node::Line(first.into()), Node::Line(more.into())]
}

impl Model {
    /// The source text.
    pub fn source(&self) -> String {
        let mut out = String::from(DECLARATIONS);
        // Among the tasks of one buffer a step is more than one access.
        if self.shape == Shape::Alike {
            out += OF_ALIKE;
        }
        if self.shape == Shape::Phased {
            out += OF_PHASED;
        }
        if matches!(self.shape, Shape::Threads | Shape::Spawned | Shape::Alike | Shape::Phased) {
            out += "invariant rare: x != 2 || a[1] != 3 || y == 0;\n";
        }
        let local = "    var t: 0..3;\n";
        if matches!(self.shape, Shape::Tasks | Shape::Buffers | Shape::Queues) {
            out += "proc follow(n: 0..3) {\n    x = n;\n    yield;\n    y = y + x;\n}\n";
        }
        for (i, body) in self.bodies.iter().enumerate() {
            let mut text = String::from(local);
            nodes(body, 1, &mut text);
            if self.shape == Shape::Phased {
                text = text.replace('@', &i.to_string()).replace('#', &(i / 2).to_string());
            }
            match self.shape {
                Shape::Phased if self.bodies.len().is_multiple_of(2) => writeln!(out, "proc p{i}() {{\n{text}}}"),
                Shape::Phased if i == 2 => writeln!(out, "process p{i}[2] {{\n{text}}}"),
                Shape::Phased => writeln!(out, "process p{i}[1] {{\n{text}}}"),
                Shape::Threads => writeln!(out, "process p{i}[1] {{\n{text}}}"),
                Shape::Queues if i + 1 < self.bodies.len() => writeln!(out, "buffer b{i} fifo {{\n{text}}}"),
                Shape::Buffers | Shape::Queues => writeln!(out, "buffer b{i} {{\n{text}}}"),
                Shape::Spawned if i + 1 == self.bodies.len() => break,
                Shape::Alike if i + 1 == self.bodies.len() => writeln!(out, "init {{\n    var n: 0..3;\n{text}}}"),
                Shape::Alike if i > 0 => writeln!(out, "process p{i}[2] {{\n    var n: 0..3;\n{text}}}"),
                Shape::Alike => writeln!(out, "proc p0(n: 0..3) {{\n{text}}}"),
                Shape::Spawned | Shape::Tasks => writeln!(out, "proc p{i}() {{\n{text}}}"),
            }
            .expect("text grows");
        }
        if ["marks", "follows"].iter().any(|map| out.contains(map)) {
            out += OF_ENTRIES;
        }
        let all = 0..self.bodies.len();
        let start: String = match self.shape {
            Shape::Threads | Shape::Buffers | Shape::Queues | Shape::Alike => return out,
            Shape::Phased if !self.bodies.len().is_multiple_of(2) => return out,
            Shape::Phased => {
                let births = all.clone().map(|i| format!("    let h{i} = spawn p{i}();\n")).collect::<String>();
                births
                    + &all.map(|i| format!("    join h{i};\n")).collect::<String>()
                    + "    assert own0 != 2 || own1 != 2;\n"
            }
            Shape::Spawned => {
                let Some((own, spawned)) = self.bodies.split_last() else { return out };
                let mut init: String = (0..spawned.len()).map(|i| format!("    let h{i} = spawn p{i}();\n")).collect();
                init += local;
                nodes(own, 1, &mut init);
                init + &(0..spawned.len()).map(|i| format!("    join h{i};\n")).collect::<String>()
            }
            Shape::Tasks => all.map(|i| format!("    post{} p{i}();\n", if i == 1 { " @HIGH" } else { "" })).collect(),
        };
        out + &format!("init {{\n{start}}}\n")
    }

    /// Smaller programs: one statement less, or one nest replaced by what is in it.
    fn smaller(&self) -> Vec<Model> {
        let mut out = Vec::new();
        for (b, body) in self.bodies.iter().enumerate() {
            let with = |nodes: Vec<Node>| {
                let mut model = self.clone();
                model.bodies[b] = nodes;
                model
            };
            out.extend(smaller(body).into_iter().map(with));
        }
        if self.bodies.len() > 1 {
            for b in 0..self.bodies.len() {
                let mut model = self.clone();
                model.bodies.remove(b);
                out.push(model);
            }
        }
        out
    }

    /// The smallest program that can be reached such that each still fails.
    pub fn shrink(self, mut fails: impl FnMut(&Model) -> bool) -> Model {
        let mut best = self;
        while let Some(next) = best.smaller().into_iter().find(&mut fails) {
            best = next;
        }
        best
    }
}

pub(crate) fn smaller(nodes: &[Node]) -> Vec<Vec<Node>> {
    let mut out = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        let replaced = |by: Vec<Node>| [&nodes[..i], &by, &nodes[i + 1..]].concat();
        out.push(replaced(Vec::new()));
        if let Node::Nest(head, inner) = node {
            out.push(replaced(inner.clone()));
            out.extend(smaller(inner).into_iter().map(|less| replaced(vec![Node::Nest(head.clone(), less)])));
        }
    }
    out
}

pub(crate) fn nodes(list: &[Node], depth: usize, out: &mut String) {
    let indent = "    ".repeat(depth);
    for node in list {
        match node {
            Node::Line(text) => writeln!(out, "{indent}{text}").expect("text grows"),
            Node::Nest(head, inner) => {
                writeln!(out, "{indent}{head}").expect("text grows");
                nodes(inner, depth + 1, out);
                writeln!(out, "{indent}}}").expect("text grows");
            }
        }
    }
}

/// All programs of two threads of at most `length` instructions each, up to the order of the threads.
pub fn all_small(length: usize) -> Vec<String> {
    const INSTRUCTIONS: &[&str] = &[
        "r = x;",
        "x = r + 1;",
        "r = y;",
        "y = r + 1;",
        "l.acquire();",
        "l.release();",
        "await x > 0;",
        "assert y < 2;",
    ];
    let mut bodies = vec![Vec::new()];
    let mut last = bodies.clone();
    for _ in 0..length {
        let longer =
            |b: &Vec<&'static str>| INSTRUCTIONS.iter().map(|i| [b.as_slice(), &[*i]].concat()).collect::<Vec<_>>();
        last = last.iter().flat_map(longer).collect();
        bodies.extend(last.iter().cloned());
    }
    let mut out = Vec::new();
    for (i, one) in bodies.iter().enumerate() {
        for other in &bodies[i..] {
            let body = |b: &Vec<&str>| format!("    var r: int = 0;\n    {}\n", b.join("\n    "));
            out.push(format!(
                "var x: int;\nvar y: int;\nvar l: lock;\nprocess p[1] {{\n{}}}\nprocess q[1] {{\n{}}}\n",
                body(one),
                body(other)
            ));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_programs_compile_and_shrink() {
        for shape in [Shape::Threads, Shape::Spawned, Shape::Tasks, Shape::Buffers, Shape::Queues, Shape::Alike] {
            for seed in 0..200 {
                let model = random(seed, shape);
                let source = model.source();
                let compiled = fabius_lang::compile(&source, &Default::default());
                assert!(compiled.is_ok(), "{:?}\n{source}", compiled.err());
                let has_x = |m: &Model| m.source().contains("x = 0;");
                if has_x(&model) {
                    let small = model.shrink(has_x);
                    assert_eq!(small.bodies.concat().len(), 1, "{}", small.source());
                }
            }
        }
        assert_eq!(all_small(1).len(), 9 * 10 / 2);
    }
}
