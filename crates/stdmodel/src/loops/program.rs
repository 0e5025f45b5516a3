//! Programs as trees of statements. Thread 0 is main.

/// An operation: a step of its own. What a thread cannot do in its place (unlock what it does not hold, join what it has
/// not spawned) it leaves out, without a step. `found` is what the last operation of the thread has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Finds the value.
    Load(u8),
    /// Stores a value.
    Store(u8, u8),
    /// Stores what was found.
    StoreFound(u8),
    /// Stores a value and finds the old one.
    Swap(u8, u8),
    /// Adds, around at 256, and finds the old value.
    Add(u8, u8),
    /// Subtracts, around at 256, and finds the old value.
    Sub(u8, u8),
    /// `fetch_xor(1)`.
    Toggle(u8),
    /// `fetch_add(0)`.
    Keep(u8),
    /// Compares with the second and stores the third; finds whether it did.
    Cas(u8, u8, u8),
    /// The same by `compare_exchange_weak`, which never fails for no reason here.
    CasWeak(u8, u8, u8),
    /// Locks a mutex.
    Lock(u8),
    /// Finds whether it got the lock.
    TryLock(u8),
    /// Drops the guard.
    Unlock(u8),
    /// Waits on the condition variable with the guard of the mutex.
    Wait(u8),
    /// Wakes one that waits on the condition variable.
    NotifyOne,
    /// Wakes all.
    NotifyAll,
    /// Sends a value to a channel without a limit.
    Send(u8),
    /// Finds a value, or `NONE`. Only one thread does.
    TryRecv,
    /// Waits for a token, so many milliseconds at most.
    ParkTimeout(u8),
    /// Gives a thread the token.
    Unpark(u8),
    /// Starts a thread, again if it has been joined.
    Spawn(u8),
    /// Waits for its end.
    Join(u8),
    /// Finds whether it has ended; only who has spawned it asks.
    IsFinished(u8),
    /// The end of a thread, where somebody asks for it.
    End,
    /// `yield_now`.
    Yield,
    /// `spin_loop`.
    Spin,
    /// Sleeps for so many milliseconds.
    Sleep(u8),
}

/// Found by `TryRecv` if there is nothing.
pub const NONE: u8 = 200;

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stmt {
    /// An operation.
    Do(Op),
    /// Adds 1 to a counter.
    Bump(u8),
    /// Sets a counter to 0.
    Clear(u8),
    /// Sets a counter to what was found.
    Take(u8),
    /// Adds 1 to what was found, around at this number.
    Next(u8),
    /// Logs what was found.
    LogFound,
    /// Logs a counter.
    Log(u8),
    /// One of two blocks.
    If(Cond, Vec<Stmt>, Vec<Stmt>),
    /// A loop without an end.
    Loop(Vec<Stmt>),
    /// The end of the innermost loop.
    Break,
}

/// A condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cond {
    /// What was found is this.
    Found(u8),
    /// What was found is in the counter.
    FoundIn(u8),
    /// The counter is this.
    Is(u8, u8),
    /// The counter is odd.
    Odd(u8),
}

/// A number that is not seen: 0 to `last`, then 0 again or `last` for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Counter {
    /// The thread that begins with it at 0, and nobody else uses it; none: all use it.
    pub owner: Option<u8>,
    /// Where it is.
    pub place: Place,
    /// The largest value.
    pub last: u8,
    /// What comes after it.
    pub after: After,
}

/// What a counter does behind its largest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum After {
    /// It begins anew.
    Wraps,
    /// It stays there.
    Stays,
}

/// Where a counter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// On the stack.
    Local,
    /// In a `Cell` in a `Box`.
    Boxed,
    /// In a `Cell` in an `Rc`.
    Shared,
    /// The length of a `Vec`.
    Vec,
    /// A `Vec` that is made anew.
    Fresh,
    /// In a `HashMap`.
    Map,
    /// The number of keys of a `BTreeMap`.
    Keys,
    /// In a struct that is copied.
    Copied,
    /// Which of some boxes a pointer points to.
    Pointer,
    /// In a thread-local value of the thread.
    ThreadLocal,
    /// In a static atomic of std.
    Static,
    /// In a tracked cell.
    Tracked,
    /// On main's stack.
    Foreign,
    /// In an atomic of std in an `Arc`.
    Arc,
    /// In a mutex of std in an `Arc`.
    Guarded,
}

impl Place {
    /// Those of one thread.
    pub const OWNED: [Place; 13] = [
        Place::Local,
        Place::Boxed,
        Place::Shared,
        Place::Vec,
        Place::Fresh,
        Place::Map,
        Place::Keys,
        Place::Copied,
        Place::Pointer,
        Place::ThreadLocal,
        Place::Static,
        Place::Tracked,
        Place::Foreign,
    ];
    /// Those of all threads.
    pub const COMMON: [Place; 4] = [Place::Static, Place::Arc, Place::Guarded, Place::Foreign];
}

/// Which orderings the atomics are used with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Orderings {
    /// `SeqCst`.
    #[default]
    Strong,
    /// `Relaxed`.
    Weak,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Program {
    /// How many atomics; they begin with 0.
    pub atomics: u8,
    /// How many mutexes. A condition variable belongs to all.
    pub mutexes: u8,
    /// How its atomics are used.
    pub orderings: Orderings,
    /// What is not seen.
    pub counters: Vec<Counter>,
    /// What the threads do.
    pub threads: Vec<Vec<Stmt>>,
}

impl Counter {
    /// The value after a value.
    pub fn next(&self, value: u8) -> u8 {
        match self.after {
            _ if value < self.last => value + 1,
            After::Wraps => 0,
            After::Stays => self.last,
        }
    }
}

/// All operations of statements.
pub fn ops(stmts: &[Stmt]) -> Vec<Op> {
    let of = |stmt: &Stmt| match stmt {
        Stmt::Do(op) => vec![*op],
        Stmt::If(_, yes, no) => [ops(yes), ops(no)].concat(),
        Stmt::Loop(body) => ops(body),
        _ => Vec::new(),
    };
    stmts.iter().flat_map(of).collect()
}

impl Program {
    /// Whether any thread can make such an operation.
    pub fn has(&self, test: impl Fn(Op) -> bool) -> bool {
        self.threads.iter().any(|t| ops(t).into_iter().any(&test))
    }

    /// Whether threads talk by what nobody sees.
    pub fn is_common(&self) -> bool {
        self.counters.iter().any(|c| c.owner.is_none())
    }

    /// Makes it whole: every thread is spawned (first, by main, if nobody does) and joined at the end by who spawned it.
    pub fn complete(&mut self) {
        let spawned: Vec<Vec<u8>> = self.threads.iter().map(|t| spawns(t)).collect();
        for thread in (1..self.threads.len() as u8).rev() {
            if !spawned.concat().contains(&thread) {
                self.threads[0].insert(0, Stmt::Do(Op::Spawn(thread)));
            }
        }
        for stmts in &mut self.threads {
            for thread in spawns(stmts) {
                let join = Stmt::Do(Op::Join(thread));
                if !stmts.contains(&join) {
                    stmts.push(join);
                }
            }
        }
    }
}

fn spawns(stmts: &[Stmt]) -> Vec<u8> {
    ops(stmts).into_iter().filter_map(|op| if let Op::Spawn(t) = op { Some(t) } else { None }).collect()
}
