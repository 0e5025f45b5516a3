//! Random instructions that the processor makes, with random registers and memory, for tests that look at what a trial makes of them.

use crate::rt::instruction::{Instructions, Known, Place};
use fastrand::Rng;
use iced_x86::{
    CpuidFeature, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register, UsedRegister,
};
use libc::greg_t;
use std::ops::Range;
use std::ptr;

/// Registers of a run: general ones in this order, the flags, and vectors of four words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct State {
    pub general: [u64; 15],
    pub flags: u64,
    pub vectors: [[u64; 4]; 16],
}

#[rustfmt::skip]
pub(super) const GENERAL: [i32; 15] = [
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
pub(super) const FLAGS: u64 = 0x8d5;

/// Where what belongs to the operating system thread begins.
pub(super) fn local() -> u64 {
    let local;
    // SAFETY: a word is read, which says where it is.
    unsafe { std::arch::asm!("mov {}, fs:[0]", out(reg) local, options(nostack, readonly)) };
    local
}

/// Memory that instructions reach, and where it has moved to.
pub(super) const AREA: usize = 1024;
pub(super) const BY: u64 = 1 << 16;

/// Of an instruction and a return.
const ROOM: usize = 16;

/// Room for code, and memory.
pub(super) struct Machine {
    code: *mut u8,
    pub memory: *mut u8,
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

    pub fn area(&self) -> Range<usize> {
        self.memory.expose_provenance()..self.memory.expose_provenance() + AREA
    }

    /// The middle of the memory.
    pub fn middle(&self) -> u64 {
        (self.memory.expose_provenance() + AREA / 2) as u64
    }

    pub fn bytes(&self, moved: bool) -> [u8; AREA] {
        // SAFETY: it has twice that.
        unsafe { self.memory.add(if moved { BY as usize } else { 0 }).cast::<[u8; AREA]>().read() }
    }

    pub fn fill(&self, bytes: &[u8; AREA]) {
        for at in [0, BY as usize] {
            // SAFETY: as above.
            unsafe { self.memory.add(at).cast::<[u8; AREA]>().write(*bytes) };
        }
    }

    pub fn run(&self, code: *const u8, mut state: State) -> State {
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
    const SECOND: [u8; 26] = [
        0x10, 0x11, 0x12, 0x13, 0x16, 0x17, 0x28, 0x29, 0x6c, 0x6e, 0x6f, 0x7e, 0x7f, 0xb6, 0xb7, 0xbe, 0xbf, 0xd6,
        0xef, 0x14, 0x44, 0x4f, 0xb0, 0xb1, 0xc0, 0xc1,
    ];
    let mut bytes = Vec::new();
    if rng.u8(..4) == 0 {
        bytes.push([0x66, 0xf3, 0xf2, 0xf0][rng.usize(..4)]);
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
pub(super) fn state(rng: &mut Rng, middle: u64) -> State {
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

pub(super) fn registers(state: &State, code: *const u8, stack: &[u64]) -> [greg_t; 23] {
    let mut registers = [0; 23];
    for (register, word) in GENERAL.into_iter().zip(state.general) {
        registers[register as usize] = word as greg_t;
    }
    registers[libc::REG_RIP as usize] = code.expose_provenance() as greg_t;
    registers[libc::REG_RSP as usize] = stack.as_ptr().expose_provenance() as greg_t;
    registers[libc::REG_EFL as usize] = state.flags as greg_t;
    registers
}

/// An instruction that is about to be run, and the memory that it reaches.
pub(super) struct Case {
    pub known: Known,
    pub code: *const u8,
    pub before: State,
    pub filled: [u8; AREA],
}

/// Chooses an instruction, and puts it there under that number.
pub(super) fn put(machine: &Machine, number: usize, rng: &mut Rng) -> Option<(*const u8, Vec<u8>)> {
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
pub(super) fn case(machine: &Machine, code: *const u8, instructions: &mut Instructions, rng: &mut Rng) -> Option<Case> {
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

/// The numbers that a test chooses by.
pub(super) fn seeded() -> Rng {
    Rng::with_seed(std::env::var("FIRST_SEED").map_or(1, |seed| seed.parse().expect("a number")))
}

/// Room for so many times as many instructions as were asked for, and how many these are.
pub(super) fn machine(times: usize) -> (Machine, usize) {
    let instructions = std::env::var("INSTRUCTIONS").map_or(DEFAULT, |number| number.parse().expect("a number"));
    (Machine::new(times * instructions), times * instructions)
}

/// How many instructions are followed, unless told otherwise.
pub(super) const DEFAULT: usize = 3_000;
