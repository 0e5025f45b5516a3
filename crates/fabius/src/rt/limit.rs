//! Limits that end an execution, and are no failure of the test.

use super::{Abandoned, RT};

/// Why an execution cannot go on though the test has not failed.
#[derive(Clone, Debug)]
pub(crate) enum Limit {
    /// There is no memory for a stack.
    Memory(String),
    /// A step does not end.
    EndlessStep(String),
    /// Whoever runs the execution does not need the rest.
    Unwanted,
}

impl Limit {
    /// In words.
    pub fn message(&self) -> String {
        match self {
            Limit::Memory(message) | Limit::EndlessStep(message) => message.clone(),
            Limit::Unwanted => "the execution was not continued".into(),
        }
    }
}

/// There is no memory for the stack of a thread: the execution is not continued. That is no failure of the test.
#[cold]
pub(super) fn no_memory(stack: usize, error: &std::io::Error) -> usize {
    let rt = RT.get();
    // SAFETY: as in `with`: no reference is held when control is given back.
    unsafe {
        let this = &mut *rt;
        let threads = this.threads.len();
        this.has_news_for_the_explorer();
        let message =
            format!("no memory or address space for the stack of thread {threads}, of {stack} bytes ({error})");
        this.limit.get_or_insert(Limit::Memory(message));
        if threads > 0 {
            let exit = this.threads[this.current].exit;
            (*exit).suspend(());
            std::panic::resume_unwind(Box::new(Abandoned));
        }
        0
    }
}
