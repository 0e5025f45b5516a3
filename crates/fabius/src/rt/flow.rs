//! Where an instruction of x86-64 takes words from, and where it puts them.
//!
//! Only what compilers make of copies, of steps from one address to another, and of comparisons is told apart: any other instruction
//! looks at what it reads.

use iced_x86::{
    ConditionCode, EncodingKind, Instruction, InstructionInfo, MemorySize, Mnemonic, OpAccess, OpKind, Register,
};
use libc::c_int;

/// A place of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// A number that the instruction has, or nothing.
    Number(u64),
    /// By where a signal's context has it.
    General(u8),
    /// A vector register, from this word on.
    Vector { number: u8, first: u8 },
    /// The memory that the instruction reads, or writes.
    Memory,
}

/// What is done with words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    /// So many are copied from the first slot.
    Copies(u8),
    /// So many bytes of a word are copied. The others of a register become zero, or what the sign is.
    CopiesPart(u8),
    /// One of each slot, the first one first.
    Joins,
    Adds,
    Subtracts,
    /// Their difference tells only where to go on.
    Compares,
    /// Looks at so low bits of the first that they are the same for all addresses, or sets them.
    Marks,
    LooksAtMarks,
    /// The same if either of both is so low a number: unoptimized code asks like this whether an address is aligned.
    Masks,
    /// The second slot, if this is so, or else the first, which is where it puts the word.
    Chooses(ConditionCode),
    /// Base and index are added.
    Leads,
    Other,
}

/// What becomes of words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub does: Does,
    pub to: Slot,
    pub from: [Slot; 2],
    pub fills_with_sign: bool,
    /// Of any other instruction: the registers whose words it looks at, as bits, and the vector registers.
    pub looks: u32,
    pub looks_at_vectors: u32,
    /// Those of them of which it looks at the lowest byte only, and those of which it changes no more than that.
    pub looks_at_lowest: u32,
    pub changes_lowest: u32,
    /// The same of the two lowest bytes.
    pub looks_at_two: u32,
    pub changes_two: u32,
    /// The registers that it changes.
    pub changes: u32,
    pub changes_vectors: u32,
    /// Which words of these.
    pub of_vectors: OfVectors,
    /// Flags, as [`iced_x86::RflagsBits`].
    pub reads_flags: u32,
    pub changes_flags: u32,
}

/// Words of vector registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfVectors {
    /// Two, as instructions that know of no more do.
    Lower,
    /// Those behind them.
    Upper,
    All,
}

/// Marks that programs keep in addresses are below this.
pub(super) const MARKS: u64 = 16;

impl Flow {
    pub const NONE: Flow = Flow {
        does: Does::Other,
        to: Slot::Number(0),
        from: [Slot::Number(0); 2],
        fills_with_sign: false,
        looks: 0,
        looks_at_vectors: 0,
        looks_at_lowest: 0,
        changes_lowest: 0,
        looks_at_two: 0,
        changes_two: 0,
        changes: 0,
        changes_vectors: 0,
        of_vectors: OfVectors::All,
        reads_flags: 0,
        changes_flags: 0,
    };

    /// That of an instruction; `number` says where a signal's context has a register.
    pub fn of(instruction: &Instruction, info: &InstructionInfo, number: fn(Register) -> Option<c_int>) -> Flow {
        let mut flow = Flow { reads_flags: instruction.rflags_read(), ..Flow::NONE };
        if !is_shift_by_register(instruction) {
            // Where it is not defined what becomes of them, they may stay.
            flow.changes_flags = instruction.rflags_modified() & !instruction.rflags_undefined();
        }
        let general = |register: Register| number(register.full_register()).map_or(0, |at| 1u32 << at);
        let vector = |register: Register| match register.is_vector_register() {
            true => 1u32 << register.number(),
            false => 0,
        };
        // Registers that say where, and then another place.
        let mut steps = 0;
        for used in info.used_registers() {
            let (access, register) = (used.access(), used.register());
            let is_lowest = register.is_gpr8() && !is_second_byte(register);
            let are_two = register.is_gpr16();
            let changes = !matches!(access, OpAccess::Read | OpAccess::CondRead);
            if changes && access != OpAccess::Write {
                steps |= general(register);
            }
            if changes && is_lowest {
                flow.changes_lowest |= general(register);
            } else if changes && are_two {
                flow.changes_two |= general(register);
            } else if changes {
                flow.changes |= general(register);
                flow.changes_vectors |= vector(register);
            }
            if access != OpAccess::Write && is_lowest {
                flow.looks_at_lowest |= general(register);
            } else if access != OpAccess::Write && are_two {
                flow.looks_at_two |= general(register);
            } else if access != OpAccess::Write || is_second_byte(register) {
                flow.looks |= general(register);
                flow.looks_at_vectors |= vector(register);
            }
        }
        let operands = (0..instruction.op_count()).filter(|i| instruction.op_kind(*i) == OpKind::Register);
        let named = operands.clone().fold(0, |bits, i| bits | general(instruction.op_register(i)));
        let reads = |i: u32| !matches!(info.op_access(i), OpAccess::Write | OpAccess::NoMemAccess);
        let read = operands.filter(|i| reads(*i) || is_second_byte(instruction.op_register(*i)));
        let read = read.fold(0, |bits, i| bits | general(instruction.op_register(i)));
        let memory = info.used_memory().iter().fold(0, |bits, m| bits | general(m.base()) | general(m.index()));
        if flow.looks & !named & !memory == 0 && instruction.mnemonic() != Mnemonic::Lea {
            // It reads no others: what only makes an address of memory is not looked at.
            flow.looks &=
                read | steps | unnamed(instruction).iter().fold(0, |bits, register| bits | general(*register));
        }
        if matches!(instruction.mnemonic(), Mnemonic::Call | Mnemonic::Ret | Mnemonic::Push | Mnemonic::Pop) {
            // What they do to the stack pointer is a step.
            let stack = general(Register::RSP);
            flow.looks &= !stack;
            flow.changes &= !stack;
        }
        if !instruction.has_lock_prefix() {
            flow.describe(instruction, number);
        }
        flow
    }

    /// A copy of less than a word.
    fn copies_part(&mut self, instruction: &Instruction, number: fn(Register) -> Option<c_int>) {
        let part = |i: u32| match instruction.op_kind(i) {
            OpKind::Register if instruction.op_register(i).is_gpr() && !is_second_byte(instruction.op_register(i)) => {
                let register = instruction.op_register(i);
                Some((Slot::General(number(register.full_register())? as u8), register.size()))
            }
            OpKind::Memory => Some((Slot::Memory, instruction.memory_size().size())),
            _ => Some((slot(instruction, i, number)?, 8)),
        };
        let (Some((to, to_size)), Some((from, from_size))) = (part(0), part(1)) else { return };
        let size = to_size.min(from_size);
        // What is left of a register otherwise is looked after where it is changed.
        if size < 8 && (to == Slot::Memory || to_size >= 4) {
            (self.does, self.to, self.from) = (Does::CopiesPart(size as u8), to, [from, Slot::Number(0)]);
            self.fills_with_sign = matches!(instruction.mnemonic(), Mnemonic::Movsx | Mnemonic::Movsxd);
        }
    }

    fn describe(&mut self, instruction: &Instruction, number: fn(Register) -> Option<c_int>) {
        use Mnemonic as M;
        let count = instruction.op_count();
        let slot = |i: u32| slot(instruction, i, number);
        let (first, second) = (slot(0).filter(|_| count > 0), slot(1).filter(|_| count > 1));
        let same = count == 2 && instruction.op_kind(0) == OpKind::Register && first.is_some() && first == second;
        let low = |i: u32| matches!(slot(i), Some(Slot::Number(n)) if n < MARKS);
        let not_high = |i: u32| matches!(slot(i), Some(Slot::Number(n)) if n >= MARKS.wrapping_neg());
        // What comes out is the same whatever was there.
        let operands = |a: u32, b: u32| {
            instruction.op_kind(b) == OpKind::Register && instruction.op_register(a) == instruction.op_register(b)
        };
        let is_constant = match instruction.mnemonic() {
            M::Xor | M::Pxor | M::Xorps | M::Xorpd | M::Pcmpeqd | M::Pcmpeqb => {
                operands(0, 1) && !is_second_byte(instruction.op_register(0))
            }
            M::Vpxor | M::Vxorps | M::Vxorpd | M::Vpcmpeqd => count == 3 && operands(1, 2),
            _ => false,
        };
        let is_word = words(instruction, 0) == Some(1);
        let set = |this: &mut Flow, does, to: Option<Slot>, from: [Option<Slot>; 2]| {
            if let ([Some(a), Some(b)], Some(to)) = (from, to) {
                (this.does, this.to, this.from) = (does, to, [a, b]);
            }
        };
        let nothing = Some(Slot::Number(0));
        if instruction.encoding() == EncodingKind::Legacy {
            self.of_vectors = OfVectors::Lower;
        }
        match instruction.mnemonic() {
            _ if is_constant => (self.looks, self.looks_at_vectors) = (0, 0),
            M::Vzeroupper => (self.looks_at_vectors, self.of_vectors) = (0, OfVectors::Upper),
            // The upper word of the register becomes zero.
            M::Movq | M::Vmovq if matches!(first, Some(Slot::Vector { .. })) => {
                set(self, Does::Joins, first, [second, nothing]);
            }
            M::Mov | M::Movq | M::Vmovq | M::Movsq | M::Stosq if is_word => {
                set(self, Does::Copies(1), first, [second, nothing]);
                if matches!(instruction.mnemonic(), M::Movsq | M::Stosq) {
                    // The registers that say where go on by themselves.
                    self.changes = 0;
                }
            }
            M::Mov | M::Movzx | M::Movsx | M::Movsxd if !is_word || count == 2 && words(instruction, 1).is_none() => {
                self.copies_part(instruction, number);
            }
            M::Push if is_word => set(self, Does::Copies(1), Some(Slot::Memory), [first, nothing]),
            M::Pop if is_word => set(self, Does::Copies(1), first, [Some(Slot::Memory), nothing]),
            #[rustfmt::skip]
            M::Movaps | M::Movups | M::Movapd | M::Movupd | M::Movdqa | M::Movdqu
            | M::Vmovaps | M::Vmovups | M::Vmovapd | M::Vmovupd | M::Vmovdqa | M::Vmovdqu
            | M::Vmovdqa64 | M::Vmovdqu64 | M::Vmovdqa32 | M::Vmovdqu32 | M::Vmovdqu8 | M::Vmovdqu16
                if instruction.op_mask() == Register::None =>
            {
                if let Some(n) = words(instruction, 0) {
                    set(self, Does::Copies(n), first, [second, nothing]);
                }
            },
            M::Movlps | M::Movlpd if first == Some(Slot::Memory) => {
                set(self, Does::Copies(1), first, [second, nothing]);
            }
            M::Movhps | M::Movhpd => {
                let upper = |slot| match slot {
                    Some(Slot::Vector { number, .. }) => Some(Slot::Vector { number, first: 1 }),
                    other => other,
                };
                if first == Some(Slot::Memory) {
                    set(self, Does::Copies(1), first, [upper(second), nothing]);
                } else {
                    set(self, Does::Joins, first, [first, second]);
                }
            }
            M::Punpcklqdq | M::Unpcklpd | M::Movlhps if second != Some(Slot::Memory) => {
                set(self, Does::Joins, first, [first, second]);
            }
            M::Vpunpcklqdq | M::Vunpcklpd if slot(2) != Some(Slot::Memory) && words(instruction, 0) == Some(2) => {
                set(self, Does::Joins, first, [second, slot(2)]);
            }
            M::Lea if is_word && [instruction.memory_base(), instruction.memory_index()].into_iter().all(is_long) => {
                self.does = Does::Leads;
            }
            M::Add if is_word => set(self, Does::Adds, first, [first, second]),
            M::Inc | M::Dec if is_word => set(self, Does::Adds, first, [first, Some(Slot::Number(1))]),
            M::Sub if is_word => set(self, Does::Subtracts, first, [first, second]),
            M::Cmp if is_word => set(self, Does::Compares, nothing, [first, second]),
            // Whether it is null.
            M::Test if same && is_word => set(self, Does::Compares, nothing, [first, nothing]),
            M::Test if low(1) && !is_second_byte(instruction.op_register(0)) => {
                set(self, Does::LooksAtMarks, nothing, [slot_of_part(instruction, number), nothing]);
            }
            M::And if is_word && low(1) => set(self, Does::LooksAtMarks, first, [first, nothing]),
            M::And if is_word && matches!((first, second), (Some(Slot::General(_)), Some(Slot::General(_)))) => {
                set(self, Does::Masks, first, [first, second]);
            }
            M::And if is_word && not_high(1) => set(self, Does::Marks, first, [first, nothing]),
            M::Or if is_word && low(1) => set(self, Does::Marks, first, [first, nothing]),
            mnemonic if is_choice(mnemonic) && is_word => {
                set(self, Does::Chooses(instruction.condition_code()), first, [first, second]);
            }
            _ => {}
        }
        if let (Does::Leads, Some(to)) = (self.does, first) {
            self.to = to;
        }
    }
}

/// Registers that are looked at without being named, and may be the address of the memory that is read, too.
fn unnamed(instruction: &Instruction) -> &'static [Register] {
    use Mnemonic as M;
    match instruction.mnemonic() {
        M::Mul | M::Cmpxchg => &[Register::RAX],
        M::Imul if instruction.op_count() == 1 => &[Register::RAX],
        M::Mulx => &[Register::RDX],
        M::Div | M::Idiv => &[Register::RAX, Register::RDX],
        M::Pcmpestri | M::Pcmpestrm | M::Vpcmpestri | M::Vpcmpestrm => &[Register::RAX, Register::RDX],
        M::Pcmpestri64 | M::Pcmpestrm64 | M::Vpcmpestri64 | M::Vpcmpestrm64 => &[Register::RAX, Register::RDX],
        _ => &[],
    }
}

/// One by no bits leaves the flags as they were.
fn is_shift_by_register(instruction: &Instruction) -> bool {
    use Mnemonic as M;
    let shifts = [M::Shl, M::Sal, M::Shr, M::Sar, M::Rol, M::Ror, M::Rcl, M::Rcr, M::Shld, M::Shrd];
    let last = instruction.op_count().wrapping_sub(1);
    let by_register = shifts.contains(&instruction.mnemonic()) && instruction.op_kind(last) == OpKind::Register;
    by_register && instruction.op_register(last) == Register::CL
}

fn is_choice(mnemonic: Mnemonic) -> bool {
    use Mnemonic as M;
    #[rustfmt::skip]
    let choices = [
        M::Cmova, M::Cmovae, M::Cmovb, M::Cmovbe, M::Cmove, M::Cmovg, M::Cmovge, M::Cmovl, M::Cmovle, M::Cmovne, M::Cmovno,
        M::Cmovnp, M::Cmovns, M::Cmovo, M::Cmovp, M::Cmovs,
    ];
    choices.contains(&mnemonic)
}

/// Whether an address can be counted from it.
fn is_long(register: Register) -> bool {
    register == Register::None || register == Register::RIP || register.is_gpr64()
}

fn is_second_byte(register: Register) -> bool {
    matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
}

/// The register that the first operand is a part of.
fn slot_of_part(instruction: &Instruction, number: fn(Register) -> Option<c_int>) -> Option<Slot> {
    let register = instruction.op_register(0);
    (instruction.op_kind(0) == OpKind::Register).then_some(())?;
    Some(Slot::General(number(register.full_register())? as u8))
}

/// How many words an operand has.
fn words(instruction: &Instruction, operand: u32) -> Option<u8> {
    let size = match instruction.op_kind(operand) {
        OpKind::Register => instruction.op_register(operand).size(),
        _ if instruction.memory_size() == MemorySize::Unknown => return None,
        _ => instruction.memory_size().size(),
    };
    // A part of a register is written where a word is moved.
    let size = match instruction.mnemonic() {
        Mnemonic::Movq | Mnemonic::Vmovq => 8,
        Mnemonic::Push | Mnemonic::Pop => 8,
        _ => size,
    };
    (size >= 8).then_some((size / 8) as u8)
}

fn slot(instruction: &Instruction, operand: u32, number: fn(Register) -> Option<c_int>) -> Option<Slot> {
    if operand >= instruction.op_count() {
        return None;
    }
    match instruction.op_kind(operand) {
        OpKind::Register => {
            let register = instruction.op_register(operand);
            if register.is_gpr64() {
                Some(Slot::General(number(register)? as u8))
            } else if register.is_vector_register() {
                Some(Slot::Vector { number: register.number() as u8, first: 0 })
            } else {
                None
            }
        }
        OpKind::Memory | OpKind::MemorySegRSI | OpKind::MemoryESRDI => Some(Slot::Memory),
        kind if (OpKind::Immediate8..=OpKind::Immediate32to64).contains(&kind) => {
            Some(Slot::Number(instruction.immediate(operand)))
        }
        _ => None,
    }
}
