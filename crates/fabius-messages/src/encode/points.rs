//! Points in time and the edges between them: what must not be in a circle.

use super::Frame;
use crate::ctp::{Ctp, NodeId, ReceiveId, Request, SendId};
use crate::pairs::Pairs;
use crate::semantics::Buffering;
use fabius_smt::{Limits, Sort, Term, Terms};
use std::collections::HashMap;

/// The number of a point in time: when a command is executed or, with zero buffering, when the message of a receive arrives.
type Point = u32;

/// When an edge holds.
#[derive(Clone, Copy, Debug)]
enum When {
    Always,
    /// When this command of this node is executed.
    Executed(u32, u32),
    /// When this is a match.
    Match(u32, u32),
    /// When this is a match, and this test is executed.
    Until(u32, u32, u32),
}

/// An edge between points.
type Edge = (When, Point, Point);

/// The edges that can be on a cycle.
pub struct Graph {
    edges: Vec<Edge>,
    /// What the edges that hold until a test speak of.
    tests: Vec<(NodeId, usize, Request)>,
}

impl Graph {
    /// Messages are sent before they are received, marks passed before what waits for them, and no command waits for itself.
    pub fn new(ctp: &Ctp, pairs: &Pairs, buffering: Buffering, limits: &Limits<'_>) -> Graph {
        let numbers = Numbers::new(ctp);
        let tests = ctp.found_incomplete();
        let mut edges = Vec::new();
        if buffering == Buffering::Zero {
            edges_in_order_of_arrival(ctp, &numbers, &mut edges);
        }
        for (r, sends) in pairs.of_receive.iter().enumerate() {
            if limits.are_hit() {
                return Graph { edges: Vec::new(), tests };
            }
            match buffering {
                Buffering::Infinite => edges_to_wait(ctp, &numbers, r, sends, &mut edges),
                Buffering::Zero => edges_to_arrival(ctp, &numbers, r, sends, &tests, &mut edges),
            }
        }
        for (node, at, mark) in ctp.orders().filter(|(_, _, mark)| ctp.is_there(mark)) {
            let (from, to) = (numbers.command(mark.node, mark.at), numbers.command(node, at));
            edges.push((When::Executed(node as u32, at as u32), from, to));
        }
        let mut is_point = vec![false; numbers.len()];
        for (_, from, to) in &edges {
            is_point[*from as usize] = true;
            is_point[*to as usize] = true;
        }
        for node in 0..ctp.nodes.len() {
            let points = (0..ctp.nodes[node].commands.len()).map(|at| numbers.command(node, at));
            let points: Vec<Point> = points.filter(|p| is_point[*p as usize]).collect();
            edges.extend(points.windows(2).map(|pair| (When::Always, pair[0], pair[1])));
        }
        let component = components(numbers.len(), &edges);
        edges.retain(|(_, from, to)| component[*from as usize] == component[*to as usize]);
        Graph { edges, tests }
    }

    /// The receives whose matches can be on a cycle.
    pub fn receives(&self) -> impl Iterator<Item = ReceiveId> + '_ {
        self.edges.iter().filter_map(|(when, ..)| match when {
            When::Always | When::Executed(..) => None,
            When::Match(r, _) | When::Until(r, ..) => Some(*r as ReceiveId),
        })
    }

    /// Tells the solver.
    pub fn assert(&self, frame: &mut Frame<'_>, matches: &[(ReceiveId, SendId, Term)]) {
        if self.edges.is_empty() {
            return;
        }
        let is: HashMap<(u32, u32), Term> = matches.iter().map(|(r, s, t)| ((*r as u32, *s as u32), *t)).collect();
        let mut times: HashMap<Point, Term> = HashMap::new();
        for (when, from, to) in &self.edges {
            let condition = match when {
                When::Always => Some(Terms::TRUE),
                When::Executed(node, at) => Some(frame.executed(*node as usize, *at as usize)),
                When::Match(r, s) => is.get(&(*r, *s)).copied(),
                When::Until(r, s, test) => is.get(&(*r, *s)).map(|pair| {
                    let (node, at, _) = self.tests[*test as usize];
                    let executed = frame.executed(node, at);
                    frame.terms.and(*pair, executed)
                }),
            };
            // What is no pair is no match.
            let Some(condition) = condition else { continue };
            let mut time = |p: &Point| *times.entry(*p).or_insert_with(|| frame.terms.variable(Sort::Int));
            let (from, to) = (time(from), time(to));
            frame.facts.orders.push([condition, from, to]);
            frame.count.program_order += 1;
        }
    }
}

/// The numbers of points: those of commands, node by node, then those of arrivals.
struct Numbers {
    first: Vec<usize>,
    commands: usize,
    arrivals: usize,
}

impl Numbers {
    fn new(ctp: &Ctp) -> Numbers {
        let mut commands = 0;
        let mut first = Vec::with_capacity(ctp.nodes.len());
        for node in &ctp.nodes {
            first.push(commands);
            commands += node.commands.len();
        }
        Numbers { first, commands, arrivals: ctp.receives.len() }
    }

    fn len(&self) -> usize {
        self.commands + self.arrivals
    }

    fn command(&self, node: NodeId, at: usize) -> Point {
        (self.first[node] + at) as Point
    }

    fn arrival(&self, r: ReceiveId) -> Point {
        (self.commands + r) as Point
    }
}

fn edges_to_wait(ctp: &Ctp, numbers: &Numbers, r: ReceiveId, sends: &[SendId], edges: &mut Vec<Edge>) {
    let receive = &ctp.receives[r];
    let Some(done) = receive.done else { return };
    let to = numbers.command(receive.node, done);
    let edge = |s: &SendId| {
        let send = &ctp.sends[*s];
        (When::Match(r as u32, *s as u32), numbers.command(send.node, send.at), to)
    };
    edges.extend(sends.iter().map(edge));
}

/// With zero buffering a message arrives after its receive is posted, before that is completed, and after the one before it
/// at the endpoint.
fn edges_in_order_of_arrival(ctp: &Ctp, numbers: &Numbers, edges: &mut Vec<Edge>) {
    for endpoint in &ctp.endpoints {
        for r in &endpoint.receives {
            let receive = &ctp.receives[*r];
            let arrival = numbers.arrival(*r);
            edges.push((When::Always, numbers.command(receive.node, receive.at), arrival));
            if let Some(done) = receive.done {
                edges.push((When::Always, arrival, numbers.command(receive.node, done)));
            }
        }
        let in_order = |pair: &[ReceiveId]| (When::Always, numbers.arrival(pair[0]), numbers.arrival(pair[1]));
        edges.extend(endpoint.receives.windows(2).map(in_order));
    }
}

/// And after it is sent, before the send is completed, and after the tests that find either incomplete.
fn edges_to_arrival(
    ctp: &Ctp,
    numbers: &Numbers,
    r: ReceiveId,
    sends: &[SendId],
    tests: &[(NodeId, usize, Request)],
    edges: &mut Vec<Edge>,
) {
    let arrival = numbers.arrival(r);
    for s in sends {
        let send = &ctp.sends[*s];
        let is = When::Match(r as u32, *s as u32);
        edges.push((is, numbers.command(send.node, send.at), arrival));
        if let Some(wait) = send.wait {
            edges.push((is, arrival, numbers.command(send.node, wait)));
        }
        for (test, (node, at, request)) in tests.iter().enumerate() {
            if *request == Request::Receive(r) || *request == Request::Send(*s) {
                edges.push((When::Until(r as u32, *s as u32, test as u32), numbers.command(*node, *at), arrival));
            }
        }
    }
}

/// For each point the number of its strongly connected component: edges between two of them are on no cycle.
fn components(points: usize, edges: &[Edge]) -> Vec<u32> {
    let (mut after, mut before) = (vec![Vec::new(); points], vec![Vec::new(); points]);
    for (_, from, to) in edges {
        after[*from as usize].push(*to);
        before[*to as usize].push(*from);
    }
    // Once forwards for the order in which points are left, once backwards in the reverse of it.
    let mut left: Vec<Point> = Vec::new();
    let mut seen = vec![false; points];
    for start in 0..points as Point {
        let mut stack = vec![(start, 0)];
        if std::mem::replace(&mut seen[start as usize], true) {
            continue;
        }
        while let Some((point, next)) = stack.pop() {
            match after[point as usize].get(next) {
                None => left.push(point),
                Some(other) => {
                    stack.push((point, next + 1));
                    if !std::mem::replace(&mut seen[*other as usize], true) {
                        stack.push((*other, 0));
                    }
                }
            }
        }
    }
    let mut component = vec![Point::MAX; points];
    for start in left.into_iter().rev() {
        let mut stack = vec![start];
        while let Some(point) = stack.pop() {
            if component[point as usize] == Point::MAX {
                component[point as usize] = start;
                let more = before[point as usize].iter().copied();
                stack.extend(more.filter(|p| component[*p as usize] == Point::MAX));
            }
        }
    }
    component
}
