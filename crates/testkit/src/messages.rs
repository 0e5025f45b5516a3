//! Trace programs of message passing: random small ones, and families that can be scaled.

use fastrand::Rng;
use std::fmt::Write;

/// Whether every message is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// There is a receive for every message.
    Balanced,
    /// Some messages have no receive.
    MoreSends,
    /// Some receives have no message: their nodes wait for ever.
    MoreReceives,
}

/// A random trace program of two or three nodes and two to five messages.
pub fn random(rng: &mut Rng, balance: Balance) -> String {
    let nodes = if rng.u8(..3) == 0 { 2 } else { 3 };
    let two_endpoints = rng.u8(..10) < 3;
    let endpoint = |rng: &mut Rng, node: usize| if two_endpoints && node == 0 && rng.bool() { 10 } else { node };
    // Requests of each node: a send (to an endpoint), or a receive.
    let mut requests: Vec<Vec<(Option<usize>, usize)>> = vec![Vec::new(); nodes];
    let mut incoming = std::collections::BTreeMap::new();
    for _ in 0..rng.usize(2..=5) {
        let to = if rng.u8(..3) < 2 { 0 } else { rng.usize(..nodes) };
        let from = (to + rng.usize(1..nodes)) % nodes;
        let (source, destination) = (endpoint(rng, from), endpoint(rng, to));
        requests[from].push((Some(destination), source));
        *incoming.entry((to, destination)).or_insert(0usize) += 1;
    }
    for ((node, at), count) in incoming {
        let count = match balance {
            Balance::MoreSends if count > 1 && rng.u8(..10) < 6 => count - 1,
            Balance::MoreReceives if rng.u8(..10) < 4 => count + 1,
            _ => count,
        };
        requests[node].extend((0..count).map(|_| (None, at)));
    }
    let mut out = String::new();
    let mut names = 0;
    for (node, mut list) in requests.into_iter().enumerate() {
        rng.shuffle(&mut list);
        writeln!(out, "node T{node} {{").expect("text grows");
        out += &body(rng, &list, &mut names);
        out += "}\n";
    }
    out
}

/// The commands of a node.
fn body(rng: &mut Rng, requests: &[(Option<usize>, usize)], names: &mut usize) -> String {
    let mut out = String::new();
    let (mut known, mut posted): (Vec<String>, Vec<usize>) = (Vec::new(), Vec::new());
    let wait = |rng: &mut Rng, out: &mut String, known: &mut Vec<String>, posted: &mut Vec<usize>| {
        if posted.is_empty() {
            return;
        }
        let r = posted.swap_remove(rng.usize(..posted.len()));
        match rng.u8(..12) {
            0 => writeln!(out, "    test r{r} is true;"),
            1 if !posted.is_empty() => writeln!(out, "    wait_any r{r}, r{} is r{r};", posted[0]),
            2 => writeln!(out, "    test r{r} is false;\n    wait r{r};"),
            _ => writeln!(out, "    wait r{r};"),
        }
        .expect("text grows");
        known.push(format!("x{r}"));
        if rng.u8(..4) == 0 {
            let operator = ["<", ">", "!="][rng.usize(..3)];
            let x = &known[rng.usize(..known.len())];
            writeln!(out, "    assume {x} {operator} {};", rng.u8(1..6)).expect("text grows");
        }
    };
    for (destination, own) in requests {
        let name = *names;
        *names += 1;
        match destination {
            Some(to) => {
                let value = match known.last() {
                    Some(x) if rng.u8(..10) < 4 => format!("{x} + 1"),
                    _ => rng.u8(1..7).to_string(),
                };
                let blocking = if rng.u8(..10) < 3 { "send" } else { "send_i" };
                writeln!(out, "    {blocking} s{name} @{own} -> @{to}: {value};")
            }
            None => {
                posted.push(name);
                writeln!(out, "    recv_i r{name} @{own} -> x{name};")
            }
        }
        .expect("text grows");
        if rng.u8(..10) < 6 {
            wait(rng, &mut out, &mut known, &mut posted);
        }
    }
    while !posted.is_empty() && rng.u8(..20) > 0 {
        wait(rng, &mut out, &mut known, &mut posted);
    }
    for _ in 0..[0, 1, 1, 2][rng.usize(..4)] {
        if let Some(x) = known.last() {
            let operator = ["==", "<", "!=", ">"][rng.usize(..4)];
            let other = &known[rng.usize(..known.len())];
            let right = if rng.bool() { other.clone() } else { rng.u8(1..5).to_string() };
            writeln!(out, "    assert {x} {operator} {right};").expect("text grows");
        }
    }
    out
}
