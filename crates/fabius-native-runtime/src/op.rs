//! What a thread is about to do at a scheduling point.

/// An operation that a thread has announced. It is done when the scheduler picks the thread.
#[derive(Clone, Copy)]
pub struct Op {
    /// The name of the function, or what the access is called.
    pub name: &'static str,
    /// The address that it accesses; 0 if none.
    pub object: usize,
    /// The first of the bytes that it accesses, and how many, where the object is the eight bytes around them.
    pub bytes: (usize, usize),
    /// Whether it may change it.
    pub write: bool,
    /// What it waits for.
    pub wait: Wait,
    /// Whether it may give up waiting.
    pub deadline: Option<u64>,
    /// Whether the thread may be asked to end while it waits.
    pub cancels: bool,
    /// Whether a signal ends the wait, if what it waits for is not so.
    pub interrupted: bool,
    /// The place in the program.
    pub pc: usize,
}

/// What the process is called in every execution, whichever process runs it. No process has so large a number, so nothing
/// that is sent to it reaches another one.
pub const NUMBER: i32 = 5_000_000;

/// The process, as an object of operations: its end, and its copies.
pub const PROCESS: usize = BESIDE_MEMORY | 1 << 32;

/// Objects that are no memory; those below 4 GB are the ends of threads.
const BESIDE_MEMORY: usize = 1 << 63;

/// What others ask of a thread: to end, to run the handler of a signal.
pub const fn asked_of(thread: usize) -> usize {
    BESIDE_MEMORY | 2 << 32 | thread
}

/// What files are connected by (`connections.rs`).
pub const fn connection(number: usize) -> usize {
    BESIDE_MEMORY | 3 << 32 | number
}

/// What the C library keeps for all threads (`hooks/library.rs`).
pub const fn of_library(number: usize) -> usize {
    BESIDE_MEMORY | 4 << 32 | number
}

/// Whether a thread has ended, as those ask who do not wait for that.
pub const fn ended(thread: usize) -> usize {
    BESIDE_MEMORY | 5 << 32 | thread
}

/// A message queue, or what is learnt by a message of it, or by room for one.
pub const fn of_queue(number: usize, part: usize) -> usize {
    BESIDE_MEMORY | 1 << 60 | number << 40 | part
}

/// A set of semaphores of System V, or what is learnt by one of them.
pub const fn of_semaphores(set: usize, part: usize) -> usize {
    BESIDE_MEMORY | 1 << 61 | set << 40 | part
}

/// Stands for the ends of threads among the data that are points: nothing of a program is there.
pub const ENDS: usize = 8;

/// The same for keys that are deleted.
pub const DELETED: usize = 16;

/// A signal on its way.
#[derive(Clone, Copy)]
pub struct Sent {
    /// Which.
    pub signal: i32,
    /// How it was sent, as `si_code` says it.
    pub code: i32,
    /// What was sent with it.
    pub value: usize,
}

/// A signal on its way to the process.
pub struct Pending {
    /// The signal.
    pub sent: Sent,
    /// Whom the kernel has told of it.
    pub told: Option<usize>,
    /// Those who had not blocked it either when it was sent, and do not look for it.
    pub bystanders: Vec<usize>,
}

/// What regular files contain, their names and folders, as one object of operations.
pub const REGULAR: usize = of_library(6);

/// The names and descriptors of message queues, as one object of operations.
pub const QUEUES: usize = of_library(7);

/// Keys of thread-specific values, as one object of operations.
pub const KEYS: usize = of_library(9);

/// Sets of files: to read from, to write to, with news.
pub type Sets = [*mut libc::fd_set; 3];

/// Files that a thread waits for, as the program describes them.
#[derive(Clone, Copy)]
pub enum Files {
    /// So many descriptions.
    List(*mut libc::pollfd, usize),
    /// Those below this number that are in one of the sets.
    Sets(i32, Sets),
}

/// Operations on semaphores of System V that a thread does at once, as the program describes them.
#[derive(Clone, Copy)]
pub struct Operations {
    /// The set.
    pub set: usize,
    /// The first.
    pub first: *const libc::sembuf,
    /// How many.
    pub count: usize,
}

/// What has to be so that an operation can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing.
    Not,
    /// A mutex is free, or the thread's own and counting.
    Mutex,
    /// A read-write lock has no writer.
    Read,
    /// It has neither writers nor readers.
    Write,
    /// A spin lock is free.
    Spin,
    /// The bytes that are accessed have another value: in this one the thread has looked in vain.
    Other(u64),
    /// A mutex is free that the thread has tried to take in vain.
    Freed,
    /// A semaphore is above zero that the thread has tried to lower in vain.
    Raised,
    /// A semaphore is above zero.
    Semaphore,
    /// Somebody has woken the thread.
    Woken,
    /// That thread has ended.
    End(usize),
    /// Nobody runs the initializer.
    Once,
    /// Nobody else has locked this stream.
    Stream(usize),
    /// Nobody runs the initializer of a local static.
    Guard,
    /// There is something to read from or room to write to a file.
    File(i32, i16),
    /// One of these files is ready.
    Files(*const Files),
    /// There is a message in this queue.
    Message(usize),
    /// There is room for one.
    Room(usize),
    /// These operations on semaphores of System V can be done, or never will be.
    Operations(*const Operations),
    /// A signal of this set is there for the thread.
    Signal(u64),
    /// All other threads have ended.
    Others,
}

impl Wait {
    /// Whether who waits does so in a loop.
    pub fn is_in_loop(self) -> bool {
        matches!(self, Wait::Other(_) | Wait::Freed | Wait::Raised)
    }
}

impl Op {
    /// An operation that is always possible and touches nothing that others see.
    pub fn new(name: &'static str, pc: usize) -> Op {
        Op {
            name,
            object: 0,
            bytes: (0, 0),
            write: false,
            wait: Wait::Not,
            deadline: None,
            cancels: false,
            interrupted: false,
            pc,
        }
    }

    /// The same, of an object that it changes.
    pub fn on(self, object: usize) -> Op {
        Op { object, write: true, ..self }
    }

    /// The same, of an object that it only looks at.
    pub fn reads(self, object: usize) -> Op {
        Op { object, ..self }
    }

    /// The same, of these bytes: the eight bytes around them are one object.
    pub fn of(self, address: usize, size: usize) -> Op {
        Op { object: address & !7, bytes: (address, size), ..self }
    }

    /// What is accessed, and how many bytes; 0 if that is not known.
    pub fn place(&self) -> (u64, u32) {
        let (address, size) = if self.bytes.0 == 0 { (self.object, 0) } else { self.bytes };
        (address as u64, size as u32)
    }

    /// The same, but not before this is so. Who waits in a loop, and is asked to end, goes round: there may be a call that ends it.
    pub fn when(self, wait: Wait) -> Op {
        Op { wait, cancels: self.cancels || wait.is_in_loop(), ..self }
    }

    /// The same, but not if the thread is asked to end while it waits.
    pub fn or_cancelled(self) -> Op {
        Op { cancels: true, ..self }
    }

    /// The same, but not if a signal comes while it waits.
    pub fn or_interrupted(self) -> Op {
        Op { interrupted: true, ..self }
    }

    /// The same, but no longer than until then.
    pub fn until(self, deadline: Option<u64>) -> Op {
        Op { deadline, ..self }
    }
}
