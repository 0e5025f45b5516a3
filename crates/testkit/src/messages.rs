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
        if rng.u8(..6) == 0 {
            writeln!(out, "    y{r} = x{r} - 2;").expect("text grows");
            known.push(format!("y{r}"));
        }
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

/// The same program with some places that come after places of other nodes; that may be in a circle.
pub fn with_marks(rng: &mut Rng, source: &str) -> String {
    let mut lines: Vec<String> = source.lines().map(String::from).collect();
    for mark in 0..rng.usize(1..=3) {
        // Behind the first line of a node or a command of it; `}` is a line of its own.
        let node_of = |line: usize| lines[..=line].iter().filter(|l| l.starts_with("node")).count();
        let places: Vec<usize> = (0..lines.len()).filter(|i| lines[*i] != "}").collect();
        let (from, to) = (places[rng.usize(..places.len())], places[rng.usize(..places.len())]);
        if node_of(from) == node_of(to) {
            continue;
        }
        let (marked, waits) = (format!("    mark m{mark};"), format!("    after m{mark};"));
        for (place, command) in if from > to { [(from, marked), (to, waits)] } else { [(to, waits), (from, marked)] } {
            lines.insert(place + 1, command);
        }
    }
    lines.join("\n") + "\n"
}

/// Whether a program does what it claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// It does.
    Right,
    /// In some order of the messages it does not.
    Wrong,
}

/// A family of trace programs, by size.
pub type Family = fn(usize, Variant) -> String;

/// The families, by name.
pub const FAMILIES: [(&str, Family); 11] = [
    ("race", race),
    ("race_all", race_all),
    ("race_sum", race_sum),
    ("scatter_gather", scatter_gather),
    ("router", router),
    ("exchange", exchange),
    ("token_ring", token_ring),
    ("leader_election", leader_election),
    ("producer_consumer", producer_consumer),
    ("packets", packets),
    ("handshake", handshake),
];

fn node(name: &str, commands: &[String]) -> String {
    let body: String = commands.iter().map(|c| format!("    {c};\n")).collect();
    format!("node {name} {{\n{body}}}\n")
}

fn wrong_only(variant: Variant, command: String) -> Option<String> {
    (variant == Variant::Wrong).then_some(command)
}

/// n senders and one receiver: n! matchings. Wrong: the first message is not that of the last sender.
pub fn race(n: usize, variant: Variant) -> String {
    let mut receiver: Vec<String> = (1..=n).map(|i| format!("recv r{i} @0 -> x{i}")).collect();
    receiver.push(match variant {
        Variant::Right => format!("assert x1 > 0 && x1 <= {n}"),
        Variant::Wrong => format!("assert x1 != {n}"),
    });
    let mut text = node("Receiver", &receiver);
    for i in 1..=n {
        text += &node(&format!("Sender{i}"), &[format!("send_i s{i} @{i} -> @0: {i}")]);
    }
    text
}

/// The same, where every message is asked about. Wrong: they do not come in the reverse order.
pub fn race_all(n: usize, variant: Variant) -> String {
    let mut receiver: Vec<String> = (1..=n).map(|i| format!("recv r{i} @0 -> x{i}")).collect();
    match variant {
        Variant::Right => receiver.extend((1..=n).map(|i| format!("assert x{i} > 0 && x{i} <= {n}"))),
        Variant::Wrong => {
            receiver.extend((2..=n).map(|i| format!("assume x{i} < {}", n + 2 - i)));
            receiver.push(format!("assert x1 != {n}"));
        }
    }
    let mut text = node("Receiver", &receiver);
    for i in 1..=n {
        text += &node(&format!("Sender{i}"), &[format!("send_i s{i} @{i} -> @0: {i}")]);
    }
    text
}

/// The same, where all messages are added up: whatever their order, the sum is the same. That is hard to prove.
pub fn race_sum(n: usize, variant: Variant) -> String {
    let mut receiver: Vec<String> = (1..=n).map(|i| format!("recv r{i} @0 -> x{i}")).collect();
    let sum = (1..=n).map(|i| format!("x{i}")).collect::<Vec<_>>().join(" + ");
    let relation = if variant == Variant::Right { "==" } else { "!=" };
    receiver.push(format!("assert {sum} {relation} {}", n * (n + 1) / 2));
    let mut text = node("Receiver", &receiver);
    for i in 1..=n {
        text += &node(&format!("Sender{i}"), &[format!("send_i s{i} @{i} -> @0: {i}")]);
    }
    text
}

/// A master hands work to n workers and gathers what they make of it. Wrong: the first answer is that of the first worker.
pub fn scatter_gather(n: usize, variant: Variant) -> String {
    let mut master: Vec<String> = (1..=n).map(|i| format!("send_i work{i} @0 -> @{i}: {i}")).collect();
    master.extend((1..=n).map(|i| format!("recv_i r{i} @0 -> x{i}")));
    master.extend((1..=n).map(|i| format!("wait r{i}")));
    master.push(match variant {
        Variant::Right => format!("assert x{n} > 1 && x{n} <= {}", 2 * n),
        Variant::Wrong => "assert x1 == 2".into(),
    });
    let mut text = node("Master", &master);
    for i in 1..=n {
        let commands = [format!("recv get{i} @{i} -> w{i}"), format!("send_i done{i} @{i} -> @0: w{i} + w{i}")];
        text += &node(&format!("Worker{i}"), &commands);
    }
    text
}

/// n clients send two requests each to a router, which hands them on to a server. Right: two requests of one client stay in
/// order. Wrong: the server sees the first client first.
pub fn router(n: usize, variant: Variant) -> String {
    let all = 2 * n;
    let hop = |i: usize| [format!("recv in{i} @0 -> x{i}"), format!("send_i out{i} @0 -> @server: x{i}")];
    let mut text = node("Router", &(1..=all).flat_map(hop).collect::<Vec<_>>());
    let mut server: Vec<String> = (1..=all).map(|i| format!("recv r{i} @server -> y{i}")).collect();
    server.push(match variant {
        // The second request of the first client cannot be the very first message.
        Variant::Right => "assert y1 != 12".into(),
        Variant::Wrong => "assert y1 == 11".into(),
    });
    text += &node("Server", &server);
    for i in 1..=n {
        let send = |k: usize| format!("send_i c{i}_{k} @{i} -> @0: {i}{k}");
        text += &node(&format!("Client{i}"), &[send(1), send(2)]);
    }
    text
}

/// Two nodes send n messages to each other and read as many: the order is kept. Wrong: a third node sends, too.
pub fn exchange(n: usize, variant: Variant) -> String {
    let side = |own: usize, other: usize| {
        let mut commands: Vec<String> = (1..=n).map(|i| format!("send_i s{own}_{i} @{own} -> @{other}: {i}")).collect();
        commands.extend((1..=n).map(|i| format!("recv_i r{own}_{i} @{own} -> x{i}")));
        commands.extend((1..=n).rev().map(|i| format!("wait r{own}_{i}")));
        commands.push(format!("assert x{n} == {n}"));
        commands
    };
    let mut text = node("Left", &side(1, 2)) + &node("Right", &side(2, 1));
    if variant == Variant::Wrong {
        text += &node("Stranger", &["send_i s3 @3 -> @1: 0".into()]);
    }
    text
}

/// A token goes round a ring of n nodes, each of which adds one. Wrong: a node that is restarted sends another token.
pub fn token_ring(n: usize, variant: Variant) -> String {
    let mut first = vec![format!("send_i t0 @0 -> @{}: 1", 1 % n), "recv r0 @0 -> x0".into()];
    first.push(format!("assert x0 == {n}"));
    let mut text = node("Node0", &first);
    for i in 1..n {
        let mut commands = vec![format!("recv r{i} @{i} -> x{i}")];
        commands.push(format!("send_i t{i} @{i} -> @{}: x{i} + 1", (i + 1) % n));
        text += &node(&format!("Node{i}"), &commands);
    }
    if variant == Variant::Wrong {
        text += &node("Restarted", &["send_i again @again -> @0: 1".into()]);
    }
    text
}

/// A ring of n nodes in which everybody sends its number on and passes on those that are greater: the greatest comes home.
/// An observer hears of the leader. Wrong: it also hears of whoever believes so after one message.
pub fn leader_election(n: usize, variant: Variant) -> String {
    let mut text = String::new();
    for i in 1..=n {
        let next = i % n + 1;
        let mut commands = vec![format!("send_i own{i} @{i} -> @{next}: {i}"), format!("recv a{i} @{i} -> x{i}")];
        if i == 1 {
            commands.push(format!("assume x{i} > {i}"));
            commands.push(format!("send_i pass{i} @{i} -> @{next}: x{i}"));
        } else {
            commands.push(format!("assume x{i} < {i}"));
            if i + 1 == n {
                commands.extend(wrong_only(variant, format!("send_i hasty{i} @{i} -> @observer: {i}")));
            }
            commands.push(format!("recv b{i} @{i} -> y{i}"));
            if i == n {
                commands.push(format!("assume y{i} == {i}"));
                commands.push(format!("send_i leader @{i} -> @observer: y{i}"));
            } else {
                commands.push(format!("assume y{i} > {i}"));
                commands.push(format!("send_i pass{i} @{i} -> @{next}: y{i}"));
            }
        }
        text += &node(&format!("Node{i}"), &commands);
    }
    text + &node("Observer", &["recv heard @observer -> leader".into(), format!("assert leader == {n}")])
}

/// A producer sends n items and waits for the acknowledgement of each one. Wrong: a second producer does not know of it.
pub fn producer_consumer(n: usize, variant: Variant) -> String {
    let item = |i: usize| [format!("send item{i} @1 -> @0: {i}"), format!("recv got{i} @1 -> ack{i}")];
    let mut producer: Vec<String> = (1..=n).flat_map(item).collect();
    producer.push(format!("assert ack{n} == {n}"));
    let take = |i: usize| [format!("recv r{i} @0 -> x{i}"), format!("send_i a{i} @0 -> @1: x{i}")];
    let mut consumer: Vec<String> = (1..=n).flat_map(take).collect();
    consumer.push(format!("assert x{n} == {n}"));
    let mut text = node("Producer", &producer) + &node("Consumer", &consumer);
    if variant == Variant::Wrong {
        text += &node("Other", &["send_i other @2 -> @0: 0".into()]);
    }
    text
}

/// A source deals n packets to a ring of three workers, each of which passes them on to the next one, which hands them to the
/// sink. Right: none is lost or changed. Wrong: the sink gets them in the order of the source.
pub fn packets(n: usize, variant: Variant) -> String {
    const WORKERS: usize = 3;
    let worker = |i: usize| i % WORKERS + 1;
    let mut text =
        node("Source", &(0..n).map(|i| format!("send_i p{i} @0 -> @{}: {i}", worker(i))).collect::<Vec<_>>());
    for w in 1..=WORKERS {
        let mut commands = Vec::new();
        for i in (0..n).filter(|i| worker(*i) == w) {
            commands.push(format!("recv r{i} @{w} -> x{i}"));
            commands.push(format!("send_i q{i} @{w} -> @{}b: x{i}", w % WORKERS + 1));
        }
        for i in (0..n).filter(|i| worker(*i) % WORKERS + 1 == w) {
            commands.push(format!("recv t{i} @{w}b -> y{i}"));
            commands.push(format!("send_i u{i} @{w} -> @sink: y{i}"));
        }
        text += &node(&format!("Worker{w}"), &commands);
    }
    let mut sink: Vec<String> = (0..n).map(|i| format!("recv v{i} @sink -> z{i}")).collect();
    sink.push(match variant {
        Variant::Right => format!("assert z0 >= 0 && z0 < {n}"),
        Variant::Wrong => format!("assert z{} == {}", n - 1, n - 1),
    });
    text + &node("Sink", &sink)
}

/// n pairs of nodes that greet each other: one sends first, the other one answers. Wrong, without buffers: in the last pair
/// both send first.
pub fn handshake(n: usize, variant: Variant) -> String {
    let mut text = String::new();
    for i in 1..=n {
        let (a, b) = (2 * i, 2 * i + 1);
        let hello = |own: usize, other: usize| format!("send hello{own} @{own} -> @{other}: {own}");
        let listen = |own: usize| format!("recv heard{own} @{own} -> x{own}");
        text += &node(&format!("A{i}"), &[hello(a, b), listen(a)]);
        let first_sends = variant == Variant::Wrong && i == n;
        let answer = if first_sends { [hello(b, a), listen(b)] } else { [listen(b), hello(b, a)] };
        text += &node(&format!("B{i}"), &answer);
    }
    text
}
