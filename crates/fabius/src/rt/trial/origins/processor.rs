//! What is followed of words, beside what the processor does: random instructions are run with registers and memory, and again with
//! one word moved. What was said to be made of it moves along, and everything else stays. Of some words it is said beforehand that only
//! a few of their bytes depend on anything: these bytes become others then.

use super::{Of, Origin, READS, Written};
use crate::rt::instruction::{Instructions, Known, Place, is_so};
use crate::rt::moved::LOWEST_ADDRESS;
use crate::rt::trial::{ALL_READS, Read, Trial, emulated};
use fastrand::Rng;
use iced_x86::{
    ConditionCode, CpuidFeature, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register, UsedRegister,
};
use libc::greg_t;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::ptr;

/// Registers of a run: general ones in this order, the flags, and vectors of four words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
struct State {
    general: [u64; 15],
    flags: u64,
    vectors: [[u64; 4]; 16],
}

#[rustfmt::skip]
const GENERAL: [i32; 15] = [
    libc::REG_RAX, libc::REG_RBX, libc::REG_RCX, libc::REG_RDX, libc::REG_RSI, libc::REG_RDI, libc::REG_RBP, libc::REG_R8,
    libc::REG_R9, libc::REG_R10, libc::REG_R11, libc::REG_R12, libc::REG_R13, libc::REG_R14, libc::REG_R15,
];

// Loads the registers from the state, calls the code, and stores them there.
std::arch::global_asm!(
    ".globl fabius_runs",
    ".hidden fabius_runs",
    "fabius_runs:",
    "push rbx; push rbp; push r12; push r13; push r14; push r15; push rsi; push rdi",
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
    "vmovdqu ymm\\n, [rsi + 128 + 32 * \\n]",
    ".endr",
    "push qword ptr [rsi + 120]; popfq",
    "mov rax, [rsi]; mov rbx, [rsi + 8]; mov rcx, [rsi + 16]; mov rdx, [rsi + 24]; mov rdi, [rsi + 40]; mov rbp, [rsi + 48]",
    "mov r8, [rsi + 56]; mov r9, [rsi + 64]; mov r10, [rsi + 72]; mov r11, [rsi + 80]; mov r12, [rsi + 88]",
    "mov r13, [rsi + 96]; mov r14, [rsi + 104]; mov r15, [rsi + 112]; mov rsi, [rsi + 32]",
    "call [rsp]",
    "pushfq",
    "xchg rsi, [rsp + 16]",
    "mov [rsi], rax; mov [rsi + 8], rbx; mov [rsi + 16], rcx; mov [rsi + 24], rdx; mov [rsi + 40], rdi; mov [rsi + 48], rbp",
    "mov [rsi + 56], r8; mov [rsi + 64], r9; mov [rsi + 72], r10; mov [rsi + 80], r11; mov [rsi + 88], r12",
    "mov [rsi + 96], r13; mov [rsi + 104], r14; mov [rsi + 112], r15",
    "pop rax; mov [rsi + 120], rax; mov rax, [rsp + 8]; mov [rsi + 32], rax",
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
    "vmovdqu [rsi + 128 + 32 * \\n], ymm\\n",
    ".endr",
    "vzeroupper; add rsp, 16; pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx",
    "cld",
    "ret",
);

unsafe extern "C" {
    fn fabius_runs(code: *const u8, state: *mut State);
}

/// The flags that computing sets.
const FLAGS: u64 = 0x8d5;

/// Where what belongs to the operating system thread begins.
fn local() -> u64 {
    let local;
    // SAFETY: a word is read, which says where it is.
    unsafe { std::arch::asm!("mov {}, fs:[0]", out(reg) local, options(nostack, readonly)) };
    local
}

/// Memory that instructions reach, and where it has moved to.
const AREA: usize = 1024;
const BY: u64 = 1 << 16;

/// Of an instruction and a return.
const ROOM: usize = 16;

/// Room for code, and memory.
struct Machine {
    code: *mut u8,
    memory: *mut u8,
}

impl Machine {
    fn new(instructions: usize) -> Machine {
        let map = |size, protection| {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            // SAFETY: memory of its own.
            let at = unsafe { libc::mmap(ptr::null_mut(), size, protection, flags, -1, 0) };
            assert_ne!(at, libc::MAP_FAILED);
            at.cast::<u8>()
        };
        let (read, write) = (libc::PROT_READ, libc::PROT_WRITE);
        Machine {
            code: map((ROOM * instructions).next_multiple_of(4096), read | write | libc::PROT_EXEC),
            memory: map(2 * BY as usize, read | write),
        }
    }

    fn area(&self) -> Range<usize> {
        self.memory.expose_provenance()..self.memory.expose_provenance() + AREA
    }

    /// The middle of the memory.
    fn middle(&self) -> u64 {
        (self.memory.expose_provenance() + AREA / 2) as u64
    }

    fn bytes(&self, moved: bool) -> [u8; AREA] {
        // SAFETY: it has twice that.
        unsafe { self.memory.add(if moved { BY as usize } else { 0 }).cast::<[u8; AREA]>().read() }
    }

    fn fill(&self, bytes: &[u8; AREA]) {
        for at in [0, BY as usize] {
            // SAFETY: as above.
            unsafe { self.memory.add(at).cast::<[u8; AREA]>().write(*bytes) };
        }
    }

    fn run(&self, code: *const u8, mut state: State) -> State {
        // SAFETY: the instruction accesses nothing but the memory.
        unsafe { fabius_runs(code, &raw mut state) };
        state
    }
}

/// An instruction that uses none but these registers, and goes on behind itself.
fn instruction(rng: &mut Rng) -> Option<(Instruction, Vec<u8>)> {
    const COMMON: [u8; 34] = [
        0x01, 0x03, 0x11, 0x13, 0x19, 0x1b, 0x29, 0x2b, 0x39, 0x3b, 0x21, 0x23, 0x09, 0x31, 0x33, 0x63, 0x80, 0x81,
        0x83, 0x85, 0x88, 0x89, 0x8a, 0x8b, 0x8d, 0x87, 0xc1, 0xc7, 0xd1, 0xd3, 0xfe, 0xff, 0xf6, 0xf7,
    ];
    const SECOND: [u8; 22] = [
        0x10, 0x11, 0x12, 0x13, 0x16, 0x17, 0x28, 0x29, 0x6c, 0x6e, 0x6f, 0x7e, 0x7f, 0xb6, 0xb7, 0xbe, 0xbf, 0xd6,
        0xef, 0x14, 0x44, 0x4f,
    ];
    let mut bytes = Vec::new();
    if rng.u8(..4) == 0 {
        bytes.push([0x66, 0xf3, 0xf2][rng.usize(..3)]);
    }
    if rng.u8(..4) != 0 {
        bytes.push(if rng.bool() { 0x48 | rng.u8(..8) } else { 0x40 | rng.u8(..16) });
    }
    if rng.u8(..4) == 0 {
        // The registers that it reads besides, their size, and a prefix.
        bytes = vec![0xc5, rng.u8(..)];
        bytes.push(if rng.bool() { SECOND[rng.usize(..SECOND.len())] } else { rng.u8(..) });
    } else if rng.u8(..3) == 0 {
        // Those with a condition, often.
        let with_condition = |rng: &mut Rng| if rng.bool() { 0x40 } else { 0x90 } + rng.u8(..16);
        let second = match rng.u8(..4) {
            0 => with_condition(rng),
            1 => rng.u8(..),
            _ => SECOND[rng.usize(..SECOND.len())],
        };
        bytes.extend([0x0f, second]);
    } else {
        bytes.push(if rng.bool() { COMMON[rng.usize(..COMMON.len())] } else { rng.u8(..) });
    }
    bytes.push(rng.u8(..));
    if rng.u8(..8) == 0 {
        // What belongs to the operating system thread.
        bytes.insert(0, 0x64);
    }
    let small = rng.bool();
    bytes.extend((0..8).map(|n| if small && n != 0 { 0 } else { rng.u8(..) }));
    let decoded = Decoder::with_ip(64, &bytes, 0, DecoderOptions::NONE).decode();
    let stays = decoded.flow_control() == FlowControl::Next && !decoded.is_invalid() && !decoded.is_privileged();
    let has = |register: Register| {
        register.is_gpr() && register.full_register() != Register::RSP
            || (register.is_xmm() || register.is_ymm()) && register.number() < 16
    };
    let mut factory = InstructionInfoFactory::new();
    let is_known = |used: &UsedRegister| {
        has(used.register()) || used.register() == Register::FS && used.access() == OpAccess::Read
    };
    let known = factory.info(&decoded).used_registers().iter().all(is_known);
    // What the second one does with half a word is not defined.
    let divides = matches!(decoded.mnemonic(), Mnemonic::Div | Mnemonic::Idiv)
        || decoded.mnemonic() == Mnemonic::Bswap && decoded.op_register(0).is_gpr16();
    let elsewhere = !matches!(decoded.segment_prefix(), Register::None | Register::FS);
    let seldom = elsewhere || decoded.is_stack_instruction();
    let relative = decoded.memory_base() == Register::RIP;
    let general =
        (0..decoded.op_count()).all(|n| decoded.op_kind(n) != OpKind::Register || has(decoded.op_register(n)));
    let everywhere = |feature: &CpuidFeature| {
        use CpuidFeature as F;
        #[rustfmt::skip]
        let all = [F::INTEL8086, F::INTEL186, F::INTEL286, F::INTEL386, F::INTEL486, F::X64, F::CMOV, F::SSE, F::SSE2, F::CX8, F::AVX, F::AVX2];
        all.contains(feature)
    };
    let stays = stays && decoded.cpuid_features().iter().all(everywhere);
    (stays && known && general && !divides && !seldom && !relative).then(|| (decoded, bytes[..decoded.len()].to_vec()))
}

fn has_vectors(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|n| instruction.op_register(n).is_vector_register())
}

/// An address or a number of any size.
fn word(rng: &mut Rng, middle: u64) -> u64 {
    match rng.u8(..9) {
        0..3 => middle + 16 * rng.u64(..4),
        3 => 0x7123_4567_0000 + 16 * rng.u64(..8),
        4 => rng.u64(..64),
        5 => rng.u64(..),
        6 => rng.u64(..64).wrapping_neg(),
        // Where signs change.
        _ => (1u64 << [0, 7, 15, 31, 63][rng.usize(..5)]) - rng.u64(..2),
    }
}

/// Registers: such words, and the same again.
fn state(rng: &mut Rng, middle: u64) -> State {
    let mut words: Vec<u64> = Vec::new();
    let mut word = |rng: &mut Rng| {
        let known = if rng.u8(..8) == 0 { words.get(rng.usize(..8)).copied() } else { None };
        let word = known.unwrap_or_else(|| word(rng, middle));
        words.push(word);
        word
    };
    let general = std::array::from_fn(|_| word(rng));
    let vectors = std::array::from_fn(|_| std::array::from_fn(|_| word(rng)));
    State { general, flags: 0x202 | rng.u64(..) & FLAGS, vectors }
}

fn registers(state: &State, code: *const u8, stack: &[u64]) -> [greg_t; 23] {
    let mut registers = [0; 23];
    for (register, word) in GENERAL.into_iter().zip(state.general) {
        registers[register as usize] = word as greg_t;
    }
    registers[libc::REG_RIP as usize] = code.expose_provenance() as greg_t;
    registers[libc::REG_RSP as usize] = stack.as_ptr().expose_provenance() as greg_t;
    registers[libc::REG_EFL as usize] = state.flags as greg_t;
    registers
}

/// A word before the instruction.
#[derive(Clone, Copy, Debug)]
enum Word {
    General(usize),
    Vector(usize, usize),
    /// So far into the memory.
    Memory(usize),
}

/// Origins of registers have numbers from the end, and before them those of words that are said to be written.
const LAST: Origin = READS + ALL_READS as Origin - 1;
const LAST_WRITTEN: Origin = LAST - 80;

/// All of a word depends on this, or a few bytes do.
fn of(origin: Origin, rng: &mut Rng) -> Of {
    if rng.u8(..3) == 0 { Of::whole(origin).with(rng.u8(..)) } else { Of::whole(origin) }
}

/// A word of which these bytes, as bits, are others.
fn others(word: u64, bytes: u8, rng: &mut Rng) -> u64 {
    let change = std::array::from_fn(|n| if bytes >> n & 1 == 1 { rng.u8(1..) } else { 0 });
    word ^ u64::from_le_bytes(change)
}

/// What a trial makes of the instruction by itself, if it does, is what the processor has made.
fn makes_the_same(machine: &Machine, case: &Case, after: &State, seen: &mut Seen) {
    let Case { known: Known { instruction, .. }, code, before, filled, .. } = case;
    let written = machine.bytes(false);
    machine.fill(filled);
    let mut made = registers(before, *code, &[]);
    // SAFETY: the processor has made it, with the same registers and memory.
    if unsafe { emulated::makes(instruction, &mut made, local()) } {
        let shown = || format!("{instruction:?}\n{before:x?}\n{after:x?}");
        for (n, register) in GENERAL.into_iter().enumerate() {
            assert_eq!(made[register as usize] as u64, after.general[n], "register {n} of {}", shown());
        }
        assert_eq!(made[libc::REG_RIP as usize] as u64, instruction.next_ip());
        // Of those that are defined.
        let shifts = matches!(instruction.mnemonic(), Mnemonic::Shl | Mnemonic::Shr | Mnemonic::Sar);
        let combines = matches!(instruction.mnemonic(), Mnemonic::And | Mnemonic::Or | Mnemonic::Xor | Mnemonic::Test);
        let by = || match instruction.op_kind(1) {
            OpKind::Register => before.general[2],
            _ => instruction.immediate(1),
        };
        // The overflow of a shift by one is; a byte of 32 is none.
        let is_long = match instruction.op_kind(0) {
            OpKind::Memory => instruction.memory_size().size() == 8,
            _ => instruction.op_register(0).is_gpr64(),
        };
        let is_defined = !shifts || by() & if is_long { 63 } else { 31 } <= 1;
        let undefined = if is_defined { 0 } else { 0x800 } | if shifts || combines { 0x10 } else { 0 };
        let flags = made[libc::REG_EFL as usize] as u64;
        assert_eq!(flags & FLAGS & !undefined, after.flags & FLAGS & !undefined, "flags of {}", shown());
        assert_eq!(machine.bytes(false), written, "memory of {}", shown());
        seen.add(instruction, (before.flags, after.flags), FLAGS & !undefined);
    } else {
        assert_eq!(machine.bytes(false), *filled, "{instruction:?} is not made, and does something");
    }
}

/// What trials have made by themselves, and whether it was enough to see that anything of it is wrong.
#[derive(Default)]
struct Seen {
    /// Of each flag that is defined after an instruction: what it was before and is then.
    flags: HashMap<(Mnemonic, u64), HashSet<(bool, bool)>>,
    /// Of each condition, whether it held.
    conditions: HashMap<ConditionCode, HashSet<bool>>,
    /// What reads and writes what belongs to the operating system thread.
    local: HashSet<Mnemonic>,
}

impl Seen {
    fn add(&mut self, instruction: &Instruction, (before, after): (u64, u64), defined: u64) {
        for flag in (0..12).map(|bit| 1 << bit).filter(|flag| defined & flag != 0) {
            let pairs = self.flags.entry((instruction.mnemonic(), flag)).or_default();
            pairs.insert((before & flag != 0, after & flag != 0));
        }
        let condition = instruction.condition_code();
        if condition != ConditionCode::None {
            self.conditions.entry(condition).or_default().insert(is_so(condition, after));
        }
        let accesses = (0..instruction.op_count()).any(|n| instruction.op_kind(n) == OpKind::Memory);
        if instruction.segment_prefix() == Register::FS && accesses && instruction.mnemonic() != Mnemonic::Lea {
            self.local.insert(instruction.mnemonic());
        }
    }

    /// What could be wrong with the flags of an instruction without that anything was noticed.
    fn missing(&self, mnemonic: Mnemonic) -> Vec<String> {
        use Mnemonic as M;
        let shifts = matches!(mnemonic, M::Shl | M::Shr | M::Sar);
        let combines = matches!(mnemonic, M::And | M::Or | M::Xor | M::Test);
        let mut missing = Vec::new();
        for flag in [0x1, 0x4, 0x10, 0x40, 0x80, 0x800] {
            // What is not defined, what is always cleared, and what stays as it is.
            let undefined = flag == 0x10 && (shifts || combines);
            let cleared = combines && matches!(flag, 0x1 | 0x800)
                || (mnemonic, flag) == (M::Sar, 0x800)
                || (mnemonic, flag) == (M::Shr, 0x80);
            let stays = flag == 0x1 && matches!(mnemonic, M::Inc | M::Dec);
            let needed: &[(bool, bool)] = match () {
                () if undefined => &[],
                () if cleared => &[(true, false)],
                () if stays => &[(false, false), (true, true)],
                () => &[(false, true), (true, false)],
            };
            let seen = self.flags.get(&(mnemonic, flag));
            let is_missing = |pair: &&(bool, bool)| seen.is_none_or(|seen| !seen.contains(pair));
            missing.extend(needed.iter().filter(is_missing).map(|pair| format!("{mnemonic:?} {flag:#x} {pair:?}")));
        }
        missing
    }
}

/// An instruction that is about to be run, and the memory that it reaches.
struct Case {
    known: Known,
    code: *const u8,
    before: State,
    filled: [u8; AREA],
}

/// Chooses an instruction, and puts it there under that number.
fn put(machine: &Machine, number: usize, rng: &mut Rng) -> Option<(*const u8, Vec<u8>)> {
    let (_, bytes) = instruction(rng)?;
    // SAFETY: there is room.
    let code = unsafe { machine.code.add(ROOM * number) };
    // SAFETY: as above.
    unsafe {
        ptr::copy_nonoverlapping(bytes.as_ptr(), code, bytes.len());
        code.add(bytes.len()).write(0xc3);
    }
    Some((code, bytes))
}

/// Chooses what the instruction there finds.
fn case(machine: &Machine, code: *const u8, instructions: &mut Instructions, rng: &mut Rng) -> Option<Case> {
    let mut before = state(rng, machine.middle());
    let known = instructions.get(code.expose_provenance());
    let decoded = known.instruction;
    if known.is_more {
        return None;
    }
    if known.repeats {
        before.general[2] = 1;
    }
    // What it accesses lies in the memory.
    let area = machine.area();
    let at = |place: &Place, state: &State| place.address(&registers(state, code, &[]), local());
    let apart = 8 * rng.u64(..3);
    // Vectors must be aligned.
    let aside = if decoded.op_count() > 0 && rng.u8(..4) == 0 && !has_vectors(&decoded) { rng.u64(..16) } else { 0 };
    for (n, place) in known.places().enumerate() {
        let base = GENERAL.iter().position(|register| Some(*register) == place.base)?;
        let from = at(place, &before) as u64;
        before.general[base] =
            before.general[base].wrapping_add(machine.middle() + aside + apart * n as u64).wrapping_sub(from);
    }
    if known.places().any(|place| !(area.start + 64..area.end - 128).contains(&at(place, &before))) {
        return None;
    }
    let mut filled: [u8; AREA] = std::array::from_fn(|_| rng.u8(..));
    for word in filled.chunks_exact_mut(8) {
        word.copy_from_slice(&self::word(rng, machine.middle()).to_ne_bytes());
    }
    machine.fill(&filled);
    Some(Case { known, code, before, filled })
}

fn check(machine: &Machine, number: usize, trial: &mut Trial, rng: &mut Rng) -> Option<()> {
    let (code, bytes) = put(machine, number, rng)?;
    let Case { known, code, before, filled } = case(machine, code, &mut trial.instructions, rng)?;
    let decoded = known.instruction;
    trial.reads.clear();
    trial.borrowed.clear();
    let stack = [0u64; 64];
    trial.stack = stack.as_ptr().expose_provenance()..stack.as_ptr().expose_provenance() + size_of_val(&stack);
    trial.start.rsp = trial.stack.end as u64;
    (trial.left, trial.local) = (1, local());
    trial.index.fill(u16::MAX);
    trial.origins.begin();
    for (n, register) in GENERAL.into_iter().enumerate() {
        trial.origins.general[register as usize] = of(LAST - n as Origin, rng);
    }
    for (n, lane) in (0..64).map(|n| (n, LAST - 15 - n as Origin)) {
        trial.origins.vectors[n / 4][n % 4] = Of::whole(lane);
    }
    let area = machine.area();
    trial.writes.clear();
    trial.ranges_used = 0;
    if rng.bool() {
        // The round may write here, and has.
        trial.allow(area.start, AREA);
        for (n, address) in area.clone().step_by(8).enumerate() {
            if rng.bool() {
                continue;
            }
            let word = u64::from_ne_bytes(filled[8 * n..8 * n + 8].try_into().unwrap());
            let slot = trial.origins.slot(address)?;
            let of = of(LAST_WRITTEN - n as Origin, rng);
            trial.origins.written[slot] = Written { address, word, of, trial: trial.origins.trial };
        }
    }
    let depend =
        (trial.origins.general, area.clone().step_by(8).map(|at| trial.origins.of_memory(at)).collect::<Vec<_>>());
    // SAFETY: the instruction is about to be run with these registers.
    if !unsafe { trial.goes_on(&registers(&before, code, &stack), ptr::null()) } {
        return None;
    }
    let after = machine.run(code, before);
    trial.origins.settle(&registers(&after, code, &stack));
    let written = machine.bytes(false);
    let of_memory: Vec<Option<Of>> = area.clone().step_by(8).map(|address| trial.origins.of_memory(address)).collect();

    let moves: Vec<(Word, Origin)> = (0..15)
        .map(|n| (Word::General(n), LAST - n as Origin))
        .chain((0..64).map(|n| (Word::Vector(n / 4, n % 4), LAST - 15 - n as Origin)))
        .chain(
            (READS..)
                .zip(&trial.reads)
                .filter(|(_, read)| read.size == 8 && read.address % 8 == 0)
                .map(|(origin, Read { address, .. })| (Word::Memory(address - area.start), origin)),
        )
        .chain(
            (0..AREA / 8).filter(|n| depend.1[*n].is_some()).map(|n| (Word::Memory(8 * n), LAST_WRITTEN - n as Origin)),
        )
        .collect();
    for (word, origin) in moves {
        let done = trial.origins.done[usize::from(origin)];
        let joined = trial.origins.pairs.iter().any(|pair| pair.origins.contains(&origin));
        let was = match word {
            Word::General(n) => before.general[n],
            Word::Vector(n, lane) => before.vectors[n][lane],
            Word::Memory(at) => u64::from_ne_bytes(filled[at..at + 8].try_into().unwrap()),
        };
        if done.fixed || joined || done.used && !(LOWEST_ADDRESS..1 << 46).contains(&was) {
            continue;
        }
        let part = match word {
            Word::General(n) => Some(depend.0[GENERAL[n] as usize]),
            Word::Memory(at) => depend.1[at / 8],
            Word::Vector(..) => None,
        };
        let part = part.filter(|of| !of.is_whole || of.bytes == 0);
        assert!(part.is_none() || !done.used, "an address is made of a part, {:?}", decoded.code());
        // What is only copied may be anything.
        let by = match part {
            Some(of) => others(was, of.bytes, rng).wrapping_sub(was),
            None if done.used => BY,
            None => rng.u64(..),
        };
        let mut moved = before;
        machine.fill(&filled);
        match word {
            Word::General(n) => moved.general[n] = was.wrapping_add(by),
            Word::Vector(n, lane) => moved.vectors[n][lane] = was.wrapping_add(by),
            Word::Memory(at) => {
                // The same word by another way.
                if trial.reads.iter().filter(|read| read.address.abs_diff(area.start + at) < 64).count() > 1 {
                    continue;
                }
                // SAFETY: it is a part of the memory.
                unsafe { machine.memory.add(at).cast::<u64>().write_unaligned(was.wrapping_add(by)) };
            }
        }
        let then = machine.run(code, moved);
        let shown = || {
            format!(
                "{:?} ({bytes:x?}), {word:?} from {was:x} by {by:x}\n{before:x?}\n{after:x?}\n{then:x?}",
                decoded.code()
            )
        };
        let compare = |what: &str, of: Of, after: u64, then: u64| {
            let expected = match of.origin == origin && of.bytes != 0 {
                true if of.is_whole => (after.wrapping_add(by), u64::MAX),
                true => {
                    let keep: [u8; 8] = std::array::from_fn(|n| if of.bytes >> n & 1 == 1 { 0 } else { u8::MAX });
                    (after, u64::from_le_bytes(keep))
                }
                false => (after, u64::MAX),
            };
            assert_eq!(then & expected.1, expected.0 & expected.1, "{what}: {of:?}\n{}", shown());
        };
        for (n, register) in GENERAL.into_iter().enumerate() {
            let of = trial.origins.general[register as usize];
            compare(&format!("register {n}"), of, after.general[n], then.general[n]);
        }
        for n in 0..64 {
            let of = trial.origins.vectors[n / 4][n % 4];
            compare(&format!("vector {n}"), of, after.vectors[n / 4][n % 4], then.vectors[n / 4][n % 4]);
        }
        // Carry, zero, sign and overflow; of an address that has changed, the others are not looked at.
        let flags = if done.used { 0x8c1 } else { FLAGS };
        assert_eq!(after.flags & flags, then.flags & flags, "flags\n{}", shown());
        let reached = done.reached && known.places().count() > 0;
        let now = machine.bytes(reached);
        for at in (0..AREA).step_by(8) {
            let word_of = |bytes: &[u8; AREA]| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
            let of = match (of_memory[at / 8], word) {
                (Some(of), _) => of,
                (None, Word::Memory(there)) if there == at => Of::whole(origin),
                _ => Of::NOTHING,
            };
            compare(&format!("memory {at}"), of, word_of(&written), word_of(&now));
        }
    }
    Some(())
}

/// The numbers that a test chooses by.
fn seeded() -> Rng {
    Rng::with_seed(std::env::var("FIRST_SEED").map_or(1, |seed| seed.parse().expect("a number")))
}

/// Room for so many times as many instructions as were asked for, and how many these are.
fn machine(times: usize) -> (Machine, usize) {
    let instructions = std::env::var("INSTRUCTIONS").map_or(DEFAULT, |number| number.parse().expect("a number"));
    (Machine::new(times * instructions), times * instructions)
}

/// How many instructions are followed, unless told otherwise.
const DEFAULT: usize = 3_000;

/// How many times as many instructions are made as are followed, which takes longer; and with how many states each.
const MORE_OFTEN: usize = 10;
const STATES: usize = 12;

#[test]
fn what_is_made_of_a_word_moves_along_and_nothing_else() {
    if !std::arch::is_x86_feature_detected!("avx2") {
        eprintln!("the processor has no vectors of four words: nothing is looked at");
        return;
    }
    let (mut trial, mut rng) = (Trial::new(), seeded());
    let (machine, instructions) = machine(1);
    let checked = (0..instructions).filter(|n| check(&machine, *n, &mut trial, &mut rng).is_some()).count();
    assert!(checked > instructions / 20, "{checked} of {instructions}");
}

#[test]
fn what_a_trial_makes_by_itself_is_what_the_processor_makes() {
    if !std::arch::is_x86_feature_detected!("avx2") {
        eprintln!("the processor has no vectors of four words: nothing is looked at");
        return;
    }
    let (mut known, mut rng, mut seen) = (Instructions::new(), seeded(), Seen::default());
    let (machine, instructions) = machine(MORE_OFTEN);
    for number in 0..instructions {
        let Some((code, _)) = put(&machine, number, &mut rng) else { continue };
        for case in (0..STATES).filter_map(|_| case(&machine, code, &mut known, &mut rng)) {
            machine.fill(&case.filled);
            let after = machine.run(code, case.before);
            makes_the_same(&machine, &case, &after, &mut seen);
        }
    }
    if instructions < DEFAULT * MORE_OFTEN {
        return;
    }
    use Mnemonic as M;
    let all = [M::Mov, M::Movzx, M::Movsx, M::Movsxd, M::Lea, M::Xchg, M::Not, M::Cdqe, M::Cqo];
    let computing = [
        [M::Add, M::Adc, M::Sub, M::Sbb, M::Cmp].as_slice(),
        &[M::Neg, M::Inc, M::Dec, M::And, M::Or, M::Xor, M::Test, M::Shl, M::Shr, M::Sar],
    ]
    .concat();
    for mnemonic in all {
        assert!(seen.flags.contains_key(&(mnemonic, 0x40)), "{mnemonic:?} was never made");
    }
    let missing: Vec<String> = computing.iter().flat_map(|mnemonic| seen.missing(*mnemonic)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
    let decided = seen.conditions.values().filter(|held| held.len() == 2).count();
    assert_eq!(decided, 16, "{:?}", seen.conditions);
    assert!([M::Mov, M::Add, M::Cmp].iter().all(|mnemonic| seen.local.contains(mnemonic)), "{:?}", seen.local);
}
