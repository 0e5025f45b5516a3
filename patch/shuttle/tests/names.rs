//! Everything is there under the name `shuttle`, macros as well.

use shuttle::sync::atomic::{AtomicUsize, Ordering::SeqCst};

shuttle::lazy_static! {
    static ref COUNT: AtomicUsize = AtomicUsize::new(1);
}

shuttle::thread_local! {
    static OWN: AtomicUsize = AtomicUsize::new(2);
}

#[test]
fn modules_and_macros_are_handed_on() {
    shuttle::check_random(
        || {
            let other = shuttle::thread::spawn(|| COUNT.fetch_add(OWN.with(|own| own.load(SeqCst)), SeqCst));
            other.join().unwrap();
            assert_eq!(COUNT.load(SeqCst), 3);
        },
        10,
    );
}
