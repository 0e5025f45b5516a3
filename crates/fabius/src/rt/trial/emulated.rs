//! Instructions of x86-64 that a trial makes by itself: those with general registers that compilers use most. A trap for each
//! takes a microsecond, and ten on a virtual machine, where this takes a tenth of one.
//!
//! What is not known here is left to the processor. What the processor leaves undefined is left as it was.

#[cfg(test)]
mod processor;

use super::private::Private;
use crate::rt::instruction::{is_so, number};
use iced_x86::{Code, ConditionCode, Instruction, Mnemonic, OpKind, Register};
use libc::greg_t;

const CARRY: u64 = 1;
const PARITY: u64 = 1 << 2;
const ADJUST: u64 = 1 << 4;
const ZERO: u64 = 1 << 6;
const SIGN: u64 = 1 << 7;
const OVERFLOW: u64 = 1 << 11;
const ALL: u64 = CARRY | PARITY | ADJUST | ZERO | SIGN | OVERFLOW;

/// Where an instruction writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    Memory,
    /// What is kept apart.
    Private,
}

/// Makes an instruction that is next. Says whether it is one that is known here; else nothing was done. `local` is the beginning of
/// what belongs to the operating system thread.
///
/// # Safety
/// It is about to be run with these registers, and what it accesses is there.
pub(super) unsafe fn makes(
    instruction: &Instruction,
    registers: &mut [greg_t],
    local: u64,
    private: &mut Private,
    to: To,
) -> bool {
    if instruction.has_rep_prefix() || instruction.has_repne_prefix() {
        return false;
    }
    // SAFETY: as the caller says.
    match unsafe { (Machine { instruction, registers, local, private, to }).next() } {
        Some(next) => {
            registers[libc::REG_RIP as usize] = next as greg_t;
            true
        }
        None => false,
    }
}

struct Machine<'a> {
    instruction: &'a Instruction,
    registers: &'a mut [greg_t],
    local: u64,
    private: &'a mut Private,
    to: To,
}

impl Machine<'_> {
    /// Makes the instruction and says which is the next one. `None`: it is not known, and nothing was done.
    ///
    /// # Safety
    /// As for [`makes`]. So it is for all below.
    unsafe fn next(&mut self) -> Option<u64> {
        use Mnemonic as M;
        let this = self.instruction;
        let next = this.next_ip();
        let condition = this.condition_code();
        // SAFETY: as the caller says.
        unsafe {
            match this.mnemonic() {
                M::Nop | M::Endbr64 => {}
                M::Mov => {
                    let value = self.read(1, self.size(0)?)?;
                    self.write(0, value)?;
                }
                M::Movzx => {
                    let value = self.read(1, self.size(1)?)?;
                    self.write(0, value)?;
                }
                M::Movsx | M::Movsxd => {
                    let from = self.size(1)?;
                    let value = signed(self.read(1, from)?, from);
                    self.write(0, value as u64)?;
                }
                M::Lea => {
                    let value = self.place()?;
                    self.write(0, value)?;
                }
                M::Push if this.stack_pointer_increment() == -8 => {
                    let value = self.read(0, 8)?;
                    self.push(value);
                }
                M::Pop if this.op_kind(0) == OpKind::Register && this.op_register(0).is_gpr64() => {
                    let value = self.pop();
                    self.write(0, value)?;
                }
                M::Call => {
                    let target = self.target()?;
                    self.push(next);
                    return Some(target);
                }
                M::Ret if this.stack_pointer_increment() == 8 => return Some(self.pop()),
                M::Jmp => return self.target(),
                M::Leave if this.code() == Code::Leaveq => {
                    *self.register(libc::REG_RSP) = *self.register(libc::REG_RBP);
                    *self.register(libc::REG_RBP) = self.pop() as greg_t;
                }
                M::Cdqe => {
                    let value = *self.register(libc::REG_RAX);
                    *self.register(libc::REG_RAX) = (value as i32).into();
                }
                M::Cqo => {
                    let value = *self.register(libc::REG_RAX);
                    *self.register(libc::REG_RDX) = value >> 63;
                }
                M::Xchg if this.op_kind(0) == OpKind::Register && this.op_kind(1) == OpKind::Register => {
                    let size = self.size(0)?;
                    let (first, second) = (self.read(0, size)?, self.read(1, size)?);
                    self.write(0, second)?;
                    self.write(1, first)?;
                }
                M::Not => {
                    let value = self.read(0, self.size(0)?)?;
                    self.write(0, !value)?;
                }
                M::Add | M::Adc | M::Sub | M::Sbb | M::Cmp | M::Neg | M::Inc | M::Dec => self.counts()?,
                M::And | M::Or | M::Xor | M::Test => self.combines()?,
                M::Xadd => {
                    let size = self.size(0)?;
                    let (old, by) = (self.read(0, size)?, self.read(1, size)?);
                    let (sum, flags) = added(old, by, 0, size, Sign::Plus);
                    self.write_both([(1, old), (0, sum)])?;
                    self.set_flags(ALL, flags);
                }
                M::Cmpxchg => {
                    let size = self.size(0)?;
                    let (old, new) = (self.read(0, size)?, self.read(1, size)?);
                    let wanted = *self.register(libc::REG_RAX) as u64 & mask(size);
                    let (_, flags) = added(wanted, old, 0, size, Sign::Minus);
                    if wanted == old {
                        self.write(0, new)?;
                    } else {
                        let stays = if size >= 4 { 0 } else { *self.register(libc::REG_RAX) as u64 & !mask(size) };
                        *self.register(libc::REG_RAX) = (stays | old) as greg_t;
                    }
                    self.set_flags(ALL, flags);
                }
                M::Shl | M::Shr | M::Sar => self.shifts()?,
                _ if this.is_jcc_short_or_near() => {
                    let target = self.target()?;
                    return Some(if self.is_so() { target } else { next });
                }
                // The byte that says whether it is so.
                _ if condition != ConditionCode::None && this.op_count() == 1 => self.write(0, self.is_so().into())?,
                _ if condition != ConditionCode::None && this.op_count() == 2 => {
                    let size = self.size(0)?;
                    let (old, new) = (self.read(0, size)?, self.read(1, size)?);
                    // Of half a register, the other half becomes zero in either case.
                    self.write(0, if self.is_so() { new } else { old })?;
                }
                _ => return None,
            }
        }
        Some(next)
    }

    /// Sums and differences.
    unsafe fn counts(&mut self) -> Option<()> {
        use Mnemonic as M;
        let mnemonic = self.instruction.mnemonic();
        let size = self.size(0)?;
        // SAFETY: as the caller says.
        unsafe {
            let first = self.read(0, size)?;
            let (first, second) = match mnemonic {
                M::Neg => (0, first),
                M::Inc | M::Dec => (first, 1),
                _ => (first, self.read(1, size)?),
            };
            let carried = u64::from(matches!(mnemonic, M::Adc | M::Sbb) && self.flags() & CARRY != 0);
            let sign = if matches!(mnemonic, M::Add | M::Adc | M::Inc) { Sign::Plus } else { Sign::Minus };
            let (result, flags) = added(first, second, carried, size, sign);
            if mnemonic != M::Cmp {
                self.write(0, result)?;
            }
            self.set_flags(if matches!(mnemonic, M::Inc | M::Dec) { ALL & !CARRY } else { ALL }, flags);
        }
        Some(())
    }

    /// Bit by bit.
    unsafe fn combines(&mut self) -> Option<()> {
        use Mnemonic as M;
        let mnemonic = self.instruction.mnemonic();
        let size = self.size(0)?;
        // SAFETY: as the caller says.
        unsafe {
            let (first, second) = (self.read(0, size)?, self.read(1, size)?);
            let result = match mnemonic {
                M::Or => first | second,
                M::Xor => first ^ second,
                _ => first & second,
            };
            if mnemonic != M::Test {
                self.write(0, result)?;
            }
            self.set_flags(ALL & !ADJUST, of_result(result, size));
        }
        Some(())
    }

    unsafe fn shifts(&mut self) -> Option<()> {
        use Mnemonic as M;
        let size = self.size(0)?;
        let bits = 8 * size as u32;
        // SAFETY: as the caller says.
        unsafe {
            let value = self.read(0, size)?;
            let by = self.read(1, 1)? as u32 & if size == 8 { 63 } else { 31 };
            if by >= bits {
                return None;
            }
            let top = |value: u64| value >> (bits - 1) & 1 == 1;
            let (result, last, overflows) = match self.instruction.mnemonic() {
                M::Shl => {
                    let result = value << by & mask(size);
                    let last = by > 0 && value >> (bits - by) & 1 == 1;
                    (result, last, top(result) != last)
                }
                M::Shr => (value >> by, by > 0 && value >> (by - 1) & 1 == 1, top(value)),
                _ => {
                    let value = signed(value, size);
                    ((value >> by) as u64 & mask(size), by > 0 && value >> (by - 1) & 1 == 1, false)
                }
            };
            self.write(0, result)?;
            if by > 0 {
                let set = ALL & !ADJUST & if by == 1 { !0 } else { !OVERFLOW };
                let carry = if last { CARRY } else { 0 } | if overflows { OVERFLOW } else { 0 };
                self.set_flags(set, of_result(result, size) | carry);
            }
        }
        Some(())
    }

    fn register(&mut self, register: libc::c_int) -> &mut greg_t {
        &mut self.registers[register as usize]
    }

    fn flags(&self) -> u64 {
        self.registers[libc::REG_EFL as usize] as u64
    }

    fn set_flags(&mut self, which: u64, to: u64) {
        let flags = self.flags() & !which | to & which;
        *self.register(libc::REG_EFL) = flags as greg_t;
    }

    fn is_so(&self) -> bool {
        is_so(self.instruction.condition_code(), self.flags())
    }

    /// Where a jump or a call leads.
    unsafe fn target(&self) -> Option<u64> {
        match self.instruction.op_kind(0) {
            OpKind::NearBranch64 => Some(self.instruction.near_branch64()),
            // SAFETY: as the caller says.
            OpKind::Register | OpKind::Memory if self.size(0)? == 8 => unsafe { self.read(0, 8) },
            _ => None,
        }
    }

    unsafe fn push(&mut self, value: u64) {
        let stack = self.register(libc::REG_RSP);
        *stack = stack.wrapping_sub(8);
        let at = *stack as usize;
        // SAFETY: as the caller says.
        unsafe { (at as *mut u64).write_unaligned(value) };
    }

    unsafe fn pop(&mut self) -> u64 {
        let stack = self.register(libc::REG_RSP);
        let at = *stack as usize;
        *stack = stack.wrapping_add(8);
        // SAFETY: as the caller says.
        unsafe { (at as *const u64).read_unaligned() }
    }

    /// Bytes of an operand that is a general register or memory.
    fn size(&self, operand: u32) -> Option<usize> {
        let size = match self.instruction.op_kind(operand) {
            OpKind::Register => self.instruction.op_register(operand).size(),
            OpKind::Memory => self.instruction.memory_size().size(),
            _ => return None,
        };
        matches!(size, 1 | 2 | 4 | 8).then_some(size)
    }

    /// The address of its memory, before what belongs to the thread is added.
    fn place(&self) -> Option<u64> {
        let this = self.instruction;
        let of = |register: Register| match register {
            // What is relative to the instruction is given from zero.
            Register::None | Register::RIP => Some(0),
            _ if register.is_gpr64() => Some(self.registers[number(register)? as usize] as u64),
            _ => None,
        };
        let index = of(this.memory_index())?.wrapping_mul(this.memory_index_scale().into());
        Some(of(this.memory_base())?.wrapping_add(index).wrapping_add(this.memory_displacement64()))
    }

    fn address(&self) -> Option<usize> {
        let from = match self.instruction.memory_segment() {
            Register::FS => self.local,
            Register::GS => return None,
            _ => 0,
        };
        Some(self.place()?.wrapping_add(from) as usize)
    }

    /// The value of an operand, of which so many bytes are read.
    unsafe fn read(&self, operand: u32, size: usize) -> Option<u64> {
        let value = match self.instruction.op_kind(operand) {
            OpKind::Register => self.registers[general(self.instruction.op_register(operand))?] as u64,
            OpKind::Memory => {
                let at = self.address()?;
                // SAFETY: as the caller says.
                unsafe {
                    match size {
                        _ if self.private.overlaps(at, size) => self.private.get(at, size)?,
                        1 => (at as *const u8).read().into(),
                        2 => (at as *const u16).read_unaligned().into(),
                        4 => (at as *const u32).read_unaligned().into(),
                        _ => (at as *const u64).read_unaligned(),
                    }
                }
            }
            kind if (OpKind::Immediate8..=OpKind::Immediate32to64).contains(&kind) => {
                self.instruction.immediate(operand)
            }
            _ => return None,
        };
        Some(value & mask(size))
    }

    /// Puts a value into a register, and then one into memory or another register; where that cannot be, nothing is done.
    unsafe fn write_both(&mut self, [first, second]: [(u32, u64); 2]) -> Option<()> {
        // SAFETY: as the caller says.
        unsafe {
            if self.instruction.op_kind(second.0) == OpKind::Memory {
                self.write(second.0, second.1)?;
                self.write(first.0, first.1)
            } else {
                self.write(first.0, first.1)?;
                self.write(second.0, second.1)
            }
        }
    }

    /// Puts a value into an operand, of which it has the size. Half a register leaves zero in the other half, less leaves the rest.
    unsafe fn write(&mut self, operand: u32, value: u64) -> Option<()> {
        let size = self.size(operand)?;
        match self.instruction.op_kind(operand) {
            OpKind::Register => {
                let register = &mut self.registers[general(self.instruction.op_register(operand))?];
                let stays = if size >= 4 { 0 } else { *register as u64 & !mask(size) };
                *register = (stays | value & mask(size)) as greg_t;
            }
            _ => {
                let at = self.address()?;
                // SAFETY: as the caller says.
                unsafe {
                    match size {
                        _ if self.to == To::Private => self.private.put(at, size, value)?,
                        1 => (at as *mut u8).write(value as u8),
                        2 => (at as *mut u16).write_unaligned(value as u16),
                        4 => (at as *mut u32).write_unaligned(value as u32),
                        _ => (at as *mut u64).write_unaligned(value),
                    }
                }
            }
        }
        Some(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Plus,
    Minus,
}

/// The sum or the difference of two numbers and what is carried, and the flags that it sets.
fn added(first: u64, second: u64, carried: u64, size: usize, sign: Sign) -> (u64, u64) {
    let top = 1 << (8 * size - 1);
    let adds = sign == Sign::Plus;
    let (one, other, carried) = (u128::from(first), u128::from(second), u128::from(carried));
    let full = if adds { one + other + carried } else { one.wrapping_sub(other).wrapping_sub(carried) };
    let result = full as u64 & mask(size);
    let differs = if adds { (first ^ result) & (second ^ result) } else { (first ^ second) & (first ^ result) };
    let mut flags = of_result(result, size) | (first ^ second ^ result) & ADJUST;
    flags |= if full >> (8 * size) & 1 == 1 { CARRY } else { 0 };
    flags |= if differs & top != 0 { OVERFLOW } else { 0 };
    (result, flags)
}

/// Where a signal's context has a general register, or the lower part of it.
fn general(register: Register) -> Option<usize> {
    let is_second_byte = matches!(register, Register::AH | Register::BH | Register::CH | Register::DH);
    if !register.is_gpr() || is_second_byte {
        return None;
    }
    Some(number(register.full_register())? as usize)
}

/// So many bytes of a word.
fn mask(size: usize) -> u64 {
    u64::MAX >> (64 - 8 * size.clamp(1, 8))
}

/// With its sign in all bits above.
fn signed(value: u64, size: usize) -> i64 {
    let above = 64 - 8 * size.clamp(1, 8);
    (value << above) as i64 >> above
}

/// The flags that follow from a result alone.
fn of_result(result: u64, size: usize) -> u64 {
    let parity = if (result as u8).count_ones().is_multiple_of(2) { PARITY } else { 0 };
    let zero = if result == 0 { ZERO } else { 0 };
    let sign = if result >> (8 * size - 1) & 1 == 1 { SIGN } else { 0 };
    parity | zero | sign
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    const ADDRESS: u64 = 0x1000;

    /// What becomes of the registers and of a stack whose pointer is in its middle, with the flags.
    fn made(code: &[u8], flags: u64, set: &[(libc::c_int, u64)]) -> Option<(Vec<u64>, Vec<u64>, i64)> {
        let mut stack: Vec<u64> = (100..108).collect();
        let middle = &raw mut stack[4] as u64;
        let mut registers = [0; 23];
        registers[libc::REG_RSP as usize] = middle as greg_t;
        registers[libc::REG_EFL as usize] = flags as greg_t;
        set.iter().for_each(|(register, value)| registers[*register as usize] = *value as greg_t);
        let instruction = Decoder::with_ip(64, code, ADDRESS, DecoderOptions::NONE).decode();
        // SAFETY: of memory it accesses the stack alone.
        let is_made = unsafe { makes(&instruction, &mut registers, 0, &mut Private::default(), To::Memory) };
        let moved = registers[libc::REG_RSP as usize] - middle as greg_t;
        is_made.then(|| (registers.map(|register| register as u64).to_vec(), stack, moved))
    }

    #[test]
    fn jumps_and_what_is_done_with_the_stack() {
        let rip = |code: &[u8], flags| made(code, flags, &[]).unwrap().0[libc::REG_RIP as usize];
        assert_eq!(rip(&[0xeb, 0x10], 0), ADDRESS + 0x12, "jmp");
        assert_eq!((rip(&[0x74, 0x10], ZERO), rip(&[0x74, 0x10], 0)), (ADDRESS + 0x12, ADDRESS + 2), "je");
        assert_eq!((rip(&[0x7c, 0xf0], SIGN), rip(&[0x7c, 0xf0], SIGN | OVERFLOW)), (ADDRESS - 14, ADDRESS + 2), "jl");
        let (registers, stack, moved) = made(&[0xe8, 0, 1, 0, 0], 0, &[]).unwrap();
        assert_eq!((registers[libc::REG_RIP as usize], stack[3], moved), (ADDRESS + 0x105, ADDRESS + 5, -8), "call");
        let (registers, stack, moved) = made(&[0xff, 0xd0], 0, &[(libc::REG_RAX, 0x77)]).unwrap();
        assert_eq!((registers[libc::REG_RIP as usize], stack[3], moved), (0x77, ADDRESS + 2, -8), "call rax");
        let (registers, _, moved) = made(&[0xc3], 0, &[]).unwrap();
        assert_eq!((registers[libc::REG_RIP as usize], moved), (104, 8), "ret");
        let (_, stack, moved) = made(&[0x53], 0, &[(libc::REG_RBX, 9)]).unwrap();
        assert_eq!((stack[3], moved), (9, -8), "push rbx");
        let (registers, stack, _) = made(&[0x54], 0, &[]).unwrap();
        assert_eq!(stack[3], registers[libc::REG_RSP as usize] + 8, "push rsp");
        assert_eq!(made(&[0x6a, 0xff], 0, &[]).unwrap().1[3], u64::MAX, "push -1");
        let (registers, _, moved) = made(&[0x5b], 0, &[]).unwrap();
        assert_eq!((registers[libc::REG_RBX as usize], moved), (104, 8), "pop rbx");
        assert_eq!(made(&[0x5c], 0, &[]).unwrap().0[libc::REG_RSP as usize], 104, "pop rsp");
        let frame = [100, 101, 102, 103u64];
        let at = &raw const frame[1] as u64;
        let (registers, _, _) = made(&[0xc9], 0, &[(libc::REG_RBP, at)]).unwrap();
        assert_eq!((registers[libc::REG_RBP as usize], registers[libc::REG_RSP as usize]), (101, at + 8), "leave");
    }

    #[test]
    fn what_is_not_known_is_left_to_the_processor() {
        let unknown: [&[u8]; 10] = [
            &[0xc2, 0x10, 0],
            &[0x66, 0x53],
            &[0xf3, 0xa4],
            &[0x0f, 0xa2],
            &[0xe3, 0],
            &[0xe0, 0],
            &[0xe1, 0],
            &[0x66, 0xc9],
            &[0x8f, 0x00],
            &[0x65, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0],
        ];
        for code in unknown {
            assert_eq!(made(code, 0, &[]), None, "{code:x?}");
        }
    }
}
