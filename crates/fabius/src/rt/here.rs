//! Where a thread is in its code, as a number.

use super::remains::Left;

/// A place in the code of a thread: what a function was called with that is never inlined and looks here first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here {
    /// The registers that a call preserves; `None` where nobody has written down which these are.
    pub registers: Option<[u64; 6]>,
    /// An address in the frame of the function, below what it has saved.
    pub frame: usize,
}

impl Here {
    /// The place of the function that calls this.
    #[inline(always)]
    pub fn new() -> Here {
        let anchor = 0u64;
        let frame = std::ptr::from_ref(std::hint::black_box(&anchor)) as usize;
        Here { registers: registers(), frame }
    }

    /// A number for what the code goes on with: the registers, and its stack below `top`.
    pub fn number(self, top: usize) -> Option<u64> {
        self.number_but(top, &Left::default())
    }

    /// The same without what a round leaves there.
    pub(super) fn number_but(self, top: usize, left: &Left) -> Option<u64> {
        let kept = |(n, word): (usize, u64)| if left.registers >> n & 1 == 1 { 0 } else { word };
        let mut number = self.registers?.into_iter().enumerate().map(kept).fold(0, mix);
        let mut words = left.words.iter().skip_while(|(below, _)| top - below < self.frame).peekable();
        let mut at = (self.frame + 8) & !7;
        while at + 8 <= top {
            // SAFETY: from a frame to the top is the stack that the caller runs on; what is there is only read.
            let word = unsafe { std::ptr::read_volatile(at as *const u64) };
            let left = words.next_if(|(below, _)| top - below <= at).map_or(0, |(_, bits)| *bits);
            number = mix(number, word & !left);
            at += 8;
        }
        Some(number)
    }
}

#[cfg(all(target_arch = "x86_64", unix, not(miri)))]
#[inline(always)]
fn registers() -> Option<[u64; 6]> {
    let (rbx, rbp, r12, r13, r14, r15): (u64, u64, u64, u64, u64, u64);
    // SAFETY: registers are only read.
    unsafe {
        std::arch::asm!("mov {}, rbx", "mov {}, rbp", out(reg) rbx, out(reg) rbp, options(nomem, nostack));
        std::arch::asm!("mov {}, r12", "mov {}, r13", out(reg) r12, out(reg) r13, options(nomem, nostack));
        std::arch::asm!("mov {}, r14", "mov {}, r15", out(reg) r14, out(reg) r15, options(nomem, nostack));
    }
    Some([rbx, rbp, r12, r13, r14, r15])
}

#[cfg(not(all(target_arch = "x86_64", unix, not(miri))))]
#[inline(always)]
fn registers() -> Option<[u64; 6]> {
    None
}

/// Two numbers in order as one.
pub(super) fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xd1b5_4a32_d192_ed03);
    let folded = (product >> 64) as u64 ^ product as u64;
    folded.wrapping_add(a.rotate_left(17)) ^ b.rotate_left(41)
}
