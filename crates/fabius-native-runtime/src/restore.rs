//! What makes everything as it was before `main`.

use crate::recorder::Recorder;
use crate::rt::{Rt, Streak};
use crate::waiting::Waiting;
use fabius_native_protocol::Isolation;

impl Rt {
    /// Makes everything as it was before `main`.
    pub fn restore(&mut self) {
        match self.settings.isolation {
            Isolation::Memory => self.put_back(),
            Isolation::Process => {
                crate::isolate::renew();
                self.handlers.clear();
                self.has_signal_stack = false;
                self.mapped.clear();
                self.protected.clear();
                // Their memory was that of the process before.
                self.fibers.clear();
            }
        }
        self.closed.clear();
        self.connections.clear();
        self.queues.clear();
        self.semaphores.clear();
        self.streams.clear();
        self.signals.clear();
        self.children.clear();
        self.timers.clear();
        self.threads.clear();
        self.free.clear();
        self.waiting = Waiting::default();
        self.ahead.clear();
        (self.streak, self.repeated) = (Streak::default(), 0);
        self.born.clear();
        (self.over, self.failure, self.limit) = (false, None, None);
        (self.now, self.steps, self.random, self.current) = (0, 0, 0, 0);
        self.unreadable.clear();
        (self.maps_file, self.moved) = (false, 0);
        self.clocks.begin();
        self.races.begin();
        self.interruptions.clear();
        self.left.clear();
        self.possible.clear();
        self.recent.count = 0;
        self.cycles.clear();
        self.seen_state = None;
        self.at_exit.clone_from(&self.before.at_exit);
        self.keys.clone_from(&self.before.keys);
        self.recorder = Recorder::default();
    }

    fn put_back(&mut self) {
        for pages in self.protected.drain(..) {
            self.image.make_writable(&pages);
        }
        self.image.restore();
        crate::heap::reset();
        // SAFETY: undoes what the program did; straight to the kernel.
        unsafe {
            for part in self.mapped.drain(..) {
                crate::kernel::syscall(libc::SYS_munmap, part.start, part.len());
            }
            for (signal, action) in self.handlers.drain(..).rev() {
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
        if std::mem::take(&mut self.has_signal_stack) {
            crate::signals::use_stack();
        }
        if std::mem::take(&mut self.uses_files) || self.moved > 0 || !crate::descriptors::first_is_free(&self.open) {
            crate::descriptors::close_others(&self.open);
        }
    }
}
