//! Integers get more bits only where nothing else decides: what is left open may be anything, and is opened first.

use fabius_lang::{Choices, Options, compile};
use fabius_sequential::bmc::{Bmc, Depth, Outcome};
use fabius_smt::{Embedded, Limits};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Whether an assertion fails, and the bits of an integer in the end.
fn ask(source: &str) -> (bool, u64) {
    let options = Options { choices: Choices::Unbounded, ..Options::default() };
    let program = compile(source, &options).expect("it is a program");
    let stop = Arc::new(AtomicBool::new(false));
    let limits = Limits { deadline: None, stop: &stop };
    let mut bmc = Bmc::new(&program, Box::new(Embedded::default()));
    let fails = match bmc.check(Depth { unwind: 5, recursion: 5 }, &limits, &mut |_| {}).expect("it is sequential") {
        Outcome::Bug(_) => true,
        Outcome::Safe { cuts, .. } => {
            assert!(cuts.is_empty(), "{cuts:?}");
            false
        }
        Outcome::Unknown => panic!("there is no limit"),
    };
    let numbers = bmc.solver_statistics();
    let bits = numbers.iter().find(|(name, _)| *name == "bits of an integer").expect("the solver says it").1;
    (fails, bits)
}

#[test]
fn what_is_open_is_opened_before_integers_get_more_bits() {
    let counts = |end: &str| {
        let body = "while i < n { if * { x = x + 1; } i = i + 1; }";
        format!("init {{ var x: int; var i: int; let n = any 0..3; {body} assert x != {end}; }}")
    };
    assert_eq!(ask(&counts("1000")), (false, 8));
    assert_eq!(ask(&counts("3")), (true, 8));
    // Here it takes more bits to know.
    let far = "init { let x = any int; let y = any int; assume x > 300; assume y == x + x; assert y > x; }";
    assert!(matches!(ask(far), (false, 16..)), "{:?}", ask(far));
    let found =
        "init { let x = any int; var y: int; while y < 2 { y = y + 1; } assume x > 300; assert x + y != 1000; }";
    assert!(matches!(ask(found), (true, 16..)), "{:?}", ask(found));
}
