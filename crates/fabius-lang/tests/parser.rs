//! The grammar: every construct of the language reference once, the shape of expressions, what is reported and where
//! the parser goes on, and texts that are deep, long or strange.

use fabius_lang::diagnostic::Diagnostic;
use fabius_lang::syntax::ast::*;
use fabius_lang::{Options, Style, compile, format, parse, render};

/// The tree of a program without mistakes.
fn tree(source: &str) -> File {
    let (file, diagnostics) = parse(source);
    assert!(diagnostics.is_empty(), "{source}\n{diagnostics:?}");
    file
}

/// The statements of `init`.
fn stmts(text: &str) -> Vec<StmtKind> {
    match tree(&format!("init {{ {text} }}")).items.remove(0).node {
        ItemKind::Init(body) => body.node.into_iter().map(|s| s.node).collect(),
        other => panic!("{other:?}"),
    }
}

/// The name of a variant of an enum of the tree.
fn variant(node: &impl std::fmt::Debug) -> String {
    format!("{node:?}").chars().take_while(|c| c.is_alphanumeric()).collect()
}

fn shape_ty(ty: &Type) -> String {
    match &ty.node {
        TypeKind::Named(name) => name.clone(),
        TypeKind::Range(lo, hi) => format!("(.. {} {})", shape(lo), shape(hi)),
        TypeKind::Array(element, len) => format!("(array {} {})", shape_ty(element), shape(len)),
        TypeKind::Map(key, element) => format!("(map {} {})", shape_ty(key), shape_ty(element)),
        TypeKind::Collection(kind, element, room) => {
            let room = room.iter().map(|e| format!(" {}", shape(e))).collect::<String>();
            format!("({} {}{room})", kind.word(), shape_ty(element))
        }
        TypeKind::Ref(name) => format!("(ref {})", name.node),
        TypeKind::Error => "error".into(),
    }
}

/// An expression with all its structure in parentheses, operator first.
fn shape(e: &Expr) -> String {
    let all = |es: &[Expr]| es.iter().map(|e| format!(" {}", shape(e))).collect::<String>();
    let fields = |fs: &[(Name, Expr)]| fs.iter().map(|(n, e)| format!(" {}={}", n.node, shape(e))).collect::<String>();
    match &e.node {
        ExprKind::Int(n) => n.to_string(),
        ExprKind::Bool(b) => b.to_string(),
        ExprKind::Null => "null".into(),
        ExprKind::SelfHandle => "self".into(),
        ExprKind::Name(name) => name.clone(),
        ExprKind::Field(a, name) => format!("(. {} {})", shape(a), name.node),
        ExprKind::Index(a, i) => format!("([] {} {})", shape(a), shape(i)),
        ExprKind::Unary(op, a) => format!("({op:?} {})", shape(a)),
        ExprKind::Binary(op, a, b) => format!("({op:?} {} {})", shape(a), shape(b)),
        ExprKind::IfElse(c, a, b) => format!("(if {} {} {})", shape(c), shape(a), shape(b)),
        ExprKind::Cast(a, ty) => format!("(as {} {})", shape(a), shape_ty(ty)),
        ExprKind::Record(name, fs) => format!("(record {}{})", name.node, fields(fs)),
        ExprKind::Array(es) => format!("(array{})", all(es)),
        ExprKind::Repeat(a, n) => format!("(repeat {} {})", shape(a), shape(n)),
        ExprKind::Star => "*".into(),
        ExprKind::Any(ty) => format!("(any {})", shape_ty(ty)),
        ExprKind::AnyRange(lo, hi) => format!("(any.. {} {})", shape(lo), shape(hi)),
        ExprKind::Call(name, args) => format!("({}{})", name.node, all(args)),
        ExprKind::Method(a, name, args) => format!("(call {} {}{})", shape(a), name.node, all(args)),
        ExprKind::New(name, fs) => format!("(new {}{})", name.node, fields(fs)),
        ExprKind::Spawn(name, args) => format!("(spawn {}{})", name.node, all(args)),
        ExprKind::Post(level, name, args) => {
            let level = level.as_ref().map(|l| format!("@{} ", l.node)).unwrap_or_default();
            format!("(post {level}{}{})", name.node, all(args))
        }
        ExprKind::Paren(a) => format!("'{}", shape(a)),
        ExprKind::Quantified { what, name, over, body } => {
            let over = match &**over {
                Over::Range(lo, hi) => format!("(.. {} {})", shape(lo), shape(hi)),
                Over::Elements(e) => shape(e),
            };
            format!("({} {} {over} {})", what.word(), name.node, shape(body))
        }
        ExprKind::Match { value, arms, otherwise } => {
            let arms = arms.iter().map(|(patterns, e)| {
                let patterns = patterns.iter().map(|p| match &p.hi {
                    Some(hi) => format!("{}..{}", shape(&p.lo), shape(hi)),
                    None => shape(&p.lo),
                });
                format!(" ({} {})", patterns.collect::<Vec<_>>().join(" "), shape(e))
            });
            let otherwise = otherwise.iter().map(|e| format!(" (else {})", shape(e)));
            format!("(match {}{})", shape(value), arms.chain(otherwise).collect::<String>())
        }
        ExprKind::Error => "error".into(),
    }
}

#[test]
fn declarations() {
    for (source, wanted) in [
        ("const N = 3;", "Const"),
        ("const N: u8 = 3;", "Const"),
        ("enum Colour { Red, Green }", "Enum"),
        ("enum Colour { Red, Green, }", "Enum"),
        ("record Node { value: int = 0, sync next: ref Node, data d: bool, }", "Record"),
        ("record Empty {}", "Record"),
        ("var x: int = 0;", "Var"),
        ("sync var flag: bool;", "Var"),
        ("data var d: int;", "Var"),
        ("thread var depth: int = 0;", "Var"),
        ("level LOW < HIGH;", "Levels"),
        ("interleave explicit;", "InterleaveExplicit"),
        ("proc p() {}", "Proc"),
        ("proc p(a: int, b: bool) -> int {}", "Proc"),
        ("proc p(a: int,) -> (int, bool) {}", "Proc"),
        ("init { skip; }", "Init"),
        ("buffer cpu0 { skip; }", "Buffer"),
        ("process worker[3] {}", "Process"),
        ("process worker[*] {}", "Process"),
        ("process worker[i: *] {}", "Process"),
        ("process worker[i in 0..N - 1] {}", "Process"),
        ("fn most(a: int, b: int) -> int { if a > b { a } else { b } }", "Function"),
        ("invariant mutex: a + b <= 1;", "Invariant"),
        ("property done: eventually a == b;", "Property"),
        ("property again: always eventually a without fairness;", "Property"),
        ("property stays: eventually always (a) under weak fairness;", "Property"),
        ("property served: forall i in 0..2: a[i] leads to b under strong fairness;", "Property"),
        ("property some: a leads to b under weak fairness of p, q[0] and strong fairness of r;", "Property"),
        ("property of: eventually of under weak fairness and strong fairness of of;", "Property"),
        ("property property: leads leads to under under weak fairness;", "Property"),
        ("channel c: int[3];", "Channel"),
        ("channel c[2]: 0..3[N - 1];", "Channel"),
        ("channel c: int[3] lossy;", "Channel"),
        ("channel lossy[2]: 0..3[4] unordered lossy;", "Channel"),
        ("channel c: [int; 2][1];", "Channel"),
        // Words that mean something in one place only.
        ("var data: int;", "Var"),
        ("data var buffer: int;", "Var"),
        ("record level { sync: int, data data: bool, process: 0..1 }", "Record"),
        ("proc init(count: int, fn: int) {}", "Proc"),
    ] {
        let file = tree(source);
        assert_eq!(file.items.iter().map(|i| variant(&i.node)).collect::<Vec<_>>(), [wanted], "{source}");
        assert_eq!(file.items[0].span.text(source), source, "the place of the whole declaration");
    }
    let kinds = |source: &str| match &tree(source).items[0].node {
        ItemKind::Var { kind, .. } => *kind,
        other => panic!("{other:?}"),
    };
    assert_eq!(kinds("var x: int;"), VarKind::Inferred);
    assert_eq!(kinds("sync var x: int;"), VarKind::Sync);
    assert_eq!(kinds("data var x: int;"), VarKind::Data);
    assert_eq!(kinds("thread var x: int;"), VarKind::PerThread);
    assert!(matches!(&tree("process w[*] {}").items[0].node, ItemKind::Process { copies: Copies::Any, .. }));
    assert!(matches!(&tree("process w[3] {}").items[0].node, ItemKind::Process { copies: Copies::Count(_), .. }));
    assert!(matches!(&tree("level A < B < C;").items[0].node, ItemKind::Levels(names) if names.len() == 3));
    assert!(
        matches!(&tree("proc p() -> (int, bool) {}").items[0].node, ItemKind::Proc { results, .. } if results.len() == 2)
    );
}

#[test]
fn statements() {
    for (text, wanted) in [
        ("let t = 1;", "Local"),
        ("let t: int = 1;", "Local"),
        ("var t: int = 1;", "Local"),
        ("var t: int;", "Local"),
        ("var t = 1;", "Local"),
        ("let (a, b) = p();", "Local"),
        ("let (a, _) = p();", "Local"),
        ("x = 1;", "Assign"),
        ("a[i].f = 1;", "Assign"),
        ("progress = 1;", "Assign"),
        ("level.data = forall;", "Assign"),
        ("x, y = y, x;", "AssignAll"),
        ("a[i], r.f, z = 1, 2, 3;", "AssignAll"),
        ("(a, b) = p();", "Assign"),
        ("(_, b) = p();", "Assign"),
        ("p(1);", "Expr"),
        ("spawn p(1);", "Expr"),
        ("post p(1);", "Expr"),
        ("post @HIGH p(1);", "Expr"),
        ("m.acquire();", "Expr"),
        ("cas(x, 1, 2);", "Expr"),
        ("new R {};", "Expr"),
        ("return;", "Return"),
        ("return 1;", "Return"),
        ("return (1, 2);", "Return"),
        ("if a {} else if b {} else {}", "If"),
        ("while a {}", "While"),
        ("loop {}", "Loop"),
        ("for i in 0..n - 1 {}", "For"),
        ("break;", "Break"),
        ("continue;", "Continue"),
        ("choose {} or {} or {}", "Choose"),
        ("select { when a {} }", "Select"),
        (
            "select { when a {} or when let x = c.receive() {} or when x = c.receive() {} or when c.send(1) {} else {} }",
            "Select",
        ),
        ("select = when;", "Assign"),
        ("join h;", "Join"),
        ("yield;", "Yield"),
        ("zield;", "Zield"),
        ("atomic {}", "Atomic"),
        ("assume a;", "Assume"),
        ("await a;", "Await"),
        ("assert a;", "Assert"),
        (r#"assert a, "why";"#, "Assert"),
        ("print(1, a);", "Print"),
        ("print();", "Print"),
        ("progress;", "Progress"),
        ("skip;", "Skip"),
        ("{ skip; }", "Block"),
    ] {
        let found = stmts(text);
        assert_eq!(found.iter().map(variant).collect::<Vec<_>>(), [wanted], "{text}");
    }
    for (text, wanted) in [
        ("x = 1;", None),
        ("x += 1;", Some(BinaryOp::Add)),
        ("x -= 1;", Some(BinaryOp::Sub)),
        ("x *= 1;", Some(BinaryOp::Mul)),
        ("x /= 1;", Some(BinaryOp::Div)),
        ("x %= 1;", Some(BinaryOp::Rem)),
    ] {
        assert!(matches!(&stmts(text)[0], StmtKind::Assign { op, .. } if *op == wanted), "{text}");
    }
    assert!(
        matches!(&stmts("let (a, b, _) = p();")[0], StmtKind::Local { mutable: false, names, .. } if names.len() == 3)
    );
    assert!(matches!(&stmts("return (1, 2);")[0], StmtKind::Return(values) if values.len() == 2));
    assert!(matches!(&stmts("return (1);")[0], StmtKind::Return(values) if values.len() == 1));
    assert!(matches!(&stmts("choose {} or {} or {}")[0], StmtKind::Choose(blocks) if blocks.len() == 3));
    let StmtKind::If { otherwise: Some(second), else_if: true, .. } = &stmts("if a {} else if b {} else {}")[0] else {
        panic!("an else-if")
    };
    assert!(matches!(&second.node[0].node, StmtKind::If { otherwise: Some(_), else_if: false, .. }));
    let StmtKind::Assert(_, Some(message)) = &stmts(r#"assert a, "say \"why\" \\ and\nhow";"#)[0] else {
        panic!("a message")
    };
    assert_eq!(message.node, "say \"why\" \\ and\nhow");
}

#[test]
fn expressions() {
    for (text, wanted) in [
        ("1 + 2 * 3", "(Add 1 (Mul 2 3))"),
        ("1 - 2 - 3", "(Sub (Sub 1 2) 3)"),
        ("(1 + 2) * 3", "(Mul '(Add 1 2) 3)"),
        ("a || b && c == d", "(Or a (And b (Eq c d)))"),
        ("a == b | c ^ d & e << f + g", "(Eq a (BitOr b (BitXor c (BitAnd d (Shl e (Add f g))))))"),
        ("a >> b << c", "(Shl (Shr a b) c)"),
        ("a / b % c", "(Rem (Div a b) c)"),
        (
            "a != b && c < d && e <= f && g > h && i >= j",
            "(And (And (And (And (Ne a b) (Lt c d)) (Le e f)) (Gt g h)) (Ge i j))",
        ),
        ("!a && !b", "(And (Not a) (Not b))"),
        ("-~!a", "(Neg (BitNot (Not a)))"),
        ("-a.b[c]", "(Neg ([] (. a b) c))"),
        ("-a as u8", "(as (Neg a) u8)"),
        ("a + b as u8 * c", "(Add a (Mul (as b u8) c))"),
        ("a as u8 as u16", "(as (as a u8) u16)"),
        ("a as 0..7", "(as a (.. 0 7))"),
        ("p.next.value", "(. (. p next) value)"),
        ("a[i][j].f", "(. ([] ([] a i) j) f)"),
        ("if c { a } else { b }", "(if c a b)"),
        ("if c { 1 } else if d { 2 } else { 3 }", "(if c 1 (if d 2 3))"),
        ("forall i in 0..N - 1: a[i] == 0 && b", "(forall i (.. 0 (Sub N 1)) (And (Eq ([] a i) 0) b))"),
        ("c || exists v in a: v > 1 || d", "(Or c (exists v a (Or (Gt v 1) d)))"),
        ("(count c in Colour: m[c]) + 1", "(Add '(count c Colour ([] m c)) 1)"),
        ("sum v in p.a: if exists w in b: w == v { 1 } else { 2 }", "(sum v (. p a) (if (exists w b (Eq w v)) 1 2))"),
        ("count + sum", "(Add count sum)"),
        ("self == null", "(Eq self null)"),
        ("true != false", "(Ne true false)"),
        ("0x2a + 0b101010 + 1_000", "(Add (Add 42 42) 1000)"),
        ("18446744073709551615", "18446744073709551615"),
        ("Colour.Red", "(. Colour Red)"),
        ("Point { x: 1, y: 2 }", "(record Point x=1 y=2)"),
        ("Point {}", "(record Point)"),
        ("[1, 2, 3]", "(array 1 2 3)"),
        ("[1, 2, 3,]", "(array 1 2 3)"),
        ("[0; n]", "(repeat 0 n)"),
        ("*", "*"),
        ("any bool", "(any bool)"),
        ("any Colour", "(any Colour)"),
        ("any 0..7", "(any (.. 0 7))"),
        ("any lo..hi", "(any (.. lo hi))"),
        ("any a + 1..b * 2", "(any (.. (Add a 1) (Mul b 2)))"),
        ("p(1, a)", "(p 1 a)"),
        ("new R { f: 1 }", "(new R f=1)"),
        ("spawn p(1)", "(spawn p 1)"),
        ("post p(1)", "(post p 1)"),
        ("post @HIGH p(1)", "(post @HIGH p 1)"),
        ("cas(x, 1, 2)", "(cas x 1 2)"),
        ("fetch_add(x, 1)", "(fetch_add x 1)"),
        ("exchange(x, 1)", "(exchange x 1)"),
        ("a.m.try_acquire()", "(call (. a m) try_acquire)"),
        ("s.with(1, 2)", "(call s with 1 2)"),
    ] {
        let source = format!("let t = {text};");
        let StmtKind::Local { init: Some(e), .. } = &stmts(&source)[0] else { panic!("{text}") };
        // A range is a type or two expressions: both are the same choice.
        let found = shape(e).replace("(any.. ", "(any (.. ");
        let found = if shape(e).starts_with("(any.. ") { found + ")" } else { found };
        assert_eq!(found, wanted, "{text}");
    }
}

#[test]
fn types() {
    for (text, wanted) in [
        ("bool", "bool"),
        ("int", "int"),
        ("0..7", "(.. 0 7)"),
        ("-1..N - 1", "(.. (Neg 1) (Sub N 1))"),
        ("M..N", "(.. M N)"),
        ("u64", "u64"),
        ("Colour", "Colour"),
        ("[int; 3]", "(array int 3)"),
        ("[[0..1; N]; N + 1]", "(array (array (.. 0 1) N) (Add N 1))"),
        ("map[0..3] bool", "(map (.. 0 3) bool)"),
        ("map[Colour] map[bool] ref R", "(map Colour (map bool (ref R)))"),
        ("ref R", "(ref R)"),
        ("thread", "thread"),
        ("map[thread] 0..3", "(map thread (.. 0 3))"),
        ("set[Colour]", "(set Colour)"),
        ("bag[0..3; N + 1]", "(bag (.. 0 3) (Add N 1))"),
        ("seq[set[bool]; 4]", "(seq (set bool) 4)"),
        ("set", "set"),
        ("thread_set", "thread_set"),
        ("reentrant_lock", "reentrant_lock"),
    ] {
        let file = tree(&format!("var x: {text};"));
        let ItemKind::Var { ty, .. } = &file.items[0].node else { panic!("{text}") };
        assert_eq!(shape_ty(ty), wanted);
    }
}

#[test]
fn a_brace_after_a_guard_begins_the_block() {
    let found = stmts("if a == b { skip; } while x { skip; } for i in 0..n { skip; } if (R { f: 1 } == r) { skip; }");
    assert_eq!(found.iter().map(variant).collect::<Vec<_>>(), ["If", "While", "For", "If"]);
}

/// Codes and places of what is reported, for a source in which `«` and `»` mark the places.
fn check_marked(codes: &[&str], marked: &str) {
    let mut source = String::new();
    let (mut open, mut wanted) = (Vec::new(), Vec::new());
    for c in marked.chars() {
        match c {
            '«' => open.push(source.len()),
            '»' => wanted.push((open.pop().expect("the marks match"), source.len())),
            c => source.push(c),
        }
    }
    wanted.sort_unstable();
    let found = parse(&source).1;
    let places: Vec<_> = found.iter().map(|d| (d.span.start as usize, d.span.end as usize)).collect();
    let seen: Vec<_> = found.iter().map(|d| d.code).collect();
    assert_eq!((seen.as_slice(), &places), (codes, &wanted), "{marked}\n{found:#?}");
}

#[test]
fn each_mistake_is_reported_where_it_is() {
    check_marked(&["E0101"], "«foo» bar;");
    check_marked(&["E0101"], "init { let «=» 1; }");
    check_marked(&["E0101"], "init { x = «;» }");
    check_marked(&["E0101"], "var x«;»");
    check_marked(&["E0101"], "«int» x;");
    check_marked(&["E0101"], "init { x «:=» 1; }");
    check_marked(&["E0101"], "init { x«++»; }");
    check_marked(&["E0101"], "init { if x «=» 1 { skip; } }");
    check_marked(&["E0101"], "init {} «}»");
    check_marked(&["E0102"], "init { x = 1«» }");
    check_marked(&["E0102"], "var x: int«» var y: int;");
    check_marked(&["E0103"], "var «loop»: int;");
    check_marked(&["E0105"], "init «{» skip; ");
    check_marked(&["E0106"], "init { «x == 1»; }");
    check_marked(&["E0107"], "init { assert 0 <= x «<» 5; }");
    check_marked(&["E0108"], "init { x = «18446744073709551616»; }");
    check_marked(&["E0108"], "init { x = «12abc»; }");
    check_marked(&["E0109"], "init { skip; } «/* /* */ »");
    check_marked(&["E0111"], "init { x = 1 «$»; }");
}

#[test]
fn every_independent_mistake_is_reported() {
    check_marked(
        &["E0101", "E0102", "E0101", "E0103", "E0106", "E0107", "E0108", "E0101"],
        "var x«;»\n\
         const N = 1«»\n\
         proc p() {\n    let «=» 1;\n    var «if» = 2;\n    «x == 2»;\n    skip;\n}\n\
         proc q() {\n    assert 1 < 2 «<» 3;\n    if true { x = «99999999999999999999»; }\n    skip;\n}\n\
         «what»;\n\
         init { skip; }\n",
    );
    check_marked(&["E0103", "E0103"], "var «zield»: int;\nproc p(«in»: int) { skip; }\ninit { skip; }");
    check_marked(&["E0102", "E0102"], "init {\n    x = 1«»\n    y = 2«»\n}");
    // Behind a broken guard and a broken branch the rest is still read.
    check_marked(&["E0101", "E0102"], "init { if x «=» 1 { skip; } else { skip; } y = 2«» }");
    check_marked(&["E0101", "E0102"], "init { choose { x = «;» } or { y = 2«» } }");
    check_marked(&["E0101", "E0101"], "«int» x;\n«int» y;\ninit { skip; }");
    check_marked(&["E0101", "E0101"], "proc p(a«)» { skip; } proc q(a: int«;» b: int) { skip; } init { skip; }");
    let many = format!("init {{\n{}}}", "    let = 1;\n    skip;\n".repeat(1000));
    assert_eq!(parse(&many).1.len(), 1000);
}

/// What all of the front end says of a text. None of it may panic or overflow the stack.
fn all(source: &str) -> Vec<Diagnostic> {
    let (_, syntax) = parse(source);
    assert_eq!(format(source).is_ok(), syntax.is_empty(), "what parses can be formatted");
    let found = compile(source, &Options::default()).err().unwrap_or_default();
    for style in [Style::Plain, Style::Colour] {
        assert!(!render(source, "deep.fab", &found, style).is_empty());
    }
    syntax
}

/// `inside` between `n` times `open` and `n` times `close`, as an expression.
fn around(open: &str, inside: &str, close: &str, n: usize) -> String {
    format!("init {{ let x = {}{inside}{}; }}", open.repeat(n), close.repeat(n))
}

#[test]
fn deep_nesting_is_a_diagnostic() {
    let n = 100_000;
    type Build = fn(usize) -> String;
    let build: [(&str, Build); 14] = [
        ("parentheses", |n| around("(", "1", ")", n)),
        ("blocks", |n| format!("init {}{}", "{".repeat(n), "}".repeat(n))),
        ("loops", |n| format!("init {{ {}{} }}", "while true {".repeat(n), "}".repeat(n))),
        ("negations", |n| around("!", "true", "", n)),
        ("sums", |n| around("", "1", " + 1", n)),
        ("fields", |n| around("", "a", ".f", n)),
        ("indexes", |n| around("", "a", "[0]", n)),
        ("nested indexes", |n| around("a[", "0", "]", n)),
        ("casts", |n| around("", "1", " as u8", n)),
        ("calls", |n| around("f(", "1", ")", n)),
        ("methods", |n| around("", "a", ".f()", n)),
        ("choices", |n| around("if true { ", "1", " } else { 1 }", n)),
        ("else-ifs", |n| format!("init {{ if true {{}} {} }}", "else if true {}".repeat(n))),
        ("array types", |n| format!("var x: {}int{};", "[".repeat(n), "; 1]".repeat(n))),
    ];
    for (what, build) in &build {
        let codes: Vec<_> = all(&build(n)).iter().map(|d| d.code).collect();
        assert_eq!(codes, ["E0104"], "{what}");
        assert!(all(&build(150)).is_empty(), "{what}");
    }
    // The highest trees that are let through: a chain around a chain around a chain.
    for links in [40, 200, 390] {
        let deep = around("(", "1", &format!("{})", " + 1".repeat(links)), 150);
        assert_eq!(all(&deep).iter().map(|d| d.code).collect::<Vec<_>>(), ["E0104"]);
    }
    assert!(all(&around("(", "1", " + 1 + 1)", 100)).is_empty());
    assert!(all(&around("(", &format!("1{}", " + 1".repeat(390)), ")", 190)).is_empty());
}

#[test]
fn strange_texts() {
    let codes = |source: &str| all(source).iter().map(|d| d.code).collect::<Vec<_>>();
    assert!(codes("").is_empty());
    assert!(codes("\n\t \r\n").is_empty());
    assert!(codes("// nothing").is_empty());
    assert!(codes("init {\r\n    skip; // so\r\n}\r\n").is_empty());
    assert!(codes("var größe: int; init { größe = 1; }").is_empty());
    assert!(codes("var \u{5909}\u{6570}: int; init { \u{5909}\u{6570} = 1; }").is_empty());
    assert!(codes("init { assert true, \"\u{1f600}\"; }").is_empty());
    assert!(codes("\u{feff}init { skip; }").is_empty(), "a byte order mark");
    assert_eq!(codes("\u{1f600}"), ["E0111"]);
    assert_eq!(codes("init { skip; } \0"), ["E0111"]);
    assert_eq!(codes("init { assert true, \"why; }"), ["E0110"]);
    assert_eq!(codes("init {\n assert true, \"why;\n x = ;\n}"), ["E0110", "E0101"]);
    assert_eq!(codes("/*"), ["E0109"]);
    assert_eq!(codes("init { x = ; /* skip; }"), ["E0101", "E0109"]);
    assert_eq!(codes("/* \u{1f600} /* */"), ["E0109"]);
    assert_eq!(codes("init { skip; } /* /* */ */"), [""; 0]);
    assert_eq!(codes("init { x = 0x; }"), ["E0108"]);
    assert_eq!(codes("init { x = 0xfg; }"), ["E0108"]);
    assert_eq!(codes("init { x = 0b2; }"), ["E0108"]);
    assert_eq!(codes("init { x = 0xffff_ffff_ffff_ffff; }"), [""; 0]);
    assert_eq!(codes("init { x = 0x1_0000_0000_0000_0000; }"), ["E0108"]);
    assert_eq!(codes("}"), ["E0101"]);
    assert_eq!(codes(";"), ["E0101"]);
}
