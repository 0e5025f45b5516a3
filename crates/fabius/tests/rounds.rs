//! Rounds of loops that look like those that were tried out, and do more.

use fabius::sync::Mutex;
use fabius::sync::atomic::{AtomicU32, Ordering::SeqCst};
use fabius::time::Instant;
use fabius::{Config, Verdict, hint, thread};
use std::cell::UnsafeCell;
use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32 as Unseen, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Every search that explores all finds the failure.
fn is_found(what: &str, test: impl Fn() + Sync) {
    for config in [Config::new(), Config::new().exhaustive()] {
        let report = config.name("rounds").every_panic_fails().executions(20_000).explore(&test);
        assert!(report.is_bug(), "{what}: {report}");
    }
}

/// Waits until the number is so high. Each round is counted where `counts` says so; gives up after eight.
#[inline(always)]
fn waits(number: &AtomicU32, until: u32, rounds: &Unseen, counts: impl Fn() -> bool) {
    loop {
        hint::spin_loop();
        if number.load(SeqCst) >= until {
            return;
        }
        if counts() {
            assert!(rounds.fetch_add(1, Relaxed) < 8, "gave up");
        }
    }
}

/// A thread waits until the number is 2. The other waits until it does so, changes what is shared, and only then ends the
/// wait. So the first round that is tried out comes before the change.
fn with_a_change<S: Send + Sync + 'static>(shared: S, counts: fn(&S) -> bool, change: fn(&S)) {
    let all = Arc::new((AtomicU32::new(0), Unseen::new(0), shared));
    let theirs = all.clone();
    let other = thread::spawn(move || {
        theirs.0.store(1, SeqCst);
        waits(&theirs.0, 2, &theirs.1, || counts(&theirs.2));
    });
    waits(&all.0, 1, &all.1, || false);
    change(&all.2);
    all.0.store(1, SeqCst);
    all.0.store(2, SeqCst);
    other.join().unwrap();
}

struct Plain<T>(UnsafeCell<T>);

// SAFETY: threads of a test run one at a time.
unsafe impl<T> Sync for Plain<T> {}
// SAFETY: as above.
unsafe impl<T> Send for Plain<T> {}

fn copies_bytes<const SIZE: usize, const AT: usize>() {
    is_found(&format!("byte {AT} of {SIZE}"), || {
        with_a_change(
            Plain(UnsafeCell::new(std::array::from_fn::<u8, SIZE, _>(|at| 100 + at as u8))),
            |bytes| {
                // SAFETY: nobody refers to it.
                let copy = black_box(unsafe { *bytes.0.get() });
                copy[AT] == 1
            },
            // SAFETY: as above.
            |bytes| unsafe { (*bytes.0.get())[AT] = 1 },
        );
    });
}

#[test]
fn words_that_overlap_are_copied_and_looked_at() {
    copies_bytes::<15, 14>();
}

#[test]
#[ignore = "takes a minute; run after a change of what is taken for repetition"]
fn words_that_overlap_anywhere_are_copied_and_looked_at() {
    copies_bytes::<15, 3>();
    copies_bytes::<14, 3>();
    copies_bytes::<14, 13>();
    copies_bytes::<24, 20>();
}

type Ends = (AtomicPtr<u64>, AtomicPtr<u64>, usize);

fn ends() -> Ends {
    let first = Box::into_raw(Box::new([0u64; 4])).cast::<u64>();
    let other = Box::into_raw(Box::new([0u64; 4])) as usize;
    (AtomicPtr::new(first), AtomicPtr::new(first), other)
}

#[test]
fn addresses_are_compared_with_each_other() {
    is_found("two that were the same", || {
        with_a_change(
            ends(),
            |(head, tail, _)| {
                let (head, tail) = (head.load(Relaxed), tail.load(Relaxed));
                // SAFETY: what they point to is never given back.
                let sum = unsafe { *head + *tail };
                sum == 0 && head != tail
            },
            |(_, tail, other)| tail.store(*other as *mut u64, Relaxed),
        );
    });
    is_found("two that were different", || {
        let (head, tail, other) = ends();
        with_a_change(
            (head, AtomicPtr::new(other as *mut u64), tail),
            |(head, tail, _)| {
                let (head, tail) = (head.load(Relaxed), tail.load(Relaxed));
                // SAFETY: as above.
                let sum = unsafe { *head + *tail };
                sum == 0 && head == tail
            },
            |(head, tail, _)| tail.store(head.load(Relaxed), Relaxed),
        );
    });
}

#[test]
fn an_address_with_a_mark_is_another() {
    is_found("a mark", || {
        with_a_change(
            ends(),
            |(head, _, _)| {
                let marked = head.load(Relaxed);
                // SAFETY: as above; without the mark it is aligned.
                let value = unsafe { marked.map_addr(|a| a & !1).read() };
                value == 0 && marked.addr() & 1 == 1
            },
            |(head, _, _)| head.store(head.load(Relaxed).map_addr(|a| a | 1), Relaxed),
        );
    });
}

#[test]
fn an_address_within_an_array_is_compared_with_its_end() {
    is_found("a cursor", || {
        with_a_change(
            ends(),
            |(first, cursor, _)| {
                let (first, cursor) = (first.load(Relaxed), cursor.load(Relaxed));
                // SAFETY: as above; it is within the array.
                let value = unsafe { *first + *cursor };
                value == 0 && cursor == first.wrapping_add(2)
            },
            |(_, cursor, _)| cursor.store(cursor.load(Relaxed).wrapping_add(2), Relaxed),
        );
    });
}

#[test]
fn an_address_is_compared_with_that_of_a_static() {
    /// It lies where what is allocated may lie, and far from other statics.
    #[repr(align(16))]
    struct Last([u64; 2048]);
    static LAST: Last = Last([0; 2048]);
    fn last() -> *const u64 {
        black_box(&raw const LAST.0[1024])
    }
    is_found("a sentinel", || {
        with_a_change(
            ends(),
            |(head, _, _)| {
                let head = head.load(Relaxed);
                // SAFETY: as above.
                unsafe { *head == 0 && head.cast_const() == last() }
            },
            |(head, _, _)| head.store(last().cast_mut(), Relaxed),
        );
    });
}

/// A thread keeps where one of its own words is, and another lets that be the next but one. Nobody waits for the end of the other, so
/// that threads run on other stacks in other executions.
fn on_a_stack(what: &str, counts: fn(*const u64, &[u64; 4]) -> bool) {
    is_found(what, || {
        let all = Arc::new((AtomicU32::new(0), Unseen::new(0), AtomicPtr::new(std::ptr::null_mut::<u64>())));
        let theirs = all.clone();
        thread::spawn(move || {
            let mut words = black_box([0u64, 0, 1, 0]);
            theirs.2.store(&raw mut words[0], Relaxed);
            theirs.0.store(1, SeqCst);
            waits(&theirs.0, 2, &theirs.1, || counts(theirs.2.load(Relaxed), &words));
        });
        waits(&all.0, 1, &all.1, || false);
        all.2.store(all.2.load(Relaxed).wrapping_add(2), Relaxed);
        all.0.store(1, SeqCst);
        all.0.store(2, SeqCst);
    });
}

#[test]
fn a_stack_may_be_another_one_and_what_points_there_is_compared() {
    on_a_stack("compared", |at, words| at == &raw const words[2]);
    // SAFETY: it points to one of the words.
    on_a_stack("reached", |at, _| unsafe { at.read() } == 1);
    on_a_stack("subtracted", |at, words| at.addr() - (&raw const words[0]).addr() == 16);
}

/// The words of a thread's stack are changed by others: std atomics, which are plain words there.
#[test]
fn what_others_write_to_a_stack_is_seen() {
    is_found("read and written", || {
        let number = AtomicU32::new(0);
        let ready = Unseen::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                while number.load(SeqCst) == 0 {
                    hint::spin_loop();
                }
                ready.store(1, Relaxed);
                number.store(2, SeqCst);
                number.store(3, SeqCst);
            });
            let rounds = Box::new(Unseen::new(0));
            number.store(1, SeqCst);
            loop {
                hint::spin_loop();
                ready.store(0, Relaxed);
                if number.load(SeqCst) == 3 {
                    return;
                }
                if ready.load(Relaxed) == 1 {
                    rounds.store(1, Relaxed);
                    continue;
                }
                assert!(rounds.load(Relaxed) == 0, "went on");
            }
        });
    });
}

/// The same, with a word that the thread itself never writes to.
#[test]
fn what_others_write_to_a_stack_is_read() {
    is_found("only read", || {
        let (number, ready) = (AtomicU32::new(0), Unseen::new(0));
        let rounds = Box::new(Unseen::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                waits(&number, 1, &rounds, || false);
                ready.store(1, Relaxed);
                number.store(1, SeqCst);
                number.store(2, SeqCst);
            });
            number.store(1, SeqCst);
            waits(&number, 2, &rounds, || ready.load(Relaxed) == 1);
        });
    });
}

/// Half of a word is looked at, after an instruction that adds to it, and after one that writes to its second byte.
#[test]
#[cfg(target_arch = "x86_64")]
fn halves_of_words_are_looked_at() {
    fn counts(look: fn(u64) -> u32) {
        is_found("half of a word", move || {
            with_a_change(
                (AtomicU64::new(1), look),
                |(word, look)| look(word.load(Relaxed)) == 5,
                |(word, _)| word.store(2, Relaxed),
            );
        });
    }
    counts(|word| {
        let sum: u32;
        // SAFETY: it computes with registers.
        unsafe { std::arch::asm!("lea {0:e}, [{1} + 3]", out(reg) sum, in(reg) word) };
        sum
    });
    counts(|word| {
        let mut word = word;
        // SAFETY: as above.
        unsafe { std::arch::asm!("mov ah, 0", "add eax, 3", inout("rax") word) };
        word as u32
    });
}

/// Who changes something borrows a lock. He keeps three words over that, of which he looks at one; a lock that is written so that
/// everything behind it is looked for on the stack takes it for another one that is the same.
#[inline(never)]
fn looks_behind_a_lock<const AT: usize>(lock: &Mutex<()>, words: &[Plain<usize>; 3], done: &Plain<(usize, bool)>) {
    // SAFETY: threads of a test run one at a time.
    let read = words.each_ref().map(|word| unsafe { word.0.get().read_volatile() });
    let held = lock.lock().unwrap();
    black_box(read[(AT + 1) % 3]);
    black_box(read[(AT + 2) % 3]);
    // SAFETY: as above.
    let (counted, others) = unsafe { &mut *done.0.get() };
    if read[AT] == 1 {
        *counted = (*counted + 1).min(6);
    } else {
        *others = true;
    }
    drop(held);
}

fn keeps_over_a_lock<const AT: usize>(words: [usize; 3]) {
    is_found(&format!("word {AT} of {words:?}"), || {
        let words = words.map(|word| Plain(UnsafeCell::new(word)));
        let all = Arc::new((AtomicU32::new(0), Mutex::new(()), words, Plain(UnsafeCell::new((0, false)))));
        let theirs = all.clone();
        let other = thread::spawn(move || {
            loop {
                hint::spin_loop();
                if theirs.0.load(SeqCst) == 1 {
                    break;
                }
                looks_behind_a_lock::<AT>(&theirs.1, &theirs.2, &theirs.3);
            }
        });
        let held = all.1.lock().unwrap();
        // SAFETY: threads of a test run one at a time.
        unsafe { *all.2[AT].0.get() = 1 };
        drop(held);
        let held = all.1.lock().unwrap();
        // SAFETY: as above.
        let (counted, others) = unsafe { *all.3.0.get() };
        drop(held);
        assert!(counted < 2 || others, "it went round twice, and found the same");
        all.0.store(1, SeqCst);
        other.join().unwrap();
    });
}

#[test]
fn what_is_kept_over_a_call_is_not_taken_for_what_is_the_same() {
    for words in [[0; 3], [2; 3], [10, 11, 12]] {
        keeps_over_a_lock::<0>(words);
        keeps_over_a_lock::<1>(words);
        keeps_over_a_lock::<2>(words);
    }
}

/// What a thread leaves on its stack, and no code looks at, may be one thing in the first executions, in which rounds are tried out, and
/// another one later. Then a loop repeats itself after other rounds than before, and time passes then.
#[test]
fn what_the_first_executions_leave_on_a_stack_hides_no_outcome() {
    for first in [1, 2, 3, 5] {
        let executions = Unseen::new(0);
        let late = std::sync::Mutex::new(BTreeSet::new());
        let report = Config::new().exhaustive().name("rounds").every_panic_fails().explore(|| {
            let is_first = executions.fetch_add(1, Relaxed) < first;
            let over = Arc::new(AtomicU32::new(0));
            let theirs = over.clone();
            let other = thread::spawn(move || {
                thread::sleep(Duration::from_millis(1));
                theirs.store(1, SeqCst);
            });
            let mut left: [usize; 7] = std::array::from_fn(|n| if is_first { n } else { 0 });
            let (start, mut rounds) = (Instant::now(), 0);
            while over.load(SeqCst) == 0 {
                black_box(&mut left).rotate_left(1);
                rounds = (rounds + Instant::now().duration_since(start).as_millis()).min(4);
                thread::yield_now();
            }
            other.join().unwrap();
            late.lock().unwrap().insert(rounds);
        });
        let late = late.into_inner().unwrap();
        // Only the first one is another, in which no round is known yet: nothing is lost.
        assert!(first > 1 || report.verdict == Verdict::Verified, "{report}");
        assert!(
            report.verdict != Verdict::Verified || late == BTreeSet::from([0, 1, 2, 3, 4]),
            "{first}: {late:?} {report}"
        );
    }
}
