//! Random programs of any number of threads with Boolean data, in which every statement is one step.

use crate::generate::{Node, nodes, smaller};
use std::fmt::Write;

/// A program.
#[derive(Clone, Debug)]
pub struct Parameterized {
    /// The bodies: processes of any number, one that is declared once, and a procedure that is called.
    bodies: Vec<Vec<Node>>,
    declared: Declared,
    data: Data,
}

/// What a program computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Data {
    Truth,
    /// Integers as well; and the procedure may call itself.
    Numbers,
}

/// Whether the second body is there, and where it stands in the text.
#[derive(Clone, Copy, Debug)]
enum Declared {
    Nowhere,
    First,
    Last,
}

const PROCEDURE: usize = 2;

/// A random program.
pub fn random(seed: u64) -> Parameterized {
    make(seed, &[], Data::Truth)
}

/// A random program with integers that have no size, and perhaps a procedure that calls itself (three times at most, so that a given
/// number of threads has finitely many states).
pub fn random_numbers(seed: u64) -> Parameterized {
    make(
        seed,
        &[
            "n += 1;",
            "n -= 1;",
            "atomic { n += 1; m += 1; }",
            "atomic { assume n > 0; n -= 1; }",
            "atomic { assume n == m; n += 1; x = true; }",
            "atomic { k = n; n += 1; }",
            "k = n;",
            "k = m;",
            "assume k == m;",
            "m += 1;",
            "m = k + 1;",
            "assert n >= 0;",
            "assert n <= m;",
            "assert k <= n;",
            "assert n == m || x;",
            "assert k < 3;",
            "if k == n { x = true; }",
            "if n > 0 { n -= 1; }",
            "if d < 3 { d += 1; helper(x); d -= 1; }",
            "if d < 3 { d += 1; helper(l); n += 1; }",
        ],
        Data::Numbers,
    )
}

/// A random program in which threads wait.
pub fn random_waiting(seed: u64) -> Parameterized {
    make(
        seed,
        &[
            "await x;",
            "await !x;",
            "await x != y;",
            "await l || !y;",
            "atomic { await !x; x = true; }",
            "atomic { await x; x = false; }",
            "atomic { await y; y = g; }",
            "choose { await x; } or { await y; }",
            "x = false;",
            "y = true;",
        ],
        Data::Truth,
    )
}

/// Half of the statements are of these, if there are any.
fn make(seed: u64, half: &'static [&'static str], data: Data) -> Parameterized {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut make = Make { rng: &mut rng, half, data };
    let mut any = make.body(3, true, 0);
    let mut once = make.body(2, true, 0);
    let called = make.body(2, false, 1);
    if data == Data::Numbers {
        let asked = [
            "assert n >= 0;",
            "assert n <= m;",
            "assert k <= n;",
            "assert n == m || x;",
            "assert n + m < 4;",
            "assert d == 0;",
        ];
        any.extend(["zield;".into(), make.pick(&asked)].map(Node::Line));
    }
    any.splice(..0, make.beginning());
    once.splice(..0, make.beginning());
    let declared = match seed % 6 {
        0 | 3 => Declared::Last,
        1 => Declared::First,
        _ => Declared::Nowhere,
    };
    Parameterized { bodies: vec![any, once, called], declared, data }
}

struct Make<'a> {
    rng: &'a mut fastrand::Rng,
    half: &'static [&'static str],
    data: Data,
}

impl Make<'_> {
    fn pick(&mut self, from: &[&str]) -> String {
        from[self.rng.usize(..from.len())].to_string()
    }

    fn value(&mut self) -> String {
        self.pick(&["x", "y", "g", "l", "true", "false", "!x", "!l", "x != y", "g && x", "l != g", "x && !y"])
    }

    fn body(&mut self, most: usize, calls: bool, depth: usize) -> Vec<Node> {
        (0..self.rng.usize(1..=most)).flat_map(|_| self.step(calls, depth)).collect()
    }

    /// Choices before the first scheduling point.
    fn beginning(&mut self) -> Vec<Node> {
        let lines: &[&str] = match self.rng.usize(..6) {
            0 | 1 => &["l = *;", "assume l;"],
            2 | 3 => &["l = *;", "assume !l;"],
            4 => &["l = *;", "g = *;"],
            _ => &[],
        };
        lines.iter().map(|line| Node::Line((*line).into())).collect()
    }

    /// A statement between two scheduling points.
    fn step(&mut self, calls: bool, depth: usize) -> Vec<Node> {
        if !self.half.is_empty() && self.rng.bool() {
            let line = self.half[self.rng.usize(..self.half.len())];
            return vec![Node::Line("zield;".into()), Node::Line(line.into())];
        }
        let line = match self.rng.usize(..if depth == 0 { 10 } else { 7 }) {
            0..=2 => format!("{} = {};", self.pick(&["x", "y"]), self.value()),
            3 => format!("{} = {};", self.pick(&["g", "l"]), self.value()),
            4 => format!("assume {};", self.value()),
            5 => format!("assert {};", self.pick(&["x || y || l", "!(x && y && g)", "l != x || y", "!g || !l"])),
            6 if calls => format!("helper({});", self.value()),
            6 => format!("atomic {{ x = {}; y = {}; }}", self.value(), self.value()),
            7 => format!("atomic {{ assume {}; y = {}; }}", self.value(), self.value()),
            _ => {
                let head = match self.data {
                    Data::Truth => self.pick(&["if * {", "if x {", "while l && !x {", "if g != y {"]),
                    // Numbers would grow for ever.
                    Data::Numbers => self.pick(&["if * {", "if x {", "if n > m {", "if g != y {"]),
                };
                let inner = self.body(2, calls, depth + 1);
                return vec![Node::Line("zield;".into()), Node::Nest(head, inner)];
            }
        };
        vec![Node::Line("zield;".into()), Node::Line(line)]
    }
}

impl Parameterized {
    /// The source text.
    ///
    /// # Panics
    /// Never: text grows.
    pub fn source(&self) -> String {
        let mut out = String::from("interleave explicit;\nvar x: bool;\nvar y: bool;\nthread var g: bool;\n");
        let local = match self.data {
            Data::Truth => "",
            Data::Numbers => {
                out += "var n: int;\nvar m: int;\nvar d: 0..3;\n";
                "    var k: int;\n"
            }
        };
        let order: &[usize] = match self.declared {
            Declared::Nowhere => &[PROCEDURE, 0],
            Declared::First => &[PROCEDURE, 1, 0],
            Declared::Last => &[PROCEDURE, 0, 1],
        };
        for n in order {
            let mut text = String::new();
            nodes(&self.bodies[*n], 1, &mut text);
            match *n {
                0 => writeln!(out, "process many[*] {{\n    var l: bool = false;\n{local}{text}    zield;\n}}"),
                PROCEDURE => {
                    writeln!(out, "proc helper(l: bool) {{\n    var l: bool = l;\n{local}{text}    zield;\n}}")
                }
                _ => writeln!(out, "process once[1] {{\n    var l: bool = true;\n{local}{text}    zield;\n}}"),
            }
            .expect("text grows");
        }
        out
    }

    /// The same program with the declared process in front, as rounds run it.
    pub fn in_order_of_rounds(&self) -> Parameterized {
        let declared = match self.declared {
            Declared::Last => Declared::First,
            other => other,
        };
        Parameterized { declared, ..self.clone() }
    }

    /// The smallest program that can be reached, a statement at a time, such that each still fails.
    pub fn shrink(self, mut fails: impl FnMut(&Parameterized) -> bool) -> Parameterized {
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
