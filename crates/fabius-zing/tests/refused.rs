//! What is no ZING, wrong or not taken is said with its place: the part between `«` and `»`.

mod common;

const REFUSED: &[(&str, &str)] = &[
    ("E0811", "class M { activate static void a() { x = 1 «}» };"),
    ("E0811", "class M { activate static void a() { assert(true, «1»); } };"),
    ("E0811", "class M { «/*» };"),
    ("E0811", "class M { activate static void a() { «@» } };"),
    ("E0811", "class M { activate static void a() { select { «x» -> ; } } };"),
    ("E0811", "class M { activate static void a() { ; }«»"),
    ("E0812", "class M { static int x; }«»"),
    ("E0812", "class M { activate static void a() { «y» = 1; } };"),
    ("E0812", "class M { static bool b; activate static void a() { b = «1»; } };"),
    ("E0812", "class M { static int x; activate static void a() { if («x») ; } };"),
    ("E0812", "class M { activate static void a() { int x; int «x»; } };"),
    ("E0812", "class M { activate static void a() { «f»(); } };"),
    ("E0812", "class M { static void f(int n) { } activate static void a() { «f()»; } };"),
    ("E0812", "class M { static int f() { return 1; } activate static void a() { bool b; b = «f()»; } };"),
    ("E0812", "class M { static void f() { } activate static void a() { int x; x = «f()»; } };"),
    ("E0812", "class M { int x; activate static void a() { «x» = 1; } };"),
    ("E0812", "class M { void f() { } activate static void a() { M.«f»(); } };"),
    ("E0812", "class M { activate void «a»() { } };"),
    ("E0812", "enum E { A }; class M { static E e; activate static void a() { e = E.«B»; } };"),
    ("E0812", "class «int» { }; class M { activate static void a() { } };"),
    ("E0812", "struct S { «S» s; }; class M { static S s; activate static void a() { } };"),
    ("E0812", "class M { static int f() { «return;» } activate static void a() { } };"),
    ("E0812", "class M { static «Foo» x; activate static void a() { } };"),
    ("E0812", "class O { }; class M { static O o; activate static void a() { o.«v» = 1; } };"),
    ("E0813", "struct S { int a; }; set T «S»; class M { activate static void a() { } };"),
    ("E0812", "array A[] int; class M { activate static void a() { A a = «new A»; } };"),
    ("E0812", "array A[2] int; class M { activate static void a() { A a = new A[«3»]; } };"),
    (
        "E0812",
        "array A[] int; class M { activate static void a() { A a = new A[2]; A b = new A[3]; int n; n = «sizeof(A)»; } };",
    ),
    ("E0813", "set S int; class M { activate static void a() { S s = new S; S t = new S; s = «t + 1»; } };"),
    ("E0813", "set S int; class M { activate static void a() { S s = new S; s = «1 - s»; } };"),
    ("E0813", "class M { static «double» x; activate static void a() { } };"),
    ("E0812", "set S byte; class M { activate static void a() { S s = new S; bool b; b = «257» in s; } };"),
    ("E0812", "class M { activate static void a() { bool b; b = 1 in «2»; } };"),
    ("E0813", "class O { }; set S O; class M { activate static void a() { S s = new S; foreach (O o in «s») ; } };"),
    ("E0812", "array A[2] int; class M { activate static void a() { A a = new A; bool b; foreach («b» in a) ; } };"),
    ("E0812", "class M { static int y; activate static void a() { int x; foreach (x in «y») ; } };"),
    (
        "E0813",
        "array A[2] int; class M { static bool b; activate static void a() { A a = new A; foreach (int x in a) «while (b) ;» } };",
    ),
    ("E0812", "class M { activate static void a() { goto «L»; } };"),
    ("E0812", "class M { activate static void a() { L: ; «L»: ; } };"),
    ("E0813", "class M { activate static void a() { goto «L»; { L: ; } } };"),
    ("E0813", "class M { activate static void a() { try { «L»: goto L; } with { * -> ; } } };"),
    (
        "E0813",
        "class M { static bool b; activate static void a() { atomic { L: «select { wait(b) -> ; }» goto L; } } };",
    ),
    ("E0812", "class M { activate static void a() { select { «event(1, 2, true)» -> ; } } };"),
    ("E0812", "class M { static string s; activate static void a() { s = «1»; } };"),
    ("E0812", "class M { static string s; activate static void a() { s = «s» + \"x\"; } };"),
    ("E0813", "class M { static string s; activate static void a() { s = choose(«string»); } };"),
    ("E0813", "class M { static ulong u; static int i; activate static void a() { assert(«u < i»); } };"),
    ("E0812", "class M { static ulong u; activate static void a() { u = -«u»; } };"),
    ("E0811", "class M { static ulong u; activate static void a() { u = «9»223372036854775808; } };"),
    ("E0811", "class M { activate static void a() { raise«;» } };"),
    ("E0811", "class M { activate static void a() { try { } «}» };"),
    ("E0812", "class M { activate static void a() { try { } with «{» } } };"),
    ("E0812", "class M { activate static void a() { try { } with { X -> ; «X» -> ; } } };"),
    ("E0812", "class M { activate static void a() { try { } with { * -> ; «*» -> ; } } };"),
    (
        "E0813",
        "class M { static void f() { raise X; } activate static void a() { try { f(); } with { X -> ; } «f()»; } };",
    ),
    ("E0811", "[Shown class M { activate static void a() { } };«»"),
    ("E0813", "class M { static int f() { return 1; } activate static void a() { int x; x = 1 + «f()»; } };"),
    (
        "E0813",
        "class M { static bool f() { assert(true); return true; } activate static void a() { select { wait(«f()») -> ; } } };",
    ),
    ("E0812", "class M { static void f(out int x) { } activate static void a() { int y; f(«y»); } };"),
    ("E0812", "class M { static void f(int x) { } activate static void a() { int y; f(«out y»); } };"),
    (
        "E0812",
        "class M { static bool f(out int x) { return true; } activate static void a() { int y; select { wait(f(out «y»)) -> ; } } };",
    ),
    ("E0813", "class M { activate static void a() { int x; x«++»; } };"),
    ("E0813", "class M { static «object» o; activate static void a() { } };"),
    ("E0813", "class M { activate static void a() { int x; x = choose(«int»); } };"),
    ("E0813", "class M { static void f() { } static void «f»(int n) { } activate static void a() { } };"),
    ("E0813", "class O { }; class P { O o = «new O»; }; class M { activate static void a() { } };"),
];

#[test]
fn each_refusal_has_its_code_and_place() {
    let mut wrong = Vec::new();
    for (code, marked) in REFUSED {
        let source = marked.replace(['«', '»'], "");
        let start = marked.find('«').expect("the place is marked");
        let end = marked.find('»').expect("the place is marked") - '«'.len_utf8();
        match fabius_zing::compile(&source, &[]) {
            Ok(_) => wrong.push(format!("{source}: it is taken")),
            Err(found) => {
                let d = &found[0];
                if (d.code, d.span.start as usize, d.span.end as usize) != (*code, start, end) {
                    wrong.push(format!("{source}: {} {} at {:?} ({start}..{end})", d.code, d.message, d.span));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_the_room_of_channels_can_be_set() {
    let source = "chan C int; class M { static C c = new C; activate static void a() { send(c, 1); send(c, 2); } };";
    let with = |name: &str, value: &str| fabius_zing::compile(source, &[(name.into(), value.into())]);
    assert!(with("ROOM", "2").is_ok());
    assert!(with("ROOM", "0").is_err() && with("ROOM", "x").is_err() && with("SIZE", "1").is_err());
}

#[test]
fn no_text_is_a_panic() {
    let whole = "enum E { A, B }; range R 1 .. 3; struct S { int a; }; array A[2] S; chan C S; class O { E e; int f(S s) { return s.a; } };
        class M { static C c = new C; static string w = \"w\"; static long j(ulong u) { L: if (u > 1UL) { u = u - 1; goto L; } select visible { event(1, 2, true) && wait(w == \"v\") -> goto N; timeout -> ; } N: return 5L; } static atomic bool g() { return true; } activate static void a() { A x = new A; S s; O o = new O; int n;
        atomic { select first { receive(c, s) && wait(g()) -> { n = o.f(s); } timeout -> o.e = E.B; } while (n < 2 || !true) { n = n + sizeof(c); }
        if (n >= 1 && x[n].a == -2) return; else x[0].a = choose(R); } async M.b(); assert(n != 3, \"three\"); } static void b() { send(c, c0); } static S c0;
        static int h(out short k) { try { k = 1; raise X; } with { X -> return 2; * -> { raise Y; } } return 3; }
        activate static void d() { T t = new T; L l = new L[2]; L m = new L[sizeof(t)]; int n; short k; t = t + 4; t = t - n;
        foreach (int v in t) { if (v in t) n = choose(l); else l[v] = choose(t); } try { n = h(out k); } with { * -> atomic { foreach (n in m) return; } } } };
        set T int; array L[] int;";
    assert!(fabius_zing::compile(whole, &[]).is_ok(), "{:?}", common::compiled(whole));
    let mut rng = fastrand::Rng::with_seed(7);
    let tokens: Vec<&str> = whole.split_inclusive([' ', '(', ')', ';', '.']).collect();
    for _ in 0..3000 {
        let mut text: Vec<&str> = tokens.clone();
        for _ in 0..rng.usize(1..4) {
            let at = rng.usize(..text.len());
            match rng.u8(..3) {
                0 => drop(text.remove(at)),
                1 => text.insert(at, tokens[rng.usize(..tokens.len())]),
                _ => {
                    let other = rng.usize(..text.len());
                    text.swap(at, other);
                }
            }
        }
        let _ = fabius_zing::compile(&text.concat(), &[]);
    }
}
