//! Where the counters of a program are: what nobody sees who runs it.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use stdmodel::loops::program::{Place, Program};

/// More counters no program has.
pub const MOST: usize = 32;

static STATICS: [AtomicU8; MOST] = [const { AtomicU8::new(0) }; MOST];

fabius::thread_local! {
    static THREAD_LOCALS: [Cell<u8>; MOST] = [const { Cell::new(0) }; MOST];
}

/// What all threads use.
pub struct Common {
    atomics: [AtomicU8; MOST],
    mutex: Mutex<[u8; MOST]>,
    /// On the stack of main, which ends last.
    pub foreign: AtomicPtr<Cell<u8>>,
}

impl Common {
    pub fn new(program: &Program) -> Arc<Common> {
        for (c, counter) in program.counters.iter().enumerate() {
            if counter.place == Place::Static {
                STATICS[c].store(0, SeqCst);
            }
        }
        Arc::new(Common {
            atomics: [const { AtomicU8::new(0) }; MOST],
            mutex: Mutex::new([0; MOST]),
            foreign: AtomicPtr::default(),
        })
    }
}

impl Common {
    fn foreign(&self, c: usize) -> &Cell<u8> {
        // SAFETY: `run` has an array of so many, which lives as long as all threads; they are fibers of one thread.
        unsafe { &*self.foreign.load(SeqCst).add(c) }
    }
}

#[derive(Clone, Copy)]
struct Copied {
    before: [u64; 3],
    value: u8,
    after: u32,
}

/// What a thread uses, on its stack.
pub struct Places {
    common: Arc<Common>,
    /// Those on the stack.
    locals: [u8; MOST],
    copied: [Copied; MOST],
    boxed: Box<[Cell<u8>; MOST]>,
    shared: Rc<[Cell<u8>; MOST]>,
    vecs: Vec<Vec<u64>>,
    fresh: Vec<Vec<u8>>,
    tracked: Vec<fabius::cell::UnsafeCell<u8>>,
    map: HashMap<u8, u8>,
    keys: Vec<BTreeMap<u8, u8>>,
    boxes: [Box<u8>; 8],
    pointers: [*const u8; MOST],
}

impl Places {
    pub fn new(common: &Arc<Common>, program: &Program, owner: u8) -> Places {
        for (c, counter) in program.counters.iter().enumerate() {
            match counter.place {
                Place::Static if counter.owner == Some(owner) => STATICS[c].store(0, SeqCst),
                Place::Foreign if counter.owner == Some(owner) => common.foreign(c).set(0),
                _ => {}
            }
        }
        let boxes: [Box<u8>; 8] = std::array::from_fn(|i| Box::new(i as u8));
        let first: *const u8 = &*boxes[0];
        Places {
            common: common.clone(),
            locals: [0; MOST],
            copied: [Copied { before: [7; 3], value: 0, after: 9 }; MOST],
            boxed: Box::new([const { Cell::new(0) }; MOST]),
            shared: Rc::new([const { Cell::new(0) }; MOST]),
            vecs: vec![Vec::new(); MOST],
            fresh: vec![Vec::new(); MOST],
            tracked: (0..MOST).map(|_| fabius::cell::UnsafeCell::new(0)).collect(),
            map: HashMap::new(),
            keys: vec![BTreeMap::new(); MOST],
            boxes,
            pointers: [first; MOST],
        }
    }

    pub fn get(&self, program: &Program, c: u8) -> u8 {
        let i = usize::from(c);
        match program.counters[i].place {
            Place::Local => self.locals[i],
            Place::Boxed => self.boxed[i].get(),
            Place::Shared => self.shared[i].get(),
            Place::Vec => self.vecs[i].len() as u8,
            Place::Fresh => self.fresh[i].len() as u8,
            Place::Map => self.map.get(&c).copied().unwrap_or(0),
            Place::Keys => self.keys[i].len() as u8,
            Place::Copied => self.copied[i].value,
            Place::Pointer => {
                let at = self.boxes.iter().position(|b| std::ptr::eq(&raw const **b, self.pointers[i]));
                at.expect("it points to one") as u8
            }
            Place::ThreadLocal => THREAD_LOCALS.with(|locals| locals[i].get()),
            Place::Static => STATICS[i].load(SeqCst),
            // SAFETY: only this thread has it.
            Place::Tracked => self.tracked[i].with(|value| unsafe { *value }),
            Place::Foreign => self.common.foreign(i).get(),
            Place::Arc => self.common.atomics[i].load(SeqCst),
            Place::Guarded => self.common.mutex.lock().unwrap()[i],
        }
    }

    pub fn set(&mut self, program: &Program, c: u8, value: u8) {
        let i = usize::from(c);
        match program.counters[i].place {
            Place::Local => self.locals[i] = value,
            Place::Boxed => self.boxed[i].set(value),
            Place::Shared => self.shared[i].set(value),
            Place::Vec => {
                self.vecs[i].truncate(value.into());
                while self.vecs[i].len() < value.into() {
                    self.vecs[i].push(3);
                }
            }
            Place::Fresh => self.fresh[i] = vec![1; value.into()],
            Place::Map if value == 0 => {
                self.map.remove(&c);
            }
            Place::Map => {
                self.map.insert(c, value);
            }
            Place::Keys => self.keys[i] = (0..value).map(|key| (key, 0)).collect(),
            Place::Copied => {
                let Copied { before, after, .. } = self.copied[i];
                self.copied[i] = Copied { before, value, after };
            }
            Place::Pointer => self.pointers[i] = &*self.boxes[usize::from(value)],
            Place::ThreadLocal => THREAD_LOCALS.with(|locals| locals[i].set(value)),
            Place::Static => STATICS[i].store(value, SeqCst),
            // SAFETY: only this thread has it.
            Place::Tracked => self.tracked[i].with_mut(|old| unsafe { *old = value }),
            Place::Foreign => self.common.foreign(i).set(value),
            Place::Arc => self.common.atomics[i].store(value, SeqCst),
            Place::Guarded => self.common.mutex.lock().unwrap()[i] = value,
        }
    }
}
