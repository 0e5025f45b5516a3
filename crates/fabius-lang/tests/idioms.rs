//! What other languages write is refused once, where it stands, with what to write instead.

use fabius_lang::{Options, compile};

/// The program, with `«` and `»` around the place, and a part of the help.
const IDIOMS: &[(&str, &str)] = &[
    // Promela.
    ("«chan» q = [1] of { byte }; init { skip; }", "channel c: int[1];"),
    ("«mtype» = { ack, nak } init { skip; }", "enum Message"),
    ("«active» proctype P() { skip } init { skip; }", "process p[2]"),
    ("«proctype» P(int x) { skip } init { skip; }", "spawn p();"),
    ("«byte» x = 0; init { skip; }", "var x: u8"),
    ("«ltl» p { x == 1 } init { skip; }", "property name: eventually e;"),
    ("«typedef» Node { int x } init { skip; }", "record Node"),
    ("«#define N 3»\ninit { skip; }", "const N = 3;"),
    ("«#include \"a.h\"»\ninit { skip; }", "one file"),
    ("«inline» f(x) { x = 1 } init { skip; }", "fn f(a: int)"),
    ("proc p() { skip; } init { «run» p(); }", "spawn p();"),
    ("var x: int; init { «goto» done; }", "no jumps"),
    ("var x: int; init { again«:» x = 1; }", "`label name;`"),
    ("var x: int; init { if «:»: x > 0 -> x = 0; fi }", "select { when a"),
    ("var x: int; init { «do» :: x > 0 -> x = 0; od }", "loop { select"),
    ("var x: int; init { x > 0 «->» x = 0; }", "await e;"),
    ("channel q: int[1]; init { q «!» 1; }", "c.send(e);"),
    ("channel q: int[1]; var x: int; init { q «?» x; }", "c.receive()"),
    ("var x: int; init { «d_step» { x = 1; } }", "atomic { .. }"),
    ("var x: int; init { «printf»(x); }", "print(x);"),
    ("var x: int; init { printf(«\"%d\"», x); }", "print(x);"),
    ("channel q: int[1]; init { await «nempty(q)»; }", "bind it first"),
    ("var x: «byte»; init { skip; }", "`u8`"),
    // PlusCal and TLA+.
    ("«variables» x = 0; init { skip; }", "var x: int = 0;"),
    ("«VARIABLES» x init { skip; }", "var x: int = 0;"),
    ("buffer b «queue» { skip; }", "buffer b fifo"),
    ("var x«»; init { skip; }", "var x: int = 0;"),
    ("var x: int; init { x «:=» 1; }", "written `=`"),
    ("var x: int; init { x «++»; }", "+= 1"),
    ("var a: bool; init { assert a «/\\» a; }", "&&"),
    ("var a: bool; init { assert a «\\/» a; }", "||"),
    ("var a: bool; init { assert a «=»> a; }", "!a || b"),
    ("var x: int; init { «with» (x = 1) { skip; } }", "let x = any 0..2;"),
    ("var x: int; init { «either» { x = 1; } or { x = 2; } }", "choose { .. } or { .. }"),
    ("var x: int; init { «when» x > 0; }", "await e;"),
    ("proc p() { skip; } init { «call» p(); }", "p();"),
    ("var a: [int; 2]; process p[2] { a[«self»] = 1; }", "process p[i in 0..2]"),
    ("var a: [int; 2]; init { assert forall (i «in» 0..1) a[i] == 0; }", ""),
    ("var a: [int; 2]; process p[2] { a[«self»] = 1; }", "map[thread] int"),
    ("var m: lock; init { «lock»(m); }", "m.acquire();"),
    ("var s: set[«int»]; init { skip; }", "seq[T; n]"),
    ("var q: «Seq»; init { skip; }", "seq[int; 4]"),
    ("var s: set[0..3]; init { s.«add»(1); }", "write `insert`"),
    ("var q: seq[int; 2]; init { q.«append»(1); }", "write `push`"),
    ("var q: seq[int; 2]; var x: int; init { x = «Head»(q); }", "q.pop_front()"),
    // P and ZING.
    ("«machine» M { start state S { } } init { skip; }", "process p[2]"),
    ("«event» e: int; init { skip; }", "channel c: Event"),
    ("«spec» S observes e { } init { skip; }", "invariant name: e;"),
    ("proc p() { skip; } init { «async» p(); }", "spawn p();"),
    ("«class» C { int x; } init { skip; }", "process p[2]"),
    ("init { «try» { skip; } }", "no exceptions"),
    ("var x: int; init { «foreach» (x in a) { skip; } }", "for i in"),
    ("init { «raise» X; }", "no exceptions"),
    // C.
    ("var x: int; init { for «(»x = 0; x < 3; x++) { skip; } }", "for i in 0..n - 1"),
    ("«int» x; init { skip; }", "var x: int;"),
    ("init { «int» x = 0; }", "var x: int = ..;"),
    ("«struct» S { int x; } init { skip; }", "record Node"),
    ("«void» f() { } init { skip; }", "proc name"),
    ("var x: int; init { x = 1 «?» 2 : 3; }", "if c { a } else { b }"),
    ("var x: int; init { x = x > 0 «?» 2 : 3; }", "if c { a } else { b }"),
    ("var x: int; init { «switch» (x) { case 1: skip; } }", "match x {"),
    ("var x: int; var y: int; init { x = y «=» 0; }", "x, y = 0, 0;"),
    ("var x: int; init { if x == 1 «x» = 2; }", ""),
    ("var x: int; init { if (x «=» 1) { skip; } }", "=="),
    ("var x: int; init { x <«>» 1; }", "!="),
    ("var x: int; init { assert x == 1 «or» x == 2; }", "||"),
    ("var x: int; init { assert x == 1 «and» x == 2; }", "&&"),
    ("var x: int; init { x = x «mod» 2; }", "%"),
    ("var x: int; init { x = 1 «2»; }", ""),
];

#[test]
fn each_is_refused_once_with_what_to_write() {
    let mut wrong = Vec::new();
    for (marked, wanted) in IDIOMS {
        let source = marked.replace(['«', '»'], "");
        let start = marked.find('«').expect("the place is marked");
        let found = compile(&source, &Options::default()).err().unwrap_or_default();
        let help = found.first().and_then(|d| d.help.clone()).unwrap_or_default();
        let said = found.len() == 1 && found[0].span.start as usize == start && help.contains(wanted);
        if !said || wanted.is_empty() && help.contains("add `;`") {
            let shown: Vec<_> = found.iter().map(|d| (d.code, d.span.text(&source), &d.message, &d.help)).collect();
            wrong.push(format!("{marked}\n    wanted {wanted}\n    found {shown:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), IDIOMS.len(), wrong.join("\n"));
}

#[test]
fn a_semicolon_is_asked_for_where_it_is_all_that_is_missing() {
    for source in [
        "var x: int\nvar y: int;\ninit { skip; }",
        "var x: int; init { x = 1\n x = 2; }",
        "var x: int; init { x = 1 }",
        "var x: int; proc p() { skip; } init { p() spawn p(); }",
    ] {
        let found = compile(source, &Options::default()).expect_err("a semicolon is missing");
        let help = found[0].help.clone().unwrap_or_default();
        assert_eq!((found.len(), found[0].code, help.as_str()), (1, "E0102", "add `;` here"), "{source}");
        let at = found[0].span.start as usize;
        let cured = format!("{};{}", &source[..at], &source[at..]);
        assert!(compile(&cured, &Options::default()).is_ok(), "{cured}");
    }
}

#[test]
fn foreign_words_may_be_names() {
    let source = "var goto: int; var do_it: bool; proc run() { skip; } proc call(x: int) { goto = x; } \
        init { goto = 1; run(); call(2); var either = 1; either += 1; let wait = goto; goto, either = 1, 2; }";
    assert!(compile(source, &Options::default()).is_ok());
}
