//! Programs whose failure was missed once, and some like them.

use fabius::sync::Arc;
use fabius::sync::atomic::{AtomicU64, Ordering::SeqCst};
use fabius::{Config, hint, thread};
use rounds::{Asks, Place, Program, Shared, WORDS};
use std::hint::black_box;

/// The failure is found, wherever the round asks. The word changes from the first of these to the second.
fn is_found(what: &str, asks: Asks, (from, to): (u64, u64)) {
    is_found_beside(what, asks, (from, to), 0);
}

/// The same where another word is this.
fn is_found_beside(what: &str, asks: Asks, (from, to): (u64, u64), other: u64) {
    for place in Place::ALL {
        let mut words = [0; WORDS];
        (words[1], words[2]) = (from, other);
        let program = Program { asks, words, at: 1, to, place };
        assert_eq!(program.answers(), (false, true), "{what}");
        // What a few changed rounds do is tried out anyway.
        for (config, hits) in [(Config::new().preemptions(2), 6), (Config::new().exhaustive(), 2)] {
            let report = program.explore(config.executions(2_000), hits);
            assert!(report.is_bug(), "{what}, {place:?}, {hits} hits: {report}");
        }
    }
}

/// Writes a part of a word that it has borrowed, and reads all of it; what was there is put back.
fn read_behind<T>(word: *mut u64, at: usize, part: T) -> u64 {
    let place = word.cast::<T>();
    // SAFETY: who calls it says a place within a word that belongs to all; threads of a test run one at a time.
    unsafe {
        let place = place.add(at);
        let before = place.read_volatile();
        place.write_volatile(part);
        let whole = word.read_volatile();
        place.write_volatile(before);
        whole
    }
}

#[test]
fn an_answer_that_needs_nothing_but_the_word() {
    is_found("the word", |all| all.word(1) == 1, (0, 1));
}

#[test]
fn a_word_of_which_a_part_is_borrowed() {
    is_found("the lowest byte", |all| read_behind(all.borrowed(), 0, all.word(1) as u8) == 1, (0, 1));
    fn of_second<T>(all: &Shared, at: usize, part: T) -> u64 {
        // SAFETY: there are two words.
        read_behind(unsafe { all.borrowed().add(1) }, at, part)
    }
    is_found("another byte", |all| of_second(all, 1, all.word(1) as u8) == 0x0101_0101_0101_0101, (0, 1));
    fn upper_half(all: &Shared) -> bool {
        let word = all.word(1);
        drop(all.other_lock.lock().unwrap());
        of_second(all, 1, word as u32) == 0x0000_0001_0101_0101
    }
    is_found("the upper half", upper_half, (0, 1));
}

#[test]
fn two_words_that_are_made_of_one_are_compared() {
    const WRAPS: (u64, u64) = (0, -5i64 as u64);
    #[inline(never)]
    fn turned_over(word: u64) -> bool {
        let (low, high) = black_box((word.wrapping_add(3), word.wrapping_add(7)));
        high < low
    }
    is_found("from memory", |all| turned_over(all.word(1)), WRAPS);
    fn of_registers(all: &Shared) -> bool {
        let word = all.word(1);
        let (low, high) = (black_box(word.wrapping_add(3)), black_box(word.wrapping_add(7)));
        black_box(word) != 77 && low > high
    }
    is_found("from registers", of_registers, WRAPS);
    #[cfg(target_arch = "x86_64")]
    fn by_lea(all: &Shared) -> bool {
        let answer: u64;
        // SAFETY: it only counts.
        unsafe {
            std::arch::asm!(
                "lea {low}, [{word} + 3]",
                "lea {high}, [{word} + 7]",
                "xor {answer:e}, {answer:e}",
                "cmp {low}, {high}",
                "seta {answer:l}",
                word = in(reg) all.word(1),
                low = out(reg) _,
                high = out(reg) _,
                answer = out(reg) answer,
                options(nomem, nostack),
            );
        }
        answer == 1
    }
    #[cfg(target_arch = "x86_64")]
    is_found("by the instruction itself", by_lea, WRAPS);
    fn behind_a_load(all: &Shared) -> bool {
        let word = all.word(1);
        let (low, high) = black_box((word.wrapping_add(3), word.wrapping_add(7)));
        all.other.load(SeqCst);
        high < low
    }
    is_found("behind a load", behind_a_load, WRAPS);
    fn of_a_ring(all: &Shared) -> bool {
        let word = all.word(1);
        let (head, tail) = (black_box(word.wrapping_add(8)), black_box(word.wrapping_sub(8)));
        black_box(word);
        tail > head
    }
    is_found("ends of a ring", of_a_ring, (100, 3));
    fn with_signs(all: &Shared) -> bool {
        let word = all.word(1) as i64;
        let (low, high) = black_box((word.wrapping_sub(2), word.wrapping_add(2)));
        black_box(word);
        low > high
    }
    is_found("with signs", with_signs, (5, i64::MAX as u64));
}

#[test]
fn a_range_far_from_zero_is_asked_for() {
    const INTO: (u64, u64) = (1 << 33, (1 << 32) + 16);
    is_found("a range", |all| (4_294_967_295..4_294_967_395).contains(&all.word(1)), INTO);
    fn behind_a_lock(all: &Shared) -> bool {
        let word = all.word(1);
        drop(all.other_lock.lock().unwrap());
        matches!(word, 4_294_967_200..=4_294_967_399)
    }
    is_found("behind a lock", behind_a_lock, INTO);
    fn in_steps(all: &Shared) -> bool {
        let first = black_box(all.word(1).wrapping_sub(2_000_000_000));
        let second = black_box(first.wrapping_sub(2_000_000_000));
        black_box(second.wrapping_sub(294_967_000)) < 1000
    }
    is_found("in steps", in_steps, INTO);
    #[cfg(target_arch = "x86_64")]
    fn by_lea(all: &Shared) -> bool {
        let answer: u64;
        // SAFETY: it only counts.
        unsafe {
            std::arch::asm!(
                "lea {below}, [{word} - 0x40000000]",
                "lea {below}, [{below} - 0x40000000]",
                "lea {below}, [{below} - 0x40000000]",
                "lea {below}, [{below} - 0x40000000]",
                "xor {answer:e}, {answer:e}",
                "cmp {below}, 100",
                "setb {answer:l}",
                word = in(reg) all.word(1),
                below = out(reg) _,
                answer = out(reg) answer,
                options(nomem, nostack),
            );
        }
        answer == 1
    }
    #[cfg(target_arch = "x86_64")]
    is_found("by the instruction itself", by_lea, INTO);
}

/// Pairs of words that lie in one block, by number.
fn block(first: u64) -> impl Fn(usize) -> u64 {
    let block: &'static [[u64; 2]; 8] = Box::leak(Box::new([[first, 0]; 8]));
    |n| (&raw const block[n]).expose_provenance() as u64
}

#[test]
fn which_of_two_addresses_of_one_block_is_higher() {
    fn addresses(all: &Shared) -> [u64; 2] {
        let both = [all.word(1), all.word(2)];
        for at in both {
            // SAFETY: it is in the block.
            unsafe { (at as *const u64).read_volatile() };
        }
        both
    }
    fn is_below(all: &Shared) -> bool {
        let [at, other] = addresses(all);
        at < other
    }
    fn is_at_most(all: &Shared) -> bool {
        let [at, other] = addresses(all);
        at as i64 <= other as i64
    }
    let at = block(0);
    is_found_beside("below", is_below, (at(6), at(2)), at(4));
    is_found_beside("at most, with signs", is_at_most, (at(6), at(2)), at(4));
}

/// What compilers write of it only for floating-point numbers.
#[test]
#[cfg(target_arch = "x86_64")]
fn the_parity_of_what_comes_out() {
    macro_rules! parity {
        ($code:literal) => {{
            fn asks(all: &Shared) -> bool {
                let answer: u64;
                // SAFETY: it only counts.
                unsafe {
                    std::arch::asm!(
                        "xor {answer:e}, {answer:e}",
                        $code,
                        // Changes the carry flag alone.
                        "bt {answer}, 1",
                        "setnp {answer:l}",
                        answer = out(reg) answer,
                        word = inout(reg) all.word(1) => _,
                        options(nomem, nostack),
                    );
                }
                answer == 1
            }
            is_found($code, asks, (1 << 33, (1 << 33) + 16));
        }};
    }
    parity!("add {word}, 0");
    parity!("sub {word}, 0");
    parity!("cmp {word}, 0");
    parity!("test {word}, {word}");
    parity!("and {word}, -16");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_factor_that_is_the_address_of_the_other_one() {
    fn of_a_word(all: &Shared) -> bool {
        let low: u64;
        // SAFETY: it reads the word at the address.
        unsafe {
            std::arch::asm!("mul qword ptr [rax]", inout("rax") all.word(1) => low, out("rdx") _, options(readonly, nostack));
        }
        low != all.word(2).wrapping_mul(3)
    }
    fn of_half_a_word(all: &Shared) -> bool {
        let low: u64;
        // SAFETY: as above.
        unsafe {
            std::arch::asm!("mul dword ptr [rax]", inout("rax") all.word(1) => low, out("rdx") _, options(readonly, nostack));
        }
        low as u32 != (all.word(2) as u32).wrapping_mul(3)
    }
    let at = block(3);
    is_found_beside("a word", of_a_word, (at(6), at(2)), at(6));
    is_found_beside("half a word", of_half_a_word, (at(6), at(2)), at(6));
    if std::arch::is_x86_feature_detected!("bmi2") {
        fn of_any(all: &Shared) -> bool {
            let low: u64;
            // SAFETY: as above.
            unsafe {
                std::arch::asm!("mulx {high}, {low}, [rdx]", high = out(reg) _, low = out(reg) low, in("rdx") all.word(1), options(readonly, nostack));
            }
            low != all.word(2).wrapping_mul(3)
        }
        is_found_beside("any registers", of_any, (at(6), at(2)), at(6));
    }
}

#[test]
fn a_word_that_is_kept_over_an_operation() {
    fn over_a_lock(all: &Shared) -> bool {
        let (first, word, last) = (all.word(0), all.word(1), all.word(2));
        drop(all.other_lock.lock().unwrap());
        black_box((first, last));
        word == 1
    }
    fn over_a_lock_in_another_order(all: &Shared) -> bool {
        let (first, last, word) = (all.word(0), all.word(2), all.word(1));
        drop(all.other_lock.lock().unwrap());
        black_box(first);
        black_box(last);
        word == 1
    }
    fn over_a_count(all: &Shared) -> bool {
        let (word, first, last) = (all.word(1), all.word(0), all.word(2));
        drop(all.counted.clone());
        drop(all.other_lock.lock().unwrap());
        black_box(first);
        black_box(last);
        word.max(first) == 1
    }
    for from in [0, 10] {
        is_found("over a lock", over_a_lock, (from, 1));
        is_found("over a lock, in another order", over_a_lock_in_another_order, (from, 1));
    }
    is_found("over a count", over_a_count, (0, 1));
}

#[test]
fn a_step_by_an_index_that_is_scaled() {
    fn by_index(all: &Shared) -> bool {
        let base = all.word(1) as *const u64;
        let index = black_box(all.word(2).wrapping_sub(1 << 29)) as isize;
        black_box(base.wrapping_offset(index)) as u64 <= 100
    }
    is_found("an index", by_index, (1 << 33, (1 << 32) + 16));
    #[cfg(target_arch = "x86_64")]
    fn with_a_displacement(all: &Shared) -> bool {
        let answer: u64;
        // SAFETY: it only counts.
        unsafe {
            std::arch::asm!(
                ".rept 16385",
                "lea {below}, [{below} + {index} - 131071]",
                ".endr",
                "xor {answer:e}, {answer:e}",
                "cmp {below}, 100",
                "setb {answer:l}",
                below = inout(reg) all.word(1) => _,
                index = in(reg) black_box(-131071i64),
                answer = out(reg) answer,
                options(nomem, nostack),
            );
        }
        answer == 1
    }
    #[cfg(target_arch = "x86_64")]
    is_found(
        "an index and a displacement",
        with_a_displacement,
        ((16385 * 262142) + (1 << 32) + 16, 16385 * 262142 + 16),
    );
}

/// Counts the rounds in a register by `lea`, where another one holds the same word at first.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn counts_by_lea(over: &AtomicU64, step: u64, from: u64) -> u64 {
    #[inline(never)]
    extern "C" fn gives_way() {
        hint::spin_loop();
    }
    #[inline(never)]
    extern "C" fn loads(over: &AtomicU64) -> u64 {
        over.load(SeqCst)
    }
    let count: u64;
    // SAFETY: what a call preserves is given back, and the stack is aligned where functions are called.
    unsafe {
        std::arch::asm!(
            "push rbx",
            "push rbp",
            "sub rsp, 128",
            "mov rbx, 77",
            "mov rbp, 78",
            // What was read last: 0, as the count at first.
            "xor r12d, r12d",
            "2:",
            "call {gives_way}",
            "mov rdi, r13",
            "call {loads}",
            "mov r12, rax",
            "cmp r12, 1",
            "je 3f",
            "lea r14, [r14 + r15]",
            "jmp 2b",
            "3:",
            "add rsp, 128",
            "pop rbp",
            "pop rbx",
            gives_way = sym gives_way,
            loads = sym loads,
            inout("r13") over => _,
            inout("r15") step => _,
            out("r12") _,
            inout("r14") from => count,
            clobber_abi("C"),
        );
    }
    count
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_count_in_a_register_that_holds_what_another_does() {
    for from in [0, 100] {
        let report = Config::new().exhaustive().name("rounds").every_panic_fails().executions(2_000).explore(|| {
            let all = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
            let theirs = all.clone();
            let waits = thread::spawn(move || {
                theirs.0.store(1, SeqCst);
                assert!(counts_by_lea(&theirs.1, 1, from) < from + 10, "it waited for long");
            });
            counts_by_lea(&all.0, 0, from);
            all.1.store(1, SeqCst);
            waits.join().unwrap();
        });
        assert!(report.is_bug(), "from {from}: {report}");
    }
}
