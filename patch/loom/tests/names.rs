//! Everything is there under the name `loom`, macros as well.

use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst};

loom::lazy_static! {
    static ref COUNT: AtomicUsize = AtomicUsize::new(1);
}

loom::thread_local! {
    static OWN: AtomicUsize = AtomicUsize::new(2);
}

#[test]
fn modules_and_macros_are_handed_on() {
    loom::model(|| {
        let other = loom::thread::spawn(|| COUNT.fetch_add(OWN.with(|own| own.load(SeqCst)), SeqCst));
        other.join().unwrap();
        assert_eq!(COUNT.load(SeqCst), 3);
    });
}
