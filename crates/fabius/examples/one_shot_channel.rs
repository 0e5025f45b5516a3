//! A channel for one message.
//!
//! Run it: `cargo run -p fabius --example one_shot_channel`

use fabius::cell::UnsafeCell;
use fabius::sync::atomic::{AtomicBool, AtomicU8, Ordering::SeqCst};
use fabius::thread::{self, Thread};
use std::sync::Arc;

/// What may be wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Nothing.
    None,
    /// The message is there before it is written.
    ReadyTooEarly,
    /// The receiver looks before it says that it waits, and not again.
    WaitsWithoutLooking,
}

struct Channel {
    message: UnsafeCell<u32>,
    is_there: AtomicBool,
    waits: AtomicU8,
    bug: Bug,
}

// SAFETY: the message is written before it is there, and read after that.
unsafe impl Sync for Channel {}

fn send(channel: &Channel, receiver: &Thread, message: u32) {
    let write = || {
        // SAFETY: the receiver does not read before the message is there.
        channel.message.with_mut(|place| unsafe { *place = message });
    };
    if channel.bug == Bug::ReadyTooEarly {
        channel.is_there.store(true, SeqCst);
        write();
    } else {
        write();
        channel.is_there.store(true, SeqCst);
    }
    if channel.waits.load(SeqCst) == 1 {
        receiver.unpark();
    }
}

fn receive(channel: &Channel) -> u32 {
    if !channel.is_there.load(SeqCst) {
        channel.waits.store(1, SeqCst);
        if channel.bug == Bug::WaitsWithoutLooking {
            thread::park();
        } else {
            while !channel.is_there.load(SeqCst) {
                thread::park();
            }
        }
    }
    // SAFETY: the message is there.
    channel.message.with(|place| unsafe { *place })
}

/// One thread sends, the first one receives.
pub fn scenario(bug: Bug) {
    let channel =
        Channel { message: UnsafeCell::new(0), is_there: AtomicBool::new(false), waits: AtomicU8::new(0), bug };
    let channel = Arc::new(channel);
    let (theirs, receiver) = (channel.clone(), thread::current());
    thread::spawn(move || send(&theirs, &receiver, 7));
    assert_eq!(receive(&channel), 7);
}

fn main() {
    println!("{}", fabius::Config::new().explore(|| scenario(Bug::None)));
    let report = fabius::Config::new().explore(|| scenario(Bug::WaitsWithoutLooking));
    println!("{}", report.failure().unwrap_or_default());
}
