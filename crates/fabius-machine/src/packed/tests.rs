//! What steps on packed states do is what steps on whole states do.

use super::*;
use crate::system::First;
use fabius_trace::Points;
use std::collections::HashSet;

/// Small fields lie in bits, and in two runs of four bytes; numbers make the shape change with the widest of them.
#[test]
fn from_state_to_state_a_cursor_reads_what_a_new_one_reads() {
    let source = "var a: [0..30; 25]; var n: [int; 3]; var b: [u8; 3]; process p[1] { a[0] = 1; }";
    let program = fabius_lang::compile(source, &Default::default()).expect("it compiles");
    let machine = Machine::new(&program, Points::All);
    let mut state = machine.initial(&mut First, &mut StepLog::default()).expect("there is a beginning");
    let (mut packs, mut goes) = (machine.cursor(), machine.cursor());
    let mut rng = fastrand::Rng::with_seed(5);
    for _ in 0..4000 {
        for _ in 0..rng.usize(1..4) {
            let word = rng.usize(..31);
            state.words[word] = match word {
                0..25 => rng.i64(0..=30),
                25..28 => rng.i64(..) >> rng.u32(40..64),
                _ => i64::from(rng.u8(..) >> rng.u32(0..8)),
            };
        }
        machine.pack(&state, &mut packs);
        let packed = machine.packed(&packs).to_vec();
        assert_eq!(machine.unpack(&packed, &mut goes).words, state.words);
    }
}

/// All choices of a step, one after the other.
#[derive(Default)]
struct All {
    chosen: Vec<(u32, u32)>,
    at: usize,
}

impl Choose for All {
    fn choose(&mut self, alternatives: u32) -> u32 {
        if self.at == self.chosen.len() {
            self.chosen.push((0, alternatives));
        }
        self.at += 1;
        self.chosen[self.at - 1].0
    }
}

impl All {
    fn advance(&mut self) -> bool {
        self.at = 0;
        while let Some((chosen, alternatives)) = self.chosen.last_mut() {
            *chosen += 1;
            if chosen < alternatives {
                return true;
            }
            self.chosen.pop();
        }
        false
    }
}

/// Makes all steps of all states on words and as a whole; returns how many were made on words, and how many were not.
fn compare(source: &str) -> (usize, usize) {
    let program = fabius_lang::compile(source, &Default::default()).expect(source);
    let machine = Machine::new(&program, Points::All);
    let (mut quick, mut whole) = (machine.cursor(), machine.cursor());
    let (mut made, mut declined) = (0, 0);
    machine.pack(&machine.initial(&mut First, &mut StepLog::default()).expect("there is a beginning"), &mut whole);
    let mut waiting = vec![machine.packed(&whole).to_vec()];
    let mut seen: HashSet<Vec<u8>> = waiting.iter().cloned().collect();
    while let Some(packed) = waiting.pop() {
        machine.load(&packed, &mut quick);
        let state = machine.unpack(&packed, &mut whole);
        let mut ready = Vec::new();
        machine.ready_tasks(&mut quick, &mut ready);
        let all = 0..machine.tasks(&whole);
        let can_go_on = all.filter(|index| machine.ready(&state, machine.task(&whole, *index)));
        assert_eq!(ready, can_go_on.collect::<Vec<_>>(), "{source}");
        for index in ready {
            let mut choices = All::default();
            loop {
                let by_words = machine.quick_step_at(&mut quick, index, &mut choices);
                choices.at = 0;
                let end = machine.step_at(&mut whole, index, &mut choices, &mut StepLog::default());
                match by_words {
                    Some(by_words) => assert_eq!(end, Ok(by_words), "{source}"),
                    None => declined += 1,
                }
                if matches!(end, Ok(end) if end != End::Dropped) {
                    let new = machine.packed(&whole).to_vec();
                    if by_words.is_some() {
                        made += 1;
                        assert_eq!(machine.packed(&quick), new, "{source}");
                    }
                    if seen.insert(new.clone()) {
                        waiting.push(new);
                    }
                }
                if !choices.advance() {
                    break;
                }
            }
        }
    }
    (made, declined)
}

#[test]
fn steps_on_words_do_what_steps_do() {
    let sources = [
        // Flags that are known, a choice, and a loop with a known number of turns.
        "var x: u8; var found: bool; process p[2] { var picked: 0..3; var i: u8; var gone: bool; while true { atomic {
         picked = 0; gone = false; if picked == 0 && x < 3 { if * { picked = 1; } } if picked == 0 { picked = 2; gone = true; }
         if picked == 1 { x = (x as i32 + 1) as u8; } else { if gone { x = 0; } i = 0; while i < 3 { i = i + 1; } found = i == 3; } } } }",
        // Constants that are read by others: arrays, a call, a wait inside of a step, a choice between them.
        "var g: [0..9; 3]; var n: 0..9; proc add(a: 0..9, b: 0..9) -> 0..9 { if a + b < 10 { return a + b; } return 0; }
         process p[2] { var l: [0..9; 3]; var k: 0..2; var t: 0..9; while true { atomic { k = 1; t = 3; l[k] = t; l[2] = l[k];
         g[k] = l[2]; k = any 0..2; g[k] = add(t, k); t = g[1]; n = l[2]; } atomic { k = 2; await n < 9; g[0] = k; n = add(n, 1); } } }",
        // What is read and written in one step, and shared variables in between.
        "var a: 0..3 = 1; var b: 0..3 = 2; var s: [u8; 2]; process p[2] { var t: 0..3; var u: 0..3; while true { atomic { t = a; a = b; b = t; }
         atomic { u = t; t = a; s[0] = s[1]; s[1] = (s[0] as i32 + 1) as u8; if s[1] > 4 { s[1] = 0; } a = u; } } }",
        // Records and arrays as a whole, from and to places that are computed.
        "record P { a: 0..3, b: bool } var p: P = P { a: 1, b: true }; var q: [P; 2] = [P { a: 2 }, P { b: true }]; var s: [0..3; 3] = [1, 2, 3];
         process w[2] { var k: 0..1; var l: [P; 2]; while true { atomic { k = any 0..1; l[k] = q[1 - k]; q[0] = l[1]; p = q[k]; l[1 - k] = p; }
         atomic { s = [s[2], s[0], s[1]]; q = l; k = 0; l[k] = P { a: p.a, b: !p.b }; p = l[0]; } } }",
        // Numbers of all signs and widths, alone and among others; what does not fit is cut off.
        "var n: int; var w: [int; 2]; var u: u8; var s: i8; var r: 0..40; process p[1] { while true { atomic { n = n + 1; if n > 5 { n = -5; } }
         atomic { w[0] = n * 7; u = (u as i32 - 3) as u8; w[1] = w[0]; s = u as i8; } atomic { s = s + s; r = any 0..1 * 13; w[1] = -w[1]; } } }",
        // What is alive where one stands, and what is not; a fault, a dropped execution, a fork.
        "var x: 0..4; var y: 0..4; proc late(by: 0..1) { var k: 0..4 = 3; y = k - by; k = x; y = k; }
         process p[2] { var t: 0..4; var dead: 0..4; atomic { t = 2; x = 1; } y = t; t = x; dead = t; x = 4 - t; if t == 2 { assume dead < 2; } dead = any 0..1;
         if y == 1 { assert dead < 9; spawn late(dead as int); } x = t; }",
    ];
    for source in sources {
        let (made, declined) = compare(source);
        assert!(made > 20 && made > declined, "{made} on words, {declined} not: {source}");
    }
}
