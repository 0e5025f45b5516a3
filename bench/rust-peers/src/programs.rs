//! The benchmark programs. One source, compiled once for each tool. Only the tool's own sync, atomic and thread modules
//! are swapped; `Arc` is std's everywhere.

macro_rules! programs {
    ($module:ident, $tool:ident) => {
        pub mod $module {
            use std::sync::Arc;
            use $tool::sync::atomic::{fence, AtomicUsize, Ordering::SeqCst};
            use $tool::sync::{Condvar, Mutex};
            use $tool::thread;

            /// `n` threads, each doing `m` times `x = load; store(x + 1)`.
            /// `forbid`: final value that is the bug (`None`: nothing is asserted).
            pub fn counter(n: usize, m: usize, bug: fn(total: usize, full: usize) -> bool) {
                let c = Arc::new(AtomicUsize::new(0));
                let ts: Vec<_> = (0..n)
                    .map(|_| {
                        let c = c.clone();
                        thread::spawn(move || {
                            for _ in 0..m {
                                let x = c.load(SeqCst);
                                c.store(x + 1, SeqCst);
                            }
                        })
                    })
                    .collect();
                for t in ts {
                    t.join().unwrap();
                }
                // read-modify-write, so that loom cannot hand back a stale value
                let total = c.fetch_add(0, SeqCst);
                assert!(!bug(total, n * m), "BUG lost update: {total} of {}", n * m);
            }

            /// The same lost update through a mutex: `x = { *lock }; { *lock = x + 1 }`, two critical
            /// sections. No memory-model effects, so both tools explore the same thing.
            pub fn mutex_counter(n: usize, m: usize, bug: fn(total: usize, full: usize) -> bool) {
                let c = Arc::new(Mutex::new(0usize));
                let ts: Vec<_> = (0..n)
                    .map(|_| {
                        let c = c.clone();
                        thread::spawn(move || {
                            for _ in 0..m {
                                let x = *c.lock().unwrap();
                                *c.lock().unwrap() = x + 1;
                            }
                        })
                    })
                    .collect();
                for t in ts {
                    t.join().unwrap();
                }
                let total = *c.lock().unwrap();
                assert!(!bug(total, n * m), "BUG lost update: {total} of {}", n * m);
            }

            /// A thread writes what `n` others read.
            pub fn readers(n: usize) {
                let x = Arc::new(AtomicUsize::new(0));
                let mut ts = Vec::new();
                for i in 0..=n {
                    let x = x.clone();
                    ts.push(thread::spawn(move || {
                        if i == 0 {
                            x.store(42, SeqCst);
                        } else {
                            x.load(SeqCst);
                        }
                    }));
                }
                for t in ts {
                    t.join().unwrap();
                }
            }

            /// Each two of `n` threads write one variable.
            pub fn independent(n: usize) {
                let array: Arc<Vec<AtomicUsize>> = Arc::new((0..n / 2).map(|_| AtomicUsize::new(0)).collect());
                let ts: Vec<_> = (0..n)
                    .map(|i| {
                        let array = array.clone();
                        thread::spawn(move || array[i / 2].store(1, SeqCst))
                    })
                    .collect();
                for t in ts {
                    t.join().unwrap();
                }
            }

            /// One looks for the last zero of an array; each of `n` others writes one more than what is before its place.
            pub fn last_zero(n: usize) {
                let array: Arc<Vec<AtomicUsize>> = Arc::new((0..=n).map(|_| AtomicUsize::new(0)).collect());
                let mut ts = Vec::new();
                let shared = array.clone();
                ts.push(thread::spawn(move || {
                    let mut i = n;
                    while shared[i].load(SeqCst) != 0 {
                        i -= 1;
                    }
                }));
                for j in 1..=n {
                    let array = array.clone();
                    ts.push(thread::spawn(move || array[j].store(array[j - 1].load(SeqCst) + 1, SeqCst)));
                }
                for t in ts {
                    t.join().unwrap();
                }
            }

            /// Store buffering, all SeqCst: both loads cannot be 0. A report here is a false alarm.
            pub fn store_buffering() {
                let x = Arc::new(AtomicUsize::new(0));
                let y = Arc::new(AtomicUsize::new(0));
                let (x1, y1) = (x.clone(), y.clone());
                let t = thread::spawn(move || {
                    x1.store(1, SeqCst);
                    y1.load(SeqCst)
                });
                y.store(1, SeqCst);
                let a = x.load(SeqCst);
                let b = t.join().unwrap();
                assert!(a == 1 || b == 1, "BUG (false alarm) store buffering under SeqCst");
            }

            /// Two threads push their number into one list; main only joins. Bug: thread 1 goes first.
            /// No preemption is needed: when main blocks, either thread may run.
            pub fn order() {
                let log = Arc::new(Mutex::new(Vec::new()));
                let ts: Vec<_> = (0..2)
                    .map(|i| {
                        let log = log.clone();
                        thread::spawn(move || log.lock().unwrap().push(i))
                    })
                    .collect();
                for t in ts {
                    t.join().unwrap();
                }
                let first = log.lock().unwrap()[0];
                assert!(first == 0, "BUG thread {first} went first");
            }

            /// `mutex_counter(2, 1)` loses an update (one preemption), and after that two fresh threads
            /// run in the other order (no preemption): one preemption in all.
            pub fn lost_then_order() {
                let c = Arc::new(Mutex::new(0usize));
                let ts: Vec<_> = (0..2)
                    .map(|_| {
                        let c = c.clone();
                        thread::spawn(move || {
                            let x = *c.lock().unwrap();
                            *c.lock().unwrap() = x + 1;
                        })
                    })
                    .collect();
                for t in ts {
                    t.join().unwrap();
                }
                let lost = *c.lock().unwrap() == 1;
                let log = Arc::new(Mutex::new(Vec::new()));
                let ts: Vec<_> = (0..2)
                    .map(|i| {
                        let log = log.clone();
                        thread::spawn(move || log.lock().unwrap().push(i))
                    })
                    .collect();
                for t in ts {
                    t.join().unwrap();
                }
                let first = log.lock().unwrap()[0];
                assert!(!lost || first == 0, "BUG lost an update, then thread {first} went first");
            }

            /// `n` philosophers: thread i takes mutex i, then mutex (i+1)%n.
            pub fn philosophers(n: usize, ordered: bool) {
                let forks: Arc<Vec<Mutex<usize>>> = Arc::new((0..n).map(|_| Mutex::new(0)).collect());
                let ts: Vec<_> = (0..n)
                    .map(|i| {
                        let forks = forks.clone();
                        thread::spawn(move || {
                            let (mut a, mut b) = (i, (i + 1) % n);
                            if ordered && a > b {
                                std::mem::swap(&mut a, &mut b);
                            }
                            let mut x = forks[a].lock().unwrap();
                            let mut y = forks[b].lock().unwrap();
                            *x += 1;
                            *y += 1;
                        })
                    })
                    .collect();
                for t in ts {
                    t.join().unwrap();
                }
            }

            /// Bounded buffer of capacity 1: `p` producers of `items` items, `c` consumers, and one
            /// condition variable for both ends. Correct with `notify_all`; with `notify_one` the
            /// wakeup can go to the wrong side and all threads end up waiting.
            pub fn buffer(p: usize, c: usize, items: usize, all: bool) {
                let s = Arc::new((Mutex::new(0usize), Condvar::new()));
                let wake = move |cv: &Condvar| if all { cv.notify_all() } else { cv.notify_one() };
                assert_eq!((p * items) % c, 0);
                let mut ts = Vec::new();
                for _ in 0..p {
                    let s = s.clone();
                    ts.push(thread::spawn(move || {
                        for _ in 0..items {
                            let mut g = s.0.lock().unwrap();
                            while *g == 1 {
                                g = s.1.wait(g).unwrap();
                            }
                            *g += 1;
                            wake(&s.1);
                        }
                    }));
                }
                for _ in 0..c {
                    let s = s.clone();
                    ts.push(thread::spawn(move || {
                        for _ in 0..(p * items) / c {
                            let mut g = s.0.lock().unwrap();
                            while *g == 0 {
                                g = s.1.wait(g).unwrap();
                            }
                            *g -= 1;
                            wake(&s.1);
                        }
                    }));
                }
                for t in ts {
                    t.join().unwrap();
                }
            }

            /// Chase-Lev-like work-stealing queue, 1-based so that nothing underflows.
            struct Wsq {
                head: AtomicUsize,
                tail: AtomicUsize,
                items: Vec<AtomicUsize>,
                ok: bool,
            }
            impl Wsq {
                fn push(&self, v: usize) {
                    let t = self.tail.load(SeqCst);
                    self.items[t].store(v, SeqCst);
                    self.tail.store(t + 1, SeqCst);
                }
                fn pop(&self) -> Option<usize> {
                    let t = self.tail.load(SeqCst) - 1;
                    self.tail.store(t, SeqCst);
                    fence(SeqCst);
                    let h = self.head.load(SeqCst);
                    if h > t {
                        self.tail.store(h, SeqCst);
                        return None;
                    }
                    let mut v = Some(self.items[t].load(SeqCst));
                    if h == t {
                        if self.ok {
                            if self.head.compare_exchange(h, h + 1, SeqCst, SeqCst).is_err() {
                                v = None;
                            }
                        } else {
                            self.head.store(h + 1, SeqCst); // the bug: no race with the thief for the last item
                        }
                        self.tail.store(h + 1, SeqCst);
                    }
                    v
                }
                fn steal(&self) -> Option<usize> {
                    let h = self.head.load(SeqCst);
                    fence(SeqCst);
                    let t = self.tail.load(SeqCst);
                    if h >= t {
                        return None;
                    }
                    let v = self.items[h].load(SeqCst);
                    self.head.compare_exchange(h, h + 1, SeqCst, SeqCst).ok().map(|_| v)
                }
            }

            /// `items` pushes up front; the owner then pops `items` times, `thieves` threads steal `items`
            /// times each.
            /// Bug: an item is taken twice.
            pub fn wsq(thieves: usize, items: usize, ok: bool) {
                let q = Arc::new(Wsq {
                    head: AtomicUsize::new(1),
                    tail: AtomicUsize::new(1),
                    items: (0..items + 2).map(|_| AtomicUsize::new(0)).collect(),
                    ok,
                });
                let taken: Arc<Vec<_>> =
                    Arc::new((0..items).map(|_| std::sync::atomic::AtomicUsize::new(0)).collect());
                for v in 0..items {
                    q.push(v);
                }
                let mut ts: Vec<_> = (0..thieves)
                    .map(|_| {
                        let (q, taken) = (q.clone(), taken.clone());
                        thread::spawn(move || {
                            for _ in 0..items {
                                if let Some(v) = q.steal() {
                                    taken[v].fetch_add(1, SeqCst);
                                }
                            }
                        })
                    })
                    .collect();
                let owner = (q.clone(), taken.clone());
                ts.push(thread::spawn(move || {
                    for _ in 0..items {
                        if let Some(v) = owner.0.pop() {
                            owner.1[v].fetch_add(1, SeqCst);
                        }
                    }
                }));
                for t in ts {
                    t.join().unwrap();
                }
                for v in 0..items {
                    let n = taken[v].load(SeqCst);
                    assert!(n <= 1, "BUG item {v} taken {n} times");
                }
            }

            /// A narrow window: the worker does `k` stores to a private-ish atomic, with one short
            /// window (`open` is 1) in the middle. The observer must find the window open at the
            /// first AND the last of its `k` operations: one preemption, at one place out of `k`.
            pub fn window(k: usize, buggy: bool) {
                let busy = Arc::new(AtomicUsize::new(0));
                let open = Arc::new(AtomicUsize::new(0));
                let (b, o) = (busy.clone(), open.clone());
                let t = thread::spawn(move || {
                    for i in 0..k {
                        if i == k / 2 {
                            o.swap(1, SeqCst);
                            o.swap(0, SeqCst);
                        }
                        b.fetch_add(1, SeqCst);
                    }
                });
                let first = open.fetch_add(0, SeqCst);
                for _ in 0..k {
                    busy.fetch_add(1, SeqCst);
                }
                let last = open.fetch_add(0, SeqCst);
                t.join().unwrap();
                assert!(!buggy || first == 0 || last == 0, "BUG window seen open twice");
            }
        }
    };
}

programs!(on_loom, loom);
programs!(on_shuttle, shuttle);
programs!(on_fabius, fabius);
