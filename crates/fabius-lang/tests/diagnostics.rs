//! Every error of the analysis: its code, what it underlines, and that nothing else is reported along with it.
//!
//! The source is written with `«` and `»` around what is underlined.

use fabius_lang::{Options, compile};

/// Code, and the program with its one mistake.
const MISTAKES: &[(&str, &str)] = &[
    ("E0201", "var x: int; var «x»: bool; init { skip; }"),
    ("E0201", "var «lock»: int; init { skip; }"),
    ("E0201", "enum E { A, «A» } init { skip; }"),
    ("E0201", "record R { a: int, «a»: int } init { skip; }"),
    ("E0201", "record R { a: int } init { let r = R { a: 1, «a»: 2 }; }"),
    ("E0201", "init { skip; } «init { skip; }»"),
    ("E0202", "init { assert «missing» == 1; }"),
    ("E0203", "var x: «strange»; init { skip; }"),
    ("E0204", "init { «missing»(); }"),
    ("E0204", "init { spawn «missing»(); }"),
    ("E0205", "enum E { A } var e: E; init { e = E.«B»; }"),
    ("E0205", "record R { a: int } var r: R; init { r.«b» = 1; }"),
    ("E0205", "record R { a: int } var r: R; init { r = R { «b»: 1 }; }"),
    ("E0206", "var m: lock; init { m.«aquire»(); }"),
    ("E0206", "var s: thread_set; init { s.«add»(self); }"),
    ("E0206", "var x: int; init { x.«acquire»(); }"),
    ("E0207", "level LOW < HIGH; proc p() { skip; } init { post @«HIHG» p(); }"),
    ("E0208", "var x: int;«»"),
    ("E0209", "const A = «B»; const B = 1; init { skip; }"),
    ("E0301", "var b: bool; init { b = «1»; }"),
    ("E0301", "init { if «1» { skip; } }"),
    ("E0301", "record R { a: int } var r: ref R; init { join «r»; }"),
    ("E0301", "var a: [int; 2] = «[1, 2, 3]»; init { skip; }"),
    ("E0302", "var x: u8; var y: u16; init { assert «x + y» == 1; }"),
    ("E0302", "var b: bool; init { assert «b + 1» == 2; }"),
    ("E0302", "init { assert !«3»; }"),
    ("E0302", "var b: bool; var x: u8; init { x = «b» as u8; }"),
    ("E0303", "proc p(a: int) { skip; } init { «p»(); }"),
    ("E0303", "proc p() { «return 1;» } init { p(); }"),
    ("E0303", "proc p() -> (int, int) { return (1, 2); } init { let a = «p()»; }"),
    ("E0303", "var m: lock; init { «m.acquire(1)»; }"),
    ("E0304", "const N = 1; init { «N» = 2; }"),
    ("E0304", "init { let t = 1; «t» = 2; }"),
    ("E0304", "var x: int; init { «x + 1» = 3; }"),
    ("E0305", "var x: int; var y: int = «x»; init { skip; }"),
    ("E0306", "var x: 0..3 = «4»; init { skip; }"),
    ("E0306", "var x: u8; init { x = «300»; }"),
    ("E0306", "const N = «1 / 0»; init { skip; }"),
    ("E0307", "var x: «3..1»; init { skip; }"),
    ("E0307", "var x: [int; «0»]; init { skip; }"),
    ("E0307", "var x: map[«int»] bool; init { skip; }"),
    ("E0307", "process p[«100000»] { skip; }"),
    ("E0308", "record «R» { a: R } init { skip; }"),
    ("E0309", "init { let p = «null»; }"),
    ("E0310", "var x: int; init { assert «x».f == 1; }"),
    ("E0310", "var x: int; init { assert «x»[0] == 1; }"),
    ("E0311", "var x: int; init { x = «*»; }"),
    ("E0311", "var x: u64; init { x = «any u64»; }"),
    ("E0301", "fn f(a: int) -> bool { «a» } init { assert f(1); }"),
    ("E0301", "fn f(a: int) -> int { a } init { let t = f(«true»); }"),
    ("E0302", "var a: [bool; 2]; init { let t = sum v in a: «v»; }"),
    ("E0303", "fn f(a: int) -> int { a } init { let t = «f»(1, 2); }"),
    ("E0303", "var x: int; var y: int; init { «x, y = 1, 2, 3;» }"),
    ("E0304", "process p[i in 0..1] { «i» = 2; }"),
    ("E0304", "process p[i: *] { «i» = 2; }"),
    ("E0305", "var n: int; init { assert forall i in 0..«n»: i < 3; }"),
    ("E0305", "const «C»: thread = null; init { skip; }"),
    ("E0306", "const A = [1, 2]; process p[i in 0..2] { let t = «A[i]»; }"),
    ("E0307", "process p[i in «0..5000»] { skip; }"),
    ("E0307", "init { assert forall i in «0..5000»: i < 3; }"),
    ("E0310", "var x: int; init { assert forall v in «x»: v == 1; }"),
    ("E0310", "var x: int; init { assert len(«x») == 1; }"),
    ("E0312", "fn f(a: int) -> int { «f»(a) } init { assert f(1) == 1; }"),
    ("E0202", "process p[i in 0..1] { skip; } init { let t = «i»; }"),
    ("E0204", "fn f(a: int) -> int { a } init { spawn «f»(1); }"),
    ("E0409", "fn f(a: int) -> int { a } init { «f(1)»; }"),
    ("E0201", "channel x: int[1]; var «x»: int; init { skip; }"),
    ("E0206", "channel c: int[1]; init { c.«push»(1); }"),
    ("E0206", "channel c: int[0]; init { let ok = c.«try_send»(1); }"),
    ("E0301", "channel c: int[1]; init { c.send(«true»); }"),
    ("E0301", "channel c: bool[1]; var x: int; init { x = «c.receive()»; }"),
    ("E0303", "channel c: int[1]; init { c.«send»(); }"),
    ("E0303", "channel c: int[1]; init { select { when let x = «c.send(1)» { skip; } } }"),
    ("E0307", "channel c: int[«5000»]; init { skip; }"),
    ("E0408", "channel c: int[1]; channel d: int[1]; init { c = «d»; }"),
    ("E0408", "channel c: «lock»[1]; init { skip; }"),
    ("E0405", "channel c: int[0]; init { atomic { «c.send(1)»; } }"),
    ("E0313", "thread var t: int; invariant i: «t» == 0; init { t = 1; }"),
    ("E0313", "var h: thread; invariant i: h == «self»; init { h = self; }"),
    ("E0314", "proc p() { yield; } var x: int; invariant «i»: x == 0; init { post p(); x = 1; }"),
    ("E0307", "channel c: int[«0»] lossy; init { c.send(1); }"),
    ("E0206", "channel c: int[1] lossy; init { let ok = c.«try_send»(1); }"),
    ("E0206", "channel c: int[1] unordered; init { await peek(«c») == 1; }"),
    ("E0310", "var x: int; init { await peek(«x») == 1; }"),
    ("E0303", "channel c: int[1]; init { await «peek»(c, c) == 1; }"),
    ("E0315", "enum E { A, B, C } var e: E; init { «match e» { A { skip; } } }"),
    ("E0315", "var n: int; init { «match n» { 0..9 { skip; } } }"),
    ("E0315", "var n: 0..9; var x: int; init { x = «match n { 0..3 { 1 } 5..9 { 2 } }»; }"),
    ("E0315", "var b: bool; init { «match b» { } }"),
    ("E0316", "enum E { A, B } var e: E; init { match e { A { skip; } B, «A» { skip; } } }"),
    ("E0316", "var n: u8; init { match n { 0..9 { skip; } «9..12» { skip; } else { skip; } } }"),
    ("E0305", "var n: 0..3; init { match n { «n» { skip; } else { skip; } } }"),
    ("E0306", "var n: 0..3; init { match n { «4» { skip; } else { skip; } } }"),
    ("E0306", "var n: 0..3; init { match n { «2..1» { skip; } else { skip; } } }"),
    ("E0301", "enum E { A, B } var e: E; init { match e { «A..B» { skip; } } }"),
    ("E0301", "record R { x: int } var r: R; init { «match r» { 0 { skip; } else { skip; } } }"),
    ("E0301", "var n: 0..1; var x: int; init { x = «match n { 0 { 1 } 1 { true } }»; }"),
    ("E0101", "var n: 0..3; init { match n { 0 «=»> { skip; } else { skip; } } }"),
    ("E0401", "var n: 0..3; var x: int; init { x = x + match «n» { 0 { 1 } else { 2 } }; }"),
    ("E0313", "thread var t: int; property p: eventually «t» == 0; init { t = 1; }"),
    ("E0313", "var h: thread; var x: int; property p: x == 1 leads to h == «self»; init { h = self; }"),
    ("E0314", "interleave explicit; var x: int; property «p»: eventually x == 1; init { x = 1; }"),
    ("E0201", "var x: int; property «x»: eventually true; init { x = 1; }"),
    ("E0101", "var x: int; property p: always «x» == 0; init { x = 1; }"),
    ("E0101", "var x: int; property p: x == 0«;» init { x = 1; }"),
    ("E0101", "var x: int; property p: eventually x == 0 under «fairness»; init { x = 1; }"),
    ("E0101", "var x: int; property p: eventually x == 0 without «fear»; init { x = 1; }"),
    ("E0301", "var x: int; property p: eventually «x»; init { x = 1; }"),
    ("E0317", "var x: bool; property p: eventually x under weak fairness of «q»; process r[1] { x = true; }"),
    (
        "E0317",
        "var x: bool; property p: eventually x under weak fairness of «r»[3]; process r[i in 0..1] { x = true; }",
    ),
    ("E0317", "var x: bool; property p: eventually x under weak fairness of «q»; proc q() { x = true; } init { q(); }"),
    ("E0317", "var x: bool; property p: eventually x under weak fairness of r, «r»; process r[1] { x = true; }"),
    (
        "E0317",
        "var x: bool; property p: eventually x under weak fairness and «strong fairness»; process r[1] { x = true; }",
    ),
    (
        "E0317",
        "var x: bool; property p: eventually x under weak fairness of «q»; proc q() { x = true; } init { spawn q(); post q(); }",
    ),
    ("E0307", "init { var m: «map[thread] int»; }"),
    ("E0307", "record R { m: «map[thread] int» } init { skip; }"),
    ("E0307", "thread var m: «map[thread] int»; init { skip; }"),
    ("E0305", "var m: map[thread] int = «[1; 64]»; init { m[self] = 1; }"),
    ("E0408", "var m: map[thread] int; var k: map[thread] int; init { m = «k»; }"),
    ("E0408", "var m: «map[thread] lock»; init { skip; }"),
    ("E0301", "var m: map[thread] int; init { m[«1»] = 1; }"),
    ("E0307", "var s: set[«int»]; init { skip; }"),
    ("E0307", "var b: bag[«u32»; 3]; init { skip; }"),
    ("E0307", "var q: seq[int; «0»]; init { skip; }"),
    ("E0101", "var q: seq[int«]»; init { skip; }"),
    ("E0408", "var q: seq[«lock»; 2]; init { skip; }"),
    ("E0206", "var s: set[0..3]; init { s.«add»(1); }"),
    ("E0206", "var s: set[0..3]; var n: int; init { n = s.«count»(1); }"),
    ("E0206", "var q: seq[0..3; 2]; init { let x = q.«take»(); }"),
    ("E0303", "var s: set[0..3]; init { s.«insert»(); }"),
    ("E0310", "var s: set[0..3]; var n: int; init { n = «s».size; }"),
    ("E0310", "var s: set[0..3]; var n: bool; init { n = «s[0]»; }"),
    ("E0306", "var s: set[0..3] = [1, «4»]; init { skip; }"),
    ("E0301", "var q: seq[int; 2] = «[1, 2, 3]»; init { skip; }"),
    ("E0305", "var s: set[0..3]; var x: 0..3; init { s = «[x]»; }"),
    ("E0304", "record R { n: int } var q: seq[R; 2]; init { «q[0].n» = 1; }"),
    ("E0304", "var q: seq[set[0..3]; 2]; init { «q[0]».insert(1); }"),
    ("E0304", "var s: set[0..3]; init { let t = s; «t».insert(1); }"),
    ("E0401", "var q: seq[int; 2]; var x: int; init { x = x + «q[0]»; }"),
    ("E0401", "var s: set[0..3]; var x: 0..3; var b: bool; init { b = b && s.contains(«x»); }"),
    ("E0308", "record «R» { next: seq[R; 2] } init { skip; }"),
    ("E0410", "var m: lock; init { select { when «m.acquire()» { skip; } } }"),
    ("E0410", "channel c: int[0]; init { select { when «c.send(1)» { skip; } } }"),
    ("E0401", "fn f(a: int) -> int { a * a } var x: int; var y: int; init { let t = x + f(«y»); }"),
    ("E0401", "fn f(a: int) -> int { a * a } var x: int; var b: bool; init { let t = b && f(«x») == 1; }"),
    ("E0401", "var x: 0..1; var a: [[int; 2]; 2]; init { let t = forall v in «a[x]»: v == 1; }"),
    ("E0401", "proc p() -> int { return 1; } var x: int; init { x = 1 + «p()»; }"),
    ("E0401", "proc p() { skip; } var b: bool; init { b = «spawn p()» == null; }"),
    ("E0402", "var b: bool; init { assert b || «*»; }"),
    ("E0403", "init { «break;» }"),
    ("E0404", "init { atomic { «yield;» } }"),
    ("E0403", "init { atomic { «break;» } }"),
    ("E0403", "init { atomic { if true { «continue;» } } }"),
    ("E0303", "proc p() -> int { atomic { «return;» } } init { let x = p(); }"),
    ("E0405", "var m: lock; var c: condition; init { m.acquire(); atomic { «c.wait(m)»; } }"),
    ("E0405", "var b: barrier; init { atomic { if b.parties > 0 { «b.wait()»; } } }"),
    ("E0406", "var x: int; proc p() { yield; x = 1; } init { atomic { «p();» } }"),
    ("E0408", "var m: lock; var n: lock; init { m = «n»; }"),
    ("E0409", "var s: thread_set; init { «s.is_empty()»; }"),
];

#[test]
fn each_mistake_is_reported_once_where_it_is() {
    let mut wrong = Vec::new();
    for (code, marked) in MISTAKES {
        let source = marked.replace(['«', '»'], "");
        let start = marked.find('«').expect("the mistake is marked");
        let end = marked.find('»').expect("the mistake is marked") - '«'.len_utf8();
        let found = compile(&source, &Options::default()).err().unwrap_or_default();
        let seen: Vec<_> = found.iter().map(|d| (d.code, d.span.start as usize, d.span.end as usize)).collect();
        if seen != [(*code, start, end)] {
            let shown: Vec<_> = found.iter().map(|d| (d.code, d.span.text(&source), &d.message)).collect();
            wrong.push(format!("{code} {marked}\n    found {shown:?}"));
        } else if found[0].message.is_empty() || found[0].label.is_empty() {
            wrong.push(format!("{code} {marked}\n    says nothing"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_code_of_the_analysis_is_among_them() {
    let mut missing = Vec::new();
    let folder = |path: &str| {
        let files = std::fs::read_dir(format!("{}/src/analysis{path}", env!("CARGO_MANIFEST_DIR")));
        files.expect("the sources are there").map(|file| file.expect("a file").path())
    };
    for file in folder("").chain(folder("/expr")).filter(|path| path.is_file()) {
        let text = std::fs::read_to_string(file).expect("the file can be read");
        for (at, _) in text.match_indices("\"E0") {
            let code = &text[at + 1..at + 6];
            // E0210 is of `--const`, and has a test of its own.
            if code != "E0210" && !MISTAKES.iter().any(|(c, _)| *c == code) {
                missing.push(code.to_string());
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn constants_from_outside_are_checked() {
    let with = |name: &str, value: &str| Options { consts: vec![(name.into(), value.into())], ..Options::default() };
    let source = "const N = 2; const B = true; const S: u8 = 1; var x: int = N; init { skip; }";
    let x = |options: &Options| compile(source, options).map(|p| p.globals[0].init.clone());
    assert_eq!(x(&Options::default()), Ok(fabius_lang::program::Value::Int(2)));
    assert_eq!(x(&with("N", "5")), Ok(fabius_lang::program::Value::Int(5)));
    for (name, value) in [("M", "5"), ("N", "true"), ("N", "many"), ("B", "3"), ("S", "256"), ("x", "1")] {
        let found = x(&with(name, value)).expect_err("wrong from outside");
        let codes: Vec<_> = found.iter().map(|d| d.code).collect();
        assert_eq!(codes, ["E0210"], "{name}={value}: {found:?}");
    }
}

#[test]
fn independent_mistakes_are_all_reported_and_their_consequences_are_not() {
    let source = "var x: strange; var y: int = true;\nproc p(a: gone) { a = 1; x = missing; }\ninit { let t = nowhere(); t = t + 1; x = x + 1; p(2); }";
    let found = compile(source, &Options::default()).expect_err("four mistakes");
    let codes: Vec<_> = found.iter().map(|d| (d.code, d.span.text(source))).collect();
    let wanted =
        [("E0203", "strange"), ("E0301", "true"), ("E0203", "gone"), ("E0202", "missing"), ("E0204", "nowhere")];
    assert_eq!(codes, wanted);
}
