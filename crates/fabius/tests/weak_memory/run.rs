//! Runs a program on this crate's atomics, cells, locks and threads.

use super::program::{Op, Program, Value};
use fabius::cell::UnsafeCell;
use fabius::sync::atomic::{AtomicI64, Ordering::Relaxed, fence};
use fabius::sync::{Mutex, MutexGuard};
use fabius::{hint, thread};
use std::collections::BTreeMap;
use std::sync::Arc;

type Registers = BTreeMap<String, i64>;

/// Locked without a scheduling point, by one fiber at a time.
type Plain<T> = std::sync::Mutex<T>;

struct Shared {
    program: Program,
    atomics: Vec<AtomicI64>,
    cells: Vec<UnsafeCell<i64>>,
    mutexes: Vec<Mutex<()>>,
    running: Plain<BTreeMap<usize, thread::JoinHandle<()>>>,
    registers: Plain<BTreeMap<usize, Registers>>,
}

// SAFETY: fibers never access a cell at the same time.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    fn read(&self, cell: usize) -> i64 {
        // SAFETY: as above.
        self.cells[cell].with(|place| unsafe { *place })
    }
}

fn begin(shared: &Arc<Shared>, number: usize) {
    let mine = shared.clone();
    let handle = thread::spawn(move || {
        let registers = follow(&mine, &mine.program.threads[number]);
        mine.registers.lock().unwrap().insert(number, registers);
    });
    shared.running.lock().unwrap().insert(number, handle);
}

fn end(shared: &Shared, number: usize) {
    let handle = shared.running.lock().unwrap().remove(&number);
    if let Some(handle) = handle {
        handle.join().unwrap();
    }
}

fn follow(shared: &Arc<Shared>, ops: &[Op]) -> Registers {
    let mut registers = Registers::new();
    let mut guards: BTreeMap<usize, MutexGuard<'_, ()>> = BTreeMap::new();
    let mut at = 0;
    while at < ops.len() {
        let get = |value: &Value| match value {
            Value::Number(number) => *number,
            Value::Register(register) => registers.get(register).copied().unwrap_or(0),
        };
        let mut set = Vec::new();
        match &ops[at] {
            Op::Read(r, x, _) if shared.program.variables[*x].2 => set.push((r, shared.read(*x))),
            Op::Read(r, x, order) => set.push((r, shared.atomics[*x].load(*order))),
            Op::Write(x, v, order) => shared.atomics[*x].store(get(v), *order),
            Op::Add(r, x, v, order) => set.push((r, shared.atomics[*x].fetch_add(get(v), *order))),
            Op::Exchange(r, x, v, order) => set.push((r, shared.atomics[*x].swap(get(v), *order))),
            Op::Compare { register, variable, expected, new, success, failure } => {
                let done = shared.atomics[*variable].compare_exchange(get(expected), get(new), *success, *failure);
                let (Ok(old) | Err(old)) = done;
                set.push((register, old));
            }
            Op::CompareWeak { registers: [register, ok], variable, expected, new, success, failure } => {
                let done = shared.atomics[*variable].compare_exchange_weak(get(expected), get(new), *success, *failure);
                let (Ok(old) | Err(old)) = done;
                set.push((register, old));
                set.push((ok, done.is_ok().into()));
            }
            Op::Fence(order) => fence(*order),
            Op::ReadCell(r, x) => set.push((r, shared.read(*x))),
            // SAFETY: fibers never access a cell at the same time.
            Op::WriteCell(x, v) => shared.cells[*x].with_mut(|place| unsafe { *place = get(v) }),
            Op::If(r, v, skips) => at += if get(&Value::Register(r.clone())) == get(v) { 0 } else { *skips },
            Op::Await(r, x, v, order) => {
                while shared.atomics[*x].load(*order) != get(v) {
                    hint::spin_loop();
                }
                set.push((r, get(v)));
            }
            Op::Spawn(number) => begin(shared, *number),
            Op::Join(number) => end(shared, *number),
            Op::Lock(mutex) => drop(guards.insert(*mutex, shared.mutexes[*mutex].lock().unwrap())),
            Op::Unlock(mutex) => drop(guards.remove(mutex)),
        }
        for (register, value) in set {
            registers.insert(register.clone(), value);
        }
        at += 1;
    }
    registers
}

/// What the threads read, and what the variables are in the end.
pub fn run(program: &Program) -> String {
    let shared = Arc::new(Shared {
        program: program.clone(),
        atomics: program.variables.iter().map(|(_, value, _)| AtomicI64::new(*value)).collect(),
        cells: program.variables.iter().map(|(_, value, _)| UnsafeCell::new(*value)).collect(),
        mutexes: program.mutexes.iter().map(|_| Mutex::new(())).collect(),
        running: Plain::default(),
        registers: Plain::default(),
    });
    let threads = 0..program.threads.len();
    threads.clone().filter(|t| !program.spawned.contains(t)).for_each(|t| begin(&shared, t));
    threads.for_each(|t| end(&shared, t));
    let registers = shared.registers.lock().unwrap();
    let read = registers.iter().flat_map(|(t, all)| all.iter().map(move |(r, value)| format!("{t}:{r}={value}")));
    let last = program.variables.iter().enumerate().map(|(x, (name, _, is_cell))| {
        let value = if *is_cell { shared.read(x) } else { shared.atomics[x].load(Relaxed) };
        format!("{name}={value}")
    });
    read.chain(last).collect::<Vec<_>>().join(" ")
}
