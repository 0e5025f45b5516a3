// What random rounds ask with: each function has its model in `random_rounds.py`.
#![allow(unused)]

use fabius::Config;
use fabius::sync::atomic::{Ordering::SeqCst, fence};
use rounds::{Asks, Place, Program, Shared};
use std::hint::black_box;

fn read<T: Copy>(all: &Shared, word: usize, byte: usize) -> T {
    // SAFETY: who calls it says a place among the words; threads of a test run one at a time.
    unsafe { all.words().cast::<u8>().add(8 * word + byte).cast::<T>().read_volatile() }
}

/// Writes a part of the second word that is borrowed, reads all of it, and puts back what was there.
fn part<T: Copy>(all: &Shared, at: usize, value: T) -> u64 {
    // SAFETY: as above.
    unsafe {
        let word = all.borrowed().add(1);
        let place = word.cast::<T>().add(at);
        let before = place.read_volatile();
        place.write_volatile(value);
        let whole = word.read_volatile();
        place.write_volatile(before);
        whole
    }
}

#[inline(never)]
fn byte_of_stack(value: u64) -> u64 {
    let mut word = black_box(0x0202_0202_0202_0202u64);
    // SAFETY: it is a byte of the word.
    unsafe {
        let place = &raw mut word;
        place.cast::<u8>().write_volatile(value as u8);
        place.read_volatile()
    }
}

#[inline(never)]
fn jump(value: u64) -> u64 {
    match value {
        0 => 3,
        1 => 9,
        2 => 4,
        3 => 17,
        4 => 80,
        5 => 2,
        6 => 40,
        _ => 7,
    }
}

#[inline(never)]
fn table(value: u64) -> u64 {
    black_box(&[7u64, 7, 1, 0, 7, 2, 9, 9])[(value & 7) as usize]
}

#[inline(never)]
fn deep(value: u64, times: u64) -> u64 {
    if times == 0 { value } else { deep(black_box(value >> 1), times - 1) ^ times }
}

#[inline(never)]
fn boxed(value: u64) -> u64 {
    *black_box(Box::new(value))
}

#[inline(never)]
fn sum_below(value: u64) -> u64 {
    (0..value).fold(0, |sum, n| sum + black_box(n))
}

#[inline(never)]
fn by_lanes(value: u64) -> u64 {
    let lanes = black_box(black_box([value, 1, value, 2]));
    black_box(&[lanes; 2])[1][2]
}

#[inline(never)]
fn turns_over(value: u64) -> u64 {
    let (low, high) = black_box((value.wrapping_add(3), value.wrapping_add(7)));
    (high < low) as u64
}

#[inline(never)]
fn spilled(a: u64, b: u64) -> (u64, u64) {
    let all = black_box((a, 1u8, b));
    (all.0, all.2)
}

#[inline(never)]
fn same_slices(a: u64, b: u64) -> u64 {
    let (a, b) = (black_box([a, 5, 6, 7, 8]), black_box([b, 5, 6, 7, 8]));
    (a[..black_box(5)] == b[..black_box(5)]) as u64
}

#[inline(never)]
fn high_of_sum(a: u64, b: u64) -> u64 {
    let (x, y) = ((a as u128) << 64 | b as u128, (b as u128) << 64 | a as u128);
    (x.wrapping_add(y) >> 64) as u64
}

fn chosen(is: bool, a: u64, b: u64) -> u64 {
    std::hint::select_unpredictable(is, a, b)
}

/// Explores them all; says how many failures were found, and which were missed.
fn explore(programs: &[Program]) {
    std::panic::set_hook(Box::new(|_| ()));
    let (mut found, mut undecided, mut missed) = (0, 0, 0);
    for (number, program) in programs.iter().enumerate() {
        assert_eq!(program.answers(), (false, true), "the model of program {number} is wrong");
        for (config, hits) in [(Config::new().preemptions(2), 6), (Config::new().exhaustive(), 2)] {
            let report = program.explore(config.executions(2_000), hits);
            match report.verdict {
                _ if report.is_bug() => found += 1,
                fabius::Verdict::Unknown { .. } => undecided += 1,
                _ => {
                    missed += 1;
                    println!("MISSED: program {number}, {:?}, {hits} hits: {report}", program.place);
                }
            }
        }
    }
    println!("{found} found, {undecided} undecided, {missed} missed");
    std::process::exit((missed > 0) as i32);
}
