//! Sequential meaning: random functions give the same results as what the compiler of the machine makes of them.
//!
//! Length: one function for each form of C that is generated.

mod common;

use common::{Found, check};
use fastrand::Rng;
use std::fmt::Write;
use std::process::Command;

const TYPES: [&str; 10] = [
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "long",
    "unsigned long",
    "_Bool",
    "char",
];

/// What all functions may call.
const COMMON: &str = "typedef long (*op)(long, long);
static long op0(long a, long b) { return a + b; }
static long op1(long a, long b) { return a - b; }
static long op2(long a, long b) { return (a ^ b) + 7; }
static long op3(long a, long b) { return a > b; }
static op ops[4] = { op0, op1, op2, op3 };
struct pair { int n; op f; double d; };
static struct pair pairs[2] = { { 3, op1, 1.5 }, { -7, op2, -0.1 } };
static long through(const struct pair *p, long a) { return p->f ? p->f(p->n, a) : (long)(p->d * 4); }
static struct pair twin(struct pair p, float by) { p.n++; p.d = p.d * by; return p; }
static int again(int n, int *sum) { if (n <= 0) return 1; *sum += n; return n * again(n - 1, sum) + (n & 1 ? again(n - 2, sum) : 0); }
static unsigned long bits(double d) { union { double d; unsigned long l; } u = { d }; return d == d ? u.l : 5; }
static unsigned narrow(float f) { union { unsigned l; float f; } u; u.f = f; return f == f ? u.l : 7; }
static unsigned whole(const void *p, unsigned long n) { const unsigned char *b = p; unsigned h = 0; while (n--) h = h * 31 + *b++; return h; }
struct parts { short a; char b[2]; unsigned c; };
static int sign(int n) { return (n > 0) - (n < 0); }
";

/// A function under construction.
struct Maker<'r> {
    rng: &'r mut Rng,
    text: String,
    /// Variables: what to write, and the type.
    places: Vec<(String, &'static str)>,
    loops: u32,
    depth: u32,
    earlier: u32,
    /// Whether it has numbers and texts.
    wide: bool,
    /// Whether it has variables that stay, rows, and names of numbers.
    stays: bool,
}

impl Maker<'_> {
    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.rng.usize(..all.len())].clone()
    }

    fn constant(&mut self) -> String {
        let n = match self.rng.u8(..6) {
            0 => self.rng.i64(-3..4),
            1 => self.rng.i64(-200..300),
            2 => i64::from(self.rng.i32(..)),
            3 => self.rng.i64(..) / 2,
            4 => self.pick(&[127, 128, 255, 256, 32767, 32768, 65535, 65536, i64::from(i32::MAX), 1 << 31]),
            _ => self.rng.i64(0..10),
        };
        let suffix = self.pick(&["", "", "u", "l", "ul"]);
        if n < 0 { format!("(-{}{suffix})", n.unsigned_abs()) } else { format!("{n}{suffix}") }
    }

    fn operand(&mut self) -> String {
        if self.rng.u8(..4) == 0 {
            self.constant()
        } else {
            let all = self.places.clone();
            self.pick(&all).0
        }
    }

    /// A floating-point number.
    fn number(&mut self, depth: u32) -> String {
        if depth == 0 {
            let v = self.rng.u8(..4);
            let some = [
                "d0",
                "d1",
                "e0",
                "e1",
                "d0",
                "e1",
                "w.d",
                "pairs[p & 1].d",
                "0.0",
                "1.5",
                "(-2.25f)",
                "1e10",
                "0.1",
                "0.1f",
                "3e-40f",
                "1e300",
                "(-7.0)",
                "(double)q",
            ];
            return if v == 0 {
                format!("({}){}", self.pick(&["double", "float"]), self.operand())
            } else {
                self.pick(&some).into()
            };
        }
        let (a, b) = (self.number(depth - 1), self.number(depth - 1));
        match self.rng.u8(..8) {
            0..=4 => format!("({a} {} {b})", self.pick(&["+", "-", "*", "/"])),
            5 => format!("({}{a})", self.pick(&["-", "+", "(float)", "(double)"])),
            6 => format!("({} ? {a} : {b})", self.operand()),
            _ => format!("({a} * {})", self.operand()),
        }
    }

    /// Something that depends on numbers, strings, functions by pointers, recursion or statement expressions.
    fn other(&mut self) -> String {
        let (a, b) = (self.operand(), self.operand());
        let (x, y) = (self.number(1), self.number(2));
        match self.rng.u8(..17) {
            0 | 1 => format!("({x} {} {y})", self.pick(&["<", ">", "<=", ">=", "==", "!="])),
            2 => format!("(!{x})"),
            3 => format!("({x} && {y})"),
            4 | 5 => {
                let ty = self.pick(&TYPES[..8]);
                let (least, most) = if ty.starts_with("unsigned") { ("-1", "200") } else { ("-129", "128") };
                format!("({y} > {least} && {y} < {most} ? ({ty}){y} : 3)")
            }
            6 => format!("(_Bool){y}"),
            7 => format!("ops[({a}) & 3]({b}, {a})"),
            8 => format!("through(&pairs[({a}) & 1], {b})"),
            9 => format!("(again(({a}) & 3, &sum) + ({b}))"),
            10 => format!("({{ long held = {a}; if ({b}) held += {x} > 0; held - 1; }})"),
            11 => format!("strlen(text + (({a}) & 3))"),
            12 => format!(
                "sign({}(text, \"{}\"{}))",
                self.pick(&["strcmp", "strcmp"]),
                self.pick(&["ab", "zz", "", "a"]),
                ""
            ),
            13 => format!("(strchr(text, ({a}) & 1 ? 'b' : '1') ? {b} : 4)"),
            14 => format!("whole(&{0}, sizeof {0})", self.pick(&["vl", "vi", "vs", "vp"])),
            15 => format!("((signed char *)&vl)[({a}) & 7]"),
            _ => format!("narrow({x})"),
        }
    }

    /// A statement that changes numbers, texts, or things at places with side effects.
    fn change(&mut self, pad: &str) -> String {
        let (a, x, y) = (self.operand(), self.number(1), self.number(2));
        let at = ["d0", "d1", "e0", "e1", "w.d"][self.rng.usize(..5)];
        match self.rng.u8(..19) {
            0..=3 => format!("{pad}{at} = {y};"),
            4 => format!("{pad}{at} {}= {x};", self.pick(&["+", "-", "*", "/"])),
            5 => format!("{pad}{at}{};", self.pick(&["++", "--"])),
            6 => format!("{pad}w = twin(w, {x});"),
            7 => format!("{pad}w = (struct pair){{ .d = {x}, .n = sizeof text }};"),
            8 => format!("{pad}row[k++ & 3] {}= {a};", self.pick(&["", "+", "^", "*"])),
            9 => format!(
                "{pad}snprintf(text, sizeof text, \"{}\", ({}){a}, \"b1\");",
                self.pick(&["%d-%s", "%x%.1s", "%5d|%-4s|"]),
                "int"
            ),
            10 => format!("{pad}memset(text + (({a}) & 3), {a}, 4); text[15] = 0;"),
            11 => format!("{pad}memmove(text + 1, text, 9); text[15] = 0;"),
            12 => format!("{pad}{{ char *c = text + (({a}) & 3); *c++ ^= 1; *c++ += {a}; *--c |= 64; }}"),
            13 => format!("{pad}((unsigned char *)&vl)[({a}) & 7] = {a};"),
            14 => format!("{pad}*((char *)&vi + 1) += {a};"),
            15 => format!("{pad}memcpy(&vi, text + 2, sizeof vi);"),
            16 => {
                format!("{pad}memcpy(text + 6, &{0}, sizeof {0}); text[15] = 0;", self.pick(&["vl", "vi", "vs", "vp"]))
            }
            17 => format!("{pad}vp.c += {a}; vs ^= {a}; vp.b[1]++; vl -= {a};"),
            _ => format!("{pad}{{ double many[3] = {{ {x}, [2] = {y} }}; {at} = many[({a}) & 1] - many[2]; }}"),
        }
    }

    fn expression(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.operand();
        }
        if self.wide && self.rng.u8(..6) == 0 {
            return self.other();
        }
        let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
        match self.rng.u8(..14) {
            0..=4 => {
                let op = self.pick(&["+", "-", "*", "&", "|", "^"]);
                format!("({a} {op} {b})")
            }
            5 => {
                let op = self.pick(&["/", "%"]);
                format!("({a} {op} (({b} & 7) + 1))")
            }
            6 => {
                let op = self.pick(&["<<", ">>"]);
                format!("({a} {op} ({b} & 15))")
            }
            7 | 8 => {
                let op = self.pick(&["<", ">", "<=", ">=", "==", "!="]);
                format!("({a} {op} {b})")
            }
            9 => {
                let op = self.pick(&["&&", "||"]);
                format!("({a} {op} {b})")
            }
            10 => {
                let op = self.pick(&["-", "~", "!", "+"]);
                format!("({op}{a})")
            }
            11 => {
                let ty = self.pick(&TYPES);
                format!("(({ty}){a})")
            }
            12 => {
                let c = self.operand();
                format!("({c} ? {a} : {b})")
            }
            _ if self.earlier > 0 => {
                let f = self.rng.u32(..self.earlier);
                format!("f{f}({a}, {b})")
            }
            _ => a,
        }
    }

    /// A statement about what stays from call to call, rows, compound literals, and names of numbers.
    fn stay(&mut self, pad: &str) -> String {
        let (a, b) = (self.operand(), self.operand());
        let ty = self.pick(&TYPES);
        match self.rng.u8(..10) {
            0 => format!("{pad}{{ {ty} *c = ({ty}[3]){{ {a}, [2] = {b} }}; st = c[st & 1] + c[2]; }}"),
            1 => format!(
                "{pad}for (int r = 0; r < 2; r++) for (int c = 0; c < 3; c++) {{ if (sa[r][c] == {a}) continue; sa[r][c] += r * c; }}"
            ),
            2 => format!(
                "{pad}{{ __typeof__(sa) copy; memcpy(copy, sa, sizeof sa); st = copy[1][p & 1] + sizeof copy; }}"
            ),
            3 => format!("{pad}rows = &sa[({a}) & 1];"),
            4 => format!("{pad}en = st == ONE ? TWO : ({a}) ? ONE : en;"),
            5 => format!("{pad}st = strlen(names[({a}) & 1]) + names[1][({b}) & 1] + !names[2];"),
            6 => format!("{pad}st += ({ty})((*rows)[({a}) & 1] = {b}, (*rows)[2]);"),
            7 => format!(
                "{pad}switch (en) {{ case ONE: st ^= {a}; case TWO: wd++; break; case 5 ... 9: st--; default: wd = {b}; }}"
            ),
            8 => format!(
                "{pad}{{ struct {{ {ty} k[2]; int of[2][2]; }} t = {{ .of[1] = {{ 3 }}, .k = {{ [1] = {a} }} }}, u = t; st += u.k[1] + u.of[1][0] + u.of[1][1]; }}"
            ),
            _ => format!("{pad}goto in_{0}; {{ wd = 0; in_{0}: wd += {a}; }}", self.fresh()),
        }
    }

    /// A number that no other label has.
    fn fresh(&mut self) -> u32 {
        self.loops += 1;
        self.loops
    }

    fn statement(&mut self, out: &mut String, indent: usize) {
        let pad = "    ".repeat(indent);
        if self.stays && self.rng.u8(..4) == 0 {
            let text = self.stay(&pad);
            out.push_str(&text);
            out.push('\n');
            return;
        }
        let mut all = self.places.clone();
        all.retain(|(place, _)| !place.starts_with("sizeof"));
        let (place, _) = self.pick(&all);
        let depth = self.rng.u32(1..4);
        if self.wide && self.rng.u8(..4) == 0 {
            let text = self.change(&pad);
            out.push_str(&text);
            out.push('\n');
            return;
        }
        match self.rng.u8(..16) {
            0..=4 => { let e = self.expression(depth); writeln!(out, "{pad}{place} = {e};") }
            5 | 6 => {
                let op = self.pick(&["+=", "-=", "*=", "&=", "|=", "^="]);
                let e = self.expression(depth);
                writeln!(out, "{pad}{place} {op} {e};")
            }
            7 => { let e = self.expression(1); let op = self.pick(&["<<=", ">>="]); writeln!(out, "{pad}{place} {op} ({e} & 7);") }
            8 => {
                let (other, _) = self.pick(&all);
                let op = self.pick(&["++", "--"]);
                if other != place { writeln!(out, "{pad}{other} = {place}{op};") } else { writeln!(out, "{pad}{op}{place};") }
            }
            9 | 10 if self.depth < 3 => {
                self.depth += 1;
                let e = self.expression(2);
                let (mut yes, mut no) = (String::new(), String::new());
                self.statement(&mut yes, indent + 1);
                self.statement(&mut no, indent + 1);
                self.depth -= 1;
                writeln!(out, "{pad}if ({e}) {{\n{yes}{pad}}} else {{\n{no}{pad}}}")
            }
            11 if self.depth < 2 => {
                self.depth += 1;
                self.loops += 1;
                let i = format!("i{}", self.loops);
                let n = self.rng.u32(1..5);
                let mut body = String::new();
                self.statement(&mut body, indent + 1);
                let e = self.expression(1);
                let leave = self.pick(&["break", "continue"]);
                let mut after = String::new();
                self.statement(&mut after, indent + 1);
                self.depth -= 1;
                writeln!(out, "{pad}for (int {i} = 0; {i} < {n}; {i}++) {{\n{body}{pad}    if ({e}) {leave};\n{after}{pad}}}")
            }
            12 if self.depth < 2 => {
                self.depth += 1;
                let e = self.expression(1);
                let mut cases = String::new();
                for k in 0..3 {
                    let mut body = String::new();
                    self.statement(&mut body, indent + 1);
                    let end = if self.rng.bool() { "break;" } else { "" };
                    let _ = writeln!(cases, "{pad}case {k}:\n{body}{pad}    {end}");
                }
                let mut body = String::new();
                self.statement(&mut body, indent + 1);
                self.depth -= 1;
                writeln!(out, "{pad}switch ({e} & 3) {{\n{cases}{pad}default:\n{body}{pad}}}")
            }
            13 if self.depth < 2 => {
                self.depth += 1;
                self.loops += 1;
                let i = format!("i{}", self.loops);
                let n = self.rng.u32(1..4);
                let mut body = String::new();
                self.statement(&mut body, indent + 1);
                self.depth -= 1;
                writeln!(out, "{pad}{{ int {i} = 0; do {{\n{body}{pad}}} while (++{i} < {n}); }}")
            }
            14 if self.depth < 2 => {
                self.depth += 1;
                self.loops += 1;
                let (n, k) = (self.loops, self.rng.u32(1..4));
                let mut body = String::new();
                self.statement(&mut body, indent + 1);
                self.depth -= 1;
                let e = self.expression(1);
                writeln!(out, "{pad}{{\n{pad}int n{n} = 0;\n{pad}again{n}: ;\n{body}{pad}if (++n{n} < {k}) goto again{n};\n{pad}if ({e}) goto out{n};\n{pad}v1++;\n{pad}out{n}: ;\n{pad}}}")
            }
            _ => { let e = self.expression(depth); let f = self.expression(1); writeln!(out, "{pad}{place} = ({e}, {f});") }
        }
        .expect("text is written");
    }

    /// Bit-fields, and unions: the same memory seen in several ways.
    fn overlaid(&mut self) {
        let mut fields = String::new();
        for i in 0..self.rng.usize(2..7) {
            let ty =
                self.pick(&["int", "unsigned", "unsigned char", "signed char", "short", "unsigned short", "_Bool"]);
            let most = match ty {
                "int" | "unsigned" => 32,
                "short" | "unsigned short" => 16,
                "_Bool" => 1,
                _ => 8,
            };
            match self.rng.u8(..8) {
                0 => {
                    let _ = write!(fields, "{ty} h{i}; ");
                    self.places.push((format!("b0.h{i}"), ty));
                }
                1 => {
                    let _ = write!(fields, "{} : 0; ", self.pick(&["int", "short", "char"]));
                }
                2 => {
                    let _ = write!(fields, "{ty} : {}; ", self.rng.u32(1..=most));
                }
                _ => {
                    let _ = write!(fields, "{ty} h{i} : {}; ", self.rng.u32(1..=most));
                    for of in ["b0.", "b1.", "bp->"] {
                        self.places.push((format!("{of}h{i}"), ty));
                    }
                }
            }
            // A run has 64 bits at most.
            if i % 2 == 1 {
                let _ = write!(fields, "char g{i}; ");
                self.places.push((format!("b0.g{i}"), "char"));
            }
        }
        let packed = self.pick(&["", "", "__attribute__((packed))"]);
        let _ = writeln!(
            self.text,
            "    struct bits {{ char first; {fields} }} {packed} b0 = {{ 1 }}, b1 = {{ 2 }}, *bp = &b1;"
        );
        self.places.push(("sizeof(struct bits)".into(), "size"));
        let whole = &TYPES[..8];
        let (x, y, z) = (self.pick(whole), self.pick(whole), self.pick(whole));
        let _ = writeln!(
            self.text,
            "    union over {{ unsigned char c[16]; {x} x; {y} y[2]; struct {{ {z} a; {x} b; unsigned w : 5; int v : 9; }} s; unsigned long l; }} \
             u0 = {{ {{ 1, 2, [7] = 200 }} }}, u1 = {{ .l = {}ul }}, *up = &u0;\n    unsigned char *uc = &u0.c[2];",
            self.rng.u64(..)
        );
        for place in [
            "u0.x",
            "u1.y[p & 1]",
            "up->s.a",
            "u0.s.b",
            "u1.l",
            "up->c[(v0 + p) & 7]",
            "u0.s.w",
            "up->s.v",
            "uc[q & 3]",
            "up->y[1]",
        ] {
            self.places.push((place.into(), "overlaid"));
        }
        let _ = writeln!(self.text, "    for (int k = 0; k < 16; k++) u1.c[k] = (unsigned char)(k * 37 + p);");
    }

    /// The types of [`Maker::nested`]: a union in a struct in a union, without padding, which compilers copy and Fabius does not.
    fn nested_types(&mut self, n: u32) {
        let (word, half, bits) =
            self.pick(&[("unsigned short", "char", 16), ("unsigned", "short", 32), ("long", "int", 32)]);
        let packed = self.rng.bool();
        let (other, layout) = if packed { (self.pick(&TYPES[..8]), "__attribute__((packed))") } else { (word, "") };
        let (at, end) = (self.rng.u32(1..bits), if bits == 16 { "" } else { self.pick(&["", "unsigned : 0;"]) });
        let base = if bits == 16 { "unsigned short" } else { "unsigned" };
        let more = if word == "long" { "int h;" } else { "" };
        let bytes = if self.rng.bool() { "unsigned char c[sizeof(int)];" } else { "" };
        let pieces = if self.rng.bool() { format!("{half} p[2];") } else { String::new() };
        let (f, g, k) = (self.rng.u32(1..32), self.rng.u32(1..32), self.rng.u32(1..17));
        let _ = writeln!(
            self.text,
            "struct bits{n} {{ unsigned f : {f}; int g : {g}; short h; unsigned k : {k}; }} __attribute__((packed));\n\
             union in{n} {{ {word} a; struct {{ {base} f : {at}; {base} g : {}; {end} {more} }} s; {pieces} {} }};\n\
             struct mid{n} {{ {other} pad; union in{n} u; {} }} {layout};\n\
             union out{n} {{ struct mid{n} m; unsigned long l; union in{n} n[2]; struct bits{n} b; {bytes} }};\n\
             static struct mid{n} turn{n}(struct mid{n} m, union in{n} u) {{ m.u = u; m.pad += 3; return m; }}\n\
             static union in{n} get{n}(union out{n} *p) {{ return p->m.u; }}\n\
             static struct bits{n} flip{n}(struct bits{n} b) {{ b.g = ~b.g; b.h++; return b; }}",
            bits - at,
            if packed { "unsigned char odd[5];" } else { "" },
            if packed { format!("struct bits{n} in;") } else { String::new() },
        );
    }

    /// A union in a struct in a union, and a struct of bit-fields in one.
    fn nested(&mut self, n: u32) {
        let _ = writeln!(
            self.text,
            "    union out{n} o0, o1, *op = &o1; struct mid{n} t0, *mp = &o0.m; union in{n} x0, *ip = &o1.m.u; struct bits{n} b2;\n    \
             memset(&o0, 0, sizeof o0); memset(&o1, 0, sizeof o1); memset(&t0, 0, sizeof t0); memset(&x0, 0, sizeof x0); memset(&b2, 0, sizeof b2);\n    \
             o0.l = {}ul; o1.l = {}ul; o1.m.u.a = p; o0.n[1].a = q;",
            self.rng.u64(..),
            self.rng.u64(..)
        );
        for place in [
            "o0.m.pad",
            "op->m.u.a",
            "mp->u.s.f",
            "ip->s.g",
            "o1.l",
            "op->n[p & 1].a",
            "o0.n[1].s.g",
            "t0.u.a",
            "t0.pad",
            "x0.s.f",
            "o0.b.g",
            "op->b.k",
            "b2.h",
            "b2.f",
        ] {
            self.places.push((place.into(), "nested"));
        }
        for ty in ["union in", "struct mid", "struct bits", "union out"] {
            self.places.push((format!("sizeof({ty}{n})"), "size"));
        }
    }

    /// Copies of wholes, of which no two overlap in part.
    fn copies(&mut self, n: u32) {
        for _ in 0..self.rng.u32(2..6) {
            let copy = self.pick(&[
                "o0.m = o1.m;",
                "t0 = op->m;",
                "op->m = t0;",
                "x0 = o0.m.u;",
                "o0.m.u = x0;",
                "*ip = o0.n[1];",
                "*ip = t0.u;",
                "o0.n[p & 1] = x0;",
                "x0 = op->n[q & 1];",
                "*mp = o1.m;",
                "x0 = get#(op);",
                "t0 = turn#(o0.m, *ip);",
                "op->m = turn#(*mp, x0);",
                "o0.m.u = turn#(t0, get#(&o1)).u;",
                "memset(&o0.m.u, 0, sizeof o0.m.u);",
                "b2 = op->b;",
                "o0.b = b2;",
                "op->b = flip#(o0.b);",
                "o1.b = o0.b;",
                "o0 = *op;",
                "op = (q & 1) ? &o0 : &o1;",
            ]);
            let _ = writeln!(self.text, "    {}", copy.replace('#', &n.to_string()));
        }
    }

    fn function(&mut self, n: u32) {
        let nested = self.rng.bool();
        if nested {
            self.nested_types(n);
        }
        let _ = writeln!(self.text, "static unsigned long f{n}(int p, long q) {{");
        self.places = vec![("p".into(), "int"), ("q".into(), "long")];
        let memory = self.rng.u8(..3);
        for i in 0..4 {
            let ty = self.pick(&TYPES);
            let c = self.constant();
            let _ = writeln!(self.text, "    {ty} v{i} = {c};");
            self.places.push((format!("v{i}"), ty));
        }
        if memory > 0 {
            let (ty, other) = (self.pick(&TYPES), self.pick(&TYPES));
            let _ = writeln!(self.text, "    {ty} a[4] = {{ 1, [2] = {} }};", self.rng.u8(..100));
            let _ = writeln!(
                self.text,
                "    struct {{ {other} x; struct {{ {ty} y; {ty} z[2]; }} in; }} s = {{ .in.y = 7 }}, r = s;"
            );
            for (place, ty) in [
                ("a[0]", ty),
                ("a[p & 3]", ty),
                ("a[(v0 + 1) & 3]", ty),
                ("s.x", other),
                ("s.in.y", ty),
                ("s.in.z[q & 1]", ty),
                ("r.in.y", ty),
            ] {
                self.places.push((place.into(), ty));
            }
            if memory > 1 {
                let _ = writeln!(self.text, "    {ty} *d = &a[1], *e = &s.in.z[0];");
                let _ = writeln!(
                    self.text,
                    "    struct node {{ struct node *next; {other} value; }} n0 = {{ 0, 3 }}, n1 = {{ &n0, 5 }}, *l = &n1;"
                );
                for (place, ty) in [
                    ("(*d)", ty),
                    ("d[p & 1]", ty),
                    ("(*e)", ty),
                    ("e[1]", ty),
                    ("l->value", other),
                    ("l->next->value", other),
                ] {
                    self.places.push((place.into(), ty));
                }
            }
        }
        self.wide = self.rng.bool();
        if self.wide {
            self.text += "    double d0 = 1.25, d1 = q; float e0 = p, e1 = 0.1f; struct pair w = pairs[q & 1];\n    \
                          int sum = 0, k = 1, vi = p; long vl = q; unsigned short vs = p; struct parts vp = { 1, { 2, 3 }, 4 }; short row[4] = { 1, 2 }; char text[16] = \"abc1\";\n";
        }
        self.stays = self.rng.bool();
        if self.stays {
            let (ty, other) = (self.pick(&TYPES), self.pick(&TYPES));
            let c = self.constant();
            let _ = writeln!(
                self.text,
                "    enum {{ ONE = -2, TWO, MORE = 7 }} en = TWO; typedef {other} word; word wd = {c}; static int st = 3;\n    \
                 static {ty} sa[2][3] = {{ {{ 1, 2 }}, [1] = {{ [2] = 7 }} }}; {ty} (*rows)[3] = sa;\n    \
                 static const char *const names[] = {{ \"x\", \"yz\", [3] = \"w\" }};"
            );
            for (place, ty) in
                [("st", "int"), ("wd", other), ("sa[p & 1][q & 1]", ty), ("(*rows)[1]", ty), ("sa[1][2]", ty)]
            {
                self.places.push((place.into(), ty));
            }
        }
        let overlaid = self.rng.bool();
        if overlaid {
            self.overlaid();
        }
        if nested {
            self.nested(n);
        }
        let statements = self.rng.u32(3..8);
        for k in 0..statements {
            let mut out = String::new();
            self.statement(&mut out, 1);
            self.text += &out;
            if overlaid && k == 1 {
                self.text += "    b1 = b0; u1 = *up; bp = (q & 1) ? &b0 : &b1;\n";
            }
            if nested {
                self.copies(n);
            }
            if memory > 1 && k == 1 {
                self.text += "    d = d + 1; if (q & 1) d--;\n    r = s;\n";
            }
        }
        self.text += "    unsigned long h = 17;\n";
        let mut shown: Vec<String> = self.places.iter().map(|(p, _)| p.clone()).collect();
        if memory > 1 {
            shown.push("(d - a)".into());
        }
        if self.stays {
            shown.push("en".into());
        }
        if self.wide {
            let more = [
                "bits(d0)",
                "bits(d1)",
                "narrow(e0)",
                "bits(e1)",
                "bits(w.d)",
                "w.n",
                "sum",
                "k",
                "row[1]",
                "row[2]",
                "vl",
                "vi",
                "vs",
                "vp.a",
                "vp.b[0]",
                "vp.c",
            ];
            shown.extend(more.map(String::from));
            shown.extend((0..16).map(|i| format!("text[{i}]")));
        }
        for place in shown {
            let _ = writeln!(self.text, "    h = h * 31 + (unsigned long)({place});");
        }
        self.text += "    return h;\n}\n";
    }
}

const CALLS: [(i32, i64); 3] = [(0, 0), (5, -7), (-123_456_789, 1 << 40)];

/// Functions, and how often their results agree.
fn compare(seed: u64, functions: u32) {
    let mut rng = Rng::with_seed(seed);
    let mut maker = Maker {
        rng: &mut rng,
        text: String::new(),
        places: Vec::new(),
        loops: 0,
        depth: 0,
        earlier: 0,
        wide: false,
        stays: false,
    };
    for n in 0..functions {
        maker.earlier = n.min(2);
        maker.function(n);
    }
    let text = format!("#include <assert.h>\n#include <stdio.h>\n#include <string.h>\n{COMMON}{}", maker.text);
    let calls: Vec<String> = (0..functions).flat_map(|n| CALLS.map(|(p, q)| format!("f{n}({p}, {q}l)"))).collect();
    let folder = std::env::temp_dir().join(format!("fabius-sequential-{}-{seed}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let file = folder.join("printed.c");
    let prints: String = calls.iter().map(|c| format!("    printf(\"%lu\\n\", {c});\n")).collect();
    std::fs::write(&file, format!("{text}int main(void) {{\n{prints}    return 0;\n}}\n"))
        .expect("the file is written");
    let program = folder.join("printed");
    let run = |compiler: &str| {
        let flags = ["-O0", "-fwrapv", "-fno-strict-aliasing", "-w", "-Wno-packed-bitfield-compat", "-Wno-psabi", "-o"];
        let made = Command::new(compiler).args(flags).arg(&program).arg(&file).status().ok()?;
        assert!(made.success(), "{compiler}, seed {seed}");
        let output = Command::new(&program).output().expect("the program runs");
        assert!(output.status.success(), "seed {seed}");
        Some(String::from_utf8(output.stdout).expect("numbers"))
    };
    let values = run("cc").expect("cc runs");
    // Where there is another compiler, it says the same.
    if let Some(others) = run("clang") {
        assert_eq!(values, others, "seed {seed}: the compilers do not agree");
    }
    let asserts: String =
        calls.iter().zip(values.lines()).map(|(c, v)| format!("    assert({c} == {v}ul);\n")).collect();
    let file = folder.join("asserted.c");
    std::fs::write(&file, format!("{text}int main(void) {{\n{asserts}    return 0;\n}}\n"))
        .expect("the file is written");
    let found = check(&[&file], "all");
    assert!(matches!(found, Found::Verified), "seed {seed}: {found:?}\n{}", file.display());
    std::fs::remove_dir_all(&folder).expect("the folder is removed");
}

#[test]
fn random_functions_give_what_the_compiler_says() {
    (0..12).for_each(|seed| compare(seed, 4));
}

/// The type of `c ? a : b` is that of both, where `c` is a constant, too.
#[test]
fn the_branch_that_a_constant_leaves_out_has_a_say_in_the_type() {
    let text = "#include <assert.h>
int main(void) {
    int v = -968918237;
    long q = 8;
    assert(v <= (1 ? (v * 7u) : q));
    assert((0 ? q : 7u) > v);
    assert(sizeof(1 ? (char)1 : (char)2) == sizeof(int));
    assert(sizeof(0 ? 1ul : (short)2) == sizeof(long));
    assert((1 ? -1 : 0u) > 0);
    int n = 0;
    assert((1 ? 2 : n++) == 2 && n == 0);
    int *none = 1 ? 0 : &n;
    assert(!none);
    1 ? (void)n++ : (void)0;
    assert(n == 1);
    return 0;
}
";
    let folder = std::env::temp_dir().join(format!("fabius-conditional-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let file = folder.join("conditional.c");
    std::fs::write(&file, text).expect("the file is written");
    let found = check(&[&file], "all");
    assert_eq!(found, Found::Verified);
    std::fs::remove_dir_all(&folder).expect("the folder is removed");
}

/// `cargo test -p fabius-c --test sequential -- --ignored`; `FABIUS_SEEDS=from..to` says which.
#[test]
#[ignore = "takes minutes"]
fn thousands_of_functions_give_what_the_compiler_says() {
    let seeds = std::env::var("FABIUS_SEEDS").unwrap_or_default();
    let (from, to) = seeds
        .split_once("..")
        .map_or((100, 1100), |(a, b)| (a.parse().expect("a number"), b.parse().expect("a number")));
    (from..to).for_each(|seed| compare(seed, 4));
}
