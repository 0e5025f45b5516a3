//! Limits that end an execution, and are no failure of the test.

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
