//! What the types hold besides what they are used for is seen in both orders: who drops a value, counts, poison.

use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius::sync::{Arc, Mutex, RwLock};
use fabius::{Config, Report, thread};

/// An operation of the running thread alone: behind it, others may have gone on.
fn own_operation() {
    AtomicUsize::new(0).load(SeqCst);
}

fn in_each_way(test: impl Fn() + Sync) -> [Report; 4] {
    let configs = [
        Config::new(),
        Config::new().exhaustive(),
        Config::new().preemptions(1),
        Config::new().exhaustive().without_reduction(),
    ];
    configs.map(|config| config.name("unseen").explore(&test))
}

/// Each way of searching finds that this may fail with each of the messages, if the others are let pass.
fn fails_with(messages: &[&'static str], test: impl Fn(&str) + Sync) {
    for message in messages {
        for report in in_each_way(|| test(message)) {
            let text = report.failure().unwrap_or_else(|| panic!("{message}: {report}"));
            assert!(text.contains(message), "{message}: {text}");
        }
    }
}

fn fails(is_so: bool, message: &str, wanted: &str) {
    assert!(!is_so || message != wanted, "{message}");
}

struct Locks(Arc<Mutex<u32>>);

impl Drop for Locks {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

#[test]
fn a_result_is_dropped_by_whoever_drops_the_handle_of_a_thread_that_has_ended() {
    let test = || {
        let lock = Arc::new(Mutex::new(0));
        let theirs = lock.clone();
        let other = thread::spawn(move || {
            own_operation();
            Locks(theirs)
        });
        let guard = lock.lock().unwrap();
        drop(other);
        drop(guard);
    };
    for report in in_each_way(test) {
        assert!(report.to_string().contains("deadlock"), "{report}");
    }
}

#[test]
fn a_value_knows_who_drops_it() {
    struct Noted(thread::ThreadId, String);
    impl Drop for Noted {
        fn drop(&mut self) {
            let is_same = thread::current().id() == self.0;
            fails(is_same, "dropped by its maker", &self.1);
            fails(!is_same, "dropped by another", &self.1);
        }
    }
    fails_with(&["dropped by its maker", "dropped by another"], |wanted| {
        let value = Arc::new(Noted(thread::current().id(), wanted.to_string()));
        let theirs = value.clone();
        let other = thread::spawn(move || {
            own_operation();
            drop(theirs);
        });
        own_operation();
        drop(value);
        other.join().unwrap();
    });
}

#[test]
fn a_lock_is_poisoned_before_or_behind_the_question() {
    fails_with(&["mutex poisoned", "mutex not poisoned", "lock poisoned", "lock not poisoned"], |wanted| {
        let (mutex, lock) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
        let theirs = (mutex.clone(), lock.clone());
        let other = thread::spawn(move || {
            let _guards = (theirs.0.lock(), theirs.1.write());
            std::panic::resume_unwind(Box::new(1));
        });
        fails(mutex.is_poisoned(), "mutex poisoned", wanted);
        fails(!mutex.is_poisoned(), "mutex not poisoned", wanted);
        fails(lock.is_poisoned(), "lock poisoned", wanted);
        fails(!lock.is_poisoned(), "lock not poisoned", wanted);
        let _ = other.join();
    });
}

#[test]
fn poison_is_cleared_before_or_behind_a_panic() {
    fails_with(&["still poisoned", "poisoned no more"], |wanted| {
        let mutex = Arc::new(Mutex::new(0));
        let theirs = mutex.clone();
        let other = thread::spawn(move || {
            let _guard = theirs.lock();
            std::panic::resume_unwind(Box::new(1));
        });
        mutex.clear_poison();
        let _ = other.join();
        fails(mutex.lock().is_err(), "still poisoned", wanted);
        fails(mutex.lock().is_ok(), "poisoned no more", wanted);
    });
}

#[test]
fn weak_references_are_counted_before_and_behind_their_drop() {
    fails_with(&["one is there", "none is there", "not alone", "alone"], |wanted| {
        let mut value = Arc::new(());
        let weak = Arc::downgrade(&value);
        let other = thread::spawn(move || {
            own_operation();
            drop(weak);
        });
        let count = Arc::weak_count(&value);
        fails(count == 1, "one is there", wanted);
        fails(count == 0, "none is there", wanted);
        let alone = Arc::get_mut(&mut value).is_some();
        fails(!alone, "not alone", wanted);
        fails(alone, "alone", wanted);
        other.join().unwrap();
    });
}
