//! Random programs of threads that mostly keep to a discipline: variables under locks, variables of one thread, variables that
//! nobody asks about; and sometimes break it.

use crate::generate::{Node, nodes, smaller};
use std::fmt::Write;

/// A program.
#[derive(Clone, Debug)]
pub struct Locked {
    /// The bodies of the threads, and of a procedure that they call.
    bodies: Vec<Vec<Node>>,
    /// How many threads begin with each body.
    counts: Vec<usize>,
    /// Whether `init` makes the threads.
    is_spawned: bool,
}

const DECLARATIONS: &str = "\
record Pair { guard: lock, value: 0..3 }
var l: lock;
var m: lock;
var both: [lock; 2];
var pair: Pair;
var c: condition;
var a: 0..3;
var b: 0..3;
var d: [0..3; 2];
var own0: 0..3;
var own1: 0..3;
var own2: 0..3;
var idle: 0..3;
var late: 0..3;
var flag: bool;
var n: 0..3;
";

/// A random program.
pub fn random(seed: u64) -> Locked {
    let mut rng = fastrand::Rng::with_seed(seed);
    let threads = rng.usize(2..=3);
    let mut make = Make { rng: &mut rng };
    let mut bodies: Vec<Vec<Node>> = (0..threads).map(|i| make.body(Some(i), 3, 0)).collect();
    bodies.push(make.body(None, 2, 1));
    let counts = (0..threads).map(|_| if threads == 2 && rng.u8(..4) == 0 { 2 } else { 1 }).collect();
    Locked { bodies, counts, is_spawned: rng.u8(..3) == 0 }
}

struct Make<'a> {
    rng: &'a mut fastrand::Rng,
}

impl Make<'_> {
    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.rng.usize(..from.len())]
    }

    fn body(&mut self, thread: Option<usize>, most: usize, depth: usize) -> Vec<Node> {
        (0..self.rng.usize(1..=most)).map(|_| self.node(thread, depth)).collect()
    }

    /// A value from 0 to 3; `under` is what the locks protect that are held.
    fn value(&mut self, under: &str) -> String {
        let of = [under, under, "t", "0", "1", "2", "(t + 1) % 4"];
        self.pick(&of).to_string()
    }

    fn node(&mut self, thread: Option<usize>, depth: usize) -> Node {
        let line = |text: String| Node::Line(text);
        let own = thread.map_or("t".to_string(), |i| format!("own{i}"));
        match self.rng.usize(..if depth < 2 { 18 } else { 9 }) {
            0 => line(format!("{own} = t;")),
            1 => line(format!("t = {own};")),
            2 => {
                line(self.pick(&["idle = t;", "idle = late;", "late = idle;", "n = (n + 1) % 4;", "idle = a;"]).into())
            }
            3 => line(self.pick(&["t = a;", "t = b;", "t = pair.value;", "t = d[0];", "t = late;"]).into()),
            4 => line(
                self.pick(&["a = t;", "b = 1;", "d[t % 2] = 2;", "flag = true;", "flag = t == 1;", "a, t = t, a;"])
                    .into(),
            ),
            5 => line(format!("assert {};", self.pick(&["t != 2", "a != 2", "own0 != 1", "t < 3 || b < 2", "!flag"]))),
            6 => line(self.pick(&["assume t != 1;", "assume a != 3;", "t = any 0..1;", "t = any t..2;"]).into()),
            7 => line(
                self.pick(&[
                    "await flag;",
                    "await a != 1;",
                    "let ok = l.try_acquire();",
                    "let ok = both[1].try_acquire();",
                ])
                .into(),
            ),
            8 if thread.is_some() => line("t = helper(t);".into()),
            8 => line("return t;".into()),
            9 | 10 => self.locked(thread, "l", "a", depth),
            11 | 12 => self.locked(thread, "m", "b", depth),
            13 => {
                let lock = self.pick(&["both[0]", "both[1]", "both[t % 2]"]);
                self.locked(thread, lock, "d[0]", depth)
            }
            14 => self.locked(thread, "pair.guard", "pair.value", depth),
            15 => Node::Nest(format!("if {} {{", self.pick(&["t == 1", "flag", "own0 > 0", "*"])), {
                self.body(thread, 2, depth + 1)
            }),
            16 => {
                let heads = ["for i in 0..1 {", "while t < 2 { t += 1;", "while flag {", "while * {"];
                Node::Nest(self.pick(&heads).into(), self.body(thread, 2, depth + 1))
            }
            _ => Node::Nest("atomic {".into(), {
                let lines = ["a = b;", "b = t;", "idle = a;", "assume b != 3;", "t = a;"];
                vec![Node::Line(self.pick(&lines).into()), Node::Line(self.pick(&lines).into())]
            }),
        }
    }

    /// Statements under a lock, which is mostly given back.
    fn locked(&mut self, thread: Option<usize>, lock: &str, under: &str, depth: usize) -> Node {
        let mut inner = Vec::new();
        for _ in 0..self.rng.usize(1..=3) {
            let text = match self.rng.usize(..8) {
                0 | 1 => format!("{under} = {};", self.value(under)),
                2 => format!("t = {under};"),
                3 => format!("assert {under} != {};", self.rng.u8(1..4)),
                4 => "idle = t;".into(),
                5 if lock == "l" => self.pick(&["c.wait(l);", "c.notify_one();", "c.notify_all();"]).into(),
                _ => {
                    inner.push(self.node(thread, depth.max(2)));
                    continue;
                }
            };
            inner.push(Node::Line(text));
        }
        if self.rng.u8(..12) > 0 {
            inner.push(Node::Line(format!("{lock}.release();")));
        }
        Node::Nest(format!("{lock}.acquire(); {{"), inner)
    }
}

impl Locked {
    /// The source text.
    ///
    /// # Panics
    /// Never: text grows.
    pub fn source(&self) -> String {
        let mut out = String::from(DECLARATIONS);
        let threads = self.counts.len();
        let mut helper = String::new();
        nodes(&self.bodies[threads], 1, &mut helper);
        writeln!(out, "proc helper(given: 0..3) -> 0..3 {{\n    var t: 0..3 = given;\n{helper}    return t;\n}}")
            .expect("text grows");
        let mut init = String::new();
        for (i, body) in self.bodies[..threads].iter().enumerate() {
            let mut text = String::from("    var t: 0..3;\n");
            nodes(body, 1, &mut text);
            let count = self.counts[i];
            match self.is_spawned {
                true => writeln!(out, "proc p{i}() {{\n{text}}}"),
                false => writeln!(out, "process p{i}[{count}] {{\n{text}}}"),
            }
            .expect("text grows");
            (0..count).for_each(|k| init += &format!("    let h{i}_{k} = spawn p{i}();\n"));
        }
        if self.is_spawned {
            out += &format!("init {{\n{init}    join h0_0;\n    assert own0 != 3;\n}}\n");
        }
        out
    }

    /// The smallest program that can be reached, a statement at a time, such that each still fails.
    pub fn shrink(self, mut fails: impl FnMut(&Locked) -> bool) -> Locked {
        let mut best = self;
        loop {
            let candidates = (0..best.bodies.len()).flat_map(|b| {
                let of = best.clone();
                smaller(&best.bodies[b]).into_iter().map(move |nodes| {
                    let mut less = of.clone();
                    less.bodies[b] = nodes;
                    less
                })
            });
            match candidates.into_iter().find(&mut fails) {
                Some(next) => best = next,
                None => return best,
            }
        }
    }
}
