//! What a trial makes of instructions by itself, beside what the processor makes of them.

use crate::rt::instruction::{Instructions, Known, is_so};
use crate::rt::trial::emulated::{To, makes};
use crate::rt::trial::private::Private;
use crate::rt::trial::processor::{
    Case, DEFAULT, FLAGS, GENERAL, Machine, State, case, local, machine, put, registers, seeded,
};
use iced_x86::{ConditionCode, Instruction, Mnemonic, OpKind, Register};
use std::collections::{HashMap, HashSet};

/// What a trial makes of the instruction by itself, if it does, is what the processor has made.
fn makes_the_same(machine: &Machine, case: &Case, after: &State, seen: &mut Seen) {
    let Case { known: Known { instruction, .. }, code, before, filled, .. } = case;
    let written = machine.bytes(false);
    machine.fill(filled);
    let mut made = registers(before, *code, &[]);
    // SAFETY: the processor has made it, with the same registers and memory.
    if unsafe { makes(instruction, &mut made, local(), &mut Private::default(), To::Memory) } {
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

/// How many times as many instructions are made as are followed, which takes longer; and with how many states each.
const MORE_OFTEN: usize = 10;
const STATES: usize = 12;

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
        [M::Add, M::Adc, M::Sub, M::Sbb, M::Cmp, M::Xadd, M::Cmpxchg].as_slice(),
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
