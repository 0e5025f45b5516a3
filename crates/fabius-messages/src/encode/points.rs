//! Points in time and the edges between them: what must not be in a circle.

use super::Frame;
use crate::ctp::{Ctp, ReceiveId, Request, SendId};
use crate::pairs::Pairs;
use crate::semantics::Buffering;
use fabius_smt::{Sort, Term, Terms};
use std::collections::HashMap;

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Point {
    /// When a command is executed.
    Command(usize, usize),
    /// With zero buffering: when the message of a receive arrives.
    Arrival(ReceiveId),
}

/// When an edge holds.
#[derive(Clone, Copy, Debug)]
enum When {
    Always,
    /// When this is a match.
    Match(ReceiveId, SendId),
    /// When this is a match, and the command is executed.
    Until(ReceiveId, SendId, usize, usize),
}

/// An edge between points.
type Edge = (When, Point, Point);

/// The edges that can be on a cycle.
pub struct Graph(Vec<Edge>);

impl Graph {
    /// Messages are sent before they are received, and no command waits for itself.
    pub fn new(ctp: &Ctp, pairs: &Pairs, buffering: Buffering) -> Graph {
        let edges = match buffering {
            Buffering::Infinite => edges(ctp, pairs),
            Buffering::Zero => edges_of_arrivals(ctp, pairs),
        };
        let mut points: Vec<Point> = edges.iter().flat_map(|(_, from, to)| [*from, *to]).collect();
        points.sort_unstable();
        points.dedup();
        let in_program = |pair: &[Point]| match (pair[0], pair[1]) {
            (Point::Command(a, _), Point::Command(b, _)) if a == b => Some((When::Always, pair[0], pair[1])),
            _ => None,
        };
        let program: Vec<Edge> = points.windows(2).filter_map(in_program).collect();
        let mut edges: Vec<Edge> = program.into_iter().chain(edges).collect();
        let component = components(&points, &edges);
        let place = |p: &Point| points.binary_search(p).expect("every end of an edge is a point");
        edges.retain(|(_, from, to)| component[place(from)] == component[place(to)]);
        Graph(edges)
    }

    /// The receives whose matches can be on a cycle.
    pub fn receives(&self) -> impl Iterator<Item = ReceiveId> + '_ {
        self.0.iter().filter_map(|(when, ..)| match when {
            When::Always => None,
            When::Match(r, _) | When::Until(r, ..) => Some(*r),
        })
    }

    /// Tells the solver.
    pub fn assert(&self, frame: &mut Frame<'_>, matches: &[(ReceiveId, SendId, Term)]) {
        let is: HashMap<(ReceiveId, SendId), Term> = matches.iter().map(|(r, s, t)| ((*r, *s), *t)).collect();
        let mut times: HashMap<Point, Term> = HashMap::new();
        for (when, from, to) in &self.0 {
            let condition = match when {
                When::Always => Some(Terms::TRUE),
                When::Match(r, s) => is.get(&(*r, *s)).copied(),
                When::Until(r, s, node, at) => is.get(&(*r, *s)).map(|pair| {
                    let executed = frame.executed(*node, *at);
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

fn edges(ctp: &Ctp, pairs: &Pairs) -> Vec<Edge> {
    let edge = |(r, s): (ReceiveId, SendId)| {
        let (receive, send) = (&ctp.receives[r], &ctp.sends[s]);
        Some((When::Match(r, s), Point::Command(send.node, send.at), Point::Command(receive.node, receive.done?)))
    };
    pairs.iter().filter_map(edge).collect()
}

/// With zero buffering a message arrives after it is sent and after its receive is posted, before either is completed, and
/// after the one before it at the endpoint.
fn edges_of_arrivals(ctp: &Ctp, pairs: &Pairs) -> Vec<Edge> {
    let mut edges = Vec::new();
    for endpoint in &ctp.endpoints {
        for r in &endpoint.receives {
            let receive = &ctp.receives[*r];
            edges.push((When::Always, Point::Command(receive.node, receive.at), Point::Arrival(*r)));
            if let Some(done) = receive.done {
                edges.push((When::Always, Point::Arrival(*r), Point::Command(receive.node, done)));
            }
        }
        let in_order = |pair: &[ReceiveId]| (When::Always, Point::Arrival(pair[0]), Point::Arrival(pair[1]));
        edges.extend(endpoint.receives.windows(2).map(in_order));
    }
    let tests = ctp.found_incomplete();
    for (r, s) in pairs.iter() {
        let send = &ctp.sends[s];
        edges.push((When::Match(r, s), Point::Command(send.node, send.at), Point::Arrival(r)));
        if let Some(wait) = send.wait {
            edges.push((When::Match(r, s), Point::Arrival(r), Point::Command(send.node, wait)));
        }
        for (node, at, request) in &tests {
            if *request == Request::Receive(r) || *request == Request::Send(s) {
                edges.push((When::Until(r, s, *node, *at), Point::Command(*node, *at), Point::Arrival(r)));
            }
        }
    }
    edges
}

/// For each point the number of its strongly connected component: edges between two of them are on no cycle.
fn components(points: &[Point], edges: &[Edge]) -> Vec<usize> {
    let place = |p: &Point| points.binary_search(p).expect("every end of an edge is a point");
    let (mut after, mut before) = (vec![Vec::new(); points.len()], vec![Vec::new(); points.len()]);
    for (_, from, to) in edges {
        let (from, to) = (place(from), place(to));
        after[from].push(to);
        before[to].push(from);
    }
    // Once forwards for the order in which points are left, once backwards in the reverse of it.
    let mut left = Vec::new();
    let mut seen = vec![false; points.len()];
    for start in 0..points.len() {
        let mut stack = vec![(start, 0)];
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        while let Some((point, next)) = stack.pop() {
            match after[point].get(next) {
                None => left.push(point),
                Some(other) => {
                    stack.push((point, next + 1));
                    if !std::mem::replace(&mut seen[*other], true) {
                        stack.push((*other, 0));
                    }
                }
            }
        }
    }
    let mut component = vec![usize::MAX; points.len()];
    for start in left.into_iter().rev() {
        let mut stack = vec![start];
        while let Some(point) = stack.pop() {
            if component[point] == usize::MAX {
                component[point] = start;
                stack.extend(before[point].iter().copied().filter(|p| component[*p] == usize::MAX));
            }
        }
    }
    component
}
