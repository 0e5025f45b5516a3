//! Random asynchronous programs of finite data, whose tasks end: what translations are compared on.
//!
//! Tasks post only tasks with greater numbers, at most one level up. Updates depend on their order.

use crate::generate::{Node, nodes, smaller};
use fabius_lang::program::BufferKind;
use std::fmt::Write;

/// What the programs of a kind have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Priority levels, 1 to 3.
    pub levels: u8,
    /// Task buffers, 1 to 3.
    pub buffers: usize,
    /// Whether tasks yield.
    pub yields: bool,
    /// What holds their tasks.
    pub of: BufferKind,
}

/// A program.
#[derive(Clone, Debug)]
pub struct Tasks {
    kind: Kind,
    /// The bodies of the tasks, of the helper, and of the buffers.
    bodies: Vec<Vec<Node>>,
}

const TASKS: usize = 4;
/// Posts that a task may have, by its number.
const POSTS: [usize; TASKS] = [2, 1, 1, 0];

/// A random program.
pub fn random(seed: u64, kind: Kind) -> Tasks {
    let mut rng = fastrand::Rng::with_seed(seed);
    let levels: Vec<u8> = (0..TASKS).map(|_| rng.u8(..kind.levels)).collect();
    let mut make = Make { rng: &mut rng, kind, levels: &levels };
    let mut bodies: Vec<Vec<Node>> = (0..TASKS).map(|t| make.body(t + 1, levels[t], POSTS[t])).collect();
    bodies.push(make.helper());
    bodies.extend((0..kind.buffers).map(|_| make.body(0, 0, if kind.buffers == 1 { 3 } else { 1 })));
    Tasks { kind, bodies }
}

struct Make<'a> {
    rng: &'a mut fastrand::Rng,
    kind: Kind,
    levels: &'a [u8],
}

impl Make<'_> {
    fn pick(&mut self, from: &[&str]) -> String {
        from[self.rng.usize(..from.len())].to_string()
    }

    fn value(&mut self) -> String {
        self.pick(&["x", "y", "l", "(2 * x + 1) % 4", "(2 * x + y) % 4", "(x + l) % 4", "(y + 3) % 4", "2"])
    }

    /// A body of a task that posts those from `first` on.
    fn body(&mut self, first: usize, level: u8, posts: usize) -> Vec<Node> {
        let mut left = posts;
        (0..self.rng.usize(1..=4)).map(|_| self.node(first, level, &mut left, 0)).collect()
    }

    fn node(&mut self, first: usize, level: u8, posts: &mut usize, depth: usize) -> Node {
        let choices = if depth == 0 { 12 } else { 10 };
        loop {
            let line = match self.rng.usize(..choices) {
                0 | 1 => format!("{} = {};", self.pick(&["x", "y"]), self.value()),
                2 => format!("l = {};", self.value()),
                3 => format!("{} = h({});", self.pick(&["x", "l"]), self.value()),
                4 if self.kind.yields => "yield;".into(),
                5 if self.kind.buffers > 1 || self.kind.yields => {
                    (if self.kind.buffers > 1 { "zield;" } else { "yield;" }).into()
                }
                6 => format!("assume {};", self.pick(&["x != 3", "y != 2", "x != y || l == 0"])),
                7..=9 if *posts > 0 => {
                    let reachable: Vec<usize> = (first..TASKS).filter(|t| self.levels[*t] <= level + 1).collect();
                    let Some(t) = self.rng.choice(reachable) else { continue };
                    *posts -= 1;
                    format!("post @L{} t{t}({});", self.levels[t], self.value())
                }
                10 => {
                    let head = self.pick(&["if * {", "if x == y {", "if x < 2 {", "if l == y {"]);
                    let inner = (0..self.rng.usize(1..=2)).map(|_| self.node(first, level, posts, 1)).collect();
                    return Node::Nest(head, inner);
                }
                11 => format!("{} = any 0..1;", self.pick(&["x", "l"])),
                _ => continue,
            };
            return Node::Line(line);
        }
    }

    fn helper(&mut self) -> Vec<Node> {
        let mut nodes = vec![Node::Line(format!("y = {};", self.value()))];
        if self.kind.yields {
            nodes.push(Node::Line("yield;".into()));
        }
        if self.kind.buffers > 1 {
            nodes.push(Node::Line("zield;".into()));
        }
        nodes.push(Node::Line("return (x + l) % 4;".into()));
        nodes
    }
}

impl Tasks {
    /// The source text.
    ///
    /// # Panics
    /// Never: text grows.
    pub fn source(&self) -> String {
        let levels: Vec<String> = (0..self.kind.levels).map(|l| format!("L{l}")).collect();
        let mut out = format!("interleave explicit;\nlevel {};\nvar x: 0..3;\nvar y: 0..3;\n", levels.join(" < "));
        let kind = if self.kind.of == BufferKind::Fifo { "fifo " } else { "" };
        for (n, body) in self.bodies.iter().enumerate() {
            let mut text = String::new();
            nodes(body, 1, &mut text);
            match n {
                _ if n < TASKS => writeln!(out, "proc t{n}(l: int) {{\n    var l: int = l;\n{text}}}"),
                TASKS => writeln!(out, "proc h(l: int) -> int {{\n{text}}}"),
                _ => writeln!(out, "buffer b{n} {kind}{{\n    var l: int = 0;\n{text}}}"),
            }
            .expect("text grows");
        }
        out
    }

    /// The smallest program that can be reached, a statement at a time, such that each still fails.
    pub fn shrink(self, mut fails: impl FnMut(&Tasks) -> bool) -> Tasks {
        let mut best = self;
        loop {
            let candidates: Vec<Tasks> = (0..best.bodies.len())
                .filter(|b| *b != TASKS)
                .flat_map(|b| {
                    let with = |nodes: Vec<Node>| {
                        let mut less = best.clone();
                        less.bodies[b] = nodes;
                        less
                    };
                    smaller(&best.bodies[b]).into_iter().map(with).collect::<Vec<_>>()
                })
                .collect();
            match candidates.into_iter().find(&mut fails) {
                Some(next) => best = next,
                None => return best,
            }
        }
    }
}
