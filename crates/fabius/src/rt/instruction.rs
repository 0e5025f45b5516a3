//! Which memory an instruction of x86-64 reads and writes.

use super::flow::Flow;
use iced_x86::{
    ConditionCode, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register, UsedMemory,
};
use libc::c_int;

/// What an instruction does with a piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    Both,
}

/// A piece of memory that an instruction accesses, before its registers are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub access: Access,
    pub size: usize,
    /// Whether it is counted from the beginning of what belongs to the operating system thread.
    pub local: bool,
    pub base: Option<c_int>,
    pub index: Option<c_int>,
    pub scale: u64,
    pub displacement: u64,
}

impl Place {
    /// Where it is, with these registers.
    pub fn address(&self, registers: &[libc::greg_t], local: u64) -> usize {
        let of = |register: Option<c_int>| register.map_or(0, |register| registers[register as usize] as u64);
        let from = if self.local { local } else { 0 };
        let index = of(self.index).wrapping_mul(self.scale);
        from.wrapping_add(of(self.base)).wrapping_add(index).wrapping_add(self.displacement) as usize
    }
}

/// The number of a mask register, and bytes of an element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Masked {
    register: usize,
    element: usize,
}

/// What is known of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    address: usize,
    pub instruction: Instruction,
    /// It does more than to compute with registers and this memory: a call of the kernel, an operation that other
    /// operating system threads see at once, the clock.
    pub is_more: bool,
    /// It counts memory up or down, or exchanges it for what it is compared with, which other operating system threads see at once.
    pub locks: bool,
    /// It reads the processor's clock.
    pub tells_time: bool,
    /// It calls the kernel.
    pub is_call: bool,
    /// It is one round of a loop over memory, which ends when the counter is zero.
    pub repeats: bool,
    /// It accesses the first elements of the memory alone, as many as a mask register has bits.
    pub masked: Option<Masked>,
    places: [Option<Place>; 3],
    /// The address that it computes, of memory that it does not access.
    pub leads: Option<Place>,
    pub flow: Flow,
}

impl Known {
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().flatten()
    }
}

/// What is known of instructions, by their addresses. Looking one up takes no memory, so that a signal handler can.
pub(super) struct Instructions {
    known: Box<[Known]>,
    /// Where mask registers are in what the kernel saves.
    masks: usize,
    factory: InstructionInfoFactory,
}

const KNOWN: usize = 1 << 11;

/// The longest instruction.
const LONGEST: usize = 15;

impl Instructions {
    pub fn new() -> Instructions {
        let nothing = Known {
            address: 0,
            instruction: Instruction::default(),
            is_more: true,
            locks: false,
            tells_time: false,
            is_call: false,
            repeats: false,
            masked: None,
            places: [None; 3],
            leads: None,
            flow: Flow::NONE,
        };
        let known = vec![nothing; KNOWN].into_boxed_slice();
        let mut this = Instructions { known, masks: place_of_masks(), factory: InstructionInfoFactory::new() };
        // Makes the tables of the decoder now.
        let nop = [0x90; LONGEST];
        this.look(nop.as_ptr() as usize);
        this
    }

    /// The instruction at an address, which is about to be run.
    pub fn get(&mut self, address: usize) -> Known {
        let slot = (address ^ address >> 12) % KNOWN;
        if self.known[slot].address != address {
            self.known[slot] = self.look(address);
        }
        self.known[slot]
    }

    /// How many bytes a masked instruction accesses, if these are the first; `saved` is what the kernel has saved of the
    /// processor's extended state.
    ///
    /// # Safety
    /// `saved` comes from the context of a signal.
    pub unsafe fn size(&self, masked: Masked, saved: *const u8) -> Option<usize> {
        /// The numbers that the kernel and the processor write down beside the registers, and where.
        const MAGIC: (usize, u32) = (464, 0x4650_5853);
        const PRESENT: usize = 512;
        // SAFETY: with the magic number, the extended state follows.
        let mask = unsafe {
            if self.masks == 0 || saved.is_null() || saved.add(MAGIC.0).cast::<u32>().read_unaligned() != MAGIC.1 {
                return None;
            }
            let present = saved.add(PRESENT).cast::<u64>().read_unaligned();
            let at = saved.add(self.masks + 8 * masked.register).cast::<u64>();
            if present >> MASKS & 1 == 1 { at.read_unaligned() } else { 0 }
        };
        let (bits, lowest) = (mask.count_ones(), mask.trailing_ones());
        (bits == lowest).then_some(bits as usize * masked.element)
    }

    fn look(&mut self, address: usize) -> Known {
        // The last instruction of a program may end where its memory ends, which is at the end of a page.
        let within = LONGEST.min(4096 - address % 4096);
        let mut instruction = Instruction::default();
        for length in [within, LONGEST] {
            // SAFETY: the first bytes are about to be run; the others are on the same page, or belong to it as well.
            let code = unsafe { std::slice::from_raw_parts(address as *const u8, length) };
            instruction = Decoder::with_ip(64, code, address as u64, DecoderOptions::NONE).decode();
            if !instruction.is_invalid() {
                break;
            }
        }
        let is_prefixed = instruction.has_rep_prefix() || instruction.has_repne_prefix();
        let repeats = is_prefixed && instruction.is_string_instruction();
        let is_more = is_more(&instruction);
        let locks = locks(&instruction);
        let masked = masked(&instruction);
        let tells_time = matches!(instruction.mnemonic(), Mnemonic::Rdtsc | Mnemonic::Rdtscp);
        let is_call = instruction.mnemonic() == Mnemonic::Syscall;
        let info = self.factory.info(&instruction);
        let flow = Flow::of(&instruction, info, number);
        let used = info.used_memory();
        let leads = (instruction.mnemonic() == Mnemonic::Lea).then(|| lead(&instruction));
        let places = [None; 3];
        let mut known =
            Known { address, instruction, is_more, locks, tells_time, is_call, repeats, masked, places, leads, flow };
        known.is_more |= used.len() > known.places.len();
        for (place, used) in known.places.iter_mut().zip(used) {
            match described(used, &instruction) {
                Some(described) => *place = described,
                None => known.is_more = true,
            }
        }
        // It reads before it writes.
        known.places.sort_by_key(|place| place.is_some_and(|place| place.access != Access::Read));
        known
    }
}

/// The component of the extended state that mask registers are (Intel, Software Developer's Manual, volume 1, 13.1).
const MASKS: u32 = 5;

/// Where the kernel saves mask registers; 0 if there are none.
#[allow(unused_unsafe, reason = "newer compilers know that what it calls is safe")]
fn place_of_masks() -> usize {
    if !std::arch::is_x86_feature_detected!("avx512bw") {
        return 0;
    }
    // SAFETY: processors with these instructions have this one.
    unsafe { std::arch::x86_64::__cpuid_count(0xd, MASKS) }.ebx as usize
}

/// A copy of bytes under a mask, which functions of the C library make of small blocks.
fn masked(instruction: &Instruction) -> Option<Masked> {
    let memory = (0..instruction.op_count()).any(|i| instruction.op_kind(i) == OpKind::Memory);
    let copies = instruction.mnemonic() == Mnemonic::Vmovdqu8 && memory;
    let register = instruction.op_mask();
    let element = instruction.memory_size().element_size();
    (copies && register != Register::None).then_some(Masked { register: register.number(), element })
}

/// The address that `lea` computes.
fn lead(instruction: &Instruction) -> Place {
    Place {
        access: Access::Read,
        size: 0,
        local: false,
        base: number(instruction.memory_base()),
        index: number(instruction.memory_index()),
        scale: instruction.memory_index_scale().into(),
        displacement: instruction.memory_displacement64(),
    }
}

/// Whether it is a locked instruction as counts of references are changed with.
fn locks(instruction: &Instruction) -> bool {
    use Mnemonic as M;
    let known = matches!(instruction.mnemonic(), M::Add | M::Sub | M::Inc | M::Dec | M::Xadd | M::Cmpxchg);
    let is_prefixed = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    instruction.has_lock_prefix() && known && !is_prefixed
}

fn is_more(instruction: &Instruction) -> bool {
    use Mnemonic as M;
    let memory = (0..instruction.op_count()).any(|i| instruction.op_kind(i) == OpKind::Memory);
    let flow = matches!(
        instruction.flow_control(),
        FlowControl::Interrupt | FlowControl::Exception | FlowControl::XbeginXabortXend
    );
    let named = matches!(
        instruction.mnemonic(),
        M::Syscall
            | M::Sysenter
            | M::Rdtsc
            | M::Rdtscp
            | M::Rdpmc
            | M::Rdrand
            | M::Rdseed
            | M::Cpuid
            | M::Pushf
            | M::Pushfd
            | M::Pushfq
            | M::Popf
            | M::Popfd
            | M::Popfq
            | M::Rdfsbase
            | M::Rdgsbase
            | M::Wrfsbase
            | M::Wrgsbase
            | M::Rdpid
            | M::Lsl
            | M::Str
            | M::Sldt
            | M::Smsw
            | M::Sgdt
            | M::Sidt
            | M::Rdpkru
            | M::Wrpkru
            | M::Ldmxcsr
            | M::Vldmxcsr
            | M::Fldcw
            | M::Fldenv
            | M::Maskmovq
            | M::Maskmovdqu
            | M::Vmaskmovdqu
    );
    // To exchange with memory locks it without a prefix.
    let locks = instruction.has_lock_prefix() && !locks(instruction) || instruction.mnemonic() == M::Xchg && memory;
    // A register says which bit, of the words behind, too.
    let far = matches!(instruction.mnemonic(), M::Bt | M::Bts | M::Btr | M::Btc)
        && memory
        && instruction.op_kind(1) == OpKind::Register;
    let strange = instruction.is_invalid()
        || instruction.is_privileged()
        || instruction.is_vsib()
        || instruction.op_mask() != Register::None && masked(instruction).is_none();
    flow || named || locks || far || strange
}

/// The memory; an inner `None` if none is accessed, and an outer one if it cannot be said.
fn described(used: &UsedMemory, instruction: &Instruction) -> Option<Option<Place>> {
    let access = match used.access() {
        OpAccess::None | OpAccess::NoMemAccess => return Some(None),
        OpAccess::Read | OpAccess::CondRead => Access::Read,
        OpAccess::Write => Access::Write,
        // So much of it as is counted.
        OpAccess::CondWrite if masked(instruction).is_some() => Access::Write,
        // One that is repeated is looked at only where it is run once more.
        OpAccess::CondWrite if instruction.is_string_instruction() => Access::Write,
        // What is not overwritten is still there.
        OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite => Access::Both,
    };
    // Of a loop over memory, what one round accesses.
    let size = match used.memory_size().size() {
        0 => instruction.memory_size().size(),
        size => size,
    };
    let local = match used.segment() {
        Register::FS => true,
        Register::GS => return None,
        _ => false,
    };
    let is_64 = |register: Register| register == Register::None || register.is_gpr64() || register == Register::RIP;
    if size == 0 || size > 64 || !is_64(used.base()) || !is_64(used.index()) {
        return None;
    }
    // What is relative to the instruction is given from zero.
    let base = number(used.base());
    let scale = used.scale().into();
    Some(Some(Place {
        access,
        size,
        local,
        base,
        index: number(used.index()),
        scale,
        displacement: used.displacement(),
    }))
}

/// Where a signal's context has the register.
pub(super) fn number(register: Register) -> Option<c_int> {
    Some(match register {
        Register::RAX => libc::REG_RAX,
        Register::RBX => libc::REG_RBX,
        Register::RCX => libc::REG_RCX,
        Register::RDX => libc::REG_RDX,
        Register::RSI => libc::REG_RSI,
        Register::RDI => libc::REG_RDI,
        Register::RBP => libc::REG_RBP,
        Register::RSP => libc::REG_RSP,
        Register::R8 => libc::REG_R8,
        Register::R9 => libc::REG_R9,
        Register::R10 => libc::REG_R10,
        Register::R11 => libc::REG_R11,
        Register::R12 => libc::REG_R12,
        Register::R13 => libc::REG_R13,
        Register::R14 => libc::REG_R14,
        Register::R15 => libc::REG_R15,
        _ => return None,
    })
}

/// Whether the flags say so (Intel, Software Developer's Manual, volume 1, appendix B).
pub(super) fn is_so(condition: ConditionCode, flags: u64) -> bool {
    let flag = |bit: u32| flags >> bit & 1 == 1;
    let (carry, parity, zero, sign, overflow) = (flag(0), flag(2), flag(6), flag(7), flag(11));
    match condition {
        ConditionCode::None => true,
        ConditionCode::o => overflow,
        ConditionCode::no => !overflow,
        ConditionCode::b => carry,
        ConditionCode::ae => !carry,
        ConditionCode::e => zero,
        ConditionCode::ne => !zero,
        ConditionCode::be => carry || zero,
        ConditionCode::a => !carry && !zero,
        ConditionCode::s => sign,
        ConditionCode::ns => !sign,
        ConditionCode::p => parity,
        ConditionCode::np => !parity,
        ConditionCode::l => sign != overflow,
        ConditionCode::ge => sign == overflow,
        ConditionCode::le => zero || sign != overflow,
        ConditionCode::g => !zero && sign == overflow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_known() {
        let known = |code: &[u8]| {
            let mut with_room = code.to_vec();
            with_room.resize(LONGEST, 0x90);
            let known = Instructions::new().get(with_room.as_ptr() as usize);
            (known.is_more, known.tells_time, known.is_call)
        };
        assert_eq!(known(&[0x0f, 0x31]), (true, true, false), "rdtsc");
        assert_eq!(known(&[0x0f, 0x01, 0xf9]), (true, true, false), "rdtscp");
        assert_eq!(known(&[0x0f, 0x05]), (true, false, true), "syscall");
        assert_eq!(known(&[0x0f, 0xa2]), (true, false, false), "cpuid");
        assert_eq!(known(&[0x48, 0x89, 0xd8]), (false, false, false), "mov rax, rbx");
    }
}
