//! Channels without room: a message is handed over, from a sender to a receiver that waits for it.
//!
//! What a process waits for is known to all: the place where it stands, and the numbers of its channels there. A sender that
//! finds one who would take its message hands it over; nobody else may go on until it is taken.

use crate::beginnings::{Beginning, Start, with};
use crate::graph::{Edge, Graph, Meet, Node, NodeId};
use crate::lower::*;
use crate::refusal::{Result, unsupported};
use fabius_lang::build::*;
use fabius_lang::program::*;
use fabius_trace::Span;
use std::collections::HashMap;

const NOWHERE: Span = Span { start: 0, end: 0 };

/// A statement that receives.
struct Way {
    proctype: usize,
    /// The place, from 1 on.
    place: i64,
    /// Which of the statements there.
    number: usize,
    channel: Expr,
    wanted: Vec<Option<Expr>>,
}

/// Most statements of one place that receive.
const MOST_WAYS: usize = 8;
const PLACE: Type = Type::Fixed { bits: 16, signed: false };

/// A process type that may hand over or receive.
pub struct Party<'a> {
    pub graph: &'a mut Graph,
    pub locals: &'a mut Vec<Local>,
    pub pid: LocalId,
    pub params: usize,
    pub first: &'a Block,
    /// The parameters of each process that runs from the beginning.
    pub active: Vec<HashMap<LocalId, Expr>>,
}

impl Party<'_> {
    /// What is to be said of a process that begins at a reception, if it can be known; so many places are before.
    fn begins(&self, places: i64) -> Option<Beginning> {
        let start = Start { locals: self.locals, params: self.params, first: self.first };
        let before = self.graph.nodes[..self.graph.entry].iter().filter(|node| receives(node)).count();
        let received = self.graph.nodes[self.graph.entry].edges.iter().filter_map(|e| match &e.meet {
            Some(Meet::Receive { channel, .. }) => Some(channel),
            _ => None,
        });
        let changing = received.enumerate().filter(|(_, channel)| value_of(channel).is_none());
        let on: Vec<(usize, Expr)> =
            changing.map(|(number, channel)| Some((number, start.at_first(channel)?))).collect::<Option<_>>()?;
        let known = |given| on.iter().all(|(_, channel)| with(channel, given).as_ref().and_then(value_of).is_some());
        let all = self.active.iter().all(known);
        all.then_some(Beginning { place: places + before as i64 + 1, on })
    }
}

impl Lower {
    /// Makes what all know.
    pub fn meet(&mut self, processes: u32) {
        let mut hidden = |name: &str, ty: Type| {
            let init = ty.default_value(&self.records);
            let name = name.to_string();
            self.globals.push(Global { name, ty, init, class: Class::Sync, per_thread: false, span: NOWHERE });
            self.globals.len() - 1
        };
        self.meeting = Some(Meeting {
            to: hidden("$to", BYTE),
            way: hidden("$way", PLACE),
            at: hidden("$at", array(PLACE, processes)),
            on: hidden("$on", array(array(BYTE, MOST_WAYS as u32), processes)),
            processes,
        });
    }

    /// Completes the graphs: who may send to whom, and what each process says of where it stands.
    pub fn hand_over(
        &mut self,
        meeting: &Meeting,
        all: &mut [Party<'_>],
    ) -> Result<Vec<HashMap<NodeId, (Block, Block)>>> {
        let mut ways = Vec::new();
        let mut places = Vec::new();
        let mut beginnings = Vec::new();
        let mut count = 0;
        for (proctype, party) in all.iter_mut().enumerate() {
            let mut here = HashMap::new();
            let begins = match receives(&party.graph.nodes[party.graph.entry]) {
                true => party.begins(count),
                false => None,
            };
            let Party { graph, pid, .. } = party;
            if receives(&graph.nodes[graph.entry]) && begins.is_none() {
                // Who begins says so in a step.
                let span = graph.nodes[graph.entry].span;
                let edge = Edge {
                    guard: None,
                    effect: Block::new(),
                    to: graph.entry,
                    atomic: false,
                    span,
                    meet: None,
                    other: false,
                    within: Vec::new(),
                };
                graph.nodes.push(Node { edges: vec![edge], span, ..Node::default() });
                graph.entry = graph.nodes.len() - 1;
            }
            for (id, node) in graph.nodes.iter().enumerate().filter(|(_, node)| receives(node)) {
                count += 1;
                let me = || read(local(*pid, BYTE, NOWHERE));
                let at = |value| {
                    let place = part(
                        &global(meeting.at, array(PLACE, meeting.processes), NOWHERE),
                        element(me(), meeting.processes),
                        PLACE,
                    );
                    assign(place, constant(value, PLACE, NOWHERE), NOWHERE)
                };
                let (mut arrives, mut leaves) = (vec![at(count)], vec![at(0)]);
                let received = node.edges.iter().filter_map(|e| match &e.meet {
                    Some(Meet::Receive { channel, wanted }) => Some((channel, wanted, e.span)),
                    _ => None,
                });
                for (number, (channel, wanted, span)) in received.enumerate() {
                    if number == MOST_WAYS {
                        return Err(unsupported(
                            span,
                            format!("more than {MOST_WAYS} receptions without room to choose from"),
                        ));
                    }
                    if value_of(channel).is_none() {
                        let on = |value| assign(on_of(meeting, me(), number), value, NOWHERE);
                        arrives.push(on(channel.clone()));
                        leaves.push(on(constant(0, BYTE, NOWHERE)));
                    }
                    let reads = |e: &Expr| !crate::emit::globals_of(e).is_empty();
                    let known = |e: &Expr| value_of(e).is_some();
                    if reads(channel) || wanted.iter().flatten().any(|e| !known(e)) {
                        return Err(unsupported(span, "a reception without room that depends on what may change")
                            .help("receive constants and variables, from a channel that stays the same"));
                    }
                    ways.push(Way { proctype, place: count, number, channel: channel.clone(), wanted: wanted.clone() });
                }
                here.insert(id, (arrives, leaves));
            }
            places.push(here);
            beginnings.push(begins);
        }
        self.say_at_first(meeting, &beginnings, all);
        let free = binary(BinaryOp::Eq, read(global(meeting.to, BYTE, NOWHERE)), constant(0, BYTE, NOWHERE));
        for (proctype, Party { graph, locals, pid, .. }) in all.iter_mut().enumerate() {
            let mut next = places[proctype].keys().copied().collect::<Vec<_>>();
            next.sort_unstable();
            for (id, node) in graph.nodes.iter_mut().enumerate() {
                let place = places[proctype].contains_key(&id);
                let mut mine = ways.iter().enumerate().filter(|(_, w)| {
                    w.proctype == proctype && place && Some(w.place) == place_of(&places[..proctype], &next, id)
                });
                let inside = node.d_step;
                node.open &= inside;
                for edge in &mut node.edges {
                    match edge.meet.take() {
                        _ if inside && edge.meet.is_none() => {}
                        Some(Meet::Receive { .. }) => {
                            let (way, _) = mine.next().expect("every reception has a way");
                            let me =
                                binary(BinaryOp::Add, read(local(*pid, BYTE, edge.span)), constant(1, BYTE, edge.span));
                            let to = binary(BinaryOp::Eq, read(global(meeting.to, BYTE, edge.span)), me);
                            let this = binary(
                                BinaryOp::Eq,
                                read(global(meeting.way, PLACE, edge.span)),
                                constant(way as i64, PLACE, edge.span),
                            );
                            edge.guard = Some(and(to, this));
                            edge.effect.push(assign(
                                global(meeting.to, BYTE, NOWHERE),
                                constant(0, BYTE, NOWHERE),
                                NOWHERE,
                            ));
                            edge.effect.push(assign(
                                global(meeting.way, PLACE, NOWHERE),
                                constant(0, PLACE, NOWHERE),
                                NOWHERE,
                            ));
                        }
                        Some(Meet::Send { channel, values }) => {
                            // Who may receive at the same place is not who receives its own message.
                            let me = place.then(|| read(local(*pid, BYTE, edge.span)));
                            self.sends(&ways, edge, &channel, &values, locals, (&free, me))
                        }
                        None => {
                            edge.guard = Some(match edge.guard.take() {
                                Some(guard) => and(free.clone(), guard),
                                None => free.clone(),
                            });
                        }
                    }
                }
            }
        }
        Ok(places)
    }

    /// Says of processes that begin at a reception where they stand: of those that run from the beginning, and where others start them.
    fn say_at_first(&mut self, meeting: &Meeting, beginnings: &[Option<Beginning>], all: &mut [Party<'_>]) {
        for (begins, party) in beginnings.iter().zip(all.iter()) {
            let Some(begins) = begins else { continue };
            for given in &party.active {
                let pid = value_of(&given[&party.pid]).unwrap_or(0) as usize;
                if let Value::Tuple(at) = &mut self.globals[meeting.at].init {
                    at[pid] = Value::Int(begins.place);
                }
                for (number, channel) in &begins.on {
                    let channel = with(channel, given).as_ref().and_then(value_of).unwrap_or(0);
                    if let Value::Tuple(on) = &mut self.globals[meeting.on].init
                        && let Value::Tuple(on) = &mut on[pid]
                    {
                        on[*number] = Value::Int(channel);
                    }
                }
            }
        }
        let pids: Vec<LocalId> = all.iter().map(|party| party.pid).collect();
        for edge in all.iter_mut().flat_map(|party| &mut party.graph.nodes).flat_map(|node| &mut node.edges) {
            let mut effect = Block::new();
            for s in edge.effect.drain(..) {
                let said = match &s.kind {
                    StmtKind::Spawn(_, id, values) => beginnings[*id].as_ref().map(|begins| {
                        let given: HashMap<LocalId, Expr> = values.iter().cloned().enumerate().collect();
                        said_of(meeting, begins, &given, &given[&pids[*id]])
                    }),
                    _ => None,
                };
                effect.push(s);
                effect.extend(said.into_iter().flatten());
            }
            edge.effect = effect;
        }
    }

    fn sends(
        &self,
        ways: &[Way],
        edge: &mut Edge,
        channel: &Expr,
        values: &[Expr],
        locals: &mut Vec<Local>,
        (free, me): (&Expr, Option<Expr>),
    ) {
        let Some(meeting) = &self.meeting else { return };
        let span = edge.span;
        let fits =
            |way: &Way| value_of(&self.wants(meeting, way, constant(0, BYTE, span), channel, values, span)) != Some(0);
        let fitting: Vec<(usize, &Way)> = ways.iter().enumerate().filter(|(_, w)| fits(w)).collect();
        let wants = |way: &Way, who: Expr| {
            let wants = self.wants(meeting, way, who.clone(), channel, values, span);
            match &me {
                Some(me) => and(binary(BinaryOp::Ne, cast(who, &BYTE), me.clone()), wants),
                None => wants,
            }
        };
        let all = (0..meeting.processes).flat_map(|who| fitting.iter().map(move |(_, w)| (who, *w)));
        let ready = all.map(|(who, way)| wants(way, constant(who.into(), BYTE, span))).reduce(or);
        edge.guard = Some(ready.map_or(boolean(false, span), |ready| and(free.clone(), ready)));
        let mut local_of = |name: &str, ty: Type| {
            locals.push(Local { name: name.into(), ty: ty.clone() });
            local(locals.len() - 1, ty, NOWHERE)
        };
        let who = local_of("$who", Type::Range(0, i64::from(meeting.processes) - 1));
        let which = local_of("$which", Type::Range(0, fitting.len().max(1) as i64 - 1));
        let any = |place: &Place| {
            let (lo, hi) = place.ty.finite_range(&[]).unwrap_or((0, 0));
            stmt(
                StmtKind::Any(place.clone(), constant(lo, Type::Int, NOWHERE), constant(hi, Type::Int, NOWHERE)),
                NOWHERE,
            )
        };
        let is = |n: usize| binary(BinaryOp::Eq, read(which.clone()), constant(n as i64, which.ty.clone(), NOWHERE));
        let taken =
            fitting.iter().enumerate().map(|(n, (_, way))| and(is(n), wants(way, read(who.clone())))).reduce(or);
        let way = fitting.iter().enumerate().rev().fold(constant(0, PLACE, NOWHERE), |rest, (n, (way, _))| {
            if_else(is(n), constant(*way as i64, PLACE, NOWHERE), rest)
        });
        let number = binary(BinaryOp::Add, cast(read(who.clone()), &Type::Int), constant(1, Type::Int, NOWHERE));
        let number = Expr { kind: ExprKind::Cast(number.into()), ty: BYTE, span: NOWHERE };
        edge.effect.extend([any(&who), any(&which)]);
        edge.effect.push(stmt(StmtKind::Assume(taken.unwrap_or_else(|| boolean(false, NOWHERE))), NOWHERE));
        edge.effect.push(assign(global(meeting.to, BYTE, NOWHERE), number, NOWHERE));
        edge.effect.push(assign(global(meeting.way, PLACE, NOWHERE), way, NOWHERE));
    }

    /// Whether a process waits at this reception for such a message.
    fn wants(&self, meeting: &Meeting, way: &Way, who: Expr, channel: &Expr, values: &[Expr], span: Span) -> Expr {
        if way.wanted.len() != values.len() {
            return boolean(false, span);
        }
        let place = part(
            &global(meeting.at, array(PLACE, meeting.processes), span),
            element(who.clone(), meeting.processes),
            PLACE,
        );
        let stands = binary(BinaryOp::Eq, read(place), constant(way.place, PLACE, span));
        let waited = match value_of(&way.channel) {
            Some(_) => way.channel.clone(),
            None => read(on_of(meeting, who, way.number)),
        };
        let same = binary(BinaryOp::Eq, cast(waited, &BYTE), cast(channel.clone(), &BYTE));
        let fits = way.wanted.iter().zip(values).fold(boolean(true, span), |all, (wanted, value)| match wanted {
            None => all,
            Some(wanted) if wanted.ty == value.ty => and(all, binary(BinaryOp::Eq, value.clone(), wanted.clone())),
            Some(wanted) => {
                and(all, binary(BinaryOp::Eq, self.as_number(value.clone()), self.as_number(wanted.clone())))
            }
        });
        let message = and(same, fits);
        if value_of(&message) == Some(0) { message } else { and(stands, message) }
    }
}

/// Says where a process stands that begins.
fn said_of(meeting: &Meeting, begins: &Beginning, given: &HashMap<LocalId, Expr>, pid: &Expr) -> Block {
    let all = global(meeting.at, array(PLACE, meeting.processes), NOWHERE);
    let at = part(&all, element(pid.clone(), meeting.processes), PLACE);
    let mut said = vec![assign(at, constant(begins.place, PLACE, NOWHERE), NOWHERE)];
    said.extend(begins.on.iter().map(|(number, channel)| {
        let channel = with(channel, given).expect("it depends on parameters alone");
        assign(on_of(meeting, pid.clone(), *number), channel, NOWHERE)
    }));
    said
}

/// Where a process says which channel it waits for.
fn on_of(meeting: &Meeting, who: Expr, number: usize) -> Place {
    let each = array(BYTE, MOST_WAYS as u32);
    let place = global(meeting.on, array(each.clone(), meeting.processes), NOWHERE);
    let place = part(&place, element(who, meeting.processes), each);
    part(&place, element(constant(number as i64, INT, NOWHERE), MOST_WAYS as u32), BYTE)
}

fn receives(node: &Node) -> bool {
    node.edges.iter().any(|e| matches!(e.meet, Some(Meet::Receive { .. })))
}

/// The number of a place: those of earlier process types come first.
fn place_of(earlier: &[HashMap<NodeId, (Block, Block)>], here: &[NodeId], node: NodeId) -> Option<i64> {
    let before: usize = earlier.iter().map(HashMap::len).sum();
    here.iter().position(|n| *n == node).map(|n| (before + n + 1) as i64)
}
