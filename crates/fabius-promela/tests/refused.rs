//! What is refused: its place, and what to write instead.

mod common;

use common::compiled;

#[test]
fn what_has_no_meaning_here_is_refused_with_its_place() {
    // The text, the message, the place and a word of the help.
    let refused = [
        ("chan c = [0] of { byte }; init { if :: c!1 :: else fi }", "`else` beside a channel without room", "1:47", ""),
        (
            "chan c = [0] of { byte }; byte x; init { c?eval(x) }",
            "a reception without room that depends on what may change",
            "1:42",
            "stays the same",
        ),
        (
            "chan c = [0] of { byte }; init { d_step { c!1 } }",
            "a channel without room inside of `d_step`",
            "1:43",
            "atomic",
        ),
        ("chan c = [0] of { byte }; init { c?[1] }", "a look at a channel without room", "1:34", ""),
        ("byte x; init { d_step { { x = 1 } unless { x == 2 } } }", "`unless` inside of `d_step`", "1:35", "atomic"),
        (
            "chan c = [0] of { byte }; byte x; init { { x = 1 } unless { x == 2 } }",
            "`unless` in a program with channels without room",
            "1:52",
            "room",
        ),
        (
            "byte x; init { if :: { x = 1 } unless { x == 2 } :: { x = 3 } unless { x == 4 } fi }",
            "two options of a selection that begin with an `unless`",
            "1:24",
            "behind the whole",
        ),
        ("byte x; init { x = 1 unless x == 2 unless x == 3 }", "a second `unless`", "1:36", "into"),
        ("byte x; active proctype p() { x = 1 } ltl q { [] !timeout }", "`timeout` outside of a process", "1:51", ""),
        (
            "chan c = [0] of { byte }; byte x; active proctype p() provided (x == 0) { skip }",
            "`provided` in a program with channels without room",
            "1:65",
            "room",
        ),
        ("active proctype p(byte n) provided (n == 0) { skip }", "there is no variable `n`", "1:37", ""),
        ("active proctype p() priority 3 { skip }", "`priority`", "1:21", "leave it out"),
        (
            "byte x; active proctype p() { do :: atomic { x = 1 - x; acceptA: x = 1 - x } od }",
            "a label `accept` in the middle of `atomic`",
            "1:57",
            "outside",
        ),
        ("byte x; init { skip } never { x = 1 }", "a claim that has variables, or changes some", "1:31", "ltl"),
        (
            "byte x; init { skip } never { byte y; y == 1 }",
            "a claim that has variables, or changes some",
            "1:36",
            "global",
        ),
        ("init { skip } never { timeout }", "`timeout` outside of a process", "1:23", ""),
        (
            "byte x; init { skip } never { atomic { x == 1; x == 2 } }",
            "a wait in the middle of `atomic` in a claim",
            "1:48",
            "leave `atomic` out",
        ),
        (
            "byte x; init { skip } never { do :: accept: x == 1 od }",
            "a label `accept` of the first statement of an option",
            "1:37",
            "in front of the selection",
        ),
        (
            "byte x; init { skip } never { l: x == 1; accept: goto l }",
            "a label `accept` in front of `goto` or `break`",
            "1:50",
            "skip",
        ),
        ("trace { do :: skip od }", "`trace`", "1:1", "ltl"),
        (
            "byte x; proctype p() { accept: x = 1 } init { run p() }",
            "a label `accept` in a process that `run` starts",
            "1:24",
            "start it by `active`",
        ),
        (
            "byte x; init { accept: x = 1 } ltl f { [] (x < 2) }",
            "a label `accept` in a process, beside a formula or a claim",
            "1:16",
            "one of them at a time",
        ),
        (
            "byte x; init { end: accept: x == 1 }",
            "a label `end` at a statement with a label `accept`",
            "1:16",
            "put `skip` between them",
        ),
        (
            "#define BOTH x == 1; x == 2\nbyte x; init { end: BOTH }",
            "a label `end` in front of one of several waits of a macro",
            "2:21",
            "stands for",
        ),
        ("c_code { int x; } init { skip }", "C inside of Promela", "1:1", ""),
        ("#include \"x.pml\"\ninit { skip }", "files cannot be included", "1:2", "one file"),
        (
            "proctype p() { l: skip } init { run p(); p@l }",
            "a look at a process that is started by `run`",
            "1:42",
            "active",
        ),
        (
            "active proctype p() { l: assert(p@l) }",
            "a look at processes of the same type, as for SPIN",
            "1:32",
            "global",
        ),
        ("active proctype p() { skip } active proctype q() { p@l }", "there is no label `l` in `p`", "1:54", ""),
        ("active proctype p() { skip } active proctype q() { r@l }", "there is no process type `r`", "1:52", ""),
        (
            "active [2] proctype p() { l: skip } active proctype q() { p@l }",
            "there are 2 processes `p`",
            "1:59",
            "[number]",
        ),
        (
            "byte x; active proctype p() { if :: l: x == 0 -> skip fi } active proctype q() { p@l }",
            "a look at a label of the first statement of an option",
            "1:84",
            "behind",
        ),
        (
            "byte x; active proctype p() { l: goto m; m: x == 1 } ltl f { <> p@l }",
            "a look at a label in front of `goto` or `break`",
            "1:67",
            "skip",
        ),
        (
            "byte x; active proctype p() { l: { goto m } unless { x == 5 }; m: x == 1 } ltl f { p@m }",
            "a look at a label that another one leads to by `goto` or `break`, in a process with `unless`",
            "1:86",
            "leave out",
        ),
        (
            "byte x; init { do :: x == 2 :: end: x == 3; x = 1 od }",
            "a label `end` of the first statement of an option",
            "1:32",
            "in front of the selection",
        ),
        (
            "byte x; init { do :: x = 2 :: progress: x = 3; x = 1 od }",
            "a label `progress` of the first statement of an option",
            "1:31",
            "behind",
        ),
        (
            "active proctype p() { byte x; x = 1 } active proctype q() { p[_pid]:x == 1 }",
            "a look into a process whose number is computed",
            "1:61",
            "global",
        ),
        (
            "active [2] proctype p() { byte x; x = 1 } active proctype q() { p:x == 1 }",
            "a look into one of several processes, or one that `run` starts",
            "1:65",
            "global",
        ),
        (
            "active proctype p() { byte x; x = 1 } active proctype q() { p[1]:x == 1 }",
            "the number of `p` is 0",
            "1:61",
            "",
        ),
        (
            "active proctype p() { byte y; y = 1; byte x; x = 1 } active proctype q() { p:x == 1 }",
            "a look at what is no variable that `p` begins with",
            "1:76",
            "beginning",
        ),
        ("init { enabled(0) }", "`enabled`", "1:8", ""),
        ("init { byte x; x = get_priority(_pid) }", "`get_priority`", "1:20", ""),
        ("init { set_priority(_pid, 2) }", "`set_priority`", "1:8", ""),
        ("proctype p() { skip } init { run p() priority 2 }", "`priority`", "1:38", "leave it out"),
        (
            "mtype:a = { x }; mtype:b = { y }; mtype:a m; init { m = y }",
            "a name of `mtype` of another kind",
            "1:57",
            "same kind",
        ),
        ("mtype:a m; init { skip }", "there are no names of `mtype:a`", "1:9", ""),
        (
            "init { assert(_nr_pr == 1) } ltl p { [] true }",
            "`_nr_pr` beside `ltl`, whose claim SPIN counts as a process",
            "1:15",
            "variable of your own",
        ),
        (
            "chan c = [1] of { byte }; byte x; init { for (x in c) { skip } }",
            "a loop over what is no array of variables",
            "1:52",
            "receive",
        ),
        ("byte x; ltl p { X (x == 0) } init { skip }", "next in a formula", "1:17", "-DNXT"),
        (
            "byte x; ltl p { [] x < 3 } init { skip }",
            "of this SPIN takes the beginning alone to belong to the operator in front of it",
            "1:20",
            "parentheses",
        ),
        ("byte x; ltl p { (x == 0) U } init { skip }", "an expression should stand here, and not `}`", "1:28", ""),
        ("byte x; ltl p { (x == 0 U x } init { skip }", "`)` should stand here, and not `}`", "1:29", ""),
        (
            "proctype p() { skip } init { if :: run p() > 0 -> skip fi }",
            "`run` inside of an expression",
            "1:36",
            "run P()",
        ),
        (
            "byte x; active proctype p() { byte t = x; skip }",
            "a first value that is read from a global variable",
            "1:36",
            "statement of its own",
        ),
        ("mtype = { a }; mtype m; byte x; init { m = x }", "a number for a variable of `mtype`", "1:44", "mtype"),
        (
            "bool b[2]; byte x; init { b[0] = x }",
            "more than a bit for an element of an array of bits, which SPIN stores",
            "1:34",
            "byte",
        ),
        ("byte x; init { x = }", "an expression should stand here, and not `}`", "1:20", ""),
        ("byte x; init { x = 1 x = 2 }", "`;` should stand here, and not `x`", "1:22", ""),
        ("init { goto nowhere }", "there is no label `nowhere`", "1:13", ""),
        ("init { l: goto l }", "jumps lead in a circle, and do nothing", "1:16", ""),
        ("init { x = 1 }", "there is no variable `x`", "1:8", ""),
        ("byte x; proctype p() { skip }", "nothing starts", "1:1", "active"),
        ("init { skip", "`}` should stand here, and not the end of the text", "1:12", ""),
        ("#define F(x) F(F(x))\nbyte y; init { y = F(y) }", "`;` should stand here, and not `(`", "2:20", ""),
        ("inline f() { f() } init { f() }", "more than 200 levels inside of each other", "1:14", "itself"),
        ("init { if :: else -> skip :: else -> skip fi }", "a second `else`", "1:30", ""),
        ("chan c = [1] of { byte, byte }; init { c!1 }", "messages of `c` have 2 fields", "1:40", ""),
        ("init { /* skip }", "a comment that does not end", "1:8", "*/"),
        ("init { skip § }", "`§` begins nothing in Promela", "1:13", ""),
    ];
    for (source, message, place, help) in refused {
        let said = compiled(source).expect_err(source);
        let first = said.lines().next().unwrap_or_default();
        assert!(first.ends_with(message), "{source}\n{said}");
        assert!(said.contains(&format!("x.pml:{place}\n")), "{source}\n{said}");
        assert!(help.is_empty() || said.contains("help:") && said.contains(help), "{source}\n{said}");
    }
}

#[test]
fn long_formulas_are_refused() {
    let refused = |formula: &str, message: &str| {
        let source = format!("byte x; init {{ x = 1 }} ltl p {{ {formula} }}");
        let said = compiled(&source).expect_err(formula);
        assert!(said.contains(message) && said.contains("x.pml:1:"), "{said}");
    };
    // What is beside these is repeated.
    refused(&vec!["(x == 0)"; 60].join(" <-> "), "a formula of more than 1000 parts");
    refused(&("(x == 0) W (".repeat(60) + "[] (x == 1)" + &")".repeat(60)), "a formula of more than 1000 parts");
    refused(&vec!["(x == 0)"; 50_000].join(" && "), "a formula of more than 1000 parts");
    refused(&format!("({})", vec!["x == 0"; 50_000].join(" && ")), "more than 1000 operands in a row");
    let untils: Vec<String> = (0..15).map(|n| format!("(x == {n}) U (")).collect();
    refused(&(untils.concat() + "x == 15" + &")".repeat(15)), "a formula of so many parts");
}

#[test]
fn nothing_makes_it_panic() {
    let good = "mtype = { a, b }; typedef t { byte x[2] } t v; chan c = [2] of { mtype, byte }; inline i(x) { x++ }\n\
        proctype p(byte n; chan d) { do :: d?a(n) -> i(v.x[0]) :: else -> atomic { n > 2; break } od }\n\
        init { run p(1, c); c!!a(2); if :: c??[b, _] fi; d_step { select (v.x[1] : 1 .. 3) } } ltl q { [] (v.x[0] < 3) }\n\
        active proctype r() { byte k = 1; k = 2 } never n { l: do :: r[1]:k == 2 -> goto accept_m :: atomic { v.x[1] > 0 -> assert(r:k < 2) } :: else od; accept_m: do :: r:k > 1 od }";
    assert!(compiled(good).is_ok(), "{:?}", compiled(good));
    let words: Vec<&str> = good.split_inclusive([' ', '(', ')', ';', '?', ':']).collect();
    let mut rng = fastrand::Rng::with_seed(1);
    let mut taken = 0;
    for _ in 0..3000 {
        let mut changed: Vec<&str> = words.clone();
        for _ in 0..rng.usize(1..4) {
            let at = rng.usize(..changed.len());
            match rng.u32(..3) {
                0 => drop(changed.remove(at)),
                1 => changed[at] = words[rng.usize(..words.len())],
                _ => changed.insert(at, words[rng.usize(..words.len())]),
            }
        }
        taken += usize::from(compiled(&changed.concat()).is_ok());
    }
    assert!((10..2900).contains(&taken), "{taken} of the changed programs are taken");
}
