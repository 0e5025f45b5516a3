//! What the C++ library does to trees and lists outside of its headers, as far as the program itself calls it: `std::map`,
//! `std::set` and `std::list` put elements in and take them out there, and go from one element of a tree to the next.
//!
//! What is told is what is surely accessed: of a tree the links from above and those of its header, and not what is turned
//! and coloured to balance it. So a race is sometimes missed, and none is reported that is not there.

#![allow(non_snake_case, reason = "the names of the C++ library")]

use super::entries;
use super::memory::{reads, writes};
use crate::control::in_program;
use crate::real::next;

entries! {
    __wrap__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_: "r8" => insert_here;
    __wrap__ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_: "rdx" => erase_here;
    __wrap__ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base: "rsi" => increment_here;
    __wrap__ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base: "rsi" => increment_here;
    __wrap__ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base: "rsi" => decrement_here;
    __wrap__ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base: "rsi" => decrement_here;
    __wrap__ZNSt8__detail15_List_node_base7_M_hookEPS0_: "rdx" => hook_here;
    __wrap__ZNSt8__detail15_List_node_base9_M_unhookEv: "rsi" => unhook_here;
    __wrap__ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_: "rcx" => transfer_here;
    __wrap__ZNSt8__detail15_List_node_base10_M_reverseEv: "rsi" => reverse_here;
    __wrap__ZNSt8__detail15_List_node_base4swapERS0_S1_: "rdx" => swap_here;
}

/// Where the pointers of a node of a tree are: a colour comes first. That of the header to its parent is the root.
const PARENT: usize = 8;
const LEFT: usize = 16;
const RIGHT: usize = 24;

/// Where the pointers of a node of a list are.
const AFTER: usize = 0;
const BEFORE: usize = 8;

const POINTER: usize = 8;
const COLOUR: usize = 4;
const NODE: usize = 32;

/// The pointer of a node that the program gives.
fn of(node: usize, place: usize) -> usize {
    // SAFETY: whoever calls this gives nodes of a container, and nobody else runs.
    unsafe { *((node + place) as *const usize) }
}

extern "C-unwind" fn insert_here(is_left: u8, node: usize, parent: usize, header: usize, pc: usize) {
    if in_program() {
        writes(node, NODE, pc);
        if parent == header {
            writes(header + PARENT, 3 * POINTER, pc);
        } else if is_left != 0 {
            writes(parent + LEFT, POINTER, pc);
            if of(header, LEFT) == parent {
                writes(header + LEFT, POINTER, pc);
            }
        } else {
            writes(parent + RIGHT, POINTER, pc);
            if of(header, RIGHT) == parent {
                writes(header + RIGHT, POINTER, pc);
            }
        }
    }
    // SAFETY: as the program calls it.
    unsafe {
        next!(fn _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(u8, usize, usize, usize))(
            is_left, node, parent, header,
        )
    }
}

extern "C-unwind" fn erase_here(node: usize, header: usize, pc: usize) -> usize {
    if in_program() {
        reads(node + PARENT, 3 * POINTER, pc);
        let parent = of(node, PARENT);
        let from_above = match () {
            () if of(header, PARENT) == node => header + PARENT,
            () if of(parent, LEFT) == node => parent + LEFT,
            () => parent + RIGHT,
        };
        writes(from_above, POINTER, pc);
        for end in [LEFT, RIGHT] {
            if of(header, end) == node {
                writes(header + end, POINTER, pc);
            }
        }
    }
    // SAFETY: as the program calls it.
    unsafe {
        next!(fn _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(usize, usize) -> usize)(node, header)
    }
}

/// From a node to the next one in a direction: down there and back to the first one, or one step up.
fn goes(node: usize, on: usize, back: usize, pc: usize) {
    reads(node + on, POINTER, pc);
    let mut down = of(node, on);
    if down == 0 {
        reads(node + PARENT, POINTER, pc);
        reads(of(node, PARENT) + on, POINTER, pc);
    }
    while down != 0 {
        reads(down + back, POINTER, pc);
        down = of(down, back);
    }
}

extern "C-unwind" fn increment_here(node: usize, pc: usize) -> usize {
    if in_program() {
        goes(node, RIGHT, LEFT, pc);
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(usize) -> usize)(node) }
}

extern "C-unwind" fn decrement_here(node: usize, pc: usize) -> usize {
    if in_program() {
        reads(node, COLOUR, pc);
        // SAFETY: as in `of`: the colour comes first, and 0 is red.
        let is_red = unsafe { *(node as *const u32) } == 0;
        if is_red {
            reads(node + PARENT, POINTER, pc);
        }
        // Only the header is red and above the root.
        if is_red && of(of(node, PARENT), PARENT) == node {
            reads(node + RIGHT, POINTER, pc);
        } else {
            goes(node, LEFT, RIGHT, pc);
        }
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base(usize) -> usize)(node) }
}

extern "C-unwind" fn hook_here(node: usize, position: usize, pc: usize) {
    if in_program() {
        writes(node, 2 * POINTER, pc);
        writes(of(position, BEFORE) + AFTER, POINTER, pc);
        writes(position + BEFORE, POINTER, pc);
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn _ZNSt8__detail15_List_node_base7_M_hookEPS0_(usize, usize))(node, position) }
}

extern "C-unwind" fn unhook_here(node: usize, pc: usize) {
    if in_program() {
        reads(node, 2 * POINTER, pc);
        writes(of(node, BEFORE) + AFTER, POINTER, pc);
        writes(of(node, AFTER) + BEFORE, POINTER, pc);
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn _ZNSt8__detail15_List_node_base9_M_unhookEv(usize))(node) }
}

/// Moves a part of a list to before another node.
extern "C-unwind" fn transfer_here(position: usize, first: usize, last: usize, pc: usize) {
    if in_program() && position != last {
        for node in [position, first, last] {
            writes(of(node, BEFORE) + AFTER, POINTER, pc);
            writes(node + BEFORE, POINTER, pc);
        }
    }
    // SAFETY: as the program calls it.
    unsafe {
        next!(fn _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(usize, usize, usize))(position, first, last)
    }
}

extern "C-unwind" fn reverse_here(list: usize, pc: usize) {
    if in_program() {
        let mut node = list;
        loop {
            writes(node, 2 * POINTER, pc);
            node = of(node, AFTER);
            if node == list {
                break;
            }
        }
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn _ZNSt8__detail15_List_node_base10_M_reverseEv(usize))(list) }
}

extern "C-unwind" fn swap_here(one: usize, other: usize, pc: usize) {
    if in_program() {
        let are_empty = of(one, AFTER) == one && of(other, AFTER) == other;
        for list in [one, other] {
            if are_empty {
                reads(list, POINTER, pc);
            } else {
                writes(list, 2 * POINTER, pc);
            }
            if of(list, AFTER) != list {
                writes(of(list, AFTER) + BEFORE, POINTER, pc);
                writes(of(list, BEFORE) + AFTER, POINTER, pc);
            }
        }
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn _ZNSt8__detail15_List_node_base4swapERS0_S1_(usize, usize))(one, other) }
}
