//! Data races are judged by the orderings that are given: what C++20 says of each of these programs, by hand.

use fabius::cell::UnsafeCell;
use fabius::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use fabius::sync::atomic::{AtomicU32, Ordering, fence};
use fabius::sync::{Arc, Barrier, Mutex, RwLock, mpsc};
use fabius::{BugKind, Config, future, thread};

pub struct Shared {
    cell: UnsafeCell<u32>,
    pub flag: AtomicU32,
}

// SAFETY: whether it is accessed at the same time is what these tests are about; fibers never do so.
unsafe impl Sync for Shared {}

impl Shared {
    pub fn new() -> std::sync::Arc<Shared> {
        std::sync::Arc::new(Shared { cell: UnsafeCell::new(0), flag: AtomicU32::new(0) })
    }

    pub fn write(&self) {
        // SAFETY: one thread runs at a time.
        self.cell.with_mut(|place| unsafe { *place += 1 });
    }

    pub fn read(&self) {
        // SAFETY: one thread runs at a time.
        self.cell.with(|place| unsafe { *place });
    }
}

pub fn judge(what: &str, races: bool, test: impl Fn() + Sync) -> String {
    let mut text = String::new();
    for config in [Config::new(), Config::new().exhaustive(), Config::new().without_reduction(), Config::new().jobs(2)]
    {
        let report = config.name("orderings").explore(&test);
        let kind = report.trace().map(|t| t.kind);
        assert_eq!(kind, races.then_some(BugKind::DataRace), "{what}: {}", report.failure().unwrap_or_default());
        text = report.failure().unwrap_or_default();
    }
    text
}

/// One thread writes and stores, the other reads if its load finds that.
fn passes_a_message(store: Ordering, load: Ordering) -> impl Fn() + Sync {
    move || {
        let mine = Shared::new();
        let other = mine.clone();
        let writer = thread::spawn(move || {
            other.write();
            other.flag.store(1, store);
        });
        if mine.flag.load(load) == 1 {
            mine.read();
        }
        writer.join().unwrap();
    }
}

#[test]
fn a_message_needs_release_and_acquire() {
    for store in [Relaxed, Release, SeqCst] {
        for load in [Relaxed, Acquire, SeqCst] {
            let races = store == Relaxed || load == Relaxed;
            let text = judge(&format!("{store:?}, {load:?}"), races, passes_a_message(store, load));
            let wants = |what: &str, missing: bool| {
                assert_eq!(text.contains(&format!("`{what}` at ")), missing, "{store:?}, {load:?}: {text}");
            };
            wants("Release", store == Relaxed);
            wants("Acquire", load == Relaxed);
        }
    }
}

#[test]
fn fences_make_up_for_relaxed_accesses() {
    for (released, acquired) in [(true, true), (true, false), (false, true), (false, false)] {
        judge(&format!("{released} {acquired}"), !(released && acquired), move || {
            let mine = Shared::new();
            let other = mine.clone();
            let writer = thread::spawn(move || {
                other.write();
                if released {
                    fence(Release);
                }
                other.flag.store(1, Relaxed);
            });
            if mine.flag.load(Relaxed) == 1 {
                if acquired {
                    fence(Acquire);
                }
                mine.read();
            }
            writer.join().unwrap();
        });
    }
}

#[test]
fn a_release_sequence_goes_on_with_changes_and_ends_with_stores() {
    for (change, races) in [(true, false), (false, true)] {
        judge(if change { "fetch_add" } else { "store" }, races, move || {
            let mine = Shared::new();
            let (first, second) = (mine.clone(), mine.clone());
            let writer = thread::spawn(move || {
                first.write();
                first.flag.store(1, Release);
            });
            let between = thread::spawn(move || {
                if change {
                    second.flag.fetch_add(1, Relaxed);
                } else if second.flag.load(Relaxed) == 1 {
                    second.flag.store(2, Relaxed);
                }
            });
            if mine.flag.load(Acquire) == 2 {
                mine.read();
            }
            writer.join().unwrap();
            between.join().unwrap();
        });
    }
}

#[test]
fn a_failed_exchange_is_a_load_with_the_second_ordering() {
    for (failure, races) in [(Acquire, false), (Relaxed, true)] {
        judge(&format!("{failure:?}"), races, move || {
            let mine = Shared::new();
            let other = mine.clone();
            let writer = thread::spawn(move || {
                other.write();
                other.flag.store(1, Release);
            });
            if mine.flag.compare_exchange(7, 8, AcqRel, failure) == Err(1) {
                mine.read();
            }
            writer.join().unwrap();
        });
    }
}

#[test]
fn spawn_join_and_what_is_not_atomic_order_what_they_should() {
    judge("spawn and join", false, || {
        let mine = Shared::new();
        mine.write();
        let other = mine.clone();
        thread::spawn(move || other.write()).join().unwrap();
        mine.write();
    });
    judge("after a spawn", true, || {
        let mine = Shared::new();
        let other = mine.clone();
        let child = thread::spawn(move || other.write());
        mine.write();
        child.join().unwrap();
    });
    judge("a mutex", false, || {
        let mine = std::sync::Arc::new((Mutex::new(()), Shared { cell: UnsafeCell::new(0), flag: AtomicU32::new(0) }));
        let other = mine.clone();
        let child = thread::spawn(move || {
            let _guard = other.0.lock().unwrap();
            other.1.write();
        });
        let guard = mine.0.lock().unwrap();
        mine.1.write();
        drop(guard);
        child.join().unwrap();
    });
    for (write, races) in [(true, false), (false, true)] {
        judge("a reader-writer lock", races, move || {
            let mine =
                std::sync::Arc::new((RwLock::new(()), Shared { cell: UnsafeCell::new(0), flag: AtomicU32::new(0) }));
            let other = mine.clone();
            let child = thread::spawn(move || {
                if write {
                    let _guard = other.0.write().unwrap();
                    other.1.write();
                } else {
                    let _guard = other.0.read().unwrap();
                    other.1.write();
                }
            });
            let guard = mine.0.read().unwrap();
            mine.1.read();
            drop(guard);
            child.join().unwrap();
        });
    }
    for capacity in [None, Some(0), Some(1)] {
        judge("a channel", false, move || {
            let mine = Shared::new();
            let other = mine.clone();
            let (send, receive) = mpsc::channel();
            let (sync_send, sync_receive) = mpsc::sync_channel(capacity.unwrap_or(1));
            let child = thread::spawn(move || {
                other.write();
                if capacity.is_some() {
                    sync_send.send(()).unwrap();
                } else {
                    send.send(()).unwrap();
                }
            });
            let got = if capacity.is_some() { sync_receive.recv().is_ok() } else { receive.recv().is_ok() };
            assert!(got);
            mine.write();
            child.join().unwrap();
        });
    }
    judge("a barrier", false, || {
        let mine = std::sync::Arc::new((Barrier::new(2), Shared { cell: UnsafeCell::new(0), flag: AtomicU32::new(0) }));
        let other = mine.clone();
        let child = thread::spawn(move || {
            other.1.write();
            other.0.wait();
        });
        mine.0.wait();
        mine.1.write();
        child.join().unwrap();
    });
    judge("park and unpark", false, || {
        let mine = Shared::new();
        let (other, me) = (mine.clone(), thread::current());
        let child = thread::spawn(move || {
            other.write();
            other.flag.store(1, Relaxed);
            me.unpark();
        });
        while mine.flag.load(Relaxed) == 0 {
            thread::park();
        }
        child.join().unwrap();
        mine.write();
    });
    judge("the last owner", false, || {
        struct Dropped(Shared);
        impl Drop for Dropped {
            fn drop(&mut self) {
                self.0.write();
            }
        }
        let mine = Arc::new(Dropped(Shared { cell: UnsafeCell::new(0), flag: AtomicU32::new(0) }));
        let other = mine.clone();
        let child = thread::spawn(move || {
            other.0.read();
            drop(other);
        });
        mine.0.read();
        drop(mine);
        child.join().unwrap();
    });
}

#[test]
fn counts_order_what_std_says() {
    judge("who takes the value comes after those who gave up theirs", false, || {
        let mine = Arc::new(UnsafeCell::new(0));
        let other = Owned(mine.clone());
        let writer = thread::spawn(move || {
            let Owned(cell) = { other };
            // SAFETY: one thread runs at a time.
            cell.with_mut(|place| unsafe { *place = 1 });
            Arc::into_inner(cell).map(|cell| cell.with(|place| unsafe { *place }))
        });
        // SAFETY: as above.
        Arc::into_inner(mine).map(|cell| cell.with(|place| unsafe { *place }));
        writer.join().unwrap();
    });
    judge("a count that is told is relaxed", true, || {
        let mine = Shared::new();
        let (other, alive) = (mine.clone(), Arc::new(()));
        let owner = alive.clone();
        let writer = thread::spawn(move || {
            other.write();
            drop(owner);
        });
        if Arc::strong_count(&alive) == 1 {
            mine.read();
        }
        writer.join().unwrap();
    });
    for holds in [true, false] {
        judge("an upgrade that fails comes after nothing", true, move || {
            let mine = Shared::new();
            let (other, owner) = (mine.clone(), Arc::new(()));
            let weak = Arc::downgrade(&owner);
            let writer = thread::spawn(move || {
                other.write();
                drop(owner);
            });
            if weak.upgrade().is_some() == holds {
                mine.read();
            }
            writer.join().unwrap();
        });
    }
}

/// What is sent to another thread, so that the program is the test's to judge.
struct Owned(Arc<UnsafeCell<u32>>);

// SAFETY: fibers never access it at the same time.
unsafe impl Send for Owned {}

#[test]
fn an_access_to_a_cell_lasts_until_its_closure_ends() {
    let accesses = |ends: bool| {
        move || {
            let mine = Shared::new();
            let other = mine.clone();
            let reader = thread::spawn(move || {
                if other.flag.load(Acquire) == 1 {
                    other.read();
                }
            });
            mine.cell.with_mut(|place| {
                if !ends {
                    mine.flag.store(1, Release);
                }
                // SAFETY: one thread runs at a time.
                unsafe { *place = 1 };
            });
            mine.flag.store(1, Release);
            reader.join().unwrap();
        }
    };
    judge("the closure has ended", false, accesses(true));
    judge("the closure has not ended", true, accesses(false));
}

/// What is found of a channel with a place for one message, or two, when others have done something to it before.
#[test]
fn sends_come_after_who_has_made_room_and_after_nobody_else() {
    let after_a_flag = |first: fn(&mpsc::SyncSender<u32>), second: fn(&mpsc::SyncSender<u32>, &mpsc::Receiver<u32>)| {
        move || {
            let mine = Shared::new();
            let other = mine.clone();
            let (sender, receiver) = mpsc::sync_channel(2);
            let theirs = sender.clone();
            let writer = thread::spawn(move || {
                other.write();
                first(&theirs);
                other.flag.store(1, Relaxed);
                std::mem::forget(theirs);
            });
            if mine.flag.load(Relaxed) == 1 {
                second(&sender, &receiver);
                mine.read();
            }
            writer.join().unwrap();
        }
    };
    let sends = |sender: &mpsc::SyncSender<u32>, _: &_| sender.send(1).unwrap();
    let tries = |sender: &mpsc::SyncSender<u32>, _: &_| sender.try_send(1).unwrap();
    let receives = |_: &_, receiver: &mpsc::Receiver<u32>| assert!(receiver.recv().is_ok());
    judge("send behind send", true, after_a_flag(|sender| sender.send(1).unwrap(), sends));
    judge("try_send behind send", true, after_a_flag(|sender| sender.send(1).unwrap(), tries));
    judge("recv behind send", false, after_a_flag(|sender| sender.send(1).unwrap(), receives));
    let makes_room = |places: usize| {
        move || {
            let mine = Shared::new();
            let other = mine.clone();
            let (sender, receiver) = mpsc::sync_channel(places);
            let reader = thread::spawn(move || {
                other.write();
                receiver.recv().unwrap();
                receiver
            });
            sender.send(1).unwrap();
            sender.send(2).unwrap();
            mine.read();
            reader.join().unwrap();
        }
    };
    judge("no place is needed", true, makes_room(2));
    judge("a place that somebody has made", false, makes_room(1));
}

/// Writes when it is dropped.
struct Writes(std::sync::Arc<Shared>);

impl Drop for Writes {
    fn drop(&mut self) {
        self.0.write();
    }
}

#[test]
fn a_message_that_goes_with_its_receiver_has_been_sent_before() {
    for places in [None, Some(1)] {
        judge("drop of a receiver", false, || {
            let shared = Shared::new();
            let (bounded, unbounded) = (mpsc::sync_channel(1), mpsc::channel());
            let other = thread::spawn(move || {
                shared.write();
                // Who cannot send keeps the message.
                match places {
                    Some(_) => bounded.0.send(Writes(shared)).map_err(std::mem::forget),
                    None => unbounded.0.send(Writes(shared)).map_err(std::mem::forget),
                }
            });
            match places {
                Some(_) => drop(bounded.1),
                None => drop(unbounded.1),
            }
            let _sent = other.join().unwrap();
        });
    }
}

#[test]
fn who_hands_a_message_over_at_once_comes_after_who_waits_for_it() {
    judge("try_send without places", false, || {
        let shared = Shared::new();
        let theirs = shared.clone();
        let (sender, receiver) = mpsc::sync_channel(0);
        let other = thread::spawn(move || {
            theirs.write();
            let _message: Result<u32, _> = receiver.recv();
        });
        if sender.try_send(1).is_ok() {
            shared.read();
        }
        drop(sender);
        other.join().unwrap();
    });
}

#[test]
fn to_have_an_arc_alone_comes_after_the_drop_of_a_weak_reference() {
    judge("get_mut", false, || {
        let shared = Shared::new();
        let theirs = shared.clone();
        let mut alone = Arc::new(0);
        let weak = Arc::downgrade(&alone);
        let other = thread::spawn(move || {
            theirs.write();
            drop(weak);
        });
        if Arc::get_mut(&mut alone).is_some() {
            shared.read();
        }
        other.join().unwrap();
    });
}

/// Two send, the second one when it knows that the first has, and only one message is received.
#[test]
fn who_receives_comes_after_the_sender_of_that_message_alone() {
    let received = |places: Option<usize>, most: usize| {
        move || {
            let shared = Shared::new();
            let (theirs, others) = (shared.clone(), shared.clone());
            let (bounded, unbounded) = (mpsc::sync_channel(places.unwrap_or(1)), mpsc::channel());
            let second = (bounded.0.clone(), unbounded.0.clone());
            let first = thread::spawn(move || {
                match places {
                    Some(_) => bounded.0.send(1).unwrap(),
                    None => unbounded.0.send(1).unwrap(),
                }
                theirs.flag.store(1, Relaxed);
                std::mem::forget((bounded.0, unbounded.0));
            });
            let other = thread::spawn(move || {
                if others.flag.load(Relaxed) == 1 {
                    others.write();
                    match places {
                        Some(_) => second.0.send(2).unwrap(),
                        None => second.1.send(2).unwrap(),
                    }
                    others.flag.store(2, Relaxed);
                }
                std::mem::forget(second);
            });
            if shared.flag.load(Relaxed) == 2 {
                for _ in 0..most {
                    let _message: u32 = if places.is_some() { bounded.1.recv() } else { unbounded.1.recv() }.unwrap();
                }
                shared.read();
            }
            first.join().unwrap();
            other.join().unwrap();
        }
    };
    for places in [None, Some(2)] {
        judge("the first message", true, received(places, 1));
        judge("both", false, received(places, 2));
    }
}

/// A place is free again when a message is received: who gets it comes after that, and not after who makes the next one.
#[test]
fn who_needs_a_place_comes_after_who_has_made_that_one_alone() {
    let sends = |most: u32| {
        move || {
            let shared = Shared::new();
            let theirs = shared.clone();
            let (sender, receiver) = mpsc::sync_channel(2);
            sender.send(1).unwrap();
            sender.send(2).unwrap();
            let reader = thread::spawn(move || {
                receiver.recv().unwrap();
                theirs.write();
                receiver.recv().unwrap();
                theirs.flag.store(1, Relaxed);
                receiver
            });
            if shared.flag.load(Relaxed) == 1 {
                (0..most).for_each(|n| sender.send(n).unwrap());
                shared.read();
            }
            reader.join().unwrap();
        }
    };
    judge("the first place", true, sends(1));
    judge("both", false, sends(2));
}

#[test]
fn the_end_of_a_future_comes_after_what_it_did_and_not_after_who_only_asks_or_aborts_it_then() {
    type Task = future::JoinHandle<()>;
    /// A thread writes if this is so of a task and its cell, and raises a flag that orders nothing; who then has the result, reads.
    fn program(
        asks: fn(&Task, &Shared) -> bool,
        reads: fn(&Result<(), future::JoinError>) -> bool,
    ) -> impl Fn() + Sync {
        move || {
            let shared = Shared::new();
            let theirs = shared.clone();
            let task = std::sync::Arc::new(future::spawn(async { future::yield_now().await }));
            let handle = task.clone();
            let asking = thread::spawn(move || {
                let is_so = asks(&handle, &theirs);
                drop(handle);
                theirs.flag.store(is_so.into(), Relaxed);
            });
            if shared.flag.load(Relaxed) == 1 {
                let task = std::sync::Arc::into_inner(task).expect("the other one is dropped");
                if reads(&future::block_on(task)) {
                    shared.read();
                }
            }
            asking.join().unwrap();
        }
    }
    let aborts_what_is_over = |task: &Task, shared: &Shared| {
        let over = task.is_finished();
        shared.write();
        task.abort();
        over
    };
    let finds_it_over = |task: &Task, shared: &Shared| {
        shared.write();
        task.is_finished()
    };
    let finds_it_running = |task: &Task, shared: &Shared| {
        shared.write();
        !task.is_finished()
    };
    let aborts = |task: &Task, shared: &Shared| {
        shared.write();
        task.abort();
        true
    };
    judge("an abort of what is over", true, program(aborts_what_is_over, |_| true));
    judge("it is over", true, program(finds_it_over, |_| true));
    judge("it is not over", true, program(finds_it_running, |_| true));
    judge("an abort in vain", true, program(aborts, Result::is_ok));
    judge("an abort", false, program(aborts, Result::is_err));
    judge("the end", false, || {
        let shared = Shared::new();
        let (theirs, others) = (shared.clone(), shared.clone());
        let task = future::spawn(async move { theirs.write() });
        if task.is_finished() {
            shared.read();
        }
        future::block_on(task).unwrap();
        others.read();
    });
}
