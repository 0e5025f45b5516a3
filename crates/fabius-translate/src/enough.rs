//! Whether so many rounds are all that there are: then what does not fail in them does not fail.
//!
//! Paper: Symbolic Model Checking without BDDs (TACAS 1999), section 5 (a bound behind which nothing new comes).
//!
//! A new round is needed where a thread follows one that comes behind it in the order of rounds: as often at most as threads
//! behind the first are left, and as often as threads before the last are entered again. A thread is left where it may be
//! interrupted, and where it ends.
//!
//! That all executions of so many rounds ask for no more of them is enough: of one that asks for more, the beginning that is
//! the first to do so has no more rounds than were looked at, because its last step has been asked for before.
//!
//! Deviations:
//! 1. The bound is no property of a graph of states, but counted along each execution.
//! 2. Assertions are asked about in the same question, and so is what the front end does not follow.

use crate::build::*;
use fabius_lang::program::*;

/// What counts.
pub struct Enough {
    most: i64,
    /// How often the running thread came to a point where it may be interrupted, up to more than there are rounds.
    passed: Place,
    /// Turns of all threads behind the first, of all before the last, and of the last until now.
    behind: Place,
    before: Place,
    last: Place,
}

impl Enough {
    /// Declares what counts.
    pub fn new(program: &mut Program, rounds: u32, table: u32) -> Enough {
        let most = i64::from(rounds);
        let mut count = |name: &str, most: i64| new_global(program, name, Type::Range(0, most));
        let all = (most + 2) * (i64::from(table) + 1);
        Enough {
            most,
            passed: count("points_passed", most + 1),
            behind: count("turns_behind", all),
            before: count("turns_before", all),
            last: count("turns_of_last", most + 2),
        }
    }

    /// Where a thread may be interrupted.
    pub fn passes(&self) -> Stmt {
        let more = add(read(&self.passed), number(1));
        when(le(read(&self.passed), number(self.most)), vec![set(&self.passed, more)])
    }

    /// Before a thread, but for the first.
    pub fn begins(&self) -> Stmt {
        set(&self.passed, number(0))
    }

    /// Behind a thread, but for the first.
    pub fn ended(&self) -> Block {
        let turns = add(read(&self.passed), number(1));
        vec![
            set(&self.before, add(read(&self.before), read(&self.last))),
            set(&self.last, turns.clone()),
            set(&self.behind, add(read(&self.behind), turns)),
        ]
    }

    /// Behind the first thread, which nobody enters anew for its first turn.
    pub fn first_ended(&self) -> Stmt {
        set(&self.last, read(&self.passed))
    }

    /// The last statement: nothing has failed, and these rounds are enough.
    pub fn verdict(&self, program: &Program, failed: GlobalId) -> Stmt {
        let few = |count: &Place| lt(read(count), number(self.most));
        let holds = and(not(read(&global(program, failed))), or(few(&self.behind), few(&self.before)));
        stmt(StmtKind::Assert(holds, Check::Assertion, None))
    }
}

/// The program in which what the front end does not follow is a failure.
pub fn strict(program: &Program) -> Program {
    let mut strict = program.clone();
    for proc in &mut strict.procs {
        proc.body = replace(std::mem::take(&mut proc.body), &mut |s| match s.kind {
            StmtKind::Assert(e, Check::Bound, words) => {
                vec![Stmt { kind: StmtKind::Assert(e, Check::Assertion, words), ..s }]
            }
            _ => vec![s],
        });
    }
    strict
}
