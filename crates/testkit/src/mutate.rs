//! Mutations of texts: what a hand, a tool or a disk may make of a file.

use fastrand::Rng;

/// Pieces that readers stumble over.
const PIECES: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "..",
    "=",
    "==",
    "!",
    "&&",
    "*",
    "/",
    "%",
    "\"",
    "'",
    "//",
    "/*",
    "*/",
    "0",
    "1",
    "-1",
    "7",
    "255",
    "65536",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "340282366920938463463374607431768211456",
    "\\",
    "\u{0}",
    "\u{1b}[2J",
    "\u{7f}",
    "\u{9b}",
    "\u{202e}",
    "\u{feff}",
    "\r",
    "\r\n",
    "\t",
    "漢字",
    "é",
    "init",
    "process",
    "proc",
    "var",
    "const",
    "if",
    "else",
    "while",
    "atomic",
    "assert",
    "assume",
    "await",
    "choose",
    "or",
    "any",
    "spawn",
    "post",
    "join",
    "yield",
    "zield",
    "return",
    "break",
    "continue",
    "new",
    "null",
    "ref",
    "record",
    "map",
    "level",
    "buffer",
    "lock",
    "int",
    "bool",
    "u8",
    "i64",
    "true",
    "node",
    "send",
    "recv",
    "->",
    "@0",
    "wait",
    "null",
    "[]",
    "{}",
    ":",
    "1e999",
    "\"a\":",
];

/// The text with one to four changes: bytes, ranges, lines and numbers; and pieces of the others.
pub fn mutate(rng: &mut Rng, text: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..rng.usize(1..=4) {
        change(rng, &mut text, others);
    }
    text
}

fn change(rng: &mut Rng, text: &mut Vec<u8>, others: &[Vec<u8>]) {
    let at = rng.usize(0..=text.len());
    let end = at + rng.usize(0..=(text.len() - at).min(40));
    match rng.u8(0..9) {
        0 if at < text.len() => text[at] ^= 1 << rng.u8(0..8),
        1 => drop(text.drain(at..end)),
        2 => {
            let range = text[at..end].to_vec();
            text.splice(at..at, range);
        }
        3 => {
            let other = &others[rng.usize(0..others.len())];
            let from = rng.usize(0..=other.len());
            let to = from + rng.usize(0..=(other.len() - from).min(80));
            text.splice(at..end, other[from..to].iter().copied());
        }
        4 => swap_lines(rng, text),
        5 => {
            let numbers: Vec<usize> = (0..text.len()).filter(|i| text[*i].is_ascii_digit()).collect();
            if let Some(at) = rng.choice(numbers) {
                text.splice(at..=at, PIECES[rng.usize(21..29)].bytes());
            }
        }
        6 => text.truncate(at),
        _ => drop(text.splice(at..at, PIECES[rng.usize(0..PIECES.len())].bytes())),
    }
}

fn swap_lines(rng: &mut Rng, text: &mut Vec<u8>) {
    let mut lines: Vec<Vec<u8>> = text.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    if !lines.is_empty() {
        let (a, b) = (rng.usize(0..lines.len()), rng.usize(0..lines.len()));
        lines.swap(a, b);
        *text = lines.concat();
    }
}
