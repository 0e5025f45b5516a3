//! Programs whose failure was missed once, and some like them.

use fabius::Config;
use fabius::sync::atomic::Ordering::SeqCst;
use rounds::{Asks, Place, Program, Shared, WORDS};
use std::hint::black_box;

/// The failure is found, wherever the round asks. The word changes from the first of these to the second.
fn is_found(what: &str, asks: Asks, (from, to): (u64, u64)) {
    for place in Place::ALL {
        let mut words = [0; WORDS];
        words[1] = from;
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
