//! Random programs of finite data whose procedures call each other without a bound, in a few threads.
//!
//! The same program can be written with a greatest height of stacks. A call that might go round stands alone in an `if *`, and with a
//! height it is left out where that is reached: so what such a program does the one without a height does, too.

use std::fmt::Write;

/// A program.
#[derive(Clone, Debug)]
pub struct Recursive {
    declarations: String,
    /// A head, and the lines of the body. In a line `@(` begins the arguments of a call.
    bodies: Vec<(String, Vec<String>)>,
}

struct Make {
    rng: fastrand::Rng,
    /// Whether what is made has the local variables of a procedure.
    waits: bool,
}

impl Make {
    fn pick(&mut self, from: &[&str]) -> String {
        from[self.rng.usize(..from.len())].to_string()
    }

    fn value(&mut self) -> String {
        self.pick(&["0", "1", "2", "x", "l", "(l + 1) % 3", "(x + 1) % 3", "2 - l", "mine"])
    }

    fn condition(&mut self) -> String {
        self.pick(&["x == l", "x != 2", "y", "!y", "l == 0", "x != l || y", "mine == l", "l < 2", "x < 2 || !y"])
    }

    fn block(&mut self, depth: usize, least: usize, most: usize, out: &mut Vec<String>) {
        for _ in 0..self.rng.usize(least..=most) {
            self.statement(depth, out);
        }
    }

    fn statement(&mut self, depth: usize, out: &mut Vec<String>) {
        let pad = "    ".repeat(depth + 1);
        let mut line = |text: String| out.push(format!("{pad}{text}"));
        match self.rng.usize(..if depth < 2 { 22 } else { 15 }) {
            0..=2 => line(format!("x = {};", self.value())),
            3 => line(self.pick(&["y = !y;", "y = true;", "y = x == l;"])),
            4 | 5 => line(format!("l = {};", self.value())),
            6 => line(format!("mine = {};", self.value())),
            7 => line(format!("assert {};", self.condition())),
            8 if self.waits => line(format!("await {};", self.condition())),
            9 => line("l = any 0..2;".into()),
            10 if self.rng.u8(..4) == 0 => line(format!("assume {};", self.condition())),
            11..=14 => {
                let call = self.pick(&["f@(", "g@(", "l = g@("]);
                line(format!("if * {{\n{pad}    {call}{});\n{pad}}}", self.value()));
            }
            15 => line("return;".into()),
            16 | 17 => {
                line("atomic {".into());
                self.waits = false;
                self.block(depth + 1, 1, 2, out);
                self.waits = true;
                out.push(format!("{pad}}}"));
            }
            18 | 19 => {
                line(format!("if {} {{", self.condition()));
                self.block(depth + 1, 1, 2, out);
                out.push(format!("{pad}}} else {{"));
                self.block(depth + 1, 0, 1, out);
                out.push(format!("{pad}}}"));
            }
            20 => {
                line("if * {".into());
                self.block(depth + 1, 1, 2, out);
                out.push(format!("{pad}}}"));
            }
            21 => {
                line("while * {".into());
                self.block(depth + 1, 1, 2, out);
                out.push(format!("{pad}}}"));
            }
            _ => line("skip;".into()),
        }
    }
}

/// A random program.
pub fn random(seed: u64) -> Recursive {
    let mut make = Make { rng: fastrand::Rng::with_seed(seed), waits: true };
    let declarations = "var x: 0..2;\nvar y: bool;\nthread var mine: 0..2;\n".to_string();
    let mut bodies = Vec::new();
    let mut f = Vec::new();
    make.block(0, 2, 4, &mut f);
    bodies.push(("proc f@(l: 0..2) {\n    var l = l;".into(), f));
    let mut g = Vec::new();
    make.block(0, 1, 3, &mut g);
    for line in &mut g {
        *line = line.replace("return;", "return l;");
    }
    g.push(format!("    return {};", make.pick(&["l", "2 - l", "mine", "x"])));
    bodies.push(("proc g@(l: 0..2) -> 0..2 {\n    var l = l;".into(), g));
    if make.rng.u8(..4) == 0 {
        bodies.push(("init {\n    var l: 0..2;".into(), vec![format!("    l = g@({});", make.pick(&["0", "1"]))]));
    }
    for process in 0..make.rng.usize(1..=2) {
        let copies = if make.rng.u8(..4) == 0 { 2 } else { 1 };
        let mut body = Vec::new();
        make.block(1, 0, 1, &mut body);
        body.push(format!("    {}{});", make.pick(&["f@(", "l = g@("]), make.pick(&["0", "1", "2"])));
        make.block(1, 0, 1, &mut body);
        bodies.push((format!("process p{process}[{copies}] {{\n    var l: 0..2;"), body));
    }
    Recursive { declarations, bodies }
}

impl Recursive {
    /// The source text, with stacks of at most so many calls of these procedures.
    ///
    /// # Panics
    /// Never: text grows.
    pub fn source(&self, height: Option<u32>) -> String {
        let mut out = self.declarations.clone();
        for (head, body) in &self.bodies {
            let is_proc = head.starts_with("proc ");
            let head = match height {
                Some(most) => head.replace("@(", &format!("@(h: 0..{most}, ")),
                None => head.clone(),
            };
            writeln!(out, "{}", head.replace("@(", "(")).expect("text grows");
            for line in body {
                let line = match (height, line.find("@(")) {
                    (Some(most), Some(_)) if is_proc || line.contains("if *") => {
                        let h = if is_proc { "h + 1, " } else { "1, " };
                        let with = line.replace("@(", &format!("({h}"));
                        if is_proc {
                            with.replacen("if * {", &format!("if h < {most} {{ if * {{"), 1) + " }"
                        } else {
                            with
                        }
                    }
                    (Some(_), Some(_)) => line.replace("@(", "(1, "),
                    _ => line.replace("@(", "("),
                };
                writeln!(out, "{line}").expect("text grows");
            }
            out += "}\n";
        }
        out
    }

    /// The smallest program that can be reached by leaving out lines of the bodies, such that each still fails.
    pub fn shrink(self, mut fails: impl FnMut(&Recursive) -> bool) -> Recursive {
        let mut best = self;
        loop {
            let places = (0..best.bodies.len()).flat_map(|b| (0..best.bodies[b].1.len()).map(move |n| (b, n)));
            let candidates: Vec<Recursive> = places
                .map(|(b, n)| {
                    let mut less = best.clone();
                    less.bodies[b].1.remove(n);
                    less
                })
                .collect();
            match candidates.into_iter().find(&mut fails) {
                Some(next) => best = next,
                None => return best,
            }
        }
    }
}
