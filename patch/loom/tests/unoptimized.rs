//! Tests of others are built without optimization, as those of this package are: what is generic or inlined of the libraries is then
//! slow code, full of copies. Threads that wait must be recognized there too.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use loom::thread;

#[test]
fn threads_that_wait_for_each_other_are_recognized() {
    loom::model(|| {
        let all = Arc::new((AtomicUsize::new(0), AtomicBool::new(false)));
        let theirs = all.clone();
        let other = thread::spawn(move || {
            theirs.0.store(1, SeqCst);
            while theirs.0.load(SeqCst) != 2 {
                loom::hint::spin_loop();
            }
        });
        while all.0.load(SeqCst) != 1 || all.1.compare_exchange_weak(false, true, SeqCst, SeqCst).is_err() {
            thread::yield_now();
        }
        all.0.store(2, SeqCst);
        other.join().unwrap();
    });
}
