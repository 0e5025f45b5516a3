//! Makes the moves of a state, and stores where they lead.

use super::{Candidate, EdgeRecord, Item, SHARD_BITS, SHARDS, Search, Visit, Worker, index, lock};
use crate::dispatcher::{Last, Move, depends_on_last};
use crate::node::{Node, Stop};
use crate::search::Bug;
use crate::system::Snapshot;
use crate::visited::{Arrival, Claimed, Moves, WIDE_BIT, bit_at, bit_of, free_moves};
use fabius_trace::Bound;

impl<S> Search<'_, S>
where
    S: Snapshot + Sync,
    S::State: Send,
{
    pub(super) fn expand(&self, worker: &mut Worker<'_, S>, item: Item, (at_cost, steps): (u32, u32)) {
        let (arrival, state) = self.go_to(worker, item);
        let mut moves = std::mem::take(&mut worker.moves);
        self.context.moves(&worker.base, &mut moves);
        let claimed = self.claimed_before_rest(item, state);
        for (number, mv) in moves.iter().enumerate() {
            let bit = self.bit(&worker.base, mv);
            let fresh = || bit != WIDE_BIT || !self.is_claimed_wide(state, mv);
            let wanted = match item.moves {
                Moves::Masked(mask) => mask & bit != 0 && fresh(),
                Moves::Of(unit) => matches!(mv, Move::Run(pick) if pick.buffer == unit),
                Moves::Late => {
                    bit == WIDE_BIT
                        && self.context.price(&worker.base, arrival.last, mv) == 0
                        && matches!(mv, Move::Run(pick) if self.shard(state).claim_wide(state >> SHARD_BITS, pick.buffer))
                }
                Moves::Rest => claimed & bit == 0 && fresh(),
            };
            if wanted && !self.context.repeats(&worker.base, arrival.last, mv) {
                self.make_move(worker, item.arrival, state, number, *mv, (at_cost, steps));
            }
        }
        worker.moves = moves;
    }

    /// Moves to the state that an item is about; returns the arrival there, and the number of the state.
    fn go_to(&self, worker: &mut Worker<'_, S>, item: Item) -> (Arrival, u32) {
        let shard = self.shard(item.arrival);
        let arrival = shard.arrivals[index(item.arrival)];
        worker.bytes.clear();
        worker.bytes.extend_from_slice(shard.states.get(arrival.state));
        drop(shard);
        let state = arrival.state << SHARD_BITS | item.arrival & (SHARDS as u32 - 1);
        self.context.decode(&worker.bytes, &mut worker.base);
        self.context.resume(&mut worker.base, arrival.last);
        (arrival, state)
    }

    fn make_move(
        &self,
        worker: &mut Worker<'_, S>,
        arrival: u32,
        state: u32,
        number: usize,
        mv: Move,
        (at_cost, steps): (u32, u32),
    ) {
        let steps = steps + u32::from(matches!(mv, Move::Run(_)));
        worker.script.restart();
        let mut outcomes = 0u32;
        loop {
            worker.next.clone_from(&worker.base);
            let end = self.context.apply(&mut worker.next, mv, &mut worker.script, &mut worker.log);
            if let Move::Run(_) = mv {
                worker.transitions = worker.transitions.saturating_add(worker.script.weight());
            }
            match end {
                Ok(end) => {
                    let progress = worker.log.progress;
                    let joined = self.context.join(&mut worker.next, mv, end, &mut worker.log);
                    worker.joined += u64::from(joined);
                    worker.transitions = worker.transitions.saturating_add(u64::from(joined));
                    let (to, _) = self.arrive(worker, arrival, at_cost, steps + joined);
                    if let (true, Move::Run(pick)) = (self.context.options.wants_cycles(), mv) {
                        worker.edges.push(EdgeRecord { from: state, to, thread: pick.buffer, progress });
                    }
                }
                Err(Stop::Bug(what)) => {
                    let choices = worker.script.choices();
                    let mut from = Vec::new();
                    self.context.encode(&worker.base, &mut from);
                    let order = (from, number, choices.clone());
                    worker.offer(Candidate { what, arrival, last: Some((number, choices)), order });
                }
                Err(Stop::Cut(cut)) => {
                    worker.limit = worker.limit.or(Some(cut));
                    if cut.is_final() {
                        worker.cut = Some(cut);
                        break;
                    }
                }
                Err(Stop::Dropped) => {}
            }
            if !worker.script.advance() {
                break;
            }
            outcomes += 1;
            if let Some(cut) = self.must_stop_within(outcomes, &worker.script) {
                worker.cut = Some(cut);
                break;
            }
        }
    }

    /// Stores `worker.next`. Returns its number and whether it is new.
    pub(super) fn arrive(&self, worker: &mut Worker<'_, S>, parent: u32, at_cost: u32, steps: u32) -> (u32, bool) {
        let context = &self.context;
        context.settle(&mut worker.next);
        worker.bytes.clear();
        let plain_from = context.encode(&worker.next, &mut worker.bytes);
        let last = context.last(&worker.next);
        let free = free_moves(context.options.bound, last);
        let hash = xxhash_rust::xxh3::xxh3_64(&worker.bytes);
        let shard_number = hash as u32 & (SHARDS as u32 - 1);
        let mut shard = lock(&self.shards[shard_number as usize]);
        let (state, new) = shard.states.intern(&worker.bytes, (hash >> 32) as u32);
        let claim = if new {
            if depends_on_last(context.options.bound) {
                shard.claimed.push(Claimed { moves: 0, cost: at_cost });
            }
            Some(shard.claim(state, free, depends_on_last(context.options.bound)))
        } else if depends_on_last(context.options.bound) && shard.claimed[shard.states.number(state)].cost == at_cost {
            let claim = shard.claim(state, free, true);
            (claim != Moves::Masked(0)).then_some(claim)
        } else {
            None
        };
        let number = state << SHARD_BITS | shard_number;
        let Some(moves) = claim else { return (number, false) };
        let arrival = (shard.arrivals.len() as u32) << SHARD_BITS | shard_number;
        shard.arrivals.push(Arrival { state, parent, last });
        drop(shard);
        if moves != Moves::Masked(0) {
            worker.work.entry((at_cost, steps)).or_default().push(Item { arrival, moves });
        }
        if new {
            if self.counts_apart() {
                self.count_plain(&worker.bytes[plain_from..]);
            }
            if free != Moves::Masked(u64::MAX) {
                worker.work.entry((at_cost + 1, steps)).or_default().push(Item { arrival, moves: Moves::Rest });
            }
            self.first_visit(worker, arrival, number, at_cost);
        }
        (number, new)
    }

    fn first_visit(&self, worker: &mut Worker<'_, S>, arrival: u32, number: u32, at_cost: u32) {
        let node = &worker.next;
        let is_final = self.context.is_final(node);
        let is_complete = is_final && self.context.is_complete(node);
        (self.visit)(Visit { state: &node.state, is_final, is_complete, cost: at_cost });
        worker.finals += u64::from(is_final);
        if self.context.options.wants_cycles() {
            let mut ready = Vec::new();
            node.dispatcher.ready_units(&self.context.view(&node.state), &mut ready);
            worker.ready.push((number, ready));
        }
        if is_final && !is_complete && self.context.options.deadlock {
            let order = (worker.bytes.clone(), 0, Vec::new());
            worker.offer(Candidate { what: Bug::Deadlock, arrival, last: None, order });
        }
    }

    /// What of the rest was made before its cost.
    fn claimed_before_rest(&self, item: Item, state: u32) -> u64 {
        if item.moves != Moves::Rest {
            return 0;
        }
        if depends_on_last(self.context.options.bound) {
            let shard = self.shard(state);
            return shard.claimed[shard.states.number(state >> SHARD_BITS)].moves;
        }
        match free_moves(self.context.options.bound, Last::Free) {
            Moves::Masked(mask) => mask,
            Moves::Of(_) | Moves::Late | Moves::Rest => 0,
        }
    }

    fn is_claimed_wide(&self, state: u32, mv: &Move) -> bool {
        matches!(mv, Move::Run(pick) if self.shard(state).wide.contains(&(state >> SHARD_BITS, pick.buffer)))
    }

    /// The bit of a move in a mask.
    fn bit(&self, node: &Node<S::State>, mv: &Move) -> u64 {
        match (self.context.options.bound, mv) {
            (Bound::Rounds, Move::Run(pick)) => bit_at(node.order.position(pick.buffer)),
            (Bound::Contexts | Bound::Preemptions, Move::Run(pick)) => bit_of(pick.buffer),
            (_, Move::Run(_)) => 1,
            (_, Move::Delay(_)) => 2,
        }
    }
}
