//! Sets of semaphores of System V. They are held here: the kernel's would outlive an execution, and be those of other processes.

use crate::op::Operations;

/// The largest value of a semaphore, as Linux has it.
pub const LARGEST: i32 = 32_767;

/// A set.
pub struct Set {
    /// By which it is found; none if it is private, or was removed.
    pub key: Option<i32>,
    /// Who may use it, which is not looked at.
    pub mode: u32,
    /// The values.
    pub values: Vec<i32>,
    /// Whether it was removed.
    pub is_gone: bool,
    /// Nanoseconds of virtual time at which it was made or set last, and at which an operation was done last.
    pub times: (u64, Option<u64>),
}

/// What comes of operations now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// They can be done.
    Done,
    /// They have to wait.
    Wait,
    /// They fail with this error.
    Fail(i32),
}

/// Those of an execution.
#[derive(Default)]
pub struct Semaphores {
    /// By their numbers.
    pub sets: Vec<Set>,
}

impl Semaphores {
    /// A new execution begins.
    pub fn clear(&mut self) {
        self.sets.clear();
    }

    /// Whether there are any.
    pub fn are_some(&self) -> bool {
        !self.sets.is_empty()
    }

    /// All that they are, but for times.
    pub fn values(&self) -> impl Iterator<Item = u64> {
        self.sets.iter().flat_map(|set| {
            let first = u64::from(set.is_gone) << 32 | set.key.unwrap_or(0) as u32 as u64;
            std::iter::once(first).chain(set.values.iter().map(|value| *value as u64))
        })
    }

    /// The set of this number, if there is one.
    pub fn get(&mut self, set: i32) -> Option<&mut Set> {
        self.sets.get_mut(usize::try_from(set).ok()?).filter(|set| !set.is_gone)
    }

    /// Whether operations need not wait, or not any more.
    pub fn is_settled(&self, all: &Operations) -> bool {
        self.outcome(all) != Outcome::Wait
    }

    /// What comes of operations now: one after the other, all of them or none.
    pub fn outcome(&self, all: &Operations) -> Outcome {
        let set = &self.sets[all.set];
        if set.is_gone {
            return Outcome::Fail(libc::EIDRM);
        }
        let operations = all.operations();
        for (at, one) in operations.iter().enumerate() {
            let before = operations[..at].iter().filter(|other| other.sem_num == one.sem_num);
            let value =
                before.fold(set.values[usize::from(one.sem_num)], |value, other| value + i32::from(other.sem_op));
            let after = value + i32::from(one.sem_op);
            if one.sem_op == 0 && value != 0 || after < 0 {
                let waits = i32::from(one.sem_flg) & libc::IPC_NOWAIT == 0;
                return if waits { Outcome::Wait } else { Outcome::Fail(libc::EAGAIN) };
            }
            if after > LARGEST {
                return Outcome::Fail(libc::ERANGE);
            }
        }
        Outcome::Done
    }
}

impl Operations {
    /// One by one.
    pub fn operations(&self) -> &[libc::sembuf] {
        // SAFETY: the program gives so many, and they are there while it waits for them.
        unsafe { std::slice::from_raw_parts(self.first, self.count) }
    }
}
