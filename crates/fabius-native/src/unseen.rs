//! Code of the program that was not compiled by `fabius cc`, or is written in assembly: what it does to memory is not seen.
//!
//! A function that the compiler has instrumented calls the instrumentation; one that does not, and still writes to memory
//! other than its stack or has atomic instructions, was not. Reads alone are no sign: constants are never instrumented.

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, Register};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use std::collections::BTreeSet;

/// Parts of every program that are the C library's.
const COMMON: &[&str] = &[
    "_start",
    "_init",
    "_fini",
    "deregister_tm_clones",
    "register_tm_clones",
    "__do_global_dtors_aux",
    "frame_dummy",
    "_dl_relocate_static_pie",
];

/// How many names are said.
const NAMED: usize = 3;

/// What is not seen of a file, in words; `None` if everything is.
pub fn unseen(file: &str) -> Option<String> {
    let bytes = std::fs::read(file).ok()?;
    let elf = object::File::parse(&*bytes).ok()?;
    let hooks = hooks(&elf);
    let (mut functions, mut atomics) = (Vec::new(), Vec::new());
    for symbol in elf.symbols().filter(|s| s.kind() == SymbolKind::Text && s.size() > 0) {
        let Ok(name) = symbol.name() else { continue };
        let Some(code) = code(&elf, symbol.address(), symbol.size()) else { continue };
        let looked = look(code, symbol.address(), &hooks);
        if COMMON.contains(&name) || name.starts_with("__sanitizer") {
            continue;
        }
        if looked.is_instrumented && looked.atomics > 0 {
            atomics.push(crate::symbols::demangled(name));
        } else if !looked.is_instrumented && (looked.atomics > 0 || looked.writes > 0) {
            functions.push(crate::symbols::demangled(name));
        }
    }
    let mut said = Vec::new();
    if !functions.is_empty() {
        said.push(format!("{} not instrumented ({})", counted(functions.len(), "is", "are"), some(&functions)));
    }
    if !atomics.is_empty() {
        let have = counted(atomics.len(), "has", "have");
        said.push(format!("{have} atomic instructions in assembly ({})", some(&atomics)));
    }
    (!said.is_empty()).then(|| said.join(", "))
}

fn counted(number: usize, one: &str, more: &str) -> String {
    if number == 1 { format!("1 function {one}") } else { format!("{number} functions {more}") }
}

fn some(names: &[String]) -> String {
    let more = if names.len() > NAMED { ", .." } else { "" };
    format!("{}{more}", names[..names.len().min(NAMED)].join(", "))
}

fn code<'a>(elf: &object::File<'a>, address: u64, size: u64) -> Option<&'a [u8]> {
    let section = elf.sections().find(|s| {
        s.kind() == SectionKind::Text && s.address() <= address && address + size <= s.address() + s.size()
    })?;
    section.data_range(address, size).ok()?
}

/// Where the instrumentation is called: slots of the linker's table, and the jumps through them.
struct Hooks {
    slots: BTreeSet<u64>,
    jumps: BTreeSet<u64>,
}

fn hooks(elf: &object::File<'_>) -> Hooks {
    let mut hooks = Hooks { slots: BTreeSet::new(), jumps: BTreeSet::new() };
    let is_hook = |name: &str| name.starts_with("__tsan_");
    let dynamic = elf.dynamic_symbol_table();
    for (at, relocation) in elf.dynamic_relocations().into_iter().flatten() {
        let object::RelocationTarget::Symbol(index) = relocation.target() else { continue };
        let symbol = dynamic.as_ref().and_then(|t| object::ObjectSymbolTable::symbol_by_index(t, index).ok());
        if symbol.is_some_and(|s| s.name().is_ok_and(is_hook)) {
            hooks.slots.insert(at);
        }
    }
    for section in elf.sections().filter(|s| s.name().is_ok_and(|n| n.starts_with(".plt"))) {
        let Ok(data) = section.data() else { continue };
        let mut before = section.address();
        for instruction in Decoder::with_ip(64, data, section.address(), DecoderOptions::NONE).iter() {
            if instruction.flow_control() == FlowControl::IndirectBranch
                && hooks.slots.contains(&instruction.memory_displacement64())
            {
                // A jump may have a mark of the processor's in front of it.
                hooks.jumps.extend([instruction.ip(), before]);
            }
            before = instruction.ip();
        }
    }
    hooks
}

#[derive(Default)]
struct Looked {
    is_instrumented: bool,
    atomics: usize,
    writes: usize,
}

fn look(code: &[u8], address: u64, hooks: &Hooks) -> Looked {
    let mut looked = Looked::default();
    let mut factory = InstructionInfoFactory::new();
    for instruction in Decoder::with_ip(64, code, address, DecoderOptions::NONE).iter() {
        let calls = match instruction.flow_control() {
            FlowControl::Call | FlowControl::UnconditionalBranch => {
                hooks.jumps.contains(&instruction.near_branch_target())
            }
            FlowControl::IndirectCall | FlowControl::IndirectBranch => {
                instruction.is_ip_rel_memory_operand() && hooks.slots.contains(&instruction.memory_displacement64())
            }
            _ => false,
        };
        looked.is_instrumented |= calls;
        looked.atomics += usize::from(is_atomic(&instruction));
        looked.writes += usize::from(writes(&instruction, &mut factory));
    }
    looked
}

fn is_atomic(instruction: &Instruction) -> bool {
    let exchanges = matches!(
        instruction.code(),
        Code::Xchg_rm8_r8 | Code::Xchg_rm16_r16 | Code::Xchg_rm32_r32 | Code::Xchg_rm64_r64
    );
    let stack = matches!(instruction.memory_base(), Register::RSP | Register::RBP);
    let has_memory = (0..instruction.op_count()).any(|n| instruction.op_kind(n) == iced_x86::OpKind::Memory);
    // A locked access to the own stack is a fence.
    has_memory && !stack && (instruction.has_lock_prefix() || exchanges)
}

/// Whether it writes to memory that is not the stack.
fn writes(instruction: &Instruction, factory: &mut InstructionInfoFactory) -> bool {
    let used = factory.info(instruction).used_memory();
    used.iter().any(|m| {
        let is_write = matches!(m.access(), OpAccess::Write | OpAccess::ReadWrite | OpAccess::CondWrite);
        let own = matches!(m.base(), Register::RSP | Register::RBP)
            // The thread's own storage, and what fills arrays on the stack.
            || matches!(m.segment(), Register::FS | Register::ES);
        is_write && !own
    })
}
