//! Names for objects of the heap and the stacks: by the type of what points to them, else by a number.

use crate::symbols::{Pointed, Symbols};
use fabius_native_protocol::{Block, Event, Recorded};
use std::collections::{BTreeMap, HashMap};

/// What is known of the objects of an execution that no variable names.
pub struct Heap<'a> {
    blocks: BTreeMap<u64, Known<'a>>,
    /// Of each type, how many blocks have a name.
    named: HashMap<String, usize>,
    /// Objects of which nothing is known, in the order in which they are met.
    nameless: HashMap<u64, usize>,
}

/// A block of the heap.
struct Known<'a> {
    size: u64,
    kind: Option<Kind<'a>>,
    /// Its number among those of its type, when it has been named.
    number: Option<usize>,
}

/// What is in a block from some byte on, perhaps several times.
struct Kind<'a> {
    pointed: Pointed<'a>,
    name: String,
    at: u64,
    size: u64,
}

impl<'a> Heap<'a> {
    /// Learns of all blocks that are accessed.
    pub fn of(run: &Recorded, symbols: &'a Symbols) -> Heap<'a> {
        let mut heap = Heap { blocks: BTreeMap::new(), named: HashMap::new(), nameless: HashMap::new() };
        let waits = run.threads.iter().filter_map(|t| t.waits.as_ref());
        let events: Vec<&Event> = run.steps.iter().flat_map(|s| &s.events).chain(waits).collect();
        for Block { begin, size, pointers } in events.iter().filter_map(|e| e.block.as_ref()) {
            heap.blocks.entry(*begin).or_insert(Known { size: *size, kind: None, number: None });
            for pointer in pointers {
                if let Some(pointed) = symbols.pointed_by_local(pointer.pc, pointer.offset) {
                    heap.holds(*begin, pointer.at, pointed);
                }
            }
        }
        for event in events.iter().filter(|e| e.size == 8 && e.block.is_none()) {
            for value in event.old.iter().chain(&event.new) {
                if let Some(begin) = heap.block(*value)
                    && let Some(pointed) = symbols.pointed_by(event.address)
                {
                    heap.holds(begin, *value - begin, pointed);
                }
            }
        }
        heap
    }

    /// The beginning of the block that an address is in.
    fn block(&self, address: u64) -> Option<u64> {
        let (begin, block) = self.blocks.range(..=address).next_back()?;
        (address - begin < block.size).then_some(*begin)
    }

    /// Something of this type is in a block. The largest says the most.
    fn holds(&mut self, begin: u64, at: u64, pointed: Pointed<'a>) {
        let Some((name, size)) = pointed.named() else { return };
        let Some(block) = self.blocks.get_mut(&begin) else { return };
        let is_more = block.kind.as_ref().is_none_or(|kind| (kind.size, at) < (size, kind.at));
        if is_more && size > 0 && at + size <= block.size {
            block.kind = Some(Kind { pointed, name, at, size });
        }
    }

    /// The name of so many bytes at an address that are no variable's.
    pub fn name(&mut self, address: u64, bytes: u64) -> String {
        self.typed(address, bytes).unwrap_or_else(|| {
            let next = self.nameless.len() + 1;
            format!("memory #{}", self.nameless.entry(address).or_insert(next))
        })
    }

    fn typed(&mut self, address: u64, bytes: u64) -> Option<String> {
        let begin = self.block(address)?;
        let block = self.blocks.get_mut(&begin)?;
        let kind = block.kind.as_ref()?;
        // What is before the one that is pointed to is of the same type, if it is an array.
        let first = kind.at % kind.size;
        let (index, offset) =
            ((address - begin).checked_sub(first)? / kind.size, (address - begin - first) % kind.size);
        let many = (block.size - first) / kind.size > 1;
        let index = if many { format!("[{index}]") } else { String::new() };
        let number = *block.number.get_or_insert_with(|| {
            let number = self.named.entry(kind.name.clone()).or_default();
            *number += 1;
            *number
        });
        Some(format!("{} #{number}{index}{}", kind.name, kind.pointed.part(offset, bytes)))
    }
}
