use fabius_lang::*;
fn go(what: &str, s: String) {
    let t = std::time::Instant::now();
    let (f, d) = parse(&s);
    let a = t.elapsed();
    let codes: Vec<_> = d.iter().map(|d| d.code).collect();
    let c = compile(&s, &Options::default()).err().unwrap_or_default();
    let b = t.elapsed();
    let fm = format(&s).is_ok();
    let r = render(&s, "x.fab", &c, Style::Plain).len();
    println!(
        "{what}: {codes:?} compile {:?} fmt {fm} render {r} {a:?} {b:?} {:?}",
        c.iter().map(|d| d.code).collect::<Vec<_>>(),
        t.elapsed()
    );
    drop(f);
}
#[test]
fn probe() {
    let which = std::env::var("P").unwrap_or_default();
    let n: usize = std::env::var("N").ok().and_then(|n| n.parse().ok()).unwrap_or(100000);
    match which.as_str() {
        "paren" => go("paren", format!("init {{ let x = {}1{}; }}", "(".repeat(n), ")".repeat(n))),
        "block" => go("block", format!("init {}{}", "{".repeat(n), "}".repeat(n))),
        "not" => go("not", format!("init {{ let x = {}true; }}", "!".repeat(n))),
        "plus" => go("plus", format!("init {{ let x = 1{}; }}", " + 1".repeat(n))),
        "field" => go("field", format!("init {{ let x = a{}; }}", ".f".repeat(n))),
        "index" => go("index", format!("init {{ let x = a{}; }}", "[0]".repeat(n))),
        "cast" => go("cast", format!("init {{ let x = 1{}; }}", " as u8".repeat(n))),
        "elseif" => go("elseif", format!("init {{ if true {{}} {} }}", "else if true {}".repeat(n))),
        "arr" => go("arr", format!("var x: {}int{}; init {{ skip; }}", "[".repeat(n), "; 1]".repeat(n))),
        "arrlit" => go("arrlit", format!("init {{ let x = {}1{}; }}", "[".repeat(n), "]".repeat(n))),
        "map" => go("map", format!("var x: {}int; init {{ skip; }}", "map[bool] ".repeat(n))),
        "call" => go("call", format!("init {{ {}{}; }}", "f(".repeat(n), ")".repeat(n))),
        "ifexpr" => {
            go("ifexpr", format!("init {{ let x = {}1{}; }}", "if true { ".repeat(n), " } else { 1 }".repeat(n)))
        }
        "rec" => go("rec", format!("init {{ let x = {}1{}; }}", "R { f: ".repeat(n), " }".repeat(n))),
        "any" => go("any", format!("init {{ let x = {}1; }}", "any ".repeat(n))),
        "tuple" => go("tuple", format!("init {{ {}", "(a, ".repeat(n))),
        "method" => go("method", format!("init {{ a{}; }}", ".f()".repeat(n))),
        "stmts" => go("stmts", format!("init {{ {} }}", "skip; ".repeat(n))),
        "errs" => go("errs", format!("init {{ {} }}", "let = 1;\n".repeat(n))),
        "dollars" => go("dollars", "$".repeat(n)),
        "opens" => go("opens", "init {\n".repeat(n)),
        "comments" => go("comments", format!("{} init {{ skip; }}", "/*".repeat(n))),
        "callargs" => go("callargs", format!("proc p() {{}} init {{ p({}); }}", "1, ".repeat(n))),
        "par2" => go("par2", format!("init {{ {} }}", "(a; ".repeat(n))),
        "deep200" => go("deep200", format!("init {{ let x = {}1{}; }}", "(".repeat(n), ")".repeat(n))),
        _ => {}
    }
}
